//! Learning from a source.

use mereo_core::slots::Survey;
use mereo_core::{Context, Learned, Observer, Plan, Real, Result, Source, Training, learn};

use super::classes::with_classes;
use super::learner::McfaLearner;
use super::posterior::Units;
use super::starts::McfaStarts;
use super::{Mcfa, McfaParams};
use crate::classes::ClassPlan;
use crate::starts::{StartsInTurn, falling_floor};

mereo_core::fit_here! {
    /// Learns an MCFA model.
    ///
    /// ```
    /// use mereo_core::{Context, Plan, Silent};
    /// use mereo_parts::{McfaParams, mcfa};
    /// let toy = mereo_data::toy::World::Shapes.make(Some(200), 0)?;
    /// let plan = Plan { passes: 20, ..Plan::default() };
    /// let (model, training) = mcfa::fit(&McfaParams::new(3, 2), &toy.table, &plan, &Context::new(0), &mut Silent)?;
    /// assert_eq!(model.columns(), 121);
    /// assert!(training.bound.is_finite());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(McfaParams) -> Mcfa, by fit_as
}

fn fit_as<T: Real>(
    params: &McfaParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Mcfa, Training)> {
    params.check()?;
    let survey = Survey::of(source, context)?;
    let starts = McfaStarts { params, survey: &survey };
    let classes = ClassPlan::of(params.classes, params.class_pseudo_count, source)?;
    let turns = StartsInTurn::new(&starts, &survey, plan.checkpoints.as_ref());
    let units = params.units(&survey);
    let start = |restart: usize| {
        let mut start = turns.start(source, restart, context)?;
        if let Some(plan) = classes {
            start = with_classes(&starts, plan, start, source, context)?;
        }
        let first =
            |units: &Units| units.first(&start.state, &survey.moments.weight, &survey.frame);
        start.state.posterior = units.as_ref().map(first);
        Ok(start)
    };
    let plain = starts.learner(Some(params.gate), falling_floor(params.noise_floor));
    let learner = McfaLearner {
        classes,
        description: format!("{params:?}"),
        entropic: params.entropic,
        // Priors take the place of imagined rows.
        shrinkage: plain.shrinkage.clone().filter(|_| units.is_none()),
        units: units.clone(),
        ..plain
    };
    let Learned { state, training } = learn(&learner, start, source, plan, context, observer)?;
    let model = Mcfa::from_state(state, params.parts, params.factors);
    Ok((model.with_gates_of_rows(params.gate.per_row_from().is_some()), training))
}
