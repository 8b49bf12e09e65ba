//! The one loop: look at rows, add up what they tell, re-estimate.

mod checkpoint;
mod deck;
mod descend;
mod gather;
mod here;
mod memory;
mod observe;
mod schedule;
mod shards;
mod statistics;

use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

pub use checkpoint::Checkpoints;
pub use deck::RowsTask;
pub use descend::{Deal, Descender, Look, Told, descend};
pub use gather::{Answer, Remote, Request, RowTask, gather, map_rows};
pub use here::Lent;
pub use memory::Memory;
pub use observe::{Observer, Record, Restart, Silent, Status, Training};
pub use schedule::Schedule;
pub use statistics::{Statistics, pack, unpack};

use crate::{Batch, Context, Error, Fingerprint, Real, Result, Source};
use checkpoint::{Identity, Progress};
use gather::ask_remote;
use shards::Walk;

/// Bounds of restarts that differ by no more than this share are equal but for rounding.
const EQUAL: f64 = 1e-9;

/// A bound that fell by more than this share of itself is worth a note: it is more than rounding in double
/// precision, and about what single precision can tell.
const FALLEN: f64 = 1e-7;

/// Where the loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Which restart, from 0.
    pub restart: usize,
    /// Which pass of it, from 0.
    pub pass: usize,
}

/// The first state of a restart.
#[derive(Debug, Clone)]
pub struct Start<S> {
    /// The state.
    pub state: S,
    /// How it was made, in a word or two.
    pub how: String,
}

/// What the survey of the data tells the loop.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Weight of all rows: a row of weight 2 is two rows.
    pub weight: f64,
    /// What tells the data from other data; nothing of rows that are only a sample.
    pub fingerprint: Option<Fingerprint>,
}

/// Something that learns by adding up what rows tell: the E-step is [`accumulate`](Learner::accumulate),
/// the M-step [`update`](Learner::update), which never sees a row. It serialises, with all that
/// the user chose and all that it knows of the data, so that it can look at rows anywhere.
pub trait Learner<T: Real>: Sync + Serialize + DeserializeOwned {
    /// What it is called among all learners and tasks.
    const NAME: &'static str;
    /// What is being learned, and whatever else one pass hands the next.
    type State: Clone + Send + Sync + Serialize + DeserializeOwned;
    /// What looking needs, derived from the state once a pass.
    type Prepared: Send + Sync;
    /// What rows tell.
    type Statistics: Statistics;
    /// Memory for looking at one batch, kept between batches so that looking allocates nothing.
    type Workspace: Send;

    /// What the survey of the data told.
    fn facts(&self) -> Facts;

    /// The first pass from which all schedules are at rest, and the bound must rise.
    fn settled_from(&self) -> usize {
        0
    }

    /// Derives what looking needs.
    fn prepare(&self, state: &Self::State, pass: Pass) -> Self::Prepared;

    /// Statistics of no rows, of the right shape.
    fn statistics(&self) -> Self::Statistics;

    /// A workspace.
    fn workspace(&self) -> Self::Workspace;

    /// Adds what a batch tells.
    fn accumulate(
        &self,
        prepared: &Self::Prepared,
        batch: &Batch<'_, T>,
        workspace: &mut Self::Workspace,
        statistics: &mut Self::Statistics,
    );

    /// Whether workspaces remember rows from one pass to the next, so that another process that
    /// looked at them would find other numbers: such a learner stays where its rows are.
    fn remembers_rows(&self) -> bool {
        false
    }

    /// What a workspace remembers of its rows from one pass to the next, for checkpoints.
    /// A learner that remembers must be right without it too: at the first pass there is nothing.
    fn memory(&self, _workspace: &Self::Workspace) -> Vec<f64> {
        Vec::new()
    }

    /// Gives a workspace back what [`memory`](Learner::memory) took from it.
    fn remember(&self, _workspace: &mut Self::Workspace, _memory: &[f64]) {}

    /// The bound of the state that was looked with.
    fn bound(&self, statistics: &Self::Statistics) -> f64;

    /// Re-estimates the state; returns notes on anything unusual that was done.
    fn update(
        &self,
        state: &mut Self::State,
        statistics: &Self::Statistics,
        pass: Pass,
    ) -> Vec<String>;
}

/// How long and how often to learn.
///
/// ```
/// use mereo_core::Plan;
/// let plan = Plan { restarts: 3, ..Plan::default() };
/// assert_eq!(plan.passes, 100);
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    /// How many starts to try; the best bound wins, the first of equals.
    pub restarts: usize,
    /// Most passes of each.
    pub passes: usize,
    /// A restart has converged when a pass raises the bound by less than this many nats a row.
    pub tolerance: f64,
    /// Keeps the state of the loop in a file.
    pub checkpoints: Option<Checkpoints>,
}

impl Default for Plan {
    fn default() -> Self {
        Self { restarts: 1, passes: 100, tolerance: 1e-4, checkpoints: None }
    }
}

/// What was learned, and how.
#[derive(Debug, Clone)]
pub struct Learned<S> {
    /// The best state.
    pub state: S,
    /// How it came to be.
    pub training: Training,
}

/// Learns: tries `plan.restarts` starts, passes over the rows until the bound no longer rises or
/// the passes run out, and keeps the best. `start` makes the first state of a restart.
///
/// Being asked to stop is not an error once one pass is complete: the best state so far comes
/// back with [`Status::Interrupted`].
pub fn learn<T: Real, L: Learner<T>>(
    learner: &L,
    start: impl Fn(usize) -> Result<Start<L::State>>,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<Learned<L::State>> {
    if source.remote().is_some() && learner.remembers_rows() {
        let problem = format!(
            "`{}` with these options remembers rows from pass to pass, so the rows must be here",
            L::NAME
        );
        return Err(Error::option("data", problem));
    }
    let walk = Walk::new(source, || learner.workspace());
    let mut way = AllRows { learner, source, walk, context, told: None };
    run(&mut way, start, source.rows(), plan, context, observer)
}

/// One way of passing over rows: what the loop is written over.
trait Way {
    type State: Clone + Serialize + DeserializeOwned;

    fn facts(&self) -> Facts;
    fn settled_from(&self) -> usize;
    /// A digest of all that was chosen.
    fn digest(&self) -> Result<u128>;
    /// Passes over the rows; in the last pass of all only to tell the bound of the final state.
    fn look(&mut self, state: &mut Self::State, pass: Pass, last: bool) -> Result<Looked>;
    /// Re-estimates the state from what rows told; returns notes.
    fn update(&mut self, state: &mut Self::State, pass: Pass) -> Vec<String>;
    /// Takes memory back once nobody needs what rows told.
    fn done(&mut self) {}
    /// What is remembered of rows, for checkpoints.
    fn memory(&mut self) -> Vec<Vec<f64>> {
        Vec::new()
    }
    fn remember(&mut self, _memory: &[Vec<f64>]) {}
}

/// What a pass told.
struct Looked {
    bound: f64,
    /// Whether it was the last one, by the learner's own judgement.
    ended: Option<Status>,
    notes: Vec<String>,
}

/// Every pass is one update from all rows.
struct AllRows<'a, T: Real, L: Learner<T>> {
    learner: &'a L,
    source: &'a dyn Source<T>,
    walk: Walk<L::Statistics, L::Workspace>,
    context: &'a Context,
    told: Option<L::Statistics>,
}

impl<T: Real, L: Learner<T>> Way for AllRows<'_, T, L> {
    type State = L::State;

    fn facts(&self) -> Facts {
        self.learner.facts()
    }

    fn settled_from(&self) -> usize {
        self.learner.settled_from()
    }

    fn digest(&self) -> Result<u128> {
        Ok(xxh3_128(&pack(&(L::NAME, self.learner))?))
    }

    fn look(&mut self, state: &mut L::State, pass: Pass, _last: bool) -> Result<Looked> {
        let Self { learner, source, walk, context, told } = self;
        let statistics = one_pass(*learner, state, pass, *source, walk, context)?;
        let bound = learner.bound(&statistics);
        *told = Some(statistics);
        Ok(Looked { bound, ended: None, notes: Vec::new() })
    }

    fn update(&mut self, state: &mut L::State, pass: Pass) -> Vec<String> {
        let Self { learner, context, told, .. } = self;
        let Some(statistics) = told else { return Vec::new() };
        context.install(|| learner.update(state, statistics, pass))
    }

    fn done(&mut self) {
        if let Some(statistics) = self.told.take() {
            self.walk.spare(statistics);
        }
    }

    fn memory(&mut self) -> Vec<Vec<f64>> {
        self.walk.workspaces().map(|workspace| self.learner.memory(workspace)).collect()
    }

    fn remember(&mut self, memory: &[Vec<f64>]) {
        for (workspace, memory) in self.walk.workspaces().zip(memory) {
            self.learner.remember(workspace, memory);
        }
    }
}

/// The loop itself, whatever a pass is.
fn run<W: Way>(
    way: &mut W,
    start: impl Fn(usize) -> Result<Start<W::State>>,
    rows: usize,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<Learned<W::State>> {
    if plan.restarts == 0 {
        return Err(Error::option("restarts", "at least 1 is needed"));
    }
    if !(plan.tolerance >= 0.0) {
        return Err(Error::option("tolerance", "must be at least 0"));
    }
    let began = Instant::now();
    let facts = way.facts();
    let keep = match &plan.checkpoints {
        None => None,
        Some(checkpoints) => Some((checkpoints, identity(way.digest()?, facts, plan, context))),
    };
    let resumed = match &keep {
        Some((c, identity)) if c.resume => checkpoint::load(&c.path, identity)?,
        _ => None,
    };
    let mut progress =
        resumed.unwrap_or(Progress { restart: 0, current: None, ended: Vec::new(), best: None });
    let mut saved = Instant::now();

    while progress.restart < plan.restarts {
        let restart = progress.restart;
        let (mut state, mut told) = match progress.current.take() {
            Some((state, told, memory)) => {
                way.remember(&memory);
                (state, told)
            }
            None => {
                observer.starting(restart, plan.restarts);
                match start(restart) {
                    Ok(start) => {
                        let told = Restart {
                            start: start.how,
                            status: Status::PassLimit,
                            settled_from: way.settled_from(),
                            bounds: Vec::new(),
                        };
                        (start.state, told)
                    }
                    Err(Error::Interrupted) if progress.best.is_some() => break,
                    Err(error) => return Err(error),
                }
            }
        };
        loop {
            let pass = Pass { restart, pass: told.bounds.len() };
            let last = pass.pass >= plan.passes;
            let looked = match way.look(&mut state, pass, last) {
                Ok(looked) => looked,
                Err(Error::Interrupted) => {
                    told.status = Status::Interrupted;
                    break;
                }
                Err(error) => return Err(error),
            };
            let Looked { bound, ended, mut notes } = looked;
            let change = told.bounds.last().map(|last| bound - last);
            told.bounds.push(bound);
            let settled = pass.pass > way.settled_from();
            let small = change.is_some_and(|c| c.abs() <= plan.tolerance * facts.weight);
            let ended = if ended.is_some() {
                ended
            } else if settled && small {
                Some(Status::Converged)
            } else if last {
                Some(Status::PassLimit)
            } else {
                None
            };
            if ended.is_none() {
                notes.extend(way.update(&mut state, pass));
            }
            if let Some(change) = change.filter(|c| settled && *c < -FALLEN * bound.abs()) {
                let fall = -change / facts.weight;
                notes.insert(0, format!("the bound fell by {fall:.1e} nats a row"));
            }
            way.done();
            observer.passed(&Record {
                restart,
                restarts: plan.restarts,
                pass: pass.pass,
                passes: plan.passes,
                bound,
                change,
                notes,
                seconds: began.elapsed().as_secs_f64(),
            });
            if let Some(status) = ended {
                told.status = status;
                break;
            }
            if let Some((c, identity)) = &keep
                && saved.elapsed() >= c.every
            {
                let current = Some((&state, &told, way.memory()));
                checkpoint::save(
                    &c.path,
                    identity,
                    restart,
                    current,
                    &progress.ended,
                    progress.best.as_ref(),
                )?;
                saved = Instant::now();
            }
        }
        let interrupted = told.status == Status::Interrupted;
        if let Some(&bound) = told.bounds.last() {
            let best_bound = progress
                .best
                .as_ref()
                .and_then(|(best, _)| progress.ended[*best].bounds.last().copied());
            // A bound that is not a number never wins over one that is, and of restarts that came to
            // the same end the first does: rounding must not choose among them.
            if best_bound.is_none_or(|best| bound > best + EQUAL * best.abs() || best.is_nan()) {
                progress.best = Some((restart, state));
            }
            progress.ended.push(told);
        }
        progress.restart += 1;
        if interrupted {
            break;
        }
        if let Some((c, identity)) = &keep {
            let Progress { restart, ended, best, .. } = &progress;
            checkpoint::save(&c.path, identity, *restart, None, ended, best.as_ref())?;
            saved = Instant::now();
        }
    }

    let Progress { ended, best, .. } = progress;
    let (best, state) = best.ok_or(Error::Interrupted)?;
    let winner = &ended[best];
    let training = Training {
        rows,
        weight: Some(facts.weight).filter(|&weight| weight != rows as f64),
        fingerprint: facts.fingerprint,
        seed: context.seed(),
        bound: winner.bounds.last().copied().unwrap_or(f64::NAN),
        log_likelihood: None,
        likelihood_unknown: false,
        held_out: Vec::new(),
        passes: winner.bounds.len().saturating_sub(1),
        status: if context.stop().asked() { Status::Interrupted } else { winner.status },
        best,
        restarts: ended,
    };
    Ok(Learned { state, training })
}

/// One pass over all rows, wherever they are.
fn one_pass<T: Real, L: Learner<T>>(
    learner: &L,
    state: &L::State,
    pass: Pass,
    source: &dyn Source<T>,
    walk: &mut Walk<L::Statistics, L::Workspace>,
    context: &Context,
) -> Result<L::Statistics> {
    if let Some(remote) = source.remote() {
        let request = Request {
            task: L::NAME.to_owned(),
            cells: T::NAME.to_owned(),
            body: pack(&(learner, state, pass))?,
        };
        return ask_remote(remote, &request, source, context, || learner.statistics());
    }
    let prepared = context.install(|| learner.prepare(state, pass));
    let accumulate =
        |batch: &Batch<'_, T>, workspace: &mut L::Workspace, statistics: &mut L::Statistics| {
            learner.accumulate(&prepared, batch, workspace, statistics);
        };
    walk.pass(source, context, || learner.statistics(), accumulate)
}

/// Tells one run from another.
fn identity(learner: u128, facts: Facts, plan: &Plan, context: &Context) -> Identity {
    Identity {
        data: facts.fingerprint,
        seed: context.seed(),
        plan: (plan.restarts, plan.passes, plan.tolerance),
        learner,
    }
}
