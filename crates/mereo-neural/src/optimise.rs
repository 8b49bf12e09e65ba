//! Steps along gradients, and when to stop taking them.
//!
//! With g the gradient of the bound a row, *stochastic gradient ascent* keeps a velocity `u ← ρu + g` and goes
//! `θ ← θ + εu`. *Adam* keeps running means `m ← β₁m + (1-β₁)g`, `v ← β₂v + (1-β₂)g²`, both begun at 0 and therefore
//! divided by `1 - βᵗ`, and goes `θ ← θ + ε m̂/(√v̂ + δ)`. Weights decay beside the gradient, `θ ← (1 - ελ)θ`, so that
//! Adam does not rescale their decay. The rate ε follows a schedule over the whole of learning.

use mereo_core::math::widest;
use mereo_core::{Deal, Error, Pass, Real, Result, Status, Told, in_parallel};
use serde::{Deserialize, Serialize};

const FIRST: f64 = 0.9;
const SECOND: f64 = 0.999;
const DELTA: f64 = 1e-8;
/// Parameters that one thread moves at a time.
const PIECE: usize = 1 << 15;
/// A bound that fell by so many times its first size has no way back.
const LOST: f64 = 100.0;

/// How steps are made of gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimiser {
    /// Adam: every parameter at a pace of its own.
    Adam,
    /// Stochastic gradient ascent with momentum.
    Sgd,
}

mereo_core::choices!(Optimiser, "optimiser": Adam = "adam", Sgd = "sgd");

/// How the rate falls while learning goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// It stays.
    Constant,
    /// It falls to nothing along a line.
    Linear,
    /// It falls to nothing along half a cosine.
    Cosine,
    /// It is divided by ten after half, and again after three quarters.
    Steps,
}

mereo_core::choices!(RateSchedule, "schedule": Constant = "constant", Linear = "linear", Cosine = "cosine",
    Steps = "steps");

impl RateSchedule {
    /// What share of the rate is left when so much of learning is over.
    fn share(self, at: f64) -> f64 {
        let at = at.clamp(0.0, 1.0);
        match self {
            Self::Constant => 1.0,
            Self::Linear => 1.0 - at,
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * at).cos()),
            Self::Steps if at < 0.5 => 1.0,
            Self::Steps if at < 0.75 => 0.1,
            Self::Steps => 0.01,
        }
    }
}

/// All that was chosen of how to learn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pace {
    pub(crate) optimiser: Optimiser,
    pub(crate) rate: f64,
    pub(crate) momentum: f64,
    pub(crate) schedule: RateSchedule,
    pub(crate) weight_decay: f64,
    pub(crate) batch: usize,
    pub(crate) held_out: f64,
    pub(crate) patience: usize,
}

impl Pace {
    /// How rows are dealt.
    pub(crate) fn deal(&self) -> Deal {
        Deal { rows: self.batch, held_out: self.held_out }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return Err(Error::option("rate", "a number above 0 is needed"));
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return Err(Error::option("momentum", "a number from 0 to below 1 is needed"));
        }
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            return Err(Error::option("weight-decay", "a number of at least 0 is needed"));
        }
        if !(0.0..=0.9).contains(&self.held_out) {
            return Err(Error::option("held-out", "a share from 0 to 0.9 is needed"));
        }
        if self.batch == 0 {
            return Err(Error::option("batch", "at least 1 row is needed"));
        }
        if self.patience == 0 {
            return Err(Error::option("patience", "at least 1 pass is needed"));
        }
        Ok(())
    }
}

/// Parameters on their way, with all that the optimiser keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct Walker<T> {
    pub(crate) parameters: Vec<T>,
    first: Vec<T>,
    second: Vec<T>,
    steps: u64,
    /// Bound a row of the first mini-batch.
    reference: f64,
    lost: bool,
    /// What to go back to: the last good parameters, or the best by rows held out.
    kept: Vec<T>,
    best: f64,
    since: usize,
    /// The bound of rows held out, pass by pass.
    pub(crate) held_out: Vec<f64>,
}

impl<T: Real> Walker<T> {
    pub(crate) fn new(parameters: Vec<T>) -> Self {
        let zeros = vec![T::ZERO; parameters.len()];
        Self {
            kept: parameters.clone(),
            parameters,
            first: zeros.clone(),
            second: zeros,
            steps: 0,
            reference: 0.0,
            lost: false,
            best: f64::NEG_INFINITY,
            since: 0,
            held_out: Vec::new(),
        }
    }

    /// The parameters that learning ends with.
    pub(crate) fn chosen(self) -> Vec<T> {
        if self.held_out.is_empty() { self.parameters } else { self.kept }
    }

    /// A step along the gradient of rows of this weight and bound.
    pub(crate) fn step(&mut self, pace: &Pace, gradient: &[T], bound: f64, weight: f64, at: f64) {
        if self.steps == 0 {
            self.reference = bound / weight;
        }
        self.lost |= !bound.is_finite();
        if self.lost {
            return;
        }
        self.steps += 1;
        let t = self.steps.min(1 << 20) as i32;
        let rate = pace.rate * pace.schedule.share(at);
        let keep = T::from_f64(1.0 - rate * pace.weight_decay);
        let mean = T::from_f64(1.0 / weight);
        let (beta1, beta2) = (T::from_f64(FIRST), T::from_f64(SECOND));
        let (fresh1, fresh2) = (T::from_f64(1.0 - FIRST), T::from_f64(1.0 - SECOND));
        let unbiased = T::from_f64(1.0 / (1.0 - SECOND.powi(t)));
        let adam = T::from_f64(rate / (1.0 - FIRST.powi(t)));
        let (delta, momentum, rate) =
            (T::from_f64(DELTA), T::from_f64(pace.momentum), T::from_f64(rate));
        let optimiser = pace.optimiser;
        let pieces = self
            .parameters
            .chunks_mut(PIECE)
            .zip(gradient.chunks(PIECE))
            .zip(self.first.chunks_mut(PIECE).zip(self.second.chunks_mut(PIECE)));
        in_parallel(pieces, |((parameters, gradient), (first, second))| {
            widest(
                #[inline(always)]
                || {
                    let moved = parameters.iter_mut().zip(gradient);
                    let means = first.iter_mut().zip(second.iter_mut());
                    match optimiser {
                        Optimiser::Adam => {
                            for ((p, &g), (m, v)) in moved.zip(means) {
                                let g = g * mean;
                                *m = beta1 * *m + fresh1 * g;
                                *v = beta2 * *v + fresh2 * g * g;
                                *p = keep * *p + adam * *m / ((*v * unbiased).root() + delta);
                            }
                        }
                        Optimiser::Sgd => {
                            for ((p, &g), (m, _)) in moved.zip(means) {
                                *m = momentum * *m + g * mean;
                                *p = keep * *p + rate * *m;
                            }
                        }
                    }
                },
            );
        });
    }

    /// Ends a pass: goes back to good parameters if these are lost, or if rows held out gained nothing for
    /// a while.
    pub(crate) fn end_pass(&mut self, pace: &Pace, told: Told, _pass: Pass) -> Option<Status> {
        let fell = told.bound < self.reference - LOST * (self.reference.abs() + 1.0);
        let finite = self.parameters.iter().all(|p| !p.is_missing() && !p.is_infinity());
        let judged = told.held_out.is_none_or(f64::is_finite);
        if self.lost || fell || !finite || !judged || !told.bound.is_finite() {
            self.parameters.clone_from(&self.kept);
            return Some(Status::Diverged);
        }
        let Some(judged) = told.held_out else {
            self.kept.clone_from(&self.parameters);
            return None;
        };
        self.held_out.push(judged);
        if judged > self.best {
            (self.best, self.since) = (judged, 0);
            self.kept.clone_from(&self.parameters);
            return None;
        }
        self.since += 1;
        if self.since < pace.patience {
            return None;
        }
        self.parameters.clone_from(&self.kept);
        Some(Status::EarlyStop)
    }
}
