//! Columns that few rows observe are not believed too readily.
//!
//! Each column of each slot is taken to have been seen in κ rows beside those there are: rows with the column's mean and
//! variance, both drawn towards those of all columns in tables that are mostly unknown. (Elsewhere a column's own are well known, and columns may be in
//! units that have nothing to do with each other.) Their expected error under a slot,
//! `κ E[½ log σ² + (x - μ)²/2σ²] = κ [½ log σ² + ((m - μ)² + v)/2σ²]`, is minus the logarithm of a conjugate prior of the slot's mean and variance (normal and
//! inverse gamma), so a learner that adds these rows to its sums maximises its bound plus the logarithm of that prior, and
//! the sum never falls. Where rows count by a gate that all share, these count by it too, and it cancels as before.

use serde::{Deserialize, Serialize};

use super::{Frame, SlotMoments, Survey};
use crate::{Error, Real, Result, in_parallel};

/// Tables of which a smaller share is observed are sparse: how they are stored does not matter.
const SPARSE: f64 = 0.25;
/// Cells of all columns that a column's own mean and variance are taken together with.
const OWN: f64 = 5.0;

/// Rows that every column is taken to have been seen in, in the units of a frame.
///
/// ```
/// use mereo_core::slots::{Shrinkage, Survey};
/// use mereo_core::{Context, Dense, Table};
/// let table = Table::from(Dense::new(2, 1, vec![1.0f64, 3.0])?);
/// let survey = Survey::of(&table, &Context::new(0))?;
/// // Nothing is missing, so nothing is done unless somebody says so.
/// assert!(Shrinkage::of(None, 3.0, &survey).is_none());
/// assert_eq!(Shrinkage::of(Some(2.0), 3.0, &survey).map(|s| s.rows), Some(2.0));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shrinkage {
    /// κ.
    pub rows: f64,
    /// `[D]`: their mean.
    pub mean: Vec<f64>,
    /// `[D]`: their variance.
    pub variance: Vec<f64>,
}

impl Shrinkage {
    /// As many rows as were chosen; if nobody chose, `usual` ones of sparse tables and none of others.
    pub fn of<T: Real>(chosen: Option<f64>, usual: f64, survey: &Survey<T>) -> Option<Self> {
        let moments = &survey.moments;
        let columns = moments.mean.len();
        let cells: f64 = moments.weight.iter().sum();
        let sparse = cells < SPARSE * moments.rows * columns as f64;
        let rows = chosen.unwrap_or(if sparse { usual } else { 0.0 });
        if !(rows > 0.0) {
            return None;
        }
        let known = || (0..columns).filter(|&d| moments.weight[d] > 0.0);
        let first = known().next().map_or(0.0, |d| moments.mean[d]);
        let all =
            known().map(|d| moments.weight[d] * (moments.mean[d] - first)).sum::<f64>() / cells;
        let within = known().map(|d| moments.weight[d] * moments.variance(d)).sum::<f64>() / cells;
        let within = if within > 0.0 { within } else { survey.reference[0] };
        let drawn = |d: usize, own: f64, all: f64| match moments.weight[d] {
            n if n > 0.0 && sparse => (n * own + OWN * all) / (n + OWN),
            n if n > 0.0 => own,
            _ => all,
        };
        let frame = &survey.frame;
        let mean = (0..columns)
            .map(|d| frame.inward(d, first + drawn(d, moments.mean[d] - first, all)))
            .collect();
        let variance = (0..columns)
            .map(|d| {
                let drawn = drawn(d, moments.variance(d), within);
                let square = if drawn > 0.0 { drawn } else { survey.reference[d] };
                square / frame.scale(d).powi(2)
            })
            .collect();
        Some(Self { rows, mean, variance })
    }

    /// Complains about a number of rows that makes no sense.
    pub fn check(rows: Option<f64>) -> Result<()> {
        match rows {
            Some(rows) if !(0.0..=1e9).contains(&rows) => {
                Err(Error::option("shrinkage", format!("{rows} is not from 0 to 1e9 rows")))
            }
            _ => Ok(()),
        }
    }

    /// Adds the rows to every slot's.
    pub fn add(&self, moments: &mut SlotMoments) {
        let columns = self.mean.len();
        let slots = moments
            .count
            .chunks_mut(columns)
            .zip(moments.first.chunks_mut(columns))
            .zip(moments.second.chunks_mut(columns));
        in_parallel(slots, |((count, first), second)| {
            for d in 0..columns {
                count[d] += self.rows;
                first[d] += self.rows * self.mean[d];
                second[d] += self.rows * self.square(d);
            }
        });
    }

    /// `E[x²]` of the rows in a column.
    pub fn square(&self, column: usize) -> f64 {
        self.mean[column] * self.mean[column] + self.variance[column]
    }

    /// The rows' error under a slot with this mean and variance in a column, in the data's units.
    pub fn error<T: Real>(&self, frame: &Frame<T>, column: usize, mean: f64, variance: f64) -> f64 {
        let apart = self.mean[column] - frame.inward(column, mean);
        let square = (apart * apart + self.variance[column]) * frame.scale(column).powi(2);
        0.5 * self.rows * (variance.ln() + square / variance)
    }
}
