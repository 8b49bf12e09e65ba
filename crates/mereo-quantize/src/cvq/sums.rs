//! Explaining a row by a sum of vectors, one of each part: see the [module](super) for the derivation.

use mereo_core::math::{Array, Matrix, softmax};
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
/// Kicks of the local search without improvement, for each part, and the most parts that one moves.
const KICKS: usize = 4;
const MOST_KICKED: usize = 4;
/// A change that is nothing but rounding could go round in circles.
const ROUNDING: f64 = 1e-12;
/// The most states of which pairs are tried: they are the square of it.
const MOST_PAIRED: usize = 32;

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
    /// The vector of each part, where a row has one code, and that of the best code so far.
    chosen: Vec<usize>,
    kept: Vec<usize>,
    /// What each vector costs by itself, and its products with those chosen.
    alone: Vec<f64>,
    beside: Vec<f64>,
    counts: Vec<f64>,
    logs: Vec<f64>,
}

/// A row as its code sees it: `μ·x` by vector, and `μ·μ'` over the observed columns.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) reach: &'a [f64],
    /// `[K J, K J]`.
    pub(super) products: Matrix<'a, f64>,
}

impl Explainer {
    /// What the code costs that its parts show, less `‖x‖²`.
    fn cost(&self, seen: Seen<'_>) -> f64 {
        let cost = |&a: &usize| self.alone[a] + self.beside[a] - seen.products.row(a)[a];
        self.chosen.iter().map(cost).sum()
    }

    /// Lets a part show another vector.
    fn show(&mut self, seen: Seen<'_>, part: usize, b: usize) {
        let a = std::mem::replace(&mut self.chosen[part], b);
        if a == b {
            return;
        }
        let (old, new) = (seen.products.row(a), seen.products.row(b));
        for ((q, old), new) in self.beside.iter_mut().zip(old).zip(new) {
            *q += new - old;
        }
    }
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
        let mut sum = 0.0;
        for (a, &m) in code.iter().enumerate().filter(|(_, m)| **m != 0.0) {
            let row = seen.products.row(a);
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
        let own = part * self.states..(part + 1) * self.states;
        for (out, a) in out.iter_mut().zip(own.clone()) {
            let row = seen.products.row(a);
            let all: f64 = row.iter().zip(code).map(|(p, m)| p * m).sum();
            let within: f64 = own.clone().map(|b| row[b] * code[b]).sum();
            *out = row[a] - 2.0 * seen.reach[a] + 2.0 * (all - within);
        }
    }

    /// The code that changes of one part and of two lead to, then kicks.
    ///
    /// With `a_k` the vector that part k shows, `c_a = μ_a·μ_a - 2 μ_a·x` and `q_a = Σ_l μ_a·μ_{a_l}`, a
    /// code costs `Σ_k (c_{a_k} + q_{a_k} - μ_{a_k}·μ_{a_k})`, and part k showing b in place of a adds
    /// `c_b + 2 (q_b - μ_a·μ_b)` less the same at a.
    fn search(&self, seen: Seen<'_>, explainer: &mut Explainer) {
        let n = self.vectors();
        explainer.alone.clear();
        let alone = (0..n).map(|a| seen.products.row(a)[a] - 2.0 * seen.reach[a]);
        explainer.alone.extend(alone);
        explainer.beside.clear();
        explainer.beside.resize(n, 0.0);
        // Part after part takes what is best beside those before it.
        explainer.chosen.clear();
        for own in (0..self.parts).map(|k| k * self.states..(k + 1) * self.states) {
            let cost = |a: usize| explainer.alone[a] + 2.0 * explainer.beside[a];
            let best = own.clone().fold(own.start, |a, b| if cost(b) < cost(a) { b } else { a });
            explainer.chosen.push(best);
            let row = seen.products.row(best);
            explainer.beside.iter_mut().zip(row).for_each(|(q, p)| *q += p);
        }
        let paired = self.states <= MOST_PAIRED;
        self.descend(seen, paired, explainer);
        // Of two parts, pairs are all there is.
        if self.states > 1 && self.parts > if paired { 2 } else { 1 } {
            let mut random = Context::new(0).random("cvq search", [0, 0]);
            let mut best = explainer.cost(seen);
            let mut left = KICKS * self.parts;
            explainer.kept.clone_from(&explainer.chosen);
            while left > 0 {
                left -= 1;
                for _ in 0..(self.parts / 2 + 1).min(MOST_KICKED) {
                    let k = random.random_range(0..self.parts);
                    let b = k * self.states + random.random_range(0..self.states);
                    explainer.show(seen, k, b);
                }
                self.descend(seen, paired, explainer);
                let found = explainer.cost(seen);
                if found < best - ROUNDING * best.abs() {
                    (best, left) = (found, KICKS * self.parts);
                    explainer.kept.clone_from(&explainer.chosen);
                } else {
                    for k in 0..self.parts {
                        explainer.show(seen, k, explainer.kept[k]);
                    }
                }
            }
        }
        explainer.code.fill(0.0);
        explainer.chosen.iter().for_each(|&a| explainer.code[a] = 1.0);
    }

    fn descend(&self, seen: Seen<'_>, paired: bool, explainer: &mut Explainer) {
        for _ in 0..SWEEPS {
            let mut moved = false;
            for k in 0..self.parts {
                let a = explainer.chosen[k];
                self.costs_beside(seen, k, None, explainer);
                let costs = &explainer.logs;
                let (best, now) = (first_smallest(costs), costs[a - k * self.states]);
                if costs[best] < now - ROUNDING * now.abs() {
                    explainer.show(seen, k, k * self.states + best);
                    moved = true;
                }
            }
            // Pairs only where single changes end: they are many more.
            if !moved && paired {
                moved =
                    (1..self.parts).any(|k| (0..k).any(|l| self.change_two(seen, k, l, explainer)));
            }
            if !moved {
                break;
            }
        }
    }

    /// What each state of a part would cost beside those chosen, one part left out if so wished.
    fn costs_beside(
        &self,
        seen: Seen<'_>,
        part: usize,
        without: Option<usize>,
        explainer: &mut Explainer,
    ) {
        let own = part * self.states..(part + 1) * self.states;
        let row = |part: usize| &seen.products.row(explainer.chosen[part])[own.clone()];
        let (alone, beside) = (&explainer.alone[own.clone()], &explainer.beside[own.clone()]);
        let pairs = alone.iter().zip(beside).zip(row(part));
        let costs = pairs.map(|((c, q), p)| c + 2.0 * (q - p));
        explainer.logs.iter_mut().zip(costs).for_each(|(out, cost)| *out = cost);
        if let Some(without) = without {
            explainer.logs.iter_mut().zip(row(without)).for_each(|(out, p)| *out -= 2.0 * p);
        }
    }

    /// Gives two parts the best that they can show together. False if they show it.
    fn change_two(&self, seen: Seen<'_>, k: usize, l: usize, explainer: &mut Explainer) -> bool {
        let states = self.states;
        self.costs_beside(seen, k, Some(l), explainer);
        explainer.counts.clone_from(&explainer.logs);
        self.costs_beside(seen, l, Some(k), explainer);
        let (a, b) = (explainer.chosen[k], explainer.chosen[l]);
        let cost = |i: usize, j: usize| {
            let together = seen.products.row(k * states + i)[l * states + j];
            explainer.counts[i] + explainer.logs[j] + 2.0 * together
        };
        let now = cost(a - k * states, b - l * states);
        let (mut best, mut least) = (None, now - ROUNDING * now.abs());
        for i in 0..states {
            for j in 0..states {
                let cost = cost(i, j);
                if cost < least {
                    (best, least) = (Some((i, j)), cost);
                }
            }
        }
        let Some((i, j)) = best else { return false };
        explainer.show(seen, k, k * states + i);
        explainer.show(seen, l, l * states + j);
        true
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
        let Explainer { code, chosen, logs, counts, .. } = explainer;
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
                let now = chosen[k] - k * self.states;
                let j = draw(logs, &mut random).unwrap_or(now);
                code[chosen[k]] = 0.0;
                chosen[k] = k * self.states + j;
                code[chosen[k]] = 1.0;
            }
            if sweep >= BURNED {
                counts.iter_mut().zip(&*code).for_each(|(c, m)| *c += m / DRAWS as f64);
            }
        }
        code.copy_from_slice(counts);
    }
}

/// Products of vectors over some columns, `[n, n]`.
pub(super) fn products(mean: Matrix<'_, f64>, seen: Option<&[usize]>, out: &mut Array<2>) {
    let n = mean.rows();
    if out.shape() != [n, n] {
        *out = Array::zeros([n, n]);
    }
    for a in 0..n {
        for b in 0..=a {
            let (x, y) = (mean.row(a), mean.row(b));
            let product: f64 = match seen {
                None => x.iter().zip(y).map(|(x, y)| x * y).sum(),
                Some(seen) => seen.iter().map(|&c| x[c] * y[c]).sum(),
            };
            out.row_mut(a)[b] = product;
            out.row_mut(b)[a] = product;
        }
    }
}
