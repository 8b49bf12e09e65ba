//! What is known of each column before anything is learned: how many, mean, spread.

use serde::{Deserialize, Serialize};

use crate::math::widest;
use crate::{Absent, Batch, Block, Context, Real, Result, RowTask, Source, Statistics, gather};

/// Spreads at which no product of a few cells leaves the range of single precision.
const MODERATE: std::ops::RangeInclusive<f64> = 1e-5..=1e5;
/// Spreads that a column near 0 may be away from it.
const NEAR: f64 = 4.0;

/// Weight, mean and spread of every column over the rows that observe it.
///
/// Each batch is summed about its own first value, and batches are put together by their means
/// (Chan, Golub and `LeVeque`), so that neither offsets nor scale cost precision and a constant
/// column has a spread of exactly 0.
///
/// ```
/// use mereo_core::{Context, Dense, Table, slots::ColumnMoments};
/// let table = Table::from(Dense::new(2, 2, vec![1e6, 5.0, 1e6 + 2.0, f64::NAN])?);
/// let moments = ColumnMoments::of(&table, &Context::new(0))?;
/// assert_eq!(moments.mean, [1e6 + 1.0, 5.0]);
/// assert_eq!([moments.variance(0), moments.variance(1)], [1.0, 0.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ColumnMoments {
    /// Weight of all rows.
    pub rows: f64,
    /// Weight of the rows that observe each column.
    pub weight: Vec<f64>,
    /// Their mean (0 where no row does).
    pub mean: Vec<f64>,
    /// Their sum of squared distances from the mean.
    squares: Vec<f64>,
    // Sums of the batch at hand: of weights, and of values and their squares about `shift`.
    #[serde(skip)]
    shift: Vec<f64>,
    #[serde(skip)]
    count: Vec<f64>,
    #[serde(skip)]
    first: Vec<f64>,
    #[serde(skip)]
    second: Vec<f64>,
}

/// Asks rows for the moments of their columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MomentsTask {
    columns: usize,
}

impl<T: Real> RowTask<T> for MomentsTask {
    const NAME: &'static str = "moments";
    type Statistics = ColumnMoments;

    fn statistics(&self) -> ColumnMoments {
        ColumnMoments::new(self.columns)
    }

    fn accumulate(&self, batch: &Batch<'_, T>, moments: &mut ColumnMoments) {
        moments.accumulate(batch);
    }
}

impl ColumnMoments {
    /// Looks at every row of a source once.
    pub fn of<T: Real>(source: &dyn Source<T>, context: &Context) -> Result<Self> {
        gather(source, context, &MomentsTask { columns: source.columns() })
    }

    pub(super) fn new(columns: usize) -> Self {
        let zeros = vec![0.0; columns];
        Self {
            rows: 0.0,
            weight: zeros.clone(),
            mean: zeros.clone(),
            squares: zeros.clone(),
            shift: zeros.clone(),
            count: zeros.clone(),
            first: zeros.clone(),
            second: zeros,
        }
    }

    pub(super) fn accumulate<T: Real>(&mut self, batch: &Batch<'_, T>) {
        for sums in [&mut self.count, &mut self.first, &mut self.second] {
            sums.fill(0.0);
        }
        let total = match batch.block {
            Block::Dense { values, complete: true } => self.sum_complete(batch, values),
            _ => self.sum_observed(batch),
        };
        let zeros = matches!(batch.block, Block::Sparse { absent: Absent::Zero, .. });
        for d in 0..self.mean.len() {
            let mut weight = self.count[d];
            if zeros {
                if weight == 0.0 {
                    self.shift[d] = 0.0;
                }
                weight = total;
            }
            if weight > 0.0 {
                let mean = self.first[d] / weight;
                let squares = (self.second[d] - self.first[d] * mean).max(0.0);
                self.add(d, weight, self.shift[d] + mean, squares);
            }
        }
        self.rows += total;
    }

    /// Sums a batch in which no cell is missing; returns its weight.
    fn sum_complete<T: Real>(&mut self, batch: &Batch<'_, T>, values: &[T]) -> f64 {
        let Self { shift, count, first, second, .. } = self;
        let mut total = 0.0;
        for (row, cells) in values.chunks_exact(batch.columns.max(1)).enumerate() {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            if total == 0.0 {
                shift.iter_mut().zip(cells).for_each(|(shift, value)| *shift = value.to_f64());
            }
            total += weight;
            widest(
                #[inline(always)]
                || {
                    let sums = first.iter_mut().zip(&mut *second);
                    for (((first, second), shift), value) in sums.zip(&*shift).zip(cells) {
                        let x = value.to_f64() - shift;
                        *first += weight * x;
                        *second += weight * x * x;
                    }
                },
            );
        }
        count.fill(total);
        total
    }

    /// Sums the cells of a batch that are observed (or stored); returns its weight.
    fn sum_observed<T: Real>(&mut self, batch: &Batch<'_, T>) -> f64 {
        let zeros = matches!(batch.block, Block::Sparse { absent: Absent::Zero, .. });
        let mut total = 0.0;
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            total += weight;
            let Self { shift, count, first, second, .. } = self;
            let mut add = |column: usize, value: T| {
                let value = value.to_f64();
                if count[column] == 0.0 {
                    shift[column] = if zeros { 0.0 } else { value };
                }
                let x = value - shift[column];
                count[column] += weight;
                first[column] += weight * x;
                second[column] += weight * x * x;
            };
            match batch.block {
                // Zeros add nothing to sums about 0: it is enough to count them.
                Block::Sparse { starts, indices, values, absent: Absent::Zero } => {
                    let range = starts[row] - starts[0]..starts[row + 1] - starts[0];
                    for (&column, &value) in indices[range.clone()].iter().zip(&values[range]) {
                        add(column as usize, value);
                    }
                }
                _ => batch.for_each_observed(row, add),
            }
        }
        total
    }

    fn add(&mut self, d: usize, weight: f64, mean: f64, squares: f64) {
        let all = self.weight[d] + weight;
        let apart = mean - self.mean[d];
        if self.weight[d] == 0.0 {
            self.mean[d] = mean;
        } else {
            self.mean[d] += apart * (weight / all);
            self.squares[d] += apart * apart * (self.weight[d] * weight / all);
        }
        self.squares[d] += squares;
        self.weight[d] = all;
    }

    /// The variance of a column, 0 if it is constant or unobserved.
    pub fn variance(&self, column: usize) -> f64 {
        if self.weight[column] > 0.0 { self.squares[column] / self.weight[column] } else { 0.0 }
    }

    /// Whether a column has no spread that could be learned.
    pub fn is_constant(&self, column: usize) -> bool {
        !(self.variance(column).sqrt() > f64::MIN_POSITIVE)
    }

    /// Whether every column is so near 0 for its spread, and its spread so moderate, that sums of
    /// products of its cells as they are lose nothing that matters.
    pub(super) fn are_near_zero(&self) -> bool {
        self.mean.iter().zip(self.reference_variance()).all(|(mean, variance)| {
            let spread = variance.sqrt();
            MODERATE.contains(&spread) && mean.abs() <= NEAR * spread
        })
    }

    /// For each column the variance that floors are relative to: its own or, for a constant
    /// column, the median of the others (1 if there are none), so that the density stays proper
    /// and nothing depends on offsets or units.
    pub fn reference_variance(&self) -> Vec<f64> {
        let columns = self.mean.len();
        let mut spread: Vec<f64> =
            (0..columns).filter(|&d| !self.is_constant(d)).map(|d| self.variance(d)).collect();
        spread.sort_by(f64::total_cmp);
        let typical = spread.get(spread.len() / 2).copied().unwrap_or(1.0);
        (0..columns).map(|d| if self.is_constant(d) { typical } else { self.variance(d) }).collect()
    }
}

impl Statistics for ColumnMoments {
    fn merge(&mut self, other: &Self) {
        for d in 0..self.mean.len() {
            if other.weight[d] > 0.0 {
                self.add(d, other.weight[d], other.mean[d], other.squares[d]);
            }
        }
        self.rows += other.rows;
    }

    fn reset(&mut self) {
        *self = Self::new(self.mean.len());
    }
}

/// The units that the kernel measures each column in: `x' = (x - centre) / scale`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub struct Frame<T> {
    pub(super) centre: Vec<T>,
    pub(super) inverse: Vec<T>,
}

impl<T: Real> Frame<T> {
    /// A frame about these centres with these variances. Both are rounded to the data's type,
    /// and the rounded numbers are the frame.
    pub fn new(centre: &[f64], variance: &[f64]) -> Self {
        Self {
            centre: centre.iter().map(|&c| T::from_f64(c)).collect(),
            inverse: variance
                .iter()
                .map(|&v| T::from_f64(1.0 / v.sqrt().max(T::SMALLEST_SPREAD)))
                .collect(),
        }
    }

    /// The frame in which this many columns are as they are.
    pub(super) fn plain(columns: usize) -> Self {
        Self { centre: vec![T::ZERO; columns], inverse: vec![T::ONE; columns] }
    }

    /// The frame of a source with these moments; zeros of count tables stay zero in it.
    pub fn of(moments: &ColumnMoments, form: &super::Form) -> Self {
        let zero;
        let centre = if *form == super::Form::Zero {
            zero = vec![0.0; moments.mean.len()];
            &zero
        } else {
            &moments.mean
        };
        Self::new(centre, &moments.reference_variance())
    }

    /// Whether this leaves cells as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.centre.iter().all(|&c| c == T::ZERO) && self.inverse.iter().all(|&i| i == T::ONE)
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.centre.len()
    }

    /// The frame of these columns alone.
    pub(super) fn select(&self, columns: &[usize]) -> Self {
        let of = |values: &[T]| columns.iter().map(|&d| values[d]).collect();
        Self { centre: of(&self.centre), inverse: of(&self.inverse) }
    }

    /// The rate that counts of a column are measured against: its mean, where the frame has it.
    pub fn rate(&self, column: usize) -> f64 {
        let centre = self.centre[column].to_f64();
        if centre > 0.0 { centre } else { self.scale(column) }
    }

    /// The sum of values in the data's units, of so many whose sum is this in the frame's.
    pub fn total(&self, column: usize, count: f64, sum: f64) -> f64 {
        self.scale(column) * sum + self.centre[column].to_f64() * count
    }

    /// A value in the frame's units.
    pub fn inward(&self, column: usize, value: f64) -> f64 {
        (value - self.centre[column].to_f64()) * self.inverse[column].to_f64()
    }

    /// A value in the frame's units, back in the data's.
    pub fn outward(&self, column: usize, value: f64) -> f64 {
        self.centre[column].to_f64() + value / self.inverse[column].to_f64()
    }

    /// The scale of a column: what one of the frame's units is in the data's.
    pub fn scale(&self, column: usize) -> f64 {
        1.0 / self.inverse[column].to_f64()
    }

    /// A whole row of cells in the frame's units; a missing one stays missing.
    pub fn row<U: Real>(&self, cells: &[T], out: &mut [U]) {
        widest(
            #[inline(always)]
            || {
                for (((x, &cell), &centre), &inverse) in
                    out.iter_mut().zip(cells).zip(&self.centre).zip(&self.inverse)
                {
                    *x = U::from_f64(limited((cell - centre) * inverse).to_f64());
                }
            },
        );
    }

    /// A cell of the data in the frame's units.
    #[inline(always)]
    pub fn cell(&self, column: usize, value: T) -> T {
        limited((value - self.centre[column]) * self.inverse[column])
    }
}

/// A cell in the frame's units, at most so large that its square and all that is done with it
/// stay finite. Only rows that hardly count, or count not at all, can be so far out in the frame
/// of the data they belong to; without the limit a row of weight 0 could still tell `0 ∞ = NaN`.
#[inline(always)]
pub(super) fn limited<T: Real>(value: T) -> T {
    let most = T::FARTHEST;
    let below = if value > most { most } else { value };
    if below < -most { -most } else { below }
}
