//! What a learned model can do, as small traits. The program's verbs, the Python methods and the
//! report's sections follow them, so that a new model gets all of those by implementing these.

use serde::{Deserialize, Serialize};

use crate::{Batch, Context, Dense, Random, Real, Result, Source, map_rows};

/// Rows to codes: the posterior over states of every part, part by part.
pub trait Encode<T: Real>: Sync {
    /// Columns that rows must have, if the model knows: data of another width is an error.
    fn expects_columns(&self) -> Option<usize> {
        None
    }

    /// Numbers in a row's code.
    fn code_width(&self) -> usize;

    /// What they are called, if they have names of their own.
    fn code_names(&self) -> Option<Vec<String>> {
        None
    }

    /// Writes the codes of a batch, row after row.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]);
}

/// Rows to rows: what the model makes of them, with unobserved cells filled in.
pub trait Reconstruct<T: Real>: Sync {
    /// Columns that rows must have, if the model knows: data of another width is an error.
    fn expects_columns(&self) -> Option<usize> {
        None
    }

    /// Writes the reconstruction of a batch, row after row, every cell filled.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]);
}

/// What a score is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoreKind {
    /// The log density itself.
    Exact,
    /// A lower bound on the log density.
    Bound,
    /// An estimate of the log density.
    Estimate,
}

/// Rows to log densities, in nats.
pub trait Score<T: Real>: Sync {
    /// Columns that rows must have, if the model knows: data of another width is an error.
    fn expects_columns(&self) -> Option<usize> {
        None
    }

    /// What the numbers are.
    fn score_kind(&self) -> ScoreKind;

    /// Whether numbers are taken for levels, so that they have probabilities and not densities.
    fn takes_levels(&self) -> bool {
        false
    }

    /// Writes one number a row of the batch.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]);
}

/// New rows from nothing but random numbers.
pub trait Sample: Sync {
    /// Numbers in a row.
    fn columns(&self) -> usize;

    /// Draws one row; with `noise` off, the mean of the chosen states, which is nicer to look at.
    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]);
}

/// What the looks of a part are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appearance {
    /// Its states, of which every row shows one.
    States,
    /// Its states where rows are sums over parts, every part having a say in every column: how the
    /// mean row looks with this state in place of the part's usual ones.
    Sums,
    /// Those of a factor analyser: its offset, then for each factor how it looks two of the factor's
    /// deviations up, and as many down. A row can look like anything between and beyond.
    Factors,
}

/// The parts of a model, lent out: what there is to show.
#[derive(Debug, Clone, Copy)]
pub struct PartsView<'a> {
    /// Number of columns, D.
    pub columns: usize,
    /// Number of parts, K.
    pub parts: usize,
    /// Number of states of each part, J; of looks, if these are not states.
    pub states: usize,
    /// What the looks are.
    pub appearance: Appearance,
    /// How strongly each column belongs to each part, `[D, K]`.
    pub gate: &'a [f64],
    /// How common each state is, `[K, J]`.
    pub state_prior: &'a [f64],
    /// What each state looks like, `[K, J, D]`.
    pub mean: &'a [f64],
}

impl<'a> PartsView<'a> {
    /// What a state looks like in every column.
    pub fn state(&self, part: usize, state: usize) -> &'a [f64] {
        let start = (part * self.states + state) * self.columns;
        &self.mean[start..start + self.columns]
    }

    /// How strongly a column belongs to each part.
    pub fn gate_of(&self, column: usize) -> &'a [f64] {
        &self.gate[column * self.parts..(column + 1) * self.parts]
    }

    /// How conspicuous a state is in each column: its mean less that of the part's states together
    /// (as common as they are), as far as the column is the part's.
    pub fn conspicuousness(&self, part: usize, state: usize) -> Vec<f64> {
        let prior = &self.state_prior[part * self.states..(part + 1) * self.states];
        let total: f64 = prior.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let of = self.state(part, state).iter().enumerate().map(|(d, own)| {
            let all: f64 = (0..self.states).map(|j| prior[j] * self.state(part, j)[d]).sum();
            self.gate_of(d)[part] * (own - all / total)
        });
        of.collect()
    }

    /// How much a part moves a column: the standard deviation of the column's mean over the part's
    /// states, or along its factors.
    pub fn spread(&self, part: usize, column: usize) -> f64 {
        let mean = |state: usize| self.state(part, state)[column];
        if self.appearance == Appearance::Factors {
            // Looks are two deviations up and down each factor.
            let loading = |f: usize| mean(1 + 2 * f) / 4.0 - mean(2 + 2 * f) / 4.0;
            return (0..self.states / 2).map(|f| loading(f).powi(2)).sum::<f64>().sqrt();
        }
        let prior = &self.state_prior[part * self.states..(part + 1) * self.states];
        let centre: f64 = prior.iter().enumerate().map(|(j, p)| p * mean(j)).sum();
        prior.iter().enumerate().map(|(j, p)| p * (mean(j) - centre).powi(2)).sum::<f64>().sqrt()
    }

    /// The part that each column belongs to most.
    pub fn part_of_column(&self) -> Vec<usize> {
        (0..self.columns).map(|d| argmax(self.gate_of(d))).collect()
    }
}

fn argmax(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// What the states of a model say in columns of words, lent out.
#[derive(Debug, Clone, Copy)]
pub struct LevelsView<'a> {
    /// The number of levels of every column, 0 where it holds no words; W of them all together.
    pub counts: &'a [usize],
    /// The probability of each level in each state, `[K J, W]`: columns of words one after another.
    pub share: &'a [f64],
}

impl<'a> LevelsView<'a> {
    /// The probabilities of a column's levels in a state, the states counted through all parts; nothing of columns
    /// that hold no words.
    ///
    /// ```
    /// use mereo_core::LevelsView;
    /// let view = LevelsView { counts: &[0, 2], share: &[0.25, 0.75, 1.0, 0.0] };
    /// assert_eq!(view.of(1, 1), [1.0, 0.0]);
    /// assert!(view.of(0, 0).is_empty());
    /// ```
    pub fn of(&self, slot: usize, column: usize) -> &'a [f64] {
        let width: usize = self.counts.iter().sum();
        let first: usize = self.counts[..column].iter().sum();
        &self.share[slot * width + first..][..self.counts[column]]
    }
}

/// A model made of parts, each with states.
pub trait Parts: Sync {
    /// The parts.
    fn parts(&self) -> PartsView<'_>;
}

/// The components of a linear model, lent out: what there is to show.
#[derive(Debug, Clone, Copy)]
pub struct ComponentsView<'a> {
    /// Number of columns, D.
    pub columns: usize,
    /// What each component adds to a row, `[N, D]`.
    pub component: &'a [f64],
    /// What components are added to, `[D]`; nothing if that is 0.
    pub mean: Option<&'a [f64]>,
    /// The variance along each component, `[N]`, where the model knows it.
    pub explained_variance: Option<&'a [f64]>,
    /// The variance of all columns together, where the model knows it.
    pub total_variance: Option<f64>,
}

/// A model that makes rows by adding up components.
pub trait Components: Sync {
    /// The components.
    fn component_view(&self) -> ComponentsView<'_>;
}

/// Which part each cell of a row came from.
pub trait Explain<T: Real>: Parts {
    /// Writes, for every cell of a batch, row after row, the part that most likely made it; for
    /// cells that are missing, the part that their column belongs to.
    fn responsible_parts_batch(&self, batch: &Batch<'_, T>, out: &mut [u32]);
}

pub(super) fn check_columns<T: Real>(
    expected: Option<usize>,
    source: &dyn Source<T>,
) -> Result<()> {
    match expected {
        Some(columns) if columns != source.columns() => Err(crate::Error::found(
            crate::Place::default(),
            format!("rows of {} columns", source.columns()),
            format!("the {columns} columns that the model was learned from"),
        )),
        _ => Ok(()),
    }
}

/// The codes of all rows.
pub fn encode<T: Real>(
    model: &dyn Encode<T>,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Dense<T>> {
    check_columns(model.expects_columns(), source)?;
    let width = model.code_width();
    let codes = map_rows(source, context, width, |batch, out| model.encode_batch(batch, out))?;
    Dense::new(source.rows(), width, codes)
}

/// The reconstructions of all rows.
pub fn reconstruct<T: Real>(
    model: &dyn Reconstruct<T>,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Dense<T>> {
    check_columns(model.expects_columns(), source)?;
    let width = source.columns();
    let rows = map_rows(source, context, width, |batch, out| model.reconstruct_batch(batch, out))?;
    Dense::new(source.rows(), width, rows)
}

/// One log density a row, and what kind of number that is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// What the numbers are.
    pub kind: ScoreKind,
    /// Their mean, in nats a row (rows count by their weights).
    pub mean: f64,
    /// One number a row, in nats.
    pub rows: Vec<f64>,
    /// The standard error of the mean, if it is an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// Effective samples behind a row's estimate, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_samples: Option<f64>,
}

impl Scores {
    /// Scores of rows that count so often each.
    ///
    /// ```
    /// use mereo_core::{ScoreKind, Scores};
    /// assert_eq!(Scores::new(ScoreKind::Exact, vec![-1.0, -4.0], &[2.0, 1.0]).mean, -2.0);
    /// // What no number can tell is told as the lowest there is.
    /// let hopeless = Scores::new(ScoreKind::Exact, vec![-1.0, f64::NEG_INFINITY], &[1.0, 1.0]);
    /// assert!(hopeless.mean.is_finite() && hopeless.rows[1] == -f64::MAX);
    /// ```
    pub fn new(kind: ScoreKind, mut rows: Vec<f64>, weights: &[f64]) -> Self {
        // Below what a number can tell there is nothing left to tell.
        for score in &mut rows {
            *score = score.clamp(-f64::MAX, f64::MAX);
        }
        let total: f64 = weights.iter().sum();
        let sum: f64 = rows.iter().zip(weights).map(|(score, weight)| score * weight).sum();
        // Shares before the sum where the sum is too large.
        let shared = || rows.iter().zip(weights).map(|(s, w)| s * (w / total)).sum::<f64>();
        let mean = match sum {
            _ if !(total > 0.0) => 0.0,
            sum if sum.is_finite() => sum / total,
            _ => shared().clamp(-f64::MAX, f64::MAX),
        };
        Self { kind, mean, rows, standard_error: None, effective_samples: None }
    }
}

/// The scores of all rows.
pub fn score<T: Real>(
    model: &dyn Score<T>,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Scores> {
    check_columns(model.expects_columns(), source)?;
    // A streamed source knows the weights of the rows that it shows, and of no others.
    let both = map_rows(source, context, 2, |batch, out| {
        let mut scores = vec![0.0; batch.rows];
        model.score_batch(batch, &mut scores);
        for (row, (out, score)) in out.chunks_exact_mut(2).zip(scores).enumerate() {
            out.copy_from_slice(&[score, batch.weight(row)]);
        }
    })?;
    let (rows, weights): (Vec<f64>, Vec<f64>) =
        both.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
    Ok(Scores::new(model.score_kind(), rows, &weights))
}

/// New rows. Row `i` depends on the seed and `i` alone.
pub fn sample(
    model: &dyn Sample,
    rows: usize,
    noise: bool,
    context: &Context,
) -> Result<Dense<f64>> {
    let columns = model.columns();
    let cells = rows
        .checked_mul(columns)
        .filter(|&cells| cells <= isize::MAX as usize / 16)
        .ok_or_else(|| {
            crate::Error::option(
                "n",
                format!("{rows} rows of {columns} columns do not fit in memory"),
            )
        })?;
    let mut values = vec![0.0; cells];
    for (index, row) in values.chunks_mut(columns.max(1)).enumerate() {
        model.sample_row(&mut context.random("sample", [index as u64, 0]), noise, row);
    }
    Dense::new(rows, columns, values)
}

/// Which part each cell of all rows came from, `[rows, columns]`.
pub fn responsible_parts<T: Real>(
    model: &dyn Explain<T>,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Vec<u32>> {
    map_rows(source, context, source.columns(), |batch, out| {
        model.responsible_parts_batch(batch, out);
    })
}
