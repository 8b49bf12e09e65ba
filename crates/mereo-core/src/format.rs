//! How a file writes the cells of a column: the way back from numbers to the user's own words.

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use serde::{Deserialize, Serialize};

use crate::{About, ColumnKind};

/// Decimals beyond which a column is taken for one of computed numbers, of any length.
const MOST_DECIMALS: u8 = 9;
/// Digits that a computed number is written with.
const DIGITS: i32 = 6;
const SECONDS_A_DAY: f64 = 86_400.0;
/// How dates are written where nobody says otherwise.
const ISO: &str = "%Y-%m-%d";

/// The ways of writing a moment that are understood, in the notation of `strftime`; where a text can be
/// read in two of them, the first is meant.
///
/// ```
/// assert!(mereo_core::DATE_PATTERNS.contains(&"%Y-%m-%d"));
/// ```
pub const DATE_PATTERNS: [&str; 22] = [
    ISO,
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.fZ",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S",
    "%m/%d/%Y",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d-%b-%Y",
    "%d %B %Y",
    "%B %d, %Y",
];

/// How a file writes the numbers of a column, and between which values they lie.
///
/// ```
/// use mereo_core::Format;
/// let price = Format { decimals: Some(2), prefix: "$".into(), thousands: Some(','), ..Format::default() };
/// assert_eq!(price.number(1234.567), "$1,234.57");
/// let day = Format { date: Some("%d.%m.%Y".into()), ..Format::default() };
/// assert_eq!(day.date(19_844.2), "01.05.2024");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Format {
    /// Most decimals that a number has; none where numbers have many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimals: Option<u8>,
    /// The lowest and the highest value that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// Whether a comma stands before the decimals.
    #[serde(skip_serializing_if = "is_false")]
    pub decimal_comma: bool,
    /// What sets thousands apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
    /// What stands before every number, such as `$`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// What stands behind every number, such as `%`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub suffix: String,
    /// How dates are written: one of [`DATE_PATTERNS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Format {
    /// What the numbers of a column have in common; NaN is skipped.
    ///
    /// ```
    /// use mereo_core::Format;
    /// let format = Format::of([1.5, f64::NAN, 12.25]);
    /// assert_eq!((format.decimals, format.range), (Some(2), Some((1.5, 12.25))));
    /// ```
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let (mut decimals, mut range) = (0, None);
        for number in numbers.into_iter().filter(|x| !x.is_nan()) {
            if decimals <= MOST_DECIMALS {
                decimals = decimals.max(decimals_of(number, decimals));
            }
            let (low, high) = range.unwrap_or((number, number));
            range = Some((number.min(low), number.max(high)));
        }
        Self { decimals: (decimals <= MOST_DECIMALS).then_some(decimals), range, ..Self::default() }
    }

    /// The nearest number that the column could have: within what was seen, with as many decimals.
    ///
    /// ```
    /// use mereo_core::Format;
    /// let years = Format { decimals: Some(0), range: Some((0.0, 99.0)), ..Format::default() };
    /// assert_eq!((years.nearest(41.7), years.nearest(-3.0)), (42.0, 0.0));
    /// ```
    pub fn nearest(&self, value: f64) -> f64 {
        let rounded = match self.decimals {
            Some(decimals) => {
                let unit = 10f64.powi(i32::from(decimals.min(MOST_DECIMALS)));
                let rounded = (value * unit).round() / unit;
                if rounded.is_finite() { rounded + 0.0 } else { value }
            }
            None => to_digits(value, DIGITS),
        };
        match self.range {
            Some((low, high)) if low <= high => rounded.clamp(low, high),
            _ => rounded,
        }
    }

    /// A number as the file writes it; nothing for a missing one.
    pub fn number(&self, value: f64) -> String {
        if value.is_nan() {
            return String::new();
        }
        let plain = match self.decimals {
            Some(decimals) if value.abs() < 1e15 => {
                let decimals = usize::from(decimals.min(MOST_DECIMALS));
                let text = format!("{value:.decimals$}");
                // As short as the number allows: a file that has 1.5 and 2 has no 2.0.
                if text.contains('.') {
                    text.trim_end_matches('0').trim_end_matches('.').to_owned()
                } else {
                    text
                }
            }
            _ => shortest(value),
        };
        let plain = if plain == "-0" { "0".to_owned() } else { plain };
        let (sign, digits) = plain.strip_prefix('-').map_or(("", &*plain), |rest| ("-", rest));
        let (whole, decimals) =
            digits.split_once('.').map_or((digits, None), |(w, d)| (w, Some(d)));
        let mut text = format!("{sign}{}", self.prefix);
        for (at, digit) in whole.chars().enumerate() {
            let left = whole.len() - at;
            if let Some(mark) = self.thousands
                && at > 0
                && left % 3 == 0
            {
                text.push(mark);
            }
            text.push(digit);
        }
        if let Some(decimals) = decimals {
            text.push(if self.decimal_comma { ',' } else { '.' });
            text.push_str(decimals);
        }
        text.push_str(&self.suffix);
        text
    }

    /// Days since 1970 as the file writes dates; nothing for a missing one.
    pub fn date(&self, days: f64) -> String {
        let known = self.date.as_deref().filter(|p| DATE_PATTERNS.contains(p));
        let pattern = known.unwrap_or(if days.fract() == 0.0 { ISO } else { DATE_PATTERNS[2] });
        let seconds = (days * SECONDS_A_DAY).round();
        let moment = (seconds.abs() < 1e13).then(|| DateTime::from_timestamp(seconds as i64, 0));
        moment.flatten().map_or_else(String::new, |m| m.naive_utc().format(pattern).to_string())
    }
}

/// A text as days since 1970, if it is written in this way.
///
/// ```
/// assert_eq!(mereo_core::days_since_1970("2.1.1970", "%d.%m.%Y"), Some(1.0));
/// assert_eq!(mereo_core::days_since_1970("31.2.1970", "%d.%m.%Y"), None);
/// ```
pub fn days_since_1970(text: &str, pattern: &str) -> Option<f64> {
    let moment = if pattern.contains("%H") {
        NaiveDateTime::parse_from_str(text, pattern).ok()?
    } else {
        NaiveDate::parse_from_str(text, pattern).ok()?.and_hms_opt(0, 0, 0)?
    };
    let utc = moment.and_utc();
    let seconds = utc.timestamp() as f64 + f64::from(utc.timestamp_subsec_micros()) / 1e6;
    (1..=9999).contains(&chrono::Datelike::year(&moment)).then_some(seconds / SECONDS_A_DAY)
}

/// Decimals that a number needs, if they are more than `least`.
fn decimals_of(number: f64, least: u8) -> u8 {
    let mut decimals = least;
    while decimals <= MOST_DECIMALS {
        let unit = 10f64.powi(i32::from(decimals));
        let scaled = number * unit;
        // Both are whole numbers, so that dividing gives what reading the decimals would.
        if scaled.round() / unit == number || scaled.abs() >= 1e15 {
            return decimals;
        }
        decimals += 1;
    }
    decimals
}

/// A number with so many digits that mean something.
fn to_digits(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let size = value.abs().log10().floor() as i32;
    let unit = 10f64.powi((digits - 1 - size).clamp(-300, 300));
    let rounded = (value * unit).round() / unit;
    if rounded.is_finite() { rounded } else { value }
}

/// The shortest text that is read back as the same number.
fn shortest(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-5..1e16).contains(&size) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// A number for people: four digits at most, no exponents for what is nothing, whole numbers whole.
///
/// ```
/// use mereo_core::plainly;
/// assert_eq!(plainly(2008.0), "2008");
/// assert_eq!(plainly(4.61e-12), "0");
/// assert_eq!(plainly(0.123_456), "0.1235");
/// assert_eq!(plainly(12_345.678), "12346");
/// assert_eq!(plainly(6.02e23), "6.02e23");
/// ```
pub fn plainly(value: f64) -> String {
    if value.is_nan() {
        return "missing".to_owned();
    }
    let size = value.abs();
    if size < 1e-9 {
        return "0".to_owned();
    }
    if !(1e-4..1e9).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A chance as people say it.
///
/// ```
/// use mereo_core::how_often;
/// assert_eq!(how_often(0.25), "25 in 100");
/// assert_eq!(how_often(0.003), "3 in 1,000");
/// assert_eq!(how_often(0.000_97), "1 in 1,000");
/// assert_eq!(how_often(1e-9), "less than 1 in 10,000");
/// ```
pub fn how_often(chance: f64) -> String {
    for (of, text) in [(1e2, "100"), (1e3, "1,000"), (1e4, "10,000")] {
        // 0.0097 is 1 in 100 rather than 10 in 1,000.
        if chance * of >= 0.95 {
            return format!("{:.0} in {text}", chance * of);
        }
    }
    "less than 1 in 10,000".to_owned()
}

impl About {
    /// How the file writes the cells of a column.
    pub fn format(&self, column: usize) -> Option<&Format> {
        self.formats.as_ref().and_then(|formats| formats.get(column))
    }

    /// A cell as the file would write it: the word of a level, a date, a number with its signs; nothing
    /// if it is missing.
    ///
    /// ```
    /// use mereo_core::{About, ColumnKind};
    /// let levels = vec!["no".into(), "yes".into()];
    /// let about = About { kinds: Some(vec![ColumnKind::YesNo { levels }]), ..About::default() };
    /// assert_eq!((about.cell(0, 1.0), about.cell(0, f64::NAN)), ("yes".into(), String::new()));
    /// ```
    pub fn cell(&self, column: usize, value: f64) -> String {
        cell_text(self.kind(column), self.format(column), value)
    }
}

/// A cell of this kind in words; nothing if it is missing.
pub fn cell_text(kind: &ColumnKind, format: Option<&Format>, value: f64) -> String {
    if value.is_nan() {
        return String::new();
    }
    match kind {
        ColumnKind::Number => format.map_or_else(|| shortest(value), |format| format.number(value)),
        ColumnKind::Count => {
            if value.fract() == 0.0 {
                shortest(value)
            } else {
                plainly(value)
            }
        }
        ColumnKind::Date => {
            format.map_or_else(|| Format::default().date(value), |format| format.date(value))
        }
        words => {
            let level = value.round().max(0.0) as usize;
            words.levels().get(level).cloned().unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_come_back_in_every_pattern() {
        for pattern in DATE_PATTERNS {
            let format = Format { date: Some(pattern.to_owned()), ..Format::default() };
            let days = if pattern.contains("%H") { 19_000.5 } else { 19_000.0 };
            let text = format.date(days);
            assert_eq!(days_since_1970(&text, pattern), Some(days), "{pattern}: {text}");
        }
    }

    #[test]
    fn a_pattern_from_a_strange_file_does_no_harm() {
        let format = Format { date: Some("%Q%%%".to_owned()), ..Format::default() };
        assert_eq!(format.date(0.0), "1970-01-01");
        assert_eq!(format.date(f64::INFINITY), "");
    }

    #[test]
    fn numbers_are_written_as_the_file_does() {
        let plain = Format::of([0.23, 0.3, 5.0]);
        assert_eq!((plain.number(0.3), plain.number(12.0)), ("0.3".into(), "12".into()));
        assert_eq!(Format::of([770.0, 35_786.0]).number(-0.2), "0");
        let long = Format::of([1.721_418_240_999_999_8]);
        assert_eq!((long.decimals, long.nearest(1.721_418_24)), (None, 1.721_418_240_999_999_8));
        let comma = Format { decimals: Some(1), decimal_comma: true, ..Format::default() };
        assert_eq!(comma.number(-1234.56), "-1234,6");
        assert_eq!(Format::of([5e-5, 0.1]).decimals, Some(5));
        assert_eq!(Format::of([100.0, 0.0, -3.0]).decimals, Some(0));
        assert_eq!(Format::of([]).range, None);
    }
}
