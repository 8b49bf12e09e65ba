//! Words: columns of L levels with a probability each, and the tables by level that evidence and moments use.
//!
//! The features of a cell are L indicators, of which one is 1. A product with them picks the line of its level out of
//! a table, so no indicator is ever written down: evidence of a row is the sum of the lines of its levels, and its
//! responsibilities are added to the same lines. A missing cell has a line of its own at the end, of zeros.
//!
//! The M-step maximises `Σ_l n_l log p_l` over rows and pseudo-rows: `p_l = (n_l + α π_l) / (n + α)`.

use super::Kinds;
use crate::Real;
use crate::math::widest;
use crate::slots::evidence::{Padded, padded_slots};

/// As good as 0 in either number type, and has a logarithm.
const LEAST: f64 = 1e-300;

/// The logarithm of a probability that may be 0.
pub(crate) fn log(p: f64) -> f64 {
    p.max(LEAST).ln()
}

/// The level that a cell shows; none if it is missing or shows none of so many.
///
/// ```
/// use mereo_core::slots::shown_level;
/// assert_eq!([shown_level(1.0, 2), shown_level(2.0, 2), shown_level(f64::NAN, 2)], [Some(1), None, None]);
/// ```
pub fn shown_level(cell: f64, levels: usize) -> Option<usize> {
    (cell >= 0.0 && cell < levels as f64).then_some(cell as usize)
}

/// The shares of levels among `n` rows and `more` rows like the whole column.
pub(super) fn shares(seen: &[f64], n: f64, more: f64, typical: &[f64], out: &mut [f64]) {
    let all = n + more;
    for ((p, seen), typical) in out.iter_mut().zip(seen).zip(typical) {
        *p = if all > 0.0 { (seen + more * typical) / all } else { *typical };
    }
}

/// A mean and a variance for those who ask words for some: of two levels those of the second, of more the number of the most
/// probable level and the probability that two draws differ.
pub(crate) fn summary(p: &[f64]) -> (f64, f64) {
    if let &[no, yes] = p {
        return (yes, (no * yes).max(1e-12));
    }
    let most = (0..p.len()).fold(0, |best, l| if p[l] > p[best] { l } else { best });
    (most as f64, (1.0 - p.iter().map(|p| p * p).sum::<f64>()).max(1e-12))
}

/// Which line of a table each cell of a batch's words is in, `[R, words]`.
#[derive(Debug, Clone, Default)]
pub(crate) struct WordLines {
    lines: Vec<u32>,
    columns: usize,
}

impl WordLines {
    /// Takes the rows of a dense batch.
    pub(crate) fn take<T: Real>(&mut self, kinds: &Kinds, values: &[T]) {
        self.lines.clear();
        let words: Vec<_> = kinds.words().collect();
        self.columns = words.len();
        let missing = kinds.width() as u32;
        for row in values.chunks_exact(kinds.columns().max(1)) {
            self.lines.extend(words.iter().map(|words| {
                let cell = row[words.column].to_f64();
                shown_level(cell, words.levels).map_or(missing, |l| (words.first + l) as u32)
            }));
        }
    }

    /// Adds the lines of a table to rows, `[W + 1, S']` to `[R, S']`.
    pub(crate) fn gather<T: Real>(&self, table: &[T], stride: usize, by_row: &mut [T]) {
        widest(
            #[inline(always)]
            || {
                let rows = by_row.chunks_exact_mut(stride);
                for (row, lines) in rows.zip(self.lines.chunks_exact(self.columns)) {
                    for &line in lines {
                        let line = &table[line as usize * stride..][..stride];
                        row.iter_mut().zip(line).for_each(|(sum, &e)| *sum += e);
                    }
                }
            },
        );
    }

    /// Adds rows to the lines of a table, `[R, S']` to `[W + 1, S']`.
    pub(crate) fn scatter<T: Real>(&self, by_row: &[T], stride: usize, table: &mut [T]) {
        widest(
            #[inline(always)]
            || {
                let rows = by_row.chunks_exact(stride);
                for (row, lines) in rows.zip(self.lines.chunks_exact(self.columns)) {
                    for &line in lines {
                        let line = &mut table[line as usize * stride..][..stride];
                        line.iter_mut().zip(row).for_each(|(sum, &m)| *sum += m);
                    }
                }
            },
        );
    }
}

/// The evidence of each level for each slot, `[W + 1, S']`, of which the last line is of zeros.
#[derive(Debug, Clone)]
pub(crate) struct WordTable<T> {
    pub(crate) kinds: Kinds,
    pub(crate) table: Padded<T>,
}

impl<T: Real> WordTable<T> {
    /// `gate(column, slot)` times the logarithms of the shares.
    pub(crate) fn new(
        kinds: &Kinds,
        level: &[f64],
        slots: usize,
        gate: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let (stride, width) = (padded_slots(slots), kinds.width());
        let mut table = Padded::zeros((width + 1) * stride);
        let lines = table.as_mut_slice();
        for words in kinds.words() {
            for l in words.first..words.first + words.levels {
                for s in 0..slots {
                    let of = gate(words.column, s) * log(level[s * width + l]);
                    lines[l * stride + s] = T::from_f64(of);
                }
            }
        }
        Self { kinds: kinds.clone(), table }
    }
}
