//! What makes some rows different from the whole, in the user's words.

use mereo_core::{About, ColumnKind, Real, Result, Table, plainly};

use super::dense;

/// A column in which some rows stand out.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Standing {
    /// The column's name.
    pub column: String,
    /// What the rows have: a word, or a number.
    pub value: String,
    /// The share of these rows that have the word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The share of all rows that have it, or the mean of all rows.
    pub usually: f64,
    /// The same in words.
    pub text: String,
    /// How far they stand out: in deviations of the column.
    pub strength: f64,
    /// The column's number.
    #[serde(skip)]
    pub at: usize,
    /// What is usual, in words.
    #[serde(skip)]
    pub usual: String,
    /// Whether a number is lower than usual.
    #[serde(skip)]
    pub below: bool,
}

impl Standing {
    /// A number that is `own` here and `usually` something else.
    pub(crate) fn of_number(
        about: &About,
        (at, name): (usize, String),
        own: f64,
        usually: f64,
        deviation: f64,
    ) -> Option<Self> {
        if !(deviation > 0.0) || !own.is_finite() || !usually.is_finite() {
            return None;
        }
        let shown = |x: f64| in_units(about, at, x);
        Some(Self {
            text: format!("{name} {} (usually {})", shown(own), shown(usually)),
            value: shown(own),
            column: name,
            share: None,
            usually,
            strength: (own - usually).abs() / deviation,
            at,
            usual: shown(usually),
            below: own < usually,
        })
    }

    /// The word whose share of the rows here is most above its usual one.
    pub(crate) fn of_words(
        about: &About,
        (at, name): (usize, String),
        own: &[f64],
        usually: &[f64],
    ) -> Option<Self> {
        let levels = about.kind(at).levels();
        let standing = levels.iter().zip(own).zip(usually).map(|((word, &own), &usually)| {
            let deviation = (usually * (1.0 - usually)).sqrt().max(0.05);
            (word, own, usually, (own - usually) / deviation)
        });
        let (word, own, usually, strength) = standing.max_by(|a, b| a.3.total_cmp(&b.3))?;
        let percent = |share: f64| format!("{:.0}%", 100.0 * share);
        Some(Self {
            text: format!("{name} {word} {} (usually {})", percent(own), percent(usually)),
            value: word.clone(),
            column: name,
            share: Some(own),
            usually,
            strength,
            at,
            usual: percent(usually),
            below: false,
        })
    }
}

/// A number of a column as people read it: four digits at most, with the signs that the file has.
pub(crate) fn in_units(about: &About, column: usize, x: f64) -> String {
    match (about.kind(column), about.format(column)) {
        (ColumnKind::Date, _) => about.cell(column, x.round()),
        (_, Some(format)) if !format.prefix.is_empty() || !format.suffix.is_empty() => {
            format.number(x)
        }
        _ => plainly(x),
    }
}

/// Where some rows of a table stand out from the whole, most conspicuous first.
///
/// ```
/// use mereo::{ColumnKind, Dense, Table, stand_out};
/// let levels = vec!["no".to_owned(), "yes".to_owned()];
/// let cells = vec![20.0, 0.0, 22.0, 0.0, 60.0, 1.0, 64.0, 1.0];
/// let table = Table::from(Dense::new(4, 2, cells)?)
///     .with_names(vec!["age".into(), "retired".into()])?
///     .with_kinds(vec![ColumnKind::Number, ColumnKind::YesNo { levels }])?;
/// let told = stand_out(&table, &[2, 3], 2)?;
/// assert!(told.iter().any(|s| s.text == "age 62 (usually 41.5)"), "{told:?}");
/// assert!(told.iter().any(|s| s.text == "retired yes 100% (usually 50%)"), "{told:?}");
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn stand_out<T: Real>(table: &Table<T>, rows: &[usize], most: usize) -> Result<Vec<Standing>> {
    let cells = dense(table)?;
    let about = table.about();
    let mut all = Vec::new();
    for column in 0..table.columns() {
        let at = |row: usize| cells.row(row)[column].to_f64();
        let seen = |rows: &mut dyn Iterator<Item = usize>| {
            rows.map(at).filter(|x| !x.is_nan()).collect::<Vec<f64>>()
        };
        let (whole, own) = (seen(&mut (0..table.rows())), seen(&mut rows.iter().copied()));
        if whole.is_empty() || own.is_empty() {
            continue;
        }
        let name = table.name(column);
        let kind = about.kind(column);
        if kind.levels().is_empty() {
            let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
            let (own, usually) = (mean(&own), mean(&whole));
            let variance = whole.iter().map(|x| (x - usually).powi(2)).sum::<f64>();
            let deviation = (variance / whole.len() as f64).sqrt();
            all.extend(Standing::of_number(about, (column, name), own, usually, deviation));
            continue;
        }
        let share = |xs: &[f64]| -> Vec<f64> {
            let of = |level: usize| xs.iter().filter(|x| **x == level as f64).count() as f64;
            (0..kind.levels().len()).map(|level| of(level) / xs.len() as f64).collect()
        };
        all.extend(Standing::of_words(about, (column, name), &share(&own), &share(&whole)));
    }
    all.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    all.truncate(most);
    Ok(all)
}
