//! The rows that a model explains worst: where empty states find something to do.

use serde::{Deserialize, Serialize};

use crate::{Batch, Real};

/// A row and how well it is explained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstRow {
    /// Its log density, or minus its distance: the smaller the worse.
    pub score: f64,
    /// Its number in the source.
    pub row: usize,
    /// Its cells, `NaN` where missing.
    pub cells: Vec<f64>,
}

/// For each part, the few rows that it explains worst, the worst first; of equal ones the first
/// in the source. Which rows these are does not depend on the order in which they are offered.
///
/// ```
/// use mereo_core::slots::WorstRows;
/// let mut worst = WorstRows::new(1, 2);
/// for (row, score) in [-1.0, -3.0, -2.0].into_iter().enumerate() {
///     worst.offer(0, score, row, || vec![0.5]);
/// }
/// assert_eq!(worst.of(0).iter().map(|w| w.row).collect::<Vec<_>>(), [1, 2]);
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorstRows {
    keep: usize,
    by_part: Vec<Vec<WorstRow>>,
}

impl WorstRows {
    /// Keeps this many rows for each of this many parts.
    pub fn new(parts: usize, keep: usize) -> Self {
        Self { keep, by_part: vec![Vec::new(); parts] }
    }

    /// Offers one row to a part. Its cells are asked for only if it is bad enough; a row in which
    /// nothing is observed could not seed anything and is not kept.
    pub fn offer(&mut self, part: usize, score: f64, row: usize, cells: impl FnOnce() -> Vec<f64>) {
        let worst = &mut self.by_part[part];
        let place = worst.partition_point(|w| w.score < score || (w.score == score && w.row < row));
        if place < self.keep {
            let cells = cells();
            if cells.iter().any(|x| !x.is_nan()) {
                worst.insert(place, WorstRow { score, row, cells });
                worst.truncate(self.keep);
            }
        }
    }

    /// Offers the rows of a batch that count, with one score each.
    pub fn offer_batch<T: Real>(&mut self, part: usize, batch: &Batch<'_, T>, scores: &[T]) {
        for (row, score) in scores.iter().enumerate() {
            if batch.weight(row) > 0.0 {
                self.offer(part, score.to_f64(), batch.first_row + row, || {
                    let mut cells = vec![f64::NAN; batch.columns];
                    batch.for_each_observed(row, |d, x| cells[d] = x.to_f64());
                    cells
                });
            }
        }
    }

    /// The worst rows of a part.
    pub fn of(&self, part: usize) -> &[WorstRow] {
        &self.by_part[part]
    }

    /// Adds another's rows.
    pub fn merge(&mut self, other: &Self) {
        for (part, worst) in other.by_part.iter().enumerate() {
            for w in worst {
                self.offer(part, w.score, w.row, || w.cells.clone());
            }
        }
    }

    /// Back to no rows.
    pub fn clear(&mut self) {
        self.by_part.iter_mut().for_each(Vec::clear);
    }
}
