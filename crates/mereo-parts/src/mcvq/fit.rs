//! Learning from a source.

use std::sync::{Mutex, PoisonError};

use mereo_core::slots::Ground;
use mereo_core::{
    Context, Learned, Observer, Plan, Real, Result, Schedule, Source, Start, Training, learn,
};

use super::learner::{McvqLearner, State};
use super::rows::Gibbs;
use super::starts::Starts;
use super::{Engine, Mcvq, McvqParams};

/// Passes in which the variance floor falls from the column's whole variance to its final value.
const FLOOR_PASSES: usize = 20;

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
pub fn fit<T: Real>(
    params: &McvqParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Mcvq, Training)> {
    params.check()?;
    let ground = Ground::survey(source, context)?;
    let starts = Starts { params, ground: &ground };
    // Two kinds of start use the same scouts, which are by far the dearest part of them.
    let kept: Mutex<Option<(usize, Vec<State>)>> = Mutex::new(None);
    let start = |source: &dyn Source<T>, restart: usize, context: &Context| {
        let sample = starts.sample(source, context)?;
        let (round, kind) = (restart / 3, restart % 3);
        if kind == 0 {
            return starts.seeded(&sample, restart, context);
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let scouts = match kept.take() {
            Some((of, scouts)) if of == round => scouts,
            _ => starts.scouts(&sample, round, context)?,
        };
        let start = if kind == 1 {
            Start { state: scouts[0].clone(), how: "scouted".to_owned() }
        } else {
            starts.agreed(&sample, &scouts, restart, context)?
        };
        *kept = Some((round, scouts));
        Ok(start)
    };
    let learner = McvqLearner {
        start: &start,
        description: format!("{params:?}"),
        entropic: params.entropic,
        gibbs: match params.engine {
            Engine::Variational => None,
            Engine::Gibbs { sweeps } => Some(Gibbs { sweeps, context: context.clone() }),
        },
        ..starts.learner(params.gate, falling_floor(params))
    };
    let Learned { state, training } = learn(&learner, source, plan, context, observer)?;
    let model = Mcvq::from_state(state, params.parts, params.states);
    Ok((model.with_gates_of_rows(params.has_gates_of_rows()), training))
}

/// The variance floor: from the column's whole variance to its final value.
pub(super) fn falling_floor(params: &McvqParams) -> Schedule {
    Schedule::linear(1.0, params.variance_floor, FLOOR_PASSES)
}
