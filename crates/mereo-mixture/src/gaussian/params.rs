//! What the user chooses.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most components, and most numbers in all their means.
const MOST_COMPONENTS: usize = 1 << 20;
const MOST_NUMBERS: usize = 1 << 28;

/// The size of the model and how it is learned. The one place where defaults live.
///
/// ```
/// use mereo_mixture::GmmParams;
/// assert!(GmmParams::new(16).check().is_ok());
/// assert!(GmmParams::new(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GmmParams {
    /// Number of components, J.
    pub components: usize,
    /// The smallest variance that a component may have in a column, as a fraction of the column's.
    pub variance_floor: f64,
}

impl GmmParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_mixture::GmmParams::new(4).variance_floor, 1e-3);
    /// ```
    pub fn new(components: usize) -> Self {
        Self { components, variance_floor: 1e-3 }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// let params = mereo_mixture::GmmParams { variance_floor: 0.0, ..mereo_mixture::GmmParams::new(4) };
    /// assert!(params.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        if self.components == 0 {
            return Err(Error::option("components", "at least 1 component is needed"));
        }
        if self.components > MOST_COMPONENTS {
            return Err(Error::option(
                "components",
                format!("{} are more than the {MOST_COMPONENTS} allowed", self.components),
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
        if self.components.checked_mul(columns).is_none_or(|numbers| numbers > MOST_NUMBERS) {
            return Err(Error::option(
                "components",
                format!(
                    "{} components of {columns} columns are more than the {MOST_NUMBERS} numbers allowed",
                    self.components
                ),
            ));
        }
        Ok(())
    }
}
