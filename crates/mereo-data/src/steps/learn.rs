//! Learning one step from data that has been through the steps before it.

use mereo_core::{
    Absent, Batch, Context, Error, Place, Real, Result, RowTask, Source, Statistics, gather,
};
use serde::{Deserialize, Serialize};

use super::row::Row;
use super::step::{DRAWN, Step, interpolate, row_mean, total};
use super::{StepKind, Steps, kind};

/// Ranks at which the mean histogram of the rows is kept.
const LEVELS: usize = 256;

pub(super) fn learn<T: Real>(
    kind: StepKind,
    before: &Steps,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Step> {
    let kind = kind.check()?;
    let columns = source.columns();
    let counts = source.absent() == Some(Absent::Zero);
    let centres = matches!(
        kind,
        StepKind::Standardise
            | StepKind::Equalise
            | StepKind::RemoveRowMeans
            | StepKind::RemoveColumnMeans
    );
    if counts && centres {
        return Err(kind::would_fill(&kind.to_string()));
    }
    // A column that does not vary is divided by 1.
    let divisor = |spread: f64| if spread > T::SMALLEST_SPREAD { spread } else { 1.0 };
    let ask = |of: Ask| -> Result<StepStatistics> {
        let task = StepTask {
            before: before.clone(),
            of,
            columns,
            counts,
            names: source.about().names.clone(),
        };
        let found = gather(source, context, &task)?;
        match found.failed {
            Some(Failed { place, found, expected, .. }) => {
                Err(Error::found(place, found, expected))
            }
            None => Ok(found),
        }
    };
    let step = match kind {
        StepKind::Scale { low, high } => {
            let ranges = ask(Ask::Ranges)?.ranges;
            let offset = ranges.iter().map(Range::offset).collect();
            let spread = ranges.iter().map(|r| divisor(r.length() / (high - low))).collect();
            Step::Scale { offset, spread, low }
        }
        StepKind::ScaleAll { low, high } => {
            let ranges = ask(Ask::Ranges)?.ranges;
            let range = ranges.into_iter().fold(Range::EMPTY, Range::merge);
            let spread = divisor(range.length() / (high - low));
            Step::ScaleAll { offset: range.offset(), spread, low }
        }
        StepKind::Standardise => {
            let moments = ask(Ask::ColumnMoments)?.moments;
            let spread = moments.iter().map(|m| divisor(m.deviation())).collect();
            Step::Standardise { offset: moments.iter().map(|m| m.mean).collect(), spread }
        }
        StepKind::RemoveColumnMeans => {
            let offset = ask(Ask::ColumnMoments)?.moments.iter().map(|m| m.mean).collect();
            Step::RemoveColumnMeans { offset }
        }
        StepKind::Equalise => Step::Equalise { levels: mean_histogram(&ask(Ask::Levels)?.moments) },
        StepKind::NormaliseCounts => {
            let mean = ask(Ask::RowTotals)?.moments[0].mean;
            Step::NormaliseCounts { mean_total: if mean > 0.0 { mean } else { 1.0 } }
        }
        StepKind::RemoveRowMeans => {
            Step::RemoveRowMeans { mean: ask(Ask::RowMeans)?.moments[0].mean }
        }
        StepKind::RemoveMeans => {
            let moments = ask(Ask::ColumnMoments)?.moments;
            let cells = moments.iter().fold(Moments::default(), |mut all, own| {
                all.merge(own);
                all
            });
            let drawn = |own: &Moments| {
                cells.mean + (own.mean - cells.mean) * (own.weight / (own.weight + DRAWN))
            };
            Step::RemoveMeans { offset: moments.iter().map(drawn).collect() }
        }
        StepKind::Log => Step::Log {},
    };
    step.check(columns).map_err(|problem| {
        Error::option("steps", format!("`{kind}` cannot be learned from this data: {problem}"))
    })?;
    Ok(step)
}

/// What a step wants to know of rows that have been through the steps before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Ask {
    /// The smallest and largest value of every column.
    Ranges,
    /// Mean and spread of every column.
    ColumnMoments,
    /// Mean of the rows' totals.
    RowTotals,
    /// Mean of the rows' means.
    RowMeans,
    /// Mean of the rows' values at evenly spaced ranks.
    Levels,
}

/// Asks rows for what one step learns.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StepTask {
    #[serde(with = "as_text")]
    before: Steps,
    of: Ask,
    columns: usize,
    /// Whether cells that are not stored are zeros.
    counts: bool,
    names: Option<Vec<String>>,
}

/// Steps travel as model files keep them.
mod as_text {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Steps;

    pub(super) fn serialize<S: Serializer>(steps: &Steps, to: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(steps).map_err(S::Error::custom)?;
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Steps, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// What rows answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StepStatistics {
    moments: Vec<Moments>,
    ranges: Vec<Range>,
    /// What ranges are before any row.
    start: Range,
    failed: Option<Failed>,
    #[serde(skip)]
    buffer: Vec<f64>,
}

/// The first row that a step cannot do anything with.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Failed {
    row: usize,
    place: Place,
    found: String,
    expected: String,
}

impl Statistics for StepStatistics {
    fn merge(&mut self, other: &Self) {
        self.moments.iter_mut().zip(&other.moments).for_each(|(a, b)| a.merge(b));
        self.ranges.iter_mut().zip(&other.ranges).for_each(|(a, b)| *a = a.merge(*b));
        if let Some(theirs) = &other.failed
            && self.failed.as_ref().is_none_or(|own| theirs.row < own.row)
        {
            self.failed = Some(theirs.clone());
        }
    }

    fn reset(&mut self) {
        self.moments.fill(Moments::default());
        self.ranges.fill(self.start);
        self.failed = None;
    }
}

impl<T: Real> RowTask<T> for StepTask {
    const NAME: &'static str = "step";
    type Statistics = StepStatistics;

    fn statistics(&self) -> StepStatistics {
        let moments = match self.of {
            Ask::Ranges => 0,
            Ask::ColumnMoments => self.columns,
            Ask::RowTotals | Ask::RowMeans => 1,
            Ask::Levels => LEVELS,
        };
        // A range of counts starts at zero even in a column that happens to have none: otherwise it
        // would have to be shifted, and the zeros to come would no longer be zeros.
        let start = if self.counts { Range { smallest: 0.0, largest: 0.0 } } else { Range::EMPTY };
        StepStatistics {
            moments: vec![Moments::default(); moments],
            ranges: if self.of == Ask::Ranges { vec![start; self.columns] } else { Vec::new() },
            start,
            failed: None,
            buffer: Vec::new(),
        }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, found: &mut StepStatistics) {
        let mut cells = Vec::new();
        for number in 0..batch.rows {
            let weight = batch.weight(number);
            if !(weight > 0.0) || found.failed.is_some() {
                continue;
            }
            let mut row = Row::load(batch, number, self.names.as_deref(), &mut cells);
            let told = self.before.forward(&mut row).and_then(|_| self.tell(&row, weight, found));
            if let Err(Error::Data { place, found: what, expected }) = told {
                let row = batch.first_row + number;
                found.failed = Some(Failed { row, place, found: what, expected });
            }
        }
    }
}

impl StepTask {
    /// Adds what a row tells.
    fn tell(&self, row: &Row<'_>, weight: f64, found: &mut StepStatistics) -> Result<()> {
        match self.of {
            Ask::Ranges => {
                row.observed().for_each(|(column, value)| found.ranges[column].add(value));
            }
            Ask::ColumnMoments => {
                let moments = &mut found.moments;
                row.observed().for_each(|(column, value)| moments[column].add(value, weight));
            }
            Ask::RowTotals => {
                let total = total(row)?;
                if total > 0.0 {
                    found.moments[0].add(total, weight);
                }
            }
            Ask::RowMeans => {
                if let Some(of_row) = row_mean(row) {
                    found.moments[0].add(of_row, weight);
                }
            }
            Ask::Levels => {
                let sorted = &mut found.buffer;
                sorted.clear();
                sorted.extend(row.observed().map(|(_, value)| value));
                sorted.sort_unstable_by(f64::total_cmp);
                if !sorted.is_empty() {
                    for (level, mean) in found.moments.iter_mut().enumerate() {
                        mean.add(interpolate(sorted, rank(level)), weight);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Weight, mean and sum of squared deviations, brought up to date with each value (Welford), so
/// that neither a large offset nor a large or small scale costs digits.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Moments {
    weight: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64, weight: f64) {
        self.weight += weight;
        let before = value - self.mean;
        self.mean += before * (weight / self.weight);
        self.squares += weight * before * (value - self.mean);
    }

    /// Two sets of values together (Chan, Golub and `LeVeque`).
    fn merge(&mut self, other: &Self) {
        if other.weight > 0.0 {
            let weight = self.weight + other.weight;
            let apart = other.mean - self.mean;
            self.mean += apart * (other.weight / weight);
            self.squares += other.squares + apart * apart * (self.weight * other.weight / weight);
            self.weight = weight;
        }
    }

    fn deviation(&self) -> f64 {
        if self.weight > 0.0 { (self.squares / self.weight).max(0.0).sqrt() } else { 0.0 }
    }
}

/// The smallest and largest value seen.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Range {
    smallest: f64,
    largest: f64,
}

impl Range {
    const EMPTY: Self = Self { smallest: f64::INFINITY, largest: f64::NEG_INFINITY };

    fn add(&mut self, value: f64) {
        self.smallest = self.smallest.min(value);
        self.largest = self.largest.max(value);
    }

    fn merge(self, other: Self) -> Self {
        Self {
            smallest: self.smallest.min(other.smallest),
            largest: self.largest.max(other.largest),
        }
    }

    /// The smallest value, or 0 if there was none.
    fn offset(&self) -> f64 {
        if self.smallest.is_finite() { self.smallest } else { 0.0 }
    }

    fn length(&self) -> f64 {
        (self.largest - self.smallest).max(0.0)
    }
}

/// The share of values below a level.
fn rank(level: usize) -> f64 {
    level as f64 / (LEVELS - 1) as f64
}

/// The values at evenly spaced ranks, averaged over the rows.
fn mean_histogram(levels: &[Moments]) -> Vec<f64> {
    if levels[0].weight == 0.0 {
        return (0..LEVELS).map(rank).collect();
    }
    // Means of rising values rise but for rounding.
    let rising = levels.iter().scan(f64::NEG_INFINITY, |highest, level| {
        *highest = level.mean.max(*highest);
        Some(*highest)
    });
    rising.collect()
}
