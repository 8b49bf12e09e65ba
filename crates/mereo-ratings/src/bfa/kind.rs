//! Bayesian factor analysis as one of the models: what users choose, how it is learned.

use std::path::Path;

use mereo_core::math::packed;
use mereo_core::slots::Survey;
use mereo_core::{
    Context, Learned, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real,
    Result, Source, Training, gather, learn, read_options,
};

use super::ordinal::Cuts;
use super::{Bfa, BfaLearner};
use crate::levels::{CountsTask, Levels};
use crate::scale::Scale;
use crate::{check_size, check_strength};

mereo_core::params! {
    /// The size of the model and how it is learned.
    ///
    /// ```
    /// use mereo_ratings::BfaParams;
    /// assert!(BfaParams::new(10).check().is_ok());
    /// assert!(BfaParams::new(0).check().is_err());
    /// ```
    pub struct BfaParams {
        /// Number of factors; those that are not needed are shut off.
        pub factors: usize;
        /// Rows of usual noise that each column is taken to have been seen in beside those there are.
        pub noise_rows: f64 = 10.0;
        /// Let which columns a row observes say something of its factors: what each column says is drawn to nothing by this many
        /// rows, and 0 is not to listen.
        pub chosen_rows: f64 = 10.0;
        /// Take cells for ordered levels, with cut points between them that are learned, rather than for numbers.
        pub ordinal: bool = false;
    }
}

impl BfaParams {
    /// A model of this size with everything else at its default.
    pub fn new(factors: usize) -> Self {
        Self { factors, noise_rows: 10.0, chosen_rows: 10.0, ordinal: false }
    }

    /// Whether a model like this can be learned at all.
    pub fn check(&self) -> Result<()> {
        check_size("factors", self.factors, 1, 1)?;
        check_strength("chosen-rows", self.chosen_rows)?;
        check_strength("noise-rows", self.noise_rows)
    }
}

mereo_core::fit_here! {
    /// Learns Bayesian factor analysis.
    ///
    /// ```
    /// use mereo_core::{Absent, Context, Plan, Silent, Sparse, Table};
    /// use mereo_ratings::{BfaParams, bfa};
    /// let stars = vec![5.0, 4.0, 1.0, 5.0, 1.0, 2.0];
    /// let cells = Sparse::new(3, vec![0, 3, 4, 6], vec![0, 1, 2, 0, 0, 1], stars, Absent::Unobserved)?;
    /// let (model, _) = bfa::fit(
    ///     &BfaParams::new(2), &Table::from(cells), &Plan::default(), &Context::new(0), &mut Silent)?;
    /// // The last column was rated once: its mean is drawn to that of all.
    /// assert!(model.mean()[2] > 1.2);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(BfaParams) -> Bfa, by fit_as
}

fn fit_as<T: Real>(
    params: &BfaParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Bfa, Training)> {
    params.check()?;
    mereo_core::slots::refuse_words(source.about(), source.columns())?;
    check_size("factors", params.factors, packed(params.factors + 2), source.columns())?;
    let survey = Survey::<T>::of(source, context)?;
    let mut scale = Scale::of(&survey.moments);
    let mut cuts = None;
    if params.ordinal {
        let levels = Levels::of(source, context)?;
        let (columns, count) = (source.columns(), levels.len());
        let task = CountsTask { levels, columns };
        let counts = gather(source, context, &task)?.0;
        let mut weights = vec![0.0; count];
        counts.iter().enumerate().for_each(|(i, n)| weights[i % count] += n);
        cuts = Some(Cuts::of(task.levels, &weights));
        // Latent values have an origin and a unit of their own.
        scale.overall.fill(0.0);
        scale.drawn.fill(0.0);
    }
    let learner = BfaLearner { params: params.clone(), scale, cuts, facts: survey.facts() };
    let start = |restart: usize| Ok(learner.start(restart, context));
    let Learned { state, training } =
        learn::<T, _>(&learner, start, source, plan, context, observer)?;
    Ok((Bfa::of(&learner, &state), training))
}

impl Params for BfaParams {
    type Model = Bfa;

    fn declared() -> Vec<ParamInfo> {
        BfaParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        BfaParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("factors", self.factors)
    }
}

impl Model for Bfa {
    const KIND: &'static str = "bfa";
    const TITLE: &'static str =
        "Ratings by biases and factors: Bayesian factor analysis of sparse tables";
    const ABOUT: &'static str = "A cell is what its column is like, plus what its row is like, plus factors that both \
        have in common. Loadings and means of columns are not chosen but averaged over what they may be, so that \
        columns seen in few rows are not believed too readily. With --ordinal, ratings are ordered levels with learned cut points rather than \
        numbers. Which columns a row observes speaks for its factors too (--chosen-rows). Best for predicting ratings; columns share a scale.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit bfa u.data --factors 10 -o bfa.safetensors",
        "mereo fit bfa ratings.csv --factors 30 --passes 200 -o bfa.safetensors",
        "mereo fit bfa u.data --factors 10 --ordinal -o bfa.safetensors",
    ];
    type Params = BfaParams;

    mereo_core::capabilities!(encode, reconstruct, score, cells, sample, components);

    fn fit<T: Real>(
        params: &BfaParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Bfa::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Bfa::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Bfa::columns(self)
    }
}
