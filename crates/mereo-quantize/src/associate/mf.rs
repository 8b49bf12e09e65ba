//! Mean field, the noise going to nothing.
//!
//! Of all factorised distributions `Π_i μ_i^{s_i} (1-μ_i)^{1-s_i}` the one nearest to
//! `p(s) ∝ exp(-E_x(s)/2σ²)` has `μ_i = sig(-(h_i + Σ_l w_il μ_l)/2σ²)`: the derivative of the
//! divergence set to zero. Sweeps over the features in random order renew one μ at a time while σ
//! falls by a constant factor, from 100 to 10⁻⁴ where features are as long as the paper's (see
//! [`bp`](super::bp)).

use super::{Answer, Problem, Solver, random, shuffle, sigmoid};
use rand::RngExt;

/// Sweeps, and the noise of the first and of the last in lengths of a feature.
pub(super) const SWEEPS: usize = 60;
const FIRST_NOISE: f64 = 100.0 / 4.5;
const LAST_NOISE: f64 = 1e-4 / 4.5;

/// `1/2σ²` in a sweep.
pub(super) fn scale(problem: &Problem<'_>, sweep: usize) -> f64 {
    let along = sweep as f64 / (SWEEPS - 1) as f64;
    let sigma = problem.couplings.unit() * FIRST_NOISE * (LAST_NOISE / FIRST_NOISE).powf(along);
    0.5 / (sigma * sigma)
}

/// Mean field.
#[derive(Debug, Default)]
pub struct Mf {
    mean: Vec<f64>,
    order: Vec<usize>,
}

impl Solver for Mf {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        let mut best = Answer::nothing();
        let mut random = random();
        let n = problem.bias.len();
        self.mean.clear();
        self.mean.extend((0..n).map(|_| 0.5 + 0.01 * (random.random::<f64>() - 0.5)));
        for sweep in 0..SWEEPS {
            let scale = scale(problem, sweep);
            shuffle(&mut self.order, n, &mut random);
            for &i in &self.order {
                let row = problem.couplings.row(i);
                let field: f64 = row.iter().zip(&self.mean).map(|(w, m)| w * m).sum();
                self.mean[i] = sigmoid(-scale * (problem.bias[i] + field));
            }
            let state = (0..n).fold(0, |s, i| s | u64::from(self.mean[i] > 0.5) << i);
            best.offer(state, problem.energy(state));
        }
        best
    }
}
