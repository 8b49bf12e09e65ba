//! The Gaussian mixture as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Context, LevelsView, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan,
    PredictCells, Real, Result, Source, Training, read_options,
};

use super::{Covariance, Gmm, GmmParams};

mereo_core::params! {
    /// What users choose for a Gaussian mixture, option by option. [`GmmParams`] is what follows from
    /// it.
    pub struct GmmOptions {
        /// Number of components.
        pub components: usize;
        /// What covariances may be: spherical, diagonal, tied (one for all), full or low-rank (a
        /// mixture of factor analysers).
        pub covariance: Covariance = Covariance::Diagonal;
        /// Factors of each component, for covariances of low rank.
        pub factors: usize = 4;
        /// Give each row to its likeliest component alone while learning.
        pub hard: bool = false;
        /// The smallest variance of a component, as a fraction of its column's: 0.001 if nobody says;
        /// tied and full, in any direction, 0.000001.
        pub variance_floor: Option<f64> = None;
        /// Draw full covariances towards one that they have in common, as by so many more rows of it:
        /// some hundreds help where components have few rows. Of diagonal and spherical ones: rows with the column's mean and variance that
        /// each component is taken to have been seen in beside its own; if nobody says, some of tables that are mostly unknown.
        pub shrinkage: Option<f64> = None;
        /// In columns of counts and words: rows like the whole table that each component is taken to have been seen
        /// in beside its own.
        pub pseudo_count: f64 = 0.05;
    }
}

impl From<GmmOptions> for GmmParams {
    fn from(options: GmmOptions) -> Self {
        let params = Self::with(options.components, options.covariance);
        Self {
            factors: options.factors,
            hard: options.hard,
            variance_floor: options.variance_floor.unwrap_or(params.variance_floor),
            shrinkage: options.shrinkage,
            pseudo_count: options.pseudo_count,
            ..params
        }
    }
}

impl Params for GmmParams {
    type Model = Gmm;

    const RESTARTS: usize = 2;
    const IN_PORTIONS: bool = true;

    fn declared() -> Vec<ParamInfo> {
        GmmOptions::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        Ok(read_options::<GmmOptions>(&Self::declared(), options)?.into())
    }

    fn check(&self) -> Result<()> {
        GmmParams::check(self)
    }

    fn takes_words(&self) -> bool {
        !self.covariance.correlates()
    }

    /// Where columns go together, moments are about means that move.
    fn in_portions(&self) -> bool {
        !self.covariance.correlates()
    }

    /// Where columns go together, each component has a covariance.
    fn vectors(&self, columns: usize) -> (&'static str, usize) {
        let each = if self.covariance.correlates() { columns } else { 1 };
        ("components", self.components.saturating_mul(each))
    }

    /// It has no number for rows that are high or low throughout: states or components would be spent on that.
    fn wants_means_removed(&self) -> bool {
        true
    }
}

impl Model for Gmm {
    const KIND: &'static str = "gmm";
    const TITLE: &'static str = "A mixture of Gaussians";
    const ABOUT: &'static str = "Every row is made by one of N components, each with a mean and a covariance \
        of the kind that is chosen. Columns of counts and words have a rate or shares of their levels in each \
        component, with diagonal and spherical covariances: latent classes. Missing cells are left out of the density; `mereo reconstruct` \
        fills them by their expectations.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit gmm heights.csv --components 3 -o mixture.safetensors",
        "mereo fit gmm patches.npy --components 15 --covariance full -o mixture.safetensors",
        "mereo fit gmm toy:faces --components 20 --covariance low-rank --factors 6 -o mfa.safetensors",
        "mereo fit gmm data.parquet --components 8 --weight count -o mixture.safetensors",
    ];
    type Params = GmmParams;

    mereo_core::capabilities!(encode, reconstruct, score, sample, parts, predict; cells);

    fn fit<T: Real>(
        params: &GmmParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Gmm::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Gmm::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Gmm::columns(self)
    }

    fn levels(&self) -> Option<LevelsView<'_>> {
        self.kinds().view()
    }

    fn cell_predictor<T: Real>(&self) -> Option<&dyn PredictCells<T>> {
        (!self.covariance().correlates() && self.kinds().mixed().is_none()).then_some(self)
    }

    fn free_parameters(&self) -> Option<usize> {
        Some(Gmm::free_parameters(self))
    }

    fn varies_within_states(&self) -> bool {
        self.covariance().correlates()
    }
}
