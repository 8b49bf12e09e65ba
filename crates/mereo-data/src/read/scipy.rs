//! Sparse matrices as `scipy.sparse.save_npz` writes them, in each of its formats:
//!
//! | format | arrays | entry |
//! |---|---|---|
//! | `csr` | `indptr`, `indices`, `data` | the entries `indptr[r]..indptr[r+1]` are row r's, in the columns `indices` |
//! | `csc` | the same | the same with rows and columns exchanged |
//! | `coo` | `row`, `col` (or `coords`, one above the other), `data` | one an entry |
//! | `bsr` | as `csr`, `data` of blocks `[N, height, width]` | rows and columns of blocks |
//! | `dia` | `offsets`, `data` of `[diagonals, length]` | `data[k, c]` stands in column c and row `c - offsets[k]` |
//!
//! A cell that is stored more than once is the sum of its entries, as it is for `SciPy`. What is not stored is
//! zero, unless the reader is told that nobody knows it; then a zero that is stored stays, as a rating of 0.

use std::io::{Read, Seek};

use mereo_core::{Absent, AnyTable, Error, Place, Real, Result, Sparse, Table};

use super::array::{self, Values};
use super::entries::check_claim;
use super::npz::{Arrays, in_array};

/// Whether the arrays are a sparse matrix and not data as they stand.
pub(super) fn is_sparse<R: Read + Seek>(arrays: &Arrays<R>) -> bool {
    let has = |names: &[&str]| names.iter().all(|name| arrays.has(name));
    has(&["data", "shape"]) && (has(&["format"]) || has(&["indices", "indptr"]))
}

/// Reads the matrix.
pub(super) fn read<R: Read + Seek>(
    arrays: &mut Arrays<R>,
    absent: Option<Absent>,
) -> Result<AnyTable> {
    let format = if arrays.has("format") {
        let format = arrays.with("format", |header, reader| header.texts(reader))?;
        format.into_iter().next().flatten().unwrap_or_default()
    } else {
        "csr".to_owned()
    };
    // Rows and columns are counted in 32 bits.
    let shape = integers(arrays, "shape", 1 << 32)?;
    let [rows, columns] = shape[..] else {
        let found = format!("a sparse array of {} dimensions", shape.len());
        return Err(broken(found, "rows and columns; reshape it"));
    };
    let (header, values) = arrays.numbers("data")?;
    let absent = absent.unwrap_or(Absent::Zero);
    let matrix = Matrix { rows, columns, of_data: header.shape, absent };
    match values {
        Values::F32(values) => matrix.read(arrays, &format, values).map(AnyTable::from),
        Values::F64(values) => matrix.read(arrays, &format, values).map(AnyTable::from),
    }
}

/// What is known before the entries are.
struct Matrix {
    rows: usize,
    columns: usize,
    /// The shape of the array `data`.
    of_data: Vec<u64>,
    /// What a cell that is not stored means.
    absent: Absent,
}

/// Entries in any order.
struct Triples<T> {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl Matrix {
    fn read<R: Read + Seek, T: Real>(
        &self,
        arrays: &mut Arrays<R>,
        format: &str,
        values: Vec<T>,
    ) -> Result<Table<T>> {
        let stored = values.len();
        check_claim("columns", self.columns, stored)?;
        let (starts, columns, values) = match format {
            "csr" => {
                self.expect_data(1)?;
                let (starts, columns) = lines(arrays, self.rows, self.columns, stored)?;
                (starts, columns, values)
            }
            other => {
                check_claim("rows", self.rows, stored)?;
                let triples = match other {
                    "csc" => self.by_columns(arrays, values)?,
                    "coo" => self.by_entries(arrays, values)?,
                    "bsr" => self.by_blocks(arrays, &values)?,
                    "dia" => self.by_diagonals(arrays, &values)?,
                    _ => {
                        let found =
                            format!("the sparse format {}", super::text::quoted(other.as_bytes()));
                        let expected = "`csr`, `csc`, `coo`, `bsr` or `dia`; convert with .tocsr()";
                        return Err(in_array(broken(found, expected), "format"));
                    }
                };
                triples.by_rows(self.rows)
            }
        };
        let entries = values.len();
        let (starts, columns, values) = tidied(starts, columns, values);
        if self.absent == Absent::Unobserved && values.len() < entries {
            let found = format!("{} cells stored more than once", entries - values.len());
            return Err(broken(found, "each rating once; sum_duplicates() would add them up"));
        }
        Ok(Table::from(Sparse::new(self.columns, starts, columns, values, self.absent)?))
    }

    fn expect_data(&self, dimensions: usize) -> Result<()> {
        if self.of_data.len() == dimensions {
            return Ok(());
        }
        let found = format!("an array of {}", array::show(&self.of_data));
        Err(in_array(broken(found, format!("{dimensions} dimensions")), "data"))
    }

    fn by_columns<R: Read + Seek, T: Real>(
        &self,
        arrays: &mut Arrays<R>,
        values: Vec<T>,
    ) -> Result<Triples<T>> {
        self.expect_data(1)?;
        let (starts, rows) = lines(arrays, self.columns, self.rows, values.len())?;
        let mut columns = Vec::with_capacity(rows.len());
        for (column, pair) in starts.windows(2).enumerate() {
            columns.extend(std::iter::repeat_n(column as u32, pair[1] - pair[0]));
        }
        Ok(Triples { rows, columns, values })
    }

    fn by_entries<R: Read + Seek, T: Real>(
        &self,
        arrays: &mut Arrays<R>,
        values: Vec<T>,
    ) -> Result<Triples<T>> {
        self.expect_data(1)?;
        let stored = values.len();
        let (rows, columns) = if arrays.has("coords") {
            let mut rows = integers(arrays, "coords", 1 << 32)?;
            expect_count(2 * stored, rows.len(), "coords")?;
            let columns = rows.split_off(stored);
            (rows, columns)
        } else {
            let rows = integers(arrays, "row", 1 << 32)?;
            let columns = integers(arrays, "col", 1 << 32)?;
            expect_count(stored, rows.len(), "row")?;
            expect_count(stored, columns.len(), "col")?;
            (rows, columns)
        };
        for (what, indices, size) in [("row", &rows, self.rows), ("col", &columns, self.columns)] {
            if let Some(at) = indices.iter().position(|&index| index >= size) {
                let found = format!("{} at {at}", indices[at]);
                return Err(in_array(broken(found, format!("an index below {size}")), what));
            }
        }
        let narrow = |indices: Vec<usize>| indices.into_iter().map(|i| i as u32).collect();
        Ok(Triples { rows: narrow(rows), columns: narrow(columns), values })
    }

    fn by_blocks<R: Read + Seek, T: Real>(
        &self,
        arrays: &mut Arrays<R>,
        values: &[T],
    ) -> Result<Triples<T>> {
        self.expect_data(3)?;
        let [count, height, width] = [0, 1, 2].map(|axis| self.of_data[axis] as usize);
        let fits = |size: usize, block: usize| block > 0 && size.is_multiple_of(block);
        if !fits(self.rows, height) || !fits(self.columns, width) {
            let found = format!("blocks of {height} x {width}");
            let expected = format!("a size that {} x {} is made of", self.rows, self.columns);
            return Err(in_array(broken(found, expected), "data"));
        }
        let (starts, indices) = lines(arrays, self.rows / height, self.columns / width, count)?;
        let mut triples = Triples::new();
        for (block_row, pair) in starts.windows(2).enumerate() {
            for block in pair[0]..pair[1] {
                let corner = (block_row * height, indices[block] as usize * width);
                let cells = &values[block * height * width..(block + 1) * height * width];
                for (at, &value) in cells.iter().enumerate() {
                    triples.push(corner.0 + at / width, corner.1 + at % width, value);
                }
            }
        }
        Ok(triples)
    }

    fn by_diagonals<R: Read + Seek, T: Real>(
        &self,
        arrays: &mut Arrays<R>,
        values: &[T],
    ) -> Result<Triples<T>> {
        self.expect_data(2)?;
        let [count, length] = [0, 1].map(|axis| self.of_data[axis] as usize);
        let offsets = whole_numbers(arrays, "offsets", -(1 << 32), 1 << 32)?;
        expect_count(count, offsets.len(), "offsets")?;
        let mut triples = Triples::new();
        for (diagonal, offset) in offsets.into_iter().enumerate() {
            for column in 0..length.min(self.columns) {
                let row = column as i64 - offset;
                if (0..self.rows as i64).contains(&row) {
                    triples.push(row as usize, column, values[diagonal * length + column]);
                }
            }
        }
        Ok(triples)
    }
}

impl<T: Real> Triples<T> {
    fn new() -> Self {
        Self { rows: Vec::new(), columns: Vec::new(), values: Vec::new() }
    }

    /// Adds an entry. Zeros that fill blocks and diagonals up are no entries.
    fn push(&mut self, row: usize, column: usize, value: T) {
        if value != T::ZERO {
            self.rows.push(row as u32);
            self.columns.push(column as u32);
            self.values.push(value);
        }
    }

    /// The same entries row after row, in their order within each.
    fn by_rows(self, rows: usize) -> (Vec<usize>, Vec<u32>, Vec<T>) {
        let mut starts = vec![0; rows + 1];
        for &row in &self.rows {
            starts[row as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut columns = vec![0; self.columns.len()];
        let mut values = vec![T::ZERO; self.values.len()];
        for ((row, column), value) in self.rows.into_iter().zip(self.columns).zip(self.values) {
            let at = &mut next[row as usize];
            (columns[*at], values[*at]) = (column, value);
            *at += 1;
        }
        (starts, columns, values)
    }
}

/// Each row's columns in rising order, every column once.
fn tidied<T: Real>(
    mut starts: Vec<usize>,
    mut columns: Vec<u32>,
    mut values: Vec<T>,
) -> (Vec<usize>, Vec<u32>, Vec<T>) {
    let rises = |row: &[u32]| row.windows(2).all(|pair| pair[0] < pair[1]);
    if starts.windows(2).all(|pair| rises(&columns[pair[0]..pair[1]])) {
        return (starts, columns, values);
    }
    let mut kept = 0;
    let mut entries = Vec::new();
    let mut from = 0;
    for row in 1..starts.len() {
        let to = starts[row];
        entries.clear();
        entries.extend((from..to).map(|at| (columns[at], values[at])));
        // Stable: sums are the same whenever the file is.
        entries.sort_by_key(|&(column, _)| column);
        let first = kept;
        for &(column, value) in &entries {
            if kept > first && columns[kept - 1] == column {
                values[kept - 1] = T::from_f64(values[kept - 1].to_f64() + value.to_f64());
            } else {
                (columns[kept], values[kept]) = (column, value);
                kept += 1;
            }
        }
        (from, starts[row]) = (to, kept);
    }
    columns.truncate(kept);
    values.truncate(kept);
    (starts, columns, values)
}

/// The starts of so many lines, and the place across of each of the entries.
fn lines<R: Read + Seek>(
    arrays: &mut Arrays<R>,
    count: usize,
    across: usize,
    stored: usize,
) -> Result<(Vec<usize>, Vec<u32>)> {
    let starts = integers(arrays, "indptr", stored as u64)?;
    if starts.len() != count + 1 {
        let expected = format!("{} for a matrix of this shape", count + 1);
        return Err(in_array(broken(format!("{} starts", starts.len()), expected), "indptr"));
    }
    if let Some(line) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
        let found = format!("number {line} ending before it starts");
        return Err(in_array(broken(found, "rising starts"), "indptr"));
    }
    if starts.first() != Some(&0) || starts.last() != Some(&stored) {
        let found = format!("starts from {:?} to {:?}", starts.first(), starts.last());
        let expected = format!("starts from 0 to the {stored} entries stored");
        return Err(in_array(broken(found, expected), "indptr"));
    }
    let indices = integers(arrays, "indices", (across as u64).saturating_sub(1))?;
    expect_count(stored, indices.len(), "indices")?;
    Ok((starts, indices.into_iter().map(|index| index as u32).collect()))
}

fn expect_count(stored: usize, found: usize, name: &str) -> Result<()> {
    if stored == found {
        return Ok(());
    }
    let expected = format!("{stored}, for what is stored in `data`");
    Err(in_array(broken(format!("{found} numbers"), expected), name))
}

/// An array of whole numbers from 0 to `most`.
fn integers<R: Read + Seek>(arrays: &mut Arrays<R>, name: &str, most: u64) -> Result<Vec<usize>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let numbers = whole_numbers(arrays, name, 0, most)?;
    Ok(numbers.into_iter().map(|number| number as usize).collect())
}

fn whole_numbers<R: Read + Seek>(
    arrays: &mut Arrays<R>,
    name: &str,
    least: i64,
    most: i64,
) -> Result<Vec<i64>> {
    let (_, values) = arrays.numbers(name)?;
    let numbers = values.into_f64().into_iter().enumerate().map(|(at, value)| {
        // Casts are exact here: f64 holds every integer up to 2^53, more than any file has.
        let whole = value >= least as f64 && value <= most as f64 && value.fract() == 0.0;
        if whole && value <= (1u64 << 53) as f64 {
            return Ok(value as i64);
        }
        let expected = format!("a whole number from {least} to {most}");
        Err(in_array(broken(format!("{value} at {at}"), expected), name))
    });
    numbers.collect()
}

fn broken(found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
    Error::found(Place::default(), found, expected)
}

#[cfg(test)]
#[path = "scipy_tests.rs"]
mod tests;
