//! What people think of single items.

use mereo_core::{CellPrediction, Context, RatingsSeen, Result};
use serde::Serialize;

use super::{Person, Rater};

/// What somebody may think of an item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Guess {
    /// The expected rating, on the scale: it makes squared errors small.
    pub mean: f64,
    /// The rating that is as likely passed as not: it makes absolute errors small.
    pub median: f64,
    /// How far from the mean the rating may well be.
    pub deviation: f64,
    /// How likely each level of the scale is; nothing if the scale has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<f64>,
}

impl Guess {
    /// What a prediction says on a scale. Beyond the ends of the scale it counts for the ends.
    pub fn of(prediction: &CellPrediction, seen: &RatingsSeen) -> Self {
        if seen.levels.is_empty() {
            return Self {
                mean: seen.clip(prediction.mean()),
                median: seen.clip(prediction.median()),
                deviation: prediction.deviation(),
                levels: Vec::new(),
            };
        }
        let on = prediction.on_levels(&seen.levels);
        Self {
            mean: seen.clip(prediction.mean()),
            median: on.median(),
            deviation: on.deviation(),
            levels: on.probabilities(),
        }
    }

    /// How uncertain the level is, in bits.
    pub fn entropy(&self) -> f64 {
        mereo_core::math::entropy_bits(&self.levels)
    }
}

/// A question: what somebody thinks of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The number of the person.
    pub person: usize,
    /// The column of the item.
    pub column: usize,
}

impl Rater<'_> {
    /// What people think of items, in the order of the questions. A rating that the person gave of the very
    /// item is not looked at.
    ///
    /// ```
    /// # use mereo::{Context, Fit, parts::McvqParams};
    /// # use mereo::rater::{Asked, Person, Rater};
    /// # let toy = mereo::data::toy::World::Ratings.make(Some(200), 0)?;
    /// # let fitted = Fit::new(McvqParams::new(2, 3)).restarts(1).passes(5).run(&toy.table)?;
    /// let rater = Rater::new(&fitted)?;
    /// let ann = Person::new("ann", vec![(0, 5.0), (1, 4.0)]);
    /// let guess = &rater.predict(&[ann], &[Asked { person: 0, column: 2 }], &Context::new(0))?[0];
    /// assert!(guess.mean >= 1.0 && guess.mean <= 5.0);
    /// assert!((guess.levels.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn predict(
        &self,
        people: &[Person],
        asked: &[Asked],
        context: &Context,
    ) -> Result<Vec<Guess>> {
        // People as they are, and once more for each item asked about that they rated.
        let hidden: Vec<Vec<(u32, f32)>> = asked
            .iter()
            .filter(|a| people[a.person].rating(a.column).is_some())
            .map(|a| people[a.person].without(a.column))
            .collect();
        let rows = people.iter().map(Person::ratings).chain(hidden.iter().map(Vec::as_slice));
        let table = self.table(rows)?;
        let mut next = people.len();
        let cell = |a: &Asked| match people[a.person].rating(a.column) {
            None => (a.person, a.column),
            Some(_) => {
                next += 1;
                (next - 1, a.column)
            }
        };
        let cells: Vec<(usize, usize)> = asked.iter().map(cell).collect();
        self.fitted().predict_cells(&table, &cells, context, |p| Guess::of(p, self.scale()))
    }
}

/// How far guesses are from ratings, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Errors {
    /// How many ratings were guessed.
    pub pairs: f64,
    by_mean: f64,
    by_median: f64,
    squares: f64,
}

impl Errors {
    /// One more guess.
    ///
    /// ```
    /// let mut errors = mereo::rater::Errors::default();
    /// errors.add(3.5, 4.0, 5.0);
    /// assert_eq!((errors.mae(), errors.mae_by_median(), errors.rmse()), (1.5, 1.0, 1.5));
    /// ```
    pub fn add(&mut self, mean: f64, median: f64, rating: f64) {
        self.pairs += 1.0;
        self.by_mean += (mean - rating).abs();
        self.by_median += (median - rating).abs();
        self.squares += (mean - rating).powi(2);
    }

    /// The mean absolute error of means.
    pub fn mae(&self) -> f64 {
        self.by_mean / self.pairs
    }

    /// The mean absolute error of medians.
    pub fn mae_by_median(&self) -> f64 {
        self.by_median / self.pairs
    }

    /// The root of the mean squared error of means.
    pub fn rmse(&self) -> f64 {
        (self.squares / self.pairs).sqrt()
    }
}

/// The mean absolute error of guessing at random, `z`: `E|a - b|` for two levels drawn uniformly, 1.6 for five stars; a third
/// of the range for a scale without levels. A mean absolute error divided by it is normalised, NMAE, and
/// 1 is chance.
///
/// ```
/// # use mereo::RatingsSeen;
/// let mut seen = RatingsSeen { lowest: 1.0, highest: 5.0, levels: vec![1.0, 2.0, 3.0, 4.0, 5.0], people: 1.0, counts: vec![], means: vec![], together: vec![] };
/// assert!((mereo::rater::random_error(&seen) - 1.6).abs() < 1e-12);
/// seen.levels.clear();
/// assert!((mereo::rater::random_error(&seen) - 4.0 / 3.0).abs() < 1e-12);
/// ```
pub fn random_error(seen: &RatingsSeen) -> f64 {
    let levels = &seen.levels;
    if levels.len() < 2 {
        return (seen.highest - seen.lowest) / 3.0;
    }
    let of = |a: &f64| levels.iter().map(|b| (a - b).abs()).sum::<f64>();
    levels.iter().map(of).sum::<f64>() / (levels.len() * levels.len()) as f64
}
