//! The passes: see the [module](super).

use mereo_core::math::{HALF_LOG_TWO_PI, normal_log_density};
use mereo_core::slots::RowCells;
use mereo_core::{Batch, Context, Facts, Learner, Pass, Real, Start, Statistics};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::AspectParams;
use crate::scale::Scale;

/// Most rounds that find a row's shares, and the change at which they are found.
const ROUNDS: usize = 200;
const FOUND: f64 = 1e-7;
/// The smallest variance, in units of a cell's.
const FLOOR: f64 = 1e-3;
/// How far aspects begin from their columns' means.
const FIRST: f64 = 0.5;

/// Aspects, column by column: `[D, N]`, in units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(super) mean: Vec<f64>,
    pub(super) variance: Vec<f64>,
    /// `[N]`: mean shares of rows.
    pub(super) prior: Vec<f64>,
}

/// Learns aspects.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AspectLearner {
    pub(super) params: AspectParams,
    pub(super) scale: Scale,
    pub(super) facts: Facts,
}

/// What rows tell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AspectStatistics {
    /// `[D, N, 3]`: weight, sum and sum of squares.
    sums: Vec<f64>,
    /// `[N]`.
    shares: Vec<f64>,
    bound: f64,
}

impl Statistics for AspectStatistics {
    fn merge(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.shares.iter_mut().zip(&other.shares).for_each(|(a, b)| *a += b);
        self.bound += other.bound;
    }

    fn reset(&mut self) {
        self.sums.fill(0.0);
        self.shares.fill(0.0);
        self.bound = 0.0;
    }
}

/// Finds shares of rows.
#[derive(Debug, Default, Clone)]
pub(super) struct Shares {
    /// `[N]`.
    pub(super) share: Vec<f64>,
    /// `[n, N]`: powers of densities, then responsibilities.
    pub(super) cells: Vec<f64>,
    sums: Vec<f64>,
}

impl Shares {
    /// Takes the log densities `[n, N]` that stand in `cells` to the row's shares and its cells' responsibilities;
    /// returns its F.
    pub(super) fn find(&mut self, aspects: usize, tempering: f64, smoothing: f64) -> f64 {
        let n = aspects;
        let mut bound = 0.0;
        for cell in self.cells.chunks_exact_mut(n) {
            let most = cell.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            bound += most;
            cell.iter_mut().for_each(|log| *log = (tempering * (*log - most)).exp());
        }
        self.share.clear();
        self.share.resize(n, 1.0 / n as f64);
        let total = (self.cells.len() / n) as f64 + smoothing * n as f64;
        let mut powers = vec![0.0; n];
        if total > 0.0 {
            for _ in 0..ROUNDS {
                powers.iter_mut().zip(&self.share).for_each(|(p, s)| *p = s.powf(tempering));
                self.sums.clear();
                self.sums.resize(n, smoothing);
                for cell in self.cells.chunks_exact(n) {
                    let norm: f64 = powers.iter().zip(cell).map(|(p, e)| p * e).sum();
                    if norm > 0.0 {
                        let own = self.sums.iter_mut().zip(&powers).zip(cell);
                        own.for_each(|((sum, p), e)| *sum += p * e / norm);
                    }
                }
                let all: f64 = self.sums.iter().sum();
                let mut change = 0.0f64;
                for (share, sum) in self.share.iter_mut().zip(&self.sums) {
                    let next = sum / all;
                    change = change.max((next - *share).abs());
                    *share = next;
                }
                if change < FOUND {
                    break;
                }
            }
        }
        powers.iter_mut().zip(&self.share).for_each(|(p, s)| *p = s.powf(tempering));
        for cell in self.cells.chunks_exact_mut(n) {
            let norm: f64 = powers.iter().zip(&*cell).map(|(p, e)| p * e).sum();
            bound += norm.max(f64::MIN_POSITIVE).ln() / tempering;
            let norm = norm.max(f64::MIN_POSITIVE);
            cell.iter_mut().zip(&powers).for_each(|(e, p)| *e = p * *e / norm);
        }
        let logs = self.share.iter().map(|s| s.max(1e-300).ln()).sum::<f64>();
        bound + smoothing * logs
    }
}

impl AspectLearner {
    /// The first state of a restart: aspects about their columns' means.
    pub(super) fn start(&self, restart: usize, context: &Context) -> Start<State> {
        let (d, n) = (self.scale.columns(), self.params.aspects);
        let mut random = context.random("aspects", [restart as u64, 0]);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        // An aspect is generous or strict throughout, and has tastes.
        let level: Vec<f64> = (0..n).map(|_| FIRST * normal()).collect();
        let mean = (0..d * n)
            .map(|i| self.scale.drawn[i / n] + level[i % n] + 0.5 * FIRST * normal())
            .collect();
        let state = State { mean, variance: vec![1.0; d * n], prior: vec![1.0 / n as f64; n] };
        Start { state, how: "about the means".into() }
    }

    /// What the prior adds to F.
    fn log_prior(&self, state: &State) -> f64 {
        let n = self.params.aspects;
        let mut log = 0.0;
        for (i, (mean, variance)) in state.mean.iter().zip(&state.variance).enumerate() {
            let apart = self.scale.drawn[i / n] - mean;
            log -= 0.5 * variance.ln() + HALF_LOG_TWO_PI + 0.5 * (apart * apart + 1.0) / variance;
        }
        self.params.shrinkage * log
    }
}

/// What looking at rows needs.
pub(crate) struct Prepared {
    state: State,
    log_prior: f64,
}

/// Memory for looking at rows.
#[derive(Default)]
pub(crate) struct Work {
    cells: RowCells,
    shares: Shares,
}

impl<T: Real> Learner<T> for AspectLearner {
    const NAME: &'static str = "aspect";
    type State = State;
    type Prepared = Prepared;
    type Statistics = AspectStatistics;
    type Workspace = Work;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn prepare(&self, state: &State, _pass: Pass) -> Prepared {
        Prepared { state: state.clone(), log_prior: self.log_prior(state) }
    }

    fn statistics(&self) -> AspectStatistics {
        let (d, n) = (self.scale.columns(), self.params.aspects);
        AspectStatistics { sums: vec![0.0; d * n * 3], shares: vec![0.0; n], bound: 0.0 }
    }

    fn workspace(&self) -> Work {
        Work::default()
    }

    fn accumulate(
        &self,
        prepared: &Prepared,
        batch: &Batch<'_, T>,
        work: &mut Work,
        statistics: &mut AspectStatistics,
    ) {
        let n = self.params.aspects;
        let Work { cells, shares } = work;
        let State { mean, variance, .. } = &prepared.state;
        if batch.first_row == 0 {
            statistics.bound += prepared.log_prior;
        }
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            cells.take(batch, row);
            shares.cells.clear();
            for (d, x) in cells.iter() {
                let y = self.scale.inward(d, x);
                let own = d * n..(d + 1) * n;
                let logs = mean[own.clone()].iter().zip(&variance[own]);
                shares.cells.extend(logs.map(|(m, v)| normal_log_density(y, *m, *v)));
            }
            let bound = shares.find(n, self.params.tempering, self.params.smoothing);
            statistics.bound += weight * bound;
            let all = statistics.shares.iter_mut().zip(&shares.share);
            all.for_each(|(sum, share)| *sum += weight * share);
            for ((d, x), own) in cells.iter().zip(shares.cells.chunks_exact(n)) {
                let y = self.scale.inward(d, x);
                let sums = statistics.sums[d * n * 3..(d + 1) * n * 3].chunks_exact_mut(3);
                for (sums, r) in sums.zip(own) {
                    let told = weight * r;
                    sums[0] += told;
                    sums[1] += told * y;
                    sums[2] += told * y * y;
                }
            }
        }
    }

    fn bound(&self, statistics: &AspectStatistics) -> f64 {
        statistics.bound - self.scale.log_scale
    }

    fn update(&self, state: &mut State, statistics: &AspectStatistics, _pass: Pass) -> Vec<String> {
        let (n, kappa) = (self.params.aspects, self.params.shrinkage);
        for (i, sums) in statistics.sums.chunks_exact(3).enumerate() {
            let (count, prior) = (sums[0] + kappa, self.scale.drawn[i / n]);
            if count > 1e-12 {
                let mean = (sums[1] + kappa * prior) / count;
                let square = (sums[2] + kappa * (prior * prior + 1.0)) / count;
                state.mean[i] = mean;
                state.variance[i] = (square - mean * mean).max(FLOOR);
            }
        }
        let all: f64 = statistics.shares.iter().sum();
        if all > 0.0 {
            state.prior = statistics.shares.iter().map(|s| s / all).collect();
        }
        Vec::new()
    }
}
