//! Text files as records of fields: what separates them, what a field says, and on which line
//! it stands.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use mereo_core::{Error, Place, Result};

use super::input::unreadable;
use super::pieces::{MOST_LINE, too_long};

/// What sets the fields of a line apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// One character, such as a comma.
    Byte(u8),
    /// Any run of blanks and tabs.
    Blanks,
    /// Two colons, as in `ratings.dat`.
    Colons,
}

impl Delimiter {
    /// The byte that stands between fields once [`Tidy`] has been over the text.
    fn byte(self) -> u8 {
        match self {
            Self::Byte(byte) => byte,
            Self::Blanks => b' ',
            // ASCII's own unit separator: it occurs in no sane field.
            Self::Colons => 0x1f,
        }
    }
}

/// Text in the form that the CSV parser takes: one byte between fields, every line ended by
/// `\n` (the last one too, so that lines can be counted exactly).
struct Tidy<R> {
    input: R,
    delimiter: Delimiter,
    /// Whether `"` can open a field that holds delimiters.
    quotes: bool,
    in_quotes: bool,
    /// The last byte written.
    last: u8,
    /// A byte that waits to see what follows: `\r`, a blank, or a colon.
    held: Option<u8>,
    ended: bool,
    /// Tidied bytes not yet handed out, and how many were.
    ready: Vec<u8>,
    given: usize,
    /// Bytes handed out since the last record began.
    in_record: usize,
}

impl<R: BufRead> Tidy<R> {
    fn new(input: R, delimiter: Delimiter, quotes: bool) -> Self {
        Self {
            input,
            delimiter,
            quotes,
            in_quotes: false,
            last: b'\n',
            held: None,
            ended: false,
            ready: Vec::new(),
            given: 0,
            in_record: 0,
        }
    }

    fn put(&mut self, byte: u8) {
        self.ready.push(byte);
        self.last = byte;
    }

    fn accept(&mut self, byte: u8) {
        match self.held.take() {
            // \r\n is one end of line, and so is a lone \r.
            Some(b'\r') => {
                self.put(b'\n');
                if byte == b'\n' {
                    return;
                }
            }
            Some(b':') if byte == b':' => return self.put(Delimiter::Colons.byte()),
            Some(b':') => self.put(b':'),
            // Blanks at either end of a line separate nothing.
            Some(_) if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') && self.last != b'\n' => {
                self.put(b' ');
            }
            _ => {}
        }
        match (byte, self.delimiter) {
            (b'\r', _) => self.held = Some(b'\r'),
            (b' ' | b'\t', Delimiter::Blanks) if !self.in_quotes => self.held = Some(b' '),
            (b':', Delimiter::Colons) => self.held = Some(b':'),
            (b'"', _) if self.quotes => {
                // As the CSV parser sees it, a quote opens at the start of a field only, and a
                // quote right after a closing one means that the field goes on.
                let opens = [b'\n', b'"', self.delimiter.byte()].contains(&self.last);
                self.in_quotes = !self.in_quotes && opens;
                self.put(b'"');
            }
            _ => self.put(byte),
        }
    }

    fn end(&mut self) {
        if self.held.take() == Some(b':') {
            self.put(b':');
        }
        self.put(b'\n');
        self.ended = true;
    }
}

impl<R: BufRead> Read for Tidy<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            if self.ended {
                return Ok(0);
            }
            self.ready.clear();
            self.given = 0;
            let available = self.input.fill_buf()?;
            let chunk = available[..available.len().min(1 << 16)].to_vec();
            self.input.consume(chunk.len());
            if chunk.is_empty() {
                self.end();
            }
            for byte in chunk {
                self.accept(byte);
            }
        }
        let count = out.len().min(self.ready.len() - self.given);
        self.in_record += count;
        if self.in_record > MOST_LINE {
            return Err(io::Error::other(TooLong));
        }
        out[..count].copy_from_slice(&self.ready[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// A record that does not end.
#[derive(Debug, thiserror::Error)]
#[error("a line that does not end")]
struct TooLong;

fn is_too_long(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref::<TooLong>()).is_some()
}

/// Whether a text ends within quotes, so that what follows it goes on with the same field.
pub(super) fn ends_in_quotes(text: &[u8], delimiter: Delimiter) -> bool {
    if memchr::memchr(b'"', text).is_none() {
        return false;
    }
    let mut tidy = Tidy::new(text, delimiter, true);
    for &byte in text {
        tidy.accept(byte);
        tidy.ready.clear();
    }
    tidy.in_quotes
}

/// The records of a text, one after another.
pub(crate) struct Records<R: BufRead> {
    reader: csv::Reader<Tidy<R>>,
    record: csv::ByteRecord,
    /// Lines before the text.
    lines: u64,
    /// Whether the current record is to come again.
    again: bool,
}

impl<R: BufRead> Records<R> {
    /// Records whose fields may be quoted.
    pub(super) fn new(input: R, delimiter: Delimiter) -> Self {
        Self::with_quotes(input, delimiter, true)
    }

    /// Records in which a quote is a character as any other.
    pub(super) fn unquoted(input: R, delimiter: Delimiter) -> Self {
        Self::with_quotes(input, delimiter, false)
    }

    /// The same, of a text that has so many lines before it.
    pub(super) fn after_lines(mut self, lines: u64) -> Self {
        self.lines = lines;
        self
    }

    fn with_quotes(input: R, delimiter: Delimiter, quotes: bool) -> Self {
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .quoting(quotes)
            .delimiter(delimiter.byte())
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(Tidy::new(input, delimiter, quotes));
        Self { reader, record: csv::ByteRecord::new(), lines: 0, again: false }
    }

    /// Lets [`advance`](Self::advance) stay where it is, once.
    pub(super) fn again(&mut self) {
        self.again = true;
    }

    /// Goes to the next record, past blank lines; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.again) {
            return Ok(!self.record.is_empty());
        }
        loop {
            self.reader.get_mut().in_record = 0;
            let more = self.reader.read_byte_record(&mut self.record).map_err(|e| {
                match e.into_kind() {
                    csv::ErrorKind::Io(e) if is_too_long(&e) => too_long(),
                    csv::ErrorKind::Io(e) => unreadable(e),
                    other => Error::found(self.place(), format!("{other:?}"), "a line of text"),
                }
            })?;
            // `""` is a record with an empty field; a line of blanks is nothing.
            let blank = self.record.len() == 1
                && !self.record[0].is_empty()
                && self.record[0].trim_ascii().is_empty();
            if !more || !blank {
                return Ok(more);
            }
        }
    }

    /// Number of fields of the current record.
    pub(super) fn len(&self) -> usize {
        self.record.len()
    }

    /// A field of the current record without blanks around it; empty beyond the last.
    pub(super) fn field(&self, index: usize) -> &[u8] {
        self.record.get(index).unwrap_or_default().trim_ascii()
    }

    /// All fields of the current record.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        self.record.iter().map(<[u8]>::trim_ascii)
    }

    /// The line on which the current record starts, counted from 1.
    pub(super) fn line(&self) -> u64 {
        // The parser's own position of a record is where the record before it ended, which is
        // wrong after blank lines; where this record ended is exact, for every line is ended.
        let lines = self.record.as_slice().split(|&b| b == b'\n').count() as u64;
        self.lines + self.reader.position().line().saturating_sub(lines)
    }

    /// The current record as a place.
    pub(super) fn place(&self) -> Place {
        Place::default().line(self.line())
    }

    /// An error unless the current record has this many fields.
    pub(super) fn expect_fields(&self, count: usize) -> Result<()> {
        if self.len() == count {
            return Ok(());
        }
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        Err(Error::found(
            self.place(),
            format!("{} field{}", self.len(), plural(self.len())),
            format!("{count} field{} as in the lines before", plural(count)),
        ))
    }
}

/// What a field says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell {
    /// A number, possibly infinite.
    Number(f64),
    /// That the value is missing.
    Missing,
    /// Something else.
    Text,
}

/// Marks of a missing value in a column of numbers, beside the empty field; in any case.
const MISSING: [&str; 8] = ["na", "n/a", "#n/a", "nan", "null", "none", "?", "-"];

impl Cell {
    /// Reads a field.
    pub(super) fn of(field: &[u8]) -> Self {
        let field = field.trim_ascii();
        if field.is_empty() {
            return Self::Missing;
        }
        if let Some(number) = short_number(field) {
            return Self::Number(number);
        }
        match std::str::from_utf8(field).ok().and_then(|text| text.parse::<f64>().ok()) {
            Some(number) if number.is_nan() => Self::Missing,
            Some(number) => Self::Number(number),
            None if is_missing_mark(field) => Self::Missing,
            None => Self::Text,
        }
    }
}

/// A number of few digits, as most are: a whole number up to 2^53 and a power of ten up to 10^22 are
/// exact, and so is what one division of them rounds to. None if it may be anything else.
fn short_number(field: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, field),
    };
    // Fifteen digits and a point stay below 2^53.
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let (mut whole, mut seen, mut point) = (0u64, 0, None);
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                whole = 10 * whole + u64::from(byte - b'0');
                seen += 1;
            }
            b'.' if point.is_none() => point = Some(seen),
            _ => return None,
        }
    }
    if seen == 0 || seen > 15 {
        return None;
    }
    let size = whole as f64 / POWERS[seen - point.unwrap_or(seen)];
    Some(if negative { -size } else { size })
}

fn is_missing_mark(field: &[u8]) -> bool {
    MISSING.iter().any(|mark| field.eq_ignore_ascii_case(mark.as_bytes()))
}

/// Whether a field of a column of words says that there is none: `-` and `none` are words.
pub(super) fn is_blank_mark(field: &[u8]) -> bool {
    const WORDS: [&str; 2] = ["-", "none"];
    let is = |mark: &str| field.eq_ignore_ascii_case(mark.as_bytes());
    field.is_empty() || (is_missing_mark(field) && !WORDS.iter().any(|word| is(word)))
}

/// The text of a class, or none where it is missing. Here `-` is a class (as opposed to `+`).
pub(super) fn label(field: &[u8]) -> Option<Cow<'_, str>> {
    let field = field.trim_ascii();
    let missing = field.is_empty() || (field != b"-" && is_missing_mark(field));
    (!missing).then(|| decode(field))
}

/// Bytes as text: UTF-8, or windows-1252 (which has Latin-1 in it) where it is not.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// A field as an error message shows it.
pub(super) fn quoted(field: &[u8]) -> String {
    const MOST: usize = 40;
    if field.is_empty() {
        return "an empty field".to_owned();
    }
    let text = decode(field);
    let mut shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &[u8], delimiter: Delimiter) -> Vec<(u64, Vec<String>)> {
        // One byte at a time: whatever is split by a buffer's end must come out the same.
        for capacity in [1, 2, 3, 1 << 16] {
            let input = io::BufReader::with_capacity(capacity, text);
            let mut records = Records::new(input, delimiter);
            let mut all = Vec::new();
            while records.advance().unwrap() {
                all.push((records.line(), records.fields().map(|f| decode(f).into()).collect()));
            }
            if capacity == 1 << 16 {
                return all;
            }
        }
        unreachable!()
    }

    fn row(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
        (line, fields.iter().map(|&f| f.to_owned()).collect())
    }

    const COMMA: Delimiter = Delimiter::Byte(b',');

    #[test]
    fn lines_are_counted_past_blank_lines_and_embedded_ends() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["a,\"b", "c\"", "", "  ", "1,2", "3,4"].join(end);
            let expected = [row(1, &["a", "b\nc"]), row(5, &["1", "2"]), row(6, &["3", "4"])];
            assert_eq!(records(text.as_bytes(), COMMA), expected, "{end:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_field() {
        assert_eq!(records(b"\xef\xbb\xbfa,b\n", COMMA), [row(1, &["a", "b"])]);
    }

    #[test]
    fn runs_of_blanks_are_one_delimiter_but_not_within_quotes() {
        let text = b"  1 \t 2  \n\n\"a \"\"  b\"   3\n";
        let expected = [row(1, &["1", "2"]), row(3, &["a \"  b", "3"])];
        assert_eq!(records(text, Delimiter::Blanks), expected);
    }

    #[test]
    fn two_colons_are_a_delimiter_and_one_is_not() {
        let expected = [row(1, &["1", "Alien: a film", "x:"])];
        assert_eq!(records(b"1::Alien: a film::x:", Delimiter::Colons), expected);
    }

    #[test]
    fn fields_say_numbers_missing_or_text() {
        for field in ["", " ", "NA", "n/a", "NaN", "-nan", "null", "None", "?", "-", "#N/A"] {
            assert_eq!(Cell::of(field.as_bytes()), Cell::Missing, "{field:?}");
        }
        assert_eq!(Cell::of(b" -1.5e3 "), Cell::Number(-1500.0));
        assert_eq!(Cell::of(b"inf"), Cell::Number(f64::INFINITY));
        assert_eq!(Cell::of(b"1,5"), Cell::Text);
        assert_eq!(label(b"-").as_deref(), Some("-"));
        assert_eq!(label(b"?"), None);
    }

    #[test]
    fn short_numbers_are_what_the_standard_library_makes_of_them() {
        let cases = [
            "0",
            "-0",
            "0.1",
            "-0.3",
            "123456789012345",
            "999999999999999.",
            ".5",
            "1.",
            "-.25",
            "00012.50",
            "0.000000000001",
            "3.14159265358979",
            "1234567.12345678",
            "99999999.9999999",
        ];
        for text in cases {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(
                short_number(text.as_bytes()).map(f64::to_bits),
                Some(expected.to_bits()),
                "{text}"
            );
        }
        for text in
            ["", "-", ".", "-.", "1e5", "+1", "1.2.3", "1_0", "inf", "1234567890123456", "0x1"]
        {
            assert_eq!(short_number(text.as_bytes()), None, "{text}");
        }
        let mut state = 1u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let text = format!("{}.{}", (state >> 40) as i64 - 8_000_000, state >> 44 & 0xfffff);
            let expected: f64 = text.parse().unwrap();
            assert_eq!(
                short_number(text.as_bytes()).map(f64::to_bits),
                Some(expected.to_bits()),
                "{text}"
            );
        }
    }

    #[test]
    fn latin_1_is_read_where_utf_8_fails() {
        assert_eq!(decode(b"caf\xe9"), "café");
        assert_eq!(decode("café".as_bytes()), "café");
    }

    #[test]
    fn long_and_strange_fields_are_shown_short_and_escaped() {
        assert_eq!(quoted(b"a\nb\x1b"), "`a\\nb\\u{1b}`");
        assert_eq!(quoted(&[b'x'; 99]), format!("`{}…`", "x".repeat(40)));
    }
}
