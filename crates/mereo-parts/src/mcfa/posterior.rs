//! What loadings and offsets may be, instead of the best of them: Bayesian MCFA.
//!
//! Of a column that five rows observe, the loadings that fit best say whatever those five rows say. Here `l = (λ_kd, ρ_kd)` of every
//! part and column has a prior and a posterior, and what is not known is averaged over, in learning and in predictions. In units in which
//! cells of column d have about the mean 0 and the variance 1 (both drawn towards those of all columns, as in
//! [`Shrinkage`]),
//!
//! `λ_kdj ~ N(μ_kj, 1/α_kj)`, `ρ_kd ~ N(0, 1/β_k)`, `P(ψ_kd) ∝ (ψ₀/ψ)^{ν/2} exp(-νψ₀/2ψ)`.
//!
//! A factor along which all columns of a part move together has `μ` unlike 0: it is what other models call the bias of a row, and columns
//! of which little is known follow it. The posterior gets the factors `q(l_kd) = N(E[l], C)`, and the bound gains
//! `-Σ_dk KL(q(l_kd) ‖ prior) + log P(ψ, α, β)`.
//!
//! - **Codes** need `E[λλᵀ]`, `E[λρ]` and `E[ρ²]` where they had products ([`Coefficients`](super::coefficients)): rows see columns that are not well known through
//!   more noise.
//! - **Loadings and offsets.** With `s̃ = (s, 1)` and the sums `A = Σ E[s̃s̃ᵀ]`, `r = Σ x E[s̃]` over the rows that observe d, F depends on
//!   `q(l)` by `E[-g (lᵀA l - 2 r·l)/2ψ] - KL`, so that it is Gaussian with the precision `diag(α, β) + (g/ψ) A` and that times
//!   its mean is `(αμ, 0) + (g/ψ) r`. The gate no longer cancels: a part that has little of a column knows little of it.
//! - **Noise.** `ψ = (g S + νψ₀)/(g n + ν)`, with `S = Σx² - 2 r·E[l] + tr(A E[llᵀ])` what is expected to be left of squares, or the floor if that is
//!   larger; `ψ₀` is the harmonic mean of all.
//! - **The gate** moves against `G = ½ (n log ψ + S/ψ)` as before.
//! - `μ_kj` is the mean of `E[λ_kdj]` over the columns, `α_kj = (D + 2a)/(Σ_d E[(λ_kdj - μ_kj)²] + 2a)` with a small `a`, which shuts factors off that
//!   columns do not need, and `β_k` likewise.
//!
//! **Predictions** of a row with the code `N(m, Ω)` have, of each part, the variance `ψ + tr(E[λλᵀ] Ω) + m̃ᵀ C m̃`, `m̃ = (m, 1)`: they are less
//! sure of columns of which little is known.

use mereo_core::Real;
use mereo_core::math::{cholesky, cholesky_inverse, cholesky_solve, packed};
use mereo_core::slots::{Frame, Shrinkage, Survey};
use serde::{Deserialize, Serialize};

use super::learner::State;
use super::normal::place;
use super::regression::Sums;

/// Rows of usual noise that each column of each part is taken to have been seen in: ν.
const NOISE_ROWS: f64 = 10.0;
/// What the gamma priors of precisions begin with: next to nothing.
const GAMMA: f64 = 1e-3;
/// First precisions of loadings and of offsets.
const FIRST: [f64; 2] = [10.0, 4.0];

/// What is believed of loadings and offsets beside their means, and of where they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Posterior {
    /// `[K, D, packed J + 1]`: C, in the data's units.
    pub(super) covariance: Vec<f64>,
    /// `[K, J]`: μ.
    pub(super) centre: Vec<f64>,
    /// `[K, J + 1]`: α, then β.
    pub(super) precision: Vec<f64>,
    /// ψ₀.
    usual_noise: f64,
}

/// The units in which priors are the same for all columns: `rows` of the shrinkage are ν.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Units(Shrinkage);

/// What a column of a part comes to, in units.
struct Column {
    /// `[J + 1]`.
    mean: Vec<f64>,
    /// Packed `[J + 1]`.
    covariance: Vec<f64>,
}

impl Units {
    pub(super) fn of<T: Real>(survey: &Survey<T>) -> Option<Self> {
        Shrinkage::of(Some(NOISE_ROWS), NOISE_ROWS, survey).map(Self)
    }

    /// The deviation of cells of a column, in the data's units.
    fn size<T: Real>(&self, frame: &Frame<T>, d: usize) -> f64 {
        self.0.variance[d].sqrt() * frame.scale(d)
    }

    /// Sums over rows in units, out of those in a frame's.
    fn inward(&self, d: usize, sums: &Sums<'_>, product: &mut Vec<f64>) -> [f64; 2] {
        let (centre, size) = (self.0.mean[d], self.0.variance[d].sqrt());
        product.clear();
        product.extend(sums.product.iter().zip(sums.mean).map(|(xm, m)| (xm - centre * m) / size));
        let first = (sums.first - centre * sums.count) / size;
        let second = sums.second - 2.0 * centre * sums.first + centre * centre * sums.count;
        [first, second / (size * size)]
    }

    /// First beliefs: as sure of each column as its rows can make them.
    pub(super) fn first<T: Real>(
        &self,
        state: &State,
        observed: &[f64],
        frame: &Frame<T>,
    ) -> Posterior {
        let columns = observed.len();
        let parts = state.gate.len() / columns;
        let factors = state.loading.len() / state.noise.len();
        let small = packed(factors + 1);
        let mut covariance = vec![0.0; parts * columns * small];
        for (i, own) in covariance.chunks_exact_mut(small).enumerate() {
            let (part, d) = (i / columns, i % columns);
            let square = self.size(frame, d).powi(2);
            let told = state.gate[d * parts + part] * observed[d] * square / state.noise[i];
            for f in 0..=factors {
                own[place(f, f)] = square / (FIRST[usize::from(f == factors)] + told);
            }
        }
        let precision = (0..parts * (factors + 1))
            .map(|i| FIRST[usize::from(i % (factors + 1) == factors)])
            .collect();
        Posterior { covariance, centre: vec![0.0; parts * factors], precision, usual_noise: 0.5 }
    }

    /// The posterior of a part's column and its noise, from sums in the frame's units; returns its expected error.
    pub(super) fn update_column<T: Real>(
        &self,
        state: &mut State,
        posterior: &mut Posterior,
        (part, d): (usize, usize),
        sums: &Sums<'_>,
        floor: f64,
        frame: &Frame<T>,
    ) -> f64 {
        let columns = frame.columns();
        let (j, i) = (sums.mean.len(), part * columns + d);
        let gate = state.gate[d * (state.gate.len() / columns) + part];
        let size = self.size(frame, d);
        let noise = state.noise[i] / (size * size);
        let mut cross = Vec::new();
        let [first, second] = self.inward(d, sums, &mut cross);
        cross.push(first);
        // A: pairs of factors, then their sums, then the rows.
        let mut told = sums.pairs.to_vec();
        told.extend_from_slice(sums.mean);
        told.push(sums.count);
        let Some(found) = posterior.column(part, gate / noise, &told, &cross) else {
            // Rounding alone can do this: all stays as it was.
            return 0.5 * sums.count * (state.noise[i].ln() + 1.0);
        };
        let mut left = second;
        for r in 0..=j {
            left -= 2.0 * cross[r] * found.mean[r];
            for c in 0..=r {
                let once = if r == c { 1.0 } else { 2.0 };
                let second = found.mean[r] * found.mean[c] + found.covariance[place(r, c)];
                left += once * told[place(r, c)] * second;
            }
        }
        let (left, nu) = (left.max(0.0), self.0.rows);
        let noise = (gate * left + nu * posterior.usual_noise) / (gate * sums.count + nu);
        let loading = &mut state.loading[i * j..(i + 1) * j];
        loading.iter_mut().zip(&found.mean).for_each(|(l, m)| *l = m * size);
        state.offset[i] =
            frame.outward(d, self.0.mean[d] + self.0.variance[d].sqrt() * found.mean[j]);
        state.noise[i] = (noise * size * size).max(floor);
        let small = packed(j + 1);
        let own = &mut posterior.covariance[i * small..(i + 1) * small];
        own.iter_mut().zip(&found.covariance).for_each(|(c, v)| *c = v * size * size);
        0.5 * (sums.count * state.noise[i].ln() + left * size * size / state.noise[i])
    }

    /// A column's beliefs in units: the mean, and the covariance.
    fn column<T: Real>(
        &self,
        state: &State,
        posterior: &Posterior,
        i: usize,
        frame: &Frame<T>,
    ) -> Column {
        let d = i % frame.columns();
        let factors = state.loading.len() / state.noise.len();
        let (size, small) = (self.size(frame, d), packed(factors + 1));
        let mut mean: Vec<f64> =
            state.loading[i * factors..(i + 1) * factors].iter().map(|l| l / size).collect();
        let offset = frame.inward(d, state.offset[i]) - self.0.mean[d];
        mean.push(offset / self.0.variance[d].sqrt());
        let own = &posterior.covariance[i * small..(i + 1) * small];
        Column { mean, covariance: own.iter().map(|c| c / (size * size)).collect() }
    }

    /// Moves what all columns of a part have in common.
    pub(super) fn update_common<T: Real>(
        &self,
        state: &State,
        posterior: &mut Posterior,
        frame: &Frame<T>,
    ) {
        let (columns, cells) = (frame.columns(), state.noise.len());
        let (parts, j) = (cells / columns, state.loading.len() / cells);
        let mut inverse = 0.0;
        for part in 0..parts {
            let (mut sums, mut squares) = (vec![0.0; j + 1], vec![0.0; j + 1]);
            for d in 0..columns {
                let i = part * columns + d;
                let own = self.column(state, posterior, i, frame);
                for f in 0..=j {
                    sums[f] += own.mean[f];
                    squares[f] += own.mean[f] * own.mean[f] + own.covariance[place(f, f)];
                }
                inverse += self.size(frame, d).powi(2) / state.noise[i];
            }
            let n = columns as f64;
            for f in 0..=j {
                let centre = if f < j { sums[f] / n } else { 0.0 };
                let apart = (squares[f] - n * centre * centre).max(0.0);
                posterior.precision[part * (j + 1) + f] = (n + 2.0 * GAMMA) / (apart + 2.0 * GAMMA);
                if f < j {
                    posterior.centre[part * j + f] = centre;
                }
            }
        }
        posterior.usual_noise = cells as f64 / inverse;
    }

    /// `-Σ KL(q(l) ‖ prior) + log P(ψ, α, β)`.
    pub(super) fn log_prior<T: Real>(
        &self,
        state: &State,
        posterior: &Posterior,
        frame: &Frame<T>,
    ) -> f64 {
        let (columns, cells) = (frame.columns(), state.noise.len());
        let j = state.loading.len() / cells;
        let (nu, usual) = (self.0.rows, posterior.usual_noise);
        let mut log: f64 = posterior.precision.iter().map(|a| GAMMA * (a.ln() - a)).sum();
        for i in 0..cells {
            let (part, d) = (i / columns, i % columns);
            let mut own = self.column(state, posterior, i, frame);
            let mut both = (j + 1) as f64;
            for f in 0..=j {
                let (centre, precision) = posterior.prior(part, f);
                let apart = own.mean[f] - centre;
                let square = apart * apart + own.covariance[place(f, f)];
                both += precision.ln() - precision * square;
            }
            // As the state makes them, they always have a factor.
            both += cholesky(&mut own.covariance, j + 1).unwrap_or(0.0);
            let noise = state.noise[i] / self.size(frame, d).powi(2);
            log += 0.5 * both - 0.5 * nu * (noise.ln() + usual / noise - usual.ln());
        }
        log
    }
}

impl Posterior {
    /// Mean and precision of number f of a part's columns before anything is seen.
    fn prior(&self, part: usize, f: usize) -> (f64, f64) {
        let parts = self.precision.len() - self.centre.len();
        let j = self.centre.len() / parts;
        let centre = if f < j { self.centre[part * j + f] } else { 0.0 };
        (centre, self.precision[part * (j + 1) + f])
    }

    /// What sums A and r tell of a column of a part, counted by this.
    fn column(&self, part: usize, by: f64, pairs: &[f64], cross: &[f64]) -> Option<Column> {
        let n = cross.len();
        let mut factor: Vec<f64> = pairs.iter().map(|a| by * a).collect();
        let mut mean: Vec<f64> = cross.iter().map(|r| by * r).collect();
        for f in 0..n {
            let (centre, precision) = self.prior(part, f);
            factor[place(f, f)] += precision;
            mean[f] += precision * centre;
        }
        cholesky(&mut factor, n)?;
        cholesky_solve(&factor, n, &mut mean);
        let (mut covariance, mut work) = (vec![0.0; packed(n)], vec![0.0; n]);
        cholesky_inverse(&factor, n, &mut covariance, &mut work);
        mean.iter().all(|m| m.is_finite()).then_some(Column { mean, covariance })
    }
}

/// No variance is larger, whatever a file says.
const LARGEST: f64 = 1e300;

/// `s̃ᵀ C s̃` with a packed C and `s̃ = (s, 1)`: how far a look may be from what is expected of it. Rounding makes it no less than nothing.
pub(crate) fn spread_at(covariance: &[f64], factors: &[f64]) -> f64 {
    let n = factors.len();
    let at = |i: usize| if i < n { factors[i] } else { 1.0 };
    let mut sum = 0.0;
    for r in 0..=n {
        for c in 0..=r {
            let once = if r == c { 1.0 } else { 2.0 };
            sum += once * covariance[place(r, c)] * at(r) * at(c);
        }
    }
    if sum > 0.0 { sum.min(LARGEST) } else { 0.0 }
}

/// Turns the covariance of `(λ, ρ)` into that of `(λ, ρ + λ·v)`.
pub(super) fn shift_offset(covariance: &mut [f64], v: &[f64]) {
    let n = v.len();
    covariance[place(n, n)] = spread_at(covariance, v);
    for r in 0..n {
        let moved: f64 = (0..n).map(|c| covariance[place(r.max(c), r.min(c))] * v[c]).sum();
        covariance[place(n, r)] += moved;
    }
}
