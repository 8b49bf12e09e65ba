//! What tells data from other data.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::{Batch, Block, Context, Real, RowTask, Source, Statistics, gather};

/// A digest of bytes in a given order (XXH3 of 128 bits, which mixes every bit into all others).
/// Digests of shards are put together pairwise, in the tree in which all statistics are.
#[derive(Default)]
pub(crate) struct Digest {
    /// What was put together so far.
    done: Option<u128>,
    /// Bytes that came since, in a leaf.
    open: Option<Box<Xxh3>>,
}

impl Digest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.open.get_or_insert_default().update(bytes);
    }

    pub(crate) fn add_u64(&mut self, number: u64) {
        self.add(&number.to_le_bytes());
    }

    /// Text with its length, so that `ab, c` is not `a, bc`.
    pub(crate) fn add_text(&mut self, text: &str) {
        self.add_u64(text.len() as u64);
        self.add(text.as_bytes());
    }

    pub(crate) fn value(&self) -> u128 {
        self.done.unwrap_or_else(|| self.open.as_ref().map_or(0, |open| open.digest128()))
    }

    fn merge(&mut self, other: &Self) {
        let mut both = [0; 32];
        both[..16].copy_from_slice(&self.value().to_le_bytes());
        both[16..].copy_from_slice(&other.value().to_le_bytes());
        *self = Self { done: Some(xxh3_128(&both)), open: None };
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.value())
    }
}

impl Clone for Digest {
    fn clone(&self) -> Self {
        Self { done: Some(self.value()), open: None }
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { done: Some(u128::deserialize(deserializer)?), open: None })
    }
}

/// Digests of all that is learned from: cells, weights, labels, names and kinds of columns. Any change of any of
/// them changes its digest, wherever it is in the data.
///
/// ```
/// use mereo_core::{Context, Dense, Table, slots::Survey};
/// let of = |cells: Vec<f64>| -> mereo_core::Result<_> {
///     let table = Table::from(Dense::new(2, 1, cells)?);
///     Ok(Survey::of(&table, &Context::new(0))?.fingerprint)
/// };
/// let (a, b) = (of(vec![1.0, -2.0])?, of(vec![-1.0, 2.0])?);
/// assert_eq!(a.differs_in(&b), Some("cells"));
/// assert_eq!(a.differs_in(&a), None);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint {
    cells: u128,
    weights: u128,
    labels: u128,
    names: u128,
}

/// Asks rows for their digests.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DigestTask;

impl<T: Real> RowTask<T> for DigestTask {
    const NAME: &'static str = "digest";
    type Statistics = RowDigests;

    fn statistics(&self) -> RowDigests {
        RowDigests::default()
    }

    fn accumulate(&self, batch: &Batch<'_, T>, digests: &mut RowDigests) {
        digests.accumulate(batch);
    }
}

impl Fingerprint {
    /// That of a source, which every survey of it tells too.
    pub fn of<T: Real>(source: &dyn Source<T>, context: &Context) -> crate::Result<Self> {
        Ok(gather(source, context, &DigestTask)?.of_source(source))
    }

    /// What differs first between this data and other data, in a word for users.
    pub fn differs_in(&self, other: &Self) -> Option<&'static str> {
        [
            (self.cells == other.cells, "cells"),
            (self.weights == other.weights, "weights"),
            (self.labels == other.labels, "labels"),
            (self.names == other.names, "column names or kinds"),
        ]
        .into_iter()
        .find_map(|(same, what)| (!same).then_some(what))
    }
}

/// The four digests, 32 digits each.
impl From<Fingerprint> for String {
    fn from(f: Fingerprint) -> Self {
        format!("{:032x}{:032x}{:032x}{:032x}", f.cells, f.weights, f.labels, f.names)
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const BAD: &str = "a fingerprint has 128 hexadecimal digits";
        let digest = |i: usize| {
            let digits = text.get(i * 32..(i + 1) * 32).ok_or(BAD)?;
            u128::from_str_radix(digits, 16).map_err(|_| BAD)
        };
        if text.len() != 128 {
            return Err(BAD);
        }
        Ok(Self { cells: digest(0)?, weights: digest(1)?, labels: digest(2)?, names: digest(3)? })
    }
}

/// All of it in 32 digits.
impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut all = Digest::default();
        for part in [self.cells, self.weights, self.labels, self.names] {
            all.add(&part.to_le_bytes());
        }
        write!(f, "{:032x}", all.value())
    }
}

/// The digests of rows, as a pass over them adds them up.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RowDigests {
    cells: Digest,
    weights: Digest,
    labels: Digest,
}

impl RowDigests {
    pub(crate) fn accumulate<T: Real>(&mut self, batch: &Batch<'_, T>) {
        match batch.block {
            Block::Dense { values, .. } => self.cells.add(bytemuck::cast_slice(values)),
            Block::Sparse { starts, indices, values, .. } => {
                for pair in starts.windows(2) {
                    self.cells.add_u64((pair[1] - pair[0]) as u64);
                }
                self.cells.add(bytemuck::cast_slice(indices));
                self.cells.add(bytemuck::cast_slice(values));
            }
        }
        if let Some(weights) = batch.weights {
            self.weights.add(bytemuck::cast_slice(weights));
        }
        for label in batch.labels.unwrap_or_default() {
            self.labels.add_u64(label.map_or(u64::MAX, u64::from));
        }
    }

    /// With what is known of the source beside its rows.
    pub(crate) fn of_source<T: Real>(&self, source: &dyn Source<T>) -> Fingerprint {
        let about = source.about();
        let mut cells = Digest::default();
        cells.add_text(T::NAME);
        cells.add_u64(source.rows() as u64);
        cells.add_u64(source.columns() as u64);
        cells.add_text(&format!("{:?}", source.absent()));
        cells.add(&self.cells.value().to_le_bytes());
        let mut labels = Digest::default();
        labels.add(&self.labels.value().to_le_bytes());
        for name in about.labels.iter().flat_map(|labels| &labels.names) {
            labels.add_text(name);
        }
        let mut names = Digest::default();
        for name in about.names.iter().flatten() {
            names.add_text(name);
        }
        if about.is_mixed() {
            for kind in about.kinds.iter().flatten() {
                names.add_text(kind.name());
                names.add_u64(kind.levels().len() as u64);
                kind.levels().iter().for_each(|level| names.add_text(level));
            }
        }
        Fingerprint {
            cells: cells.value(),
            weights: self.weights.value(),
            labels: labels.value(),
            names: names.value(),
        }
    }
}

impl Statistics for RowDigests {
    fn merge(&mut self, other: &Self) {
        self.cells.merge(&other.cells);
        self.weights.merge(&other.weights);
        self.labels.merge(&other.labels);
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::Survey;
    use crate::{ColumnKind, Dense, Table};

    fn of(table: &Table<f64>) -> Fingerprint {
        Survey::of(table, &Context::new(0)).unwrap().fingerprint
    }

    fn numbers(rows: usize) -> Vec<f64> {
        (0..rows * 3).map(|i| (i as f64 * 0.7).sin() + 0.1).collect()
    }

    #[test]
    fn paired_sign_flips_are_noticed() {
        let table = |cells| Table::from(Dense::new(200, 3, cells).unwrap());
        let plain = of(&table(numbers(200)));
        for (a, b) in [(0, 1), (5, 50), (17, 300), (598, 599)] {
            let mut cells = numbers(200);
            (cells[a], cells[b]) = (-cells[a], -cells[b]);
            assert_eq!(plain.differs_in(&of(&table(cells))), Some("cells"));
        }
    }

    #[test]
    fn rows_moved_anywhere_in_long_data_are_noticed() {
        let rows = 30_000;
        let plain = of(&Table::from(Dense::new(rows, 3, numbers(rows)).unwrap()));
        for at in [10, 9_000, 15_001, 29_998] {
            let mut cells = numbers(rows);
            for d in 0..3 {
                cells.swap(at * 3 + d, (at + 1) * 3 + d);
            }
            let moved = of(&Table::from(Dense::new(rows, 3, cells).unwrap()));
            assert_eq!(plain.differs_in(&moved), Some("cells"), "row {at}");
        }
    }

    #[test]
    fn weights_labels_and_names_are_told_apart() {
        let table = || Table::from(Dense::new(4, 3, numbers(4)).unwrap());
        let plain = of(&table());
        let weighted = of(&table().with_weights(vec![1.0, 2.0, 1.0, 1.0]).unwrap());
        assert_eq!(plain.differs_in(&weighted), Some("weights"));
        let about = crate::About {
            labels: Some(crate::Labels {
                names: vec!["a".into(), "b".into()],
                of_row: vec![Some(0), Some(1), None, Some(0)],
            }),
            ..crate::About::default()
        };
        let labelled = of(&table().with_about(about).unwrap());
        assert_eq!(plain.differs_in(&labelled), Some("labels"));
        let about = crate::About {
            names: Some(["x", "y", "z"].map(str::to_owned).to_vec()),
            ..crate::About::default()
        };
        assert_eq!(
            plain.differs_in(&of(&table().with_about(about).unwrap())),
            Some("column names or kinds")
        );
        let kinds = [vec![ColumnKind::Number; 3], vec![ColumnKind::Date; 3]];
        let [numbers, dates] = kinds.map(|kinds| of(&table().with_kinds(kinds).unwrap()));
        assert_eq!(plain.differs_in(&numbers), None);
        assert_eq!(plain.differs_in(&dates), Some("column names or kinds"));
    }
}
