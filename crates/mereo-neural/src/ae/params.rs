//! What users choose.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::noise::Noise;
use crate::optimise::{Optimiser, RateSchedule};

/// What is made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The squared error.
    Squared,
    /// The cross-entropy of cells from 0 to 1.
    CrossEntropy,
}

mereo_core::choices!(Loss, "loss": Squared = "squared", CrossEntropy = "cross-entropy");

/// Whether a classifier is learned on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AeClasses {
    /// None is.
    None,
    /// One class for each label.
    Labels,
}

mereo_core::choices!(AeClasses, "classes": None = "none", Labels = "labels");

params_by_steps! {
    /// Everything that can be chosen for an auto-encoder.
    ///
    /// ```
    /// use mereo_neural::AeParams;
    /// assert!(AeParams::new(32).check().is_ok());
    /// let wrong = AeParams { noise: Some("fog:1".into()), ..AeParams::new(32) };
    /// assert!(wrong.check().unwrap_err().to_string().contains("gaussian:DEVIATION"));
    /// ```
    pub struct AeParams {
        /// What is made small: the squared error, or the cross-entropy of cells from 0 to 1.
        pub loss: Loss = Loss::Squared;
        /// Corrupt rows on the way in, anew at every look: gaussian:DEVIATION (in units of a column's spread; of
        /// cells with cross-entropy), mask:SHARE or salt:SHARE.
        pub noise: Option<String> = None;
        /// How many times as much the error of a masked or salted cell counts.
        pub emphasis: f64 = 2.0;
        /// Learn layers one by one before all together.
        pub stacked: bool = false;
        /// Learn a classifier on top of the encoder: one class for each label.
        pub classes: AeClasses = AeClasses::None;
        /// Codebooks that codes are stored by, each of what those before it leave; 0 keeps codes as they are.
        pub codebooks: usize = 0;
        /// Entries of each codebook.
        pub entries: usize = 256;
    }
}

impl AeParams {
    /// Whether a model like this can be learned at all.
    pub fn check(&self) -> Result<()> {
        if !(self.emphasis > 0.0 && self.emphasis <= 1e6) {
            return Err(Error::option("emphasis", "a number above 0, up to 1e6, is needed"));
        }
        if self.codebooks > 64 || !(1..=1 << 16).contains(&self.entries) {
            let problem = "up to 64 codebooks of 1 to 65536 entries are possible";
            return Err(Error::option("codebooks", problem));
        }
        self.noise()?;
        self.check_steps()
    }

    pub(super) fn noise(&self) -> Result<Option<Noise>> {
        self.noise.as_deref().map(str::parse).transpose()
    }
}
