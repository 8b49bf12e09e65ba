//! PCA as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Context, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real, Result,
    Source, Training, read_options,
};

use super::{Pca, PcaParams};

impl Params for PcaParams {
    type Model = Pca;
    const UNITS_MATTER: bool = true;

    const IN_PORTIONS: bool = true;

    fn declared() -> Vec<ParamInfo> {
        PcaParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        PcaParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("components", self.components)
    }
}

impl Model for Pca {
    const KIND: &'static str = "pca";
    const TITLE: &'static str = "Principal components: the directions of most variance";
    const ABOUT: &'static str = "Exact for small tables, by random projections for large ones. If \
        cells are missing, the components are those that make the observed ones most likely. Codes \
        are places along the components.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit pca bodyfat.csv --components 3 -o pca.safetensors",
        "mereo fit pca toy:faces --components 20 --whiten -o pca.safetensors",
        "mereo fit pca data.csv --components 5 --prepare standardise -o pca.safetensors",
    ];
    type Params = PcaParams;

    mereo_core::capabilities!(encode, reconstruct, score, sample, components);

    fn fit<T: Real>(
        params: &PcaParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Pca::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Pca::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Pca::columns(self)
    }
}
