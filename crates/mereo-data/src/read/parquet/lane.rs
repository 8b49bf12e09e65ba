//! One pass over some batches of a Parquet file.

use std::ops::Range;

use arrow_array::{Array, StringArray};
use mereo_core::{Batch, Block, Error, Lane, Result, batch_rows};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::ParquetFile;
use super::storage::Chunks;
use crate::arrow_columns::{Cell, Decoded, Selection};

/// Cells decoded in one go: enough to make the cost of each column's start small.
const DECODED_CELLS: usize = 1 << 20;

/// Rows that are laid out, one batch or many.
#[derive(Default)]
struct Slab<T> {
    rows: Range<usize>,
    values: Vec<T>,
    weights: Vec<f64>,
    labels: Vec<Option<u32>>,
}

/// One pass over some batches of a Parquet file.
pub(super) struct ParquetLane<'a, T: Cell> {
    file: &'a ParquetFile,
    chunks: Chunks,
    /// The reader of all columns, kept from batch to batch, if they can be open at once.
    reader: Option<Cutter<T>>,
    batch_rows: usize,
    slab_rows: usize,
    next_row: usize,
    end_row: usize,
    slab: Slab<T>,
}

impl<'a, T: Cell> ParquetLane<'a, T> {
    pub(super) fn new(file: &'a ParquetFile, batches: Range<usize>) -> Result<Self> {
        let batch_rows = batch_rows(file.layout.columns);
        let slab_rows = if file.selections.len() == 1 {
            batch_rows
        } else {
            let row_bytes = file.layout.columns * size_of::<T>();
            (file.slab_bytes / row_bytes / batch_rows).max(1) * batch_rows
        };
        let end_row = batches.end.saturating_mul(batch_rows).min(file.rows);
        let next_row = batches.start.saturating_mul(batch_rows).min(end_row);
        Ok(Self {
            file,
            chunks: file.origin.open()?,
            reader: None,
            batch_rows,
            slab_rows,
            next_row,
            end_row,
            slab: Slab { rows: next_row..next_row, ..Slab::default() },
        })
    }

    /// Lays out the next rows.
    fn refill(&mut self) -> Result<()> {
        let file = self.file;
        let rows = self.next_row..(self.next_row + self.slab_rows).min(self.end_row);
        self.slab.rows = rows.start..rows.start;
        self.slab.values.resize(rows.len() * file.layout.columns, T::ZERO);
        self.slab.weights.clear();
        self.slab.labels.clear();
        for selection in &file.selections {
            let kept = file.selections.len() == 1;
            let mut reader = if let Some(reader) = self.reader.take() {
                reader
            } else {
                let end = if kept { self.end_row } else { rows.end };
                Cutter::new(file, &self.chunks, selection, rows.start..end)?
            };
            reader.lay_out(file, selection, &mut self.slab, rows.len())?;
            if kept {
                self.reader = Some(reader);
            }
        }
        self.slab.rows = rows;
        Ok(())
    }
}

impl<T: Cell> Lane<T> for ParquetLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        if self.next_row >= self.end_row {
            return Ok(None);
        }
        if self.next_row >= self.slab.rows.end {
            self.refill()?;
        }
        let first_row = self.next_row;
        let start = first_row - self.slab.rows.start;
        let end = (start + self.batch_rows).min(self.slab.rows.len());
        self.next_row += end - start;
        let layout = &self.file.layout;
        let values = &self.slab.values[start * layout.columns..end * layout.columns];
        let complete = layout.check(values, first_row).map_err(|e| self.file.origin.named(e))?;
        Ok(Some(Batch {
            first_row,
            rows: end - start,
            columns: layout.columns,
            block: Block::Dense { values, complete },
            weights: layout.weight.map(|_| &self.slab.weights[start..end]),
            labels: layout.label.map(|_| &self.slab.labels[start..end]),
        }))
    }
}

/// Cuts the record batches that a reader yields at the rows that are asked for.
struct Cutter<T: Cell> {
    reader: ParquetRecordBatchReader,
    decoded: Option<Decoded<T>>,
    /// Rows of `decoded` that were laid out already.
    used: usize,
    /// The row of the file that comes next.
    row: usize,
}

impl<T: Cell> Cutter<T> {
    fn new(
        file: &ParquetFile,
        chunks: &Chunks,
        selection: &Selection,
        rows: Range<usize>,
    ) -> Result<Self> {
        let at_once =
            (DECODED_CELLS / file.layout.columns_of(selection).max(1)).clamp(256, 1 << 16);
        let row = rows.start;
        let reader = file.reader(chunks, &selection.fields, rows, at_once)?;
        Ok(Self { reader, decoded: None, used: 0, row })
    }

    /// Lays the next rows out in the slab, from its start.
    fn lay_out(
        &mut self,
        file: &ParquetFile,
        selection: &Selection,
        slab: &mut Slab<T>,
        rows: usize,
    ) -> Result<()> {
        let columns = file.layout.columns;
        let mut done = 0;
        while done < rows {
            let decoded = match self.decoded.take() {
                Some(decoded) => decoded,
                None => self.decode(file, selection)?,
            };
            let taken = self.used..decoded.rows.min(self.used + rows - done);
            let out = &mut slab.values[done * columns..(done + taken.len()) * columns];
            decoded.lay_out(taken.clone(), out, columns);
            if let Some(weights) = &decoded.weights {
                slab.weights.extend_from_slice(&weights[taken.clone()]);
            }
            if let Some(labels) = &decoded.labels {
                file.number_classes(labels, taken.clone(), self.row, &mut slab.labels)?;
            }
            done += taken.len();
            self.row += taken.len();
            self.used = taken.end;
            if self.used < decoded.rows {
                self.decoded = Some(decoded);
            }
        }
        Ok(())
    }

    fn decode(&mut self, file: &ParquetFile, selection: &Selection) -> Result<Decoded<T>> {
        self.used = 0;
        let batch = file.next(&mut self.reader)?.filter(|batch| batch.num_rows() > 0);
        let batch = batch.ok_or_else(|| {
            let found = format!("the end of the data after {} rows", self.row);
            Error::found(file.origin.place(), found, format!("{} rows", file.rows))
        })?;
        file.layout.decode(&batch, selection, self.row).map_err(|error| file.origin.named(error))
    }
}

impl ParquetFile {
    /// The numbers of the classes of some rows.
    fn number_classes(
        &self,
        texts: &StringArray,
        rows: Range<usize>,
        first_row: usize,
        out: &mut Vec<Option<u32>>,
    ) -> Result<()> {
        for (i, at) in rows.enumerate() {
            let name = (!texts.is_null(at)).then(|| texts.value(at));
            let class = name.map(|name| {
                self.class_of.get(name).copied().ok_or_else(|| {
                    let place = self.origin.place().row(first_row + i);
                    Error::found(place, format!("class `{name}`"), "a class seen when opening")
                })
            });
            out.push(class.transpose()?);
        }
        Ok(())
    }
}
