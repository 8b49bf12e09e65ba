//! The one loop: look at rows, add up what they tell, re-estimate.

mod checkpoint;
mod deck;
mod descend;
mod gather;
mod here;
mod jumps;
mod memory;
mod observe;
mod pieces;
mod portions;
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
pub use pieces::Pieces;
pub use portions::Portions;
pub use schedule::Schedule;
pub use statistics::{Statistics, pack, unpack};

use crate::{Batch, Context, Error, Fingerprint, Real, Result, Source};
use checkpoint::{Identity, Progress};
use gather::ask_remote;
use jumps::{Jumps, Trial};
use shards::Walk;

/// Bounds of restarts that differ by no more than this share are equal but for rounding.
const EQUAL: f64 = 1e-9;

/// A bound that fell by more than this share of itself is worth a note: it is more than rounding in double
/// precision, and about what single precision can tell.
const FALLEN: f64 = 1e-7;

/// Passes that a restart which lags is trusted to go on gaining as much as it did in the last.
const PATIENCE: f64 = 30.0;

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

    /// The most rows that are to be looked at at once: fewer than a batch has where what is made of each
    /// row is large, so that memory stays bounded and who asks for a stop need not wait.
    fn rows_at_once(&self) -> usize {
        usize::MAX
    }

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

    /// Makes what rows told ready to be added to what later rows tell, who are looked at with another state: takes out what is said
    /// once a pass or is about this state alone. False if the rest cannot be added up either, so that rows cannot come
    /// in [portions](Portions).
    fn keep(&self, _statistics: &mut Self::Statistics) -> bool {
        false
    }

    /// A state some way off that is worth a trial, asked for after passes that are not one: `statistics` are those of
    /// `state`, `gain` is what the last pass added to the bound, and `failed` how many jumps of this restart were given up. The loop
    /// comes back to `state` if the trial does not pay, so that the bound of the best state never falls.
    fn jump(
        &self,
        _state: &Self::State,
        _statistics: &Self::Statistics,
        _gain: f64,
        _failed: usize,
        _pass: Pass,
    ) -> Option<Self::State> {
        None
    }
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
    /// The rows are one of several portions, and what earlier ones told is here.
    pub portions: Option<Portions>,
}

impl Default for Plan {
    fn default() -> Self {
        Self { restarts: 1, passes: 100, tolerance: 1e-4, checkpoints: None, portions: None }
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
    if let Some(portions) = &plan.portions {
        return portions::learn_portion(portions, learner, start, source, plan, context, observer);
    }
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
    /// A state some way off that may be better: see [`Learner::jump`].
    fn jump(
        &self,
        _state: &Self::State,
        _gain: f64,
        _failed: usize,
        _pass: Pass,
    ) -> Option<Self::State> {
        None
    }
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

    fn jump(&self, state: &L::State, gain: f64, failed: usize, pass: Pass) -> Option<L::State> {
        self.learner.jump(state, self.told.as_ref()?, gain, failed, pass)
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
        Some((c, identity)) if c.resume => checkpoint::load(&c.path, identity, &c.pieces)?,
        _ => None,
    };
    let mut progress =
        resumed.unwrap_or(Progress { restart: 0, current: None, ended: Vec::new(), best: None });
    let mut saved = Instant::now();
    let mut warned = None;

    while progress.restart < plan.restarts {
        let restart = progress.restart;
        let (mut state, mut told, mut jumps) = match progress.current.take() {
            Some((state, told, jumps, memory)) => {
                way.remember(&memory);
                (state, told, jumps)
            }
            None => {
                observer.starting(restart, plan.restarts);
                if let Some((c, identity)) = &keep {
                    let Progress { restart, ended, best, .. } = &progress;
                    let packed =
                        checkpoint::packed(identity, *restart, None, ended, best.as_ref())?;
                    let path = c.path.clone();
                    let write = move |pieces: &_| checkpoint::save(&path, &packed, pieces);
                    c.pieces.written_by(Box::new(write), c.every, saved);
                }
                let start = start(restart);
                if let Some((c, _)) = &keep {
                    let (last, warning) = c.pieces.rest();
                    saved = last.unwrap_or(saved);
                    warn(observer, &mut warned, warning);
                }
                match start {
                    Ok(start) => {
                        let told = Restart {
                            start: start.how,
                            status: Status::PassLimit,
                            settled_from: way.settled_from(),
                            bounds: Vec::new(),
                        };
                        (start.state, told, Jumps::new())
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
            let trial = jumps.judge(bound);
            let bound = match trial {
                Trial::Going(home) | Trial::Failed(_, home) => home,
                Trial::Pays | Trial::None => bound,
            };
            let change = told.bounds.last().map(|last| bound - last);
            told.bounds.push(bound);
            let settled = pass.pass > way.settled_from();
            let small = change.is_some_and(|c| c.abs() <= plan.tolerance * facts.weight);
            // What the pass gained, if two passes in turn tell that.
            let returned = jumps.returned();
            let at_rest = matches!(trial, Trial::None) && returned.is_none();
            let ended = if ended.is_some() {
                ended
            } else if settled && small && at_rest {
                Some(Status::Converged)
            } else if last {
                Some(Status::PassLimit)
            } else if settled && at_rest && is_behind(&told.bounds, leader(&progress)) {
                Some(Status::Behind)
            } else {
                None
            };
            let gain = returned.or(change.filter(|_| settled && at_rest));
            if let Trial::Failed(home, _) = trial {
                state = home;
                notes.push("the jump was given up".to_owned());
            } else if matches!(ended, None | Some(Status::Converged))
                && let Some(gain) = gain
                && let Some(there) = way.jump(&state, gain, jumps.failed, pass)
            {
                // Also a state that has converged is left, should there be a better one.
                jumps.leave(std::mem::replace(&mut state, there), bound, gain);
                notes.push("a jump is tried".to_owned());
            } else if ended.is_none() {
                notes.extend(way.update(&mut state, pass));
            }
            let ended = ended.filter(|_| !jumps.are_on_trial() || last);
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
                let current = Some((&state, &told, &jumps, way.memory()));
                let Progress { ended, best, .. } = &progress;
                let packed = checkpoint::packed(identity, restart, current, ended, best.as_ref())?;
                let warning = checkpoint::save(&c.path, &packed, &c.pieces.all());
                warn(observer, &mut warned, warning);
                saved = Instant::now();
            }
        }
        // What ended while a jump was on trial ends at its home, whose bound was told.
        if let Some((home, _)) = jumps.go_home() {
            state = home;
        }
        let interrupted = told.status == Status::Interrupted;
        if let Some(&bound) = told.bounds.last() {
            let best_bound = leader(&progress).and_then(|bounds| bounds.last().copied());
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
            let packed = checkpoint::packed(identity, *restart, None, ended, best.as_ref())?;
            let warning = checkpoint::save(&c.path, &packed, &c.pieces.all());
            warn(observer, &mut warned, warning);
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

/// The bounds of the best restart that ended.
fn leader<S>(progress: &Progress<S>) -> Option<&[f64]> {
    progress.best.as_ref().map(|(best, _)| &*progress.ended[*best].bounds)
}

/// Whether a restart with these bounds is so far behind the best one that passes are better spent elsewhere: what it lacks is
/// more than twice what the best gained from the same pass on, and more than [`PATIENCE`] passes like the last would gain.
/// Gains of passes shrink, so that this is generous.
fn is_behind(bounds: &[f64], leader: Option<&[f64]>) -> bool {
    let (Some(leader), [.., before, last]) = (leader, bounds) else { return false };
    let Some(end) = leader.last() else { return false };
    // A leader that had come to its end by then had nothing left to gain.
    let then = leader.get(bounds.len() - 1).unwrap_or(end);
    let lacks = end - last;
    lacks > 2.0 * (end - then) && lacks > PATIENCE * (last - before).abs()
}

/// Tells a warning, unless it is the one that was told last.
fn warn(observer: &mut dyn Observer, told: &mut Option<String>, warning: Option<String>) {
    if warning.is_some() && *told != warning {
        warning.iter().for_each(|warning| observer.warned(warning));
        *told = warning;
    }
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
    walk.pass(source, learner.rows_at_once(), context, || learner.statistics(), accumulate)
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

#[cfg(test)]
mod tests {
    use super::is_behind;

    #[test]
    fn a_restart_is_given_up_only_if_it_lags_far_and_gains_little() {
        let leader = [-100.0, -50.0, -20.0, -12.0, -11.0, -10.0];
        assert!(is_behind(&[-100.0, -60.0, -59.0], Some(&leader)));
        assert!(!is_behind(&[-100.0, -60.0, -50.0], Some(&leader)), "a pass still gains 10");
        assert!(
            !is_behind(&[-100.0, -29.1, -29.0], Some(&leader)),
            "the leader gained 10 from there"
        );
        assert!(!is_behind(&[-9.0; 3], Some(&leader)), "it leads");
        assert!(is_behind(&[-99.0; 9], Some(&leader)), "it rests where the leader did not");
        assert!(!is_behind(&[-99.0; 3], None) && !is_behind(&[-99.0], Some(&leader)));
    }
}
