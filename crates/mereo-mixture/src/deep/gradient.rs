//! Steps along the gradient of a part of the rows: how a deep net gets going before EM.
//!
//! A part of the rows tells path moments as all of them do, and the gradient of its expected log
//! likelihood is, by Fisher's identity, that of its log likelihood. For a component with `Θ = [Q q]`
//! take the gradient G with respect to Θ ([`node`](super::node)) and write a step as what it does to
//! the component's output `w = Θ[z;1]`: `w + E[w;1]`. The gradient with respect to E is
//!
//! `Γ = GΘ̃ᵀ = [I 0] - Σ_u R_uᵀ[R_u r_u] M_u`, `M_u = Θ̃ (Φ_u/n) Θ̃ᵀ`, Θ̃ = Θ and a last row `0 … 0 1`,
//!
//! zero where the rows' moments of w are those that the layers above expect. The units of z drop out.
//! Those of w are taken out with `Ω̄`, the average of `Ω_u = R_uᵀR_u`, and `M̄`, the average of the
//! moments of w that the layers above *expect*: `E ∝ Ω̄⁻¹ Γ M̄⁻¹`. Both are positive, so this climbs,
//! and neither is of the rows, so that few of them cannot make a step large. It is
//! shortened for a component of few rows, as if D more had agreed with the model, and so that
//! `I + E` keeps its inverse.
//!
//! Scales and diagonals go a part of the way to their closed form; orthogonal layers wait for EM.

use std::ops::Range;

use mereo_core::math::{Array, Matrix, inverse, product, product_tn};

use super::LayerKind;
use super::affine::{Affine, congruent};
use super::node::Node;

/// Parts that rows are divided into: a step each.
pub(super) const PARTS: usize = 16;
/// The first step as a share of the one that would be right if all were quadratic; it falls to none.
const FIRST_RATE: f64 = 0.5;
/// The largest change of a transform, relative to it.
const MOST_CHANGE: f64 = 0.5;

/// How far the step of a pass goes, and with which part of the rows; nothing if it is an EM pass.
pub(super) fn schedule(pass: usize, sweeps: usize) -> Option<(f64, usize)> {
    let steps = sweeps.saturating_mul(PARTS);
    (pass < steps).then(|| (FIRST_RATE * (1.0 - pass as f64 / steps as f64), pass % PARTS))
}

/// The places in a batch of those of its rows that belong to a part. Which rows these are depends on
/// their numbers alone: every `stretch` of the rows of the table, and what is left at its end, is divided
/// into parts, however it is cut into batches.
pub(super) fn rows_of(
    part: usize,
    batch: Range<usize>,
    stretch: usize,
    rows: usize,
) -> impl Iterator<Item = Range<usize>> {
    (batch.start / stretch..batch.end.div_ceil(stretch)).filter_map(move |number| {
        let first = number * stretch;
        let size = stretch.min(rows.saturating_sub(first));
        let start = (first + part * size / PARTS).max(batch.start);
        let end = (first + (part + 1) * size / PARTS).min(batch.end);
        (start < end).then(|| start - batch.start..end - batch.start)
    })
}

impl Node {
    /// The component a step further; nothing if it stays.
    pub(super) fn ascend(&self, kind: LayerKind, now: &Affine, rate: f64) -> Option<Affine> {
        let back = now.inverse()?;
        let rate = rate * self.count / (self.count + self.columns as f64);
        let next = match kind {
            LayerKind::Full => self.step(&back, rate)?,
            LayerKind::Scale => towards(&back, &self.scaled(None, None)?, rate)?,
            LayerKind::Diagonal => towards(&back, &self.scaled(None, Some(&back))?, rate)?,
            LayerKind::Orthogonal => return None,
        };
        let next = next.inverse()?;
        next.matrix.iter().chain(&next.offset).all(|v| v.is_finite()).then_some(next)
    }

    fn step(&self, back: &Affine, rate: f64) -> Option<Affine> {
        let (d, width) = (self.columns, self.columns + 1);
        let one = Array::identity(width);
        let mut slope = Array::new([d, width], one[..d * width].to_vec());
        let (mut omega, mut expected) = (Array::zeros([d, d]), Array::zeros([width, width]));
        let theta = back.extended();
        for above in &self.above {
            let share = above.moments.row(d)[d] / self.count;
            if !(share > 0.0) {
                continue;
            }
            let mut told = congruent(&theta, &above.moments);
            told.iter_mut().for_each(|m| *m = -*m / self.count);
            let map = above.map.extended();
            let (mut half, mut own) = (Array::zeros([d, width]), Array::zeros([d, d]));
            let root = above.map.matrix.view();
            product_tn(&mut own, root, root, false);
            product_tn(&mut half, root, Matrix::new(&map, d, width), false);
            product(&mut slope, half.view(), told.view(), true);
            omega.iter_mut().zip(&own).for_each(|(o, v)| *o += share * v);
            let model = congruent(&above.map.inverse()?.extended(), &one);
            expected.iter_mut().zip(&model).for_each(|(e, m)| *e += share * m);
        }
        let (omega, expected) = (inverse(&omega, d)?.0, inverse(&expected, width)?.0);
        let (mut half, mut change) = (Array::zeros([d, width]), Array::zeros([d, width]));
        product(&mut half, Matrix::new(&omega, d, d), slope.view(), false);
        product(&mut change, half.view(), Matrix::new(&expected, width, width), false);
        let squares = change.rows().flat_map(|row| &row[..d]).map(|v| v * v);
        let rate = rate.min(MOST_CHANGE / squares.sum::<f64>().sqrt());
        let mut turn = Affine { matrix: Array::identity(d), offset: vec![0.0; d] };
        for (i, row) in change.rows().enumerate() {
            turn.matrix.row_mut(i).iter_mut().zip(row).for_each(|(m, v)| *m += rate * v);
            turn.offset[i] = rate * row[d];
        }
        Some(turn.after(back))
    }
}

/// A part of the way from one diagonal map to another; nothing if a column would turn around.
fn towards(from: &Affine, to: &Affine, rate: f64) -> Option<Affine> {
    let d = from.offset.len();
    let between = |a: &[f64], b: &[f64]| -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a + rate * (b - a)).collect()
    };
    let turns = (0..d).any(|i| from.matrix.row(i)[i] * to.matrix.row(i)[i] <= 0.0);
    (!turns).then(|| Affine {
        matrix: Array::new([d, d], between(&from.matrix, &to.matrix)),
        offset: between(&from.offset, &to.offset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_rows_are_the_same_however_they_are_cut_into_batches() {
        let cut = |batch: usize| -> Vec<Vec<usize>> {
            let of = |part: usize| {
                let batches = (0..1000usize).step_by(batch).flat_map(move |first| {
                    let rows = first..(first + batch).min(1000);
                    rows_of(part, rows, 300, 1000).flatten().map(move |row| first + row)
                });
                batches.collect()
            };
            (0..PARTS).map(of).collect()
        };
        let whole = cut(1000);
        assert!(whole.iter().all(|rows| rows.len().abs_diff(1000 / PARTS) <= 4));
        let mut all = whole.concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        for batch in [1, 7, 64, 300, 512] {
            assert_eq!(cut(batch), whole, "{batch}");
        }
    }
}
