//! Questions about ratings: pairs of a user and an item, and answers that name items.

use std::path::Path;

use mereo_core::{Error, Place, Real, Result};

use super::ReadOptions;
use super::input::Input;
use super::ratings::{DELIMITERS, Header};
use super::text::{Cell, Delimiter, Records, decode, quoted};

/// A user and an item, and perhaps what the one thought of the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The user's id.
    pub user: String,
    /// The item's id or title.
    pub item: String,
    /// What the user rated it, if that is told.
    pub rating: Option<f64>,
    /// The line that it stands on, counted from 1.
    pub line: u64,
}

/// What somebody says when asked about an item.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The item's id or title.
    pub item: String,
    /// The rating; none if the item is not known.
    pub rating: Option<f64>,
    /// The line that it stands on, counted from 1.
    pub line: u64,
}

/// Reads lines of user, item and perhaps a rating, with a header or without; the order of lines stays.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("pairs.csv");
/// std::fs::write(&path, "user,item,rating\nann,tea,4\nbob,tea,\n").unwrap();
/// let pairs = mereo_data::read_pairs(&path)?;
/// assert_eq!((pairs[0].user.as_str(), pairs[0].rating, pairs[1].rating), ("ann", Some(4.0), None));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn read_pairs(path: &Path) -> Result<Vec<Pair>> {
    let rows = Input::open(path, &ReadOptions::default()).and_then(|input| records(input, true));
    let pair = |row: Row| Pair {
        user: row.user.unwrap_or_default(),
        item: row.item,
        rating: row.rating,
        line: row.line,
    };
    Ok(rows.map_err(|e| e.in_file(path))?.into_iter().map(pair).collect())
}

/// Reads lines of item and rating, with a header or without. An item without a rating, or with `?`, is not known.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("answers.csv");
/// std::fs::write(&path, "item,rating\ntea,4\ncoffee,?\n").unwrap();
/// let answers = mereo_data::read_answers(&path)?;
/// assert_eq!((answers[0].rating, answers[1].rating), (Some(4.0), None));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn read_answers(path: &Path) -> Result<Vec<Answered>> {
    let rows = Input::open(path, &ReadOptions::default()).and_then(|input| records(input, false));
    let said = |row: Row| Answered { item: row.item, rating: row.rating, line: row.line };
    Ok(rows.map_err(|e| e.in_file(path))?.into_iter().map(said).collect())
}

/// What a line says.
struct Row {
    user: Option<String>,
    item: String,
    rating: Option<f64>,
    line: u64,
}

/// Which field is what.
struct Columns {
    delimiter: Delimiter,
    header: bool,
    user: Option<usize>,
    item: usize,
    rating: Option<usize>,
}

impl Columns {
    /// Seen from the first line.
    fn of(input: &Input<'_>, users: bool) -> Option<Self> {
        let mut bare = None;
        for delimiter in DELIMITERS {
            let mut records = Records::new(input.sample().whole_lines(), delimiter);
            if !matches!(records.advance(), Ok(true)) || records.len() < 2 {
                continue;
            }
            let header = Header::of(&records);
            let user = header.user();
            if let Some(item) = header.item().filter(|_| !users || user.is_some()) {
                return Some(Self { delimiter, header: true, user, item, rating: header.rating() });
            }
            let first = usize::from(users);
            bare.get_or_insert(Self {
                delimiter,
                header: false,
                user: users.then_some(0),
                item: first,
                rating: (records.len() > first + 1).then_some(first + 1),
            });
        }
        bare
    }
}

fn records(input: Input<'_>, users: bool) -> Result<Vec<Row>> {
    let expected = if users { "lines of user and item" } else { "lines of item and rating" };
    let nothing = || Error::found(Place::default(), "no such lines", expected);
    let columns = Columns::of(&input, users).ok_or_else(nothing)?;
    let mut records = Records::new(input.into_reader(), columns.delimiter);
    let mut rows = Vec::new();
    let (mut fields, mut is_header) = (None, columns.header);
    while records.advance()? {
        records.expect_fields(*fields.get_or_insert(records.len()))?;
        if std::mem::take(&mut is_header) {
            continue;
        }
        let id = |field: usize, what: &str| match records.field(field) {
            [] => {
                let place = records.place().column(what);
                Err(Error::found(place, "an empty field", format!("a {what}'s id")))
            }
            id => Ok(decode(id).into_owned()),
        };
        let user = columns.user.map(|field| id(field, "user")).transpose()?;
        let item = id(columns.item, "item")?;
        let rating = match columns.rating.map(|field| records.field(field)) {
            None | Some([] | b"?") => None,
            Some(text) => match Cell::of(text) {
                Cell::Number(value) if value.abs() <= f32::LARGEST => Some(value),
                _ => {
                    let place = records.place().column("rating");
                    let expected = "a number, or nothing where there is none";
                    return Err(Error::found(place, quoted(text), expected));
                }
            },
        };
        rows.push(Row { user, item, rating, line: records.line() });
    }
    if rows.is_empty() { Err(nothing()) } else { Ok(rows) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn pairs(text: &str) -> std::result::Result<Vec<Pair>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pairs");
        fs::write(&path, text).unwrap();
        read_pairs(&path).map_err(|e| e.to_string())
    }

    #[test]
    fn fields_are_found_by_name_or_by_place() {
        let texts = ["item_id;stars;userId\n7;3;10\n", "10\t7\t3\n", "10::7::3\n", "10 7 3\n"];
        for text in texts {
            let pairs = pairs(text).unwrap();
            assert_eq!((&*pairs[0].user, &*pairs[0].item, pairs[0].rating), ("10", "7", Some(3.0)));
        }
        assert_eq!(pairs("ann,tea\nbob,tea\n").unwrap()[1].rating, None);
    }

    #[test]
    fn errors_name_line_and_column() {
        let cases = [
            ("", "no such lines"),
            ("user,item\n", "no such lines"),
            ("a,b\na\n", "line 2: found 1 field,"),
            ("a,b,x\n", "line 1, column `rating`: found `x`"),
            ("a,\n", "line 1, column `item`: found an empty field"),
        ];
        for (text, expected) in cases {
            let error = pairs(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
