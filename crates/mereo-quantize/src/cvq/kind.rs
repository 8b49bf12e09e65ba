//! CVQ as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Context, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real, Result,
    Source, Training, read_options,
};

use super::{Cvq, CvqParams};

impl Params for CvqParams {
    type Model = Cvq;
    const UNITS_MATTER: bool = true;

    /// Its passes are cheap, and its starts differ.
    const RESTARTS: usize = 4;

    fn declared() -> Vec<ParamInfo> {
        CvqParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        CvqParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("states", self.parts.saturating_mul(self.states))
    }
}

impl Model for Cvq {
    const KIND: &'static str = "cvq";
    const TITLE: &'static str = "Codebooks that add up: cooperative vector quantisation";
    const ABOUT: &'static str = "Every row is the sum of one vector from each of K codebooks of J.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit cvq data.csv --parts 4 --states 16 -o sums.safetensors",
        "mereo fit cvq toy:shapes --parts 3 --states 12 --inference mean-field -o sums.safetensors",
        "mereo fit cvq patches.npy --parts 8 --states 4 --restarts 1 -o sums.safetensors",
    ];
    type Params = CvqParams;

    mereo_core::capabilities!(encode, reconstruct, score, sample, parts);

    fn fit<T: Real>(
        params: &CvqParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Cvq::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Cvq::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Cvq::columns(self)
    }
}
