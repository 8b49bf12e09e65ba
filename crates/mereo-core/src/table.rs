//! Rows and columns of numbers, dense or sparse, and what is known about them.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::{Error, Place, Real, Result, map_in_parallel};

/// Cells that one thread checks in one go.
const PIECE: usize = 1 << 18;

/// Values of a table, row after row, with `NaN` where a cell is missing.
///
/// ```
/// use mereo_core::Dense;
/// let cells = Dense::new(2, 2, vec![1.0, f64::NAN, 3.0, 4.0])?;
/// assert!(!cells.is_complete());
/// assert_eq!(cells.row(1), &[3.0, 4.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dense<T> {
    rows: usize,
    columns: usize,
    values: Vec<T>,
    complete: bool,
}

impl<T: Real> Dense<T> {
    /// Takes values in row-major order; `NaN` means missing, infinity is an error.
    pub fn new(rows: usize, columns: usize, values: Vec<T>) -> Result<Self> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return Err(Error::found(
                Place::default(),
                format!("{} values", values.len()),
                format!("{rows} rows x {columns} columns"),
            ));
        }
        let place = |at: usize| Place::at_row(at / columns.max(1)).column(at % columns.max(1));
        let pieces: Vec<&[T]> = values.chunks(PIECE).collect();
        let checked = map_in_parallel(pieces.len(), |piece| {
            check_cells(pieces[piece], |at| place(piece * PIECE + at))
        });
        let mut complete = true;
        for piece in checked {
            complete &= piece?;
        }
        Ok(Self { rows, columns, values, complete })
    }

    /// Takes numbers that a model gave, to be written and not to be learned from: they may have any
    /// finite magnitude.
    ///
    /// ```
    /// use mereo_core::Dense;
    /// assert!(Dense::new(1, 1, vec![-4e200]).is_err());
    /// assert_eq!(Dense::of_results(1, 1, vec![-4e200])?.values(), [-4e200]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn of_results(rows: usize, columns: usize, mut values: Vec<T>) -> Result<Self> {
        let large: Vec<(usize, T)> = values
            .iter_mut()
            .enumerate()
            .filter(|(_, value)| value.to_f64().abs() > T::LARGEST && !value.is_infinity())
            .map(|(at, value)| (at, std::mem::replace(value, T::ZERO)))
            .collect();
        let mut cells = Self::new(rows, columns, values)?;
        for (at, value) in large {
            cells.values[at] = value;
        }
        Ok(cells)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All values in row-major order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values in row-major order, given away.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[T] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// Whether no cell is missing.
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

/// Whether no cell is missing; an error that names the first value that no model could use.
///
/// ```
/// use mereo_core::{Place, check_cells};
/// assert!(check_cells(&[1.0, 2.0], Place::at_row)?);
/// assert!(!check_cells(&[1.0, f64::NAN], Place::at_row)?);
/// assert!(check_cells(&[1.0, f64::INFINITY], Place::at_row).is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn check_cells<T: Real>(values: &[T], place: impl Fn(usize) -> Place) -> Result<bool> {
    const BLOCK: usize = 1024;
    let fine = |value: &T| value.to_f64().abs() <= T::LARGEST;
    let mut complete = true;
    // Whole blocks without a branch inside, so that the usual case runs in vectors.
    for (block, cells) in values.chunks(BLOCK).enumerate() {
        if cells.iter().fold(true, |all, value| all & fine(value)) {
            continue;
        }
        complete = false;
        let bad = |value: &T| !fine(value) && !value.is_missing();
        let Some(at) = cells.iter().position(bad) else { continue };
        let place = place(block * BLOCK + at);
        return Err(if cells[at].is_infinity() {
            let expected = "a finite number, or NaN where the value is missing";
            Error::found(place, "infinity", expected)
        } else {
            let most = format!("a magnitude of at most {:e} for {} data", T::LARGEST, T::NAME);
            Error::found(place, cells[at], format!("{most}; rescale the column"))
        });
    }
    Ok(complete)
}

/// What a cell that is not stored in a sparse table means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Absent {
    /// Nobody knows its value: a film that was not rated.
    Unobserved,
    /// Its value is known to be zero: a word that did not occur.
    Zero,
}

/// A sparse table in compressed-row form.
///
/// ```
/// use mereo_core::{Absent, Sparse};
/// let ratings = Sparse::new(3, vec![0, 2, 3], vec![0, 2, 1], vec![5.0f32, 3.0, 1.0], Absent::Unobserved)?;
/// assert_eq!(ratings.row(0), (&[0u32, 2][..], &[5.0f32, 3.0][..]));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse<T> {
    columns: usize,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<T>,
    absent: Absent,
}

impl<T: Real> Sparse<T> {
    /// Takes the parts of a compressed-row table: row `r` holds the entries
    /// `starts[r]..starts[r+1]`, with strictly rising column indices and no `NaN`.
    pub fn new(
        columns: usize,
        starts: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<T>,
        absent: Absent,
    ) -> Result<Self> {
        let broken =
            |found: String, expected: &str| Err(Error::found(Place::default(), found, expected));
        if starts.first() != Some(&0) || starts.last() != Some(&values.len()) {
            return broken(
                format!("row starts from {:?} to {:?}", starts.first(), starts.last()),
                "starts from 0 to the number of stored values",
            );
        }
        if indices.len() != values.len() {
            return broken(
                format!("{} column indices for {} values", indices.len(), values.len()),
                "as many indices as values",
            );
        }
        if let Some(row) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            return broken(format!("row {row} ending before it starts"), "rising row starts");
        }
        for (row, pair) in starts.windows(2).enumerate() {
            let row_indices = &indices[pair[0]..pair[1]];
            if let Some([left, right, ..]) = row_indices.windows(2).find(|w| w[0] >= w[1]) {
                return Err(Error::found(
                    Place::at_row(row),
                    format!("column {left} stored before column {right}"),
                    "each column at most once, in rising order",
                ));
            }
            if let Some(&last) = row_indices.last()
                && last as usize >= columns
            {
                return Err(Error::found(
                    Place::at_row(row),
                    format!("column index {last}"),
                    format!("an index below {columns}"),
                ));
            }
        }
        let place =
            |at: usize| Place::at_row(starts.partition_point(|&s| s <= at) - 1).column(indices[at]);
        if let Some(at) = values.iter().position(|v| v.is_missing()) {
            return Err(Error::found(
                place(at),
                "NaN",
                "a number: leave unknown cells out of a sparse table",
            ));
        }
        check_cells(&values, place)?;
        Ok(Self { columns, starts, indices, values, absent })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Where each row starts among the stored entries; one more than there are rows.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Column index of each stored entry.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Value of each stored entry.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// What a cell that is not stored means.
    pub fn absent(&self) -> Absent {
        self.absent
    }

    /// One row: column indices and values.
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.indices[range.clone()], &self.values[range])
    }
}

/// The numbers of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells<T> {
    /// Every cell has its place; missing ones are `NaN`.
    Dense(Dense<T>),
    /// Only some cells are stored.
    Sparse(Sparse<T>),
}

/// Height, width and channels of the picture that each row is (row-major, channels last).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Picture {
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// 1 for grey, 3 for red, green, blue.
    pub channels: usize,
}

impl Picture {
    /// Number of columns that such a picture fills; `None` if that overflows.
    pub fn columns(&self) -> Option<usize> {
        self.height.checked_mul(self.width)?.checked_mul(self.channels)
    }
}

/// A class for each row, where it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Labels {
    /// Name of each class.
    pub names: Vec<String>,
    /// For each row an index into `names`, or none where the row has no label.
    pub of_row: Vec<Option<u32>>,
}

impl Labels {
    /// Labels from one optional text a row; classes are numbered in alphabetical order, or in
    /// numerical order if all are numbers.
    ///
    /// ```
    /// use mereo_core::Labels;
    /// let labels = Labels::from_texts([Some("dog"), None, Some("cat")]);
    /// assert_eq!(labels.names, ["cat", "dog"]);
    /// assert_eq!(labels.of_row, [Some(1), None, Some(0)]);
    /// ```
    pub fn from_texts<S: AsRef<str>>(texts: impl IntoIterator<Item = Option<S>>) -> Self {
        let texts: Vec<Option<String>> =
            texts.into_iter().map(|t| t.map(|t| t.as_ref().to_owned())).collect();
        let mut names: Vec<String> = texts.iter().flatten().cloned().collect();
        let number = |text: &str| text.trim().parse::<f64>().ok();
        if names.iter().all(|name| number(name).is_some()) {
            names.sort_by(|a, b| {
                number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal).then(a.cmp(b))
            });
        } else {
            names.sort();
        }
        names.dedup();
        let index: HashMap<&str, u32> =
            names.iter().enumerate().map(|(i, name)| (name.as_str(), i as u32)).collect();
        let of_row =
            texts.iter().map(|t| t.as_ref().and_then(|t| index.get(t.as_str()).copied())).collect();
        Self { names, of_row }
    }
}

/// What is known about a table beside its numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// Names of the columns, if they have any.
    pub names: Option<Vec<String>>,
    /// Classes of the rows, if they are known.
    pub labels: Option<Labels>,
    /// How often each row counts: 2 is the row twice, 0 the row removed.
    pub weights: Option<Vec<f64>>,
    /// The picture that each row is, if it is one.
    pub picture: Option<Picture>,
}

/// Rows and columns of numbers, and what is known about them.
///
/// ```
/// use mereo_core::{Dense, Table};
/// let table = Table::from(Dense::new(1, 2, vec![1.0f32, 2.0])?)
///     .with_names(vec!["height".into(), "age".into()])?;
/// assert_eq!(table.name(1), "age");
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table<T> {
    cells: Cells<T>,
    about: About,
}

impl<T: Real> From<Dense<T>> for Table<T> {
    fn from(cells: Dense<T>) -> Self {
        Self { cells: Cells::Dense(cells), about: About::default() }
    }
}

impl<T: Real> From<Sparse<T>> for Table<T> {
    fn from(cells: Sparse<T>) -> Self {
        Self { cells: Cells::Sparse(cells), about: About::default() }
    }
}

impl<T: Real> Table<T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match &self.cells {
            Cells::Dense(cells) => cells.rows(),
            Cells::Sparse(cells) => cells.rows(),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        match &self.cells {
            Cells::Dense(cells) => cells.columns(),
            Cells::Sparse(cells) => cells.columns(),
        }
    }

    /// The numbers.
    pub fn cells(&self) -> &Cells<T> {
        &self.cells
    }

    /// What is known beside the numbers.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The numbers and what is known about them, given away.
    pub fn into_parts(self) -> (Cells<T>, About) {
        (self.cells, self.about)
    }

    /// The name of a column: its own, or its number.
    pub fn name(&self, column: usize) -> String {
        column_name(self.about.names.as_deref(), column)
    }

    /// The same numbers with all of this known about them.
    pub fn with_about(self, about: About) -> Result<Self> {
        let mut table = Self { cells: self.cells, about: About::default() };
        if let Some(names) = about.names {
            table = table.with_names(names)?;
        }
        if let Some(labels) = about.labels {
            table = table.with_labels(labels)?;
        }
        if let Some(weights) = about.weights {
            table = table.with_weights(weights)?;
        }
        if let Some(picture) = about.picture {
            table = table.with_picture(picture)?;
        }
        Ok(table)
    }

    /// Names the columns.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.columns() {
            return Err(count_error("column names", names.len(), self.columns(), "columns"));
        }
        self.about.names = Some(names);
        Ok(self)
    }

    /// Gives the rows classes.
    pub fn with_labels(mut self, labels: Labels) -> Result<Self> {
        if labels.of_row.len() != self.rows() {
            return Err(count_error("labels", labels.of_row.len(), self.rows(), "rows"));
        }
        if let Some(row) =
            labels.of_row.iter().position(|l| l.is_some_and(|l| l as usize >= labels.names.len()))
        {
            return Err(Error::found(
                Place::at_row(row),
                format!("label number {:?}", labels.of_row[row]),
                format!("one of the {} classes", labels.names.len()),
            ));
        }
        self.about.labels = Some(labels);
        Ok(self)
    }

    /// Gives the rows weights: finite, at least 0, not all 0.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.rows() {
            return Err(count_error("weights", weights.len(), self.rows(), "rows"));
        }
        if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            return Err(Error::found(
                Place::at_row(row),
                format!("weight {}", weights[row]),
                "a weight of at least 0",
            ));
        }
        self.about.weights = Some(weights);
        Ok(self)
    }

    /// Says that each row is a picture.
    pub fn with_picture(mut self, picture: Picture) -> Result<Self> {
        if picture.columns() != Some(self.columns()) {
            return Err(Error::found(
                Place::default(),
                format!(
                    "pictures of {} x {} x {}",
                    picture.height, picture.width, picture.channels
                ),
                format!("as many pixels as there are columns: {}", self.columns()),
            ));
        }
        self.about.picture = Some(picture);
        Ok(self)
    }

    /// The table of these rows, in this order (a row may appear more than once).
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let cells = match &self.cells {
            Cells::Dense(cells) => {
                let values: Vec<T> =
                    rows.iter().flat_map(|&r| cells.row(r).iter().copied()).collect();
                let complete = cells.complete || !values.iter().any(|v| v.is_missing());
                Cells::Dense(Dense { rows: rows.len(), columns: cells.columns, values, complete })
            }
            Cells::Sparse(cells) => {
                let mut starts = vec![0];
                let (mut indices, mut values) = (Vec::new(), Vec::new());
                for &row in rows {
                    let (i, v) = cells.row(row);
                    indices.extend_from_slice(i);
                    values.extend_from_slice(v);
                    starts.push(values.len());
                }
                let (columns, absent) = (cells.columns, cells.absent);
                Cells::Sparse(Sparse { columns, starts, indices, values, absent })
            }
        };
        let about = About {
            names: self.about.names.clone(),
            labels: self.about.labels.as_ref().map(|labels| Labels {
                names: labels.names.clone(),
                of_row: rows.iter().map(|&r| labels.of_row[r]).collect(),
            }),
            weights: self.about.weights.as_ref().map(|w| rows.iter().map(|&r| w[r]).collect()),
            picture: self.about.picture,
        };
        Self { cells, about }
    }
}

/// The name of a column: its own, or its number.
pub fn column_name(names: Option<&[String]>, column: usize) -> String {
    names.and_then(|n| n.get(column)).cloned().unwrap_or_else(|| column.to_string())
}

fn count_error(what: &str, found: usize, expected: usize, of: &str) -> Error {
    Error::found(
        Place::default(),
        format!("{found} {what}"),
        format!("one for each of the {expected} {of}"),
    )
}

/// A table in whichever number type its data came.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyTable {
    /// Single precision.
    F32(Table<f32>),
    /// Double precision.
    F64(Table<f64>),
}

/// Runs the same expression on the table inside an [`AnyTable`], whatever its number type.
///
/// ```
/// use mereo_core::{AnyTable, Dense, Table, with_table};
/// let any = AnyTable::F32(Table::from(Dense::new(1, 1, vec![1.0f32])?));
/// assert_eq!(with_table!(&any, table => table.rows()), 1);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[macro_export]
macro_rules! with_table {
    ($any:expr, $table:ident => $body:expr) => {
        match $any {
            $crate::AnyTable::F32($table) => $body,
            $crate::AnyTable::F64($table) => $body,
        }
    };
}

impl AnyTable {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        with_table!(self, t => t.rows())
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        with_table!(self, t => t.columns())
    }

    /// What is known beside the numbers.
    pub fn about(&self) -> &About {
        with_table!(self, t => t.about())
    }
}

impl From<Table<f32>> for AnyTable {
    fn from(table: Table<f32>) -> Self {
        Self::F32(table)
    }
}

impl From<Table<f64>> for AnyTable {
    fn from(table: Table<f64>) -> Self {
        Self::F64(table)
    }
}
