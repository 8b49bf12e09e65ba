//! What is known about a table beside its numbers: names, kinds of columns, labels, weights, pictures.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Error, Format, Place, Result};

/// What the cells of a column are. A table holds numbers throughout; the kind says what they stand for.
///
/// ```
/// use mereo_core::{ColumnKind, Place};
/// let here = Place::default;
/// let size = ColumnKind::Ordered { levels: vec!["small".into(), "large".into()] };
/// assert_eq!(size.levels(), ["small", "large"]);
/// assert!(size.check(1.0, here()).is_ok() && size.check(2.0, here()).is_err());
/// assert!(ColumnKind::Count.check(-1.0, here()).is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum ColumnKind {
    /// A quantity: any number.
    #[default]
    Number,
    /// How often something happened: 0, 1, 2, ...
    Count,
    /// One of two answers: 0 is the first, "no", and 1 the second, "yes".
    #[serde(rename = "yes/no")]
    YesNo {
        /// The words for no and for yes, in this order.
        levels: Vec<String>,
    },
    /// One of several words without an order: the number of the word among `levels`.
    Category {
        /// The words.
        levels: Vec<String>,
    },
    /// One of several words in their order: the number of the word among `levels`.
    Ordered {
        /// The words, from lowest to highest.
        levels: Vec<String>,
    },
    /// A moment: days since the first of January 1970, with fractions.
    Date,
}

impl ColumnKind {
    /// The words of a column of words; none of other columns.
    pub fn levels(&self) -> &[String] {
        match self {
            Self::YesNo { levels } | Self::Category { levels } | Self::Ordered { levels } => levels,
            Self::Number | Self::Count | Self::Date => &[],
        }
    }

    /// What users call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Count => "count",
            Self::YesNo { .. } => "yes/no",
            Self::Category { .. } => "category",
            Self::Ordered { .. } => "ordered",
            Self::Date => "date",
        }
    }

    /// Complains about an observed value that no cell of this kind can have.
    pub fn check(&self, value: f64, place: Place) -> Result<()> {
        let whole = value >= 0.0 && value.fract() == 0.0;
        let expected = match self {
            Self::Number | Self::Date => return Ok(()),
            Self::Count if whole => return Ok(()),
            Self::Count => "a count: 0, 1, 2, ...".to_owned(),
            words if whole && value < words.levels().len() as f64 => return Ok(()),
            words => format!("one of {} levels, counted from 0", words.levels().len()),
        };
        Err(Error::found(place, value, expected))
    }
}

/// Height, width and channels of the picture that each row is (row-major, channels last).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Picture {
    /// Pixels from top to bottom.
    pub height: usize,
    /// Pixels from left to right.
    pub width: usize,
    /// 1 for grey, 3 for red, green, blue.
    pub channels: usize,
}

impl Picture {
    /// Number of columns that such a picture fills; `None` if that overflows.
    pub fn columns(&self) -> Option<usize> {
        self.height.checked_mul(self.width)?.checked_mul(self.channels)
    }
}

/// A class for each row, where it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// Name of each class.
    pub names: Vec<String>,
    /// For each row an index into `names`, or none where the row has no label.
    pub of_row: Vec<Option<u32>>,
}

impl Labels {
    /// Labels from one optional text a row; classes are numbered in alphabetical order, or in
    /// numerical order if all are numbers.
    ///
    /// ```
    /// use mereo_core::Labels;
    /// let labels = Labels::from_texts([Some("dog"), None, Some("cat")]);
    /// assert_eq!(labels.names, ["cat", "dog"]);
    /// assert_eq!(labels.of_row, [Some(1), None, Some(0)]);
    /// ```
    pub fn from_texts<S: AsRef<str>>(texts: impl IntoIterator<Item = Option<S>>) -> Self {
        let texts: Vec<Option<String>> =
            texts.into_iter().map(|t| t.map(|t| t.as_ref().to_owned())).collect();
        let mut names: Vec<String> = texts.iter().flatten().cloned().collect();
        let number = |text: &str| text.trim().parse::<f64>().ok();
        if names.iter().all(|name| number(name).is_some()) {
            names.sort_by(|a, b| {
                number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal).then(a.cmp(b))
            });
        } else {
            names.sort();
        }
        names.dedup();
        let index: HashMap<&str, u32> =
            names.iter().enumerate().map(|(i, name)| (name.as_str(), i as u32)).collect();
        let of_row =
            texts.iter().map(|t| t.as_ref().and_then(|t| index.get(t.as_str()).copied())).collect();
        Self { names, of_row }
    }
}

/// What is known about a table beside its numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    /// Names of the columns, if they have any.
    pub names: Option<Vec<String>>,
    /// Classes of the rows, if they are known.
    pub labels: Option<Labels>,
    /// How often each row counts: 2 is the row twice, 0 the row removed.
    pub weights: Option<Vec<f64>>,
    /// The picture that each row is, if it is one.
    pub picture: Option<Picture>,
    /// What the cells of each column are; nothing means numbers throughout.
    pub kinds: Option<Vec<ColumnKind>>,
    /// Names of the rows, if they have any: never learned from.
    pub ids: Option<Vec<String>>,
    /// What the file calls the column of those names.
    pub id_name: Option<String>,
    /// What the file calls the column of the classes.
    pub label_name: Option<String>,
    /// How the file writes the cells of each column.
    pub formats: Option<Vec<Format>>,
    /// What the file itself calls each column, where `names` are titles that were found elsewhere: the ids
    /// of items that were rated.
    pub keys: Option<Vec<String>>,
}

impl About {
    /// What the cells of a column are.
    ///
    /// ```
    /// use mereo_core::{About, ColumnKind};
    /// assert_eq!(*About::default().kind(0), ColumnKind::Number);
    /// ```
    pub fn kind(&self, column: usize) -> &ColumnKind {
        self.kinds.as_ref().and_then(|kinds| kinds.get(column)).unwrap_or(&ColumnKind::Number)
    }

    /// Whether any column holds something else than numbers.
    pub fn is_mixed(&self) -> bool {
        self.kinds.iter().flatten().any(|kind| *kind != ColumnKind::Number)
    }

    /// The name of a row: its own, or its number.
    pub fn row_name(&self, row: usize) -> String {
        self.ids.as_ref().and_then(|ids| ids.get(row)).cloned().unwrap_or_else(|| row.to_string())
    }
}

/// The name of a column: its own, or its number.
pub fn column_name(names: Option<&[String]>, column: usize) -> String {
    names.and_then(|n| n.get(column)).cloned().unwrap_or_else(|| column.to_string())
}
