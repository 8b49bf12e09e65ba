//! Tables as Parquet.

use std::collections::HashMap;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::{ArrayRef, Float64Array, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use mereo_core::{Result, Table, write_file_atomically};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{class_of, extra_names, for_each_row};
use crate::arrow_columns::{Cell, LABEL_KEY, PICTURE_KEY, WEIGHT_KEY};

/// Cells in a row group: what the writer holds in memory, and what a reader can skip.
const GROUP_CELLS: usize = 1 << 24;
/// Cells handed to the writer in one go.
const BATCH_CELLS: usize = 1 << 20;

pub(super) fn write<T: Cell>(path: &Path, table: &Table<T>) -> Result<()> {
    let columns = table.columns().max(1);
    let group_rows = (GROUP_CELLS / columns).clamp(1, 1 << 20);
    let batch_rows = (BATCH_CELLS / columns).clamp(1, 1 << 16);
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let schema = schema(table);
    write_file_atomically(path, |file| {
        let out = BufWriter::with_capacity(1 << 16, file);
        let mut out = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
        let mut pending = Pending { first_row: 0, rows: 0, cells: Vec::new() };
        for_each_row(table, |_, cells| {
            pending.cells.extend_from_slice(cells);
            pending.rows += 1;
            if pending.rows == batch_rows {
                pending.flush(table, &schema, &mut out)
            } else {
                Ok(())
            }
        })?;
        pending.flush(table, &schema, &mut out)?;
        out.into_inner()?.flush()
    })
}

fn schema<T: Cell>(table: &Table<T>) -> Arc<Schema> {
    let id = table.about().ids.as_ref().map(|_| table.about().id_name.clone().unwrap_or_default());
    let id = id.map(|name| if name.is_empty() { "id".to_owned() } else { name });
    let numbers = (0..table.columns()).map(|column| {
        let words = !table.about().kind(column).levels().is_empty();
        let kind = if words { DataType::Utf8 } else { T::Arrow::DATA_TYPE };
        Field::new(table.name(column), kind, true)
    });
    let numbers = id.iter().map(|name| Field::new(name, DataType::Utf8, false)).chain(numbers);
    let (label, weight) = extra_names(table);
    let fields: Vec<Field> = numbers
        .chain(label.iter().map(|name| Field::new(name, DataType::Utf8, true)))
        .chain(weight.iter().map(|name| Field::new(name, DataType::Float64, false)))
        .collect();
    let mut metadata = HashMap::new();
    metadata.extend(label.map(|name| (LABEL_KEY.to_owned(), name)));
    metadata.extend(weight.map(|name| (WEIGHT_KEY.to_owned(), name)));
    if let Some(picture) = table.about().picture {
        let shape = format!("{}x{}x{}", picture.height, picture.width, picture.channels);
        metadata.insert(PICTURE_KEY.to_owned(), shape);
    }
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

/// Rows that wait to be written.
struct Pending<T> {
    first_row: usize,
    rows: usize,
    cells: Vec<T>,
}

impl<T: Cell> Pending<T> {
    fn flush(
        &mut self,
        table: &Table<T>,
        schema: &Arc<Schema>,
        out: &mut ArrowWriter<impl std::io::Write + Send>,
    ) -> std::io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let rows = self.first_row..self.first_row + self.rows;
        let ids = table.about().ids.as_ref();
        let ids = ids.map(|ids| ids[rows.clone()].iter().map(Some).collect::<StringArray>());
        let mut arrays: Vec<ArrayRef> = ids
            .into_iter()
            .map(|ids| Arc::new(ids) as ArrayRef)
            .chain((0..table.columns()).map(|column| {
                let cells = self.cells.iter().skip(column).step_by(table.columns());
                let levels = table.about().kind(column).levels();
                if !levels.is_empty() {
                    let word = |cell: &T| {
                        (!cell.is_missing()).then(|| levels.get(cell.to_f64() as usize)).flatten()
                    };
                    return Arc::new(cells.map(word).collect::<StringArray>()) as ArrayRef;
                }
                let cells = cells.map(|&cell| (!cell.is_missing()).then_some(cell));
                Arc::new(cells.collect::<PrimitiveArray<T::Arrow>>()) as ArrayRef
            }))
            .collect();
        if table.about().labels.is_some() {
            let classes = rows.clone().map(|row| class_of(table, row));
            arrays.push(Arc::new(classes.collect::<StringArray>()));
        }
        if let Some(weights) = &table.about().weights {
            arrays.push(Arc::new(Float64Array::from(weights[rows.clone()].to_vec())));
        }
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(std::io::Error::other)?;
        out.write(&batch)?;
        self.cells.clear();
        self.rows = 0;
        self.first_row = rows.end;
        Ok(())
    }
}
