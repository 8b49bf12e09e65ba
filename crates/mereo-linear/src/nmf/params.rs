//! What the user chooses.

use mereo_core::Result;
use serde::{Deserialize, Serialize};

use crate::params::{check_components, check_numbers};

/// What is made small.
///
/// ```
/// use mereo_linear::Loss;
/// assert_eq!("kl".parse::<Loss>()?, Loss::Kl);
/// assert!("l1".parse::<Loss>().is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// The divergence of counts.
    Kl,
    /// Half the squared error.
    Frobenius,
}

mereo_core::choices!(Loss, "loss": Kl = "kl", Frobenius = "frobenius");

mereo_core::params! {
    /// The size of the model and what it makes small.
    ///
    /// ```
    /// use mereo_linear::NmfParams;
    /// assert!(NmfParams::new(3).check().is_ok());
    /// assert!(NmfParams::new(0).check().is_err());
    /// ```
    pub struct NmfParams {
        /// Number of components.
        pub components: usize;
        /// What is made small: kl, the divergence of counts, or frobenius, the squared error.
        pub loss: Loss = Loss::Frobenius;
    }
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
