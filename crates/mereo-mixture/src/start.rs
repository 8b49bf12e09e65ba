//! Where mixtures begin: k-means, then the variances of its clusters.

use mereo_core::slots::{Clusters, ColumnMoments, Lloyd, Survey};
use mereo_core::{Context, Plan, Real, Result, Silent, Source, sample_rows};

/// Rows that the start is learned from (fewer if dense ones would be more cells than this), and
/// for how many passes.
const START_ROWS: usize = 16_384;
const START_CELLS: usize = 1 << 25;
const START_PASSES: usize = 30;

/// A component is empty when its weight is below this share of an equal one.
pub(crate) const EMPTY: f64 = 1e-3;
/// How many passes of a restart may seed empty components anew.
pub(crate) const MOST_RESEEDS: u32 = 8;
/// Variance of a component that was seeded from a row, relative to its column's.
pub(crate) const SEEDED_VARIANCE: f64 = 0.25;

/// Clusters of k-means.
pub(crate) struct ClusterStart {
    /// `[N]`.
    pub(crate) weight: Vec<f64>,
    /// `[N, D]`.
    pub(crate) mean: Vec<f64>,
    /// `[N, D]`.
    pub(crate) variance: Vec<f64>,
}

/// k-means on a sample of the rows, each column in units of its own deviation, then the variances
/// of its clusters, none below `floor` times its column's.
pub(crate) fn clusters<T: Real>(
    survey: &Survey<T>,
    components: usize,
    floor: f64,
    source: &dyn Source<T>,
    restart: usize,
    context: &Context,
) -> Result<ClusterStart> {
    let columns = survey.reference.len();
    let dense = source.absent().is_none();
    let most = if dense { START_ROWS.min(START_CELLS / columns) } else { START_ROWS };
    let most = most.max(4 * components);
    let sample = sample_rows(source, most, "gmm start", context)?;
    let moments = ColumnMoments::of(&sample, context)?;
    let unit = survey.reference.clone();
    let lloyd = Lloyd::new(1, components, None, unit, &moments, survey.form.clone());
    let own = context.with_seed(context.seed().wrapping_add(restart as u64));
    let plan = Plan { passes: START_PASSES, tolerance: 1e-6, ..Plan::default() };
    let mean = lloyd.learn(&sample, &plan, &own, &mut Silent)?.state.mean;
    let clusters = Clusters::about(&sample, &mean, &survey.reference, context)?;
    // One row's worth of the whole column keeps small clusters from starting as spikes.
    let variance = (0..mean.len())
        .map(|i| {
            let (count, reference) = (clusters.count[i], survey.reference[i % columns]);
            let own = clusters.variance(i).unwrap_or(0.0);
            ((count * own + reference) / (count + 1.0)).max(floor * reference)
        })
        .collect();
    let mut weight: Vec<f64> = clusters.total.iter().map(|n| n + 0.5).collect();
    normalise(&mut weight);
    Ok(ClusterStart { weight, mean, variance })
}

/// Makes weights add up to 1.
pub(crate) fn normalise(weights: &mut [f64]) {
    let total: f64 = weights.iter().sum();
    if total > 0.0 {
        for w in weights {
            *w /= total;
        }
    } else {
        weights.fill(1.0 / weights.len() as f64);
    }
}
