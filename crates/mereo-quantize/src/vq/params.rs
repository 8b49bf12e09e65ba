//! What the user chooses.

use mereo_core::{Error, Result};

/// Most states, and most numbers in all their means.
const MOST_STATES: usize = 1 << 20;
const MOST_NUMBERS: usize = 1 << 28;

/// The floor of variances if nobody says.
const VARIANCE_FLOOR: f64 = 1e-6;

mereo_core::params! {
    /// The size of the model and how it is learned.
    ///
    /// ```
    /// use mereo_quantize::VqParams;
    /// assert!(VqParams::new(16).check().is_ok());
    /// assert!(VqParams::new(0).check().is_err());
    /// ```
    pub struct VqParams {
        /// Number of states: how many means there are.
        pub states: usize;
        /// The smallest variance about the means, as a fraction of the data's.
        pub variance_floor: f64 = VARIANCE_FLOOR;
    }
}

impl VqParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_quantize::VqParams::new(4).variance_floor, 1e-6);
    /// ```
    pub fn new(states: usize) -> Self {
        Self { states, variance_floor: VARIANCE_FLOOR }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// let params = mereo_quantize::VqParams { variance_floor: 0.0, ..mereo_quantize::VqParams::new(4) };
    /// assert!(params.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        if self.states == 0 {
            return Err(Error::option("states", "at least 1 state is needed"));
        }
        if self.states > MOST_STATES {
            return Err(Error::option(
                "states",
                format!("{} are more than the {MOST_STATES} allowed", self.states),
            ));
        }
        if !(1e-12..=1.0).contains(&self.variance_floor) {
            return Err(Error::option(
                "variance-floor",
                format!("{} is not from 1e-12 to 1", self.variance_floor),
            ));
        }
        Ok(())
    }

    /// Whether it fits data of this many columns.
    pub(super) fn check_columns(&self, columns: usize) -> Result<()> {
        if self.states.checked_mul(columns).is_none_or(|numbers| numbers > MOST_NUMBERS) {
            return Err(Error::option(
                "states",
                format!(
                    "{} states of {columns} columns are more than the {MOST_NUMBERS} numbers allowed",
                    self.states
                ),
            ));
        }
        Ok(())
    }
}
