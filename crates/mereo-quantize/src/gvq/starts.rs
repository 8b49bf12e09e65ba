//! Starts. Local minima are the rule: features that grew out of noise depend on the noise. A start
//! is therefore the best of many short runs on a sample of the rows, each from *random states*:
//! every row is given features at random, and least squares make of that the first features. With
//! several sets, k-means first says which rows share a set. Whatever solver was asked for, these runs
//! use one that is soon done.

use mereo_core::math::Array;
use mereo_core::slots::{ColumnMoments, Lloyd, RowCells, Survey, first_smallest};
use mereo_core::{
    Batch, Context, Facts, Learner, Plan, Random, Real, Result, Silent, Source, Start, learn,
    sample_rows,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::GvqParams;
use super::learner::{GvqLearner, State, solve};
use super::sets::Found;

/// Rows that starts are learned from (fewer if they would be more cells than this).
const START_ROWS: usize = 4096;
const START_CELLS: usize = 1 << 22;
/// Passes of each short run.
const SCOUT_PASSES: usize = 40;
const SCOUT_TOLERANCE: f64 = 1e-3;

/// The best of many short runs on a sample of the rows. `scouting` makes the learner of these, given
/// what is known of the sample, and `random_states` each run's start.
pub(super) fn best_of_scouts<T: Real, L: Learner<T>>(
    scouting: impl FnOnce(Facts) -> L,
    random_states: impl Fn(&L, &dyn Source<T>, usize, &Context) -> Result<Start<L::State>>,
    params: &GvqParams,
    source: &dyn Source<T>,
    restart: usize,
    context: &Context,
) -> Result<Start<L::State>> {
    let columns = source.columns();
    let least = 4 * params.sets * (params.features + 1);
    let most = START_ROWS.min(START_CELLS / columns.max(1)).max(least);
    let sample = sample_rows(source, most, "gvq start", context)?;
    let weights = sample.about().weights.as_ref();
    let weight = weights.map_or(sample.rows() as f64, |weights| weights.iter().sum());
    let scouting = scouting(Facts { weight, fingerprint: None });
    let plan = Plan {
        restarts: params.scouts,
        passes: SCOUT_PASSES,
        tolerance: SCOUT_TOLERANCE,
        ..Plan::default()
    };
    let own = context.with_seed(context.seed().wrapping_add(restart as u64));
    let start = |run: usize| random_states(&scouting, &sample, run, &own);
    let state = learn(&scouting, start, &sample, &plan, &own, &mut Silent)?.state;
    Ok(Start { state, how: format!("the best of {} short runs", params.scouts) })
}

/// States of n features drawn at random for rows in their order. A row of weight 2 is the row twice, and one of weight 0 is not there: a
/// row like the one before has its state, and one that does not count draws nothing.
pub(super) struct RandomStates {
    features: usize,
    random: Random,
    cells: RowCells,
    /// The last row that counts.
    before: Option<Vec<(usize, f64)>>,
    state: u64,
}

impl RandomStates {
    pub(super) fn new(features: usize, random: Random) -> Self {
        Self { features, random, cells: RowCells::default(), before: None, state: 0 }
    }

    /// The state of the next row, and its cells.
    pub(super) fn of<T: Real>(&mut self, batch: &Batch<'_, T>, row: usize) -> (u64, &RowCells) {
        self.cells.take(batch, row);
        let same = |before: &Vec<_>| self.cells.iter().eq(before.iter().copied());
        if batch.weight(row) > 0.0 && !self.before.as_ref().is_some_and(same) {
            let random = &mut self.random;
            let draw = |s, i| s | u64::from(random.random::<bool>()) << i;
            self.state = (0..self.features).fold(0, draw);
            self.before = Some(self.cells.iter().collect());
        }
        (self.state, &self.cells)
    }
}

/// Least squares on states drawn at random.
pub(super) fn random_states<T: Real>(
    learner: &GvqLearner<T>,
    sample: &dyn Source<T>,
    restart: usize,
    context: &Context,
) -> Result<Start<State>> {
    let params = &learner.params;
    let (sets, n, d) = (params.sets, params.features, sample.columns());
    let set_of = SetOf::new(sample, sets, restart, context)?;
    let mut states = RandomStates::new(n, context.random("gvq states", [restart as u64, 0]));
    let mut statistics = learner.statistics();
    let mut observed = Vec::new();
    let mut lane = sample.lane(0..sample.batches())?;
    while let Some(batch) = lane.next_batch()? {
        for row in 0..batch.rows {
            let (state, cells) = states.of(&batch, row);
            let set = set_of.row(&batch, row);
            let weight = batch.weight(row);
            observed.clear();
            observed.extend(cells.iter().map(|(c, _)| c));
            let missing = (observed.len() < d).then_some(&*observed);
            statistics.add(Found { set, state, energy: 0.0 }, weight, missing);
            let cross = &mut statistics.squares[set].cross;
            for (c, x) in cells.iter() {
                let x = weight * learner.units.inward(c, T::from_f64(x)).to_f64();
                cross.row_mut(0)[c] += x;
                for i in crate::associate::ones(state) {
                    cross.row_mut(i + 1)[c] += x;
                }
            }
        }
    }
    let mut state = State {
        feature: Array::zeros([sets, n, d]),
        origin: Array::zeros([sets, d]),
        unused: true,
        reseeds: 0,
    };
    solve(&statistics, &mut state);
    Ok(Start { state, how: "random states".into() })
}

/// Which set a row starts in: that of the nearest of M means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SetOf(Vec<f64>);

impl SetOf {
    pub(super) fn new<T: Real>(
        sample: &dyn Source<T>,
        sets: usize,
        restart: usize,
        context: &Context,
    ) -> Result<Self> {
        // Rows of which nothing is observed, as a sample may happen to hold alone, are all alike.
        let observed =
            || -> Result<f64> { Ok(ColumnMoments::of(sample, context)?.weight.iter().sum()) };
        if sets == 1 || observed()? == 0.0 {
            return Ok(Self::none());
        }
        let lloyd = Lloyd::plain(sets, &Survey::of(sample, context)?);
        let own = context.with_seed(context.seed().wrapping_add(restart as u64));
        let plan = Plan { restarts: 4, passes: 30, tolerance: 1e-6, ..Plan::default() };
        Ok(Self(lloyd.learn(sample, &plan, &own, &mut Silent)?.state.mean))
    }

    /// All rows start in the one set.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// The set of a row, by its observed cells.
    pub(super) fn row<T: Real>(&self, batch: &Batch<'_, T>, row: usize) -> usize {
        let distance = |mean: &[f64]| {
            let mut sum = 0.0;
            batch.for_each_observed(row, |c, x| sum += (x.to_f64() - mean[c]).powi(2));
            sum
        };
        let distances: Vec<f64> = self.0.chunks_exact(batch.columns).map(distance).collect();
        if distances.is_empty() { 0 } else { first_smallest(&distances) }
    }
}
