//! URP as one of the models: what users choose, how it is learned.

use std::path::Path;

use mereo_core::slots::Survey;
use mereo_core::{
    Context, Learned, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real,
    Result, Source, Training, gather, learn, read_options,
};

use super::{Urp, UrpLearner};
use crate::levels::{Counts, CountsTask, Levels};
use crate::{check_size, check_strength};

/// How many ratings of all columns each column's own are taken together with.
const COLUMN_ROWS: f64 = 5.0;

mereo_core::params! {
    /// The size of the model and how it is learned.
    ///
    /// ```
    /// use mereo_ratings::UrpParams;
    /// assert!(UrpParams::new(5).check().is_ok());
    /// assert!(UrpParams::new(0).check().is_err());
    /// ```
    pub struct UrpParams {
        /// Number of profiles.
        pub profiles: usize = 10;
        /// Rows with the column's usual levels that each column of each profile is taken to have been seen in
        /// beside those there are.
        pub shrinkage: f64 = 10.0;
    }
}

impl UrpParams {
    /// A model of this size with everything else at its default.
    pub fn new(profiles: usize) -> Self {
        Self { profiles, shrinkage: 10.0 }
    }

    /// Whether a model like this can be learned at all.
    pub fn check(&self) -> Result<()> {
        check_size("profiles", self.profiles, 1, 1)?;
        check_strength("shrinkage", self.shrinkage)
    }
}

mereo_core::fit_here! {
    /// Learns rating profiles.
    ///
    /// ```
    /// use mereo_core::{Absent, Context, Plan, Silent, Sparse, Table};
    /// use mereo_ratings::{UrpParams, urp};
    /// let stars = vec![5.0, 4.0, 1.0, 5.0, 1.0, 2.0];
    /// let cells = Sparse::new(3, vec![0, 3, 4, 6], vec![0, 1, 2, 0, 0, 1], stars, Absent::Unobserved)?;
    /// let (model, _) = urp::fit(
    ///     &UrpParams::new(2), &Table::from(cells), &Plan::default(), &Context::new(0), &mut Silent)?;
    /// assert_eq!(model.levels(), [1.0, 2.0, 4.0, 5.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(UrpParams) -> Urp, by fit_as
}

fn fit_as<T: Real>(
    params: &UrpParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Urp, Training)> {
    params.check()?;
    mereo_core::slots::refuse_words(source.about(), source.columns())?;
    let survey = Survey::<T>::of(source, context)?;
    let levels = Levels::of(source, context)?;
    let (columns, l) = (source.columns(), levels.len());
    check_size("profiles", params.profiles, params.profiles.saturating_mul(l), columns)?;
    let Counts(counts) = gather(source, context, &CountsTask { levels: levels.clone(), columns })?;
    let mut all = vec![0.5; l];
    counts.chunks_exact(l).for_each(|own| all.iter_mut().zip(own).for_each(|(a, n)| *a += n));
    let total: f64 = all.iter().sum();
    let mut common = counts;
    for own in common.chunks_exact_mut(l) {
        let rows: f64 = own.iter().sum::<f64>() + COLUMN_ROWS;
        let pairs = own.iter_mut().zip(&all);
        pairs.for_each(|(n, a)| *n = (*n + COLUMN_ROWS * a / total) / rows);
    }
    let learner =
        UrpLearner { params: params.clone(), levels, columns, common, facts: survey.facts() };
    let start = |restart: usize| Ok(learner.start(restart, context));
    let Learned { state, training } =
        learn::<T, _>(&learner, start, source, plan, context, observer)?;
    Ok((Urp::of(&learner, &state), training))
}

impl Params for UrpParams {
    type Model = Urp;

    fn declared() -> Vec<ParamInfo> {
        UrpParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        UrpParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("profiles", self.profiles)
    }

    /// It has no number for rows that are high or low throughout: states or components would be spent on that.
    fn wants_means_removed(&self) -> bool {
        true
    }
}

impl Model for Urp {
    const KIND: &'static str = "urp";
    const TITLE: &'static str =
        "Ratings by profiles: shares of profiles that say how likely each level is";
    const ABOUT: &'static str = "Marlin's user rating profiles: every row has shares of N profiles, with a prior over \
        them, and each of its cells takes a level as one of the profiles would. The levels are the values that cells \
        take, or ten steps if these are many. The bound is on the log probability of the levels.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit urp u.data --profiles 5 -o urp.safetensors",
        "mereo fit urp ratings.csv --profiles 10 --restarts 3 -o urp.safetensors",
    ];
    type Params = UrpParams;

    mereo_core::capabilities!(encode, reconstruct, cells, sample, parts);

    fn fit<T: Real>(
        params: &UrpParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Urp::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Urp::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Urp::columns(self)
    }
}
