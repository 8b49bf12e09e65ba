//! Ordered words: a cumulative probit.
//!
//! A level is the interval that a hidden number falls into. Its thresholds are the column's: those that cut a standard
//! normal into the shares that the levels have in the whole column, `τ_l = Φ⁻¹(π_1 + … + π_l)`. In a slot the hidden number
//! is normal with a location μ and a spread σ, so that `p_l = Φ(aτ_l - b) - Φ(aτ_{l-1} - b)` with `a = 1/σ`, `b = μ/σ`: two
//! numbers whatever the levels, and neighbouring levels go together.
//!
//! The M-step maximises `Σ_l q_l log p_l`, `q` the shares of rows and pseudo-rows. That is concave in `(a, b)` (Pratt 1981: the
//! logarithm of the measure of an interval whose ends are linear in the parameters is concave, as the normal density is
//! log-concave), so that damped Newton steps find the maximum; they end when a step gains less than `1e-12`. With
//! `u = aτ_l - b`, `v = aτ_{l-1} - b`, and φ the normal density,
//! `∂p/∂b = φ(v) - φ(u)`, `∂p/∂a = τ_l φ(u) - τ_{l-1} φ(v)`. In place of second derivatives stand those that are expected,
//! `Σ_l ∂p ∂pᵀ / p` (Fisher's scoring).

use super::{Typical, WordColumn};
use crate::math::{normal_cdf, normal_density, normal_quantile};

/// Most Newton steps, and halvings of one.
const STEPS: usize = 50;
const HALVINGS: usize = 30;
/// The narrowest spread, as `a`, and the widest.
const STEEPEST: f64 = 1e3;
const FLATTEST: f64 = 1e-3;
/// No level has less than this of a slot.
const LEAST: f64 = 1e-12;

/// Thresholds of all ordered columns, at the numbers of their levels: where each level ends.
#[derive(Debug, Clone)]
pub(super) struct Thresholds {
    ends: Vec<f64>,
}

impl Thresholds {
    pub(super) fn of(typical: &Typical) -> Self {
        let mut ends = vec![f64::INFINITY; typical.kinds.width()];
        for words in typical.kinds.words().filter(|words| words.ordered) {
            let mut below = 0.0;
            for l in words.first..words.first + words.levels - 1 {
                below += typical.share[l];
                ends[l] = normal_quantile(below.clamp(1e-12, 1.0 - 1e-12));
            }
        }
        Self { ends }
    }

    /// Replaces the shares of a column's levels by the nearest that a location and a spread give; tells these, as a mean
    /// and a variance.
    pub(super) fn fit(&self, words: WordColumn, shares: &mut [f64]) -> (f64, f64) {
        let ends = &self.ends[words.first..words.first + words.levels];
        let (a, b) = maximise(ends, shares);
        for (l, p) in shares.iter_mut().enumerate() {
            *p = interval(ends, l, a, b);
        }
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|p| *p /= total);
        (b / a, 1.0 / (a * a))
    }
}

/// The ends of a level after location and spread: below, above.
fn bounds(ends: &[f64], l: usize, a: f64, b: f64) -> (f64, f64) {
    let at = |end: f64| if end.is_infinite() { end } else { a * end - b };
    (if l == 0 { f64::NEG_INFINITY } else { at(ends[l - 1]) }, at(ends[l]))
}

/// The probability of a level.
fn interval(ends: &[f64], l: usize, a: f64, b: f64) -> f64 {
    let (v, u) = bounds(ends, l, a, b);
    // Differences of what is left in the nearer tail lose nothing.
    let p = if v > 0.0 { normal_cdf(-v) - normal_cdf(-u) } else { normal_cdf(u) - normal_cdf(v) };
    p.max(LEAST)
}

fn objective(ends: &[f64], shares: &[f64], a: f64, b: f64) -> f64 {
    shares.iter().enumerate().map(|(l, q)| q * interval(ends, l, a, b).ln()).sum()
}

/// The `(a, b)` at which `Σ q log p` is largest.
fn maximise(ends: &[f64], shares: &[f64]) -> (f64, f64) {
    let (mut a, mut b) = (1.0, 0.0);
    let mut best = objective(ends, shares, a, b);
    for _ in 0..STEPS {
        let (mut gradient, mut fisher) = ([0.0; 2], [0.0; 3]);
        for (l, q) in shares.iter().enumerate() {
            let (v, u) = bounds(ends, l, a, b);
            let p = interval(ends, l, a, b);
            let (phi_v, phi_u) = (normal_density(v), normal_density(u));
            let weighed = |end: f64, phi: f64| if end.is_infinite() { 0.0 } else { end * phi };
            let below = if l == 0 { f64::NEG_INFINITY } else { ends[l - 1] };
            let of_a = weighed(ends[l], phi_u) - weighed(below, phi_v);
            let of_b = phi_v - phi_u;
            gradient[0] += q * of_a / p;
            gradient[1] += q * of_b / p;
            fisher[0] += of_a * of_a / p;
            fisher[1] += of_a * of_b / p;
            fisher[2] += of_b * of_b / p;
        }
        let ridge = 1e-9 * (fisher[0] + fisher[2]) + 1e-12;
        let (x, y, z) = (fisher[0] + ridge, fisher[1], fisher[2] + ridge);
        let determinant = x * z - y * y;
        let step = [
            (z * gradient[0] - y * gradient[1]) / determinant,
            (x * gradient[1] - y * gradient[0]) / determinant,
        ];
        let mut length = 1.0;
        let gained = (0..HALVINGS).find_map(|_| {
            let next_a = (a + length * step[0]).clamp(FLATTEST, STEEPEST);
            let next_b = (b + length * step[1]).clamp(-1e3, 1e3);
            length *= 0.5;
            let value = objective(ends, shares, next_a, next_b);
            (value > best).then_some((next_a, next_b, value))
        });
        let Some((next_a, next_b, value)) = gained else { break };
        let gain = value - best;
        (a, b, best) = (next_a, next_b, value);
        if gain < 1e-12 {
            break;
        }
    }
    (a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: [f64; 4] = [-0.8, 0.1, 1.2, f64::INFINITY];

    #[test]
    fn shares_of_a_location_and_a_spread_are_found_again() {
        for (a, b) in [(1.0, 0.0), (2.5, 1.5), (0.6, -0.7)] {
            let shares: Vec<f64> = (0..4).map(|l| interval(&ENDS, l, a, b)).collect();
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let (found_a, found_b) = maximise(&ENDS, &shares);
            assert!(
                (found_a - a).abs() < 1e-4 && (found_b - b).abs() < 1e-4,
                "{found_a} {found_b}"
            );
        }
    }

    #[test]
    fn nothing_near_the_maximum_is_better() {
        let shares = [0.5, 0.05, 0.4, 0.05];
        let (a, b) = maximise(&ENDS, &shares);
        let best = objective(&ENDS, &shares, a, b);
        for (x, y) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3), (0.3, 0.3)] {
            assert!(objective(&ENDS, &shares, a + x, b + y) < best);
        }
    }

    #[test]
    fn one_level_alone_stays_finite() {
        let (a, b) = maximise(&ENDS, &[1.0 - 3e-9, 1e-9, 1e-9, 1e-9]);
        assert!(a.is_finite() && b.is_finite());
        assert!(interval(&ENDS, 0, a, b) > 0.99);
    }
}
