//! Ratings as ordered levels: an ordered probit on top of the latent value.
//!
//! A latent `y_cd = l̃_d·z̃_c + ε`, `ε ~ N(0, 1)`, is seen as level k if `τ_{k-1} < y ≤ τ_k`, with `τ_0 = -∞`, `τ_L = ∞` and cut points between that
//! all columns share. The unit of y is its noise and its origin the mean of the columns' offsets, so that cut points are known once the data is. Levels need
//! not be equally far apart then, and nothing is expected beyond the ends of the scale.
//!
//! The posterior gets a factor `q(y_cd)` for each observed cell. Given the others, the best one is `N(m, 1)` cut to the level's interval, `m = E[l̃]·E[z̃]`. Put
//! back, a cell's share of the bound is
//!
//! `log Z(m) - ½ (E[(l̃·z̃)²] - m²)`, `Z(m) = Φ(τ_k - m) - Φ(τ_{k-1} - m)`,
//!
//! and rows and columns are updated as they were, with `E[y] = m + (φ(τ_{k-1} - m) - φ(τ_k - m))/Z(m)` for y and ψ = 1:
//!
//! - a row's precision P does not depend on y, so it is factored once, and `E[z] = P⁻¹h(E[y])`, `E[y](E[z])` go on by turns. `log Z` is concave, so there is one
//!   end to it, which turns approach by a factor of the share ρ of y's variance that its level leaves open; Newton's steps, by `P - Σ_d ρ_d E[l]E[l]ᵀ` instead of P, are
//!   there in a few, and where one does not rise turns go on. A row's share of the bound comes to
//!   `Σ_d (log Z + ½m²) - ½ (E[z]ᵀP E[z] + 2 E[z]·Σ_d E[l c] + Σ_d E[c²]) - ½ log |P| + ½ log λ`;
//! - cut points: with everything else held, the bound depends on them by `Σ log Z(m_cd)` alone. How often each level has which m is counted in narrow bins, a count being shared
//!   by the two nearest, and each cut point in turn goes to where the derivative vanishes (the sum is concave in it). These counts hold for the columns
//!   that rows were looked at with, so a pass moves either columns or cut points; after [`SETTLED`] passes cut points rest.
//!
//! **Predictions**: what is believed of y is Gaussian with mean M and variance V (noise included), so level k has the probability
//! `Φ((τ_k - M)/√V) - Φ((τ_{k-1} - M)/√V)`: median, mean and spread are those of the levels.

use mereo_core::math::{HALF_LOG_TWO_PI, normal_cdf, normal_density, normal_quantile};
use mereo_core::{CellPrediction, Error, Result};
use serde::{Deserialize, Serialize};

use crate::levels::Levels;

/// Cut points rest from this pass on.
pub(super) const SETTLED: usize = 24;
/// Bins of m, and how far from 0 they reach.
const BINS: usize = 1024;
const REACH: f64 = 8.0;
/// Cut points are at least this far apart.
const APART: f64 = 1e-3;
/// Cut points are no further out than this.
const FURTHEST: f64 = 12.0;
/// How far latent values spread at first: noise, and what explains them.
const SPREAD: f64 = 1.2;

/// Levels and what separates them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cuts {
    /// `[L]`, rising.
    pub(super) levels: Levels,
    /// `[L - 1]`, rising.
    pub(super) cuts: Vec<f64>,
}

impl Cuts {
    /// Those that give levels as much as they have, of these weights.
    pub(super) fn of(levels: Levels, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let (mut below, mut cuts) = (0.0, Vec::new());
        for weight in &weights[..weights.len().saturating_sub(1)] {
            below += weight;
            let least = cuts.last().map_or(-FURTHEST, |before| before + APART);
            let share = (below / total).clamp(1e-9, 1.0 - 1e-9);
            let cut = SPREAD * normal_quantile(share);
            cuts.push(cut.max(least));
        }
        Self { levels, cuts }
    }

    /// Trusts nothing.
    pub(super) fn checked(levels: Vec<f64>, cuts: Vec<f64>) -> Result<Self> {
        let rises = |all: &[f64]| all.windows(2).all(|pair| pair[0] < pair[1]);
        let finite = levels.iter().chain(&cuts).all(|x| x.is_finite());
        if levels.is_empty()
            || cuts.len() + 1 != levels.len()
            || !finite
            || !rises(&levels)
            || !rises(&cuts)
        {
            let problem = "`level` and `cut` must rise, with one cut between any two levels";
            return Err(Error::option("ordinal", problem));
        }
        Ok(Self { levels: Levels(levels), cuts })
    }

    /// Where a level begins and ends.
    fn interval(&self, level: usize) -> (f64, f64) {
        let low = if level == 0 { f64::NEG_INFINITY } else { self.cuts[level - 1] };
        (low, self.cuts.get(level).copied().unwrap_or(f64::INFINITY))
    }

    /// `log Z(m)` and `E[y] - m` of a cell that shows a value, and the variance of y given that: how much of it the level leaves open.
    pub(super) fn look_closely(&self, x: f64, m: f64) -> (f64, f64, f64) {
        let (low, high) = self.interval(self.levels.nearest(x));
        let (low, high) = (low - m, high - m);
        let (log, apart) = cut_gaussian(low, high);
        let of = |end: f64| {
            if end.is_finite() {
                end * (-0.5 * end * end - HALF_LOG_TWO_PI - log).exp()
            } else {
                0.0
            }
        };
        let variance = 1.0 + of(low) - of(high) - apart * apart;
        // Whatever was rounded, far out.
        (log, apart, if variance.is_finite() { variance.clamp(0.0, 1.0) } else { 0.0 })
    }

    /// The probability of each level, of a latent value of this mean and variance.
    pub(super) fn predict(&self, mean: f64, variance: f64) -> CellPrediction {
        let (deviation, mut before) = (variance.sqrt(), 0.0);
        let of = |(level, value): (usize, &f64)| {
            let to = match self.cuts.get(level) {
                Some(cut) => normal_cdf((cut - mean) / deviation),
                None => 1.0,
            };
            let own = (to - before).max(0.0);
            before = to;
            (*value, own)
        };
        CellPrediction::Levels(self.levels.0.iter().enumerate().map(of).collect())
    }

    /// The level that a latent value shows.
    pub(super) fn level(&self, y: f64) -> f64 {
        self.levels.0[self.cuts.partition_point(|cut| *cut < y)]
    }

    /// Counts of nothing yet.
    pub(super) fn empty_counts(&self) -> Vec<f64> {
        vec![0.0; self.levels.len() * (BINS + 1)]
    }

    /// Counts a cell that shows x where m was expected.
    pub(super) fn count(&self, counts: &mut [f64], x: f64, m: f64, weight: f64) {
        let own = &mut counts[self.levels.nearest(x) * (BINS + 1)..];
        let place = ((m + REACH) / (2.0 * REACH) * BINS as f64).clamp(0.0, BINS as f64);
        let first = (place.floor() as usize).min(BINS - 1);
        let share = place - first as f64;
        own[first] += weight * (1.0 - share);
        own[first + 1] += weight * share;
    }

    /// Moves each cut point to where the levels beside it are likeliest, twice in turn.
    pub(super) fn move_to(&mut self, counts: &[f64]) {
        let expected: Vec<f64> =
            (0..=BINS).map(|bin| 2.0 * REACH * bin as f64 / BINS as f64 - REACH).collect();
        for at in (0..self.cuts.len()).chain(0..self.cuts.len()) {
            let before = if at == 0 { -FURTHEST } else { self.cuts[at - 1] + APART };
            let after = self.cuts.get(at + 1).map_or(FURTHEST, |cut| cut - APART);
            if before >= after {
                continue;
            }
            let (mut low, mut high) = (before, after);
            for _ in 0..48 {
                let cut = f64::midpoint(low, high);
                if self.slope(counts, &expected, at, cut) > 0.0 { low = cut } else { high = cut }
            }
            self.cuts[at] = f64::midpoint(low, high);
        }
    }

    /// The derivative of `Σ log Z` by a cut point, if it were here.
    fn slope(&self, counts: &[f64], expected: &[f64], at: usize, cut: f64) -> f64 {
        let below = &counts[at * (BINS + 1)..(at + 1) * (BINS + 1)];
        let above = &counts[(at + 1) * (BINS + 1)..(at + 2) * (BINS + 1)];
        let low = if at == 0 { f64::NEG_INFINITY } else { self.cuts[at - 1] };
        let high = self.cuts.get(at + 1).copied().unwrap_or(f64::INFINITY);
        let mut slope = 0.0;
        for ((m, below), above) in expected.iter().zip(below).zip(above) {
            let log_density = -0.5 * (cut - m) * (cut - m) - HALF_LOG_TWO_PI;
            if *below > 0.0 {
                slope += below * (log_density - cut_gaussian(low - m, cut - m).0).exp();
            }
            if *above > 0.0 {
                slope -= above * (log_density - cut_gaussian(cut - m, high - m).0).exp();
            }
        }
        slope
    }
}

/// Of a standard Gaussian number between a and b: the log of the probability to be there, and its mean.
fn cut_gaussian(a: f64, b: f64) -> (f64, f64) {
    if a < 0.0 && b > 0.0 {
        let inside = normal_cdf(b) - normal_cdf(a);
        if !(inside > 1e-12) {
            // Too narrow to tell: the density over the width.
            let log = (b - a).max(f64::MIN_POSITIVE).ln() - HALF_LOG_TWO_PI;
            return (log, f64::midpoint(a, b));
        }
        return (inside.ln(), (normal_density(a) - normal_density(b)) / inside);
    }
    if b <= 0.0 {
        let (log, mean) = cut_gaussian_above(-b, -a);
        return (log, -mean);
    }
    cut_gaussian_above(a, b)
}

/// The same for `0 ≤ a < b`, by the ratio of what is beyond to the density, which never vanishes.
fn cut_gaussian_above(a: f64, b: f64) -> (f64, f64) {
    // Further out nothing changes, and squares must stay finite.
    let a = a.min(1e100);
    let fades = if b < 1e150 { (-0.5 * (b - a) * (b + a)).exp() } else { 0.0 };
    let beyond = if fades > 0.0 { fades * beyond(b) } else { 0.0 };
    let inside = self::beyond(a) - beyond;
    let log_density = -0.5 * a * a - HALF_LOG_TWO_PI;
    if !(inside > 0.0) || !((1.0 - fades) > 0.0) {
        // Too narrow to tell: the density over the width.
        return (log_density + (b - a).max(f64::MIN_POSITIVE).ln(), f64::midpoint(a, b));
    }
    // Between the ends whatever was rounded.
    (log_density + inside.ln(), ((1.0 - fades) / inside).clamp(a, b))
}

/// `(1 - Φ(x))/φ(x)` for x from 0 up: Mills' ratio, by a continued fraction where it is far out.
fn beyond(x: f64) -> f64 {
    if x < 6.0 {
        return normal_cdf(-x) / normal_density(x);
    }
    let mut tail = x;
    for k in (1..=24).rev() {
        tail = x + f64::from(k) / tail;
    }
    1.0 / tail
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of f over (a, b) by many small steps.
    fn integral(a: f64, b: f64, f: impl Fn(f64) -> f64) -> f64 {
        let steps = 200_000;
        let width = (b - a) / f64::from(steps);
        (0..steps).map(|i| f(a + (f64::from(i) + 0.5) * width) * width).sum()
    }

    #[test]
    fn cut_gaussians_are_as_quadrature_says() {
        for (a, b) in [(-1.0, 0.5), (0.2, 0.9), (-3.0, -2.0), (5.5, 7.0), (6.5, 20.0), (-0.1, 12.0)]
        {
            let inside = integral(a, b, normal_density);
            let mean = integral(a, b, |z| z * normal_density(z)) / inside;
            let (log, found) = cut_gaussian(a, b);
            assert!((log - inside.ln()).abs() < 1e-7, "{a} {b}: {log} {}", inside.ln());
            assert!((found - mean).abs() < 1e-7, "{a} {b}: {found} {mean}");
            let square = integral(a, b, |z| (z - mean).powi(2) * normal_density(z)) / inside;
            let cuts = Cuts { levels: Levels(vec![1.0, 2.0, 3.0]), cuts: vec![a, b] };
            let (_, _, open) = cuts.look_closely(2.0, 0.0);
            assert!((open - square).abs() < 1e-6, "{a} {b}: {open} {square}");
        }
        for (a, b) in
            [(1e3, f64::INFINITY), (f64::NEG_INFINITY, -40.0), (3.0, 3.0 + 1e-15), (1e200, 2e200)]
        {
            let (log, mean) = cut_gaussian(a, b);
            assert!(log < 0.0 && !log.is_nan() && mean.is_finite(), "{a} {b}: {log} {mean}");
        }
    }

    #[test]
    fn cut_points_are_found_again() {
        let truth = [-1.5, -0.2, 0.9];
        let levels = || Levels(vec![1.0, 2.0, 3.0, 4.0]);
        let exact = Cuts { levels: levels(), cuts: truth.to_vec() };
        let mut found = Cuts::of(levels(), &[1.0; 4]);
        let mut counts = found.empty_counts();
        for i in 0..400 {
            let m = f64::from(i) / 100.0 - 2.0;
            let CellPrediction::Levels(shares) = exact.predict(m, 1.0) else { panic!("levels") };
            shares.iter().for_each(|(x, p)| found.count(&mut counts, *x, m, *p));
        }
        (0..40).for_each(|_| found.move_to(&counts));
        for (cut, truth) in found.cuts.iter().zip(truth) {
            assert!((cut - truth).abs() < 1e-3, "{:?}", found.cuts);
        }
    }
}
