//! Odd rows, and the cells that make them so.
//!
//! A model learns from the table. Then every cell is hidden once, an eighth of them at a time, and what the
//! model says of it from the rest of its row is compared with what it is. Of a word the chance is what the model
//! gives it. Of a number it is the chance that a cell is as far off or farther: distances are measured by the
//! middle one of the column and judged by Student's t with 3 degrees of freedom, whose tail is
//! `1 - 2/π (atan u + u / (1 + u²))` with `u = z/√3`. A row is as odd as the nats of its cells beyond what 1 in 20
//! cells would have: `Σ max(0, log(1/20) - log p)`.

use mereo_core::{Context, Error, Options, Real, Result, Table};
use serde::Serialize;
use serde_json::json;

use super::{Unfold, dense, kinds_of, made, with_cells};
use crate::{Fit, Fitted};

/// Groups that cells are hidden in.
const FOLDS: usize = 8;
/// Cells rarer than this make a row odd.
pub(crate) const RARE: f64 = 0.05;
/// The middle of the absolute value of Student's t with 3 degrees of freedom.
const MIDDLE: f64 = 0.764_892;
/// Rows that the model learns from.
const MOST_ROWS: usize = 10_000;
/// Columns up to which all correlations are learned.
const FULL: usize = 60;

/// A row that is not like the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Odd {
    /// Its number, from 0.
    pub row: usize,
    /// Its name, or its number.
    pub name: String,
    /// How odd it is, in nats.
    pub oddness: f64,
    /// The cells that make it so, the rarest first.
    pub cells: Vec<OddCell>,
}

/// A surprising cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OddCell {
    /// The column's name.
    pub column: String,
    /// What it is.
    pub found: String,
    /// What the rest of the row lets expect.
    pub expected: String,
    /// How rare such a cell is.
    pub chance: f64,
}

/// The oddest rows of a table, the oddest first, and the model that says so.
///
/// ```
/// use mereo::{Context, Dense, Table, odd};
/// let mut cells: Vec<f64> = (0..400).map(f64::from).flat_map(|i| [i % 40.0, 3.0 * (i % 40.0)]).collect();
/// cells[2 * 77 + 1] = 500.0;
/// let table = Table::from(Dense::new(400, 2, cells)?);
/// let (found, _) = odd(&table, 3, &Context::new(0))?;
/// assert_eq!((found[0].row, found[0].cells[0].found.as_str()), (77, "500"));
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn odd<T: Real>(
    table: &Table<T>,
    most: usize,
    context: &Context,
) -> Result<(Vec<Odd>, Fitted)> {
    let kinds = kinds_of(table);
    let unfold = Unfold::of(&kinds);
    let cells = dense(table)?;
    let fitted = learn(table, unfold.width(), context)?;
    let (rows, columns, width) = (table.rows(), table.columns(), unfold.width());
    // What is said of each cell when it is hidden; of words the chance of what it is, too.
    let mut said = vec![f64::NAN; rows * columns];
    let mut chance = vec![f64::NAN; rows * columns];
    let folds = FOLDS.min(columns.max(1)).max(1);
    for fold in 0..folds {
        if context.stop().asked() {
            return Err(Error::Interrupted);
        }
        let is_hidden = |at: usize| (at % columns + at / columns) % folds == fold;
        let hide = |(at, &value): (usize, &T)| if is_hidden(at) { T::MISSING } else { value };
        let values: Vec<T> = cells.values().iter().enumerate().map(hide).collect();
        let made = made(&fitted, &with_cells(table, values)?, &unfold, context)?;
        let mut folded = vec![T::ZERO; columns];
        for row in 0..rows {
            let own = &made.values()[row * width..(row + 1) * width];
            unfold.fold(own, &mut folded);
            for column in (0..columns).filter(|c| is_hidden(row * columns + c)) {
                let truth = cells.row(row)[column].to_f64();
                if truth.is_nan() {
                    continue;
                }
                said[row * columns + column] = folded[column].to_f64();
                if let Some(share) = unfold.shares(own, column).get(truth as usize) {
                    chance[row * columns + column] = *share;
                }
            }
        }
    }
    for column in 0..columns {
        let off =
            |row: usize| (cells.row(row)[column].to_f64() - said[row * columns + column]).abs();
        let mut distances: Vec<f64> = (0..rows).map(off).filter(|x| !x.is_nan()).collect();
        distances.sort_by(f64::total_cmp);
        let Some(middle) = distances.get(distances.len() / 2).copied() else { continue };
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        // Where most are exactly as expected, the middle says nothing.
        let scale = if middle > 0.1 * mean { middle / MIDDLE } else { mean };
        for row in 0..rows {
            let at = row * columns + column;
            if chance[at].is_nan() && !said[at].is_nan() && scale > 0.0 {
                chance[at] = tail(off(row) / scale);
            }
        }
    }
    let rarity =
        |at: usize| if chance[at] < RARE { (RARE / chance[at].max(1e-9)).ln() } else { 0.0 };
    let mut order: Vec<(f64, usize)> = (0..rows)
        .map(|row| ((row * columns..(row + 1) * columns).map(rarity).sum(), row))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let about = table.about();
    let describe = |&(oddness, row): &(f64, usize)| {
        let mut rare: Vec<usize> =
            (0..columns).filter(|c| rarity(row * columns + c) > 0.0).collect();
        rare.sort_by(|a, b| chance[row * columns + a].total_cmp(&chance[row * columns + b]));
        let cell = |&column: &usize| {
            let at = row * columns + column;
            let expected = crate::fitted::nearest(about, column, said[at]);
            OddCell {
                column: table.name(column),
                found: about.cell(column, cells.row(row)[column].to_f64()),
                expected: about.cell(column, rounded(about.format(column).is_some(), expected)),
                chance: chance[at],
            }
        };
        Odd { row, name: about.row_name(row), oddness, cells: rare.iter().map(cell).collect() }
    };
    let found = order.iter().filter(|(oddness, _)| *oddness > 0.0).take(most).map(describe);
    Ok((found.collect(), fitted))
}

/// A number that no file shows how to write.
fn rounded(known: bool, value: f64) -> f64 {
    if known || value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * unit).round() / unit
}

/// The chance of a distance this large or larger, by Student's t with 3 degrees of freedom.
pub(crate) fn tail(z: f64) -> f64 {
    let u = z / 3f64.sqrt();
    (1.0 - std::f64::consts::FRAC_2_PI * (u.atan() + u / (1.0 + u * u))).clamp(1e-9, 1.0)
}

fn learn<T: Real>(table: &Table<T>, width: usize, context: &Context) -> Result<Fitted> {
    let rows: Vec<usize> =
        (0..table.rows()).step_by(table.rows().div_ceil(MOST_ROWS).max(1)).collect();
    let sample = table.select_rows(&rows);
    let options = if width <= FULL {
        let components = if rows.len() >= 40 * width { 2 } else { 1 };
        json!({"components": components, "covariance": "full", "shrinkage": (width as f64 / 2.0).max(1.0)})
    } else {
        json!({"components": 10.min(width - 1)})
    };
    let model = if width <= FULL { "gmm" } else { "fa" };
    let serde_json::Value::Object(options) = options else {
        return Err(Error::option("model", "options are no object"));
    };
    let options: Options = options;
    Fit::named(model, &options)?.unfold().restarts(1).passes(60).context(context).run(&sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_student_with_three_degrees() {
        // Quantiles from tables: two-sided 50%, 5% and 1%.
        for (z, p) in [(0.0, 1.0), (MIDDLE, 0.5), (3.182_446, 0.05), (5.840_909, 0.01)] {
            assert!((tail(z) - p).abs() < 1e-5, "{z}: {}", tail(z));
        }
    }
}
