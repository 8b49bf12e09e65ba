//! Writes a Parquet file of planted parts, as large as one likes, without holding it in memory:
//!
//! ```text
//! cargo run --release --example big_parquet -- FILE GIGABYTES [ROWS-IN-A-GROUP]
//! ```
//!
//! Its 361 columns (pictures of 19 x 19) belong to 6 parts. In every row each part shows one of
//! its 12 states, chosen independently, and every cell has a little noise. Numbers are stored
//! plain, so that the file really has the size that was asked for.

use std::error::Error;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use mereo_core::{Context, write_file_atomically};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use rand::RngExt;

const SIDE: usize = 19;
const COLUMNS: usize = SIDE * SIDE;
const PARTS: usize = 6;
const STATES: usize = 12;
const NOISE: f32 = 0.05;
/// Rows made in one go.
const ROWS: usize = 2048;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (path, gigabytes, group_rows) = match &arguments[..] {
        [_, path, gigabytes] => (path, gigabytes.parse::<f64>()?, 50_000),
        [_, path, gigabytes, rows] => (path, gigabytes.parse::<f64>()?, rows.parse::<usize>()?),
        _ => return Err("usage: big_parquet FILE GIGABYTES [ROWS-IN-A-GROUP]".into()),
    };
    let rows = (gigabytes * 1e9 / (COLUMNS * size_of::<f32>()) as f64) as usize;
    write_file_atomically(path.as_ref(), |file| {
        write(BufWriter::new(file), rows, group_rows).map_err(std::io::Error::other)
    })?;
    eprintln!("{path}: {rows} rows x {COLUMNS} columns of f32");
    Ok(())
}

fn write(
    out: impl Write + Send,
    rows: usize,
    group_rows: usize,
) -> Result<(), parquet::errors::ParquetError> {
    let picture = format!("{SIDE}x{SIDE}x1");
    let fields: Vec<Field> =
        (0..COLUMNS).map(|c| Field::new(format!("pixel{c}"), DataType::Float32, false)).collect();
    let schema = Schema::new_with_metadata(fields, [("mereo.picture".to_owned(), picture)].into());
    let schema = Arc::new(schema);
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    let mut out = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;

    let context = Context::new(1);
    let mut random = context.random("prototypes", [0, 0]);
    let prototypes: Vec<[f32; STATES]> =
        (0..COLUMNS).map(|_| std::array::from_fn(|_| random.random::<f32>())).collect();
    for first_row in (0..rows).step_by(ROWS) {
        let mut random = context.random("rows", [first_row as u64, 0]);
        let rows = ROWS.min(rows - first_row);
        let states: Vec<[usize; PARTS]> =
            (0..rows).map(|_| std::array::from_fn(|_| random.random_range(0..STATES))).collect();
        let arrays = (0..COLUMNS).map(|column| {
            let part = part_of(column);
            let cell = |row: &[usize; PARTS]| {
                prototypes[column][row[part]] + NOISE * (random.random::<f32>() - 0.5)
            };
            Arc::new(states.iter().map(cell).collect::<Float32Array>()) as ArrayRef
        });
        out.write(&RecordBatch::try_new(schema.clone(), arrays.collect())?)?;
    }
    out.close()?;
    Ok(())
}

/// The picture is cut into two columns of three parts.
fn part_of(column: usize) -> usize {
    let (y, x) = (column / SIDE, column % SIDE);
    (y * 3 / SIDE) * 2 + x * 2 / SIDE
}
