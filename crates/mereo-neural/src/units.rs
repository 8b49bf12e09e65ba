//! Rows as networks see them: cells less the column's mean, in units of a spread; 0 where one is missing.
//!
//! A picture's pixels share one spread, the root of their mean variance, for a pixel that is almost always
//! black must not be blown up; columns of a table have one each. Cells from 0 to 1 that cross-entropy is to
//! be made small of keep their unit.
//!
//! Noise is drawn by what a row *is*, not where it stands: from the seed, the pass and a digest of its cells
//! in these units, rounded. So a row of weight 2 is the row twice, a row alone is as among others, and an
//! offset added to a column changes nothing.

use mereo_core::math::widest;
use mereo_core::slots::Survey;
use mereo_core::{
    Batch, Block, Context, Error, ModelFile, Place, Random, Real, Result, RowTask, Source,
    Statistics, Tensor, column_name, gather,
};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Steps of a unit that digests tell apart.
const FINE: f64 = 256.0;

/// Where each column's cells are measured from, and in which unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Units {
    pub(crate) centre: Vec<f64>,
    pub(crate) scale: Vec<f64>,
}

/// Rows in these units, lent out.
#[derive(Debug, Default)]
pub(crate) struct Cells<T> {
    /// Cells, NaN where one is missing.
    pub(crate) values: Vec<T>,
    /// What a network is given: 0 where a cell is missing.
    pub(crate) inputs: Vec<T>,
    /// Digests of the rows.
    pub(crate) keys: Vec<u64>,
    /// Whether no cell is missing.
    pub(crate) complete: bool,
    rounded: Vec<i32>,
    row: Vec<T>,
}

impl Units {
    pub(crate) fn of<T: Real>(survey: &Survey<T>, shared: bool, plain: bool) -> Self {
        let centre = survey.moments.mean.clone();
        let scale = if plain {
            vec![1.0; centre.len()]
        } else if shared {
            let weights = &survey.moments.weight;
            let all: f64 = weights.iter().sum();
            let mean = weights
                .iter()
                .enumerate()
                .map(|(d, w)| survey.moments.variance(d) * w / all)
                .sum::<f64>();
            let spread = if mean > 0.0 { mean } else { survey.reference[0] }.sqrt();
            vec![spread.max(T::SMALLEST_SPREAD); centre.len()]
        } else {
            survey.reference.iter().map(|v| v.sqrt()).collect()
        };
        Self { centre, scale }
    }

    pub(crate) fn columns(&self) -> usize {
        self.centre.len()
    }

    pub(crate) fn take(file: &mut ModelFile, path: &std::path::Path) -> Result<Self> {
        let columns = file.get("centre").map_or(1, |tensor| tensor.values.len());
        let centre = file.take_means("centre", &[columns], path)?;
        let scale = file.take_variances("scale", &[columns], path)?;
        Ok(Self { centre, scale })
    }

    pub(crate) fn put(&self, file: &mut ModelFile) {
        file.insert("centre", Tensor::new(vec![self.columns()], self.centre.clone()));
        file.insert("scale", Tensor::new(vec![self.columns()], self.scale.clone()));
    }

    /// Rows of a batch in these units.
    pub(crate) fn write<T: Real>(&self, batch: &Batch<'_, T>, cells: &mut Cells<T>) {
        let d = self.columns();
        cells.values.resize(batch.rows * d, T::ZERO);
        cells.inputs.resize(batch.rows * d, T::ZERO);
        cells.row.resize(d, T::ZERO);
        cells.rounded.resize(d, 0);
        cells.keys.clear();
        cells.complete = true;
        let farthest = T::FARTHEST.to_f64();
        let least = 1.0 / T::SMALLEST_SPREAD;
        for row in 0..batch.rows {
            let own = match batch.block {
                Block::Dense { values, .. } => &values[row * d..(row + 1) * d],
                Block::Sparse { .. } => {
                    batch.dense_row(row, &mut cells.row);
                    &cells.row
                }
            };
            let values = &mut cells.values[row * d..(row + 1) * d];
            let inputs = &mut cells.inputs[row * d..(row + 1) * d];
            let rounded = &mut cells.rounded[..d];
            let mut missing = 0u32;
            widest(
                #[inline(always)]
                || {
                    for c in 0..d {
                        let x = own[c].to_f64();
                        let unit = ((x - self.centre[c]) / self.scale[c].max(1.0 / least))
                            .clamp(-farthest, farthest);
                        let seen = !own[c].is_missing();
                        values[c] = T::from_f64(unit);
                        inputs[c] = if seen { values[c] } else { T::ZERO };
                        rounded[c] = if seen { (unit * FINE).round() as i32 } else { i32::MIN };
                        missing += u32::from(!seen);
                    }
                },
            );
            cells.complete &= missing == 0;
            cells.keys.push(xxh3_64(bytemuck::cast_slice(rounded)));
        }
    }

    /// Rows in these units back in the data's.
    pub(crate) fn outward<T: Real>(&self, values: &mut [T]) {
        for row in values.chunks_exact_mut(self.columns().max(1)) {
            for (c, x) in row.iter_mut().enumerate() {
                let value = self.centre[c] + self.scale[c] * x.to_f64();
                *x = T::from_f64(value.clamp(-T::LARGEST, T::LARGEST));
            }
        }
    }
}

/// The random numbers of a row: by its digest, a purpose and a number.
pub(crate) fn random_of(context: &Context, purpose: &str, key: u64, number: u64) -> Random {
    context.random(purpose, [key, number])
}

/// Asks for the smallest and largest cell, and the first that is no 0 or 1, or not between them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RangeTask;

/// The range of all cells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Range {
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// The first cell outside of 0 to 1: row, column, value.
    outside: Option<(usize, usize, f64)>,
    /// The first cell that is neither 0 nor 1.
    grey: Option<(usize, usize, f64)>,
}

impl Statistics for Range {
    fn merge(&mut self, other: &Self) {
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.outside = self.outside.or(other.outside);
        self.grey = self.grey.or(other.grey);
    }

    fn reset(&mut self) {
        *self = Self { least: f64::INFINITY, most: f64::NEG_INFINITY, outside: None, grey: None };
    }
}

impl<T: Real> RowTask<T> for RangeTask {
    const NAME: &'static str = "range of cells";
    type Statistics = Range;

    fn statistics(&self) -> Range {
        Range { least: f64::INFINITY, most: f64::NEG_INFINITY, outside: None, grey: None }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, range: &mut Range) {
        for row in 0..batch.rows {
            batch.for_each_observed(row, |column, x| {
                let x = x.to_f64();
                range.least = range.least.min(x);
                range.most = range.most.max(x);
                if range.grey.is_none() && x != 0.0 && x != 1.0 {
                    range.grey = Some((batch.first_row + row, column, x));
                }
                if range.outside.is_none() && !(0.0..=1.0).contains(&x) {
                    range.outside = Some((batch.first_row + row, column, x));
                }
            });
        }
    }
}

impl Range {
    pub(crate) fn of<T: Real>(source: &dyn Source<T>, context: &Context) -> Result<Self> {
        gather(source, context, &RangeTask)
    }

    /// Complains about the first cell that is not from 0 to 1.
    pub(crate) fn check_unit<T: Real>(&self, source: &dyn Source<T>) -> Result<()> {
        refuse(
            source,
            self.outside,
            "a number from 0 to 1: prepare the data by scale-all:0,1 or choose the squared error or a Gaussian",
        )
    }

    /// Complains about the first cell that is neither 0 nor 1.
    pub(crate) fn check_binary<T: Real>(&self, source: &dyn Source<T>) -> Result<()> {
        refuse(
            source,
            self.grey,
            "0 or 1, for a Bernoulli gives grey no density: say --binarise to take cells from 0 to 1 as \
             chances and draw them, or choose --decoder-kind gaussian",
        )
    }
}

fn refuse<T: Real>(
    source: &dyn Source<T>,
    found: Option<(usize, usize, f64)>,
    expected: &str,
) -> Result<()> {
    match found {
        None => Ok(()),
        Some((row, column, x)) => {
            let name = column_name(source.about().names.as_deref(), column);
            Err(Error::found(Place::at_row(row).column(name), x, expected))
        }
    }
}
