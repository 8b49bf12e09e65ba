//! What the user chooses.

use mereo_core::Result;

use crate::gaussian::{check_numbers, check_size};

/// The floor of spreads if nobody says.
const VARIANCE_FLOOR: f64 = 1e-6;

mereo_core::params! {
    /// The size of the model and how it is learned.
    ///
    /// ```
    /// use mereo_mixture::StudentParams;
    /// assert!(StudentParams::new(16).check().is_ok());
    /// assert!(StudentParams::new(0).check().is_err());
    /// ```
    pub struct StudentParams {
        /// Number of components.
        pub components: usize;
        /// The smallest spread in any direction, columns in units of their deviations.
        pub variance_floor: f64 = VARIANCE_FLOOR;
    }
}

impl StudentParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_mixture::StudentParams::new(4).variance_floor, 1e-6);
    /// ```
    pub fn new(components: usize) -> Self {
        Self { components, variance_floor: VARIANCE_FLOOR }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// use mereo_mixture::StudentParams;
    /// assert!(StudentParams { variance_floor: 2.0, ..StudentParams::new(4) }.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_size(self.components, self.variance_floor)
    }

    /// Whether it fits data of this many columns.
    pub(super) fn check_columns(&self, columns: usize) -> Result<()> {
        check_numbers(self.components, columns, columns.saturating_add(1))
    }
}
