//! What the user chooses.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most vectors of all parts: their equations hold the square of it.
const MOST_VECTORS: usize = 4096;
const MOST_NUMBERS: usize = 1 << 28;

/// The smallest noise, as a fraction of the columns' mean variance.
pub(super) const VARIANCE_FLOOR: f64 = 1e-6;

/// How rows find their codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inference {
    /// Responsibilities of each part given the means of the others.
    MeanField,
    /// Responsibilities as shares of draws.
    Gibbs,
    /// The one best code that changes of single parts find.
    Local,
}

mereo_core::choices!(Inference, "inference":
    MeanField = "mean-field", Gibbs = "gibbs", Local = "local");

mereo_core::params! {
    /// The size of the model and how it is learned.
    ///
    /// ```
    /// use mereo_quantize::CvqParams;
    /// assert!(CvqParams::new(4, 8).check().is_ok());
    /// assert!(CvqParams::new(0, 8).check().is_err());
    /// ```
    pub struct CvqParams {
        /// Number of codebooks.
        pub parts: usize;
        /// Number of vectors in each.
        pub states: usize;
        /// How rows find their vectors: mean-field, gibbs or local.
        pub inference: Inference = Inference::Local;
    }
}

impl CvqParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// use mereo_quantize::{CvqParams, cvq::Inference};
    /// assert_eq!(CvqParams::new(4, 8).inference, Inference::Local);
    /// ```
    pub fn new(parts: usize, states: usize) -> Self {
        Self { parts, states, inference: Inference::Local }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// let params = mereo_quantize::CvqParams::new(1000, 1000);
    /// assert!(params.check().unwrap_err().to_string().contains("states"));
    /// ```
    pub fn check(&self) -> Result<()> {
        for (name, count) in [("parts", self.parts), ("states", self.states)] {
            if count == 0 {
                return Err(Error::option(name, "at least 1 is needed"));
            }
        }
        if self.parts.checked_mul(self.states).is_none_or(|all| all > MOST_VECTORS) {
            let problem = format!(
                "{} parts of {} states are more than the {MOST_VECTORS} vectors allowed",
                self.parts, self.states
            );
            return Err(Error::option("states", problem));
        }
        Ok(())
    }

    /// Whether it fits data of this many columns, with cells missing or not.
    pub(super) fn check_columns(&self, columns: usize, holes: bool) -> Result<()> {
        let vectors = self.parts * self.states;
        let per_column = if holes { vectors * vectors } else { vectors };
        if columns.checked_mul(per_column).is_none_or(|numbers| numbers > MOST_NUMBERS) {
            let why = if holes {
                ", each column with its own equations as cells are missing"
            } else {
                ""
            };
            let problem = format!(
                "{vectors} vectors of {columns} columns{why} take more than {MOST_NUMBERS} numbers"
            );
            return Err(Error::option("states", problem));
        }
        Ok(())
    }
}
