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
//! Where rows are pictures of many thousands of columns, work is in the columns: starts are made on a sample of them, and one pass
//! then gives the others what the rows' codes tell of them.
//!
//! From each, the variance floor falls to its final value over the first passes, so that
//! appearances are not settled before the gate has had a say.

use std::sync::{Mutex, PoisonError};

use mereo_core::slots::{Form, Survey};
use mereo_core::{
    Cells, Checkpoints, Context, Dense, Error, Learned, Pieces, Plan, Random, Real, Result,
    Schedule, Source, Start, Table, map_in_parallel, sample_rows,
};
use rand::seq::index;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

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
/// The variance floor at their end.
const SCOUT_FLOOR: f64 = 0.1;
/// Starts of more columns than this are made on a sample of so many of them.
const WIDE: usize = 4096;
const WIDE_SAMPLE: usize = 1400;
/// The gate of columns that are to follow the others and have no say yet.
const NO_SAY: f64 = 1e-9;
/// The gate of a column at the group it was seeded in; the other parts share the rest.
const SEEDED_GATE: f64 = 0.9;
/// Passes in which the variance floor falls from the column's whole variance to its final value.
const FLOOR_PASSES: usize = 20;

/// An appearance that can begin: with groups of columns, or at random.
pub(crate) trait StartParts<T: Real>: Sync {
    type State: Clone + Send + Serialize + DeserializeOwned;

    /// Number of parts, K.
    fn parts(&self) -> usize;

    /// How many random starts are scouted.
    fn scouts(&self) -> usize;

    /// A state whose gate follows groups of columns of rows of which this is known.
    fn of_groups(
        &self,
        survey: &Survey<T>,
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

    /// A state of some columns made one of all: the others follow the codes that these give to rows.
    fn widened(
        &self,
        sample: &Table<T>,
        chosen: &[usize],
        state: &Self::State,
        context: &Context,
    ) -> Result<Self::State>;

    /// The gate of a state, `[D, K]`.
    fn gate(state: &Self::State) -> &[f64];
}

/// Makes the starts of a fit. Two kinds of start use the same scouts, which are by far the dearest
/// part of them and are kept.
pub(crate) struct StartsInTurn<'a, T: Real, B: StartParts<T>> {
    begin: &'a B,
    survey: &'a Survey<T>,
    pieces: Pieces,
    kept: Mutex<Option<(usize, Scouts<B::State>)>>,
}

/// What scouts found: the best of them, and the gates of all, the best first.
struct Scouts<S> {
    best: S,
    gates: Vec<Vec<f64>>,
}

impl<'a, T: Real, B: StartParts<T>> StartsInTurn<'a, T, B> {
    /// Starts of rows of which this is known; what takes long of them goes into checkpoints.
    pub(crate) fn new(
        begin: &'a B,
        survey: &'a Survey<T>,
        checkpoints: Option<&Checkpoints>,
    ) -> Self {
        let pieces = checkpoints.map(|c| c.pieces.clone()).unwrap_or_default();
        Self { begin, survey, pieces, kept: Mutex::new(None) }
    }

    /// The first state of a restart.
    pub(crate) fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<B::State>> {
        let sample = sample(source, &self.survey.form, context)?;
        let Some(chosen) = wide_sample(&sample, context) else {
            return self.start_on(self.survey, &sample, restart, context);
        };
        let narrow = columns_of(&sample, &chosen)?;
        let survey = Survey::of(&narrow, context)?;
        let Start { state, how } = self.start_on(&survey, &narrow, restart, context)?;
        Ok(Start { state: self.begin.widened(&sample, &chosen, &state, context)?, how })
    }

    fn start_on(
        &self,
        survey: &Survey<T>,
        sample: &Table<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<B::State>> {
        let (round, kind) = (restart / 3, restart % 3);
        if kind == 0 {
            return seeded(self.begin, survey, sample, restart, context);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let scouts = match kept.take() {
            Some((of, scouts)) if of == round => scouts,
            _ => scouts(self.begin, sample, round, &self.pieces, context)?,
        };
        let start = if kind == 1 {
            Start { state: scouts.best.clone(), how: "scouted".to_owned() }
        } else {
            let gates: Vec<&[f64]> = scouts.gates.iter().map(Vec::as_slice).collect();
            let groups = agree(&gates, self.begin.parts(), restart, context)?;
            let state = self.begin.of_groups(survey, sample, &groups, restart, context)?;
            Start { state, how: "agreed".to_owned() }
        };
        *kept = Some((round, scouts));
        Ok(start)
    }
}

/// The columns that starts are made on, in order, if not all of them.
fn wide_sample<T: Real>(sample: &Table<T>, context: &Context) -> Option<Vec<usize>> {
    let columns = sample.columns();
    let dense = matches!(sample.cells(), Cells::Dense(_));
    (dense && columns > WIDE).then(|| {
        let mut random = context.random("columns to start with", [0, 0]);
        let mut chosen = index::sample(&mut random, columns, WIDE_SAMPLE).into_vec();
        chosen.sort_unstable();
        chosen
    })
}

/// Some columns of a dense table.
fn columns_of<T: Real>(table: &Table<T>, chosen: &[usize]) -> Result<Table<T>> {
    let mut values = Vec::with_capacity(table.rows() * chosen.len());
    if let Cells::Dense(cells) = table.cells() {
        for row in 0..cells.rows() {
            values.extend(chosen.iter().map(|&d| cells.row(row)[d]));
        }
    }
    let narrow = Table::from(Dense::new(table.rows(), chosen.len(), values)?);
    match &table.about().weights {
        Some(weights) => narrow.with_weights(weights.clone()),
        None => Ok(narrow),
    }
}

/// Numbers `[.., D, width]` of all columns: those of the chosen ones, and `other` for the rest.
pub(crate) fn spread_columns(
    own: &[f64],
    chosen: &[usize],
    columns: usize,
    width: usize,
    other: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let blocks = own.len() / (chosen.len() * width).max(1);
    let mut out: Vec<f64> =
        (0..blocks * columns * width).map(|i| other(i / width % columns)).collect();
    for block in 0..blocks {
        for (i, &d) in chosen.iter().enumerate() {
            let from = (block * chosen.len() + i) * width;
            let to = (block * columns + d) * width;
            out[to..to + width].copy_from_slice(&own[from..from + width]);
        }
    }
    out
}

/// The gate `[D, K]` of all columns, of which those that were not chosen have no say.
pub(crate) fn spread_gate(own: &[f64], chosen: &[usize], columns: usize) -> Vec<f64> {
    let parts = own.len() / chosen.len().max(1);
    spread_columns(own, chosen, columns, parts, |_| NO_SAY)
}

/// How columns follow the others: one pass, in which nothing is sharper than scouts make it.
pub(crate) fn following() -> (Plan, Schedule) {
    let plan =
        Plan { restarts: 1, passes: 1, tolerance: 0.0, checkpoints: None, ..Plan::default() };
    (plan, Schedule::constant(SCOUT_FLOOR))
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
    survey: &Survey<T>,
    sample: &Table<T>,
    restart: usize,
    context: &Context,
) -> Result<Start<B::State>> {
    let groups = group_columns(sample, begin.parts(), restart, context)?;
    let state = begin.of_groups(survey, sample, &groups, restart, context)?;
    Ok(Start { state, how: "seeded".to_owned() })
}

/// The best scout so far: its bound, its number, its state.
type Best<S> = (f64, usize, S);

/// What is kept of the scouts of a round, for checkpoints.
#[derive(Serialize, Deserialize)]
enum Piece<S> {
    /// The bound of one and its gate.
    Scout(f64, Vec<f64>),
    Best(Best<S>),
}

/// Many random starts, learned for a while on a few rows; the best bound first, the first of equals.
fn scouts<T: Real, B: StartParts<T>>(
    begin: &B,
    sample: &Table<T>,
    round: usize,
    pieces: &Pieces,
    context: &Context,
) -> Result<Scouts<B::State>> {
    let rows = sample_rows(sample, SCOUT_ROWS, "scouts", context)?;
    let floor = Schedule::linear(1.0, SCOUT_FLOOR, SCOUT_PASSES);
    let plan = Plan {
        restarts: 1,
        passes: SCOUT_PASSES,
        tolerance: 0.0,
        checkpoints: None,
        ..Plan::default()
    };
    let best_name = format!("the best scout of round {round}");
    let best: Mutex<Option<Best<B::State>>> = Mutex::new(match pieces.get(&best_name) {
        Some(Piece::Best(best)) => Some(best),
        _ => {
            // What was kept of an earlier round is not needed any more.
            pieces.forget();
            None
        }
    });
    let scout = |index: usize| {
        let name = format!("scout {index} of round {round}");
        if let Some(Piece::Scout::<B::State>(bound, gate)) = pieces.get(&name) {
            return Ok((bound, gate));
        }
        let alone = Context::new(context.seed()).stopped_by(context.stop());
        let random = context.random("scout", [round as u64, index as u64]);
        let Learned { state, training } = begin.scout(&rows, random, &plan, floor, &alone)?;
        if context.stop().asked() {
            return Err(Error::Interrupted);
        }
        let (bound, gate) = (training.bound, B::gate(&state).to_vec());
        let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
        let better = |(than, number, _): &Best<B::State>| {
            bound.total_cmp(than).then(number.cmp(&index)).is_gt()
        };
        let piece = Piece::Scout(bound, gate.clone());
        if best.as_ref().is_none_or(better) {
            let piece_of_best = Piece::Best((bound, index, state.clone()));
            pieces.keep(&[(&name, &piece), (&best_name, &piece_of_best)]);
            *best = Some((bound, index, state));
        } else {
            pieces.keep(&[(&name, &piece)]);
        }
        Ok((bound, gate))
    };
    let found = context.install(|| map_in_parallel(begin.scouts().max(1), scout));
    let mut found = found.into_iter().collect::<Result<Vec<_>>>()?;
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = best.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (_, _, best) = best.ok_or(Error::Interrupted)?;
    Ok(Scouts { best, gates: found.into_iter().map(|(_, gate)| gate).collect() })
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
