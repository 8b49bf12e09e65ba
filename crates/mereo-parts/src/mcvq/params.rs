//! What the user chooses.

use mereo_core::slots::{Shrinkage, Survey};
use mereo_core::{Error, Real, Result};
use serde::{Deserialize, Serialize};

use super::SizeSearch;
use crate::classes::{check_pseudo_count, default_pseudo_count};
use crate::gate::{check_entropic, check_shrinkage};
use crate::{Classes, Gate};

/// Rows that columns of sparse tables are taken to have been seen in, if nobody says.
const SHRINKAGE: f64 = 10.0;

/// How rows are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// By the approximate posterior that makes the bound largest.
    Variational,
    /// By samples: Monte Carlo EM. With a gate that all rows share, of the approximate
    /// posterior of the states; with gates of single rows, of the true one of states and parts. It has no end of its
    /// own and takes all passes that it is given.
    Gibbs {
        /// Samples of every row that a pass learns from.
        sweeps: usize,
    },
}

/// Where learning starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartKind {
    /// Seeded, scouted and agreed starts in turn, with a variance floor that falls.
    InTurn,
    /// The papers' start: uniform gates, states at random rows, and the floor where it stays. It
    /// almost never finds the parts and is here to be compared with.
    Papers,
}

/// The size of the model and how it is learned. The one place where defaults live.
///
/// ```
/// use mereo_parts::McvqParams;
/// let params = McvqParams::new(3, 12);
/// assert!(params.check().is_ok());
/// assert!(McvqParams::new(0, 12).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McvqParams {
    /// Number of parts, K.
    pub parts: usize,
    /// Number of states of each part, J.
    pub states: usize,
    /// How boldly the gate moves, or whether rows have gates of their own.
    pub gate: Gate,
    /// The strength α of an entropic prior on the gate, which prefers columns that belong to one
    /// part; 0 is none. It needs gates of single rows.
    pub entropic: f64,
    /// How rows are looked at.
    pub engine: Engine,
    /// The smallest variance that a state may have, as a fraction of its column's.
    pub variance_floor: f64,
    /// Where learning starts.
    pub start: StartKind,
    /// How many random starts are scouted on a sample of the rows beside the seeded one.
    pub scouts: usize,
    /// How many rows with the column's mean every column of every state is taken to have been seen in
    /// beside those that there are. If nobody says: some of tables that are mostly unknown, none of others, and none
    /// where rows have gates of their own.
    #[serde(default)]
    pub shrinkage: Option<f64>,
    /// Which classes states depend on.
    #[serde(default)]
    pub classes: Classes,
    /// How many rows every class, and every state in every class, is taken to have been seen in
    /// beside those that there are.
    #[serde(default = "default_pseudo_count")]
    pub class_pseudo_count: f64,
    /// How many rows like the whole table every state is taken to have been seen in beside its own, in columns of counts
    /// and words.
    #[serde(default = "default_state_pseudo_count")]
    pub pseudo_count: f64,
    /// What is to be found of the size before anything else, if not all of it is given.
    #[serde(skip)]
    pub search: Option<SizeSearch>,
    /// Whether parts without columns, and states that look like others, are left out of what is learned: where their number
    /// was found, not given.
    #[serde(skip)]
    pub tidy: [bool; 2],
}

fn default_state_pseudo_count() -> f64 {
    0.05
}

impl McvqParams {
    /// A model of this size with everything else at its default.
    pub fn new(parts: usize, states: usize) -> Self {
        Self {
            parts,
            states,
            gate: Gate::Annealed { from: 0.02, passes: 40 },
            entropic: 0.0,
            engine: Engine::Variational,
            variance_floor: 0.01,
            start: StartKind::InTurn,
            scouts: 30,
            shrinkage: None,
            classes: Classes::None,
            class_pseudo_count: default_pseudo_count(),
            pseudo_count: default_state_pseudo_count(),
            search: None,
            tidy: [false; 2],
        }
    }

    /// Whether a model of this size can be learned at all.
    pub fn check(&self) -> Result<()> {
        const MOST: usize = 1 << 24;
        if self.parts == 0 {
            return Err(Error::option("parts", "at least 1 part is needed"));
        }
        if self.states == 0 {
            return Err(Error::option("states", "at least 1 state is needed"));
        }
        if self.parts.checked_mul(self.states).is_none_or(|slots| slots > MOST) {
            return Err(Error::option(
                "states",
                format!(
                    "{} parts of {} states are more than the {MOST} states allowed",
                    self.parts, self.states
                ),
            ));
        }
        if !(self.variance_floor > 0.0 && self.variance_floor <= 1.0) {
            return Err(Error::option(
                "variance-floor",
                format!("{} is not above 0 and at most 1", self.variance_floor),
            ));
        }
        mereo_core::slots::check_pseudo_count(self.pseudo_count)?;
        crate::starts::check_scouts(self.scouts)?;
        check_shrinkage(self.shrinkage, self.has_gates_of_rows())?;
        self.gate.check()?;
        if let Engine::Gibbs { sweeps: 0 } = self.engine {
            return Err(Error::option("sweeps", "at least 1 sweep a pass is needed"));
        }
        check_pseudo_count(self.class_pseudo_count)?;
        if self.classes != Classes::None && self.engine != Engine::Variational {
            return Err(Error::option("engine", "classes are learned by the variational engine"));
        }
        self.classes.check(self.has_gates_of_rows())?;
        check_entropic(self.entropic, self.has_gates_of_rows())
    }

    /// The rows that columns are taken to have been seen in, for data of which this is known.
    pub(crate) fn shrinkage<T: Real>(&self, survey: &Survey<T>) -> Option<Shrinkage> {
        let chosen = if self.has_gates_of_rows() { Some(0.0) } else { self.shrinkage };
        Shrinkage::of(chosen, SHRINKAGE, survey)
    }

    /// Whether, in the end, every row has a gate of its own.
    pub(crate) fn has_gates_of_rows(&self) -> bool {
        self.gate.per_row_from().is_some()
    }
}
