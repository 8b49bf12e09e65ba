//! Exact densities against brute force, estimates against exact densities.

use mereo_core::{Likelihood, ScoreKind, classify, estimate};

use super::classes::{one_class, random_class_model};
use super::*;

fn cells(table: &Table<f64>) -> &Dense<f64> {
    let Cells::Dense(cells) = table.cells() else { unreachable!() };
    cells
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn exact_is_what_enumeration_says(seed in 0u64..1000, missing in 0.0f64..0.9) {
        let model = random_model(seed, 3, 3, 5);
        let table = small_table(seed, 6, 5, missing);
        let scores = estimate::<f64>(&model, Likelihood::Exact, &table, &Context::new(0)).unwrap();
        prop_assert_eq!(scores.kind, ScoreKind::Exact);
        for (row, found) in scores.rows.iter().enumerate() {
            let expected = enumerated_log_density(&model, cells(&table).row(row));
            prop_assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()));
        }
    }

    #[test]
    fn exact_classes_follow_from_the_densities_of_each(seed in 0u64..1000) {
        let model = random_class_model(seed, 3, [2, 3, 5]);
        let table = small_table(seed, 4, 5, 0.2);
        let context = Context::new(0);
        let found = classify::<f64>(&model, Likelihood::Exact, &table, &context).unwrap();
        let scores = estimate::<f64>(&model, Likelihood::Exact, &table, &context).unwrap();
        let prior = model.class_view().unwrap().prior.to_vec();
        for row in 0..4 {
            let cells = cells(&table).row(row);
            let mut logs: Vec<f64> = (0..3)
                .map(|n| prior[n].ln() + enumerated_log_density(&one_class(&model, n), cells))
                .collect();
            let total = mereo_core::math::softmax(&mut logs);
            prop_assert!((scores.rows[row] - total).abs() < 1e-9 * (1.0 + total.abs()));
            for (found, expected) in found.row(row).iter().zip(&logs) {
                prop_assert!((found - expected).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn outliers_have_densities_too() {
    let model = random_model(3, 3, 3, 4);
    let far = Dense::new(2, 4, vec![1e5, -1e5, 3e4, 0.0, 1e80, f64::NAN, -1e100, 5.0]).unwrap();
    let table = Table::from(far);
    let context = Context::new(0);
    let exact = estimate::<f64>(&model, Likelihood::Exact, &table, &context).unwrap();
    let drawn = estimate::<f64>(&model, Likelihood::Importance(50), &table, &context).unwrap();
    for ((exact, drawn), row) in exact.rows.iter().zip(&drawn.rows).zip(0..) {
        let expected = enumerated_log_density_in_logs(&model, cells(&table).row(row));
        assert!((exact / expected - 1.0).abs() < 1e-9, "{exact} {expected}");
        assert!(drawn.is_finite());
    }
}

/// As `enumerated_log_density`, for rows whose densities are below the smallest number.
fn enumerated_log_density_in_logs(model: &Mcvq, row: &[f64]) -> f64 {
    let view = model.parts();
    let mut logs: Vec<f64> = (0..view.states.pow(view.parts as u32))
        .map(|code| {
            let shown = |k: usize| code / view.states.pow(k as u32) % view.states;
            let prior = |k: usize| view.state_prior[k * view.states + shown(k)].ln();
            let mut log: f64 = (0..view.parts).map(prior).sum();
            for (d, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                let mut of_parts: Vec<f64> = (0..view.parts)
                    .map(|k| {
                        let slot = k * view.states + shown(k);
                        let variance = model.variance()[slot * view.columns + d];
                        view.gate_of(d)[k].ln()
                            + log_normal(x, view.state(k, shown(k))[d], variance)
                    })
                    .collect();
                log += mereo_core::math::softmax(&mut of_parts);
            }
            log
        })
        .collect();
    mereo_core::math::softmax(&mut logs)
}

/// Of many random models and rows, the share whose estimate is within two standard errors of the
/// exact density.
fn coverage(how: Likelihood, classes: bool) -> f64 {
    let (mut within, mut all) = (0, 0);
    for seed in 0..150 {
        let model = if classes {
            random_class_model(seed, 3, [3, 3, 6])
        } else {
            random_model(seed, 3, 3, 6)
        };
        let table = small_table(seed, 4, 6, 0.1);
        let context = Context::new(seed);
        for row in 0..4 {
            let row = table.select_rows(&[row]);
            let exact = estimate::<f64>(&model, Likelihood::Exact, &row, &context).unwrap().mean;
            let drawn = estimate::<f64>(&model, how, &row, &context).unwrap();
            let error = drawn.standard_error.unwrap();
            within += usize::from((drawn.mean - exact).abs() <= 2.0 * error + 1e-9);
            all += 1;
            assert!(drawn.effective_samples.unwrap() <= 200.0 + 1e-6);
        }
    }
    f64::from(within as u32) / f64::from(all)
}

#[test]
fn importance_is_within_two_standard_errors_of_exact() {
    for classes in [false, true] {
        let within = coverage(Likelihood::Importance(200), classes);
        assert!(within >= 0.95, "{within} of rows, classes: {classes}");
    }
}

/// A model as learning leaves them: columns belong mostly to one part, states differ.
fn sharp_model(seed: u64) -> Mcvq {
    let mut state = random_state_of(&random_model(seed, 4, 5, 24));
    for gate in state.gate.chunks_mut(4) {
        gate.iter_mut().for_each(|g| *g = g.powi(6));
        let sum: f64 = gate.iter().sum();
        gate.iter_mut().for_each(|g| *g /= sum);
    }
    state.variance.iter_mut().for_each(|v| *v *= 0.1);
    Mcvq::from_state(state, 4, 5)
}

#[test]
fn importance_is_far_surer_than_the_prior() {
    let context = Context::new(2);
    let (mut importance, mut prior) = (0.0, 0.0);
    for seed in 0..20 {
        let model = sharp_model(seed);
        let rows = mereo_core::sample(&model, 20, true, &context).unwrap();
        let table = Table::from(rows);
        let errors = |how| {
            let drawn = estimate::<f64>(&model, how, &table, &context).unwrap();
            drawn.standard_error.unwrap()
        };
        importance += errors(Likelihood::Importance(100));
        prior += errors(Likelihood::Prior(1000));
    }
    assert!(importance < 0.2 * prior, "{importance} against {prior} with ten times the draws");
}

#[test]
fn with_a_hard_gate_importance_needs_but_few_draws() {
    let mut state = random_state_of(&random_model(5, 3, 4, 9));
    for (d, gate) in state.gate.chunks_mut(3).enumerate() {
        gate.copy_from_slice(&[0.0; 3]);
        gate[d % 3] = 1.0;
    }
    let model = Mcvq::from_state(state, 3, 4);
    let table = small_table(5, 20, 9, 0.1);
    let context = Context::new(1);
    let exact = estimate::<f64>(&model, Likelihood::Exact, &table, &context).unwrap();
    let drawn = estimate::<f64>(&model, Likelihood::Importance(100), &table, &context).unwrap();
    assert!((exact.mean - drawn.mean).abs() < 0.05, "{} {}", exact.mean, drawn.mean);
    assert!(drawn.effective_samples.unwrap() > 50.0);
}

#[test]
fn draws_depend_on_seed_and_row_alone() {
    let model = random_model(5, 4, 4, 9);
    let table = small_table(5, 300, 9, 0.1);
    let how = Likelihood::Importance(20);
    let rows = |seed: u64, threads: usize| {
        let context = Context::new(seed).with_threads(threads).unwrap();
        estimate::<f64>(&model, how, &table, &context).unwrap().rows
    };
    assert_eq!(rows(3, 1), rows(3, 2));
    assert_eq!(rows(3, 1), rows(3, 7));
    assert_ne!(rows(3, 1), rows(4, 1));
}

#[test]
fn what_cannot_be_done_is_said() {
    let model = random_model(5, 12, 4, 3);
    let table = small_table(5, 2, 3, 0.0);
    let said =
        |how| estimate::<f64>(&model, how, &table, &Context::new(0)).unwrap_err().to_string();
    assert!(said(Likelihood::Exact).contains("importance"), "{}", said(Likelihood::Exact));
    assert!(said(Likelihood::Importance(0)).contains("samples"));
}
