//! MCVQ against an independent implementation, against enumeration, and against its theory.

use mereo_core::slots::Survey;
use mereo_core::{
    Cells, Context, Dense, Parts, Plan, Schedule, Silent, Start, Table, learn, score,
};
use mereo_data::toy::shapes;
use proptest::prelude::*;
use rand::RngExt;

use super::learner::{McvqLearner, State};
use super::starts::McvqStarts;
use super::{Mcvq, McvqParams, fit};
use crate::Gate;
use crate::fixtures::{Fixture, close};
use crate::starts::{StartParts, falling_floor, sample, seeded};

mod kinds;
mod rows;

#[test]
fn agrees_with_the_reference_implementation() {
    for name in ["mcvq_standard", "mcvq_standard_masked"] {
        let fixture = Fixture::open(name);
        let mask = fixture.get("/inputs/mask");
        let values: Vec<f64> = fixture
            .get("/inputs/X")
            .iter()
            .zip(&mask)
            .map(|(x, m)| if *m == 1.0 { *x } else { f64::NAN })
            .collect();
        let table = Table::from(Dense::new(24, 10, values).unwrap());
        let context = Context::new(0);
        let survey = Survey::of(&table, &context).unwrap();
        let params = McvqParams::new(3, 3);
        let starts = McvqStarts { params: &params, survey: &survey };
        let begin = State {
            gate: fixture.get("/inputs/g"),
            state_prior: fixture.get("/inputs/b"),
            mean: fixture.get("/inputs/mu"),
            variance: fixture.get("/inputs/var"),
            level: Vec::new(),
            observed: Vec::new(),
            reseeds: 0,
            classes: None,
        };
        let start = |_: usize| Ok(Start { state: begin.clone(), how: "given".into() });
        let learner = McvqLearner {
            reference: vec![1.0; 10],
            reseed: false,
            ..starts.learner(Gate::Standard, Schedule::constant(1e-3))
        };
        for passes in [1, 2, 10] {
            let plan = Plan { passes, tolerance: 0.0, ..Plan::default() };
            let learned = learn(&learner, start, &table, &plan, &context, &mut Silent).unwrap();
            let at = |what: &str| fixture.get(&format!("/outputs/{passes}/{what}"));
            close(&learned.state.mean, &at("mu"), "mu");
            close(&learned.state.variance, &at("var"), "var");
            close(&learned.state.gate, &at("g"), "g");
            close(&learned.state.state_prior, &at("b"), "b");
        }
    }
}

/// The scrambled share of seeded columns is put into random groups; EM must put them right.
fn restored(scrambled: f64, seed: u64) -> f64 {
    let (train, _) = shapes::split(seed).unwrap();
    let truth: Vec<Option<usize>> =
        train.truth.part_of_column.iter().map(|p| p.map(|p| p as usize)).collect();
    let mut random = Context::new(seed).random("scramble", [0, 0]);
    let groups: Vec<Option<usize>> = truth
        .iter()
        .map(|g| {
            g.map(
                |g| if random.random::<f64>() < scrambled { random.random_range(0..3) } else { g },
            )
        })
        .collect();
    let context = Context::new(seed);
    let params = McvqParams::new(3, 12);
    let survey = Survey::of(&train.table, &context).unwrap();
    let starts = McvqStarts { params: &params, survey: &survey };
    let start = |restart: usize| {
        let sample = sample(&train.table, &survey.form, &context)?;
        let state = starts.of_groups(starts.survey, &sample, &groups, restart, &context)?;
        Ok(Start { state, how: "scrambled".into() })
    };
    let learner =
        McvqLearner { ..starts.learner(params.gate, falling_floor(params.variance_floor)) };
    let plan = Plan { passes: 100, ..Plan::default() };
    let learned = learn(&learner, start, &train.table, &plan, &context, &mut Silent).unwrap();
    let model = Mcvq::from_state(learned.state, 3, 12);
    train.truth.recovery(&model.parts().part_of_column()).unwrap().purity
}

#[test]
fn em_restores_parts_from_scrambled_groups() {
    let right = |scrambled: f64| (0..12).filter(|&seed| restored(scrambled, seed) > 0.999).count();
    let (half, most) = (right(0.5), right(0.7));
    assert!(half >= 11, "half scrambled: {half} of 12");
    assert!(most >= 9, "70% scrambled: {most} of 12");
}

#[test]
fn parts_are_found_with_half_of_the_cells_missing() {
    let mut right = 0;
    for seed in 0..10 {
        let train = shapes::split(seed).unwrap().0.with_missing(0.5, seed).unwrap();
        let plan = Plan { restarts: 3, ..Plan::default() };
        let (model, _) =
            fit(&McvqParams::new(3, 12), &train.table, &plan, &Context::new(seed), &mut Silent)
                .unwrap();
        let found = train.truth.recovery(&model.parts().part_of_column()).unwrap();
        right += usize::from(found.purity >= 0.95);
    }
    assert!(right >= 8, "{right} of 10");
}

/// A small table with a structure that depends on the seed; `missing` of its cells hidden.
fn small_table(seed: u64, rows: usize, columns: usize, missing: f64) -> Table<f64> {
    let mut random = Context::new(seed).random("table", [0, 0]);
    let cells = (0..rows * columns)
        .map(|i| {
            let shown = f64::from((i / columns) as u32 * 7 % (2 + (i % columns) as u32));
            let x = shown + random.random_range(-0.3..0.3);
            if random.random::<f64>() < missing { f64::NAN } else { x }
        })
        .collect();
    Table::from(Dense::new(rows, columns, cells).unwrap())
}

fn random_model(seed: u64, parts: usize, states: usize, columns: usize) -> Mcvq {
    let mut random = Context::new(seed).random("model", [0, 0]);
    let mut distributions = |count: usize, width: usize| -> Vec<f64> {
        let mut all = Vec::new();
        for _ in 0..count {
            let raw: Vec<f64> = (0..width).map(|_| random.random_range(0.05..1.0)).collect();
            let sum: f64 = raw.iter().sum();
            all.extend(raw.iter().map(|v| v / sum));
        }
        all
    };
    let gate = distributions(columns, parts);
    let state_prior = distributions(parts, states);
    let slots = parts * states * columns;
    let mean = (0..slots).map(|_| random.random_range(-2.0..4.0)).collect();
    let variance = (0..slots).map(|_| random.random_range(0.2..3.0)).collect();
    Mcvq::from_state(
        State {
            gate,
            state_prior,
            mean,
            variance,
            level: Vec::new(),
            observed: Vec::new(),
            reseeds: 0,
            classes: None,
        },
        parts,
        states,
    )
}

/// log N(x; μ, σ²).
fn log_normal(x: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((2.0 * std::f64::consts::PI * variance).ln() + (x - mean).powi(2) / variance)
}

/// `log Σ_S Π_k b_k,S_k Π_d Σ_k a_dk N(x_d)` over all J^K joint states.
fn enumerated_log_density(model: &Mcvq, row: &[f64]) -> f64 {
    let view = model.parts();
    let joint = view.states.pow(view.parts as u32);
    let mut logs: Vec<f64> = (0..joint)
        .map(|code| {
            let shown: Vec<usize> =
                (0..view.parts).map(|k| code / view.states.pow(k as u32) % view.states).collect();
            let mut log: f64 =
                (0..view.parts).map(|k| view.state_prior[k * view.states + shown[k]].ln()).sum();
            for (d, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                let density: f64 = (0..view.parts)
                    .map(|k| {
                        let slot = k * view.states + shown[k];
                        let variance = model.variance()[slot * view.columns + d];
                        view.gate_of(d)[k]
                            * log_normal(x, view.state(k, shown[k])[d], variance).exp()
                    })
                    .sum();
                log += density.ln();
            }
            log
        })
        .collect();
    mereo_core::math::softmax(&mut logs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_bound_is_below_the_enumerated_density(seed in 0u64..1000, missing in 0.0f64..0.9) {
        let model = random_model(seed, 2, 3, 5);
        let table = small_table(seed, 6, 5, missing);
        let scores = score::<f64>(&model, &table, &Context::new(0)).unwrap();
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        for (row, bound) in scores.rows.iter().enumerate() {
            let exact = enumerated_log_density(&model, cells.row(row));
            prop_assert!(*bound <= exact + 1e-9, "row {row}: bound {bound}, exact {exact}");
        }
    }

    #[test]
    fn with_a_hard_gate_the_bound_is_the_density(seed in 0u64..1000, missing in 0.0f64..0.9) {
        let mut state = random_state_of(&random_model(seed, 3, 2, 6));
        for (d, gate) in state.gate.chunks_mut(3).enumerate() {
            gate.copy_from_slice(&[0.0; 3]);
            gate[d % 3] = 1.0;
        }
        let model = Mcvq::from_state(state, 3, 2);
        let table = small_table(seed, 5, 6, missing);
        let scores = score::<f64>(&model, &table, &Context::new(0)).unwrap();
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        for (row, bound) in scores.rows.iter().enumerate() {
            let exact = enumerated_log_density(&model, cells.row(row));
            prop_assert!((bound - exact).abs() < 1e-9 * (1.0 + exact.abs()), "{bound} {exact}");
        }
    }

    #[test]
    fn the_bound_never_falls_at_a_fixed_floor(
        seed in 0u64..1000,
        missing in 0.0f64..0.7,
        gate in prop_oneof![
            Just(Gate::Standard), Just(Gate::RTied), Just(Gate::Annealed { from: 0.7, passes: 12 })
        ],
    ) {
        let table = small_table(seed, 40, 8, missing);
        let context = Context::new(seed);
        let params = McvqParams::new(3, 3);
        let survey = Survey::of(&table, &context).unwrap();
        let starts = McvqStarts { params: &params, survey: &survey };
        let start = |restart: usize| {
            seeded(&starts, starts.survey, &sample(&table, &survey.form, &context)?, restart, &context)
        };
        let floor = Schedule::constant(0.01);
        let learner =
            McvqLearner { reseed: false, ..starts.learner(gate, floor) };
        let plan = Plan { passes: 25, tolerance: 0.0, ..Plan::default() };
        let bounds = learn(&learner, start, &table, &plan, &context, &mut Silent).unwrap().training.restarts.remove(0).bounds;
        for pair in bounds.windows(2).skip(1) {
            prop_assert!(pair[1] >= pair[0] - 1e-8 * (1.0 + pair[0].abs()), "{bounds:?}");
        }
    }
}

fn random_state_of(model: &Mcvq) -> State {
    let view = model.parts();
    State {
        gate: view.gate.to_vec(),
        state_prior: view.state_prior.to_vec(),
        mean: view.mean.to_vec(),
        variance: model.variance().to_vec(),
        level: Vec::new(),
        observed: Vec::new(),
        reseeds: 0,
        classes: None,
    }
}

mod classes;
mod likelihood;
