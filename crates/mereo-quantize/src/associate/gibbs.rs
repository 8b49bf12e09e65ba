//! Gibbs sampling, the noise going to nothing: simulated annealing.
//!
//! Each feature in turn is drawn given all others, `p(s_i = 1) = sig(-(h_i + Σ_l w_il s_l)/2σ²)`,
//! with the noise of `mf`. At no noise the two are the same.

use super::{Answer, Problem, Solver, mf, random, shuffle, sigmoid};
use rand::RngExt;

/// Gibbs sampling.
#[derive(Debug, Default)]
pub struct Gibbs {
    fields: Vec<f64>,
    order: Vec<usize>,
}

impl Solver for Gibbs {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        let mut best = Answer::nothing();
        let mut random = random();
        let n = problem.bias.len();
        let mut state = (0..n).fold(0u64, |s, i| s | u64::from(random.random::<bool>()) << i);
        problem.fields(state, &mut self.fields);
        for sweep in 0..mf::SWEEPS {
            let scale = mf::scale(problem, sweep);
            shuffle(&mut self.order, n, &mut random);
            for &i in &self.order {
                let on = random.random::<f64>() < sigmoid(-scale * self.fields[i]);
                if on != (state >> i & 1 == 1) {
                    let turn = if on { 1.0 } else { -1.0 };
                    state ^= 1 << i;
                    for (field, w) in self.fields.iter_mut().zip(problem.couplings.row(i)) {
                        *field += turn * w;
                    }
                }
            }
            best.offer(state, problem.energy(state));
        }
        best
    }
}
