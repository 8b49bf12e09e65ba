//! Learning from a source: the start, and the loop.

use mereo_core::slots::{Clusters, ColumnMoments, Ground, Lloyd};
use mereo_core::{
    Context, Learned, Observer, Plan, Real, Result, Silent, Source, Start, Training, learn,
    sample_rows,
};

use super::learner::{GmmLearner, State, normalise};
use super::{Gmm, GmmParams};

/// Rows that the start is learned from (fewer if dense ones would be more cells than this), and
/// for how many passes.
const START_ROWS: usize = 16_384;
const START_CELLS: usize = 1 << 25;
const START_PASSES: usize = 30;

/// Learns a diagonal Gaussian mixture.
///
/// ```
/// use mereo_core::{Context, Dense, Plan, Silent, Table};
/// use mereo_mixture::{GmmParams, gaussian};
/// let values = vec![0.0, 0.1, -0.1, f64::NAN, 7.9, 8.0, 8.1, 8.0];
/// let table = Table::from(Dense::new(8, 1, values)?);
/// let (model, training) =
///     gaussian::fit(&GmmParams::new(2), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
/// let mut means = model.mean().to_vec();
/// means.sort_by(f64::total_cmp);
/// assert!(means[0].abs() < 1e-6 && (means[1] - 8.0).abs() < 1e-6);
/// assert!(training.bound.is_finite());
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn fit<T: Real>(
    params: &GmmParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Gmm, Training)> {
    params.check()?;
    params.check_columns(source.columns())?;
    let ground = Ground::survey(source, context)?;
    let learner = GmmLearner { params, ground: &ground };
    let Learned { state, training } = learn(&learner, source, plan, context, observer)?;
    Ok((Gmm::new(state.mean, state.variance, state.prior), training))
}

/// k-means on a sample of the rows, then the variances of its clusters.
pub(super) fn start<T: Real>(
    learner: &GmmLearner<'_, T>,
    source: &dyn Source<T>,
    restart: usize,
    context: &Context,
) -> Result<Start<State>> {
    let (ground, components) = (learner.ground, learner.params.components);
    let columns = ground.reference.len();
    let dense = source.absent().is_none();
    let most = if dense { START_ROWS.min(START_CELLS / columns) } else { START_ROWS };
    let most = most.max(4 * components);
    let sample = sample_rows(source, most, "gmm start", context)?;
    let moments = ColumnMoments::of(&sample, context)?;
    let unit = ground.reference.clone();
    let lloyd = Lloyd::new(1, components, None, unit, &moments, ground.form.clone());
    let own = context.with_seed(context.seed().wrapping_add(restart as u64));
    let plan = Plan { passes: START_PASSES, tolerance: 1e-6, ..Plan::default() };
    let mean = learn(&lloyd, &sample, &plan, &own, &mut Silent)?.state.mean;
    let clusters = Clusters::about(&sample, &mean, &ground.reference, context)?;
    // One row's worth of the whole column keeps small clusters from starting as spikes.
    let floor = learner.floor();
    let variance = (0..mean.len())
        .map(|i| {
            let (count, d) = (clusters.count[i], i % columns);
            let own = clusters.variance(i).unwrap_or(0.0);
            ((count * own + ground.reference[d]) / (count + 1.0)).max(floor[d])
        })
        .collect();
    let mut prior: Vec<f64> = clusters.total.iter().map(|n| n + 0.5).collect();
    normalise(&mut prior);
    Ok(Start { state: State { prior, mean, variance, reseeds: 0 }, how: "k-means".into() })
}
