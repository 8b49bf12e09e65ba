//! What is remembered of rows between passes.

use crate::Real;

/// What a lane remembers of its rows from one pass to the next: some numbers a row. It belongs in
/// the workspace of a [`Learner`](crate::Learner), whose `memory` and `remember` keep it in checkpoints.
///
/// ```
/// use mereo_core::Memory;
/// let mut memory = Memory::<f64>::default();
/// let (row, known) = memory.rows_mut(10, 1, 2, false);
/// assert!(!known);
/// row[1] = 7.0;
/// let mut again = Memory::default();
/// again.recall(&memory.keep());
/// assert_eq!(again.rows_mut(10, 1, 2, false), (&mut [0.0, 7.0][..], true));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Memory<T> {
    first_row: Option<usize>,
    values: Vec<T>,
}

impl<T: Real> Memory<T> {
    /// The place of some rows, each with this many numbers, and whether it was written before;
    /// with `forget`, it counts as new whatever is there.
    pub fn rows_mut(
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
    pub fn keep(&self) -> Vec<f64> {
        match self.first_row {
            None => Vec::new(),
            Some(row) => {
                std::iter::once(row as f64).chain(self.values.iter().map(|v| v.to_f64())).collect()
            }
        }
    }

    /// What was kept.
    pub fn recall(&mut self, kept: &[f64]) {
        *self = match kept.split_first() {
            None => Self::default(),
            Some((row, values)) => Self {
                first_row: Some(*row as usize),
                values: values.iter().map(|&v| T::from_f64(v)).collect(),
            },
        };
    }
}
