//! What is remembered of rows between passes.

use mereo_core::Real;

/// What a lane remembers of its rows from one pass to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory<T> {
    first_row: Option<usize>,
    pub(crate) values: Vec<T>,
}

impl<T: Real> Memory<T> {
    /// The place of some rows, each with this many numbers, and whether it was written before;
    /// with `forget`, it counts as new whatever is there.
    pub(crate) fn of(
        &mut self,
        first_row: usize,
        rows: usize,
        width: usize,
        forget: bool,
    ) -> (&mut [T], bool) {
        let lane_starts = *self.first_row.get_or_insert(first_row);
        let start = (first_row - lane_starts) * width;
        let end = start + rows * width;
        let there = end <= self.values.len();
        if !there {
            self.values.resize(end, T::ZERO);
        }
        let known = there && !forget;
        (&mut self.values[start..end], known)
    }

    /// All of it, for a checkpoint: where the lane starts, then the numbers.
    pub(crate) fn keep(&self) -> Vec<f64> {
        match self.first_row {
            None => Vec::new(),
            Some(row) => {
                std::iter::once(row as f64).chain(self.values.iter().map(|v| v.wide())).collect()
            }
        }
    }

    /// What was kept.
    pub(crate) fn recall(&mut self, kept: &[f64]) {
        *self = match kept.split_first() {
            None => Self::default(),
            Some((row, values)) => Self {
                first_row: Some(*row as usize),
                values: values.iter().map(|&v| T::of(v)).collect(),
            },
        };
    }
}
