//! What users choose.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::describe;
use crate::optimise::{Optimiser, Pace, RateSchedule};

/// What cells are, given a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecoderKind {
    /// Any number: normal about what is decoded.
    Gaussian,
    /// 0 or 1.
    Bernoulli,
}

mereo_core::choices!(DecoderKind, "decoder-kind": Gaussian = "gaussian", Bernoulli = "bernoulli");

/// The variance of cells about what is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variance {
    /// One a column, learned.
    Learned,
    /// 1, in the data's units.
    Unit,
}

mereo_core::choices!(Variance, "variance": Learned = "learned", Unit = "unit");

mereo_core::params! {
    /// Everything that can be chosen for a variational auto-encoder.
    ///
    /// ```
    /// use mereo_neural::VaeParams;
    /// assert!(VaeParams::new(16).check().is_ok());
    /// let both = VaeParams { draws: 3, importance: 5, ..VaeParams::new(16) };
    /// assert!(both.check().unwrap_err().to_string().contains("importance"));
    /// ```
    pub struct VaeParams {
        /// Numbers in a row's code.
        pub code: usize;
        /// The encoder's hidden layers, as in "conv 16x3/2, relu, dense 64, relu" [default: dense 256, relu,
        /// dense 128, relu].
        pub encoder: Option<String> = None;
        /// The decoder's hidden layers, from the code on [default: the encoder's mirror].
        pub decoder: Option<String> = None;
        /// What cells are, given a code.
        pub decoder_kind: DecoderKind = DecoderKind::Gaussian;
        /// The variance of cells about what is decoded, of a Gaussian decoder.
        pub variance: Variance = Variance::Learned;
        /// The smallest variance, relative to that of the column.
        pub variance_floor: f64 = 1e-3;
        /// Take cells from 0 to 1 as chances of a 1, drawn anew at every pass, for a Bernoulli decoder.
        pub binarise: bool = false;
        /// Draws of a row's code in a step, averaged.
        pub draws: usize = 1;
        /// Draws of the importance-weighted bound, which is tighter the more there are.
        pub importance: usize = 1;
        /// Passes over which the prior gets its full weight: at first reconstruction counts more.
        pub warm: usize = 0;
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

impl VaeParams {
    /// A code of so many numbers, and everything else at its default.
    pub fn new(code: usize) -> Self {
        Self {
            code,
            encoder: None,
            decoder: None,
            decoder_kind: DecoderKind::Gaussian,
            variance: Variance::Learned,
            variance_floor: 1e-3,
            binarise: false,
            draws: 1,
            importance: 1,
            warm: 0,
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
        if !(1..=1 << 16).contains(&self.draws) {
            return Err(Error::option("draws", "a number from 1 to 65536 is needed"));
        }
        if !(1..=1 << 16).contains(&self.importance) {
            return Err(Error::option("importance", "a number from 1 to 65536 is needed"));
        }
        if self.draws > 1 && self.importance > 1 {
            let problem = "draws are averaged or weighted: give --draws or --importance, not both";
            return Err(Error::option("importance", problem));
        }
        if !(self.variance_floor > 0.0 && self.variance_floor <= 1.0) {
            return Err(Error::option("variance-floor", "a number above 0, up to 1, is needed"));
        }
        if self.binarise && self.decoder_kind != DecoderKind::Bernoulli {
            let problem = "only a Bernoulli decoder wants 0 and 1: say --decoder-kind bernoulli";
            return Err(Error::option("binarise", problem));
        }
        describe::check("encoder", self.encoder.as_deref())?;
        describe::check("decoder", self.decoder.as_deref())?;
        self.pace().check()
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
