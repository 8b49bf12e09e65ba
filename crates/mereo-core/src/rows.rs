//! A few rows of a source, in memory.

use rand::RngExt;

use serde::{Deserialize, Serialize};

use crate::{
    Absent, Batch, Context, Dense, Real, Result, RowTask, Source, Sparse, Statistics, Table, gather,
};

/// A row with the key it was chosen by.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
struct Row<T> {
    key: f64,
    number: usize,
    weight: f64,
    cells: Vec<(u32, T)>,
}

/// The rows with the smallest keys so far.
#[derive(Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct Chosen<T> {
    most: usize,
    rows: Vec<Row<T>>,
}

impl<T: Real> Chosen<T> {
    fn offer(&mut self, key: f64, number: usize, row: impl FnOnce() -> Row<T>) {
        let place =
            self.rows.partition_point(|r| r.key < key || (r.key == key && r.number < number));
        if place < self.most {
            self.rows.insert(place, row());
            self.rows.truncate(self.most);
        }
    }
}

impl<T: Real> Statistics for Chosen<T> {
    fn merge(&mut self, other: &Self) {
        for row in &other.rows {
            self.offer(row.key, row.number, || row.clone());
        }
    }

    fn reset(&mut self) {
        self.rows.clear();
    }
}

/// Asks rows for a sample of them.
#[derive(Serialize, Deserialize)]
pub(crate) struct SampleTask {
    most: usize,
    all: bool,
    /// Rows with larger keys are not looked at: they are hardly ever among the smallest.
    below: f64,
    absent: Option<Absent>,
    purpose: String,
    seed: u64,
}

impl<T: Real> RowTask<T> for SampleTask {
    const NAME: &'static str = "sample";
    type Statistics = Chosen<T>;

    fn statistics(&self) -> Chosen<T> {
        Chosen { most: self.most, rows: Vec::new() }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, chosen: &mut Chosen<T>) {
        let context = Context::new(self.seed);
        for row in 0..batch.rows {
            let (number, weight) = (batch.first_row + row, batch.weight(row));
            if weight == 0.0 {
                continue;
            }
            // Efraimidis and Spirakis: the smallest of exponential keys with rates = weights.
            let key = if self.all {
                0.0
            } else {
                let uniform: f64 =
                    context.random(&self.purpose, [number as u64, u64::MAX]).random();
                -(1.0 - uniform).ln() / weight
            };
            if key > self.below {
                continue;
            }
            chosen.offer(key, number, || {
                let cells = stored_cells(batch, row, self.absent);
                Row { key, number, weight: if self.all { weight } else { 1.0 }, cells }
            });
        }
    }
}

/// At most this many rows of a source, in memory and in the source's order: all of them if they
/// are that few (with their weights, rows of weight 0 left out), otherwise a random sample without
/// replacement, rows being chosen in proportion to their weights (each then counts once). Which
/// rows these are depends on the seed and the purpose alone.
///
/// ```
/// use mereo_core::{Context, Dense, Table, sample_rows};
/// let table = Table::from(Dense::new(100, 1, (0..100).map(f64::from).collect())?);
/// assert_eq!(sample_rows(&table, 10, "example", &Context::new(1))?.rows(), 10);
/// assert_eq!(sample_rows(&table, 1000, "example", &Context::new(1))?.rows(), 100);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn sample_rows<T: Real>(
    source: &dyn Source<T>,
    most: usize,
    purpose: &str,
    context: &Context,
) -> Result<Table<T>> {
    let absent = source.absent();
    let mut task = SampleTask {
        most,
        all: source.rows() <= most,
        below: likely_key(most, source.rows()),
        absent,
        purpose: purpose.to_owned(),
        seed: context.seed(),
    };
    let mut chosen = gather(source, context, &task)?;
    if chosen.rows.len() < most && task.below < f64::INFINITY {
        // Rows of little weight have larger keys than was thought.
        task.below = f64::INFINITY;
        chosen = gather(source, context, &task)?;
    }
    chosen.rows.sort_by_key(|r| r.number);
    let columns = source.columns();
    let table = match absent {
        None => {
            let mut values = vec![T::MISSING; chosen.rows.len() * columns];
            for (row, out) in chosen.rows.iter().zip(values.chunks_mut(columns.max(1))) {
                for &(column, value) in &row.cells {
                    out[column as usize] = value;
                }
            }
            Table::from(Dense::new(chosen.rows.len(), columns, values)?)
        }
        Some(absent) => {
            let mut starts = vec![0];
            let (mut indices, mut values) = (Vec::new(), Vec::new());
            for row in &chosen.rows {
                for &(column, value) in &row.cells {
                    indices.push(column);
                    values.push(value);
                }
                starts.push(values.len());
            }
            Table::from(Sparse::new(columns, starts, indices, values, absent)?)
        }
    };
    let table = match &source.about().kinds {
        Some(kinds) => table.with_kinds(kinds.clone())?,
        None => table,
    };
    if chosen.rows.iter().all(|row| row.weight == 1.0) {
        return Ok(table);
    }
    table.with_weights(chosen.rows.iter().map(|row| row.weight).collect())
}

/// A key that, if rows count once, `most` of them are below but for one time in a billion: the
/// number below `t` is binomial with a mean of at least `0.9 rows t` here.
fn likely_key(most: usize, rows: usize) -> f64 {
    let wanted = most as f64 + 6.0 * (most as f64).sqrt() + 20.0;
    let key = wanted / (0.9 * rows.max(1) as f64);
    if key < 0.2 { key } else { f64::INFINITY }
}

fn stored_cells<T: Real>(
    batch: &Batch<'_, T>,
    row: usize,
    absent: Option<Absent>,
) -> Vec<(u32, T)> {
    let mut cells = Vec::new();
    batch.for_each_observed(row, |column, value| {
        if absent != Some(Absent::Zero) || value != T::ZERO {
            cells.push((column as u32, value));
        }
    });
    cells
}
