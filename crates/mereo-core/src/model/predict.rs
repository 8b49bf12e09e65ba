//! What a model says of single cells: their distribution, draws of them, and how surprising they are.

use crate::model::capability::check_columns;
use crate::{Batch, Context, Dense, Random, Real, Result, Source, map_rows};

/// The cells that predictions are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Those that are missing.
    Missing,
    /// All of them; an observed cell is predicted from the others of its row.
    Every,
}

/// Rows to the distributions of their cells, each given the other observed cells of its row.
///
/// A column of words has levels, and a prediction is a probability for each; any other column has none, and a
/// prediction is a mean and a standard deviation. Predictions of a row stand column after column.
pub trait Predict<T: Real>: Sync {
    /// Columns that rows must have, if the model knows: data of another width is an error.
    fn expects_columns(&self) -> Option<usize> {
        None
    }

    /// The number of levels of every column, 0 for numbers, counts and dates.
    fn levels(&self) -> Vec<usize>;

    /// Writes the predictions of a batch, row after row; `NaN` for cells that are not asked for.
    fn predict_batch(&self, batch: &Batch<'_, T>, asked: Asked, out: &mut [f64]);

    /// Writes for each cell `-log P(cell | other cells of the row)` in nats, of a density or of a mass as its column
    /// is; `NaN` for missing cells.
    fn surprise_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]);

    /// Writes the rows of a batch with their missing cells drawn from what the model says of all of them
    /// together, given the observed ones. `random` gives the random numbers of each row.
    fn draw_batch(&self, batch: &Batch<'_, T>, random: &dyn Fn(usize) -> Random, out: &mut [T]);
}

/// What is said of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prediction<'a> {
    /// Of a number, a count or a date: its mean and its standard deviation.
    Number {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        deviation: f64,
    },
    /// Of a word: the probability of each level.
    Levels(&'a [f64]),
}

impl Prediction<'_> {
    /// The one value to put in the cell: the mean, or the number of the most probable level (the first of equals).
    ///
    /// ```
    /// use mereo_core::Prediction;
    /// assert_eq!(Prediction::Levels(&[0.2, 0.5, 0.3]).value(), 1.0);
    /// assert_eq!(Prediction::Number { mean: 3.5, deviation: 1.0 }.value(), 3.5);
    /// ```
    pub fn value(&self) -> f64 {
        match self {
            Self::Number { mean, .. } => *mean,
            Self::Levels(p) => {
                (0..p.len()).fold(0, |best, l| if p[l] > p[best] { l } else { best }) as f64
            }
        }
    }
}

/// Predictions of the cells of all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    levels: Vec<usize>,
    starts: Vec<usize>,
    rows: usize,
    values: Vec<f64>,
}

impl Predictions {
    fn new(levels: Vec<usize>, rows: usize, values: Vec<f64>) -> Self {
        Self { starts: starts(&levels), levels, rows, values }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What is said of a cell; nothing if it was not asked for.
    pub fn cell(&self, row: usize, column: usize) -> Option<Prediction<'_>> {
        let width = *self.starts.last()?;
        let own = &self.values[row * width..(row + 1) * width];
        let own = &own[self.starts[column]..self.starts[column + 1]];
        if own.iter().any(|p| p.is_nan()) {
            return None;
        }
        Some(match (self.levels[column], own) {
            (0, &[mean, deviation]) => Prediction::Number { mean, deviation },
            _ => Prediction::Levels(own),
        })
    }
}

/// Where the prediction of each column starts in a row of them, and where the last ends.
fn starts(levels: &[usize]) -> Vec<usize> {
    let mut starts = vec![0];
    for &levels in levels {
        let next = starts[starts.len() - 1] + if levels == 0 { 2 } else { levels };
        starts.push(next);
    }
    starts
}

/// The predictions of all rows.
///
/// ```
/// use mereo_core::{Asked, Batch, Context, Dense, Predict, Prediction, Random, Table, predict};
/// /// Says of every cell that it is 1 give or take 2.
/// struct Same;
/// impl Predict<f64> for Same {
///     fn levels(&self) -> Vec<usize> {
///         vec![0]
///     }
///     fn predict_batch(&self, batch: &Batch<'_, f64>, _: Asked, out: &mut [f64]) {
///         out.copy_from_slice(&[1.0, 2.0].repeat(batch.rows));
///     }
///     fn surprise_batch(&self, _: &Batch<'_, f64>, out: &mut [f64]) {
///         out.fill(0.0);
///     }
///     fn draw_batch(&self, _: &Batch<'_, f64>, _: &dyn Fn(usize) -> Random, out: &mut [f64]) {
///         out.fill(1.0);
///     }
/// }
/// let table = Table::from(Dense::new(2, 1, vec![0.5, f64::NAN])?);
/// let said = predict(&Same, &table, Asked::Every, &Context::new(0))?;
/// assert_eq!(said.cell(1, 0), Some(Prediction::Number { mean: 1.0, deviation: 2.0 }));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn predict<T: Real>(
    model: &dyn Predict<T>,
    source: &dyn Source<T>,
    asked: Asked,
    context: &Context,
) -> Result<Predictions> {
    check_columns(model.expects_columns(), source)?;
    let levels = model.levels();
    let width = starts(&levels)[levels.len()];
    let values =
        map_rows(source, context, width, |batch, out| model.predict_batch(batch, asked, out))?;
    Ok(Predictions::new(levels, source.rows(), values))
}

/// How surprising each cell of all rows is given the others of its row, in nats; `NaN` where a cell is missing.
pub fn surprise<T: Real>(
    model: &dyn Predict<T>,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Vec<f64>> {
    check_columns(model.expects_columns(), source)?;
    let width = source.columns();
    map_rows(source, context, width, |batch, out| model.surprise_batch(batch, out))
}

/// All rows with their missing cells drawn, one of several ways to complete them: number `draw`. What a row gets
/// depends on the seed, its number and `draw` alone.
pub fn draw_missing<T: Real>(
    model: &dyn Predict<T>,
    source: &dyn Source<T>,
    draw: u64,
    context: &Context,
) -> Result<Dense<T>> {
    check_columns(model.expects_columns(), source)?;
    let width = source.columns();
    let rows = map_rows(source, context, width, |batch, out| {
        let random =
            |row: usize| context.random("draw missing", [draw, (batch.first_row + row) as u64]);
        model.draw_batch(batch, &random, out);
    })?;
    Dense::new(source.rows(), width, rows)
}
