//! Anything that yields rows in batches, again and again in the same order.

use std::ops::Range;

use crate::{About, Absent, Cells, Real, Remote, Result, Table};

/// Cells aimed at in one batch: small enough for the caches, large enough for matrix products.
const BATCH_CELLS: usize = 1 << 17;
/// Most batches in a shard: merging their statistics must cost little beside looking at them.
const SHARD_BATCHES: usize = 4;
/// Shards that data should have before they grow.
const MANY_SHARDS: usize = 16;
/// Fewest shards that a sparse table is cut into, if it has the rows.
const SPARSE_SHARDS: usize = 4;

/// How many rows of a table this wide go into one batch. It depends on nothing else, so that
/// the same data is always cut at the same places.
///
/// ```
/// assert_eq!(mereo_core::batch_rows(361), 363);
/// ```
pub fn batch_rows(columns: usize) -> usize {
    (BATCH_CELLS / columns.max(1)).clamp(64, 1024)
}

/// How many batches of this size go into one shard: a few, unless they are large, or so few in all
/// that there would be no work for many.
pub(crate) fn shard_batches(batches: usize, batch_rows: usize, columns: usize) -> usize {
    let by_size = SHARD_BATCHES * BATCH_CELLS / (batch_rows * columns).max(1);
    by_size.min(batches.div_ceil(MANY_SHARDS)).clamp(1, SHARD_BATCHES)
}

/// How many rows of a sparse table with so many stored cells go into one batch.
pub(crate) fn sparse_batch_rows(rows: usize, stored: usize) -> usize {
    // A sparse row costs what it stores, not what it could hold. The more rows, the more
    // entries of a batch share a column; but all lanes should have something to do.
    let most = rows.div_ceil(8).max(256);
    let each = (8 * BATCH_CELLS / (stored / rows.max(1)).max(1)).clamp(64, 8192).min(most);
    // All batches alike, and as many in every shard, so that no thread waits for
    // another's larger ones.
    let batches = rows.div_ceil(each).next_multiple_of(SPARSE_SHARDS);
    let batches = batches.min(rows.div_ceil(64)).max(1);
    rows.div_ceil(batches).max(1)
}

/// How many batches of a sparse table go into one shard: their statistics are large beside what a
/// batch stores.
pub(crate) fn sparse_shard_batches(batches: usize) -> usize {
    batches.div_ceil(SPARSE_SHARDS).clamp(1, SHARD_BATCHES)
}

/// The cells of one batch.
#[derive(Debug, Clone, Copy)]
pub enum Block<'a, T> {
    /// Rows one after another, `NaN` where a cell is missing.
    Dense {
        /// The cells in row-major order.
        values: &'a [T],
        /// Whether it is known that no cell is missing.
        complete: bool,
    },
    /// Stored entries only.
    Sparse {
        /// Where each row's entries start; one more than there are rows. Counted from the
        /// start of the whole table: subtract the first.
        starts: &'a [usize],
        /// Column of each entry.
        indices: &'a [u32],
        /// Value of each entry.
        values: &'a [T],
        /// What a cell that is not stored means.
        absent: Absent,
    },
}

/// Consecutive rows, lent out for one look.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a, T> {
    /// The number of its first row in the source.
    pub first_row: usize,
    /// How many rows it has.
    pub rows: usize,
    /// How many columns they have.
    pub columns: usize,
    /// The cells.
    pub block: Block<'a, T>,
    /// How often each row counts, if not once.
    pub weights: Option<&'a [f64]>,
    /// The class of each row, where known.
    pub labels: Option<&'a [Option<u32>]>,
}

impl<'a, T: Real> Batch<'a, T> {
    /// Some of its rows, as a batch of their own.
    ///
    /// ```
    /// use mereo_core::{Absent, Sparse, Source, Table};
    /// let cells = Sparse::new(2, vec![0, 1, 1, 3], vec![1, 0, 1], vec![5.0, 6.0, 7.0], Absent::Unobserved)?;
    /// let table = Table::from(cells);
    /// let mut lane = table.lane(0..1)?;
    /// let batch = lane.next_batch()?.expect("three rows are a batch");
    /// let last = batch.slice(2..3);
    /// assert_eq!((last.first_row, last.rows, last.stored(0)), (2, 1, 2));
    /// last.for_each_observed(0, |column, value| assert_eq!(value, 6.0 + column as f64));
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> Batch<'a, T> {
        let block = match self.block {
            Block::Dense { values, complete } => {
                let values = &values[rows.start * self.columns..rows.end * self.columns];
                Block::Dense { values, complete }
            }
            Block::Sparse { starts, indices, values, absent } => {
                let of = starts[rows.start] - starts[0]..starts[rows.end] - starts[0];
                let (indices, values) = (&indices[of.clone()], &values[of]);
                Block::Sparse { starts: &starts[rows.start..=rows.end], indices, values, absent }
            }
        };
        Batch {
            first_row: self.first_row + rows.start,
            rows: rows.len(),
            columns: self.columns,
            block,
            weights: self.weights.map(|w| &w[rows.clone()]),
            labels: self.labels.map(|l| &l[rows]),
        }
    }

    /// How often a row of this batch counts.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[row])
    }

    /// How many cells of a row are stored.
    pub fn stored(&self, row: usize) -> usize {
        match self.block {
            Block::Dense { .. } => self.columns,
            Block::Sparse { starts, .. } => starts[row + 1] - starts[row],
        }
    }

    /// Calls `visit(column, value)` for every observed cell of a row, zeros of a count table
    /// included.
    pub fn for_each_observed(&self, row: usize, mut visit: impl FnMut(usize, T)) {
        match self.block {
            Block::Dense { values, .. } => {
                for (column, &value) in
                    values[row * self.columns..(row + 1) * self.columns].iter().enumerate()
                {
                    if !value.is_missing() {
                        visit(column, value);
                    }
                }
            }
            Block::Sparse { starts, indices, values, absent } => {
                let range = starts[row] - starts[0]..starts[row + 1] - starts[0];
                let mut entries = indices[range.clone()].iter().zip(&values[range]);
                match absent {
                    Absent::Unobserved => {
                        entries.for_each(|(&column, &value)| visit(column as usize, value));
                    }
                    Absent::Zero => {
                        let mut next = entries.next();
                        for column in 0..self.columns {
                            match next {
                                Some((&stored, &value)) if stored as usize == column => {
                                    visit(column, value);
                                    next = entries.next();
                                }
                                _ => visit(column, T::ZERO),
                            }
                        }
                    }
                }
            }
        }
    }

    /// The same batch in double precision; `values` is where its cells are put.
    pub fn widen<'b>(&'b self, values: &'b mut Vec<f64>) -> Batch<'b, f64> {
        values.clear();
        let block = match self.block {
            Block::Dense { values: cells, complete } => {
                values.extend(cells.iter().map(|v| v.to_f64()));
                Block::Dense { values, complete }
            }
            Block::Sparse { starts, indices, values: cells, absent } => {
                values.extend(cells.iter().map(|v| v.to_f64()));
                Block::Sparse { starts, indices, values, absent }
            }
        };
        let Batch { first_row, rows, columns, weights, labels, .. } = *self;
        Batch { first_row, rows, columns, block, weights, labels }
    }

    /// Writes a row out in full, with `NaN` where a cell is missing.
    pub fn dense_row(&self, row: usize, out: &mut [T]) {
        out.fill(T::MISSING);
        self.for_each_observed(row, |column, value| out[column] = value);
    }
}

/// One pass, in order, over some of the batches of a source.
pub trait Lane<T: Real> {
    /// The next batch, or nothing when the lane is done.
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>>;
}

/// Anything that yields batches again and again in the same order: a [`Table`], a file that is
/// streamed, a shard. Where it is cut into batches may depend on the data, never on threads.
pub trait Source<T: Real>: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// Rows in every batch but the last.
    fn batch_rows(&self) -> usize {
        batch_rows(self.columns())
    }

    /// Number of batches.
    fn batches(&self) -> usize {
        self.rows().div_ceil(self.batch_rows())
    }

    /// Batches in every shard but the last. Shards are what statistics are added up by, so this may
    /// depend on the data alone.
    fn shard_batches(&self) -> usize {
        shard_batches(self.batches(), self.batch_rows(), self.columns())
    }

    /// Number of shards.
    fn shards(&self) -> usize {
        self.batches().div_ceil(self.shard_batches().max(1))
    }

    /// Opens a pass over this range of batches.
    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>>;

    /// What is known beside the numbers. A streamed source may know only the columns' names.
    fn about(&self) -> &About;

    /// What a cell that is not stored means, if the source is sparse.
    fn absent(&self) -> Option<Absent>;

    /// Rows that are elsewhere are asked through this, and have no lanes here.
    fn remote(&self) -> Option<&dyn Remote> {
        None
    }
}

struct TableLane<'a, T> {
    table: &'a Table<T>,
    batch_rows: usize,
    next_row: usize,
    end_row: usize,
}

impl<T: Real> Lane<T> for TableLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        if self.next_row >= self.end_row {
            return Ok(None);
        }
        let first_row = self.next_row;
        let end = (first_row + self.batch_rows).min(self.end_row);
        self.next_row = end;
        let columns = self.table.columns();
        let block = match self.table.cells() {
            Cells::Dense(cells) => Block::Dense {
                values: &cells.values()[first_row * columns..end * columns],
                complete: cells.is_complete(),
            },
            Cells::Sparse(cells) => {
                let starts = &cells.starts()[first_row..=end];
                let range = starts[0]..starts[end - first_row];
                Block::Sparse {
                    starts,
                    indices: &cells.indices()[range.clone()],
                    values: &cells.values()[range],
                    absent: cells.absent(),
                }
            }
        };
        let about = self.table.about();
        Ok(Some(Batch {
            first_row,
            rows: end - first_row,
            columns,
            block,
            weights: about.weights.as_ref().map(|w| &w[first_row..end]),
            labels: about.labels.as_ref().map(|l| &l.of_row[first_row..end]),
        }))
    }
}

impl<T: Real> Source<T> for Table<T> {
    fn rows(&self) -> usize {
        Table::rows(self)
    }

    fn columns(&self) -> usize {
        Table::columns(self)
    }

    fn batch_rows(&self) -> usize {
        match self.cells() {
            Cells::Dense(_) => batch_rows(Table::columns(self)),
            Cells::Sparse(cells) => sparse_batch_rows(cells.rows(), cells.values().len()),
        }
    }

    fn shard_batches(&self) -> usize {
        match self.cells() {
            Cells::Dense(_) => {
                shard_batches(self.batches(), self.batch_rows(), Table::columns(self))
            }
            Cells::Sparse(_) => sparse_shard_batches(self.batches()),
        }
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        let batch_rows = self.batch_rows();
        Ok(Box::new(TableLane {
            table: self,
            batch_rows,
            next_row: batches.start.saturating_mul(batch_rows),
            end_row: batches.end.saturating_mul(batch_rows).min(Table::rows(self)),
        }))
    }

    fn about(&self) -> &About {
        Table::about(self)
    }

    fn absent(&self) -> Option<Absent> {
        match self.cells() {
            Cells::Dense(_) => None,
            Cells::Sparse(cells) => Some(cells.absent()),
        }
    }
}
