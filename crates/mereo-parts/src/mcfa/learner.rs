//! The passes of MCFA: see the [module](super) for the derivation.

use mereo_core::math::{HALF_LOG_TWO_PI, packed as pairs};
use mereo_core::slots::{Evidence, Form, Frame, Shrinkage, SlotMoments, SlotStatistics, SlotWork};
use mereo_core::{Absent, Batch, Block, Facts, Learner, Memory, Pass, Real, Schedule, Statistics};
use serde::{Deserialize, Serialize};

use super::coefficients::Coefficients;
use super::normal::{Normal, place, width};
use super::posterior::{Posterior, Units};
use super::regression::{Sums, factor_of, solve_column};
use crate::Gate;
use crate::classes::{ClassLayer, ClassPlan, ClassStatistics, FactorWork};
use crate::gate::{SOFTNESS, log_entropic_prior, log_softness, move_gate, prior_of_gates};
use crate::per_row::{PerRow, ROUNDS, RowAppearance, RowSums, RowWork};

/// Fewer rows than this say nothing of a column.
const NO_ROWS: f64 = 1e-9;

/// Parameters that the passes move, in the data's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// `[D, K]`; also its own prior.
    pub(crate) gate: Vec<f64>,
    /// `[K, D, J]`.
    pub(crate) loading: Vec<f64>,
    /// `[K, D]`.
    pub(crate) offset: Vec<f64>,
    /// `[K, D]`.
    pub(crate) noise: Vec<f64>,
    /// What factors depend on, if they do.
    pub(crate) classes: Option<ClassLayer>,
    /// How sure loadings and offsets are, if they are averaged over; the two above are their means then.
    #[serde(default)]
    pub(crate) posterior: Option<Posterior>,
}

/// Learns MCFA by variational EM.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct McfaLearner<T> {
    pub(crate) parts: usize,
    pub(crate) factors: usize,
    /// How the gate moves; if not at all, it is held where the start put it.
    pub(crate) gate: Option<Gate>,
    pub(crate) entropic: f64,
    /// Noise floor as a fraction of `reference`.
    pub(crate) floor: Schedule,
    /// What floors are relative to, column by column.
    pub(crate) reference: Vec<f64>,
    /// Weight of all rows, and of those that observe each column.
    pub(crate) rows: f64,
    pub(crate) observed: Vec<f64>,
    pub(crate) frame: Frame<T>,
    pub(crate) form: Form,
    /// Rows that each column of each part is taken to have been seen in beside those there are.
    pub(crate) shrinkage: Option<Shrinkage>,
    /// The units of priors, if loadings and offsets are averaged over.
    pub(crate) units: Option<Units>,
    /// Classes to learn, if any.
    pub(crate) classes: Option<ClassPlan>,
    pub(crate) facts: Facts,
    /// All that the user chose, to tell runs apart.
    pub(crate) description: String,
}

/// What rows tell.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct McfaStatistics<T> {
    /// Of 1 and of every part's `m`: `[1 + K J]` slots.
    pub(super) slots: SlotStatistics<T>,
    /// `Σ E[ssᵀ]` of every part, packed, over batches in which every cell is observed.
    pub(super) complete: Vec<f64>,
    /// The same, column by column, over all others, if there are any.
    pub(super) pairs: Option<SlotStatistics<T>>,
    pub(super) classes: Option<ClassStatistics>,
    pub(super) bound: f64,
    /// In place of all these, where rows have gates of their own.
    pub(super) rows: RowSums,
}

impl<T: Real> Statistics for McfaStatistics<T> {
    fn merge(&mut self, other: &Self) {
        self.slots.merge(&other.slots);
        self.complete.iter_mut().zip(&other.complete).for_each(|(a, b)| *a += b);
        match (&mut self.pairs, &other.pairs) {
            (Some(own), Some(other)) => own.merge(other),
            (own @ None, Some(other)) => *own = Some(other.clone()),
            (_, None) => {}
        }
        if let (Some(own), Some(other)) = (&mut self.classes, &other.classes) {
            own.merge(other);
        }
        self.bound += other.bound;
        self.rows.merge(&other.rows);
    }

    fn reset(&mut self) {
        self.slots.reset();
        self.complete.fill(0.0);
        if let Some(pairs) = &mut self.pairs {
            pairs.reset();
        }
        if let Some(classes) = &mut self.classes {
            classes.reset();
        }
        self.bound = 0.0;
        self.rows.reset();
    }

    fn finish(&mut self) {
        self.slots.finish();
        if let Some(pairs) = &mut self.pairs {
            pairs.finish();
        }
    }
}

/// What looking needs, once a pass.
pub(crate) struct Prepared<T> {
    /// `N_1` and `h` of every part: `[K (1 + J)]` numbers a row.
    pub(super) linear: Evidence<T>,
    /// `N_ss` of every part, packed: it depends on which cells are observed alone.
    pub(super) pairs: Evidence<T>,
    /// Of rows in which every cell is observed, for every part: `Ω` in full, and what its
    /// determinant adds to the log of the normaliser.
    pub(super) complete: Vec<(Vec<f64>, f64)>,
    /// `N_ss` of such rows, `[K, J (J + 1) / 2]`.
    pub(super) complete_pairs: Vec<f64>,
    pub(super) classes: Option<ClassLayer>,
    /// If rows have gates of their own in this pass.
    pub(super) rows: Option<PerRow<T>>,
    pub(super) forget: bool,
    pub(super) log_entropic_prior: f64,
    /// What shrinkage and softness add to the bound.
    pub(super) log_prior: f64,
}

/// Memory for looking at a batch.
pub(crate) struct Work<T> {
    pub(super) linear: SlotWork<T>,
    pub(super) pairs: SlotWork<T>,
    pub(super) natural: Vec<T>,
    pub(super) classes: FactorWork,
    pub(super) rows: RowWork<T>,
    pub(super) memory: Memory<T>,
}

impl<T: Real> McfaLearner<T> {
    pub(super) fn columns(&self) -> usize {
        self.frame.columns()
    }

    pub(super) fn normal(&self) -> Normal {
        Normal { factors: self.factors }
    }

    fn softness(&self) -> f64 {
        if self.shrinkage.is_some() || self.units.is_some() { SOFTNESS } else { 0.0 }
    }

    /// What priors, shrinkage and softness add to the bound. Factors of imagined rows are as the prior has them, so that
    /// `|λ|²` is what they add to an error.
    fn log_prior(&self, state: &State) -> f64 {
        let mut log = log_softness(&state.gate, self.softness());
        if let (Some(units), Some(posterior)) = (&self.units, &state.posterior) {
            log += units.log_prior(state, posterior, &self.frame);
        }
        let Some(shrinkage) = &self.shrinkage else { return log };
        let columns = self.columns();
        for (i, (offset, noise)) in state.offset.iter().zip(&state.noise).enumerate() {
            let (part, d) = (i / columns, i % columns);
            let loading = &state.loading[i * self.factors..(i + 1) * self.factors];
            let moved: f64 = loading.iter().map(|l| l * l).sum();
            let error = shrinkage.error(&self.frame, d, *offset, *noise)
                + 0.5 * shrinkage.rows * moved / noise;
            log -= state.gate[d * self.parts + part] * error;
        }
        log
    }

    fn per_row_from(&self) -> Option<usize> {
        self.gate.and_then(Gate::per_row_from)
    }

    fn is_per_row(&self, pass: Pass) -> bool {
        self.per_row_from().is_some_and(|from| pass.pass >= from)
    }

    /// Offset, loading and noise of every column under every part from tied sums; returns the
    /// expected errors `[D, K]`.
    fn update_tied(
        &self,
        state: &mut State,
        statistics: &McfaStatistics<T>,
        floor: &[f64],
    ) -> Vec<f64> {
        let (columns, j) = (self.columns(), self.factors);
        let moments = statistics.slots.moments(&self.frame);
        let more = self.shrinkage.as_ref().map_or(0.0, |s| s.rows);
        let by_column = statistics.pairs.as_ref().map(|p| p.moments(&self.frame).count);
        let mut errors = vec![0.0; columns * self.parts];
        let mut lower = vec![0.0; pairs(j)];
        let (mut mean, mut product, mut sum) = (vec![0.0; j], vec![0.0; j], vec![0.0; pairs(j)]);
        let mut posterior = state.posterior.take();
        for part in 0..self.parts {
            let mut factored = false;
            for d in 0..columns {
                let count = moments.count[d] + more;
                if count <= NO_ROWS && posterior.is_none() {
                    continue;
                }
                for f in 0..j {
                    let at = (1 + part * j + f) * columns + d;
                    (mean[f], product[f]) = (moments.count[at], moments.first[at]);
                }
                // If no cell is missing, all columns have the same factor.
                if by_column.is_some() || !factored {
                    for (t, sum) in sum.iter_mut().enumerate() {
                        let at = part * pairs(j) + t;
                        *sum = statistics.complete[at]
                            + by_column.as_ref().map_or(0.0, |c| c[at * columns + d]);
                    }
                    (0..j).for_each(|f| sum[place(f, f)] += more);
                    if posterior.is_none() {
                        factor_of(&sum, &mean, count, &mut lower);
                    }
                    factored = true;
                }
                let (mut first, mut second) = (moments.first[d], moments.second[d]);
                if let Some(shrinkage) = &self.shrinkage {
                    first += more * shrinkage.mean[d];
                    second += more * shrinkage.square(d);
                }
                let (mean, product, pairs) = (&*mean, &*product, &*sum);
                let sums = Sums { count, first, second, mean, product, pairs };
                errors[d * self.parts + part] = match (&self.units, &mut posterior) {
                    (Some(units), Some(posterior)) => units.update_column(
                        state,
                        posterior,
                        (part, d),
                        &sums,
                        floor[d],
                        &self.frame,
                    ),
                    _ => self.update_column(state, part, d, &lower, &sums, floor[d]),
                };
            }
        }
        if let (Some(units), Some(posterior)) = (&self.units, &mut posterior) {
            units.update_common(state, posterior, &self.frame);
        }
        state.posterior = posterior;
        errors
    }

    /// The same from sums in which rows count by their own gates; returns how much of each
    /// column's rows each part has, `[D, K]`.
    fn update_rows(&self, state: &mut State, moments: &SlotMoments, floor: &[f64]) -> Vec<f64> {
        let (columns, j) = (self.columns(), self.factors);
        let mut shares = vec![0.0; columns * self.parts];
        let mut lower = vec![0.0; pairs(j)];
        let (mut mean, mut product, mut sum) = (vec![0.0; j], vec![0.0; j], vec![0.0; pairs(j)]);
        for part in 0..self.parts {
            for d in 0..columns {
                let at = |v: usize| (part * width(j) + v) * columns + d;
                let count = moments.count[at(0)];
                shares[d * self.parts + part] = count;
                if count <= NO_ROWS {
                    continue;
                }
                for f in 0..j {
                    mean[f] = moments.count[at(1 + f)];
                    product[f] = moments.first[at(1 + f)];
                }
                for (t, sum) in sum.iter_mut().enumerate() {
                    *sum = moments.count[at(1 + j + t)];
                }
                factor_of(&sum, &mean, count, &mut lower);
                let (first, second) = (moments.first[at(0)], moments.second[at(0)]);
                let (mean, product, pairs) = (&*mean, &*product, &*sum);
                let sums = Sums { count, first, second, mean, product, pairs };
                self.update_column(state, part, d, &lower, &sums, floor[d]);
            }
        }
        shares
    }

    /// One column of one part; returns its expected error, `½ (n log ψ + S/ψ)`.
    fn update_column(
        &self,
        state: &mut State,
        part: usize,
        d: usize,
        lower: &[f64],
        sums: &Sums<'_>,
        floor: f64,
    ) -> f64 {
        let i = part * self.columns() + d;
        let scale = self.frame.scale(d);
        let loading = &mut state.loading[i * self.factors..(i + 1) * self.factors];
        let (offset, squares) = solve_column(lower, sums, loading);
        loading.iter_mut().for_each(|l| *l *= scale);
        let squares = squares * (scale * scale);
        state.offset[i] = self.frame.outward(d, offset);
        state.noise[i] = (squares / sums.count).max(floor);
        0.5 * (sums.count * state.noise[i].ln() + squares / state.noise[i])
    }
}

impl<T: Real> Learner<T> for McfaLearner<T> {
    const NAME: &'static str = "mcfa";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = McfaStatistics<T>;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn settled_from(&self) -> usize {
        self.gate.map_or(0, Gate::settled_from).max(self.floor.settled_from())
    }

    fn prepare(&self, state: &State, pass: Pass) -> Prepared<T> {
        let (j, columns) = (self.factors, self.columns());
        let coefficients = Coefficients {
            loading: &state.loading,
            offset: &state.offset,
            noise: &state.noise,
            covariance: state.posterior.as_ref().map_or(&[], |p| &p.covariance),
            factors: j,
            frame: &self.frame,
        };
        let gated = |part: usize, v: usize, d: usize| {
            let gate = state.gate[d * self.parts + part];
            coefficients.of(part, v, d).map(|c| gate * c)
        };
        let linear = Evidence::polynomial(
            &vec![0.0; self.parts * (1 + j)],
            &self.frame,
            &self.form,
            |o, d| gated(o / (1 + j), o % (1 + j), d),
        );
        let many = pairs(j);
        // They do not depend on what cells hold.
        let form = self.form.of_presence();
        let pairs =
            Evidence::polynomial(&vec![0.0; self.parts * many], &self.frame, &form, |o, d| {
                gated(o / many, 1 + j + o % many, d)
            });
        let complete_pairs: Vec<f64> = (0..self.parts * many)
            .map(|t| (0..columns).map(|d| gated(t / many, 1 + j + t % many, d)[2]).sum())
            .collect();
        let complete = (0..self.parts)
            .map(|part| {
                let (mut natural, mut code) = (vec![0.0; width(j)], vec![0.0; width(j)]);
                natural[1 + j..].copy_from_slice(&complete_pairs[part * many..(part + 1) * many]);
                let log_norm = self.normal().code(part, &natural, &mut code);
                let omega = &code[1 + j..];
                let full = (0..j * j).map(|i| omega[place((i / j).max(i % j), (i / j).min(i % j))]);
                (full.collect(), log_norm)
            })
            .collect();
        let rows = self.is_per_row(pass).then(|| {
            PerRow::new(self.parts, width(j), &self.frame, &state.gate, |part, v, d| {
                coefficients.of(part, v, d)
            })
        });
        Prepared {
            linear,
            pairs,
            complete,
            complete_pairs,
            classes: state.classes.clone(),
            rows,
            forget: self.per_row_from() == Some(pass.pass),
            log_entropic_prior: log_entropic_prior(&state.gate, self.entropic),
            log_prior: if self.is_per_row(pass) { 0.0 } else { self.log_prior(state) },
        }
    }

    fn statistics(&self) -> McfaStatistics<T> {
        let (parts, j) = (self.parts, self.factors);
        McfaStatistics {
            slots: SlotStatistics::new(1 + parts * j, self.columns(), &self.form),
            complete: vec![0.0; parts * pairs(j)],
            pairs: None,
            classes: self.classes.map(|plan| ClassStatistics::new(plan.classes, parts * j)),
            bound: 0.0,
            rows: match self.per_row_from() {
                Some(_) => RowSums::new(parts * width(j), self.columns()),
                None => RowSums::default(),
            },
        }
    }

    fn workspace(&self) -> Work<T> {
        Work {
            linear: SlotWork::remembering(),
            pairs: SlotWork::remembering(),
            natural: Vec::new(),
            classes: FactorWork::default(),
            rows: RowWork::default(),
            memory: Memory::default(),
        }
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
        statistics: &mut McfaStatistics<T>,
    ) {
        if let Some(kernel) = &prepared.rows {
            statistics.rows.log_entropic_prior = prepared.log_entropic_prior;
            for block in kernel.blocks(batch.rows) {
                let first = block.start;
                kernel.open(batch, block, &mut work.rows);
                let kept = (&mut work.memory, prepared.forget);
                let (own, sums) = (&mut work.rows, &mut statistics.rows);
                statistics.bound +=
                    kernel.expect(&self.normal(), ROUNDS, batch, first, own, kept, sums);
            }
            return;
        }
        if batch.first_row == 0 {
            statistics.bound += prepared.log_prior;
        }
        let rows = batch.rows;
        prepared.linear.evaluate(batch, &mut work.linear);
        // What the rows tell is added from where their evidence stood.
        std::mem::swap(&mut work.linear.slots, &mut work.natural);
        work.linear.slots.resize((1 + self.parts * self.factors) * rows, T::ZERO);
        for (row, one) in work.linear.slots[..rows].iter_mut().enumerate() {
            *one = T::from_f64(batch.weight(row));
        }
        statistics.bound -= HALF_LOG_TWO_PI * work.linear.observed;
        let complete = matches!(
            batch.block,
            Block::Dense { complete: true, .. } | Block::Sparse { absent: Absent::Zero, .. }
        );
        if complete && prepared.classes.is_none() {
            self.look_complete(prepared, batch, work, statistics);
        } else {
            self.look_rows(prepared, batch, complete, work, statistics);
        }
        statistics.slots.add(batch, prepared.linear.frame(), &mut work.linear);
    }

    /// Evidence is that of densities in the frame's units: each observed cell of column d owes
    /// the logarithm of its scale to a density in the data's.
    fn bound(&self, statistics: &McfaStatistics<T>) -> f64 {
        let units: f64 =
            self.observed.iter().enumerate().map(|(d, n)| n * self.frame.scale(d).ln()).sum();
        statistics.bound - units + statistics.rows.log_entropic_prior
    }

    fn update(&self, state: &mut State, statistics: &McfaStatistics<T>, pass: Pass) -> Vec<String> {
        let floor: Vec<f64> = self.reference.iter().map(|v| v * self.floor.at(pass.pass)).collect();
        if let (Some(layer), Some(told), Some(plan)) =
            (&mut state.classes, &statistics.classes, self.classes)
        {
            layer.update_factors(told, plan.pseudo_count);
        }
        if self.is_per_row(pass) {
            let moments = statistics.rows.moments(self.columns());
            let shares = self.update_rows(state, &moments, &floor);
            prior_of_gates(&mut state.gate, &shares, self.parts, self.entropic);
            return Vec::new();
        }
        let errors = self.update_tied(state, statistics, &floor);
        if let Some(gate) = self.gate {
            let temperature = gate.temperature(pass.pass, self.rows);
            let softness = self.softness();
            move_gate(&mut state.gate, &errors, &self.observed, self.rows, temperature, softness);
        }
        Vec::new()
    }
}
