//! Words for models of numbers: a column of words becomes a column of 0 and 1 for each word, as in the
//! factor analysis of mixed data.
//!
//! A yes/no is one column of 0 and 1 already, and words in an order are the numbers of their places. What a
//! model makes of such columns comes back as words: the one whose column is highest. Negative values and
//! values beyond 1 are cut off and the rest is shared out, which gives probabilities. They are those of a linear
//! model, not of a multinomial one; models that know kinds of columns themselves need none of this.

use std::ops::Range;

use mereo_core::{
    About, Absent, Batch, Block, ColumnKind, Lane, Real, Result, Source, column_name,
};

/// Least words that a column is unfolded for.
const LEVELS: usize = 3;

/// Where each column of words goes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unfold {
    kinds: Vec<ColumnKind>,
    starts: Vec<usize>,
}

impl Unfold {
    /// For columns of these kinds.
    pub(crate) fn of(kinds: &[ColumnKind]) -> Self {
        let mut starts = vec![0];
        for kind in kinds {
            starts.push(starts[starts.len() - 1] + width(kind));
        }
        Self { kinds: kinds.to_vec(), starts }
    }

    /// Columns that a model sees.
    pub(crate) fn width(&self) -> usize {
        self.starts[self.kinds.len()]
    }

    /// The column that each of those stands for.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.kinds.len())
            .flat_map(|c| std::iter::repeat_n(c, self.starts[c + 1] - self.starts[c]))
    }

    /// Names of the columns that a model sees.
    pub(crate) fn names(&self, names: Option<&[String]>) -> Vec<String> {
        let of_column = |(column, kind): (usize, &ColumnKind)| {
            let name = column_name(names, column);
            match kind {
                kind if width(kind) > 1 => {
                    kind.levels().iter().map(|level| format!("{name}={level}")).collect()
                }
                ColumnKind::YesNo { levels } => match levels.get(1) {
                    Some(yes) => vec![format!("{name}={yes}")],
                    None => vec![name],
                },
                _ => vec![name],
            }
        };
        self.kinds.iter().enumerate().flat_map(of_column).collect()
    }

    /// The same rows as a model of numbers sees them.
    pub(crate) fn source<'a, T: Real>(
        &self,
        inner: Box<dyn Source<T> + 'a>,
    ) -> Box<dyn Source<T> + 'a> {
        let names = self.names(inner.about().names.as_deref());
        let about = About {
            names: Some(names),
            kinds: None,
            formats: None,
            picture: None,
            ..inner.about().clone()
        };
        Box::new(Unfolded { unfold: self.clone(), inner, about })
    }

    /// Cells that a model made as cells of these kinds: the likeliest word, the nearest count.
    pub(crate) fn fold<T: Real>(&self, made: &[T], out: &mut [T]) {
        for (column, out) in out.iter_mut().enumerate() {
            let own = &made[self.starts[column]..self.starts[column + 1]];
            let value = match (&self.kinds[column], own) {
                (_, own) if own.len() > 1 => {
                    let best = |b: usize, l: usize| if own[l] > own[b] { l } else { b };
                    (0..own.len()).fold(0, best) as f64
                }
                (kind, own) => {
                    let value = own.first().map_or(f64::NAN, |value| value.to_f64());
                    let most = kind.levels().len().saturating_sub(1) as f64;
                    match kind {
                        ColumnKind::Number | ColumnKind::Date => value,
                        ColumnKind::Count => value.max(0.0),
                        _ if kind.levels().is_empty() => value,
                        _ => value.round().clamp(0.0, most),
                    }
                }
            };
            *out = T::from_f64(value);
        }
    }

    /// Puts what is said of a cell into the columns that it is unfolded into: a number, or the probability of
    /// each word.
    pub(crate) fn put<T: Real>(&self, column: usize, said: &[f64], out: &mut [T]) {
        let own = &mut out[self.starts[column]..self.starts[column + 1]];
        if own.len() == said.len() {
            own.iter_mut().zip(said).for_each(|(own, said)| *own = T::from_f64(*said));
        } else if let [cell] = own {
            // Of words in an order the mean place, and of yes and no the probability of yes.
            let mean = said.iter().enumerate().map(|(level, p)| level as f64 * p).sum();
            *cell = T::from_f64(mean);
        }
    }

    /// The probability of each word of a column, by what a model made of a row.
    pub(crate) fn shares<T: Real>(&self, made: &[T], column: usize) -> Vec<f64> {
        let own = &made[self.starts[column]..self.starts[column + 1]];
        match &self.kinds[column] {
            kind if own.len() > 1 => {
                let cut: Vec<f64> = own.iter().map(|p| p.to_f64().clamp(1e-3, 1.0)).collect();
                let sum: f64 = cut.iter().sum();
                debug_assert_eq!(kind.levels().len(), cut.len());
                cut.iter().map(|p| p / sum).collect()
            }
            ColumnKind::YesNo { levels } if levels.len() == 2 => {
                let yes = own[0].to_f64().clamp(1e-3, 1.0 - 1e-3);
                vec![1.0 - yes, yes]
            }
            _ => Vec::new(),
        }
    }
}

fn width(kind: &ColumnKind) -> usize {
    match kind {
        ColumnKind::Category { levels } if levels.len() >= LEVELS => levels.len(),
        _ => 1,
    }
}

struct Unfolded<'a, T> {
    unfold: Unfold,
    inner: Box<dyn Source<T> + 'a>,
    about: About,
}

impl<T: Real> Source<T> for Unfolded<'_, T> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.unfold.width()
    }

    fn batch_rows(&self) -> usize {
        self.inner.batch_rows()
    }

    fn batches(&self) -> usize {
        self.inner.batches()
    }

    fn shard_batches(&self) -> usize {
        self.inner.shard_batches()
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        let lane = self.inner.lane(batches)?;
        Ok(Box::new(UnfoldedLane { unfold: &self.unfold, inner: lane, values: Vec::new() }))
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn absent(&self) -> Option<Absent> {
        None
    }
}

struct UnfoldedLane<'a, T> {
    unfold: &'a Unfold,
    inner: Box<dyn Lane<T> + 'a>,
    values: Vec<T>,
}

impl<T: Real> Lane<T> for UnfoldedLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        let (unfold, columns) = (self.unfold, self.unfold.width());
        self.values.clear();
        self.values.resize(batch.rows * columns, T::MISSING);
        for (row, out) in self.values.chunks_exact_mut(columns.max(1)).enumerate() {
            batch.for_each_observed(row, |column, value| {
                let own = &mut out[unfold.starts[column]..unfold.starts[column + 1]];
                if let [cell] = own {
                    *cell = value;
                } else {
                    own.fill(T::ZERO);
                    if let Some(cell) = own.get_mut(value.to_f64() as usize) {
                        *cell = T::from_f64(1.0);
                    }
                }
            });
        }
        let complete = !self.values.iter().any(|value| value.is_missing());
        let block = Block::Dense { values: &self.values, complete };
        Ok(Some(Batch { block, columns, ..batch }))
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::{Dense, Table};

    use super::*;

    #[test]
    fn words_become_columns_and_come_back() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let kinds = vec![
            ColumnKind::Number,
            ColumnKind::Category { levels: words("red green blue") },
            ColumnKind::YesNo { levels: words("no yes") },
        ];
        let unfold = Unfold::of(&kinds);
        let cells = vec![2.5, 1.0, 1.0, f64::NAN, f64::NAN, 0.0];
        let table = Table::from(Dense::new(2, 3, cells).unwrap())
            .with_names(words("x colour ok"))
            .and_then(|t| t.with_kinds(kinds))
            .unwrap();
        let source = unfold.source(Box::new(table));
        let names = source.about().names.clone().unwrap();
        assert_eq!(names, ["x", "colour=red", "colour=green", "colour=blue", "ok=yes"]);
        let mut lane = source.lane(0..1).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        let mut row = vec![0.0; 5];
        batch.dense_row(0, &mut row);
        assert_eq!(row, [2.5, 0.0, 1.0, 0.0, 1.0]);
        batch.dense_row(1, &mut row);
        assert!(row[..4].iter().all(|x| x.is_nan()) && row[4] == 0.0);
        let made = [7.0, 0.2, -0.1, 0.9, 0.4];
        let mut out = [0.0; 3];
        unfold.fold(&made, &mut out);
        assert_eq!(out, [7.0, 2.0, 0.0]);
        let shares = unfold.shares(&made, 1);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares[1] < 0.01);
        assert_eq!(unfold.shares(&made, 0), Vec::<f64>::new());
    }
}
