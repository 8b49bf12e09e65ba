//! First states of restarts, whatever a part's appearance is.
//!
//! Restarts take turns among three kinds of start.
//!
//! - *Seeded*: columns are grouped by association and each group's appearance found by itself.
//! - *Scouted*: many random starts learn a sample of the rows for a while, with a variance floor
//!   that falls from the column's whole variance to a tenth of it; the best bound goes on.
//! - *Agreed*: columns are grouped by how often those random starts put them into the same part.
//!   Each alone is far from the parts when half of the cells are missing; what they agree on is
//!   not.
//!
//! From each, the variance floor falls to its final value over the first passes, so that
//! appearances are not settled before the gate has had a say.

use std::sync::{Mutex, PoisonError};

use mereo_core::slots::Form;
use mereo_core::{
    Context, Error, Learned, Plan, Random, Real, Result, Schedule, Source, Start, Table,
    map_in_parallel, sample_rows,
};

use crate::seed::{agree, group_columns};

/// Rows that groups of columns are seen from: dense ones, and sparse ones, which tell less each.
pub(crate) const DENSE_SAMPLE: usize = 4000;
const SPARSE_SAMPLE: usize = 20_000;
/// More scouts than this are a slip of the finger: what all of them found is kept until the best is known.
const MOST_SCOUTS: usize = 10_000;

/// An error if there are more scouts than anybody needs.
pub(crate) fn check_scouts(scouts: usize) -> Result<()> {
    if scouts <= MOST_SCOUTS {
        return Ok(());
    }
    Err(Error::option("scouts", format!("{scouts} is more than the {MOST_SCOUTS} allowed")))
}

/// Rows that scouts learn from, and for how many passes.
const SCOUT_ROWS: usize = 1000;
const SCOUT_PASSES: usize = 40;
/// The gate of a column at the group it was seeded in; the other parts share the rest.
const SEEDED_GATE: f64 = 0.9;
/// Passes in which the variance floor falls from the column's whole variance to its final value.
const FLOOR_PASSES: usize = 20;

/// An appearance that can begin: with groups of columns, or at random.
pub(crate) trait StartParts<T: Real>: Sync {
    type State: Clone + Send;

    /// Number of parts, K.
    fn parts(&self) -> usize;

    /// How many random starts are scouted.
    fn scouts(&self) -> usize;

    /// A state whose gate follows groups of columns.
    fn of_groups(
        &self,
        sample: &Table<T>,
        groups: &[Option<usize>],
        restart: usize,
        context: &Context,
    ) -> Result<Self::State>;

    /// A random state, learned for a while on a few rows, as this plan and floor say.
    fn scout(
        &self,
        rows: &Table<T>,
        random: Random,
        plan: &Plan,
        floor: Schedule,
        context: &Context,
    ) -> Result<Learned<Self::State>>;

    /// The gate of a state, `[D, K]`.
    fn gate(state: &Self::State) -> &[f64];
}

/// Makes the starts of a fit. Two kinds of start use the same scouts, which are by far the dearest
/// part of them and are kept.
pub(crate) struct StartsInTurn<'a, T: Real, B: StartParts<T>> {
    begin: &'a B,
    form: &'a Form,
    kept: Mutex<Option<(usize, Vec<B::State>)>>,
}

impl<'a, T: Real, B: StartParts<T>> StartsInTurn<'a, T, B> {
    pub(crate) fn new(begin: &'a B, form: &'a Form) -> Self {
        Self { begin, form, kept: Mutex::new(None) }
    }

    /// The first state of a restart.
    pub(crate) fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<B::State>> {
        let sample = sample(source, self.form, context)?;
        let (round, kind) = (restart / 3, restart % 3);
        if kind == 0 {
            return seeded(self.begin, &sample, restart, context);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let scouts = match kept.take() {
            Some((of, scouts)) if of == round => scouts,
            _ => scouts(self.begin, &sample, round, context)?,
        };
        let start = if kind == 1 {
            Start { state: scouts[0].clone(), how: "scouted".to_owned() }
        } else {
            let gates: Vec<&[f64]> = scouts.iter().map(B::gate).collect();
            let groups = agree(&gates, self.begin.parts(), restart, context)?;
            let state = self.begin.of_groups(&sample, &groups, restart, context)?;
            Start { state, how: "agreed".to_owned() }
        };
        *kept = Some((round, scouts));
        Ok(start)
    }
}

/// The rows that starts are made from.
pub(crate) fn sample<T: Real>(
    source: &dyn Source<T>,
    form: &Form,
    context: &Context,
) -> Result<Table<T>> {
    let most = match form {
        Form::Dense | Form::Zero => DENSE_SAMPLE.min((1 << 24) / source.columns().max(1)).max(64),
        Form::Unobserved { .. } => SPARSE_SAMPLE,
    };
    sample_rows(source, most, "start", context)
}

/// Groups of columns by association.
pub(crate) fn seeded<T: Real, B: StartParts<T>>(
    begin: &B,
    sample: &Table<T>,
    restart: usize,
    context: &Context,
) -> Result<Start<B::State>> {
    let groups = group_columns(sample, begin.parts(), restart, context)?;
    let state = begin.of_groups(sample, &groups, restart, context)?;
    Ok(Start { state, how: "seeded".to_owned() })
}

/// Many random starts, learned for a while on a few rows; the best bound first.
fn scouts<T: Real, B: StartParts<T>>(
    begin: &B,
    sample: &Table<T>,
    round: usize,
    context: &Context,
) -> Result<Vec<B::State>> {
    let rows = sample_rows(sample, SCOUT_ROWS, "scouts", context)?;
    let floor = Schedule::linear(1.0, 0.1, SCOUT_PASSES);
    let plan = Plan { restarts: 1, passes: SCOUT_PASSES, tolerance: 0.0, checkpoints: None };
    let scout = |index: usize| {
        let alone = Context::new(context.seed()).stopped_by(context.stop());
        let random = context.random("scout", [round as u64, index as u64]);
        begin.scout(&rows, random, &plan, floor, &alone)
    };
    let scouts = context.install(|| map_in_parallel(begin.scouts().max(1), scout));
    let mut scouts = scouts.into_iter().collect::<Result<Vec<_>>>()?;
    scouts.sort_by(|a, b| b.training.bound.total_cmp(&a.training.bound));
    Ok(scouts.into_iter().map(|scout| scout.state).collect())
}

/// The gates `[D, K]` of groups of columns: hard ones, to find the groups' appearances with, and
/// soft ones, to learn from. A column without a group has to be somewhere in the hard ones, where
/// it has no say, and is shared evenly in the soft ones.
pub(crate) fn gates_of_groups(groups: &[Option<usize>], parts: usize) -> (Vec<f64>, Vec<f64>) {
    let columns = groups.len();
    let mut hard = vec![0.0; columns * parts];
    let mut soft = vec![1.0 / parts as f64; columns * parts];
    for (d, group) in groups.iter().enumerate() {
        hard[d * parts + group.unwrap_or(0)] = 1.0;
        if let Some(group) = *group
            && parts > 1
        {
            let own = &mut soft[d * parts..(d + 1) * parts];
            own.fill((1.0 - SEEDED_GATE) / (parts - 1) as f64);
            own[group] = SEEDED_GATE;
        }
    }
    (hard, soft)
}

/// The variance floor: from the column's whole variance to its final value.
pub(crate) fn falling_floor(to: f64) -> Schedule {
    Schedule::linear(1.0, to, FLOOR_PASSES)
}

/// A row of a table in full, as numbers; what `mean` says where a cell is missing.
pub(crate) fn filled_row<T: Real>(rows: &Table<T>, row: usize, mean: &[f64]) -> Vec<f64> {
    let row = rows.select_rows(&[row]);
    let mut values = mean.to_vec();
    if let Ok(mut lane) = row.lane(0..1)
        && let Ok(Some(batch)) = lane.next_batch()
    {
        batch.for_each_observed(0, |d, x| values[d] = x.to_f64());
    }
    values
}
