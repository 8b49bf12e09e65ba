//! Coordinate search for the best path of each row: see the [module](super).

use mereo_core::Real;

use crate::full::{Whitened, Work};

/// Paths, ready to be tried.
pub(super) struct Paths<'a, T> {
    pub(super) whitened: &'a Whitened<T>,
    /// Components of each layer, the top one first.
    pub(super) sizes: &'a [usize],
}

impl<T: Real> Paths<'_, T> {
    /// The log joint density of the path of each of the rows that `work` has begun with.
    pub(super) fn values(&self, path: &[usize], work: &mut Work<T>) -> Vec<f64> {
        let mut values = vec![0.0; path.len()];
        let mut wanted = vec![Vec::new(); self.whitened.components()];
        path.iter().enumerate().for_each(|(row, &p)| wanted[p].push(row));
        self.try_all(&wanted, work, |_, row, log| values[row] = log);
        values
    }

    /// Lets each layer in turn, the top one first, change to its best component, so many times over.
    /// A path changes only to one of larger value.
    pub(super) fn ascend(
        &self,
        path: &mut [usize],
        value: &mut [f64],
        sweeps: usize,
        work: &mut Work<T>,
    ) {
        let mut wanted = vec![Vec::new(); self.whitened.components()];
        for layer in (0..self.sizes.len()).cycle().take(sweeps * self.sizes.len()) {
            let (size, below) =
                (self.sizes[layer], self.sizes[layer + 1..].iter().product::<usize>());
            wanted.iter_mut().for_each(Vec::clear);
            for (row, &p) in path.iter().enumerate() {
                let own = p / below % size;
                let first = p - own * below;
                for other in (0..size).filter(|&c| c != own) {
                    wanted[first + other * below].push(row);
                }
            }
            self.try_all(&wanted, work, |other, row, log| {
                if log > value[row] {
                    (path[row], value[row]) = (other, log);
                }
            });
        }
    }

    /// Calls `visit(path, row, log joint density)` for all rows wanted of each path, path by path.
    fn try_all(
        &self,
        wanted: &[Vec<usize>],
        work: &mut Work<T>,
        mut visit: impl FnMut(usize, usize, f64),
    ) {
        let mut logs = Vec::new();
        for (path, rows) in wanted.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            logs.resize(rows.len(), 0.0);
            self.whitened.logs_of(path, rows, work, &mut logs);
            rows.iter().zip(&logs).for_each(|(&row, &log)| visit(path, row, log));
        }
    }
}
