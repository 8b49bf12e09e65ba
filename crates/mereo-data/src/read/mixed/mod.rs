//! Tables as people have them: words, names, counts and dates beside numbers.
//!
//! A file is read into a [`Raw`] table first, whose columns hold numbers or texts as they stand in the file;
//! then [`decide`] finds from the content what each column is, or is told, and makes the table of numbers
//! that models learn from.

pub(super) mod arrow;
mod decide;
mod options;
mod scales;
mod sheet;
mod text;
mod written;

use std::collections::BTreeMap;

use hashbrown::HashMap;
use mereo_core::Result;
use serde::Serialize;

pub(super) use decide::{Verdict, decide};
pub use options::{Expected, Kinds, Said};
pub(super) use sheet::read_sheet;
pub(super) use text::read_text;

use super::input::make_room;

/// The number of a text that is missing.
pub(super) const MISSING: u32 = u32::MAX;

/// What was decided about the columns of a file, to be told to whoever reads it.
///
/// ```
/// use mereo_data::{ReadOptions, read_told};
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("people.csv");
/// std::fs::write(&path, "age,smokes\n31,yes\n45,no\n27,no\n").unwrap();
/// let (_, told) = read_told(&path, &ReadOptions::default())?;
/// assert_eq!(told.columns[1].kind, "yes/no");
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Told {
    /// What each column of the file is, in the file's order; nothing for a table of numbers alone.
    pub columns: Vec<ColumnTold>,
    /// What else is worth knowing.
    pub notices: Vec<String>,
}

/// What was decided about a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnTold {
    /// Its name.
    pub name: String,
    /// What it is: number, count, yes/no, category, ordered, date, id, text, label, weight or left out.
    pub kind: String,
    /// Why.
    pub why: String,
    /// Cells without a value.
    pub missing: usize,
    /// Words, of a column of words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
}

impl ColumnTold {
    /// Whether models learn from the column.
    pub fn is_learned(&self) -> bool {
        !matches!(self.kind.as_str(), "id" | "text" | "label" | "weight" | "left out")
    }
}

/// A table as it stands in a file.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) names: Option<Vec<String>>,
    pub(super) rows: usize,
    pub(super) columns: Vec<Column>,
    /// Whether commas are decimal points where that is open: fields are set apart by something else.
    pub(super) commas_are_points: bool,
    pub(super) notices: Vec<String>,
}

/// A column as it stands in a file.
#[derive(Debug)]
pub(super) enum Column {
    /// Numbers throughout, NaN where one is missing.
    Numbers(Vec<f64>),
    /// Something else, in some cells at least.
    Texts(Texts),
    /// Truth values, which are no words of the user.
    Truths(Vec<Option<bool>>),
    /// Days since 1970, NaN where one is missing.
    Days(Vec<f64>),
    /// Not read.
    Skipped,
}

/// Texts that may occur often: each stands once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// For each row the number of its text, or [`MISSING`].
    pub(super) codes: Vec<u32>,
    /// The different texts, in the order in which they first occur.
    pub(super) texts: Vec<String>,
}

impl Texts {
    /// How often each text occurs.
    pub(super) fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.texts.len()];
        for &code in self.codes.iter().filter(|&&code| code != MISSING) {
            counts[code as usize] += 1;
        }
        counts
    }

    /// The text of a row.
    pub(super) fn get(&self, row: usize) -> Option<&str> {
        self.texts.get(*self.codes.get(row)? as usize).map(String::as_str)
    }

    /// Texts one by one.
    pub(super) fn from_texts<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut gathered = Gathered::default();
        for text in texts {
            gathered.push(text.map(str::as_bytes));
        }
        gathered.into_texts(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Texts while they are gathered, as bytes.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    codes: Vec<u32>,
    number_of: HashMap<Box<[u8]>, u32>,
    texts: Vec<Box<[u8]>>,
}

impl Gathered {
    pub(super) fn push(&mut self, text: Option<&[u8]>) {
        let code = text.map_or(MISSING, |text| self.number(text));
        self.codes.push(code);
    }

    fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(&number) = self.number_of.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        self.number_of.insert(text.into(), number);
        number
    }

    /// Takes what somebody else gathered of the rows that follow.
    pub(super) fn append(&mut self, more: &Self) -> Result<()> {
        make_room(&mut self.codes, more.codes.len())?;
        let numbers: Vec<u32> = more.texts.iter().map(|text| self.number(text)).collect();
        let number = |code: &u32| numbers.get(*code as usize).copied().unwrap_or(MISSING);
        self.codes.extend(more.codes.iter().map(number));
        Ok(())
    }

    /// The texts, decoded; those that are the same once decoded become one.
    pub(super) fn into_texts(self, decode: impl Fn(&[u8]) -> String) -> Texts {
        let mut number_of = BTreeMap::new();
        let mut texts = Vec::new();
        let numbers: Vec<u32> = self
            .texts
            .iter()
            .map(|bytes| {
                let text = decode(bytes);
                *number_of.entry(text.clone()).or_insert_with(|| {
                    texts.push(text);
                    texts.len() as u32 - 1
                })
            })
            .collect();
        let number = |code: u32| numbers.get(code as usize).copied().unwrap_or(MISSING);
        Texts { codes: self.codes.into_iter().map(number).collect(), texts }
    }
}

#[cfg(test)]
mod tests;
