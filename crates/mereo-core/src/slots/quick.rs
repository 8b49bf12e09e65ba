//! Sums over many rows: quick ones, and exact enough ones.

use serde::{Deserialize, Serialize};

use super::evidence::Padded;
use crate::{Real, in_parallel};

/// Rows that go into quick sums before they are added to the `f64` ones: few
/// enough that single precision loses nothing that matters. Sparse rows have few cells.
const QUICK_ROWS: usize = 16_384;
/// The same for dense rows.
const QUICK_DENSE_ROWS: usize = 4_096;

/// Numbers that one piece of parallel work adds.
const PIECE: usize = 1 << 14;

/// Sums in the data's own type, added to `f64` ones from time to time.
///
/// ```
/// let mut sums = mereo_core::slots::QuickSums::<f32>::zeros(2);
/// sums.waiting()[1] += 3.0;
/// sums.added_dense(1);
/// sums.finish();
/// let mut out = [0.0];
/// sums.read(1, &mut out);
/// assert_eq!(out, [3.0]);
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub struct QuickSums<T> {
    /// Rows in `waiting`.
    rows: usize,
    waiting: Padded<T>,
    /// Whether anything was added to `sums`.
    summed: bool,
    sums: Vec<f64>,
}

impl<T: Real> QuickSums<T> {
    /// This many sums of no rows.
    pub fn zeros(length: usize) -> Self {
        Self { rows: 0, waiting: Padded::zeros(length), summed: false, sums: Vec::new() }
    }

    /// Counts rows of a sparse batch whose sums were added to [`Self::waiting`].
    pub(super) fn added_sparse(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows >= QUICK_ROWS {
            self.flush();
        }
    }

    /// Counts rows of a dense batch whose sums were added to [`Self::waiting`].
    pub fn added_dense(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows >= QUICK_DENSE_ROWS {
            self.flush();
        }
    }

    /// The quick sums, to be added to.
    pub fn waiting(&mut self) -> &mut [T] {
        self.waiting.as_mut_slice()
    }

    /// Writes as many sums as `out` holds, from number `first` on, once
    /// [finished](Self::finish).
    pub fn read(&self, first: usize, out: &mut [f64]) {
        let range = first..first + out.len();
        if self.summed {
            out.copy_from_slice(&self.sums[range]);
        } else {
            let waiting = &self.waiting.as_slice()[range];
            out.iter_mut().zip(waiting).for_each(|(sum, quick)| *sum = quick.to_f64());
        }
    }

    /// After the last row.
    pub fn finish(&mut self) {
        if self.summed && self.rows > 0 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.sums.resize(self.waiting.as_slice().len(), 0.0);
        let again = self.summed;
        let pieces = self.sums.chunks_mut(PIECE).zip(self.waiting.as_mut_slice().chunks_mut(PIECE));
        in_parallel(pieces, |(sums, waiting)| {
            for (sum, quick) in sums.iter_mut().zip(waiting) {
                *sum = if again { *sum + quick.to_f64() } else { quick.to_f64() };
                *quick = T::ZERO;
            }
        });
        (self.rows, self.summed) = (0, true);
    }

    /// Adds another's sums: quick ones to quick ones, as long as they are of few rows.
    pub fn merge(&mut self, other: &Self) {
        if other.rows == 0 && !other.summed {
            return;
        }
        if !self.summed && !other.summed {
            add(self.waiting.as_mut_slice(), other.waiting.as_slice());
            self.added_sparse(other.rows);
            return;
        }
        if !self.summed || self.rows > 0 {
            self.flush();
        }
        if other.summed {
            add(&mut self.sums, &other.sums);
        }
        if other.rows > 0 {
            add_wide(&mut self.sums, other.waiting.as_slice());
        }
    }

    /// Back to no rows.
    pub fn reset(&mut self) {
        if self.rows > 0 {
            self.waiting.as_mut_slice().fill(T::ZERO);
        }
        (self.rows, self.summed) = (0, false);
        self.sums.clear();
    }
}

/// `sums += other`.
pub(super) fn add<U: Real>(sums: &mut [U], other: &[U]) {
    in_parallel(sums.chunks_mut(PIECE).zip(other.chunks(PIECE)), |(sums, other)| {
        for (a, &b) in sums.iter_mut().zip(other) {
            *a += b;
        }
    });
}

fn add_wide<U: Real>(sums: &mut [f64], other: &[U]) {
    in_parallel(sums.chunks_mut(PIECE).zip(other.chunks(PIECE)), |(sums, other)| {
        for (a, b) in sums.iter_mut().zip(other) {
            *a += b.to_f64();
        }
    });
}
