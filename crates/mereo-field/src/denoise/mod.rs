//! Cleaning pictures (9.1.2, examples 9.1 to 9.3): the true pixels are hidden, each seen through noise, and
//! neighbours are likely to agree.
//!
//! - [`binary`]: two levels; noise flips a pixel with probability p. The log potential of a true pixel is
//!   `log(1 - p)` where it is as seen and `log p` where not, and neighbours that differ cost the coupling.
//! - [`grey`]: 256 levels; noise adds. The cost of a true level is `(h - x)²/2σ²` (squared) or `√2 |h - x|/σ`
//!   (absolute), and neighbours cost the coupling times their difference (perhaps truncated), or the coupling
//!   if they differ at all (Potts).
//!
//! Where noise and coupling are not told, the picture tells them: a seventh of its pixels is hidden,
//! guessed from the rest, and whatever guesses best what was seen there is taken.

mod binary;
mod grey;

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

pub use binary::{binary, binary_grid};
pub use grey::{grey, grey_grid, noise_of};

use crate::Kind;

/// How the true pixels are found.
///
/// ```
/// use mereo_field::denoise::DenoiseMethod;
/// assert_eq!("mean-field".parse::<DenoiseMethod>()?, DenoiseMethod::MeanField);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DenoiseMethod {
    /// Mean field: the likelier level of two, the mean of many.
    MeanField,
    /// The state of least energy by cuts: exact for two levels, and for many whose differences are not
    /// truncated; else by expansions.
    Cut,
    /// Iterated conditional modes.
    Icm,
    /// Draws: the likelier level of two, the mean of many.
    Gibbs,
    /// Loopy belief propagation: sums of two levels, the best of many.
    Bp,
}

impl DenoiseMethod {
    /// Their names, as they are parsed.
    pub const NAMES: [&'static str; 5] = ["mean-field", "cut", "icm", "gibbs", "bp"];
    /// All of them.
    pub const ALL: [Self; 5] = [Self::MeanField, Self::Cut, Self::Icm, Self::Gibbs, Self::Bp];

    /// What is taken if nobody says: cuts where 256 levels cost their differences, for they are exact then, quick
    /// and nearer to the truth than mean field; else mean field.
    ///
    /// ```
    /// use mereo_field::denoise::{DenoiseMethod, Shape};
    /// assert_eq!(DenoiseMethod::usual(256, Shape::Differences(255)), DenoiseMethod::Cut);
    /// assert_eq!(DenoiseMethod::usual(256, Shape::Potts), DenoiseMethod::MeanField);
    /// assert_eq!(DenoiseMethod::usual(2, Shape::Potts), DenoiseMethod::MeanField);
    /// ```
    pub fn usual(levels: usize, shape: Shape) -> Self {
        match shape {
            Shape::Differences(limit) if levels > 2 && limit + 1 >= levels => Self::Cut,
            _ => Self::MeanField,
        }
    }
}

impl std::str::FromStr for DenoiseMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let at = Self::NAMES.iter().position(|name| *name == text).ok_or_else(|| {
            let problem = format!("`{text}` is not known; choose {}", Self::NAMES.join(", "));
            Error::option("method", problem)
        })?;
        Ok(Self::ALL[at])
    }
}

/// What the noise of grey pictures costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseCost {
    /// The square of what it adds.
    Squared,
    /// Its magnitude: pixels may be far off.
    Absolute,
}

/// What differing neighbours cost in grey pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Their difference, up to a limit.
    Differences(usize),
    /// The same, however much they differ.
    Potts,
}

/// What the user chooses. The one place where defaults live.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DenoiseParams {
    /// How the true pixels are found.
    pub method: DenoiseMethod,
    /// What differing neighbours cost; found from the picture if not told.
    pub coupling: Option<f64>,
    /// The probability of a flip, or the standard deviation of the noise in levels of grey; found from the
    /// picture if not told.
    pub noise: Option<f64>,
    /// What noise costs in grey pictures.
    pub error: NoiseCost,
    /// What differing neighbours cost in grey pictures.
    pub shape: Shape,
}

impl Default for DenoiseParams {
    fn default() -> Self {
        Self {
            method: DenoiseMethod::MeanField,
            coupling: None,
            noise: None,
            error: NoiseCost::Squared,
            shape: Shape::Differences(255),
        }
    }
}

impl DenoiseParams {
    fn check(&self, most_noise: f64) -> Result<()> {
        if let Some(coupling) = self.coupling
            && !(0.0..=1000.0).contains(&coupling)
        {
            return Err(Error::option("coupling", format!("{coupling} is not from 0 to 1000")));
        }
        if let Some(noise) = self.noise
            && !(noise > 0.0 && noise <= most_noise)
        {
            let problem = format!("{noise} is not above 0 and at most {most_noise}");
            return Err(Error::option("noise", problem));
        }
        if self.shape == Shape::Differences(0) {
            return Err(Error::option("truncate", "differences must count up to 1 level at least"));
        }
        Ok(())
    }
}

/// A cleaned picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Denoised {
    /// Its pixels: 0 and 255, or levels.
    pub pixels: Vec<u8>,
    /// The energy of the state (of mean field's and draws' the nearest state).
    pub energy: f64,
    /// How far it can be trusted to be the state of least energy.
    pub kind: Kind,
    /// The coupling that was used.
    pub coupling: f64,
    /// The noise that was used.
    pub noise: f64,
    /// The free energy by sweep, or the energy.
    pub trace: Vec<f64>,
    /// Of two levels, how probable the brighter one is.
    pub probability: Option<Vec<f64>>,
}

/// Whether a pixel is one of those that are hidden and guessed.
fn held_out(i: usize, width: usize) -> bool {
    (i % width + 3 * (i / width)).is_multiple_of(7)
}
