//! The moments of the rows that each slot is responsible for.

use super::evidence::{Padded, padded_slots, turn};
use super::lines::add_rows;
use super::{Form, Frame, SlotWork};
use crate::math::{Matrix, add_product};
use crate::{Absent, Batch, Block, Real, in_parallel};

/// Rows that go into the quick sums of a lane before they are added to the `f64` ones: few
/// enough that single precision loses nothing that matters. Sparse rows have few cells.
const QUICK_ROWS: usize = 16_384;
/// The same for dense rows.
const QUICK_DENSE_ROWS: usize = 4_096;

/// Slots whose moments one piece of parallel work takes out: enough to read the sums of a column
/// in one go.
const TILE: usize = 32;
/// Numbers that one piece of parallel work adds.
const PIECE: usize = 1 << 14;

/// Less responsibility than this is none: dividing by it would be noise.
pub(super) const NO_ROWS: f64 = 1e-12;

/// Sums over rows, by slot and column, in the units of a [`Frame`].
#[derive(Debug, Clone)]
pub struct SlotStatistics<T> {
    slots: usize,
    columns: usize,
    /// Responsibility of each slot over all rows.
    pub total: Vec<f64>,
    /// The part of `total` from dense batches in which every cell was observed.
    complete: Vec<f64>,
    sums: Sums<T>,
}

#[derive(Debug, Clone)]
enum Sums<T> {
    /// `[S, 3 D]`: of x², of x, of being observed (in incomplete batches).
    Dense(Quick<T>),
    /// `[D, 3, S']`.
    Entries { absent: Absent, quick: Quick<T> },
    /// `[D, L, S']`: how often each level occurred.
    Levels { levels: Vec<f64>, quick: Quick<T> },
}

/// Sums in the data's own type, added to `f64` ones from time to time.
#[derive(Debug, Clone)]
pub(super) struct Quick<T> {
    /// Rows in `waiting`.
    rows: usize,
    waiting: Padded<T>,
    /// Whether anything was added to `sums`, which until then hold what another pass left.
    summed: bool,
    sums: Vec<f64>,
}

impl<T: Real> Quick<T> {
    pub(super) fn zeros(length: usize) -> Self {
        Self { rows: 0, waiting: Padded::zeros(length), summed: false, sums: Vec::new() }
    }

    /// Counts rows of a sparse batch whose sums were added to [`Self::waiting`].
    fn added_sparse(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows >= QUICK_ROWS {
            self.flush();
        }
    }

    /// Counts rows of a dense batch whose sums were added to [`Self::waiting`].
    pub(super) fn added_dense(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows >= QUICK_DENSE_ROWS {
            self.flush();
        }
    }

    /// The quick sums, to be added to.
    pub(super) fn waiting(&mut self) -> &mut [T] {
        self.waiting.as_mut_slice()
    }

    /// All sums, once [flushed](Self::flush).
    pub(super) fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// About how much memory this takes.
    pub(super) fn bytes(&self) -> usize {
        self.waiting.as_slice().len() * (8 + size_of::<T>())
    }

    pub(super) fn flush(&mut self) {
        if self.rows == 0 && self.summed {
            return;
        }
        self.sums.resize(self.waiting.as_slice().len(), 0.0);
        let again = self.summed;
        let pieces = self.sums.chunks_mut(PIECE).zip(self.waiting.as_mut_slice().chunks_mut(PIECE));
        in_parallel(pieces, |(sums, waiting)| {
            for (sum, quick) in sums.iter_mut().zip(waiting) {
                *sum = if again { *sum + quick.wide() } else { quick.wide() };
                *quick = T::ZERO;
            }
        });
        (self.rows, self.summed) = (0, true);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.flush();
        if other.summed {
            add(&mut self.sums, &other.sums);
        }
        if other.rows > 0 {
            add(&mut self.sums, other.waiting.as_slice());
        }
    }

    pub(super) fn reset(&mut self) {
        if self.rows > 0 {
            self.waiting.as_mut_slice().fill(T::ZERO);
        }
        (self.rows, self.summed) = (0, false);
    }
}

/// How many, their sum and their sum of squares: what [`SlotStatistics`] say of every slot and
/// column, `[S, D]`, in the units of the frame.
#[derive(Debug, Clone)]
pub struct SlotMoments {
    /// Responsibility over the rows that observe the column.
    pub count: Vec<f64>,
    /// Sum of their values.
    pub first: Vec<f64>,
    /// Sum of their squared values.
    pub second: Vec<f64>,
}

impl SlotMoments {
    /// Re-estimates means and variances, `[S, D]` in the data's units: a mean is `first / count`,
    /// a variance `second / count - mean²` or its column's floor, whichever is larger (which
    /// maximises the bound under that floor, as it falls on both sides of the free variance).
    /// Where a slot has no rows, both stay.
    pub fn relearn<T: Real>(
        &self,
        frame: &Frame<T>,
        floor: &[f64],
        mean: &mut [f64],
        variance: &mut [f64],
    ) {
        let columns = frame.columns();
        let slots = mean.chunks_mut(columns).zip(variance.chunks_mut(columns));
        in_parallel(slots.enumerate(), |(s, (mean, variance))| {
            for d in 0..columns {
                let i = s * columns + d;
                let count = self.count[i];
                if count > NO_ROWS {
                    let inner = self.first[i] / count;
                    let scale = frame.scale(d);
                    mean[d] = frame.outward(d, inner);
                    variance[d] =
                        ((self.second[i] / count - inner * inner) * (scale * scale)).max(floor[d]);
                } else {
                    variance[d] = variance[d].max(floor[d]);
                }
            }
        });
    }
}

impl<T: Real> SlotStatistics<T> {
    /// Sums of no rows.
    pub fn new(slots: usize, columns: usize, form: &Form) -> Self {
        let stride = padded_slots(slots);
        let sums = match form {
            Form::Dense => Sums::Dense(Quick::zeros(slots * 3 * columns)),
            Form::Unobserved { levels } if !levels.is_empty() => Sums::Levels {
                levels: levels.clone(),
                quick: Quick::zeros(columns * levels.len() * stride),
            },
            Form::Unobserved { .. } => Sums::Entries {
                absent: Absent::Unobserved,
                quick: Quick::zeros(columns * 3 * stride),
            },
            Form::Zero => {
                Sums::Entries { absent: Absent::Zero, quick: Quick::zeros(columns * 3 * stride) }
            }
        };
        Self { slots, columns, total: vec![0.0; slots], complete: vec![0.0; slots], sums }
    }

    /// Adds a batch whose responsibilities stand in `work.slots`, in this frame (the one of the
    /// [`Evidence`](super::Evidence) that filled `work`).
    pub fn add(&mut self, batch: &Batch<'_, T>, frame: &Frame<T>, work: &mut SlotWork<T>) {
        let rows = batch.rows;
        let complete = work.width == 2 && matches!(batch.block, Block::Dense { .. });
        for (s, slot) in work.slots.chunks_exact(rows).take(self.slots).enumerate() {
            let sum = sum_wide(slot);
            self.total[s] += sum;
            if complete {
                self.complete[s] += sum;
            }
        }
        match (&mut self.sums, batch.block) {
            (Sums::Dense(quick), Block::Dense { .. }) => {
                add_product(
                    quick.waiting(),
                    3 * self.columns,
                    Matrix::new(&work.slots, self.slots, rows),
                    Matrix::new(&work.features, rows, work.width * self.columns),
                );
                quick.added_dense(rows);
            }
            (Sums::Levels { quick, .. }, Block::Sparse { .. }) => {
                let stride = Self::turn_to_rows(self.slots, rows, work);
                let (table, by_row) = (quick.waiting(), work.by_row.as_slice());
                work.leveled.for_each(
                    #[inline(always)]
                    |line, rows| {
                        add_rows(&mut table[line * stride..(line + 1) * stride], rows, by_row);
                    },
                );
                quick.added_sparse(rows);
            }
            (Sums::Entries { quick, .. }, Block::Sparse { .. }) => {
                let stride = Self::turn_to_rows(self.slots, rows, work);
                let (table, by_row) = (quick.waiting(), work.by_row.as_slice());
                work.entries.for_each(
                    #[inline(always)]
                    |column, entries| {
                        let line = &mut table[column * 3 * stride..(column + 1) * 3 * stride];
                        let (square, rest) = line.split_at_mut(stride);
                        let (linear, count) = rest.split_at_mut(stride);
                        for &(row, value) in entries {
                            let x = frame.cell(column, value);
                            let row = &by_row[row as usize * stride..][..stride];
                            for (((a, b), c), &m) in square
                                .iter_mut()
                                .zip(linear.iter_mut())
                                .zip(count.iter_mut())
                                .zip(row)
                            {
                                *c += m;
                                *b += m * x;
                                *a += m * x * x;
                            }
                        }
                    },
                );
                quick.added_sparse(rows);
            }
            _ => unreachable!("statistics are made for the form of the data that they sum"),
        }
    }

    /// Writes responsibilities row by row; returns how far rows are apart.
    fn turn_to_rows(slots: usize, rows: usize, work: &mut SlotWork<T>) -> usize {
        let stride = padded_slots(slots);
        work.by_row.resize(rows * stride);
        let by_row = work.by_row.as_mut_slice();
        by_row.chunks_exact_mut(stride).for_each(|row| row[slots..].fill(T::ZERO));
        turn(&work.slots, slots, rows, by_row, rows, stride);
        stride
    }

    /// Adds another's sums.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.total, &other.total);
        add(&mut self.complete, &other.complete);
        match (&mut self.sums, &other.sums) {
            (Sums::Dense(a), Sums::Dense(b))
            | (Sums::Entries { quick: a, .. }, Sums::Entries { quick: b, .. })
            | (Sums::Levels { quick: a, .. }, Sums::Levels { quick: b, .. }) => a.merge(b),
            _ => unreachable!("lanes of one pass have statistics of one form"),
        }
    }

    /// Adds quick sums to the `f64` ones: after the last row.
    pub fn finish(&mut self) {
        self.quick_mut().flush();
    }

    fn quick(&self) -> &Quick<T> {
        match &self.sums {
            Sums::Dense(quick) | Sums::Entries { quick, .. } | Sums::Levels { quick, .. } => quick,
        }
    }

    fn quick_mut(&mut self) -> &mut Quick<T> {
        match &mut self.sums {
            Sums::Dense(quick) | Sums::Entries { quick, .. } | Sums::Levels { quick, .. } => quick,
        }
    }

    /// Back to no rows.
    pub fn reset(&mut self) {
        self.total.fill(0.0);
        self.complete.fill(0.0);
        self.quick_mut().reset();
    }

    /// About how much memory this takes.
    pub fn bytes(&self) -> usize {
        self.quick().bytes()
    }

    /// The sums, slot by slot and column by column, as gathered in this frame and
    /// [finished](Self::finish).
    pub fn moments(&self, frame: &Frame<T>) -> SlotMoments {
        let (slots, columns) = (self.slots, self.columns);
        let zeros = || vec![0.0; slots * columns];
        let mut moments = SlotMoments { count: zeros(), first: zeros(), second: zeros() };
        let stride = padded_slots(slots);
        let sums = self.quick().sums();
        let tiles = moments
            .count
            .chunks_mut(TILE * columns)
            .zip(moments.first.chunks_mut(TILE * columns))
            .zip(moments.second.chunks_mut(TILE * columns));
        in_parallel(tiles.enumerate(), |(tile, ((count, first), second))| {
            let slots = tile * TILE..(tile * TILE + count.len() / columns);
            match &self.sums {
                Sums::Dense(_) => {
                    for (row, s) in slots.enumerate() {
                        let sum = &sums[s * 3 * columns..(s + 1) * 3 * columns];
                        let row = row * columns..(row + 1) * columns;
                        second[row.clone()].copy_from_slice(&sum[..columns]);
                        first[row.clone()].copy_from_slice(&sum[columns..2 * columns]);
                        for (c, o) in count[row].iter_mut().zip(&sum[2 * columns..]) {
                            *c = o + self.complete[s];
                        }
                    }
                }
                Sums::Entries { absent, .. } => {
                    for (d, sum) in sums.chunks_exact(3 * stride).enumerate() {
                        for (row, s) in slots.clone().enumerate() {
                            let i = row * columns + d;
                            second[i] = sum[s];
                            first[i] = sum[stride + s];
                            count[i] = match absent {
                                Absent::Unobserved => sum[2 * stride + s],
                                Absent::Zero => self.total[s],
                            };
                        }
                    }
                }
                Sums::Levels { levels, .. } => {
                    for (d, sum) in sums.chunks_exact(levels.len() * stride).enumerate() {
                        let mut sums = [[0.0; TILE]; 3];
                        for (l, &level) in levels.iter().enumerate() {
                            let x = frame.cell(d, T::of(level)).wide();
                            let counts = &sum[l * stride + slots.start..l * stride + slots.end];
                            for (s, &n) in counts.iter().enumerate() {
                                sums[0][s] += n;
                                sums[1][s] += n * x;
                                sums[2][s] += n * x * x;
                            }
                        }
                        for row in 0..slots.len() {
                            let i = row * columns + d;
                            (count[i], first[i], second[i]) =
                                (sums[0][row], sums[1][row], sums[2][row]);
                        }
                    }
                }
            }
        });
        moments
    }
}

fn add<U: Real>(sums: &mut [f64], other: &[U]) {
    in_parallel(sums.chunks_mut(PIECE).zip(other.chunks(PIECE)), |(sums, other)| {
        for (a, b) in sums.iter_mut().zip(other) {
            *a += b.wide();
        }
    });
}

/// Adds up in `f64`, in eight interleaved sums so that the compiler can vectorise it.
fn sum_wide<T: Real>(values: &[T]) -> f64 {
    let (chunks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        for (sum, v) in sums.iter_mut().zip(chunk) {
            *sum += v.wide();
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|v| v.wide()).sum::<f64>()
}
