//! Text files whose columns hold words.
//!
//! Columns that the beginning of the file shows as numbers are read as numbers, others as texts, each
//! different one once. If a column of numbers turns out to hold something else further down, the file is
//! read a second time, with that column as texts.

use std::collections::BTreeSet;
use std::io::{BufRead, Read};

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use mereo_core::{Error, Real, Result, column_name};

use super::super::ReadOptions;
use super::super::csv::{Collect, Layout, header_fields, in_pieces, sample_fields};
use super::super::input::{Input, make_room};
use super::super::text::{Cell, Delimiter, Records, is_blank_mark, quoted};
use super::{Column, Gathered, Raw};

/// Reads a text file as it stands; `again` opens it anew.
pub(in super::super) fn read_text<'a>(
    input: Input<'a>,
    again: &dyn Fn() -> Result<Input<'a>>,
    layout: Layout,
    options: &ReadOptions,
) -> Result<Raw> {
    let encoding = encoding_of(&input.sample().bytes);
    let rows = sample_fields(input.sample(), layout)?;
    // A column without a name is called by its number.
    let named = |(column, field): (usize, &Vec<u8>)| {
        if field.is_empty() { column.to_string() } else { decoded(field, encoding) }
    };
    let names = header_fields(input.sample(), layout)?
        .map(|fields| fields.iter().enumerate().map(named).collect::<Vec<_>>());
    let count = names.as_ref().map_or_else(|| rows.first().map_or(0, Vec::len), Vec::len);
    let mut notices = Vec::new();
    if encoding != UTF_8 {
        notices.push(format!("the file is not UTF-8; it is read as {}", encoding.name()));
    }
    let names = names.map(|names| distinct(names, &mut notices));
    let mut wants: Vec<Want> = (0..count)
        .map(|column| {
            let name = column_name(names.as_deref(), column);
            let texts = rows.iter().filter_map(|row| row.get(column)).any(|c| *c == Cell::Text);
            if options.leaves_out(&name) {
                Want::Nothing
            } else if texts || options.wants_text(&name) {
                Want::Texts
            } else {
                Want::Numbers
            }
        })
        .collect();
    let mut input = Some(input);
    loop {
        let columns = MixedColumns { names: names.clone(), wants: wants.clone() };
        let opened = input.take().map_or_else(again, Ok)?;
        let rows = in_pieces(opened, layout, |_| Ok(columns))?;
        if rows.surprises.is_empty() {
            let commas_are_points = layout.delimiter != Delimiter::Byte(b',');
            let columns = wants.iter().zip(rows.columns);
            let columns = columns.map(|(want, part)| match (want, part) {
                (Want::Nothing, _) => Column::Skipped,
                (_, Part::Numbers(numbers)) => Column::Numbers(numbers),
                (_, Part::Texts(texts)) => {
                    Column::Texts(texts.into_texts(|bytes| decoded(bytes, encoding)))
                }
            });
            let columns: Vec<Column> = columns.collect();
            return Ok(Raw { names, rows: rows.count, columns, commas_are_points, notices });
        }
        for column in rows.surprises {
            wants[column] = Want::Texts;
        }
    }
}

/// What is wanted of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Numbers,
    Texts,
    Nothing,
}

struct MixedColumns {
    names: Option<Vec<String>>,
    wants: Vec<Want>,
}

/// What was read from the rows so far.
#[derive(Default)]
pub(in super::super) struct MixedRows {
    count: usize,
    columns: Vec<Part>,
    /// Columns of numbers in which something else was found.
    surprises: BTreeSet<usize>,
}

enum Part {
    Numbers(Vec<f64>),
    Texts(Gathered),
}

impl MixedColumns {
    fn begin(&self, rows: &mut MixedRows) {
        if rows.columns.is_empty() {
            rows.columns = self
                .wants
                .iter()
                .map(|want| match want {
                    Want::Numbers | Want::Nothing => Part::Numbers(Vec::new()),
                    Want::Texts => Part::Texts(Gathered::default()),
                })
                .collect();
        }
    }

    /// Takes a field; false if it is a number that no model could use.
    fn take(&self, rows: &mut MixedRows, column: usize, field: &[u8]) -> bool {
        if self.wants[column] == Want::Nothing {
            return true;
        }
        match &mut rows.columns[column] {
            Part::Texts(texts) => texts.push((!is_blank_mark(field)).then_some(field)),
            Part::Numbers(numbers) => numbers.push(match Cell::of(field) {
                Cell::Number(value) if value.abs() <= f64::LARGEST => value,
                Cell::Number(_) => return false,
                Cell::Missing => f64::NAN,
                Cell::Text => {
                    rows.surprises.insert(column);
                    f64::NAN
                }
            }),
        }
        true
    }

    /// Takes a line in which quotes are as they usually are; none if anything is not.
    fn take_line(&self, line: &[u8], delimiter: u8, rows: &mut MixedRows) -> Option<()> {
        let (mut at, mut column) = (0, 0);
        loop {
            let rest = &line[at..];
            let end = match rest.first() {
                Some(b'"') => {
                    let close = 1 + memchr::memchr(b'"', &rest[1..])?;
                    if rest.get(close + 1).is_some_and(|&b| b != delimiter) {
                        return None;
                    }
                    let field = &rest[1..close];
                    if column == self.wants.len() || !self.take(rows, column, field.trim_ascii()) {
                        return None;
                    }
                    close + 1
                }
                _ => {
                    let end = memchr::memchr(delimiter, rest).unwrap_or(rest.len());
                    let field = rest[..end].trim_ascii();
                    if column == self.wants.len() || !self.take(rows, column, field) {
                        return None;
                    }
                    end
                }
            };
            column += 1;
            at += end + 1;
            if at > line.len() {
                break;
            }
        }
        rows.count += 1;
        (column == self.wants.len()).then_some(())
    }
}

impl Collect for MixedColumns {
    type Rows = MixedRows;

    fn read_rows<R: BufRead>(&self, records: &mut Records<R>, rows: &mut MixedRows) -> Result<()> {
        self.begin(rows);
        while records.advance()? {
            records.expect_fields(self.wants.len())?;
            for (column, field) in records.fields().enumerate() {
                if !self.take(rows, column, field) {
                    let place = records.place().column(column_name(self.names.as_deref(), column));
                    let expected = format!("a number of magnitude at most {:e}", f64::LARGEST);
                    return Err(Error::found(place, quoted(field), expected));
                }
            }
            rows.count += 1;
        }
        Ok(())
    }

    fn quickly(&self, piece: &[u8], delimiter: Delimiter) -> Option<MixedRows> {
        let mut rows = MixedRows::default();
        self.begin(&mut rows);
        let lone = |at: usize| piece.get(at + 1) != Some(&b'\n');
        let Delimiter::Byte(byte) = delimiter else {
            if memchr::memchr(b'"', piece).is_some() {
                return None;
            }
            self.read_rows(&mut Records::new(b"\n".chain(piece), delimiter), &mut rows).ok()?;
            return Some(rows);
        };
        if memchr::memchr_iter(b'\r', piece).any(lone) {
            return None;
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', piece).chain([piece.len()]) {
            let line = &piece[start.min(end)..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            start = end + 1;
            // A line of blanks is nothing, unless they set fields apart.
            if line.trim_ascii().is_empty() && memchr::memchr(byte, line).is_none() {
                continue;
            }
            self.take_line(line, byte, &mut rows)?;
        }
        Some(rows)
    }

    fn append(rows: &mut MixedRows, more: MixedRows) -> Result<()> {
        rows.count += more.count;
        rows.surprises.extend(more.surprises);
        if rows.columns.is_empty() {
            rows.columns = more.columns;
            return Ok(());
        }
        for (part, more) in rows.columns.iter_mut().zip(more.columns) {
            match (part, more) {
                (Part::Numbers(numbers), Part::Numbers(more)) => {
                    make_room(numbers, more.len())?;
                    numbers.extend(more);
                }
                (Part::Texts(texts), Part::Texts(more)) => texts.append(&more)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// How a text is encoded: UTF-8 unless its beginning is not, and then what it looks most like.
fn encoding_of(bytes: &[u8]) -> &'static Encoding {
    // The beginning may end in the middle of a character.
    match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(e) if e.error_len().is_none() => UTF_8,
        Err(_) => {
            let mut detector =
                chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
            detector.feed(bytes, true);
            let guess = detector.guess(None, chardetng::Utf8Detection::Deny);
            if guess == UTF_8 { WINDOWS_1252 } else { guess }
        }
    }
}

fn decoded(bytes: &[u8], encoding: &'static Encoding) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // UTF-8 at the beginning and something else further down is most often from the west.
        Err(_) if encoding == UTF_8 => {
            WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned()
        }
        Err(_) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

/// Names of which none occurs twice: the second `x` is called `x.1`, as pandas does.
fn distinct(names: Vec<String>, notices: &mut Vec<String>) -> Vec<String> {
    let taken: BTreeSet<String> = names.iter().cloned().collect();
    let mut given = BTreeSet::new();
    let rename = |name: String| {
        if given.insert(name.clone()) {
            return name;
        }
        let free = |n: &usize| {
            let new = format!("{name}.{n}");
            !taken.contains(&new) && !given.contains(&new)
        };
        let number = (1..=taken.len() + given.len()).find(free).unwrap_or_default();
        let new = format!("{name}.{number}");
        notices.push(format!("two columns are called `{name}`; the second is called `{new}` here"));
        given.insert(new.clone());
        new
    };
    names.into_iter().map(rename).collect()
}
