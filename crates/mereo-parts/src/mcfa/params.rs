//! What the user chooses.

use mereo_core::slots::{Shrinkage, Survey};
use mereo_core::{Error, Real, Result};
use serde::{Deserialize, Serialize};

use super::posterior::Units;
use crate::classes::{check_pseudo_count, default_pseudo_count};
use crate::{Classes, Gate};

/// Rows that columns of sparse tables are taken to have been seen in, if nobody says.
const SHRINKAGE: f64 = 5.0;

/// The size of the model and how it is learned. The one place where defaults live.
///
/// ```
/// use mereo_parts::McfaParams;
/// let params = McfaParams::new(6, 4);
/// assert!(params.check().is_ok());
/// assert!(McfaParams::new(6, 0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McfaParams {
    /// Number of parts, K.
    pub parts: usize,
    /// Number of factors of each part, J.
    pub factors: usize,
    /// How boldly the gate moves, or whether rows have gates of their own.
    pub gate: Gate,
    /// The strength α of an entropic prior on the gate, which prefers columns that belong to one
    /// part; 0 is none. It needs gates of single rows.
    pub entropic: f64,
    /// The smallest noise of a part in a column, as a fraction of the column's variance.
    pub noise_floor: f64,
    /// How many random starts are scouted on a sample of the rows beside the seeded one.
    pub scouts: usize,
    /// How many rows with the column's mean, whatever their factors, every column of every part is taken to have been
    /// seen in beside those that there are. If nobody says: some of tables that are mostly unknown, for starts and where loadings are not
    /// averaged over; none of others, and none where rows have gates of their own.
    #[serde(default)]
    pub shrinkage: Option<f64>,
    /// Whether loadings and offsets are averaged over, by what is believed of them, rather than chosen. If nobody says: of tables that are mostly
    /// unknown, unless there is a `shrinkage`, which is the other way not to believe columns too readily, or rows have gates of their own.
    #[serde(default)]
    pub bayesian: Option<bool>,
    /// Which classes factors depend on.
    #[serde(default)]
    pub classes: Classes,
    /// How many rows every class is taken to have been seen in beside those that there are, with
    /// its factors at 0.
    #[serde(default = "default_pseudo_count")]
    pub class_pseudo_count: f64,
}

impl McfaParams {
    /// A model of this size with everything else at its default.
    pub fn new(parts: usize, factors: usize) -> Self {
        Self {
            parts,
            factors,
            gate: Gate::Annealed { from: 0.02, passes: 40 },
            entropic: 0.0,
            noise_floor: 0.01,
            scouts: 30,
            shrinkage: None,
            bayesian: None,
            classes: Classes::None,
            class_pseudo_count: default_pseudo_count(),
        }
    }

    /// Whether a model of this size can be learned at all.
    pub fn check(&self) -> Result<()> {
        const MOST: usize = 1 << 20;
        if self.parts == 0 {
            return Err(Error::option("parts", "at least 1 part is needed"));
        }
        if self.factors == 0 {
            return Err(Error::option("factors", "at least 1 factor is needed"));
        }
        let numbers =
            self.factors.checked_mul(self.factors).and_then(|f| f.checked_mul(self.parts));
        if numbers.is_none_or(|n| n > MOST) {
            return Err(Error::option(
                "factors",
                format!(
                    "{} parts of {} factors have more than the {MOST} pairs of factors allowed",
                    self.parts, self.factors
                ),
            ));
        }
        if !(self.noise_floor > 0.0 && self.noise_floor <= 1.0) {
            return Err(Error::option(
                "noise-floor",
                format!("{} is not above 0 and at most 1", self.noise_floor),
            ));
        }
        crate::starts::check_scouts(self.scouts)?;
        self.gate.check()?;
        check_pseudo_count(self.class_pseudo_count)?;
        let gates_of_rows = self.gate.per_row_from().is_some();
        self.classes.check(gates_of_rows)?;
        crate::gate::check_shrinkage(self.shrinkage, gates_of_rows)?;
        if self.bayesian == Some(true) && gates_of_rows {
            let problem = "it needs a gate that all rows share, not a factorised one";
            return Err(Error::option("bayesian", problem));
        }
        if self.bayesian == Some(true) && self.shrinkage.is_some_and(|rows| rows > 0.0) {
            let problem = "priors take the place of shrinkage; choose one of them";
            return Err(Error::option("bayesian", problem));
        }
        crate::gate::check_entropic(self.entropic, gates_of_rows)
    }

    /// The units of priors for data of which this is known, if loadings and offsets are averaged over.
    pub(super) fn units<T: Real>(&self, survey: &Survey<T>) -> Option<Units> {
        let usual = || self.shrinkage.is_none() && self.shrinkage(survey).is_some();
        if self.bayesian.unwrap_or_else(usual) { Units::of(survey) } else { None }
    }

    /// The rows that columns are taken to have been seen in, for data of which this is known.
    pub(crate) fn shrinkage<T: Real>(&self, survey: &Survey<T>) -> Option<Shrinkage> {
        let own = self.gate.per_row_from().is_some();
        Shrinkage::of(if own { Some(0.0) } else { self.shrinkage }, SHRINKAGE, survey)
    }
}
