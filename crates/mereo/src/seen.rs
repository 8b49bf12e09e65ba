//! Which columns any row has a value in, noticed while rows are read for something else.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mereo_core::{About, Absent, Batch, Lane, Real, Remote, Result, Source};

/// A source that notices which columns were observed in the rows that count.
pub(crate) struct Seen<'a, T> {
    inner: Box<dyn Source<T> + 'a>,
    columns: Vec<AtomicBool>,
    /// Batches that were looked through.
    batches: Vec<AtomicBool>,
}

impl<'a, T: Real> Seen<'a, T> {
    pub(crate) fn new(inner: Box<dyn Source<T> + 'a>) -> Self {
        let unseen = |count: usize| (0..count).map(|_| AtomicBool::new(false)).collect();
        // Rows that are elsewhere are not seen here.
        let batches = if inner.remote().is_some() { 0 } else { inner.batches() };
        Self { columns: unseen(inner.columns()), batches: unseen(batches), inner }
    }

    /// The columns in which nobody has a value; nothing if not all rows were read.
    pub(crate) fn unobserved(&self) -> Vec<usize> {
        if self.batches.is_empty() || !self.batches.iter().all(|batch| batch.load(Relaxed)) {
            return Vec::new();
        }
        (0..self.columns.len()).filter(|&d| !self.columns[d].load(Relaxed)).collect()
    }

    fn look(&self, number: usize, batch: &Batch<'_, T>) {
        if self.batches.get(number).is_none_or(|done| done.load(Relaxed)) {
            return;
        }
        // Most often the first row has everything, and the others need no look.
        let mut left = self.columns.iter().filter(|column| !column.load(Relaxed)).count();
        for row in (0..batch.rows).filter(|&row| batch.weight(row) > 0.0) {
            if left == 0 {
                break;
            }
            batch.for_each_observed(row, |d, _| {
                left -= usize::from(!self.columns[d].swap(true, Relaxed)).min(left);
            });
        }
        self.batches[number].store(true, Relaxed);
    }
}

impl<T: Real> Source<T> for Seen<'_, T> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.inner.columns()
    }

    fn batch_rows(&self) -> usize {
        self.inner.batch_rows()
    }

    fn batches(&self) -> usize {
        self.inner.batches()
    }

    fn shard_batches(&self) -> usize {
        self.inner.shard_batches()
    }

    fn shards(&self) -> usize {
        self.inner.shards()
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        let next = batches.start;
        Ok(Box::new(SeenLane { source: self, inner: self.inner.lane(batches)?, next }))
    }

    fn about(&self) -> &About {
        self.inner.about()
    }

    fn absent(&self) -> Option<Absent> {
        self.inner.absent()
    }

    fn remote(&self) -> Option<&dyn Remote> {
        self.inner.remote()
    }
}

struct SeenLane<'a, T: Real> {
    source: &'a Seen<'a, T>,
    inner: Box<dyn Lane<T> + 'a>,
    next: usize,
}

impl<T: Real> Lane<T> for SeenLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let batch = self.inner.next_batch()?;
        if let Some(batch) = &batch {
            self.source.look(self.next, batch);
            self.next += 1;
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::Seen;
    use mereo_core::{Context, Dense, Fingerprint, Table};

    #[test]
    fn a_column_that_only_rows_of_no_weight_have_is_unobserved() {
        let cells = vec![1.0, f64::NAN, 2.0, f64::NAN, 5.0, 3.0];
        let table = Table::from(Dense::new(2, 3, cells).unwrap());
        let unobserved = |table: Table<f64>| {
            let seen = Seen::new(Box::new(table));
            assert!(seen.unobserved().is_empty(), "nothing was read so far");
            Fingerprint::of(&seen, &Context::new(0)).unwrap();
            seen.unobserved()
        };
        assert!(unobserved(table.clone()).is_empty());
        assert_eq!(unobserved(table.clone().with_weights(vec![1.0, 0.0]).unwrap()), [1]);
        assert_eq!(unobserved(table.with_weights(vec![0.0, 1.0]).unwrap()), [0]);
    }
}
