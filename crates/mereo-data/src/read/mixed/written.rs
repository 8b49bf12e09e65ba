//! Numbers and dates as people write them: decimal commas, thousands set apart, signs of per cent and money.

use mereo_core::{DATE_PATTERNS, Format, days_since_1970};

/// Texts read as numbers, and how they are written.
#[derive(Debug, PartialEq)]
pub(super) struct Numbers {
    /// One for each text; NaN where the text says that there is none.
    pub(super) values: Vec<f64>,
    pub(super) format: Format,
    /// What is worth saying of it.
    pub(super) why: String,
}

const MONEY: [&str; 12] = ["$", "€", "£", "¥", "₹", "US$", "CHF", "USD", "EUR", "GBP", "kr", "zł"];

/// What stands around and within numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Signs<'a> {
    prefix: &'a str,
    suffix: &'a str,
}

/// Reads texts as numbers, if all are written in one way.
pub(super) fn numbers(texts: &[String], commas_are_points: bool) -> Option<Numbers> {
    let mut signs = Signs::default();
    let mut bare: Vec<Option<&str>> = Vec::with_capacity(texts.len());
    for text in texts {
        if is_no_number(text) {
            bare.push(None);
            continue;
        }
        let (digits, own) = strip(text)?;
        // A sign that stands at some numbers and not at others does not change what they are.
        for (known, own) in [(&mut signs.prefix, own.prefix), (&mut signs.suffix, own.suffix)] {
            if known.is_empty() {
                *known = own;
            } else if !own.is_empty() && *known != own {
                return None;
            }
        }
        bare.push(Some(digits));
    }
    if bare.iter().all(Option::is_none) {
        return None;
    }
    let ways = if commas_are_points {
        [
            (None, false),
            (Some('.'), true),
            (Some(','), false),
            (Some('\''), false),
            (Some(' '), false),
        ]
    } else {
        [
            (None, false),
            (Some(','), false),
            (Some('.'), true),
            (Some('\''), false),
            (Some(' '), false),
        ]
    };
    let (values, (thousands, decimal_comma)) = ways.iter().find_map(|&(thousands, comma)| {
        let values: Option<Vec<f64>> = bare
            .iter()
            .map(|digits| digits.map_or(Some(f64::NAN), |d| number(d, thousands, comma)))
            .collect();
        values.map(|values| (values, (thousands, comma)))
    })?;
    let some =
        |mark: Option<char>| mark.filter(|&mark| bare.iter().flatten().any(|d| d.contains(mark)));
    let format = Format {
        thousands: some(thousands),
        decimal_comma,
        prefix: signs.prefix.to_owned(),
        suffix: signs.suffix.to_owned(),
        ..Format::of(values.iter().copied())
    };
    let mut why = Vec::new();
    if decimal_comma {
        why.push("decimal commas".to_owned());
    }
    if let Some(mark) = format.thousands {
        why.push(format!("thousands set apart by `{mark}`"));
    }
    for sign in [&format.prefix, &format.suffix].into_iter().filter(|sign| !sign.is_empty()) {
        why.push(format!("`{}` taken off", sign.trim()));
    }
    let why =
        if why.is_empty() { "numbers".to_owned() } else { format!("numbers: {}", why.join(", ")) };
    Some(Numbers { values, format, why })
}

/// Marks of a missing number that are words elsewhere.
pub(super) fn is_no_number(text: &str) -> bool {
    ["none", "-", "--", "?", ".", "n.a.", "missing", "unknown"]
        .iter()
        .any(|mark| text.eq_ignore_ascii_case(mark))
}

/// The digits of a number, and the signs around them.
fn strip(text: &str) -> Option<(&str, Signs<'_>)> {
    let mut signs = Signs::default();
    let mut rest = text.trim();
    if let Some(digits) = rest.strip_suffix('%') {
        (signs.suffix, rest) = (&rest[digits.trim_end().len()..], digits.trim_end());
    }
    for sign in MONEY {
        if let Some(digits) = rest.strip_prefix(sign) {
            let digits = digits.trim_start();
            (signs.prefix, rest) = (&rest[..rest.len() - digits.len()], digits);
            break;
        }
        if let Some(digits) = rest.strip_suffix(sign) {
            let digits = digits.trim_end();
            (signs.suffix, rest) = (&rest[digits.len()..], digits);
            break;
        }
    }
    rest.contains(|c: char| c.is_ascii_digit()).then_some((rest, signs))
}

/// A number whose thousands are set apart by this, if by anything.
fn number(text: &str, thousands: Option<char>, decimal_comma: bool) -> Option<f64> {
    let point = if decimal_comma { ',' } else { '.' };
    let (whole, decimals) = text.split_once(point).map_or((text, None), |(w, d)| (w, Some(d)));
    let mut plain = String::with_capacity(text.len());
    match thousands.filter(|&mark| whole.contains(mark)) {
        None => plain.push_str(whole),
        Some(mark) => {
            let mut groups = whole.split(mark);
            let first = groups.next()?;
            let digits = first.strip_prefix(['-', '+']).unwrap_or(first);
            if !(1..=3).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            plain.push_str(first);
            for group in groups {
                if group.len() != 3 || !group.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                plain.push_str(group);
            }
        }
    }
    if let Some(decimals) = decimals {
        plain.push('.');
        plain.push_str(decimals);
    }
    // Words that the standard library takes for numbers (inf, nan) are none here.
    let odd = |c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
    if plain.contains(odd) {
        return None;
    }
    plain.parse::<f64>().ok().filter(|x| x.is_finite())
}

/// Texts read as days since 1970, and how they are written.
pub(super) fn dates(texts: &[String]) -> Option<Numbers> {
    let likely = |text: &String| {
        (6..=32).contains(&text.len()) && text.bytes().filter(u8::is_ascii_digit).count() >= 5
    };
    let real: Vec<&String> = texts.iter().filter(|text| !is_no_number(text)).collect();
    if real.is_empty() || !real.iter().all(|text| likely(text)) {
        return None;
    }
    let fits = |pattern: &&&str| {
        days_since_1970(real[0], pattern).is_some()
            && real.iter().all(|text| days_since_1970(text, pattern).is_some())
    };
    let mut fitting = DATE_PATTERNS.iter().filter(fits);
    let pattern = fitting.next()?;
    let also = fitting.find(|other| other[..2] != pattern[..2] && other.len() == pattern.len());
    let values: Vec<f64> =
        texts.iter().map(|text| days_since_1970(text, pattern).unwrap_or(f64::NAN)).collect();
    let why = match also {
        Some(_) => format!("dates, read with the month first ({pattern}); no day is above 12"),
        None => format!("dates, as in `{}`", real[0]),
    };
    let format = Format { date: Some((*pattern).to_owned()), ..Format::of(values.iter().copied()) };
    Some(Numbers { values, format, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Option<(Vec<f64>, String)> {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        let found = numbers(&texts, false)?;
        let again: Vec<String> = found.values.iter().map(|&v| found.format.number(v)).collect();
        Some((found.values, again.join(" ")))
    }

    #[test]
    fn numbers_are_read_as_people_write_them_and_written_back() {
        for (texts, values) in [
            (&["$1.5", "$1,234.25"][..], &[1.5, 1234.25][..]),
            (&["1,5", "-2,25"], &[1.5, -2.25]),
            (&["1.234,5", "7,0"], &[1234.5, 7.0]),
            (&["1,234", "12,345"], &[1234.0, 12345.0]),
            (&["45%", "7.5%"], &[45.0, 7.5]),
            (&["€ 3", "€ 4.5"], &[3.0, 4.5]),
            (&["1 234", "12"], &[1234.0, 12.0]),
        ] {
            let (found, again) = read(texts).unwrap_or_else(|| panic!("{texts:?}"));
            assert_eq!(found, values, "{texts:?}");
            assert_eq!(again.replace(".0", ""), texts.join(" ").replace(",0", ""), "{texts:?}");
        }
        for texts in
            [&["abc", "1"][..], &["1,2,3"], &["$1", "€2"], &["inf", "1"], &["1-2"], &["none"]]
        {
            assert_eq!(read(texts), None, "{texts:?}");
        }
    }

    #[test]
    fn dates_are_read_in_the_form_that_fits_all() {
        let days = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            dates(&texts).map(|found| (found.values, found.format.date.unwrap_or_default()))
        };
        assert_eq!(days(&["1970-01-02", "-"]).map(|d| d.0[0]), Some(1.0));
        assert_eq!(days(&["1/2/1970", "25/2/1970"]), Some((vec![31.0, 55.0], "%d/%m/%Y".into())));
        assert_eq!(days(&["1/2/1970"]), Some((vec![1.0], "%m/%d/%Y".into())));
        assert_eq!(days(&["2024-05-01 12:00:00"]).map(|d| d.0[0].fract()), Some(0.5));
        assert_eq!(days(&["2024-05-01", "hello 12345"]), None);
        assert_eq!(days(&["12345678"]), None);
    }
}
