//! Rows in memory that somebody else holds, seen without being copied.

use std::borrow::Cow;
use std::ops::Range;

use crate::source::{batch_rows, shard_batches, sparse_batch_rows, sparse_shard_batches};
use crate::table::{check_entries, check_rows};
use crate::{About, Absent, Batch, Block, Error, Lane, Place, Real, Result, Source, Sparse, Table};

/// Rows that are lent: what a [`Table`] of the same cells is to whoever learns, and no copy of them.
///
/// ```
/// use mereo_core::{Source, View};
/// let cells = [1.0, 2.0, f64::NAN, 4.0];
/// let view = View::dense(2, 2, &cells)?;
/// assert_eq!((view.rows(), view.batches()), (2, 1));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct View<'a, T> {
    rows: usize,
    columns: usize,
    cells: Seen<'a, T>,
    about: About,
}

#[derive(Debug, Clone)]
enum Seen<'a, T> {
    Dense { values: &'a [T], complete: bool },
    Sparse { starts: Cow<'a, [usize]>, indices: Cow<'a, [u32]>, values: &'a [T], absent: Absent },
}

impl<'a, T: Real> View<'a, T> {
    /// Rows one after another; `NaN` means missing, infinity is an error.
    pub fn dense(rows: usize, columns: usize, values: &'a [T]) -> Result<Self> {
        if rows.checked_mul(columns) != Some(values.len()) {
            return Err(Error::found(
                Place::default(),
                format!("{} values", values.len()),
                format!("{rows} rows x {columns} columns"),
            ));
        }
        let complete = check_rows(columns, values)?;
        Ok(Self { rows, columns, cells: Seen::Dense { values, complete }, about: About::default() })
    }

    /// The parts of a compressed-row table, as [`Sparse::new`] takes them.
    ///
    /// ```
    /// use mereo_core::{Absent, Source, View};
    /// let view = View::sparse(3, (&[0, 2, 3][..]).into(), (&[0, 2, 1][..]).into(), &[5.0f32, 3.0, 1.0], Absent::Zero)?;
    /// assert_eq!((view.rows(), view.absent()), (2, Some(Absent::Zero)));
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn sparse(
        columns: usize,
        starts: Cow<'a, [usize]>,
        indices: Cow<'a, [u32]>,
        values: &'a [T],
        absent: Absent,
    ) -> Result<Self> {
        check_entries(columns, &starts, &indices, values)?;
        let rows = starts.len() - 1;
        let cells = Seen::Sparse { starts, indices, values, absent };
        Ok(Self { rows, columns, cells, about: About::default() })
    }

    /// The same rows with this known about them: names, labels, weights, a picture.
    ///
    /// ```
    /// use mereo_core::{About, View};
    /// let view = View::dense(2, 1, &[1.0, 2.0])?;
    /// assert!(view.clone().with_about(About { weights: Some(vec![1.0]), ..About::default() }).is_err());
    /// assert!(view.with_about(About { weights: Some(vec![1.0, 2.0]), ..About::default() }).is_ok());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn with_about(mut self, about: About) -> Result<Self> {
        if about != About::default() {
            // A table of as many rows, with nothing in them, checks what can be known about them.
            let starts = vec![0; self.rows + 1];
            let empty = Sparse::<T>::new(self.columns, starts, vec![], vec![], Absent::Unobserved)?;
            self.about = Table::from(empty).with_about(about)?.into_parts().1;
        }
        Ok(self)
    }
}

impl<T: Real> Source<T> for View<'_, T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn batch_rows(&self) -> usize {
        match &self.cells {
            Seen::Dense { .. } => batch_rows(self.columns),
            Seen::Sparse { values, .. } => sparse_batch_rows(self.rows, values.len()),
        }
    }

    fn shard_batches(&self) -> usize {
        match self.cells {
            Seen::Dense { .. } => shard_batches(self.batches(), self.batch_rows(), self.columns),
            Seen::Sparse { .. } => sparse_shard_batches(self.batches()),
        }
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        let batch_rows = self.batch_rows();
        Ok(Box::new(ViewLane {
            view: self,
            batch_rows,
            next_row: batches.start.saturating_mul(batch_rows),
            end_row: batches.end.saturating_mul(batch_rows).min(self.rows),
        }))
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn absent(&self) -> Option<Absent> {
        match self.cells {
            Seen::Dense { .. } => None,
            Seen::Sparse { absent, .. } => Some(absent),
        }
    }
}

struct ViewLane<'a, T> {
    view: &'a View<'a, T>,
    batch_rows: usize,
    next_row: usize,
    end_row: usize,
}

impl<T: Real> Lane<T> for ViewLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        if self.next_row >= self.end_row {
            return Ok(None);
        }
        let View { columns, cells, about, .. } = self.view;
        let first_row = self.next_row;
        let end = (first_row + self.batch_rows).min(self.end_row);
        self.next_row = end;
        let block = match cells {
            Seen::Dense { values, complete } => Block::Dense {
                values: &values[first_row * columns..end * columns],
                complete: *complete,
            },
            Seen::Sparse { starts, indices, values, absent } => {
                let starts = &starts[first_row..=end];
                let range = starts[0]..starts[end - first_row];
                Block::Sparse {
                    starts,
                    indices: &indices[range.clone()],
                    values: &values[range],
                    absent: *absent,
                }
            }
        };
        Ok(Some(Batch {
            first_row,
            rows: end - first_row,
            columns: *columns,
            block,
            weights: about.weights.as_ref().map(|w| &w[first_row..end]),
            labels: about.labels.as_ref().map(|l| &l.of_row[first_row..end]),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Dense, Fingerprint};

    #[test]
    fn a_view_is_the_table_of_the_same_cells() {
        let cells: Vec<f64> =
            (0..9000).map(|i| if i % 11 == 0 { f64::NAN } else { f64::from(i) }).collect();
        let table = Table::from(Dense::new(3000, 3, cells.clone()).unwrap());
        let view = View::dense(3000, 3, &cells).unwrap();
        let context = Context::new(0);
        assert_eq!(
            Fingerprint::of(&view, &context).unwrap(),
            Fingerprint::of(&table, &context).unwrap()
        );
        assert_eq!((view.shards(), view.batches()), (table.shards(), table.batches()));
    }

    #[test]
    fn a_sparse_view_is_cut_as_the_table_is() {
        let starts: Vec<usize> = (0..=5000).map(|row| row * 2).collect();
        let indices: Vec<u32> = (0..10_000).map(|i| i % 2 * 3 + i % 3).collect();
        let values: Vec<f32> = (0..10_000u16).map(f32::from).collect();
        let absent = Absent::Unobserved;
        let own = Sparse::new(9, starts.clone(), indices.clone(), values.clone(), absent).unwrap();
        let table = Table::from(own);
        let view = View::sparse(9, starts.into(), indices.into(), &values, absent).unwrap();
        let context = Context::new(0);
        assert_eq!(
            Fingerprint::of(&view, &context).unwrap(),
            Fingerprint::of(&table, &context).unwrap()
        );
        assert_eq!((view.shards(), view.batches()), (table.shards(), table.batches()));
    }

    #[test]
    fn infinity_is_told_with_its_place() {
        let error = View::dense(2, 2, &[0.0, 0.0, 0.0, f64::INFINITY]).unwrap_err().to_string();
        assert!(error.contains("row 1") && error.contains("column `1`"), "{error}");
    }
}
