//! Learning from a source.

use mereo_core::math::Array;
use mereo_core::slots::Survey;
use mereo_core::{
    Absent, Batch, Block, Context, Error, Learned, Observer, Place, Plan, Real, Result, RowTask,
    Source, Statistics, Stop, Training, column_name, gather, learn,
};
use serde::{Deserialize, Serialize};

use super::GvqParams;
use super::binary::BinaryLearner;
use super::eye::UsageTask;
use super::learner::{GvqLearner, Units};
use super::model::Gvq;

mereo_core::fit_here! {
    /// Learns features. Distances are taken in the data's own units, so that a column of larger
    /// numbers has a larger say; standardise the columns first if they should not.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_quantize::{GvqParams, gvq};
    /// // Every sum of (1, 0) and (0, 3), above (5, 5).
    /// let rows = vec![5.0, 5.0, 6.0, 5.0, 5.0, 8.0, 6.0, 8.0];
    /// let table = Table::from(Dense::new(4, 2, rows)?);
    /// let (model, training) =
    ///     gvq::fit(&GvqParams::new(2), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// assert!(model.variance().is_some_and(|v| v < 1e-5));
    /// assert!(training.bound.is_finite());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(GvqParams) -> Gvq, by fit_as
}

fn fit_as<T: Real>(
    params: &GvqParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Gvq, Training)> {
    params.check()?;
    let columns = source.columns();
    params.check_columns(columns)?;
    params.association.check_rows(source.rows(), params.sets * params.features, columns)?;
    let survey = Survey::of(source, context)?;
    let (sets, n) = (params.sets, params.features);
    let (mut feature, mut origin) = (Vec::new(), Vec::new());
    let training = if let Some(beta) = params.beta {
        check_cells(source, context)?;
        let learner = BinaryLearner {
            params: params.clone(),
            facts: survey.facts(),
            beta,
            columns,
            scouting: false,
        };
        let start = |restart: usize| learner.start(source, restart, context);
        let Learned { state, training } = learn(&learner, start, source, plan, context, observer)?;
        for set in state.vectors().chunks_exact((n + 1) * columns) {
            origin.extend_from_slice(&set[..columns]);
            feature.extend_from_slice(&set[columns..]);
        }
        training
    } else {
        let learner = GvqLearner {
            params: params.clone(),
            units: Units::of(&survey),
            facts: survey.facts(),
            holes: has_holes(source, context)?,
            scouting: false,
        };
        let start = |restart: usize| learner.start(source, restart, context);
        let Learned { state, training } = learn(&learner, start, source, plan, context, observer)?;
        let (scale, centre) = (learner.units.scale.to_f64(), &learner.units.centre);
        feature.extend(state.feature.iter().map(|f| f * scale));
        let outward = |(i, o): (usize, &f64)| centre[i % columns].to_f64() + o * scale;
        origin.extend(state.origin.iter().enumerate().map(outward));
        training
    };
    let feature = Array::new([sets, n, columns], feature);
    let origin = Array::new([sets, columns], origin);
    let task = UsageTask { model: Gvq::new(feature, origin, params) };
    // Shares and noise are those of the features that were kept, also if somebody asked for a stop.
    let unstopped = context.clone().stopped_by(&Stop::default());
    let told = gather(source, &unstopped, &task)?;
    let reference = survey.reference.iter().sum::<f64>() / survey.reference.len() as f64;
    Ok((task.model.with_usage(&told, params.variance_floor * reference), training))
}

/// Asks rows whether they miss any cell.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HolesTask;

/// Whether some row does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Holes(bool);

impl Statistics for Holes {
    fn merge(&mut self, other: &Self) {
        self.0 |= other.0;
    }

    fn reset(&mut self) {
        self.0 = false;
    }
}

impl<T: Real> RowTask<T> for HolesTask {
    const NAME: &'static str = "holes";
    type Statistics = Holes;

    fn statistics(&self) -> Holes {
        Holes(false)
    }

    fn accumulate(&self, batch: &Batch<'_, T>, holes: &mut Holes) {
        holes.0 |= match batch.block {
            Block::Dense { complete: true, .. } => false,
            Block::Dense { values, .. } => values.iter().any(|v| v.is_missing()),
            Block::Sparse { absent, .. } => absent == Absent::Unobserved,
        };
    }
}

/// Whether a source misses any cell.
pub(crate) fn has_holes<T: Real>(source: &dyn Source<T>, context: &Context) -> Result<bool> {
    Ok(gather(source, context, &HolesTask)?.0)
}

/// Asks rows whether all cells are from 0 to 1.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BinaryTask;

/// Row, column and value of the first cell that is not.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NotBinary(Option<(usize, usize, f64)>);

impl Statistics for NotBinary {
    fn merge(&mut self, other: &Self) {
        self.0 = self.0.or(other.0);
    }

    fn reset(&mut self) {
        self.0 = None;
    }
}

impl<T: Real> RowTask<T> for BinaryTask {
    const NAME: &'static str = "binary cells";
    type Statistics = NotBinary;

    fn statistics(&self) -> NotBinary {
        NotBinary(None)
    }

    fn accumulate(&self, batch: &Batch<'_, T>, wrong: &mut NotBinary) {
        for row in 0..batch.rows {
            batch.for_each_observed(row, |c, x| {
                if wrong.0.is_none() && !(T::ZERO..=T::ONE).contains(&x) {
                    wrong.0 = Some((batch.first_row + row, c, x.to_f64()));
                }
            });
        }
    }
}

/// Complains about cells that are not from 0 to 1.
fn check_cells<T: Real>(source: &dyn Source<T>, context: &Context) -> Result<()> {
    let Some((row, column, value)) = gather(source, context, &BinaryTask)?.0 else {
        return Ok(());
    };
    Err(Error::found(
        Place::at_row(row).column(column_name(source.about().names.as_deref(), column)),
        value,
        "0, 1 or a number between them: the option binary is for binary data (the step scale-all may help)",
    ))
}
