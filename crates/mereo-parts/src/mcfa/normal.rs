//! Gaussian codes from their natural parameters.
//!
//! The code of a part is the expectations of `(1, s, s sᵀ)`, pairs packed row by row of the lower
//! triangle, each once. Its natural parameters `N` are the coefficients of these in
//! `-Σ_d g_dk ε_dk`: with `N_1`, `N_s = h` and, `P = I - 2 N_ss` on the diagonal, `P = -N_ss` off it,
//! the posterior of `s` is `N(P^-1 h, P^-1)` and the log of the normaliser
//! `N_1 + ½ hᵀ P^-1 h - ½ log |P|`.

use mereo_core::math::{cholesky_solve, packed};

use crate::per_row::RowAppearance;

/// The place of a pair, `row >= column`, among the packed ones.
pub(crate) fn place(row: usize, column: usize) -> usize {
    row * (row + 1) / 2 + column
}

/// Numbers in a part's code.
pub(crate) fn width(factors: usize) -> usize {
    1 + factors + packed(factors)
}

/// Factors a packed symmetric matrix into `L Lᵀ`, in place, as [`mereo_core::math::cholesky`] does, but
/// no pivot is taken below `least`, which rounding alone can make it.
pub(crate) fn factor(matrix: &mut [f64], size: usize, least: f64) {
    for r in 0..size {
        for c in 0..=r {
            let mut sum = matrix[place(r, c)];
            for i in 0..c {
                sum -= matrix[place(r, i)] * matrix[place(c, i)];
            }
            matrix[place(r, c)] =
                if r == c { sum.max(least).sqrt() } else { sum / matrix[place(c, c)] };
        }
    }
}

/// Turns `L` into `(L Lᵀ)^-1`, packed, in place.
fn invert(lower: &mut [f64], size: usize) {
    // L^-1, column by column.
    for c in 0..size {
        lower[place(c, c)] = 1.0 / lower[place(c, c)];
        for r in c + 1..size {
            let sum: f64 = (c..r).map(|i| lower[place(r, i)] * lower[place(i, c)]).sum();
            // Its own diagonal is not inverted yet.
            lower[place(r, c)] = -sum / lower[place(r, r)];
        }
    }
    // L^-T L^-1: entry (r, c) needs rows from r on, which are not written yet.
    for c in 0..size {
        for r in c..size {
            lower[place(r, c)] = (r..size).map(|i| lower[place(i, r)] * lower[place(i, c)]).sum();
        }
    }
}

/// The appearance of MCFA: a code is the expectations of `(1, s, s sᵀ)`.
pub(crate) struct Normal {
    pub(crate) factors: usize,
}

impl RowAppearance for Normal {
    fn code(&self, _part: usize, natural: &[f64], code: &mut [f64]) -> f64 {
        let size = self.factors;
        let (head, matrix) = code.split_at_mut(1 + size);
        let mean = &mut head[1..];
        for r in 0..size {
            for c in 0..=r {
                let n = natural[1 + size + place(r, c)];
                matrix[place(r, c)] = if r == c { 1.0 - 2.0 * n } else { -n };
            }
        }
        // Nothing but rounding takes a pivot of I plus a positive matrix below 1.
        factor(matrix, size, 1.0);
        let log_root: f64 = (0..size).map(|r| matrix[place(r, r)].ln()).sum();
        mean.copy_from_slice(&natural[1..=size]);
        cholesky_solve(matrix, size, mean);
        let fit: f64 = mean.iter().zip(&natural[1..]).map(|(m, h)| m * h).sum();
        invert(matrix, size);
        for r in 0..size {
            for c in 0..=r {
                matrix[place(r, c)] += mean[r] * mean[c];
            }
        }
        head[0] = 1.0;
        natural[0] + 0.5 * fit - log_root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_moments_of_its_gaussian() {
        // P = [[3, 1], [1, 2]], h = (1, 2): P^-1 = [[2, -1], [-1, 3]] / 5, mean (0, 1).
        let natural = [0.25, 1.0, 2.0, -1.0, -1.0, -0.5];
        let mut code = [0.0; 6];
        let norm = Normal { factors: 2 }.code(0, &natural, &mut code);
        let expected = [1.0, 0.0, 1.0, 0.4, -0.2, 1.6];
        for (found, expected) in code.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-14, "{code:?}");
        }
        assert!((norm - (0.25 + 0.5 * 2.0 - 0.5 * 5f64.ln())).abs() < 1e-14);
    }

    #[test]
    fn the_inverse_of_a_factor_times_the_matrix_is_one() {
        let size = 5;
        let full =
            |r: usize, c: usize| if r == c { 4.0 + r as f64 } else { 1.0 / (1 + r + c) as f64 };
        let mut packed: Vec<f64> =
            (0..size).flat_map(|r| (0..=r).map(move |c| full(r, c))).collect();
        factor(&mut packed, size, 1e-12);
        invert(&mut packed, size);
        for r in 0..size {
            for c in 0..size {
                let product: f64 =
                    (0..size).map(|i| full(r, i) * packed[place(i.max(c), i.min(c))]).sum();
                assert!((product - f64::from(u8::from(r == c))).abs() < 1e-12);
            }
        }
    }
}
