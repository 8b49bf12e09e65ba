//! What the user chooses.

use mereo_core::Result;

use crate::params::check_components;

mereo_core::params! {
    /// The size of the model.
    ///
    /// ```
    /// use mereo_linear::PcaParams;
    /// assert!(PcaParams::new(3).check().is_ok());
    /// assert!(PcaParams::new(0).check().is_err());
    /// ```
    pub struct PcaParams {
        /// Number of components.
        pub components: usize;
        /// Divide codes by the deviation along each component.
        pub whiten: bool = false;
    }
}

impl PcaParams {
    /// A model of this size with everything else at its default.
    ///
    /// ```
    /// assert!(!mereo_linear::PcaParams::new(4).whiten);
    /// ```
    pub fn new(components: usize) -> Self {
        Self { components, whiten: false }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// assert!(mereo_linear::PcaParams::new(usize::MAX).check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_components(self.components)
    }
}
