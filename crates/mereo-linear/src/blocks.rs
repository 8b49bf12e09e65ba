//! Rows of a batch as a plain matrix, whatever form they are stored in.

use mereo_core::slots::Frame;
use mereo_core::{Batch, Real, batch_rows};

/// Consecutive rows in a frame's units.
pub(crate) struct Block<'a, U> {
    /// The number of its first row in the batch.
    pub(crate) first: usize,
    /// How many rows it has.
    pub(crate) rows: usize,
    /// The cells, row after row; 0, the frame's centre, where one is missing.
    pub(crate) values: &'a mut [U],
    /// 1 where a cell is observed, 0 where it is missing; nothing if all are observed.
    pub(crate) mask: Option<&'a [U]>,
}

/// Memory for blocks.
#[derive(Debug, Default)]
pub(crate) struct BlockWork<T, U> {
    row: Vec<T>,
    values: Vec<U>,
    mask: Vec<U>,
}

impl<T: Real, U: Real> BlockWork<T, U> {
    /// Calls `visit` for the rows of a batch, block by block: sparse batches can have many rows,
    /// and only few are written out at a time.
    pub(crate) fn for_each(
        &mut self,
        batch: &Batch<'_, T>,
        frame: &Frame<T>,
        mut visit: impl FnMut(Block<'_, U>),
    ) {
        let columns = batch.columns;
        let most = match batch.block {
            mereo_core::Block::Dense { .. } => batch.rows,
            mereo_core::Block::Sparse { .. } => batch_rows(columns),
        };
        let mut first = 0;
        while first < batch.rows {
            let rows = most.min(batch.rows - first);
            self.values.resize(rows * columns, U::ZERO);
            let mut complete = true;
            for (row, out) in self.values.chunks_exact_mut(columns).enumerate() {
                complete &= write_row(batch, first + row, frame, &mut self.row, out);
            }
            if !complete {
                self.mask.resize(rows * columns, U::ZERO);
                for (m, x) in self.mask.iter_mut().zip(&mut self.values) {
                    *m = if x.is_missing() { U::ZERO } else { U::ONE };
                    *x = if x.is_missing() { U::ZERO } else { *x };
                }
            }
            let mask = (!complete).then_some(&*self.mask);
            visit(Block { first, rows, values: &mut self.values, mask });
            first += rows;
        }
    }
}

/// Writes a row in the frame's units and says whether no cell is missing.
fn write_row<T: Real, U: Real>(
    batch: &Batch<'_, T>,
    row: usize,
    frame: &Frame<T>,
    cells: &mut Vec<T>,
    out: &mut [U],
) -> bool {
    let known = match batch.block {
        mereo_core::Block::Dense { values, complete } => {
            frame.row(&values[row * batch.columns..(row + 1) * batch.columns], out);
            complete
        }
        mereo_core::Block::Sparse { .. } => {
            cells.resize(batch.columns, T::MISSING);
            batch.dense_row(row, cells);
            frame.row(cells, out);
            false
        }
    };
    known || !out.iter().any(|x| x.is_missing())
}
