//! What belongs to each of a number of means.

use serde::{Deserialize, Serialize};

use super::densities::{Densities, RowCells, first_smallest};
use crate::{Batch, Context, Real, Result, RowTask, Source, Statistics, gather};

/// The rows nearest to each of J means: how many they are, and their moments about that mean.
///
/// ```
/// use mereo_core::{Context, Dense, Table, slots::Clusters};
/// let table = Table::from(Dense::new(3, 1, vec![0.0, 1.0, 9.0])?);
/// let clusters = Clusters::about(&table, &[0.5, 9.0], &[1.0], &Context::new(0))?;
/// assert_eq!(clusters.total, [2.0, 1.0]);
/// assert_eq!(clusters.variance(0), Some(0.25));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Clusters {
    /// Weight of the rows of each cluster, `[J]`.
    pub total: Vec<f64>,
    /// Weight of those that observe each column, `[J, D]`.
    pub count: Vec<f64>,
    /// Sum of their distances from the mean, `[J, D]`.
    first: Vec<f64>,
    /// Sum of their squared distances from the mean, `[J, D]`.
    pub squares: Vec<f64>,
    #[serde(skip)]
    cells: RowCells,
    #[serde(skip)]
    distance: Vec<f64>,
}

/// Asks rows which mean they are nearest to, and for their moments about it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ClustersTask {
    columns: usize,
    mean: Vec<f64>,
    slots: Densities,
}

impl ClustersTask {
    fn new(mean: &[f64], unit: &[f64]) -> Self {
        let columns = unit.len();
        let units: Vec<f64> = (0..mean.len()).map(|i| unit[i % columns]).collect();
        Self { columns, mean: mean.to_vec(), slots: Densities::new(columns, mean, &units) }
    }
}

impl<T: Real> RowTask<T> for ClustersTask {
    const NAME: &'static str = "clusters";
    type Statistics = Clusters;

    fn statistics(&self) -> Clusters {
        let states = self.mean.len() / self.columns.max(1);
        let zeros = vec![0.0; self.mean.len()];
        Clusters {
            total: vec![0.0; states],
            count: zeros.clone(),
            first: zeros.clone(),
            squares: zeros,
            cells: RowCells::default(),
            distance: vec![0.0; states],
        }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, clusters: &mut Clusters) {
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            if weight > 0.0 {
                clusters.cells.take(batch, row);
                self.slots.squares(&clusters.cells, &mut clusters.distance);
                clusters.add(&self.mean, self.columns, weight);
            }
        }
    }
}

impl Clusters {
    /// Looks at every row of a source once. Distances are over observed cells, in these squared
    /// units for each column; a row between two means belongs to the first.
    pub fn about<T: Real>(
        source: &dyn Source<T>,
        mean: &[f64],
        unit: &[f64],
        context: &Context,
    ) -> Result<Self> {
        gather(source, context, &ClustersTask::new(mean, unit))
    }

    /// The mean that each row of a table is nearest to, as [`about`](Self::about) takes it.
    ///
    /// ```
    /// use mereo_core::{Dense, Table, slots::Clusters};
    /// let table = Table::from(Dense::new(3, 1, vec![0.0, 9.0, 1.0])?);
    /// assert_eq!(Clusters::nearest(&table, &[0.5, 9.0], &[1.0])?, [0, 1, 0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn nearest<T: Real>(
        source: &dyn Source<T>,
        mean: &[f64],
        unit: &[f64],
    ) -> Result<Vec<usize>> {
        let ClustersTask { columns, slots, .. } = ClustersTask::new(mean, unit);
        let (mut cells, mut out) = (RowCells::default(), Vec::with_capacity(source.rows()));
        let mut distance = vec![0.0; mean.len() / columns.max(1)];
        let mut lane = source.lane(0..source.batches())?;
        while let Some(batch) = lane.next_batch()? {
            for row in 0..batch.rows {
                cells.take(&batch, row);
                slots.squares(&cells, &mut distance);
                out.push(first_smallest(&distance));
            }
        }
        Ok(out)
    }

    /// Adds the row whose cells and distances are at hand.
    fn add(&mut self, mean: &[f64], columns: usize, weight: f64) {
        let state = first_smallest(&self.distance);
        self.total[state] += weight;
        for (d, x) in self.cells.iter() {
            let i = state * columns + d;
            let apart = x - mean[i];
            self.count[i] += weight;
            self.first[i] += weight * apart;
            self.squares[i] += weight * apart * apart;
        }
    }

    /// The variance of a cluster in a column, by their place in `[J, D]`; none if no row of the
    /// cluster observes the column.
    pub fn variance(&self, place: usize) -> Option<f64> {
        let count = self.count[place];
        (count > 0.0).then(|| {
            let off = self.first[place] / count;
            (self.squares[place] / count - off * off).max(0.0)
        })
    }
}

impl Statistics for Clusters {
    fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.total, &other.total),
            (&mut self.count, &other.count),
            (&mut self.first, &other.first),
            (&mut self.squares, &other.squares),
        ];
        for (sums, more) in pairs {
            for (a, b) in sums.iter_mut().zip(more) {
                *a += b;
            }
        }
    }

    fn reset(&mut self) {
        for sums in [&mut self.total, &mut self.count, &mut self.first, &mut self.squares] {
            sums.fill(0.0);
        }
    }
}
