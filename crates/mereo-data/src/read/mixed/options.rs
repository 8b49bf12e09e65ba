//! What users and models say of columns, where their content does not.

use std::path::Path;
use std::str::FromStr;

use mereo_core::{ColumnKind, Error, Result};

/// What somebody says that a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Quantities.
    Number,
    /// How often something happened.
    Count,
    /// One of two answers.
    YesNo,
    /// Words without an order.
    Category,
    /// Words in this order; if none is said, numbers by size, known scales as they are known, and other
    /// words by the alphabet.
    Ordered(Vec<String>),
    /// Moments; with their calendar parts (month and day of the week) as columns of their own, if wanted.
    Date {
        /// Whether calendar parts are wanted.
        parts: bool,
    },
    /// Names of the rows.
    Id,
    /// Free text: left out.
    Text,
}

impl FromStr for Said {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(k, r)| (k, Some(r)));
        let said = match (kind.trim().to_lowercase().as_str(), rest) {
            ("number", None) => Self::Number,
            ("count", None) => Self::Count,
            ("yes/no" | "yesno" | "yes-no" | "bool" | "boolean", None) => Self::YesNo,
            ("category", None) => Self::Category,
            ("ordered", None) => Self::Ordered(Vec::new()),
            ("ordered", Some(levels)) => {
                Self::Ordered(levels.split('<').map(|level| level.trim().to_owned()).collect())
            }
            ("date", None) => Self::Date { parts: false },
            ("date", Some("parts")) => Self::Date { parts: true },
            ("id" | "name", None) => Self::Id,
            ("text", None) => Self::Text,
            _ => {
                let problem = format!(
                    "`{text}` is no kind of column; choose number, count, yes/no, category, ordered \
                     (or ordered:low<middle<high), date (or date:parts), id or text"
                );
                return Err(Error::option("kinds", problem));
            }
        };
        Ok(said)
    }
}

/// What somebody says about the kinds of columns.
///
/// ```
/// use mereo_data::{Kinds, Said};
/// let kinds: Kinds = "zip=category, size=ordered:S<M<L".parse()?;
/// assert_eq!(kinds.of("zip"), Some(&Said::Category));
/// assert!("auto".parse::<Kinds>()?.auto);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Whether kinds are looked for in a table of numbers too: counts, and columns of 0 and 1.
    pub auto: bool,
    columns: Vec<(String, Said)>,
}

impl Kinds {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        !self.auto && self.columns.is_empty()
    }

    /// What is said of a column.
    pub fn of(&self, column: &str) -> Option<&Said> {
        self.columns.iter().rev().find(|(name, _)| name == column).map(|(_, said)| said)
    }

    /// The columns that something is said of.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Takes a file of lines `COLUMN=KIND` if there is one of this name, and otherwise what the text says.
    pub fn from_text_or_file(text: &str) -> Result<Self> {
        let path = Path::new(text);
        if text.contains('=') || text == "auto" || !path.is_file() {
            return text.parse();
        }
        let lines = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        let lines = lines.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        let mut kinds = Self::default();
        for line in lines {
            kinds.add(line)?;
        }
        Ok(kinds)
    }

    fn add(&mut self, text: &str) -> Result<()> {
        if text == "auto" {
            self.auto = true;
            return Ok(());
        }
        let Some((column, kind)) = text.rsplit_once('=') else {
            let problem =
                format!("`{text}` is neither COLUMN=KIND, nor `auto`, nor a file of such lines");
            return Err(Error::option("kinds", problem));
        };
        self.columns.push((column.trim().to_owned(), kind.trim().parse()?));
        Ok(())
    }
}

impl FromStr for Kinds {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut kinds = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            kinds.add(part)?;
        }
        Ok(kinds)
    }
}

/// What a model expects of rows: the columns that it knows are read as what they were when it learned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// The columns by name.
    pub columns: Vec<String>,
    /// What each of them is; numbers throughout if nothing is said.
    pub kinds: Option<Vec<ColumnKind>>,
    /// The column of the rows' names.
    pub id: Option<String>,
    /// The column of the rows' classes.
    pub label: Option<String>,
}

impl Expected {
    /// What a column is, if the model knows it.
    pub fn kind(&self, column: &str) -> Option<&ColumnKind> {
        let at = self.columns.iter().position(|name| name == column)?;
        Some(self.kinds.as_ref().and_then(|kinds| kinds.get(at)).unwrap_or(&ColumnKind::Number))
    }
}
