//! Numbers, names and counts as people read them.

/// Parts, states, rows and columns without names are counted from this number on the page.
pub(crate) const FIRST: usize = 0;
/// Longest name that is shown whole, in characters.
const NAME_CHARACTERS: usize = 80;

/// The name of a part.
pub(crate) fn part_name(part: usize) -> String {
    format!("Part {}", part.saturating_add(FIRST))
}

/// The number of a part, state or row as shown.
pub(crate) fn ordinal(index: usize) -> String {
    count(index.saturating_add(FIRST))
}

/// A number to about four digits; a dash for what is not a number.
pub(crate) fn number(value: f64) -> String {
    to_digits(value, 4)
}

/// A number to about two digits.
pub(crate) fn brief(value: f64) -> String {
    to_digits(value, 2)
}

fn to_digits(value: f64, digits: i32) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "–".to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    if !(1e-4..1e7).contains(&size) {
        return format!("{sign}{size:.2e}").replace("e-", "e−");
    }
    let decimals = (digits - 1 - size.log10().floor() as i32).clamp(0, 7) as usize;
    let text = format!("{size:.decimals$}");
    let text = if decimals == 0 { &text } else { text.trim_end_matches('0').trim_end_matches('.') };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{sign}{}{rest}", group(whole))
}

/// As [`brief`], with its sign always shown.
pub(crate) fn signed(value: f64) -> String {
    let text = brief(value);
    if value > 0.0 && value.is_finite() { format!("+{text}") } else { text }
}

/// A count with its thousands apart.
pub(crate) fn count(value: usize) -> String {
    group(&value.to_string())
}

/// A count and its noun: "1 part", "2 parts".
pub(crate) fn counted(value: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(value), if value == 1 { one } else { many })
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A share between 0 and 1 as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let hundred = share * 100.0;
    if !hundred.is_finite() {
        "–".to_owned()
    } else if hundred <= 0.0 {
        "0%".to_owned()
    } else if hundred < 0.1 {
        "<0.1%".to_owned()
    } else if hundred < 9.95 {
        format!("{hundred:.1}%")
    } else {
        format!("{:.0}%", hundred.min(999.0))
    }
}

/// A share as a length in CSS, safe whatever the number.
pub(crate) fn css_percent(share: f64) -> String {
    let hundred = if share.is_finite() { (share * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    format!("{hundred:.1}%")
}

/// A text from somebody's data: short, and without characters that steer terminals or layout.
pub(crate) fn name(text: &str) -> String {
    let clean = |c: char| {
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            '\u{fffd}'
        } else {
            c
        }
    };
    let mut out: String = text.chars().take(NAME_CHARACTERS).map(clean).collect();
    if text.chars().nth(NAME_CHARACTERS).is_some() {
        out.push('…');
    }
    if out.trim().is_empty() { "(no name)".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let cases = [
            (0.0, "0"),
            (4.0, "4"),
            (-123.44, "−123.4"),
            (0.5, "0.5"),
            (0.012_345, "0.01235"),
            (1_234.5, "1,234"),
            (12_345.6, "12,346"),
            (f64::NAN, "–"),
            (f64::NEG_INFINITY, "–"),
            (1e300, "1.00e300"),
            (-1e-9, "−1.00e−9"),
            (9_999_999.9, "10,000,000"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text, "{value}");
        }
        assert_eq!(signed(1.53), "+1.5");
        assert_eq!(brief(212.3), "212");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn percentages_stay_in_their_place() {
        assert_eq!(percent(0.345), "34%");
        assert_eq!(percent(0.0123), "1.2%");
        assert_eq!(percent(0.000_01), "<0.1%");
        assert_eq!(percent(f64::NAN), "–");
        assert_eq!(css_percent(f64::INFINITY), "0.0%");
        assert_eq!(css_percent(7.0), "100.0%");
    }

    #[test]
    fn names_are_tamed() {
        assert_eq!(name("a\u{202e}b\n"), "a\u{fffd}b\u{fffd}");
        assert_eq!(name(" "), "(no name)");
        assert_eq!(name(&"x".repeat(1000)).chars().count(), NAME_CHARACTERS + 1);
    }
}
