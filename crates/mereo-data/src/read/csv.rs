//! Tables as text: one row a line, with or without a header, whatever sets the fields apart.
//!
//! Numbers are read as `f64`. An empty field and `NA`, `N/A`, `#N/A`, `NaN`, `null`, `none`,
//! `?`, `-` (in any case) mean that a value is missing. Empty lines are skipped, so a missing
//! value in a table of one column has to be written as a mark or as `""`.

use std::borrow::Cow;
use std::io::{BufRead, Cursor, Read};
use std::sync::{Mutex, OnceLock, PoisonError};

use mereo_core::{About, Dense, Error, Labels, Place, Real, Result, Table, map_in_parallel};

use super::ReadOptions;
use super::input::{Input, Sample, make_room};
use super::mixed::{self, Told, Verdict};
use super::pieces::{Pieces, count_lines};
use super::text::{Cell, Delimiter, Records, decode, ends_in_quotes, label, quoted};

/// Lines that are looked at to see how the text is laid out.
const SAMPLE_LINES: usize = 200;

/// Most likely last: among delimiters that fit equally well the last one is taken. Semicolons
/// come after commas because they are used where commas are decimal points.
const DELIMITERS: [Delimiter; 4] =
    [Delimiter::Blanks, Delimiter::Byte(b','), Delimiter::Byte(b';'), Delimiter::Byte(b'\t')];

/// What rows of a text are read into, all at once or piece by piece.
pub(super) trait Collect: Sync {
    /// What was read from rows.
    type Rows: Default + Send;

    /// Reads all that is left, line by line.
    fn read_rows<R: BufRead>(&self, records: &mut Records<R>, rows: &mut Self::Rows) -> Result<()>;

    /// The rows of a piece; none if anything is not as it usually is.
    fn quickly(&self, piece: &[u8], delimiter: Delimiter) -> Option<Self::Rows>;

    /// Takes the rows that follow.
    fn append(rows: &mut Self::Rows, more: Self::Rows) -> Result<()>;
}

/// Reads a table from text: numbers alone as quickly as can be, and otherwise as what its columns are.
/// `again` opens the text anew.
pub(super) fn parse<'a>(
    input: Input<'a>,
    again: &dyn Fn() -> Result<Input<'a>>,
    options: &ReadOptions,
) -> Result<(Table<f64>, Told)> {
    let layout = Layout::of(input.sample(), options)?;
    let (input, complaint) = if options.says_kinds() || !of_numbers(&input, layout, options)? {
        (input, None)
    } else {
        match parse_numbers(input, layout, options) {
            Ok(table) => return Ok((table, Told::default())),
            Err(complaint @ Error::Option { .. }) => return Err(complaint),
            Err(complaint) => (again()?, Some(complaint)),
        }
    };
    let decided = match (mixed::read_text(input, again, layout, options), complaint) {
        (Err(error), complaint) => return Err(complaint.unwrap_or(error)),
        (Ok(raw), complaint) => (mixed::decide(raw, options), complaint),
    };
    match decided {
        (Err(error), complaint) => Err(complaint.unwrap_or(error)),
        (Ok(Verdict::Table(table, told)), _) => Ok((*table, told)),
        // What stands out is shown where it stands.
        (Ok(Verdict::Stray { row, column }), _) => {
            Err(complain_about(again()?, layout, (row, column), options)?)
        }
    }
}

/// The header of a text, if it has one, and the records that follow.
pub(super) fn rows(input: Input<'static>, options: &ReadOptions) -> Result<super::TextRows> {
    let layout = Layout::of(input.sample(), options)?;
    let reader: Box<dyn BufRead> = Box::new(input.into_reader());
    let mut records = Records::new(reader, layout.delimiter);
    let mut header = None;
    if layout.header && records.advance()? {
        header = Some(records.fields().map(|field| decode(field).into_owned()).collect());
    }
    Ok((header, records))
}

/// Whether the beginning of a text shows nothing but numbers, beside the columns that options name.
fn of_numbers(input: &Input<'_>, layout: Layout, options: &ReadOptions) -> Result<bool> {
    let names = header_fields(input.sample(), layout)?;
    let rows = sample_fields(input.sample(), layout)?;
    if names.as_ref().is_some_and(|names| names.first().is_some_and(Vec::is_empty))
        && rows.len() > 1
    {
        return Ok(false);
    }
    let names: Option<Vec<String>> =
        names.map(|names| names.iter().map(|name| decode(name).into_owned()).collect());
    if let Some(names) = &names
        && names.iter().collect::<std::collections::BTreeSet<_>>().len() < names.len()
        && options.label.is_none()
        && options.weight.is_none()
    {
        return Ok(false);
    }
    let is_label = |column: usize| {
        options.label.as_deref() == Some(&*mereo_core::column_name(names.as_deref(), column))
    };
    let text = |row: &Vec<Cell>| {
        row.iter().enumerate().any(|(column, cell)| *cell == Cell::Text && !is_label(column))
    };
    Ok(!rows.iter().any(text))
}

/// The error for a text that stands out in a column of numbers.
fn complain_about(
    input: Input<'_>,
    layout: Layout,
    (row, column): (usize, usize),
    options: &ReadOptions,
) -> Result<Error> {
    let mut records = Records::new(input.into_reader(), layout.delimiter);
    let mut names = None;
    if layout.header && records.advance()? {
        names = Some(header_names(&records));
    }
    for _ in 0..=row {
        records.advance()?;
    }
    let columns = Columns::new(names, records.len(), options)?;
    let place = records.place().column(columns.name(column));
    let field = records.field(column);
    Ok(Error::found(place, quoted(field), columns.advice(row, column, field)))
}

fn parse_numbers(input: Input<'_>, layout: Layout, options: &ReadOptions) -> Result<Table<f64>> {
    let mut read = None;
    let rows = {
        let read = &mut read;
        in_pieces(input, layout, |(names, count)| {
            let columns = Columns::new(names, count, options)?;
            *read = Some(columns.clone());
            Ok(columns)
        })?
    };
    let none = || Columns { names: None, count: 0, label: None, weight: None };
    read.unwrap_or_else(none).into_table(rows)
}

/// Reads a text in pieces: on as many threads as it is called on. What its header says is told to
/// `columns`, which says what rows are read into.
///
/// Pieces are cut at ends of lines. One that ends within quotes was cut in the middle of a field, and
/// what else cannot be read at once is read as any text is, from where all is known: so results and
/// errors are those of reading line by line.
pub(super) fn in_pieces<C: Collect>(
    input: Input<'_>,
    layout: Layout,
    columns: impl FnOnce(Header) -> Result<C>,
) -> Result<C::Rows> {
    let delimiter = layout.delimiter;
    let mut pieces = Pieces::new(input.into_reader());
    let first = pieces.next()?.unwrap_or_default();
    let mut rows = C::Rows::default();
    if ends_in_quotes(&first, delimiter) {
        let text = Cursor::new(first).chain(pieces.into_rest());
        let (told, mut records) = begin(text, layout)?;
        columns(told)?.read_rows(&mut records, &mut rows)?;
        return Ok(rows);
    }
    let (told, mut records) = begin(&first[..], layout)?;
    let columns = columns(told)?;
    columns.read_rows(&mut records, &mut rows)?;
    let mut lines = count_lines(&first);
    let mut wave = pieces.wave()?;
    while !wave.is_empty() {
        // While pieces are looked at somebody fetches the next ones.
        let (fetcher, fetched) = (Mutex::new(&mut pieces), OnceLock::new());
        let read = map_in_parallel(wave.len() + 1, |index| match index.checked_sub(1) {
            Some(index) => columns.quickly(&wave[index], delimiter),
            None => {
                let mut pieces = fetcher.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = fetched.set(pieces.wave());
                None
            }
        });
        let next = fetched.into_inner().unwrap_or_else(|| Ok(Vec::new()));
        let read = read.into_iter().skip(1);
        for (index, (piece, read)) in wave.iter().zip(read).enumerate() {
            // A line's end before it: a mark at its beginning is no byte order mark.
            let before = lines.saturating_sub(1);
            if let Some(more) = read {
                C::append(&mut rows, more)?;
            } else if ends_in_quotes(piece, delimiter) {
                let fetched = wave[index..].concat().into_iter().chain(next?.concat()).collect();
                let text = Cursor::<Vec<u8>>::new(fetched).chain(pieces.into_rest());
                let mut records = Records::new(b"\n".chain(text), delimiter).after_lines(before);
                columns.read_rows(&mut records, &mut rows)?;
                return Ok(rows);
            } else {
                let text = b"\n".chain(&piece[..]);
                let mut records = Records::new(text, delimiter).after_lines(before);
                columns.read_rows(&mut records, &mut rows)?;
            }
            lines += count_lines(piece);
        }
        wave = next?;
    }
    Ok(rows)
}

/// Names of the columns, if there are any, and how many columns there are.
type Header = (Option<Vec<String>>, usize);

/// Reads the header, if there is one: names, and how many columns there are; and what follows.
fn begin<R: BufRead>(text: R, layout: Layout) -> Result<(Header, Records<R>)> {
    let mut records = Records::new(text, layout.delimiter);
    let more = records.advance()?;
    let names = (layout.header && more).then(|| header_names(&records));
    let told = (names, records.len());
    if !(layout.header && more) {
        records.again();
    }
    Ok((told, records))
}

/// How a text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) delimiter: Delimiter,
    pub(super) header: bool,
}

impl Layout {
    fn of(sample: &Sample, options: &ReadOptions) -> Result<Self> {
        let text = sample.whole_lines();
        let mut best = (0.0, Delimiter::Blanks, Vec::new());
        for delimiter in DELIMITERS {
            let rows = sample_rows(text, delimiter)?;
            let score = agreement(&rows);
            if score >= best.0 {
                best = (score, delimiter, rows);
            }
        }
        let (_, delimiter, rows) = best;
        let header = match (options.header, &options.expected) {
            (Some(header), _) => header,
            (None, Some(expected)) if names_columns(text, delimiter, &expected.columns)? => true,
            _ => starts_with_header(&rows) || names_words(text, delimiter)?,
        };
        Ok(Self { delimiter, header })
    }
}

/// The first records of a text: what each field says, and nothing more.
fn sample_rows(text: &[u8], delimiter: Delimiter) -> Result<Vec<Vec<Cell>>> {
    let mut records = Records::new(text, delimiter);
    let mut rows = Vec::new();
    while rows.len() < SAMPLE_LINES && records.advance()? {
        rows.push(records.fields().map(Cell::of).collect());
    }
    Ok(rows)
}

/// The share of rows that have the commonest number of fields, if that is more than one. A share,
/// because where a quote is not seen as one a line that it holds is another row.
fn agreement(rows: &[Vec<Cell>]) -> f64 {
    let with_width = |width: usize| rows.iter().filter(|r| r.len() == width).count();
    let commonest = rows.iter().map(Vec::len).max_by_key(|&width| (with_width(width), width));
    let agreeing = commonest.filter(|&width| width > 1).map_or(0, with_width);
    agreeing as f64 / rows.len().max(1) as f64
}

/// A first line is a header if it holds texts and no number, and under one of the texts most
/// is not text: a column of class names does not make its first cell a header, and where
/// numbers stand beside texts it is safer to complain about a text than to lose a row.
fn starts_with_header(rows: &[Vec<Cell>]) -> bool {
    let Some((first, below)) = rows.split_first() else { return false };
    let is_text = |cell: &Cell| *cell == Cell::Text;
    let some_number = first.iter().any(|c| matches!(c, Cell::Number(_)));
    if some_number || !first.iter().any(is_text) {
        return false;
    }
    let texts_below =
        |column: usize| below.iter().filter(|row| row.get(column).is_some_and(is_text)).count();
    below.is_empty()
        || (0..first.len()).any(|c| is_text(&first[c]) && 2 * texts_below(c) < below.len())
}

/// Whether the first line names columns that a model knows, most of them: numbers may be names too.
fn names_columns(text: &[u8], delimiter: Delimiter, known: &[String]) -> Result<bool> {
    let mut records = Records::new(text, delimiter);
    if known.is_empty() || !records.advance()? {
        return Ok(false);
    }
    let known: std::collections::BTreeSet<&str> = known.iter().map(String::as_str).collect();
    let named = records.fields().filter(|field| known.contains(&*decode(field))).count();
    Ok(2 * named > known.len().min(records.len()))
}

/// Whether the first line names columns of words: none of its fields is empty, a number or there twice, and
/// there is a column in which what follows is words that come again and again, but never the first one.
fn names_words(text: &[u8], delimiter: Delimiter) -> Result<bool> {
    let mut records = Records::new(text, delimiter);
    let mut columns: Vec<Vec<Vec<u8>>> = Vec::new();
    let mut rows = 0;
    while rows < SAMPLE_LINES && records.advance()? {
        columns.resize_with(columns.len().max(records.len()), Vec::new);
        for (column, field) in records.fields().enumerate() {
            columns[column].push(field.to_vec());
        }
        rows += 1;
    }
    let first: Vec<&Vec<u8>> = columns.iter().filter_map(|column| column.first()).collect();
    let distinct: std::collections::BTreeSet<_> = first.iter().collect();
    // Only the first column may lack a name; a mark of a missing value is none.
    let is_name = |(at, field): (usize, &&Vec<u8>)| {
        Cell::of(field) == Cell::Text || (at == 0 && field.is_empty())
    };
    let named = first.iter().enumerate().all(is_name);
    // Names without a digit over numbers as people write them: 1,5 or 10% or 2024-05-01.
    let digit = |field: &Vec<u8>| field.iter().any(u8::is_ascii_digit);
    let over_numbers = |column: &Vec<Vec<u8>>| {
        let (first, below) = (&column[0], &column[1..]);
        !first.is_empty() && !digit(first) && !below.is_empty() && below.iter().all(digit)
    };
    let numbers = columns.iter().any(|column| column.len() == rows && over_numbers(column));
    if named && numbers && distinct.len() == first.len() && !first.iter().any(|field| digit(field))
    {
        return Ok(true);
    }
    if rows < 4 || distinct.len() < first.len() || !named {
        return Ok(false);
    }
    let tells = |column: &Vec<Vec<u8>>| {
        let (first, below) = (&column[0], &column[1..]);
        let words: std::collections::BTreeSet<&Vec<u8>> = below.iter().collect();
        2 * words.len() <= below.len() && !words.contains(first)
    };
    let all = columns.iter().filter(|column| column.len() == rows).all(|column| {
        let (first, below) = (&column[0], &column[1..]);
        !below.contains(first)
    });
    Ok(all && columns.iter().any(|column| column.len() == rows && tells(column)))
}

/// The fields of the header, if there is one.
pub(super) fn header_fields(sample: &Sample, layout: Layout) -> Result<Option<Vec<Vec<u8>>>> {
    let mut records = Records::new(sample.whole_lines(), layout.delimiter);
    let more = layout.header && records.advance()?;
    Ok(more.then(|| records.fields().map(<[u8]>::to_vec).collect()))
}

/// What the fields of the first rows say, without the header.
pub(super) fn sample_fields(sample: &Sample, layout: Layout) -> Result<Vec<Vec<Cell>>> {
    let rows = sample_rows(sample.whole_lines(), layout.delimiter)?;
    Ok(rows.into_iter().skip(usize::from(layout.header)).collect())
}

/// Names from a header line; a column without a name is called by its number.
fn header_names<R: BufRead>(records: &Records<R>) -> Vec<String> {
    let name = |(index, field): (usize, &[u8])| {
        if field.is_empty() { index.to_string() } else { decode(field).into_owned() }
    };
    records.fields().enumerate().map(name).collect()
}

/// What each column of the text is.
#[derive(Clone)]
struct Columns {
    names: Option<Vec<String>>,
    count: usize,
    label: Option<usize>,
    weight: Option<usize>,
}

/// What was read from the rows so far.
#[derive(Default)]
struct Rows {
    count: usize,
    values: Vec<f64>,
    labels: Vec<Option<String>>,
    weights: Vec<f64>,
}

impl Columns {
    fn new(names: Option<Vec<String>>, count: usize, options: &ReadOptions) -> Result<Self> {
        let find = |option: &str, wanted: &Option<String>| match wanted {
            Some(wanted) => find_column(option, wanted, names.as_deref(), count).map(Some),
            None => Ok(None),
        };
        let label = find("label", &options.label)?;
        let weight = find("weight", &options.weight)?;
        if weight.is_some() && weight == label {
            return Err(Error::option("weight", "the column is already taken as the label"));
        }
        Ok(Self { names, count, label, weight })
    }

    fn name(&self, column: usize) -> String {
        mereo_core::column_name(self.names.as_deref(), column)
    }

    /// Takes a row of fields; none if there is anything to complain about.
    fn take_row<'a>(&self, fields: impl Iterator<Item = &'a [u8]>, rows: &mut Rows) -> Option<()> {
        let mut column = 0;
        for field in fields {
            let field = field.trim_ascii();
            if self.label == Some(column) {
                rows.labels.push(label(field).map(Cow::into_owned));
            } else if self.weight == Some(column) {
                match Cell::of(field) {
                    Cell::Number(weight) if weight.is_finite() && weight >= 0.0 => {
                        rows.weights.push(weight);
                    }
                    _ => return None,
                }
            } else {
                rows.values.push(match Cell::of(field) {
                    Cell::Number(value) if value.abs() <= f64::LARGEST => value,
                    Cell::Missing => f64::NAN,
                    _ => return None,
                });
            }
            column += 1;
        }
        rows.count += 1;
        (column == self.count).then_some(())
    }

    fn read_row<R: BufRead>(&self, records: &Records<R>, rows: &mut Rows) -> Result<()> {
        records.expect_fields(self.count)?;
        for (column, field) in records.fields().enumerate() {
            let place = || records.place().column(self.name(column));
            if self.label == Some(column) {
                rows.labels.push(label(field).map(Cow::into_owned));
            } else if self.weight == Some(column) {
                rows.weights.push(match Cell::of(field) {
                    Cell::Number(w) if w.is_finite() && w >= 0.0 => w,
                    _ => {
                        return Err(Error::found(place(), quoted(field), "a weight of at least 0"));
                    }
                });
            } else {
                rows.values.push(match Cell::of(field) {
                    Cell::Number(value) if value.abs() <= f64::LARGEST => value,
                    Cell::Missing => f64::NAN,
                    Cell::Number(_) => {
                        let expected = format!("a number of magnitude at most {:e}", f64::LARGEST);
                        return Err(Error::found(place(), quoted(field), expected));
                    }
                    Cell::Text => {
                        return Err(Error::found(
                            place(),
                            quoted(field),
                            self.advice(rows.count, column, field),
                        ));
                    }
                });
            }
        }
        rows.count += 1;
        Ok(())
    }

    /// What to do about a text in a column of numbers.
    fn advice(&self, row: usize, column: usize, field: &[u8]) -> String {
        let name = self.name(column);
        let words = format!("if the column holds words say `--kinds {name}=category`");
        let label = format!("if it holds the rows' classes say `--label {name}`");
        let drop = format!("to leave it out say `--drop {name}`");
        let missing =
            format!("if {} means that there is none, leave the cell empty", quoted(field));
        let header = "if this line names the columns say `--header`";
        let advice = [
            ("a number", true),
            (words.as_str(), true),
            (label.as_str(), self.label.is_none()),
            (drop.as_str(), true),
            (missing.as_str(), true),
            (header, row == 0 && self.names.is_none()),
        ];
        let apt: Vec<&str> = advice.into_iter().filter(|(_, apt)| *apt).map(|(it, _)| it).collect();
        apt.join("; ")
    }

    fn into_table(self, rows: Rows) -> Result<Table<f64>> {
        let is_value = |column: usize| Some(column) != self.label && Some(column) != self.weight;
        let width = (0..self.count).filter(|&c| is_value(c)).count();
        if rows.count > 0 && width == 0 {
            return Err(Error::found(
                Place::default(),
                "no column beside label and weight",
                "at least one column of numbers",
            ));
        }
        let mut table = Table::from(Dense::new(rows.count, width, rows.values)?);
        let label = self.label.map(|label| self.name(label));
        if let Some(names) = self.names {
            let kept = names.into_iter().enumerate().filter(|(c, _)| is_value(*c));
            table = table.with_names(kept.map(|(_, name)| name).collect())?;
        }
        if self.label.is_some() {
            table = table.with_labels(Labels::from_texts(rows.labels))?;
        }
        if let Some(name) = label {
            let about = table.about().clone();
            table = table.with_about(About { label_name: Some(name), ..about })?;
        }
        if self.weight.is_some() {
            table = table.with_weights(rows.weights)?;
        }
        Ok(table)
    }
}

impl Collect for Columns {
    type Rows = Rows;

    fn read_rows<R: BufRead>(&self, records: &mut Records<R>, rows: &mut Rows) -> Result<()> {
        while records.advance()? {
            self.read_row(records, rows)?;
        }
        Ok(())
    }

    fn quickly(&self, piece: &[u8], delimiter: Delimiter) -> Option<Rows> {
        let mut rows = Rows::default();
        let lone = |at: usize| piece.get(at + 1) != Some(&b'\n');
        if memchr::memchr(b'"', piece).is_some() || memchr::memchr_iter(b'\r', piece).any(lone) {
            let mut records = Records::new(b"\n".chain(piece), delimiter);
            self.read_rows(&mut records, &mut rows).ok()?;
            return (!ends_in_quotes(piece, delimiter)).then_some(rows);
        }
        rows.values.reserve(piece.len() / 8);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', piece).chain([piece.len()]) {
            let line = &piece[start.min(end)..end];
            start = end + 1;
            match delimiter {
                Delimiter::Byte(byte) => {
                    // A line of blanks is nothing, unless they set fields apart.
                    if line.trim_ascii().is_empty() && memchr::memchr(byte, line).is_none() {
                        continue;
                    }
                    self.take_row(line.split(|&b| b == byte), &mut rows)?;
                }
                Delimiter::Blanks => {
                    let fields = line.split(|&b| matches!(b, b' ' | b'\t' | b'\r'));
                    let mut fields = fields.filter(|field| !field.is_empty()).peekable();
                    if fields.peek().is_some() {
                        self.take_row(fields, &mut rows)?;
                    }
                }
                Delimiter::Colons => return None,
            }
        }
        Some(rows)
    }

    fn append(rows: &mut Rows, more: Rows) -> Result<()> {
        make_room(&mut rows.values, more.values.len())?;
        rows.count += more.count;
        rows.values.extend(more.values);
        rows.labels.extend(more.labels);
        rows.weights.extend(more.weights);
        Ok(())
    }
}

/// The column of this name or, where columns have no names, of this number.
pub(super) fn find_column(
    option: &str,
    wanted: &str,
    names: Option<&[String]>,
    count: usize,
) -> Result<usize> {
    let Some(names) = names else {
        return wanted.parse().ok().filter(|&c| c < count).ok_or_else(|| {
            let last = count.saturating_sub(1);
            Error::option(
                option,
                format!("there is no header, so a column is called by its number, 0 to {last}; found `{wanted}`"),
            )
        });
    };
    let mut places = names.iter().enumerate().filter(|(_, n)| *n == wanted).map(|(c, _)| c);
    match (places.next(), places.next()) {
        (Some(column), None) => Ok(column),
        (Some(_), Some(_)) => {
            Err(Error::option(option, format!("more than one column is called `{wanted}`")))
        }
        (None, _) => Err(Error::option(
            option,
            format!("no column is called `{wanted}`; there are {}", some_of(names)),
        )),
    }
}

/// A list of names for an error message, cut short.
pub(super) fn some_of(names: &[String]) -> String {
    const MOST: usize = 12;
    let mut list: Vec<String> = names.iter().take(MOST).map(|n| quoted(n.as_bytes())).collect();
    if names.len() > MOST {
        list.push(format!("{} more", names.len() - MOST));
    }
    list.join(", ")
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "csv_pieces_tests.rs"]
mod pieces_tests;
