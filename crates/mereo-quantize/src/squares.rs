//! Least squares by normal equations, added up row by row.
//!
//! Rows x are to be explained as `x ≈ Σ_p a_p v_p` with coefficients a that each row brings along
//! and vectors v to be found: `v` minimises `Σ_c w_c ‖x_c - Σ_p a_cp v_p‖²` where `A v = B`,
//! `A = Σ_c w_c a_c a_cᵀ`, `B = Σ_c w_c a_c x_cᵀ`. A cell that is missing is missing from its column's
//! equations, so columns then have an A each: that of the complete rows and their own.
//!
//! Coefficients that never occur, or always occur together, leave A singular. Of all solutions
//! the shortest is taken: with `A = U Λ Uᵀ`, `v = U Λ⁺ Uᵀ B`, where Λ⁺ inverts what is above a share
//! of the largest eigenvalue and is 0 elsewhere.

use mereo_core::math::{Array, Eigen, Matrix, eigen, product, product_tn};
use serde::{Deserialize, Serialize};

/// Eigenvalues below this share of the largest count as 0.
const NOTHING: f64 = 1e-10;

/// The normal equations of P vectors in D columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Squares {
    /// A of the rows that miss nothing, lower triangle, `[P, P]`.
    shared: Array<2>,
    /// A of the other rows by column, lower triangle, `[D, P, P]`; of no column if there are none.
    own: Array<3>,
    /// B, `[P, D]`.
    pub(crate) cross: Array<2>,
}

impl Squares {
    /// No rows. `holes` says whether there will be rows that miss cells.
    pub(crate) fn new(vectors: usize, columns: usize, holes: bool) -> Self {
        Self {
            shared: Array::zeros([vectors, vectors]),
            own: Array::zeros([if holes { columns } else { 0 }, vectors, vectors]),
            cross: Array::zeros([vectors, columns]),
        }
    }

    /// Adds `weight a aᵀ` of a row that misses nothing, given the coefficients that are not 0 by
    /// rising number. What goes into `cross` is the caller's to add.
    pub(crate) fn add_complete(&mut self, weight: f64, coefficients: &[(usize, f64)]) {
        add(&mut self.shared, weight, coefficients);
    }

    /// The same for a row that observes only these columns.
    pub(crate) fn add_observed(
        &mut self,
        weight: f64,
        coefficients: &[(usize, f64)],
        columns: impl Iterator<Item = usize>,
    ) {
        for d in columns {
            add(self.own.at_mut([d]), weight, coefficients);
        }
    }

    /// Adds the expectation of `weight s sᵀ` of a row whose coefficients are the chances of states,
    /// each part's `states` of them excluding one another and parts independent.
    pub(crate) fn add_code(
        &mut self,
        weight: f64,
        chances: &[(usize, f64)],
        states: usize,
        observed: Option<&[usize]>,
    ) {
        let [vectors, _] = self.shared.shape();
        let add = |sums: &mut [f64]| {
            for (at, &(i, a)) in chances.iter().enumerate() {
                let row = &mut sums[i * vectors..];
                for &(j, b) in chances[..at].iter().take_while(|c| c.0 / states < i / states) {
                    row[j] += weight * a * b;
                }
                row[i] += weight * a;
            }
        };
        match observed {
            None => add(&mut self.shared),
            Some(columns) => {
                columns.iter().for_each(|&d| add(self.own.at_mut([d])));
            }
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (sums, more) in [
            (&mut *self.shared, &*other.shared),
            (&mut *self.own, &*other.own),
            (&mut *self.cross, &*other.cross),
        ] {
            for (a, b) in sums.iter_mut().zip(more) {
                *a += b;
            }
        }
    }

    pub(crate) fn reset(&mut self) {
        for sums in [&mut *self.shared, &mut *self.own, &mut *self.cross] {
            sums.fill(0.0);
        }
    }

    /// The vectors, `[P, D]`: the shortest that solve the equations.
    pub(crate) fn solve(&self, out: &mut [f64]) {
        let [p, d] = self.cross.shape();
        if self.own.iter().all(|&v| v == 0.0) {
            let inverse = pseudo_inverse(&self.shared, p);
            product(out, Matrix::new(&inverse, p, p), self.cross.view(), false);
            return;
        }
        for (column, own) in self.own.chunks_exact((p * p).max(1)).enumerate() {
            let sum: Vec<f64> = self.shared.iter().zip(own).map(|(a, b)| a + b).collect();
            let inverse = pseudo_inverse(&sum, p);
            for (i, row) in inverse.chunks_exact(p).enumerate() {
                let cross = self.cross.column(column);
                out[i * d + column] = row.iter().zip(cross).map(|(v, b)| v * b).sum();
            }
        }
    }
}

/// `sums += weight a aᵀ`, lower triangle.
fn add(sums: &mut [f64], weight: f64, coefficients: &[(usize, f64)]) {
    // Of a `[P, P]` matrix.
    let vectors = sums.len().isqrt();
    for (at, &(i, a)) in coefficients.iter().enumerate() {
        let row = &mut sums[i * vectors..];
        for &(j, b) in &coefficients[..=at] {
            row[j] += weight * a * b;
        }
    }
}

/// The pseudo-inverse of a symmetric `[n, n]` matrix, of which the lower triangle is looked at.
fn pseudo_inverse(matrix: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    // It fails for numbers that are not finite, and the sums of rows are.
    let Ok(Eigen { values, vectors }) = eigen(matrix, n) else { return out };
    let least = NOTHING * values.first().copied().unwrap_or(0.0).max(0.0);
    let mut scaled = vectors.clone();
    for (vector, value) in scaled.chunks_exact_mut(n).zip(values) {
        let inverse = if value > least { 1.0 / value } else { 0.0 };
        vector.iter_mut().for_each(|v| *v *= inverse);
    }
    product_tn(&mut out, Matrix::new(&scaled, n, n), Matrix::new(&vectors, n, n), false);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// Solves for rows x `[R, D]` with coefficients `[R, P]`.
    fn solved(x: &[f64], s: &[f64], p: usize, d: usize) -> Vec<f64> {
        let mut squares = Squares::new(p, d, false);
        for (x, s) in x.chunks(d).zip(s.chunks(p)) {
            let a: Vec<(usize, f64)> =
                s.iter().copied().enumerate().filter(|a| a.1 != 0.0).collect();
            squares.add_complete(1.0, &a);
            for &(i, a) in &a {
                for (c, x) in x.iter().enumerate() {
                    squares.cross[i * d + c] += a * x;
                }
            }
        }
        let mut out = vec![0.0; p * d];
        squares.solve(&mut out);
        out
    }

    fn near(found: &[f64], right: &[f64]) {
        for (a, b) in found.iter().zip(right) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn solutions_agree_with_an_independent_implementation() {
        let fixture = Fixture::open("gvq_mstep.json");
        let transposed = |f: &[f64], n: usize| -> Vec<f64> {
            (0..n * 7).map(|p| f[p % 7 * n + p / 7]).collect()
        };
        let x = fixture.get("X");
        near(&solved(&x, &fixture.get("S"), 5, 7), &transposed(&fixture.get("F"), 5));
        let deficient = solved(&x, &fixture.get("S_deficient"), 5, 7);
        near(&deficient, &transposed(&fixture.get("F_deficient_minnorm"), 5));
        let with_origin: Vec<f64> = fixture
            .get("S")
            .chunks(5)
            .flat_map(|s| std::iter::once(1.0).chain(s.iter().copied()))
            .collect();
        let found = solved(&x, &with_origin, 6, 7);
        near(&found[..7], &fixture.get("origin"));
        near(&found[7..], &transposed(&fixture.get("F_origin"), 5));
    }

    #[test]
    fn a_missing_cell_is_a_row_less_in_its_column() {
        let rows = [([1.0, 2.0], [1.0, 0.0]), ([3.0, 5.0], [1.0, 1.0]), ([4.0, 9.0], [1.0, 1.0])];
        let mut holes = Squares::new(2, 2, true);
        for (r, (x, s)) in rows.iter().enumerate() {
            let a: Vec<(usize, f64)> =
                s.iter().copied().enumerate().filter(|a| a.1 != 0.0).collect();
            // The last row misses its second cell.
            let seen = if r == 2 { 1 } else { 2 };
            if r == 2 {
                holes.add_observed(1.0, &a, 0..seen);
            } else {
                holes.add_complete(1.0, &a);
            }
            for &(i, a) in &a {
                for c in 0..seen {
                    holes.cross[i * 2 + c] += a * x[c];
                }
            }
        }
        let mut out = [0.0; 4];
        holes.solve(&mut out);
        near(&out, &[1.0, 2.0, 2.5, 3.0]);
    }
}
