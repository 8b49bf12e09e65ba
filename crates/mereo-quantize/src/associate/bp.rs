//! Belief propagation between features, the noise going to nothing.
//!
//! In `p(s) ∝ exp(ν E_x(s))`, `ν = -1/2σ²`, the message that j sends to i is, as a log ratio of
//! `s_i = 1` to `s_i = 0`,
//!
//! `m_ji = log(1 + e^(a + ν w_ij)) - log(1 + e^a)`, `a = ν h_j + Σ_{k≠i} m_kj`,
//!
//! and the belief in `s_i = 1` against 0 is `ν h_i + Σ_j m_ji`. On trees beliefs are exact. As the
//! paper does it, the square of σ is halved after every sweep over the features in random order.
//! Its noise is measured in the length of a feature, so that nothing depends on units; in the
//! paper's problems, where features are about 4.5 long, it falls from 0.1 to 10⁻⁴ as there.

use super::{Answer, Problem, Solver, random, shuffle, sigmoid};

/// The noise of the first sweep and of the last, in lengths of a feature.
const FIRST_NOISE: f64 = 0.1 / 4.5;
const LAST_NOISE: f64 = 1e-4 / 4.5;

/// Belief propagation.
#[derive(Debug, Default)]
pub struct Bp {
    messages: Messages,
    order: Vec<usize>,
}

/// Messages between all pairs, as log ratios.
#[derive(Debug, Default)]
pub(super) struct Messages {
    n: usize,
    /// What j says to i, at `[i, j]`, and what all the others say to i.
    message: Vec<f64>,
    heard: Vec<f64>,
}

impl Messages {
    /// The first messages, as if nobody had heard anything.
    pub(super) fn start(&mut self, problem: &Problem<'_>, send: impl Fn(f64, f64) -> f64) {
        self.n = problem.bias.len();
        self.message.clear();
        self.heard.clear();
        for i in 0..self.n {
            let row = problem.couplings.row(i);
            self.message.extend(
                (0..self.n).map(
                    |j| {
                        if row[j] == 0.0 { 0.0 } else { send(problem.bias[j], row[j]) }
                    },
                ),
            );
            self.heard.push(self.message[i * self.n..].iter().sum());
        }
    }

    /// Renews all messages into i: `send(a, w)` is the message of a feature whose own log ratio
    /// without i is `a`, where biases count `-scale` times. Returns i's log ratio, and the largest
    /// change.
    pub(super) fn renew(
        &mut self,
        problem: &Problem<'_>,
        i: usize,
        scale: f64,
        send: impl Fn(f64, f64) -> f64,
    ) -> (f64, f64) {
        let row = problem.couplings.row(i);
        let mut change = 0.0f64;
        for j in 0..self.n {
            if row[j] != 0.0 {
                let a = -scale * problem.bias[j] + self.heard[j] - self.message[j * self.n + i];
                let message = send(a, row[j]);
                let old = &mut self.message[i * self.n + j];
                change = change.max((message - *old).abs());
                *old = message;
            }
        }
        self.heard[i] = self.message[i * self.n..(i + 1) * self.n].iter().sum();
        (-scale * problem.bias[i] + self.heard[i], change)
    }
}

/// `log(1 + e^x)`.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

impl Bp {
    /// What features believe after this many sweeps at one noise: `p(s_i = 1)`, exact on trees if
    /// there are as many sweeps as the tree is long.
    ///
    /// ```
    /// use mereo_quantize::associate::{Couplings, Problem, bp::Bp};
    /// let couplings = Couplings::new(1, &[0.0]);
    /// let problem = Problem { couplings: &couplings, bias: &[0.0], directed: None };
    /// assert_eq!(Bp::default().marginals(&problem, 1.0, 3), [0.5]);
    /// ```
    pub fn marginals(&mut self, problem: &Problem<'_>, sigma: f64, sweeps: usize) -> Vec<f64> {
        let scale = 0.5 / (sigma * sigma);
        let send = |a: f64, w: f64| softplus(a - scale * w) - softplus(a);
        self.messages.start(problem, |h, w| send(-scale * h, w));
        let mut log_ratio = vec![0.0; problem.bias.len()];
        for _ in 0..sweeps {
            for (i, out) in log_ratio.iter_mut().enumerate() {
                *out = self.messages.renew(problem, i, scale, send).0;
            }
        }
        log_ratio.into_iter().map(sigmoid).collect()
    }
}

impl Solver for Bp {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        let mut best = Answer::nothing();
        let mut random = random();
        let n = problem.bias.len();
        let unit = problem.couplings.unit();
        let mut variance = (FIRST_NOISE * unit).powi(2);
        let mut state = 0u64;
        let first = 0.5 / variance;
        let send = |scale: f64| move |a: f64, w: f64| softplus(a - scale * w) - softplus(a);
        self.messages.start(problem, |h, w| send(first)(-first * h, w));
        while variance >= (LAST_NOISE * unit).powi(2) {
            let scale = 0.5 / variance;
            shuffle(&mut self.order, n, &mut random);
            for &i in &self.order {
                let (ratio, _) = self.messages.renew(problem, i, scale, send(scale));
                state = if ratio > 0.0 { state | 1 << i } else { state & !(1 << i) };
            }
            best.offer(state, problem.energy(state));
            variance /= 2.0;
        }
        best
    }
}
