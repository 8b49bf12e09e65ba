//! What the user chooses.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::params::{check_components, check_floor};

/// Probabilistic PCA: its size. The one place where defaults live.
///
/// ```
/// use mereo_linear::PpcaParams;
/// assert!(PpcaParams::new(3).check().is_ok());
/// assert!(PpcaParams::new(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PpcaParams {
    /// Number of components, N.
    pub components: usize,
    /// The smallest variance of the noise, as a fraction of the columns' mean variance.
    pub variance_floor: f64,
}

impl PpcaParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_linear::PpcaParams::new(4).variance_floor, 1e-6);
    /// ```
    pub fn new(components: usize) -> Self {
        Self { components, variance_floor: 1e-6 }
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rotation {
    /// Orthogonal in units of the noise, the strongest first.
    Principal,
    /// Each factor with few large loadings: the variance of their squares is greatest.
    Varimax,
}

impl std::str::FromStr for Rotation {
    type Err = Error;

    /// ```
    /// use mereo_linear::Rotation;
    /// assert_eq!("varimax".parse::<Rotation>()?, Rotation::Varimax);
    /// assert!("quartimax".parse::<Rotation>().is_err());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "principal" => Ok(Self::Principal),
            "varimax" => Ok(Self::Varimax),
            _ => Err(Error::option(
                "rotation",
                format!("`{text}` is not known; choose principal or varimax"),
            )),
        }
    }
}

/// Factor analysis: its size and how it is learned. The one place where defaults live.
///
/// ```
/// use mereo_linear::FaParams;
/// assert!(FaParams::new(3).check().is_ok());
/// assert!(FaParams::new(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FaParams {
    /// Number of components (factors), N.
    pub components: usize,
    /// The smallest variance of a column's noise, as a fraction of the column's variance.
    pub variance_floor: f64,
    /// Which of the equally good loadings are returned.
    pub rotation: Rotation,
}

impl FaParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// use mereo_linear::{FaParams, Rotation};
    /// assert_eq!(FaParams::new(4).rotation, Rotation::Principal);
    /// ```
    pub fn new(components: usize) -> Self {
        Self { components, variance_floor: 1e-6, rotation: Rotation::Principal }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// let params = mereo_linear::FaParams { variance_floor: 2.0, ..mereo_linear::FaParams::new(4) };
    /// assert!(params.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_components(self.components)?;
        check_floor(self.variance_floor)
    }
}
