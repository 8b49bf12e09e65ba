//! Student's mixture as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    Context, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real, Result,
    Source, Training, read_options,
};

use super::{Student, StudentParams};

impl Params for StudentParams {
    type Model = Student;

    const RESTARTS: usize = 2;

    fn declared() -> Vec<ParamInfo> {
        StudentParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        StudentParams::check(self)
    }

    /// Each component has a covariance.
    fn vectors(&self, columns: usize) -> (&'static str, usize) {
        ("components", self.components.saturating_mul(columns))
    }
}

impl Model for Student {
    const KIND: &'static str = "student";
    const TITLE: &'static str = "A mixture of Student's t distributions: Gaussians with tails";
    const ABOUT: &'static str = "As gmm with full covariances, but some rows may lie far out: how many, \
        each component's degrees of freedom say, which are learned.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit student returns.csv --components 2 -o tails.safetensors",
        "mereo fit student patches.npy --components 15 -o tails.safetensors",
        "mereo fit student holes.csv --components 3 --restarts 5 -o tails.safetensors",
    ];
    type Params = StudentParams;

    mereo_core::capabilities!(encode, reconstruct, score, sample, parts);

    fn fit<T: Real>(
        params: &StudentParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Student::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Student::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Student::columns(self)
    }

    fn free_parameters(&self) -> Option<usize> {
        Some(Student::free_parameters(self))
    }

    fn varies_within_states(&self) -> bool {
        true
    }
}
