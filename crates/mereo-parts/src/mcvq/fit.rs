//! Learning from a source.

use mereo_core::slots::{StoredKinds, Survey};
use mereo_core::{
    Context, Learned, Observer, Plan, Real, Result, Schedule, Silent, Source, Start, Training,
    learn,
};

use super::classes::with_classes;
use super::learner::{McvqLearner, State};
use super::rows::Gibbs;
use super::starts::{McvqStarts, survey};
use super::tidy::tidied;
use super::{Engine, Mcvq, McvqParams, StartKind};
use crate::Gate;
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
    let survey = survey(params, source, context)?.among(plan)?;
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
    let learned = learn(&learner, start, source, plan, context, observer)?;
    let (params, Learned { mut state, training }) =
        tidy(params, learned, &survey, source, plan, context)?;
    let level = std::mem::take(&mut state.level);
    let kinds = if params.has_gates_of_rows() {
        StoredKinds::numbers(source.columns())
    } else {
        StoredKinds::learned(source.about(), source.columns(), level)?
    };
    let model = Mcvq::from_state(state, params.parts, params.states).with_kinds(kinds);
    Ok((model.with_gates_of_rows(params.has_gates_of_rows()), training))
}

/// Leaves out what a size that was found has too much of, and learns on from there.
fn tidy<T: Real>(
    params: &McvqParams,
    learned: Learned<State>,
    survey: &Survey<T>,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
) -> Result<(McvqParams, Learned<State>)> {
    let plain = learned.state.classes.is_none()
        && params.engine == Engine::Variational
        && !params.has_gates_of_rows()
        && plan.portions.is_none()
        && !context.stop().asked();
    let size = [params.parts, params.states];
    let left = if plain { tidied(&learned.state, size, params.tidy, survey) } else { None };
    let Some((parts, states, state)) = left else { return Ok((params.clone(), learned)) };
    let params = McvqParams { parts, states, ..params.clone() };
    let starts = McvqStarts { params: &params, survey };
    // Where annealing ends.
    let gate = if let Gate::Annealed { .. } = params.gate { Gate::RTied } else { params.gate };
    let floor = Schedule::constant(params.variance_floor);
    let learner = McvqLearner {
        reseed: false,
        description: format!("{params:?}"),
        entropic: params.entropic,
        ..starts.learner(gate, floor)
    };
    let plan = Plan { restarts: 1, checkpoints: None, ..plan.clone() };
    let start = |_: usize| Ok(Start { state: state.clone(), how: "tidied".to_owned() });
    let after = learn(&learner, start, source, &plan, context, &mut Silent)?;
    let training = Training {
        bound: after.training.bound,
        log_likelihood: after.training.log_likelihood,
        status: after.training.status,
        ..learned.training
    };
    Ok((params, Learned { state: after.state, training }))
}
