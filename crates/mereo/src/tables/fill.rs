//! Filling holes with the model that fills hidden cells best.
//!
//! Some observed cells of a sample of rows are hidden, each candidate learns from what is left and says what
//! they are. Of numbers the error is the root-mean-square error in the column's deviations, of words the share
//! of wrong ones relative to always saying the commonest; the mean over columns decides, for columns of numbers and for columns of
//! words apart, since what is good at one need not be good at the other. Candidates that err in
//! different places are better together: the mean of what a few say is taken where it is better than the best
//! alone. The winners then learn from all rows.
//!
//! How far off they were is kept, column by column: a draw is what they say plus an error that was made on a
//! hidden cell of the column, and for words a draw from the probabilities. Errors of cells of one row are
//! drawn independently.

use mereo_core::{ColumnKind, Context, Dense, Error, Options, Real, Result, Table};
use rand_distr::{Distribution, Uniform};
use serde::Serialize;
use serde_json::json;

use super::{Unfold, dense, kinds_of, made, with_cells};
use crate::fitted::nearest;
use crate::{Fit, Fitted};

/// Rows that candidates are tried on, and that the winners learn from.
const TRIAL_ROWS: usize = 2500;
const MOST_ROWS: usize = 20_000;
/// The share of observed cells that are hidden.
const HIDDEN: f64 = 0.12;
/// Multiplications that a candidate may take in a trial.
const BUDGET: f64 = 4e10;
/// Most models whose mean is taken.
const TOGETHER: usize = 3;
/// How much better a mean must be than the best alone.
const BETTER: f64 = 0.995;

/// A model that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tried {
    /// What it is, in words.
    pub name: String,
    /// Its error on hidden cells, 1 being that of always saying the mean or the commonest word.
    pub error: f64,
    /// Whether it was chosen, alone or among others.
    pub chosen: bool,
}

/// How well a column was filled where that is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Filled {
    /// The column's name.
    pub column: String,
    /// What it holds.
    pub kind: String,
    /// Cells that were missing.
    pub missing: usize,
    /// On hidden cells: the root-mean-square error of numbers in their own units, the share of wrong words.
    pub error: Option<f64>,
    /// The same of always saying the mean, or the commonest word.
    pub baseline: Option<f64>,
}

/// Models that fill the holes of a table.
#[derive(Debug, Clone)]
pub struct Filling {
    /// The models, the best first, learned from the table.
    pub models: Vec<Fitted>,
    /// All that were tried, the best first.
    pub tried: Vec<Tried>,
    /// The error of those that were chosen, together.
    pub error: f64,
    /// The columns of the table.
    pub columns: Vec<Filled>,
    /// Which of the models fill numbers, and which words.
    teams: [Vec<usize>; 2],
    unfold: Unfold,
    kinds: Vec<ColumnKind>,
    /// Of each column of numbers the errors that were made on hidden cells, in order.
    residuals: Vec<Vec<f64>>,
}

/// A candidate: what it is, the model's name, its options, and restarts.
struct Candidate {
    name: String,
    model: &'static str,
    options: Options,
}

fn candidates(rows: usize, width: usize) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |name: String, model, options: serde_json::Value, cost: f64| {
        if let (true, serde_json::Value::Object(options)) = (cost <= BUDGET, options) {
            all.push(Candidate { name, model, options });
        }
    };
    let (n, d) = (rows as f64, width as f64);
    for components in [1usize, 2, 4, 8] {
        let k = components as f64;
        // Every row has holes of its own, and to look past them takes a factorisation.
        let cost = 40.0 * n * k * d.powi(3) / 3.0;
        let few = k * d * 4.0 > n && components > 1;
        if !few {
            let name = match components {
                1 => "a Gaussian with all correlations".to_owned(),
                k => format!("a mixture of {k} Gaussians with all correlations"),
            };
            let options = json!({
                "components": components, "covariance": "full", "shrinkage": (d / 2.0).max(1.0),
            });
            add(name, "gmm", options, cost);
        }
    }
    for factors in [2usize, 5, 10, 20] {
        if factors < width {
            let cost = 60.0 * n * d * (factors * factors) as f64;
            let name = format!("factor analysis with {factors} factors");
            add(name, "fa", json!({"components": factors}), cost);
        }
    }
    for (parts, states) in [(1usize, 8usize), (3, 6), (6, 8)] {
        if parts <= width && states * 4 <= rows {
            let cost = 3.0 * 100.0 * n * d * (parts * states) as f64 * 6.0;
            let name = format!("parts: {parts} x {states} states (mcvq)");
            add(name, "mcvq", json!({"parts": parts, "states": states}), cost);
        }
    }
    all
}

impl Candidate {
    fn learn<T: Real>(&self, table: &Table<T>, context: &Context) -> Result<Fitted> {
        let fit = Fit::named(self.model, &self.options)?.unfold();
        let restarts = if self.model == "gmm" { 2 } else { 1 };
        fit.restarts(restarts).passes(60).context(context).run(table)
    }
}

/// Hidden cells of a table: where they are, and what they were.
struct Hidden {
    cells: Vec<(usize, usize, f64)>,
}

impl Hidden {
    /// Hides some observed cells; a row keeps at least one.
    fn of<T: Real>(table: &Table<T>, context: &Context) -> Result<(Table<T>, Self)> {
        let dense = dense(table)?;
        let mut values = dense.values().to_vec();
        let mut cells = Vec::new();
        let unit = Uniform::new(0.0, 1.0).map_err(|e| Error::option("hidden", e))?;
        for row in 0..table.rows() {
            let mut random = context.random("hide", [row as u64, 0]);
            let seen: Vec<usize> =
                (0..table.columns()).filter(|&c| !dense.row(row)[c].is_missing()).collect();
            let mut left = seen.len();
            for column in seen {
                if unit.sample(&mut random) < HIDDEN && left > 1 {
                    cells.push((row, column, dense.row(row)[column].to_f64()));
                    values[row * table.columns() + column] = T::MISSING;
                    left -= 1;
                }
            }
        }
        Ok((with_cells(table, values)?, Self { cells }))
    }
}

/// What columns are like, for errors to be measured by.
struct Scale {
    /// Deviation of numbers, share of words that are not the commonest.
    size: Vec<f64>,
    /// Mean of numbers, the commonest word.
    middle: Vec<f64>,
}

impl Scale {
    fn of<T: Real>(table: &Table<T>, kinds: &[ColumnKind]) -> Result<Self> {
        let cells = dense(table)?;
        let (mut size, mut middle) = (Vec::new(), Vec::new());
        for (column, kind) in kinds.iter().enumerate() {
            let seen: Vec<f64> = (0..cells.rows())
                .map(|row| cells.row(row)[column].to_f64())
                .filter(|x| !x.is_nan())
                .collect();
            let count = seen.len().max(1) as f64;
            if kind.levels().is_empty() {
                let mean = seen.iter().sum::<f64>() / count;
                let variance = seen.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
                size.push(variance.sqrt());
                middle.push(mean);
            } else {
                let often = |level: usize| seen.iter().filter(|x| **x == level as f64).count();
                let counts: Vec<usize> = (0..kind.levels().len()).map(often).collect();
                let best =
                    (0..counts.len()).fold(0, |b, l| if counts[l] > counts[b] { l } else { b });
                size.push(1.0 - counts.get(best).map_or(0.0, |&n| n as f64 / count));
                middle.push(best as f64);
            }
        }
        Ok(Self { size, middle })
    }
}

/// The errors of what was made of hidden cells, column by column, relative to the baseline; none where
/// nothing was hidden.
fn errors<T: Real>(
    made: &[T],
    unfold: &Unfold,
    kinds: &[ColumnKind],
    hidden: &Hidden,
    scale: &Scale,
) -> Vec<Option<(f64, f64)>> {
    let width = unfold.width();
    let mut sums = vec![(0.0, 0.0, 0usize); kinds.len()];
    let mut folded = vec![T::ZERO; kinds.len()];
    for &(row, column, truth) in &hidden.cells {
        let own = &made[row * width..(row + 1) * width];
        unfold.fold(own, &mut folded);
        let (error, base) = if kinds[column].levels().is_empty() {
            let off = folded[column].to_f64() - truth;
            (off * off, (scale.middle[column] - truth).powi(2))
        } else {
            let wrong = |said: f64| f64::from(u8::from(said.round() != truth));
            (wrong(folded[column].to_f64()), wrong(scale.middle[column]))
        };
        sums[column].0 += error;
        sums[column].1 += base;
        sums[column].2 += 1;
    }
    let mean = |(column, &(error, base, count)): (usize, &(f64, f64, usize))| {
        let count = (count > 0).then_some(count as f64)?;
        let root =
            |x: f64| if kinds[column].levels().is_empty() { (x / count).sqrt() } else { x / count };
        Some((root(error), root(base)))
    };
    sums.iter().enumerate().map(mean).collect()
}

/// The team that fills a column of a kind: numbers have the first, words the second.
fn team_of(kind: &ColumnKind) -> usize {
    usize::from(!kind.levels().is_empty())
}

/// The mean over some columns of errors relative to what columns are like; nothing if none of them is known.
fn overall(
    errors: &[Option<(f64, f64)>],
    scale: &Scale,
    counts: impl Fn(usize) -> bool,
) -> Option<f64> {
    let own = errors.iter().zip(&scale.size).enumerate().filter(|(column, _)| counts(*column));
    let relative: Vec<f64> = own
        .filter_map(|(_, (error, &size))| error.filter(|_| size > 1e-12).map(|(e, _)| e / size))
        .map(|error| if error.is_finite() { error.min(1e3) } else { 1e3 })
        .collect();
    let count = relative.len();
    (count > 0).then(|| relative.iter().sum::<f64>() / count as f64)
}

/// What the team of each column says of it on the average; `teams` are places in `all`.
fn average<T: Real>(
    all: &[&Vec<T>],
    teams: &[Vec<usize>; 2],
    unfold: &Unfold,
    kinds: &[ColumnKind],
) -> Vec<T> {
    let own: Vec<&Vec<usize>> = unfold.columns().map(|c| &teams[team_of(&kinds[c])]).collect();
    let cell = |at: usize| {
        let team = own[at % own.len()];
        let sum: f64 = team.iter().map(|&member| all[member][at].to_f64()).sum();
        T::from_f64(sum / team.len().max(1) as f64)
    };
    (0..all.first().map_or(0, |made| made.len())).map(cell).collect()
}

/// Rows spread over a table, so many at most.
fn some_rows<T: Real>(table: &Table<T>, most: usize, context: &Context) -> Table<T> {
    if table.rows() <= most {
        return table.clone();
    }
    let unit = Uniform::new(0usize, table.rows()).ok();
    let mut random = context.random("some rows", [most as u64, 0]);
    let mut rows: Vec<usize> =
        (0..most).filter_map(|_| unit.map(|unit| unit.sample(&mut random))).collect();
    rows.sort_unstable();
    rows.dedup();
    table.select_rows(&rows)
}

/// Finds the models that fill holes of this table best; each that was tried is told to `tell`.
///
/// ```
/// use mereo::{Context, Dense, Table, fill};
/// let cells = (0..300).flat_map(|i| {
///     let x = f64::from(i % 50);
///     [x, if i % 9 == 0 { f64::NAN } else { 2.0 * x + 1.0 }, f64::from(i % 7)]
/// });
/// let table = Table::from(Dense::new(300, 3, cells.collect())?);
/// let filling = fill(&table, &Context::new(0), &mut |_| {})?;
/// let filled = filling.complete(&table, &Context::new(0))?;
/// assert!((filled.row(9)[1] - 19.0).abs() < 2.0, "{:?}", filled.row(9));
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn fill<T: Real>(
    table: &Table<T>,
    context: &Context,
    tell: &mut dyn FnMut(&Tried),
) -> Result<Filling> {
    let kinds = kinds_of(table);
    let unfold = Unfold::of(&kinds);
    let sample = some_rows(table, TRIAL_ROWS, context);
    let (holes, hidden) = Hidden::of(&sample, context)?;
    let scale = Scale::of(&sample, &kinds)?;
    let mut results: Vec<(Candidate, Tried, Vec<T>)> = Vec::new();
    let mut refused = None;
    for candidate in candidates(sample.rows(), unfold.width()) {
        if context.stop().asked() {
            return Err(Error::Interrupted);
        }
        let learned = candidate
            .learn(&holes, context)
            .and_then(|fitted| made(&fitted, &holes, &unfold, context));
        let made = match learned {
            Ok(made) => made.into_values(),
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            // What does not suit this table is no candidate.
            Err(error) => {
                refused = Some(error);
                continue;
            }
        };
        let errors = errors(&made, &unfold, &kinds, &hidden, &scale);
        let error = overall(&errors, &scale, |_| true).unwrap_or(0.0);
        let tried = Tried { name: candidate.name.clone(), error, chosen: false };
        tell(&tried);
        results.push((candidate, tried, made));
    }
    results.sort_by(|a, b| a.1.error.total_cmp(&b.1.error));
    if results.is_empty() {
        let none = || Error::option("data", "no model could be learned from it");
        return Err(refused.unwrap_or_else(none));
    }
    let made: Vec<&Vec<T>> = results.iter().map(|(_, _, made)| made).collect();
    let together = |teams: &[Vec<usize>; 2]| average(&made, teams, &unfold, &kinds);
    let error_of = |teams: &[Vec<usize>; 2], team: usize| {
        let errors = errors(&together(teams), &unfold, &kinds, &hidden, &scale);
        overall(&errors, &scale, |column| team_of(&kinds[column]) == team)
    };
    let mut teams = [vec![0], vec![0]];
    for team in 0..teams.len() {
        // The best alone, then one more as long as it helps.
        let mut best = f64::INFINITY;
        let mut own = Vec::new();
        while own.len() < TOGETHER {
            let with = |more: usize| {
                let mut tried = teams.clone();
                tried[team] = own.iter().copied().chain([more]).collect();
                error_of(&tried, team).map(|error| (error, more))
            };
            let others = (0..results.len()).filter(|at| !own.contains(at));
            match others.filter_map(with).min_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((error, at)) if error < BETTER * best => {
                    best = error;
                    own.push(at);
                }
                _ => break,
            }
        }
        if !own.is_empty() {
            teams[team] = own;
        }
    }
    let together = together(&teams);
    let of_column = errors(&together, &unfold, &kinds, &hidden, &scale);
    let best = overall(&of_column, &scale, |_| true).unwrap_or(0.0);
    let residuals = residuals(&together, &unfold, &kinds, &hidden);
    // Only teams that have columns to fill count.
    let has = |team: usize| kinds.iter().any(|kind| team_of(kind) == team);
    let mut chosen: Vec<usize> =
        (0..teams.len()).filter(|&team| has(team)).flat_map(|team| teams[team].clone()).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let place = |at: &usize| chosen.iter().position(|other| other == at);
    let teams = [0, 1].map(|team: usize| {
        let own = teams[team].iter().filter(|_| has(team));
        own.filter_map(place).collect()
    });
    let rows = some_rows(table, MOST_ROWS, context);
    let models =
        chosen.iter().map(|&at| results[at].0.learn(&rows, context)).collect::<Result<Vec<_>>>()?;
    for &at in &chosen {
        results[at].1.chosen = true;
    }
    let cells = dense(table)?;
    let columns = kinds.iter().enumerate().map(|(column, kind)| Filled {
        column: table.name(column),
        kind: kind.name().to_owned(),
        missing: (0..table.rows()).filter(|&r| cells.row(r)[column].is_missing()).count(),
        error: of_column[column].map(|(error, _)| error),
        baseline: of_column[column].map(|(_, base)| base),
    });
    Ok(Filling {
        columns: columns.collect(),
        models,
        tried: results.into_iter().map(|(_, tried, _)| tried).collect(),
        error: best,
        teams,
        unfold,
        kinds,
        residuals,
    })
}

fn residuals<T: Real>(
    made: &[T],
    unfold: &Unfold,
    kinds: &[ColumnKind],
    hidden: &Hidden,
) -> Vec<Vec<f64>> {
    let width = unfold.width();
    let mut all = vec![Vec::new(); kinds.len()];
    let mut folded = vec![T::ZERO; kinds.len()];
    for &(row, column, truth) in &hidden.cells {
        unfold.fold(&made[row * width..(row + 1) * width], &mut folded);
        all[column].push(truth - folded[column].to_f64());
    }
    for errors in &mut all {
        errors.sort_by(f64::total_cmp);
    }
    all
}

impl Filling {
    /// What the models say together of the missing cells, in unfolded columns.
    fn said<T: Real>(&self, table: &Table<T>, context: &Context) -> Result<Vec<T>> {
        let all = self
            .models
            .iter()
            .map(|model| made(model, table, &self.unfold, context).map(Dense::into_values))
            .collect::<Result<Vec<_>>>()?;
        Ok(average(&all.iter().collect::<Vec<_>>(), &self.teams, &self.unfold, &self.kinds))
    }

    /// The table's rows with their holes filled.
    pub fn complete<T: Real>(&self, table: &Table<T>, context: &Context) -> Result<Dense<T>> {
        self.completed(table, &self.said(table, context)?, |_, _, value| value)
    }

    /// The same with draws in the holes, number `draw` of several.
    pub fn draw<T: Real>(
        &self,
        table: &Table<T>,
        draw: u64,
        context: &Context,
    ) -> Result<Dense<T>> {
        let said = self.said(table, context)?;
        let unit = Uniform::new(0.0, 1.0).map_err(|e| Error::option("draws", e))?;
        let width = self.unfold.width();
        self.completed(table, &said, |row, column, value| {
            let cell = row * self.kinds.len() + column;
            let at = unit.sample(&mut context.random("draw", [draw, cell as u64]));
            let shares = self.unfold.shares(&said[row * width..(row + 1) * width], column);
            if shares.is_empty() {
                let errors = &self.residuals[column];
                let error = errors.get((at * errors.len() as f64) as usize);
                return value + error.copied().unwrap_or(0.0);
            }
            let mut left = at;
            shares
                .iter()
                .position(|share| {
                    left -= share;
                    left < 0.0
                })
                .unwrap_or(shares.len() - 1) as f64
        })
    }

    /// How sure the fills are, cell by cell: the probability of a word, the standard error of a number; NaN
    /// for cells that were there.
    pub fn sureness<T: Real>(&self, table: &Table<T>, context: &Context) -> Result<Dense<f64>> {
        let said = self.said(table, context)?;
        let (cells, width) = (dense(table)?, self.unfold.width());
        let columns = self.kinds.len();
        let mut all = vec![f64::NAN; table.rows() * columns];
        for row in 0..table.rows() {
            for column in (0..columns).filter(|&c| cells.row(row)[c].is_missing()) {
                let shares = self.unfold.shares(&said[row * width..(row + 1) * width], column);
                all[row * columns + column] = if shares.is_empty() {
                    self.columns[column].error.unwrap_or(f64::NAN)
                } else {
                    shares.iter().copied().fold(0.0, f64::max)
                };
            }
        }
        Dense::new(table.rows(), columns, all)
    }

    fn completed<T: Real>(
        &self,
        table: &Table<T>,
        said: &[T],
        change: impl Fn(usize, usize, f64) -> f64,
    ) -> Result<Dense<T>> {
        let cells = dense(table)?;
        let (width, columns) = (self.unfold.width(), self.kinds.len());
        let mut values = cells.values().to_vec();
        let mut folded = vec![T::ZERO; columns];
        for row in 0..table.rows() {
            let out = &mut values[row * columns..(row + 1) * columns];
            if !out.iter().any(|value| value.is_missing()) {
                continue;
            }
            self.unfold.fold(&said[row * width..(row + 1) * width], &mut folded);
            for (column, out) in out.iter_mut().enumerate().filter(|(_, v)| v.is_missing()) {
                let value = change(row, column, folded[column].to_f64());
                *out = T::from_f64(nearest(table.about(), column, value));
            }
        }
        Dense::new(table.rows(), columns, values)
    }

    /// What was chosen, in words.
    pub fn name(&self) -> String {
        let names: Vec<&str> =
            self.tried.iter().filter(|t| t.chosen).map(|t| t.name.as_str()).collect();
        let of = |team: &Vec<usize>| {
            let own: Vec<&str> = team.iter().map(|&at| names[at]).collect();
            match own[..] {
                [one] => one.to_owned(),
                _ => format!("the mean of {}", own.join(", and ")),
            }
        };
        match &self.teams {
            [numbers, words] if words.is_empty() || numbers == words => of(numbers),
            [numbers, words] if numbers.is_empty() => of(words),
            [numbers, words] => format!("{} for numbers, {} for words", of(numbers), of(words)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_are_filled_by_teams_of_their_own() {
        let levels = ["a", "b", "c"].map(str::to_owned).to_vec();
        let kinds = [ColumnKind::Number, ColumnKind::Category { levels }];
        let unfold = Unfold::of(&kinds);
        assert_eq!(unfold.columns().collect::<Vec<_>>(), [0, 1, 1, 1]);
        let (first, second) = (vec![1.0, 0.9, 0.1, 0.0], vec![5.0, 0.1, 0.1, 0.8]);
        let said = |teams| average::<f64>(&[&first, &second], &teams, &unfold, &kinds);
        assert_eq!(said([vec![0], vec![1]]), [1.0, 0.1, 0.1, 0.8]);
        assert_eq!(said([vec![0, 1], vec![0]]), [3.0, 0.9, 0.1, 0.0]);
        // Errors of one kind do not count for the other.
        let scale = Scale { size: vec![2.0, 0.5], middle: vec![0.0, 0.0] };
        let errors = [Some((1.0, 2.0)), Some((0.1, 0.5))];
        let of = |team: usize| overall(&errors, &scale, |c| team_of(&kinds[c]) == team);
        assert_eq!((of(0), of(1)), (Some(0.5), Some(0.2)));
        assert_eq!(overall(&[None, None], &scale, |_| true), None);
    }
}
