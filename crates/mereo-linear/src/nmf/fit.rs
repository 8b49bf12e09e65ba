//! Learning from a source.

use mereo_core::slots::Survey;
use mereo_core::{
    Absent, Batch, Context, Error, Learned, Observer, Place, Plan, Real, Result, RowTask, Source,
    Statistics, Training, column_name, gather, learn,
};
use serde::{Deserialize, Serialize};

use super::learner::NmfLearner;
use super::{Nmf, NmfParams, starts};

/// Most codes that are remembered from pass to pass.
const REMEMBERED: usize = 1 << 28;

mereo_core::fit_here! {
    /// Learns a non-negative factorisation.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_linear::{NmfParams, nmf};
    /// // Sums of (1, 0, 1) and (0, 1, 0).
    /// let values = vec![1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 1.0, 3.0, 2.0, 2.0, f64::NAN];
    /// let table = Table::from(Dense::new(4, 3, values)?);
    /// let (model, training) =
    ///     nmf::fit(&NmfParams::new(2), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// assert!(model.component().iter().all(|w| *w >= 0.0));
    /// assert!(training.bound > -0.05);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(NmfParams) -> Nmf, by fit_as
}

fn fit_as<T: Real>(
    params: &NmfParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Nmf, Training)> {
    params.check()?;
    let (n, d) = (params.components, source.columns());
    params.check_columns(d)?;
    let survey = Survey::of(source, context)?;
    let (facts, moments) = (survey.facts(), survey.moments);
    refuse_negative(source, context)?;
    let cells: f64 = moments.weight.iter().sum();
    let sum: f64 = moments.weight.iter().zip(&moments.mean).map(|(n, m)| n * m).sum();
    let mean = if sum / cells > T::SMALLEST_SPREAD { sum / cells } else { 1.0 };
    let holes = match source.absent() {
        Some(Absent::Zero) => false,
        Some(Absent::Unobserved) => true,
        None => cells < moments.rows * d as f64 * (1.0 - 1e-12),
    };
    let remember = source.rows().checked_mul(n).is_some_and(|codes| codes <= REMEMBERED);
    let learner = NmfLearner::new(params, source, mean, holes, remember, facts);
    let start = |restart| starts::start(params, source, learner.inverse, restart, context);
    let Learned { state, training } = learn(&learner, start, source, plan, context, observer)?;
    // Components add up to 1, so that codes are in the data's units.
    let mut component = state.component;
    for w in component.chunks_exact_mut(d) {
        let sum: f64 = w.iter().sum();
        if sum > 0.0 {
            w.iter_mut().for_each(|w| *w /= sum);
        } else {
            w.fill(1.0 / d as f64);
        }
    }
    Ok((Nmf::new(component, d, params.loss), training))
}

/// Asks for the first negative cell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NegativeTask;

/// The first negative cell.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Negative(Option<(usize, usize, f64)>);

impl Statistics for Negative {
    fn merge(&mut self, other: &Self) {
        self.0 = self.0.or(other.0);
    }

    fn reset(&mut self) {
        self.0 = None;
    }
}

impl<T: Real> RowTask<T> for NegativeTask {
    const NAME: &'static str = "nmf negative cell";
    type Statistics = Negative;

    fn statistics(&self) -> Negative {
        Negative::default()
    }

    fn accumulate(&self, batch: &Batch<'_, T>, negative: &mut Negative) {
        let stored = match batch.block {
            mereo_core::Block::Dense { values, .. } | mereo_core::Block::Sparse { values, .. } => {
                values
            }
        };
        if negative.0.is_some() || !stored.iter().any(|x| *x < T::ZERO) {
            return;
        }
        for row in 0..batch.rows {
            batch.for_each_observed(row, |column, x| {
                if x < T::ZERO && negative.0.is_none() {
                    negative.0 = Some((batch.first_row + row, column, x.to_f64()));
                }
            });
        }
    }
}

fn refuse_negative<T: Real>(source: &dyn Source<T>, context: &Context) -> Result<()> {
    match gather(source, context, &NegativeTask)?.0 {
        None => Ok(()),
        Some((row, column, x)) => Err(Error::found(
            Place::at_row(row).column(column_name(source.about().names.as_deref(), column)),
            x,
            "a number of at least 0, since NMF only adds: prepare the data by scale:0,1 or choose \
             another model",
        )),
    }
}
