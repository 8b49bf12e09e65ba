//! Arrays of numbers with any number of dimensions, as tables. The first dimension counts rows;
//! with three or four dimensions each row is a picture.

use std::path::Path;

use mereo_core::{AnyTable, Dense, Error, Labels, Picture, Place, Real, Result, Table};

use super::{Input, ReadOptions, idx, npy};
use crate::Kind;
use crate::kind::kind_of;

/// Numbers in the type that they are kept in.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    /// The numbers as texts, none where they are missing: what labels are made of.
    pub(super) fn texts(&self) -> Vec<Option<String>> {
        fn texts<T: Real>(values: &[T]) -> Vec<Option<String>> {
            values.iter().map(|v| (!v.is_missing()).then(|| v.to_string())).collect()
        }
        match self {
            Self::F32(values) => texts(values),
            Self::F64(values) => texts(values),
        }
    }

    /// The numbers in double precision.
    pub(super) fn into_f64(self) -> Vec<f64> {
        match self {
            Self::F32(values) => values.into_iter().map(f64::from).collect(),
            Self::F64(values) => values,
        }
    }
}

/// How many cells an array of this shape has. An empty dimension does not excuse the others:
/// the product of any of them can be trusted not to overflow.
pub(super) fn cells(shape: &[u64]) -> Result<usize> {
    let product = shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n.max(1)));
    let cells = if shape.contains(&0) { product.map(|_| 0) } else { product };
    cells.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
        Error::found(
            Place::default(),
            format!("an array of {}", show(shape)),
            "a shape whose number of cells can be counted",
        )
    })
}

/// A shape as an error message shows it.
pub(super) fn show(shape: &[u64]) -> String {
    match shape {
        [] => "no dimensions".to_owned(),
        _ => shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x "),
    }
}

/// The table of an array whose values come in row-major order.
pub(super) fn table(shape: &[u64], values: Values) -> Result<AnyTable> {
    match values {
        Values::F32(values) => dense(shape, values).map(AnyTable::from),
        Values::F64(values) => dense(shape, values).map(AnyTable::from),
    }
}

fn dense<T: Real>(shape: &[u64], values: Vec<T>) -> Result<Table<T>> {
    cells(shape)?;
    let size = |n: u64| n as usize;
    let (rows, columns, picture) = match *shape {
        [rows] => (rows, 1, None),
        [rows, columns] => (rows, size(columns), None),
        [rows, height, width] => {
            let picture = Picture { height: size(height), width: size(width), channels: 1 };
            (rows, size(height * width), Some(picture))
        }
        [rows, height, width, channels @ (1 | 3)] => {
            let channels = size(channels);
            let picture = Picture { height: size(height), width: size(width), channels };
            (rows, size(height * width) * channels, Some(picture))
        }
        _ => {
            return Err(Error::found(
                Place::default(),
                format!("an array of {}", show(shape)),
                "rows; rows x columns; or pictures of rows x height x width, with 1 or 3 channels last",
            ));
        }
    };
    let table = Table::from(Dense::new(size(rows), columns, values)?);
    match picture {
        Some(picture) if rows > 0 && columns > 0 => table.with_picture(picture),
        _ => Ok(table),
    }
}

/// An error unless there is one label a row.
pub(super) fn labels(shape: &[u64], texts: Vec<Option<String>>) -> Result<Labels> {
    match shape {
        [_] | [_, 1] => Ok(Labels::from_texts(texts)),
        _ => Err(Error::found(
            Place::default(),
            format!("labels in an array of {}", show(shape)),
            "one label a row",
        )),
    }
}

/// The table with the labels of another file, if the options name one.
pub(super) fn with_labels_beside(table: AnyTable, options: &ReadOptions) -> Result<AnyTable> {
    let Some(path) = &options.label else { return Ok(table) };
    let path = Path::new(path);
    if !path.exists() {
        let problem = format!(
            "`{}` is not there: columns of arrays have no names, so that labels are in another npy or IDX file, one for each row",
            path.display()
        );
        return Err(Error::option("label", problem));
    }
    let read = || {
        let input = Input::open(path, options)?;
        let labels = match kind_of(input.sample())? {
            Kind::Npy => npy::labels(input)?,
            Kind::Idx => idx::labels(input)?,
            other => {
                let found = format!("a file of kind {other}");
                return Err(Error::found(Place::default(), found, "labels as npy or IDX"));
            }
        };
        match table {
            AnyTable::F32(table) => table.with_labels(labels).map(AnyTable::from),
            AnyTable::F64(table) => table.with_labels(labels).map(AnyTable::from),
        }
    };
    read().map_err(|e| e.in_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_become_tables() {
        let of = |shape: &[u64]| {
            let n = shape.iter().product::<u64>() as usize;
            let table = table(shape, Values::F32(vec![0.0; n])).unwrap();
            (table.rows(), table.columns(), table.about().picture)
        };
        let picture = |height, width, channels| Some(Picture { height, width, channels });
        assert_eq!(of(&[5]), (5, 1, None));
        assert_eq!(of(&[5, 2]), (5, 2, None));
        assert_eq!(of(&[5, 2, 3]), (5, 6, picture(2, 3, 1)));
        assert_eq!(of(&[5, 2, 3, 1]), (5, 6, picture(2, 3, 1)));
        assert_eq!(of(&[5, 2, 3, 3]), (5, 18, picture(2, 3, 3)));
    }

    #[test]
    fn strange_shapes_are_errors() {
        let message = |shape: &[u64]| table(shape, Values::F64(vec![])).unwrap_err().to_string();
        assert!(message(&[]).contains("an array of no dimensions"));
        assert!(message(&[2, 2, 2, 4]).contains("2 x 2 x 2 x 4"));
        assert!(message(&[1, 1, 1, 1, 1]).contains("1 x 1 x 1 x 1 x 1"));
        assert!(message(&[u64::MAX, 2]).contains("counted"));
        assert!(message(&[u64::MAX, u64::MAX, 0]).contains("counted"));
        assert!(message(&[0, u64::MAX, u64::MAX]).contains("counted"));
    }

    #[test]
    fn labels_are_the_shortest_texts_of_numbers() {
        let texts = Values::F32(vec![1.0, f32::NAN, 0.5]).texts();
        assert_eq!(texts, [Some("1".to_owned()), None, Some("0.5".to_owned())]);
    }
}
