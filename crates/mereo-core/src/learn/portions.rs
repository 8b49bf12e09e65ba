//! Rows that come in portions, none of which is seen again.
//!
//! # What is learned
//!
//! Learning maximises a bound `F(q, θ) = Σ_c E_q[log p(x_c, h_c | θ)] - E_q[log q_c]` in turns: over what is thought of
//! each row c, `q_c`, by looking at it with θ, and over θ, for which the rows' sums `S = Σ_c s(x_c, q_c)` are all that is
//! needed: `θ = update(S)`. A row that is gone cannot be looked at again, but what it told can be kept. So with a
//! new portion t
//!
//! ```text
//! S ← S + Σ_{c in t} s(x_c, q_c(θ)),    θ ← update(S)
//! ```
//!
//! Both steps raise F over all rows seen so far: the first chooses the best q for the new rows and leaves the others at what it was
//! (Neal and Hinton's incremental EM), the second is the M-step. Per row that is `Ŝ ← Ŝ + γ (ŝ_t - Ŝ)` with `γ = n_t / N_t`, the
//! share that the portion has in all rows so far: stepwise EM (Cappé and Moulines), whose steps add up to infinity and their squares do not if portions
//! are alike in size, as convergence needs. What sums are of the rows alone (principal components) is not approximate at all:
//! portions give what all rows at once give, up to rounding.
//!
//! The first portion is learned from as if it were everything, with its restarts and passes, and must look like the rest: it says
//! how many states are worth having where. Later ones are looked at once each. Units of cells (the frame) stay those of the first
//! portion, since sums in other units could not be added; whatever else a survey tells is of all rows so far.
//!
//! The bound that is told is the sum of what each portion had when it was looked at: older ones would have more by now.
//!
//! Sums of a portion are added up in the fixed tree and then to those kept, so that the same portions in the same order
//! give the same bits on any number of threads and from rows that are elsewhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::shards::Walk;
use super::{
    Learned, Learner, Observer, Pass, Plan, Record, Restart, Start, Statistics, Status, Training,
    learn, one_pass, pack, unpack,
};
use crate::{Context, Error, Real, Result, Source};

/// What is kept of rows that are gone. Clones share it.
///
/// ```
/// use mereo_core::Portions;
/// let portions = Portions::default();
/// assert_eq!(portions.seen(), 0);
/// assert!(Portions::from_bytes(&portions.to_bytes()?)?.seen() == 0);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Portions(Arc<Mutex<Kept>>);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Kept {
    /// How many portions there were, and rows in them.
    portions: usize,
    rows: usize,
    /// What they were for, and the type of their cells.
    name: String,
    cells: String,
    /// All that was chosen.
    chosen: String,
    /// Columns that no row has a value in.
    unobserved: Vec<usize>,
    /// What a survey told of all of them, the state and the statistics, packed.
    survey: Vec<u8>,
    state: Vec<u8>,
    statistics: Vec<u8>,
    /// The bound after each portion.
    bounds: Vec<f64>,
}

impl Kept {
    fn check_cells<T: Real>(&self) -> Result<()> {
        if self.cells == T::NAME {
            return Ok(());
        }
        let problem = format!("cells of type {} after cells of type {}", T::NAME, self.cells);
        Err(Error::option("portions", problem))
    }
}

impl Portions {
    /// Reads back what [`to_bytes`](Self::to_bytes) wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self(Arc::new(Mutex::new(unpack(bytes)?))))
    }

    /// All that is kept, for whoever goes on elsewhere or later.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        pack(&*self.kept())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many portions were learned from.
    pub fn seen(&self) -> usize {
        self.kept().portions
    }

    /// How many rows they had.
    pub fn rows(&self) -> usize {
        self.kept().rows
    }

    /// Says what was chosen; it must be the same for all portions.
    pub fn choose(&self, chosen: &str) -> Result<()> {
        let mut kept = self.kept();
        if kept.portions == 0 {
            chosen.clone_into(&mut kept.chosen);
        } else if kept.chosen != chosen {
            let problem =
                "options changed since the first portion of rows: go on with those, or begin anew";
            return Err(Error::option("portions", problem));
        }
        Ok(())
    }

    /// Of columns that no row of the last portion has a value in, those in which no row of any has.
    pub fn unobserved(&self, mut columns: Vec<usize>) -> Vec<usize> {
        let mut kept = self.kept();
        if kept.portions > 1 {
            columns.retain(|column| kept.unobserved.contains(column));
        }
        kept.unobserved.clone_from(&columns);
        columns
    }

    /// A copy that does not share anything.
    #[must_use]
    pub fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.kept().clone())))
    }

    /// Takes over what another one keeps.
    pub fn take(&self, other: &Self) {
        let other = other.kept().clone();
        *self.kept() = other;
    }

    /// What a survey told of earlier portions; `None` before the first.
    pub fn survey<T: Real, S: DeserializeOwned>(&self) -> Result<Option<S>> {
        let kept = self.kept();
        if kept.portions == 0 {
            return Ok(None);
        }
        kept.check_cells::<T>()?;
        unpack(&kept.survey).map(Some)
    }

    /// Keeps what a survey tells of all portions, this one among them.
    pub fn keep_survey<S: Serialize>(&self, survey: &S) -> Result<()> {
        self.kept().survey = pack(survey)?;
        Ok(())
    }

    /// Adds what a portion told to what those before it did, and keeps the sum: for models that sums of rows
    /// make in one step.
    pub fn add<T: Real, S: Statistics>(&self, name: &str, rows: usize, told: S) -> Result<S> {
        let mut all = match self.before::<T, (), S>(name)? {
            None => told,
            Some(((), mut before)) => {
                before.merge(&told);
                before
            }
        };
        all.finish();
        self.keep::<T, (), S>(name, rows, &(), &all, f64::NAN)?;
        Ok(all)
    }

    /// State and statistics as the last portion left them.
    fn before<T: Real, State: DeserializeOwned, S: Statistics>(
        &self,
        name: &str,
    ) -> Result<Option<(State, S)>> {
        let kept = self.kept();
        if kept.portions == 0 {
            return Ok(None);
        }
        kept.check_cells::<T>()?;
        if kept.name != name {
            let problem = format!("they were kept for `{}`, not for `{name}`", kept.name);
            return Err(Error::option("portions", problem));
        }
        Ok(Some((unpack(&kept.state)?, unpack(&kept.statistics)?)))
    }

    fn keep<T: Real, State: Serialize, S: Statistics>(
        &self,
        name: &str,
        rows: usize,
        state: &State,
        statistics: &S,
        bound: f64,
    ) -> Result<()> {
        let (state, statistics) = (pack(state)?, pack(statistics)?);
        let mut kept = self.kept();
        kept.portions += 1;
        kept.rows += rows;
        name.clone_into(&mut kept.name);
        T::NAME.clone_into(&mut kept.cells);
        (kept.state, kept.statistics) = (state, statistics);
        kept.bounds.push(bound);
        Ok(())
    }
}

/// Learns from one more portion: see the [module](self).
pub(super) fn learn_portion<T: Real, L: Learner<T>>(
    portions: &Portions,
    learner: &L,
    start: impl Fn(usize) -> Result<Start<L::State>>,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<Learned<L::State>> {
    let mut walk = Walk::new(source, || learner.workspace());
    let pass = Pass { restart: 0, pass: learner.settled_from().saturating_add(1) };
    let incapable =
        || Error::Incapable { model: L::NAME.into(), verb: "learn from portions of rows".into() };
    let Some((mut state, mut all)) = portions.before::<T, L::State, L::Statistics>(L::NAME)? else {
        // Whether it can is asked before anything long is done.
        if !learner.keep(&mut learner.statistics()) {
            return Err(incapable());
        }
        let plan = Plan { portions: None, ..plan.clone() };
        let learned = learn(learner, start, source, &plan, context, observer)?;
        let mut all = one_pass(learner, &learned.state, pass, source, &mut walk, context)?;
        learner.keep(&mut all);
        let bound = learned.training.bound;
        portions.keep::<T, _, _>(L::NAME, source.rows(), &learned.state, &all, bound)?;
        return Ok(learned);
    };
    let began = Instant::now();
    let told = one_pass(learner, &state, pass, source, &mut walk, context)?;
    all.merge(&told);
    all.finish();
    let bound = learner.bound(&all);
    let notes = context.install(|| learner.update(&mut state, &all, pass));
    if !learner.keep(&mut all) {
        return Err(incapable());
    }
    portions.keep::<T, _, _>(L::NAME, source.rows(), &state, &all, bound)?;
    let (bounds, rows, number) = {
        let kept = portions.kept();
        (kept.bounds.clone(), kept.rows, kept.portions - 1)
    };
    observer.passed(&Record {
        restart: 0,
        restarts: 1,
        pass: number,
        passes: number,
        bound,
        change: bounds.len().checked_sub(2).map(|before| bound - bounds[before]),
        notes,
        seconds: began.elapsed().as_secs_f64(),
    });
    let facts = learner.facts();
    let status = Status::PassLimit;
    // Bounds of portions are of more and more rows: they do not rise, and no pass is settled.
    let restart = Restart { start: "portions".into(), status, settled_from: number, bounds };
    let training = Training {
        rows,
        weight: Some(facts.weight).filter(|&weight| weight != rows as f64),
        fingerprint: facts.fingerprint,
        seed: context.seed(),
        bound,
        log_likelihood: None,
        likelihood_unknown: true,
        held_out: Vec::new(),
        passes: number,
        status,
        best: 0,
        restarts: vec![restart],
    };
    Ok(Learned { state, training })
}
