//! Mixed rows as rows of numbers, for k-means.
//!
//! Words become one column of 0 and 1 for each level. Distances in it are in units of the whole column's spread,
//! `1 - Σ π²` over all its levels together, as those of a number are in units of its variance: every column of the table has as
//! much to say. The mean of a cluster in a level's column is the share of that level in the cluster.

use std::borrow::Cow;

use super::{Looks, Typical, words};
use crate::slots::ColumnMoments;
use crate::{Context, Dense, Real, Result, Source, Table};

/// The least spread of a column of words: those that never change say nothing.
const LEAST_SPREAD: f64 = 1e-3;

/// A table whose words stand as columns of 0 and 1.
#[derive(Debug)]
pub struct Expanded<'a, T: Real> {
    /// The rows, with their weights.
    pub table: Cow<'a, Table<T>>,
    /// For each of its columns the one that it came from.
    pub column: Vec<usize>,
    /// Squared unit of distance in each of its columns.
    pub unit: Vec<f64>,
}

impl Typical {
    /// Expands a table that fits in memory; `reference` has the variances of its numbers.
    pub fn expand<'a, T: Real>(
        &self,
        table: &'a Table<T>,
        reference: &[f64],
    ) -> Result<Expanded<'a, T>> {
        let kinds = &self.kinds;
        if kinds.width() == 0 {
            let column = (0..kinds.columns()).collect();
            return Ok(Expanded { table: Cow::Borrowed(table), column, unit: reference.to_vec() });
        }
        let (measured, _) = kinds.measured();
        let mut column = measured.clone();
        let mut unit: Vec<f64> = measured.iter().map(|&d| reference[d]).collect();
        for words in kinds.words() {
            let share = &self.share[words.first..words.first + words.levels];
            let spread = (1.0 - share.iter().map(|p| p * p).sum::<f64>()).max(LEAST_SPREAD);
            column.extend(std::iter::repeat_n(words.column, words.levels));
            unit.extend(std::iter::repeat_n(spread, words.levels));
        }
        let mut values = Vec::with_capacity(table.rows() * column.len());
        let mut weights = Vec::with_capacity(table.rows());
        let mut cells = vec![T::MISSING; kinds.columns()];
        let mut lane = table.lane(0..table.batches())?;
        while let Some(batch) = lane.next_batch()? {
            for row in 0..batch.rows {
                weights.push(batch.weight(row));
                batch.dense_row(row, &mut cells);
                values.extend(measured.iter().map(|&d| cells[d]));
                for words in kinds.words() {
                    let shown = words::shown_level(cells[words.column].to_f64(), words.levels);
                    values.extend((0..words.levels).map(|l| match shown {
                        None => T::MISSING,
                        Some(shown) if shown == l => T::ONE,
                        Some(_) => T::ZERO,
                    }));
                }
            }
        }
        let table = Table::from(Dense::new(weights.len(), column.len(), values)?);
        let plain = weights.iter().all(|&w| w == 1.0);
        let table = if plain { table } else { table.with_weights(weights)? };
        Ok(Expanded { table: Cow::Owned(table), column, unit })
    }

    /// Brings means and variances of an expanded table back, `[S, D']` to looks: of counts and words `own` of each, the
    /// rest of the whole column.
    pub fn fold(&self, expanded: &[f64], spread: &[f64], own: f64, looks: Looks<'_>) {
        let kinds = &self.kinds;
        let (measured, _) = kinds.measured();
        let (columns, width) = (kinds.columns(), kinds.width());
        let Looks { mean, variance, level } = looks;
        if width == 0 {
            mean.copy_from_slice(expanded);
            variance.copy_from_slice(spread);
        }
        let inner = (measured.len() + width).max(1);
        for (s, row) in expanded.chunks_exact(inner).enumerate() {
            if width > 0 {
                let own = row.iter().zip(&spread[s * inner..]);
                for (&d, (&x, &v)) in measured.iter().zip(own) {
                    (mean[s * columns + d], variance[s * columns + d]) = (x, v);
                }
            }
            for d in kinds.counts() {
                let rate = &mut mean[s * columns + d];
                *rate = (own * *rate + (1.0 - own) * self.rate[d]).max(super::count::LEAST);
                variance[s * columns + d] = *rate;
            }
            for words in kinds.words() {
                let out = &mut level[s * width + words.first..][..words.levels];
                let found = &row[measured.len() + words.first..][..words.levels];
                let total: f64 = found.iter().map(|p| p.max(0.0)).sum();
                let own = if total > 1e-9 { own / total } else { 0.0 };
                let share = &self.share[words.first..];
                for ((p, found), pi) in out.iter_mut().zip(found).zip(share) {
                    *p = own * found.max(0.0) + (1.0 - own * total) * pi;
                }
                let i = s * columns + words.column;
                (mean[i], variance[i]) =
                    if words.ordered { (0.0, 1.0) } else { words::summary(out) };
            }
        }
    }
}

impl<T: Real> Expanded<'_, T> {
    /// The moments of its columns.
    pub fn moments(&self, context: &Context) -> Result<ColumnMoments> {
        ColumnMoments::of(&*self.table, context)
    }

    /// A gate `[D, K]` over the columns it came from, as one over its own.
    pub fn gate(&self, gate: &[f64], parts: usize) -> Vec<f64> {
        self.column.iter().flat_map(|&d| gate[d * parts..(d + 1) * parts].iter().copied()).collect()
    }
}
