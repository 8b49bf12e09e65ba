//! Estimates against integrals on a grid.

use mereo_core::{Likelihood, ScoreKind, classify, estimate};

use super::classes::{one_class, random_class_model};
use super::*;

fn exact(model: &Mcfa, row: &[f64]) -> f64 {
    let gate = mereo_core::Parts::parts(model).gate.to_vec();
    let Some(view) = model.class_view() else {
        return integrated_log_density(model, &gate, row);
    };
    let mut logs: Vec<f64> = view
        .prior
        .iter()
        .enumerate()
        .map(|(n, b)| b.ln() + integrated_log_density(&one_class(model, n), &gate, row))
        .collect();
    mereo_core::math::softmax(&mut logs)
}

/// Of many random models, the share whose estimate is within two standard errors of the integral.
fn coverage(how: Likelihood, classes: bool) -> f64 {
    let (mut within, mut all) = (0, 0);
    for seed in 0..100 {
        let model = if classes {
            random_class_model(seed, 2, [2, 1, 5])
        } else {
            random_model(seed, 2, 1, 5)
        };
        let table = small_table(seed, 2, 5, 0.2);
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        let context = Context::new(seed);
        for row in 0..2 {
            let drawn = estimate::<f64>(&model, how, &table.select_rows(&[row]), &context).unwrap();
            assert_eq!(drawn.kind, ScoreKind::Estimate);
            let error = drawn.standard_error.unwrap();
            let expected = exact(&model, cells.row(row));
            within += usize::from((drawn.mean - expected).abs() <= 2.0 * error + 1e-6);
            all += 1;
        }
    }
    f64::from(within as u32) / f64::from(all)
}

#[test]
fn importance_is_within_two_standard_errors_of_the_integral() {
    for classes in [false, true] {
        let within = coverage(Likelihood::Importance(400), classes);
        assert!(within >= 0.95, "{within} of rows, classes: {classes}");
    }
}

#[test]
fn so_is_the_prior_with_many_draws() {
    let within = coverage(Likelihood::Prior(4000), true);
    assert!(within >= 0.93, "{within} of rows");
}

/// A model as learning leaves them: columns belong mostly to one part, and follow it.
fn sharp_model(seed: u64) -> Mcfa {
    let model = random_model(seed, 3, 2, 24);
    let mut gate = mereo_core::Parts::parts(&model).gate.to_vec();
    for gate in gate.chunks_mut(3) {
        gate.iter_mut().for_each(|g| *g = g.powi(6));
        let sum: f64 = gate.iter().sum();
        gate.iter_mut().for_each(|g| *g /= sum);
    }
    let state = State {
        gate,
        loading: model.loading().to_vec(),
        offset: model.offset().to_vec(),
        noise: model.noise().iter().map(|n| 0.1 * n).collect(),
        classes: None,
        posterior: None,
    };
    Mcfa::from_state(state, 3, 2)
}

#[test]
fn importance_is_far_surer_than_the_prior() {
    let context = Context::new(2);
    let (mut importance, mut prior) = (0.0, 0.0);
    for seed in 0..10 {
        let model = sharp_model(seed);
        let table = Table::from(sample(&model, 10, true, &context).unwrap());
        let errors =
            |how| estimate::<f64>(&model, how, &table, &context).unwrap().standard_error.unwrap();
        importance += errors(Likelihood::Importance(200));
        prior += errors(Likelihood::Prior(2000));
    }
    assert!(importance < 0.2 * prior, "{importance} against {prior} with ten times the draws");
}

#[test]
fn with_a_hard_gate_the_bound_is_what_is_estimated() {
    let model = with_hard_gates(&random_model(5, 2, 2, 8), 2);
    let table = small_table(5, 20, 8, 0.1);
    let context = Context::new(1);
    let bound = score::<f64>(&model, &table, &context).unwrap();
    let drawn = estimate::<f64>(&model, Likelihood::Importance(2000), &table, &context).unwrap();
    let error = drawn.standard_error.unwrap();
    assert!((bound.mean - drawn.mean).abs() < 4.0 * error + 1e-3, "{} {}", bound.mean, drawn.mean);
    assert!(drawn.effective_samples.unwrap() > 600.0, "{:?}", drawn.effective_samples);
}

#[test]
fn classes_by_draws_are_those_of_the_integrals() {
    let context = Context::new(0);
    for seed in 0..10 {
        let model = random_class_model(seed, 2, [2, 1, 5]);
        let gate = mereo_core::Parts::parts(&model).gate.to_vec();
        let table = small_table(seed, 3, 5, 0.2);
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        let how = Likelihood::Importance(4000);
        let found = classify::<f64>(&model, how, &table, &context).unwrap();
        let prior = model.class_view().unwrap().prior.to_vec();
        for row in 0..3 {
            let of = |n: usize| {
                let one = one_class(&model, n);
                prior[n].ln() + integrated_log_density(&one, &gate, cells.row(row))
            };
            let mut logs = [of(0), of(1)];
            mereo_core::math::softmax(&mut logs);
            assert!((found.row(row)[0] - logs[0]).abs() < 0.05, "{:?} {logs:?}", found.row(row));
        }
    }
}

#[test]
fn draws_depend_on_seed_and_row_alone() {
    let model = random_model(5, 3, 2, 9);
    let table = small_table(5, 300, 9, 0.1);
    let rows = |seed: u64, threads: usize| {
        let context = Context::new(seed).with_threads(threads).unwrap();
        estimate::<f64>(&model, Likelihood::Importance(20), &table, &context).unwrap().rows
    };
    assert_eq!(rows(3, 1), rows(3, 2));
    assert_eq!(rows(3, 1), rows(3, 7));
    assert_ne!(rows(3, 1), rows(4, 1));
}

#[test]
fn far_and_empty_rows_have_densities_too() {
    let model = random_model(3, 3, 2, 3);
    let cells = vec![1e5, -1e90, 3e4, f64::NAN, f64::NAN, f64::NAN];
    let table = Table::from(Dense::new(2, 3, cells).unwrap());
    for how in [Likelihood::Importance(50), Likelihood::Prior(50)] {
        let drawn = estimate::<f64>(&model, how, &table, &Context::new(0)).unwrap();
        assert!(drawn.rows[0].is_finite() && drawn.rows[1].abs() < 0.2, "{:?}", drawn.rows);
    }
    let error = estimate::<f64>(&model, Likelihood::Exact, &table, &Context::new(0)).unwrap_err();
    assert!(error.to_string().contains("importance"), "{error}");
}
