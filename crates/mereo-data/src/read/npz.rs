//! A zip of `NumPy` arrays: the data, perhaps labels and weights; or a sparse matrix as `SciPy`
//! saves it.

use std::io::{BufRead, BufReader, Read, Seek};

use mereo_core::{Absent, AnyTable, Error, Labels, Place, Real, Result, Sparse, Table};
use zip::ZipArchive;

use super::ReadOptions;
use super::array::{self, Values};
use super::csv::some_of;
use super::input::{Capped, most_bytes};
use super::npy::Header;

/// Names that the data array may have, best first; otherwise it is the only one with rows and
/// columns.
const DATA: [&str; 4] = ["X", "x", "data", "arr_0"];

/// Names under which labels are taken without being asked for.
const LABELS: [&str; 3] = ["y", "labels", "label"];

/// The name under which weights are taken without being asked for.
const WEIGHTS: &str = "weights";

/// Reads the data, labels and weights of an archive.
pub(super) fn parse(file: impl Read + Seek, options: &ReadOptions) -> Result<AnyTable> {
    let mut arrays = Arrays::open(file, options)?;
    let table = if ["indices", "indptr", "data", "shape"].iter().all(|name| arrays.has(name)) {
        arrays.sparse()?
    } else {
        let data = arrays.data_name()?;
        let (header, values) = arrays.numbers(&data)?;
        array::table(&header.shape, values).map_err(|e| in_array(e, &data))?
    };
    let labels = arrays.labels(options)?;
    let weights = arrays.weights(options)?;
    match table {
        AnyTable::F32(table) => with_rest(table, labels, weights).map(AnyTable::from),
        AnyTable::F64(table) => with_rest(table, labels, weights).map(AnyTable::from),
    }
}

fn with_rest<T: Real>(
    mut table: Table<T>,
    labels: Option<Labels>,
    weights: Option<Vec<f64>>,
) -> Result<Table<T>> {
    if let Some(labels) = labels {
        table = table.with_labels(labels)?;
    }
    if let Some(weights) = weights {
        table = table.with_weights(weights)?;
    }
    Ok(table)
}

/// The arrays of an archive, by name.
struct Arrays<R> {
    archive: ZipArchive<R>,
    /// Name of each array and its number among the archive's files.
    names: Vec<(String, usize)>,
    most_bytes: u64,
}

impl<R: Read + Seek> Arrays<R> {
    fn open(file: R, options: &ReadOptions) -> Result<Self> {
        let archive = ZipArchive::new(file)
            .map_err(|e| Error::found(Place::default(), e, "a zip of npy arrays"))?;
        let mut names = Vec::new();
        for (index, name) in archive.file_names().enumerate() {
            if let Some(name) = name.ok().as_deref().and_then(|n| n.strip_suffix(".npy")) {
                names.push((name.to_owned(), index));
            }
        }
        if names.is_empty() {
            let found = "a zip without npy arrays";
            return Err(Error::found(Place::default(), found, "a zip of npy arrays"));
        }
        Ok(Self { archive, names, most_bytes: most_bytes(options) })
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|(n, _)| n == name)
    }

    fn listed(&self) -> String {
        some_of(&self.names.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
    }

    /// Opens an array and hands its header and values to `take`.
    fn with<T>(
        &mut self,
        name: &str,
        take: impl FnOnce(&Header, &mut dyn BufRead) -> Result<T>,
    ) -> Result<T> {
        let most = self.most_bytes;
        let missing = || Error::found(Place::default(), "no such array", "an array of this name");
        let index = self.names.iter().find(|(n, _)| n == name).map(|&(_, index)| index);
        let result = index.ok_or_else(missing).and_then(|index| {
            let entry = self
                .archive
                .by_index(index)
                .map_err(|e| Error::found(Place::default(), e, "a readable array"))?;
            let mut reader = BufReader::new(Capped { inner: entry, most, left: most });
            let header = Header::read(&mut reader)?;
            take(&header, &mut reader)
        });
        result.map_err(|e| in_array(e, name))
    }

    fn numbers(&mut self, name: &str) -> Result<(Header, Values)> {
        self.with(name, |header, reader| Ok((header.clone(), header.values(reader)?)))
    }

    /// The array that holds the rows.
    fn data_name(&mut self) -> Result<String> {
        if let Some(name) = DATA.iter().find(|name| self.has(name)) {
            return Ok((*name).to_owned());
        }
        let mut tables = Vec::new();
        for (name, _) in self.names.clone() {
            if self.with(&name, |header, _| Ok(header.shape.len()))? >= 2 {
                tables.push(name);
            }
        }
        match (tables.pop(), tables.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(Error::found(
                Place::default(),
                format!("the arrays {}", self.listed()),
                "one array named `X` or `data`, or only one that has rows and columns",
            )),
        }
    }

    /// The array that an option names, or an error that lists what there is.
    fn asked(&self, option: &str, name: &str) -> Result<String> {
        if self.has(name) {
            return Ok(name.to_owned());
        }
        let problem = format!("there is no array `{name}`, only {}", self.listed());
        Err(Error::option(option, problem))
    }

    fn labels(&mut self, options: &ReadOptions) -> Result<Option<Labels>> {
        let name = match &options.label {
            Some(name) => self.asked("label", name)?,
            None => match LABELS.iter().find(|name| self.has(name)) {
                // Fractions are a target to predict, not classes, unless somebody says so.
                Some(name) if self.with(name, |header, _| Ok(header.is_countable()))? => {
                    (*name).to_owned()
                }
                _ => return Ok(None),
            },
        };
        self.with(&name, |header, reader| array::labels(&header.shape, header.texts(reader)?))
            .map(Some)
    }

    fn weights(&mut self, options: &ReadOptions) -> Result<Option<Vec<f64>>> {
        let name = match &options.weight {
            Some(name) => self.asked("weight", name)?,
            None if self.has(WEIGHTS) => WEIGHTS.to_owned(),
            None => return Ok(None),
        };
        Ok(Some(self.numbers(&name)?.1.into_f64()))
    }

    /// A matrix saved by `scipy.sparse.save_npz` in compressed-row form.
    fn sparse(&mut self) -> Result<AnyTable> {
        if self.has("format") {
            let format = self.with("format", |header, reader| header.texts(reader))?;
            if format.first() != Some(&Some("csr".to_owned())) {
                let found = format!("the sparse format {:?}", format.first().cloned().flatten());
                let expected = "`csr`; convert with .tocsr()";
                return Err(Error::found(Place::default(), found, expected));
            }
        }
        let shape = self.integers("shape", u64::from(u32::MAX) + 1)?;
        let [rows, columns] = shape[..] else {
            let found = format!("a sparse array of {} dimensions", shape.len());
            return Err(Error::found(Place::default(), found, "rows and columns"));
        };
        let (_, values) = self.numbers("data")?;
        let indices = self.integers("indices", (columns as u64).saturating_sub(1))?;
        let stored = match &values {
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
        };
        let starts = self.integers("indptr", stored as u64)?;
        if starts.len() != rows + 1 {
            let found = format!("{} row starts", starts.len());
            return Err(in_array(
                Error::found(Place::default(), found, format!("{} for {rows} rows", rows + 1)),
                "indptr",
            ));
        }
        if let Some(row) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            let found = format!("row {row} ending before it starts");
            return Err(in_array(
                Error::found(Place::default(), found, "rising row starts"),
                "indptr",
            ));
        }
        let indices: Vec<u32> = indices.into_iter().map(|index| index as u32).collect();
        if indices.len() != stored {
            let found = format!("{} column indices", indices.len());
            let expected = format!("one for each of the {stored} values");
            return Err(in_array(Error::found(Place::default(), found, expected), "indices"));
        }
        Ok(match values {
            Values::F32(values) => compressed(columns, starts, indices, values)?.into(),
            Values::F64(values) => compressed(columns, starts, indices, values)?.into(),
        })
    }

    /// An array of whole numbers from 0 to `most`.
    fn integers(&mut self, name: &str, most: u64) -> Result<Vec<usize>> {
        let (_, values) = self.numbers(name)?;
        let integers = values.into_f64().into_iter().enumerate().map(|(index, value)| {
            // Casts are exact here: f64 holds every integer up to 2^53, more than any file has.
            let whole = value >= 0.0 && value <= most as f64 && value.fract() == 0.0;
            if whole && value <= (1u64 << 53) as f64 {
                return Ok(value as usize);
            }
            let found = format!("{value} at {index}");
            let expected = format!("a whole number from 0 to {most}");
            Err(in_array(Error::found(Place::default(), found, expected), name))
        });
        integers.collect()
    }
}

fn compressed<T: Real>(
    columns: usize,
    starts: Vec<usize>,
    mut indices: Vec<u32>,
    mut values: Vec<T>,
) -> Result<Table<T>> {
    // SciPy allows any order within a row.
    for pair in starts.windows(2) {
        let row = pair[0]..pair[1];
        if !indices[row.clone()].is_sorted() {
            let mut entries: Vec<(u32, T)> =
                row.clone().map(|at| (indices[at], values[at])).collect();
            entries.sort_by_key(|&(column, _)| column);
            for (at, (column, value)) in row.zip(entries) {
                (indices[at], values[at]) = (column, value);
            }
        }
    }
    Ok(Table::from(Sparse::new(columns, starts, indices, values, Absent::Zero)?))
}

/// The same error, saying in which array.
fn in_array(error: Error, name: &str) -> Error {
    match error {
        Error::Data { place, found, expected } => {
            Error::Data { place, found: format!("in array `{name}` {found}"), expected }
        }
        other => other,
    }
}

#[cfg(test)]
#[path = "npz_tests.rs"]
mod tests;
