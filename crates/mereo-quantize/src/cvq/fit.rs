//! Learning from a source.

use mereo_core::slots::Survey;
use mereo_core::{Context, Learned, Observer, Plan, Real, Result, Source, Training, learn};

use super::learner::CvqLearner;
use super::{Cvq, CvqParams};
use crate::gvq::{Units, has_holes};

mereo_core::fit_here! {
    /// Learns codebooks whose vectors add up to rows, in the data's own units.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_quantize::{CvqParams, cvq};
    /// let rows = vec![5.0, 5.0, 6.0, 5.0, 5.0, 8.0, 6.0, 8.0];
    /// let table = Table::from(Dense::new(4, 2, rows)?);
    /// let plan = Plan { restarts: 5, ..Plan::default() };
    /// let (model, _) =
    ///     cvq::fit(&CvqParams::new(2, 2), &table, &plan, &Context::new(0), &mut Silent)?;
    /// assert!(model.variance() < 0.01);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(CvqParams) -> Cvq, by fit_as
}

fn fit_as<T: Real>(
    params: &CvqParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Cvq, Training)> {
    params.check()?;
    let holes = has_holes(source, context)?;
    let columns = source.columns();
    params.check_columns(columns, holes)?;
    let survey = Survey::of(source, context)?;
    let learner = CvqLearner {
        params: params.clone(),
        units: Units::of(&survey),
        facts: survey.facts(),
        holes,
    };
    let start = |restart: usize| learner.start(source, restart, context);
    let Learned { state, training } = learn(&learner, start, source, plan, context, observer)?;
    let (scale, centre) = (learner.units.scale.to_f64(), &learner.units.centre);
    // The centre is everybody's: each part gets its share.
    let share = 1.0 / params.parts as f64;
    let outward = |(i, m): (usize, &f64)| share * centre[i % columns].to_f64() + m * scale;
    let mean = state.mean.iter().enumerate().map(outward).collect();
    let mut prior = state.prior;
    for part in prior.chunks_exact_mut(params.states) {
        let sum: f64 = part.iter().sum();
        part.iter_mut().for_each(|b| *b /= sum);
    }
    let variance = state.variance * scale * scale;
    Ok((Cvq::new(params.parts, mean, prior, variance, params.inference), training))
}
