//! Local search: flips of one feature and of two at once, as long as they lower the energy, with
//! kicks out of local minima.
//!
//! With the fields `g_i = h_i + Σ_j w_ij s_j` and `t_i = 1 - 2 s_i`, flipping i changes the energy
//! by `t_i g_i`, and flipping i and j by `t_i g_i + t_j g_j + t_i t_j w_ij`. Each step takes the best
//! of all single and pair flips. Pairs matter when features are alike: then the way from one
//! good state to the next is to swap one feature for another, and no single flip finds it. They are many,
//! so they are compared side by side.
//! A kick flips a few features at random, descends, and stays if that is no worse.

use mereo_core::Random;
use mereo_core::math::widest;
use rand::RngExt;

use super::{Answer, Problem, Solver, ones, random};

/// Kicks without improvement, for each feature, after which the search ends; starts.
const KICKS: usize = 4;
const STARTS: usize = 4;
/// Pairs that are compared side by side.
const LANES: usize = 8;

/// Iterated local search.
#[derive(Debug, Default)]
pub struct Local {
    fields: Vec<f64>,
    /// What flipping each feature changes, and t.
    change: Vec<f64>,
    turn: Vec<f64>,
}

impl Local {
    /// The local minimum that a state leads to.
    pub(crate) fn descend_from(&mut self, problem: &Problem<'_>, mut state: u64) -> Answer {
        let n = problem.bias.len();
        problem.fields(state, &mut self.fields);
        loop {
            self.turn.clear();
            self.turn.extend((0..n).map(|i| 1.0 - 2.0 * ((state >> i & 1) as f64)));
            self.change.clear();
            self.change.extend(self.turn.iter().zip(&self.fields).map(|(t, g)| t * g));
            let (mut best, mut flips) = (0.0, 0u64);
            for i in 0..n {
                if self.change[i] < best {
                    (best, flips) = (self.change[i], 1 << i);
                }
            }
            // Pairs only where single flips end: they are n times as many.
            if flips == 0 {
                (best, flips) = self.best_pair(problem);
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

    /// The pair whose flip lowers the energy most, and by how much; none if no pair does.
    fn best_pair(&self, problem: &Problem<'_>) -> (f64, u64) {
        let (change, turn) = (&self.change[..], &self.turn[..]);
        let (mut best, mut flips) = (0.0, 0u64);
        widest(
            #[inline(always)]
            || {
                for i in 1..change.len() {
                    let (w, c, t) = (&problem.couplings.row(i)[..i], &change[..i], &turn[..i]);
                    let with = |w: f64, c: f64, t: f64| c + turn[i] * t * w;
                    let blocks = w.as_chunks::<LANES>().0.iter().zip(c.as_chunks::<LANES>().0);
                    let mut lanes = [f64::INFINITY; LANES];
                    for ((w, c), t) in blocks.zip(t.as_chunks::<LANES>().0) {
                        for lane in 0..LANES {
                            let both = with(w[lane], c[lane], t[lane]);
                            lanes[lane] = if both < lanes[lane] { both } else { lanes[lane] };
                        }
                    }
                    let mut least = f64::INFINITY;
                    for lane in lanes {
                        least = if lane < least { lane } else { least };
                    }
                    for j in i / LANES * LANES..i {
                        let both = with(w[j], c[j], t[j]);
                        least = if both < least { both } else { least };
                    }
                    if change[i] + least < best
                        && let Some(j) = (0..i).find(|&j| with(w[j], c[j], t[j]) == least)
                    {
                        (best, flips) = (change[i] + least, 1 << i | 1 << j);
                    }
                }
            },
        );
        (best, flips)
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
