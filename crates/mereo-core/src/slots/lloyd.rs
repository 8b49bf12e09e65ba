//! k-means within groups of columns, all groups at once.
//!
//! Each row belongs, in each group `k`, to the state whose mean is nearest over the observed
//! columns of the group (Lloyd); a mean is the mean of the rows that belong to it. With one group
//! of all columns this is plain k-means; with a parts model's groups it gives every part its
//! first states in the same few matrix products.
//!
//! Distances are taken in units of `unit` per column. As an objective that is comparable with
//! densities, the bound is that of equally likely spherical Gaussians whose common variance σ² is
//! re-estimated from the distortion: `-(N/2)(log 2πσ² + 1) - C K log J`, N the number of observed
//! cells and C of rows. It rises exactly when the distortion falls.
//!
//! It begins with rows that are far apart (`slots/spread.rs`) and, if asked to, moves means that are
//! hardly missed to where they are needed (`slots/swaps.rs`).

use serde::{Deserialize, Serialize};

use super::nearest::{Means, MeansWork, NearestSums};
use super::spread::Spread;
use super::swaps::{Needs, are_due, swapped};
use super::{
    ColumnMoments, Evidence, Form, Frame, SlotParams, SlotStatistics, SlotWork, Survey, WorstRow,
    WorstRows, rows_at_once,
};
use crate::math::widest;
use crate::{
    Batch, Block, Context, Dense, Error, Facts, Learned, Learner, Observer, Pass, Plan, Random,
    Real, Result, Source, Start, Statistics, Table, in_parallel, learn, sample_rows,
};

/// Rows that starts are picked from.
const START_ROWS: usize = 4096;
/// A state is empty when fewer rows than this belong to it.
const EMPTY: f64 = 1e-9;
/// How often an empty state may be given a new start.
const MOST_RESEEDS: u32 = 8;

/// Learns k-means states within groups of columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub struct Lloyd<T> {
    /// Number of groups, K.
    pub groups: usize,
    /// Number of states in each, J.
    pub states: usize,
    /// 1 where a column belongs to a group, `[D, K]`; nothing means one group of all columns.
    pub gate: Option<Vec<f64>>,
    /// Squared unit of distance in each column.
    pub unit: Vec<f64>,
    /// `Σ_d n_d log unit_d`, `n_d` the weight of the rows that observe column d.
    pub log_units: f64,
    /// `Σ_d x²/unit_d` in the frame, all rows of dense data together: what is left of it when
    /// the states have explained theirs is the distortion.
    squares: f64,
    /// Where cells are measured.
    pub frame: Frame<T>,
    /// How cells are stored.
    pub form: Form,
    facts: Facts,
    /// The seed of swaps, if there are any.
    swaps: Option<u64>,
}

/// The states so far.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LloydState {
    /// Mean of each state, `[K, J, D]`.
    pub mean: Vec<f64>,
    /// Weight of the rows that belong to each state, `[K, J]`.
    pub usage: Vec<f64>,
    /// Mean squared distance of a cell from its mean, in units.
    pub distortion: f64,
    reseeds: u32,
}

impl LloydState {
    /// Means `[K, J, D]` and the weights of their rows `[K, J]`.
    pub(super) fn new(mean: Vec<f64>, usage: Vec<f64>) -> Self {
        Self { mean, usage, distortion: 1.0, reseeds: 0 }
    }
}

/// What rows tell: moments of the states, distortion, and rows far from every mean.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub struct LloydStatistics<T> {
    sums: Sums<T>,
    rows: f64,
    observed: f64,
    /// Minus half the squared distances from the nearest means, all rows and groups together;
    /// of dense data without what does not depend on the means, half of [`Lloyd::squares`].
    nearest: f64,
    /// Rows of each group that are far from every mean.
    far: WorstRows,
    /// How much every mean is needed, for swaps.
    needs: Option<Needs>,
}

/// Dense rows are added to the sum of their state; sparse ones go through the kernel of all slots.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
enum Sums<T> {
    Dense(NearestSums<T>),
    Sparse(SlotStatistics<T>),
}

impl<T: Real> Statistics for LloydStatistics<T> {
    fn merge(&mut self, other: &Self) {
        match (&mut self.sums, &other.sums) {
            (Sums::Dense(a), Sums::Dense(b)) => a.merge(b),
            (Sums::Sparse(a), Sums::Sparse(b)) => a.merge(b),
            _ => unreachable!("shards of one pass have statistics of one form"),
        }
        self.rows += other.rows;
        self.observed += other.observed;
        self.nearest += other.nearest;
        self.far.merge(&other.far);
        if let (Some(needs), Some(other)) = (&mut self.needs, &other.needs) {
            needs.merge(other);
        }
    }

    fn reset(&mut self) {
        match &mut self.sums {
            Sums::Dense(sums) => sums.reset(),
            Sums::Sparse(slots) => slots.reset(),
        }
        (self.rows, self.observed, self.nearest) = (0.0, 0.0, 0.0);
        self.far.clear();
        self.needs.iter_mut().for_each(Needs::reset);
    }

    fn finish(&mut self) {
        match &mut self.sums {
            Sums::Dense(sums) => sums.finish(),
            Sums::Sparse(slots) => slots.finish(),
        }
    }
}

impl<T: Real> Lloyd<T> {
    /// Plain k-means over all columns, in the data's own units.
    pub fn plain(states: usize, survey: &Survey<T>) -> Self {
        let moments = survey.framing();
        let variance = moments.reference_variance();
        // One unit for all columns: their mean variance, so that numbers stay near 1.
        let unit = variance.iter().sum::<f64>() / variance.len().max(1) as f64;
        let form = survey.form.clone();
        let mut learner = Self::new(1, states, None, vec![unit; variance.len()], moments, form);
        if survey.first.is_some() {
            learner.measure(&survey.moments);
        }
        Self { facts: survey.facts(), ..learner }
    }

    /// k-means within groups of columns, each column in exactly one, in these squared units.
    pub fn new(
        groups: usize,
        states: usize,
        gate: Option<Vec<f64>>,
        unit: Vec<f64>,
        moments: &ColumnMoments,
        form: Form,
    ) -> Self {
        let dense = form == Form::Dense;
        let frame = if dense && moments.are_near_zero() {
            Frame::plain(moments.mean.len())
        } else {
            Frame::of(moments, &form)
        };
        let facts = Facts { weight: moments.rows, fingerprint: None };
        let mut learner = Self {
            groups,
            states,
            gate,
            unit,
            log_units: 0.0,
            squares: 0.0,
            frame,
            form,
            facts,
            swaps: None,
        };
        learner.measure(moments);
        learner
    }

    /// Sums over all rows that do not depend on the means.
    fn measure(&mut self, moments: &ColumnMoments) {
        self.log_units = moments.weight.iter().zip(&self.unit).map(|(n, u)| n * u.ln()).sum();
        if self.form == Form::Dense {
            self.squares = (0..moments.mean.len()).map(|d| self.square(d, moments)).sum();
        }
    }

    /// Where passes no longer gain much, moves means that are hardly missed to where errors are largest, as long as
    /// that pays: the end then depends little on the start.
    #[must_use]
    pub fn with_swaps(mut self, context: &Context) -> Self {
        self.swaps = Some(context.seed());
        self
    }

    /// Learns the states of a source, from [starts](Self::start) of its own.
    pub fn learn(
        &self,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<Learned<LloydState>> {
        let start = |restart: usize| self.start(source, restart, context);
        learn(self, start, source, plan, context, observer)
    }

    /// `Σ x²/unit_d` of a column in the frame; one that is in no group counts about its mean.
    fn square(&self, d: usize, moments: &ColumnMoments) -> f64 {
        let in_group = (0..self.groups).any(|k| self.gate(d, k) > 0.0);
        let apart = if in_group { moments.mean[d] - self.frame.centre[d].to_f64() } else { 0.0 };
        moments.weight[d] * (moments.variance(d) + apart * apart) / self.unit[d]
    }

    /// Mean squared distance of a cell from its mean, in units.
    fn distortion(&self, statistics: &LloydStatistics<T>) -> f64 {
        if statistics.observed > 0.0 {
            (self.squares - 2.0 * statistics.nearest).max(0.0) / statistics.observed
        } else {
            0.0
        }
    }

    fn gate(&self, column: usize, group: usize) -> f64 {
        self.gate.as_ref().map_or(1.0, |g| g[column * self.groups + group])
    }

    fn columns(&self) -> usize {
        self.frame.columns()
    }

    /// The first state of a restart: rows that are far from each other.
    pub fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<LloydState>> {
        // Dense copies of the rows to start from must fit in memory however wide they are.
        let most = START_ROWS.min((1 << 22) / self.columns().max(1)).max(4 * self.states);
        let sample = sample_rows(source, most, "lloyd", context)?;
        if sample.rows() == 0 {
            return Err(Error::option(
                "weights",
                "every row has weight 0: there is nothing to learn from",
            ));
        }
        let rows = in_full(&sample)?;
        let ones;
        let weights = match &sample.about().weights {
            Some(weights) => weights,
            None => {
                ones = vec![1.0; rows.rows()];
                &ones
            }
        };
        let mut mean = Vec::new();
        for group in 0..self.groups {
            let mut random = context.random("spread starts", [restart as u64, group as u64]);
            mean.extend(self.spread_starts(&rows, weights, group, &mut random));
        }
        let usage = vec![1.0; self.groups * self.states];
        let state = LloydState::new(mean, usage);
        Ok(Start { state, how: "spread".to_owned() })
    }

    /// Starts within one group, chosen by their distance in its columns.
    fn spread_starts(
        &self,
        rows: &Dense<f64>,
        weights: &[f64],
        group: usize,
        random: &mut Random,
    ) -> Vec<f64> {
        let columns = self.columns();
        let in_group: Vec<usize> = (0..columns).filter(|&d| self.gate(d, group) > 0.0).collect();
        let measured = |d: usize, x: f64| {
            let z = self.frame.inward(d, x) * self.frame.scale(d) / self.unit[d].sqrt();
            if z.is_nan() { 0.0 } else { z }
        };
        let each = |r: usize| in_group.iter().map(move |&d| (d, rows.row(r)[d]));
        let mut cells = Vec::with_capacity(rows.rows() * in_group.len());
        let mut observed = Vec::new();
        for r in 0..rows.rows() {
            cells.extend(each(r).map(|(d, x)| measured(d, x)));
        }
        if (0..rows.rows()).any(|r| each(r).any(|(_, x)| x.is_nan())) {
            for r in 0..rows.rows() {
                observed.extend(each(r).map(|(_, x)| if x.is_nan() { 0.0 } else { 1.0 }));
            }
        }
        let observed = Some(observed).filter(|observed| !observed.is_empty());
        let spread = Spread { cells, observed, columns: in_group.len(), weights };
        let mut mean = Vec::with_capacity(self.states * columns);
        for row in spread.starts(self.states, random) {
            let filled =
                |(d, &x): (usize, &f64)| if x.is_nan() { self.frame.outward(d, 0.0) } else { x };
            mean.extend(rows.row(row).iter().enumerate().map(filled));
        }
        mean
    }
}

impl<T: Real> Lloyd<T> {
    /// Adds every row of a dense batch to its nearest state of every group.
    fn assign_dense(
        &self,
        prepared: &Prepared<T>,
        means: &Means<T>,
        values: &[T],
        batch: &Batch<'_, T>,
        work: &mut MeansWork<T>,
        statistics: &mut LloydStatistics<T>,
    ) {
        let Sums::Dense(sums) = &mut statistics.sums else {
            unreachable!("statistics are made for the form of the data that they sum")
        };
        for group in 0..self.groups {
            means.nearest(group, batch.rows, work);
            for (row, largest) in work.largest.iter().enumerate() {
                // Only a row that hardly counts, or counts not at all, can be too far out for this.
                if largest.to_f64().is_finite() {
                    statistics.nearest += batch.weight(row) * largest.to_f64();
                }
            }
            if statistics.needs.is_some() {
                means.second_nearest(group, work);
                for (second, largest) in work.second.iter_mut().zip(&work.largest) {
                    *second = *largest - *second;
                }
            }
            if prepared.keep_far || statistics.needs.is_some() {
                means.distances(group, values, work);
            }
            if prepared.keep_far {
                statistics.far.offer_batch(group, batch, &work.largest);
            }
            if let Some(needs) = &mut statistics.needs {
                for (row, &slot) in work.nearest.iter().enumerate() {
                    let nearest = -2.0 * work.largest[row].to_f64();
                    let second = nearest + 2.0 * work.second[row].to_f64();
                    needs.add(slot as usize, batch.weight(row), nearest, second);
                }
            }
            sums.add(batch, means.cells(values, work), work);
        }
        sums.added(batch.rows, work);
        statistics.observed += work.observed;
    }

    /// As [`Self::assign_dense`], of a sparse batch whose evidence is in `work.slots`.
    fn assign_sparse(
        &self,
        prepared: &Prepared<T>,
        evidence: &Evidence<T>,
        batch: &Batch<'_, T>,
        work: &mut SlotWork<T>,
        statistics: &mut LloydStatistics<T>,
    ) {
        let Sums::Sparse(slots) = &mut statistics.sums else {
            unreachable!("statistics are made for the form of the data that they sum")
        };
        let rows = batch.rows;
        work.log_norms.resize(rows, T::ZERO);
        for group in 0..self.groups {
            let part =
                &mut work.slots[group * self.states * rows..(group + 1) * self.states * rows];
            largest(part, &mut work.log_norms);
            for row in 0..rows {
                statistics.nearest += batch.weight(row) * work.log_norms[row].to_f64();
            }
            if prepared.keep_far {
                statistics.far.offer_batch(group, batch, &work.log_norms);
            }
            if let Some(needs) = &mut statistics.needs {
                add_needs(needs, group * self.states, part, &work.log_norms, batch);
            }
            assign(part, &mut work.log_norms, batch);
        }
        statistics.observed += work.observed;
        slots.add(batch, evidence.frame(), work);
    }
}

/// A table's rows in full.
fn in_full<T: Real>(table: &Table<T>) -> Result<Dense<f64>> {
    let (rows, columns) = (table.rows(), table.columns());
    let mut values = vec![0.0; rows * columns];
    let mut row_values = vec![T::ZERO; columns];
    let mut lane = table.lane(0..table.batches())?;
    while let Some(batch) = lane.next_batch()? {
        for row in 0..batch.rows {
            batch.dense_row(row, &mut row_values);
            let at = (batch.first_row + row) * columns;
            for (out, v) in values[at..at + columns].iter_mut().zip(&row_values) {
                *out = v.to_f64();
            }
        }
    }
    Dense::new(rows, columns, values)
}

/// A [`Lloyd`] learner's means, ready to be looked with.
pub struct Prepared<T> {
    means: Ready<T>,
    keep_far: bool,
}

enum Ready<T> {
    Dense(Means<T>),
    Sparse(Evidence<T>),
}

/// Memory for looking at one batch.
#[derive(Debug)]
pub struct LloydWork<T> {
    dense: MeansWork<T>,
    sparse: SlotWork<T>,
}

impl<T: Real> Learner<T> for Lloyd<T> {
    const NAME: &'static str = "lloyd";
    type State = LloydState;
    type Prepared = Prepared<T>;
    type Statistics = LloydStatistics<T>;
    type Workspace = LloydWork<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn prepare(&self, state: &LloydState, _pass: Pass) -> Prepared<T> {
        let slots = self.groups * self.states;
        let variance = self.unit.repeat(slots);
        let params = SlotParams {
            parts: self.groups,
            states: self.states,
            gate: self.gate.as_deref(),
            mean: &state.mean,
            variance: &variance,
            log_prior: &vec![0.0; slots],
            mixed: None,
        };
        let keep_far = state.reseeds < MOST_RESEEDS && state.usage.iter().any(|&u| u < EMPTY);
        let means = match self.form {
            Form::Dense => Ready::Dense(Means::new(&params, &self.frame)),
            _ => Ready::Sparse(Evidence::of_distances(&params, &self.frame, &self.form)),
        };
        Prepared { means, keep_far }
    }

    fn statistics(&self) -> LloydStatistics<T> {
        let slots = self.groups * self.states;
        LloydStatistics {
            sums: match self.form {
                Form::Dense => Sums::Dense(NearestSums::new(slots, self.columns())),
                _ => Sums::Sparse(SlotStatistics::new(slots, self.columns(), &self.form)),
            },
            rows: 0.0,
            observed: 0.0,
            nearest: 0.0,
            far: WorstRows::new(self.groups, self.states),
            needs: self.swaps.map(|_| Needs::new(slots)),
        }
    }

    fn workspace(&self) -> LloydWork<T> {
        LloydWork { dense: MeansWork::default(), sparse: SlotWork::remembering() }
    }

    fn rows_at_once(&self) -> usize {
        rows_at_once(self.groups * self.states)
    }

    fn accumulate(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut LloydWork<T>,
        statistics: &mut LloydStatistics<T>,
    ) {
        statistics.rows += batch.weights.map_or(batch.rows as f64, |w| w.iter().sum());
        match (&prepared.means, batch.block) {
            (Ready::Dense(means), Block::Dense { values, complete }) => {
                means.measure(values, complete, batch, &mut work.dense);
                self.assign_dense(prepared, means, values, batch, &mut work.dense, statistics);
            }
            (Ready::Sparse(evidence), _) => {
                evidence.evaluate(batch, &mut work.sparse);
                self.assign_sparse(prepared, evidence, batch, &mut work.sparse, statistics);
            }
            _ => unreachable!("means are prepared for the form of the data that they look at"),
        }
    }

    fn bound(&self, statistics: &LloydStatistics<T>) -> f64 {
        let cells = statistics.observed;
        let sigma = self.distortion(statistics).max(1e-12);
        // In the data's units: every cell's density is divided by the square root of its unit.
        -0.5 * cells * ((2.0 * std::f64::consts::PI * sigma).ln() + 1.0)
            - 0.5 * self.log_units
            - statistics.rows * self.groups as f64 * (self.states as f64).ln()
    }

    fn update(
        &self,
        state: &mut LloydState,
        statistics: &LloydStatistics<T>,
        _pass: Pass,
    ) -> Vec<String> {
        let columns = self.columns();
        match &statistics.sums {
            Sums::Dense(sums) => {
                sums.update(&self.frame, &mut state.mean);
                state.usage.copy_from_slice(&sums.total);
            }
            Sums::Sparse(slots) => {
                let moments = slots.moments(&self.frame);
                let of_slots = state.mean.chunks_mut(columns.max(1)).enumerate();
                in_parallel(of_slots, |(slot, mean)| {
                    for (d, mean) in mean.iter_mut().enumerate() {
                        let i = slot * columns + d;
                        if moments.count[i] > EMPTY {
                            *mean = self.frame.outward(d, moments.first[i] / moments.count[i]);
                        }
                    }
                });
                state.usage.copy_from_slice(&slots.total);
            }
        }
        state.distortion = self.distortion(statistics);
        let mut notes = Vec::new();
        for group in 0..self.groups {
            let mut far = statistics.far.of(group).iter();
            for slot in group * self.states..(group + 1) * self.states {
                if state.usage[slot] < EMPTY
                    && let Some(WorstRow { row, cells, .. }) = far.next()
                {
                    for (d, &x) in cells.iter().enumerate() {
                        if !x.is_nan() {
                            state.mean[slot * columns + d] = x;
                        }
                    }
                    notes.push(format!("empty state {} seeded from row {row}", slot % self.states));
                }
            }
        }
        state.reseeds += u32::from(!notes.is_empty());
        notes
    }

    fn keep(&self, statistics: &mut LloydStatistics<T>) -> bool {
        statistics.far.clear();
        statistics.needs.iter_mut().for_each(Needs::reset);
        true
    }

    fn jump(
        &self,
        state: &LloydState,
        statistics: &LloydStatistics<T>,
        gain: f64,
        failed: usize,
        pass: Pass,
    ) -> Option<LloydState> {
        let (seed, needs) = (self.swaps?, statistics.needs.as_ref()?);
        if !are_due(gain, statistics.observed) {
            return None;
        }
        let in_group = |d: usize, group: usize| self.gate(d, group) > 0.0;
        let mean = swapped(state, needs, &self.unit, in_group, self.states, failed, (seed, pass))?;
        Some(LloydState { mean, ..state.clone() })
    }
}

/// Adds how much the means of a group, from this slot on, are needed by rows with this evidence `[J, R]`.
fn add_needs<T: Real>(
    needs: &mut Needs,
    first: usize,
    part: &[T],
    largest: &[T],
    batch: &Batch<'_, T>,
) {
    let rows = largest.len();
    for (row, &largest) in largest.iter().enumerate() {
        let (mut nearest, mut second) = (None, f64::NEG_INFINITY);
        for (slot, evidence) in part.iter().skip(row).step_by(rows).enumerate() {
            if nearest.is_none() && *evidence == largest {
                nearest = Some(slot);
            } else {
                second = second.max(evidence.to_f64());
            }
        }
        if let Some(slot) = nearest {
            let slot = first + slot;
            needs.add(slot, batch.weight(row), -2.0 * largest.to_f64(), -2.0 * second);
        }
    }
}

/// The largest evidence of each row, `[J, R]` to `[R]`.
fn largest<T: Real>(part: &[T], out: &mut [T]) {
    let rows = out.len();
    widest(
        #[inline(always)]
        || {
            out.copy_from_slice(&part[..rows]);
            for slot in part[rows..].chunks_exact(rows) {
                for (m, &v) in out.iter_mut().zip(slot) {
                    *m = if v > *m { v } else { *m };
                }
            }
        },
    );
}

/// Turns evidence into the rows' weights at the first state that has the largest, 0 elsewhere.
/// `largest` is used up.
fn assign<T: Real>(part: &mut [T], largest: &mut [T], batch: &Batch<'_, T>) {
    let rows = largest.len();
    widest(
        #[inline(always)]
        || {
            for slot in part.chunks_exact_mut(rows) {
                for (v, m) in slot.iter_mut().zip(&mut *largest) {
                    let here = *v == *m;
                    *v = if here { T::ONE } else { T::ZERO };
                    // Nothing equals NaN: the row is taken.
                    *m = if here { T::MISSING } else { *m };
                }
            }
        },
    );
    if let Some(weights) = batch.weights {
        for slot in part.chunks_exact_mut(rows) {
            for (v, &w) in slot.iter_mut().zip(weights) {
                *v *= T::from_f64(w);
            }
        }
    }
}
