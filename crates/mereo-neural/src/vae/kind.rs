//! The variational auto-encoder as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Context, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Predict, Real,
    Result, Source, Training, read_options,
};

use super::{DecoderKind, Vae, VaeParams};

impl Params for VaeParams {
    type Model = Vae;

    fn declared() -> Vec<ParamInfo> {
        VaeParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        VaeParams::check(self)
    }

    fn takes_words(&self) -> bool {
        self.decoder_kind == DecoderKind::Own
    }

    fn vectors(&self, columns: usize) -> (&'static str, usize) {
        ("code", self.code_of(columns))
    }
}

impl Model for Vae {
    const KIND: &'static str = "vae";
    const TITLE: &'static str =
        "Variational auto-encoder: a density whose rows are decoded from normal numbers";
    const ABOUT: &'static str = "Pictures of any size or tables, with counts and words as their columns have them; rows may \
        have holes, which it fills by weighted draws. Learned by a bound on the log density of observed cells, or by a tighter one (--importance); scores \
        are that bound, or an estimate with its standard error (score --likelihood importance). It samples new \
        rows. The bound need not rise at every pass.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit vae toy:faces --code 4 --epochs 50 -o vae.safetensors",
        "mereo fit vae digits.npy --code 50 --encoder \"dense 200, tanh, dense 200, tanh\" --decoder-kind bernoulli \
         --binarise --importance 5 --prepare scale-all -o vae.safetensors",
        "mereo fit vae people.csv --held-out 0.1 -o vae.safetensors",
        "mereo fit vae holes.csv --code 3 --importance 20 --held-out 0.1 -o vae.safetensors",
    ];
    type Params = VaeParams;

    mereo_core::capabilities!(encode, reconstruct, score, estimate, sample; predict);

    fn fit<T: Real>(
        params: &VaeParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Vae::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Vae::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Vae::columns(self)
    }

    /// A Bernoulli of numbers has probabilities where others have densities.
    fn predictor<T: Real>(&self) -> Option<&dyn Predict<T>> {
        (self.decoder_kind() != DecoderKind::Bernoulli).then_some(self as &dyn Predict<T>)
    }

    fn free_parameters(&self) -> Option<usize> {
        Some(self.free_numbers())
    }
}
