//! Learning from a source: what starts look like, and the loop.
//!
//! Even restarts are *seeded*: columns are grouped by association and each group's states found
//! by k-means. Odd ones are *scouted*: many random starts learn a sample of the rows for a while,
//! with a variance floor that falls from the column's whole variance to a tenth of it, and the one
//! with the best bound goes on. The seed solves what correlation can see; scouts win when the
//! number of parts is wrong or parts are associated in ways that correlation does not see.

use mereo_core::slots::{ColumnMoments, Form, Frame, Lloyd};
use mereo_core::{
    Context, Error, Learned, Observer, Plan, Real, Result, Schedule, Silent, Source, Start, Table, Training, learn,
    sample_rows,
};
use rand::RngExt;
use rayon::prelude::*;

use super::learner::{McvqLearner, State};
use super::{Mcvq, McvqParams};
use crate::Gate;
use crate::seed::group_columns;

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

/// Learns an MCVQ model.
///
/// ```
/// use mereo_core::{Context, Plan, Silent};
/// use mereo_parts::{McvqParams, mcvq};
/// let toy = mereo_data::toy::World::Shapes.make(Some(200), 0)?;
/// let plan = Plan { passes: 20, ..Plan::default() };
/// let (model, training) = mcvq::fit(&McvqParams::new(3, 9), &toy.table, &plan, &Context::new(0), &mut Silent)?;
/// assert_eq!(model.columns(), 121);
/// assert!(training.bound.is_finite());
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn fit<T: Real>(
    params: &McvqParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Mcvq, Training)> {
    params.check()?;
    let ground = Ground::survey(source, context)?;
    let start = |source: &dyn Source<T>, restart: usize, context: &Context| {
        let sample = ground.sample(source, context)?;
        if restart.is_multiple_of(3) {
            ground.seeded(params, &sample, restart, context)
        } else {
            ground.scouted(params, &sample, restart, context)
        }
    };
    let learner = McvqLearner {
        start: &start,
        description: format!("{params:?}"),
        ..ground.learner(params, params.gate, Schedule::linear(std::env::var("F0").map_or(params.variance_floor, |v| v.parse().unwrap()), params.variance_floor, std::env::var("FP").map_or(20, |v| v.parse().unwrap())))
    };
    let Learned { state, training } = learn(&learner, source, plan, context, observer)?;
    Ok((Mcvq::from_state(state, params.parts, params.states), training))
}

/// What is known of the data before learning.
pub(crate) struct Ground<T> {
    pub(crate) moments: ColumnMoments,
    pub(crate) reference: Vec<f64>,
    pub(crate) form: Form,
    pub(crate) frame: Frame<T>,
}

impl<T: Real> Ground<T> {
    pub(crate) fn survey(source: &dyn Source<T>, context: &Context) -> Result<Self> {
        let moments = ColumnMoments::of(source, context)?;
        if moments.rows == 0.0 || !moments.weight.iter().any(|&n| n > 0.0) {
            return Err(Error::found(
                mereo_core::Place::default(),
                "no observed cell in any row that counts",
                "at least one",
            ));
        }
        let form = Form::of(source, context)?;
        Ok(Self { reference: moments.reference_variance(), frame: Frame::of(&moments, &form), form, moments })
    }

    pub(crate) fn learner(&self, params: &McvqParams, gate: Gate, floor: Schedule) -> McvqLearner<'static, T> {
        McvqLearner {
            parts: params.parts,
            states: params.states,
            gate,
            floor,
            reference: self.reference.clone(),
            rows: self.moments.rows,
            observed: self.moments.weight.clone(),
            frame: self.frame.clone(),
            form: self.form.clone(),
            reseed: true,
            start: &|_, _, _| Err(Error::option("restarts", "this learner goes on from a given state")),
            description: String::new(),
        }
    }

    fn sample(&self, source: &dyn Source<T>, context: &Context) -> Result<Table<T>> {
        let most = match self.form {
            Form::Dense | Form::Zero => DENSE_SAMPLE.min((1 << 24) / source.columns().max(1)).max(64),
            Form::Unobserved { .. } => SPARSE_SAMPLE,
        };
        sample_rows(source, most, "start", context)
    }

    /// Groups of columns by association, their states by k-means.
    fn seeded(
        &self,
        params: &McvqParams,
        sample: &Table<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let groups = group_columns(sample, params.parts, restart, context)?;
        if std::env::var("DBG").is_ok() { 
            let mut pure = 0; let mut all = 0;
            for d in 0..121 { let x = d % 11; let t = x / 4; if x % 4 == 3 { continue } all += 1;
              if let Some(g) = groups[d] { let mut c = [0;3]; for e in 0..121 { let y = e % 11; if y % 4 != 3 && groups[e] == Some(g) { c[y/4] += 1 } } if c[t] == *c.iter().max().unwrap() { pure += 1 } } }
            eprintln!("group purity {pure}/{all}"); }
        let groups: Vec<Option<usize>> = if std::env::var("TRUTH").is_ok() { (0..sample.columns()).map(|d| if (d%11)%4==3 {None} else {Some((d%11)/4)}).collect() } else { groups };
        let state = self.from_groups(params, sample, &groups, restart, context)?;
        Ok(Start { state, how: "seeded".to_owned() })
    }

    /// A state whose gate follows groups of columns.
    pub(crate) fn from_groups(
        &self,
        params: &McvqParams,
        sample: &Table<T>,
        groups: &[Option<usize>],
        restart: usize,
        context: &Context,
    ) -> Result<State> {
        let (parts, states, columns) = (params.parts, params.states, sample.columns());
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
        let of_sample = ColumnMoments::of(sample, context)?;
        let lloyd = Lloyd::new(parts, states, Some(hard), self.reference.clone(), &of_sample, self.form.clone());
        let context = context.with_seed(context.seed().wrapping_add(restart as u64));
        let plan = Plan { restarts: std::env::var("KR").map_or(1, |v| v.parse().unwrap()), passes: STATE_PASSES, tolerance: 1e-6, checkpoints: None };
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
            .map(|i| (0.25 * self.reference[i % columns]).max(params.variance_floor * self.reference[i % columns]))
            .collect();
        Ok(State { gate, state_prior, mean: learned.state.mean, variance, reseeds: 0 })
    }

    /// Many random starts, learned for a while on a few rows.
    fn scouts(
        &self,
        params: &McvqParams,
        sample: &Table<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Vec<Learned<State>>> {
        let rows = sample_rows(sample, SCOUT_ROWS, "scouts", context)?;
        let ground = Ground::survey(&rows, context)?;
        let floor = Schedule::linear(1.0, 0.1, SCOUT_PASSES);
        let plan = Plan { restarts: 1, passes: SCOUT_PASSES, tolerance: 0.0, checkpoints: None };
        let scout = |index: usize| -> Result<Learned<State>> {
            let alone = Context::new(context.seed()).stopped_by(context.stop());
            let begin = |_: &dyn Source<T>, _: usize, context: &Context| {
                let random = context.random("scout", [restart as u64, index as u64]);
                Ok(Start { state: ground.random_state(params, &rows, random), how: String::new() })
            };
            let learner = McvqLearner { start: &begin, ..ground.learner(params, Gate::Standard, floor) };
            learn(&learner, &rows, &plan, &alone, &mut Silent)
        };
        let scouts = context.install(|| {
            (0..params.scouts.max(1)).into_par_iter().map(scout).collect::<Vec<_>>()
        });
        let mut scouts = scouts.into_iter().collect::<Result<Vec<_>>>()?;
        scouts.sort_by(|a, b| b.training.bound.total_cmp(&a.training.bound));
        Ok(scouts)
    }

    /// The best of many random starts, or what they agree on.
    fn scouted(
        &self,
        params: &McvqParams,
        sample: &Table<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let mut scouts = self.scouts(params, sample, restart / 3, context)?;
        if restart % 3 == 1 {
            return Ok(Start { state: scouts.swap_remove(0).state, how: "scouted".to_owned() });
        }
        let keep = scouts.len().div_ceil(std::env::var("KEEP").map_or(2, |v| v.parse().unwrap()));
        let gates: Vec<&[f64]> = scouts[..keep].iter().map(|s| s.state.gate.as_slice()).collect();
        let groups = crate::seed::agree(&gates, params.parts, restart, context)?;
        let state = self.from_groups(params, sample, &groups, restart, context)?;
        Ok(Start { state, how: "agreed".to_owned() })
    }

    /// Uniform gates and states at random rows: the papers' start.
    fn random_state(&self, params: &McvqParams, rows: &Table<T>, mut random: mereo_core::Random) -> State {
        let (parts, states, columns) = (params.parts, params.states, rows.columns());
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
            mean.extend(values.iter().enumerate().map(|(d, &x)| if x.is_nan() { self.moments.mean[d] } else { x }));
        }
        State {
            gate: vec![1.0 / parts as f64; columns * parts],
            state_prior: vec![1.0 / states as f64; slots],
            mean,
            variance: (0..slots * columns).map(|i| self.reference[i % columns]).collect(),
            reseeds: 0,
        }
    }
}
