//! Tables with columns of words, for models that take numbers only: the other columns.

use std::ops::Range;

use mereo_core::{About, Absent, Batch, Block, Lane, Real, Result, Source, column_name};

/// The columns that a model of numbers can learn from, and the names of those that are left out.
pub(crate) fn without_words(about: &About, columns: usize) -> (Vec<usize>, Vec<String>) {
    let (keep, left): (Vec<usize>, Vec<usize>) =
        (0..columns).partition(|&d| about.kind(d).levels().is_empty());
    (keep, left.into_iter().map(|d| column_name(about.names.as_deref(), d)).collect())
}

/// Some columns of a dense source.
pub(crate) struct Selected<'a, T> {
    inner: Box<dyn Source<T> + 'a>,
    columns: Vec<usize>,
    about: About,
}

impl<'a, T: Real> Selected<'a, T> {
    pub(crate) fn new(inner: Box<dyn Source<T> + 'a>, columns: Vec<usize>) -> Self {
        let own = inner.about();
        let names = columns.iter().map(|&d| column_name(own.names.as_deref(), d));
        let about = About {
            names: own.names.is_some().then(|| names.collect()),
            kinds: own.kinds.as_ref().map(|k| columns.iter().map(|&d| k[d].clone()).collect()),
            picture: None,
            ..own.clone()
        };
        Self { inner, columns, about }
    }
}

impl<T: Real> Source<T> for Selected<'_, T> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.columns.len()
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

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        let inner = self.inner.lane(batches)?;
        Ok(Box::new(SelectedLane { inner, columns: &self.columns, values: Vec::new() }))
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn absent(&self) -> Option<Absent> {
        self.inner.absent()
    }
}

struct SelectedLane<'a, T> {
    inner: Box<dyn Lane<T> + 'a>,
    columns: &'a [usize],
    values: Vec<T>,
}

impl<T: Real> Lane<T> for SelectedLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        let mut row_values = vec![T::MISSING; batch.columns];
        self.values.clear();
        for row in 0..batch.rows {
            batch.dense_row(row, &mut row_values);
            self.values.extend(self.columns.iter().map(|&d| row_values[d]));
        }
        let complete = !self.values.iter().any(|x| x.is_missing());
        let block = Block::Dense { values: &self.values, complete };
        Ok(Some(Batch { columns: self.columns.len(), block, ..batch }))
    }
}
