//! First states of MCVQ: see [`crate::starts`].

use mereo_core::slots::{Family, Lloyd, Looks, Survey};
use mereo_core::{
    Context, Learned, Plan, Random, Real, Result, Schedule, Silent, Source, Start, Table, learn,
    sample_rows,
};
use rand::RngExt;

use super::McvqParams;
use super::learner::{McvqLearner, SEEDED_SHARE, State};
use crate::Gate;
use crate::starts::{
    DENSE_SAMPLE, StartParts, filled_row, following, gates_of_groups, spread_columns, spread_gate,
};

/// Passes of the k-means that gives groups their first states.
const STATE_PASSES: usize = 20;
const STATE_RESTARTS: usize = 8;
/// How much of a first state's counts and words is its cluster's; the rest is the whole column's.
const OWN_SHARE: f64 = 0.75;

/// What is known of a source before anything is learned. Gates of single rows take columns as numbers, and no words.
pub(super) fn survey<T: Real>(
    params: &McvqParams,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Survey<T>> {
    if params.has_gates_of_rows() {
        Survey::of(source, context)
    } else {
        Survey::of_kinds(source, context)
    }
}

/// Makes first states for data of which this is known.
pub(super) struct McvqStarts<'a, T> {
    pub(super) params: &'a McvqParams,
    pub(super) survey: &'a Survey<T>,
}

impl<T: Real> McvqStarts<'_, T> {
    pub(super) fn learner(&self, gate: Gate, floor: Schedule) -> McvqLearner<T> {
        McvqLearner {
            parts: self.params.parts,
            states: self.params.states,
            gate,
            floor,
            reference: self.survey.reference.clone(),
            rows: self.survey.moments.rows,
            observed: self.survey.moments.weight.clone(),
            log_scale: self.survey.log_scale(),
            typical: self.survey.typical.clone(),
            pseudo_count: self.params.pseudo_count,
            frame: self.survey.frame.clone(),
            form: self.survey.form.clone(),
            reseed: true,
            entropic: 0.0,
            shrinkage: self.params.shrinkage(self.survey),
            gibbs: None,
            classes: None,
            facts: self.survey.facts(),
            description: String::new(),
        }
    }

    /// Uniform gates and states at random rows: the papers' start.
    pub(super) fn random_state(&self, rows: &Table<T>, mut random: Random) -> State {
        let (parts, states, columns) = (self.params.parts, self.params.states, rows.columns());
        let slots = parts * states;
        let typical = &self.survey.typical;
        // Counts and words that are missing have no mean to stand in for them.
        let of = |(d, &mean): (usize, &f64)| match typical.kinds.family(d) {
            Family::Number => mean,
            _ => f64::NAN,
        };
        let usual: Vec<f64> = self.survey.moments.mean.iter().enumerate().map(of).collect();
        let mut mean = Vec::with_capacity(slots * columns);
        for _ in 0..slots {
            let row = random.random_range(0..rows.rows());
            mean.extend(filled_row(rows, row, &usual));
        }
        let mut variance: Vec<f64> =
            (0..slots * columns).map(|i| self.survey.reference[i % columns]).collect();
        let mut level = vec![0.0; slots * typical.kinds.width()];
        let cells = mean.clone();
        for slot in 0..slots {
            let row = &cells[slot * columns..(slot + 1) * columns];
            let looks = Looks { mean: &mut mean, variance: &mut variance, level: &mut level };
            typical.look_of_row(row, slot, SEEDED_SHARE, looks);
        }
        State {
            gate: vec![1.0 / parts as f64; columns * parts],
            state_prior: vec![1.0 / states as f64; slots],
            mean,
            variance,
            level,
            observed: Vec::new(),
            reseeds: 0,
            classes: None,
        }
    }
}

impl<T: Real> StartParts<T> for McvqStarts<'_, T> {
    type State = State;

    fn parts(&self) -> usize {
        self.params.parts
    }

    fn scouts(&self) -> usize {
        self.params.scouts
    }

    /// States by k-means of the group's columns.
    fn of_groups(
        &self,
        survey: &Survey<T>,
        sample: &Table<T>,
        groups: &[Option<usize>],
        restart: usize,
        context: &Context,
    ) -> Result<State> {
        let (parts, states) = (self.params.parts, self.params.states);
        let (hard, gate) = gates_of_groups(groups, parts);
        let sample = &sample_rows(sample, DENSE_SAMPLE, "states", context)?;
        let typical = &survey.typical;
        let expanded = typical.expand(sample, &survey.reference)?;
        let sample = &*expanded.table;
        let of_sample = expanded.moments(context)?;
        let lloyd = Lloyd::new(
            parts,
            states,
            Some(expanded.gate(&hard, parts)),
            expanded.unit.clone(),
            &of_sample,
            survey.form.clone(),
        );
        let context = context.with_seed(context.seed().wrapping_add(restart as u64));
        let plan = Plan {
            restarts: STATE_RESTARTS,
            passes: STATE_PASSES,
            tolerance: 1e-6,
            checkpoints: None,
            ..Plan::default()
        };
        let learned = lloyd.learn(sample, &plan, &context, &mut Silent)?;
        let total = of_sample.rows.max(1.0);
        let state_prior = learned
            .state
            .usage
            .chunks_exact(states)
            .flat_map(|part| part.iter().map(|u| (u + 0.5) / (total + 0.5 * states as f64)))
            .collect();
        // Softer than k-means is sure of: EM sharpens them at once where that is right.
        let variance: Vec<f64> = (0..parts * states)
            .flat_map(|_| &expanded.unit)
            .map(|unit| (0.25 * unit).max(self.params.variance_floor * unit))
            .collect();
        let kinds = &typical.kinds;
        let zeros = |width: usize| vec![0.0; parts * states * width];
        let (mut mean, mut own, mut level) =
            (zeros(kinds.columns()), zeros(kinds.columns()), zeros(kinds.width()));
        let looks = Looks { mean: &mut mean, variance: &mut own, level: &mut level };
        typical.fold(&learned.state.mean, &variance, OWN_SHARE, looks);
        Ok(State {
            gate,
            state_prior,
            mean,
            variance: own,
            level,
            observed: Vec::new(),
            reseeds: 0,
            classes: None,
        })
    }

    fn widened(
        &self,
        sample: &Table<T>,
        chosen: &[usize],
        state: &State,
        context: &Context,
    ) -> Result<State> {
        let survey = survey(self.params, sample, context)?;
        let starts = McvqStarts { params: self.params, survey: &survey };
        let columns = sample.columns();
        let spread = |own, other: &[f64]| spread_columns(own, chosen, columns, 1, |d| other[d]);
        let whole = State {
            gate: spread_gate(&state.gate, chosen, columns),
            mean: spread(&state.mean, &survey.moments.mean),
            variance: spread(&state.variance, &survey.reference),
            ..state.clone()
        };
        let (plan, floor) = following();
        let learner = starts.learner(Gate::Standard, floor);
        let start = |_: usize| Ok(Start { state: whole.clone(), how: String::new() });
        Ok(learn(&learner, start, sample, &plan, context, &mut Silent)?.state)
    }

    /// The papers' start, and their gate.
    fn scout(
        &self,
        rows: &Table<T>,
        random: Random,
        plan: &Plan,
        floor: Schedule,
        context: &Context,
    ) -> Result<Learned<State>> {
        let survey = survey(self.params, rows, context)?;
        let starts = McvqStarts { params: self.params, survey: &survey };
        let state = starts.random_state(rows, random);
        let learner = starts.learner(Gate::Standard, floor);
        let start = |_: usize| Ok(Start { state: state.clone(), how: String::new() });
        learn(&learner, start, rows, plan, context, &mut Silent)
    }

    fn gate(state: &State) -> &[f64] {
        &state.gate
    }
}
