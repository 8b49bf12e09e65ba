//! MCVQ as one of the models: what users choose, and what it can do.

use std::path::Path;

use mereo_core::{
    ClassView, Classify, Context, Error, LevelsView, Manifest, Model, ModelFile, Observer, Options,
    ParamInfo, Params, Plan, PredictCells, Real, Result, Size, SizeTried, Source, Training,
    read_options,
};
use serde::{Deserialize, Serialize};

use super::size::SizeSearch;
use super::{Engine, Mcvq, McvqParams, SizeRule};
use crate::Classes;
use crate::options::GateChoice;

/// How rows are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineChoice {
    /// By the approximate posterior that makes the bound largest.
    Variational,
    /// By samples.
    Gibbs,
}

mereo_core::choices!(EngineChoice, "engine": Variational = "variational", Gibbs = "gibbs");

/// Samples of each row that a pass of Gibbs sampling learns from, if nobody says.
const SWEEPS: usize = 3;

mereo_core::params! {
    /// What users choose for MCVQ, option by option. [`McvqParams`] is what follows from it.
    pub struct McvqOptions {
        /// Number of parts, or `auto` to find it.
        pub parts: Size = Size::Auto;
        /// Number of states of each part, or `auto` to find it.
        pub states: Size = Size::Auto;
        /// What the best size is best in, where it is to be found: the fewest bits for model, codes
        /// and residual (description-length), or predicting a tenth of the cells, which are
        /// hidden (held-out).
        pub choose_by: SizeRule = SizeRule::DescriptionLength;
        /// How boldly columns change parts: gently (standard), ever more boldly (annealed), at once
        /// (r-tied); or whether every row shares its columns out anew (factorised).
        pub gate: GateChoice = GateChoice::Annealed;
        /// Passes with one gate for all rows before a factorised gate gives each its own: 0 if nobody
        /// says.
        pub warm: Option<usize> = None;
        /// Strength of a prior that prefers columns which belong to one part alone; it needs a
        /// factorised gate.
        pub entropic: f64 = 0.0;
        /// How rows are looked at: by the approximate posterior that makes the bound largest
        /// (variational), or by samples, for as many passes as are given (gibbs): of the true posterior
        /// with a factorised gate, of the approximate one with a gate that rows share.
        pub engine: EngineChoice = EngineChoice::Variational;
        /// Samples of each row that a pass of the gibbs engine learns from: 3 if nobody says.
        pub sweeps: Option<usize> = None;
        /// The smallest variance of a state, as a fraction of its column's.
        pub variance_floor: f64 = 0.01;
        /// Random tries that a scouted start chooses from.
        pub scouts: usize = 30;
        /// Rows with the column's mean that each column of each state is taken to have been seen in beside those there
        /// are: 3 of tables that are mostly unknown and 0 of others, if nobody says.
        pub shrinkage: Option<f64> = None;
        /// Classes that parts depend on: how many to find, or `labels` for one for each label that
        /// the data brings along.
        pub classes: Classes = Classes::None;
        /// Rows that each class, and each state in each class, is taken to have been seen in beside
        /// those there are.
        pub class_pseudo_count: f64 = 0.5;
        /// In columns of counts and words: rows like the whole table that each state is taken to have been seen in
        /// beside its own.
        pub pseudo_count: f64 = 0.05;
    }
}

impl TryFrom<McvqOptions> for McvqParams {
    type Error = Error;

    fn try_from(options: McvqOptions) -> Result<Self> {
        let given = [options.parts.given(), options.states.given()];
        let params = McvqParams::new(given[0].unwrap_or(1), given[1].unwrap_or(1));
        Ok(Self {
            gate: options.gate.gate(options.warm)?,
            entropic: options.entropic,
            engine: match (options.engine, options.sweeps) {
                (EngineChoice::Gibbs, sweeps) => Engine::Gibbs { sweeps: sweeps.unwrap_or(SWEEPS) },
                (EngineChoice::Variational, None) => Engine::Variational,
                (EngineChoice::Variational, Some(_)) => {
                    return Err(Error::option("sweeps", "only the gibbs engine sweeps"));
                }
            },
            variance_floor: options.variance_floor,
            scouts: options.scouts,
            shrinkage: options.shrinkage,
            classes: options.classes,
            class_pseudo_count: options.class_pseudo_count,
            pseudo_count: options.pseudo_count,
            search: given.contains(&None).then_some(SizeSearch { given, rule: options.choose_by }),
            ..params
        })
    }
}

impl Params for McvqParams {
    type Model = Mcvq;

    /// Seeded, scouted and agreed starts take turns, so three try each.
    const RESTARTS: usize = 3;
    const IN_PORTIONS: bool = true;

    fn declared() -> Vec<ParamInfo> {
        McvqOptions::declared()
    }

    fn from_options(options: &Options) -> Result<Self> {
        read_options::<McvqOptions>(&Self::declared(), options)?.try_into()
    }

    fn check(&self) -> Result<()> {
        McvqParams::check(self)
    }

    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("states", self.parts.saturating_mul(self.states))
    }

    fn takes_words(&self) -> bool {
        !self.has_gates_of_rows()
    }

    fn in_portions(&self) -> bool {
        self.engine == Engine::Variational
            && !self.has_gates_of_rows()
            && self.classes == Classes::None
            && self.search.is_none()
    }

    fn wants_labels(&self) -> bool {
        self.classes == Classes::Labels
    }

    /// It has no number for rows that are high or low throughout: states or components would be spent on that.
    fn wants_means_removed(&self) -> bool {
        true
    }
}

impl Model for Mcvq {
    const KIND: &'static str = "mcvq";
    const TITLE: &'static str = "Parts with states: multiple cause vector quantisation";
    const ABOUT: &'static str = "Columns are shared out among K parts, and each part shows one of \
        its J states in every row. Starts take turns: one seeded by which columns vary together, one \
        scouted by many short random tries, one from what those tries agree on; the best bound wins. Columns may be \
        numbers, counts and words.";
    const EXAMPLES: &'static [&'static str] = &[
        "mereo fit mcvq data.csv",
        "mereo fit mcvq toy:faces --parts 5 --states 8 -o faces.safetensors",
        "mereo fit mcvq u.data --parts 6 --states 5 --prepare remove-row-means -o m.safetensors",
        "mereo fit mcvq toy:faces --parts 5 --states 8 --classes labels -o faces.safetensors",
        "mereo fit mcvq iris.csv --parts 2 --states 4 --classes species -o iris.safetensors",
        "mereo fit mcvq toy:shapes --parts auto --states auto -o shapes.safetensors",
        "mereo fit mcvq huge.parquet --parts 8 --states 8 --checkpoint c --resume -o m.safetensors",
        "mereo fit mcvq faces.npy --parts 6 --states 10 --gate factorised --warm 40 -o m.safetensors",
        "mereo fit mcvq faces.npy --parts 6 --states 10 --engine gibbs --passes 120 -o m.safetensors",
    ];
    type Params = McvqParams;

    mereo_core::capabilities!(encode, reconstruct, score, estimate, sample, parts, explain, predict; classify, cells);

    fn fit<T: Real>(
        params: &McvqParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        super::fit(params, source, plan, context, observer)
    }

    fn find_size<T: Real>(
        params: McvqParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(McvqParams, Vec<SizeTried>)> {
        match params.search {
            None => Ok((params, Vec::new())),
            Some(SizeSearch { given, rule }) => {
                super::choose_size(&params, given, rule, source, plan, context, observer)
            }
        }
    }

    fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        Mcvq::from_file(file, path)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Mcvq::to_file(self, manifest)
    }

    fn columns(&self) -> usize {
        Mcvq::columns(self)
    }

    fn classifier<T: Real>(&self) -> Option<&dyn Classify<T>> {
        self.class_view().is_some().then_some(self)
    }

    fn cell_predictor<T: Real>(&self) -> Option<&dyn PredictCells<T>> {
        self.kinds.mixed().is_none().then_some(self)
    }

    fn observed(&self) -> Option<&[f64]> {
        self.observed_shares()
    }

    fn levels(&self) -> Option<LevelsView<'_>> {
        self.kinds.view()
    }

    fn classes(&self) -> Option<ClassView<'_>> {
        self.class_view()
    }

    fn hybrid(&self, blend: &[Vec<(usize, f64)>]) -> Option<Result<Self>> {
        Some(Mcvq::hybrid(self, blend))
    }
}
