//! Densities of rows under learned slots, as exactly as `f64` can.
//!
//! Learning looks at all rows again and again and does so by matrix products in the data's own
//! type ([`Evidence`](super::Evidence)). A finished model is asked less often and has to be right
//! for whatever it is asked: outliers a billion deviations away, a file written by hand whose
//! variances span hundreds of decades, single rows that must score as they do among a thousand.
//! So it takes differences before it squares, in `f64`, one row at a time: the same numbers come
//! out however rows are batched, stored or typed.

use serde::{Deserialize, Serialize};

use super::kinds::{Family, Kinds, Mixed, count, words};
use crate::math::HALF_LOG_TWO_PI;
use crate::math::widest;
use crate::{Batch, Real};

/// The largest square: sums of these over any number of columns stay finite.
const LARGEST_SQUARE: f64 = 1e295;

/// The observed cells of one row.
#[derive(Debug, Clone, Default)]
pub struct RowCells {
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl RowCells {
    /// Takes a row of a batch.
    pub fn take<T: Real>(&mut self, batch: &Batch<'_, T>, row: usize) {
        self.columns.clear();
        self.values.clear();
        batch.for_each_observed(row, |d, x| {
            self.columns.push(d);
            self.values.push(x.to_f64());
        });
    }

    /// Observed cells as (column, value).
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.columns.iter().copied().zip(self.values.iter().copied())
    }
}

/// Gaussian slots with a mean and a variance in every column, ready to be asked for densities.
///
/// ```
/// use mereo_core::slots::{Densities, RowCells};
/// use mereo_core::{Dense, Source, Table};
/// let table = Table::from(Dense::new(1, 2, vec![1.0f64, f64::NAN])?);
/// let slots = Densities::new(2, &[0.0, 0.0, 1.0, 5.0], &[1.0; 4]);
/// let (mut cells, mut squares) = (RowCells::default(), [0.0; 2]);
/// let mut lane = table.lane(0..1)?;
/// if let Some(batch) = lane.next_batch()? {
///     cells.take(&batch, 0);
///     slots.squares(&cells, &mut squares);
/// }
/// assert_eq!(squares, [1.0, 0.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Densities {
    columns: usize,
    /// `[S, D]`.
    mean: Vec<f64>,
    /// One over the standard deviation, `[S, D]`.
    inverse: Vec<f64>,
    /// `½ log 2πσ²`, `[S, D]`, and its sum over the columns, `[S]`.
    cost: Vec<f64>,
    cost_of_all: Vec<f64>,
    /// The columns' kinds, if not numbers throughout, and the logarithms of the levels' shares, `[S, W]`.
    kinds: Option<(Kinds, Vec<f64>)>,
}

impl Densities {
    /// Slots with these means and variances, `[S, D]`.
    pub fn new(columns: usize, mean: &[f64], variance: &[f64]) -> Self {
        let cost: Vec<f64> = variance.iter().map(|v| 0.5 * v.ln() + HALF_LOG_TWO_PI).collect();
        Self {
            columns,
            mean: mean.to_vec(),
            inverse: variance.iter().map(|v| 1.0 / v.sqrt()).collect(),
            cost_of_all: cost.chunks_exact(columns.max(1)).map(|c| c.iter().sum()).collect(),
            cost,
            kinds: None,
        }
    }

    /// The same with columns of other kinds.
    pub fn of_kinds(
        columns: usize,
        mean: &[f64],
        variance: &[f64],
        mixed: Option<Mixed<'_>>,
    ) -> Self {
        let kinds = mixed.map(|mixed| {
            (mixed.kinds.clone(), mixed.level.iter().map(|&p| words::log(p)).collect())
        });
        Self { kinds, ..Self::new(columns, mean, variance) }
    }

    /// `log P(x | s)` of one cell: a density of a number, a mass of anything else. A word that is none of its
    /// column's levels says nothing.
    pub fn cell(&self, slot: usize, column: usize, x: f64) -> f64 {
        let i = slot * self.columns + column;
        match self.kinds.as_ref().map_or(Family::Number, |(kinds, _)| kinds.family(column)) {
            Family::Number => -0.5 * square(x, self.mean[i], self.inverse[i]) - self.cost[i],
            Family::Count => count::log_mass(x, self.mean[i]),
            Family::Words { first, levels, .. } => {
                let (kinds, logs) = self.kinds.as_ref().unwrap_or_else(|| unreachable!());
                words::shown_level(x, levels)
                    .map_or(0.0, |level| logs[slot * kinds.width() + first + level])
            }
        }
    }

    /// `Σ_d (x_d - μ_sd)² / σ²_sd` over the observed columns, for every slot.
    pub fn squares(&self, cells: &RowCells, out: &mut [f64]) {
        let slots =
            self.mean.chunks_exact(self.columns).zip(self.inverse.chunks_exact(self.columns));
        let complete = cells.values.len() == self.columns;
        widest(
            #[inline(always)]
            || {
                for (out, (mean, inverse)) in out.iter_mut().zip(slots.clone()) {
                    *out = if complete {
                        squares_of_all(&cells.values, mean, inverse)
                    } else {
                        cells.iter().map(|(d, x)| square(x, mean[d], inverse[d])).sum()
                    };
                }
            },
        );
    }

    /// `Σ_d log N(x_d; μ_sd, σ²_sd)` over the observed columns, for every slot: unobserved ones
    /// integrate to 1.
    pub fn logs(&self, cells: &RowCells, out: &mut [f64]) {
        if self.kinds.is_some() {
            for (slot, out) in out.iter_mut().enumerate() {
                *out = cells.iter().map(|(d, x)| self.cell(slot, d, x)).sum();
            }
            return;
        }
        self.squares(cells, out);
        let complete = cells.values.len() == self.columns;
        for (slot, out) in out.iter_mut().enumerate() {
            let cost = if complete {
                self.cost_of_all[slot]
            } else {
                cells.columns.iter().map(|d| self.cost[slot * self.columns + d]).sum()
            };
            *out = -0.5 * *out - cost;
        }
    }
}

#[inline(always)]
fn square(x: f64, mean: f64, inverse: f64) -> f64 {
    let z = (x - mean) * inverse;
    (z * z).min(LARGEST_SQUARE)
}

/// In eight interleaved sums, so that the compiler can vectorise it.
#[inline(always)]
fn squares_of_all(values: &[f64], mean: &[f64], inverse: &[f64]) -> f64 {
    let (xs, x_rest) = values.as_chunks::<8>();
    let (ms, m_rest) = mean.as_chunks::<8>();
    let (is, i_rest) = inverse.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for ((x, m), i) in xs.iter().zip(ms).zip(is) {
        for k in 0..8 {
            sums[k] += square(x[k], m[k], i[k]);
        }
    }
    let rest = x_rest.iter().zip(m_rest).zip(i_rest);
    sums.iter().sum::<f64>() + rest.map(|((&x, &m), &i)| square(x, m, i)).sum::<f64>()
}

/// The first of the smallest numbers.
///
/// ```
/// assert_eq!(mereo_core::slots::first_smallest(&[2.0, 1.0, 1.0]), 1);
/// ```
pub fn first_smallest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] < values[best] { i } else { best })
}
