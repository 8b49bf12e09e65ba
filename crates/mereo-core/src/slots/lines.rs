//! The entries of a sparse batch, sorted by the line of a table that they look up.
//!
//! Looking at a sparse batch visits, for each entry, a line of a table by column that is far
//! larger than the caches, and a line by row that is not. In the batch's own order every entry
//! would jump to another page of the large table; sorted, the large table is walked from
//! front to back and the jumps stay within the rows of the batch. A counting sort costs far less
//! than the jumps that it saves, and a line that several entries share stays in registers. Who
//! looks at the same batches pass after pass [remembers](Lines::remembering) how they were sorted.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::math::widest;
use crate::{Batch, Block, Real};

/// Entries and lines that are remembered at most, of all batches together.
const MOST_REMEMBERED: usize = 1 << 23;

/// The entries of the batch at hand, and of others if they are remembered.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines<P> {
    at_hand: ByLine<P>,
    /// The line of each entry, in the batch's order.
    lines: Vec<u32>,
    remembered: Option<Remembered<P>>,
}

/// Sorted batches by their first rows.
#[derive(Debug, Clone, Default)]
struct Remembered<P> {
    batches: BTreeMap<usize, ByLine<P>>,
    /// Entries and lines of all of them.
    size: usize,
    /// The batch at hand, if it is one of them.
    at_hand: Option<usize>,
}

/// What is kept of each entry, sorted by line; within a line, rows rise.
#[derive(Debug, Clone, Default)]
struct ByLine<P> {
    /// Where each line's entries start; one more than there are lines.
    starts: Vec<u32>,
    entries: Vec<P>,
}

impl<P: Copy + Default> Lines<P> {
    /// For one who looks at the batches of one source, again and again, and asks for the same
    /// lines each time: each batch is sorted once, as far as memory may be used for it.
    pub(super) fn remembering() -> Self {
        Self { remembered: Some(Remembered::default()), ..Self::default() }
    }

    /// Takes the entries of a sparse batch (of a dense one, none): `line(column, value)` of
    /// `lines` lines, and what to `keep(row, value)`.
    #[inline(always)]
    pub(super) fn sort<T: Real>(
        &mut self,
        batch: &Batch<'_, T>,
        lines: usize,
        line: impl Fn(usize, T) -> usize,
        keep: impl Fn(u32, T) -> P,
    ) {
        let Some(remembered) = &mut self.remembered else {
            return self.at_hand.sort(&mut self.lines, batch, lines, line, keep);
        };
        remembered.at_hand = Some(batch.first_row);
        if remembered.batches.contains_key(&batch.first_row) {
            return;
        }
        let entries = (0..batch.rows).map(|row| batch.stored(row)).sum::<usize>();
        if remembered.size + entries + lines <= MOST_REMEMBERED {
            remembered.size += entries + lines;
            let mut sorted = ByLine::default();
            sorted.sort(&mut self.lines, batch, lines, line, keep);
            remembered.batches.insert(batch.first_row, sorted);
        } else {
            remembered.at_hand = None;
            self.at_hand.sort(&mut self.lines, batch, lines, line, keep);
        }
    }

    /// Calls `visit(line, entries)` for every line of the batch at hand that has entries, with the
    /// widest instructions the machine has.
    #[inline(always)]
    pub(super) fn for_each(&self, visit: impl FnMut(usize, &[P])) {
        let remembered = self.remembered.as_ref();
        let sorted = remembered.and_then(|r| r.batches.get(&r.at_hand?));
        sorted.unwrap_or(&self.at_hand).for_each(visit);
    }
}

impl<P: Copy + Default> ByLine<P> {
    /// As [`Lines::sort`]; `of_entries` is memory for the line of each entry.
    #[inline(always)]
    fn sort<T: Real>(
        &mut self,
        of_entries: &mut Vec<u32>,
        batch: &Batch<'_, T>,
        lines: usize,
        line: impl Fn(usize, T) -> usize,
        keep: impl Fn(u32, T) -> P,
    ) {
        self.starts.clear();
        self.starts.resize(lines + 1, 0);
        let Block::Sparse { starts, indices, values, .. } = batch.block else { return };
        of_entries.clear();
        of_entries.extend(
            indices.iter().zip(values).map(|(&column, &x)| line(column as usize, x) as u32),
        );
        for &line in &*of_entries {
            self.starts[line as usize + 1] += 1;
        }
        let mut before = 0;
        for start in &mut self.starts {
            before += *start;
            *start = before;
        }
        self.entries.resize(values.len(), P::default());
        for row in 0..batch.rows {
            let range = starts[row] - starts[0]..starts[row + 1] - starts[0];
            for (&line, &value) in of_entries[range.clone()].iter().zip(&values[range]) {
                // Each start moves to its line's end while entries are put in ...
                let place = &mut self.starts[line as usize];
                self.entries[*place as usize] = keep(row as u32, value);
                *place += 1;
            }
        }
        // ... and is where the next line starts.
        self.starts.copy_within(..lines, 1);
        self.starts[0] = 0;
    }

    #[inline(always)]
    fn for_each(&self, mut visit: impl FnMut(usize, &[P])) {
        widest(
            #[inline(always)]
            || {
                for (line, pair) in self.starts.windows(2).enumerate() {
                    if pair[0] < pair[1] {
                        visit(line, &self.entries[pair[0] as usize..pair[1] as usize]);
                    }
                }
            },
        );
    }
}

/// Numbers of a line that are held in registers.
const HELD: usize = 64;
/// Lines are whole multiples of this.
pub(super) const UNIT: usize = 16;

/// Adds a stretch of a line, whole units, to each of these rows of `by_row`.
#[inline(always)]
pub(super) fn add_to_rows<T: Real>(
    line: &[T],
    stretch: Range<usize>,
    rows: &[u32],
    by_row: &mut [T],
) {
    let Range { start: mut from, end } = stretch;
    while from + HELD <= end {
        add_piece_to_rows::<T, HELD>(line, from, rows, by_row);
        from += HELD;
    }
    if from + HELD / 2 <= end {
        add_piece_to_rows::<T, { HELD / 2 }>(line, from, rows, by_row);
        from += HELD / 2;
    }
    while from < end {
        add_piece_to_rows::<T, UNIT>(line, from, rows, by_row);
        from += UNIT;
    }
}

/// A piece of a line, to be held in registers. It is copied as a whole: number by number, the compiler calls a function for it.
#[inline(always)]
fn hold<T: Real, const N: usize>(line: &[T], from: usize) -> [T; N] {
    let mut held = [T::ZERO; N];
    held.copy_from_slice(&line[from..from + N]);
    held
}

#[inline(always)]
fn add_piece_to_rows<T: Real, const N: usize>(
    line: &[T],
    from: usize,
    rows: &[u32],
    by_row: &mut [T],
) {
    let held = hold::<T, N>(line, from);
    for &row in rows {
        let at = row as usize * line.len() + from;
        for (sum, e) in by_row[at..at + N].iter_mut().zip(held) {
            *sum += e;
        }
    }
}

/// Adds each of these rows of `by_row` to a line.
#[inline(always)]
pub(super) fn add_rows<T: Real>(line: &mut [T], rows: &[u32], by_row: &[T]) {
    let stride = line.len();
    let mut from = 0;
    while from + HELD <= stride {
        add_piece_of_rows::<T, HELD>(line, from, rows, by_row);
        from += HELD;
    }
    if from + HELD / 2 <= stride {
        add_piece_of_rows::<T, { HELD / 2 }>(line, from, rows, by_row);
        from += HELD / 2;
    }
    while from < stride {
        add_piece_of_rows::<T, UNIT>(line, from, rows, by_row);
        from += UNIT;
    }
}

#[inline(always)]
fn add_piece_of_rows<T: Real, const N: usize>(
    line: &mut [T],
    from: usize,
    rows: &[u32],
    by_row: &[T],
) {
    let stride = line.len();
    let mut held = hold::<T, N>(line, from);
    for &row in rows {
        let at = row as usize * stride + from;
        for (sum, &m) in held.iter_mut().zip(&by_row[at..at + N]) {
            *sum += m;
        }
    }
    line[from..from + N].copy_from_slice(&held);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Absent;

    #[test]
    fn lines_and_rows_meet_where_entries_say() {
        let block = Block::Sparse {
            starts: &[0, 2, 3, 5],
            indices: &[0, 2, 2, 0, 1],
            values: &[1.0, 2.0, 1.0, 1.0, 2.0],
            absent: Absent::Unobserved,
        };
        let (weights, labels) = (None, None);
        let batch = &Batch { first_row: 0, rows: 3, columns: 3, block, weights, labels };
        let line = |column: usize, x: f64| 2 * column + usize::from(x > 1.5);
        let found = |sorted: &Lines<u32>| {
            let mut found = Vec::new();
            sorted.for_each(|line, rows| found.push((line, rows.to_vec())));
            found
        };
        let other = &Batch { first_row: 3, ..*batch };
        for mut sorted in [Lines::default(), Lines::remembering()] {
            for _ in 0..2 {
                sorted.sort(batch, 6, line, |row, _| row);
                let all = [(0, vec![0, 2]), (3, vec![2]), (4, vec![1]), (5, vec![0])];
                assert_eq!(found(&sorted), all);
                sorted.sort(other, 3, |column, _| column, |row, _| row);
                assert_eq!(found(&sorted), [(0, vec![0, 2]), (1, vec![2]), (2, vec![0, 1])]);
            }
            // More lines than are remembered.
            let far = &Batch { first_row: 6, ..*batch };
            sorted.sort(far, MOST_REMEMBERED, line, |row, _| row);
            assert_eq!(found(&sorted).len(), 4);
            sorted.sort(other, 3, |column, _| column, |row, _| row);
            assert_eq!(found(&sorted).len(), 3);
        }
        // 112 is a held piece, half of one and a unit.
        for stride in [16, 32, 64, 80, 112] {
            let line: Vec<f64> = (0..stride).map(f64::from).collect();
            let mut by_row = vec![1.0; 3 * stride as usize];
            add_to_rows(&line, 0..stride as usize, &[0, 2], &mut by_row);
            let width = stride as usize;
            for i in 0..width {
                assert_eq!(by_row[i], 1.0 + i as f64);
                assert_eq!(by_row[width + i], 1.0);
                assert_eq!(by_row[2 * width + i], 1.0 + i as f64);
            }
            // Of a stretch, the rest stays.
            let mut untouched = vec![1.0; 3 * width];
            add_to_rows(&line, UNIT..width, &[1], &mut untouched);
            assert!(
                (0..width).all(|i| untouched[width + i] == if i < UNIT { 1.0 } else { by_row[i] })
            );
            let mut line = line;
            add_rows(&mut line, &[1, 2], &by_row);
            assert!((0..width).all(|i| line[i] == 2.0 + 2.0 * i as f64));
        }
    }
}
