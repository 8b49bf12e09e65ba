//! Densities of a quantiser's rows: the causes are one state for each part.

use mereo_core::math::{HALF_LOG_TWO_PI, exp_in_place, softmax};
use mereo_core::slots::{Densities, RowCells};
use mereo_core::{
    Batch, Classify, Context, Error, Estimate, Likelihood, Random, Real, Result, RowLikelihood,
};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::{
    Hidden, LARGEST_SQUARE, LogSum, Proposal, TINY, by_drawing, by_the_bound, check_samples,
    in_shares, log_of_product, of_row,
};
use crate::Mcvq;
use crate::mcvq::Tensors;

/// Joint states that are walked one by one.
const MOST_JOINT: usize = 1 << 20;
/// How often each part weighs its states anew for the proposal.
const ROUNDS: usize = 3;
/// Shares of the proposal: the posterior itself, its square root, the prior.
const SHARES: [f64; 3] = [0.6, 0.25, 0.15];

/// A model, ready to be asked for the densities of rows.
struct States<'a> {
    model: Tensors<'a>,
    classes: usize,
    /// `log β`, `[N]`.
    log_class: Vec<f64>,
    /// `log b`, `[N, K, J]`.
    log_habit: Vec<f64>,
    /// `½ log 2πσ²` and one over σ, `[K, J, D]`.
    cost: Vec<f64>,
    inverse: Vec<f64>,
    /// `log a`, `[D, K]`.
    log_gate: Vec<f64>,
    /// If columns are of several kinds.
    densities: Option<Densities>,
}

impl<'a> States<'a> {
    fn new(model: &'a Mcvq) -> Self {
        let log = |p: &f64| p.max(1e-300).ln();
        let classes = model.class_view();
        let model = model.tensors();
        Self {
            classes: classes.map_or(1, |c| c.prior.len()),
            log_class: classes.map_or_else(|| vec![0.0], |c| c.prior.iter().map(log).collect()),
            log_habit: classes
                .map_or(model.state_prior, |c| c.class_state_prior)
                .iter()
                .map(log)
                .collect(),
            cost: model.variance.iter().map(|v| 0.5 * v.ln() + HALF_LOG_TWO_PI).collect(),
            inverse: model.variance.iter().map(|v| 1.0 / v.sqrt()).collect(),
            log_gate: model.gate_prior.iter().map(log).collect(),
            densities: model.mixed.map(|mixed| {
                Densities::of_kinds(model.columns, model.mean, model.variance, Some(mixed))
            }),
            model,
        }
    }
}

/// A distribution over the states of every part, and its share of the proposal.
struct Component {
    log_share: f64,
    /// `[K, J]`, and its logarithms.
    states: Vec<f64>,
    logs: Vec<f64>,
}

impl Component {
    /// From logarithms that need not be normalised.
    fn new(share: f64, mut states: Vec<f64>, of_part: usize) -> Self {
        for part in states.chunks_exact_mut(of_part) {
            softmax(part);
        }
        let logs = states.iter().map(|p: &f64| p.max(1e-300).ln()).collect();
        Self { log_share: share.max(1e-300).ln(), states, logs }
    }
}

/// One row seen through a model.
struct Row<'a> {
    of: &'a States<'a>,
    cells: RowCells,
    /// Observed columns, O of them.
    columns: usize,
    /// `log a_dk N(x_d)` less the best of the column, and its exponential, `[K, J, O]`.
    logs: Vec<f64>,
    densities: Vec<f64>,
    /// The sum of the columns' best.
    best: f64,
    /// `Σ_d log(a_dk N(x_d) + what the other parts say)`, `[K, J]`.
    evidence: Vec<f64>,
    components: Vec<Component>,
    /// Different causes drawn, `[.., K]`, and how often each.
    causes: Vec<u32>,
    counts: Vec<f64>,
    /// A sum over parts, column by column.
    sum: Vec<f64>,
}

impl<'a> Row<'a> {
    fn new(of: &'a States<'a>) -> Self {
        Self {
            of,
            cells: RowCells::default(),
            columns: 0,
            logs: Vec::new(),
            densities: Vec::new(),
            best: 0.0,
            evidence: Vec::new(),
            components: Vec::new(),
            causes: Vec::new(),
            counts: Vec::new(),
            sum: Vec::new(),
        }
    }

    fn take<T: Real>(&mut self, batch: &Batch<'_, T>, row: usize) {
        self.cells.take(batch, row);
        let Tensors { parts, states, columns, mean, .. } = self.of.model;
        self.columns = self.cells.iter().count();
        let (observed, slots) = (self.columns, parts * states);
        self.logs.resize(slots * observed, 0.0);
        for slot in 0..slots {
            let part = slot / states;
            let logs = &mut self.logs[slot * observed..(slot + 1) * observed];
            for ((d, x), log) in self.cells.iter().zip(logs) {
                let i = slot * columns + d;
                let z = (x - mean[i]) * self.of.inverse[i];
                let density = match &self.of.densities {
                    None => -0.5 * (z * z).min(LARGEST_SQUARE) - self.of.cost[i],
                    Some(densities) => densities.cell(slot, d, x),
                };
                *log = self.of.log_gate[d * parts + part] + density;
            }
        }
        self.best = 0.0;
        for o in 0..observed {
            let column = || (0..slots).map(|slot| slot * observed + o);
            let best = column().fold(f64::NEG_INFINITY, |best, i| best.max(self.logs[i]));
            column().for_each(|i| self.logs[i] -= best);
            self.best += best;
        }
        self.densities.clear();
        self.densities.extend_from_slice(&self.logs);
        exp_in_place(&mut self.densities);
        self.sum.resize(observed, 0.0);
    }

    /// Codes that know of each other: from the prior on, each part in turn weighs its states by how
    /// well they explain the cells beside what the other parts say of them by now.
    fn refine(&mut self) {
        let Tensors { parts, states, state_prior, .. } = self.of.model;
        let columns = self.columns;
        let mut codes = state_prior.to_vec();
        let mut said = vec![0.0; parts * columns];
        let say = |part: usize, codes: &[f64], said: &mut [f64]| {
            let said = &mut said[part * columns..(part + 1) * columns];
            said.fill(0.0);
            for slot in part * states..(part + 1) * states {
                let own = &self.densities[slot * columns..(slot + 1) * columns];
                said.iter_mut().zip(own).for_each(|(said, own)| *said += codes[slot] * own);
            }
        };
        (0..parts).for_each(|part| say(part, &codes, &mut said));
        let mut evidence = vec![0.0; parts * states];
        let mut others = vec![0.0; columns];
        for part in (0..ROUNDS).flat_map(|_| 0..parts) {
            others.fill(0.0);
            for k in (0..parts).filter(|&k| k != part) {
                let said = &said[k * columns..(k + 1) * columns];
                others.iter_mut().zip(said).for_each(|(others, said)| *others += said);
            }
            let slots = part * states..(part + 1) * states;
            for slot in slots.clone() {
                let own = &self.densities[slot * columns..(slot + 1) * columns];
                let sums = own.iter().zip(&others).map(|(own, others)| (own + others).max(TINY));
                evidence[slot] = log_of_product(sums);
                codes[slot] = state_prior[slot].max(1e-300).ln() + evidence[slot];
            }
            softmax(&mut codes[slots]);
            say(part, &codes, &mut said);
        }
        self.evidence = evidence;
    }

    /// What the proposal is made of.
    fn propose(&mut self, from: Proposal) {
        let States { model, classes, log_class, log_habit, .. } = self.of;
        let slots = model.parts * model.states;
        self.components.clear();
        if from == Proposal::Posterior {
            self.refine();
            let mut shares: Vec<f64> = (0..*classes)
                .map(|n| {
                    let class_state_prior = &log_habit[n * slots..(n + 1) * slots];
                    let mut logs: Vec<f64> =
                        class_state_prior.iter().zip(&self.evidence).map(|(b, e)| b + e).collect();
                    log_class[n] + logs.chunks_exact_mut(model.states).map(softmax).sum::<f64>()
                })
                .collect();
            softmax(&mut shares);
            for (power, share) in [(1.0, SHARES[0]), (0.5, SHARES[1])] {
                for (n, of_class) in shares.iter().enumerate() {
                    let class_state_prior = &log_habit[n * slots..(n + 1) * slots];
                    let logs =
                        class_state_prior.iter().zip(&self.evidence).map(|(b, e)| power * (b + e));
                    let component = Component::new(share * of_class, logs.collect(), model.states);
                    self.components.push(component);
                }
            }
        }
        let share = if from == Proposal::Prior { 1.0 } else { SHARES[2] };
        for (n, log) in log_class.iter().enumerate() {
            let class_state_prior = log_habit[n * slots..(n + 1) * slots].to_vec();
            self.components.push(Component::new(
                share * log.exp(),
                class_state_prior,
                model.states,
            ));
        }
    }

    /// `Σ_d log Σ_k a_dk N(x_d)` at the sums in `self.sum`, of these slots.
    fn log_density(&self, sums: &[f64], slots: impl Fn(usize) -> usize) -> f64 {
        let parts = self.of.model.parts;
        let (mut log, mut product) = (self.best, 1.0);
        for (o, &sum) in sums.iter().enumerate() {
            if sum < TINY {
                let of_part = |k: usize| self.logs[slots(k) * self.columns + o];
                let most = (0..parts).map(of_part).fold(f64::NEG_INFINITY, f64::max);
                log += most + (0..parts).map(|k| (of_part(k) - most).exp()).sum::<f64>().ln();
                continue;
            }
            product *= sum;
            // Logarithms of products cost less than sums of logarithms.
            if product < TINY {
                log += product.ln();
                product = 1.0;
            }
        }
        log + product.ln()
    }

    /// Walks all joint states: `log P(x, n)` for every class.
    fn enumerate(&mut self, by_class: &mut [f64]) {
        let Tensors { parts, .. } = self.of.model;
        let mut walk = Walk {
            chosen: vec![0; parts],
            sums: vec![0.0; parts * self.columns],
            priors: self.of.log_class.repeat(parts),
            totals: vec![LogSum::EMPTY; by_class.len()],
        };
        self.walk(0, &mut walk);
        for (out, total) in by_class.iter_mut().zip(&walk.totals) {
            *out = total.log();
        }
    }

    /// All states of the parts from `part` on, those before being chosen.
    fn walk(&self, part: usize, walk: &mut Walk) {
        let States { model: Tensors { parts, states, .. }, classes, log_habit, .. } = self.of;
        let (columns, slots) = (self.columns, parts * states);
        for state in 0..*states {
            let slot = part * states + state;
            walk.chosen[part] = slot;
            let (before, here) = walk.sums.split_at_mut(part * columns);
            let own = &self.densities[slot * columns..(slot + 1) * columns];
            if part == 0 {
                here[..columns].copy_from_slice(own);
            } else {
                let before = &before[(part - 1) * columns..];
                for ((here, before), own) in here.iter_mut().zip(before).zip(own) {
                    *here = before + own;
                }
            }
            for n in 0..*classes {
                let before = match part {
                    0 => self.of.log_class[n],
                    _ => walk.priors[(part - 1) * classes + n],
                };
                walk.priors[part * classes + n] = before + log_habit[n * slots + slot];
            }
            if part + 1 < *parts {
                self.walk(part + 1, walk);
                continue;
            }
            let sums = &walk.sums[part * columns..(part + 1) * columns];
            let log = self.log_density(sums, |k| walk.chosen[k]);
            for (n, total) in walk.totals.iter_mut().enumerate() {
                total.add(log + walk.priors[part * classes + n], 1.0);
            }
        }
    }
}

/// Where a walk through all joint states is.
struct Walk {
    /// The slot of each part.
    chosen: Vec<usize>,
    /// Sums over parts up to each, `[K, O]`.
    sums: Vec<f64>,
    /// `log P(n, S_0..S_k)` up to each part, `[K, N]`.
    priors: Vec<f64>,
    totals: Vec<LogSum>,
}

impl Hidden for Row<'_> {
    fn draw(&mut self, from: Proposal, samples: usize, random: &mut Random) -> usize {
        let Tensors { parts, states, .. } = self.of.model;
        self.propose(from);
        let mut drawn: Vec<Vec<u32>> = Vec::with_capacity(samples);
        let shares: Vec<f64> = self.components.iter().map(|c| c.log_share.exp()).collect();
        let counts = in_shares(&shares, samples, random.random());
        for (component, own) in self.components.iter().zip(counts) {
            let first = drawn.len();
            drawn.resize(first + own, vec![0; parts]);
            for (part, of_part) in component.states.chunks_exact(states).enumerate() {
                let mut chosen = in_proportion(of_part, own, random);
                chosen.shuffle(random);
                for (cause, state) in drawn[first..].iter_mut().zip(chosen) {
                    cause[part] = state;
                }
            }
        }
        drawn.sort_unstable();
        self.causes.clear();
        self.counts.clear();
        for (i, cause) in drawn.iter().enumerate() {
            if i > 0 && *cause == drawn[i - 1] {
                if let Some(count) = self.counts.last_mut() {
                    *count += 1.0;
                }
            } else {
                self.causes.extend_from_slice(cause);
                self.counts.push(1.0);
            }
        }
        self.counts.len()
    }

    fn weigh(&mut self, cause: usize, by_class: &mut [f64]) -> (f64, f64) {
        let Tensors { parts, states, .. } = self.of.model;
        let (columns, slots) = (self.columns, parts * states);
        let cause_states = &self.causes[cause * parts..(cause + 1) * parts];
        let slot = |k: usize| k * states + cause_states[k] as usize;
        let mut sum = std::mem::take(&mut self.sum);
        sum.fill(0.0);
        for k in 0..parts {
            let own = &self.densities[slot(k) * columns..(slot(k) + 1) * columns];
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        let log = self.log_density(&sum, slot);
        let mut proposal = LogSum::EMPTY;
        for component in &self.components {
            let of_parts: f64 = (0..parts).map(|k| component.logs[slot(k)]).sum();
            proposal.add(component.log_share + of_parts, 1.0);
        }
        for (n, out) in by_class.iter_mut().enumerate() {
            let class_state_prior = &self.of.log_habit[n * slots..(n + 1) * slots];
            let prior: f64 = (0..parts).map(|k| class_state_prior[slot(k)]).sum();
            *out = self.of.log_class[n] + prior + log;
        }
        let count = self.counts[cause];
        self.sum = sum;
        (count, proposal.log())
    }
}

/// So many states in their proportions: one in each of as many equal strata.
fn in_proportion(distribution: &[f64], count: usize, random: &mut Random) -> Vec<u32> {
    let last = distribution.iter().rposition(|&p| p > 0.0).unwrap_or(0);
    let (mut state, mut below) = (0, distribution[0]);
    (0..count)
        .map(|i| {
            let at = (i as f64 + random.random::<f64>()) / count as f64;
            while at >= below && state < last {
                state += 1;
                below += distribution[state];
            }
            state as u32
        })
        .collect()
}

/// `log P(x, n)` for every class, worked out in this way (not by the bound).
fn joint(
    row: &mut Row<'_>,
    how: Likelihood,
    random: &mut Random,
    by_class: &mut [f64],
) -> RowLikelihood {
    match how {
        Likelihood::Importance(samples) => {
            by_drawing(row, Proposal::Posterior, samples, random, by_class)
        }
        Likelihood::Prior(samples) => by_drawing(row, Proposal::Prior, samples, random, by_class),
        Likelihood::Exact | Likelihood::Bound => {
            row.enumerate(by_class);
            let mut all = LogSum::EMPTY;
            by_class.iter().for_each(|log| all.add(*log, 1.0));
            RowLikelihood { log: all.log(), ..RowLikelihood::default() }
        }
    }
}

impl Mcvq {
    fn check_way(&self, how: Likelihood) -> Result<()> {
        let Tensors { parts, states, .. } = self.tensors();
        let joint = u32::try_from(parts).ok().and_then(|parts| states.checked_pow(parts));
        match how {
            Likelihood::Exact if joint.is_none_or(|joint| joint > MOST_JOINT) => {
                let problem = format!(
                    "{states} states of {parts} parts have more than {MOST_JOINT} joint states, too \
                     many to go through; use importance"
                );
                Err(Error::option("likelihood", problem))
            }
            _ => check_samples(how),
        }
    }
}

impl<T: Real> Estimate<T> for Mcvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn check_likelihood(&self, how: Likelihood) -> Result<()> {
        self.check_way(how)
    }

    fn estimate_batch(
        &self,
        how: Likelihood,
        batch: &Batch<'_, T>,
        context: &Context,
        out: &mut [RowLikelihood],
    ) {
        if how == Likelihood::Bound {
            return by_the_bound(self, batch, out);
        }
        let states = States::new(self);
        let mut row = Row::new(&states);
        let mut by_class = vec![0.0; states.classes];
        for (r, out) in out.iter_mut().enumerate() {
            row.take(batch, r);
            *out = joint(&mut row, how, &mut of_row(batch, r, context), &mut by_class);
        }
    }
}

impl<T: Real> Classify<T> for Mcvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    /// One, if there is no class layer.
    fn classes(&self) -> usize {
        self.class_view().map_or(1, |classes| classes.prior.len())
    }

    fn check_rule(&self, how: Likelihood) -> Result<()> {
        self.check_way(how)
    }

    fn classify_batch(
        &self,
        how: Likelihood,
        batch: &Batch<'_, T>,
        context: &Context,
        out: &mut [f64],
    ) {
        let classes = Classify::<T>::classes(self);
        if how == Likelihood::Bound {
            let posterior = self.infer(batch).classes;
            for (i, out) in out.iter_mut().enumerate() {
                let (row, class) = (i / classes, i % classes);
                *out = posterior.get(class * batch.rows + row).copied().unwrap_or(1.0);
            }
            return;
        }
        let states = States::new(self);
        let mut row = Row::new(&states);
        for (r, out) in out.chunks_exact_mut(classes).enumerate() {
            row.take(batch, r);
            joint(&mut row, how, &mut of_row(batch, r, context), out);
            softmax(out);
        }
    }
}
