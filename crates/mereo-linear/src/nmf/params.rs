//! What the user chooses.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::params::{check_components, check_numbers};

/// What is made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// The divergence of counts.
    Kl,
    /// Half the squared error.
    Frobenius,
}

impl std::str::FromStr for Loss {
    type Err = Error;

    /// ```
    /// use mereo_linear::Loss;
    /// assert_eq!("kl".parse::<Loss>()?, Loss::Kl);
    /// assert!("l1".parse::<Loss>().is_err());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "kl" => Ok(Self::Kl),
            "frobenius" => Ok(Self::Frobenius),
            _ => {
                Err(Error::option("loss", format!("`{text}` is not known; choose kl or frobenius")))
            }
        }
    }
}

/// The size of the model and what it makes small. The one place where defaults live.
///
/// ```
/// use mereo_linear::NmfParams;
/// assert!(NmfParams::new(3).check().is_ok());
/// assert!(NmfParams::new(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NmfParams {
    /// Number of components, N.
    pub components: usize,
    /// What is made small.
    pub loss: Loss,
}

impl NmfParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// use mereo_linear::{Loss, NmfParams};
    /// assert_eq!(NmfParams::new(4).loss, Loss::Frobenius);
    /// ```
    pub fn new(components: usize) -> Self {
        Self { components, loss: Loss::Frobenius }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// assert!(mereo_linear::NmfParams::new(usize::MAX).check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_components(self.components)
    }

    /// Whether it fits data of this many columns.
    pub(super) fn check_columns(&self, columns: usize) -> Result<()> {
        check_numbers(self.components, columns, self.components)
    }
}
