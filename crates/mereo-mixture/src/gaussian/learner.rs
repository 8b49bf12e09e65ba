//! The passes of the Gaussian mixture: see the [module](super) for the derivation.

use mereo_core::math::HALF_LOG_TWO_PI;
use mereo_core::slots::{
    Evidence, Family, Hold, Looks, Shrinkage, SlotMoments, SlotParams, SlotStatistics, SlotWork,
    Survey, WorstRow, WorstRows, responsibilities, rows_at_once,
};
use mereo_core::{Batch, Facts, Learner, Pass, Real, Statistics};
use serde::{Deserialize, Serialize};

use super::{Covariance, GmmParams};
use crate::full::harden;
use crate::start::{EMPTY, MOST_RESEEDS, SEEDED_SHARE, SEEDED_VARIANCE, normalise};

/// Parameters that the passes move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// `[J]`.
    pub(super) prior: Vec<f64>,
    /// `[J, D]`.
    pub(super) mean: Vec<f64>,
    /// `[J, D]`.
    pub(super) variance: Vec<f64>,
    /// Shares of levels in columns of words, `[J, W]`.
    pub(super) level: Vec<f64>,
    /// How often empty components were seeded anew.
    pub(super) reseeds: u32,
}

/// Learns a Gaussian mixture by EM.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct GmmLearner<T> {
    pub(super) params: GmmParams,
    pub(super) survey: Survey<T>,
    /// Rows that each column of each component is taken to have been seen in beside its own.
    pub(super) shrinkage: Option<Shrinkage>,
}

/// What rows tell.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct GmmStatistics<T> {
    slots: SlotStatistics<T>,
    /// Log likelihood in the frame's units, without its constants.
    log_likelihood: f64,
    observed: f64,
    /// What pseudo-rows add to the bound.
    log_prior: f64,
    /// The rows that are explained worst, if there are empty components.
    worst: WorstRows,
}

impl<T: Real> Statistics for GmmStatistics<T> {
    fn merge(&mut self, other: &Self) {
        self.slots.merge(&other.slots);
        self.log_likelihood += other.log_likelihood;
        self.observed += other.observed;
        self.log_prior += other.log_prior;
        self.worst.merge(&other.worst);
    }

    fn reset(&mut self) {
        self.slots.reset();
        (self.log_likelihood, self.observed, self.log_prior) = (0.0, 0.0, 0.0);
        self.worst.clear();
    }

    fn finish(&mut self) {
        self.slots.finish();
    }
}

/// What looking needs, once a pass.
pub(crate) struct Prepared<T> {
    evidence: Evidence<T>,
    keep_worst: bool,
    log_prior: f64,
}

impl<T: Real> GmmLearner<T> {
    fn is_empty(&self, prior: f64) -> bool {
        prior * (self.params.components as f64) < EMPTY
    }

    /// With shrinkage an empty component is like the whole table and does no harm; a row's look would cost it much of the prior.
    fn has_empty_component(&self, state: &State) -> bool {
        self.shrinkage.is_none()
            && state.reseeds < MOST_RESEEDS
            && state.prior.iter().any(|&b| self.is_empty(b))
    }

    /// What pseudo-rows and shrinkage add to the bound.
    fn log_prior(&self, state: &State) -> f64 {
        let (frame, State { mean, variance, level, .. }) = (&self.survey.frame, state);
        let typical = &self.survey.typical;
        let of_kinds = typical.log_prior(self.params.pseudo_count, |_, _| 1.0, frame, mean, level);
        let Some(shrinkage) = &self.shrinkage else { return of_kinds };
        let columns = frame.columns();
        let cells = mean.iter().zip(variance).enumerate();
        let error = cells.map(|(i, (m, v))| shrinkage.error(frame, i % columns, *m, *v));
        of_kinds - error.sum::<f64>()
    }

    /// The columns of numbers.
    fn numbers(&self) -> Vec<usize> {
        let kinds = &self.survey.typical.kinds;
        (0..kinds.columns()).filter(|&d| kinds.family(d) == Family::Number).collect()
    }

    /// The variance of each column that floors are relative to: for spherical components the mean
    /// of all numbers.
    fn reference(&self) -> Vec<f64> {
        let own = &self.survey.reference;
        if self.params.covariance == Covariance::Spherical {
            let numbers = self.numbers();
            let mean = numbers.iter().map(|&d| own[d]).sum::<f64>() / numbers.len().max(1) as f64;
            return vec![mean; own.len()];
        }
        own.clone()
    }

    /// The smallest variance of each column.
    fn floor(&self) -> Vec<f64> {
        self.reference().iter().map(|v| v * self.params.variance_floor).collect()
    }

    /// Means, and one variance for all columns of numbers of a component.
    fn update_spherical(&self, state: &mut State, moments: &SlotMoments, floor: &[f64]) {
        let (frame, columns, numbers) = (&self.survey.frame, floor.len(), self.numbers());
        let free = vec![0.0; columns];
        let mut variance = state.variance.clone();
        moments.update(frame, &free, &mut state.mean, &mut variance);
        for (n, own) in state.variance.chunks_exact_mut(columns).enumerate() {
            let counts = &moments.count[n * columns..(n + 1) * columns];
            let count: f64 = numbers.iter().map(|&d| counts[d]).sum();
            if count > 1e-12 {
                // As shares, lest sums of large variances overflow.
                let of = numbers.iter().map(|&d| counts[d] / count * variance[n * columns + d]);
                own.fill(of.sum::<f64>().max(floor[0]));
            }
        }
    }

    /// Gives each empty component the look of a row that is explained badly.
    fn seed_empty_components(
        &self,
        state: &mut State,
        worst: &[WorstRow],
        floor: &[f64],
    ) -> Vec<String> {
        let (columns, reference) = (floor.len(), self.reference());
        let mut notes = Vec::new();
        let mut worst = worst.iter();
        for component in 0..self.params.components {
            if !self.is_empty(state.prior[component]) {
                continue;
            }
            let Some(WorstRow { row, cells, .. }) = worst.next() else { break };
            for (d, &x) in cells.iter().enumerate() {
                let i = component * columns + d;
                if !x.is_nan() {
                    state.mean[i] = x;
                }
                state.variance[i] = (SEEDED_VARIANCE * reference[d]).max(floor[d]);
            }
            let State { mean, variance, level, .. } = state;
            let looks = Looks { mean, variance, level };
            self.survey.typical.look_of_row(cells, component, SEEDED_SHARE, looks);
            state.prior[component] = 1.0 / self.survey.moments.rows.max(1.0);
            notes.push(format!("empty component {component} seeded from row {row}"));
        }
        normalise(&mut state.prior);
        state.reseeds += u32::from(!notes.is_empty());
        notes
    }
}

impl<T: Real> Learner<T> for GmmLearner<T> {
    const NAME: &'static str = "gmm";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = GmmStatistics<T>;
    type Workspace = SlotWork<T>;

    fn facts(&self) -> Facts {
        self.survey.facts()
    }

    fn prepare(&self, state: &State, _pass: Pass) -> Prepared<T> {
        // A prior of 0 has no logarithm; this is as good as 0 in either number type.
        let log_prior: Vec<f64> = state.prior.iter().map(|b| b.max(1e-300).ln()).collect();
        let params = SlotParams {
            parts: 1,
            states: self.params.components,
            gate: None,
            mean: &state.mean,
            variance: &state.variance,
            log_prior: &log_prior,
            mixed: self.survey.typical.kinds.with(&state.level),
        };
        Prepared {
            evidence: Evidence::in_frame(&params, &self.survey.frame, &self.survey.form),
            keep_worst: self.has_empty_component(state),
            log_prior: self.log_prior(state),
        }
    }

    fn statistics(&self) -> GmmStatistics<T> {
        let (components, kinds) = (self.params.components, &self.survey.typical.kinds);
        GmmStatistics {
            slots: SlotStatistics::of_kinds(components, kinds, &self.survey.form),
            log_likelihood: 0.0,
            observed: 0.0,
            log_prior: 0.0,
            worst: WorstRows::new(1, components),
        }
    }

    fn workspace(&self) -> SlotWork<T> {
        SlotWork::remembering()
    }

    fn rows_at_once(&self) -> usize {
        rows_at_once(self.params.components)
    }

    fn accumulate(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut SlotWork<T>,
        statistics: &mut GmmStatistics<T>,
    ) {
        prepared.evidence.evaluate(batch, work);
        work.log_norms.resize(batch.rows, T::ZERO);
        let components = self.params.components;
        let (slots, log_norms) = (&mut work.slots, &mut work.log_norms);
        if self.params.hard {
            harden(slots, log_norms, batch.rows, batch.weights);
        } else {
            responsibilities(slots, log_norms, components, batch.rows, batch.weights);
        }
        for (row, norm) in work.log_norms.iter().enumerate() {
            statistics.log_likelihood += batch.weight(row) * norm.to_f64();
        }
        statistics.observed += work.observed;
        // Said once a pass.
        statistics.log_prior += if batch.first_row == 0 { prepared.log_prior } else { 0.0 };
        if prepared.keep_worst {
            statistics.worst.offer_batch(0, batch, &work.log_norms);
        }
        statistics.slots.add(batch, prepared.evidence.frame(), work);
    }

    fn bound(&self, statistics: &GmmStatistics<T>) -> f64 {
        let log_likelihood = statistics.log_likelihood - HALF_LOG_TWO_PI * statistics.observed;
        log_likelihood - self.survey.log_scale() + statistics.log_prior
    }

    fn keep(&self, statistics: &mut GmmStatistics<T>) -> bool {
        statistics.log_prior = 0.0;
        statistics.worst.clear();
        true
    }

    fn update(&self, state: &mut State, statistics: &GmmStatistics<T>, _pass: Pass) -> Vec<String> {
        let floor = self.floor();
        let seeding = self.has_empty_component(state);
        state.prior.copy_from_slice(&statistics.slots.total);
        normalise(&mut state.prior);
        let frame = &self.survey.frame;
        let mut moments = statistics.slots.moments(frame);
        if let Some(shrinkage) = &self.shrinkage {
            shrinkage.add(&mut moments);
        }
        if self.params.covariance == Covariance::Spherical {
            self.update_spherical(state, &moments, &floor);
        } else {
            moments.update(frame, &floor, &mut state.mean, &mut state.variance);
        }
        let State { mean, variance, level, .. } = state;
        let hold = Hold { rows: self.params.pseudo_count, share: 0.0 };
        let looks = Looks { mean, variance, level };
        self.survey.typical.update(&moments, frame, hold, looks);
        if seeding {
            self.seed_empty_components(state, statistics.worst.of(0), &floor)
        } else {
            Vec::new()
        }
    }
}
