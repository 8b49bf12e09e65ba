//! What the user chooses.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::Gate;

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
    /// How boldly the gate moves.
    pub gate: Gate,
    /// The smallest variance that a state may have, as a fraction of its column's.
    pub variance_floor: f64,
    /// How many random starts are scouted on a sample of the rows beside the seeded one.
    pub scouts: usize,
}

impl McvqParams {
    /// A model of this size with everything else at its default.
    pub fn new(parts: usize, states: usize) -> Self {
        Self {
            parts,
            states,
            gate: Gate::Annealed { from: 1.0, passes: 30 },
            variance_floor: 0.01,
            scouts: 30,
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
        if let Gate::Annealed { from, .. } = self.gate
            && !(from > 0.0 && from <= 1.0)
        {
            return Err(Error::option(
                "gate",
                format!("a start of {from} is not above 0 and at most 1"),
            ));
        }
        Ok(())
    }
}
