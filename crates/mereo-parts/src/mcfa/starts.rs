//! First states of MCFA: see [`crate::starts`].

use mereo_core::slots::Survey;
use mereo_core::{
    Context, Learned, Plan, Random, Real, Result, Schedule, Silent, Start, Table, learn,
    sample_rows,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::McfaParams;
use super::learner::{McfaLearner, State};
use crate::Gate;
use crate::starts::{
    DENSE_SAMPLE, StartParts, filled_row, following, gates_of_groups, spread_columns, spread_gate,
};

/// Passes that find the factors of groups of columns while the gate is held.
const FACTOR_PASSES: usize = 25;
/// First loadings, in deviations of the column.
const FIRST_LOADING: f64 = 0.3;

/// Makes first states for data of which this is known.
pub(super) struct McfaStarts<'a, T> {
    pub(super) params: &'a McfaParams,
    pub(super) survey: &'a Survey<T>,
}

impl<T: Real> McfaStarts<'_, T> {
    pub(super) fn learner(&self, gate: Option<Gate>, floor: Schedule) -> McfaLearner<T> {
        McfaLearner {
            parts: self.params.parts,
            factors: self.params.factors,
            gate,
            entropic: 0.0,
            floor,
            reference: self.survey.reference.clone(),
            rows: self.survey.moments.rows,
            observed: self.survey.moments.weight.clone(),
            frame: self.survey.frame.clone(),
            form: self.survey.form.clone(),
            shrinkage: self.params.shrinkage(self.survey),
            units: None,
            classes: None,
            facts: self.survey.facts(),
            description: String::new(),
        }
    }

    /// Offsets at the mean and noise of half the variance, with these gates and loadings.
    fn state(&self, gate: Vec<f64>, loading: Vec<f64>) -> State {
        let parts = self.params.parts;
        let repeat = |values: &[f64]| values.repeat(parts);
        State {
            gate,
            loading,
            offset: repeat(&self.survey.moments.mean),
            noise: repeat(&self.survey.reference.iter().map(|v| 0.5 * v).collect::<Vec<_>>()),
            classes: None,
            posterior: None,
        }
    }

    /// Learns rows of which this is the survey from a given state.
    pub(super) fn go_on(
        &self,
        rows: &Table<T>,
        state: &State,
        gate: Option<Gate>,
        plan: &Plan,
        floor: Schedule,
        context: &Context,
    ) -> Result<Learned<State>> {
        let learner = self.learner(gate, floor);
        let start = |_: usize| Ok(Start { state: state.clone(), how: String::new() });
        learn(&learner, start, rows, plan, context, &mut Silent)
    }
}

impl<T: Real> StartParts<T> for McfaStarts<'_, T> {
    type State = State;

    fn parts(&self) -> usize {
        self.params.parts
    }

    fn scouts(&self) -> usize {
        self.params.scouts
    }

    /// The factors of each group's columns, by factor analysis of these alone: passes of the same
    /// learner from small random loadings, the gate held at the groups. Every other column's
    /// loadings are its regression on those factors.
    fn of_groups(
        &self,
        _survey: &Survey<T>,
        sample: &Table<T>,
        groups: &[Option<usize>],
        restart: usize,
        context: &Context,
    ) -> Result<State> {
        let (hard, soft) = gates_of_groups(groups, self.params.parts);
        let sample = &sample_rows(sample, DENSE_SAMPLE, "factors", context)?;
        let survey = Survey::of(sample, context)?;
        let starts = McfaStarts { params: self.params, survey: &survey };
        let mut random = context.random("first loadings", [restart as u64, 0]);
        let (columns, factors) = (sample.columns(), self.params.factors);
        let loading = (0..self.params.parts * columns * factors)
            .map(|i| {
                let normal: f64 = StandardNormal.sample(&mut random);
                FIRST_LOADING * normal * survey.reference[i / factors % columns].sqrt()
            })
            .collect();
        let plan = Plan {
            restarts: 1,
            passes: FACTOR_PASSES,
            tolerance: 1e-6,
            checkpoints: None,
            ..Plan::default()
        };
        let floor = Schedule::constant(self.params.noise_floor);
        let state = starts.state(hard, loading);
        let learned = starts.go_on(sample, &state, None, &plan, floor, context)?;
        Ok(State { gate: soft, ..learned.state })
    }

    fn widened(
        &self,
        sample: &Table<T>,
        chosen: &[usize],
        state: &State,
        context: &Context,
    ) -> Result<State> {
        let survey = Survey::of(sample, context)?;
        let starts = McfaStarts { params: self.params, survey: &survey };
        let (columns, factors) = (sample.columns(), self.params.factors);
        let spread = |own, width, other: &dyn Fn(usize) -> f64| {
            spread_columns(own, chosen, columns, width, other)
        };
        let whole = State {
            gate: spread_gate(&state.gate, chosen, columns),
            loading: spread(&state.loading, factors, &|_| 0.0),
            offset: spread(&state.offset, 1, &|d| survey.moments.mean[d]),
            noise: spread(&state.noise, 1, &|d| survey.reference[d]),
            classes: None,
            posterior: None,
        };
        let (plan, floor) = following();
        Ok(starts.go_on(sample, &whole, Some(Gate::Standard), &plan, floor, context)?.state)
    }

    /// The papers' start, uniform gates and loadings at random rows, and their gate.
    fn scout(
        &self,
        rows: &Table<T>,
        mut random: Random,
        plan: &Plan,
        floor: Schedule,
        context: &Context,
    ) -> Result<Learned<State>> {
        let survey = Survey::of(rows, context)?;
        let starts = McfaStarts { params: self.params, survey: &survey };
        let (columns, parts) = (rows.columns(), self.params.parts);
        let factors = self.params.factors;
        let mean = &survey.moments.mean;
        let mut loading = vec![0.0; parts * columns * factors];
        for k in 0..parts {
            for j in 0..factors {
                let row = filled_row(rows, random.random_range(0..rows.rows()), mean);
                for d in 0..columns {
                    loading[(k * columns + d) * factors + j] = row[d] - mean[d];
                }
            }
        }
        let state = starts.state(vec![1.0 / parts as f64; columns * parts], loading);
        starts.go_on(rows, &state, Some(Gate::Standard), plan, floor, context)
    }

    fn gate(state: &State) -> &[f64] {
        &state.gate
    }
}
