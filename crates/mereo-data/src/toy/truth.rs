//! What was planted in a toy world, and how well learned parts agree with it.

use std::collections::BTreeMap;

use mereo_core::{Error, Labels, Place, Result};
use serde::{Deserialize, Serialize};

/// What was planted in a toy world.
///
/// ```
/// use mereo_data::toy::World;
/// let truth = World::Faces.make(Some(1), 0)?.truth;
/// // What the first face's mouth does.
/// let mouth = &truth.state_names[4][truth.states[0][4] as usize];
/// assert_eq!((truth.parts[4].as_str(), mouth.as_str()), ("mouth", "neutral"));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truth {
    /// The world's name.
    pub world: String,
    /// The seed that it was made from.
    pub seed: u64,
    /// Names of the planted parts.
    pub parts: Vec<String>,
    /// Names of the states of each part.
    pub state_names: Vec<Vec<String>>,
    /// The planted part of each column; none where the column does not vary, or varies with no
    /// part.
    pub part_of_column: Vec<Option<u32>>,
    /// The planted state of each part in each row: `states[row][part]`.
    pub states: Vec<Vec<u32>>,
    /// The class of each row, in a world with classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
}

/// How well learned parts agree with planted ones, over the columns that have a planted part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The fraction of columns whose planted part is the most common one in their learned
    /// part. Splitting a planted part in two costs nothing; merging two does.
    pub purity: f64,
    /// The fraction of columns that agree under the best pairing of learned parts with planted
    /// ones, each used at most once. Splitting costs here as well as merging.
    pub matched: f64,
}

impl Truth {
    /// Compares learned parts with the planted ones. `learned` has for each column the number
    /// of the learned part that it belongs to most (the largest entry of its gate).
    ///
    /// ```
    /// use mereo_data::toy::World;
    /// let truth = World::Shapes.make(None, 0)?.truth;
    /// // Each third of the picture's width by itself: just what was planted.
    /// let thirds: Vec<usize> = (0..121).map(|pixel| (pixel % 11) / 4).collect();
    /// let recovery = truth.recovery(&thirds)?;
    /// assert_eq!((recovery.purity, recovery.matched), (1.0, 1.0));
    /// // All columns in one part.
    /// assert!(truth.recovery(&[0; 121])?.matched < 0.4);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn recovery(&self, learned: &[usize]) -> Result<Recovery> {
        if learned.len() != self.part_of_column.len() {
            return Err(Error::found(
                Place::default(),
                format!("learned parts of {} columns", learned.len()),
                format!("one for each of the {} columns", self.part_of_column.len()),
            ));
        }
        // Numbers of parts may have gaps (a learned part that won no column): count only those
        // that occur.
        let pairs: Vec<(u32, usize)> = self
            .part_of_column
            .iter()
            .zip(learned)
            .filter_map(|(planted, &learned)| planted.map(|planted| (planted, learned)))
            .collect();
        if pairs.is_empty() {
            return Err(Error::found(
                Place::default(),
                "a truth in which no column has a planted part",
                "at least one such column",
            ));
        }
        let planted = numbered(pairs.iter().map(|pair| pair.0));
        let found = numbered(pairs.iter().map(|pair| pair.1));
        let mut counts = vec![vec![0usize; found.len()]; planted.len()];
        for (p, l) in &pairs {
            counts[planted[p]][found[l]] += 1;
        }
        let pure: usize = (0..found.len())
            .map(|l| counts.iter().map(|of_planted| of_planted[l]).max().unwrap_or(0))
            .sum();
        let total = pairs.len() as f64;
        Ok(Recovery { purity: pure as f64 / total, matched: best_pairing(&counts) as f64 / total })
    }
}

/// Numbers the distinct items from 0.
fn numbered<T: Ord>(items: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let mut numbers: BTreeMap<T, usize> = items.map(|item| (item, 0)).collect();
    for (number, slot) in numbers.values_mut().enumerate() {
        *slot = number;
    }
    numbers
}

/// The largest sum of counts over pairings of rows with columns, each used at most once: the
/// Hungarian method in its shortest-augmenting-path form, `O(rows² columns)`.
fn best_pairing(counts: &[Vec<usize>]) -> usize {
    let rows = counts.len();
    let columns = counts.iter().map(Vec::len).max().unwrap_or(0).max(rows);
    // Row and column 0 stand for "none yet", so everything is counted from 1; columns beyond
    // the real ones are pairs with nothing.
    let gain = |r: usize, c: usize| counts[r - 1].get(c - 1).map_or(0, |&n| n as i64);
    let mut row_price = vec![0i64; rows + 1];
    let mut column_price = vec![0i64; columns + 1];
    let mut row_of = vec![0usize; columns + 1];
    for row in 1..=rows {
        row_of[0] = row;
        let mut at = 0;
        let mut slack = vec![i64::MAX; columns + 1];
        let mut came_from = vec![0usize; columns + 1];
        let mut visited = vec![false; columns + 1];
        while row_of[at] != 0 {
            visited[at] = true;
            let r = row_of[at];
            let (mut step, mut next) = (i64::MAX, 0);
            for c in (1..=columns).filter(|&c| !visited[c]) {
                let reduced = -gain(r, c) - row_price[r] - column_price[c];
                if reduced < slack[c] {
                    (slack[c], came_from[c]) = (reduced, at);
                }
                if slack[c] < step {
                    (step, next) = (slack[c], c);
                }
            }
            for c in 0..=columns {
                if visited[c] {
                    row_price[row_of[c]] += step;
                    column_price[c] -= step;
                } else if slack[c] != i64::MAX {
                    slack[c] -= step;
                }
            }
            at = next;
        }
        while at != 0 {
            row_of[at] = row_of[came_from[at]];
            at = came_from[at];
        }
    }
    (1..=columns).filter(|&c| row_of[c] != 0).map(|c| gain(row_of[c], c) as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn truth(part_of_column: Vec<Option<u32>>) -> Truth {
        Truth {
            world: "test".into(),
            seed: 0,
            parts: Vec::new(),
            state_names: Vec::new(),
            part_of_column,
            states: Vec::new(),
            labels: None,
        }
    }

    /// The best pairing by trying them all.
    fn by_trying(counts: &[Vec<usize>], used: &mut Vec<bool>) -> usize {
        let Some((first, rest)) = counts.split_first() else { return 0 };
        let mut best = by_trying(rest, used);
        for c in 0..first.len() {
            if !used[c] {
                used[c] = true;
                best = best.max(first[c] + by_trying(rest, used));
                used[c] = false;
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_pairing_is_the_best_of_all(
            columns in 1usize..5,
            cells in proptest::collection::vec(0usize..9, 1..21),
        ) {
            let counts: Vec<Vec<usize>> =
                cells.chunks_exact(columns).map(<[usize]>::to_vec).collect();
            prop_assert_eq!(best_pairing(&counts), by_trying(&counts, &mut vec![false; columns]));
        }

        #[test]
        fn renaming_learned_parts_changes_nothing(
            columns in proptest::collection::vec((0u32..3, 0usize..4), 1..40),
            shift in 0usize..1000,
        ) {
            let truth = truth(columns.iter().map(|c| Some(c.0)).collect());
            let learned: Vec<usize> = columns.iter().map(|c| c.1).collect();
            let renamed: Vec<usize> = learned.iter().map(|l| usize::MAX - shift - l).collect();
            let recovery = truth.recovery(&learned).unwrap();
            prop_assert_eq!(recovery, truth.recovery(&renamed).unwrap());
            prop_assert!(recovery.matched <= recovery.purity);
        }
    }

    #[test]
    fn columns_without_a_part_do_not_count() {
        let truth = truth(vec![Some(0), None, Some(1), None]);
        let recovery = truth.recovery(&[5, 5, 7, 0]).unwrap();
        assert_eq!(recovery, Recovery { purity: 1.0, matched: 1.0 });
    }

    #[test]
    fn splitting_keeps_purity_and_costs_matching() {
        let truth = truth(vec![Some(0), Some(0), Some(1), Some(1)]);
        let split = truth.recovery(&[0, 1, 2, 2]).unwrap();
        assert_eq!(split, Recovery { purity: 1.0, matched: 0.75 });
        let merged = truth.recovery(&[0, 0, 0, 0]).unwrap();
        assert_eq!(merged, Recovery { purity: 0.5, matched: 0.5 });
    }

    #[test]
    fn what_cannot_be_compared_is_an_error() {
        assert!(truth(vec![Some(0)]).recovery(&[]).is_err());
        assert!(truth(vec![None]).recovery(&[0]).is_err());
        assert!(truth(Vec::new()).recovery(&[]).is_err());
    }
}
