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
//! is halved each sweep only as long as the points suffice; sums that cancel below rounding are
//! what limits the method, as the paper says.

use super::bp::Bp;
use super::dbr::Links;
use super::{Answer, Problem, Solver, sigmoid};

/// Most points of the quadrature; `e^(-y²)` is nothing beyond the far end.
const POINTS: usize = 1500;
const FAR: f64 = 6.1;
/// Smallest value of a sum of waves that is more than rounding, relative to the largest it can be.
const LEAST: f64 = 1e-14;
/// Sweeps at each noise, and how often the noise is halved at most.
const SWEEPS: usize = 3;
const HALVINGS: usize = 30;

/// Belief propagation in the directed graph.
#[derive(Debug, Default)]
pub struct Dbp {
    undirected: Bp,
    links: Links,
    waves: Waves,
}

/// Products of waves up to each parent and from each parent.
#[derive(Debug, Default)]
struct Waves {
    on: Vec<f64>,
    factor: Vec<[f64; 2]>,
    after: Vec<[f64; 2]>,
    sums: Vec<[f64; 2]>,
}

fn times(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
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
    fn answer(&mut self, x: f64, feature: &[f64], told: &[f64], sigma: f64, out: &mut [f64]) {
        let parents = feature.len();
        let points = points(reach(x, feature), sigma).min(POINTS);
        let step = FAR / points as f64;
        self.on.clear();
        self.on.extend(told.iter().map(|&t| sigmoid(t)));
        self.sums.clear();
        self.sums.resize(parents, [0.0; 2]);
        self.after.resize(parents + 1, [1.0, 0.0]);
        self.factor.resize(parents, [0.0; 2]);
        for point in 0..=points {
            let y = point as f64 * step;
            // Both sides of 0 are each other's mirror image; 0 itself counts half.
            let weight = if point == 0 { 0.5 } else { (-y * y).exp() };
            let speed = std::f64::consts::SQRT_2 * y / sigma;
            for k in 0..parents {
                let (sin, cos) = (speed * feature[k]).sin_cos();
                self.factor[k] = [1.0 - self.on[k] + self.on[k] * cos, -self.on[k] * sin];
            }
            self.after[parents] = [1.0, 0.0];
            for k in (0..parents).rev() {
                self.after[k] = times(self.factor[k], self.after[k + 1]);
            }
            let (sin, cos) = (speed * x).sin_cos();
            let mut before = [cos, sin];
            for k in 0..parents {
                let others = times(before, self.after[k + 1]);
                let (sin, cos) = (speed * feature[k]).sin_cos();
                self.sums[k][0] += weight * others[0];
                self.sums[k][1] += weight * times(others, [cos, -sin])[0];
                before = times(before, self.factor[k]);
            }
        }
        let least = LEAST / step;
        for (out, sums) in out.iter_mut().zip(&self.sums) {
            *out = sums[1].max(least).ln() - sums[0].max(least).ln();
        }
    }
}

impl Dbp {
    fn sweep(&mut self, penalty: f64, sigma: f64) -> f64 {
        let waves = &mut self.waves;
        self.links.sweep(-0.5 * penalty / (sigma * sigma), |x, feature, told, out| {
            waves.answer(x, feature, told, sigma, out);
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
