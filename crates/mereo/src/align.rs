//! Bringing the columns of data into the order that a model knows them in.

use std::collections::HashSet;
use std::ops::Range;

use mereo_core::{About, Absent, Batch, Block, Error, Lane, Place, Real, Result, Source};

use crate::fitted::own_names;

/// The same rows with the model's columns: as they are if the columns have no names or the same,
/// reordered if only their order differs, otherwise an error.
///
/// ```
/// use mereo::{Dense, Source, Table};
/// let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let table = Table::from(Dense::new(1, 2, vec![1.0, 2.0])?).with_names(names("a b"))?;
/// let aligned = mereo::align_columns(Box::new(table), 2, Some(&names("b a")))?;
/// assert_eq!(aligned.about().names, Some(names("b a")));
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn align<'a, T: Real>(
    source: Box<dyn Source<T> + 'a>,
    columns: usize,
    names: Option<&[String]>,
) -> Result<Box<dyn Source<T> + 'a>> {
    let both = own_names(names).zip(own_names(source.about().names.as_deref()));
    if source.columns() != columns {
        let among = |name: Option<&String>| {
            name.map_or_else(String::new, |name| format!(", `{name}` among them"))
        };
        let (new, lacking) = both.map_or((None, None), |(names, own)| {
            (first_not_in(own, names), first_not_in(names, own))
        });
        let found = format!("{} columns{}", source.columns(), among(new));
        let expected = format!("the {columns} columns that the model has{}", among(lacking));
        return Err(Error::found(Place::default(), found, expected));
    }
    let Some((names, own)) = both else { return Ok(source) };
    if names == own {
        return Ok(source);
    }
    let sorted = |names: &[String]| {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| names[a].cmp(&names[b]));
        order
    };
    let (theirs, ours) = (sorted(names), sorted(own));
    if theirs.iter().zip(&ours).any(|(&t, &o)| names[t] != own[o]) {
        return Err(different(names, own));
    }
    let mut from = vec![0; columns];
    let mut to = vec![0; columns];
    for (&model, &data) in theirs.iter().zip(&ours) {
        from[model] = data;
        to[data] = model as u32;
    }
    let about = About { names: Some(names.to_vec()), picture: None, ..source.about().clone() };
    Ok(Box::new(Reordered { inner: source, from, to, about }))
}

fn first_not_in<'a>(names: &'a [String], others: &[String]) -> Option<&'a String> {
    let others: HashSet<&String> = others.iter().collect();
    names.iter().find(|name| !others.contains(name))
}

fn different(names: &[String], own: &[String]) -> Error {
    let found = match first_not_in(own, names) {
        Some(name) => format!("a column `{name}` that the model does not know"),
        None => "a column twice".to_owned(),
    };
    let expected = match first_not_in(names, own) {
        Some(name) => format!("the model's columns, among them `{name}`"),
        None => "each of the model's columns once".to_owned(),
    };
    Error::found(Place::default(), found, expected)
}

/// A source whose columns come in another order.
struct Reordered<'a, T> {
    inner: Box<dyn Source<T> + 'a>,
    /// For each column the one that it was.
    from: Vec<usize>,
    /// For each column of the inner source where it goes.
    to: Vec<u32>,
    about: About,
}

impl<T: Real> Source<T> for Reordered<'_, T> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.inner.columns()
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
        Ok(Box::new(ReorderedLane {
            order: self,
            inner: self.inner.lane(batches)?,
            row: Vec::new(),
            indices: Vec::new(),
            values: Vec::new(),
        }))
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn absent(&self) -> Option<Absent> {
        self.inner.absent()
    }
}

struct ReorderedLane<'a, T> {
    order: &'a Reordered<'a, T>,
    inner: Box<dyn Lane<T> + 'a>,
    /// The row being put in order.
    row: Vec<(u32, T)>,
    /// The cells of the batch that is lent out.
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Real> Lane<T> for ReorderedLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        self.indices.clear();
        self.values.clear();
        let block = match batch.block {
            Block::Dense { values, complete } => {
                for row in values.chunks_exact(batch.columns.max(1)) {
                    self.values.extend(self.order.from.iter().map(|&column| row[column]));
                }
                Block::Dense { values: &self.values, complete }
            }
            Block::Sparse { starts, indices, values, absent } => {
                for pair in starts.windows(2) {
                    let range = pair[0] - starts[0]..pair[1] - starts[0];
                    self.row.clear();
                    let columns = indices[range.clone()].iter().map(|&i| self.order.to[i as usize]);
                    self.row.extend(columns.zip(values[range].iter().copied()));
                    self.row.sort_unstable_by_key(|&(column, _)| column);
                    self.indices.extend(self.row.iter().map(|&(column, _)| column));
                    self.values.extend(self.row.iter().map(|&(_, value)| value));
                }
                Block::Sparse { starts, indices: &self.indices, values: &self.values, absent }
            }
        };
        Ok(Some(Batch { block, ..batch }))
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::{Dense, Sparse, Table};

    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(ToOwned::to_owned).collect()
    }

    fn first_row(source: &dyn Source<f64>) -> Vec<f64> {
        let mut row = vec![0.0; source.columns()];
        let mut lane = source.lane(0..1).unwrap();
        lane.next_batch().unwrap().unwrap().dense_row(0, &mut row);
        row
    }

    #[test]
    fn dense_columns_follow_their_names() {
        let table = Table::from(Dense::new(1, 3, vec![1.0, 2.0, 3.0]).unwrap())
            .with_names(names("a b c"))
            .unwrap();
        let source = align(Box::new(table), 3, Some(&names("c a b"))).unwrap();
        assert_eq!(first_row(&*source), [3.0, 1.0, 2.0]);
        assert_eq!(source.about().names, Some(names("c a b")));
    }

    #[test]
    fn sparse_columns_follow_their_names() {
        let cells =
            Sparse::new(3, vec![0, 0, 2], vec![0, 2], vec![1.0, 3.0], Absent::Zero).unwrap();
        let table = Table::from(cells).with_names(names("a b c")).unwrap();
        let source = align(Box::new(table), 3, Some(&names("c b a"))).unwrap();
        let mut lane = source.lane(0..1).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        let Block::Sparse { indices, values, .. } = batch.block else { panic!("not sparse") };
        assert_eq!((indices, values), (&[0, 2][..], &[3.0, 1.0][..]));
    }

    #[test]
    fn other_columns_are_named() {
        let table = || {
            let cells = Dense::new(1, 2, vec![1.0, 2.0]).unwrap();
            Table::from(cells).with_names(names("a b")).unwrap()
        };
        let told = |wanted: &str, columns| {
            let wanted = names(wanted);
            let aligned = align(Box::new(table()), columns, Some(&wanted));
            aligned.err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert!(told("a c", 2).contains("`b`") && told("a c", 2).contains("`c`"));
        assert!(told("a b c", 3).contains("2 columns") && told("a b c", 3).contains("3 columns"));
        assert!(told("a b c", 3).ends_with("`c` among them"), "{}", told("a b c", 3));
        assert!(told("0 1", 2).is_empty());
        assert!(!told("a a", 2).is_empty());
    }
}
