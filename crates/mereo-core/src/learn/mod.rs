//! The one loop: look at rows, add up what they tell, re-estimate.

mod checkpoint;
mod gather;
mod here;
mod memory;
mod observe;
mod schedule;

use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use checkpoint::Checkpoints;
pub use gather::{Statistics, gather, map_rows};
pub use here::Lent;
pub use memory::Memory;
pub use observe::{Observer, Record, Restart, Silent, Status, Training};
pub use schedule::Schedule;

use crate::source::Fnv;
use crate::{Batch, Context, Error, Real, Result, Source};
use checkpoint::Progress;
use gather::Lanes;

/// Bounds of restarts that differ by no more than this share are equal but for rounding.
const EQUAL: f64 = 1e-9;

/// Where the loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Something that learns by looking at rows: the E-step is [`accumulate`](Learner::accumulate), the M-step
/// [`update`](Learner::update), which never sees a row.
pub trait Learner<T: Real>: Sync {
    /// What is being learned, and whatever else one pass hands the next.
    type State: Clone + Send + Sync + Serialize + DeserializeOwned;
    /// What looking needs, derived from the state once a pass.
    type Prepared: Send + Sync;
    /// What rows tell.
    type Statistics: Statistics;
    /// Memory for looking at one batch, kept between batches so that looking allocates nothing.
    type Workspace: Send;

    /// Everything the user chose, as text: two runs with the same description on the same data
    /// are the same run. Guards checkpoints.
    fn describe(&self) -> String;

    /// Makes the first state of a restart.
    fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<Self::State>>;

    /// The first pass from which all schedules are at rest, and the bound must rise.
    fn settled_from(&self, restart: usize) -> usize;

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

    /// What a lane's workspace remembers of its rows from one pass to the next, for checkpoints.
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
/// the passes run out, and keeps the best.
///
/// Being asked to stop is not an error once one pass is complete: the best state so far comes
/// back with [`Status::Interrupted`].
pub fn learn<T: Real, L: Learner<T>>(
    learner: &L,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<Learned<L::State>> {
    if plan.restarts == 0 {
        return Err(Error::option("restarts", "at least 1 is needed"));
    }
    if !(plan.tolerance >= 0.0) {
        return Err(Error::option("tolerance", "must be at least 0"));
    }
    let began = Instant::now();
    let identity =
        if plan.checkpoints.is_some() { identity(learner, source, plan, context)? } else { 0 };
    let resumed = match &plan.checkpoints {
        Some(c) if c.resume => checkpoint::load(&c.path, identity)?,
        _ => None,
    };
    let mut progress =
        resumed.unwrap_or(Progress { restart: 0, current: None, ended: Vec::new(), best: None });
    // A row of weight 2 is two rows, here too.
    let weights = source.about().weights.as_ref();
    let rows = weights.map_or(source.rows() as f64, |w| w.iter().sum());
    let mut lanes = Lanes::new(source.batches(), || learner.statistics(), || learner.workspace());
    let mut saved = Instant::now();

    while progress.restart < plan.restarts {
        let restart = progress.restart;
        let (mut state, mut told) = match progress.current.take() {
            Some((state, told, memory)) => {
                for (workspace, memory) in lanes.workspaces().zip(&memory) {
                    learner.remember(workspace, memory);
                }
                (state, told)
            }
            None => {
                observer.starting(restart, plan.restarts);
                match learner.start(source, restart, context) {
                    Ok(start) => {
                        let told = Restart {
                            start: start.how,
                            status: Status::PassLimit,
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
            let prepared = context.install(|| learner.prepare(&state, pass));
            let look = |batch: &Batch<'_, T>,
                        workspace: &mut L::Workspace,
                        statistics: &mut L::Statistics| {
                learner.accumulate(&prepared, batch, workspace, statistics);
            };
            let statistics = match lanes.pass(source, context, look) {
                Ok(statistics) => statistics,
                Err(Error::Interrupted) => {
                    told.status = Status::Interrupted;
                    break;
                }
                Err(error) => return Err(error),
            };
            let bound = learner.bound(statistics);
            let change = told.bounds.last().map(|last| bound - last);
            told.bounds.push(bound);
            let settled = pass.pass > learner.settled_from(restart);
            let small = change.is_some_and(|c| c.abs() <= plan.tolerance * rows);
            let ended = if settled && small {
                Some(Status::Converged)
            } else if pass.pass >= plan.passes {
                Some(Status::PassLimit)
            } else {
                None
            };
            let notes = match ended {
                None => context.install(|| learner.update(&mut state, statistics, pass)),
                Some(_) => Vec::new(),
            };
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
            if let Some(c) = &plan.checkpoints
                && saved.elapsed() >= c.every
            {
                let memory = lanes.workspaces().map(|workspace| learner.memory(workspace));
                let current = Some((&state, &told, memory.collect()));
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
        if let Some(c) = &plan.checkpoints {
            let Progress { restart, ended, best, .. } = &progress;
            checkpoint::save(&c.path, identity, *restart, None, ended, best.as_ref())?;
            saved = Instant::now();
        }
    }

    let Progress { ended, best, .. } = progress;
    let (best, state) = best.ok_or(Error::Interrupted)?;
    let winner = &ended[best];
    let training = Training {
        rows: source.rows(),
        seed: context.seed(),
        bound: winner.bounds.last().copied().unwrap_or(f64::NAN),
        log_likelihood: None,
        passes: winner.bounds.len().saturating_sub(1),
        status: if context.stop().asked() { Status::Interrupted } else { winner.status },
        best,
        restarts: ended,
    };
    Ok(Learned { state, training })
}

/// Tells one run from another.
fn identity<T: Real, L: Learner<T>>(
    learner: &L,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
) -> Result<u64> {
    let mut hash = Fnv::new();
    hash.add(learner.describe().as_bytes());
    hash.add(&source.fingerprint()?.to_le_bytes());
    hash.add(&context.seed().to_le_bytes());
    hash.add(&(plan.restarts as u64).to_le_bytes());
    hash.add(&(plan.passes as u64).to_le_bytes());
    hash.add(&plan.tolerance.to_le_bytes());
    Ok(hash.finish())
}
