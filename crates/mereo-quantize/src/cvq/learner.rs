//! The passes of CVQ: see the [module](super) for the derivation.

use mereo_core::math::{Array, Matrix, product_nt, product_tn};
use mereo_core::slots::{Lloyd, Survey, first_smallest};
use mereo_core::{
    Batch, Cells, Context, Dense, Facts, Learner, Memory, Pass, Plan, Real, Result, Silent, Source,
    Start, Statistics, Table, sample_rows,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::params::VARIANCE_FLOOR;
use super::sums::{Explainer, Seen, Sums, products};
use super::{CvqParams, Inference};
use crate::gvq::Units;
use crate::squares::Squares;

/// Rows that starts are learned from, and passes.
const START_ROWS: usize = 8192;
const START_PASSES: usize = 30;
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

/// Learns CVQ.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(super) struct CvqLearner<T> {
    pub(super) params: CvqParams,
    pub(super) units: Units<T>,
    pub(super) facts: Facts,
    pub(super) holes: bool,
}

/// What rows tell.
#[derive(Debug, Serialize, Deserialize)]
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
}

/// What looking needs, once a pass.
pub(super) struct Prepared<T> {
    sums: Sums,
    /// Whether what runs remember belongs to another restart.
    forget: bool,
    mean: Vec<f64>,
    vectors: Vec<T>,
    products: Array<2>,
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
    products: Array<2>,
    observed: Vec<usize>,
}

impl<T: Real> CvqLearner<T> {
    fn vectors(&self) -> usize {
        self.params.parts * self.params.states
    }

    /// What k-means finds for one part after another, each in what those before it leave of the
    /// rows.
    pub(super) fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let (states, d) = (self.params.states, source.columns());
        let most = START_ROWS.min((1 << 22) / d.max(1)).max(self.vectors());
        let sample = sample_rows(source, most, "cvq start", context)?;
        let mut values = vec![T::MISSING; sample.rows() * d];
        let mut lane = Source::lane(&sample, 0..sample.batches())?;
        while let Some(batch) = lane.next_batch()? {
            for row in 0..batch.rows {
                let cells = &mut values[(batch.first_row + row) * d..][..d];
                batch.for_each_observed(row, |c, x| cells[c] = self.units.inward(c, x));
            }
        }
        let mut random = context.random("cvq start", [restart as u64, 0]);
        let mut mean = Vec::with_capacity(self.vectors() * d);
        for _ in 0..self.params.parts {
            let mut rest = Table::from(Dense::new(sample.rows(), d, values)?);
            if let Some(weights) = &sample.about().weights {
                rest = rest.with_weights(weights.clone())?;
            }
            let lloyd = Lloyd::plain(states, &Survey::of(&rest, context)?);
            let plan = Plan { restarts: 1, passes: START_PASSES, ..Plan::default() };
            let own = context.with_seed(random.random());
            let found = lloyd.learn(&rest, &plan, &own, &mut Silent)?.state.mean;
            let Cells::Dense(cells) = rest.cells() else { break };
            values = cells.values().to_vec();
            for row in values.chunks_exact_mut(d) {
                let distance = |mean: &[f64]| -> f64 {
                    let pairs = row.iter().zip(mean).filter(|(x, _)| !x.is_missing());
                    pairs.map(|(x, m)| (x.to_f64() - m).powi(2)).sum()
                };
                let distances: Vec<f64> = found.chunks_exact(d).map(distance).collect();
                let nearest = &found[first_smallest(&distances) * d..][..d];
                row.iter_mut().zip(nearest).for_each(|(x, &m)| *x -= T::from_f64(m));
            }
            mean.extend(found);
        }
        let prior = vec![1.0 / states as f64; self.vectors()];
        let how = "k-means of what is left".into();
        Ok(Start { state: State { mean, prior, variance: 1.0 }, how })
    }
}

impl<T: Real> Learner<T> for CvqLearner<T> {
    const NAME: &'static str = "cvq";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = CvqStatistics;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn prepare(&self, state: &State, pass: Pass) -> Prepared<T> {
        let mut all = Array::default();
        let mean = Matrix::new(&state.mean, self.vectors(), self.units.centre.len());
        products(mean, None, &mut all);
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
            vectors: state.mean.iter().map(|&m| T::from_f64(m)).collect(),
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

    /// Draws do not go on from those of the pass before; all else does.
    fn remembers_rows(&self) -> bool {
        self.params.inference != Inference::Gibbs
    }

    fn memory(&self, work: &Work<T>) -> Vec<f64> {
        work.memory.keep()
    }

    fn remember(&self, work: &mut Work<T>, memory: &[f64]) {
        work.memory.recall(memory);
    }

    fn accumulate(
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
                    let mean = Matrix::new(&prepared.mean, n, d);
                    products(mean, Some(&work.observed), &mut work.products);
                }
                work.reach.clear();
                work.reach.extend(work.reaches[at * n..(at + 1) * n].iter().map(|r| r.to_f64()));
                let all = if complete { &prepared.products } else { &work.products };
                let seen = Seen { reach: &work.reach, products: all.view() };
                let (kept, known) =
                    work.memory.rows_mut(batch.first_row + row, 1, n, prepared.forget);
                let before: Option<Vec<f64>> =
                    known.then(|| kept.iter().map(|m| m.to_f64()).collect());
                let (square, divergence) =
                    prepared.sums.explain(seen, before.as_deref(), &mut work.explainer);
                for (kept, &m) in kept.iter_mut().zip(&work.explainer.code) {
                    *kept = T::from_f64(m);
                }
                let own: f64 =
                    work.cells[at * d..(at + 1) * d].iter().map(|x| x.to_f64() * x.to_f64()).sum();
                statistics.square += weight * (own + square).max(0.0);
                statistics.divergence += weight * divergence;
                statistics.observed += weight * work.observed.len() as f64;
                statistics.rows += weight;
                coefficients.clear();
                for (a, &m) in work.explainer.code.iter().enumerate().filter(|(_, m)| **m != 0.0) {
                    coefficients.push((a, m));
                    statistics.usage[a] += weight * m;
                    work.codes[at * n + a] = T::from_f64(weight * m);
                }
                let states = self.params.states;
                let seen = (!complete).then_some(&*work.observed);
                statistics.squares.add_code(weight, &coefficients, states, seen);
            }
            work.cross.resize(n * d, T::ZERO);
            let codes = Matrix::new(&work.codes, count, n);
            product_tn(&mut work.cross, codes, Matrix::new(&work.cells, count, d), false);
            for (sum, x) in statistics.squares.cross.iter_mut().zip(&work.cross) {
                *sum += x.to_f64();
            }
        }
    }

    fn bound(&self, statistics: &CvqStatistics) -> f64 {
        let CvqStatistics { square, divergence, observed, variance, .. } = *statistics;
        -0.5 * square / variance.max(f64::MIN_POSITIVE)
            - 0.5 * observed * (std::f64::consts::TAU * variance).ln()
            - divergence
            - observed * self.units.scale.to_f64().ln()
    }

    fn update(&self, state: &mut State, statistics: &CvqStatistics, _pass: Pass) -> Vec<String> {
        let observed = statistics.observed.max(f64::MIN_POSITIVE);
        // The noise of the vectors at hand: with those to come it is smaller.
        state.variance = (statistics.square / observed).max(VARIANCE_FLOOR);
        statistics.squares.solve(&mut state.mean);
        for (b, u) in state.prior.iter_mut().zip(&statistics.usage) {
            *b = (u + 0.5) / (statistics.rows + 0.5 * self.params.states as f64);
        }
        Vec::new()
    }
}
