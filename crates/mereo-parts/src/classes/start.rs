//! First classes for rows whose parts are known.
//!
//! Given the parts, what every row says of them is fixed, and the class layer alone is a mixture:
//! of products of multinomials, or of Gaussians, seen through that evidence. EM on it costs next to
//! nothing, so many starts are tried, each from rows far apart in their codes, and the likeliest is
//! kept: classes then depend on the data rather than on the seed.

use mereo_core::{Context, Random, Real, draw, map_in_parallel};

use super::{ClassLayer, ClassStatistics, ClassWork, FactorWork};

/// Rows that first classes are found in.
pub(crate) const CLASS_ROWS: usize = 4000;
/// Passes that parts are learned for before.
pub(crate) const SHORT_PASSES: usize = 30;

/// Starts tried, passes of each, and passes that the best goes on for.
const STARTS: usize = 32;
const SHORT: usize = 30;
const LONG: usize = 200;
/// The share of a first class's priors over states that its first row has; the rest is everybody's.
const OWN: f64 = 0.5;

/// Rows of which all is known but their classes.
pub(crate) trait Known: Sync {
    /// How often each row counts.
    fn weights(&self) -> &[f64];

    /// A number of a row's code, `[K, J]`.
    fn code(&self, slot: usize, row: usize) -> f64;

    /// A pass of EM over the layer; returns the bound before it.
    fn pass(&self, layer: &mut ClassLayer, told: &mut ClassStatistics) -> f64;
}

/// Rows whose evidence for states is known.
pub(crate) struct KnownStates<'a, T> {
    /// Evidence without priors, `[K, J, R]`.
    pub(crate) evidence: &'a [T],
    /// Codes, `[K, J, R]`.
    pub(crate) codes: &'a [T],
    pub(crate) weights: &'a [f64],
    pub(crate) states: usize,
    pub(crate) pseudo_count: f64,
}

impl<T: Real> Known for KnownStates<'_, T> {
    fn weights(&self) -> &[f64] {
        self.weights
    }

    fn code(&self, slot: usize, row: usize) -> f64 {
        self.codes[slot * self.weights.len() + row].to_f64()
    }

    fn pass(&self, layer: &mut ClassLayer, told: &mut ClassStatistics) -> f64 {
        let parts = layer.slots() / self.states;
        let mut log_norms = vec![T::ZERO; parts * self.weights.len()];
        let (mut evidence, mut work) = (self.evidence.to_vec(), ClassWork::default());
        let prepared = layer.prepare(self.states, self.pseudo_count);
        let weights = Some(self.weights);
        prepared.infer(&mut evidence, &mut log_norms, None, weights, &mut work, Some(told));
        layer.update_states(told, self.states, self.pseudo_count);
        let rows: f64 = work.log_norms.iter().zip(self.weights).map(|(n, w)| n * w).sum();
        rows + prepared.log_prior
    }
}

/// Rows whose codes of factors are known.
pub(crate) struct KnownFactors<'a> {
    /// Codes without classes, `[R, K, V]`, and the sums of the logs of their normalisers, `[R]`.
    pub(crate) codes: &'a [f64],
    pub(crate) log_norms: &'a [f64],
    pub(crate) weights: &'a [f64],
    pub(crate) parts: usize,
    pub(crate) factors: usize,
    pub(crate) pseudo_count: f64,
}

impl Known for KnownFactors<'_> {
    fn weights(&self) -> &[f64] {
        self.weights
    }

    fn code(&self, slot: usize, row: usize) -> f64 {
        let width = self.codes.len() / (self.parts * self.weights.len());
        let (part, factor) = (slot / self.factors, slot % self.factors);
        self.codes[(row * self.parts + part) * width + 1 + factor]
    }

    fn pass(&self, layer: &mut ClassLayer, told: &mut ClassStatistics) -> f64 {
        let classes = layer.of_factors(self.parts, self.pseudo_count);
        let mut work = FactorWork::default();
        let (of_row, mut codes) = (self.codes.len() / self.weights.len(), Vec::new());
        let mut bound = classes.log_prior;
        for (row, &weight) in self.weights.iter().enumerate() {
            codes.clear();
            codes.extend_from_slice(&self.codes[row * of_row..(row + 1) * of_row]);
            bound += weight * classes.infer(&mut codes, self.log_norms[row], None, &mut work);
            classes.tell(weight, &work, told);
        }
        layer.update_factors(told, self.pseudo_count);
        bound
    }
}

/// The likeliest classes of rows whose parts have these priors over states on the whole, `[K, J]`.
pub(crate) fn cluster(
    known: &dyn Known,
    classes: usize,
    marginal: &[f64],
    context: &Context,
) -> ClassLayer {
    let attempt = |index: usize| {
        let mut layer =
            spread(known, classes, marginal, context.random("classes", [index as u64, 0]));
        let bound = improve(known, &mut layer, SHORT);
        (bound, layer)
    };
    let tried: Vec<(f64, ClassLayer)> = context.install(|| map_in_parallel(STARTS, attempt));
    // The first of the best, whatever order they ended in.
    let best = tried.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best });
    let mut layer = best.map_or_else(|| ClassLayer::alike(classes, marginal), |(_, layer)| layer);
    improve(known, &mut layer, LONG);
    layer
}

/// Classes about rows that are far apart: each next one is drawn by how far its code is from
/// those of the rows chosen so far (k-means++ on codes).
fn spread(known: &dyn Known, classes: usize, marginal: &[f64], mut random: Random) -> ClassLayer {
    let (rows, slots) = (known.weights().len(), marginal.len());
    let mut far = known.weights().to_vec();
    let mut nearest = vec![f64::INFINITY; rows];
    let mut layer = ClassLayer::alike(classes, marginal);
    for class in 0..classes {
        let chosen = draw(&far, &mut random).unwrap_or(0);
        for slot in 0..slots {
            let habit = &mut layer.class_state_prior[class * slots + slot];
            *habit = OWN * known.code(slot, chosen) + (1.0 - OWN) * marginal[slot];
        }
        for row in 0..rows {
            let apart = |slot: usize| (known.code(slot, row) - known.code(slot, chosen)).powi(2);
            nearest[row] = nearest[row].min((0..slots).map(apart).sum());
            far[row] = known.weights()[row] * nearest[row];
        }
    }
    layer
}

/// EM on the layer alone, until it stands still; returns the bound.
fn improve(known: &dyn Known, layer: &mut ClassLayer, passes: usize) -> f64 {
    const STILL: f64 = 1e-9;
    let mut told = ClassStatistics::new(layer.classes(), layer.slots());
    let mut last = f64::NEG_INFINITY;
    for _ in 0..passes {
        told.reset();
        let bound = known.pass(layer, &mut told);
        if bound - last <= STILL * bound.abs() {
            return bound;
        }
        last = bound;
    }
    last
}
