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

use mereo_core::math::{Matrix, minimise, product_nt, product_tn};
use mereo_core::{Batch, Context, Learner, Pass, Real, Result, Source, Start, Statistics};
use serde::{Deserialize, Serialize};

use super::GvqParams;
use super::starts::SetOf;

/// Steps of L-BFGS in each pass, and the gain that is too small for another.
const STEPS: usize = 25;
const GAIN: f64 = 1e-6;
/// θ beyond this is as good as 0 or 1, and has no slope to come back by.
const FARTHEST: f64 = 12.0;
/// The smallest mean squared error that bounds are told of.
const LEAST_ERROR: f64 = 1e-12;

/// `1/(1 + e^-t)`.
pub(super) fn squash(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}

/// All codes of sets of squashed vectors `[M, 1 + n, D]`, the origin first: `[M 2^n, D]`.
pub(super) fn codes(vectors: &[f64], sets: usize, columns: usize, beta: f64) -> Vec<f64> {
    let per_set = vectors.len() / sets.max(1);
    let features = per_set / columns.max(1) - 1;
    let mut out = Vec::with_capacity((sets << features) * columns);
    for set in vectors.chunks_exact(per_set) {
        let start = out.len();
        out.extend_from_slice(&set[..columns]);
        for (i, feature) in set[columns..].chunks_exact(columns).enumerate() {
            // The states that have feature i are those that have not, one after another, plus it.
            for state in 0..1usize << i {
                for (c, f) in feature.iter().enumerate() {
                    out.push(out[start + state * columns + c] + f);
                }
            }
        }
        for y in &mut out[start..] {
            *y = squash(beta * (*y - 0.5));
        }
    }
    out
}

/// The error of one set's codes about means, and its gradient.
struct Error<'a> {
    columns: usize,
    beta: f64,
    /// Weight and mean of each code in each column, `[2^n, D]`.
    count: &'a [f64],
    mean: &'a [f64],
}

impl Error<'_> {
    fn at(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let d = self.columns;
        let vectors: Vec<f64> = theta.iter().map(|&t| squash(t)).collect();
        let codes = codes(&vectors, 1, d, self.beta);
        gradient.fill(0.0);
        let mut error = 0.0;
        let mut slope = vec![0.0; d];
        for (state, code) in codes.chunks_exact(d).enumerate() {
            let (count, mean) = (&self.count[state * d..], &self.mean[state * d..]);
            for (c, &code) in code.iter().enumerate() {
                let off = code - mean[c];
                error += count[c] * off * off;
                slope[c] = 2.0 * count[c] * off * self.beta * code * (1.0 - code);
            }
            for (j, gradient) in gradient.chunks_exact_mut(d).enumerate() {
                if j == 0 || state >> (j - 1) & 1 == 1 {
                    gradient.iter_mut().zip(&slope).for_each(|(g, s)| *g += s);
                }
            }
        }
        for (g, v) in gradient.iter_mut().zip(&vectors) {
            *g *= v * (1.0 - v);
        }
        error
    }
}

/// θ so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// `[M, 1 + n, D]`, the origin first.
    pub(super) theta: Vec<f64>,
    /// What says which set a row started in.
    seeds: SetOf,
}

impl State {
    /// Origins and features, squashed.
    pub(super) fn vectors(&self) -> Vec<f64> {
        self.theta.iter().map(|&t| squash(t)).collect()
    }
}

/// Learns binary GVQ.
pub(super) struct BinaryLearner<'a> {
    pub(super) params: &'a GvqParams,
    pub(super) beta: f64,
    pub(super) columns: usize,
    /// Starts are random states rather than the best of many such, and rows keep to their sets.
    pub(super) scouting: bool,
}

/// What rows tell.
pub(super) struct BinaryStatistics<T> {
    /// Weight and sum of the rows of each code that observe each column, `[M 2^n, D]`.
    pub(super) count: Vec<f64>,
    pub(super) sum: Vec<f64>,
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

    fn bytes(&self) -> usize {
        (self.count.len() + self.sum.len()) * size_of::<f64>()
    }
}

/// What looking needs, once a pass.
pub(super) struct Prepared<T> {
    codes: Vec<T>,
    /// Their squares, cell by cell and in all.
    squares: Vec<T>,
    square: Vec<f64>,
    held: Option<SetOf>,
}

/// Memory for one batch.
#[derive(Default)]
pub(super) struct Work<T> {
    cells: Vec<T>,
    seen: Vec<T>,
    products: Vec<T>,
    squares: Vec<T>,
    chosen: Vec<T>,
}

impl BinaryLearner<'_> {
    pub(super) fn codes(&self) -> usize {
        self.params.sets << self.params.features
    }

    /// Adds rows whose codes are chosen (`[R, codes]`, the weight at the chosen one).
    fn add<T: Real>(&self, work: &Work<T>, rows: usize, statistics: &mut BinaryStatistics<T>) {
        let (codes, d) = (self.codes(), self.columns);
        statistics.batch.resize(codes * d, T::ZERO);
        let chosen = Matrix::new(&work.chosen, rows, codes);
        for (from, to) in [(&work.seen, &mut statistics.count), (&work.cells, &mut statistics.sum)]
        {
            product_tn(&mut statistics.batch, chosen, Matrix::new(from, rows, d), false);
            for (sum, x) in to.iter_mut().zip(&statistics.batch) {
                *sum += x.wide();
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
        for (set, theta) in sets.enumerate() {
            let count = &count[set * size..(set + 1) * size];
            let sum = &sum[set * size..(set + 1) * size];
            let mean: Vec<f64> =
                sum.iter().zip(count).map(|(s, n)| if *n > 0.0 { s / n } else { 0.0 }).collect();
            let error = Error { columns: self.columns, beta: self.beta, count, mean: &mean };
            minimise(theta, STEPS, GAIN, |theta, gradient| error.at(theta, gradient));
            for t in theta {
                *t = t.clamp(-FARTHEST, FARTHEST);
            }
        }
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
        let mut random = context.random("gvq states", [restart as u64, 1]);
        let mut statistics = self.statistics();
        let mut work = Work::default();
        let mut lane = sample.lane(0..sample.batches())?;
        while let Some(batch) = lane.next_batch()? {
            self.fill(&batch, &mut work);
            for row in 0..batch.rows {
                let state = super::starts::any_state(n, &mut random) as usize;
                let code = (seeds.row(&batch, row) << n) + state;
                work.chosen[row * self.codes() + code] = T::of(batch.weight(row));
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
        Ok(Start { state: State { theta, seeds }, how: "random states".into() })
    }
}

impl<T: Real> Learner<T> for BinaryLearner<'_> {
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = BinaryStatistics<T>;
    type Workspace = Work<T>;

    fn describe(&self) -> String {
        format!("binary gvq {:?}", self.params)
    }

    fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        if self.scouting {
            return self.random_states(source, restart, context);
        }
        let scouting = Self { scouting: true, ..*self };
        super::starts::best_of_scouts(&scouting, self.params, source, restart, context)
    }

    fn settles(&self, _restart: usize) -> usize {
        0
    }

    fn prepare(&self, state: &State, _pass: Pass) -> Prepared<T> {
        let codes = codes(&state.vectors(), self.params.sets, self.columns, self.beta);
        Prepared {
            squares: codes.iter().map(|c| T::of(c * c)).collect(),
            square: codes
                .chunks_exact(self.columns)
                .map(|code| code.iter().map(|c| c * c).sum())
                .collect(),
            codes: codes.into_iter().map(T::of).collect(),
            held: self.scouting.then(|| state.seeds.clone()),
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

    fn look(
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
        for row in 0..rows {
            let weight = batch.weight(row);
            let (mut best, mut least) = (0, f64::INFINITY);
            let n = self.params.features;
            let held = prepared.held.as_ref().map(|seeds| seeds.row(batch, row));
            let tried = held.map_or(0..codes, |set| set << n..(set + 1) << n);
            for code in tried {
                let at = row * codes + code;
                let square = if holes { work.squares[at].wide() } else { prepared.square[code] };
                let on = (code & ((1 << n) - 1)).count_ones();
                let energy =
                    square - 2.0 * work.products[at].wide() + self.params.penalty * f64::from(on);
                if energy < least {
                    (best, least) = (code, energy);
                }
            }
            if weight > 0.0 {
                work.chosen[row * codes + best] = T::of(weight);
                let cells = &work.cells[row * d..(row + 1) * d];
                let own: f64 = cells.iter().map(|x| x.wide() * x.wide()).sum();
                let seen: f64 = work.seen[row * d..(row + 1) * d].iter().map(|s| s.wide()).sum();
                statistics.energy += weight * (own + least).max(0.0);
                statistics.observed += weight * seen;
                statistics.rows += weight;
            }
        }
        self.add(work, rows, statistics);
    }

    fn bound(&self, statistics: &BinaryStatistics<T>) -> f64 {
        let BinaryStatistics { energy, observed, rows, .. } = *statistics;
        let variance = (energy / observed.max(f64::MIN_POSITIVE)).max(LEAST_ERROR);
        -0.5 * observed * ((std::f64::consts::TAU * variance).ln() + 1.0)
            - rows * (self.codes() as f64).ln()
    }

    fn relearn(
        &self,
        state: &mut State,
        statistics: &BinaryStatistics<T>,
        _pass: Pass,
    ) -> Vec<String> {
        self.descend(&mut state.theta, &statistics.count, &statistics.sum);
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn error_and_gradient_agree_with_an_independent_implementation() {
        let fixture = Fixture::open("gvq_binary.json");
        let (hat, s, x) = (fixture.get("Fhat"), fixture.get("S"), fixture.get("X"));
        let beta = fixture.get("beta")[0];
        // Its states have no origin: an origin of nearly nothing stands for none.
        let mut theta = vec![-60.0; 9];
        theta.extend(hat);
        let (mut count, mut mean) = (vec![0.0; 64 * 9], vec![0.0; 64 * 9]);
        let vectors: Vec<f64> = theta.iter().map(|&t| squash(t)).collect();
        let all = codes(&vectors, 1, 9, beta);
        let mut apart = 0.0;
        for (r, (s, x)) in s.chunks(6).zip(x.chunks(9)).enumerate() {
            let state: usize = s.iter().enumerate().map(|(i, &s)| (s as usize) << i).sum();
            for c in 0..9 {
                let at = state * 9 + c;
                assert!((all[at] - fixture.get("code")[r * 9 + c]).abs() < 1e-12);
                // The mean so far moves, and the squares about it grow.
                let (n, m) = (count[at], mean[at]);
                apart += n / (n + 1.0) * (x[c] - m) * (x[c] - m);
                mean[at] = m + (x[c] - m) / (n + 1.0);
                count[at] += 1.0;
            }
        }
        let error = Error { columns: 9, beta, count: &count, mean: &mean };
        let mut gradient = vec![0.0; 63];
        let found = error.at(&theta, &mut gradient) + apart;
        assert!((found - fixture.get("E")[0]).abs() < 1e-8, "{found}");
        for (a, b) in gradient[9..].iter().zip(fixture.get("grad")) {
            assert!((a - b).abs() < 1e-8, "{a} {b}");
        }
    }
}
