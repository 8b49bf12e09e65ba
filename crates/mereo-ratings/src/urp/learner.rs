//! The passes: see the [module](super).

use mereo_core::math::{digamma, ln_gamma};
use mereo_core::slots::RowCells;
use mereo_core::{Batch, Context, Facts, Learner, Pass, Real, Start, Statistics};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::UrpParams;
use crate::levels::Levels;

/// Most rounds that find a row's shares, and the change of γ at which they are found.
const ROUNDS: usize = 200;
const FOUND: f64 = 1e-7;
/// Newton's steps for the prior in a pass.
const STEPS: usize = 5;
/// The prior stays within this.
const LEAST: f64 = 1e-4;
const MOST: f64 = 1e6;

/// Profiles and the prior of shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// `[D, L, N]`: the probability of each level.
    pub(super) level: Vec<f64>,
    /// `[N]`: α.
    pub(super) prior: Vec<f64>,
}

/// Learns profiles.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UrpLearner {
    pub(super) params: UrpParams,
    pub(super) levels: Levels,
    pub(super) columns: usize,
    /// `[D, L]`: how common levels are in each column, drawn towards all columns.
    pub(super) common: Vec<f64>,
    pub(super) facts: Facts,
}

/// What rows tell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct UrpStatistics {
    /// `[D, L, N]`.
    counts: Vec<f64>,
    /// `[N]`: `Σ w E[log θ]`.
    logs: Vec<f64>,
    bound: f64,
}

impl Statistics for UrpStatistics {
    fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.logs.iter_mut().zip(&other.logs).for_each(|(a, b)| *a += b);
        self.bound += other.bound;
    }

    fn reset(&mut self) {
        self.counts.fill(0.0);
        self.logs.fill(0.0);
        self.bound = 0.0;
    }
}

/// Finds what is believed of rows.
#[derive(Debug, Default, Clone)]
pub(super) struct Belief {
    /// `[N]`: γ, and `E[log θ]`.
    pub(super) gamma: Vec<f64>,
    pub(super) logs: Vec<f64>,
    /// `[N]`: `exp E[log θ]`.
    shares: Vec<f64>,
    next: Vec<f64>,
}

impl Belief {
    fn expect(&mut self) {
        let total = digamma(self.gamma.iter().sum());
        self.logs.clear();
        self.logs.extend(self.gamma.iter().map(|&g| digamma(g) - total));
        self.shares.clear();
        self.shares.extend(self.logs.iter().map(|log| log.exp()));
    }

    /// From the probabilities `[N]` that profiles give each of a row's cells; returns the row's F.
    pub(super) fn find<'a>(
        &mut self,
        prior: &[f64],
        cells: impl Iterator<Item = &'a [f64]> + Clone,
    ) -> f64 {
        let n = prior.len();
        let count = cells.clone().count() as f64;
        self.gamma.clear();
        self.gamma.extend(prior.iter().map(|a| a + count / n as f64));
        self.expect();
        for _ in 0..ROUNDS {
            self.next.clear();
            self.next.extend_from_slice(prior);
            for cell in cells.clone() {
                let norm = self.norm(cell);
                let all = self.next.iter_mut().zip(&self.shares).zip(cell);
                all.for_each(|((g, s), p)| *g += s * p / norm);
            }
            let change = self.next.iter().zip(&self.gamma).map(|(a, b)| (a - b).abs());
            let change = change.fold(0.0, f64::max);
            std::mem::swap(&mut self.next, &mut self.gamma);
            self.expect();
            if change < FOUND * (1.0 + count) {
                break;
            }
        }
        let (all, own): (f64, f64) = (prior.iter().sum(), self.gamma.iter().sum());
        let mut bound = ln_gamma(all) - ln_gamma(own);
        for ((a, g), log) in prior.iter().zip(&self.gamma).zip(&self.logs) {
            bound += ln_gamma(*g) - ln_gamma(*a) + (a - g) * log;
        }
        bound + cells.map(|cell| self.norm(cell).ln()).sum::<f64>()
    }

    /// `Σ_z exp(E_z) β_z` of a cell.
    pub(super) fn norm(&self, cell: &[f64]) -> f64 {
        let sum: f64 = self.shares.iter().zip(cell).map(|(s, p)| s * p).sum();
        sum.max(f64::MIN_POSITIVE)
    }

    pub(super) fn shares(&self) -> &[f64] {
        &self.shares
    }
}

impl UrpLearner {
    /// The first state of a restart: profiles that prefer some part of the scale, and differ a little by column.
    pub(super) fn start(&self, restart: usize, context: &Context) -> Start<State> {
        let (n, l) = (self.params.profiles, self.levels.len());
        let mut random = context.random("profiles", [restart as u64, 0]);
        let lean: Vec<f64> = (0..n).map(|_| random.random_range(-1.0..1.0)).collect();
        let mut level = vec![0.0; self.columns * l * n];
        for d in 0..self.columns {
            for z in 0..n {
                let own = lean[z] + random.random_range(-0.5..0.5);
                let tilted = |i: usize| {
                    let place = if l > 1 { 2.0 * i as f64 / (l - 1) as f64 - 1.0 } else { 0.0 };
                    self.common[d * l + i] * (own * place).exp()
                };
                let total: f64 = (0..l).map(tilted).sum();
                for i in 0..l {
                    level[(d * l + i) * n + z] = tilted(i) / total;
                }
            }
        }
        Start { state: State { level, prior: vec![1.0; n] }, how: "about the columns".into() }
    }

    fn log_prior(&self, state: &State) -> f64 {
        let n = self.params.profiles;
        let of = |(i, p): (usize, &f64)| self.common[i / n] * p.max(f64::MIN_POSITIVE).ln();
        self.params.shrinkage * state.level.iter().enumerate().map(of).sum::<f64>()
    }
}

/// `d²log Γ(x)/dx²` of a positive number: the series from 10 on, and `ψ'(x) = ψ'(x+1) + 1/x²`.
fn trigamma(x: f64) -> f64 {
    let (mut x, mut more) = (x, 0.0);
    while x < 10.0 {
        more += 1.0 / (x * x);
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    let series =
        1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s * (1.0 / 30.0 - s * 5.0 / 66.0)));
    more + 1.0 / x + 0.5 * s + s / x * series
}

/// What α makes large: see the module.
fn worth(alpha: &[f64], logs: &[f64], weight: f64) -> f64 {
    let all: f64 = alpha.iter().sum();
    let each: f64 = alpha.iter().zip(logs).map(|(a, g)| a * g - weight * ln_gamma(*a)).sum();
    weight * ln_gamma(all) + each
}

/// Moves α up.
fn move_prior(alpha: &mut Vec<f64>, logs: &[f64], weight: f64) {
    for _ in 0..STEPS {
        let all: f64 = alpha.iter().sum();
        let gradient: Vec<f64> = alpha
            .iter()
            .zip(logs)
            .map(|(a, g)| weight * (digamma(all) - digamma(*a)) + g)
            .collect();
        // The matrix of second derivatives is diag(q) + z 1 1ᵀ.
        let q: Vec<f64> = alpha.iter().map(|a| -weight * trigamma(*a)).collect();
        let z = weight * trigamma(all);
        let above: f64 = gradient.iter().zip(&q).map(|(g, q)| g / q).sum();
        let below: f64 = 1.0 / z + q.iter().map(|q| 1.0 / q).sum::<f64>();
        let shift = above / below;
        let now = worth(alpha, logs, weight);
        let mut step = 1.0;
        let better = loop {
            let next: Vec<f64> = alpha
                .iter()
                .zip(gradient.iter().zip(&q))
                .map(|(a, (g, q))| (a - step * (g - shift) / q).clamp(LEAST, MOST))
                .collect();
            if worth(&next, logs, weight) > now {
                break Some(next);
            }
            step *= 0.5;
            if step < 1e-3 {
                break None;
            }
        };
        match better {
            Some(next) => *alpha = next,
            None => return,
        }
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
    /// Where the probabilities of each observed cell stand.
    places: Vec<usize>,
    belief: Belief,
}

impl<T: Real> Learner<T> for UrpLearner {
    const NAME: &'static str = "urp";
    type State = State;
    type Prepared = Prepared;
    type Statistics = UrpStatistics;
    type Workspace = Work;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn prepare(&self, state: &State, _pass: Pass) -> Prepared {
        Prepared { state: state.clone(), log_prior: self.log_prior(state) }
    }

    fn statistics(&self) -> UrpStatistics {
        let n = self.params.profiles;
        let counts = vec![0.0; self.columns * self.levels.len() * n];
        UrpStatistics { counts, logs: vec![0.0; n], bound: 0.0 }
    }

    fn workspace(&self) -> Work {
        Work::default()
    }

    fn accumulate(
        &self,
        prepared: &Prepared,
        batch: &Batch<'_, T>,
        work: &mut Work,
        statistics: &mut UrpStatistics,
    ) {
        let (n, l) = (self.params.profiles, self.levels.len());
        let Work { cells, places, belief } = work;
        let State { level, prior } = &prepared.state;
        if batch.first_row == 0 {
            statistics.bound += prepared.log_prior;
        }
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            cells.take(batch, row);
            places.clear();
            places.extend(cells.iter().map(|(d, x)| (d * l + self.levels.nearest(x)) * n));
            let all = places.iter().map(|&at| &level[at..at + n]);
            statistics.bound += weight * belief.find(prior, all);
            let told = statistics.logs.iter_mut().zip(&belief.logs);
            told.for_each(|(sum, log)| *sum += weight * log);
            for &at in &*places {
                let own = &level[at..at + n];
                let share = weight / belief.norm(own);
                let sums = statistics.counts[at..at + n].iter_mut().zip(belief.shares()).zip(own);
                sums.for_each(|((sum, s), p)| *sum += share * s * p);
            }
        }
    }

    fn bound(&self, statistics: &UrpStatistics) -> f64 {
        statistics.bound
    }

    fn update(&self, state: &mut State, statistics: &UrpStatistics, _pass: Pass) -> Vec<String> {
        let (n, l, kappa) = (self.params.profiles, self.levels.len(), self.params.shrinkage);
        for d in 0..self.columns {
            for z in 0..n {
                let at = |i: usize| (d * l + i) * n + z;
                let own = |i: usize| statistics.counts[at(i)] + kappa * self.common[d * l + i];
                let total: f64 = (0..l).map(own).sum();
                if total > 1e-12 {
                    (0..l).for_each(|i| state.level[at(i)] = own(i) / total);
                }
            }
        }
        move_prior(&mut state.prior, &statistics.logs, self.facts.weight);
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trigamma_is_the_slope_of_digamma() {
        for x in [0.05, 0.7, 3.0, 25.0] {
            let slope = (digamma(x * (1.0 + 1e-6)) - digamma(x * (1.0 - 1e-6))) / (2e-6 * x);
            assert!((trigamma(x) / slope - 1.0).abs() < 1e-6, "{x}: {} {slope}", trigamma(x));
        }
    }

    #[test]
    fn the_prior_of_known_shares_is_found() {
        // E[log θ] of a Dirichlet is digamma(a) - digamma(Σa): given those, its own parameters are best.
        let truth = [0.3, 2.0, 5.0];
        let all = digamma(truth.iter().sum());
        let logs: Vec<f64> = truth.iter().map(|a| 50.0 * (digamma(*a) - all)).collect();
        let mut alpha = vec![1.0; 3];
        (0..20).for_each(|_| move_prior(&mut alpha, &logs, 50.0));
        for (a, t) in alpha.iter().zip(truth) {
            assert!((a - t).abs() < 1e-4, "{alpha:?}");
        }
    }

    #[test]
    fn the_bound_of_a_row_lies_below_its_log_probability() {
        // Two profiles, two cells: the integral over the share, by many small steps.
        let prior = [0.8, 1.5];
        let cells = [[0.9, 0.2], [0.1, 0.6]];
        let mut belief = Belief::default();
        let bound = belief.find(&prior, cells.iter().map(|c| &c[..]));
        let steps = 200_000i32;
        let log_norm = ln_gamma(2.3) - ln_gamma(0.8) - ln_gamma(1.5);
        let mut sum = 0.0;
        for i in 0..steps {
            let t = (f64::from(i) + 0.5) / f64::from(steps);
            let density = (log_norm - 0.2 * t.ln() + 0.5 * (1.0 - t).ln()).exp();
            let cell = |c: &[f64; 2]| t * c[0] + (1.0 - t) * c[1];
            sum += density * cells.iter().map(cell).product::<f64>() / f64::from(steps);
        }
        assert!(bound < sum.ln() && bound > sum.ln() - 0.3, "{bound} {}", sum.ln());
    }
}
