//! The best items for somebody, and why.

use mereo_core::{Appearance, CellPrediction, Context, Result};

use super::{Guess, Person, Rater};
use crate::page::in_full;

/// Own ratings told of for each item.
const REASONS: usize = 3;
/// Most own ratings that are left out one by one to see what spoke for an item; of more, the last ones are not tried.
const MOST_TRIED: usize = 1000;
/// Less than this share of the scale is no reason.
const LEAST_REASON: f64 = 0.005;

/// An own rating that speaks for an item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Because {
    /// The column that was rated.
    pub column: usize,
    /// How.
    pub rating: f64,
    /// How much this one raises the item's expected rating: the mean of what it adds to nothing and to all others.
    pub effect: f64,
}

/// An item for somebody.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommended {
    /// The item's column.
    pub column: usize,
    /// What the person may think of it.
    pub guess: Guess,
    /// How many people rated it.
    pub ratings: f64,
    /// The part that the item belongs to, the state that the person shows there, and how surely, if the model has
    /// parts that show states.
    pub state: Option<(usize, usize, f64)>,
    /// The own ratings that spoke for it most.
    pub because: Vec<Because>,
}

impl Rater<'_> {
    /// The `n` items that a person may like best, best first: none that the person rated, and none that fewer than `least`
    /// people know ([`least_known`](Self::least_known) if nothing is said).
    pub fn recommend(
        &self,
        person: &Person,
        n: usize,
        least: Option<f64>,
        context: &Context,
    ) -> Result<Vec<Recommended>> {
        let means = self.means(&self.table([person.ratings()])?, context)?;
        let best = self.best(means.row(0), n, least, |column| person.rating(column).is_some());
        self.explained(person, &best, context)
    }

    /// The columns of the largest means among those that enough people know and nobody wants left out.
    pub(super) fn best(
        &self,
        means: &[f32],
        n: usize,
        least: Option<f64>,
        left_out: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let least = least.unwrap_or_else(|| self.least_known()).max(1.0);
        let mut best: Vec<usize> =
            (0..means.len()).filter(|&d| self.seen().counts[d] >= least && !left_out(d)).collect();
        best.sort_by(|&a, &b| means[b].total_cmp(&means[a]).then(a.cmp(&b)));
        best.truncate(n);
        best
    }

    /// All that is told of columns that were chosen for a person.
    fn explained(
        &self,
        person: &Person,
        columns: &[usize],
        context: &Context,
    ) -> Result<Vec<Recommended>> {
        let cells: Vec<(usize, usize)> = columns.iter().map(|&column| (0, column)).collect();
        let table = self.table([person.ratings()])?;
        let guess = |p: &CellPrediction| Guess::of(p, self.scale());
        let guesses = self.fitted().predict_cells(&table, &cells, context, guess)?;
        let states = self.states(person, context)?;
        let reasons = self.reasons(person, columns, context)?;
        let told = columns.iter().zip(guesses).zip(reasons);
        Ok(told
            .map(|((&column, guess), because)| Recommended {
                column,
                guess,
                ratings: self.seen().counts[column],
                state: states.as_ref().and_then(|states| {
                    let part = self.fitted().model.parts()?.part_of_column()[column];
                    Some((part, states[part].0, states[part].1))
                }),
                because,
            })
            .collect())
    }

    /// The state that a person shows in each part, and how surely.
    fn states(&self, person: &Person, context: &Context) -> Result<Option<Vec<(usize, f64)>>> {
        let Some(view) = self.fitted().model.parts() else { return Ok(None) };
        if view.appearance != Appearance::States || self.fitted().model.encoder::<f32>().is_none() {
            return Ok(None);
        }
        let code = in_full(&self.fitted().encode(&self.table([person.ratings()])?, context)?)?;
        if code.columns() != view.parts * view.states {
            return Ok(None);
        }
        let likeliest = |part: &[f64]| {
            let best = (0..part.len()).fold(0, |b, j| if part[j] > part[b] { j } else { b });
            (best, part[best])
        };
        Ok(Some(code.row(0).chunks_exact(view.states).map(likeliest).collect()))
    }

    /// Which of a person's ratings spoke for each of some columns: the mean of what a rating adds to nothing and of what it
    /// adds to all others. The latter alone would be nothing where two ratings say the same.
    fn reasons(
        &self,
        person: &Person,
        columns: &[usize],
        context: &Context,
    ) -> Result<Vec<Vec<Because>>> {
        let tried = &person.ratings()[..person.ratings().len().min(MOST_TRIED)];
        let without: Vec<Vec<(u32, f32)>> =
            tried.iter().map(|&(column, _)| person.without(column as usize)).collect();
        let rows = [person.ratings(), &[]].into_iter().chain(without.iter().map(Vec::as_slice));
        let alone = tried.iter().map(std::slice::from_ref);
        let means = self.means(&self.table(rows.chain(alone))?, context)?;
        let least = LEAST_REASON * (self.seen().highest - self.seen().lowest);
        let of = |&column: &usize| {
            let mean = |row: usize| f64::from(means.row(row)[column]);
            let (all, none) = (mean(0), mean(1));
            let mut because: Vec<Because> = tried
                .iter()
                .enumerate()
                .map(|(at, &(rated, rating))| Because {
                    column: rated as usize,
                    rating: f64::from(rating),
                    effect: 0.5 * (all - mean(2 + at) + mean(2 + tried.len() + at) - none),
                })
                .filter(|because| because.effect >= least)
                .collect();
            because.sort_by(|a, b| b.effect.total_cmp(&a.effect).then(a.column.cmp(&b.column)));
            because.truncate(REASONS);
            because
        };
        Ok(columns.iter().map(of).collect())
    }
}
