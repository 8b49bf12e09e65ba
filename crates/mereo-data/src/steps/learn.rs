//! Learning one step from data that has been through the steps before it.

use mereo_core::{Absent, Error, Real, Result, Source};

use super::row::Row;
use super::step::{Step, interpolate, row_mean, total};
use super::{StepKind, Steps, kind};

/// Ranks at which the mean histogram of the rows is kept.
const LEVELS: usize = 256;

pub(super) fn learn<T: Real>(
    kind: StepKind,
    before: &Steps,
    source: &dyn Source<T>,
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
    let step = match kind {
        StepKind::Scale { low, high } => {
            let ranges = ranges(before, source)?;
            let offset = ranges.iter().map(Range::offset).collect();
            let spread = ranges.iter().map(|r| divisor(r.length() / (high - low))).collect();
            Step::Scale { offset, spread, low }
        }
        StepKind::ScaleAll { low, high } => {
            let ranges = ranges(before, source)?;
            let range = ranges.into_iter().fold(Range::EMPTY, Range::merge);
            let spread = divisor(range.length() / (high - low));
            Step::ScaleAll { offset: range.offset(), spread, low }
        }
        StepKind::Standardise => {
            let moments = moments(before, source)?;
            let spread = moments.iter().map(|m| divisor(m.deviation())).collect();
            Step::Standardise { offset: moments.iter().map(|m| m.mean).collect(), spread }
        }
        StepKind::RemoveColumnMeans => {
            let offset = moments(before, source)?.iter().map(|m| m.mean).collect();
            Step::RemoveColumnMeans { offset }
        }
        StepKind::Equalise => Step::Equalise { levels: mean_histogram(before, source)? },
        StepKind::NormaliseCounts => {
            let mut mean = Moments::default();
            for_each_row(before, source, |row, weight| {
                let total = total(row)?;
                if total > 0.0 {
                    mean.add(total, weight);
                }
                Ok(())
            })?;
            Step::NormaliseCounts { mean_total: if mean.mean > 0.0 { mean.mean } else { 1.0 } }
        }
        StepKind::RemoveRowMeans => {
            let mut mean = Moments::default();
            for_each_row(before, source, |row, weight| {
                if let Some(of_row) = row_mean(row) {
                    mean.add(of_row, weight);
                }
                Ok(())
            })?;
            Step::RemoveRowMeans { mean: mean.mean }
        }
        StepKind::Log => Step::Log {},
    };
    step.check(columns).map_err(|problem| {
        Error::option("steps", format!("`{kind}` cannot be learned from this data: {problem}"))
    })?;
    Ok(step)
}

/// Visits every row that counts, after the steps before, with its weight.
fn for_each_row<T: Real>(
    before: &Steps,
    source: &dyn Source<T>,
    mut visit: impl FnMut(&Row<'_>, f64) -> Result<()>,
) -> Result<()> {
    let names = source.about().names.as_deref();
    let mut buffer = Vec::new();
    let mut lane = source.lane(0..source.batches())?;
    while let Some(batch) = lane.next_batch()? {
        for number in 0..batch.rows {
            let weight = batch.weight(number);
            if weight > 0.0 {
                let mut row = Row::load(&batch, number, names, &mut buffer);
                before.forward(&mut row)?;
                visit(&row, weight)?;
            }
        }
    }
    Ok(())
}

/// Weight, mean and sum of squared deviations, brought up to date with each value (Welford), so
/// that neither a large offset nor a large or small scale costs digits.
#[derive(Debug, Clone, Copy, Default)]
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

    fn deviation(&self) -> f64 {
        if self.weight > 0.0 { (self.squares / self.weight).max(0.0).sqrt() } else { 0.0 }
    }
}

fn moments<T: Real>(before: &Steps, source: &dyn Source<T>) -> Result<Vec<Moments>> {
    let mut moments = vec![Moments::default(); source.columns()];
    for_each_row(before, source, |row, weight| {
        row.observed().for_each(|(column, value)| moments[column].add(value, weight));
        Ok(())
    })?;
    Ok(moments)
}

/// The smallest and largest value seen.
#[derive(Debug, Clone, Copy)]
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

fn ranges<T: Real>(before: &Steps, source: &dyn Source<T>) -> Result<Vec<Range>> {
    // A range of counts starts at zero even in a column that happens to have none: otherwise it
    // would have to be shifted, and the zeros to come would no longer be zeros.
    let counts = source.absent() == Some(Absent::Zero);
    let start = if counts { Range { smallest: 0.0, largest: 0.0 } } else { Range::EMPTY };
    let mut ranges = vec![start; source.columns()];
    for_each_row(before, source, |row, _| {
        row.observed().for_each(|(column, value)| ranges[column].add(value));
        Ok(())
    })?;
    Ok(ranges)
}

/// The values at evenly spaced ranks, averaged over the rows.
fn mean_histogram<T: Real>(before: &Steps, source: &dyn Source<T>) -> Result<Vec<f64>> {
    let rank = |level: usize| level as f64 / (LEVELS - 1) as f64;
    let mut levels = vec![Moments::default(); LEVELS];
    let mut sorted = Vec::new();
    for_each_row(before, source, |row, weight| {
        sorted.clear();
        sorted.extend(row.observed().map(|(_, value)| value));
        sorted.sort_unstable_by(f64::total_cmp);
        if !sorted.is_empty() {
            for (level, mean) in levels.iter_mut().enumerate() {
                mean.add(interpolate(&sorted, rank(level)), weight);
            }
        }
        Ok(())
    })?;
    if levels[0].weight == 0.0 {
        return Ok((0..LEVELS).map(rank).collect());
    }
    // Means of rising values rise but for rounding.
    let rising = levels.iter().scan(f64::NEG_INFINITY, |highest, level| {
        *highest = level.mean.max(*highest);
        Some(*highest)
    });
    Ok(rising.collect())
}
