//! GVQ of binary data: features and codes are squashed towards 0 and 1.
//!
//! With `σ(t) = 1/(1 + e^-t)`, features are `σ(f̂)` of numbers without limits, the origin likewise, and
//! the code of a state is `c = σ(β(σ(ô) + Σ_i s_i σ(f̂_i) - ½))`: where nothing adds up to much it is
//! about 0, from 1 up about 1, the more so the larger β. Learning lowers the same error,
//! `E = Σ_c w_c min_{m,s} [ Σ_{d∈O_c} (x_cd - c_msd)² + λ Σ_i s_i ]`, by turns:
//!
//! - all `M 2^n` codes are made, and each row takes the nearest;
//! - with `N_kd` the weight of the rows of code k that observe column d and `x̄_kd` their mean,
//!   `E = Σ_kd N_kd (c_kd - x̄_kd)² + const`, so that counts and sums by code are all that rows need to
//!   tell. With `a = (1, s)` and θ = (ô, f̂), for one set,
//!   `∂E/∂θ_jd = Σ_k a_kj 2 N_kd (c_kd - x̄_kd) β c_kd (1 - c_kd) σ(θ_jd)(1 - σ(θ_jd))`,
//!   and L-BFGS follows it downhill from where θ is, never up.
//!
//! The short runs that a start is the best of hold every row to the set that k-means seeded it in, so that
//! each set learns the variations of its own rows before sets compete for them.
//!
//! They compete warm. At a temperature τ a row counts for code k not wholly or not at all but by
//! `r_ck = e^(-E_ck/τ) / Σ_l e^(-E_cl/τ)`, `E_ck` its error with that code, penalty included. These shares
//! minimise `Σ_ck r_ck (E_ck + τ log r_ck)`, whose minimum is the free energy `-τ Σ_c log Σ_k e^(-E_ck/τ)`;
//! the step by counts and sums lowers its first term and leaves the second, so that the free energy
//! never rises at a given τ. τ falls to 0 within the first passes, where the free energy is E. Rows between two
//! sets move before either has settled, which ends in lower errors: by 1% on handwritten digits.

use mereo_core::math::{Matrix, minimise, product_nt, product_tn};
use mereo_core::slots::first_smallest;
use mereo_core::{
    Batch, Context, Facts, Learner, Pass, Real, Result, Schedule, Source, Start, Statistics,
    in_parallel,
};
use serde::{Deserialize, Serialize};

use super::GvqParams;
use super::squashed::{Error, codes, squashed};
use super::starts::{RandomStates, SetOf, best_of_scouts};

/// Steps of L-BFGS in each pass, and the gain that is too small for another.
const STEPS: usize = 25;
const GAIN: f64 = 1e-6;
/// θ beyond this is as good as 0 or 1, and has no slope to come back by.
const FARTHEST: f64 = 12.0;
/// The temperature at first, as a share of a row's mean error, and the passes in which it falls to 0.
const WARMTH: f64 = 0.125;
pub(super) const WARM_PASSES: usize = 20;
/// The smallest mean squared error that bounds are told of.
const LEAST_ERROR: f64 = 1e-12;

/// θ so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// `[M, 1 + n, D]`, the origin first.
    pub(super) theta: Vec<f64>,
    /// What says which set a row started in.
    seeds: SetOf,
    /// The mean error of a row at the last pass.
    error: f64,
}

impl State {
    /// Origins and features, squashed.
    pub(super) fn vectors(&self) -> Vec<f64> {
        squashed(&self.theta)
    }
}

/// Learns binary GVQ.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BinaryLearner {
    pub(super) params: GvqParams,
    pub(super) facts: Facts,
    pub(super) beta: f64,
    pub(super) columns: usize,
    /// Whether this is a short run that starts are looked for by, in which rows keep to their sets.
    pub(super) scouting: bool,
}

/// What rows tell.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(super) struct BinaryStatistics<T> {
    /// Weight and sum of the rows of each code that observe each column, `[M 2^n, D]`.
    pub(super) count: Vec<f64>,
    pub(super) sum: Vec<f64>,
    /// Memory for the products of one batch.
    #[serde(skip)]
    batch: Vec<T>,
    energy: f64,
    observed: f64,
    rows: f64,
}

impl<T: Real> Statistics for BinaryStatistics<T> {
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.count.iter_mut().zip(&other.count) {
            *a += b;
        }
        for (a, b) in self.sum.iter_mut().zip(&other.sum) {
            *a += b;
        }
        self.energy += other.energy;
        self.observed += other.observed;
        self.rows += other.rows;
    }

    fn reset(&mut self) {
        self.count.fill(0.0);
        self.sum.fill(0.0);
        (self.energy, self.observed, self.rows) = (0.0, 0.0, 0.0);
    }
}

/// What looking needs, once a pass.
pub(super) struct Prepared<T> {
    codes: Vec<T>,
    /// Their squares, cell by cell and in all.
    squares: Vec<T>,
    square: Vec<f64>,
    held: Option<SetOf>,
    temperature: f64,
}

/// Memory for one batch.
#[derive(Default)]
pub(super) struct Work<T> {
    cells: Vec<T>,
    seen: Vec<T>,
    products: Vec<T>,
    squares: Vec<T>,
    /// Errors of one row with the codes that it may have, but for what they have in common.
    energies: Vec<f64>,
    chosen: Vec<T>,
}

impl BinaryLearner {
    /// The best of many short runs from random states.
    pub(super) fn start<T: Real>(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let scouting = |facts| Self { scouting: true, facts, ..self.clone() };
        let states = Self::random_states;
        best_of_scouts(scouting, states, &self.params, source, restart, context)
    }

    pub(super) fn codes(&self) -> usize {
        self.params.sets << self.params.features
    }

    /// The temperature as a share of a row's mean error.
    fn warmth(&self) -> Schedule {
        if self.scouting {
            Schedule::constant(0.0)
        } else {
            Schedule::linear(WARMTH, 0.0, WARM_PASSES)
        }
    }

    /// Adds rows whose codes are chosen (`[R, codes]`, their weights shared among their codes).
    fn add<T: Real>(&self, work: &Work<T>, rows: usize, statistics: &mut BinaryStatistics<T>) {
        let (codes, d) = (self.codes(), self.columns);
        statistics.batch.resize(codes * d, T::ZERO);
        let chosen = Matrix::new(&work.chosen, rows, codes);
        for (from, to) in [(&work.seen, &mut statistics.count), (&work.cells, &mut statistics.sum)]
        {
            product_tn(&mut statistics.batch, chosen, Matrix::new(from, rows, d), false);
            for (sum, x) in to.iter_mut().zip(&statistics.batch) {
                *sum += x.to_f64();
            }
        }
    }

    fn fill<T: Real>(&self, batch: &Batch<'_, T>, work: &mut Work<T>) {
        let d = self.columns;
        for cells in [&mut work.cells, &mut work.seen] {
            cells.clear();
            cells.resize(batch.rows * d, T::ZERO);
        }
        for row in 0..batch.rows {
            batch.for_each_observed(row, |c, x| {
                work.cells[row * d + c] = x;
                work.seen[row * d + c] = T::ONE;
            });
        }
        work.chosen.clear();
        work.chosen.resize(batch.rows * self.codes(), T::ZERO);
    }

    /// Moves θ downhill at these counts and sums.
    pub(super) fn descend(&self, theta: &mut [f64], count: &[f64], sum: &[f64]) {
        let size = self.columns << self.params.features;
        let sets = theta.chunks_exact_mut((self.params.features + 1) * self.columns);
        in_parallel(sets.enumerate(), |(set, theta)| {
            let count = &count[set * size..(set + 1) * size];
            let sum = &sum[set * size..(set + 1) * size];
            let mean: Vec<f64> =
                sum.iter().zip(count).map(|(s, n)| if *n > 0.0 { s / n } else { 0.0 }).collect();
            let error = Error { columns: self.columns, beta: self.beta, count, mean: &mean };
            minimise(theta, STEPS, GAIN, |theta, gradient| error.at(theta, gradient));
            for t in theta {
                *t = t.clamp(-FARTHEST, FARTHEST);
            }
        });
    }

    /// Least squares on states drawn at random, as [`super::starts`] says.
    pub(super) fn random_states<T: Real>(
        &self,
        sample: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let (sets, n, d) = (self.params.sets, self.params.features, self.columns);
        let seeds = SetOf::new(sample, sets, restart, context)?;
        let mut states = RandomStates::new(n, context.random("gvq states", [restart as u64, 1]));
        let mut statistics = self.statistics();
        let mut work = Work::default();
        let mut lane = sample.lane(0..sample.batches())?;
        while let Some(batch) = lane.next_batch()? {
            self.fill(&batch, &mut work);
            for row in 0..batch.rows {
                let state = states.of(&batch, row).0 as usize;
                let code = (seeds.row(&batch, row) << n) + state;
                work.chosen[row * self.codes() + code] = T::from_f64(batch.weight(row));
            }
            self.add(&work, batch.rows, &mut statistics);
        }
        // The origin explains the mean of its set, features little of anything.
        let mut theta = Vec::with_capacity(sets * (n + 1) * d);
        for set in 0..sets {
            let mean = |c: usize| {
                let of = |v: &[f64]| -> f64 {
                    (0..1 << n).map(|state| v[((set << n) + state) * d + c]).sum()
                };
                (of(&statistics.sum) + 0.5) / (of(&statistics.count) + 1.0)
            };
            theta.extend((0..d).map(|c| {
                let mean = mean(c);
                let level = 0.5 + (mean / (1.0 - mean)).ln() / self.beta;
                let level = level.clamp(0.05, 0.95);
                (level / (1.0 - level)).ln()
            }));
            theta.extend(std::iter::repeat_n(-2.0, n * d));
        }
        self.descend(&mut theta, &statistics.count, &statistics.sum);
        Ok(Start { state: State { theta, seeds, error: 0.0 }, how: "random states".into() })
    }
}

impl<T: Real> Learner<T> for BinaryLearner {
    const NAME: &'static str = "binary gvq";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = BinaryStatistics<T>;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn settled_from(&self) -> usize {
        self.warmth().settled_from()
    }

    fn prepare(&self, state: &State, pass: Pass) -> Prepared<T> {
        let codes = codes(&state.vectors(), self.params.sets, self.columns, self.beta);
        Prepared {
            squares: codes.iter().map(|c| T::from_f64(c * c)).collect(),
            square: codes
                .chunks_exact(self.columns)
                .map(|code| code.iter().map(|c| c * c).sum())
                .collect(),
            codes: codes.into_iter().map(T::from_f64).collect(),
            held: self.scouting.then(|| state.seeds.clone()),
            temperature: self.warmth().at(pass.pass) * state.error,
        }
    }

    fn statistics(&self) -> BinaryStatistics<T> {
        let size = self.codes() * self.columns;
        BinaryStatistics {
            count: vec![0.0; size],
            sum: vec![0.0; size],
            batch: Vec::new(),
            energy: 0.0,
            observed: 0.0,
            rows: 0.0,
        }
    }

    fn workspace(&self) -> Work<T> {
        Work::default()
    }

    fn accumulate(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        statistics: &mut BinaryStatistics<T>,
    ) {
        let (codes, d, rows) = (self.codes(), self.columns, batch.rows);
        self.fill(batch, work);
        work.products.resize(rows * codes, T::ZERO);
        work.squares.resize(rows * codes, T::ZERO);
        let of = |cells| Matrix::new(cells, rows, d);
        product_nt(
            &mut work.products,
            of(&work.cells),
            Matrix::new(&prepared.codes, codes, d),
            false,
        );
        let holes = work.seen.contains(&T::ZERO);
        if holes {
            let squares = Matrix::new(&prepared.squares, codes, d);
            product_nt(&mut work.squares, of(&work.seen), squares, false);
        }
        let n = self.params.features;
        for row in 0..rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            let held = prepared.held.as_ref().map(|seeds| seeds.row(batch, row));
            let tried = held.map_or(0..codes, |set| set << n..(set + 1) << n);
            let Work { products, squares, energies, chosen, .. } = &mut *work;
            energies.clear();
            energies.extend(tried.clone().map(|code| {
                let at = row * codes + code;
                let square = if holes { squares[at].to_f64() } else { prepared.square[code] };
                let on = (code & ((1 << n) - 1)).count_ones();
                square - 2.0 * products[at].to_f64() + self.params.penalty * f64::from(on)
            }));
            let nearest = first_smallest(energies);
            let least = energies[nearest];
            let chosen = &mut chosen[row * codes..][tried];
            if prepared.temperature > 0.0 {
                energies.iter_mut().for_each(|e| *e = ((least - *e) / prepared.temperature).exp());
                let total: f64 = energies.iter().sum();
                for (chosen, share) in chosen.iter_mut().zip(&*energies) {
                    *chosen = T::from_f64(weight * share / total);
                }
            } else {
                chosen[nearest] = T::from_f64(weight);
            }
            let cells = &work.cells[row * d..(row + 1) * d];
            let own: f64 = cells.iter().map(|x| x.to_f64() * x.to_f64()).sum();
            let seen: f64 = work.seen[row * d..(row + 1) * d].iter().map(|s| s.to_f64()).sum();
            statistics.energy += weight * (own + least).max(0.0);
            statistics.observed += weight * seen;
            statistics.rows += weight;
        }
        self.add(work, rows, statistics);
    }

    fn bound(&self, statistics: &BinaryStatistics<T>) -> f64 {
        let BinaryStatistics { energy, observed, rows, .. } = *statistics;
        let variance = (energy / observed.max(f64::MIN_POSITIVE)).max(LEAST_ERROR);
        -0.5 * observed * ((std::f64::consts::TAU * variance).ln() + 1.0)
            - rows * (self.codes() as f64).ln()
    }

    fn update(
        &self,
        state: &mut State,
        statistics: &BinaryStatistics<T>,
        _pass: Pass,
    ) -> Vec<String> {
        self.descend(&mut state.theta, &statistics.count, &statistics.sum);
        state.error = statistics.energy / statistics.rows.max(f64::MIN_POSITIVE);
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::{Dense, Table};

    use super::*;

    #[test]
    fn warm_rows_are_shared_among_codes_by_their_errors() {
        let params = GvqParams { sets: 2, beta: Some(3.0), penalty: 0.1, ..GvqParams::new(2) };
        let facts = Facts::default();
        let learner = BinaryLearner { params, facts, beta: 3.0, columns: 3, scouting: false };
        let theta: Vec<f64> = (0..18).map(|i| f64::from(i * 7 % 11) / 3.0 - 2.0).collect();
        let state = State { theta, seeds: SetOf::none(), error: 4.0 };
        let nan = f64::NAN;
        let rows = [[1.0, 0.0, 1.0], [nan, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let weights = [1.0, 2.0, 0.0];
        let table = Table::from(Dense::new(3, 3, rows.concat()).unwrap());
        let table = table.with_weights(weights.to_vec()).unwrap();
        let mut statistics = learner.statistics();
        let mut work = Work::default();
        let pass = Pass { restart: 0, pass: WARM_PASSES / 2 };
        let prepared = Learner::<f64>::prepare(&learner, &state, pass);
        assert!((prepared.temperature - 4.0 * WARMTH / 2.0).abs() < 1e-12);
        let mut lane = table.lane(0..1).unwrap();
        learner.accumulate(
            &prepared,
            &lane.next_batch().unwrap().unwrap(),
            &mut work,
            &mut statistics,
        );
        let codes = codes(&state.vectors(), 2, 3, 3.0);
        let mut expected = vec![0.0; 8 * 3];
        for (row, weight) in rows.iter().zip(weights) {
            let shares: Vec<f64> = (0..8)
                .map(|k| {
                    let off = |c: usize| (row[c] - codes[k * 3 + c]).powi(2);
                    let apart: f64 = (0..3).filter(|&c| !row[c].is_nan()).map(off).sum();
                    let penalty = 0.1 * f64::from((k as u32 & 3).count_ones());
                    (-(apart + penalty) / prepared.temperature).exp()
                })
                .collect();
            let total: f64 = shares.iter().sum();
            for (k, share) in shares.iter().enumerate() {
                for c in (0..3).filter(|&c| !row[c].is_nan()) {
                    expected[k * 3 + c] += weight * share / total;
                }
            }
        }
        for (a, b) in statistics.count.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }
}
