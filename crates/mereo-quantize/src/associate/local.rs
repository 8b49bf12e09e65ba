//! Local search: flips of one feature and of two at once, as long as they lower the energy, with
//! kicks out of local minima.
//!
//! With the fields `g_i = h_i + Σ_j w_ij s_j` and `t_i = 1 - 2 s_i`, flipping i changes the energy
//! by `t_i g_i`, and flipping i and j by `t_i g_i + t_j g_j + t_i t_j w_ij`. Each step takes the best
//! of all single and pair flips. Pairs matter when features are alike: then the way from one
//! good state to the next is to swap one feature for another, and no single flip finds it.
//! A kick flips a few features at random, descends, and stays if that is no worse.

use super::{Answer, Problem, Solver, ones, random};
use mereo_core::Random;
use rand::RngExt;

/// Kicks without improvement, for each feature, after which the search ends; starts.
const KICKS: usize = 4;
const STARTS: usize = 4;

/// Iterated local search.
#[derive(Debug, Default)]
pub struct Local {
    fields: Vec<f64>,
    change: Vec<f64>,
}

impl Local {
    /// The local minimum that a state leads to.
    pub(crate) fn descend_from(&mut self, problem: &Problem<'_>, mut state: u64) -> Answer {
        let n = problem.bias.len();
        problem.fields(state, &mut self.fields);
        loop {
            let sign = |i: usize| 1.0 - 2.0 * ((state >> i & 1) as f64);
            self.change.clear();
            self.change.extend((0..n).map(|i| sign(i) * self.fields[i]));
            let (mut best, mut flips) = (0.0, 0u64);
            for i in 0..n {
                if self.change[i] < best {
                    (best, flips) = (self.change[i], 1 << i);
                }
            }
            // Pairs only where single flips end: they are n times as many.
            if flips == 0 {
                for i in 1..n {
                    let row = problem.couplings.row(i);
                    let (own, turn) = (self.change[i], sign(i));
                    for j in 0..i {
                        let change = own + self.change[j] + turn * sign(j) * row[j];
                        if change < best {
                            (best, flips) = (change, 1 << i | 1 << j);
                        }
                    }
                }
            }
            // A change that is nothing but rounding could go round in circles.
            let size = self.change.iter().fold(0.0, |a: f64, c| a.max(c.abs()));
            if !(best < -1e-12 * size) {
                break;
            }
            for i in ones(flips) {
                let turn = 1.0 - 2.0 * ((state >> i & 1) as f64);
                state ^= 1 << i;
                for (field, w) in self.fields.iter_mut().zip(problem.couplings.row(i)) {
                    *field += turn * w;
                }
            }
        }
        let mut answer = Answer::nothing();
        answer.offer(state, problem.energy(state));
        answer
    }

    /// Descends from a state and kicks until kicks no longer help.
    pub(super) fn iterate(&mut self, problem: &Problem<'_>, state: u64) -> Answer {
        let mut random = random();
        let n = problem.bias.len();
        let mut best = self.descend_from(problem, state);
        for start in 0..STARTS {
            let from = if start == 0 { best.state } else { any_state(n, &mut random) };
            let found = self.kick(problem, from, &mut random);
            best.offer(found.state, found.energy);
        }
        best
    }

    fn kick(&mut self, problem: &Problem<'_>, state: u64, random: &mut Random) -> Answer {
        let n = problem.bias.len();
        let mut here = self.descend_from(problem, state);
        let mut left = KICKS * n;
        while left > 0 {
            left -= 1;
            let flips = random.random_range(2..=2 + n / 4);
            let kicked = (0..flips).fold(here.state, |s, _| s ^ 1 << random.random_range(0..n));
            let found = self.descend_from(problem, kicked);
            if found.energy < here.energy {
                left = KICKS * n;
            }
            if found.energy <= here.energy {
                here = found;
            }
        }
        here
    }
}

fn any_state(n: usize, random: &mut Random) -> u64 {
    random.random::<u64>() & if n >= 64 { u64::MAX } else { super::low(n) }
}

impl Solver for Local {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        if problem.bias.is_empty() {
            return Answer::nothing();
        }
        self.iterate(problem, 0)
    }
}
