//! Densities that one can trust.
//!
//! Given the states S of all parts, the choice of a part for each column sums out:
//!
//! `P(x | S) = Π_d Σ_k a_dk N(x_d; μ_{k S_k d}, σ²_{k S_k d})`,
//!
//! so that `P(x) = Σ_S P(S) P(x | S)` has only S left to be summed or drawn. With classes
//! `P(S) = Σ_n β_n Π_k b_{n k S_k}`, and the terms of that sum give every class's share
//! `P(x, n)` from the same states.
//!
//! - *Exact*: all `J^K` joint states, walked as a tree: the sum over parts 0..k is made once for
//!   all states of the parts after k, so that a leaf costs one addition and one multiplication a
//!   column.
//! - *Importance*: with `S_i` drawn from `q`, the mean of `w_i = P(S_i) P(x | S_i) / q(S_i)` has
//!   expectation `P(x)` for any `q` that is nowhere 0. Here `q` is a mixture: mostly a factorised
//!   posterior `Π_k m_k`; some of its square root, which is wider, since such a posterior is surer
//!   than it should be; and a little of the prior, which bounds every weight by `P(x | S) / ρ`. The
//!   posterior is not quite that of learning. There the gate is the same for all rows, and a cell
//!   that another part made speaks loudly against the right state. Here each part weighs states by
//!   `m_kj ∝ b_kj Π_d (a_dk N(x_d; μ_kjd) + Σ_{l≠k} a_dl Σ_i m_li N(x_d; μ_lid))`, going round
//!   the parts a few times: a cell that others explain says little.
//! - *Prior*: `q = P(S)`, the papers' way, for comparison.
//!
//! Where parts have factors ([`crate::mcfa`]) S is continuous and there is no exact way. The proposal
//! is again a mixture: mostly the Gaussian `Π_k N(m_nk, Ω_k)` of the row with gates of its own, a little
//! wider than it says, some of it wider still, and a little of the prior.
//!
//! Draws are stratified: each component of `q` gets its share of them to within one, and within a
//! component each part's states come in their proportions (a Latin hypercube). That can only lower
//! the variance below that of independent draws (up to a factor n/(n-1)), from which the standard
//! error is reckoned: `se(log P̂) = sd(w) / (mean(w) √n)`. Effective samples are `(Σ w)² / Σ w²`.

mod by_factors;
mod by_states;

use mereo_core::{Batch, Context, Error, Likelihood, Random, Real, Result, RowLikelihood, Score};

/// Draws of a row.
const MOST_SAMPLES: usize = 1 << 24;
/// The largest square: sums of these over any number of columns stay finite.
const LARGEST_SQUARE: f64 = 1e295;
/// A column's density is summed from logarithms if it is this small beside the column's best.
const TINY: f64 = 1e-100;

/// Whether so many draws can be made.
fn check_samples(how: Likelihood) -> Result<()> {
    match how {
        Likelihood::Importance(n) | Likelihood::Prior(n) if n == 0 || n > MOST_SAMPLES => {
            Err(Error::option("samples", format!("{n} is not from 1 to {MOST_SAMPLES}")))
        }
        _ => Ok(()),
    }
}

/// The random numbers of a row.
fn of_row<T: Real>(batch: &Batch<'_, T>, row: usize, context: &Context) -> Random {
    context.random("likelihood", [(batch.first_row + row) as u64, 0])
}

/// The bound of every row, of which nothing is drawn.
fn by_the_bound<T: Real>(model: &dyn Score<T>, batch: &Batch<'_, T>, out: &mut [RowLikelihood]) {
    let mut logs = vec![0.0; batch.rows];
    model.score_batch(batch, &mut logs);
    for (out, log) in out.iter_mut().zip(logs) {
        *out = RowLikelihood { log, ..RowLikelihood::default() };
    }
}

/// Of so many draws, how many each component of a proposal makes: its share to within one.
fn in_shares(shares: &[f64], samples: usize, offset: f64) -> Vec<usize> {
    let (mut before, mut taken) = (0.0, 0);
    let mut counts = Vec::with_capacity(shares.len());
    for (index, share) in shares.iter().enumerate() {
        before += share * samples as f64;
        // So many of the points offset, offset + 1, … are up to here.
        let up_to = (before - offset).ceil().max(0.0) as usize;
        let end = if index + 1 == shares.len() { samples } else { up_to.clamp(taken, samples) };
        counts.push(end - taken);
        taken = end;
    }
    counts
}

/// The logarithm of a product of numbers from [`TINY`] up: it costs less than a sum of logarithms.
fn log_of_product(factors: impl Iterator<Item = f64>) -> f64 {
    let (mut log, mut product) = (0.0, 1.0);
    for factor in factors {
        product *= factor;
        if product < TINY {
            log += product.ln();
            product = 1.0;
        }
    }
    log + product.ln()
}

/// What causes are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proposal {
    /// About what the row suggests.
    Posterior,
    /// Whatever the row is.
    Prior,
}

/// One row, seen through a model with hidden causes S and perhaps classes n.
pub(crate) trait Hidden {
    /// Draws causes and keeps them; returns how many different ones there are.
    fn draw(&mut self, from: Proposal, samples: usize, random: &mut Random) -> usize;

    /// Of a different cause: how often it was drawn, and the log of `q` at it. Writes `log P(x, S, n)`
    /// for every class (one if there are none).
    fn weigh(&mut self, cause: usize, by_class: &mut [f64]) -> (f64, f64);
}

/// A sum of numbers that are known by their logarithms, and the sum of their squares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSum {
    largest: f64,
    sum: f64,
    squares: f64,
}

impl LogSum {
    pub(crate) const EMPTY: Self = Self { largest: f64::NEG_INFINITY, sum: 0.0, squares: 0.0 };

    /// Adds a number `count` times.
    pub(crate) fn add(&mut self, log: f64, count: f64) {
        if log > self.largest {
            let down = (self.largest - log).exp();
            self.sum = self.sum * down + count;
            self.squares = self.squares * down * down + count;
            self.largest = log;
        } else if log > f64::NEG_INFINITY {
            let relative = (log - self.largest).exp();
            self.sum += count * relative;
            self.squares += count * relative * relative;
        }
    }

    /// The logarithm of the sum.
    pub(crate) fn log(&self) -> f64 {
        self.largest + self.sum.ln()
    }
}

/// Draws causes, and estimates the row's log density from them; writes `log P(x, n)` to
/// `by_class`, of which all are estimated from the same draws.
pub(crate) fn by_drawing<H: Hidden>(
    hidden: &mut H,
    from: Proposal,
    samples: usize,
    random: &mut Random,
    by_class: &mut [f64],
) -> RowLikelihood {
    let different = hidden.draw(from, samples, random);
    let mut total = LogSum::EMPTY;
    let mut of_class = vec![LogSum::EMPTY; by_class.len()];
    for cause in 0..different {
        let (count, log_proposal) = hidden.weigh(cause, by_class);
        let mut joint = LogSum::EMPTY;
        for (sum, log) in of_class.iter_mut().zip(&*by_class) {
            sum.add(log - log_proposal, count);
            joint.add(*log, 1.0);
        }
        total.add(joint.log() - log_proposal, count);
    }
    let n = samples as f64;
    for (out, sum) in by_class.iter_mut().zip(&of_class) {
        *out = sum.log() - n.ln();
    }
    // In units of the largest weight.
    let mean = total.sum / n;
    let variance = if n > 1.0 {
        ((total.squares - n * mean * mean) / (n - 1.0)).max(0.0)
    } else {
        // One draw tells nothing of how far off it may be.
        f64::INFINITY
    };
    RowLikelihood {
        log: total.log() - n.ln(),
        standard_error: (variance / n).sqrt() / mean,
        effective_samples: total.sum * total.sum / total.squares,
    }
}
