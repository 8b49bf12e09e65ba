//! Learning from a source.

use mereo_core::slots::Survey;
use mereo_core::{Context, Learned, Observer, Plan, Real, Result, Source, Training, learn};

use super::{Student, StudentParams};
use crate::full::{MixtureLearner, Shape, in_data_units};

mereo_core::fit_here! {
    /// Learns a mixture of Student's t distributions.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_mixture::{StudentParams, student};
    /// // A row that is far out hardly moves the mean.
    /// let values = vec![0.0, 0.1, -0.1, 0.2, -0.2, 0.1, -0.1, 0.0, 50.0];
    /// let table = Table::from(Dense::new(9, 1, values)?);
    /// let (params, plan) = (StudentParams::new(1), Plan::default());
    /// let (model, _) = student::fit(&params, &table, &plan, &Context::new(0), &mut Silent)?;
    /// assert!(model.mean()[0].abs() < 0.2 && model.degrees()[0] < 2.0);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(StudentParams) -> Student, by fit_as
}

fn fit_as<T: Real>(
    params: &StudentParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Student, Training)> {
    params.check()?;
    params.check_columns(source.columns())?;
    let survey = Survey::of(source, context)?;
    let learner = MixtureLearner {
        components: params.components,
        shape: Shape::Full,
        hard: false,
        tails: true,
        floor: params.variance_floor,
        shrinkage: 0.0,
        survey,
    };
    let start = |restart| learner.start(source, restart, context);
    let Learned { state, training } = learn(&learner, start, source, plan, context, observer)?;
    let (mean, scale) = in_data_units(&learner.survey.frame, &state.mean, &state.covariance);
    Ok((Student::new(&state.weight, mean, scale, state.degrees.unwrap_or_default()), training))
}
