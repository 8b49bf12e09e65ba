//! Bringing the columns of a sparse table to those that a model knows: a file with six ratings is a user.

use std::collections::HashMap;
use std::ops::Range;

use mereo_core::{About, Absent, Batch, Block, Error, Lane, Place, Real, Result, Source};

use crate::fitted::own_names;

/// What a model calls its columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Items<'a> {
    pub(crate) columns: usize,
    /// Titles.
    pub(crate) names: Option<&'a [String]>,
    /// What the data called them.
    pub(crate) keys: Option<&'a [String]>,
}

impl<'a> Items<'a> {
    /// Where to look for an item, and under which names the data has its own: by id if both have ids, else
    /// by name.
    fn both<'b>(&self, about: &'b About) -> Option<(&'a [String], &'b [String])> {
        let by_key = self.keys.zip(about.keys.as_deref());
        by_key
            .or_else(|| own_names(self.names).or(self.keys).zip(own_names(about.names.as_deref())))
    }

    /// The columns of a table that the model does not know.
    pub(crate) fn unknown(&self, about: &About) -> Vec<String> {
        let Some((known, own)) = self.both(about) else { return Vec::new() };
        let places = places(known);
        let lost = own.iter().enumerate().filter(|(_, name)| !places.contains_key(name.as_str()));
        let title = |at: usize| about.names.as_ref().map_or(&own[at], |names| &names[at]);
        lost.map(|(at, _)| title(at).clone()).collect()
    }

    /// The same rows with the model's columns. An error if nothing of the table is known to the model.
    pub(crate) fn align<'s, T: Real>(
        &self,
        source: Box<dyn Source<T> + 's>,
    ) -> Result<Box<dyn Source<T> + 's>> {
        let Some((known, own)) = self.both(source.about()) else {
            if source.columns() == self.columns {
                return Ok(source);
            }
            let found = format!("{} columns without names", source.columns());
            let expected = format!("the {} columns that the model has", self.columns);
            return Err(Error::found(Place::default(), found, expected));
        };
        if known == own {
            return Ok(source);
        }
        let places = places(known);
        let to: Vec<Option<u32>> = own.iter().map(|name| places.get(&**name).copied()).collect();
        if to.iter().all(Option::is_none) {
            let example = |names: &[String]| {
                names.first().map_or_else(String::new, |name| format!(", `{name}` for one"))
            };
            let found =
                format!("{} columns, none of which the model knows{}", own.len(), example(own));
            let expected = format!("some of the {} that it has{}", known.len(), example(known));
            return Err(Error::found(Place::default(), found, expected));
        }
        let about = About {
            names: self.names.map(<[String]>::to_vec),
            keys: self.keys.map(<[String]>::to_vec),
            picture: None,
            kinds: None,
            ..source.about().clone()
        };
        Ok(Box::new(Brought { inner: source, columns: self.columns, to, about }))
    }
}

fn places(names: &[String]) -> HashMap<&str, u32> {
    names.iter().enumerate().map(|(at, name)| (name.as_str(), at as u32)).collect()
}

/// A sparse source whose columns are the model's.
struct Brought<'a, T> {
    inner: Box<dyn Source<T> + 'a>,
    columns: usize,
    /// For each column of the inner source where it goes, if anywhere.
    to: Vec<Option<u32>>,
    about: About,
}

impl<T: Real> Source<T> for Brought<'_, T> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.columns
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
        Ok(Box::new(BroughtLane {
            order: self,
            inner: self.inner.lane(batches)?,
            row: Vec::new(),
            starts: Vec::new(),
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

struct BroughtLane<'a, T> {
    order: &'a Brought<'a, T>,
    inner: Box<dyn Lane<T> + 'a>,
    /// The row being put in order.
    row: Vec<(u32, T)>,
    /// The cells of the batch that is lent out.
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Real> Lane<T> for BroughtLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        let Block::Sparse { starts, indices, values, absent } = batch.block else {
            let expected = "rows as sparse as their source";
            return Err(Error::found(Place::default(), "a batch in full", expected));
        };
        self.starts.clear();
        self.indices.clear();
        self.values.clear();
        self.starts.push(0);
        for pair in starts.windows(2) {
            let range = pair[0] - starts[0]..pair[1] - starts[0];
            self.row.clear();
            let columns = indices[range.clone()].iter().map(|&i| self.order.to[i as usize]);
            let cells = columns.zip(values[range].iter().copied());
            self.row.extend(cells.filter_map(|(column, value)| Some((column?, value))));
            self.row.sort_unstable_by_key(|&(column, _)| column);
            self.indices.extend(self.row.iter().map(|&(column, _)| column));
            self.values.extend(self.row.iter().map(|&(_, value)| value));
            self.starts.push(self.values.len());
        }
        let (starts, indices, values) = (&*self.starts, &*self.indices, &*self.values);
        let block = Block::Sparse { starts, indices, values, absent };
        Ok(Some(Batch { block, columns: self.order.columns, ..batch }))
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::{Sparse, Table};

    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(ToOwned::to_owned).collect()
    }

    fn table(keys: &str) -> Table<f32> {
        let keys = names(keys);
        let starts = vec![0, 3, 3, 4];
        let cells =
            Sparse::new(3, starts, vec![0, 1, 2, 1], vec![1.0, 2.0, 3.0, 4.0], Absent::Unobserved);
        Table::from(cells.unwrap()).with_names(keys.clone()).unwrap().with_keys(keys).unwrap()
    }

    fn cells(source: &dyn Source<f32>) -> Vec<Vec<(usize, f32)>> {
        let mut lane = source.lane(0..source.batches()).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        let row = |row: usize| {
            let mut own = Vec::new();
            batch.for_each_observed(row, |column, value| own.push((column, value)));
            own
        };
        (0..batch.rows).map(row).collect()
    }

    #[test]
    fn columns_that_are_lacking_are_absent_and_unknown_ones_left_out() {
        let (titles, keys) = (names("A B C D"), names("a b c d"));
        let items = Items { columns: 4, names: Some(&titles), keys: Some(&keys) };
        let table = table("d x b");
        assert_eq!(items.unknown(table.about()), ["x"]);
        let brought = items.align(Box::new(table)).unwrap();
        assert_eq!(cells(&*brought), [vec![(1, 3.0), (3, 1.0)], vec![], vec![]]);
        assert_eq!(brought.about().names, Some(titles.clone()));
        // Once brought, nothing more is to be done.
        let again = items.align(brought).unwrap();
        assert_eq!(cells(&*again)[0], [(1, 3.0), (3, 1.0)]);
    }

    #[test]
    fn nothing_in_common_is_an_error_that_shows_both() {
        let keys = names("1 2 3");
        let items = Items { columns: 3, names: None, keys: Some(&keys) };
        let error = items.align(Box::new(table("i1 i2 i3"))).err().unwrap().to_string();
        assert!(error.contains("none of which the model knows, `i1` for one"), "{error}");
        assert!(error.contains("`1` for one"), "{error}");
        let bare = Table::from(
            Sparse::new(2, vec![0, 1], vec![0], vec![1.0f32], Absent::Unobserved).unwrap(),
        );
        let error = items.align(Box::new(bare)).err().unwrap().to_string();
        assert!(error.contains("2 columns without names"), "{error}");
    }
}
