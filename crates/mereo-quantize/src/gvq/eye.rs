//! A model that looks at rows.

use mereo_core::math::Array;
use mereo_core::{Batch, Real, RowTask, Statistics};
use serde::{Deserialize, Serialize};

use super::model::Gvq;
use super::sets::{Explainer, Found};
use crate::associate::ones;

/// A model with memory to explain rows in.
pub(super) struct Eye<'a> {
    pub(super) model: &'a Gvq,
    pub(super) explainer: Explainer,
    /// All codes of binary data, `[M 2^n, D]`.
    pub(super) codes: Vec<f64>,
}

impl Eye<'_> {
    pub(super) fn explain<T: Real>(&mut self, batch: &Batch<'_, T>, row: usize) -> Found {
        self.explainer.take(batch, row);
        let sets = &self.model.sets;
        if self.codes.is_empty() {
            return self.explainer.explain(sets);
        }
        let Explainer { observed, values, .. } = &self.explainer;
        let mut best = Found { set: 0, state: 0, energy: f64::INFINITY };
        for (index, code) in self.codes.chunks_exact(sets.columns()).enumerate() {
            let state = (index & ((1 << sets.features()) - 1)) as u64;
            let seen = observed.iter().zip(values);
            let energy = seen.map(|(&c, x)| (x - code[c]) * (x - code[c])).sum::<f64>()
                + sets.penalty * f64::from(state.count_ones());
            if energy < best.energy {
                best = Found { set: index >> sets.features(), state, energy };
            }
        }
        best
    }
}

/// Asks rows what a model makes them of.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct UsageTask {
    pub(super) model: Gvq,
}

/// What the rows of a source are made of, all together.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Usage {
    /// `[M, 1 + n]`: rows of each set, then those that use each feature.
    pub(super) usage: Array<2>,
    pub(super) squares: f64,
    pub(super) observed: f64,
}

impl<T: Real> RowTask<T> for UsageTask {
    const NAME: &'static str = "gvq usage";
    type Statistics = Usage;

    fn statistics(&self) -> Usage {
        let [sets, features, _] = self.model.sets.shape();
        Usage { usage: Array::zeros([sets, features + 1]), squares: 0.0, observed: 0.0 }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, told: &mut Usage) {
        let penalty = self.model.sets.penalty;
        let mut eye = self.model.eye();
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            let found = eye.explain(batch, row);
            let on = f64::from(found.state.count_ones());
            told.squares += weight * (found.energy - penalty * on).max(0.0);
            told.observed += weight * eye.explainer.observed.len() as f64;
            let usage = told.usage.row_mut(found.set);
            usage[0] += weight;
            ones(found.state).for_each(|i| usage[i + 1] += weight);
        }
    }
}

impl Statistics for Usage {
    fn merge(&mut self, other: &Self) {
        self.usage.iter_mut().zip(&other.usage).for_each(|(a, b)| *a += b);
        self.squares += other.squares;
        self.observed += other.observed;
    }

    fn reset(&mut self) {
        self.usage.fill(0.0);
        (self.squares, self.observed) = (0.0, 0.0);
    }
}
