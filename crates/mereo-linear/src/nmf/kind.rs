//! NMF as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Context, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real, Result,
    Source, Training, read_options,
};

use super::{Nmf, NmfParams};

impl Params for NmfParams {
    type Model = Nmf;

    fn declared() -> Vec<ParamInfo> {
        NmfParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        NmfParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("components", self.components)
    }
}

impl Model for Nmf {
    const KIND: &'static str = "nmf";
    const TITLE: &'static str =
        "Non-negative factorisation: rows as sums of components, nothing subtracted";
    const ABOUT: &'static str = "Cells must be at least 0. Components add up to 1, and a code says how \
        much of each a row has. The bound is minus the loss, cells measured in units of their mean; \
        there are no scores.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit nmf toy:documents --components 6 --loss kl -o nmf.safetensors",
        "mereo fit nmf faces.npy --components 30 -o nmf.safetensors",
        "mereo fit nmf data.csv --components 5 --prepare scale:0,1 -o nmf.safetensors",
    ];
    type Params = NmfParams;

    mereo_core::capabilities!(encode, reconstruct, components);

    fn fit<T: Real>(
        params: &NmfParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Nmf::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Nmf::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Nmf::columns(self)
    }
}
