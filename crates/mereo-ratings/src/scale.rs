//! The units in which ratings are measured while learning.

use mereo_core::slots::ColumnMoments;
use serde::{Deserialize, Serialize};

/// How many ratings of the mean item a column's own mean is taken together with.
const MEAN_ROWS: f64 = 5.0;

/// Cells about their column's mean, in units of one deviation for all columns: ratings share a scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scale {
    /// `[D]`: the mean of each column; of all cells where it has none.
    pub(crate) centre: Vec<f64>,
    /// The deviation of a cell from the mean of all.
    pub(crate) unit: f64,
    /// `[D]`: where the mean of all cells is in each column's units.
    pub(crate) overall: Vec<f64>,
    /// `[D]`: the column's mean drawn towards that of all cells, in units.
    pub(crate) drawn: Vec<f64>,
    /// `[D]`: the weight of the rows that observe each column.
    pub(crate) observed: Vec<f64>,
    /// `Σ_d n_d log unit`: what densities in units are above those of the data, all cells together.
    pub(crate) log_scale: f64,
}

impl Scale {
    pub(crate) fn of(moments: &ColumnMoments) -> Self {
        let cells: f64 = moments.weight.iter().sum();
        let known = || moments.weight.iter().zip(&moments.mean).filter(|(n, _)| **n > 0.0);
        // About one of the means, so that offsets cost no precision.
        let first = known().next().map_or(0.0, |(_, m)| *m);
        let mean = first + known().map(|(n, m)| n * (m - first)).sum::<f64>() / cells;
        let between: f64 = known().map(|(n, m)| n * (m - mean).powi(2)).sum();
        let within: f64 =
            (0..moments.weight.len()).map(|d| moments.weight[d] * moments.variance(d)).sum();
        let variance = (within + between) / cells;
        let unit = if variance.sqrt() > 1e-150 { variance.sqrt() } else { 1.0 };
        let own = |(n, m): (&f64, &f64)| if *n > 0.0 { *m } else { mean };
        let centre: Vec<f64> = moments.weight.iter().zip(&moments.mean).map(own).collect();
        let overall: Vec<f64> = centre.iter().map(|c| (mean - c) / unit).collect();
        let drawn = overall.iter().zip(&moments.weight);
        let drawn = drawn.map(|(o, n)| o * MEAN_ROWS / (n + MEAN_ROWS)).collect();
        let log_scale = cells * unit.ln();
        let observed = moments.weight.clone();
        Self { centre, unit, overall, drawn, observed, log_scale }
    }

    pub(crate) fn columns(&self) -> usize {
        self.centre.len()
    }

    /// A cell in units.
    pub(crate) fn inward(&self, column: usize, x: f64) -> f64 {
        ((x - self.centre[column]) / self.unit).clamp(-1e100, 1e100)
    }

    /// Back in the data's.
    pub(crate) fn outward(&self, column: usize, y: f64) -> f64 {
        self.centre[column] + self.unit * y
    }
}
