//! A source whose batches have been through the steps.

use std::ops::Range;

use mereo_core::{About, Absent, Batch, Block, Lane, Real, Result, Source};

use super::Steps;

pub(super) struct Stepped<'a, T> {
    steps: &'a Steps,
    inner: Box<dyn Source<T> + 'a>,
}

impl<'a, T: Real> Stepped<'a, T> {
    pub(super) fn new(steps: &'a Steps, inner: Box<dyn Source<T> + 'a>) -> Self {
        Self { steps, inner }
    }
}

impl<T: Real> Source<T> for Stepped<'_, T> {
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

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        Ok(Box::new(SteppedLane {
            steps: self.steps,
            names: self.inner.about().names.as_deref(),
            inner: self.inner.lane(batches)?,
            ready: Vec::new(),
        }))
    }

    fn about(&self) -> &About {
        self.inner.about()
    }

    fn absent(&self) -> Option<Absent> {
        self.inner.absent()
    }
}

struct SteppedLane<'a, T> {
    steps: &'a Steps,
    names: Option<&'a [String]>,
    inner: Box<dyn Lane<T> + 'a>,
    /// The cells of the batch that is lent out.
    ready: Vec<T>,
}

impl<T: Real> Lane<T> for SteppedLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        self.ready.clear();
        self.steps.transform(&batch, self.names, &mut self.ready)?;
        let block = match batch.block {
            Block::Dense { complete, .. } => Block::Dense { values: &self.ready, complete },
            Block::Sparse { starts, indices, absent, .. } => {
                Block::Sparse { starts, indices, values: &self.ready, absent }
            }
        };
        Ok(Some(Batch { block, ..batch }))
    }
}
