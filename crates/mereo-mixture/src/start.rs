//! Where mixtures begin: k-means, then the variances of its clusters.

use mereo_core::slots::{Clusters, Lloyd, Looks, Survey};
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
/// How much of such a component's counts and words is the row's; the rest is the whole column's.
pub(crate) const SEEDED_SHARE: f64 = 0.5;
/// How much of a first component's counts and words is its cluster's.
const OWN_SHARE: f64 = 0.9;

/// Clusters of k-means.
pub(crate) struct ClusterStart {
    /// `[N]`.
    pub(crate) weight: Vec<f64>,
    /// `[N, D]`.
    pub(crate) mean: Vec<f64>,
    /// `[N, D]`.
    pub(crate) variance: Vec<f64>,
    /// `[N, W]`.
    pub(crate) level: Vec<f64>,
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
    let dense = source.absent().is_none();
    let most =
        if dense { START_ROWS.min(START_CELLS / survey.reference.len()) } else { START_ROWS };
    let most = most.max(4 * components);
    let sample = sample_rows(source, most, "gmm start", context)?;
    let expanded = survey.typical.expand(&sample, &survey.reference)?;
    let (sample, columns) = (&*expanded.table, expanded.unit.len());
    let moments = expanded.moments(context)?;
    let unit = expanded.unit.clone();
    let lloyd = Lloyd::new(1, components, None, unit, &moments, survey.form.clone());
    let own = context.with_seed(context.seed().wrapping_add(restart as u64));
    let plan = Plan { passes: START_PASSES, tolerance: 1e-6, ..Plan::default() };
    let mean = lloyd.learn(sample, &plan, &own, &mut Silent)?.state.mean;
    let clusters = Clusters::about(sample, &mean, &expanded.unit, context)?;
    // One row's worth of the whole column keeps small clusters from starting as spikes.
    let variance: Vec<f64> = (0..mean.len())
        .map(|i| {
            let (count, reference) = (clusters.count[i], expanded.unit[i % columns]);
            let own = clusters.variance(i).unwrap_or(0.0);
            ((count * own + reference) / (count + 1.0)).max(floor * reference)
        })
        .collect();
    let mut weight: Vec<f64> = clusters.total.iter().map(|n| n + 0.5).collect();
    normalise(&mut weight);
    let kinds = &survey.typical.kinds;
    if !kinds.is_mixed() {
        return Ok(ClusterStart { weight, mean, variance, level: Vec::new() });
    }
    let zeros = |width: usize| vec![0.0; components * width];
    let (mut own, mut spread) = (zeros(kinds.columns()), zeros(kinds.columns()));
    let mut level = zeros(kinds.width());
    let looks = Looks { mean: &mut own, variance: &mut spread, level: &mut level };
    survey.typical.fold(&mean, &variance, OWN_SHARE, looks);
    Ok(ClusterStart { weight, mean: own, variance: spread, level })
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
