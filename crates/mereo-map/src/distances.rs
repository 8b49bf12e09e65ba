//! A matrix of distances in place of rows.

use std::fmt;
use std::str::FromStr;

use mereo_core::{Error, Place, Result};

/// How far apart things are, pair by pair, where nothing else is known of them.
///
/// ```
/// use mereo_map::Distances;
/// let triangle = Distances::new(3, vec![0.0, 3.0, 4.0, 3.0, 0.0, 5.0, 4.0, 5.0, 0.0])?;
/// assert_eq!(triangle.between(1, 2), 5.0);
/// assert!(Distances::new(2, vec![0.0, 1.0, 2.0, 0.0]).is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Distances {
    count: usize,
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
}

/// How similarities are turned into distances.
///
/// ```
/// use mereo_map::Similarity;
/// assert_eq!("reverse".parse::<Similarity>().unwrap(), Similarity::Reverse);
/// assert!("backwards".parse::<Similarity>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Similarity {
    /// `d = m - s`, m the largest similarity: for answers on a scale (Likert), averaged or not.
    Reverse,
    /// `d² = s_ii + s_jj - 2 s_ij`: for dot products, kernels, covariances.
    Root,
    /// `d = log m - log s`: for rates and probabilities of confusion.
    Log,
}

impl Similarity {
    /// The rules by name.
    pub const NAMES: [&'static str; 3] = ["reverse", "root", "log"];
}

impl FromStr for Similarity {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "reverse" => Ok(Self::Reverse),
            "root" => Ok(Self::Root),
            "log" => Ok(Self::Log),
            _ => Err(format!("`{text}` is no rule; there are {}", Self::NAMES.join(", "))),
        }
    }
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reverse => "reverse",
            Self::Root => "root",
            Self::Log => "log",
        })
    }
}

impl Distances {
    /// Takes a square matrix, row after row: symmetric, nothing negative, nothing missing, zeros
    /// along the diagonal.
    pub fn new(count: usize, mut values: Vec<f64>) -> Result<Self> {
        let largest = check_matrix(count, &values, "distance")?;
        for i in 0..count {
            for j in 0..=i {
                let v = values[i * count + j];
                if v < 0.0 {
                    return Err(Error::found(at(i, j), v, "a distance of at least 0"));
                }
            }
            let own = values[i * count + i];
            if own > 1e-9 * largest {
                return Err(Error::found(at(i, i), own, "0, the distance of a thing from itself"));
            }
            values[i * count + i] = 0.0;
        }
        make_symmetric(count, &mut values);
        Ok(Self { count, values, weights: None })
    }

    /// Turns similarities into distances by a rule. What a thing's similarity to itself is matters
    /// for [`Similarity::Root`] alone; elsewhere it may be missing.
    ///
    /// ```
    /// use mereo_map::{Distances, Similarity};
    /// let breakfasts = vec![f64::NAN, 4.5, 1.0, 4.5, f64::NAN, 2.0, 1.0, 2.0, f64::NAN];
    /// let distances = Distances::from_similarities(3, breakfasts, Similarity::Reverse)?;
    /// assert_eq!(distances.between(0, 2), 3.5);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn from_similarities(count: usize, mut values: Vec<f64>, rule: Similarity) -> Result<Self> {
        if rule != Similarity::Root && values.len() == count * count {
            (0..count).for_each(|i| {
                let others = (0..count).filter(|&j| j != i).map(|j| values[i * count + j]);
                values[i * count + i] = others.fold(f64::NEG_INFINITY, f64::max);
            });
            if count == 1 {
                values[0] = 1.0;
            }
        }
        let largest = check_matrix(count, &values, "similarity")?;
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        make_symmetric(count, &mut values);
        let mut out = vec![0.0; count * count];
        for i in 0..count {
            for j in (0..count).filter(|&j| j != i) {
                let s = values[i * count + j];
                out[i * count + j] = match rule {
                    Similarity::Reverse => most - s,
                    Similarity::Root => {
                        let square = values[i * count + i] + values[j * count + j] - 2.0 * s;
                        if square < -1e-9 * largest {
                            return Err(Error::found(
                                at(i, j),
                                format!("a similarity of {s}, more than to themselves"),
                                "s_ij of at most (s_ii + s_jj) / 2 for the rule root",
                            ));
                        }
                        square.max(0.0).sqrt()
                    }
                    Similarity::Log => {
                        if !(s > 0.0) {
                            let expected = "a similarity above 0 for the rule log";
                            return Err(Error::found(at(i, j), s, expected));
                        }
                        (most / s).ln()
                    }
                };
            }
        }
        Ok(Self { count, values: out, weights: None })
    }

    /// How many things there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How far apart two things are.
    pub fn between(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.count + j]
    }

    /// How far all things are from one.
    pub fn from(&self, i: usize) -> &[f64] {
        &self.values[i * self.count..(i + 1) * self.count]
    }

    /// How often each thing counts, if not once.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The same distances, things counting so often each.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        crate::rows::check_weights(&weights, self.count)?;
        self.weights = Some(weights);
        Ok(self)
    }

    /// The distances among some of the things.
    #[must_use]
    pub fn select(&self, things: &[usize]) -> Self {
        let values = things.iter().flat_map(|&i| things.iter().map(move |&j| self.between(i, j)));
        Self {
            count: things.len(),
            values: values.collect(),
            weights: self.weights.as_ref().map(|w| things.iter().map(|&i| w[i]).collect()),
        }
    }
}

fn at(i: usize, j: usize) -> Place {
    Place::at_row(i).column(j)
}

/// Refuses what is not square, finite and symmetric; gives the largest magnitude.
fn check_matrix(count: usize, values: &[f64], what: &str) -> Result<f64> {
    if count.checked_mul(count) != Some(values.len()) {
        return Err(Error::found(
            Place::default(),
            format!("{} numbers for {count} rows", values.len()),
            format!("a square matrix: the {what} of every row from every row"),
        ));
    }
    if let Some(k) = values.iter().position(|v| !v.is_finite() || v.abs() > 1e140) {
        return Err(Error::found(
            at(k / count, k % count),
            if values[k].is_nan() { "nothing".to_owned() } else { values[k].to_string() },
            format!("a {what} for every pair; rows can be missing, single pairs cannot"),
        ));
    }
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    for i in 0..count {
        for j in 0..i {
            let (one, other) = (values[i * count + j], values[j * count + i]);
            if (one - other).abs() > 1e-6 * largest {
                return Err(Error::found(
                    at(i, j),
                    format!("{one}, and {other} the other way round"),
                    format!("the same {what} both ways; average the two if they were asked twice"),
                ));
            }
        }
    }
    Ok(largest)
}

fn make_symmetric(count: usize, values: &mut [f64]) {
    for i in 0..count {
        for j in 0..i {
            let mean = f64::midpoint(values[i * count + j], values[j * count + i]);
            (values[i * count + j], values[j * count + i]) = (mean, mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_matrix_is_refused_by_place() {
        let refused = |values: Vec<f64>, says: &str| {
            let error = Distances::new(2, values).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        refused(vec![0.0; 3], "square");
        refused(vec![0.0, -1.0, -1.0, 0.0], "row 1, column `0`: found -1");
        refused(vec![0.0, 1.0, 2.0, 0.0], "other way round");
        refused(vec![0.0, f64::NAN, 1.0, 0.0], "row 0, column `1`: found nothing");
        refused(vec![1.0, 1.0, 1.0, 0.0], "itself");
    }

    #[test]
    fn rules_turn_similarities_into_distances() {
        // Dot products of (0, 0), (3, 0), (0, 4).
        let dots = vec![0.0, 0.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 16.0];
        let root = Distances::from_similarities(3, dots, Similarity::Root).unwrap();
        assert_eq!((root.between(0, 1), root.between(1, 2)), (3.0, 5.0));
        let rates = vec![f64::NAN, 0.5, 0.5, f64::NAN];
        let log = Distances::from_similarities(2, rates.clone(), Similarity::Log).unwrap();
        assert_eq!(log.between(0, 1), 0.0);
        let zero = vec![1.0, 0.0, 0.0, 1.0];
        assert!(Distances::from_similarities(2, zero, Similarity::Log).is_err());
        assert!(Distances::from_similarities(2, rates, Similarity::Root).is_err());
    }
}
