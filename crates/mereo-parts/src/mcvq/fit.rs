//! Learning from a source.

use mereo_core::slots::StoredKinds;
use mereo_core::{
    Context, Learned, Observer, Plan, Real, Result, Schedule, Source, Start, Training, learn,
};

use super::classes::with_classes;
use super::learner::McvqLearner;
use super::rows::Gibbs;
use super::starts::{McvqStarts, survey};
use super::{Engine, Mcvq, McvqParams, StartKind};
use crate::classes::ClassPlan;
use crate::starts::{StartsInTurn, falling_floor, sample};

mereo_core::fit_here! {
    /// Learns an MCVQ model.
    ///
    /// ```
    /// use mereo_core::{Context, Plan, Silent};
    /// use mereo_parts::{McvqParams, mcvq};
    /// let toy = mereo_data::toy::World::Shapes.make(Some(200), 0)?;
    /// let plan = Plan { passes: 20, ..Plan::default() };
    /// let (model, training) = mcvq::fit(&McvqParams::new(3, 9), &toy.table, &plan, &Context::new(0), &mut Silent)?;
    /// assert_eq!(model.columns(), 121);
    /// assert!(training.bound.is_finite());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(McvqParams) -> Mcvq, by fit_as
}

fn fit_as<T: Real>(
    params: &McvqParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Mcvq, Training)> {
    params.check()?;
    let survey = survey(params, source, context)?;
    let starts = McvqStarts { params, survey: &survey };
    let classes = ClassPlan::of(params.classes, params.class_pseudo_count, source)?;
    let turns = StartsInTurn::new(&starts, &survey, plan.checkpoints.as_ref());
    let start_of_parts = |restart: usize| {
        if params.start == StartKind::Papers {
            let sample = sample(source, &survey.form, context)?;
            let random = context.random("papers", [restart as u64, 0]);
            let state = starts.random_state(&sample, random);
            return Ok(Start { state, how: "papers".to_owned() });
        }
        turns.start(source, restart, context)
    };
    let floor = match params.start {
        StartKind::InTurn => falling_floor(params.variance_floor),
        StartKind::Papers => Schedule::constant(params.variance_floor),
    };
    let start = |restart: usize| {
        let start = start_of_parts(restart)?;
        match classes {
            None => Ok(start),
            Some(plan) => with_classes(&starts, plan, start, source, context),
        }
    };
    let learner = McvqLearner {
        classes,
        description: format!("{params:?}"),
        entropic: params.entropic,
        gibbs: match params.engine {
            Engine::Variational => None,
            Engine::Gibbs { sweeps } => Some(Gibbs { sweeps, seed: context.seed() }),
        },
        ..starts.learner(params.gate, floor)
    };
    let Learned { mut state, training } = learn(&learner, start, source, plan, context, observer)?;
    let level = std::mem::take(&mut state.level);
    let kinds = if params.has_gates_of_rows() {
        StoredKinds::numbers(source.columns())
    } else {
        StoredKinds::learned(source.about(), source.columns(), level)?
    };
    let model = Mcvq::from_state(state, params.parts, params.states).with_kinds(kinds);
    Ok((model.with_gates_of_rows(params.has_gates_of_rows()), training))
}
