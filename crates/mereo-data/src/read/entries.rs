//! Row, column, value: entries in any order on their way into a sparse table.

use mereo_core::{Absent, Error, Place, Result, Sparse};

/// One stored cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<S> {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) value: f32,
    /// The line that it came from, to be named if something is wrong.
    pub(super) line: u32,
    /// What tells the newest of several entries of one cell, if anything does.
    pub(super) stamp: S,
}

/// What several entries of one cell mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    /// A mistake.
    Refuse,
    /// That the value was changed: the entry of the last stamp holds, and of the last line
    /// among equal ones.
    LastHolds,
}

/// So many rows or columns of a sparse table may be without any entry. Work and memory go with the
/// rows and columns that a header announces, so its word is not taken for more.
const MOST_EMPTY: usize = 1 << 20;

/// An error if far more rows or columns are announced than entries are stored.
pub(super) fn check_claim(what: &str, announced: usize, stored: usize) -> Result<()> {
    if announced <= stored.saturating_add(MOST_EMPTY) {
        return Ok(());
    }
    let found = format!("{announced} {what} for {stored} entries");
    let expected =
        format!("at most {MOST_EMPTY} {what} without any; leave out those that are empty");
    Err(Error::found(Place::default(), found, expected))
}

/// The sparse table of these entries; `cell` names one for an error message.
pub(super) fn compress<S: Copy + Ord>(
    mut entries: Vec<Entry<S>>,
    (rows, columns): (usize, usize),
    absent: Absent,
    repeated: Repeated,
    cell: impl Fn(u32, u32) -> String,
) -> Result<Sparse<f32>> {
    entries.sort_unstable_by_key(|e| (e.row, e.column, e.stamp, e.line));
    let same = |a: &Entry<S>, b: &Entry<S>| (a.row, a.column) == (b.row, b.column);
    if repeated == Repeated::Refuse
        && let Some(pair) = entries.windows(2).find(|pair| same(&pair[0], &pair[1]))
    {
        let place = Place::default().line(u64::from(pair[1].line));
        let found = format!("{} again", cell(pair[1].row, pair[1].column));
        return Err(Error::found(place, found, format!("it once, as on line {}", pair[0].line)));
    }
    // Of a run of equal cells the last one stays.
    entries.dedup_by(|next, kept| {
        let again = same(next, kept);
        if again {
            *kept = *next;
        }
        again
    });
    let mut starts = vec![0; rows + 1];
    for entry in &entries {
        starts[entry.row as usize + 1] += 1;
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let indices = entries.iter().map(|e| e.column).collect();
    let values = entries.iter().map(|e| e.value).collect();
    Sparse::new(columns, starts, indices, values, absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(row: u32, column: u32, value: f32, stamp: i64, line: u32) -> Entry<i64> {
        Entry { row, column, value, line, stamp }
    }

    fn cell(row: u32, column: u32) -> String {
        format!("cell {row}, {column}")
    }

    #[test]
    fn entries_are_sorted_and_rows_without_any_are_empty() {
        let entries = vec![entry(2, 1, 5.0, 0, 1), entry(0, 1, 3.0, 0, 2), entry(0, 0, 2.0, 0, 3)];
        let sparse = compress(entries, (3, 2), Absent::Zero, Repeated::Refuse, cell).unwrap();
        assert_eq!(sparse.starts(), [0, 2, 2, 3]);
        assert_eq!(sparse.row(0), (&[0, 1][..], &[2.0, 3.0][..]));
    }

    #[test]
    fn the_last_of_repeated_entries_holds_or_is_refused() {
        let entries = vec![entry(0, 0, 1.0, 9, 1), entry(0, 0, 2.0, 7, 2), entry(0, 0, 3.0, 9, 3)];
        let held = compress(entries.clone(), (1, 1), Absent::Unobserved, Repeated::LastHolds, cell);
        assert_eq!(held.unwrap().values(), [3.0]);
        let entries = entries.into_iter().map(|e| Entry { stamp: 0, ..e }).collect();
        let refused = compress(entries, (1, 1), Absent::Unobserved, Repeated::Refuse, cell);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "line 2: found cell 0, 0 again, expected it once, as on line 1"
        );
    }
}
