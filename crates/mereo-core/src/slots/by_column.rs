//! The entries of a sparse batch, column by column.
//!
//! Looking at a sparse batch visits, for each entry, a line of a table by column that is far
//! larger than the caches, and a line by row that is not. In the batch's own order every entry
//! would jump to another page of the large table; column by column, the large table is walked from
//! front to back and the jumps stay within the rows of the batch. A counting sort costs far less
//! than the jumps that it saves.

use crate::math::widest;
use crate::{Batch, Block, Real};

/// Row and value of each entry, sorted by column; within a column, rows rise.
#[derive(Debug, Clone, Default)]
pub(super) struct ByColumn<T> {
    /// Where each column's entries start; one more than there are columns.
    starts: Vec<u32>,
    entries: Vec<(u32, T)>,
}

impl<T: Real> ByColumn<T> {
    /// Takes the entries of a sparse batch (of a dense one, none).
    pub(super) fn sort(&mut self, batch: &Batch<'_, T>) {
        self.starts.clear();
        self.starts.resize(batch.columns + 1, 0);
        let Block::Sparse { starts, indices, values, .. } = batch.block else { return };
        for &column in indices {
            self.starts[column as usize + 1] += 1;
        }
        for d in 0..batch.columns {
            self.starts[d + 1] += self.starts[d];
        }
        self.entries.resize(values.len(), (0, T::ZERO));
        for row in 0..batch.rows {
            for at in starts[row] - starts[0]..starts[row + 1] - starts[0] {
                // Each start moves to its column's end while entries are put in ...
                let place = &mut self.starts[indices[at] as usize];
                self.entries[*place as usize] = (row as u32, values[at]);
                *place += 1;
            }
        }
        // ... and is where the next column starts.
        self.starts.copy_within(..batch.columns, 1);
        self.starts[0] = 0;
    }

    /// Calls `visit(column, row, value)` for every entry, column by column, with the widest
    /// instructions the machine has.
    #[inline(always)]
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize, usize, T)) {
        widest(
            #[inline(always)]
            || {
                for (column, pair) in self.starts.windows(2).enumerate() {
                    for &(row, value) in &self.entries[pair[0] as usize..pair[1] as usize] {
                        visit(column, row as usize, value);
                    }
                }
            },
        );
    }
}
