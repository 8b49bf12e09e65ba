//! One error type for every room: what went wrong, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of anything in mereo that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Where in somebody's data a problem was found: any of file, line, row and column.
///
/// ```
/// use mereo_core::Place;
/// let place = Place::file("heights.csv").line(3).column("age");
/// assert_eq!(place.to_string(), "heights.csv, line 3, column `age`");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Place {
    file: Option<PathBuf>,
    line: Option<u64>,
    row: Option<u64>,
    column: Option<String>,
}

impl Place {
    /// A place inside a file.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self { file: Some(path.as_ref().to_path_buf()), ..Self::default() }
    }

    /// A place in a table that has no file: a row counted from 0.
    pub fn at_row(row: usize) -> Self {
        Self::default().row(row)
    }

    /// The line of a text file, counted from 1.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The row of the table, counted from 0.
    #[must_use]
    pub fn row(mut self, row: usize) -> Self {
        self.row = Some(row as u64);
        self
    }

    /// The column, by name or number.
    #[must_use]
    pub fn column(mut self, column: impl fmt::Display) -> Self {
        self.column = Some(column.to_string());
        self
    }

    /// The same place, in this file if no file was known.
    #[must_use]
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.file.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(file) = &self.file {
            parts.push(file.display().to_string());
        }
        if let Some(line) = self.line {
            parts.push(format!("line {line}"));
        }
        if let Some(row) = self.row {
            parts.push(format!("row {row}"));
        }
        if let Some(column) = &self.column {
            parts.push(format!("column `{column}`"));
        }
        if parts.is_empty() {
            parts.push("the data".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}

/// What can go wrong, in words that a user can act on.
///
/// ```
/// use mereo_core::{Error, Place};
/// let error = Error::found(Place::file("a.csv").line(2).column("x"), "`abc`", "a number");
/// assert_eq!(error.to_string(), "a.csv, line 2, column `x`: found `abc`, expected a number");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something in the data is not what it should be.
    #[error("{place}: found {found}, expected {expected}")]
    Data {
        /// Where.
        place: Place,
        /// What stood there.
        found: String,
        /// What should have stood there.
        expected: String,
    },
    /// An option that the user chose cannot be used.
    #[error("option `{option}`: {problem}")]
    Option {
        /// The option's name.
        option: String,
        /// What is wrong with it and what to do.
        problem: String,
    },
    /// A model file that cannot be used.
    #[error("{}: not a usable model file: {problem}", path.display())]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A checkpoint that cannot be resumed.
    #[error("{}: this checkpoint cannot be resumed: {problem}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The model does not offer what was asked of it.
    #[error("models of kind {model} cannot {verb}")]
    Incapable {
        /// The kind of model.
        model: String,
        /// What it was asked to do.
        verb: String,
    },
    /// The operating system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// The work was interrupted before there was anything to keep.
    #[error("interrupted before the first pass was complete: nothing was learned")]
    Interrupted,
}

impl Error {
    /// Something in the data is not what it should be.
    pub fn found(place: Place, found: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self::Data { place, found: found.to_string(), expected: expected.to_string() }
    }

    /// An option that the user chose cannot be used.
    pub fn option(option: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Self::Option { option: option.to_string(), problem: problem.to_string() }
    }

    /// The operating system said no.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// A model file that cannot be used.
    pub fn model_file(path: impl AsRef<Path>, problem: impl fmt::Display) -> Self {
        Self::ModelFile { path: path.as_ref().to_path_buf(), problem: problem.to_string() }
    }

    /// The same error, naming this file if it named none.
    #[must_use]
    pub fn in_file(self, path: impl AsRef<Path>) -> Self {
        match self {
            Self::Data { place, found, expected } => {
                Self::Data { place: place.in_file(path), found, expected }
            }
            other => other,
        }
    }
}
