//! First states of restarts.
//!
//! Restarts take turns among three kinds of start.
//!
//! - *Seeded*: columns are grouped by association and each group's states found by k-means.
//! - *Scouted*: many random starts learn a sample of the rows for a while, with a variance floor
//!   that falls from the column's whole variance to a tenth of it; the best bound goes on.
//! - *Agreed*: columns are grouped by how often those random starts put them into the same part.
//!   Each alone is far from the parts when half of the cells are missing; what they agree on is
//!   not.
//!
//! From each, the variance floor falls to its final value over the first passes, so that states
//! are not settled before the gate has had a say.

use mereo_core::slots::{ColumnMoments, Form, Ground, Lloyd};
use mereo_core::{
    Context, Error, Learned, Plan, Real, Result, Schedule, Silent, Source, Start, Table, learn,
    sample_rows,
};
use rand::RngExt;
use rayon::prelude::*;

use super::McvqParams;
use super::learner::{McvqLearner, State};
use crate::Gate;
use crate::seed::{agree, group_columns};

/// Rows that groups of columns are seen from: dense ones, and sparse ones, which tell less each.
const DENSE_SAMPLE: usize = 4000;
const SPARSE_SAMPLE: usize = 20_000;
/// Rows that scouts learn from, and for how many passes.
const SCOUT_ROWS: usize = 1000;
const SCOUT_PASSES: usize = 40;
/// The gate of a column at the group it was seeded in; the other parts share the rest.
const SEEDED_GATE: f64 = 0.9;
/// Passes of the k-means that gives groups their first states.
const STATE_PASSES: usize = 20;
const STATE_RESTARTS: usize = 8;
/// Makes first states for data of which this is known.
pub(super) struct Starts<'a, T> {
    pub(super) params: &'a McvqParams,
    pub(super) ground: &'a Ground<T>,
}

impl<T: Real> Starts<'_, T> {
    pub(super) fn learner(&self, gate: Gate, floor: Schedule) -> McvqLearner<'static, T> {
        McvqLearner {
            parts: self.params.parts,
            states: self.params.states,
            gate,
            floor,
            reference: self.ground.reference.clone(),
            rows: self.ground.moments.rows,
            observed: self.ground.moments.weight.clone(),
            frame: self.ground.frame.clone(),
            form: self.ground.form.clone(),
            reseed: true,
            entropic: 0.0,
            gibbs: None,
            start: &|_, _, _| {
                Err(Error::option("restarts", "this learner goes on from a given state"))
            },
            description: String::new(),
        }
    }

    pub(super) fn sample(&self, source: &dyn Source<T>, context: &Context) -> Result<Table<T>> {
        let most = match self.ground.form {
            Form::Dense | Form::Zero => {
                DENSE_SAMPLE.min((1 << 24) / source.columns().max(1)).max(64)
            }
            Form::Unobserved { .. } => SPARSE_SAMPLE,
        };
        sample_rows(source, most, "start", context)
    }

    /// Groups of columns by association, their states by k-means.
    pub(super) fn seeded(
        &self,
        sample: &Table<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let groups = group_columns(sample, self.params.parts, restart, context)?;
        let state = self.state_of_groups(sample, &groups, restart, context)?;
        Ok(Start { state, how: "seeded".to_owned() })
    }

    /// A state whose gate follows groups of columns.
    pub(super) fn state_of_groups(
        &self,
        sample: &Table<T>,
        groups: &[Option<usize>],
        restart: usize,
        context: &Context,
    ) -> Result<State> {
        let (parts, states, columns) = (self.params.parts, self.params.states, sample.columns());
        let mut hard = vec![0.0; columns * parts];
        let mut gate = vec![1.0 / parts as f64; columns * parts];
        for (d, group) in groups.iter().enumerate() {
            // A column without a group has to be somewhere while k-means runs; it has no say.
            hard[d * parts + group.unwrap_or(0)] = 1.0;
            if let Some(group) = *group
                && parts > 1
            {
                let own = &mut gate[d * parts..(d + 1) * parts];
                own.fill((1.0 - SEEDED_GATE) / (parts - 1) as f64);
                own[group] = SEEDED_GATE;
            }
        }
        let sample = &sample_rows(sample, DENSE_SAMPLE, "states", context)?;
        let of_sample = ColumnMoments::of(sample, context)?;
        let lloyd = Lloyd::new(
            parts,
            states,
            Some(hard),
            self.ground.reference.clone(),
            &of_sample,
            self.ground.form.clone(),
        );
        let context = context.with_seed(context.seed().wrapping_add(restart as u64));
        let plan = Plan {
            restarts: STATE_RESTARTS,
            passes: STATE_PASSES,
            tolerance: 1e-6,
            checkpoints: None,
        };
        let learned = learn(&lloyd, sample, &plan, &context, &mut Silent)?;
        let total = of_sample.rows.max(1.0);
        let state_prior = learned
            .state
            .usage
            .chunks_exact(states)
            .flat_map(|part| part.iter().map(|u| (u + 0.5) / (total + 0.5 * states as f64)))
            .collect();
        // Softer than k-means is sure of: EM sharpens them at once where that is right.
        let variance = (0..parts * states * columns)
            .map(|i| {
                (0.25 * self.ground.reference[i % columns])
                    .max(self.params.variance_floor * self.ground.reference[i % columns])
            })
            .collect();
        Ok(State { gate, state_prior, mean: learned.state.mean, variance, reseeds: 0 })
    }

    /// Many random starts, learned for a while on a few rows; the best bound first.
    pub(super) fn scouts(
        &self,
        sample: &Table<T>,
        round: usize,
        context: &Context,
    ) -> Result<Vec<State>> {
        let rows = sample_rows(sample, SCOUT_ROWS, "scouts", context)?;
        let ground = Ground::survey(&rows, context)?;
        let starts = Starts { params: self.params, ground: &ground };
        let floor = Schedule::linear(1.0, 0.1, SCOUT_PASSES);
        let plan = Plan { restarts: 1, passes: SCOUT_PASSES, tolerance: 0.0, checkpoints: None };
        let scout = |index: usize| -> Result<Learned<State>> {
            let alone = Context::new(context.seed()).stopped_by(context.stop());
            let begin = |_: &dyn Source<T>, _: usize, context: &Context| {
                let random = context.random("scout", [round as u64, index as u64]);
                Ok(Start { state: starts.random_state(&rows, random), how: String::new() })
            };
            let learner = McvqLearner { start: &begin, ..starts.learner(Gate::Standard, floor) };
            learn(&learner, &rows, &plan, &alone, &mut Silent)
        };
        let scouts = context.install(|| {
            (0..self.params.scouts.max(1)).into_par_iter().map(scout).collect::<Vec<_>>()
        });
        let mut scouts = scouts.into_iter().collect::<Result<Vec<_>>>()?;
        scouts.sort_by(|a, b| b.training.bound.total_cmp(&a.training.bound));
        Ok(scouts.into_iter().map(|scout| scout.state).collect())
    }

    /// Groups of columns that random starts agree on, their states by k-means.
    pub(super) fn agreed(
        &self,
        sample: &Table<T>,
        scouts: &[State],
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let gates: Vec<&[f64]> = scouts.iter().map(|scout| scout.gate.as_slice()).collect();
        let groups = agree(&gates, self.params.parts, restart, context)?;
        let state = self.state_of_groups(sample, &groups, restart, context)?;
        Ok(Start { state, how: "agreed".to_owned() })
    }

    /// Uniform gates and states at random rows: the papers' start.
    fn random_state(&self, rows: &Table<T>, mut random: mereo_core::Random) -> State {
        let (parts, states, columns) = (self.params.parts, self.params.states, rows.columns());
        let slots = parts * states;
        let mut mean = Vec::with_capacity(slots * columns);
        for _ in 0..slots {
            let row = rows.select_rows(&[random.random_range(0..rows.rows())]);
            let mut values = vec![f64::NAN; columns];
            if let Ok(mut lane) = row.lane(0..1)
                && let Ok(Some(batch)) = lane.next_batch()
            {
                batch.for_each_observed(0, |d, x| values[d] = x.wide());
            }
            mean.extend(
                values
                    .iter()
                    .enumerate()
                    .map(|(d, &x)| if x.is_nan() { self.ground.moments.mean[d] } else { x }),
            );
        }
        State {
            gate: vec![1.0 / parts as f64; columns * parts],
            state_prior: vec![1.0 / states as f64; slots],
            mean,
            variance: (0..slots * columns).map(|i| self.ground.reference[i % columns]).collect(),
            reseeds: 0,
        }
    }
}
