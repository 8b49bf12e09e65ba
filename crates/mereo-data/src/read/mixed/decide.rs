//! What each column of a file is: seen from its content, or said.

use std::collections::BTreeMap;

use mereo_core::{
    ColumnKind, Dense, Error, Format, Labels, Place, Real, Result, Table, column_name,
    days_since_1970,
};

use super::super::ReadOptions;
use super::super::csv::find_column;
use super::written::{self, is_no_number};
use super::{Column, ColumnTold, MISSING, Raw, Said, Texts, Told, scales};

/// A column of words has at most so many, unless somebody says that it is one.
const MOST_LEVELS: usize = 200;
/// Words of a column that few rows tell of.
const FEW_LEVELS: usize = 12;
/// Counts are mostly small.
const SMALL_COUNT: f64 = 12.0;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// What came of a file's columns.
pub(in super::super) enum Verdict {
    /// A table, and what was decided.
    Table(Box<Table<f64>>, Told),
    /// A text in a column of numbers that seems to be a mistake.
    Stray { row: usize, column: usize },
}

/// A column that models learn from.
struct Learned {
    name: String,
    kind: ColumnKind,
    format: Format,
    values: Vec<f64>,
}

/// What a column is.
enum Role {
    Learn(ColumnKind, Format, Vec<f64>, String),
    Id(Vec<String>, String),
    Text(String),
    Stray(usize, String),
}

/// Makes the table that models learn from.
pub(in super::super) fn decide(mut raw: Raw, options: &ReadOptions) -> Result<Verdict> {
    let count = raw.columns.len();
    let names: Vec<String> = (0..count).map(|c| column_name(raw.names.as_deref(), c)).collect();
    let find = |option: &str, wanted: Option<&String>| match wanted {
        Some(wanted) => find_column(option, wanted, raw.names.as_deref(), count).map(Some),
        None => Ok(None),
    };
    let expected = options.expected.as_ref().filter(|e| names.iter().any(|n| e.kind(n).is_some()));
    // The file may have no name for the column of names.
    let is = |own: &String, name: &String| own == name || (name.is_empty() && own == "0");
    let known =
        |name: Option<&String>| name.and_then(|name| names.iter().position(|own| is(own, name)));
    let label = find("label", options.label.as_ref())?
        .or_else(|| known(expected.and_then(|e| e.label.as_ref())));
    let weight = find("weight", options.weight.as_ref())?;
    if weight.is_some() && weight == label {
        return Err(Error::option("weight", "the column is already taken as the label"));
    }
    let said_id =
        find("id", options.id.as_ref())?.or_else(|| known(expected.and_then(|e| e.id.as_ref())));
    for column in options.kinds.columns() {
        find_column("kinds", column, raw.names.as_deref(), count)?;
    }
    for column in &options.drop {
        find_column("drop", column, raw.names.as_deref(), count)?;
    }
    for column in options.columns.iter().flatten() {
        find_column("columns", column, raw.names.as_deref(), count)?;
    }
    let mut told: Vec<Option<ColumnTold>> = vec![None; count];
    let mut notices = std::mem::take(&mut raw.notices);
    let mut learned: Vec<(usize, Learned)> = Vec::new();
    let (mut labels, mut weights, mut ids) = (None, None, None);
    let mut numbers_left = Vec::new();
    let tell = |name: &str, kind: &str, why: String, missing: usize, levels: &[String]| {
        Some(ColumnTold {
            name: name.to_owned(),
            kind: kind.to_owned(),
            why,
            missing,
            levels: levels.to_vec(),
        })
    };
    for (c, column) in std::mem::take(&mut raw.columns).into_iter().enumerate() {
        let name = &names[c];
        let missing = column.missing();
        if options.leaves_out(name) || matches!(column, Column::Skipped) {
            told[c] = tell(name, "left out", "as was asked".to_owned(), 0, &[]);
            continue;
        }
        if Some(c) == label {
            let texts = column.into_texts();
            let texts: Vec<Option<&str>> = (0..raw.rows).map(|row| texts.get(row)).collect();
            labels = Some(Labels::from_texts(texts));
            told[c] = tell(name, "label", "as was asked".to_owned(), missing, &[]);
            continue;
        }
        if Some(c) == weight {
            weights = Some(weights_of(column, name)?);
            told[c] = tell(name, "weight", "as was asked".to_owned(), missing, &[]);
            continue;
        }
        let said = if Some(c) == said_id { Some(&Said::Id) } else { options.kinds.of(name) };
        let expects = expected.and_then(|e| e.kind(name));
        if said.is_none()
            && expects.is_none()
            && let Column::Numbers(numbers) = column
        {
            let first =
                c == 0 && raw.names.as_ref().is_some_and(|n| n[0] == "0" || n[0].is_empty());
            if ids.is_none() && said_id.is_none() && first && counts_rows(&numbers) {
                ids = Some((c, numbers.iter().map(|&n| shown(n)).collect::<Vec<_>>()));
                let why = "it has no name and counts the rows".to_owned();
                told[c] = tell(name, "id", why, 0, &[]);
            } else {
                numbers_left.push((c, numbers, missing));
            }
            continue;
        }
        let texts = matches!(column, Column::Texts(_));
        let may_be_id = ids.is_none() && said_id.is_none();
        let first = c == 0;
        let role = match (said, expects) {
            (Some(said), _) => as_said(column, said, &raw, name)?,
            (None, Some(kind)) => as_expected(column, kind, &raw, name, &mut notices)?,
            (None, None) => found(column, &raw, name, first, may_be_id),
        };
        match role {
            Role::Stray(row, _) if texts => {
                return Ok(Verdict::Stray { row, column: c });
            }
            Role::Stray(row, text) => {
                return Err(Error::found(Place::at_row(row).column(name), text, "a number"));
            }
            Role::Id(names, why) => {
                told[c] = tell(name, "id", why, missing, &[]);
                ids = Some((c, names));
            }
            Role::Text(why) => told[c] = tell(name, "text", why, missing, &[]),
            Role::Learn(kind, format, values, why) => {
                let missing = values.iter().filter(|v| v.is_nan()).count();
                told[c] = tell(name, kind.name(), why, missing, kind.levels());
                let column = Learned { name: name.clone(), kind, format, values };
                let parts = matches!(said, Some(Said::Date { parts: true }))
                    || expected.is_some_and(|e| e.kind(&format!("{name}.month")).is_some());
                let calendar = (column.kind == ColumnKind::Date && parts)
                    .then(|| calendar(&column.name, &column.values));
                learned.push((c, column));
                learned.extend(calendar.into_iter().flatten().map(|part| (c, part)));
            }
        }
    }
    // Where all is numbers, nobody has asked what they count.
    let looks = expected.is_none()
        && (options.kinds.auto || learned.iter().any(|(_, l)| l.kind != ColumnKind::Number));
    for (c, numbers, missing) in numbers_left {
        let name = &names[c];
        if looks && ids.is_none() && said_id.is_none() && is_numbered(name, &numbers) {
            ids = Some((c, numbers.iter().map(|&n| shown(n)).collect()));
            let why = "whole numbers that are all different, and called so".to_owned();
            told[c] = tell(name, "id", why, missing, &[]);
            continue;
        }
        let (kind, why) =
            if looks { kind_of_numbers(&numbers) } else { (ColumnKind::Number, "numbers".into()) };
        told[c] = tell(name, kind.name(), why, missing, kind.levels());
        let format = Format::of(numbers.iter().copied());
        learned.push((c, Learned { name: name.clone(), kind, format, values: numbers }));
    }
    learned.sort_by_key(|(c, _)| *c);
    if raw.rows > 0 && learned.is_empty() {
        let found = "no column that could be learned from";
        let expected = "at least one column of numbers, words or dates; say what columns hold with `--kinds COLUMN=KIND`";
        return Err(Error::found(Place::default(), found, expected));
    }
    let mut table = in_rows(raw.rows, &learned)?;
    if raw.names.is_some() {
        table = table.with_names(learned.iter().map(|(_, l)| l.name.clone()).collect())?;
    }
    let mut about = table.about().clone();
    let plain = learned.iter().all(|(_, l)| l.kind == ColumnKind::Number);
    about.kinds = (!plain).then(|| learned.iter().map(|(_, l)| l.kind.clone()).collect());
    about.formats = Some(learned.into_iter().map(|(_, l)| l.format).collect());
    about.labels = labels;
    about.label_name = label.map(|c| names[c].clone());
    about.weights = weights;
    if let Some((c, ids)) = ids {
        about.ids = Some(ids);
        about.id_name =
            Some(raw.names.as_ref().map_or_else(String::new, |_| file_name(&names[c], c)));
    }
    let told = Told { columns: told.into_iter().flatten().collect(), notices };
    Ok(Verdict::Table(Box::new(table.with_about(about)?), told))
}

/// What the file calls a column: one without a name is called by its number here.
fn file_name(name: &str, column: usize) -> String {
    if name == column.to_string() { String::new() } else { name.to_owned() }
}

fn in_rows(rows: usize, learned: &[(usize, Learned)]) -> Result<Table<f64>> {
    const BLOCK: usize = 1 << 12;
    let width = learned.len();
    let mut values = Vec::new();
    super::super::input::make_room(&mut values, rows.saturating_mul(width))?;
    values.resize(rows * width, f64::NAN);
    for start in (0..rows).step_by(BLOCK) {
        let end = (start + BLOCK).min(rows);
        for (at, (_, column)) in learned.iter().enumerate() {
            for (row, &value) in (start..end).zip(&column.values[start..end]) {
                values[row * width + at] = value;
            }
        }
    }
    Ok(Table::from(Dense::new(rows, width, values)?))
}

impl Column {
    fn missing(&self) -> usize {
        match self {
            Self::Numbers(numbers) | Self::Days(numbers) => {
                numbers.iter().filter(|n| n.is_nan()).count()
            }
            Self::Texts(texts) => texts.codes.iter().filter(|&&code| code == MISSING).count(),
            Self::Truths(truths) => truths.iter().filter(|t| t.is_none()).count(),
            Self::Skipped => 0,
        }
    }

    /// The column as texts, whatever it holds.
    fn into_texts(self) -> Texts {
        match self {
            Self::Texts(texts) => texts,
            Self::Numbers(numbers) => {
                let texts: Vec<Option<String>> =
                    numbers.iter().map(|n| (!n.is_nan()).then(|| shown(*n))).collect();
                Texts::from_texts(texts.iter().map(Option::as_deref))
            }
            Self::Days(days) => {
                let format = Format::default();
                let texts: Vec<Option<String>> =
                    days.iter().map(|d| (!d.is_nan()).then(|| format.date(*d))).collect();
                Texts::from_texts(texts.iter().map(Option::as_deref))
            }
            Self::Truths(truths) => Texts::from_texts(
                truths.iter().map(|t| t.map(|t| if t { "true" } else { "false" })),
            ),
            Self::Skipped => Texts::default(),
        }
    }
}

/// A number as a word.
fn shown(number: f64) -> String {
    number.to_string()
}

fn weights_of(column: Column, name: &str) -> Result<Vec<f64>> {
    let bad = |row: usize, found: String| {
        Error::found(Place::at_row(row).column(name), found, "a weight of at least 0")
    };
    let numbers = match column {
        Column::Numbers(numbers) => numbers,
        other => {
            let texts = other.into_texts();
            let row = texts.codes.iter().position(|&code| code != MISSING).unwrap_or(0);
            return Err(bad(row, format!("`{}`", texts.get(row).unwrap_or_default())));
        }
    };
    if let Some(row) = numbers.iter().position(|w| !(*w >= 0.0)) {
        return Err(bad(row, shown(numbers[row])));
    }
    Ok(numbers)
}

/// Whether numbers are 0, 1, 2, ... or 1, 2, 3, ...
fn counts_rows(numbers: &[f64]) -> bool {
    let first = numbers.first().copied().unwrap_or(f64::NAN);
    numbers.len() > 1
        && (first == 0.0 || first == 1.0)
        && numbers.iter().enumerate().all(|(row, &n)| n == first + row as f64)
}

/// Whether a name says that a column names the rows.
fn is_called_id(name: &str) -> bool {
    let name = name.to_lowercase();
    ["id", "ids", "name", "names", "key", "uuid", "guid", "index", "rownames", "row"]
        .contains(&name.as_str())
        || [" id", "_id", ".id", "-id", "_name", " name"].iter().any(|end| name.ends_with(end))
}

fn is_numbered(name: &str, numbers: &[f64]) -> bool {
    let mut sorted: Vec<f64> = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    is_called_id(name)
        && numbers.len() > 4
        && numbers.iter().all(|n| n.fract() == 0.0)
        && sorted.windows(2).all(|pair| pair[0] < pair[1])
}

/// What numbers of a table of several kinds are.
fn kind_of_numbers(numbers: &[f64]) -> (ColumnKind, String) {
    let seen: Vec<f64> = numbers.iter().copied().filter(|n| !n.is_nan()).collect();
    if seen.is_empty() {
        return (ColumnKind::Number, "every cell is missing".to_owned());
    }
    let number = |why: &str| (ColumnKind::Number, why.to_owned());
    if seen.iter().any(|n| n.fract() != 0.0) {
        return number("numbers with decimals");
    }
    if seen.iter().any(|&n| n < 0.0) {
        return number("whole numbers, some below 0");
    }
    if seen.iter().all(|&n| n == 0.0 || n == 1.0) {
        if seen.contains(&0.0) && seen.contains(&1.0) {
            let levels = vec!["0".to_owned(), "1".to_owned()];
            return (ColumnKind::YesNo { levels }, "only 0 and 1".to_owned());
        }
        return number("one number only");
    }
    let count = seen.len() as f64;
    let mean = seen.iter().sum::<f64>() / count;
    let variance = seen.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / count;
    let zeros = seen.iter().filter(|&&n| n == 0.0).count() as f64;
    // What happens to rows by chance is spread at least as widely as it happens often.
    if zeros >= 0.02 * count && mean <= SMALL_COUNT && variance >= 0.8 * mean {
        return (ColumnKind::Count, "whole numbers from 0 up, mostly small".to_owned());
    }
    number("whole numbers")
}

/// Calendar parts of moments: month and day of the week.
fn calendar(name: &str, days: &[f64]) -> [Learned; 2] {
    let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<String>>();
    let part = |what: &str, levels: Vec<String>, of: &dyn Fn(f64) -> f64| Learned {
        name: format!("{name}.{what}"),
        kind: ColumnKind::Category { levels },
        format: Format::default(),
        values: days.iter().map(|&d| if d.is_nan() { d } else { of(d) }).collect(),
    };
    let month = |day: f64| {
        let text =
            Format { date: Some("%Y-%m-%d".to_owned()), ..Format::default() }.date(day.floor());
        let number = text.rsplit('-').nth(1).and_then(|month| month.parse::<f64>().ok());
        number.map_or(f64::NAN, |month| month - 1.0)
    };
    // The first of January 1970 was a Thursday.
    let weekday = |day: f64| (day.floor() + 3.0).rem_euclid(7.0);
    [part("month", words(&MONTHS), &month), part("weekday", words(&DAYS), &weekday)]
}

/// The values of words: the numbers of their levels, missing where a word is none of them.
fn level_values(texts: &Texts, levels: &[String]) -> Vec<f64> {
    let number: BTreeMap<&str, f64> =
        levels.iter().enumerate().map(|(i, level)| (level.as_str(), i as f64)).collect();
    let of_text: Vec<f64> = texts
        .texts
        .iter()
        .map(|text| number.get(text.as_str()).copied().unwrap_or(f64::NAN))
        .collect();
    spread(texts, &of_text)
}

/// The value of each row's text.
fn spread(texts: &Texts, of_text: &[f64]) -> Vec<f64> {
    texts
        .codes
        .iter()
        .map(|&code| of_text.get(code as usize).copied().unwrap_or(f64::NAN))
        .collect()
}

/// The row in which a text first occurs that is no number.
fn first_stray(texts: &Texts) -> Option<(usize, String)> {
    let is_number =
        |text: &String| text.trim().parse::<f64>().is_ok_and(f64::is_finite) || is_no_number(text);
    let stray = texts.texts.iter().position(|text| !is_number(text))?;
    let row = texts.codes.iter().position(|&code| code as usize == stray)?;
    Some((row, texts.texts[stray].clone()))
}

fn numbers_or_stray(texts: &Texts, raw: &Raw) -> Role {
    if let Some(read) = written::numbers(&texts.texts, raw.commas_are_points) {
        return Role::Learn(ColumnKind::Number, read.format, spread(texts, &read.values), read.why);
    }
    let (row, text) =
        first_stray(texts).unwrap_or((0, texts.texts.first().cloned().unwrap_or_default()));
    Role::Stray(row, text)
}

/// A column as somebody says that it is.
fn as_said(column: Column, said: &Said, raw: &Raw, name: &str) -> Result<Role> {
    let why = || "as was said".to_owned();
    Ok(match said {
        Said::Id => {
            let texts = column.into_texts();
            let ids = (0..raw.rows).map(|row| texts.get(row).unwrap_or_default().to_owned());
            Role::Id(ids.collect(), why())
        }
        Said::Text => Role::Text(why()),
        Said::Number | Said::Count => {
            let role = match column {
                Column::Numbers(values) => {
                    let format = Format::of(values.iter().copied());
                    Role::Learn(ColumnKind::Number, format, values, why())
                }
                Column::Days(values) => {
                    Role::Learn(ColumnKind::Number, Format::default(), values, why())
                }
                other => numbers_or_stray(&other.into_texts(), raw),
            };
            match role {
                Role::Learn(_, format, values, why) if *said == Said::Count => {
                    for (row, &value) in values.iter().enumerate().filter(|(_, v)| !v.is_nan()) {
                        ColumnKind::Count.check(value, Place::at_row(row).column(name))?;
                    }
                    Role::Learn(ColumnKind::Count, format, values, why)
                }
                role => role,
            }
        }
        Said::Date { .. } => match column {
            Column::Days(values) => {
                Role::Learn(ColumnKind::Date, Format::of(values.iter().copied()), values, why())
            }
            other => {
                let texts = other.into_texts();
                let Some(read) = written::dates(&texts.texts) else {
                    let pattern = "%Y-%m-%d";
                    let odd = texts.texts.iter().find(|t| days_since_1970(t, pattern).is_none());
                    let found = format!("`{}`", odd.cloned().unwrap_or_default());
                    return Err(Error::found(
                        Place::default().column(name),
                        found,
                        "dates that are all written in one way, such as 2024-05-01",
                    ));
                };
                Role::Learn(ColumnKind::Date, read.format, spread(&texts, &read.values), why())
            }
        },
        Said::YesNo | Said::Category | Said::Ordered(_) => {
            let texts = column.into_texts();
            let words = scales::sorted(texts.texts.clone());
            let kind = match said {
                Said::YesNo => {
                    if words.len() > 2 {
                        return Err(Error::option(
                            "kinds",
                            format!("column `{name}` has {} words, not two", words.len()),
                        ));
                    }
                    return Ok(yes_or_no(&texts, why()).unwrap_or_else(|| {
                        let levels = words.clone();
                        let values = level_values(&texts, &levels);
                        Role::Learn(ColumnKind::YesNo { levels }, Format::default(), values, why())
                    }));
                }
                Said::Ordered(levels) if !levels.is_empty() => {
                    if let Some(other) = words.iter().find(|word| !levels.contains(word)) {
                        let problem =
                            format!("column `{name}` has `{other}`, which the order leaves out");
                        return Err(Error::option("kinds", problem));
                    }
                    ColumnKind::Ordered { levels: levels.clone() }
                }
                Said::Ordered(_) => {
                    ColumnKind::Ordered { levels: scales::in_order(&words).unwrap_or(words) }
                }
                _ => ColumnKind::Category { levels: words },
            };
            let values = level_values(&texts, kind.levels());
            Role::Learn(kind, Format::default(), values, why())
        }
    })
}

/// A column as a model knows it.
fn as_expected(
    column: Column,
    kind: &ColumnKind,
    raw: &Raw,
    name: &str,
    notices: &mut Vec<String>,
) -> Result<Role> {
    let why = || "as the model knows it".to_owned();
    let said = match kind {
        ColumnKind::Number => Said::Number,
        ColumnKind::Count => Said::Count,
        ColumnKind::Date => Said::Date { parts: false },
        words => {
            let levels = words.levels();
            let texts = column.into_texts();
            // Yes is yes, however it is written.
            let same = |text: &String| {
                levels.iter().position(|l| l == text).or_else(|| {
                    let fits = |l: &&String| l.eq_ignore_ascii_case(text);
                    (levels.iter().filter(fits).count() == 1)
                        .then(|| levels.iter().position(|l| fits(&l)))?
                })
            };
            let of_text: Vec<Option<usize>> = texts.texts.iter().map(same).collect();
            let unseen: Vec<&str> = texts
                .texts
                .iter()
                .zip(&of_text)
                .filter(|(_, level)| level.is_none())
                .map(|(text, _)| text.as_str())
                .collect();
            let of_text: Vec<f64> =
                of_text.iter().map(|level| level.map_or(f64::NAN, |l| l as f64)).collect();
            if !unseen.is_empty() {
                let some: Vec<String> = unseen.iter().take(3).map(|w| format!("`{w}`")).collect();
                let more = if unseen.len() > 3 { " and others" } else { "" };
                notices.push(format!(
                    "column `{name}` has words that the model has not seen ({}{more}); they are \
                     taken as missing",
                    some.join(", ")
                ));
            }
            let values = spread(&texts, &of_text);
            return Ok(Role::Learn(words.clone(), Format::default(), values, why()));
        }
    };
    as_said(column, &said, raw, name)
}

/// Words that mean yes and no, however they are written.
fn yes_or_no(texts: &Texts, why: String) -> Option<Role> {
    let (noes, yeses) = scales::no_and_yes(&texts.texts)?;
    let counts = texts.counts();
    let commonest = |words: &[&String]| {
        let count =
            |word: &String| texts.texts.iter().position(|t| t == word).map_or(0, |i| counts[i]);
        words.iter().max_by_key(|word| (count(word), word.as_str())).map(|word| (*word).clone())
    };
    let levels = vec![commonest(&noes)?, commonest(&yeses)?];
    let of_text: Vec<f64> =
        texts.texts.iter().map(|text| f64::from(u8::from(yeses.contains(&text)))).collect();
    let values = spread(texts, &of_text);
    Some(Role::Learn(ColumnKind::YesNo { levels }, Format::default(), values, why))
}

/// What a column is, by what it holds.
fn found(column: Column, raw: &Raw, name: &str, first: bool, may_be_id: bool) -> Role {
    let texts = match column {
        Column::Numbers(values) => {
            let format = Format::of(values.iter().copied());
            return Role::Learn(ColumnKind::Number, format, values, "numbers".to_owned());
        }
        Column::Days(values) => {
            let format = Format::of(values.iter().copied());
            return Role::Learn(ColumnKind::Date, format, values, "dates".to_owned());
        }
        Column::Truths(truths) => {
            let levels = vec!["false".to_owned(), "true".to_owned()];
            let values =
                truths.iter().map(|t| t.map_or(f64::NAN, |t| f64::from(u8::from(t)))).collect();
            let kind = ColumnKind::YesNo { levels };
            return Role::Learn(kind, Format::default(), values, "true or false".to_owned());
        }
        Column::Texts(texts) => texts,
        Column::Skipped => Texts::default(),
    };
    let (observed, distinct) =
        (texts.codes.iter().filter(|&&c| c != MISSING).count(), texts.texts.len());
    if distinct == 0 {
        let values = vec![f64::NAN; raw.rows];
        return Role::Learn(
            ColumnKind::Number,
            Format::default(),
            values,
            "every cell is missing".into(),
        );
    }
    if first
        && may_be_id
        && (name == "0" || name.is_empty())
        && distinct == raw.rows
        && raw.rows > 1
    {
        let ids = (0..raw.rows).map(|row| texts.get(row).unwrap_or_default().to_owned()).collect();
        return Role::Id(ids, "the first column has no name and no text twice".to_owned());
    }
    if let Some(read) = written::numbers(&texts.texts, raw.commas_are_points) {
        let values = spread(&texts, &read.values);
        return Role::Learn(ColumnKind::Number, read.format, values, read.why);
    }
    if let Some(read) = written::dates(&texts.texts) {
        let values = spread(&texts, &read.values);
        return Role::Learn(ColumnKind::Date, read.format, values, read.why);
    }
    if let Some(role) = yes_or_no(&texts, "yes and no".to_owned()) {
        return role;
    }
    let counts = texts.counts();
    let is_number =
        |text: &String| text.trim().parse::<f64>().is_ok_and(|x| x.abs() <= f64::LARGEST);
    let numbers: usize =
        texts.texts.iter().zip(&counts).filter(|(t, _)| is_number(t)).map(|(_, &n)| n).sum();
    let words = observed - numbers;
    let again = distinct <= MOST_LEVELS && observed >= 3 * distinct;
    let few = distinct <= FEW_LEVELS && 10 * distinct <= 7 * observed;
    // Mostly numbers, and something else here or there: more likely a mistake than a word.
    if 2 * numbers >= observed && !(20 * words >= observed && distinct <= 20 && again) {
        return match first_stray(&texts) {
            Some((row, text)) => Role::Stray(row, text),
            None => Role::Text("neither numbers nor words".to_owned()),
        };
    }
    let unique = distinct == observed && observed == raw.rows;
    if unique && may_be_id && (first || is_called_id(name)) && raw.rows > 2 {
        let ids = (0..raw.rows).map(|row| texts.get(row).unwrap_or_default().to_owned()).collect();
        return Role::Id(ids, "no text occurs twice".to_owned());
    }
    if again || few || distinct <= 2 {
        let sorted = scales::sorted(texts.texts.clone());
        let (kind, why) = match scales::in_order(&sorted) {
            _ if distinct == 2 => (ColumnKind::YesNo { levels: sorted }, "two words".to_owned()),
            Some(levels) => (ColumnKind::Ordered { levels }, "words of a known scale".to_owned()),
            None => (ColumnKind::Category { levels: sorted }, format!("{distinct} words")),
        };
        let values = level_values(&texts, kind.levels());
        return Role::Learn(kind, Format::default(), values, why);
    }
    Role::Text(format!("{distinct} different texts in {observed} cells"))
}
