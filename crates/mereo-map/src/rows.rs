//! The rows that a map is made of, and distances between them.

use mereo_core::math::{dot, widest};
use mereo_core::{Error, Place, Real, Result, Source, column_name};

/// Rows without holes, measured from their mean, so that an offset of a million costs nothing.
///
/// ```
/// use mereo_core::{Dense, Table};
/// let table = Table::from(Dense::new(2, 2, vec![1e6, 0.0, 1e6 + 2.0, 4.0])?);
/// let rows = mereo_map::Rows::read(&table)?;
/// assert_eq!((rows.row(0), rows.centre()), (&[-1.0, -2.0][..], &[1e6 + 1.0, 2.0][..]));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
    centre: Vec<f64>,
    weights: Option<Vec<f64>>,
}

impl Rows {
    /// Takes all rows of a source. A missing cell is an error: distances need every cell, and what a
    /// model makes of rows with holes has them.
    pub fn read<T: Real>(source: &dyn Source<T>) -> Result<Self> {
        let mut rows = Self::raw(source)?;
        let mut centre = vec![0.0; rows.columns];
        // A first guess and what is left of it: exact enough for any offset.
        for _ in 0..2 {
            let mut more = vec![0.0; rows.columns];
            for row in rows.values.chunks_exact(rows.columns.max(1)) {
                for ((m, x), c) in more.iter_mut().zip(row).zip(&centre) {
                    *m += (x - c) / rows.rows as f64;
                }
            }
            centre.iter_mut().zip(more).for_each(|(c, m)| *c += m);
        }
        rows.measure_from(&centre);
        Ok(rows)
    }

    /// As [`read`](Self::read), measured from a centre that is known: new rows for a finished map.
    pub fn read_about<T: Real>(source: &dyn Source<T>, centre: &[f64]) -> Result<Self> {
        if source.columns() != centre.len() {
            return Err(Error::found(
                Place::default(),
                format!("rows of {} columns", source.columns()),
                format!("the {} columns that the map was made of", centre.len()),
            ));
        }
        let mut rows = Self::raw(source)?;
        rows.measure_from(centre);
        Ok(rows)
    }

    fn raw<T: Real>(source: &dyn Source<T>) -> Result<Self> {
        let (rows, columns) = (source.rows(), source.columns());
        let too_many = || {
            Error::found(
                Place::default(),
                format!("{rows} rows of {columns} columns"),
                "as many cells as fit in memory; map fewer columns, the codes of a model say",
            )
        };
        let cells = rows.checked_mul(columns).filter(|&n| n < 1 << 40).ok_or_else(too_many)?;
        let mut values: Vec<f64> = Vec::new();
        values.try_reserve_exact(cells).map_err(|_| too_many())?;
        let mut weights: Option<Vec<f64>> = None;
        let mut row_cells = vec![T::ZERO; columns];
        let mut lane = source.lane(0..source.batches())?;
        while let Some(batch) = lane.next_batch()? {
            for row in 0..batch.rows {
                batch.dense_row(row, &mut row_cells);
                if let Some(column) = row_cells.iter().position(|x| x.is_missing()) {
                    let names = source.about().names.as_deref();
                    return Err(Error::found(
                        Place::at_row(batch.first_row + row).column(column_name(names, column)),
                        "a missing cell",
                        "rows without holes: distances need every cell. Learn a model that is at \
                         home with holes, and map what it makes of the rows",
                    ));
                }
                values.extend(row_cells.iter().map(|x| x.to_f64()));
            }
            if let Some(own) = batch.weights {
                weights.get_or_insert_with(Vec::new).extend_from_slice(own);
            }
        }
        Ok(Self { rows, columns, values, centre: vec![0.0; columns], weights })
    }

    fn measure_from(&mut self, centre: &[f64]) {
        for row in self.values.chunks_exact_mut(self.columns.max(1)) {
            row.iter_mut().zip(centre).for_each(|(x, c)| *x -= c);
        }
        self.centre = centre.to_vec();
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row, measured from the centre.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// All cells, row after row, measured from the centre.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// What cells are measured from.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// How often each row counts, if not once.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The same rows, counting so often each.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        check_weights(&weights, self.rows)?;
        self.weights = Some(weights);
        Ok(self)
    }

    /// Some of the rows, measured from the same centre.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            rows: rows.len(),
            columns: self.columns,
            values: rows.iter().flat_map(|&r| self.row(r).iter().copied()).collect(),
            centre: self.centre.clone(),
            weights: self.weights.as_ref().map(|w| rows.iter().map(|&r| w[r]).collect()),
        }
    }
}

pub(crate) fn check_weights(weights: &[f64], rows: usize) -> Result<()> {
    if weights.len() != rows {
        let found = format!("{} weights", weights.len());
        return Err(Error::found(Place::default(), found, format!("one for each of {rows} rows")));
    }
    match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        None => Ok(()),
        Some(row) => Err(Error::found(
            Place::at_row(row),
            format!("the weight {}", weights[row]),
            "a number of at least 0",
        )),
    }
}

/// `|a - b|²`, added up in the same order whoever asks.
pub(crate) fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    widest(
        #[inline(always)]
        || {
            let ((a8, a_rest), (b8, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
            let mut sums = [0.0; 8];
            for (a, b) in a8.iter().zip(b8) {
                for k in 0..8 {
                    let apart = a[k] - b[k];
                    sums[k] += apart * apart;
                }
            }
            let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b) * (a - b)).sum();
            sums.into_iter().sum::<f64>() + rest
        },
    )
}

/// `|a|²`.
pub(crate) fn square_norm(a: &[f64]) -> f64 {
    dot(a, a)
}
