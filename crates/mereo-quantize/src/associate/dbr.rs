//! Belief revision in the directed graph: messages between features and columns.
//!
//! A column d with value `x_d` is explained by the features that have something there, its
//! parents. As log ratios, features tell columns `ρ_jd = -λ/2 + Σ_{e≠d} m_ej`, all they heard
//! elsewhere (λ the penalty), and columns tell features what switching them on would gain if all
//! other parents were at their best,
//!
//! `m_dj = max_{s: s_j=1} v(s) - ρ_jd - max_{s: s_j=0} v(s)`, `v(s) = -½(x_d - Σ_k f_kd s_k)² + Σ_k ρ_kd s_k`.
//!
//! A feature is on if `-λ/2 + Σ_d m_dj > 0`. Exact without loops; the work is `2^k` for a column with
//! k parents. A maximum has no scale, so the noise does not matter.

use super::br::Br;
use super::{Answer, Directed, Problem, Solver};

/// Most parents of a column, and most combinations of parents in all columns of a row.
pub(super) const MOST_PARENTS: usize = 16;
pub(super) const MOST_COMBINATIONS: usize = 1 << 17;
/// Sweeps after which messages that have not settled never will, and what settled means.
const SWEEPS: usize = 60;
const SETTLED: f64 = 1e-10;

/// Belief revision in the directed graph.
#[derive(Debug, Default)]
pub struct Dbr {
    undirected: Br,
    links: Links,
    best: Vec<[f64; 2]>,
}

/// The graph of one row: observed columns, their parents, and what columns tell parents.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The value of each observed column, and where its parents start.
    pub(super) values: Vec<f64>,
    pub(super) starts: Vec<usize>,
    /// Parents: number, feature, message from the column.
    pub(super) parent: Vec<usize>,
    pub(super) feature: Vec<f64>,
    pub(super) message: Vec<f64>,
    /// All that each feature heard.
    pub(super) heard: Vec<f64>,
    /// What the parents of the column at hand tell it.
    pub(super) told: Vec<f64>,
}

impl Links {
    pub(super) fn set(&mut self, n: usize, directed: &Directed<'_>) {
        let columns = directed.target.len();
        self.values.clear();
        self.starts.clear();
        self.parent.clear();
        self.feature.clear();
        for (d, &x) in directed.target.iter().enumerate() {
            if x.is_nan() {
                continue;
            }
            self.values.push(x);
            self.starts.push(self.parent.len());
            for k in 0..n {
                let f = directed.feature[k * columns + d];
                if f != 0.0 {
                    self.parent.push(k);
                    self.feature.push(f);
                }
            }
        }
        self.starts.push(self.parent.len());
        self.message.clear();
        self.message.resize(self.parent.len(), 0.0);
        self.heard.clear();
        self.heard.resize(n, 0.0);
    }

    /// One sweep: features tell columns, columns answer by `answer(value, features, told, out)`.
    /// Returns the largest change of a message.
    pub(super) fn sweep(
        &mut self,
        prior: f64,
        mut answer: impl FnMut(f64, &[f64], &[f64], &mut [f64]),
    ) -> f64 {
        let mut change = 0.0f64;
        let heard = self.heard.clone();
        self.heard.fill(0.0);
        let mut news = vec![0.0; self.heard.len()];
        for (d, &x) in self.values.iter().enumerate() {
            let range = self.starts[d]..self.starts[d + 1];
            let parents = &self.parent[range.clone()];
            self.told.clear();
            let old = &self.message[range.clone()];
            self.told.extend(parents.iter().zip(old).map(|(&k, m)| prior + heard[k] - m));
            let news = &mut news[..parents.len()];
            answer(x, &self.feature[range.clone()], &self.told, news);
            for ((&k, m), new) in parents.iter().zip(&mut self.message[range]).zip(news) {
                change = change.max((*new - *m).abs());
                *m = *new;
                self.heard[k] += *new;
            }
        }
        change
    }

    /// The state that features believe in.
    pub(super) fn state(&self, prior: f64) -> u64 {
        let on = |(i, heard): (usize, &f64)| u64::from(prior + heard > 0.0) << i;
        self.heard.iter().enumerate().map(on).fold(0, |a, b| a | b)
    }
}

/// What a column tells its parents.
fn answer(x: f64, feature: &[f64], told: &[f64], best: &mut Vec<[f64; 2]>, out: &mut [f64]) {
    let parents = feature.len();
    best.clear();
    best.resize(parents, [f64::NEG_INFINITY; 2]);
    let (mut left, mut sum, mut state) = (x, 0.0, 0u32);
    for step in 0..1u32 << parents {
        if step > 0 {
            let k = step.trailing_zeros() as usize;
            state ^= 1 << k;
            let turn = if state >> k & 1 == 1 { 1.0 } else { -1.0 };
            left -= turn * feature[k];
            sum += turn * told[k];
        }
        let value = sum - 0.5 * left * left;
        for (k, best) in best.iter_mut().enumerate() {
            let best = &mut best[(state >> k & 1) as usize];
            *best = if value > *best { value } else { *best };
        }
    }
    for ((out, best), told) in out.iter_mut().zip(best).zip(told) {
        *out = best[1] - told - best[0];
    }
}

impl Solver for Dbr {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        let Some(directed) = problem.directed else {
            return self.undirected.solve(problem);
        };
        let Self { links, best: values, .. } = self;
        let mut best = Answer::nothing();
        links.set(problem.bias.len(), &directed);
        let prior = -0.5 * directed.penalty;
        let unit = problem.bias.iter().fold(0.0, |a: f64, h| a.max(h.abs()));
        for _ in 0..SWEEPS {
            let change = links.sweep(prior, |x, feature, told, out| {
                // Columns with more parents than can be gone through say nothing.
                if feature.len() <= MOST_PARENTS {
                    answer(x, feature, told, values, out);
                } else {
                    out.fill(0.0);
                }
            });
            let state = links.state(prior);
            best.offer(state, problem.energy(state));
            if change <= SETTLED * unit {
                best.settled = true;
                break;
            }
        }
        best
    }
}
