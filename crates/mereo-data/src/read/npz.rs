//! A zip of `NumPy` arrays: the data, perhaps labels and weights; or a sparse matrix as `SciPy`
//! saves it.

use std::io::{BufRead, BufReader, Read, Seek};

use mereo_core::{AnyTable, Error, Labels, Place, Real, Result, Table};
use zip::ZipArchive;

use super::ReadOptions;
use super::array::{self, Values};
use super::csv::some_of;
use super::input::{Capped, most_bytes};
use super::npy::Header;
use super::scipy;

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
    let table = if scipy::is_sparse(&arrays) {
        scipy::read(&mut arrays, options.absent)?
    } else if options.absent.is_some() {
        let problem = "it has no meaning for an npz of whole arrays, only for a sparse matrix";
        return Err(Error::option("absent", problem));
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
pub(super) struct Arrays<R> {
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

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|(n, _)| n == name)
    }

    fn listed(&self) -> String {
        some_of(&self.names.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
    }

    /// Opens an array and hands its header and values to `take`.
    pub(super) fn with<T>(
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

    pub(super) fn numbers(&mut self, name: &str) -> Result<(Header, Values)> {
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
}

/// The same error, saying in which array.
pub(super) fn in_array(error: Error, name: &str) -> Error {
    match error {
        Error::Data { place, found, expected } => {
            Error::Data { place, found: format!("in array `{name}` {found}"), expected }
        }
        other => other,
    }
}

#[cfg(test)]
#[path = "npz_tests.rs"]
pub(super) mod tests;
