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

/// Rows whose codes are found side by side.
pub(crate) const LANES: usize = 8;

/// The same number of each of these rows.
type Lanes = [f64; LANES];

/// `f` of each row's two numbers.
#[inline(always)]
fn both(a: &Lanes, b: &Lanes, f: impl Fn(f64, f64) -> f64) -> Lanes {
    let mut out = *a;
    out.iter_mut().zip(b).for_each(|(out, b)| *out = f(*out, *b));
    out
}

/// Adds the products of each row's two numbers.
#[inline(always)]
fn add_product(sum: &mut Lanes, a: &Lanes, b: &Lanes) {
    for lane in 0..LANES {
        sum[lane] += a[lane] * b[lane];
    }
}

impl Normal {
    /// What [`code`](RowAppearance::code) does, of several rows side by side, each number of theirs one after another: the same operations in the
    /// same order, but as many at once as the machine can do. To be called within [`widest`](mereo_core::math::widest).
    #[inline(always)]
    pub(crate) fn codes(&self, natural: &[Lanes], code: &mut [Lanes]) -> Lanes {
        let size = self.factors;
        let (head, matrix) = code.split_at_mut(1 + size);
        let mean = &mut head[1..];
        let given = &natural[1 + size..];
        for r in 0..size {
            let (above, own) = matrix.split_at_mut(place(r, 0));
            for c in 0..=r {
                let minus = if r == c { 2.0 } else { 1.0 };
                let one = if r == c { 1.0 } else { 0.0 };
                let mut sum = given[place(r, c)].map(|n| one - minus * n);
                // Of rows, `own` is this one; those above are done.
                let (before, rest) = own.split_at_mut(c);
                let other = if r == c { &*before } else { &above[place(c, 0)..place(c, c)] };
                for (a, b) in before.iter().zip(other) {
                    for lane in 0..LANES {
                        sum[lane] -= a[lane] * b[lane];
                    }
                }
                rest[0] = if r == c {
                    sum.map(|s| s.max(1.0).sqrt())
                } else {
                    both(&sum, &above[place(c, c)], |s, pivot| s / pivot)
                };
            }
        }
        let mut log_root = [0.0; LANES];
        for r in 0..size {
            log_root = both(&log_root, &matrix[place(r, r)], |sum, pivot| sum + pivot.ln());
        }
        mean.copy_from_slice(&natural[1..=size]);
        for i in 0..size {
            let row = &matrix[place(i, 0)..=place(i, i)];
            let mut dot = [0.0; LANES];
            row[..i].iter().zip(&*mean).for_each(|(l, x)| add_product(&mut dot, l, x));
            let left = both(&mean[i], &dot, |b, dot| b - dot);
            mean[i] = both(&left, &row[i], |b, pivot| b / pivot);
        }
        for i in (0..size).rev() {
            let row = &matrix[place(i, 0)..=place(i, i)];
            let x = both(&mean[i], &row[i], |b, pivot| b / pivot);
            mean[i] = x;
            for (b, l) in mean.iter_mut().zip(&row[..i]) {
                for lane in 0..LANES {
                    b[lane] -= l[lane] * x[lane];
                }
            }
        }
        let mut fit = [0.0; LANES];
        mean.iter().zip(&natural[1..]).for_each(|(m, h)| add_product(&mut fit, m, h));
        invert_lanes(matrix, size);
        for r in 0..size {
            for c in 0..=r {
                add_product(&mut matrix[place(r, c)], &mean[r], &mean[c]);
            }
        }
        head[0] = [1.0; LANES];
        let norm = both(&natural[0], &fit, |n, fit| n + 0.5 * fit);
        both(&norm, &log_root, |norm, log| norm - log)
    }
}

/// As [`invert`], of several rows side by side.
#[inline(always)]
fn invert_lanes(lower: &mut [Lanes], size: usize) {
    for c in 0..size {
        lower[place(c, c)] = lower[place(c, c)].map(|pivot| 1.0 / pivot);
        for r in c + 1..size {
            let mut sum = [0.0; LANES];
            for i in c..r {
                add_product(&mut sum, &lower[place(r, i)], &lower[place(i, c)]);
            }
            lower[place(r, c)] = both(&sum, &lower[place(r, r)], |sum, pivot| -sum / pivot);
        }
    }
    for c in 0..size {
        for r in c..size {
            let mut sum = [0.0; LANES];
            for i in r..size {
                add_product(&mut sum, &lower[place(i, r)], &lower[place(i, c)]);
            }
            lower[place(r, c)] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_side_by_side_have_the_codes_of_rows_alone() {
        let (factors, normal) = (4, Normal { factors: 4 });
        let wide = width(factors);
        // Minus a positive matrix, row by row another.
        let natural = |lane: usize, v: usize| {
            let wave = ((lane * 31 + v * 7) as f64).sin();
            let pair = v.checked_sub(1 + factors);
            let diagonal = pair.is_some_and(|t| (0..factors).any(|f| place(f, f) == t));
            if diagonal { -4.0 - wave } else { wave }
        };
        let all: Vec<Lanes> =
            (0..wide).map(|v| std::array::from_fn(|lane| natural(lane, v))).collect();
        let mut codes = vec![[0.0; LANES]; wide];
        let norms = normal.codes(&all, &mut codes);
        for lane in 0..LANES {
            let own: Vec<f64> = (0..wide).map(|v| natural(lane, v)).collect();
            let mut code = vec![0.0; wide];
            assert_eq!(normal.code(0, &own, &mut code), norms[lane]);
            assert!(code.iter().zip(&codes).all(|(a, b)| *a == b[lane]));
        }
    }

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
