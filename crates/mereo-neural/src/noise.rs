//! What rows are corrupted by, anew at every look.

use mereo_core::{Error, Random, Real, Result};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Noise on the way into an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Noise {
    /// Normal numbers of this deviation are added to all cells.
    Gaussian(f64),
    /// This share of the cells is replaced by nothing: 0 in pictures, the mean in tables.
    Mask(f64),
    /// This share of the cells is replaced by the darkest or the brightest value.
    Salt(f64),
}

impl std::str::FromStr for Noise {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::option(
                "noise",
                format!("`{text}` is not known; say gaussian:DEVIATION, mask:SHARE or salt:SHARE"),
            )
        };
        let (kind, number) = text.split_once(':').ok_or_else(bad)?;
        let number: f64 = number.trim().parse().map_err(|_| bad())?;
        let share = (0.0..=1.0).contains(&number);
        match kind.trim() {
            "gaussian" if number >= 0.0 && number.is_finite() => Ok(Self::Gaussian(number)),
            "mask" if share => Ok(Self::Mask(number)),
            "salt" if share => Ok(Self::Salt(number)),
            "gaussian" | "mask" | "salt" => Err(Error::option(
                "noise",
                format!("`{text}`: a share is from 0 to 1, a deviation from 0 up"),
            )),
            _ => Err(bad()),
        }
    }
}

/// What cells are replaced by, in a network's units, column by column.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Replaced {
    pub(crate) nothing: Vec<f64>,
    pub(crate) darkest: Vec<f64>,
    pub(crate) brightest: Vec<f64>,
}

impl Noise {
    /// Corrupts a row, and sets the weight of cells that were hit.
    pub(crate) fn corrupt<T: Real>(
        self,
        random: &mut Random,
        by: &Replaced,
        row: &mut [T],
        emphasis: (f64, &mut [T]),
    ) {
        let (factor, weights) = emphasis;
        let factor = T::from_f64(factor);
        weights.fill(T::ONE);
        match self {
            Self::Gaussian(deviation) => {
                for x in row {
                    let drawn: f64 = StandardNormal.sample(random);
                    *x += T::from_f64(deviation * drawn);
                }
            }
            Self::Mask(share) => {
                for (c, x) in row.iter_mut().enumerate() {
                    if random.random::<f64>() < share {
                        *x = T::from_f64(by.nothing[c]);
                        weights[c] = factor;
                    }
                }
            }
            Self::Salt(share) => {
                for (c, x) in row.iter_mut().enumerate() {
                    let drawn: f64 = random.random();
                    if drawn < share {
                        let bright = drawn < share / 2.0;
                        *x = T::from_f64(if bright { by.brightest[c] } else { by.darkest[c] });
                        weights[c] = factor;
                    }
                }
            }
        }
    }

    /// Whether only some cells are hit, which then count more.
    pub(crate) fn hits_some(self) -> bool {
        !matches!(self, Self::Gaussian(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::Context;

    #[test]
    fn noise_has_the_shares_and_spreads_that_were_asked_for() {
        let by = Replaced {
            nothing: vec![-9.0; 1000],
            darkest: vec![-5.0; 1000],
            brightest: vec![5.0; 1000],
        };
        let of = |noise: &str| {
            let (mut row, mut weights) = (vec![1.0f64; 1000], vec![0.0; 1000]);
            let mut random = Context::new(1).random("noise", [0, 0]);
            noise.parse::<Noise>().unwrap().corrupt(
                &mut random,
                &by,
                &mut row,
                (3.0, &mut weights),
            );
            (row, weights)
        };
        let (row, weights) = of("gaussian:0.5");
        let spread = row.iter().map(|x| (x - 1.0).powi(2)).sum::<f64>() / 1000.0;
        assert!((spread - 0.25).abs() < 0.04 && weights.iter().all(|w| *w == 1.0), "{spread}");
        let (row, weights) = of("mask:0.25");
        let hit = row.iter().filter(|x| **x == -9.0).count();
        assert!((210..290).contains(&hit), "{hit}");
        assert_eq!(weights.iter().filter(|w| **w == 3.0).count(), hit);
        let (row, _) = of("salt:0.4");
        let (bright, dark) =
            (row.iter().filter(|x| **x == 5.0).count(), row.iter().filter(|x| **x == -5.0).count());
        assert!((160..240).contains(&bright) && (160..240).contains(&dark), "{bright} {dark}");
    }

    #[test]
    fn what_is_no_noise_is_told() {
        for text in ["", "mask", "mask:2", "gaussian:-1", "salt:x", "fog:1", "gaussian:nan"] {
            let error = text.parse::<Noise>().unwrap_err().to_string();
            assert!(error.contains("noise"), "{error}");
        }
    }
}
