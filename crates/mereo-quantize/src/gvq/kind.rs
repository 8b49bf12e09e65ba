//! GVQ as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Batch, Context, DynModel, Error, Features, Manifest, Model, ModelFile, Observer, Options,
    ParamInfo, Params, Plan, Real, Result, Score, Source, Training, read_options,
};

use super::{Gvq, GvqParams};
use crate::associate::Association;

/// The steepness of binary sums if nobody says: the paper's.
const BETA: f64 = 4.5;

mereo_core::params! {
    /// What users choose for GVQ, option by option. [`GvqParams`] is what follows from it.
    pub struct GvqOptions {
        /// Number of features of each set.
        pub features: usize;
        /// Number of sets; a row is made of one of them.
        pub sets: usize = 1;
        /// What each feature that is there costs, in squared units of the data.
        pub penalty: f64 = 0.0;
        /// Cells are 0 or 1: so are features and their sums, squashed.
        pub binary: bool = false;
        /// How steeply sums are squashed to 0 or 1, if data is binary: 4.5 if nobody says.
        pub beta: Option<f64> = None;
        /// How rows find their features: auto, exact, bp, br, mf, gibbs, dbp, dbr or local.
        pub association: Association = Association::Auto;
        /// Short runs that a start is the best of.
        pub scouts: usize = 10;
    }
}

impl TryFrom<GvqOptions> for GvqParams {
    type Error = Error;

    fn try_from(options: GvqOptions) -> Result<Self> {
        if options.beta.is_some() && !options.binary {
            let problem = "only the sums of binary data are squashed; choose binary too";
            return Err(Error::option("beta", problem));
        }
        Ok(Self {
            sets: options.sets,
            penalty: options.penalty,
            association: options.association,
            beta: options.binary.then(|| options.beta.unwrap_or(BETA)),
            scouts: options.scouts,
            ..Self::new(options.features)
        })
    }
}

impl Params for GvqParams {
    type Model = Gvq;
    const UNITS_MATTER: bool = true;

    const RESTARTS: usize = 2;

    fn declared() -> Vec<ParamInfo> {
        GvqOptions::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options::<GvqOptions>(&Self::declared(), options)?.try_into()
    }

    fn check(&self) -> Result<()> {
        GvqParams::check(self)
    }

    /// Each set has an origin beside its features.
    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("features", self.sets.saturating_mul(self.features.saturating_add(1)))
    }
}

impl Model for Gvq {
    const KIND: &'static str = "gvq";
    const TITLE: &'static str = "Binary features that add up: generative vector quantisation";
    const ABOUT: &'static str = "Every row is an origin plus some of N features, each there or not, \
        so that N features make 2^N codes. With several sets a row is made of the features of one of \
        them. `mereo encode` says which features a row has.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit gvq patches.npy --features 8 -o features.safetensors",
        "mereo fit gvq data.csv --features 12 --penalty 0.5 -o sparse.safetensors",
        "mereo fit gvq digits.idx.gz --prepare scale-all --binary --sets 4 --features 4 -o d.safetensors",
    ];
    type Params = GvqParams;

    mereo_core::capabilities!(encode, reconstruct, sample, features; score);

    fn fit<T: Real>(
        params: &GvqParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Gvq::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Gvq::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Gvq::columns(self)
    }

    /// Features written by hand may not say how noisy rows are.
    fn scorer<T: Real>(&self) -> Option<&dyn Score<T>> {
        self.variance().is_some().then_some(self)
    }
}

impl Features for Gvq {
    fn sets(&self) -> usize {
        Gvq::sets(self)
    }

    fn features(&self) -> usize {
        Gvq::features(self)
    }

    fn feature(&self) -> &[f64] {
        Gvq::feature(self)
    }

    fn origin(&self) -> &[f64] {
        Gvq::origin(self)
    }

    fn usage(&self) -> &[f64] {
        Gvq::usage(self)
    }

    fn set_prior(&self) -> &[f64] {
        Gvq::set_prior(self)
    }

    fn appearance(&self, set: usize, state: u64) -> Vec<f64> {
        Gvq::appearance(self, set, state)
    }

    fn for_each_state(&self, batch: &Batch<'_, f64>, visit: &mut dyn FnMut(usize, usize, u64)) {
        Gvq::for_each_state(self, batch, visit);
    }

    fn strongest(&self, features: usize) -> Box<dyn DynModel> {
        Box::new(Gvq::strongest(self, features))
    }

    fn with_association(&self, name: &str) -> Result<Box<dyn DynModel>> {
        Ok(Box::new(Gvq::with_association(self.clone(), name.parse()?)?))
    }
}
