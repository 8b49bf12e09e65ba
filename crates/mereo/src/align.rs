//! Bringing the columns of data into the order that a model knows them in.
//!
//! Columns are found by their names, in any order. One that the data lacks is missing in every row, one that
//! the model does not know is ignored, and words become the numbers that the model gave them; a word that it
//! has not seen is missing. Columns without names must be as many as the model has.

use std::collections::HashMap;
use std::ops::Range;

use mereo_core::{
    About, Absent, Batch, Block, ColumnKind, Error, Lane, Place, Real, Result, Source,
};

use crate::fitted::own_names;

/// The same rows with the model's columns: by name where both have names, by position otherwise.
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
    align_kinds(source, columns, names, None)
}

/// The same for columns that hold words too.
pub(crate) fn align_kinds<'a, T: Real>(
    source: Box<dyn Source<T> + 'a>,
    columns: usize,
    names: Option<&[String]>,
    kinds: Option<&[ColumnKind]>,
) -> Result<Box<dyn Source<T> + 'a>> {
    let alignment = Alignment::of(source.about(), source.columns(), columns, names, kinds)?;
    if alignment.changes_nothing() {
        return Ok(source);
    }
    let mut to = vec![u32::MAX; source.columns()];
    for (model, data) in alignment.from.iter().enumerate() {
        if let Some(data) = data {
            to[*data] = model as u32;
        }
    }
    let about = About {
        names: names.map(<[String]>::to_vec).or_else(|| source.about().names.clone()),
        kinds: kinds.map(<[ColumnKind]>::to_vec),
        formats: None,
        picture: None,
        ..source.about().clone()
    };
    Ok(Box::new(Reordered { inner: source, alignment, to, about }))
}

/// Where a model finds its columns in data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alignment {
    /// For each column of the model the data's, if it has it.
    from: Vec<Option<usize>>,
    /// For each column of the model the numbers of the data's words, where they differ.
    levels: Vec<Option<Vec<Option<usize>>>>,
    columns: usize,
    /// What is worth saying.
    pub(crate) notices: Vec<String>,
}

impl Alignment {
    pub(crate) fn of(
        about: &About,
        own_columns: usize,
        columns: usize,
        names: Option<&[String]>,
        kinds: Option<&[ColumnKind]>,
    ) -> Result<Self> {
        let both = own_names(names).zip(own_names(about.names.as_deref()));
        let mut notices = Vec::new();
        let from: Vec<Option<usize>> = match both {
            Some((names, own)) if names != own => {
                let mut place: HashMap<&str, usize> = HashMap::new();
                for (at, name) in own.iter().enumerate().rev() {
                    place.insert(name, at);
                }
                let mut wanted: Vec<&String> = names.iter().collect();
                wanted.sort();
                if wanted.windows(2).any(|pair| pair[0] == pair[1]) {
                    let found = "a column twice";
                    let expected = "each of the model's columns once";
                    return Err(Error::found(Place::default(), found, expected));
                }
                let from: Vec<Option<usize>> =
                    names.iter().map(|name| place.get(name.as_str()).copied()).collect();
                if from.iter().all(Option::is_none) {
                    return Err(unknown(names, own));
                }
                let lacking: Vec<&String> =
                    names.iter().zip(&from).filter(|(_, f)| f.is_none()).map(|(n, _)| n).collect();
                let extra: Vec<&String> = own.iter().filter(|name| !names.contains(name)).collect();
                if !lacking.is_empty() {
                    notices.push(format!(
                        "the data has no {}: missing in every row",
                        listed("column", &lacking)
                    ));
                }
                if !extra.is_empty() {
                    let what = listed("column", &extra);
                    notices.push(format!("{what}: not known to the model and ignored"));
                }
                from
            }
            _ => {
                if own_columns != columns {
                    let found = format!("{own_columns} columns");
                    let expected = format!("the {columns} columns that the model has");
                    return Err(Error::found(Place::default(), found, expected));
                }
                (0..columns).map(Some).collect()
            }
        };
        let mut levels = vec![None; columns];
        for (model, kind) in kinds.into_iter().flatten().enumerate() {
            let Some(data) = from[model] else { continue };
            let (known, own) = (kind.levels(), about.kind(data).levels());
            if known.is_empty() || own.is_empty() || known == own {
                continue;
            }
            let place = |word: &String| known.iter().position(|k| k == word);
            let unseen: Vec<&String> = own.iter().filter(|word| place(word).is_none()).collect();
            if !unseen.is_empty() {
                let column = mereo_core::column_name(names, model);
                let what = listed("word", &unseen);
                notices
                    .push(format!("column `{column}`: {what} not seen before, taken as missing"));
            }
            levels[model] = Some(own.iter().map(place).collect());
        }
        Ok(Self { from, levels, columns: own_columns, notices })
    }

    fn changes_nothing(&self) -> bool {
        self.columns == self.from.len()
            && self.from.iter().enumerate().all(|(at, from)| *from == Some(at))
            && self.levels.iter().all(Option::is_none)
    }

    fn value<T: Real>(&self, column: usize, value: T) -> T {
        match &self.levels[column] {
            Some(levels) if !value.is_missing() => levels
                .get(value.to_f64() as usize)
                .copied()
                .flatten()
                .map_or(T::MISSING, |level| T::from_f64(level as f64)),
            _ => value,
        }
    }
}

fn listed(what: &str, names: &[&String]) -> String {
    const SHOWN: usize = 4;
    let some: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let plural = if names.len() > 1 { "s" } else { "" };
    let more = if names.len() > SHOWN {
        format!(" and {} more", names.len() - SHOWN)
    } else {
        String::new()
    };
    format!("{what}{plural} {}{more}", some.join(", "))
}

fn unknown(names: &[String], own: &[String]) -> Error {
    let list = |names: &[String]| listed("column", &names.iter().collect::<Vec<_>>());
    let expected = format!("the model's {}", list(names));
    Error::found(
        Place::default(),
        format!("{}, none of which the model knows", list(own)),
        expected,
    )
}

/// A source whose columns come in another order.
struct Reordered<'a, T> {
    inner: Box<dyn Source<T> + 'a>,
    alignment: Alignment,
    /// For each column of the inner source where it goes; beyond all columns if nowhere.
    to: Vec<u32>,
    about: About,
}

impl<T: Real> Source<T> for Reordered<'_, T> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.alignment.from.len()
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

struct ReorderedLane<'a, T> {
    order: &'a Reordered<'a, T>,
    inner: Box<dyn Lane<T> + 'a>,
    /// The row being put in order.
    row: Vec<(u32, T)>,
    /// The cells of the batch that is lent out.
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Real> Lane<T> for ReorderedLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        let alignment = &self.order.alignment;
        let columns = alignment.from.len();
        self.indices.clear();
        self.values.clear();
        let block = match batch.block {
            Block::Dense { values, complete } => {
                for row in values.chunks_exact(batch.columns.max(1)) {
                    let cell = |(column, from): (usize, &Option<usize>)| {
                        from.map_or(T::MISSING, |from| alignment.value(column, row[from]))
                    };
                    self.values.extend(alignment.from.iter().enumerate().map(cell));
                }
                let whole = alignment.from.iter().all(Option::is_some)
                    && alignment.levels.iter().all(Option::is_none);
                Block::Dense { values: &self.values, complete: complete && whole }
            }
            Block::Sparse { starts, indices, values, absent } => {
                self.starts.clear();
                self.starts.push(0);
                for pair in starts.windows(2) {
                    let range = pair[0] - starts[0]..pair[1] - starts[0];
                    self.row.clear();
                    let cells = indices[range.clone()].iter().zip(&values[range]);
                    let known = cells.map(|(&i, &value)| (self.order.to[i as usize], value));
                    self.row.extend(known.filter(|(column, _)| *column != u32::MAX));
                    self.row.sort_unstable_by_key(|&(column, _)| column);
                    self.indices.extend(self.row.iter().map(|&(column, _)| column));
                    self.values.extend(self.row.iter().map(|&(_, value)| value));
                    self.starts.push(self.values.len());
                }
                Block::Sparse {
                    starts: &self.starts,
                    indices: &self.indices,
                    values: &self.values,
                    absent,
                }
            }
        };
        Ok(Some(Batch { block, columns, ..batch }))
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
        let source = align(Box::new(table), 2, Some(&names("c b"))).unwrap();
        let mut lane = source.lane(0..1).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        let Block::Sparse { starts, indices, values, .. } = batch.block else {
            panic!("not sparse")
        };
        assert_eq!((starts, indices, values), (&[0, 0, 1][..], &[0][..], &[3.0][..]));
    }

    #[test]
    fn columns_that_lack_are_missing_and_others_are_ignored() {
        let table = Table::from(Dense::new(1, 2, vec![1.0, 2.0]).unwrap())
            .with_names(names("a b"))
            .unwrap();
        let known = names("z b");
        let told = Alignment::of(table.about(), 2, 2, Some(&known), None).unwrap().notices;
        assert!(told[0].contains("`z`") && told[1].contains("`a`"), "{told:?}");
        let row = first_row(&*align(Box::new(table), 2, Some(&known)).unwrap());
        assert!(row[0].is_nan() && row[1] == 2.0);
    }

    #[test]
    fn words_get_the_numbers_that_the_model_gave_them() {
        let kind = |text: &str| ColumnKind::Category { levels: names(text) };
        let table = Table::from(Dense::new(1, 2, vec![0.0, 1.0]).unwrap())
            .with_names(names("a b"))
            .and_then(|t| t.with_kinds(vec![kind("x y"), kind("new x")]))
            .unwrap();
        let kinds = [kind("y x"), kind("w x")];
        let known = names("a b");
        let source = align_kinds(Box::new(table), 2, Some(&known), Some(&kinds)).unwrap();
        assert_eq!(first_row(&*source), [1.0, 1.0]);
        assert_eq!(source.about().kinds.as_deref(), Some(&kinds[..]));
    }

    #[test]
    fn data_that_the_model_knows_nothing_of_is_refused() {
        let table = || {
            let cells = Dense::new(1, 2, vec![1.0, 2.0]).unwrap();
            Table::from(cells).with_names(names("a b")).unwrap()
        };
        let told = |wanted: &str, columns| {
            let wanted = names(wanted);
            let aligned = align(Box::new(table()), columns, Some(&wanted));
            aligned.err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert!(told("c d", 2).contains("`a`") && told("c d", 2).contains("`c`"));
        assert!(told("0 1 2", 3).contains("2 columns"), "{}", told("0 1 2", 3));
        assert!(told("0 1", 2).is_empty());
        assert!(!told("a a", 2).is_empty());
    }
}
