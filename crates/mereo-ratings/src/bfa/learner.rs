//! The passes: see the [module](super).

use mereo_core::math::{cholesky, cholesky_inverse, cholesky_solve, dot, packed, widest};
use mereo_core::slots::RowCells;
use mereo_core::{Batch, Context, Facts, Learner, Pass, Real, Start, Statistics, map_in_parallel};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::BfaParams;
use super::items::{Items, Row};
use super::ordinal::{Cuts, SETTLED};
use crate::scale::Scale;

/// What the gamma priors of precisions begin with: next to nothing.
const GAMMA: f64 = 1e-3;
/// The least noise, in units of a cell's variance.
const FLOOR: f64 = 1e-4;
/// Deviations of first loadings.
const FIRST: f64 = 0.2;

/// What the passes move, in units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// `[D, N + 2]`: `E[l̃]`.
    pub(super) mean: Vec<f64>,
    /// `[D, packed N + 1]`: the covariance of `(w, c)`.
    pub(super) covariance: Vec<f64>,
    /// `[D]`.
    pub(super) noise: Vec<f64>,
    /// ψ₀.
    pub(super) usual_noise: f64,
    /// `[N + 1]`: α, then β.
    pub(super) precision: Vec<f64>,
    /// λ.
    pub(super) bias_precision: f64,
    /// If cells show levels.
    pub(super) cuts: Option<Cuts>,
    /// `[D, N]`: v; empty if it says nothing which columns a row observes.
    pub(super) chosen: Vec<f64>,
}

/// Learns posteriors of columns.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BfaLearner {
    pub(super) params: BfaParams,
    pub(super) scale: Scale,
    /// Levels and first cut points, if cells show levels.
    pub(super) cuts: Option<Cuts>,
    pub(super) facts: Facts,
}

/// What rows tell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BfaStatistics {
    /// `[D, packed N + 2]`: `A_d`.
    second: Vec<f64>,
    /// `[D, N + 2]`: `r_d`.
    cross: Vec<f64>,
    /// `[D]`.
    squares: Vec<f64>,
    /// `Σ w E[b²]`.
    biases: f64,
    /// How often each level has which expectation, if cells show levels.
    counts: Vec<f64>,
    /// `[D, N]`: `Σ w (E[z] - μ)/√n`, if that is learned.
    chosen: Vec<f64>,
    bound: f64,
}

impl Statistics for BfaStatistics {
    fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.second, &other.second),
            (&mut self.cross, &other.cross),
            (&mut self.squares, &other.squares),
            (&mut self.counts, &other.counts),
            (&mut self.chosen, &other.chosen),
        ];
        for (own, theirs) in pairs {
            own.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        self.biases += other.biases;
        self.bound += other.bound;
    }

    fn reset(&mut self) {
        let Self { second, cross, squares, counts, chosen, .. } = self;
        for sums in [second, cross, squares, counts, chosen] {
            sums.fill(0.0);
        }
        (self.biases, self.bound) = (0.0, 0.0);
    }
}

/// What a column comes to.
struct Column {
    mean: Vec<f64>,
    covariance: Vec<f64>,
    noise: f64,
}

impl BfaLearner {
    /// The first state of a restart: small random loadings.
    pub(super) fn start(&self, restart: usize, context: &Context) -> Start<State> {
        let (d, n) = (self.scale.columns(), self.params.factors);
        let mut random = context.random("loadings", [restart as u64, 0]);
        let mut mean = Vec::with_capacity(d * (n + 2));
        let mut covariance = vec![0.0; d * packed(n + 1)];
        for column in 0..d {
            for _ in 0..n {
                let normal: f64 = StandardNormal.sample(&mut random);
                mean.push(FIRST * normal);
            }
            mean.extend([1.0, self.scale.drawn[column]]);
            let own = &mut covariance[column * packed(n + 1)..(column + 1) * packed(n + 1)];
            (0..=n).for_each(|i| own[packed(i) + i] = FIRST * FIRST * 0.1);
        }
        let mut precision = vec![1.0 / (FIRST * FIRST); n];
        precision.push(4.0);
        // Latent values are measured in units of their noise.
        let noise = if self.cuts.is_some() { 1.0 } else { 0.7 };
        let state = State {
            mean,
            covariance,
            noise: vec![noise; d],
            usual_noise: noise,
            precision,
            bias_precision: 6.0,
            cuts: self.cuts.clone(),
            chosen: vec![0.0; self.chosen_size()],
        };
        Start { state, how: "small random loadings".into() }
    }

    /// How many numbers v has.
    fn chosen_size(&self) -> usize {
        if self.params.chosen_rows > 0.0 { self.scale.columns() * self.params.factors } else { 0 }
    }

    fn items(&self, state: &State) -> Items {
        Items::new(
            self.params.factors,
            state.mean.clone(),
            &state.covariance,
            state.noise.clone(),
            state.bias_precision,
        )
        .with_chosen(state.chosen.clone())
    }

    /// All of F that is not of rows.
    fn log_prior(&self, state: &State) -> f64 {
        let n = self.params.factors;
        let (q, small, nu) = (n + 2, packed(n + 1), self.params.noise_rows);
        let mut log = 0.0;
        for (d, own) in state.covariance.chunks_exact(small).enumerate() {
            let mut factor = own.to_vec();
            // As the state makes them, they always have a factor.
            let log_determinant = cholesky(&mut factor, n + 1).unwrap_or(0.0);
            let mut both = log_determinant + (n + 1) as f64;
            for (j, alpha) in state.precision.iter().enumerate() {
                let square = self.square(&state.mean[d * q..(d + 1) * q], own, d, j);
                both += alpha.ln() - alpha * square;
            }
            let noise = state.noise[d];
            log += 0.5 * both
                - 0.5 * nu * (noise.ln() + state.usual_noise / noise - state.usual_noise.ln());
        }
        log -= 0.5 * self.params.chosen_rows * dot(&state.chosen, &state.chosen);
        let hyper = |precision: f64| GAMMA * (precision.ln() - precision);
        log + state.precision.iter().map(|a| hyper(*a)).sum::<f64>() + hyper(state.bias_precision)
    }

    /// `E[(l_j - m_j)²]` of loading j, or of the offset about the mean of all.
    fn square(&self, mean: &[f64], covariance: &[f64], column: usize, j: usize) -> f64 {
        let n = self.params.factors;
        let apart = if j < n { mean[j] } else { mean[n + 1] - self.scale.overall[column] };
        apart * apart + covariance[packed(j) + j]
    }

    /// The posterior and the noise of a column.
    fn column(&self, state: &State, statistics: &BfaStatistics, d: usize) -> Column {
        let n = self.params.factors;
        let (q, large) = (n + 2, packed(n + 2));
        let second = &statistics.second[d * large..(d + 1) * large];
        let cross = &statistics.cross[d * q..(d + 1) * q];
        let precision = 1.0 / state.noise[d];
        // Factors are as they stand; the offset comes after the bias, which is known.
        let place = |k: usize| if k < n { k } else { n + 1 };
        let mut factor = Vec::with_capacity(packed(n + 1));
        let mut mean = vec![0.0; n + 1];
        for k in 0..=n {
            let own = (0..=k).map(|l| precision * second[packed(place(k)) + place(l)]);
            factor.extend(own);
            factor[packed(k) + k] += state.precision[k];
            let with_bias = if k < n { second[packed(n) + k] } else { second[packed(n + 1) + n] };
            mean[k] = precision * (cross[place(k)] - with_bias);
        }
        mean[n] += state.precision[n] * self.scale.overall[d];
        let mut covariance = vec![0.0; packed(n + 1)];
        let mut work = vec![0.0; n + 1];
        if cholesky(&mut factor, n + 1).is_none() {
            // Rounding alone can do this, of columns that say nothing new.
            let at = packed(n + 1);
            return Column {
                mean: state.mean[d * q..(d + 1) * q].to_vec(),
                covariance: state.covariance[d * at..(d + 1) * at].to_vec(),
                noise: state.noise[d],
            };
        }
        cholesky_solve(&factor, n + 1, &mut mean);
        cholesky_inverse(&factor, n + 1, &mut covariance, &mut work);
        let offset = mean[n];
        mean[n] = 1.0;
        mean.push(offset);
        let items = Items::new(n, mean.clone(), &covariance, vec![1.0], 1.0);
        let mut left = statistics.squares[d] - 2.0 * dot(&mean, cross);
        for i in 0..q {
            for j in 0..=i {
                let once = if i == j { 1.0 } else { 2.0 };
                left += once * items.second[packed(i) + j] * second[packed(i) + j];
            }
        }
        let nu = self.params.noise_rows;
        let rows = second[large - 1] + nu;
        let noise = if rows > 0.0 && state.cuts.is_none() {
            ((left.max(0.0) + nu * state.usual_noise) / rows).max(FLOOR)
        } else {
            state.noise[d]
        };
        Column { mean, covariance, noise }
    }
}

/// What looking at rows needs.
pub(crate) struct Prepared {
    items: Items,
    cuts: Option<Cuts>,
    log_prior: f64,
}

/// Memory for looking at rows.
#[derive(Default)]
pub(crate) struct Work {
    cells: RowCells,
    row: Row,
    second: Vec<f64>,
    apart: Vec<f64>,
    inward: Vec<(usize, f64)>,
    told: Vec<(f64, f64)>,
}

impl<T: Real> Learner<T> for BfaLearner {
    const NAME: &'static str = "bfa";
    type State = State;
    type Prepared = Prepared;
    type Statistics = BfaStatistics;
    type Workspace = Work;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn settled_from(&self) -> usize {
        if self.cuts.is_some() { SETTLED } else { 0 }
    }

    fn prepare(&self, state: &State, _pass: Pass) -> Prepared {
        Prepared {
            items: self.items(state),
            cuts: state.cuts.clone(),
            log_prior: self.log_prior(state),
        }
    }

    fn statistics(&self) -> BfaStatistics {
        let (d, q) = (self.scale.columns(), self.params.factors + 2);
        BfaStatistics {
            second: vec![0.0; d * packed(q)],
            cross: vec![0.0; d * q],
            squares: vec![0.0; d],
            biases: 0.0,
            counts: self.cuts.as_ref().map_or_else(Vec::new, Cuts::empty_counts),
            chosen: vec![0.0; self.chosen_size()],
            bound: 0.0,
        }
    }

    fn workspace(&self) -> Work {
        Work::default()
    }

    fn accumulate(
        &self,
        prepared: &Prepared,
        batch: &Batch<'_, T>,
        work: &mut Work,
        statistics: &mut BfaStatistics,
    ) {
        let n = self.params.factors;
        let (q, large) = (n + 2, packed(n + 2));
        let Work { cells, row, second, apart, inward, told } = work;
        if batch.first_row == 0 {
            statistics.bound += prepared.log_prior;
        }
        for number in 0..batch.rows {
            let weight = batch.weight(number);
            if weight == 0.0 {
                continue;
            }
            cells.take(batch, number);
            inward.clear();
            match &prepared.cuts {
                None => {
                    inward.extend(cells.iter().map(|(d, x)| (d, self.scale.inward(d, x))));
                    statistics.bound += weight * prepared.items.understand(inward, row);
                }
                Some(cuts) => {
                    inward.extend(cells.iter());
                    let bound = prepared.items.understand_levels(cuts, inward, row, told);
                    statistics.bound += weight * bound;
                    for ((_, x), (m, y)) in inward.iter_mut().zip(&*told) {
                        cuts.count(&mut statistics.counts, *x, *m, weight);
                        *x = *y;
                    }
                }
            }
            second.clear();
            for i in 0..q {
                for j in 0..=i {
                    let spread = if i <= n { row.covariance[packed(i) + j] } else { 0.0 };
                    second.push(weight * (row.mean[i] * row.mean[j] + spread));
                }
            }
            statistics.biases += second[packed(n) + n];
            let BfaStatistics { second: seconds, cross, squares, chosen, .. } = &mut *statistics;
            let moved = row.mean.iter().zip(&row.prior).map(|(m, prior)| m - prior);
            apart.clear();
            apart.extend(moved.map(|by| weight * row.share * by));
            widest(
                #[inline(always)]
                || {
                    for &(d, y) in &*inward {
                        let own = &mut seconds[d * large..(d + 1) * large];
                        own.iter_mut().zip(&*second).for_each(|(a, s)| *a += s);
                        let own = &mut cross[d * q..(d + 1) * q];
                        own.iter_mut().zip(&row.mean).for_each(|(r, m)| *r += weight * y * m);
                        squares[d] += weight * y * y;
                        // Nothing, if that is not learned.
                        let own = chosen.get_mut(d * n..(d + 1) * n).unwrap_or_default();
                        own.iter_mut().zip(&*apart).for_each(|(sum, by)| *sum += by);
                    }
                },
            );
        }
    }

    fn bound(&self, statistics: &BfaStatistics) -> f64 {
        // Of levels there are probabilities, not densities.
        statistics.bound - if self.cuts.is_some() { 0.0 } else { self.scale.log_scale }
    }

    fn update(&self, state: &mut State, statistics: &BfaStatistics, pass: Pass) -> Vec<String> {
        if let Some(cuts) =
            state.cuts.as_mut().filter(|_| pass.pass < SETTLED && pass.pass % 2 == 1)
        {
            cuts.move_to(&statistics.counts);
            return Vec::new();
        }
        let (n, d) = (self.params.factors, self.scale.columns());
        let (q, small) = (n + 2, packed(n + 1));
        let columns = map_in_parallel(d, |column| self.column(state, statistics, column));
        for (column, found) in columns.into_iter().enumerate() {
            state.mean[column * q..(column + 1) * q].copy_from_slice(&found.mean);
            let own = &mut state.covariance[column * small..(column + 1) * small];
            own.copy_from_slice(&found.covariance);
            state.noise[column] = found.noise;
        }
        let large = packed(q);
        for (column, own) in state.chosen.chunks_exact_mut(n).enumerate() {
            let rows = statistics.second[(column + 1) * large - 1];
            let prior = self.params.chosen_rows;
            for (v, sum) in own.iter_mut().zip(&statistics.chosen[column * n..]) {
                *v += (sum - prior * *v) / (rows + prior);
            }
        }
        for j in 0..=n {
            let of = |column: usize| {
                let mean = &state.mean[column * q..(column + 1) * q];
                self.square(mean, &state.covariance[column * small..], column, j)
            };
            let squares: f64 = (0..d).map(of).sum();
            state.precision[j] = (d as f64 + 2.0 * GAMMA) / (squares + 2.0 * GAMMA);
        }
        let weight = self.facts.weight + 2.0 * GAMMA;
        state.bias_precision = weight / (statistics.biases + 2.0 * GAMMA);
        if state.cuts.is_none() {
            let inverse: f64 = state.noise.iter().map(|v| 1.0 / v).sum();
            state.usual_noise = (d as f64 / inverse).max(FLOOR);
        }
        Vec::new()
    }
}
