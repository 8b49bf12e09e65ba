//! Parquet files, read whole or streamed.
//!
//! A Parquet file holds column after column, a model wants row after row. Going over the file
//! in the order of rows means to have one page of every column open at once, which for wide
//! tables and large pages would not fit in memory; how many columns are open together is
//! therefore decided by what their pages claim (see [`ParquetFile::selections`]).

mod lane;
mod storage;
#[cfg(test)]
mod tests;
mod thrift;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

use arrow_array::RecordBatch;
use bytes::Bytes;
use mereo_core::{
    About, Absent, AnyTable, Block, Dense, Error, Labels, Lane, Place, Result, Source, Table,
};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::Length;

use self::lane::ParquetLane;
use self::storage::{Chunks, Origin};
use super::mixed::{self, Told};
use crate::arrow_columns::{Cell, Layout, Selection, contain, texts};
use crate::{AnySource, ReadOptions};

pub(super) use self::storage::Stamp;

/// Bytes of open pages that one lane may hold when it goes over all columns at once.
const OPEN_BYTES: u64 = 256 << 20;
/// Bytes of open pages when it goes over some columns at a time.
const GROUP_BYTES: u64 = 64 << 20;
/// Bytes of rows gathered when it goes over some columns at a time.
const SLAB_BYTES: usize = 192 << 20;
/// Different classes that a column of labels may have.
const MOST_CLASSES: usize = 1 << 20;

/// Reads a whole Parquet file into memory.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<(AnyTable, Told)> {
    read_from(Origin::File(Stamp::of(path)?), options)
}

/// Reads a Parquet file that is in memory already.
pub(crate) fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<(AnyTable, Told)> {
    read_from(Origin::Memory(Bytes::copy_from_slice(bytes)), options)
}

fn read_from(origin: Origin, options: &ReadOptions) -> Result<(AnyTable, Told)> {
    match read_mixed(&origin, options)? {
        Some((table, told)) => Ok((table.into(), told)),
        None => Ok((ParquetFile::open(origin, options)?.read()?, Told::default())),
    }
}

/// A table whose columns hold words, truth values or moments; nothing if they hold numbers.
fn read_mixed(origin: &Origin, options: &ReadOptions) -> Result<Option<(Table<f64>, Told)>> {
    let chunks = origin.open()?;
    let metadata = contain(&origin.place(), "a Parquet file", || {
        let metadata = chunks.metadata()?;
        check_metadata(&metadata, chunks.len())?;
        ArrowReaderMetadata::try_new(metadata.into(), ArrowReaderOptions::new())
    })?;
    let schema = metadata.schema().clone();
    if !mixed::arrow::is_mixed(&schema, options) {
        return Ok(None);
    }
    let groups = metadata.metadata().row_groups();
    let rows: usize = groups.iter().map(|group| group.num_rows() as usize).sum();
    let named = |error: Error| origin.named(error);
    room::<f64>(rows, schema.fields().len(), chunks.len()).map_err(named)?;
    let batches = contain(&origin.place(), "a Parquet file that is whole", || {
        ParquetRecordBatchReaderBuilder::new_with_metadata(chunks.clone(), metadata.clone())
            .with_batch_size(1 << 14)
            .build()?
            .collect::<std::result::Result<Vec<RecordBatch>, _>>()
            .map_err(ParquetError::from)
    })?;
    let table = contain(&origin.place(), "a Parquet file that is whole", || {
        Ok::<_, String>(mixed::arrow::table(&schema, &batches, options))
    })?;
    table.map(Some).map_err(named)
}

/// Opens a Parquet file to be gone over again and again without being held in memory.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<AnySource> {
    let file = ParquetFile::open(Origin::File(Stamp::of(path)?), options)?;
    Ok(if file.layout.single { f32::any_source(file) } else { f64::any_source(file) })
}

/// An opened Parquet file: what its metadata says, and how to go over its rows.
struct ParquetFile {
    origin: Origin,
    metadata: ArrowReaderMetadata,
    layout: Layout,
    rows: usize,
    /// The fields that are read together; all of them in one unless their pages are too large.
    selections: Vec<Selection>,
    /// Bytes of rows gathered if there are several selections.
    slab_bytes: usize,
    about: About,
    class_of: HashMap<String, u32>,
}

impl ParquetFile {
    fn open(origin: Origin, options: &ReadOptions) -> Result<Self> {
        let chunks = origin.open()?;
        let metadata = contain(&origin.place(), "a Parquet file", || {
            let metadata = chunks.metadata()?;
            check_metadata(&metadata, chunks.len())?;
            ArrowReaderMetadata::try_new(metadata.into(), ArrowReaderOptions::new())
        })?;
        let layout =
            Layout::new(metadata.schema(), options).map_err(|error| origin.named(error))?;
        // Each is at least 0 and their sum does not overflow: checked above.
        let groups = metadata.metadata().row_groups();
        let rows = groups.iter().map(|group| group.num_rows() as usize).sum();
        let about = layout.about();
        let everything = layout.everything();
        let mut file = Self {
            origin,
            metadata,
            layout,
            rows,
            selections: vec![everything],
            slab_bytes: SLAB_BYTES,
            about,
            class_of: HashMap::new(),
        };
        file.selections = file.selections(&chunks)?;
        if let Some(label) = file.layout.label {
            let names = file.class_names(&chunks, label)?;
            let numbered = names.iter().enumerate();
            file.class_of = numbered.map(|(i, name)| (name.clone(), i as u32)).collect();
            // The classes of the rows come with the batches.
            file.about.labels = Some(Labels { names, of_row: Vec::new() });
        }
        Ok(file)
    }

    /// Cuts the fields into groups whose open pages fit in memory together.
    ///
    /// While a reader goes over rows it holds a page of every column, and the dictionary if
    /// there is one. If that is little, all columns are read together. If not, many rows of a
    /// few columns are read at a time, then the same rows of the next few columns: pages are
    /// then decoded more than once, and memory stays bounded.
    fn selections(&self, chunks: &Chunks) -> Result<Vec<Selection>> {
        let metadata = self.metadata.metadata();
        let largest = metadata.row_groups().iter().max_by_key(|group| group.num_rows());
        let Some(largest) = largest else { return Ok(vec![self.layout.everything()]) };
        let bytes = |column: &ColumnChunkMetaData| column.uncompressed_size().cast_unsigned();
        if largest.columns().iter().map(bytes).fold(0, u64::saturating_add) <= OPEN_BYTES {
            return Ok(vec![self.layout.everything()]);
        }
        let schema = metadata.file_metadata().schema_descr();
        let mut open_bytes = vec![0; self.metadata.schema().fields().len()];
        for (leaf, column) in largest.columns().iter().enumerate() {
            let bytes = contain(&self.origin.place(), "a Parquet file", || {
                let starts = column.dictionary_page_offset().into_iter();
                starts.chain([column.data_page_offset()]).try_fold(0, |sum, start| {
                    Ok::<_, ParquetError>(sum + chunks.page_claim(start.cast_unsigned())?.unpacked)
                })
            })?;
            open_bytes[schema.get_column_root_idx(leaf)] += bytes;
        }
        let numbers = &self.layout.numbers;
        if numbers.iter().map(|n| open_bytes[n.field]).sum::<u64>() <= OPEN_BYTES {
            return Ok(vec![self.layout.everything()]);
        }
        let (mut selections, mut start, mut held) = (Vec::new(), 0, 0);
        for (i, field) in numbers.iter().enumerate() {
            held += open_bytes[field.field];
            if held > GROUP_BYTES && i > start {
                selections.push(self.layout.select(start..i));
                (start, held) = (i, open_bytes[field.field]);
            }
        }
        selections.push(self.layout.select(start..numbers.len()));
        Ok(selections)
    }

    /// The different classes of a column, in order, by one pass over that column alone.
    fn class_names(&self, chunks: &Chunks, label: usize) -> Result<Vec<String>> {
        let mut names = BTreeSet::new();
        let mut reader = self.reader(chunks, &[label], 0..self.rows, 1 << 14)?;
        while let Some(batch) = self.next(&mut reader)? {
            let column = texts(batch.column(0)).map_err(|error| self.origin.named(error))?;
            for name in column.iter().flatten() {
                if !names.contains(name) {
                    names.insert(name.to_owned());
                }
            }
            if names.len() > MOST_CLASSES {
                let name = self.metadata.schema().field(label).name();
                let problem = format!("column `{name}` has more than {MOST_CLASSES} classes");
                return Err(Error::option("label", problem));
            }
        }
        Ok(names.into_iter().collect())
    }

    /// A reader of these rows of these fields that decodes so many rows in one go.
    fn reader(
        &self,
        chunks: &Chunks,
        fields: &[usize],
        rows: Range<usize>,
        at_once: usize,
    ) -> Result<ParquetRecordBatchReader> {
        let (mut groups, mut offset, mut end) = (Vec::new(), 0, 0);
        for (index, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let start = end;
            end += group.num_rows() as usize;
            if end <= rows.start || start >= rows.end {
                continue;
            }
            if groups.is_empty() {
                offset = rows.start - start;
            }
            groups.push(index);
        }
        contain(&self.origin.place(), "a Parquet file", || {
            let mask =
                ProjectionMask::roots(self.metadata.parquet_schema(), fields.iter().copied());
            ParquetRecordBatchReaderBuilder::new_with_metadata(
                chunks.clone(),
                self.metadata.clone(),
            )
            .with_row_groups(groups)
            .with_projection(mask)
            .with_offset(offset)
            .with_limit(rows.len())
            .with_batch_size(at_once)
            .build()
        })
    }

    fn next(&self, reader: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>> {
        contain(&self.origin.place(), "a Parquet file that is whole", || reader.next().transpose())
    }

    fn read(&self) -> Result<AnyTable> {
        Ok(if self.layout.single {
            f32::any_table(self.read_cells()?)
        } else {
            f64::any_table(self.read_cells()?)
        })
    }

    fn read_cells<T: Cell>(&self) -> Result<Table<T>> {
        let length = self.origin.open()?.len();
        let mut values = room(self.rows, self.layout.columns, length)
            .map_err(|error| self.origin.named(error))?;
        let (mut weights, mut of_row) = (Vec::new(), Vec::new());
        let mut lane = Source::<T>::lane(self, 0..usize::MAX)?;
        while let Some(batch) = lane.next_batch()? {
            if let Block::Dense { values: cells, .. } = batch.block {
                values.extend_from_slice(cells);
            }
            weights.extend_from_slice(batch.weights.unwrap_or_default());
            of_row.extend_from_slice(batch.labels.unwrap_or_default());
        }
        let mut about = self.about.clone();
        about.weights = self.layout.weight.map(|_| weights);
        if let Some(labels) = &mut about.labels {
            labels.of_row = of_row;
        }
        let cells = Dense::new(self.rows, self.layout.columns, values);
        cells.and_then(|c| Table::from(c).with_about(about)).map_err(|e| self.origin.named(e))
    }
}

/// Room for a table that a file of this length claims to hold.
///
/// A column of one repeated value takes almost no bytes, so an honest file can be much smaller
/// than its table; but not by any factor.
pub(super) fn room<T>(rows: usize, columns: usize, file_bytes: u64) -> Result<Vec<T>> {
    let claimed = rows as u128 * columns as u128;
    let mut values = Vec::new();
    let believable = claimed <= u128::from(file_bytes) * 4096 + (1 << 26);
    if !believable || values.try_reserve_exact(claimed as usize).is_err() {
        return Err(Error::found(
            Place::default(),
            format!("{rows} rows x {columns} columns in a file of {file_bytes} bytes"),
            "a table that fits in memory",
        ));
    }
    Ok(values)
}

/// Checks what the parquet crate takes on trust.
fn check_metadata(metadata: &ParquetMetaData, length: u64) -> ParquetResult<()> {
    let damaged = |what: String| Err(ParquetError::General(what));
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    let mut rows = 0i64;
    for (index, group) in metadata.row_groups().iter().enumerate() {
        match rows.checked_add(group.num_rows()) {
            Some(sum) if group.num_rows() >= 0 && group.num_columns() == leaves => rows = sum,
            _ => return damaged(format!("row group {index} has an impossible shape")),
        }
        for column in group.columns() {
            let data = column.data_page_offset();
            let start = column.dictionary_page_offset().unwrap_or(data);
            let size = column.compressed_size();
            let inside = start >= 0
                && size >= 0
                && data >= start
                && column.uncompressed_size() >= 0
                && start.checked_add(size).is_some_and(|end| end.cast_unsigned() <= length);
            if !inside {
                let path = column.column_path();
                return damaged(format!("column `{path}` lies outside the file"));
            }
        }
    }
    if rows != metadata.file_metadata().num_rows() {
        let whole = metadata.file_metadata().num_rows();
        return damaged(format!("{whole} rows in all but {rows} in the row groups"));
    }
    Ok(())
}

impl<T: Cell> Source<T> for ParquetFile {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.layout.columns
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        Ok(Box::new(ParquetLane::new(self, batches)?))
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn absent(&self) -> Option<Absent> {
        None
    }
}
