//! The moments of the rows that each slot is responsible for.

use super::evidence::{Padded, padded_slots, turn};
use super::{Form, Frame, SlotWork, level_codes, level_of};
use crate::math::{Matrix, product};
use crate::{Absent, Batch, Block, Real};

/// Rows that go into the quick sums of a sparse lane before they are added to the `f64` ones:
/// few enough that single precision loses nothing that matters.
const QUICK_ROWS: usize = 16_384;

/// Less responsibility than this is none: dividing by it would be noise.
const NO_ROWS: f64 = 1e-12;

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
    Dense(Vec<f64>),
    /// `[D, 3, S']`; quick sums wait in `quick`.
    Entries { absent: Absent, quick: Quick<T> },
    /// `[D, L, S']`: how often each level occurred.
    Levels { codes: [u8; super::LEVEL_CODES], levels: Vec<f64>, quick: Quick<T> },
}

/// Sums in the data's own type, added to `f64` ones from time to time.
#[derive(Debug, Clone)]
struct Quick<T> {
    rows: usize,
    waiting: Padded<T>,
    sums: Vec<f64>,
}

impl<T: Real> Quick<T> {
    fn zeros(length: usize) -> Self {
        Self { rows: 0, waiting: Padded::zeros(length), sums: vec![0.0; length] }
    }

    /// Adds the entries of a sparse batch, each with its row's responsibilities `[S']`.
    #[inline(always)]
    fn add(
        &mut self,
        work: &mut SlotWork<T>,
        slots: usize,
        rows: usize,
        add: impl Fn(&mut [T], usize, T, &[T]),
    ) {
        let stride = padded_slots(slots);
        work.by_row.clear();
        work.by_row.resize(rows * stride, T::ZERO);
        turn(&work.slots, slots, rows, &mut work.by_row, rows, stride);
        let (table, by_row) = (self.waiting.as_mut_slice(), &work.by_row[..]);
        work.entries.for_each(
            #[inline(always)]
            |column, row, value| {
                add(table, column, value, &by_row[row * stride..(row + 1) * stride]);
            },
        );
        self.rows += rows;
        if self.rows >= QUICK_ROWS {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.rows > 0 {
            for (sum, quick) in self.sums.iter_mut().zip(self.waiting.as_mut_slice()) {
                *sum += quick.wide();
                *quick = T::ZERO;
            }
            self.rows = 0;
        }
    }

    fn reset(&mut self) {
        if self.rows > 0 {
            self.waiting.as_mut_slice().fill(T::ZERO);
        }
        self.rows = 0;
        self.sums.fill(0.0);
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
        for (i, &count) in self.count.iter().enumerate() {
            let d = i % columns;
            if count > NO_ROWS {
                let inner = self.first[i] / count;
                let scale = frame.scale(d);
                mean[i] = frame.outward(d, inner);
                variance[i] =
                    ((self.second[i] / count - inner * inner) * (scale * scale)).max(floor[d]);
            } else {
                variance[i] = variance[i].max(floor[d]);
            }
        }
    }
}

impl<T: Real> SlotStatistics<T> {
    /// Sums of no rows.
    pub fn new(slots: usize, columns: usize, form: &Form) -> Self {
        let stride = padded_slots(slots);
        let sums = match form {
            Form::Dense => Sums::Dense(vec![0.0; slots * 3 * columns]),
            Form::Unobserved { levels } if !levels.is_empty() => Sums::Levels {
                codes: level_codes(levels),
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
            (Sums::Dense(sums), Block::Dense { .. }) => {
                let used = work.width * self.columns;
                work.product.resize(self.slots * used, T::ZERO);
                product(
                    &mut work.product,
                    Matrix::new(&work.slots, self.slots, rows),
                    Matrix::new(&work.features, rows, used),
                    false,
                );
                pulp::Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        for (sum, new) in sums
                            .chunks_exact_mut(3 * self.columns)
                            .zip(work.product.chunks_exact(used))
                        {
                            for (s, &n) in sum.iter_mut().zip(new) {
                                *s += n.wide();
                            }
                        }
                    },
                );
            }
            (Sums::Levels { codes, levels, quick }, Block::Sparse { .. }) => {
                let stride = padded_slots(self.slots);
                let count = levels.len();
                quick.add(work, self.slots, rows, |table, column, value, row| {
                    let entry = (column * count + level_of(codes, value)) * stride;
                    for (sum, &m) in table[entry..entry + stride].iter_mut().zip(row) {
                        *sum += m;
                    }
                });
            }
            (Sums::Entries { quick, .. }, Block::Sparse { .. }) => {
                let stride = padded_slots(self.slots);
                quick.add(work, self.slots, rows, |table, column, value, row| {
                    let x = frame.cell(column, value);
                    let entry = &mut table[column * 3 * stride..(column + 1) * 3 * stride];
                    let (square, rest) = entry.split_at_mut(stride);
                    let (linear, count) = rest.split_at_mut(stride);
                    for (((a, b), c), &m) in square.iter_mut().zip(linear).zip(count).zip(row) {
                        *c += m;
                        *b += m * x;
                        *a += m * x * x;
                    }
                });
            }
            _ => unreachable!("statistics are made for the form of the data that they sum"),
        }
    }

    /// Adds another's sums.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.total, &other.total);
        add(&mut self.complete, &other.complete);
        match (&mut self.sums, &other.sums) {
            (Sums::Dense(a), Sums::Dense(b)) => add(a, b),
            (Sums::Entries { quick: a, .. }, Sums::Entries { quick: b, .. })
            | (Sums::Levels { quick: a, .. }, Sums::Levels { quick: b, .. }) => {
                add(&mut a.sums, &b.sums);
            }
            _ => unreachable!("lanes of one pass have statistics of one form"),
        }
    }

    /// Adds quick sums to the `f64` ones: after the last batch of a lane.
    pub fn finish(&mut self) {
        if let Sums::Entries { quick, .. } | Sums::Levels { quick, .. } = &mut self.sums {
            quick.flush();
        }
    }

    /// Back to no rows.
    pub fn reset(&mut self) {
        self.total.fill(0.0);
        self.complete.fill(0.0);
        match &mut self.sums {
            Sums::Dense(sums) => sums.fill(0.0),
            Sums::Entries { quick, .. } | Sums::Levels { quick, .. } => quick.reset(),
        }
    }

    /// About how much memory this takes.
    pub fn bytes(&self) -> usize {
        match &self.sums {
            Sums::Dense(sums) => sums.len() * 8,
            Sums::Entries { quick, .. } | Sums::Levels { quick, .. } => {
                quick.sums.len() * (8 + size_of::<T>())
            }
        }
    }

    /// The sums, slot by slot and column by column, as gathered in this frame.
    pub fn moments(&self, frame: &Frame<T>) -> SlotMoments {
        let (slots, columns) = (self.slots, self.columns);
        let zeros = || vec![0.0; slots * columns];
        let mut moments = SlotMoments { count: zeros(), first: zeros(), second: zeros() };
        let SlotMoments { count, first, second } = &mut moments;
        let stride = padded_slots(slots);
        match &self.sums {
            Sums::Dense(sums) => {
                for s in 0..slots {
                    let sum = &sums[s * 3 * columns..(s + 1) * 3 * columns];
                    let row = s * columns..(s + 1) * columns;
                    second[row.clone()].copy_from_slice(&sum[..columns]);
                    first[row.clone()].copy_from_slice(&sum[columns..2 * columns]);
                    for (c, o) in count[row].iter_mut().zip(&sum[2 * columns..]) {
                        *c = o + self.complete[s];
                    }
                }
            }
            Sums::Entries { absent, quick } => {
                for (d, sum) in quick.sums.chunks_exact(3 * stride).enumerate() {
                    for s in 0..slots {
                        second[s * columns + d] = sum[s];
                        first[s * columns + d] = sum[stride + s];
                        count[s * columns + d] = match absent {
                            Absent::Unobserved => sum[2 * stride + s],
                            Absent::Zero => self.total[s],
                        };
                    }
                }
            }
            Sums::Levels { levels, quick, .. } => {
                for (d, sum) in quick.sums.chunks_exact(levels.len() * stride).enumerate() {
                    for (l, &level) in levels.iter().enumerate() {
                        let x = frame.cell(d, T::of(level)).wide();
                        for s in 0..slots {
                            let n = sum[l * stride + s];
                            count[s * columns + d] += n;
                            first[s * columns + d] += n * x;
                            second[s * columns + d] += n * x * x;
                        }
                    }
                }
            }
        }
        moments
    }
}

fn add(sums: &mut [f64], other: &[f64]) {
    for (a, b) in sums.iter_mut().zip(other) {
        *a += b;
    }
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
