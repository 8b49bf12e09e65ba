//! One row on its way through the steps.

use mereo_core::{Absent, Batch, Block, Error, Place, Real, Result, column_name};

/// The stored cells of one row, widened.
pub(super) struct Row<'a> {
    number: usize,
    names: Option<&'a [String]>,
    /// The column of each value, or none if every column has one.
    pub(super) indices: Option<&'a [u32]>,
    /// Whether cells that are not stored are known to be 0.
    pub(super) zeros: bool,
    /// The values; `NaN` where missing.
    pub(super) values: &'a mut Vec<f64>,
}

/// A row of a batch as it is stored.
pub(super) fn stored<'a, T: Real>(batch: &Batch<'a, T>, row: usize) -> &'a [T] {
    match batch.block {
        Block::Dense { values, .. } => &values[row * batch.columns..(row + 1) * batch.columns],
        Block::Sparse { starts, values, .. } => {
            &values[starts[row] - starts[0]..starts[row + 1] - starts[0]]
        }
    }
}

impl<'a> Row<'a> {
    /// Row `row` of a batch, in a buffer that is used again for the next one.
    pub(super) fn load<T: Real>(
        batch: &Batch<'a, T>,
        row: usize,
        names: Option<&'a [String]>,
        buffer: &'a mut Vec<f64>,
    ) -> Self {
        buffer.clear();
        buffer.extend(stored(batch, row).iter().map(|v| v.to_f64()));
        let (indices, zeros) = match batch.block {
            Block::Dense { .. } => (None, false),
            Block::Sparse { starts, indices, absent, .. } => {
                let range = starts[row] - starts[0]..starts[row + 1] - starts[0];
                (Some(&indices[range]), absent == Absent::Zero)
            }
        };
        Self { number: batch.first_row + row, names, indices, zeros, values: buffer }
    }

    /// The column of the value at this place.
    pub(super) fn column(&self, at: usize) -> usize {
        self.indices.map_or(at, |indices| indices[at] as usize)
    }

    /// Every observed cell that is stored: its column and value.
    pub(super) fn observed(&self) -> impl Iterator<Item = (usize, f64)> {
        let cells = self.values.iter().enumerate().filter(|(_, v)| !v.is_nan());
        cells.map(|(at, &v)| (self.column(at), v))
    }

    /// Whether anything is known about the row.
    pub(super) fn is_known(&self) -> bool {
        self.zeros || self.values.iter().any(|v| !v.is_nan())
    }

    /// Complains about the value at this place.
    pub(super) fn complain(&self, at: usize, expected: &str) -> Error {
        self.complaint(at, self.values[at], expected)
    }

    fn complaint(&self, at: usize, found: f64, expected: &str) -> Error {
        let place = Place::at_row(self.number).column(column_name(self.names, self.column(at)));
        Error::found(place, found, expected)
    }

    /// Appends the row in the data's own type; `before` is the row as it was.
    pub(super) fn store<T: Real>(&self, before: &[T], out: &mut Vec<T>) -> Result<()> {
        // Written so that NaN, which only an overflow could have made, fails too.
        let sound = |value: f64| value.abs() <= T::LARGEST;
        let mut pairs = self.values.iter().zip(before);
        if let Some(at) = pairs.position(|(&v, before)| !sound(v) && !before.is_missing()) {
            let expected = "a value that is not too large after preprocessing";
            return Err(self.complaint(at, before[at].to_f64(), expected));
        }
        out.extend(self.values.iter().map(|&value| T::from_f64(value)));
        Ok(())
    }
}
