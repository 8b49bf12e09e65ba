//! Writing tables and pictures. The format follows the extension, and a file appears whole or
//! not at all.

mod again;
mod csv;
mod npy;
mod parquet;
mod picture;
mod pixels;

use std::path::Path;

use mereo_core::{AnyTable, Cells, Error, Result, Table, with_table};

pub use self::again::write_again;
pub use self::picture::{encode_picture_grid, encode_png, write_picture_grid};
pub use self::pixels::{write_labels, write_pixels};
use crate::arrow_columns::Cell;

/// Cells of a sparse table up to which it is written out in full.
const MOST_CELLS: usize = 1 << 28;

/// Writes a table as CSV, TSV, Parquet or npy, by the extension of `path`.
///
/// | extension | names | missing cells | classes and weights | pictures |
/// |---|---|---|---|---|
/// | `.csv`, `.tsv` | header line | empty field | last columns `label`, `weight` | no |
/// | `.parquet` | yes | null | last columns `label`, `weight` | yes |
/// | `.npy` | no | `NaN` | no | by the array's shape |
///
/// Words, dates and numbers of columns whose kind or format is known are written as the file that they came
/// from does, and the rows' names stand in the first column. Other numbers keep every bit. If the table has a column `label` already, the classes go to
/// `label_` (and so on); a Parquet file also records which columns they are, so that reading
/// it gives the same table. A table without names gets no header line in CSV (a line of
/// numbers would be read back as data), and numbers for names in Parquet.
///
/// A sparse table is written out in full (unknown cells as missing, zeros as zeros) if it has
/// at most 2²⁸ cells.
///
/// ```
/// use mereo_core::{AnyTable, Dense, Table};
/// let table = Table::from(Dense::new(2, 2, vec![1.5, f64::NAN, -3.0, 1e-300])?)
///     .with_names(vec!["height".into(), "age, in years".into()])?;
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("people.csv");
/// mereo_data::write::write_table(&path, &AnyTable::F64(table))?;
/// let text = std::fs::read_to_string(&path).unwrap();
/// assert_eq!(text, "height,\"age, in years\"\n1.5,\n-3,1e-300\n");
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn write_table(path: &Path, table: &AnyTable) -> Result<()> {
    with_table!(table, table => write(path, table))
}

fn write<T: Cell>(path: &Path, table: &Table<T>) -> Result<()> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let writer = match extension.as_str() {
        "csv" => csv::write_commas,
        "tsv" => csv::write_tabs,
        "parquet" => parquet::write,
        "npy" => npy::write,
        _ => {
            let problem = if extension.is_empty() {
                format!("`{}` has no extension", path.display())
            } else {
                format!("tables cannot be written as `.{extension}`")
            };
            let problem = format!("{problem}; use .csv, .tsv, .parquet or .npy");
            return Err(Error::option("output", problem));
        }
    };
    let cells = table.rows().saturating_mul(table.columns());
    if matches!(table.cells(), Cells::Sparse(_)) && cells > MOST_CELLS {
        let problem = format!(
            "a sparse table of {} rows x {} columns would be written out in full; \
             write fewer rows, or the codes of a model instead",
            table.rows(),
            table.columns()
        );
        return Err(Error::option("output", problem));
    }
    writer(path, table)
}

/// Calls `visit` with each row in full, `NaN` where a cell is missing.
fn for_each_row<T: Cell, E>(
    table: &Table<T>,
    mut visit: impl FnMut(usize, &[T]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    match table.cells() {
        Cells::Dense(cells) => (0..cells.rows()).try_for_each(|row| visit(row, cells.row(row))),
        Cells::Sparse(cells) => {
            let absent = match cells.absent() {
                mereo_core::Absent::Unobserved => T::MISSING,
                mereo_core::Absent::Zero => T::ZERO,
            };
            let mut full = vec![absent; cells.columns()];
            (0..cells.rows()).try_for_each(|row| {
                let (columns, values) = cells.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    full[column as usize] = value;
                }
                visit(row, &full)?;
                for &column in columns {
                    full[column as usize] = absent;
                }
                Ok(())
            })
        }
    }
}

/// Names for the columns of classes and weights that no column has.
fn extra_names<T: Cell>(table: &Table<T>) -> (Option<String>, Option<String>) {
    let taken = table.about().names.as_deref().unwrap_or_default();
    let free = |name: &str| {
        let mut name = name.to_owned();
        while taken.contains(&name) {
            name.push('_');
        }
        name
    };
    let about = table.about();
    let label = || about.label_name.clone().filter(|name| !taken.contains(name));
    let label = about.labels.as_ref().map(|_| label().unwrap_or_else(|| free("label")));
    (label, about.weights.as_ref().map(|_| free("weight")))
}

/// The class of a row in words.
fn class_of<T: Cell>(table: &Table<T>, row: usize) -> Option<&str> {
    let labels = table.about().labels.as_ref()?;
    let class = labels.of_row.get(row).copied().flatten()?;
    labels.names.get(class as usize).map(String::as_str)
}
