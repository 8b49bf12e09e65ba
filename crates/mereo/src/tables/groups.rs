//! Groups of rows that are alike.
//!
//! A mixture with independent columns within each group. If the number of groups is not said, the one with the
//! lowest BIC is taken.

use mereo_core::{Context, Error, Options, Real, Result, Table};
use serde::Serialize;
use serde_json::json;

use super::{Standing, dense, kinds_of, stand_out};
use crate::{Fit, Fitted};

/// Most groups that are tried if nobody says how many.
const MOST_GROUPS: usize = 8;
/// What is told of a group.
const TOLD: usize = 5;

/// A group of rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// How many rows are in it.
    pub rows: usize,
    /// Where it stands out from the whole.
    pub stands_out: Vec<Standing>,
    /// Names of the rows that show it best.
    pub typical: Vec<String>,
}

/// Rows in groups.
#[derive(Debug, Clone)]
pub struct Grouped {
    /// The group of each row, from 0: the largest first.
    pub of_row: Vec<usize>,
    /// How surely each row is in its group.
    pub sureness: Vec<f64>,
    /// The groups.
    pub groups: Vec<Group>,
    /// The model.
    pub fitted: Fitted,
}

/// Puts the rows of a table into groups: so many, or as many as the data speaks for.
///
/// ```
/// use mereo::{Context, Dense, Table, groups};
/// let cells = (0..200).map(|i| f64::from(i % 2) * 10.0 + f64::from(i % 7) / 7.0).collect();
/// let table = Table::from(Dense::new(200, 1, cells)?);
/// let found = groups(&table, Some(2), &Context::new(0))?;
/// assert_eq!(found.groups.len(), 2);
/// assert!((0..198).all(|row| found.of_row[row] == found.of_row[row + 2]));
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn groups<T: Real>(table: &Table<T>, k: Option<usize>, context: &Context) -> Result<Grouped> {
    dense(table)?;
    if k == Some(0) {
        return Err(Error::option("k", "at least 1 group is needed"));
    }
    let fitted = match k {
        Some(k) => learn(table, k, context)?,
        None => {
            let mut best: Option<(f64, Fitted)> = None;
            for k in 1..=MOST_GROUPS.min(table.rows().div_ceil(10)) {
                let fitted = learn(table, k, context)?;
                let bic = fitted.criteria().map_or(f64::INFINITY, |criteria| criteria.bic);
                match &best {
                    Some((lowest, _)) if bic >= *lowest => break,
                    _ => best = Some((bic, fitted)),
                }
            }
            best.ok_or_else(|| Error::option("k", "no groups could be found"))?.1
        }
    };
    let codes = fitted.encode(table, context)?;
    let codes = dense(&codes)?;
    let best = |row: &[T]| (0..row.len()).fold(0, |b, k| if row[k] > row[b] { k } else { b });
    let found: Vec<usize> = (0..codes.rows()).map(|row| best(codes.row(row))).collect();
    let sureness: Vec<f64> =
        found.iter().enumerate().map(|(row, &k)| codes.row(row)[k].to_f64()).collect();
    let mut sizes: Vec<(usize, usize)> = (0..codes.columns())
        .map(|k| (found.iter().filter(|&&own| own == k).count(), k))
        .filter(|(size, _)| *size > 0)
        .collect();
    sizes.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let rank = |k: usize| sizes.iter().position(|(_, own)| *own == k).unwrap_or(0);
    let of_row: Vec<usize> = found.iter().map(|&k| rank(k)).collect();
    // Typical are those that the model makes likeliest among the group's.
    let scores = fitted.score(table, None, context)?.rows;
    let groups = (0..sizes.len())
        .map(|group| {
            let mut rows: Vec<usize> = (0..table.rows()).filter(|&r| of_row[r] == group).collect();
            let stands_out = stand_out(table, &rows, TOLD)?;
            rows.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
            let typical = rows.iter().take(3).map(|&row| table.row_name(row)).collect();
            Ok(Group { rows: rows.len(), stands_out, typical })
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Grouped { of_row, sureness, groups, fitted })
}

fn learn<T: Real>(table: &Table<T>, k: usize, context: &Context) -> Result<Fitted> {
    // Columns of 0 and 1 that are the same throughout a group would decide all by themselves.
    let words = kinds_of(table).iter().any(|kind| !kind.levels().is_empty());
    let floor = if words { 0.1 } else { 0.01 };
    let serde_json::Value::Object(options) = json!({"components": k, "variance_floor": floor})
    else {
        return Err(Error::option("k", "options are no object"));
    };
    let options: Options = options;
    Fit::named("gmm", &options)?.unfold().restarts(5).passes(100).context(context).run(table)
}
