//! Two levels, seen through flips.
//!
//! Flips make neighbours agree less: `E[x_i x_j] = (1 - 2p)² E[h_i h_j]` for ±1 pixels i ≠ j. True pixels agree with
//! themselves, and along a line agreement falls about evenly at first, so what agreement at distances 1 and
//! 2 leads one to expect at distance 0 is `(1 - 2p)²`: a first guess of p. Couplings are then tried one after
//! another: with `π_i` what mean field says of a hidden pixel, its log likelihood is
//! `log((1 - p) π_i(x_i) + p (1 - π_i(x_i)))`, and p too is what makes their sum largest.

use mereo_core::{Context, Result};

use super::{DenoiseMethod, DenoiseParams, Denoised, held_out};
use crate::decide::icm;
use crate::infer::{BeliefParams, GibbsParams, MeanFieldParams, belief, gibbs};
use crate::learn::golden;
use crate::{
    Coupling, Decided, Grid, Inferred, Kind, Neighbours, Pairwise, Unary, Weights, grid_cut,
    grid_mean_field,
};

/// Couplings that are tried.
const TRIED: [f64; 9] = [0.25, 0.4, 0.6, 0.8, 1.1, 1.5, 2.0, 2.8, 4.0];

/// Cleans a picture of two levels: `true` is bright.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::denoise::{DenoiseParams, binary};
/// let clean: Vec<bool> = (0..900).map(|i| i % 30 < 15).collect();
/// let seen: Vec<bool> = clean.iter().enumerate().map(|(i, c)| c ^ (i * 7919 % 97 < 9)).collect();
/// let found = binary(&seen, (30, 30), &DenoiseParams::default(), &Context::new(0))?;
/// let wrong = (0..900).filter(|&i| (found.pixels[i] == 255) != clean[i]).count();
/// assert!(wrong < 20);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn binary(
    seen: &[bool],
    size: (usize, usize),
    params: &DenoiseParams,
    context: &Context,
) -> Result<Denoised> {
    params.check(0.5)?;
    let (noise, coupling) = match (params.noise, params.coupling) {
        (Some(noise), Some(coupling)) => (noise, coupling),
        told => choose(seen, size, told, context)?,
    };
    let grid = binary_grid(seen, size, noise, coupling)?;
    let of_marginals = |inferred: Inferred| {
        let labels = inferred.marginals.likeliest();
        let energy = grid.energy(&labels);
        let bright = inferred.marginals.values().chunks_exact(2).map(|p| p[1]).collect();
        let kind = Kind::Estimate;
        (Decided { labels, energy, bound: None, kind, trace: inferred.trace }, Some(bright))
    };
    let (decided, probability): (Decided, Option<Vec<f64>>) = match params.method {
        DenoiseMethod::MeanField => {
            let params = MeanFieldParams { sweeps: 100, tolerance: 1e-5, ..Default::default() };
            of_marginals(grid_mean_field(&grid, None, &params, context)?)
        }
        DenoiseMethod::Gibbs => {
            let params = GibbsParams { burn_in: 50, sweeps: 200, chains: 2 };
            of_marginals(gibbs(&grid, &params, context)?)
        }
        DenoiseMethod::Bp => {
            let params = BeliefParams { sweeps: 30, tolerance: 1e-4, damping: 0.0 };
            of_marginals(belief(&grid, &params, context)?)
        }
        DenoiseMethod::Cut => (grid_cut(&grid)?, None),
        DenoiseMethod::Icm => (icm(&grid, None, 100), None),
    };
    Ok(Denoised {
        pixels: decided.labels.iter().map(|l| if *l == 1 { 255 } else { 0 }).collect(),
        energy: decided.energy,
        kind: decided.kind,
        coupling,
        noise,
        trace: decided.trace,
        probability,
    })
}

/// The field of the true pixels given those seen.
pub fn binary_grid(seen: &[bool], size: (usize, usize), noise: f64, coupling: f64) -> Result<Grid> {
    let (same, flipped) = ((1.0 - noise).ln(), noise.max(1e-12).ln());
    let unary = Unary::Table(
        vec![same, flipped, flipped, same],
        seen.iter().map(|s| u16::from(*s)).collect(),
    );
    Grid::new(size, 2, Neighbours::Four, unary, Coupling::Potts, Weights::Shared(coupling))
}

/// The noise that agreement of neighbours suggests.
fn guess(seen: &[bool], (height, width): (usize, usize)) -> f64 {
    let agreement = |distance: usize| {
        let (mut sum, mut all) = (0.0, 0.0f64);
        for y in 0..height {
            for x in 0..width {
                let here = seen[y * width + x];
                let there = [(y, x + distance), (y + distance, x)];
                for (y, x) in there.into_iter().filter(|&(y, x)| y < height && x < width) {
                    sum += if seen[y * width + x] == here { 1.0 } else { -1.0 };
                    all += 1.0;
                }
            }
        }
        if all > 0.0 { sum / all } else { 1.0 }
    };
    let (one, two) = (agreement(1), agreement(2));
    let none = (2.0 * one - two).clamp(one.max(0.01), 1.0);
    ((1.0 - none.max(0.0).sqrt()) / 2.0).clamp(0.002, 0.45)
}

/// Noise and coupling that guess hidden pixels best.
fn choose(
    seen: &[bool],
    size: (usize, usize),
    (noise, coupling): (Option<f64>, Option<f64>),
    context: &Context,
) -> Result<(f64, f64)> {
    let hidden: Vec<usize> = (0..seen.len()).filter(|&i| held_out(i, size.1)).collect();
    let told = noise;
    let mut noise = told.unwrap_or_else(|| guess(seen, size));
    if hidden.is_empty() {
        return Ok((noise, coupling.unwrap_or(1.0)));
    }
    // How probable what was seen of hidden pixels is to be true, given the rest.
    let guessed = |noise: f64, coupling: f64| -> Result<Vec<f64>> {
        let (same, flipped) = ((1.0 - noise).ln(), noise.max(1e-12).ln());
        let rows = seen.iter().enumerate();
        let rows = rows.map(|(i, s)| if held_out(i, size.1) { 2 } else { u16::from(*s) }).collect();
        let unary = Unary::Table(vec![same, flipped, flipped, same, 0.0, 0.0], rows);
        let (four, potts) = (Neighbours::Four, Coupling::Potts);
        let grid = Grid::new(size, 2, four, unary, potts, Weights::Shared(coupling))?;
        let params =
            MeanFieldParams { sweeps: 30, tolerance: 1e-3, trace: false, ..Default::default() };
        let mean = grid_mean_field(&grid, None, &params, context)?;
        Ok(hidden.iter().map(|&i| mean.marginals.of(i)[usize::from(seen[i])]).collect())
    };
    let likelihood = |right: &[f64], noise: f64| -> f64 {
        right.iter().map(|p| ((1.0 - noise) * p + noise * (1.0 - p)).max(1e-300).ln()).sum()
    };
    let mut best = coupling.unwrap_or(1.0);
    for _ in 0..2 {
        let mut most = f64::NEG_INFINITY;
        let mut right = Vec::new();
        let tried = coupling.map_or(TRIED.to_vec(), |c| vec![c]);
        for strength in tried {
            let here = guessed(noise, strength)?;
            let value = likelihood(&here, noise);
            if value > most {
                (most, best, right) = (value, strength, here);
            }
        }
        if told.is_none() {
            noise = golden(0.001, 0.49, 30, |p| likelihood(&right, p));
        }
    }
    Ok((noise, best))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn noisy(p: f64) -> (Vec<bool>, Vec<bool>) {
        let mut random = Context::new(2).random("flips", [0, 0]);
        let inside = |y: f64, x: f64| (y - 30.0).hypot(x - 35.0) < 18.0 || (y > 10.0 && y < 16.0);
        let clean: Vec<bool> =
            (0..64 * 64).map(|i| inside(f64::from(i / 64), f64::from(i % 64))).collect();
        let seen = clean.iter().map(|c| c ^ (random.random::<f64>() < p)).collect();
        (clean, seen)
    }

    #[test]
    fn every_method_removes_most_flips_by_itself() {
        for p in [0.05, 0.1, 0.2] {
            let (clean, seen) = noisy(p);
            for method in DenoiseMethod::ALL {
                let params = DenoiseParams { method, ..DenoiseParams::default() };
                let found = binary(&seen, (64, 64), &params, &Context::new(0)).unwrap();
                let wrong = found.pixels.iter().zip(&clean).filter(|(a, b)| (**a == 255) != **b);
                let share = wrong.count() as f64 / 4096.0;
                let most = if method == DenoiseMethod::Icm { 0.6 } else { 0.3 };
                assert!(
                    share < most * p,
                    "{method:?} at {p}: {share}, {found:?}",
                    found = (found.noise, found.coupling)
                );
                assert!((found.noise - p).abs() < 0.04, "{p}: {}", found.noise);
            }
        }
    }

    #[test]
    fn the_cut_has_the_least_energy() {
        let (_, seen) = noisy(0.15);
        let energy = |method| {
            let params = DenoiseParams {
                method,
                noise: Some(0.15),
                coupling: Some(1.0),
                ..DenoiseParams::default()
            };
            binary(&seen, (64, 64), &params, &Context::new(0)).unwrap().energy
        };
        let least = energy(DenoiseMethod::Cut);
        assert!(DenoiseMethod::ALL.iter().all(|m| energy(*m) >= least - 1e-6));
    }

    #[test]
    fn empty_flat_and_tiny_pictures_are_fine() {
        for (size, seen) in [
            ((0, 0), vec![]),
            ((1, 1), vec![true]),
            ((2, 2), vec![false; 4]),
            ((1, 9), vec![true; 9]),
        ] {
            for method in DenoiseMethod::ALL {
                let params = DenoiseParams { method, ..DenoiseParams::default() };
                let found = binary(&seen, size, &params, &Context::new(0)).unwrap();
                assert!(found.pixels.iter().zip(&seen).all(|(p, s)| (*p == 255) == *s));
            }
        }
    }
}
