//! The moments of the rows that each slot is responsible for.

use serde::{Deserialize, Serialize};

use super::evidence::{padded_slots, turn};
use super::kinds::Kinds;
use super::lines::add_rows;
use super::quick::add;
use super::{Form, Frame, QuickSums, SlotWork};
use crate::math::{Matrix, add_product};
use crate::{Absent, Batch, Block, Real, in_parallel};

/// Columns of sparse sums whose moments one piece of parallel work takes out.
const TILE: usize = 64;

/// Less responsibility than this is none: dividing by it would be noise.
pub(super) const NO_ROWS: f64 = 1e-12;

/// Sums over rows, by slot and column, in the units of a [`Frame`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub struct SlotStatistics<T> {
    slots: usize,
    columns: usize,
    /// Responsibility of each slot over all rows.
    pub total: Vec<f64>,
    /// The part of `total` from dense batches in which every cell was observed.
    complete: Vec<f64>,
    sums: Sums<T>,
    /// The columns' kinds, if not numbers throughout.
    kinds: Option<Kinds>,
    /// `[W + 1, S']`: how often each level occurred; the last line is of missing words.
    words: Option<QuickSums<T>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
enum Sums<T> {
    /// `[S, 3 D]`: of x², of x, of being observed (in incomplete batches).
    Dense(QuickSums<T>),
    /// `[D, 3, S']`.
    Entries { absent: Absent, quick: QuickSums<T> },
    /// `[D, L, S']`: how often each level occurred.
    Levels { levels: Vec<f64>, quick: QuickSums<T> },
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
    /// Responsibility over the rows that show each level of a column of words, `[S, W]`.
    pub level: Vec<f64>,
}

impl SlotMoments {
    /// Moments of no rows, so many of slots in columns and of slots in levels.
    pub(super) fn nothing(cells: usize, levels: usize) -> Self {
        let zeros = || vec![0.0; cells];
        Self { count: zeros(), first: zeros(), second: zeros(), level: vec![0.0; levels] }
    }

    /// Re-estimates means and variances, `[S, D]` in the data's units: a mean is `first / count`,
    /// a variance `second / count - mean²` or its column's floor, whichever is larger (which
    /// maximises the bound under that floor, as it falls on both sides of the free variance).
    /// Where a slot has no rows, both stay.
    pub fn update<T: Real>(
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
    /// Sums of no rows of columns of these kinds.
    pub fn of_kinds(slots: usize, kinds: &Kinds, form: &Form) -> Self {
        if !kinds.is_mixed() || *form != Form::Dense {
            return Self::new(slots, kinds.columns(), form);
        }
        let (measured, _) = kinds.measured();
        let words = (kinds.width() > 0)
            .then(|| QuickSums::zeros((kinds.width() + 1) * padded_slots(slots)));
        let of_measured = Self::new(slots, measured.len(), form);
        Self { kinds: Some(kinds.clone()), words, ..of_measured }
    }

    /// Sums of no rows.
    pub fn new(slots: usize, columns: usize, form: &Form) -> Self {
        let stride = padded_slots(slots);
        let sums = match form {
            Form::Dense => Sums::Dense(QuickSums::zeros(slots * 3 * columns)),
            Form::Unobserved { levels } if !levels.is_empty() => Sums::Levels {
                levels: levels.clone(),
                quick: QuickSums::zeros(columns * levels.len() * stride),
            },
            Form::Unobserved { .. } => Sums::Entries {
                absent: Absent::Unobserved,
                quick: QuickSums::zeros(columns * 3 * stride),
            },
            Form::Zero => Sums::Entries {
                absent: Absent::Zero,
                quick: QuickSums::zeros(columns * 3 * stride),
            },
        };
        Self {
            slots,
            columns,
            total: vec![0.0; slots],
            complete: vec![0.0; slots],
            sums,
            kinds: None,
            words: None,
        }
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
                if self.columns > 0 {
                    add_product(
                        quick.waiting(),
                        3 * self.columns,
                        Matrix::new(&work.slots, self.slots, rows),
                        Matrix::new(&work.features, rows, work.width * self.columns),
                    );
                    quick.added_dense(rows);
                }
                if let Some(words) = &mut self.words {
                    let stride = Self::turn_to_rows(self.slots, rows, work);
                    work.lines.scatter(work.by_row.as_slice(), stride, words.waiting());
                    words.added_dense(rows);
                }
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
            _ => unreachable!("shards of one pass have statistics of one form"),
        }
        if let (Some(own), Some(other)) = (&mut self.words, &other.words) {
            own.merge(other);
        }
    }

    /// After the last row.
    pub fn finish(&mut self) {
        self.quick_mut().finish();
        self.words.iter_mut().for_each(QuickSums::finish);
    }

    fn quick_mut(&mut self) -> &mut QuickSums<T> {
        match &mut self.sums {
            Sums::Dense(quick) | Sums::Entries { quick, .. } | Sums::Levels { quick, .. } => quick,
        }
    }

    /// Back to no rows.
    pub fn reset(&mut self) {
        self.total.fill(0.0);
        self.complete.fill(0.0);
        self.quick_mut().reset();
        self.words.iter_mut().for_each(QuickSums::reset);
    }

    /// The sums, slot by slot and column by column, as gathered in this frame and
    /// [finished](Self::finish).
    pub fn moments(&self, frame: &Frame<T>) -> SlotMoments {
        match &self.kinds {
            None => self.measured_moments(frame),
            Some(kinds) => self.mixed_moments(kinds, frame),
        }
    }

    /// Moments of all columns, measured ones and words.
    fn mixed_moments(&self, kinds: &Kinds, frame: &Frame<T>) -> SlotMoments {
        let (measured, _) = kinds.measured();
        let inner = self.measured_moments(&frame.select(&measured));
        let (columns, width) = (kinds.columns(), kinds.width());
        let mut moments = SlotMoments::nothing(self.slots * columns, self.slots * width);
        for s in 0..self.slots {
            for (i, &d) in measured.iter().enumerate() {
                let (from, to) = (s * measured.len() + i, s * columns + d);
                moments.count[to] = inner.count[from];
                moments.first[to] = inner.first[from];
                moments.second[to] = inner.second[from];
            }
        }
        let stride = padded_slots(self.slots);
        let mut line = vec![0.0; self.slots];
        for word in kinds.words() {
            for l in word.first..word.first + word.levels {
                self.words.iter().for_each(|words| words.read(l * stride, &mut line));
                for (s, &n) in line.iter().enumerate() {
                    moments.level[s * width + l] = n;
                    moments.count[s * columns + word.column] += n;
                }
            }
        }
        moments
    }

    /// Moments of the columns that are measured.
    fn measured_moments(&self, frame: &Frame<T>) -> SlotMoments {
        let (slots, columns) = (self.slots, self.columns);
        let mut moments = SlotMoments::nothing(slots * columns, 0);
        if columns == 0 {
            return moments;
        }
        let rows = moments
            .count
            .chunks_mut(columns)
            .zip(moments.first.chunks_mut(columns))
            .zip(moments.second.chunks_mut(columns))
            .enumerate();
        if let Sums::Dense(quick) = &self.sums {
            in_parallel(rows, |(s, ((count, first), second))| {
                quick.read(s * 3 * columns, second);
                quick.read((s * 3 + 1) * columns, first);
                quick.read((s * 3 + 2) * columns, count);
                count.iter_mut().for_each(|n| *n += self.complete[s]);
            });
            return moments;
        }
        // Sparse sums stand column by column: tiles of columns are summed, then turned.
        let mut tiles: Vec<Vec<f64>> = vec![Vec::new(); columns.div_ceil(TILE)];
        in_parallel(tiles.iter_mut().enumerate(), |(tile, out)| {
            let first = tile * TILE;
            let width = TILE.min(columns - first);
            out.resize(3 * slots * width, 0.0);
            self.sparse_moments(first, width, frame, out);
        });
        in_parallel(rows, |(s, ((count, first), second))| {
            for (tile, sums) in tiles.iter().enumerate() {
                let from = tile * TILE;
                let width = sums.len() / (3 * slots);
                for (k, out) in [&mut *count, &mut *first, &mut *second].into_iter().enumerate() {
                    let at = (k * slots + s) * width;
                    out[from..from + width].copy_from_slice(&sums[at..at + width]);
                }
            }
        });
        moments
    }

    /// How many, their sum and their sum of squares in a few columns, `[3, S, width]`.
    fn sparse_moments(&self, first: usize, width: usize, frame: &Frame<T>, out: &mut [f64]) {
        let (slots, stride) = (self.slots, padded_slots(self.slots));
        let mut moments = vec![0.0; 3 * stride];
        let mut line = vec![0.0; stride];
        for column in 0..width {
            let d = first + column;
            let (count, rest) = moments.split_at_mut(stride);
            let (linear, square) = rest.split_at_mut(stride);
            match &self.sums {
                Sums::Levels { levels, quick } => {
                    for sums in [&mut *count, &mut *linear, &mut *square] {
                        sums.fill(0.0);
                    }
                    for (l, &level) in levels.iter().enumerate() {
                        let x = frame.cell(d, T::from_f64(level)).to_f64();
                        quick.read((d * levels.len() + l) * stride, &mut line);
                        let sums = count.iter_mut().zip(&mut *linear).zip(&mut *square);
                        for (((a, b), c), n) in sums.zip(&line) {
                            *a += n;
                            *b += n * x;
                            *c += n * x * x;
                        }
                    }
                }
                Sums::Entries { absent, quick } => {
                    quick.read(d * 3 * stride, square);
                    quick.read((d * 3 + 1) * stride, linear);
                    match absent {
                        Absent::Unobserved => quick.read((d * 3 + 2) * stride, count),
                        Absent::Zero => count[..slots].copy_from_slice(&self.total),
                    }
                }
                Sums::Dense(_) => unreachable!("dense sums stand slot by slot"),
            }
            for (k, sums) in moments.chunks_exact(stride).enumerate() {
                for (s, &sum) in sums[..slots].iter().enumerate() {
                    out[(k * slots + s) * width + column] = sum;
                }
            }
        }
    }
}

/// Adds up in `f64`, in eight interleaved sums so that the compiler can vectorise it.
fn sum_wide<T: Real>(values: &[T]) -> f64 {
    let (chunks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        for (sum, v) in sums.iter_mut().zip(chunk) {
            *sum += v.to_f64();
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|v| v.to_f64()).sum::<f64>()
}
