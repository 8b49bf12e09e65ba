//! First classes, as in [`crate::mcvq`]: labelled ones start alike; for others each start of the
//! parts learns a sample of the rows for a while without classes, and those rows are clustered by
//! their factors.

use mereo_core::slots::Survey;
use mereo_core::{Context, Plan, Real, Result, Schedule, Source, Start, sample_rows};

use super::Mcfa;
use super::learner::State;
use super::normal::width;
use super::starts::McfaStarts;
use crate::Gate;
use crate::classes::{CLASS_ROWS, ClassLayer, ClassPlan, KnownFactors, SHORT_PASSES, cluster};

/// Gives a start its first classes.
pub(super) fn with_classes<T: Real>(
    starts: &McfaStarts<'_, T>,
    plan: ClassPlan,
    mut start: Start<State>,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Start<State>> {
    let (parts, factors) = (starts.params.parts, starts.params.factors);
    let nowhere = vec![0.0; parts * factors];
    if plan.labelled {
        start.state.classes = Some(ClassLayer::alike(plan.classes, &nowhere));
        return Ok(start);
    }
    let sample = sample_rows(source, CLASS_ROWS, "classes", context)?;
    let survey = Survey::of(&sample, context)?;
    let of_sample = McfaStarts { params: starts.params, survey: &survey };
    let short = Plan {
        restarts: 1,
        passes: SHORT_PASSES,
        tolerance: 0.0,
        checkpoints: None,
        ..Plan::default()
    };
    let (gate, floor) = (Some(Gate::Standard), Schedule::linear(1.0, 0.1, SHORT_PASSES));
    let mut state = of_sample.go_on(&sample, &start.state, gate, &short, floor, context)?.state;
    let rows = sample.rows();
    let of_row = parts * width(factors);
    let (mut codes, mut log_norms) = (vec![0.0; rows * of_row], vec![0.0; rows]);
    let model = Mcfa::from_state(state.clone(), parts, factors);
    let mut lane = sample.lane(0..sample.batches())?;
    while let Some(batch) = lane.next_batch()? {
        model.find(&batch, |found| {
            let row = batch.first_row + found.row;
            codes[row * of_row..(row + 1) * of_row].copy_from_slice(found.codes);
            log_norms[row] = found.bound;
        });
    }
    let weights = sample.about().weights.clone().unwrap_or_else(|| vec![1.0; rows]);
    let known = KnownFactors {
        codes: &codes,
        log_norms: &log_norms,
        weights: &weights,
        parts,
        factors,
        pseudo_count: plan.pseudo_count,
    };
    state.classes = Some(cluster(&known, plan.classes, &nowhere, context));
    Ok(Start { state, how: format!("{}, classes of codes", start.how) })
}
