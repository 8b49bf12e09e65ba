//! Belief propagation in the directed graph, by quadrature.
//!
//! As [`dbr`](super::dbr), but columns sum over the states of their parents instead of taking the
//! best: `m_dj = log λ(1) - log λ(0)`, `λ(s_j) = Σ_{s'} exp(-(x - f_j s_j - Σ_{k≠j} f_k s'_k)²/2σ²) Π_k ρ_k(s'_k)`.
//! A Gaussian is an integral over waves, `exp(-u²/2σ²) = π^-½ ∫ exp(-y² + i√2 y u/σ) dy`, and under
//! the integral the sum over states is a product:
//!
//! `λ(s_j) ∝ ∫ e^{-y²} e^{i√2 y (x - f_j s_j)/σ} Π_{k≠j} (ρ_k(0) + ρ_k(1) e^{-i√2 y f_k/σ}) dy`.
//!
//! The trapezoidal rule is exact to rounding if its step is below `2π/(W + 12)`, W the fastest wave
//! `√2 max|u|/σ`: aliases are then below e^-36. So the number of points grows as 1/σ, and the noise
//! is halved only as long as `POINTS` suffice. Less noise would find nothing: what a sum of waves
//! says of states farther than 8σ from the row is below rounding, which is what limits the method,
//! as the paper says. Waves at points a step apart differ by a turn, one product of complex
//! numbers, and points are gone through several at a time.

use mereo_core::math::{exp_in_place, widest};

use super::bp::Bp;
use super::dbr::Links;
use super::{Answer, Problem, Solver, sigmoid};

/// Most points of the quadrature; `e^(-y²)` is nothing beyond the far end.
const POINTS: usize = 256;
const FAR: f64 = 6.1;
/// Smallest value of a sum of waves that is more than rounding, relative to the largest it can be.
const LEAST: f64 = 1e-14;
/// Sweeps at each noise, and how often the noise is halved at most.
const SWEEPS: usize = 3;
const HALVINGS: usize = 30;
/// Most links of a row, features times columns, and of all rows that are learned from: each costs some
/// microseconds a pass.
pub(super) const MOST_LINKS: usize = 1 << 13;
pub(super) const MOST_LINKS_OF_ALL: usize = 1 << 18;
/// Points that are gone through together.
const LANES: usize = 8;

/// Belief propagation in the directed graph.
#[derive(Debug, Default)]
pub struct Dbp {
    undirected: Bp,
    links: Links,
    waves: Waves,
}

/// Complex numbers at several points.
#[derive(Debug, Clone, Copy)]
struct Wave {
    re: [f64; LANES],
    im: [f64; LANES],
}

const ONE: Wave = Wave { re: [1.0; LANES], im: [0.0; LANES] };

impl Wave {
    #[inline(always)]
    fn times(&self, other: &Self) -> Self {
        let mut out = ONE;
        for l in 0..LANES {
            out.re[l] = self.re[l] * other.re[l] - self.im[l] * other.im[l];
            out.im[l] = self.re[l] * other.im[l] + self.im[l] * other.re[l];
        }
        out
    }

    /// `e^(i angle p)` at the first points p, and the turn from these to as many further on.
    #[inline(always)]
    fn start(angle: f64) -> (Self, Self) {
        let (sin, cos) = angle.sin_cos();
        let (mut first, mut here) = (ONE, [1.0, 0.0]);
        for l in 0..LANES {
            (first.re[l], first.im[l]) = (here[0], here[1]);
            here = [here[0] * cos - here[1] * sin, here[0] * sin + here[1] * cos];
        }
        (first, Self { re: [here[0]; LANES], im: [here[1]; LANES] })
    }
}

/// Waves of a column's parents and of its value, and products of them.
#[derive(Debug, Default)]
struct Waves {
    on: Vec<f64>,
    weight: Vec<f64>,
    /// `e^(-i√2 y f/σ)` of each parent and `e^(i√2 y x/σ)` at the points at hand, and their turns.
    wave: Vec<(Wave, Wave)>,
    factor: Vec<Wave>,
    after: Vec<Wave>,
    sums: Vec<[[f64; LANES]; 2]>,
}

/// The largest distance of a column from a sum of its features.
fn reach(x: f64, feature: &[f64]) -> f64 {
    let up: f64 = feature.iter().map(|f| f.max(0.0)).sum();
    let down: f64 = feature.iter().map(|f| f.min(0.0)).sum();
    (x - up).abs().max((x - down).abs())
}

/// Points that a column needs at a noise.
fn points(reach: f64, sigma: f64) -> usize {
    let fastest = std::f64::consts::SQRT_2 * reach / sigma;
    (FAR * (fastest + 12.0) / std::f64::consts::TAU).ceil().min(1e9) as usize
}

impl Waves {
    /// What a column tells its parents.
    #[inline(always)]
    fn answer(&mut self, x: f64, feature: &[f64], told: &[f64], sigma: f64, out: &mut [f64]) {
        let parents = feature.len();
        let points = points(reach(x, feature), sigma).min(POINTS).next_multiple_of(LANES);
        let step = FAR / points as f64;
        self.weight.clear();
        self.weight.extend((0..points).map(|p| -(p as f64 * step).powi(2)));
        exp_in_place(&mut self.weight);
        // Both sides of 0 are each other's mirror image; 0 itself counts half.
        self.weight[0] = 0.5;
        self.on.clear();
        self.on.extend(told.iter().map(|&t| sigmoid(t)));
        let turn = std::f64::consts::SQRT_2 * step / sigma;
        self.wave.clear();
        self.wave.extend(feature.iter().map(|f| Wave::start(-turn * f)));
        let (mut value, value_turn) = Wave::start(turn * x);
        self.sums.clear();
        self.sums.resize(parents, [[0.0; LANES]; 2]);
        self.after.resize(parents + 1, ONE);
        self.factor.resize(parents, ONE);
        for weight in self.weight.as_chunks::<LANES>().0 {
            self.after[parents] = ONE;
            for k in (0..parents).rev() {
                let (wave, on) = (&self.wave[k].0, self.on[k]);
                let factor = &mut self.factor[k];
                for l in 0..LANES {
                    factor.re[l] = 1.0 - on + on * wave.re[l];
                    factor.im[l] = on * wave.im[l];
                }
                self.after[k] = factor.times(&self.after[k + 1]);
            }
            let mut before = value;
            for k in 0..parents {
                let others = before.times(&self.after[k + 1]);
                let (wave, turn) = &mut self.wave[k];
                let with = others.times(wave);
                for l in 0..LANES {
                    self.sums[k][0][l] += weight[l] * others.re[l];
                    self.sums[k][1][l] += weight[l] * with.re[l];
                }
                before = before.times(&self.factor[k]);
                *wave = wave.times(turn);
            }
            value = value.times(&value_turn);
        }
        let least = LEAST / step;
        for (out, sums) in out.iter_mut().zip(&self.sums) {
            let [off, on] = sums.map(|lanes| lanes.iter().sum::<f64>().max(least).ln());
            *out = on - off;
        }
    }
}

impl Dbp {
    fn sweep(&mut self, penalty: f64, sigma: f64) -> f64 {
        let waves = &mut self.waves;
        self.links.sweep(-0.5 * penalty / (sigma * sigma), |x, feature, told, out| {
            widest(
                #[inline(always)]
                || waves.answer(x, feature, told, sigma, out),
            );
        })
    }

    /// What features believe after this many sweeps at one noise: `p(s_i = 1)`, exact on trees.
    /// Without a directed graph, what [`Bp`] gives.
    pub fn marginals(&mut self, problem: &Problem<'_>, sigma: f64, sweeps: usize) -> Vec<f64> {
        let Some(directed) = problem.directed else {
            return self.undirected.marginals(problem, sigma, sweeps);
        };
        self.links.set(problem.bias.len(), &directed);
        for _ in 0..sweeps {
            self.sweep(directed.penalty, sigma);
        }
        let prior = -0.5 * directed.penalty / (sigma * sigma);
        self.links.heard.iter().map(|h| sigmoid(prior + h)).collect()
    }
}

impl Solver for Dbp {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        let Some(directed) = problem.directed else {
            return self.undirected.solve(problem);
        };
        let mut best = Answer::nothing();
        self.links.set(problem.bias.len(), &directed);
        let mut farthest = 0.0f64;
        for (d, &x) in self.links.values.iter().enumerate() {
            let feature = &self.links.feature[self.links.starts[d]..self.links.starts[d + 1]];
            farthest = farthest.max(reach(x, feature));
        }
        let mut sigma = farthest;
        for _ in 0..HALVINGS {
            if !(sigma > 0.0) || points(farthest, sigma) > POINTS {
                break;
            }
            for _ in 0..SWEEPS {
                self.sweep(directed.penalty, sigma);
                let state = self.links.state(-0.5 * directed.penalty / (sigma * sigma));
                best.offer(state, problem.energy(state));
            }
            // Messages are log ratios and grow as the noise falls.
            sigma /= 2.0;
        }
        best
    }
}
