//! Asking somebody the most valuable next question.
//!
//! A question is worth what its answer improves. With `B(x)` the N items that would be recommended to somebody who gave the ratings x, and
//! `E(items | x)` their expected ratings on the average, a question about item d is worth
//!
//! ```text
//! P(known d) · Σ_v P(x_d = v | x) ( E(B(x, x_d = v) | x, x_d = v)  -  E(B(x) | x, x_d = v) )
//! ```
//!
//! what is gained by recommending anew once the answer is there, which is never less than nothing. If expectations are those of one
//! distribution the last term adds up to `E(B(x) | x)`, what is expected without asking; those that are put together of means and a model, or are
//! approximate, drift a little, and that is no gain. Here d itself is no longer recommended: an item that is known need not be. Answers that would change nothing
//! that is recommended are worth nothing, however uncertain they are; `entropy` asks for the uncertain ones all the same.
//!
//! A question about an item that the person does not know is lost, so the chance that it is known counts as much as what the answer would tell. It is
//! the share of people who rated the item before anything was said, and follows what was said: who knows some films and not others knows those
//! that the same people know ([`RatingsSeen::with_together`](mereo_core::RatingsSeen::with_together) has the formulas). Ratings that were given count as known, items that
//! were asked about and not known as not known, and all others say nothing. Items that are probably known and
//! whose ratings are uncertain are looked into; all hypothetical people are looked at in one batch.

use std::collections::BTreeSet;

use mereo_core::{CellPrediction, Context, Dense, Error, Place, Result, draw};

use super::{Guess, Person, Rater, Recommended};

/// Items that come into question, by the chance that they are known.
const KNOWN: usize = 256;
/// Of these, items whose answers are played through.
const PLAYED: usize = 48;
/// Answers played through, if the scale has no levels, or more than these.
const ANSWERS: usize = 7;

/// What makes a question worth asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Worth {
    /// How much better the recommendations are expected to be.
    #[default]
    Recommendations,
    /// How uncertain the answer is.
    Entropy,
    /// How many know the item.
    Popularity,
    /// Nothing: any item that may be asked about.
    Chance,
}

/// A question, and why it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The column of the item.
    pub column: usize,
    /// What it is worth: stars that each recommended item is expected to gain, bits, or people.
    pub worth: f64,
    /// The chance that the person knows the item.
    pub known: f64,
    /// What the answer may be.
    pub guess: Guess,
}

/// Somebody who is asked one question after another.
///
/// ```
/// use mereo::parts::McvqParams;
/// use mereo::rater::{Interview, Person, Rater, Worth};
/// use mereo::{Context, Fit};
/// let toy = mereo::data::toy::World::Ratings.make(Some(200), 0)?;
/// let fitted = Fit::new(McvqParams::new(2, 3)).restarts(1).passes(10).run(&toy.table)?;
/// let rater = Rater::new(&fitted)?;
/// let context = Context::new(0);
/// let mut interview = Interview::new(&rater, Person::new("me", Vec::new()));
/// let question = interview.question(Worth::Recommendations, None, &context)?.unwrap();
/// interview.answer(question.column, Some(4.0))?;
/// assert_eq!(interview.person().rating(question.column), Some(4.0));
/// assert!(interview.recommend(5, &context)?.iter().all(|item| item.column != question.column));
/// # Ok::<(), mereo::Error>(())
/// ```
#[derive(Debug)]
pub struct Interview<'a> {
    rater: &'a Rater<'a>,
    person: Person,
    /// Items that were asked about, whether they are known or not.
    asked: BTreeSet<usize>,
    /// Items that are not to be asked about.
    skipped: BTreeSet<usize>,
    /// Items that recommendations are judged by.
    recommended: usize,
    least: Option<f64>,
}

impl<'a> Interview<'a> {
    /// Somebody with these ratings so far. Questions are about the ten best recommendations.
    pub fn new(rater: &'a Rater<'a>, person: Person) -> Self {
        let (asked, skipped) = (BTreeSet::new(), BTreeSet::new());
        Self { rater, person, asked, skipped, recommended: 10, least: None }
    }

    /// The same about the best `recommended` items among those that `least` people know.
    #[must_use]
    pub fn about(mut self, recommended: usize, least: Option<f64>) -> Self {
        self.recommended = recommended.max(1);
        self.least = least;
        self
    }

    /// Who is asked, with all ratings so far.
    pub fn person(&self) -> &Person {
        &self.person
    }

    /// Takes an answer: a rating, or none if the item is not known, which says that items which the same people know are less likely known
    /// too. It will not be asked about again.
    pub fn answer(&mut self, column: usize, rating: Option<f64>) -> Result<()> {
        if column >= self.rater.fitted().model.columns() {
            let found = format!("an answer about column {column}");
            return Err(Error::found(Place::default(), found, "one of the model's columns"));
        }
        if let Some(rating) = rating {
            self.rater.check(rating, || Place::default().column(self.rater.title(column)))?;
            self.person.rate(column, rating as f32);
        }
        self.asked.insert(column);
        Ok(())
    }

    /// Leaves an item out of the questions, which says nothing of whether it is known.
    pub fn skip(&mut self, column: usize) {
        self.skipped.insert(column);
    }

    /// How likely the person knows each item, by what they rated and what they were asked about and did not know.
    ///
    /// ```
    /// # use mereo::{Context, Fit, parts::McvqParams, rater::{Interview, Person, Rater}};
    /// # let toy = mereo::data::toy::World::Ratings.make(Some(200), 0)?;
    /// # let fitted = Fit::new(McvqParams::new(2, 3)).restarts(1).passes(1).run(&toy.table)?;
    /// let rater = Rater::new(&fitted)?;
    /// let mut interview = Interview::new(&rater, Person::new("me", Vec::new()));
    /// assert_eq!(interview.chances()[0], rater.seen().counts[0] / rater.seen().people);
    /// interview.answer(3, None)?;
    /// assert!(interview.chances().iter().all(|p| (0.0..=1.0).contains(p)));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn chances(&self) -> Vec<f64> {
        let known: Vec<usize> = self.person.ratings().iter().map(|&(d, _)| d as usize).collect();
        let lacks = |d: &usize| self.person.rating(*d).is_none();
        let unknown: Vec<usize> = self.asked.iter().copied().filter(lacks).collect();
        self.rater.seen().chances(&known, &unknown)
    }

    /// The best `n` items by what is known now. Items that were asked about and are not known may be among them.
    pub fn recommend(&self, n: usize, context: &Context) -> Result<Vec<Recommended>> {
        self.rater.recommend(&self.person, n, self.least, context)
    }

    /// The question that is worth most, among all items or those given; none if nothing is left to ask. Items that are given are
    /// known, as far as the chance goes.
    pub fn question(
        &self,
        how: Worth,
        among: Option<&[usize]>,
        context: &Context,
    ) -> Result<Option<Question>> {
        let seen = self.rater.seen();
        let chances = self.chances();
        let known = |d: usize| if among.is_some() { 1.0 } else { chances[d] };
        let open = |d: &usize| {
            !self.asked.contains(d) && !self.skipped.contains(d) && self.person.rating(*d).is_none()
        };
        let least = self.least.unwrap_or_else(|| self.rater.least_known()).max(1.0);
        let mut items: Vec<usize> = match among {
            Some(given) => given.iter().copied().filter(open).collect(),
            None => {
                (0..seen.counts.len()).filter(|&d| seen.counts[d] >= least).filter(open).collect()
            }
        };
        items.sort_unstable();
        items.dedup();
        if how == Worth::Chance {
            let turn = self.asked.len() as u64;
            let chosen = draw(&vec![1.0; items.len()], &mut context.random("ask", [turn, 0]));
            items = chosen.map(|at| items[at]).into_iter().collect();
        }
        let by = if how == Worth::Popularity { &seen.counts } else { &chances };
        items.sort_by(|&a, &b| by[b].total_cmp(&by[a]).then(a.cmp(&b)));
        items.truncate(if how == Worth::Popularity { 1 } else { KNOWN });
        if items.is_empty() {
            return Ok(None);
        }
        let cells: Vec<(usize, usize)> = items.iter().map(|&d| (0, d)).collect();
        let table = self.rater.table([self.person.ratings()])?;
        let guess = |p: &CellPrediction| Guess::of(p, self.rater.scale());
        let guesses = self.rater.fitted().predict_cells(&table, &cells, context, guess)?;
        let mut questions: Vec<Question> = items
            .into_iter()
            .zip(guesses)
            .map(|(column, guess)| {
                let worth = match how {
                    Worth::Recommendations => known(column) * guess.deviation * guess.deviation,
                    Worth::Entropy if guess.levels.is_empty() => known(column) * guess.deviation,
                    Worth::Entropy => known(column) * guess.entropy(),
                    Worth::Popularity | Worth::Chance => seen.counts[column],
                };
                Question { column, worth, known: known(column), guess }
            })
            .collect();
        questions.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.column.cmp(&b.column)));
        if how == Worth::Recommendations {
            questions.truncate(PLAYED);
            self.play(&mut questions, context)?;
            // Where no answer would change what is recommended, the likely known and uncertain stay first.
            questions.sort_by(|a, b| b.worth.total_cmp(&a.worth));
        }
        Ok(questions.into_iter().next())
    }

    /// Plays the answers to questions through, and says what the questions are worth.
    fn play(&self, questions: &mut [Question], context: &Context) -> Result<()> {
        let seen = self.rater.seen();
        let answers: Vec<f64> = if (1..=2 * ANSWERS).contains(&seen.levels.len()) {
            seen.levels.clone()
        } else {
            let step = (seen.highest - seen.lowest) / (ANSWERS - 1) as f64;
            (0..ANSWERS).map(|i| seen.lowest + i as f64 * step).collect()
        };
        let mut rows = vec![self.person.ratings().to_vec()];
        for question in &*questions {
            for &answer in &answers {
                let mut person = self.person.clone();
                person.rate(question.column, answer as f32);
                rows.push(person.ratings);
            }
        }
        let means =
            self.rater.means(&self.rater.table(rows.iter().map(Vec::as_slice))?, context)?;
        let least = self.least.unwrap_or_else(|| self.rater.least_known()).max(1.0);
        let open: Vec<usize> = (0..seen.counts.len())
            .filter(|&d| seen.counts[d] >= least && self.person.rating(d).is_none())
            .collect();
        let mut work = Vec::new();
        for (at, question) in questions.iter_mut().enumerate() {
            let now = best_of(&means, 0, &open, question.column, self.recommended, &mut work);
            let chances = chances(&question.guess, &answers);
            let gains = chances.iter().enumerate().map(|(i, p)| {
                let row = 1 + at * answers.len() + i;
                let then =
                    best_of(&means, row, &open, question.column, self.recommended, &mut work);
                let mean = |of: &[usize]| {
                    of.iter().map(|&d| f64::from(means.row(row)[d])).sum::<f64>()
                        / of.len().max(1) as f64
                };
                p * (mean(&then) - mean(&now))
            });
            question.worth = question.known * gains.sum::<f64>();
        }
        Ok(())
    }
}

/// The items of the largest expected ratings in a row, one item left out: best first, so that sums do not depend on how they were
/// selected.
fn best_of(
    means: &Dense<f32>,
    row: usize,
    open: &[usize],
    but: usize,
    n: usize,
    work: &mut Vec<usize>,
) -> Vec<usize> {
    work.clear();
    work.extend(open.iter().copied().filter(|&d| d != but));
    let n = n.min(work.len());
    if n == 0 {
        return Vec::new();
    }
    let row = means.row(row);
    let better = |a: &usize, b: &usize| row[*b].total_cmp(&row[*a]).then(a.cmp(b));
    work.select_nth_unstable_by(n - 1, better);
    let mut best = work[..n].to_vec();
    best.sort_unstable_by(better);
    best
}

/// How likely each answer is: the levels' probabilities, or the Gaussian's weight of each.
fn chances(guess: &Guess, answers: &[f64]) -> Vec<f64> {
    if guess.levels.len() == answers.len() {
        return guess.levels.clone();
    }
    let deviation = guess.deviation.max(f64::MIN_POSITIVE);
    let weight = |x: &f64| (-0.5 * ((x - guess.mean) / deviation).powi(2)).exp();
    let total: f64 = answers.iter().map(weight).sum::<f64>();
    if !(total > 0.0) {
        return vec![1.0 / answers.len() as f64; answers.len()];
    }
    answers.iter().map(|x| weight(x) / total).collect()
}
