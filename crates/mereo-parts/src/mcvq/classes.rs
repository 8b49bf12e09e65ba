//! Learning with classes.
//!
//! Labelled classes start alike, whatever the start of the parts, and labels tell them apart at
//! the first pass. For classes without labels, each start of the parts learns a sample of the rows
//! for a while without classes, those rows are clustered by what they show in the parts, and from
//! there everything is learned together: parts are not settled before classes have had a say,
//! since what varies together because of a class is no part.

use mereo_core::slots::{Evidence, SlotParams, SlotWork, responsibilities};
use mereo_core::{
    Context, Plan, Real, Result, Schedule, Silent, Source, Start, Table, learn, sample_rows,
};

use super::learner::State;
use super::starts::{McvqStarts, survey};
use crate::Gate;
use crate::classes::{CLASS_ROWS, ClassLayer, ClassPlan, KnownStates, SHORT_PASSES, cluster};

/// Gives a start its first classes.
pub(super) fn with_classes<T: Real>(
    starts: &McvqStarts<'_, T>,
    plan: ClassPlan,
    mut start: Start<State>,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Start<State>> {
    if plan.labelled {
        start.state.classes = Some(ClassLayer::alike(plan.classes, &start.state.state_prior));
        return Ok(start);
    }
    let sample = sample_rows(source, CLASS_ROWS, "classes", context)?;
    let survey = survey(starts.params, &sample, context)?;
    let of_sample = McvqStarts { params: starts.params, survey: &survey };
    let floor = Schedule::linear(1.0, 0.1, SHORT_PASSES);
    let learner = of_sample.learner(Gate::Standard, floor);
    let short = Plan {
        restarts: 1,
        passes: SHORT_PASSES,
        tolerance: 0.0,
        checkpoints: None,
        ..Plan::default()
    };
    let mut state =
        learn(&learner, |_| Ok(start.clone()), &sample, &short, context, &mut Silent)?.state;
    state.classes = Some(first_classes(&of_sample, plan, &sample, &state, context)?);
    state.reseeds = 0;
    Ok(Start { state, how: format!("{}, classes of codes", start.how) })
}

/// Clusters rows by their codes.
fn first_classes<T: Real>(
    starts: &McvqStarts<'_, T>,
    plan: ClassPlan,
    sample: &Table<T>,
    state: &State,
    context: &Context,
) -> Result<ClassLayer> {
    let McvqStarts { params, survey } = starts;
    let (rows, slots) = (sample.rows(), params.parts * params.states);
    let slot_params = SlotParams {
        parts: params.parts,
        states: params.states,
        gate: Some(&state.gate),
        mean: &state.mean,
        variance: &state.variance,
        log_prior: &vec![0.0; slots],
        mixed: survey.typical.kinds.with(&state.level),
    };
    let looker = Evidence::in_frame(&slot_params, &survey.frame, &survey.form);
    let mut evidence = vec![T::ZERO; slots * rows];
    let mut work = SlotWork::default();
    let mut lane = sample.lane(0..sample.batches())?;
    while let Some(batch) = lane.next_batch()? {
        looker.evaluate(&batch, &mut work);
        for (slot, found) in work.slots.chunks_exact(batch.rows).take(slots).enumerate() {
            let first = slot * rows + batch.first_row;
            evidence[first..first + batch.rows].copy_from_slice(found);
        }
    }
    let mut codes = evidence.clone();
    for (codes, b) in codes.chunks_exact_mut(rows.max(1)).zip(&state.state_prior) {
        let log = T::from_f64(b.max(1e-30).ln());
        codes.iter_mut().for_each(|e| *e += log);
    }
    responsibilities(
        &mut codes,
        &mut vec![T::ZERO; params.parts * rows],
        params.states,
        rows,
        None,
    );
    let weights = sample.about().weights.clone().unwrap_or_else(|| vec![1.0; rows]);
    let known = KnownStates {
        evidence: &evidence,
        codes: &codes,
        weights: &weights,
        states: params.states,
        pseudo_count: plan.pseudo_count,
    };
    Ok(cluster(&known, plan.classes, &state.state_prior, context))
}
