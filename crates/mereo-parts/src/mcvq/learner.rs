//! The passes of MCVQ: see the [module](super) for the derivation.

use mereo_core::math::HALF_LOG_TWO_PI;
use mereo_core::slots::{
    Evidence, Family, Form, Frame, Hold, Looks, Shrinkage, SlotMoments, SlotParams, SlotStatistics,
    SlotWork, Typical, WorstRow, WorstRows, responsibilities, rows_at_once,
};
use mereo_core::{Batch, Facts, Learner, Memory, Pass, Real, Schedule, Statistics, in_parallel};
use serde::{Deserialize, Serialize};

use crate::Gate;
use crate::classes::{ClassLayer, ClassPlan, ClassStatistics, ClassWork, PreparedClasses};
use crate::gate::{SOFTNESS, log_entropic_prior, log_softness, move_gate, prior_of_gates};
use crate::per_row::{RowSums, RowWork};

use super::rows::{Gibbs, Rounds, RowPass, gate_sums};

/// A state is empty when its prior is below this share of an equal one.
const EMPTY: f64 = 1e-3;
/// How many passes of a restart may seed empty states anew.
const MOST_RESEEDS: u32 = 8;
/// How many such trials may fail once bounds never fall.
const MOST_FAILED: usize = 2;
/// How much of a state that is seeded from a row is the row's, in counts and words; the rest is the whole column's.
pub(super) const SEEDED_SHARE: f64 = 0.5;

/// Parameters that the passes move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// `[D, K]`; also its own prior.
    pub(crate) gate: Vec<f64>,
    /// `[K, J]`; with classes, over all of them.
    pub(crate) state_prior: Vec<f64>,
    /// `[K, J, D]`.
    pub(crate) mean: Vec<f64>,
    /// `[K, J, D]`.
    pub(crate) variance: Vec<f64>,
    /// Shares of levels in columns of words, `[K, J, W]`.
    pub(crate) level: Vec<f64>,
    /// The share of the rows that show a state which observe a column, `[K, J, D]`: of mixed tables with holes.
    #[serde(default)]
    pub(crate) observed: Vec<f64>,
    /// How often empty states were seeded anew.
    pub(crate) reseeds: u32,
    /// What states depend on, if they do.
    pub(crate) classes: Option<ClassLayer>,
}

/// Learns MCVQ by tied-gate variational EM.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct McvqLearner<T> {
    pub(crate) parts: usize,
    pub(crate) states: usize,
    pub(crate) gate: Gate,
    /// Variance floor as a fraction of `reference`.
    pub(crate) floor: Schedule,
    /// What floors are relative to, column by column.
    pub(crate) reference: Vec<f64>,
    /// Weight of all rows, and of those that observe each column.
    pub(crate) rows: f64,
    pub(crate) observed: Vec<f64>,
    /// What evidence in the frame's units is above log densities, all rows together.
    pub(crate) log_scale: f64,
    /// The columns' families, and what those are like as a whole that are not numbers.
    pub(crate) typical: Typical,
    /// Rows like that which each state is taken to have been seen in beside its own.
    pub(crate) pseudo_count: f64,
    pub(crate) frame: Frame<T>,
    pub(crate) form: Form,
    /// Whether empty states are seeded anew.
    pub(crate) reseed: bool,
    /// Strength of the entropic prior on the gate.
    pub(crate) entropic: f64,
    /// Rows that each column of each state is taken to have been seen in beside those there are.
    pub(crate) shrinkage: Option<Shrinkage>,
    /// Looks at samples instead of expectations.
    pub(crate) gibbs: Option<Gibbs>,
    /// Classes to learn, if any.
    pub(crate) classes: Option<ClassPlan>,
    pub(crate) facts: Facts,
    /// All that the user chose, to tell runs apart.
    pub(crate) description: String,
}

/// What rows tell.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct McvqStatistics<T> {
    slots: SlotStatistics<T>,
    classes: Option<ClassStatistics>,
    bound: f64,
    /// What pseudo-rows, shrinkage and softness add to it.
    log_prior: f64,
    /// For each part the rows it explains worst by log normaliser, if there are empty states.
    worst: WorstRows,
    /// In place of `slots`, where rows have gates of their own.
    rows: RowSums,
}

impl<T: Real> Statistics for McvqStatistics<T> {
    fn merge(&mut self, other: &Self) {
        self.slots.merge(&other.slots);
        if let (Some(own), Some(other)) = (&mut self.classes, &other.classes) {
            own.merge(other);
        }
        self.bound += other.bound;
        self.log_prior += other.log_prior;
        self.worst.merge(&other.worst);
        self.rows.merge(&other.rows);
    }

    fn reset(&mut self) {
        self.slots.reset();
        if let Some(classes) = &mut self.classes {
            classes.reset();
        }
        (self.bound, self.log_prior) = (0.0, 0.0);
        self.worst.clear();
        self.rows.reset();
    }

    fn finish(&mut self) {
        self.slots.finish();
    }
}

/// What looking needs, once a pass.
pub(crate) struct Prepared<T> {
    evidence: Evidence<T>,
    classes: Option<PreparedClasses<T>>,
    keep_worst: bool,
    /// What pseudo-rows, shrinkage and softness add to the bound.
    log_prior: f64,
    /// If rows have gates of their own in this pass.
    rows: Option<RowPass<T>>,
    pass: Pass,
}

/// Memory for looking at a batch.
pub(crate) struct Work<T> {
    slots: SlotWork<T>,
    classes: ClassWork<T>,
    rows: RowWork<T>,
    /// Codes or sampled states of the run's rows, if they have gates of their own.
    memory: Memory<T>,
}

impl<T: Real> McvqLearner<T> {
    fn columns(&self) -> usize {
        self.frame.columns()
    }

    /// The first pass in which rows have gates of their own.
    fn per_row_from(&self) -> Option<usize> {
        self.gate.per_row_from()
    }

    fn is_per_row(&self, pass: Pass) -> bool {
        self.per_row_from().is_some_and(|from| pass.pass >= from)
    }

    fn has_empty_state(&self, state: &State) -> bool {
        self.reseed
            && state.reseeds < MOST_RESEEDS
            && state.state_prior.iter().any(|&b| b * (self.states as f64) < EMPTY)
    }

    /// The share of a state's rows that observe each column, if there are words about them and holes in them.
    fn observed_shares(&self, moments: &SlotMoments, totals: &[f64]) -> Vec<f64> {
        let holes = self.observed.iter().any(|seen| *seen < 0.999 * self.rows);
        if !holes || !self.typical.kinds.is_mixed() {
            return Vec::new();
        }
        let of_state = moments.count.chunks_exact(self.columns().max(1)).zip(totals);
        of_state
            .flat_map(|(count, total)| {
                let share = |n: &f64| if *total > 0.0 { (n / total).clamp(0.0, 1.0) } else { 0.0 };
                count.iter().map(share).collect::<Vec<_>>()
            })
            .collect()
    }

    fn softness(&self) -> f64 {
        if self.shrinkage.is_some() { SOFTNESS } else { 0.0 }
    }

    /// What pseudo-rows, shrinkage and softness add to the bound.
    fn log_prior(&self, state: &State) -> f64 {
        let State { mean, level, .. } = state;
        let gate = |d: usize, s: usize| state.gate[d * self.parts + s / self.states];
        let typical = &self.typical;
        let of_kinds = typical.log_prior(self.pseudo_count, gate, &self.frame, mean, level);
        let Some(shrinkage) = &self.shrinkage else { return of_kinds };
        let columns = self.columns();
        let mut log = of_kinds + log_softness(&state.gate, self.softness());
        for (i, (mean, variance)) in state.mean.iter().zip(&state.variance).enumerate() {
            let (slot, d) = (i / columns, i % columns);
            let gate = state.gate[d * self.parts + slot / self.states];
            log -= gate * shrinkage.error(&self.frame, d, *mean, *variance);
        }
        log
    }

    /// `G_dk = Σ_j Σ_c m ε` at the new means and variances, from moments alone.
    fn expected_errors(&self, state: &State, moments: &SlotMoments) -> Vec<f64> {
        let columns = self.columns();
        let mut by_part = vec![0.0; self.parts * columns];
        in_parallel(by_part.chunks_mut(columns).enumerate(), |(part, errors)| {
            for slot in part * self.states..(part + 1) * self.states {
                for (d, error) in errors.iter_mut().enumerate() {
                    let i = slot * columns + d;
                    if self.typical.kinds.family(d) != Family::Number {
                        let (mean, level) = (&state.mean, &state.level);
                        let (at, hold) = ((slot, d), self.pseudo_count);
                        *error += self.typical.error(moments, at, hold, &self.frame, mean, level);
                        continue;
                    }
                    let scale = self.frame.scale(d);
                    let mean = self.frame.inward(d, state.mean[i]);
                    let squares = moments.second[i] - 2.0 * mean * moments.first[i]
                        + mean * mean * moments.count[i];
                    *error += 0.5
                        * (moments.count[i] * state.variance[i].ln()
                            + squares.max(0.0) * (scale * scale / state.variance[i]));
                }
            }
        });
        (0..columns * self.parts)
            .map(|i| by_part[i % self.parts * columns + i / self.parts])
            .collect()
    }

    /// Variance floors of a pass, column by column.
    fn floors(&self, pass: Pass) -> Vec<f64> {
        self.reference.iter().map(|v| v * self.floor.at(pass.pass)).collect()
    }

    /// Re-estimates everything from what rows told.
    fn update_all(&self, state: &mut State, statistics: &McvqStatistics<T>, pass: Pass) {
        let floor = self.floors(pass);
        let per_row = self.is_per_row(pass);
        let (totals, mut moments) = if per_row {
            (&statistics.rows.totals, statistics.rows.moments(self.columns()))
        } else {
            (&statistics.slots.total, statistics.slots.moments(&self.frame))
        };
        state.observed = if per_row { Vec::new() } else { self.observed_shares(&moments, totals) };
        if let Some(shrinkage) = self.shrinkage.as_ref().filter(|_| !per_row) {
            shrinkage.add(&mut moments);
        }
        // All rows show one state of each part; by their own sum, priors add up to 1 whatever was rounded.
        let parts = state.state_prior.chunks_exact_mut(self.states);
        for (prior, totals) in parts.zip(totals.chunks_exact(self.states)) {
            let all: f64 = totals.iter().sum();
            prior.iter_mut().zip(totals).for_each(|(b, total)| *b = total / all);
        }
        if let (Some(layer), Some(told), Some(plan)) =
            (&mut state.classes, &statistics.classes, self.classes)
        {
            layer.update_states(told, self.states, plan.pseudo_count);
        }
        moments.update(&self.frame, &floor, &mut state.mean, &mut state.variance);
        // While the floor falls, counts and words are held to the whole column too.
        let share = self.floor.at(pass.pass) - self.floor.at(self.floor.settled_from());
        let State { mean, variance, level, .. } = &mut *state;
        let looks = Looks { mean, variance, level };
        let hold = Hold { rows: self.pseudo_count, share };
        self.typical.update(&moments, &self.frame, hold, looks);
        if per_row {
            let sums = gate_sums(&moments, self.parts, self.columns());
            prior_of_gates(&mut state.gate, &sums, self.parts, self.entropic);
            return;
        }
        let errors = self.expected_errors(state, &moments);
        let temperature = self.gate.temperature(pass.pass, self.rows);
        let softness = self.softness();
        move_gate(&mut state.gate, &errors, &self.observed, self.rows, temperature, softness);
    }

    /// Gives each empty state the look of a row that its part explains badly.
    fn seed_empty_states(
        &self,
        state: &mut State,
        statistics: &McvqStatistics<T>,
        pass: Pass,
    ) -> Vec<String> {
        let (columns, floor) = (self.columns(), self.floors(pass));
        let mut notes = Vec::new();
        for part in 0..self.parts {
            let mut worst = statistics.worst.of(part).iter();
            let slots = part * self.states..(part + 1) * self.states;
            for slot in slots.clone() {
                if state.state_prior[slot] * (self.states as f64) >= EMPTY {
                    continue;
                }
                let Some(WorstRow { row, cells, .. }) = worst.next() else { break };
                for (d, &x) in cells.iter().enumerate() {
                    let i = slot * columns + d;
                    if !x.is_nan() {
                        state.mean[i] = x;
                    }
                    state.variance[i] = (0.25 * self.reference[d]).max(floor[d]);
                }
                let State { mean, variance, level, .. } = &mut *state;
                let looks = Looks { mean, variance, level };
                self.typical.look_of_row(cells, slot, SEEDED_SHARE, looks);
                state.state_prior[slot] = 1.0 / self.rows.max(1.0);
                notes.push(format!(
                    "empty state {} of part {part} seeded from row {row}",
                    slot % self.states
                ));
            }
            let total: f64 = state.state_prior[slots.clone()].iter().sum();
            state.state_prior[slots].iter_mut().for_each(|b| *b /= total);
        }
        state.reseeds += u32::from(!notes.is_empty());
        notes
    }
}

impl<T: Real> Learner<T> for McvqLearner<T> {
    const NAME: &'static str = "mcvq";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = McvqStatistics<T>;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn settled_from(&self) -> usize {
        if self.gibbs.is_some() {
            return usize::MAX;
        }
        self.gate.settled_from().max(self.floor.settled_from())
    }

    fn prepare(&self, state: &State, pass: Pass) -> Prepared<T> {
        let pseudo_count = self.classes.map_or(0.0, |plan| plan.pseudo_count);
        let classes = state.classes.as_ref().map(|c| c.prepare(self.states, pseudo_count));
        // A prior of 0 has no logarithm; this is as good as 0 in either number type. Classes have
        // priors of their own, which come in after the evidence.
        let log_prior: Vec<f64> = match classes {
            Some(_) => vec![0.0; state.state_prior.len()],
            None => state.state_prior.iter().map(|b| b.max(1e-300).ln()).collect(),
        };
        let params = SlotParams {
            parts: self.parts,
            states: self.states,
            gate: Some(&state.gate),
            mean: &state.mean,
            variance: &state.variance,
            log_prior: &log_prior,
            mixed: self.typical.kinds.with(&state.level),
        };
        Prepared {
            evidence: Evidence::in_frame(&params, &self.frame, &self.form),
            classes,
            keep_worst: self.has_empty_state(state),
            log_prior: if self.is_per_row(pass) { 0.0 } else { self.log_prior(state) },
            rows: self.is_per_row(pass).then(|| RowPass {
                rounds: Rounds::of(self.gibbs.as_ref(), pass),
                forget: self.per_row_from() == Some(pass.pass),
                log_entropic_prior: log_entropic_prior(&state.gate, self.entropic),
                ..RowPass::new(&params, &self.frame)
            }),
            pass,
        }
    }

    fn statistics(&self) -> McvqStatistics<T> {
        McvqStatistics {
            slots: SlotStatistics::of_kinds(
                self.parts * self.states,
                &self.typical.kinds,
                &self.form,
            ),
            classes: self
                .classes
                .map(|plan| ClassStatistics::new(plan.classes, self.parts * self.states)),
            bound: 0.0,
            log_prior: 0.0,
            worst: WorstRows::new(self.parts, self.states),
            rows: match self.per_row_from() {
                Some(_) => RowSums::new(self.parts * self.states, self.columns()),
                None => RowSums::default(),
            },
        }
    }

    fn workspace(&self) -> Work<T> {
        Work {
            slots: SlotWork::remembering(),
            classes: ClassWork::default(),
            rows: RowWork::default(),
            memory: Memory::default(),
        }
    }

    fn rows_at_once(&self) -> usize {
        // Rows that are remembered are remembered by the batch.
        let slots = if self.remembers_rows() { 0 } else { self.parts * self.states };
        rows_at_once(slots)
    }

    fn remembers_rows(&self) -> bool {
        self.per_row_from().is_some()
    }

    fn memory(&self, work: &Work<T>) -> Vec<f64> {
        work.memory.keep()
    }

    fn remember(&self, work: &mut Work<T>, memory: &[f64]) {
        work.memory.recall(memory);
    }

    fn accumulate(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        statistics: &mut McvqStatistics<T>,
    ) {
        if let Some(own) = &prepared.rows {
            let worst = prepared.keep_worst.then_some(&mut statistics.worst);
            let Work { rows, memory, .. } = work;
            statistics.bound += own.accumulate(batch, rows, memory, &mut statistics.rows, worst);
            return;
        }
        if batch.first_row == 0 {
            statistics.log_prior += prepared.log_prior;
        }
        let rows = batch.rows;
        let Work { slots: work, classes: of_classes, .. } = work;
        prepared.evidence.evaluate(batch, work);
        work.log_norms.resize(self.parts * rows, T::ZERO);
        let mut bound = 0.0;
        if let Some(classes) = &prepared.classes {
            let labels = batch.labels.filter(|_| self.classes.is_some_and(|plan| plan.labelled));
            let (slots, log_norms) = (&mut work.slots, &mut work.log_norms);
            let told = statistics.classes.as_mut();
            classes.infer(slots, log_norms, labels, batch.weights, of_classes, told);
            let rows = of_classes.log_norms.iter().enumerate();
            bound += rows.map(|(row, norm)| batch.weight(row) * norm).sum::<f64>();
            // The priors' own share, said once a pass.
            bound += if batch.first_row == 0 { classes.log_prior } else { 0.0 };
        } else {
            responsibilities(
                &mut work.slots,
                &mut work.log_norms,
                self.states,
                rows,
                batch.weights,
            );
            for part in work.log_norms.chunks_exact(rows) {
                for (row, norm) in part.iter().enumerate() {
                    bound += batch.weight(row) * norm.to_f64();
                }
            }
            if let Some(gibbs) = &self.gibbs {
                gibbs.sample_codes(&mut work.slots, self.states, batch, prepared.pass);
            }
        }
        statistics.bound += bound - HALF_LOG_TWO_PI * work.observed;
        if prepared.keep_worst {
            for (part, log_norms) in work.log_norms.chunks_exact(rows).enumerate() {
                statistics.worst.offer_batch(part, batch, log_norms);
            }
        }
        statistics.slots.add(batch, prepared.evidence.frame(), work);
    }

    /// Evidence is that of densities in the frame's units: each observed cell of column d owes
    /// the logarithm of its scale to a density in the data's ([`Survey::log_scale`](mereo_core::slots::Survey::log_scale)).
    fn bound(&self, statistics: &McvqStatistics<T>) -> f64 {
        let log_prior = statistics.log_prior + statistics.rows.log_entropic_prior;
        statistics.bound - self.log_scale + log_prior
    }

    /// Codes of rows do not depend on what other rows there are, as long as rows have no gates of their own.
    fn keep(&self, statistics: &mut McvqStatistics<T>) -> bool {
        statistics.log_prior = 0.0;
        statistics.worst.clear();
        !self.remembers_rows() && self.gibbs.is_none() && self.classes.is_none()
    }

    /// A state that is seeded anew may lose more than it wins: once bounds never fall, that is a [`jump`](Self::jump). Codes
    /// that are remembered cannot go back.
    fn update(&self, state: &mut State, statistics: &McvqStatistics<T>, pass: Pass) -> Vec<String> {
        let early = pass.pass <= self.settled_from() || self.remembers_rows();
        let seeding = early && self.has_empty_state(state);
        self.update_all(state, statistics, pass);
        if seeding { self.seed_empty_states(state, statistics, pass) } else { Vec::new() }
    }

    /// Tries what empty states seeded anew are worth.
    fn jump(
        &self,
        state: &State,
        statistics: &McvqStatistics<T>,
        _gain: f64,
        failed: usize,
        pass: Pass,
    ) -> Option<State> {
        if failed >= MOST_FAILED || self.remembers_rows() || !self.has_empty_state(state) {
            return None;
        }
        let mut there = state.clone();
        self.update_all(&mut there, statistics, pass);
        let notes = self.seed_empty_states(&mut there, statistics, pass);
        (!notes.is_empty()).then_some(there)
    }
}
