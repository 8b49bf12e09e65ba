//! MCFA against an independent implementation, against integrals, and against its theory.

use mereo_core::slots::Survey;
use mereo_core::{
    Absent, Cells, Context, Dense, Plan, Schedule, Silent, Start, Table, encode, learn,
    reconstruct, sample, score,
};
use proptest::prelude::*;
use rand::RngExt;

use super::learner::{McfaLearner, State};
use super::starts::McfaStarts;
use super::{Mcfa, McfaParams, fit};
use crate::Gate;
use crate::fixtures::{Fixture, close, sparse};
use crate::starts::{sample as start_sample, seeded};

mod classes;
mod likelihood;
mod posterior;

#[test]
fn agrees_with_the_reference_implementation() {
    let fixture = Fixture::open("mcfa_standard_joint");
    let table = Table::from(Dense::new(24, 10, fixture.get("/inputs/X")).unwrap());
    // The same rows as if cells could be missing: every row has a covariance of its own then.
    let all = sparse(&table, Absent::Unobserved);
    for table in [&table, &all] {
        let context = Context::new(0);
        let survey = Survey::of(table, &context).unwrap();
        let params = McfaParams::new(3, 2);
        let starts = McfaStarts { params: &params, survey: &survey };
        let begin = State {
            gate: fixture.get("/inputs/g"),
            loading: fixture.get("/inputs/Lam"),
            offset: fixture.get("/inputs/rho"),
            noise: fixture.get("/inputs/psi"),
            classes: None,
            posterior: None,
        };
        let start = |_: usize| Ok(Start { state: begin.clone(), how: "given".into() });
        let learner = McfaLearner {
            reference: vec![1.0; 10],
            ..starts.learner(Some(Gate::Standard), Schedule::constant(1e-3))
        };
        for passes in [1, 2, 10] {
            let plan = Plan { passes, tolerance: 0.0, ..Plan::default() };
            let learned = learn(&learner, start, table, &plan, &context, &mut Silent).unwrap();
            let at = |what: &str| fixture.get(&format!("/outputs/{passes}/{what}"));
            close(&learned.state.loading, &at("Lam"), "loading");
            close(&learned.state.offset, &at("rho"), "offset");
            close(&learned.state.noise, &at("psi"), "noise");
            close(&learned.state.gate, &at("g"), "gate");
        }
    }
}

fn random_model(seed: u64, parts: usize, factors: usize, columns: usize) -> Mcfa {
    let mut random = Context::new(seed).random("model", [0, 0]);
    let mut gate = Vec::new();
    for _ in 0..columns {
        let raw: Vec<f64> = (0..parts).map(|_| random.random_range(0.05..1.0)).collect();
        let sum: f64 = raw.iter().sum();
        gate.extend(raw.iter().map(|v| v / sum));
    }
    let mut draw = |count: usize, low: f64, high: f64| -> Vec<f64> {
        (0..count).map(|_| random.random_range(low..high)).collect()
    };
    let state = State {
        gate,
        loading: draw(parts * columns * factors, -1.5, 1.5),
        offset: draw(parts * columns, -1.0, 2.0),
        noise: draw(parts * columns, 0.2, 2.0),
        classes: None,
        posterior: None,
    };
    Mcfa::from_state(state, parts, factors)
}

fn with_hard_gates(model: &Mcfa, parts: usize) -> Mcfa {
    let columns = model.columns();
    let mut gate = vec![0.0; columns * parts];
    (0..columns).for_each(|d| gate[d * parts + d % parts] = 1.0);
    let state = State {
        gate,
        loading: model.loading().to_vec(),
        offset: model.offset().to_vec(),
        noise: model.noise().to_vec(),
        classes: None,
        posterior: None,
    };
    Mcfa::from_state(state, parts, model.factors())
}

/// A table that varies along a few directions; `missing` of its cells hidden.
fn small_table(seed: u64, rows: usize, columns: usize, missing: f64) -> Table<f64> {
    let mut random = Context::new(seed).random("table", [0, 0]);
    let slopes: Vec<f64> = (0..2 * columns).map(|_| random.random_range(-1.0..1.0)).collect();
    let mut cells = Vec::new();
    for _ in 0..rows {
        let s: [f64; 2] = [random.random_range(-1.5..1.5), random.random_range(-1.5..1.5)];
        for d in 0..columns {
            let x =
                slopes[d] * s[d % 2] + 0.3 * slopes[columns + d] + random.random_range(-0.2..0.2);
            cells.push(if random.random::<f64>() < missing { f64::NAN } else { x });
        }
    }
    Table::from(Dense::new(rows, columns, cells).unwrap())
}

/// `log N(x; ρ, Λ Λᵀ + Ψ)` of some columns, by elimination.
fn gaussian_log_density(model: &Mcfa, part: usize, cells: &[(usize, f64)]) -> f64 {
    let (n, j, columns) = (cells.len(), model.factors(), model.columns());
    let loading = |d: usize| {
        let i = (part * columns + d) * j;
        &model.loading()[i..i + j]
    };
    let mut a: Vec<Vec<f64>> = (0..n)
        .map(|r| {
            let (d, x) = cells[r];
            let mut row: Vec<f64> = (0..n)
                .map(|c| {
                    let shared: f64 =
                        loading(d).iter().zip(loading(cells[c].0)).map(|(a, b)| a * b).sum();
                    shared + if r == c { model.noise()[part * columns + d] } else { 0.0 }
                })
                .collect();
            row.push(x - model.offset()[part * columns + d]);
            row
        })
        .collect();
    let (mut log_determinant, mut square) = (0.0, 0.0);
    for p in 0..n {
        log_determinant += a[p][p].ln();
        square += a[p][n] * a[p][n] / a[p][p];
        for r in p + 1..n {
            let ratio = a[r][p] / a[p][p];
            for c in p..=n {
                a[r][c] -= ratio * a[p][c];
            }
        }
    }
    -0.5 * (n as f64 * (2.0 * std::f64::consts::PI).ln() + log_determinant + square)
}

/// `log ∫ Π_k N(s_k; 0, 1) Π_d Σ_k a_dk N(x_d; ρ + λ s_k, ψ) ds` for two parts of one factor each.
fn integrated_log_density(model: &Mcfa, gate: &[f64], row: &[f64]) -> f64 {
    let columns = model.columns();
    let (steps, reach) = (400, 8.0);
    let width = 2.0 * reach / f64::from(steps);
    let at = |i: i32| -reach + (f64::from(i) + 0.5) * width;
    let mut total = 0.0;
    for i in 0..steps {
        for j in 0..steps {
            let s = [at(i), at(j)];
            let mut density =
                (-0.5 * (s[0] * s[0] + s[1] * s[1])).exp() / (2.0 * std::f64::consts::PI);
            for (d, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                density *= (0..2)
                    .map(|k| {
                        let i = k * columns + d;
                        let apart = x - model.offset()[i] - model.loading()[i] * s[k];
                        // Loadings that are not known add to the noise.
                        let unsure = model.covariance().map_or(0.0, |c| {
                            let c = &c[i * 3..(i + 1) * 3];
                            c[0] * s[k] * s[k] + 2.0 * c[1] * s[k] + c[2]
                        });
                        let noise = model.noise()[i] + unsure;
                        gate[d * 2 + k] * (-0.5 * apart * apart / noise).exp()
                            / (2.0 * std::f64::consts::PI * noise).sqrt()
                    })
                    .sum::<f64>();
            }
            total += density * width * width;
        }
    }
    total.ln()
}

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
    let params = McfaParams::new(3, 2);
    let survey = Survey::of(table, &context).unwrap();
    let starts = McfaStarts { params: &params, survey: &survey };
    let begun_survey = Survey::of(begun, &context).unwrap();
    let start = |restart: usize| {
        let starts = McfaStarts { params: &params, survey: &begun_survey };
        seeded(
            &starts,
            starts.survey,
            &start_sample(begun, &begun_survey.form, &context)?,
            restart,
            &context,
        )
    };
    let learner = McfaLearner { entropic, ..starts.learner(Some(gate), Schedule::constant(0.01)) };
    let plan = Plan { passes: 20, tolerance: 0.0, ..Plan::default() };
    let learned = learn(&learner, start, table, &plan, &context, &mut Silent).unwrap();
    learned.training.restarts.into_iter().next().unwrap().bounds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn with_a_hard_gate_the_bound_is_the_density(seed in 0u64..1000, missing in 0.0f64..0.9) {
        let model = with_hard_gates(&random_model(seed, 2, 2, 6), 2);
        let table = small_table(seed, 5, 6, missing);
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        for own in [false, true] {
            let model = model.clone().with_gates_of_rows(own);
            let scores = score::<f64>(&model, &table, &Context::new(0)).unwrap();
            for (row, bound) in scores.rows.iter().enumerate() {
                let exact: f64 = (0..2)
                    .map(|part| {
                        let seen = cells.row(row).iter().copied().enumerate();
                        let seen: Vec<(usize, f64)> =
                            seen.filter(|(d, x)| d % 2 == part && !x.is_nan()).collect();
                        gaussian_log_density(&model, part, &seen)
                    })
                    .sum();
                prop_assert!((bound - exact).abs() < 1e-9 * (1.0 + exact.abs()), "{bound} {exact}");
            }
        }
    }

    #[test]
    fn the_bound_never_falls_at_a_fixed_floor(
        seed in 0u64..1000,
        missing in prop_oneof![Just(0.0), 0.0f64..0.7],
        gate in prop_oneof![
            Just(Gate::Standard), Just(Gate::RTied), Just(Gate::Annealed { from: 0.7, passes: 12 }),
            Just(Gate::Factorised { from: 0 }), Just(Gate::Factorised { from: 5 })
        ],
    ) {
        let table = small_table(seed, 40, 8, missing);
        let bounds = bounds(&table, gate, 0.0, seed);
        for pair in bounds.windows(2).skip(1) {
            prop_assert!(pair[1] >= pair[0] - 1e-8 * (1.0 + pair[0].abs()), "{bounds:?}");
        }
    }

    #[test]
    fn with_an_entropic_prior_it_never_falls_either(seed in 0u64..1000, alpha in 0.1f64..30.0) {
        let bounds = bounds(&small_table(seed, 40, 8, 0.2), Gate::Factorised { from: 0 }, alpha, seed);
        for pair in bounds.windows(2).skip(1) {
            prop_assert!(pair[1] >= pair[0] - 1e-8 * (1.0 + pair[0].abs()), "{bounds:?}");
        }
    }

    #[test]
    fn sparse_rows_learn_as_dense_ones(seed in 0u64..1000) {
        let dense = small_table(seed, 30, 6, 0.4);
        let stored = sparse(&dense, Absent::Unobserved);
        for gate in [Gate::Standard, Gate::Factorised { from: 1 }] {
            let (a, b) = (bounds(&dense, gate, 0.0, seed), bounds_from(&dense, &stored, gate, 0.0, seed));
            for (a, b) in a.iter().zip(&b) {
                prop_assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{a} {b}");
            }
        }
    }
}

#[test]
fn the_bound_is_below_the_integrated_density() {
    for seed in 0..6 {
        let tied = random_model(seed, 2, 1, 4);
        let gate = mereo_core::Parts::parts(&tied).gate.to_vec();
        let table = small_table(seed, 4, 4, 0.2);
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        let of = |model: &Mcfa| score::<f64>(model, &table, &Context::new(0)).unwrap().rows;
        let (below, above) = (of(&tied), of(&tied.clone().with_gates_of_rows(true)));
        for row in 0..4 {
            let exact = integrated_log_density(&tied, &gate, cells.row(row));
            assert!(below[row] <= above[row] + 1e-9, "{} {}", below[row], above[row]);
            assert!(above[row] <= exact + 1e-6, "{} {exact}", above[row]);
        }
    }
}

#[test]
fn zeros_of_a_count_table_are_observed() {
    let Cells::Dense(cells) = small_table(3, 60, 6, 0.0).cells().clone() else { unreachable!() };
    let counts: Vec<f64> = cells.values().iter().map(|x| (2.0 * x).round().max(0.0)).collect();
    let dense = Table::from(Dense::new(60, 6, counts).unwrap());
    let stored = sparse(&dense, Absent::Zero);
    for gate in [Gate::Standard, Gate::Factorised { from: 1 }] {
        let (a, b) = (bounds(&dense, gate, 0.0, 1), bounds_from(&dense, &stored, gate, 0.0, 1));
        for (a, b) in a.iter().zip(&b) {
            assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{a} {b}");
        }
    }
}

#[test]
fn samples_have_the_moments_of_the_model() {
    let model = random_model(2, 2, 2, 3);
    let gate = mereo_core::Parts::parts(&model).gate.to_vec();
    let rows = 40_000;
    let drawn = sample(&model, rows, true, &Context::new(5)).unwrap();
    for d in 0..3 {
        let mean: f64 = (0..2).map(|k| gate[d * 2 + k] * model.offset()[k * 3 + d]).sum();
        let second: f64 = (0..2)
            .map(|k| {
                let i = k * 3 + d;
                let moved: f64 = model.loading()[i * 2..i * 2 + 2].iter().map(|l| l * l).sum();
                gate[d * 2 + k] * (model.noise()[i] + moved + model.offset()[i].powi(2))
            })
            .sum();
        let cells: Vec<f64> = (0..rows).map(|r| drawn.row(r)[d]).collect();
        let found = cells.iter().sum::<f64>() / rows as f64;
        let squares = cells.iter().map(|x| x * x).sum::<f64>() / rows as f64;
        assert!((found - mean).abs() < 0.05, "column {d}: {found} {mean}");
        assert!((squares - second).abs() < 0.15, "column {d}: {squares} {second}");
    }
}

#[test]
fn missing_cells_are_filled_from_the_part_that_they_belong_to() {
    // One factor that both columns follow: the one tells the other.
    let state = State {
        gate: vec![1.0; 2],
        loading: vec![1.0, 2.0],
        offset: vec![10.0, 20.0],
        noise: vec![1e-6; 2],
        classes: None,
        posterior: None,
    };
    let model = Mcfa::from_state(state, 1, 1);
    let table = Table::from(Dense::new(1, 2, vec![11.5, f64::NAN]).unwrap());
    let context = Context::new(0);
    let filled = reconstruct::<f64>(&model, &table, &context).unwrap();
    assert!((filled.row(0)[1] - 23.0).abs() < 1e-3, "{:?}", filled.row(0));
    let codes = encode::<f64>(&model, &table, &context).unwrap();
    assert!((codes.row(0)[0] - 1.5).abs() < 1e-3);
}

#[test]
fn groups_of_columns_that_move_together_are_found() {
    let mut right = 0;
    for seed in 0..10 {
        let mut random = Context::new(seed).random("planted", [0, 0]);
        let slopes: Vec<f64> = (0..24).map(|_| random.random_range(0.5..1.5)).collect();
        let mut cells = Vec::new();
        for _ in 0..300 {
            let s: [f64; 6] = std::array::from_fn(|_| random.random_range(-1.7..1.7));
            for d in 0..24 {
                let group = d / 8;
                let x = slopes[d] * s[2 * group + d % 2] + 0.4 * s[2 * group + (d + 1) % 2];
                cells.push(x + random.random_range(-0.3..0.3));
            }
        }
        let table = Table::from(Dense::new(300, 24, cells).unwrap());
        let plan = Plan { restarts: 3, ..Plan::default() };
        let params = McfaParams { scouts: 6, ..McfaParams::new(3, 2) };
        let (model, _) = fit(&params, &table, &plan, &Context::new(seed), &mut Silent).unwrap();
        let found = mereo_core::Parts::parts(&model).part_of_column();
        let same = |a: usize, b: usize| found[a] == found[b];
        let all = (0..24).all(|a| (0..24).all(|b| same(a, b) == (a / 8 == b / 8)));
        right += usize::from(all);
    }
    assert!(right >= 9, "{right} of 10");
}
