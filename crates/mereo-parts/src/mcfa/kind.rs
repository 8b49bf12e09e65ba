//! MCFA as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    ClassView, Classify, Context, Error, Manifest, Model, ModelFile, Observer, Options, ParamInfo,
    Params, Plan, Real, Result, Source, Training, read_options,
};

use super::{Mcfa, McfaParams};
use crate::Classes;
use crate::options::GateChoice;

mereo_core::params! {
    /// What users choose for MCFA, option by option. [`McfaParams`] is what follows from it.
    pub struct McfaOptions {
        /// Number of parts.
        pub parts: usize;
        /// Number of factors of each part.
        pub factors: usize;
        /// How boldly columns change parts: gently (standard), ever more boldly (annealed), at once
        /// (r-tied); or whether every row shares its columns out anew (factorised).
        pub gate: GateChoice = GateChoice::Annealed;
        /// Passes with one gate for all rows before a factorised gate gives each its own: 0 if nobody
        /// says.
        pub warm: Option<usize> = None;
        /// Strength of a prior that prefers columns which belong to one part alone; it needs a
        /// factorised gate.
        pub entropic: f64 = 0.0;
        /// The smallest noise of a part in a column, as a fraction of the column's variance.
        pub noise_floor: f64 = 0.01;
        /// Random tries that a scouted start chooses from.
        pub scouts: usize = 30;
        /// Rows with the column's mean that each column of each part is taken to have been seen in beside those there
        /// are, where loadings are chosen and not averaged over: 5 of tables that are mostly unknown and 0 of others, if
        /// nobody says.
        pub shrinkage: Option<f64> = None;
        /// Average over what loadings and offsets may be instead of choosing the best: it is done of tables that are mostly unknown if
        /// nobody says (unless a shrinkage is given).
        pub bayesian: Option<bool> = None;
        /// Classes that parts depend on: how many to find, or `labels` for one for each label that
        /// the data brings along.
        pub classes: Classes = Classes::None;
        /// Rows that each class is taken to have been seen in beside those there are, with its
        /// factors at 0.
        pub class_pseudo_count: f64 = 0.5;
    }
}

impl TryFrom<McfaOptions> for McfaParams {
    type Error = Error;

    fn try_from(options: McfaOptions) -> Result<Self> {
        Ok(Self {
            gate: options.gate.gate(options.warm)?,
            entropic: options.entropic,
            noise_floor: options.noise_floor,
            scouts: options.scouts,
            shrinkage: options.shrinkage,
            bayesian: options.bayesian,
            classes: options.classes,
            class_pseudo_count: options.class_pseudo_count,
            ..Self::new(options.parts, options.factors)
        })
    }
}

impl Params for McfaParams {
    type Model = Mcfa;

    /// Seeded, scouted and agreed starts take turns, so three try each.
    const RESTARTS: usize = 3;

    fn declared() -> Vec<ParamInfo> {
        McfaOptions::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options::<McfaOptions>(&Self::declared(), options)?.try_into()
    }

    fn check(&self) -> Result<()> {
        McfaParams::check(self)
    }

    /// Pairs of factors are summed column by column if cells are missing.
    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("factors", self.parts.saturating_mul(self.factors * (self.factors + 3) / 2))
    }

    fn wants_labels(&self) -> bool {
        self.classes == Classes::Labels
    }

    /// It has no number for rows that are high or low throughout: states or components would be spent on that.
    fn wants_means_removed(&self) -> bool {
        true
    }
}

impl Model for Mcfa {
    const KIND: &'static str = "mcfa";
    const TITLE: &'static str = "Parts with factors: multiple cause factor analysis";
    const ABOUT: &'static str = "Columns are shared out among K parts, as by mcvq, but a part does not \
        choose among states: its columns move together along J factors, up and down by any amount. Good \
        where parts change smoothly, as brightness does. Starts take turns as mcvq's do.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit mcfa toy:faces --parts 5 --factors 3 -o faces.safetensors",
        "mereo fit mcfa faces.npy --parts 6 --factors 4 --gate standard -o faces.safetensors",
        "mereo fit mcfa toy:faces --parts 5 --factors 3 --classes labels -o faces.safetensors",
        "mereo fit mcfa u.data --parts 4 --factors 2 --prepare remove-row-means -o m.safetensors",
    ];
    type Params = McfaParams;

    mereo_core::capabilities!(encode, reconstruct, score, estimate, cells, sample, parts, explain; classify);

    fn fit<T: Real>(
        params: &McfaParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Mcfa::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Mcfa::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Mcfa::columns(self)
    }

    fn classifier<T: Real>(&self) -> Option<&dyn Classify<T>> {
        self.class_view().is_some().then_some(self)
    }

    fn classes(&self) -> Option<ClassView<'_>> {
        self.class_view()
    }

    fn hybrid(&self, blend: &[Vec<(usize, f64)>]) -> Option<Result<Self>> {
        Some(Mcfa::hybrid(self, blend))
    }
}
