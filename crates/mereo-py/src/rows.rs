//! Arrays of Python as sources of rows, without copying them where their types allow it.

use std::borrow::Cow;

use mereo::{About, Absent, Cells, Error, Labels, Picture, Place, Real, Source, Table, View};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::{array, raised};

/// Rows as Python gave them, borrowed for as long as this lives.
pub(crate) enum Given<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
    Sparse32(Compressed<'py, f32>),
    Sparse64(Compressed<'py, f64>),
}

/// The arrays of a compressed-row matrix.
pub(crate) struct Compressed<'py, T: numpy::Element> {
    starts: Whole<'py>,
    indices: Whole<'py>,
    values: PyReadonlyArray1<'py, T>,
    columns: usize,
    absent: Absent,
}

enum Whole<'py> {
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
}

/// Rows of either type of cells.
pub(crate) enum Rows<'a> {
    F32(View<'a, f32>),
    F64(View<'a, f64>),
}

/// Runs the same expression on rows of either type.
macro_rules! with_rows {
    ($rows:expr, $source:ident => $body:expr) => {
        match $rows {
            $crate::rows::Rows::F32($source) => $body,
            $crate::rows::Rows::F64($source) => $body,
        }
    };
}
pub(crate) use with_rows;

impl<'py> Given<'py> {
    /// A two-dimensional array in C order, or `(indptr, indices, data, columns, missing)`.
    pub(crate) fn of(data: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(dense) = data.cast::<PyArray2<f64>>() {
            return Ok(Self::F64(dense.try_readonly()?));
        }
        if let Ok(dense) = data.cast::<PyArray2<f32>>() {
            return Ok(Self::F32(dense.try_readonly()?));
        }
        let Ok(parts) = data.cast::<PyTuple>() else {
            let problem = "rows must be a two-dimensional array of float32 or float64";
            return Err(PyTypeError::new_err(problem));
        };
        let (starts, indices) = (Whole::of(&parts.get_item(0)?)?, Whole::of(&parts.get_item(1)?)?);
        let values = parts.get_item(2)?;
        let columns: usize = parts.get_item(3)?.extract()?;
        let absent = match parts.get_item(4)?.extract::<String>()?.as_str() {
            "zero" => Absent::Zero,
            _ => Absent::Unobserved,
        };
        if let Ok(values) = values.cast::<PyArray1<f32>>() {
            let values = values.try_readonly()?;
            return Ok(Self::Sparse32(Compressed { starts, indices, values, columns, absent }));
        }
        let values = values.cast::<PyArray1<f64>>()?.try_readonly()?;
        Ok(Self::Sparse64(Compressed { starts, indices, values, columns, absent }))
    }

    /// How many cells there are to look at.
    pub(crate) fn cells(&self) -> usize {
        match self {
            Self::F32(array) => array.len(),
            Self::F64(array) => array.len(),
            Self::Sparse32(sparse) => sparse.values.len(),
            Self::Sparse64(sparse) => sparse.values.len(),
        }
    }

    /// The cells, as they can be sent to other threads.
    pub(crate) fn lend(&self) -> PyResult<Lent<'_>> {
        Ok(match self {
            Self::F32(array) => {
                let shape = array.shape();
                Lent::F32(shape[0], shape[1], array.as_slice()?)
            }
            Self::F64(array) => {
                let shape = array.shape();
                Lent::F64(shape[0], shape[1], array.as_slice()?)
            }
            Self::Sparse32(sparse) => {
                let (starts, indices) = (sparse.starts.starts()?, sparse.indices.indices()?);
                Lent::Sparse32(
                    starts,
                    indices,
                    sparse.values.as_slice()?,
                    sparse.columns,
                    sparse.absent,
                )
            }
            Self::Sparse64(sparse) => {
                let (starts, indices) = (sparse.starts.starts()?, sparse.indices.indices()?);
                Lent::Sparse64(
                    starts,
                    indices,
                    sparse.values.as_slice()?,
                    sparse.columns,
                    sparse.absent,
                )
            }
        })
    }
}

/// Cells that are lent, not yet checked.
pub(crate) enum Lent<'a> {
    F32(usize, usize, &'a [f32]),
    F64(usize, usize, &'a [f64]),
    Sparse32(Cow<'a, [usize]>, Cow<'a, [u32]>, &'a [f32], usize, Absent),
    Sparse64(Cow<'a, [usize]>, Cow<'a, [u32]>, &'a [f64], usize, Absent),
}

impl<'a> Lent<'a> {
    /// The rows, checked, with what is known about them.
    pub(crate) fn rows(self, about: About) -> mereo::Result<Rows<'a>> {
        Ok(match self {
            Self::F32(rows, columns, values) => {
                Rows::F32(View::dense(rows, columns, values)?.with_about(about)?)
            }
            Self::F64(rows, columns, values) => {
                Rows::F64(View::dense(rows, columns, values)?.with_about(about)?)
            }
            Self::Sparse32(starts, indices, values, columns, absent) => {
                let view = View::sparse(columns, starts, indices, values, absent)?;
                Rows::F32(view.with_about(about)?)
            }
            Self::Sparse64(starts, indices, values, columns, absent) => {
                let view = View::sparse(columns, starts, indices, values, absent)?;
                Rows::F64(view.with_about(about)?)
            }
        })
    }
}

impl<'py> Whole<'py> {
    fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = array.cast::<PyArray1<i32>>() {
            return Ok(Self::I32(array.try_readonly()?));
        }
        Ok(Self::I64(array.cast::<PyArray1<i64>>()?.try_readonly()?))
    }

    fn starts(&self) -> PyResult<Cow<'_, [usize]>> {
        match self {
            Self::I32(array) => converted(array.as_slice()?),
            Self::I64(array) => {
                let starts = array.as_slice()?;
                // Where the types are of one width a negative start becomes a huge one, which is refused.
                bytemuck::try_cast_slice(starts)
                    .map_or_else(|_| converted(starts), |s| Ok(s.into()))
            }
        }
    }

    fn indices(&self) -> PyResult<Cow<'_, [u32]>> {
        match self {
            Self::I32(array) => Ok(bytemuck::cast_slice(array.as_slice()?).into()),
            Self::I64(array) => converted(array.as_slice()?),
        }
    }
}

/// Numbers of another width.
fn converted<'a, A: Copy + std::fmt::Display, B: TryFrom<A> + Clone>(
    numbers: &[A],
) -> PyResult<Cow<'a, [B]>> {
    let bad = |number: &A| {
        raised(Error::found(Place::default(), format!("the index {number}"), "one from 0 up"))
    };
    let all = numbers.iter().map(|number| B::try_from(*number).map_err(|_| bad(number)));
    all.collect::<PyResult<Vec<B>>>().map(Into::into)
}

/// What is known about rows: names of columns, weights, labels (names, and each row's or -1), picture.
#[derive(FromPyObject)]
pub(crate) struct Known<'py> {
    names: Option<Vec<String>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    labels: Option<(Vec<String>, PyReadonlyArray1<'py, i32>)>,
    picture: Option<(usize, usize, usize)>,
}

impl Known<'_> {
    pub(crate) fn about(&self) -> PyResult<About> {
        let labels = match &self.labels {
            None => None,
            Some((names, of_row)) => Some(labels(names, of_row.as_slice()?)),
        };
        let weights = match &self.weights {
            None => None,
            Some(weights) => Some(weights.as_slice()?.to_vec()),
        };
        let picture =
            self.picture.map(|(height, width, channels)| Picture { height, width, channels });
        Ok(About { names: self.names.clone(), weights, labels, picture, ..About::default() })
    }
}

/// Labels in the order in which files have them.
fn labels(names: &[String], of_row: &[i32]) -> Labels {
    let sorted = Labels::from_texts(names.iter().map(Some));
    let number = |label: i32| {
        let label = usize::try_from(label).ok()?;
        sorted.of_row.get(label).copied().flatten()
    };
    Labels { of_row: of_row.iter().map(|&label| number(label)).collect(), names: sorted.names }
}

/// The cells of a table as an array, given away.
pub(crate) fn cells<T: Real + numpy::Element>(
    py: Python<'_>,
    cells: Cells<T>,
) -> PyResult<Bound<'_, PyAny>> {
    match cells {
        Cells::Dense(dense) => {
            let shape = [dense.rows(), dense.columns()];
            array(py, dense.into_values(), &shape)
        }
        Cells::Sparse(_) => Err(PyTypeError::new_err("these rows are sparse")),
    }
}

/// The rows of a table in full.
pub(crate) fn full<'py, T: Real + numpy::Element>(
    py: Python<'py>,
    table: &Table<T>,
) -> PyResult<Bound<'py, PyAny>> {
    let (rows, columns) = (table.rows(), table.columns());
    let mut values = vec![T::MISSING; rows * columns];
    let mut lane = Source::lane(table, 0..Source::batches(table)).map_err(raised)?;
    while let Some(batch) = lane.next_batch().map_err(raised)? {
        for row in 0..batch.rows {
            let start = (batch.first_row + row) * columns;
            batch.dense_row(row, &mut values[start..start + columns]);
        }
    }
    array(py, values, &[rows, columns])
}
