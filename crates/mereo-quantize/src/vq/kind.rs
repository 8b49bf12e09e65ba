//! VQ as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Context, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real, Result,
    Source, Training, read_options,
};

use super::{Vq, VqParams};

impl Params for VqParams {
    type Model = Vq;
    const UNITS_MATTER: bool = true;

    /// k-means is cheap, and its starts differ.
    const RESTARTS: usize = 4;
    const IN_PORTIONS: bool = true;

    fn declared() -> Vec<ParamInfo> {
        VqParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        VqParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("states", self.states)
    }
}

impl Model for Vq {
    const KIND: &'static str = "vq";
    const TITLE: &'static str = "A codebook: vector quantisation by k-means";
    const ABOUT: &'static str = "Every row is said by the one of J means that is most like it. \
        Missing cells are not looked at.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit vq toy:shapes --states 27 -o codebook.safetensors",
        "mereo fit vq data.csv --states 8 --prepare standardise -o codebook.safetensors",
        "mereo fit vq digits.idx.gz --states 64 --restarts 1 -o codebook.safetensors",
    ];
    type Params = VqParams;

    mereo_core::capabilities!(encode, reconstruct, score, sample, parts);

    fn fit<T: Real>(
        params: &VqParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Vq::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Vq::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Vq::columns(self)
    }
}
