//! Rows and columns of numbers, dense or sparse, and what is known about them.

use crate::{
    About, ColumnKind, Error, Labels, Picture, Place, Real, Result, column_name, map_in_parallel,
};

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
        let complete = check_rows(columns, &values)?;
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

/// Checks rows that lie one after another, on all threads; says whether no cell is missing.
pub(crate) fn check_rows<T: Real>(columns: usize, values: &[T]) -> Result<bool> {
    let place = |at: usize| Place::at_row(at / columns.max(1)).column(at % columns.max(1));
    let pieces: Vec<&[T]> = values.chunks(PIECE).collect();
    let checked = map_in_parallel(pieces.len(), |piece| {
        check_cells(pieces[piece], |at| place(piece * PIECE + at))
    });
    let mut complete = true;
    for piece in checked {
        complete &= piece?;
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
        check_entries(columns, &starts, &indices, &values)?;
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

/// Checks the parts of a compressed-row table.
pub(crate) fn check_entries<T: Real>(
    columns: usize,
    starts: &[usize],
    indices: &[u32],
    values: &[T],
) -> Result<()> {
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
    check_cells(values, place).map(drop)
}

/// The numbers of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells<T> {
    /// Every cell has its place; missing ones are `NaN`.
    Dense(Dense<T>),
    /// Only some cells are stored.
    Sparse(Sparse<T>),
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
        if let Some(kinds) = about.kinds {
            table = table.with_kinds(kinds)?;
        }
        if let Some(ids) = about.ids {
            table = table.with_ids(ids)?;
        }
        table.about.id_name = about.id_name;
        if let Some(keys) = about.keys {
            table = table.with_keys(keys)?;
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

    /// Says what the file itself calls the columns, if their names are titles.
    pub fn with_keys(mut self, keys: Vec<String>) -> Result<Self> {
        if keys.len() != self.columns() {
            return Err(count_error("column keys", keys.len(), self.columns(), "columns"));
        }
        self.about.keys = Some(keys);
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

    /// Says what the cells of each column are; every observed cell must be such a cell.
    ///
    /// ```
    /// use mereo_core::{ColumnKind, Dense, Table};
    /// let levels = vec!["red".into(), "blue".into()];
    /// let kinds = vec![ColumnKind::Number, ColumnKind::Category { levels }];
    /// let table = Table::from(Dense::new(1, 2, vec![0.5, 1.0])?).with_kinds(kinds.clone())?;
    /// assert_eq!(table.about().kinds, Some(kinds.clone()));
    /// assert!(Table::from(Dense::new(1, 2, vec![0.5, 2.0])?).with_kinds(kinds).is_err());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn with_kinds(mut self, kinds: Vec<ColumnKind>) -> Result<Self> {
        if kinds.len() != self.columns() {
            return Err(count_error("kinds of columns", kinds.len(), self.columns(), "columns"));
        }
        let check = |row: usize, column: usize, value: T| {
            if value.is_missing() {
                return Ok(());
            }
            kinds[column].check(value.to_f64(), Place::at_row(row).column(column))
        };
        match &self.cells {
            Cells::Dense(cells) => {
                if kinds.iter().any(|kind| *kind != ColumnKind::Number) {
                    for row in 0..cells.rows() {
                        for (column, &value) in cells.row(row).iter().enumerate() {
                            check(row, column, value)?;
                        }
                    }
                }
            }
            Cells::Sparse(cells) => {
                for row in 0..cells.rows() {
                    let (columns, values) = cells.row(row);
                    for (&column, &value) in columns.iter().zip(values) {
                        check(row, column as usize, value)?;
                    }
                }
            }
        }
        self.about.kinds = Some(kinds);
        Ok(self)
    }

    /// Names the rows.
    pub fn with_ids(mut self, ids: Vec<String>) -> Result<Self> {
        if ids.len() != self.rows() {
            return Err(count_error("row ids", ids.len(), self.rows(), "rows"));
        }
        self.about.ids = Some(ids);
        Ok(self)
    }

    /// The name of a row: its own, or its number.
    pub fn row_name(&self, row: usize) -> String {
        self.about.row_name(row)
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
            kinds: self.about.kinds.clone(),
            ids: self.about.ids.as_ref().map(|ids| rows.iter().map(|&r| ids[r].clone()).collect()),
            id_name: self.about.id_name.clone(),
            keys: self.about.keys.clone(),
        };
        Self { cells, about }
    }
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
