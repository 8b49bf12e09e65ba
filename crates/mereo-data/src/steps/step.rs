//! One learned step: forwards, backwards, and what it does to a density.

use mereo_core::Result;
use serde::{Deserialize, Serialize};

use super::row::Row;

/// Magnitudes in stored steps stay within these, so that no step by itself overflows.
const LARGEST: f64 = 1e150;
const SMALLEST: f64 = 1e-150;
/// Intermediate results on the way back are kept within this, so that nothing becomes infinite
/// and then, times zero, not a number.
const BACK: f64 = 1e300;

/// Cells of nothing in particular that a row's or a column's own are taken together with, in `remove-means`.
pub(super) const DRAWN: f64 = 5.0;

/// What was learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Step {
    Scale {
        offset: Vec<f64>,
        spread: Vec<f64>,
        low: f64,
    },
    ScaleAll {
        offset: f64,
        spread: f64,
        low: f64,
    },
    Standardise {
        offset: Vec<f64>,
        spread: Vec<f64>,
    },
    RemoveColumnMeans {
        offset: Vec<f64>,
    },
    /// The mean histogram of the rows: the value at each of so many evenly spaced ranks.
    Equalise {
        levels: Vec<f64>,
    },
    NormaliseCounts {
        mean_total: f64,
    },
    RemoveRowMeans {
        mean: f64,
    },
    /// What each column is like, drawn towards all, then what the row is like, drawn towards 0.
    RemoveMeans {
        offset: Vec<f64>,
    },
    Log {},
}

/// A number for each column, or the same for all.
#[derive(Clone, Copy)]
enum PerColumn<'a> {
    Each(&'a [f64]),
    All(f64),
}

impl PerColumn<'_> {
    fn at(&self, column: usize) -> f64 {
        match self {
            Self::Each(numbers) => numbers[column],
            Self::All(number) => *number,
        }
    }

    fn all(&self, test: impl Fn(f64) -> bool) -> bool {
        match self {
            Self::Each(numbers) => numbers.iter().all(|&n| test(n)),
            Self::All(number) => test(*number),
        }
    }
}

impl Step {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Scale { .. } => "scale",
            Self::ScaleAll { .. } => "scale-all",
            Self::Standardise { .. } => "standardise",
            Self::RemoveColumnMeans { .. } => "remove-column-means",
            Self::Equalise { .. } => "equalise",
            Self::NormaliseCounts { .. } => "normalise-counts",
            Self::RemoveRowMeans { .. } => "remove-row-means",
            Self::RemoveMeans { .. } => "remove-means",
            Self::Log {} => "log",
        }
    }

    /// Offset, spread and low end of the steps `z = (x - offset) / spread + low`.
    fn affine(&self) -> Option<(PerColumn<'_>, PerColumn<'_>, f64)> {
        use PerColumn::{All, Each};
        match self {
            Self::Scale { offset, spread, low } => Some((Each(offset), Each(spread), *low)),
            Self::ScaleAll { offset, spread, low } => Some((All(*offset), All(*spread), *low)),
            Self::Standardise { offset, spread } => Some((Each(offset), Each(spread), 0.0)),
            Self::RemoveColumnMeans { offset } => Some((Each(offset), All(1.0), 0.0)),
            _ => None,
        }
    }

    /// Says what is wrong with a stored step.
    pub(super) fn check(&self, columns: usize) -> std::result::Result<(), String> {
        let sound = |n: f64| n.abs() <= LARGEST;
        let positive = |n: f64| (SMALLEST..=LARGEST).contains(&n);
        if let Some((offset, spread, low)) = self.affine() {
            for numbers in [offset, spread] {
                if let PerColumn::Each(numbers) = numbers
                    && numbers.len() != columns
                {
                    return Err(format!("{} numbers for {columns} columns", numbers.len()));
                }
            }
            if !(offset.all(sound) && sound(low)) {
                return Err(format!("an offset beyond {LARGEST:e}"));
            }
            if !spread.all(positive) {
                return Err(format!("a spread not between {SMALLEST:e} and {LARGEST:e}"));
            }
            return Ok(());
        }
        match self {
            Self::Equalise { levels } if levels.len() < 2 => Err("less than two levels".to_owned()),
            Self::Equalise { levels } if !levels.iter().all(|&l| sound(l)) => {
                Err(format!("a level beyond {LARGEST:e}"))
            }
            Self::Equalise { levels } if !levels.is_sorted() => Err("levels that fall".to_owned()),
            Self::NormaliseCounts { mean_total } if !positive(*mean_total) => {
                Err(format!("a mean total of {mean_total}"))
            }
            Self::RemoveRowMeans { mean } if !sound(*mean) => Err(format!("a mean of {mean}")),
            Self::RemoveMeans { offset } if offset.len() != columns => {
                Err(format!("{} numbers for {columns} columns", offset.len()))
            }
            Self::RemoveMeans { offset } if !offset.iter().all(|&o| sound(o)) => {
                Err(format!("an offset beyond {LARGEST:e}"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a zero stays a zero.
    pub(super) fn keeps_zero(&self) -> bool {
        match self {
            Self::Log {} | Self::NormaliseCounts { .. } => true,
            _ => {
                self.affine().is_some_and(|(offset, _, low)| offset.all(|o| o == 0.0) && low == 0.0)
            }
        }
    }

    pub(super) fn has_density(&self) -> bool {
        self.affine().is_some() || matches!(self, Self::Log {} | Self::RemoveMeans { .. })
    }

    /// The mean over the data learned from of the fact that undoing needs about each row, if it
    /// needs one.
    pub(super) fn mean_fact(&self) -> Option<f64> {
        match self {
            Self::NormaliseCounts { mean_total } => Some(*mean_total),
            Self::RemoveRowMeans { mean } => Some(*mean),
            Self::RemoveMeans { .. } => Some(0.0),
            _ => None,
        }
    }

    /// Takes a row forwards and returns the fact about it that undoing needs, if any.
    pub(super) fn forward(&self, row: &mut Row<'_>) -> Result<Option<f64>> {
        if let Some((offset, spread, low)) = self.affine() {
            for at in 0..row.values.len() {
                let column = row.column(at);
                let value = &mut row.values[at];
                *value = (*value - offset.at(column)) / spread.at(column) + low;
            }
            return Ok(None);
        }
        match self {
            Self::Equalise { .. } => equalise(row.values),
            Self::NormaliseCounts { mean_total } => {
                let total = total(row)?;
                if total > 0.0 {
                    row.values.iter_mut().for_each(|v| *v *= mean_total / total);
                }
                return Ok(Some(if row.is_known() { total } else { *mean_total }));
            }
            Self::RemoveRowMeans { mean } => {
                let mean = row_mean(row).unwrap_or(*mean);
                row.values.iter_mut().for_each(|v| *v -= mean);
                return Ok(Some(mean));
            }
            Self::RemoveMeans { offset } => {
                let (sum, count) = row
                    .observed()
                    .fold((0.0, 0.0), |(s, n), (column, v)| (s + (v - offset[column]), n + 1.0));
                let bias = sum / (count + DRAWN);
                for at in 0..row.values.len() {
                    let column = row.column(at);
                    row.values[at] -= offset[column] + bias;
                }
                return Ok(Some(bias));
            }
            _ => {
                if let Some(at) = row.values.iter().position(|v| *v <= -1.0) {
                    return Err(row.complain(at, "a value above -1, for `log` is log(1 + x)"));
                }
                row.values.iter_mut().for_each(|v| *v = v.ln_1p());
            }
        }
        Ok(None)
    }

    /// Takes a full row backwards, given the fact about it if one is needed.
    pub(super) fn undo(&self, values: &mut [f64], fact: Option<f64>) {
        let undo = |column: usize, z: f64| -> f64 {
            match self {
                Self::Equalise { levels } => interpolate(levels, z),
                Self::NormaliseCounts { mean_total } => {
                    z * (fact.unwrap_or(*mean_total) / mean_total)
                }
                Self::RemoveRowMeans { mean } => z + fact.unwrap_or(*mean),
                Self::RemoveMeans { offset } => z + offset[column] + fact.unwrap_or(0.0),
                Self::Log {} => z.exp_m1(),
                _ => self.affine().map_or(z, |(offset, spread, low)| {
                    (z - low) * spread.at(column) + offset.at(column)
                }),
            }
        };
        for (column, value) in values.iter_mut().enumerate() {
            *value = undo(column, *value).clamp(-BACK, BACK);
        }
    }

    /// `log |dz/dx|` of each column, or once if it is the same for all, where it does not depend
    /// on `x`: for [`log_volume`](Self::log_volume), so that it is not found anew for each row.
    pub(super) fn log_spreads(&self) -> Vec<f64> {
        match self.affine() {
            Some((_, PerColumn::Each(spread), _)) => spread.iter().map(|s| -s.ln()).collect(),
            Some((_, PerColumn::All(spread), _)) => vec![-spread.ln()],
            None => Vec::new(),
        }
    }

    /// The sum over observed cells of `log |dz/dx|`, for the row before this step.
    pub(super) fn log_volume(&self, row: &Row<'_>, log_spreads: &[f64], columns: usize) -> f64 {
        let of_column = |column: usize| match log_spreads {
            [same] => *same,
            each => each[column],
        };
        if matches!(self, Self::Log {}) {
            // A zero that is not stored adds nothing.
            return -row.observed().map(|(_, x)| x.ln_1p()).sum::<f64>();
        }
        if matches!(self, Self::RemoveMeans { .. }) {
            // z = y - 1 (1ᵀy)/(n + drawn), y being x less its offsets: the determinant of I - 11ᵀ/(n + drawn).
            return (DRAWN / (row.observed().count() as f64 + DRAWN)).ln();
        }
        if row.zeros {
            return (0..columns).map(of_column).sum();
        }
        row.observed().map(|(column, _)| of_column(column)).sum()
    }
}

/// The sum of a row's counts.
pub(super) fn total(row: &Row<'_>) -> Result<f64> {
    if let Some(at) = row.values.iter().position(|v| *v < 0.0) {
        return Err(row.complain(at, "a count of at least 0, for `normalise-counts`"));
    }
    Ok(row.observed().map(|(_, v)| v).sum())
}

/// The mean of a row's observed cells.
pub(super) fn row_mean(row: &Row<'_>) -> Option<f64> {
    let mut observed = row.observed().map(|(_, v)| v);
    // Shifted by one of the values, so that a large offset costs no digits.
    let first = observed.next()?;
    let (sum, count) = observed.fold((0.0, 1.0), |(s, n), v| (s + (v - first), n + 1.0));
    Some(first + sum / count)
}

/// The value at this rank between 0 and 1, on the line through evenly spaced levels.
pub(super) fn interpolate(levels: &[f64], rank: f64) -> f64 {
    if rank.is_nan() || levels.is_empty() {
        return rank;
    }
    let place = rank.clamp(0.0, 1.0) * (levels.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(levels.len() - 1);
    levels[below] + (place - below as f64) * (levels[above] - levels[below])
}

/// Replaces values by their ranks, from 0 for the smallest to 1 for the largest; equal values
/// share the mean of their ranks.
fn equalise(values: &mut [f64]) {
    let cells = values.iter().copied().enumerate();
    let mut order: Vec<(f64, usize)> =
        cells.filter(|(_, v)| !v.is_nan()).map(|(at, v)| (v, at)).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let last = order.len().saturating_sub(1) as f64;
    let mut start = 0;
    while let Some(&(value, _)) = order.get(start) {
        let equal = order[start..].iter().take_while(|(v, _)| *v == value).count();
        let rank = (start as f64 + (equal - 1) as f64 / 2.0) / last;
        // A row of one value has no order.
        let rank = if last == 0.0 { 0.5 } else { rank };
        order[start..start + equal].iter().for_each(|&(_, at)| values[at] = rank);
        start += equal;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_shared_by_equal_values() {
        let mut values = [5.0, 1.0, f64::NAN, 1.0, -0.0, 0.0];
        equalise(&mut values);
        assert_eq!(values[..2], [1.0, 0.625]);
        assert!(values[2].is_nan());
        assert_eq!(values[3..], [0.625, 0.125, 0.125]);
        let mut same = [3.0; 4];
        equalise(&mut same);
        assert_eq!(same, [0.5; 4]);
        equalise(&mut []);
    }

    #[test]
    fn interpolation_goes_through_the_levels() {
        let levels = [1.0, 2.0, 10.0];
        let at = |rank| interpolate(&levels, rank);
        assert_eq!(
            [at(-1.0), at(0.0), at(0.25), at(0.5), at(1.0), at(7.0)],
            [1.0, 1.0, 1.5, 2.0, 10.0, 10.0]
        );
        assert!(at(f64::NAN).is_nan());
    }
}
