//! The log likelihood of what was learned, where learning raised something else.

use mereo_core::{Context, Error, Learner, Plan, Real, Result, Silent, Source, Start, learn};

/// The bound of a state, by a pass that changes nothing; not known if somebody asks for a stop. With a
/// learner that shares rows among all components and takes nothing off, this is the log likelihood.
pub(crate) fn bound_of<T: Real, L: Learner<T>>(
    learner: &L,
    state: &L::State,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Option<f64>> {
    let plan = Plan { passes: 0, ..Plan::default() };
    let start = |_| Ok(Start { state: state.clone(), how: "learned".into() });
    match learn(learner, start, source, &plan, context, &mut Silent) {
        Ok(learned) => Ok(Some(learned.training.bound)),
        Err(Error::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
