//! Offset, loading and noise of a column, from sums over its rows: see the [module](super).

use mereo_core::math::{cholesky_solve, packed};

use super::normal::{factor, place};

/// Sums over the rows that observe a column, each counting by its weight (and its gate, if it has
/// one of its own).
pub(super) struct Sums<'a> {
    /// `n`, `Σx` and `Σx²`.
    pub(super) count: f64,
    pub(super) first: f64,
    pub(super) second: f64,
    /// `Σm` and `Σxm`.
    pub(super) mean: &'a [f64],
    pub(super) product: &'a [f64],
    /// `Σ E[ssᵀ]`, packed.
    pub(super) pairs: &'a [f64],
}

/// The factor of `C = Σ E[ssᵀ] - Σm Σmᵀ/n`, packed, from the packed `Σ E[ssᵀ]`.
pub(super) fn factor_of(pairs_sum: &[f64], mean: &[f64], count: f64, out: &mut [f64]) {
    let size = mean.len();
    debug_assert_eq!(pairs_sum.len(), packed(size));
    let mut largest = 0.0f64;
    for r in 0..size {
        for c in 0..=r {
            out[place(r, c)] = pairs_sum[place(r, c)] - mean[r] * mean[c] / count;
        }
        largest = largest.max(out[place(r, r)]);
    }
    factor(out, size, (1e-12 * largest).max(f64::MIN_POSITIVE));
}

/// Solves for a column: writes its loading, and returns its offset and what is left of the squares.
pub(super) fn solve_column(lower: &[f64], sums: &Sums<'_>, loading: &mut [f64]) -> (f64, f64) {
    let Sums { count, first, second, mean, product, .. } = *sums;
    for ((l, &xm), &m) in loading.iter_mut().zip(product).zip(mean) {
        *l = xm - first * m / count;
    }
    let told: Vec<f64> = loading.to_vec();
    cholesky_solve(lower, mean.len(), loading);
    let explained: f64 = loading.iter().zip(&told).map(|(l, c)| l * c).sum();
    let shift: f64 = loading.iter().zip(mean).map(|(l, m)| l * m).sum();
    ((first - shift) / count, (second - first * first / count - explained).max(0.0))
}
