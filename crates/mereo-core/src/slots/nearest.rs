//! The nearest mean of every row of a dense batch, and the sums of the rows that are nearest to
//! each: what [`Lloyd`](super::Lloyd) does with dense data.
//!
//! Distances are measured in a unit for each column that all means of a group share, so
//! `Σ_d o (x-μ)²/u = Σ_d o x²/u - 2 Σ_d x μ/u + Σ_d o μ²/u` (with `o` 1 where x is observed and x = 0
//! elsewhere) needs one product for the second term and, if cells are missing, one for the third;
//! the first does not depend on the mean. Each row is then added to one sum a group. That is half
//! of the products that [`Evidence`](super::Evidence) would take, and none for the sums.

use super::columns::limited;
use super::statistics::NO_ROWS;
use super::{Frame, QuickSums, SlotParams};
use crate::math::{Matrix, product_nt, widest};
use crate::{Batch, Real, in_parallel};

/// Columns that are squared and added up side by side.
const LANES: usize = 16;

/// Means, ready to be multiplied with batches. Variances are the squared units.
#[derive(Debug)]
pub(super) struct Means<T> {
    groups: usize,
    states: usize,
    columns: usize,
    frame: Frame<T>,
    /// `[S, 2 D]`: `μ/u`, then `-½ μ²/u`, 0 in columns of other groups.
    natural: Vec<T>,
    /// `-½ Σ_d μ²/u`.
    base: Vec<T>,
    /// `1/u` of every column in the frame, `[D]`.
    inverse_unit: Vec<T>,
    /// The same where a column belongs to a group, else 0: `[K, D]`.
    by_group: Vec<T>,
}

/// Memory for looking at one batch.
#[derive(Debug, Default)]
pub(super) struct MeansWork<T> {
    /// `[R, W D]`: cells and, if one is missing, which are observed.
    features: Vec<T>,
    width: usize,
    /// `Σ_d o x²/u` of every row.
    squares: Vec<T>,
    /// `[S, R]`: `Σ_d x μ/u - ½ o μ²/u`.
    evidence: Vec<T>,
    /// The largest of a group's evidence, `[R]`.
    pub(super) largest: Vec<T>,
    /// The first slot that has it.
    nearest: Vec<u32>,
    /// Observed cells, by the rows' weights.
    pub(super) observed: f64,
}

impl<T: Real> Means<T> {
    /// Derives what looking needs; `params` has one variance in each column, the squared unit.
    pub(super) fn new(params: &SlotParams<'_>, frame: &Frame<T>) -> Self {
        let (slots, columns, parts) = (params.slots(), frame.columns(), params.parts);
        let unit = |d: usize| {
            let scale = frame.scale(d);
            scale * scale / params.variance[d]
        };
        let mut natural = vec![T::ZERO; slots * 2 * columns];
        let mut base = vec![T::ZERO; slots];
        let rows = natural.chunks_mut(2 * columns).zip(&mut base).enumerate();
        in_parallel(rows, |(s, (row, base))| {
            let (linear, constant) = row.split_at_mut(columns);
            let mut sum = 0.0;
            for d in 0..columns {
                let mean = frame.inward(d, params.mean[s * columns + d]);
                let weighted = params.gate(d, s) * unit(d) * mean;
                linear[d] = T::of(weighted);
                constant[d] = T::of(-0.5 * weighted * mean);
                sum -= 0.5 * weighted * mean;
            }
            *base = T::of(sum);
        });
        let gate = |d: usize, k: usize| params.gate(d, k * params.states);
        let by_group =
            (0..parts * columns).map(|i| T::of(gate(i % columns, i / columns) * unit(i % columns)));
        Self {
            groups: parts,
            states: params.states,
            columns,
            frame: frame.clone(),
            natural,
            base,
            inverse_unit: (0..columns).map(|d| T::of(unit(d))).collect(),
            by_group: by_group.collect(),
        }
    }

    /// Measures a dense batch against every mean.
    pub(super) fn look(
        &self,
        values: &[T],
        complete: bool,
        batch: &Batch<'_, T>,
        work: &mut MeansWork<T>,
    ) {
        let (rows, columns, slots) = (batch.rows, self.columns, self.groups * self.states);
        self.features(values, complete, batch, work);
        work.evidence.resize(slots * rows, T::ZERO);
        for (slot, &base) in work.evidence.chunks_exact_mut(rows).zip(&self.base) {
            slot.fill(if complete { base } else { T::ZERO });
        }
        let used = work.width * columns;
        let natural = Matrix::new(&self.natural, slots, 2 * columns).first_columns(used);
        product_nt(&mut work.evidence, natural, Matrix::new(&work.features, rows, used), true);
    }

    /// Finds each row's nearest mean of a group; `work.largest` is the largest evidence.
    pub(super) fn nearest(&self, group: usize, rows: usize, work: &mut MeansWork<T>) {
        let MeansWork { evidence, largest, nearest, .. } = work;
        let part = &evidence[group * self.states * rows..(group + 1) * self.states * rows];
        largest.resize(rows, T::ZERO);
        nearest.resize(rows, 0);
        let (largest, nearest) = (&mut largest[..rows], &mut nearest[..rows]);
        let first = (group * self.states) as u32;
        widest(
            #[inline(always)]
            || {
                // Rows side by side, so that the compiler may keep them in registers.
                let (largest, last_largest) = largest.as_chunks_mut::<LANES>();
                let (nearest, last_nearest) = nearest.as_chunks_mut::<LANES>();
                for (block, (largest, nearest)) in largest.iter_mut().zip(nearest).enumerate() {
                    (*largest, *nearest) = ([T::of(f64::NEG_INFINITY); LANES], [first; LANES]);
                    for (slot, evidence) in (first..).zip(part.chunks_exact(rows)) {
                        let evidence = &evidence[block * LANES..(block + 1) * LANES];
                        for lane in 0..LANES {
                            let nearer = evidence[lane] > largest[lane];
                            largest[lane] = if nearer { evidence[lane] } else { largest[lane] };
                            nearest[lane] = if nearer { slot } else { nearest[lane] };
                        }
                    }
                }
                let done = rows - last_largest.len();
                for (row, (largest, nearest)) in
                    (done..).zip(last_largest.iter_mut().zip(last_nearest))
                {
                    (*largest, *nearest) = (part[row], first);
                    for (slot, evidence) in (first..).zip(part.chunks_exact(rows)) {
                        if evidence[row] > *largest {
                            (*largest, *nearest) = (evidence[row], slot);
                        }
                    }
                }
            },
        );
    }

    /// `Σ_d o x²/u` over all columns, whose half is what the evidence of every row lacks of minus
    /// half its squared distances, all groups together; weighted.
    pub(super) fn squares(batch: &Batch<'_, T>, work: &MeansWork<T>) -> f64 {
        work.squares.iter().enumerate().map(|(row, q)| batch.weight(row) * q.wide()).sum()
    }

    /// Makes `work.largest` minus half the squared distance of each row from its nearest mean of
    /// this group.
    pub(super) fn distances(&self, group: usize, work: &mut MeansWork<T>) {
        let unit = &self.by_group[group * self.columns..(group + 1) * self.columns];
        let features = work.features.chunks_exact(work.width * self.columns);
        for (largest, cells) in work.largest.iter_mut().zip(features) {
            let squares: f64 = cells.iter().zip(unit).map(|(&x, &u)| (x * x * u).wide()).sum();
            *largest = T::of(largest.wide() - 0.5 * squares);
        }
    }

    fn features(
        &self,
        values: &[T],
        complete: bool,
        batch: &Batch<'_, T>,
        work: &mut MeansWork<T>,
    ) {
        let columns = self.columns;
        work.width = if complete { 1 } else { 2 };
        let width = work.width * columns;
        work.features.resize(batch.rows * width, T::ZERO);
        work.squares.resize(batch.rows, T::ZERO);
        let (centre, inverse) = (&self.frame.centre[..columns], &self.frame.inverse[..columns]);
        let unit = &self.inverse_unit[..columns];
        let (features, squares) = (&mut work.features[..], &mut work.squares[..]);
        work.observed = widest(
            #[inline(always)]
            || {
                let mut observed = 0.0;
                let rows = values.chunks_exact(columns).zip(features.chunks_exact_mut(width));
                for (r, ((row, out), square)) in rows.zip(squares.iter_mut()).enumerate() {
                    let (cells, there) = out.split_at_mut(columns);
                    for d in 0..columns {
                        cells[d] = limited((row[d] - centre[d]) * inverse[d]);
                    }
                    if !there.is_empty() {
                        for (x, there) in cells.iter_mut().zip(&mut *there) {
                            let missing = x.is_missing();
                            *there = if missing { T::ZERO } else { T::ONE };
                            *x = if missing { T::ZERO } else { *x };
                        }
                        let count: T = there.iter().copied().sum();
                        observed += batch.weight(r) * count.wide();
                    }
                    // Side by side, so that the compiler may keep the sums in one register.
                    let mut sums = [T::ZERO; LANES];
                    let ((cells, cells_rest), (unit, unit_rest)) =
                        (cells.as_chunks::<LANES>(), unit.as_chunks::<LANES>());
                    for (x, u) in cells.iter().zip(unit) {
                        for lane in 0..LANES {
                            sums[lane] += x[lane] * x[lane] * u[lane];
                        }
                    }
                    *square = sums.iter().copied().sum();
                    for (&x, &u) in cells_rest.iter().zip(unit_rest) {
                        *square += x * x * u;
                    }
                }
                if complete {
                    let weight: f64 = batch.weights.map_or(batch.rows as f64, |w| w.iter().sum());
                    observed = weight * columns as f64;
                }
                observed
            },
        );
    }
}

/// Sums over the rows nearest to each mean.
#[derive(Debug)]
pub(super) struct NearestSums<T> {
    columns: usize,
    /// Weight of the rows of each slot.
    pub(super) total: Vec<f64>,
    /// The part of it from batches in which every cell was observed.
    complete: Vec<f64>,
    /// `[S, 2 D]`: of x, of being observed (in incomplete batches).
    quick: QuickSums<T>,
}

impl<T: Real> NearestSums<T> {
    pub(super) fn new(slots: usize, columns: usize) -> Self {
        Self {
            columns,
            total: vec![0.0; slots],
            complete: vec![0.0; slots],
            quick: QuickSums::zeros(slots * 2 * columns),
        }
    }

    /// Adds every row of a batch to the slot found [nearest](Means::nearest).
    pub(super) fn add(&mut self, batch: &Batch<'_, T>, work: &MeansWork<T>) {
        let width = work.width * self.columns;
        let (features, nearest) = (&work.features[..], &work.nearest[..batch.rows]);
        let sums = self.quick.waiting();
        widest(
            #[inline(always)]
            || {
                for (row, (cells, &slot)) in features.chunks_exact(width).zip(nearest).enumerate() {
                    let start = slot as usize * 2 * self.columns;
                    let weight = batch.weight(row);
                    let sums = &mut sums[start..start + width];
                    if weight == 1.0 {
                        for (sum, &x) in sums.iter_mut().zip(cells) {
                            *sum += x;
                        }
                    } else {
                        let weight = T::of(weight);
                        for (sum, &x) in sums.iter_mut().zip(cells) {
                            *sum += weight * x;
                        }
                    }
                }
            },
        );
        for (row, &slot) in nearest.iter().enumerate() {
            self.total[slot as usize] += batch.weight(row);
            if work.width == 1 {
                self.complete[slot as usize] += batch.weight(row);
            }
        }
    }

    /// Called after all groups of a batch were added.
    pub(super) fn added(&mut self, rows: usize) {
        self.quick.added_dense(rows);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (a, b) in self.total.iter_mut().zip(&other.total) {
            *a += b;
        }
        for (a, b) in self.complete.iter_mut().zip(&other.complete) {
            *a += b;
        }
        self.quick.merge(&other.quick);
    }

    pub(super) fn reset(&mut self) {
        self.total.fill(0.0);
        self.complete.fill(0.0);
        self.quick.reset();
    }

    pub(super) fn finish(&mut self) {
        self.quick.finish();
    }

    pub(super) fn bytes(&self) -> usize {
        self.quick.bytes()
    }

    /// Moves every mean to the mean of its rows; one that has none stays.
    pub(super) fn relearn(&self, frame: &Frame<T>, mean: &mut [f64]) {
        let columns = self.columns;
        let mut sums = vec![0.0; 2 * columns];
        for (s, mean) in mean.chunks_exact_mut(columns).enumerate() {
            self.quick.read(s * 2 * columns, &mut sums);
            for d in 0..columns {
                let count = sums[columns + d] + self.complete[s];
                if count > NO_ROWS {
                    mean[d] = frame.outward(d, sums[d] / count);
                }
            }
        }
    }
}
