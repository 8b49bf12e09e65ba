//! Explaining a row by a sum of vectors, one of each part: see the [module](super) for the derivation.

use mereo_core::math::softmax;
use mereo_core::slots::first_smallest;
use mereo_core::{Context, Random, draw};
use rand::RngExt;

use super::Inference;

/// Sweeps of mean field at most, and when responsibilities have settled.
const SWEEPS: usize = 30;
const SETTLED: f64 = 1e-4;
/// Sweeps of Gibbs sampling that count, after some that do not.
const DRAWS: usize = 20;
const BURNED: usize = 10;
/// Kicks of the local search without improvement.
const KICKS: usize = 4;

/// A sum of vectors, ready to explain rows.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) parts: usize,
    pub(super) states: usize,
    pub(super) inference: Inference,
    pub(super) variance: f64,
    /// `[K, J]`.
    pub(super) log_prior: Vec<f64>,
}

/// Memory to explain a row in.
#[derive(Debug, Default)]
pub(super) struct Explainer {
    /// Responsibilities, `[K J]`.
    pub(super) code: Vec<f64>,
    /// The state of each part, where a row has one code.
    states: Vec<usize>,
    counts: Vec<f64>,
    logs: Vec<f64>,
}

/// A row as its code sees it: `μ·x` by vector, and `μ·μ'` over the observed columns.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) reach: &'a [f64],
    /// `[K J, K J]`.
    pub(super) products: &'a [f64],
}

impl Sums {
    fn vectors(&self) -> usize {
        self.parts * self.states
    }

    /// Explains a row: responsibilities into `explainer.code`, found by a search or, if better, by
    /// going on from those of the pass before. Returns `E‖x - Σ‖² - ‖x‖²`, and the divergence of the
    /// responsibilities from the prior.
    pub(super) fn explain(
        &self,
        seen: Seen<'_>,
        before: Option<&[f64]>,
        explainer: &mut Explainer,
    ) -> (f64, f64) {
        explainer.code.resize(self.vectors(), 0.0);
        explainer.logs.resize(self.states, 0.0);
        self.search(seen, explainer);
        match self.inference {
            Inference::Local => {}
            Inference::MeanField => self.mean_field(seen, explainer),
            Inference::Gibbs => self.gibbs(seen, explainer),
        }
        let found = self.cost(seen, &explainer.code);
        // Draws do not go on from draws: their mean would not be one of fresh ones.
        let Some(before) = before.filter(|_| self.inference != Inference::Gibbs) else {
            return found;
        };
        let searched = std::mem::replace(&mut explainer.code, before.to_vec());
        if self.inference == Inference::MeanField {
            self.mean_field(seen, explainer);
        }
        let gone_on = self.cost(seen, &explainer.code);
        let total = |(square, divergence): (f64, f64)| 0.5 * square / self.variance + divergence;
        if total(gone_on) < total(found) {
            return gone_on;
        }
        explainer.code = searched;
        found
    }

    /// `E‖x - Σ‖² - ‖x‖²`, and the divergence of the responsibilities from the prior.
    fn cost(&self, seen: Seen<'_>, code: &[f64]) -> (f64, f64) {
        let divergence = code
            .iter()
            .zip(&self.log_prior)
            .filter(|(m, _)| **m > 0.0)
            .map(|(m, b)| m * (m.ln() - b))
            .sum();
        (self.expected_square(seen, code), divergence)
    }

    /// `E‖x - Σ_k μ‖² - ‖x‖²` under responsibilities.
    fn expected_square(&self, seen: Seen<'_>, code: &[f64]) -> f64 {
        let n = self.vectors();
        let mut sum = 0.0;
        for (a, &m) in code.iter().enumerate().filter(|(_, m)| **m != 0.0) {
            let row = &seen.products[a * n..(a + 1) * n];
            let part = a / self.states * self.states;
            let own = part..part + self.states;
            let all: f64 = row.iter().zip(code).map(|(p, m)| p * m).sum();
            let within: f64 = own.map(|b| row[b] * code[b]).sum();
            sum += m * (row[a] - 2.0 * seen.reach[a] + all - within);
        }
        sum
    }

    /// What each state of a part would cost beside these responsibilities of the others.
    fn costs(&self, seen: Seen<'_>, part: usize, code: &[f64], out: &mut [f64]) {
        let (n, own) = (self.vectors(), part * self.states..(part + 1) * self.states);
        for (out, a) in out.iter_mut().zip(own.clone()) {
            let row = &seen.products[a * n..(a + 1) * n];
            let all: f64 = row.iter().zip(code).map(|(p, m)| p * m).sum();
            let within: f64 = own.clone().map(|b| row[b] * code[b]).sum();
            *out = row[a] - 2.0 * seen.reach[a] + 2.0 * (all - within);
        }
    }

    /// The code that changes of single parts lead to, then kicks.
    fn search(&self, seen: Seen<'_>, explainer: &mut Explainer) {
        let Explainer { code, states, logs, .. } = explainer;
        let set = |code: &mut [f64], states: &[usize]| {
            code.fill(0.0);
            for (k, &j) in states.iter().enumerate() {
                code[k * self.states + j] = 1.0;
            }
        };
        // Part after part takes what is best beside those before it.
        code.fill(0.0);
        states.clear();
        for k in 0..self.parts {
            self.costs(seen, k, code, logs);
            let j = first_smallest(logs);
            states.push(j);
            code[k * self.states + j] = 1.0;
        }
        self.descend(seen, code, states, logs);
        if self.parts == 1 || self.states == 1 {
            return;
        }
        let mut random = Context::new(0).random("cvq search", [0, 0]);
        let mut best = self.expected_square(seen, code);
        let mut left = KICKS * self.parts;
        let mut kept = states.clone();
        while left > 0 {
            left -= 1;
            for _ in 0..2 {
                let k = random.random_range(0..self.parts);
                states[k] = random.random_range(0..self.states);
            }
            set(code, states);
            self.descend(seen, code, states, logs);
            let found = self.expected_square(seen, code);
            if found < best - 1e-12 * best.abs() {
                (best, left) = (found, KICKS * self.parts);
                kept.copy_from_slice(states);
            } else {
                states.copy_from_slice(&kept);
            }
        }
        states.copy_from_slice(&kept);
        set(code, states);
    }

    fn descend(&self, seen: Seen<'_>, code: &mut [f64], states: &mut [usize], costs: &mut [f64]) {
        for _ in 0..SWEEPS {
            let mut moved = false;
            for k in 0..self.parts {
                self.costs(seen, k, code, costs);
                let (best, old) = (first_smallest(costs), states[k]);
                if costs[best] < costs[old] {
                    code[k * self.states + old] = 0.0;
                    code[k * self.states + best] = 1.0;
                    states[k] = best;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }

    fn mean_field(&self, seen: Seen<'_>, explainer: &mut Explainer) {
        let Explainer { code, logs, .. } = explainer;
        for _ in 0..SWEEPS {
            let mut change = 0.0f64;
            for k in 0..self.parts {
                self.costs(seen, k, code, logs);
                let own = k * self.states..(k + 1) * self.states;
                for (log, b) in logs.iter_mut().zip(&self.log_prior[own.clone()]) {
                    *log = b - 0.5 * *log / self.variance;
                }
                softmax(logs);
                for (m, new) in code[own].iter_mut().zip(&*logs) {
                    change = change.max((*m - new).abs());
                    *m = *new;
                }
            }
            if change < SETTLED {
                break;
            }
        }
    }

    fn gibbs(&self, seen: Seen<'_>, explainer: &mut Explainer) {
        let Explainer { code, states, logs, counts } = explainer;
        let mut random: Random = Context::new(0).random("cvq gibbs", [0, 0]);
        counts.clear();
        counts.resize(code.len(), 0.0);
        for sweep in 0..BURNED + DRAWS {
            for k in 0..self.parts {
                self.costs(seen, k, code, logs);
                let own = k * self.states..(k + 1) * self.states;
                for (log, b) in logs.iter_mut().zip(&self.log_prior[own]) {
                    *log = b - 0.5 * *log / self.variance;
                }
                softmax(logs);
                let j = draw(logs, &mut random).unwrap_or(states[k]);
                code[k * self.states + states[k]] = 0.0;
                code[k * self.states + j] = 1.0;
                states[k] = j;
            }
            if sweep >= BURNED {
                counts.iter_mut().zip(&*code).for_each(|(c, m)| *c += m / DRAWS as f64);
            }
        }
        code.copy_from_slice(counts);
    }
}

/// Products of vectors over some columns, `[n, n]`.
pub(super) fn products(mean: &[f64], columns: usize, seen: Option<&[usize]>, out: &mut Vec<f64>) {
    let n = mean.len() / columns.max(1);
    out.clear();
    out.resize(n * n, 0.0);
    for a in 0..n {
        for b in 0..=a {
            let (x, y) =
                (&mean[a * columns..(a + 1) * columns], &mean[b * columns..(b + 1) * columns]);
            let product: f64 = match seen {
                None => x.iter().zip(y).map(|(x, y)| x * y).sum(),
                Some(seen) => seen.iter().map(|&c| x[c] * y[c]).sum(),
            };
            out[a * n + b] = product;
            out[b * n + a] = product;
        }
    }
}
