//! Tables as text.

use std::fmt::Write as _;
use std::path::Path;

use mereo_core::{Result, Table, write_atomically};

use super::{class_of, extra_names, for_each_row};
use crate::arrow_columns::Cell;

pub(super) fn write_commas<T: Cell>(path: &Path, table: &Table<T>) -> Result<()> {
    write(path, table, b',')
}

pub(super) fn write_tabs<T: Cell>(path: &Path, table: &Table<T>) -> Result<()> {
    write(path, table, b'\t')
}

fn write<T: Cell>(path: &Path, table: &Table<T>, delimiter: u8) -> Result<()> {
    let (label, weight) = extra_names(table);
    let about = table.about();
    let weights = about.weights.as_deref();
    let (told, named) = (about.kinds.is_some() || about.formats.is_some(), has_names(table));
    write_atomically(path, |out| {
        let mut out = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
        // Numbers as names would be read back as a first row of data.
        if has_names(table) {
            if about.ids.is_some() {
                out.write_field(about.id_name.as_deref().unwrap_or_default())?;
            }
            for column in 0..table.columns() {
                out.write_field(table.name(column))?;
            }
            out.write_record(label.iter().chain(&weight))?;
        }
        let mut text = String::new();
        for_each_row(table, |row, cells| {
            if named && let Some(ids) = &about.ids {
                out.write_field(&ids[row])?;
            }
            for (column, &cell) in cells.iter().enumerate() {
                if told {
                    text = about.cell(column, cell.to_f64());
                } else {
                    number(cell, &mut text);
                }
                out.write_field(&text)?;
            }
            if label.is_some() {
                out.write_field(class_of(table, row).unwrap_or_default())?;
            }
            if let Some(weights) = weights {
                number(weights[row], &mut text);
                out.write_field(&text)?;
            }
            out.write_record(None::<&[u8]>)
        })?;
        out.flush()
    })
}

/// Whether the columns have names that say more than their numbers.
fn has_names<T: Cell>(table: &Table<T>) -> bool {
    let names = table.about().names.as_deref().unwrap_or_default();
    names.iter().enumerate().any(|(i, name)| *name != i.to_string())
}

/// The shortest text that is read back as the same number; nothing for a missing one.
fn number<T: Cell>(value: T, text: &mut String) {
    text.clear();
    let size = value.to_f64().abs();
    // Writing to a string does not fail.
    let _ = if value.is_missing() {
        Ok(())
    } else if size == 0.0 || (1e-5..1e16).contains(&size) {
        write!(text, "{value}")
    } else {
        write!(text, "{value:e}")
    };
}

#[cfg(test)]
mod tests {
    use mereo_core::{AnyTable, Dense, Labels};
    use proptest::prelude::*;

    use super::*;
    use crate::write::write_table;

    fn text_of<T: Cell>(table: Table<T>, extension: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table").with_extension(extension);
        write_table(&path, &T::any_table(table)).unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn without_names_there_is_no_header() {
        let table = Table::from(Dense::new(2, 2, vec![1.0f32, 2.5, f32::NAN, 0.1]).unwrap());
        assert_eq!(text_of(table, "tsv"), "1\t2.5\n\t0.1\n");
    }

    #[test]
    fn classes_and_weights_come_last_under_names_that_are_free() {
        let table = Table::from(Dense::new(2, 1, vec![1.0, f64::NAN]).unwrap())
            .with_names(vec!["label".into()])
            .and_then(|t| t.with_labels(Labels::from_texts([Some("a \"b\",\nc"), None])))
            .and_then(|t| t.with_weights(vec![0.5, 2.0]))
            .unwrap();
        let text = text_of(table, "csv");
        assert_eq!(text, "label,label_,weight\n1,\"a \"\"b\"\",\nc\",0.5\n,,2\n");
    }

    #[test]
    fn a_lone_missing_cell_is_not_an_empty_line() {
        let table = Table::from(Dense::new(1, 1, vec![f64::NAN]).unwrap());
        assert_eq!(text_of(table, "csv"), "\"\"\n");
    }

    #[test]
    fn an_unknown_extension_is_named() {
        let table = AnyTable::F64(Table::from(Dense::new(1, 1, vec![1.0]).unwrap()));
        let error = write_table(Path::new("a.xlsx"), &table).unwrap_err().to_string();
        assert!(error.contains(".xlsx") && error.contains(".parquet"), "{error}");
        let error = write_table(Path::new("noext"), &table).unwrap_err().to_string();
        assert!(error.contains("no extension"), "{error}");
    }

    proptest! {
        #[test]
        fn numbers_keep_every_bit(wide in proptest::num::f64::NORMAL | proptest::num::f64::ZERO,
                                  narrow in proptest::num::f32::ANY) {
            let mut text = String::new();
            number(wide, &mut text);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), wide.to_bits());
            if !narrow.is_nan() {
                number(narrow, &mut text);
                prop_assert_eq!(text.parse::<f32>().unwrap().to_bits(), narrow.to_bits());
                // Read as f64 and rounded, as a reader may do, it is still the same.
                prop_assert_eq!((text.parse::<f64>().unwrap() as f32).to_bits(), narrow.to_bits());
            }
        }

        #[test]
        fn names_and_cells_come_back(
            // The one character that no reader keeps at the start of a text: the byte order mark.
            names in proptest::collection::vec("[^\u{feff}]{1,8}", 1..4),
            values in proptest::collection::vec(prop::option::of(-1e30f64..1e30), 12),
        ) {
            let columns = names.len();
            let cells: Vec<f64> = values.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
            let rows = cells.len() / columns;
            let table = Table::from(Dense::new(rows, columns, cells.clone()).unwrap())
                .with_names(names.clone()).unwrap();
            let headed = has_names(&table);
            let text = text_of(table, "csv");
            let mut reader =
                csv::ReaderBuilder::new().has_headers(headed).from_reader(text.as_bytes());
            if headed {
                prop_assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), names);
            }
            let read: Vec<f64> = reader.records()
                .flat_map(|record| record.unwrap().iter()
                    .map(|f| if f.is_empty() { f64::NAN } else { f.parse().unwrap() })
                    .collect::<Vec<_>>())
                .collect();
            let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&read), bits(&cells));
        }
    }
}
