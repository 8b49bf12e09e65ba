//! A model that looks at rows.

use mereo_core::{Batch, Context, Real, Result, Source, Statistics, gather};

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
        for (index, code) in self.codes.chunks_exact(sets.columns).enumerate() {
            let state = (index & ((1 << sets.features) - 1)) as u64;
            let seen = observed.iter().zip(values);
            let energy = seen.map(|(&c, x)| (x - code[c]) * (x - code[c])).sum::<f64>()
                + sets.penalty * f64::from(state.count_ones());
            if energy < best.energy {
                best = Found { set: index >> sets.features, state, energy };
            }
        }
        best
    }
}

/// What the rows of a source are made of, all together.
pub(super) struct Asked {
    /// `[M, 1 + n]`: rows of each set, then those that use each feature.
    pub(super) usage: Vec<f64>,
    pub(super) squares: f64,
    pub(super) observed: f64,
}

impl Asked {
    pub(super) fn of<T: Real>(
        model: &Gvq,
        source: &dyn Source<T>,
        context: &Context,
    ) -> Result<Self> {
        let n = model.sets.features;
        let zero =
            || Self { usage: vec![0.0; model.sets.sets * (n + 1)], squares: 0.0, observed: 0.0 };
        gather(source, context, zero, |batch, asked: &mut Self| {
            let mut eye = model.eye();
            for row in 0..batch.rows {
                let weight = batch.weight(row);
                if weight == 0.0 {
                    continue;
                }
                let found = eye.explain(batch, row);
                let on = f64::from(found.state.count_ones());
                asked.squares += weight * (found.energy - model.sets.penalty * on).max(0.0);
                asked.observed += weight * eye.explainer.observed.len() as f64;
                let usage = &mut asked.usage[found.set * (n + 1)..];
                usage[0] += weight;
                ones(found.state).for_each(|i| usage[i + 1] += weight);
            }
        })
    }
}

impl Statistics for Asked {
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
