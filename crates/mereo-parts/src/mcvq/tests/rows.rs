//! Rows with gates of their own, by expectation and by samples.

use mereo_core::slots::{SlotParams, Survey};
use mereo_core::{
    Absent, Cells, Checkpoints, Context, Dense, Learner, Parts, Pass, Plan, Record, Schedule,
    Silent, Source, Statistics, Table, encode, learn, score,
};
use proptest::prelude::*;

use super::{enumerated_log_density, random_model, random_state_of, small_table};
use crate::Gate;
use crate::fixtures::{Fixture, close, sparse};
use crate::gate::prior_of_gates;
use crate::mcvq::learner::{McvqLearner, State};
use crate::mcvq::rows::{Gibbs, RowPass, gate_sums};
use crate::mcvq::starts::McvqStarts;
use crate::mcvq::{Engine, Mcvq, McvqParams, fit};
use crate::per_row::{RowSums, RowWork};
use crate::starts::{sample, seeded};

/// The papers' order, in which a row's gates are remembered and not its codes.
#[test]
fn factorised_gates_agree_with_the_reference_implementation() {
    let fixture = Fixture::open("mcvq_fully");
    let table = Table::from(Dense::new(24, 10, fixture.get("/inputs/X")).unwrap());
    let survey = Survey::of(&table, &Context::new(0)).unwrap();
    let mut state = State {
        gate: fixture.get("/inputs/a"),
        state_prior: fixture.get("/inputs/b"),
        mean: fixture.get("/inputs/mu"),
        variance: fixture.get("/inputs/var"),
        level: Vec::new(),
        observed: Vec::new(),
        reseeds: 0,
        classes: None,
    };
    let mut gates: Option<Vec<f64>> = None;
    for pass in 1..=10 {
        let log_prior: Vec<f64> = state.state_prior.iter().map(|b| b.ln()).collect();
        let slots = SlotParams {
            parts: 3,
            states: 3,
            gate: Some(&state.gate),
            mean: &state.mean,
            variance: &state.variance,
            log_prior: &log_prior,
            mixed: None,
        };
        let own = RowPass::new(&slots, &survey.frame);
        let (mut work, mut sums) = (RowWork::default(), RowSums::new(9, 10));
        let mut lane = table.lane(0..1).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        own.kernel.open(&batch, 0..24, &mut work);
        if let Some(gates) = &gates {
            work.gates.copy_from_slice(gates);
        }
        own.kernel.round(&own.states, &mut work);
        gates = Some(work.gates.clone());
        own.kernel.add(|_| 1.0, &mut work, &mut sums.sums, &mut sums.totals);
        let moments = sums.moments(10);
        state.state_prior = sums.totals.iter().map(|t| t / 24.0).collect();
        moments.update(&survey.frame, &[1e-3; 10], &mut state.mean, &mut state.variance);
        prior_of_gates(&mut state.gate, &gate_sums(&moments, 3, 10), 3, 0.0);
        if [1, 2, 10].contains(&pass) {
            let at = |what: &str| fixture.get(&format!("/outputs/{pass}/{what}"));
            close(&state.mean, &at("mu"), "mu");
            close(&state.variance, &at("var"), "var");
            close(&state.gate, &at("a"), "a");
            close(&state.state_prior, &at("b"), "b");
        }
    }
}

/// The bounds of a run at a fixed floor from a seeded start.
fn bounds(table: &Table<f64>, gate: Gate, entropic: f64, seed: u64) -> Vec<f64> {
    bounds_from(table, table, gate, entropic, seed)
}

/// The same, the start being made from another table.
fn bounds_from(
    begun: &Table<f64>,
    table: &Table<f64>,
    gate: Gate,
    entropic: f64,
    seed: u64,
) -> Vec<f64> {
    let context = Context::new(seed);
    let params = McvqParams::new(3, 3);
    let survey = Survey::of(table, &context).unwrap();
    let starts = McvqStarts { params: &params, survey: &survey };
    let begun_survey = Survey::of(begun, &context).unwrap();
    let start = |restart: usize| {
        let starts = McvqStarts { params: &params, survey: &begun_survey };
        seeded(
            &starts,
            starts.survey,
            &sample(begun, &begun_survey.form, &context)?,
            restart,
            &context,
        )
    };
    let floor = Schedule::constant(0.01);
    let learner = McvqLearner { reseed: false, entropic, ..starts.learner(gate, floor) };
    let plan = Plan { passes: 25, tolerance: 0.0, ..Plan::default() };
    let learned = learn(&learner, start, table, &plan, &context, &mut Silent).unwrap();
    learned.training.restarts.into_iter().next().unwrap().bounds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn the_bound_of_factorised_gates_never_falls(
        seed in 0u64..1000,
        missing in 0.0f64..0.7,
        from in 0usize..6,
        entropic in prop_oneof![Just(0.0), 0.1f64..30.0],
    ) {
        let table = small_table(seed, 40, 8, missing);
        // An entropic prior counts from the pass in which gates have a prior of their own.
        let from = if entropic > 0.0 { 0 } else { from };
        let bounds = bounds(&table, Gate::Factorised { from }, entropic, seed);
        for pair in bounds.windows(2).skip(1) {
            prop_assert!(pair[1] >= pair[0] - 1e-8 * (1.0 + pair[0].abs()), "{bounds:?}");
        }
    }

    #[test]
    fn factorised_scores_are_below_the_enumerated_density_and_above_tied_ones(
        seed in 0u64..1000, missing in 0.0f64..0.9
    ) {
        let tied = random_model(seed, 2, 3, 5);
        let model = tied.clone().with_gates_of_rows(true);
        let table = small_table(seed, 6, 5, missing);
        let scores = score::<f64>(&model, &table, &Context::new(0)).unwrap();
        let below = score::<f64>(&tied, &table, &Context::new(0)).unwrap();
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        for (row, bound) in scores.rows.iter().enumerate() {
            let exact = enumerated_log_density(&model, cells.row(row));
            prop_assert!(*bound <= exact + 1e-9, "row {row}: bound {bound}, exact {exact}");
            prop_assert!(*bound >= below.rows[row] - 1e-9);
        }
    }

    #[test]
    fn sparse_rows_have_the_gates_of_dense_ones(seed in 0u64..1000) {
        let dense = small_table(seed, 30, 6, 0.5);
        let stored = sparse(&dense, Absent::Unobserved);
        let gate = Gate::Factorised { from: 1 };
        let (a, b) = (bounds(&dense, gate, 0.0, seed), bounds_from(&dense, &stored, gate, 0.0, seed));
        for (a, b) in a.iter().zip(&b) {
            prop_assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{a} {b}");
        }
    }
}

#[test]
fn zeros_of_a_count_table_are_observed() {
    let Cells::Dense(cells) = small_table(3, 40, 6, 0.0).cells().clone() else { unreachable!() };
    let counts: Vec<f64> = cells.values().iter().map(|x| x.round().max(0.0)).collect();
    let dense = Table::from(Dense::new(40, 6, counts).unwrap());
    let stored = sparse(&dense, Absent::Zero);
    let model = random_model(3, 2, 3, 6).with_gates_of_rows(true);
    let context = Context::new(0);
    let (a, b) = (
        score::<f64>(&model, &dense, &context).unwrap(),
        score::<f64>(&model, &stored, &context).unwrap(),
    );
    close(&b.rows, &a.rows, "scores");
}

fn params(engine: Engine, gate: Gate) -> McvqParams {
    McvqParams { scouts: 2, engine, gate, ..McvqParams::new(2, 3) }
}

#[test]
fn rows_with_own_gates_give_the_same_bytes_on_any_threads_and_after_a_checkpoint() {
    let table = {
        let Cells::Dense(cells) = small_table(5, 3000, 6, 0.2).cells().clone() else {
            unreachable!()
        };
        let narrow = cells.values().iter().map(|&x| x as f32).collect();
        Table::from(Dense::new(3000, 6, narrow).unwrap())
    };
    for params in [
        params(Engine::Variational, Gate::Factorised { from: 2 }),
        params(Engine::Gibbs { sweeps: 2 }, Gate::Standard),
        params(Engine::Gibbs { sweeps: 2 }, Gate::Factorised { from: 0 }),
    ] {
        let plan =
            Plan { restarts: 2, passes: 6, tolerance: 0.0, checkpoints: None, ..Plan::default() };
        let run = |threads: usize, plan: &Plan, observer: &mut dyn mereo_core::Observer| {
            let context = Context::new(1).with_threads(threads).unwrap();
            fit(&params, &table, plan, &context, observer).unwrap().0
        };
        let alone = run(1, &plan, &mut Silent);
        for threads in [2, 7] {
            assert_eq!(run(threads, &plan, &mut Silent), alone, "{threads} threads");
        }
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("c"), folder.path().join("copy"));
        let every = std::time::Duration::ZERO;
        let checkpoints = Checkpoints { every, ..Checkpoints::new(&path) };
        let mut copier = CopyAt { pass: 5, from: path, to: copy.clone() };
        let writing = Plan { checkpoints: Some(checkpoints), ..plan.clone() };
        assert_eq!(run(2, &writing, &mut copier), alone);
        assert!(copy.exists());
        let checkpoints = Checkpoints { resume: true, ..Checkpoints::new(&copy) };
        let resuming = Plan { checkpoints: Some(checkpoints), ..plan };
        assert_eq!(run(2, &resuming, &mut Silent), alone);
    }
}

/// Copies the checkpoint that the passes before this one of the second restart left.
struct CopyAt {
    pass: usize,
    from: std::path::PathBuf,
    to: std::path::PathBuf,
}

impl mereo_core::Observer for CopyAt {
    fn passed(&mut self, record: &Record) {
        if record.restart == 1 && record.pass == self.pass {
            std::fs::copy(&self.from, &self.to).unwrap();
        }
    }
}

/// Over many sweeps at fixed parameters, how often each state and part is drawn must be its
/// posterior probability, which can be enumerated.
#[test]
fn gibbs_draws_states_and_parts_as_often_as_their_posterior_says() {
    let (parts, states, columns) = (2, 3, 4);
    for seed in 0..3 {
        let model = random_model(seed, parts, states, columns);
        let row = small_table(seed, 1, columns, 0.0);
        let state = random_state_of(&model);
        let context = Context::new(seed);
        let Cells::Dense(cells) = row.cells() else { unreachable!() };
        let cells: Vec<f64> = cells.row(0).to_vec();
        let spread = Table::from(
            Dense::new(
                2,
                columns,
                cells.iter().map(|x| x - 1.0).chain(cells.iter().map(|x| x + 1.0)).collect(),
            )
            .unwrap(),
        );
        let survey = Survey::of(&spread, &context).unwrap();
        let settings = McvqParams::new(parts, states);
        let starts = McvqStarts { params: &settings, survey: &survey };
        let learner = McvqLearner {
            rows: 1.0,
            observed: vec![1.0; columns],
            reseed: false,
            gibbs: Some(Gibbs { sweeps: 40_000, seed: context.seed() }),
            ..starts.learner(Gate::Factorised { from: 0 }, Schedule::constant(1e-6))
        };
        let mut statistics = learner.statistics();
        let mut work = learner.workspace();
        let prepared = learner.prepare(&state, Pass { restart: 0, pass: 0 });
        let mut lane = row.lane(0..1).unwrap();
        learner.accumulate(
            &prepared,
            &lane.next_batch().unwrap().unwrap(),
            &mut work,
            &mut statistics,
        );
        let mut learned = state.clone();
        learner.update(&mut learned, &statistics, Pass { restart: 0, pass: 0 });

        let view = model.parts();
        let (mut of_states, mut of_parts) = (vec![0.0; parts * states], vec![0.0; columns * parts]);
        let mut total = 0.0;
        for joint in 0..states.pow(2) {
            let shown = [joint % states, joint / states];
            let density = |d: usize, k: usize| {
                let slot = k * states + shown[k];
                let variance = model.variance()[slot * columns + d];
                let apart = cells[d] - view.state(k, shown[k])[d];
                view.gate_of(d)[k] * (-0.5 * apart * apart / variance).exp() / variance.sqrt()
            };
            let mut weight: f64 =
                (0..parts).map(|k| view.state_prior[k * states + shown[k]]).product();
            for d in 0..columns {
                weight *= density(d, 0) + density(d, 1);
            }
            total += weight;
            for k in 0..parts {
                of_states[k * states + shown[k]] += weight;
                for d in 0..columns {
                    of_parts[d * parts + k] +=
                        weight * density(d, k) / (density(d, 0) + density(d, 1));
                }
            }
        }
        for (found, exact) in learned.state_prior.iter().zip(&of_states) {
            assert!((found - exact / total).abs() < 0.02, "{found} {}", exact / total);
        }
        for (found, exact) in learned.gate.iter().zip(&of_parts) {
            assert!((found - exact / total).abs() < 0.02, "{found} {}", exact / total);
        }
    }
}

#[test]
fn how_rows_are_seen_is_kept_in_the_file() {
    let model = random_model(1, 2, 3, 5).with_gates_of_rows(true);
    let file = model.to_file(mereo_core::Manifest::new("mcvq"));
    let back = Mcvq::from_file(file, "a".as_ref()).unwrap();
    assert_eq!(back, model);
    let table = small_table(1, 7, 5, 0.3);
    let context = Context::new(0);
    let codes = encode::<f64>(&back, &table, &context).unwrap();
    for row in 0..7 {
        let alone = encode::<f64>(&back, &table.select_rows(&[row]), &context).unwrap();
        close(alone.row(0), codes.row(row), "codes");
    }
}

#[test]
fn many_samples_under_a_shared_gate_tell_what_expectations_do() {
    let table = super::small_table(4, 30, 6, 0.2);
    let context = Context::new(4);
    let survey = Survey::of(&table, &context).unwrap();
    let params = McvqParams::new(2, 3);
    let starts = McvqStarts { params: &params, survey: &survey };
    let state = super::random_state_of(&super::random_model(4, 2, 3, 6));
    let relearned = |gibbs: Option<Gibbs>| {
        let learner = McvqLearner {
            gibbs,
            reseed: false,
            ..starts.learner(Gate::Standard, Schedule::constant(1e-6))
        };
        let pass = Pass { restart: 0, pass: 0 };
        let (mut statistics, mut work) = (learner.statistics(), learner.workspace());
        let prepared = learner.prepare(&state, pass);
        let mut lane = table.lane(0..1).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        learner.accumulate(&prepared, &batch, &mut work, &mut statistics);
        statistics.finish();
        let mut learned = state.clone();
        learner.update(&mut learned, &statistics, pass);
        (learned, learner.bound(&statistics))
    };
    let (expected, bound) = relearned(None);
    let (sampled, same) = relearned(Some(Gibbs { sweeps: 20_000, seed: context.seed() }));
    assert!((bound - same).abs() < 1e-9 * bound.abs());
    for (a, b) in sampled.state_prior.iter().zip(&expected.state_prior) {
        assert!((a - b).abs() < 5e-3, "{a} {b}");
    }
    for (a, b) in sampled.gate.iter().zip(&expected.gate) {
        assert!((a - b).abs() < 0.02, "{a} {b}");
    }
    let (one, _) = relearned(Some(Gibbs { sweeps: 1, seed: context.seed() }));
    assert_ne!(one.state_prior, expected.state_prior);
}
