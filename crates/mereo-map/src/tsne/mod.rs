//! t-SNE: points whose neighbours are the neighbours of their rows.
//!
//! That row i picks row j as its neighbour has the probability
//! `p_{j|i} = exp(-|x_j - x_i|²/2σ_i²) / Σ_{k≠i} exp(-|x_k - x_i|²/2σ_i²)`, with `σ_i` found by bisection so that
//! `2^H`, H the entropy in bits, is the perplexity asked for; `p_ij = (p_{j|i} + p_{i|j})/2N` adds up to 1
//! ([`affinities`]). In the map, `q_ij = w_ij/Z` with `w = (1 + d²/ν)^{-(ν+1)/2}`, Student's t with ν degrees
//! of freedom (1 unless told otherwise) and `Z = Σ_{k≠l} w_kl`. The points minimise
//!
//! `C = Σ_ij p_ij log(p_ij/q_ij) = Σ p log p - Σ p log w + log Z`.
//!
//! As `∂ log w_ij/∂y_i = -(ν+1)(y_i - y_j)/(ν + d²)` and each pair appears twice,
//!
//! `∇_i C = 2(ν+1) Σ_j (p_ij - q_ij)(y_i - y_j)/(ν + d_ij²)`:
//!
//! attraction along the few pairs with p above 0, less repulsion between all pairs. The latter is worked
//! out exactly for few rows ([`forces`]), on a grid for many ([`grid`]), by a tree in three dimensions
//! ([`tree`]).
//!
//! The way down is openTSNE's: 250 steps with attraction exaggerated 12 times, then 500 as it is; the
//! rate is N divided by the exaggeration (of the gradient without its factor 4), momentum 0.8, a gain
//! for every coordinate that grows while the gradient keeps its sign, and no step longer than 5. A
//! larger share of attraction at first lets clusters find together while the map is small; the high
//! rate lets maps of many rows arrive at all.

pub(crate) mod affinities;
pub(crate) mod forces;
pub(crate) mod grid;
pub(crate) mod place;
mod start;
pub(crate) mod tree;

use mereo_core::{Error, Place, Result, Status};

use crate::Given;
use crate::journey::{Journey, Keeper, Saved, Step};
use crate::neighbours::{Index, neighbours};
use crate::params::TsneParams;
use affinities::Affinities;
use forces::Repulsion;

/// How often the cost is looked at.
const LOOK: usize = 50;
const MOMENTUM: f64 = 0.8;
const LEAST_GAIN: f64 = 0.01;
const LONGEST_STEP: f64 = 5.0;

/// A finished map, and the way there.
pub(crate) struct Found {
    pub(crate) points: Vec<f64>,
    pub(crate) kl: f64,
    /// The share of true neighbours that affinities were made of.
    pub(crate) recall: f64,
    pub(crate) index: Option<Index>,
    pub(crate) saved: Saved,
}

pub(crate) fn map(
    given: &Given<'_>,
    params: &TsneParams,
    dimensions: usize,
    identity: String,
    journey: &mut Journey<'_>,
) -> Result<Found> {
    let context = journey.context;
    if given.weights().is_some_and(|w| w.iter().any(|w| *w != 1.0)) {
        return Err(Error::option(
            "weights",
            "t-SNE shows every row once; leave weights out, or choose another method",
        ));
    }
    let rows = given.count();
    let affinity = params.affinity.for_rows(rows)?;
    let (near, index) = neighbours(given, affinity.neighbours(rows), context)?;
    if near.square.iter().all(|&d| d == 0.0) && all_equal(given) {
        return Err(Error::found(
            Place::default(),
            format!("{rows} rows that are all equal"),
            "at least two that differ: there is nothing to map",
        ));
    }
    let recall = near.recall;
    let joint = Affinities::new(&near, &affinity);
    drop(near);
    let mut keeper = Keeper::new(journey.checkpoints, identity);
    let mut saved = match keeper.resume()? {
        Some(saved) => saved,
        None => {
            let position = start::points(given, &joint, params.start, dimensions, context)?;
            let count = position.len();
            let (update, gain) = (vec![0.0; count], vec![1.0; count]);
            Saved { position, update, gain, ..Saved::default() }
        }
    };
    let steps = params.early_steps + params.steps;
    let mut repulsion = Repulsion::new(params.forces, params.degrees, rows, dimensions);
    let mut gradient = vec![0.0; saved.position.len()];
    let mut status = Status::Converged;
    if saved.past.best.is_none() {
        while saved.past.step < steps {
            if saved.past.step.is_multiple_of(10) && context.stop().asked() {
                status = Status::Interrupted;
                break;
            }
            let early = saved.past.step < params.early_steps;
            let exaggeration = if early {
                params.early_exaggeration.max(params.exaggeration)
            } else {
                params.exaggeration
            };
            if saved.past.step.is_multiple_of(LOOK) {
                let cost =
                    joint.divergence(&saved.position, dimensions, &mut repulsion, params.degrees);
                saved.past.costs.push(cost);
                let step = saved.past.step;
                let warning = keeper.warning();
                (journey.watch)(&Step { start: 0, starts: 1, step, steps, cost, warning });
            }
            joint.gradient(
                &saved.position,
                dimensions,
                exaggeration,
                params.degrees,
                &mut repulsion,
                &mut gradient,
            );
            advance(&mut saved, &gradient, rows as f64 / exaggeration, dimensions);
            saved.past.step += 1;
            if saved.past.step.is_multiple_of(LOOK) {
                keeper.keep(&saved, false)?;
            }
        }
        if status == Status::Interrupted {
            keeper.keep(&saved, true)?;
        }
        let cost = joint.divergence(&saved.position, dimensions, &mut repulsion, params.degrees);
        saved.past.costs.push(cost);
        let (step, warning) = (saved.past.step, keeper.warning());
        (journey.watch)(&Step { start: 0, starts: 1, step, steps, cost, warning });
        let name = match params.start {
            crate::TsneStart::Pca => "principal coordinates",
            crate::TsneStart::Spectral => "spectral",
            crate::TsneStart::Random => "random",
        };
        saved.end(name, status);
        if status != Status::Interrupted {
            keeper.keep(&saved, true)?;
        }
    }
    let kl = -saved.past.ended[0].bounds.last().copied().unwrap_or(0.0);
    Ok(Found { points: saved.best.clone(), kl, recall, index, saved })
}

fn all_equal(given: &Given<'_>) -> bool {
    match given {
        Given::Rows(rows) => (1..rows.rows()).all(|i| rows.row(i) == rows.row(0)),
        Given::Distances(distances) => distances.from(0).iter().all(|&d| d == 0.0),
    }
}

/// One step downhill.
fn advance(saved: &mut Saved, gradient: &[f64], rate: f64, dimensions: usize) {
    // The gradient's usual factor is 2(ν+1); rates are made for gradients without.
    let rate = rate / 4.0;
    let moving = saved.update.iter_mut().zip(&mut saved.gain).zip(gradient);
    for ((update, gain), g) in moving {
        let same = (*update > 0.0) == (*g > 0.0) && *update != 0.0 && *g != 0.0;
        *gain = if same { (*gain * 0.8).max(0.0) + LEAST_GAIN } else { *gain + 0.2 };
        *update = MOMENTUM * *update - rate * *gain * g;
    }
    for update in saved.update.chunks_exact_mut(dimensions) {
        let length = update.iter().map(|u| u * u).sum::<f64>().sqrt();
        if length > LONGEST_STEP {
            update.iter_mut().for_each(|u| *u *= LONGEST_STEP / length);
        }
    }
    let mut mean = vec![0.0; dimensions];
    let rows = (saved.position.len() / dimensions) as f64;
    let points = saved.position.chunks_exact_mut(dimensions);
    for (point, update) in points.zip(saved.update.chunks_exact(dimensions)) {
        for k in 0..dimensions {
            point[k] += update[k];
            mean[k] += point[k] / rows;
        }
    }
    for point in saved.position.chunks_exact_mut(dimensions) {
        point.iter_mut().zip(&mean).for_each(|(y, m)| *y -= m);
    }
}

#[cfg(test)]
mod tests;
