//! Who rated what how: user, item, rating and perhaps the time, in the ways of `MovieLens`
//! (`u.data`, `ratings.dat`, `ratings.csv`).
//!
//! A row is a user and a column an item, both in the order of their ids, and what was not rated
//! is unobserved. If a user rated an item more than once the last time holds; without times
//! that is an error. Ids may be any text: rows are called by the users' ids, and columns by the items' titles
//! if a file beside this one tells them (`u.item`, `movies.dat`, `movies.csv`), by their ids otherwise. The
//! items' ids stay beside their titles ([`About::keys`](mereo_core::About::keys)).

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;
use std::path::Path;

use mereo_core::{About, Absent, Error, Place, Real, Result, Table};

use super::ReadOptions;
use super::entries::{Entry, Repeated, compress};
use super::input::{Input, Sample};
use super::text::{Cell, Delimiter, Records, decode, quoted};

pub(super) const DELIMITERS: [Delimiter; 5] = [
    Delimiter::Colons,
    Delimiter::Byte(b'\t'),
    Delimiter::Byte(b';'),
    Delimiter::Byte(b','),
    Delimiter::Blanks,
];

/// Whether this is surely a file of ratings. Three or four columns of numbers could be anything,
/// so there must be more: two colons between the fields, a header that names them, or a fourth
/// column of times.
pub(crate) fn looks_like(sample: &Sample) -> bool {
    let Some(layout) = Layout::of(sample, None) else { return false };
    match layout.delimiter {
        _ if layout.named => true,
        Delimiter::Colons => !layout.header,
        delimiter => has_times(sample, delimiter),
    }
}

/// Whether all lines say: id, id, one of few ratings, a time in seconds.
fn has_times(sample: &Sample, delimiter: Delimiter) -> bool {
    const FEWEST_LINES: usize = 5;
    const MOST_LINES: usize = 2000;
    const MOST_RATINGS: usize = 20;
    // Seconds since 1970 that fall between 1973 and 2286; no ordinary column looks so.
    let is_time =
        |field: &[u8]| whole(field).is_some_and(|t| (100_000_000..10_000_000_000).contains(&t));
    let is_id = |field: &[u8]| whole(field).is_some_and(|id| id > 0);
    let mut records = Records::new(sample.whole_lines(), delimiter);
    let mut ratings = BTreeSet::new();
    let mut lines = 0;
    while lines < MOST_LINES && matches!(records.advance(), Ok(true)) {
        lines += 1;
        let Cell::Number(rating) = Cell::of(records.field(2)) else { return false };
        ratings.insert(rating.to_bits());
        let fits = records.len() == 4
            && is_id(records.field(0))
            && is_id(records.field(1))
            && is_time(records.field(3));
        if !fits {
            return false;
        }
    }
    lines >= FEWEST_LINES && ratings.len() <= MOST_RATINGS
}

fn whole(field: &[u8]) -> Option<i64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Which field is what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Layout {
    delimiter: Delimiter,
    /// Whether the first line is a header.
    header: bool,
    /// Whether the header names user, item and rating.
    named: bool,
    user: usize,
    item: usize,
    rating: usize,
    time: Option<usize>,
}

impl Layout {
    /// The layout seen from the first line; none if it has fewer than three fields.
    fn of(sample: &Sample, header: Option<bool>) -> Option<Self> {
        let mut bare = None;
        for delimiter in DELIMITERS {
            let mut records = Records::new(sample.whole_lines(), delimiter);
            if !matches!(records.advance(), Ok(true)) || records.len() < 3 {
                continue;
            }
            let named = Self::named(&records, delimiter).filter(|_| header != Some(false));
            if named.is_some() {
                return named;
            }
            let is_number = matches!(Cell::of(records.field(2)), Cell::Number(_));
            bare.get_or_insert(Self {
                delimiter,
                header: header.unwrap_or(!is_number),
                named: false,
                user: 0,
                item: 1,
                rating: 2,
                time: (records.len() > 3).then_some(3),
            });
        }
        bare
    }

    fn named<R: BufRead>(records: &Records<R>, delimiter: Delimiter) -> Option<Self> {
        let header = Header::of(records);
        Some(Self {
            delimiter,
            header: true,
            named: true,
            user: header.user()?,
            item: header.item()?,
            rating: header.rating()?,
            time: header.find(&["timestamp", "time"]),
        })
    }
}

/// The names of a header, as far as they say who rated what how.
pub(super) struct Header(Vec<String>);

impl Header {
    pub(super) fn of<R: BufRead>(records: &Records<R>) -> Self {
        let plain = |f: &[u8]| -> String {
            decode(f).chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
        };
        Self(records.fields().map(plain).collect())
    }

    fn find(&self, words: &[&str]) -> Option<usize> {
        let is = |name: &str| words.contains(&name.strip_suffix("id").unwrap_or(name));
        self.0.iter().position(|name| is(name))
    }

    pub(super) fn user(&self) -> Option<usize> {
        self.find(&["user"])
    }

    pub(super) fn item(&self) -> Option<usize> {
        self.find(&["item", "movie", "film", "book", "isbn", "product", "song", "artist"])
    }

    pub(super) fn rating(&self) -> Option<usize> {
        self.find(&["rating", "bookrating", "score", "stars"])
    }
}

/// Reads ratings, and the items' titles if they stand in a file beside this one.
pub(super) fn parse(
    input: Input<'_>,
    path: Option<&Path>,
    options: &ReadOptions,
) -> Result<Table<f32>> {
    let layout = Layout::of(input.sample(), options.header).ok_or_else(|| {
        let expected = "lines of user, item, rating and perhaps a time";
        Error::found(Place::default(), "fewer than three fields on the first line", expected)
    })?;
    let mut records = Records::new(input.into_reader(), layout.delimiter);
    let (mut users, mut items) = (Ids::default(), Ids::default());
    let mut entries = Vec::new();
    let mut fields = None;
    let mut is_header = layout.header;
    while records.advance()? {
        records.expect_fields(*fields.get_or_insert(records.len()))?;
        if std::mem::take(&mut is_header) {
            continue;
        }
        let id = |ids: &mut Ids, field: usize, what: &str| {
            ids.number(records.field(field)).ok_or_else(|| {
                Error::found(
                    records.place().column(what),
                    "an empty field",
                    format!("a {what}'s id"),
                )
            })
        };
        let number = |field: usize, what: &str, expected: &str| match Cell::of(records.field(field))
        {
            Cell::Number(value) if value.abs() <= f32::LARGEST => Ok(value),
            _ => {
                let place = records.place().column(what);
                Err(Error::found(place, quoted(records.field(field)), expected))
            }
        };
        let time = layout.time.map(|field| number(field, "time", "a time in seconds"));
        entries.push(Entry {
            row: id(&mut users, layout.user, "user")?,
            column: id(&mut items, layout.item, "item")?,
            value: number(layout.rating, "rating", "a number")? as f32,
            line: u32::try_from(records.line()).unwrap_or(u32::MAX),
            stamp: time.transpose()?.map_or(0, |seconds| seconds as i64),
        });
    }
    let (user_places, user_ids) = users.sorted();
    let (item_places, item_ids) = items.sorted();
    for entry in &mut entries {
        entry.row = user_places[entry.row as usize];
        entry.column = item_places[entry.column as usize];
    }
    let repeated = if layout.time.is_some() { Repeated::LastHolds } else { Repeated::Refuse };
    let size = (user_ids.len(), item_ids.len());
    let sparse = compress(entries, size, Absent::Unobserved, repeated, |row, column| {
        let (user, item) = (&user_ids[row as usize], &item_ids[column as usize]);
        format!("a rating of item {item} by user {user}")
    })?;
    let titles = path.map_or_else(|| Ok(HashMap::new()), titles)?;
    Table::from(sparse).with_about(About {
        names: Some(names(item_ids.clone(), &titles)),
        keys: Some(item_ids),
        ids: Some(user_ids),
        id_name: Some("user".to_owned()),
        ..About::default()
    })
}

/// Ids as they come, numbered in the order in which they are first seen.
#[derive(Default)]
struct Ids {
    numbers: HashMap<String, u32>,
}

impl Ids {
    /// The number of an id; none if it is empty.
    fn number(&mut self, id: &[u8]) -> Option<u32> {
        if id.is_empty() {
            return None;
        }
        let id = decode(id);
        if let Some(&number) = self.numbers.get(id.as_ref()) {
            return Some(number);
        }
        let number = u32::try_from(self.numbers.len()).ok()?;
        self.numbers.insert(id.into_owned(), number);
        Some(number)
    }

    /// For each number its place in order, and the ids in order: by value if all are whole
    /// numbers, alphabetical otherwise.
    fn sorted(self) -> (Vec<u32>, Vec<String>) {
        let mut ids: Vec<(Option<i64>, String, u32)> =
            self.numbers.into_iter().map(|(id, number)| (id.parse().ok(), id, number)).collect();
        if ids.iter().any(|(value, ..)| value.is_none()) {
            for (value, ..) in &mut ids {
                *value = None;
            }
        }
        ids.sort_unstable();
        let mut places = vec![0; ids.len()];
        for (place, (.., number)) in ids.iter().enumerate() {
            places[*number as usize] = place as u32;
        }
        (places, ids.into_iter().map(|(_, id, _)| id).collect())
    }
}

/// Titles by id, from the first file of titles that stands beside this one.
fn titles(path: &Path) -> Result<HashMap<String, String>> {
    let files = [
        ("u.item", Delimiter::Byte(b'|')),
        ("movies.dat", Delimiter::Colons),
        ("movies.csv", Delimiter::Byte(b',')),
    ];
    let mut titles = HashMap::new();
    for (name, delimiter) in files {
        let beside = path.with_file_name(name);
        if !beside.is_file() {
            continue;
        }
        let reader = Input::open(&beside, &ReadOptions::default())?.into_reader();
        let mut records = match delimiter {
            Delimiter::Byte(b',') => Records::new(reader, delimiter),
            _ => Records::unquoted(reader, delimiter),
        };
        while records.advance().map_err(|e| e.in_file(&beside))? {
            if !records.field(1).is_empty() {
                titles.insert(decode(records.field(0)).into(), decode(records.field(1)).into());
            }
        }
        break;
    }
    Ok(titles)
}

/// A name for each item. Different films of one title keep their ids, so that a name means one
/// column.
fn names(ids: Vec<String>, titles: &HashMap<String, String>) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for title in ids.iter().filter_map(|id| titles.get(id)) {
        *uses.entry(title).or_default() += 1;
    }
    let name = |id: String| match titles.get(&id) {
        Some(title) if uses.get(title.as_str()) == Some(&1) => title.clone(),
        Some(title) => format!("{title} #{id}"),
        None => id,
    };
    ids.into_iter().map(name).collect()
}

#[cfg(test)]
#[path = "ratings_tests.rs"]
mod tests;
