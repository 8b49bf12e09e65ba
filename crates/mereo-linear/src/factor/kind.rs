//! Probabilistic PCA and factor analysis as two of the models: what users choose, and what they can do.

use std::path::Path;

use mereo_core::{
    Context, Manifest, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan, Real, Result,
    Source, Training, read_options,
};

use super::{Fa, FaParams, Ppca, PpcaParams};

impl Params for PpcaParams {
    type Model = Ppca;
    const UNITS_MATTER: bool = true;

    const IN_PORTIONS: bool = true;

    fn declared() -> Vec<ParamInfo> {
        PpcaParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        PpcaParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("components", self.components)
    }

    /// It has no number for rows that are high or low throughout: components would be spent on that.
    fn wants_means_removed(&self) -> bool {
        true
    }
}

impl Params for FaParams {
    type Model = Fa;

    fn declared() -> Vec<ParamInfo> {
        FaParams::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }

    fn check(&self) -> Result<()> {
        FaParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("components", self.components)
    }

    /// It has no number for rows that are high or low throughout: states or components would be spent on that.
    fn wants_means_removed(&self) -> bool {
        true
    }
}

impl Model for Ppca {
    const KIND: &'static str = "ppca";
    const TITLE: &'static str = "Probabilistic principal components: a density about a plane";
    const ABOUT: &'static str = "Rows are Gaussian, with N directions of their own variance and the same \
        noise in all columns. In closed form, or by EM if cells are missing; scores are exact, and \
        missing cells are filled by their expectations.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit ppca data.csv --components 5 -o ppca.safetensors",
        "mereo fit ppca toy:faces --components 20 -o ppca.safetensors",
        "mereo fit ppca holes.csv --components 3 --passes 500 -o ppca.safetensors",
    ];
    type Params = PpcaParams;

    mereo_core::capabilities!(encode, reconstruct, score, cells, sample, components, predict);

    fn fit<T: Real>(
        params: &PpcaParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit_ppca(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Ppca::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Ppca::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Ppca::columns(self)
    }
}

impl Model for Fa {
    const KIND: &'static str = "fa";
    const TITLE: &'static str = "Factor analysis: what columns share, and noise of their own";
    const ABOUT: &'static str = "Rows are Gaussian: N factors that several columns have in common, and \
        in each column noise of its own. Unlike principal components, the columns' units do not \
        matter. Scores are exact, and missing cells are filled by their expectations.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit fa data.csv --components 4 -o fa.safetensors",
        "mereo fit fa survey.csv --components 5 --rotation varimax -o fa.safetensors",
        "mereo fit fa holes.csv --components 10 --passes 500 -o fa.safetensors",
    ];
    type Params = FaParams;

    mereo_core::capabilities!(encode, reconstruct, score, cells, sample, components, predict);

    fn fit<T: Real>(
        params: &FaParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit_fa(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Fa::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Fa::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Fa::columns(self)
    }
}
