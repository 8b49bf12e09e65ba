//! What ratings look like: their scale, and how many people rated each item.

use serde::{Deserialize, Serialize};

use crate::{
    Absent, Batch, Context, Error, Place, Real, Result, RowTask, Source, Statistics, gather,
};

/// Most distinct values that are taken for the levels of a scale.
const MOST_LEVELS: usize = 64;

/// The scale of ratings and how well known each item is: kept with a model that was learned from them, so
/// that predictions stay on the scale and nobody is recommended what nobody knows.
///
/// ```
/// use mereo_core::{Absent, Context, RatingsSeen, Sparse, Table};
/// let cells = Sparse::new(3, vec![0, 2, 3], vec![0, 2, 0], vec![5.0f32, 1.0, 4.0], Absent::Unobserved)?;
/// let seen = RatingsSeen::of(&Table::from(cells), &Context::new(0))?.unwrap();
/// assert_eq!((seen.levels.as_slice(), seen.people), (&[1.0, 4.0, 5.0][..], 2.0));
/// assert_eq!(seen.counts, [2.0, 0.0, 1.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatingsSeen {
    /// The lowest rating.
    pub lowest: f64,
    /// The highest rating.
    pub highest: f64,
    /// All values that ratings had, rising; none if there were more than 64.
    pub levels: Vec<f64>,
    /// How many rows there were, by their weights.
    pub people: f64,
    /// How many of them rated each column.
    pub counts: Vec<f64>,
    /// The mean of each column's ratings; 0 where there are none.
    pub means: Vec<f64>,
    /// Which columns the same people rated, `[columns, axes]`: see [`RatingsSeen::with_together`]. Nothing if it was not looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<f64>,
}

impl RatingsSeen {
    /// Looks at every row of a source once; nothing if what is absent is not unknown there.
    pub fn of<T: Real>(source: &dyn Source<T>, context: &Context) -> Result<Option<Self>> {
        if source.absent() != Some(Absent::Unobserved) {
            return Ok(None);
        }
        let task = RatingsTask { columns: source.columns() };
        let sums: RatingsStatistics = gather(source, context, &task)?;
        if sums.lowest > sums.highest {
            let expected = "at least one";
            return Err(Error::found(
                Place::default(),
                "no rating in any row that counts",
                expected,
            ));
        }
        let pairs = sums.totals.iter().zip(&sums.counts);
        let means = pairs.map(|(sum, n)| if *n > 0.0 { sum / n } else { 0.0 }).collect();
        let levels = if sums.levels.len() > MOST_LEVELS { Vec::new() } else { sums.levels };
        let (lowest, highest) = (sums.lowest, sums.highest);
        let (people, counts) = (sums.people, sums.counts);
        Ok(Some(Self { lowest, highest, levels, people, counts, means, together: Vec::new() }))
    }

    /// Complains about numbers that no ratings could have given.
    pub fn check(&self, columns: usize) -> std::result::Result<(), String> {
        let known = |values: &[f64]| values.iter().all(|v| v.is_finite());
        let rising = self.levels.windows(2).all(|pair| pair[0] < pair[1]);
        let within = self.levels.iter().all(|v| (self.lowest..=self.highest).contains(v));
        if self.counts.len() != columns || self.means.len() != columns {
            return Err(format!("its ratings speak of other columns than the {columns} there are"));
        }
        let fine = self.lowest.is_finite()
            && self.highest.is_finite()
            && self.lowest <= self.highest
            && known(&self.means)
            && known(&self.counts)
            && self.counts.iter().all(|n| *n >= 0.0)
            && self.people.is_finite()
            && self.people > 0.0
            && rising
            && within
            && self.check_together();
        if fine { Ok(()) } else { Err("its scale of ratings is broken".to_owned()) }
    }

    /// The mean of all ratings.
    pub fn mean(&self) -> f64 {
        let total: f64 = self.counts.iter().sum();
        let sum: f64 = self.counts.iter().zip(&self.means).map(|(n, mean)| n * mean).sum();
        if total > 0.0 { sum / total } else { 0.5 * (self.lowest + self.highest) }
    }

    /// A value brought onto the scale.
    pub fn clip(&self, value: f64) -> f64 {
        value.clamp(self.lowest, self.highest)
    }
}

/// Asks rows for the scale of their ratings.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RatingsTask {
    columns: usize,
}

/// What rows answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RatingsStatistics {
    /// Rising, and one more than allowed if they are too many.
    levels: Vec<f64>,
    lowest: f64,
    highest: f64,
    people: f64,
    counts: Vec<f64>,
    totals: Vec<f64>,
}

impl RatingsStatistics {
    fn add_level(&mut self, value: f64) {
        if self.levels.len() <= MOST_LEVELS
            && let Err(place) = self.levels.binary_search_by(|level| level.total_cmp(&value))
        {
            self.levels.insert(place, value);
        }
    }
}

impl Statistics for RatingsStatistics {
    fn merge(&mut self, other: &Self) {
        for &level in &other.levels {
            self.add_level(level);
        }
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
        self.people += other.people;
        let both = self.counts.iter_mut().zip(&other.counts);
        both.chain(self.totals.iter_mut().zip(&other.totals)).for_each(|(a, b)| *a += b);
    }

    fn reset(&mut self) {
        self.levels.clear();
        (self.lowest, self.highest) = (f64::INFINITY, f64::NEG_INFINITY);
        self.people = 0.0;
        self.counts.fill(0.0);
        self.totals.fill(0.0);
    }
}

impl<T: Real> RowTask<T> for RatingsTask {
    const NAME: &'static str = "ratings";
    type Statistics = RatingsStatistics;

    fn statistics(&self) -> RatingsStatistics {
        RatingsStatistics {
            levels: Vec::new(),
            lowest: f64::INFINITY,
            highest: f64::NEG_INFINITY,
            people: 0.0,
            counts: vec![0.0; self.columns],
            totals: vec![0.0; self.columns],
        }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, sums: &mut RatingsStatistics) {
        // Runs of one value are common: it is looked up once.
        let mut last = f64::NAN;
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            sums.people += weight;
            batch.for_each_observed(row, |column, value| {
                let value = value.to_f64();
                sums.counts[column] += weight;
                sums.totals[column] += weight * value;
                if value != last {
                    last = value;
                    sums.lowest = sums.lowest.min(value);
                    sums.highest = sums.highest.max(value);
                    sums.add_level(value);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dense, Sparse, Table};

    fn table(rows: usize) -> Table<f32> {
        let starts = (0..=rows).collect();
        let indices = (0..rows).map(|row| (row % 7) as u32).collect();
        let values = (0..rows).map(|row| (row % 5) as f32 + 1.0).collect();
        Table::from(Sparse::new(7, starts, indices, values, Absent::Unobserved).unwrap())
    }

    #[test]
    fn merged_halves_equal_the_whole() {
        let task = RatingsTask { columns: 7 };
        let of = |table: &Table<f32>| {
            let mut sums = RowTask::<f32>::statistics(&task);
            let mut lane = table.lane(0..table.batches()).unwrap();
            while let Some(batch) = lane.next_batch().unwrap() {
                task.accumulate(&batch, &mut sums);
            }
            sums
        };
        let whole = table(90);
        let (left, right): (Vec<usize>, Vec<usize>) = (0..90).partition(|row| row % 3 == 0);
        let mut merged = of(&whole.select_rows(&left));
        merged.merge(&of(&whole.select_rows(&right)));
        let expected = of(&whole);
        assert_eq!((merged.levels, merged.counts), (expected.levels, expected.counts));
        assert_eq!((merged.totals, merged.people), (expected.totals, expected.people));
    }

    #[test]
    fn rows_without_weight_do_not_count_and_other_tables_are_no_ratings() {
        let weights = (0..10).map(|row| f64::from(u8::from(row != 4))).collect();
        let seen = RatingsSeen::of(&table(10).with_weights(weights).unwrap(), &Context::new(0));
        let seen = seen.unwrap().unwrap();
        assert_eq!((seen.people, seen.counts[4]), (9.0, 0.0));
        assert!(seen.check(7).is_ok() && seen.check(8).is_err());
        let dense = Table::from(Dense::new(1, 1, vec![1.0]).unwrap());
        assert_eq!(RatingsSeen::of(&dense, &Context::new(0)).unwrap(), None);
    }

    #[test]
    fn a_scale_without_levels_is_one() {
        let values: Vec<f64> = (0..200).map(f64::from).collect();
        let cells =
            Sparse::new(1, (0..=200).collect(), vec![0; 200], values, Absent::Unobserved).unwrap();
        let seen = RatingsSeen::of(&Table::from(cells), &Context::new(0)).unwrap().unwrap();
        assert!(seen.levels.is_empty());
        assert_eq!((seen.lowest, seen.highest, seen.clip(500.0)), (0.0, 199.0, 199.0));
    }
}
