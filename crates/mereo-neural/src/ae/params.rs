//! What users choose.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::describe;
use crate::noise::Noise;
use crate::optimise::{Optimiser, Pace, RateSchedule};

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

mereo_core::params! {
    /// Everything that can be chosen for an auto-encoder.
    ///
    /// ```
    /// use mereo_neural::AeParams;
    /// assert!(AeParams::new(32).check().is_ok());
    /// let wrong = AeParams { noise: Some("fog:1".into()), ..AeParams::new(32) };
    /// assert!(wrong.check().unwrap_err().to_string().contains("gaussian:DEVIATION"));
    /// ```
    pub struct AeParams {
        /// Numbers in a row's code; may be more than there are columns.
        pub code: usize;
        /// The encoder's hidden layers, as in "conv 16x3/2, relu, dense 64, relu" [default: dense 256, relu,
        /// dense 128, relu].
        pub encoder: Option<String> = None;
        /// The decoder's hidden layers, from the code on [default: the encoder's mirror].
        pub decoder: Option<String> = None;
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
        /// Most passes over the rows [default: as --passes].
        pub epochs: Option<usize> = None;
        /// Rows in a step.
        pub batch: usize = 128;
        /// How steps are made of gradients.
        pub optimiser: Optimiser = Optimiser::Adam;
        /// How long steps are.
        pub rate: f64 = 1e-3;
        /// How much of the last step the next goes on with, of sgd.
        pub momentum: f64 = 0.9;
        /// How the rate falls while learning goes on.
        pub schedule: RateSchedule = RateSchedule::Constant;
        /// The share of each parameter that decays at a rate of 1.
        pub weight_decay: f64 = 0.0;
        /// The share of rows that nothing is learned from and that say when to stop.
        pub held_out: f64 = 0.0;
        /// Stop when rows held out gained nothing for so many passes.
        pub patience: usize = 10;
    }
}

impl AeParams {
    /// A code of so many numbers, and everything else at its default.
    pub fn new(code: usize) -> Self {
        Self {
            code,
            encoder: None,
            decoder: None,
            loss: Loss::Squared,
            noise: None,
            emphasis: 2.0,
            stacked: false,
            classes: AeClasses::None,
            codebooks: 0,
            entries: 256,
            epochs: None,
            batch: 128,
            optimiser: Optimiser::Adam,
            rate: 1e-3,
            momentum: 0.9,
            schedule: RateSchedule::Constant,
            weight_decay: 0.0,
            held_out: 0.0,
            patience: 10,
        }
    }

    /// Whether a model like this can be learned at all.
    pub fn check(&self) -> Result<()> {
        if !(1..=1 << 20).contains(&self.code) {
            return Err(Error::option("code", "a number from 1 to 1048576 is needed"));
        }
        if !(self.emphasis > 0.0 && self.emphasis <= 1e6) {
            return Err(Error::option("emphasis", "a number above 0, up to 1e6, is needed"));
        }
        if self.codebooks > 64 || !(1..=1 << 16).contains(&self.entries) {
            let problem = "up to 64 codebooks of 1 to 65536 entries are possible";
            return Err(Error::option("codebooks", problem));
        }
        describe::check("encoder", self.encoder.as_deref())?;
        describe::check("decoder", self.decoder.as_deref())?;
        self.noise()?;
        self.pace().check()
    }

    pub(super) fn noise(&self) -> Result<Option<Noise>> {
        self.noise.as_deref().map(str::parse).transpose()
    }

    pub(super) fn pace(&self) -> Pace {
        Pace {
            optimiser: self.optimiser,
            rate: self.rate,
            momentum: self.momentum,
            schedule: self.schedule,
            weight_decay: self.weight_decay,
            batch: self.batch,
            held_out: self.held_out,
            patience: self.patience,
        }
    }
}
