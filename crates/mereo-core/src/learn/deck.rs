//! Rows held in memory to be dealt into mini-batches.
//!
//! Steps along the gradient want rows in another order at every pass. A table of moderate size is held as
//! a whole; of a larger source one *window* at a time, a run of its batches, is held and shuffled, and
//! windows come in another order at every pass too. Where windows are cut depends on the data alone.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{RowTask, gather};
use crate::{Batch, Block, Context, Real, Result, Source, Statistics};

/// Most cells that are held: 256 MB in single precision.
const WINDOW_CELLS: usize = 1 << 26;

/// Asks for the rows themselves, all of them: for sources whose rows are elsewhere.
#[derive(Debug, Serialize, Deserialize)]
pub struct RowsTask {
    columns: usize,
}

/// Rows as they came, with weights and labels.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub struct Deck<T> {
    pub(super) columns: usize,
    pub(super) values: Vec<T>,
    pub(super) weights: Vec<f64>,
    pub(super) labels: Vec<Option<u32>>,
}

impl<T: Real> Deck<T> {
    fn new(columns: usize) -> Self {
        Self { columns, values: Vec::new(), weights: Vec::new(), labels: Vec::new() }
    }

    pub(super) fn rows(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    fn add(&mut self, batch: &Batch<'_, T>) {
        match batch.block {
            Block::Dense { values, .. } => self.values.extend_from_slice(values),
            Block::Sparse { .. } => {
                let start = self.values.len();
                self.values.resize(start + batch.rows * batch.columns, T::MISSING);
                let rows = self.values[start..].chunks_exact_mut(batch.columns.max(1));
                rows.enumerate().for_each(|(row, out)| batch.dense_row(row, out));
            }
        }
        self.weights.extend((0..batch.rows).map(|row| batch.weight(row)));
        self.labels.extend((0..batch.rows).map(|row| batch.labels.and_then(|l| l[row])));
    }
}

impl<T: Real> Statistics for Deck<T> {
    fn merge(&mut self, other: &Self) {
        self.values.extend_from_slice(&other.values);
        self.weights.extend_from_slice(&other.weights);
        self.labels.extend_from_slice(&other.labels);
    }

    fn reset(&mut self) {
        self.values.clear();
        self.weights.clear();
        self.labels.clear();
    }
}

impl<T: Real> RowTask<T> for RowsTask {
    const NAME: &'static str = "rows";
    type Statistics = Deck<T>;

    fn statistics(&self) -> Deck<T> {
        Deck::new(self.columns)
    }

    fn accumulate(&self, batch: &Batch<'_, T>, deck: &mut Deck<T>) {
        deck.add(batch);
    }
}

/// The windows of a source, one of them held.
pub(super) struct Windows<'a, T: Real> {
    source: &'a dyn Source<T>,
    /// Batches of each window.
    cuts: Vec<Range<usize>>,
    held: Option<(usize, Deck<T>)>,
}

impl<'a, T: Real> Windows<'a, T> {
    pub(super) fn new(source: &'a dyn Source<T>) -> Self {
        Self::of(source, WINDOW_CELLS)
    }

    pub(super) fn of(source: &'a dyn Source<T>, most_cells: usize) -> Self {
        let (batches, columns) = (source.batches(), source.columns().max(1));
        let cells = source.rows().saturating_mul(columns);
        let each = if cells <= most_cells || source.remote().is_some() {
            batches.max(1)
        } else {
            (most_cells / source.batch_rows().saturating_mul(columns).max(1)).max(1)
        };
        let cuts = (0..batches.div_ceil(each)).map(|i| i * each..((i + 1) * each).min(batches));
        Self { source, cuts: cuts.collect(), held: None }
    }

    pub(super) fn count(&self) -> usize {
        self.cuts.len()
    }

    /// The rows of a window, and the number of the first.
    pub(super) fn hold(&mut self, window: usize, context: &Context) -> Result<(usize, &Deck<T>)> {
        let cut = self.cuts[window].clone();
        let first_row = cut.start * self.source.batch_rows();
        if self.held.as_ref().is_none_or(|(held, _)| *held != window) {
            let columns = self.source.columns();
            let deck = if self.source.remote().is_some() {
                gather(self.source, context, &RowsTask { columns })?
            } else {
                let mut deck =
                    self.held.take().map_or_else(|| Deck::new(columns), |(_, deck)| deck);
                deck.reset();
                let mut lane = self.source.lane(cut)?;
                while let Some(batch) = lane.next_batch()? {
                    deck.add(&batch);
                }
                deck
            };
            self.held = Some((window, deck));
        }
        match &self.held {
            Some((_, deck)) => Ok((first_row, deck)),
            None => Err(crate::Error::Interrupted),
        }
    }
}
