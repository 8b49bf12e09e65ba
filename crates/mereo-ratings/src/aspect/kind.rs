//! The aspect model as one of the models: what users choose, how it is learned.

use std::path::Path;

use mereo_core::slots::Survey;
use mereo_core::{
    Context, Error, Learned, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params,
    Plan, Real, Result, Source, Training, learn, read_options,
};

use super::{Aspect, AspectLearner};
use crate::scale::Scale;
use crate::{check_size, check_strength};

mereo_core::params! {
    /// The size of the model and how it is learned.
    ///
    /// ```
    /// use mereo_ratings::AspectParams;
    /// assert!(AspectParams::new(10).check().is_ok());
    /// assert!(AspectParams { tempering: 1.5, ..AspectParams::new(10) }.check().is_err());
    /// ```
    pub struct AspectParams {
        /// Number of aspects.
        pub aspects: usize = 10;
        /// The inverse temperature of EM, up to 1: the lower, the less closely rows are fitted.
        pub tempering: f64 = 0.8;
        /// Cells of each aspect that every row is taken to have beside its own.
        pub smoothing: f64 = 0.5;
        /// Rows with the column's mean that each column of each aspect is taken to have been seen in beside those
        /// there are.
        pub shrinkage: f64 = 3.0;
    }
}

impl AspectParams {
    /// A model of this size with everything else at its default.
    pub fn new(aspects: usize) -> Self {
        Self { aspects, tempering: 0.8, smoothing: 0.5, shrinkage: 3.0 }
    }

    /// Whether a model like this can be learned at all.
    pub fn check(&self) -> Result<()> {
        check_size("aspects", self.aspects, 1, 1)?;
        if !(self.tempering > 0.0 && self.tempering <= 1.0) {
            let problem = format!("{} is not above 0 and at most 1", self.tempering);
            return Err(Error::option("tempering", problem));
        }
        check_strength("smoothing", self.smoothing)?;
        check_strength("shrinkage", self.shrinkage)
    }
}

mereo_core::fit_here! {
    /// Learns an aspect model.
    ///
    /// ```
    /// use mereo_core::{Absent, Context, Plan, Silent, Sparse, Table};
    /// use mereo_ratings::{AspectParams, aspect};
    /// let stars = vec![5.0, 4.0, 1.0, 5.0, 1.0, 2.0];
    /// let cells = Sparse::new(3, vec![0, 3, 4, 6], vec![0, 1, 2, 0, 0, 1], stars, Absent::Unobserved)?;
    /// let (model, _) = aspect::fit(
    ///     &AspectParams::new(2), &Table::from(cells), &Plan::default(), &Context::new(0), &mut Silent)?;
    /// assert_eq!(model.aspects(), 2);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(AspectParams) -> Aspect, by fit_as
}

fn fit_as<T: Real>(
    params: &AspectParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Aspect, Training)> {
    params.check()?;
    mereo_core::slots::refuse_words(source.about(), source.columns())?;
    check_size("aspects", params.aspects, params.aspects.saturating_mul(3), source.columns())?;
    let survey = Survey::<T>::of(source, context)?;
    let learner = AspectLearner {
        params: params.clone(),
        scale: Scale::of(&survey.moments),
        facts: survey.facts(),
    };
    let start = |restart: usize| Ok(learner.start(restart, context));
    let Learned { state, training } =
        learn::<T, _>(&learner, start, source, plan, context, observer)?;
    Ok((Aspect::of(&learner, &state), training))
}

impl Params for AspectParams {
    type Model = Aspect;

    fn declared() -> Vec<ParamInfo> {
        AspectParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        AspectParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("aspects", self.aspects)
    }

    /// It has no number for rows that are high or low throughout: states or components would be spent on that.
    fn wants_means_removed(&self) -> bool {
        true
    }
}

impl Model for Aspect {
    const KIND: &'static str = "aspect";
    const TITLE: &'static str = "Ratings by tastes: the Gaussian aspect model";
    const ABOUT: &'static str = "Every row has shares of N aspects, tastes of people say, and each of its cells is as \
        one of them would have it. Learned by tempered EM. The bound is a smoothed likelihood given the \
        rows' own shares, so there are no scores.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit aspect u.data --aspects 10 -o aspect.safetensors",
        "mereo fit aspect ratings.csv --aspects 20 --tempering 0.6 --restarts 3 -o aspect.safetensors",
    ];
    type Params = AspectParams;

    mereo_core::capabilities!(encode, reconstruct, cells, parts);

    fn fit<T: Real>(
        params: &AspectParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Aspect::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Aspect::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Aspect::columns(self)
    }
}
