//! What happened during learning, told to whoever watches.

use serde::{Deserialize, Serialize};

use crate::Fingerprint;

/// What happened in one pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Which restart, from 0.
    pub restart: usize,
    /// How many restarts there are.
    pub restarts: usize,
    /// Which pass of this restart, from 0.
    pub pass: usize,
    /// Most passes that this restart may take.
    pub passes: usize,
    /// The bound of the model that the pass looked with, in nats, all rows together.
    pub bound: f64,
    /// How much the bound rose since the pass before, if there was one.
    pub change: Option<f64>,
    /// What the learner did beside its usual update: states seeded anew, say.
    pub notes: Vec<String>,
    /// Wall-clock seconds since learning began.
    pub seconds: f64,
}

/// Somebody who watches learning: a progress bar, a log, a test. Learning happens on the
/// context's threads, so it must be possible to send one there.
pub trait Observer: Send {
    /// Called after each pass.
    fn passed(&mut self, record: &Record);

    /// Called when the start of a restart is about to be made, which can take a while.
    fn starting(&mut self, _restart: usize, _restarts: usize) {}

    /// Called when one of several things that are only tried, at most so many, is about to be learned: a size, say.
    fn trying(&mut self, _what: &str, _number: usize, _most: usize) {}

    /// Called when something went wrong that does not end learning: a checkpoint that could not be written, say.
    fn warned(&mut self, _warning: &str) {}
}

/// Watches nothing.
///
/// ```
/// use mereo_core::{Observer, Silent};
/// Silent.starting(0, 1);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn passed(&mut self, _record: &Record) {}
}

/// How a restart ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The bound rose by less than the tolerance.
    Converged,
    /// The passes ran out while the bound was still rising.
    PassLimit,
    /// Somebody asked for a stop.
    Interrupted,
    /// It was too far behind an earlier restart to reach it.
    Behind,
    /// Rows that were held out had not been explained better for a while; the best state was kept.
    EarlyStop,
    /// The bound fell without end, as it does when steps are too long; the last good state was kept.
    Diverged,
}

/// One restart, looked back at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Restart {
    /// How its start was made.
    pub start: String,
    /// How it ended.
    pub status: Status,
    /// The pass from which on schedules were at rest and the bound had to rise.
    #[serde(default)]
    pub settled_from: usize,
    /// The bound at each pass, and last that of the final model.
    pub bounds: Vec<f64>,
}

/// How a model came to be: part of every model file, and free of clock times so that the same
/// seed and data give the same file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Rows learned from.
    pub rows: usize,
    /// Their weight, if it is not their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// What tells the rows from others, as they were after any steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// The seed.
    pub seed: u64,
    /// The best bound, in nats, all rows together.
    pub bound: f64,
    /// The log likelihood itself, where it is known and is not the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_likelihood: Option<f64>,
    /// Whether nobody knows the log likelihood: the bound is one of another thing (of the likeliest
    /// paths, say), and must not be taken for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub likelihood_unknown: bool,
    /// The bound of rows that were held out at the end of each pass, in nats a row, if some were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<f64>,
    /// Passes of the restart that won.
    pub passes: usize,
    /// How the restart that won ended.
    pub status: Status,
    /// Which restart won.
    pub best: usize,
    /// All restarts.
    pub restarts: Vec<Restart>,
}

impl Training {
    /// How many rows there were by weight: what sums over rows are divided by.
    pub fn total_weight(&self) -> f64 {
        self.weight.unwrap_or(self.rows as f64)
    }

    /// The log likelihood of the rows learned from, or the bound where that is all that is known of
    /// it.
    pub fn log_likelihood_or_bound(&self) -> Option<f64> {
        (!self.likelihood_unknown).then(|| self.log_likelihood.unwrap_or(self.bound))
    }

    /// The bound in nats a row.
    pub fn bound_per_row(&self) -> f64 {
        self.bound / self.total_weight().max(f64::MIN_POSITIVE)
    }
}
