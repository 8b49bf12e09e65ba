//! What the user chooses.

use mereo_core::Result;
use mereo_core::slots::Shrinkage;
use serde::{Deserialize, Serialize};

use crate::params::{check_components, check_floor};

/// Rows that columns of sparse tables are taken to have been seen in, if nobody says.
pub(super) const SHRINKAGE: f64 = 10.0;

/// The floor of variances if nobody says.
const VARIANCE_FLOOR: f64 = 1e-6;

mereo_core::params! {
    /// Probabilistic PCA: its size.
    ///
    /// ```
    /// use mereo_linear::PpcaParams;
    /// assert!(PpcaParams::new(3).check().is_ok());
    /// assert!(PpcaParams::new(0).check().is_err());
    /// ```
    pub struct PpcaParams {
        /// Number of components.
        pub components: usize;
        /// The smallest variance of the noise, as a fraction of the columns' mean.
        pub variance_floor: f64 = VARIANCE_FLOOR;
    }
}

impl PpcaParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_linear::PpcaParams::new(4).variance_floor, 1e-6);
    /// ```
    pub fn new(components: usize) -> Self {
        Self { components, variance_floor: VARIANCE_FLOOR }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// let params = mereo_linear::PpcaParams { variance_floor: 0.0, ..mereo_linear::PpcaParams::new(4) };
    /// assert!(params.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_components(self.components)?;
        check_floor(self.variance_floor)
    }
}

/// Which of the equally good loadings are returned.
///
/// ```
/// use mereo_linear::Rotation;
/// assert_eq!("varimax".parse::<Rotation>()?, Rotation::Varimax);
/// assert!("quartimax".parse::<Rotation>().is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rotation {
    /// Orthogonal in units of the noise, the strongest first.
    Principal,
    /// Each factor with few large loadings: the variance of their squares is greatest.
    Varimax,
}

mereo_core::choices!(Rotation, "rotation": Principal = "principal", Varimax = "varimax");

mereo_core::params! {
    /// Factor analysis: its size and how it is learned.
    ///
    /// ```
    /// use mereo_linear::FaParams;
    /// assert!(FaParams::new(3).check().is_ok());
    /// assert!(FaParams::new(0).check().is_err());
    /// ```
    pub struct FaParams {
        /// Number of components (factors).
        pub components: usize;
        /// Which of the equally good loadings: principal, or varimax for few large ones a factor.
        pub rotation: Rotation = Rotation::Principal;
        /// The smallest variance of a column's noise, as a fraction of its own.
        pub variance_floor: f64 = VARIANCE_FLOOR;
        /// Rows of nothing in particular that each column is taken to have been seen in beside those there are: loadings
        /// and noise of columns that few rows observe are not believed too readily. If nobody says: some of tables that are
        /// mostly unknown, none of others.
        pub shrinkage: Option<f64> = None;
    }
}

impl FaParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// use mereo_linear::{FaParams, Rotation};
    /// assert_eq!(FaParams::new(4).rotation, Rotation::Principal);
    /// ```
    pub fn new(components: usize) -> Self {
        Self {
            components,
            rotation: Rotation::Principal,
            variance_floor: VARIANCE_FLOOR,
            shrinkage: None,
        }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// let params = mereo_linear::FaParams { variance_floor: 2.0, ..mereo_linear::FaParams::new(4) };
    /// assert!(params.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_components(self.components)?;
        check_floor(self.variance_floor)?;
        Shrinkage::check(self.shrinkage)
    }
}
