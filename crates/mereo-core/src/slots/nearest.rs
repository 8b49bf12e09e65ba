//! The nearest mean of every row of a dense batch, and the sums of the rows that are nearest to
//! each: what [`Lloyd`](super::Lloyd) does with dense data.
//!
//! Distances are measured in a unit for each column that all means of a group share, so
//! `Σ_d o (x-μ)²/u = Σ_d o x²/u - 2 Σ_d x μ/u + Σ_d o μ²/u` (with `o` 1 where x is observed and x = 0
//! elsewhere) needs one product for the second term and, if cells are missing, one for the third;
//! the first does not depend on the mean, and its sum over rows is known from the columns' moments.
//! Each row is then added to one sum a group. That is half of the products that
//! [`Evidence`](super::Evidence) would take, and none for the sums.

use serde::{Deserialize, Serialize};

use super::columns::limited;
use super::statistics::NO_ROWS;
use super::{Frame, QuickSums, SlotParams};
use crate::math::{Matrix, product_nt, widest};
use crate::{Batch, Real, in_parallel};

/// States that are compared side by side.
const LANES: usize = 8;

/// Means, ready to be multiplied with batches. Variances are the squared units.
#[derive(Debug)]
pub(super) struct Means<T> {
    groups: usize,
    states: usize,
    columns: usize,
    frame: Frame<T>,
    /// Whether the frame leaves cells as they are, so that complete rows need not be copied.
    plain: bool,
    /// `[S, 2 D]`: `μ/u`, then `-½ μ²/u`, 0 in columns of other groups.
    natural: Vec<T>,
    /// `-½ Σ_d μ²/u`.
    base: Vec<T>,
    /// `1/u` in the frame where a column belongs to a group, else 0: `[K, D]`.
    by_group: Vec<T>,
}

/// Memory for looking at one batch.
#[derive(Debug, Default)]
pub(super) struct MeansWork<T> {
    /// `[R, W D]`: cells and, if one is missing, which are observed.
    features: Vec<T>,
    width: usize,
    /// `[R, S]`: `Σ_d x μ/u - ½ o μ²/u`.
    evidence: Vec<T>,
    /// The largest of a group's evidence, `[R]`.
    pub(super) largest: Vec<T>,
    /// The first slot that has it.
    pub(super) nearest: Vec<u32>,
    /// The second largest, if it was asked for, `[R]`.
    pub(super) second: Vec<T>,
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
                linear[d] = T::from_f64(weighted);
                constant[d] = T::from_f64(-0.5 * weighted * mean);
                sum -= 0.5 * weighted * mean;
            }
            *base = T::from_f64(sum);
        });
        let gate = |d: usize, k: usize| params.gate(d, k * params.states);
        let by_group = (0..parts * columns)
            .map(|i| T::from_f64(gate(i % columns, i / columns) * unit(i % columns)));
        Self {
            groups: parts,
            states: params.states,
            columns,
            plain: frame.is_plain(),
            frame: frame.clone(),
            natural,
            base,
            by_group: by_group.collect(),
        }
    }

    /// Measures a dense batch against every mean.
    pub(super) fn measure(
        &self,
        values: &[T],
        complete: bool,
        batch: &Batch<'_, T>,
        work: &mut MeansWork<T>,
    ) {
        let (rows, columns, slots) = (batch.rows, self.columns, self.groups * self.states);
        work.width = if complete { 1 } else { 2 };
        if complete && self.plain {
            work.observed = weight(batch) * columns as f64;
        } else {
            self.features(values, complete, batch, work);
        }
        work.evidence.resize(slots * rows, T::ZERO);
        for row in work.evidence.chunks_exact_mut(slots) {
            if complete { row.copy_from_slice(&self.base) } else { row.fill(T::ZERO) }
        }
        let used = work.width * columns;
        let natural = Matrix::new(&self.natural, slots, 2 * columns).first_columns(used);
        let MeansWork { features, evidence, width, .. } = work;
        let cells = self.chosen(values, features, *width);
        // This way round the kernel need not turn the rows, which are many; the means are few.
        product_nt(evidence, Matrix::new(cells, rows, used), natural, true);
    }

    /// The cells of the batch that was [looked](Self::look) at, in the frame.
    pub(super) fn cells<'a>(&self, values: &'a [T], work: &'a MeansWork<T>) -> &'a [T] {
        self.chosen(values, &work.features, work.width)
    }

    fn chosen<'a>(&self, values: &'a [T], features: &'a [T], width: usize) -> &'a [T] {
        if self.plain && width == 1 { values } else { features }
    }

    /// Finds each row's nearest mean of a group; `work.largest` is the largest evidence.
    pub(super) fn nearest(&self, group: usize, rows: usize, work: &mut MeansWork<T>) {
        let MeansWork { evidence, largest, nearest, .. } = work;
        largest.resize(rows, T::ZERO);
        nearest.resize(rows, 0);
        let (slots, first) = (self.groups * self.states, group * self.states);
        widest(
            #[inline(always)]
            || {
                let found = largest.iter_mut().zip(&mut *nearest);
                for ((largest, nearest), evidence) in found.zip(evidence.chunks_exact(slots)) {
                    let (value, state) = first_largest(&evidence[first..first + self.states]);
                    (*largest, *nearest) = (value, first as u32 + state);
                }
            },
        );
    }

    /// Finds the second largest evidence of each row of a group, `work.second`, after the [nearest](Self::nearest).
    pub(super) fn second_nearest(&self, group: usize, work: &mut MeansWork<T>) {
        let MeansWork { evidence, nearest, second, .. } = work;
        second.resize(nearest.len(), T::ZERO);
        let (slots, first) = (self.groups * self.states, group * self.states);
        widest(
            #[inline(always)]
            || {
                let found = second.iter_mut().zip(&*nearest);
                for ((second, &nearest), evidence) in found.zip(evidence.chunks_exact(slots)) {
                    let (before, rest) =
                        evidence[first..first + self.states].split_at(nearest as usize - first);
                    let (before, after) = (largest(before), largest(&rest[1..]));
                    *second = if after > before { after } else { before };
                }
            },
        );
    }

    /// Makes `work.largest` minus half the squared distance of each row from its nearest mean of
    /// this group.
    pub(super) fn distances(&self, group: usize, values: &[T], work: &mut MeansWork<T>) {
        let unit = &self.by_group[group * self.columns..(group + 1) * self.columns];
        let MeansWork { features, largest, width, .. } = work;
        let rows = self.chosen(values, features, *width).chunks_exact(*width * self.columns);
        for (largest, cells) in largest.iter_mut().zip(rows) {
            let squares: f64 = cells.iter().zip(unit).map(|(&x, &u)| (x * x * u).to_f64()).sum();
            *largest = T::from_f64(largest.to_f64() - 0.5 * squares);
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
        let width = work.width * columns;
        work.features.resize(batch.rows * width, T::ZERO);
        let (centre, inverse) = (&self.frame.centre[..columns], &self.frame.inverse[..columns]);
        let features = &mut work.features[..];
        work.observed = widest(
            #[inline(always)]
            || {
                let mut observed = 0.0;
                let rows = values.chunks_exact(columns).zip(features.chunks_exact_mut(width));
                for (r, (row, out)) in rows.enumerate() {
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
                        observed += batch.weight(r) * count.to_f64();
                    }
                }
                if complete { weight(batch) * columns as f64 } else { observed }
            },
        );
    }
}

/// The largest of some numbers and the first place that has it.
#[inline(always)]
fn first_largest<T: Real>(numbers: &[T]) -> (T, u32) {
    // Side by side, so that the compiler may keep them in registers.
    let (blocks, rest) = numbers.as_chunks::<LANES>();
    let mut values = [T::from_f64(f64::NEG_INFINITY); LANES];
    let mut found = [0u32; LANES];
    for (block, first) in blocks.iter().zip((0u32..).step_by(LANES)) {
        for lane in 0..LANES {
            let larger = block[lane] > values[lane];
            values[lane] = if larger { block[lane] } else { values[lane] };
            found[lane] = if larger { first } else { found[lane] };
        }
    }
    let (mut value, mut place) = (T::from_f64(f64::NEG_INFINITY), 0);
    for lane in 0..LANES {
        let here = found[lane] + lane as u32;
        if values[lane] > value || (values[lane] == value && here < place) {
            (value, place) = (values[lane], here);
        }
    }
    for (&number, here) in rest.iter().zip((blocks.len() * LANES) as u32..) {
        if number > value {
            (value, place) = (number, here);
        }
    }
    (value, place)
}

/// The largest of some numbers; minus infinity of none.
#[inline(always)]
fn largest<T: Real>(numbers: &[T]) -> T {
    let (blocks, rest) = numbers.as_chunks::<LANES>();
    let mut values = [T::from_f64(f64::NEG_INFINITY); LANES];
    for block in blocks {
        for lane in 0..LANES {
            values[lane] = if block[lane] > values[lane] { block[lane] } else { values[lane] };
        }
    }
    let all = values.iter().chain(rest);
    all.fold(T::from_f64(f64::NEG_INFINITY), |m, &v| if v > m { v } else { m })
}

/// The weight of all rows of a batch.
fn weight<T>(batch: &Batch<'_, T>) -> f64 {
    batch.weights.map_or(batch.rows as f64, |w| w.iter().sum())
}

/// Sums over the rows nearest to each mean.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(super) struct NearestSums<T> {
    columns: usize,
    /// Weight of the rows of each slot.
    pub(super) total: Vec<f64>,
    /// The part of it from batches in which every cell was observed.
    complete: Vec<f64>,
    /// Of x, `[S, D]`.
    cells: QuickSums<T>,
    /// Of being observed, in incomplete batches, `[S, D]`.
    there: QuickSums<T>,
}

impl<T: Real> NearestSums<T> {
    pub(super) fn new(slots: usize, columns: usize) -> Self {
        Self {
            columns,
            total: vec![0.0; slots],
            complete: vec![0.0; slots],
            cells: QuickSums::zeros(slots * columns),
            there: QuickSums::zeros(slots * columns),
        }
    }

    /// Adds every row of a batch, whose [cells](Means::cells) these are, to the slot found
    /// [nearest](Means::nearest).
    pub(super) fn add(&mut self, batch: &Batch<'_, T>, cells: &[T], work: &MeansWork<T>) {
        let (columns, width) = (self.columns, work.width * self.columns);
        let nearest = &work.nearest[..batch.rows];
        let (sums, there) = (self.cells.waiting(), self.there.waiting());
        widest(
            #[inline(always)]
            || {
                for (row, (cells, &slot)) in cells.chunks_exact(width).zip(nearest).enumerate() {
                    let (cells, observed) = cells.split_at(columns);
                    let weight = batch.weight(row);
                    let range = slot as usize * columns..(slot as usize + 1) * columns;
                    add_row(&mut sums[range.clone()], weight, cells);
                    if !observed.is_empty() {
                        add_row(&mut there[range], weight, observed);
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
    pub(super) fn added(&mut self, rows: usize, work: &MeansWork<T>) {
        self.cells.added_dense(rows);
        if work.width == 2 {
            self.there.added_dense(rows);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (a, b) in self.total.iter_mut().zip(&other.total) {
            *a += b;
        }
        for (a, b) in self.complete.iter_mut().zip(&other.complete) {
            *a += b;
        }
        self.cells.merge(&other.cells);
        self.there.merge(&other.there);
    }

    pub(super) fn reset(&mut self) {
        self.total.fill(0.0);
        self.complete.fill(0.0);
        self.cells.reset();
        self.there.reset();
    }

    pub(super) fn finish(&mut self) {
        self.cells.finish();
        self.there.finish();
    }

    /// Moves every mean to the mean of its rows; one that has none stays.
    pub(super) fn update(&self, frame: &Frame<T>, mean: &mut [f64]) {
        let columns = self.columns;
        let (mut cells, mut there) = (vec![0.0; columns], vec![0.0; columns]);
        for (s, mean) in mean.chunks_exact_mut(columns).enumerate() {
            self.cells.read(s * columns, &mut cells);
            self.there.read(s * columns, &mut there);
            for d in 0..columns {
                let count = there[d] + self.complete[s];
                if count > NO_ROWS {
                    mean[d] = frame.outward(d, cells[d] / count);
                }
            }
        }
    }
}

/// `sums += weight row`.
#[inline(always)]
fn add_row<T: Real>(sums: &mut [T], weight: f64, row: &[T]) {
    if weight == 1.0 {
        sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += x);
    } else {
        let weight = T::from_f64(weight);
        sums.iter_mut().zip(row).for_each(|(sum, &x)| *sum += weight * x);
    }
}

#[cfg(test)]
mod tests {
    use super::first_largest;

    #[test]
    fn the_first_of_the_largest_is_found_wherever_it_stands() {
        for length in 1..40usize {
            for at in 0..length {
                for again in at..length {
                    let mut numbers: Vec<f32> = (0..length).map(|i| -(i as f32 % 5.0)).collect();
                    (numbers[at], numbers[again]) = (7.0, 7.0);
                    assert_eq!(first_largest(&numbers), (7.0, at as u32), "{numbers:?}");
                }
            }
            // Nothing is larger than NaN, nor than what is nowhere: the first place will do.
            assert_eq!(first_largest(&vec![f32::NAN; length]).1, 0);
            assert_eq!(first_largest(&vec![f32::NEG_INFINITY; length]).1, 0);
        }
    }
}
