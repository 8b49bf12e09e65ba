//! Spreadsheets: the first sheet of a workbook that has rows.

use std::io::{Cursor, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};

use calamine::{Data, Range, Reader, Xlsx};
use mereo_core::{Error, Place, Result, Table};

use super::super::ReadOptions;
use super::{Column, Raw, Texts, Told, Verdict, decide};

/// Cells that a sheet may claim to have.
const MOST_CELLS: usize = 1 << 27;
/// Days from the first day of spreadsheets to 1970.
const EPOCH: f64 = 25_569.0;

/// Reads a workbook that is in memory.
pub(in super::super) fn read_sheet(
    bytes: &[u8],
    options: &ReadOptions,
) -> Result<(Table<f64>, Told)> {
    check_size(bytes, options)?;
    // The net below: a damaged workbook is an error like any other.
    let opened = catch_unwind(AssertUnwindSafe(|| first_sheet(Cursor::new(bytes))));
    let (name, range) = match opened {
        Ok(Ok(found)) => found,
        Ok(Err(what)) => return Err(unreadable(&what)),
        Err(_) => return Err(unreadable("it is damaged")),
    };
    let raw = raw_of(&range, options);
    match decide(raw, options)? {
        Verdict::Table(table, mut told) => {
            told.notices.push(format!("read from the sheet `{name}`"));
            Ok((*table, told))
        }
        Verdict::Stray { row, column } => {
            let place = Place::at_row(row).column(column);
            Err(Error::found(
                place,
                "a text among numbers",
                "numbers; or say `--kinds COLUMN=category`",
            ))
        }
    }
}

fn unreadable(what: &str) -> Error {
    let found = format!("a workbook that cannot be read ({what})");
    Error::found(Place::default(), found, "an .xlsx file with a sheet of rows and columns")
}

/// A workbook is a zip: what it unpacks to is looked at before it is unpacked.
fn check_size(bytes: &[u8], options: &ReadOptions) -> Result<()> {
    let most = super::super::input::most_bytes(options).min(2 << 30);
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| unreadable(&e.to_string()))?;
    let mut total = 0u64;
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|e| unreadable(&e.to_string()))?;
        total = total.saturating_add(entry.size());
    }
    if total > most {
        return Err(unreadable(&format!("it unpacks to more than {most} bytes")));
    }
    Ok(())
}

fn first_sheet<R: Read + Seek>(file: R) -> std::result::Result<(String, Range<Data>), String> {
    let mut book = Xlsx::new(file).map_err(|e| e.to_string())?;
    for name in book.sheet_names().clone() {
        let range = book.worksheet_range(&name).map_err(|e| e.to_string())?;
        let (rows, columns) = range.get_size();
        if rows.saturating_mul(columns) > MOST_CELLS {
            return Err(format!("its sheet `{name}` claims {rows} rows of {columns} columns"));
        }
        if !range.is_empty() {
            return Ok((name, range));
        }
    }
    Err("it has no rows".to_owned())
}

fn raw_of(range: &Range<Data>, options: &ReadOptions) -> Raw {
    let (height, width) = range.get_size();
    let cell = |row: usize, column: usize| range.get((row, column)).unwrap_or(&Data::Empty);
    let texts =
        |row: usize| (0..width).filter(|&c| matches!(cell(row, c), Data::String(_))).count();
    let header = options.header.unwrap_or_else(|| {
        let empty = (0..width).filter(|&c| *cell(0, c) == Data::Empty).count();
        height > 0 && texts(0) + empty == width && texts(0) > 0
    });
    let names = header.then(|| {
        let name = |column: usize| match cell(0, column) {
            Data::Empty => column.to_string(),
            other => other.to_string(),
        };
        (0..width).map(name).collect()
    });
    let first = usize::from(header);
    let rows: Vec<usize> =
        (first..height).filter(|&row| (0..width).any(|c| *cell(row, c) != Data::Empty)).collect();
    let columns = (0..width).map(|column| column_of(rows.iter().map(|&row| cell(row, column))));
    Raw { names, rows: rows.len(), columns: columns.collect(), ..Raw::default() }
}

fn column_of<'a>(cells: impl Iterator<Item = &'a Data> + Clone) -> Column {
    let missing = |cell: &Data| match cell {
        Data::Empty | Data::Error(_) => true,
        Data::String(text) => {
            let text = text.trim();
            super::super::text::is_blank_mark(text.as_bytes())
        }
        _ => false,
    };
    let all = |fits: &dyn Fn(&Data) -> bool| cells.clone().all(|c| missing(c) || fits(c));
    if all(&|c| matches!(c, Data::Int(_) | Data::Float(_))) {
        let number = |cell: &Data| match cell {
            Data::Int(value) => *value as f64,
            Data::Float(value) if value.is_finite() => *value,
            _ => f64::NAN,
        };
        return Column::Numbers(cells.map(number).collect());
    }
    if all(&|c| matches!(c, Data::DateTime(_))) {
        let days = |cell: &Data| match cell {
            Data::DateTime(moment) => moment.as_f64() - EPOCH,
            _ => f64::NAN,
        };
        return Column::Days(cells.map(days).collect());
    }
    if all(&|c| matches!(c, Data::Bool(_))) {
        let truth = |cell: &Data| match cell {
            Data::Bool(truth) => Some(*truth),
            _ => None,
        };
        return Column::Truths(cells.map(truth).collect());
    }
    let texts: Vec<Option<String>> =
        cells.map(|c| (!missing(c)).then(|| c.to_string().trim().to_owned())).collect();
    Column::Texts(Texts::from_texts(texts.iter().map(Option::as_deref)))
}
