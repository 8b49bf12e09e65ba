//! What users choose.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::optimise::{Optimiser, RateSchedule};

/// What cells are, given a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecoderKind {
    /// What the column's own kind says: numbers Gaussian, counts Poisson, words by their probabilities.
    Own,
    /// Any number: normal about what is decoded.
    Gaussian,
    /// 0 or 1.
    Bernoulli,
}

mereo_core::choices!(DecoderKind, "decoder-kind": Own = "own", Gaussian = "gaussian", Bernoulli = "bernoulli");

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

params_by_steps! {
    /// Everything that can be chosen for a variational auto-encoder.
    ///
    /// ```
    /// use mereo_neural::VaeParams;
    /// assert!(VaeParams::new(16).check().is_ok());
    /// let both = VaeParams { draws: 3, importance: 5, ..VaeParams::new(16) };
    /// assert!(both.check().unwrap_err().to_string().contains("importance"));
    /// ```
    pub struct VaeParams {
        /// What cells are, given a code: as the column's own kind says (numbers Gaussian, counts Poisson, words by their
        /// probabilities), or all of them Gaussian or Bernoulli.
        pub decoder_kind: DecoderKind = DecoderKind::Own;
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
    }
}

impl VaeParams {
    /// Whether a model like this can be learned at all.
    pub fn check(&self) -> Result<()> {
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
        self.check_steps()
    }
}
