//! Numbers that change from pass to pass: annealing as data.

use serde::{Deserialize, Serialize};

/// A number for every pass: from one value to another in a straight line, then at rest.
///
/// ```
/// use mereo_core::Schedule;
/// let cooling = Schedule::linear(1.0, 0.0, 4);
/// assert_eq!([cooling.at(0), cooling.at(2), cooling.at(9)], [1.0, 0.5, 0.0]);
/// assert_eq!(cooling.settled_from(), 4);
/// assert_eq!(Schedule::constant(3.0).at(7), 3.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    from: f64,
    to: f64,
    passes: usize,
}

impl Schedule {
    /// The same number at every pass.
    pub fn constant(value: f64) -> Self {
        Self { from: value, to: value, passes: 0 }
    }

    /// From one number at pass 0 to another at this pass, and that one from then on.
    pub fn linear(from: f64, to: f64, passes: usize) -> Self {
        Self { from, to, passes }
    }

    /// The number at a pass.
    pub fn at(&self, pass: usize) -> f64 {
        if pass >= self.passes {
            self.to
        } else {
            self.from + (self.to - self.from) * pass as f64 / self.passes as f64
        }
    }

    /// The first pass from which the number stays the same.
    pub fn settled_from(&self) -> usize {
        if self.from == self.to { 0 } else { self.passes }
    }
}
