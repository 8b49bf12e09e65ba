//! First classes for rows whose parts are known.
//!
//! Given the parts, the evidence of every row is fixed, and the class layer alone is a mixture of
//! products of multinomials, seen through that evidence. EM on it costs next to nothing, so many
//! starts are tried, each from rows far apart in their codes, and the likeliest is kept: classes
//! then depend on the data rather than on the seed.

use mereo_core::{Context, Random, Real, draw};
use rayon::prelude::*;

use super::{ClassLayer, ClassStatistics, ClassWork};

/// Starts tried, passes of each, and passes that the best goes on for.
const STARTS: usize = 32;
const SHORT: usize = 30;
const LONG: usize = 200;
/// The share of a first class's habits that its first row has; the rest is everybody's.
const OWN: f64 = 0.5;

/// Rows whose evidence is known.
pub(crate) struct KnownRows<'a, T> {
    /// Evidence without priors, `[K, J, R]`.
    pub(crate) evidence: &'a [T],
    /// Codes, `[K, J, R]`.
    pub(crate) codes: &'a [T],
    /// How often each row counts.
    pub(crate) weights: &'a [f64],
    pub(crate) parts: usize,
    pub(crate) states: usize,
}

/// The likeliest classes of rows whose parts have these marginal habits, `[K, J]`.
pub(crate) fn cluster<T: Real>(
    known: &KnownRows<'_, T>,
    classes: usize,
    marginal: &[f64],
    pseudo_count: f64,
    context: &Context,
) -> ClassLayer {
    let attempt = |index: usize| {
        let mut layer =
            spread(known, classes, marginal, context.random("classes", [index as u64, 0]));
        let bound = improve(known, &mut layer, pseudo_count, SHORT);
        (bound, layer)
    };
    let tried: Vec<(f64, ClassLayer)> =
        context.install(|| (0..STARTS).into_par_iter().map(attempt).collect());
    // The first of the best, whatever order they ended in.
    let best = tried.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best });
    let mut layer = best.map_or_else(|| ClassLayer::alike(classes, marginal), |(_, layer)| layer);
    improve(known, &mut layer, pseudo_count, LONG);
    layer
}

/// Classes about rows that are far apart: each next one is drawn by how far its code is from
/// those of the rows chosen so far (k-means++ on codes).
fn spread<T: Real>(
    known: &KnownRows<'_, T>,
    classes: usize,
    marginal: &[f64],
    mut random: Random,
) -> ClassLayer {
    let (rows, slots) = (known.weights.len(), known.parts * known.states);
    let code = |slot: usize, row: usize| known.codes[slot * rows + row].wide();
    let mut far = known.weights.to_vec();
    let mut nearest = vec![f64::INFINITY; rows];
    let mut layer = ClassLayer::alike(classes, marginal);
    for class in 0..classes {
        let chosen = draw(&far, &mut random).unwrap_or(0);
        for slot in 0..slots {
            let habit = &mut layer.state_prior[class * slots + slot];
            *habit = OWN * code(slot, chosen) + (1.0 - OWN) * marginal[slot];
        }
        for row in 0..rows {
            let apart: f64 =
                (0..slots).map(|slot| (code(slot, row) - code(slot, chosen)).powi(2)).sum();
            nearest[row] = nearest[row].min(apart);
            far[row] = known.weights[row] * nearest[row];
        }
    }
    layer
}

/// EM on the layer alone, until it stands still; returns the bound.
fn improve<T: Real>(
    known: &KnownRows<'_, T>,
    layer: &mut ClassLayer,
    pseudo_count: f64,
    passes: usize,
) -> f64 {
    const STILL: f64 = 1e-9;
    let (rows, slots) = (known.weights.len(), known.parts * known.states);
    let mut told = ClassStatistics::new(layer.classes(), slots);
    let mut work = ClassWork::default();
    let (mut evidence, mut norms) = (Vec::new(), vec![T::ZERO; known.parts * rows]);
    let mut last = f64::NEG_INFINITY;
    for _ in 0..passes {
        evidence.clear();
        evidence.extend_from_slice(known.evidence);
        told.reset();
        let prepared = layer.prepare(known.states, pseudo_count);
        let weights = Some(known.weights);
        prepared.look(&mut evidence, &mut norms, None, weights, &mut work, Some(&mut told));
        let rows_say: f64 = work.norms.iter().zip(known.weights).map(|(n, w)| n * w).sum();
        let bound = rows_say + prepared.log_prior;
        layer.relearn(&told, known.states, pseudo_count);
        if bound - last <= STILL * bound.abs() {
            return bound;
        }
        last = bound;
    }
    last
}
