//! The levels of a scale, and how often each occurs.

use mereo_core::{Batch, Context, Real, Result, RowTask, Source, Statistics, gather};
use serde::{Deserialize, Serialize};

/// More distinct values than this are no levels, and are cut into so many steps of equal width.
const MOST_LEVELS: usize = 32;
const STEPS: usize = 10;

/// Asks rows for the values that their cells take.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LevelsTask;

/// Distinct values, rising, as long as they are few; and the ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LevelsSeen {
    values: Vec<f64>,
    least: f64,
    most: f64,
}

impl Default for LevelsSeen {
    fn default() -> Self {
        Self { values: Vec::new(), least: f64::INFINITY, most: f64::NEG_INFINITY }
    }
}

impl LevelsSeen {
    fn add(&mut self, value: f64) {
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
        if self.values.len() <= MOST_LEVELS
            && let Err(place) = self.values.binary_search_by(|v| v.total_cmp(&value))
        {
            self.values.insert(place, value);
        }
    }
}

impl Statistics for LevelsSeen {
    fn merge(&mut self, other: &Self) {
        for &value in &other.values {
            self.add(value);
        }
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

impl<T: Real> RowTask<T> for LevelsTask {
    const NAME: &'static str = "levels";
    type Statistics = LevelsSeen;

    fn statistics(&self) -> LevelsSeen {
        LevelsSeen::default()
    }

    fn accumulate(&self, batch: &Batch<'_, T>, seen: &mut LevelsSeen) {
        for row in 0..batch.rows {
            if batch.weight(row) > 0.0 {
                batch.for_each_observed(row, |_, x| seen.add(x.to_f64() + 0.0));
            }
        }
    }
}

/// The levels of a scale, rising.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Levels(pub(crate) Vec<f64>);

impl Levels {
    /// Those that the cells of a source take; ten steps of equal width between the ends if they are many.
    pub(crate) fn of<T: Real>(source: &dyn Source<T>, context: &Context) -> Result<Self> {
        let LevelsSeen { values, least, most } = gather(source, context, &LevelsTask)?;
        if values.len() <= MOST_LEVELS {
            return Ok(Self(values));
        }
        let width = (most - least) / (STEPS - 1) as f64;
        Ok(Self((0..STEPS).map(|i| least + width * i as f64).collect()))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of the level nearest to a value, the lower of two.
    pub(crate) fn nearest(&self, x: f64) -> usize {
        let above = self.0.partition_point(|level| *level < x);
        if above == 0 {
            return 0;
        }
        if above == self.0.len() || x - self.0[above - 1] <= self.0[above] - x {
            return above - 1;
        }
        above
    }
}

/// Asks rows how often each level occurs in each column.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CountsTask {
    pub(crate) levels: Levels,
    pub(crate) columns: usize,
}

/// `[D, L]`: weights.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Counts(pub(crate) Vec<f64>);

impl Statistics for Counts {
    fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a += b);
    }

    fn reset(&mut self) {
        self.0.fill(0.0);
    }
}

impl<T: Real> RowTask<T> for CountsTask {
    const NAME: &'static str = "level counts";
    type Statistics = Counts;

    fn statistics(&self) -> Counts {
        Counts(vec![0.0; self.columns * self.levels.len()])
    }

    fn accumulate(&self, batch: &Batch<'_, T>, counts: &mut Counts) {
        let levels = self.levels.len();
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            batch.for_each_observed(row, |column, x| {
                counts.0[column * levels + self.levels.nearest(x.to_f64())] += weight;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_level_is_found() {
        let levels = Levels(vec![1.0, 2.0, 4.0]);
        let found: Vec<usize> =
            [-9.0, 1.0, 1.5, 1.6, 3.0, 3.1, 77.0].map(|x| levels.nearest(x)).to_vec();
        assert_eq!(found, [0, 0, 0, 1, 1, 2, 2]);
    }
}
