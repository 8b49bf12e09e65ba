//! The Deep Gaussian mixture as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Context, Layers, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real,
    Result, Source, Training, read_options,
};

use super::{DeepGmm, DeepGmmParams, LayerKind};

impl Params for DeepGmmParams {
    type Model = DeepGmm;

    fn declared() -> Vec<ParamInfo> {
        DeepGmmParams::declared()
    }

    /// Layers of which nobody says the kind are full.
    fn from_options(options: &Options) -> Result<Self> {
        let mut params: Self = read_options(&Self::declared(), options)?;
        if params.layer_kind.is_empty() {
            params.layer_kind = vec![LayerKind::Full; params.layers.len()];
        }
        Ok(params)
    }

    fn check(&self) -> Result<()> {
        DeepGmmParams::check(self)
    }

    /// Each path has a covariance.
    fn vectors(&self, columns: usize) -> (&'static str, usize) {
        let paths = self.layers.iter().fold(1usize, |paths, &size| paths.saturating_mul(size));
        ("layers", paths.saturating_mul(columns))
    }
}

impl Model for DeepGmm {
    const KIND: &'static str = "deep-gmm";
    const TITLE: &'static str =
        "A Deep Gaussian mixture: layers of transforms, a row made by one path through them";
    const ABOUT: &'static str = "The top layer, the first of those given, is next to a standard normal, \
        the last next to the data. As many paths as the product of all layers' components share as \
        few transforms as their sum.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit deep-gmm patches.npy --layers 10,5 -o deep.safetensors",
        "mereo fit deep-gmm patches.npy --layers 15,5 --layer-kind full,scale -o scales.safetensors",
        "mereo fit deep-gmm patches.npy --layers 15,5,5 --em hard --search coordinate -o deep.safetensors",
    ];
    type Params = DeepGmmParams;

    mereo_core::capabilities!(encode, reconstruct, score, sample, layers);

    fn fit<T: Real>(
        params: &DeepGmmParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        DeepGmm::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        DeepGmm::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        DeepGmm::columns(self)
    }

    fn free_parameters(&self) -> Option<usize> {
        Some(DeepGmm::free_parameters(self))
    }

    fn varies_within_states(&self) -> bool {
        true
    }
}

impl Layers for DeepGmm {
    fn sizes(&self) -> &[usize] {
        DeepGmm::sizes(self)
    }

    fn layer_kind(&self, layer: usize) -> &'static str {
        self.kind(layer).name()
    }

    fn usage(&self, layer: usize) -> Vec<f64> {
        DeepGmm::usage(self, layer)
    }

    fn path_weight(&self) -> &[f64] {
        DeepGmm::path_weight(self)
    }

    fn path_mean(&self) -> &[f64] {
        DeepGmm::path_mean(self)
    }

    fn variations(&self, layer: usize, draw: &[f64]) -> Vec<f64> {
        DeepGmm::variations(self, layer, draw)
    }
}
