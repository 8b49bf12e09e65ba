//! How well a kind of model predicts ratings that it has not seen.
//!
//! After Marlin (2004): one rating of each person is put aside. *Weak* generalisation predicts those of people who were learned
//! from, *strong* those of people who were not, from their other ratings. People are dealt into folds, and for each fold a model is learned from the
//! people outside it, without what was put aside; a *draw* deals anew, and the spread over draws says how much a number can be trusted.
//!
//! | measure | what |
//! |---|---|
//! | MAE, RMSE | mean absolute error, root of the mean squared error, of the predicted mean |
//! | NMAE | MAE divided by that of guessing at random, [`random_error`]; also of the predicted median |
//! | recall@k | of items put aside that were liked (rated above the mean of all ratings), the share found among the k best of all items not given |
//! | NDCG@k | the same with `1 / log2(1 + rank)` for each that is found, so that the top counts more |
//!
//! A *given-n* curve (thesis, Figure 3.5) shows people who were not learned from n of their ratings, and predicts all others.

mod baselines;
mod split;

use std::time::Instant;

use mereo_core::{Context, Error, Observer, RatingsSeen, Result, Table};
use rand::seq::SliceRandom;
use serde::Serialize;

pub use baselines::Baseline;
use baselines::Means;
use split::{Split, ratings};

use super::{Asked, Errors, Guess, Person, Rater, random_error};
use crate::{Fit, Fitted, Held};

/// People whose expected ratings of all items are held at a time.
const PEOPLE: usize = 256;

/// Whose ratings are predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Those of people who were learned from.
    Weak,
    /// Those of people who were not.
    Strong,
}

/// What is tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// Whose ratings are predicted.
    pub protocol: Protocol,
    /// Folds that people are dealt into.
    pub folds: usize,
    /// How often they are dealt.
    pub draws: usize,
    /// How many ratings are given for each point of a given-n curve; no curve if there are none.
    pub given: Vec<usize>,
    /// The k of recall and NDCG.
    pub top: usize,
}

impl Default for Trial {
    fn default() -> Self {
        Self { protocol: Protocol::Strong, folds: 3, draws: 4, given: Vec::new(), top: 10 }
    }
}

impl Trial {
    fn check(&self, people: usize) -> Result<()> {
        let least = if self.protocol == Protocol::Strong { 2 } else { 1 };
        if self.folds < least || self.folds > people {
            let problem = format!(
                "{} folds of {people} people; give {least} or more, up to one a person",
                self.folds
            );
            return Err(Error::option("folds", problem));
        }
        if self.draws == 0 {
            return Err(Error::option("draws", "at least one is needed"));
        }
        if self.top == 0 {
            return Err(Error::option("top", "at least one item is needed"));
        }
        if !self.given.is_empty() && self.protocol == Protocol::Weak {
            let problem = "what is given is chosen for people who were not learned from; ask for the strong protocol";
            return Err(Error::option("given", problem));
        }
        Ok(())
    }
}

/// What came out of one draw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measures {
    /// Ratings that were predicted.
    pub pairs: usize,
    /// Normalised mean absolute error of the predicted mean.
    pub nmae: f64,
    /// Of the predicted median.
    pub nmae_median: f64,
    /// Mean absolute error of the predicted mean.
    pub mae: f64,
    /// Of the predicted median.
    pub mae_median: f64,
    /// Root of the mean squared error of the predicted mean.
    pub rmse: f64,
    /// NDCG@k of liked items; nothing if none was liked.
    pub ndcg: Option<f64>,
    /// Recall@k of liked items.
    pub recall: Option<f64>,
}

/// What came of a model or of a baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// Draw by draw.
    pub draws: Vec<Measures>,
}

impl Outcome {
    /// The mean of a measure over the draws and its standard deviation among them (0 of one draw).
    ///
    /// ```
    /// # use mereo::rater::evaluate::{Measures, Outcome};
    /// # let with = |rmse| Measures { pairs: 1, nmae: 0.5, nmae_median: 0.5, mae: 0.8, mae_median: 0.8, rmse, ndcg: None, recall: None };
    /// let outcome = Outcome { name: "a model".into(), draws: vec![with(1.0), with(3.0)] };
    /// assert_eq!(outcome.of(|m| Some(m.rmse)), Some((2.0, 2f64.sqrt())));
    /// ```
    pub fn of(&self, measure: impl Fn(&Measures) -> Option<f64>) -> Option<(f64, f64)> {
        let values: Vec<f64> = self.draws.iter().filter_map(measure).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let spread = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        (!values.is_empty()).then_some((mean, spread))
    }
}

/// A point of a given-n curve, all draws together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GivenPoint {
    /// Ratings that were given.
    pub given: usize,
    /// People who have more.
    pub people: usize,
    /// For the model and each baseline, by name: NMAE by mean, by median, and the mean absolute error of the mean.
    pub errors: Vec<(String, f64, f64, f64)>,
}

/// All that came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluated {
    /// The mean absolute error of guessing at random.
    pub z: f64,
    /// The model first, then the baselines.
    pub outcomes: Vec<Outcome>,
    /// The given-n curve, if one was asked for.
    pub given: Vec<GivenPoint>,
    /// Seconds that learning took, all models together.
    pub fit_seconds: f64,
    /// Seconds that predicting took.
    pub predict_seconds: f64,
}

/// Tries a kind of model on ratings. `fit` makes what is to be learned, for each fold anew; `told` hears what share of the
/// models is behind us before each is learned, and watches how that goes.
///
/// ```
/// use mereo::rater::evaluate::{Protocol, Trial, evaluate};
/// use mereo::parts::McvqParams;
/// use mereo::{Context, Fit, Silent};
/// let toy = mereo::data::toy::World::Ratings.make(Some(200), 0)?;
/// let trial = Trial { protocol: Protocol::Strong, folds: 2, draws: 1, ..Trial::default() };
/// let fit = || Ok(Fit::new(McvqParams::new(2, 3)).restarts(1).passes(10));
/// let found = evaluate(&fit, &toy.table, &trial, &Context::new(0), &mut |_| Box::new(Silent))?;
/// assert_eq!(found.outcomes.len(), 4);
/// assert_eq!(found.outcomes[0].draws[0].pairs, 200);
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn evaluate(
    fit: &dyn Fn() -> Result<Fit>,
    table: &Table<f32>,
    trial: &Trial,
    context: &Context,
    told: &mut dyn FnMut(f64) -> Box<dyn Observer>,
) -> Result<Evaluated> {
    trial.check(ratings(table)?.rows())?;
    let Some(scale) = RatingsSeen::of(table, context)? else {
        return Err(Error::option("data", "these are no ratings"));
    };
    let z = random_error(&scale);
    if !(z > 0.0) {
        return Err(Error::option("data", "all ratings are the same; there is nothing to predict"));
    }
    let mut name = String::new();
    let mut draws: Vec<Vec<Measures>> = vec![Vec::new(); 1 + Baseline::ALL.len()];
    let mut curve: Vec<Curve> = trial.given.iter().map(|&n| Curve::new(n)).collect();
    let (mut fit_seconds, mut predict_seconds) = (0.0, 0.0);
    for draw in 0..trial.draws {
        let split = Split::draw(table, trial.folds, draw as u64, context)?;
        let mut sums = vec![Sums::default(); 1 + Baseline::ALL.len()];
        for fold in 0..trial.folds {
            if context.stop().asked() {
                return Err(Error::Interrupted);
            }
            let models = trial.folds * trial.draws;
            let mut observer = told((draw * trial.folds + fold) as f64 / models as f64);
            let began = Instant::now();
            let train = split.train(table, fold, trial.folds)?;
            let own = context.with_seed(context.seed().wrapping_add(draw as u64));
            let fitted = fit()?.context(&own).observed(Held::Table(train), &mut *observer)?;
            if context.stop().asked() {
                return Err(Error::Interrupted);
            }
            fit_seconds += began.elapsed().as_secs_f64();
            name = fitted.model.described();
            let began = Instant::now();
            let inside = trial.protocol == Protocol::Strong;
            let people = if inside || trial.folds > 1 {
                split.asked(fold, inside)
            } else {
                split.asked(usize::MAX, false)
            };
            let look = Look::new(&fitted, &scale)?;
            look.measure(&split, &people, trial.top, &mut sums, context)?;
            for point in &mut curve {
                let seed = [draw as u64, point.given as u64];
                look.given(table, &people, point, seed, context)?;
            }
            predict_seconds += began.elapsed().as_secs_f64();
        }
        for (all, sums) in draws.iter_mut().zip(&sums) {
            all.push(sums.measures(z));
        }
    }
    let names = || std::iter::once(name.clone()).chain(Baseline::ALL.map(|b| b.name().to_owned()));
    let outcomes = names().zip(draws).map(|(name, draws)| Outcome { name, draws }).collect();
    let given = curve.iter().map(|point| point.told(names(), z)).collect();
    Ok(Evaluated { z, outcomes, given, fit_seconds, predict_seconds })
}

/// Errors of a model or baseline in one draw.
#[derive(Debug, Clone, Default)]
struct Sums {
    errors: Errors,
    liked: f64,
    found: f64,
    gain: f64,
}

impl Sums {
    /// One more liked item, this many others being ranked above it.
    fn rank(&mut self, above: usize, top: usize) {
        self.liked += 1.0;
        if above < top {
            self.found += 1.0;
            self.gain += 1.0 / (above as f64 + 2.0).log2();
        }
    }

    fn measures(&self, z: f64) -> Measures {
        let Self { errors, liked, found, gain } = self;
        let of_liked = |sum: f64| (*liked > 0.0).then(|| sum / liked);
        Measures {
            pairs: errors.pairs as usize,
            nmae: errors.mae() / z,
            nmae_median: errors.mae_by_median() / z,
            mae: errors.mae(),
            mae_median: errors.mae_by_median(),
            rmse: errors.rmse(),
            ndcg: of_liked(*gain),
            recall: of_liked(*found),
        }
    }
}

/// A point of the curve while it is added up.
struct Curve {
    given: usize,
    people: usize,
    errors: Vec<Errors>,
}

impl Curve {
    fn new(given: usize) -> Self {
        Self { given, people: 0, errors: vec![Errors::default(); 1 + Baseline::ALL.len()] }
    }

    fn told(&self, names: impl Iterator<Item = String>, z: f64) -> GivenPoint {
        let each = names.zip(&self.errors).filter(|(_, errors)| errors.pairs > 0.0);
        let errors =
            each.map(|(name, e)| (name, e.mae() / z, e.mae_by_median() / z, e.mae())).collect();
        GivenPoint { given: self.given, people: self.people, errors }
    }
}

/// A learned model and the baselines of what it was learned from, looking at people.
struct Look<'a> {
    rater: Rater<'a>,
    means: Means,
    /// The scale of all ratings: those learned from may lack an end of it.
    scale: &'a RatingsSeen,
}

impl<'a> Look<'a> {
    fn new(fitted: &'a Fitted, scale: &'a RatingsSeen) -> Result<Self> {
        let mut rater = Rater::new(fitted)?;
        let means = Means::of(rater.seen);
        // Predictions are judged on the whole scale.
        rater.scale = Some(scale);
        Ok(Self { rater, means, scale })
    }

    /// Predicts what was put aside of these people.
    fn measure(
        &self,
        split: &Split,
        people: &[usize],
        top: usize,
        sums: &mut [Sums],
        context: &Context,
    ) -> Result<()> {
        let liked = self.rater.seen().mean();
        for some in people.chunks(PEOPLE) {
            let rows: Vec<Person> = some
                .iter()
                .map(|&p| Person { id: String::new(), ratings: split.given[p].clone() })
                .collect();
            let held: Vec<(usize, f64)> = some
                .iter()
                .filter_map(|&p| split.held[p].map(|(d, x)| (d as usize, f64::from(x))))
                .collect();
            let asked: Vec<Asked> = held
                .iter()
                .enumerate()
                .map(|(person, &(column, _))| Asked { person, column })
                .collect();
            let guesses = self.rater.predict(&rows, &asked, context)?;
            let means =
                self.rater.means(&self.rater.table(rows.iter().map(Person::ratings))?, context)?;
            for (at, person) in rows.iter().enumerate() {
                let (column, rating) = held[at];
                self.add_errors(&guesses[at], person, column, |i, mean, median| {
                    sums[i].errors.add(mean, median, rating);
                });
                if rating <= liked {
                    continue;
                }
                let row = means.row(at);
                sums[0].rank(self.above(person, column, |d| f64::from(row[d])), top);
                for (sums, baseline) in sums[1..].iter_mut().zip(Baseline::ALL) {
                    sums.rank(self.above(person, column, |d| baseline.item(d, &self.means)), top);
                }
            }
        }
        Ok(())
    }

    /// How many items that the person did not rate and somebody did are expected to be liked more; of equals half.
    fn above(&self, person: &Person, column: usize, expected: impl Fn(usize) -> f64) -> usize {
        let own = expected(column);
        let counts = &self.rater.seen().counts;
        let (mut above, mut equal) = (0, 0);
        for d in (0..counts.len()).filter(|&d| counts[d] > 0.0 && d != column) {
            let other = expected(d);
            if other >= own && person.rating(d).is_none() {
                if other > own { above += 1 } else { equal += 1 }
            }
        }
        above + equal / 2
    }

    /// Calls `add(which, mean, median)` for the model's guess and each baseline's.
    fn add_errors(
        &self,
        guess: &Guess,
        person: &Person,
        column: usize,
        mut add: impl FnMut(usize, f64, f64),
    ) {
        add(0, guess.mean, guess.median);
        for (i, baseline) in Baseline::ALL.into_iter().enumerate() {
            let own = baseline.person(person.ratings(), &self.means);
            let mean = self.scale.clip(baseline.item(column, &self.means) + own);
            add(i + 1, mean, mean);
        }
    }

    /// Gives n ratings of each of these people and predicts all others.
    fn given(
        &self,
        table: &Table<f32>,
        people: &[usize],
        curve: &mut Curve,
        seed: [u64; 2],
        context: &Context,
    ) -> Result<()> {
        let cells = ratings(table)?;
        let enough: Vec<usize> =
            people.iter().copied().filter(|&p| cells.row(p).0.len() > curve.given).collect();
        curve.people += enough.len();
        for some in enough.chunks(PEOPLE) {
            let (mut rows, mut asked, mut truth) = (Vec::new(), Vec::new(), Vec::new());
            for (at, &p) in some.iter().enumerate() {
                let (columns, values) = cells.row(p);
                let mut own: Vec<(u32, f32)> =
                    columns.iter().copied().zip(values.iter().copied()).collect();
                let random = seed[0] ^ (seed[1] << 32);
                own.shuffle(&mut context.random("given", [random, p as u64]));
                let rest = own.split_off(curve.given);
                asked.extend(rest.iter().map(|r| Asked { person: at, column: r.0 as usize }));
                truth.extend(rest.iter().map(|r| f64::from(r.1)));
                rows.push(Person::new("", own));
            }
            let guesses = self.rater.predict(&rows, &asked, context)?;
            for ((guess, asked), &rating) in guesses.iter().zip(&asked).zip(&truth) {
                let person = &rows[asked.person];
                self.add_errors(guess, person, asked.column, |i, mean, median| {
                    curve.errors[i].add(mean, median, rating);
                });
            }
        }
        Ok(())
    }
}
