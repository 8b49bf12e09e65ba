//! Logistic regression: how likely each label is, from features (9.1.5).
//!
//! `P(m | f) ∝ exp(v_m · f + c_m)`. Minus the log likelihood of weighted examples plus a ridge on v is convex;
//! its gradient is `Σ w (P(m | f) - [label = m]) f`, a matrix product, and L-BFGS finds its least. Features
//! are measured in standard deviations from their means, so that the ridge means the same for all.

use mereo_core::math::{Matrix, minimise, product_nt, product_tn, softmax};
use mereo_core::{Error, Result};

/// Steps of L-BFGS, and the share of the value below which a step no longer counts.
const STEPS: usize = 150;
const TOLERANCE: f64 = 1e-9;
/// Examples that are looked at together.
const BLOCK: usize = 1024;

/// A learned regression.
///
/// ```
/// use mereo_field::Regression;
/// let learned = Regression::fit(&[0.0, 1.0, 2.0, 3.0], 1, &[0, 0, 1, 1], 2, None, 1e-2)?;
/// let mut logs = [0.0; 2];
/// learned.log_probabilities(&[2.5], &mut logs);
/// assert!(logs[1] > logs[0] && (logs[0].exp() + logs[1].exp() - 1.0).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    features: usize,
    /// `[labels, features + 1]`, the constant last.
    weights: Vec<f64>,
}

impl Regression {
    /// Learns from features (`[examples, features]`), labels and, if given, how much each example
    /// counts. The ridge is in examples.
    pub fn fit(
        features: &[f64],
        width: usize,
        labels: &[u8],
        count: usize,
        weight: Option<&[f64]>,
        ridge: f64,
    ) -> Result<Self> {
        let n = labels.len();
        let proper = features.len() == n * width
            && n > 0
            && labels.iter().all(|m| usize::from(*m) < count)
            && features.iter().all(|f| f.is_finite())
            && weight.is_none_or(|w| w.len() == n && w.iter().all(|w| w.is_finite() && *w >= 0.0));
        if !proper {
            let problem = format!(
                "expected examples of {width} finite features with labels below {count}, at least one"
            );
            return Err(Error::option("examples", problem));
        }
        let (mean, deviation) = moments(features, width, n);
        let wide = width + 1;
        let mut measured = Vec::with_capacity(n * wide);
        for row in features.chunks_exact(width.max(1)).take(n) {
            let each = row.iter().zip(mean.iter().zip(&deviation));
            measured.extend(each.map(|(f, (m, d))| (f - m) / d));
            measured.push(1.0);
        }
        if width == 0 {
            measured = vec![1.0; n];
        }
        let total = weight.map_or(n as f64, |w| w.iter().sum()).max(f64::MIN_POSITIVE);
        let mut x = vec![0.0; count * wide];
        let mut logs = vec![0.0; BLOCK * count];
        minimise(&mut x, STEPS, TOLERANCE, |x, gradient| {
            objective(x, gradient, &measured, wide, labels, count, weight, ridge, total, &mut logs)
        });
        // Back to features as they are.
        for own in x.chunks_exact_mut(wide) {
            for k in 0..width {
                own[k] /= deviation[k];
                own[width] -= own[k] * mean[k];
            }
        }
        Ok(Self { features: width, weights: x })
    }

    /// From what a file says: `[labels, features + 1]`, the constant last.
    pub fn from_weights(labels: usize, weights: Vec<f64>) -> Option<Self> {
        let wide = weights.len().checked_div(labels)?;
        let fits = labels * wide == weights.len() && wide > 0;
        (fits && weights.iter().all(|w| w.is_finite()))
            .then(|| Self { features: wide - 1, weights })
    }

    /// `[labels, features + 1]`, the constant last.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.weights.len() / (self.features + 1)
    }

    /// The log probability of each label, of one row of features.
    pub fn log_probabilities(&self, features: &[f64], out: &mut [f64]) {
        for (out, own) in out.iter_mut().zip(self.weights.chunks_exact(self.features + 1)) {
            let sum: f64 = own.iter().zip(features).map(|(w, f)| w * f).sum();
            *out = own[self.features] + sum;
        }
        let most = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_sum = most + out.iter().map(|o| (o - most).exp()).sum::<f64>().ln();
        out.iter_mut().for_each(|o| *o -= log_sum);
    }
}

fn moments(features: &[f64], width: usize, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut mean = vec![0.0; width];
    let rows = || features.chunks_exact(width.max(1)).take(n);
    for row in rows() {
        mean.iter_mut().zip(row).for_each(|(m, f)| *m += f / n as f64);
    }
    let mut deviation = vec![0.0; width];
    for row in rows() {
        for ((d, f), m) in deviation.iter_mut().zip(row).zip(&mean) {
            *d += (f - m).powi(2) / n as f64;
        }
    }
    // A feature that never differs tells nothing, nor does one that differs by rounding alone: the chroma of
    // grey pixels, say, which is 1e-15 where lightness is 100.
    let largest = features.iter().fold(1e-300f64, |most, f| most.max(f.abs()));
    let proper = |(v, m): (f64, &f64)| {
        let d = v.sqrt();
        if d > 1e-12 * m.abs().max(largest) { d } else { 1.0 }
    };
    let deviation = deviation.into_iter().zip(&mean).map(proper).collect();
    (mean, deviation)
}

#[expect(clippy::too_many_arguments)]
fn objective(
    x: &[f64],
    gradient: &mut [f64],
    measured: &[f64],
    wide: usize,
    labels: &[u8],
    count: usize,
    weight: Option<&[f64]>,
    ridge: f64,
    total: f64,
    logs: &mut [f64],
) -> f64 {
    let mut value = 0.0;
    gradient.fill(0.0);
    for (block, rows) in measured.chunks(BLOCK * wide).enumerate() {
        let n = rows.len() / wide;
        let logs = &mut logs[..n * count];
        let (rows, weights) = (Matrix::new(rows, n, wide), Matrix::new(x, count, wide));
        product_nt(logs, rows, weights, false);
        for (at, logs) in logs.chunks_exact_mut(count).enumerate() {
            let example = block * BLOCK + at;
            let counts = weight.map_or(1.0, |w| w[example]) / total;
            let label = usize::from(labels[example]);
            let own = logs[label];
            value += counts * (softmax(logs) - own);
            logs[label] -= 1.0;
            logs.iter_mut().for_each(|p| *p *= counts);
        }
        product_tn(gradient, Matrix::new(logs, n, count), rows, true);
    }
    let ridge = ridge / total;
    for (own, g) in x.chunks_exact(wide).zip(gradient.chunks_exact_mut(wide)) {
        for k in 0..wide - 1 {
            value += 0.5 * ridge * own[k] * own[k];
            g[k] += ridge * own[k];
        }
        // The constants need none, but a hair of it keeps equal ones from drifting.
        g[wide - 1] += 1e-12 * own[wide - 1];
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::Context;
    use rand::RngExt;

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let mut random = Context::new(0).random("examples", [0, 0]);
        let measured: Vec<f64> = (0..60).map(|_| random.random_range(-1.0..1.0)).collect();
        let labels: Vec<u8> = (0..20).map(|_| random.random_range(0..3)).collect();
        let weight: Vec<f64> = (0..20).map(|_| random.random_range(0.0..2.0)).collect();
        let x: Vec<f64> = (0..9).map(|_| random.random_range(-1.0..1.0)).collect();
        let mut logs = vec![0.0; BLOCK * 3];
        let mut at = |x: &[f64], g: &mut [f64]| {
            objective(x, g, &measured, 3, &labels, 3, Some(&weight), 0.3, 20.0, &mut logs)
        };
        let (mut g, mut unused) = (vec![0.0; 9], vec![0.0; 9]);
        at(&x, &mut g);
        for k in 0..9 {
            let (mut up, mut down) = (x.clone(), x.clone());
            up[k] += 1e-5;
            down[k] -= 1e-5;
            let slope = (at(&up, &mut unused) - at(&down, &mut unused)) / 2e-5;
            assert!((slope - g[k]).abs() < 1e-8, "{k}: {slope} {}", g[k]);
        }
    }

    #[test]
    fn offsets_and_constant_features_change_nothing() {
        let mut random = Context::new(0).random("examples", [0, 0]);
        let features: Vec<f64> = (0..200).map(|_| random.random_range(-1.0..1.0)).collect();
        let labels: Vec<u8> =
            features.chunks(2).map(|f| u8::from(f[0] + 0.3 * f[1] > 0.1)).collect();
        let plain = Regression::fit(&features, 2, &labels, 2, None, 1.0).unwrap();
        let far: Vec<f64> =
            features.chunks(2).flat_map(|f| [1e6 + f[0], f[1] * 1e-3, 7.0]).collect();
        let other = Regression::fit(&far, 3, &labels, 2, None, 1.0).unwrap();
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        for (f, g) in features.chunks(2).zip(far.chunks(3)) {
            plain.log_probabilities(f, &mut a);
            other.log_probabilities(g, &mut b);
            assert!((a[0] - b[0]).abs() < 1e-3, "{a:?} {b:?}");
        }
    }

    #[test]
    fn weight_two_equals_the_example_twice() {
        let once = Regression::fit(&[0.0, 1.0, 2.0], 1, &[0, 1, 0], 2, Some(&[2.0, 1.0, 1.0]), 0.5);
        let twice = Regression::fit(&[0.0, 0.0, 1.0, 2.0], 1, &[0, 0, 1, 0], 2, None, 0.5);
        // Means and deviations are of examples, whatever they count: only fits agree, not numbers.
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        once.unwrap().log_probabilities(&[0.5], &mut a);
        twice.unwrap().log_probabilities(&[0.5], &mut b);
        assert!((a[0] - b[0]).abs() < 0.1);
    }

    #[test]
    fn one_example_and_no_features_are_fine() {
        let one = Regression::fit(&[3.0], 1, &[1], 2, None, 1.0).unwrap();
        assert!(one.weights().iter().all(|w| w.is_finite()));
        let none = Regression::fit(&[], 0, &[0, 0, 1], 2, None, 1.0).unwrap();
        let mut logs = [0.0; 2];
        none.log_probabilities(&[], &mut logs);
        assert!((logs[0].exp() - 2.0 / 3.0).abs() < 1e-4);
        assert!(Regression::fit(&[f64::NAN], 1, &[0], 1, None, 1.0).is_err());
    }
}
