//! Covariances that are more than what moments say: with a floor, or of low rank.
//!
//! Given the free covariance C of a component (about its new mean), the expected log likelihood of
//! its rows is `-½ n (log |Σ| + tr Σ⁻¹C)` and a constant. It is largest
//!
//! - for Σ with no eigenvalue below a floor: at C with its eigenvalues raised to the floor, since in
//!   C's own directions the variances stand alone and the expectation rises towards each free one;
//! - for `Σ = ΛΛᵀ + Ψ`, Ψ diagonal: where factor analysis of C is. With `β = Λᵀ Σ⁻¹`, a step of its EM is
//!   `Λ = Cβᵀ (I - βΛ + βCβᵀ)⁻¹`, `Ψ = diag(C - ΛβC)` or the floor; each raises the expectation,
//!   and a few of them a pass are enough for the bound to rise;
//! - for components that are drawn towards one another: see below.
//!
//! Components of few rows fit these too closely. *Shrinkage* by ν rows takes `ν Σ_j KL(N(0, C₀) ‖ N(0, Σ_j))`
//! off the log likelihood, as if each component had also been told of ν rows of a covariance `C₀`
//! that all have in common, and `C₀` is learned with the rest: what the divergences add is
//! `-½ ν Σ_j (log |Σ_j| + tr Σ_j⁻¹C₀ - log |C₀| - D)`, so that, one at a time,
//!
//! - given `C₀`, the best `Σ_j` is `(n_j C_j + ν C₀) / (n_j + ν)`, with its eigenvalues raised to the floor;
//! - given all `Σ_j`, the best `C₀` has the mean of their inverses as its inverse.

use mereo_core::in_parallel;
use mereo_core::math::{
    Matrix, cholesky, cholesky_solve, eigen, packed, product, product_nt, product_tn, whitening,
};

/// How often covariances and what they have in common are found from one another in a pass.
const ROUNDS: usize = 3;
/// Steps of factor analysis in a pass.
const STEPS: usize = 10;
/// The least share of a column's variance that is noise at the start of factor analysis.
const START_NOISE: f64 = 0.05;

/// Raises the eigenvalues of a `[d, d]` covariance (its lower triangle) to a floor; says whether any
/// was below.
pub(crate) fn clip(covariance: &mut [f64], d: usize, floor: f64) -> bool {
    let mut less = covariance.to_vec();
    (0..d).for_each(|i| less[i * d + i] -= floor);
    if whitening(&less, d).is_some() {
        return false;
    }
    if let Ok(found) = eigen(covariance, d) {
        let mut scaled = found.vectors.clone();
        for (row, value) in scaled.chunks_exact_mut(d).zip(&found.values) {
            row.iter_mut().for_each(|v| *v *= value.max(floor));
        }
        let (left, right) = (Matrix::new(&found.vectors, d, d), Matrix::new(&scaled, d, d));
        product_tn(covariance, left, right, false);
    } else {
        for i in 0..d {
            for j in 0..d {
                let own = &mut covariance[i * d + j];
                *own = if i == j && *own > floor { *own } else { f64::from(i == j) * floor };
            }
        }
    }
    true
}

/// The mean of covariances, each of `size` numbers, by weight; the first if there is but one.
pub(crate) fn pooled(covariance: &[f64], weight: &[f64], size: usize) -> Vec<f64> {
    if covariance.len() == size {
        return covariance.to_vec();
    }
    let total: f64 = weight.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut out = vec![0.0; size];
    for (own, w) in covariance.chunks_exact(size).zip(weight) {
        out.iter_mut().zip(own).for_each(|(o, c)| *o += w / total * c);
    }
    out
}

/// Draws free covariances `[N, D, D]` of so many rows each (their lower triangles) towards what they
/// have in common, at first this, as by so many more rows of it.
pub(crate) fn shrink(
    covariance: &mut [f64],
    rows: &[f64],
    mut common: Vec<f64>,
    d: usize,
    shrinkage: f64,
    floor: f64,
) {
    let free = covariance.to_vec();
    for round in 0..ROUNDS {
        if round > 0
            && let Some(found) = in_common(covariance, d)
        {
            common = found;
        }
        let pieces = covariance.chunks_mut(d * d).zip(free.chunks(d * d)).zip(rows);
        in_parallel(pieces, |((own, free), n)| {
            let share = n / (n + shrinkage);
            for ((own, free), common) in own.iter_mut().zip(free).zip(&common) {
                *own = share * free + (1.0 - share) * common;
            }
            clip(own, d, floor);
        });
    }
}

/// The matrix whose inverse is the mean of the inverses of covariances `[N, D, D]`; nothing if there is
/// none in this precision.
pub(crate) fn in_common(covariance: &[f64], d: usize) -> Option<Vec<f64>> {
    let share = ((d * d) as f64 / covariance.len() as f64).sqrt();
    let mut inverse = vec![0.0; d * d];
    for own in covariance.chunks_exact(d * d) {
        let mut white = whitening(own, d)?.matrix;
        white.iter_mut().for_each(|w| *w *= share);
        let white = Matrix::new(&white, d, d);
        product_tn(&mut inverse, white, white, true);
    }
    let white = whitening(&inverse, d)?;
    let white = Matrix::new(&white.matrix, d, d);
    product_tn(&mut inverse, white, white, false);
    Some(inverse)
}

/// `Σ_j KL(N(0, C₀) ‖ N(0, Σ_j))`.
pub(crate) fn divergence(common: &[f64], covariance: &[f64], d: usize) -> f64 {
    let least = misfit(common, common, d);
    covariance.chunks_exact(d * d).map(|own| 0.5 * (misfit(own, common, d) - least)).sum()
}

/// The loadings `[D, K]` and noise `[D]` of a covariance of low rank.
pub(crate) struct LowRank<'a> {
    pub(crate) loading: &'a mut [f64],
    pub(crate) noise: &'a mut [f64],
}

/// Replaces a free covariance by one of low rank, a few steps of factor analysis from where loadings
/// and noise are.
pub(crate) fn analyse(
    covariance: &mut [f64],
    factors: LowRank<'_>,
    d: usize,
    k: usize,
    floor: f64,
) {
    for i in 0..d {
        for j in 0..i {
            covariance[j * d + i] = covariance[i * d + j];
        }
    }
    let LowRank { loading, noise } = factors;
    if loading.iter().all(|l| *l == 0.0) {
        // Without loadings there is no way out: begin with the principal directions, unless noise
        // alone turns out to be better.
        let alone: Vec<f64> = (0..d).map(|i| covariance[i * d + i].max(floor)).collect();
        noise.copy_from_slice(&alone);
        let mut better = principal(covariance, loading, noise, d, k, floor);
        if better {
            steps(covariance, loading, noise, d, k, floor);
            let zeros = vec![0.0; loading.len()];
            let by_noise = cost(covariance, &zeros, &alone, d, k);
            better = cost(covariance, loading, noise, d, k) <= by_noise;
        }
        if !better {
            loading.fill(0.0);
            noise.copy_from_slice(&alone);
        }
    } else {
        steps(covariance, loading, noise, d, k, floor);
    }
    covariance.copy_from_slice(&rebuilt(loading, noise, d, k));
}

/// `ΛΛᵀ + Ψ`.
pub(crate) fn rebuilt(loading: &[f64], noise: &[f64], d: usize, k: usize) -> Vec<f64> {
    let mut out = vec![0.0; d * d];
    let loadings = Matrix::new(loading, d, k);
    product_nt(&mut out, loadings, loadings, false);
    noise.iter().enumerate().for_each(|(i, v)| out[i * d + i] += v);
    out
}

/// `log |Σ| + tr Σ⁻¹C` for the Σ of low rank.
fn cost(covariance: &[f64], loading: &[f64], noise: &[f64], d: usize, k: usize) -> f64 {
    misfit(&rebuilt(loading, noise, d, k), covariance, d)
}

/// `log |Σ| + tr Σ⁻¹C`.
fn misfit(own: &[f64], covariance: &[f64], d: usize) -> f64 {
    let Some(white) = whitening(own, d) else { return f64::INFINITY };
    let mut half = vec![0.0; d * d];
    let whitener = Matrix::new(&white.matrix, d, d);
    product(&mut half, whitener, Matrix::new(covariance, d, d), false);
    let trace: f64 = half.iter().zip(&white.matrix).map(|(a, b)| a * b).sum();
    white.log_determinant + trace
}

/// The strongest directions of a covariance as loadings, the rest as noise; says whether they could
/// be found.
fn principal(
    covariance: &[f64],
    loading: &mut [f64],
    noise: &mut [f64],
    d: usize,
    k: usize,
    floor: f64,
) -> bool {
    let Ok(found) = eigen(covariance, d) else { return false };
    let rest = &found.values[k.min(d)..];
    let level = (rest.iter().sum::<f64>() / rest.len().max(1) as f64).max(floor);
    for (f, vector) in found.vectors.chunks_exact(d).take(k).enumerate() {
        let length = (found.values[f] - level).max(0.0).sqrt();
        vector.iter().enumerate().for_each(|(i, v)| loading[i * k + f] = length * v);
    }
    for (i, own) in noise.iter_mut().enumerate() {
        let all = covariance[i * d + i];
        let explained: f64 = loading[i * k..(i + 1) * k].iter().map(|l| l * l).sum();
        *own = (all - explained).max(START_NOISE * all).max(floor);
    }
    true
}

fn steps(c: &[f64], loading: &mut [f64], noise: &mut [f64], d: usize, k: usize, floor: f64) {
    let mut inner = vec![0.0; packed(k)];
    let (mut beta, mut cross) = (vec![0.0; d * k], vec![0.0; d * k]);
    let (mut seen, mut both) = (vec![0.0; k * k], vec![0.0; k * k]);
    for _ in 0..STEPS {
        // βᵀ = Ψ⁻¹Λ (I + ΛᵀΨ⁻¹Λ)⁻¹, row by row.
        inner.fill(0.0);
        for (row, v) in loading.chunks_exact(k).zip(&*noise) {
            for i in 0..k {
                for j in 0..=i {
                    inner[packed(i) + j] += row[i] * row[j] / v;
                }
            }
        }
        (0..k).for_each(|i| inner[packed(i) + i] += 1.0);
        if cholesky(&mut inner, k).is_none() {
            return;
        }
        for ((out, row), v) in beta.chunks_exact_mut(k).zip(loading.chunks_exact(k)).zip(&*noise) {
            out.iter_mut().zip(row).for_each(|(b, l)| *b = l / v);
            cholesky_solve(&inner, k, out);
        }
        let (betas, loadings) = (Matrix::new(&beta, d, k), Matrix::new(loading, d, k));
        product(&mut cross, Matrix::new(c, d, d), betas, false);
        product_tn(&mut seen, betas, loadings, false);
        product_tn(&mut both, betas, Matrix::new(&cross, d, k), false);
        let mut second = vec![0.0; packed(k)];
        for i in 0..k {
            for j in 0..=i {
                let mean = f64::midpoint(seen[i * k + j], seen[j * k + i]);
                second[packed(i) + j] =
                    f64::from(i == j) - mean + f64::midpoint(both[i * k + j], both[j * k + i]);
            }
        }
        if cholesky(&mut second, k).is_none() {
            return;
        }
        for (i, (out, told)) in loading.chunks_exact_mut(k).zip(cross.chunks_exact(k)).enumerate() {
            out.copy_from_slice(told);
            cholesky_solve(&second, k, out);
            let explained: f64 = out.iter().zip(told).map(|(l, t)| l * t).sum();
            noise[i] = (c[i * d + i] - explained).max(floor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_are_raised_to_the_floor_and_no_further() {
        // Variances 2 and 0 along the diagonals.
        let mut covariance = [1.0, 0.0, 1.0, 1.0];
        assert!(clip(&mut covariance, 2, 0.5));
        assert!((covariance[0] - 1.25).abs() < 1e-12 && (covariance[2] - 0.75).abs() < 1e-12);
        let mut fine = [1.0, 0.0, 0.2, 1.0];
        assert!(!clip(&mut fine, 2, 0.5));
        assert_eq!(fine, [1.0, 0.0, 0.2, 1.0]);
    }

    #[test]
    fn what_covariances_have_in_common_is_as_near_to_all_as_can_be() {
        let covariance = [2.0, 0.5, 0.5, 1.0, 0.3, -0.1, -0.1, 4.0];
        let common = in_common(&covariance, 2).unwrap();
        let best = divergence(&common, &covariance, 2);
        for (i, j) in [(0, 0), (1, 0), (1, 1)] {
            for step in [1e-3, -1e-3] {
                let mut other = common.clone();
                other[i * 2 + j] += step;
                other[j * 2 + i] = other[i * 2 + j];
                assert!(divergence(&other, &covariance, 2) > best);
            }
        }
        assert_eq!(divergence(&covariance[..4], &covariance[..4], 2), 0.0);
        // By no rows nothing moves, by very many all become one.
        let mut own = covariance[..4].to_vec();
        let round = vec![1.0, 0.0, 0.0, 1.0];
        shrink(&mut own, &[10.0], round.clone(), 2, 0.0, 1e-6);
        assert_eq!(own, &covariance[..4]);
        let mut both = covariance.to_vec();
        shrink(&mut both, &[10.0, 10.0], round, 2, 1e9, 1e-6);
        assert!(divergence(&in_common(&both, 2).unwrap(), &both, 2) < 1e-12);
    }

    #[test]
    fn factor_analysis_finds_the_factors_and_never_gets_worse() {
        let (d, k) = (6, 2);
        let truth: Vec<f64> = (0..d * k).map(|i| ((i * 37) % 11) as f64 / 5.0 - 1.0).collect();
        let own: Vec<f64> = (0..d).map(|i| 0.2 + 0.1 * i as f64).collect();
        let free = rebuilt(&truth, &own, d, k);
        let (mut loading, mut noise) = (vec![0.0; d * k], vec![1.0; d]);
        let mut last = f64::INFINITY;
        for _ in 0..200 {
            let mut covariance = free.clone();
            let factors = LowRank { loading: &mut loading, noise: &mut noise };
            analyse(&mut covariance, factors, d, k, 1e-6);
            let now = cost(&free, &loading, &noise, d, k);
            assert!(now <= last + 1e-12, "{now} {last}");
            last = now;
        }
        let found = rebuilt(&loading, &noise, d, k);
        for (f, t) in found.iter().zip(&free) {
            assert!((f - t).abs() < 1e-3, "{f} {t}");
        }
    }
}
