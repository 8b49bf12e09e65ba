//! The auto-encoder as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    ClassView, Classify, Context, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params,
    Plan, Real, Result, Source, Training, read_options,
};

use super::{Ae, AeClasses, AeParams};

impl Params for AeParams {
    type Model = Ae;

    fn declared() -> Vec<ParamInfo> {
        AeParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        AeParams::check(self)
    }

    fn vectors(&self, columns: usize) -> (&'static str, usize) {
        ("code", self.code_of(columns))
    }

    fn wants_labels(&self) -> bool {
        self.classes == AeClasses::Labels
    }
}

impl Model for Ae {
    const KIND: &'static str = "ae";
    const TITLE: &'static str =
        "Auto-encoder: a network that makes a code of a row, and one that makes the row again";
    const ABOUT: &'static str = "Pictures of any size or tables, with missing cells. Rows can be corrupted on the way \
        in (--noise), so that codes tell what was hidden; layers can be learned one by one (--stacked); a \
        classifier can be learned on top from the rows that have labels (--classes COLUMN); codes can be stored in few \
        bits (--codebooks). The bound is minus the reconstruction error and need not rise at every pass; there \
        are no scores.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit ae toy:faces --code 8 --epochs 50 -o ae.safetensors",
        "mereo fit ae digits.npy --code 32 --encoder \"conv 16x3/2, relu, dense 64, relu\" -o ae.safetensors",
        "mereo fit ae digits.npy --code 1000 --noise mask:0.25 --stacked -o ae.safetensors",
        "mereo fit ae digits.parquet --code 32 --classes digit --codebooks 4 -o ae.safetensors",
    ];
    type Params = AeParams;

    mereo_core::capabilities!(encode, reconstruct, sample; classify);

    fn fit<T: Real>(
        params: &AeParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Ae::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Ae::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Ae::columns(self)
    }

    fn classifier<T: Real>(&self) -> Option<&dyn Classify<T>> {
        self.class_view().map(|_| self as &dyn Classify<T>)
    }

    fn classes(&self) -> Option<ClassView<'_>> {
        self.class_view()
    }

    fn free_parameters(&self) -> Option<usize> {
        Some(self.free_numbers())
    }
}
