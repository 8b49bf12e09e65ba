//! Belief revision between features: belief propagation in the limit of no noise.
//!
//! Messages are differences of energies, with the sign of log ratios:
//! `m_ji = max(0, a - w_ij) - max(0, a)`, `a = -h_j + Σ_{k≠i} m_kj`, and feature i is on if
//! `-h_i + Σ_j m_ji > 0`. Exact on trees. With loops messages may not settle; when they do the
//! state is, by the paper's observation and ours, nearly always the best one.

use super::bp::Messages;
use super::{Answer, Problem, Solver, random, shuffle};

/// Sweeps after which messages that have not settled never will.
const SWEEPS: usize = 100;
/// Messages have settled when none changes by more than this share of the largest bias.
const SETTLED: f64 = 1e-10;

/// Belief revision.
#[derive(Debug, Default)]
pub struct Br {
    messages: Messages,
    order: Vec<usize>,
}

fn send(a: f64, w: f64) -> f64 {
    (a - w).max(0.0) - a.max(0.0)
}

impl Solver for Br {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        let mut best = Answer::nothing();
        let mut random = random();
        let n = problem.bias.len();
        self.messages.start(problem, |h, w| send(-h, w));
        let unit = problem.bias.iter().fold(0.0, |a: f64, h| a.max(h.abs()));
        let mut state = 0u64;
        for _ in 0..SWEEPS {
            shuffle(&mut self.order, n, &mut random);
            let mut change = 0.0f64;
            for &i in &self.order {
                let (ratio, moved) = self.messages.renew(problem, i, 1.0, send);
                state = if ratio > 0.0 { state | 1 << i } else { state & !(1 << i) };
                change = change.max(moved);
            }
            best.offer(state, problem.energy(state));
            if change <= SETTLED * unit {
                best.settled = true;
                break;
            }
        }
        best
    }
}
