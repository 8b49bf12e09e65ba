//! 256 levels, seen through noise that adds.
//!
//! The noise is estimated from what no smooth picture has: second differences both ways,
//! `x ∗ [1 -2 1; -2 4 -2; 1 -2 1]`, have deviation 6σ where only noise is, and their median magnitude is not
//! moved by edges. Couplings are tried on the middle of the picture, hidden pixels being guessed by the state
//! of least energy (or by mean field for Potts), and the one with the least squared error is taken.

use mereo_core::{Context, Result};

use super::{DenoiseMethod, DenoiseParams, Denoised, NoiseCost, Shape, held_out};
use crate::decide::{ExpansionParams, expansion, icm};
use crate::infer::{BeliefParams, GibbsParams, MeanFieldParams, belief_best, gibbs};
use crate::{
    Coupling, Decided, Grid, Inferred, Kind, Neighbours, Pairwise, Unary, Weights, grid_mean_field,
    levels,
};

const LEVELS: usize = 256;
/// The side of the piece that couplings are tried on.
const PIECE: usize = 96;
/// Couplings that are tried, in units of one over the noise's deviation; for Potts in nats.
const TRIED: [f64; 8] = [0.15, 0.25, 0.4, 0.6, 0.8, 1.1, 1.6, 2.4];
const TRIED_POTTS: [f64; 6] = [0.3, 0.6, 1.0, 1.6, 2.5, 4.0];

/// Cleans a grey picture.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::denoise::{DenoiseMethod, DenoiseParams, grey};
/// use rand::RngExt;
/// let clean: Vec<u8> = (0..400).map(|i| if i % 20 < 10 { 60 } else { 180 }).collect();
/// let mut random = Context::new(1).random("noise", [0, 0]);
/// let seen: Vec<u8> = clean.iter().map(|c| c + random.random_range(0..31u8) - 15).collect();
/// let params = DenoiseParams { method: DenoiseMethod::Cut, ..DenoiseParams::default() };
/// let found = grey(&seen, (20, 20), &params, &Context::new(0))?;
/// let off = |p: &[u8]| p.iter().zip(&clean).map(|(a, b)| u64::from(a.abs_diff(*b))).sum::<u64>();
/// assert!(off(&found.pixels) < off(&seen) / 2);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn grey(
    seen: &[u8],
    size: (usize, usize),
    params: &DenoiseParams,
    context: &Context,
) -> Result<Denoised> {
    params.check(255.0)?;
    let noise = params.noise.unwrap_or_else(|| noise_of(seen, size));
    let coupling = match params.coupling {
        Some(coupling) => coupling,
        None => choose(seen, size, noise, params, context)?,
    };
    let grid = grey_grid(seen, size, noise, coupling, params)?;
    // The mean of many levels is nearer to the truth than the likeliest.
    let of_marginals = |inferred: Inferred| {
        let means: Vec<usize> =
            (0..seen.len()).map(|i| mean(inferred.marginals.of(i)).round() as usize).collect();
        let energy = grid.energy(&means);
        Decided { labels: means, energy, bound: None, kind: Kind::Estimate, trace: inferred.trace }
    };
    let decided = match params.method {
        DenoiseMethod::MeanField => {
            of_marginals(grid_mean_field(&grid, None, &sweeps(12), context)?)
        }
        DenoiseMethod::Gibbs => {
            let params = GibbsParams { burn_in: 8, sweeps: 16, chains: 2 };
            of_marginals(gibbs(&grid, &params, context)?)
        }
        DenoiseMethod::Bp => {
            let params = BeliefParams { sweeps: 6, tolerance: 1e-3, damping: 0.0 };
            belief_best(&grid, &params, context)?
        }
        DenoiseMethod::Icm => icm(&grid, None, 20),
        DenoiseMethod::Cut => match params.shape {
            Shape::Differences(limit) if limit + 1 >= LEVELS => levels(&grid, context)?,
            _ => expansion(&grid, None, &ExpansionParams { cycles: 2 }, context),
        },
    };
    Ok(Denoised {
        pixels: decided.labels.iter().map(|l| *l as u8).collect(),
        energy: decided.energy,
        kind: decided.kind,
        coupling,
        noise,
        trace: decided.trace,
        probability: None,
    })
}

fn sweeps(sweeps: usize) -> MeanFieldParams {
    MeanFieldParams { sweeps, tolerance: 1e-3, trace: false, ..MeanFieldParams::default() }
}

fn mean(distribution: &[f64]) -> f64 {
    distribution.iter().enumerate().map(|(m, p)| m as f64 * p).sum()
}

/// The field of the true levels given those seen.
pub fn grey_grid(
    seen: &[u8],
    size: (usize, usize),
    noise: f64,
    coupling: f64,
    params: &DenoiseParams,
) -> Result<Grid> {
    let rows = seen.iter().map(|s| u16::from(*s)).collect();
    grid_of(rows, size, noise, coupling, params)
}

/// Rows of the table are levels seen; one more is for pixels of which nothing was.
fn grid_of(
    rows: Vec<u16>,
    size: (usize, usize),
    noise: f64,
    coupling: f64,
    params: &DenoiseParams,
) -> Result<Grid> {
    let mut table = Vec::with_capacity((LEVELS + 1) * LEVELS);
    for seen in 0..LEVELS {
        table.extend((0..LEVELS).map(|level| {
            let off = level.abs_diff(seen) as f64 / noise;
            match params.error {
                NoiseCost::Squared => -0.5 * off * off,
                NoiseCost::Absolute => -std::f64::consts::SQRT_2 * off,
            }
        }));
    }
    table.extend([0.0; LEVELS]);
    let shape = match params.shape {
        Shape::Differences(limit) => Coupling::Truncated(limit),
        Shape::Potts => Coupling::Potts,
    };
    let unary = Unary::Table(table, rows);
    Grid::new(size, LEVELS, Neighbours::Four, unary, shape, Weights::Shared(coupling))
}

/// The standard deviation of a picture's noise, at least half a level.
///
/// ```
/// use mereo_field::denoise::noise_of;
/// assert_eq!(noise_of(&[100; 64], (8, 8)), 0.5);
/// ```
pub fn noise_of(seen: &[u8], (height, width): (usize, usize)) -> f64 {
    let mut sizes = Vec::new();
    for y in 1..height.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            let at = |dy: usize, dx: usize| f64::from(seen[(y + dy - 1) * width + x + dx - 1]);
            let line = |dy: usize| at(dy, 0) - 2.0 * at(dy, 1) + at(dy, 2);
            sizes.push((line(0) - 2.0 * line(1) + line(2)).abs());
        }
    }
    if sizes.is_empty() {
        return 1.0;
    }
    let middle = sizes.len() / 2;
    let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    (1.4826 * *median / 6.0).max(0.5)
}

/// The coupling that guesses hidden pixels best.
fn choose(
    seen: &[u8],
    (height, width): (usize, usize),
    noise: f64,
    params: &DenoiseParams,
    context: &Context,
) -> Result<f64> {
    let (rows, columns) = (height.min(PIECE), width.min(PIECE));
    let (top, left) = ((height - rows) / 2, (width - columns) / 2);
    let piece: Vec<u8> = (0..rows * columns)
        .map(|i| seen[(top + i / columns) * width + left + i % columns])
        .collect();
    let hidden: Vec<usize> = (0..piece.len()).filter(|&i| held_out(i, columns)).collect();
    let potts = params.shape == Shape::Potts;
    let tried: Vec<f64> =
        if potts { TRIED_POTTS.to_vec() } else { TRIED.iter().map(|c| c / noise).collect() };
    let (mut best, mut least) = (tried[tried.len() / 2], f64::INFINITY);
    for coupling in tried {
        let row_of = |(i, s): (usize, &u8)| {
            if held_out(i, columns) { LEVELS as u16 } else { u16::from(*s) }
        };
        let rows_of = piece.iter().enumerate().map(row_of);
        // Differences are not truncated here, for the sake of exact guesses.
        let shape = if potts { Shape::Potts } else { Shape::Differences(LEVELS) };
        let whole = DenoiseParams { shape, ..params.clone() };
        let grid = grid_of(rows_of.collect(), (rows, columns), noise, coupling, &whole)?;
        let guessed: Vec<f64> = if potts {
            let found = grid_mean_field(&grid, None, &sweeps(6), context)?;
            hidden.iter().map(|&i| mean(found.marginals.of(i))).collect()
        } else {
            let found = levels(&grid, context)?;
            hidden.iter().map(|&i| found.labels[i] as f64).collect()
        };
        let each = hidden.iter().zip(&guessed).map(|(&i, g)| (f64::from(piece[i]) - g).powi(2));
        let squares: f64 = each.sum();
        if squares < least {
            (best, least) = (coupling, squares);
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn noisy(deviation: f64) -> (Vec<u8>, Vec<u8>) {
        let mut random = Context::new(2).random("noise", [0, 0]);
        let clean: Vec<u8> = (0..48 * 48)
            .map(|i| {
                let (y, x) = (f64::from(i / 48), f64::from(i % 48));
                if (y - 24.0).hypot(x - 20.0) < 12.0 { 190 } else { 60 + (x * 0.8) as u8 }
            })
            .collect();
        let mut gauss = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let seen = clean
            .iter()
            .map(|c| (f64::from(*c) + deviation * gauss()).round().clamp(0.0, 255.0) as u8)
            .collect();
        (clean, seen)
    }

    fn squares(a: &[u8], b: &[u8]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum::<f64>()
            / a.len() as f64
    }

    #[test]
    fn every_method_halves_the_error_by_itself() {
        let (clean, seen) = noisy(20.0);
        assert!((noise_of(&seen, (48, 48)) - 20.0).abs() < 4.0);
        for method in DenoiseMethod::ALL {
            let params = DenoiseParams { method, ..DenoiseParams::default() };
            let found = grey(&seen, (48, 48), &params, &Context::new(0)).unwrap();
            let (before, after) = (squares(&seen, &clean), squares(&found.pixels, &clean));
            assert!(after < 0.5 * before, "{method:?}: {before} to {after}");
        }
    }

    #[test]
    fn potts_truncated_and_absolute_work() {
        let (clean, seen) = noisy(15.0);
        for shape in [Shape::Potts, Shape::Differences(30)] {
            for error in [NoiseCost::Squared, NoiseCost::Absolute] {
                for method in [DenoiseMethod::MeanField, DenoiseMethod::Cut] {
                    let params = DenoiseParams { method, error, shape, ..DenoiseParams::default() };
                    let found = grey(&seen, (48, 48), &params, &Context::new(0)).unwrap();
                    let (before, after) = (squares(&seen, &clean), squares(&found.pixels, &clean));
                    assert!(after < before, "{shape:?} {error:?} {method:?}: {before} to {after}");
                }
            }
        }
    }

    #[test]
    fn flat_and_tiny_pictures_stay_as_they_are() {
        for (size, seen) in [((0, 0), vec![]), ((1, 1), vec![9]), ((3, 4), vec![200; 12])] {
            for method in DenoiseMethod::ALL {
                let params = DenoiseParams { method, ..DenoiseParams::default() };
                let found = grey(&seen, size, &params, &Context::new(0)).unwrap();
                assert_eq!(found.pixels, seen, "{method:?}");
            }
        }
    }
}
