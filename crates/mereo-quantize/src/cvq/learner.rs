//! The passes of CVQ: see the [module](super) for the derivation.

use mereo_core::math::{Matrix, product_nt, product_tn, softmax};
use mereo_core::slots::first_smallest;
use mereo_core::{
    Batch, Context, Learner, Memory, Pass, Random, Real, Result, Source, Start, Statistics, draw,
    sample_rows,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::{CvqParams, Inference};
use crate::gvq::Units;
use crate::squares::Squares;

/// Sweeps of mean field at most, and when responsibilities have settled.
const SWEEPS: usize = 30;
const SETTLED: f64 = 1e-4;
/// Sweeps of Gibbs sampling that count, after some that do not.
const DRAWS: usize = 20;
const BURNED: usize = 10;
/// Kicks of the local search without improvement.
const KICKS: usize = 4;
/// Rows that starts are picked from.
const START_ROWS: usize = 4096;
/// Rows that are looked at together.
const CHUNK_ROWS: usize = 256;

/// Vectors so far, in the frame's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// `[K, J, D]`.
    pub(super) mean: Vec<f64>,
    /// `[K, J]`.
    pub(super) prior: Vec<f64>,
    pub(super) variance: f64,
}

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

/// Learns CVQ.
pub(super) struct CvqLearner<'a, T> {
    pub(super) params: &'a CvqParams,
    pub(super) units: Units<T>,
    pub(super) holes: bool,
}

/// What rows tell.
pub(super) struct CvqStatistics {
    squares: Squares,
    /// Weight of responsibilities, `[K, J]`.
    usage: Vec<f64>,
    square: f64,
    divergence: f64,
    observed: f64,
    rows: f64,
    variance: f64,
}

impl Statistics for CvqStatistics {
    fn merge(&mut self, other: &Self) {
        self.squares.merge(&other.squares);
        self.usage.iter_mut().zip(&other.usage).for_each(|(a, b)| *a += b);
        self.square += other.square;
        self.divergence += other.divergence;
        self.observed += other.observed;
        self.rows += other.rows;
        self.variance = self.variance.max(other.variance);
    }

    fn reset(&mut self) {
        self.squares.reset();
        self.usage.fill(0.0);
        (self.square, self.divergence) = (0.0, 0.0);
        (self.observed, self.rows, self.variance) = (0.0, 0.0, 0.0);
    }

    fn bytes(&self) -> usize {
        self.squares.bytes()
    }
}

/// What looking needs, once a pass.
pub(super) struct Prepared<T> {
    sums: Sums,
    /// Whether what lanes remember belongs to another restart.
    forget: bool,
    mean: Vec<f64>,
    vectors: Vec<T>,
    products: Vec<f64>,
}

/// Memory for one batch.
#[derive(Default)]
pub(super) struct Work<T> {
    explainer: Explainer,
    /// Responsibilities of the pass before, `[K J]` a row.
    memory: Memory<T>,
    cells: Vec<T>,
    reaches: Vec<T>,
    codes: Vec<T>,
    cross: Vec<T>,
    reach: Vec<f64>,
    products: Vec<f64>,
    observed: Vec<usize>,
}

impl<T: Real> CvqLearner<'_, T> {
    fn vectors(&self) -> usize {
        self.params.parts * self.params.states
    }
}

impl<T: Real> Learner<T> for CvqLearner<'_, T> {
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = CvqStatistics;
    type Workspace = Work<T>;

    fn describe(&self) -> String {
        format!("cvq {:?}", self.params)
    }

    /// Rows picked at random, shared out among the parts, with a little noise.
    fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let d = source.columns();
        let most = START_ROWS.min((1 << 22) / d.max(1)).max(self.vectors());
        let sample = sample_rows(source, most, "cvq start", context)?;
        let mut random = context.random("cvq rows", [restart as u64, 0]);
        let share = 1.0 / (self.params.parts as f64).sqrt();
        let mut row_cells = vec![T::MISSING; d];
        let mut mean = Vec::with_capacity(self.vectors() * d);
        for _ in 0..self.vectors() {
            let row = sample.select_rows(&[random.random_range(0..sample.rows())]);
            if let Some(batch) = Source::lane(&row, 0..1)?.next_batch()? {
                batch.dense_row(0, &mut row_cells);
            }
            for (c, &x) in row_cells.iter().enumerate() {
                let normal: f64 = StandardNormal.sample(&mut random);
                let cell = if x.is_missing() { 0.0 } else { self.units.inward(c, x).wide() };
                mean.push(share * cell + 0.05 * normal);
            }
        }
        let prior = vec![1.0 / self.params.states as f64; self.vectors()];
        Ok(Start { state: State { mean, prior, variance: 1.0 }, how: "rows".into() })
    }

    fn settles(&self, _restart: usize) -> usize {
        0
    }

    fn prepare(&self, state: &State, pass: Pass) -> Prepared<T> {
        let mut all = Vec::new();
        products(&state.mean, self.units.centre.len(), None, &mut all);
        Prepared {
            sums: Sums {
                parts: self.params.parts,
                states: self.params.states,
                inference: self.params.inference,
                variance: state.variance,
                log_prior: match self.params.inference {
                    // The search minimises squares alone, as if all states were equally likely.
                    Inference::Local => {
                        vec![-(self.params.states as f64).ln(); state.prior.len()]
                    }
                    _ => state.prior.iter().map(|b| b.max(1e-300).ln()).collect(),
                },
            },
            forget: pass.pass == 0,
            vectors: state.mean.iter().map(|&m| T::of(m)).collect(),
            mean: state.mean.clone(),
            products: all,
        }
    }

    fn statistics(&self) -> CvqStatistics {
        CvqStatistics {
            squares: Squares::new(self.vectors(), self.units.centre.len(), self.holes),
            usage: vec![0.0; self.vectors()],
            square: 0.0,
            divergence: 0.0,
            observed: 0.0,
            rows: 0.0,
            variance: 0.0,
        }
    }

    fn workspace(&self) -> Work<T> {
        Work::default()
    }

    fn memory(&self, work: &Work<T>) -> Vec<f64> {
        work.memory.keep()
    }

    fn remember(&self, work: &mut Work<T>, memory: &[f64]) {
        work.memory.recall(memory);
    }

    fn look(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        statistics: &mut CvqStatistics,
    ) {
        let (n, d) = (self.vectors(), batch.columns);
        statistics.variance = prepared.sums.variance;
        let mut coefficients = Vec::with_capacity(n);
        for first in (0..batch.rows).step_by(CHUNK_ROWS) {
            let rows = first..(first + CHUNK_ROWS).min(batch.rows);
            let count = rows.len();
            work.cells.clear();
            work.cells.resize(count * d, T::ZERO);
            for (at, row) in rows.clone().enumerate() {
                batch.for_each_observed(row, |c, x| {
                    work.cells[at * d + c] = self.units.inward(c, x);
                });
            }
            // Missing cells are 0 in the frame and reach nothing.
            work.reaches.resize(count * n, T::ZERO);
            let cells = Matrix::new(&work.cells, count, d);
            product_nt(&mut work.reaches, cells, Matrix::new(&prepared.vectors, n, d), false);
            work.codes.clear();
            work.codes.resize(count * n, T::ZERO);
            for (at, row) in rows.enumerate() {
                let weight = batch.weight(row);
                if weight == 0.0 {
                    continue;
                }
                work.observed.clear();
                batch.for_each_observed(row, |c, _| work.observed.push(c));
                let complete = work.observed.len() == d;
                if !complete {
                    products(&prepared.mean, d, Some(&work.observed), &mut work.products);
                }
                work.reach.clear();
                work.reach.extend(work.reaches[at * n..(at + 1) * n].iter().map(|r| r.wide()));
                let all = if complete { &prepared.products } else { &work.products };
                let seen = Seen { reach: &work.reach, products: all };
                let (kept, known) = work.memory.of(batch.first_row + row, 1, n, prepared.forget);
                let before: Option<Vec<f64>> =
                    known.then(|| kept.iter().map(|m| m.wide()).collect());
                let (square, divergence) =
                    prepared.sums.explain(seen, before.as_deref(), &mut work.explainer);
                for (kept, &m) in kept.iter_mut().zip(&work.explainer.code) {
                    *kept = T::of(m);
                }
                let own: f64 =
                    work.cells[at * d..(at + 1) * d].iter().map(|x| x.wide() * x.wide()).sum();
                statistics.square += weight * (own + square).max(0.0);
                statistics.divergence += weight * divergence;
                statistics.observed += weight * work.observed.len() as f64;
                statistics.rows += weight;
                coefficients.clear();
                for (a, &m) in work.explainer.code.iter().enumerate().filter(|(_, m)| **m != 0.0) {
                    coefficients.push((a, m));
                    statistics.usage[a] += weight * m;
                    work.codes[at * n + a] = T::of(weight * m);
                }
                let states = self.params.states;
                let seen = (!complete).then_some(&*work.observed);
                statistics.squares.add_code(weight, &coefficients, states, seen);
            }
            work.cross.resize(n * d, T::ZERO);
            let codes = Matrix::new(&work.codes, count, n);
            product_tn(&mut work.cross, codes, Matrix::new(&work.cells, count, d), false);
            for (sum, x) in statistics.squares.cross.iter_mut().zip(&work.cross) {
                *sum += x.wide();
            }
        }
    }

    fn bound(&self, statistics: &CvqStatistics) -> f64 {
        let CvqStatistics { square, divergence, observed, variance, .. } = *statistics;
        -0.5 * square / variance.max(f64::MIN_POSITIVE)
            - 0.5 * observed * (std::f64::consts::TAU * variance).ln()
            - divergence
            - observed * self.units.scale.wide().ln()
    }

    fn relearn(&self, state: &mut State, statistics: &CvqStatistics, _pass: Pass) -> Vec<String> {
        let observed = statistics.observed.max(f64::MIN_POSITIVE);
        // The noise of the vectors at hand: with those to come it is smaller.
        state.variance = (statistics.square / observed).max(self.params.variance_floor);
        statistics.squares.solve(&mut state.mean);
        for (b, u) in state.prior.iter_mut().zip(&statistics.usage) {
            *b = (u + 0.5) / (statistics.rows + 0.5 * self.params.states as f64);
        }
        Vec::new()
    }
}
