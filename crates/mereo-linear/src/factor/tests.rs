//! Factor analysis and probabilistic PCA against their densities, their theory and the edges.

use super::*;
use crate::gaussian::Gaussian;
use crate::testing::*;
use mereo_core::math::eigen;
use mereo_core::{Absent, Checkpoints, Context, Manifest, Plan, Real, Silent, Table, sample};
use proptest::prelude::*;

fn long() -> Plan {
    Plan { passes: 3000, tolerance: 1e-9, ..Plan::default() }
}

fn fa<T: Real>(n: usize, table: &Table<T>) -> Fa {
    let (model, training) =
        fit_fa(&FaParams::new(n), table, &long(), &Context::new(1), &mut Silent).unwrap();
    assert!(training.bound.is_finite());
    model
}

fn ppca<T: Real>(n: usize, table: &Table<T>) -> Ppca {
    fit_ppca(&PpcaParams::new(n), table, &long(), &Context::new(1), &mut Silent).unwrap().0
}

/// `WᵀW + Ψ`: what loadings mean whatever their rotation.
fn covariance(component: &[f64], noise: &[f64]) -> Vec<f64> {
    let d = noise.len();
    let mut out = vec![0.0; d * d];
    for w in component.chunks(d) {
        for i in 0..d {
            for j in 0..d {
                out[i * d + j] += w[i] * w[j];
            }
        }
    }
    (0..d).for_each(|i| out[i * d + i] += noise[i]);
    out
}

/// The log density of observed cells, from the covariance itself.
fn by_covariance(mean: &[f64], covariance: &[f64], row: &[f64]) -> f64 {
    let d = mean.len();
    let seen: Vec<usize> = (0..d).filter(|&i| !row[i].is_nan()).collect();
    let k = seen.len();
    let small: Vec<f64> =
        seen.iter().flat_map(|&i| seen.iter().map(move |&j| covariance[i * d + j])).collect();
    let eigen = eigen(&small, k).unwrap();
    let mut sum = 0.0;
    for (value, vector) in eigen.values.iter().zip(eigen.vectors.chunks(k.max(1))) {
        let along: f64 = vector.iter().zip(&seen).map(|(v, &i)| v * (row[i] - mean[i])).sum();
        sum += value.ln() + along * along / value;
    }
    -0.5 * (sum + k as f64 * (2.0 * std::f64::consts::PI).ln())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn density_equals_that_of_the_covariance(seed in 0u64..1000, n in 1usize..4) {
        let d = 5;
        let numbers = rows(n + 2, d, seed);
        let gaussian = Gaussian {
            mean: numbers[..d].to_vec(),
            loading: numbers[d..(n + 1) * d].to_vec(),
            noise: numbers[(n + 1) * d..].iter().map(|x| 0.1 + x.abs()).collect(),
        };
        let covariance = covariance(&gaussian.loading, &gaussian.noise);
        let data = with_holes(rows(8, d, seed + 1), seed);
        let model = Fa::new(gaussian.clone());
        let expected: Vec<f64> =
            data.chunks(d).map(|row| by_covariance(&gaussian.mean, &covariance, row)).collect();
        close(&scores(&model, &table::<f64>(d, &data)), &expected, 1e-9, "score");
    }
}

#[test]
fn a_missing_cell_is_filled_by_the_conditional_mean() {
    // Two columns: x_1 given x_0 is μ_1 + c_01/c_00 (x_0 - μ_0).
    let gaussian =
        Gaussian { mean: vec![1.0, -2.0], loading: vec![2.0, 3.0], noise: vec![0.5, 0.7] };
    let model = Fa::new(gaussian);
    let data = table::<f64>(2, &[4.0, f64::NAN]);
    let expected = -2.0 + 6.0 / 4.5 * 3.0;
    assert!((filled(&model, &data)[1] - expected).abs() < 1e-12);
}

fn bound_never_falls<T: Real>(tolerance: f64) {
    let holes = with_holes(rows(300, 6, 2), 2);
    let whole = rows(300, 6, 2);
    let wide = rows(9, 6, 2);
    let plan = Plan { passes: 60, tolerance: 0.0, restarts: 2, ..Plan::default() };
    for values in [&whole, &holes, &wide] {
        let data = table::<T>(6, values);
        for restart in 0..2 {
            let context = Context::new(restart);
            let plan = Plan { restarts: 1, ..plan.clone() };
            let mut bounds = Bounds::default();
            fit_fa(&FaParams::new(2), &data, &plan, &context, &mut bounds).unwrap();
            bounds.never_fall(tolerance);
            let mut bounds = Bounds::default();
            fit_ppca(&PpcaParams::new(2), &data, &plan, &context, &mut bounds).unwrap();
            bounds.never_fall(tolerance);
        }
    }
}

#[test]
fn the_bound_never_falls() {
    bound_never_falls::<f64>(1e-12);
    bound_never_falls::<f32>(1e-9);
}

#[test]
fn the_bound_is_the_sum_of_scores() {
    for values in [rows(80, 5, 3), with_holes(rows(80, 5, 3), 3)] {
        let data = table::<f64>(5, &values);
        let (model, training) =
            fit_fa(&FaParams::new(2), &data, &long(), &Context::new(0), &mut Silent).unwrap();
        let sum: f64 = scores(&model, &data).iter().sum();
        close(&[training.bound], &[sum], 1e-6, "fa");
        let (model, training) =
            fit_ppca(&PpcaParams::new(2), &data, &long(), &Context::new(0), &mut Silent).unwrap();
        let sum: f64 = scores(&model, &data).iter().sum();
        close(&[training.bound], &[sum], 1e-6, "ppca");
    }
}

#[test]
fn em_finds_what_the_closed_form_does() {
    // A row that observes nothing makes the learner take the way of EM, and says nothing.
    let mut values = rows(120, 5, 4);
    let closed = ppca(2, &table::<f64>(5, &values));
    values.extend([f64::NAN; 5]);
    let by_em = ppca(2, &table::<f64>(5, &values));
    close(by_em.component(), closed.component(), 1e-4, "component");
    close(by_em.noise(), closed.noise(), 1e-5, "noise");
    close(by_em.mean(), closed.mean(), 1e-5, "mean");
}

#[test]
fn a_summary_of_rows_teaches_what_the_rows_do() {
    // The row that observes nothing keeps the rows from being summarised.
    let mut values = rows(150, 6, 5);
    let summarised = fa(2, &table::<f64>(6, &values));
    values.extend([f64::NAN; 6]);
    let from_rows = fa(2, &table::<f64>(6, &values));
    let c = |model: &Fa| covariance(model.component(), model.noise());
    close(&c(&summarised), &c(&from_rows), 1e-4, "covariance");
    close(summarised.mean(), from_rows.mean(), 1e-5, "mean");
}

#[test]
fn planted_factors_are_found_through_holes() {
    let values = with_holes(rows(3000, 6, 6), 6);
    let whole = rows(3000, 6, 6);
    let (model, truth) = (fa(3, &table::<f64>(6, &values)), fa(3, &table::<f64>(6, &whole)));
    let (found, expected) = (
        covariance(model.component(), model.noise()),
        covariance(truth.component(), truth.noise()),
    );
    close(&found, &expected, 0.1, "covariance");
}

#[test]
fn units_of_columns_do_not_matter_to_factor_analysis() {
    let values = with_holes(rows(80, 4, 9), 9);
    let units = [1e-20, 1.0, 1e20, 3.0];
    let scaled: Vec<f64> = values.iter().enumerate().map(|(i, x)| x * units[i % 4]).collect();
    let (data, other) = (table::<f64>(4, &values), table::<f64>(4, &scaled));
    let (a, b) = (fa(2, &data), fa(2, &other));
    close(&codes(&a, &data), &codes(&b, &other), 1e-4, "code");
}

#[test]
fn dense_equals_sparse() {
    let values: Vec<f64> =
        rows(80, 5, 11).iter().map(|x| if x.abs() < 2.0 { 0.0 } else { *x }).collect();
    let (a, b) =
        (fa(2, &table::<f64>(5, &values)), fa(2, &sparse::<f64>(5, &values, Absent::Zero)));
    close(a.component(), b.component(), 1e-6, "counts");
    let values = with_holes(rows(80, 5, 11), 11);
    let other = sparse::<f64>(5, &values, Absent::Unobserved);
    let (a, b) = (fa(2, &table::<f64>(5, &values)), fa(2, &other));
    close(a.component(), b.component(), 1e-6, "ratings");
    // So few observed cells that they are visited one by one.
    let few: Vec<f64> = rows(400, 30, 12)
        .iter()
        .enumerate()
        .map(|(i, x)| if i * 7919 % 31 < 3 { *x } else { f64::NAN })
        .collect();
    let plan = Plan { passes: 5, ..Plan::default() };
    let fit = |data: &Table<f64>| {
        fit_fa(&FaParams::new(2), data, &plan, &Context::new(0), &mut Silent).unwrap().1.bound
    };
    let (dense, stored) =
        (fit(&table::<f64>(30, &few)), fit(&sparse::<f64>(30, &few, Absent::Unobserved)));
    close(&[stored], &[dense], 1e-9, "bound");
}

#[test]
fn samples_have_the_moments_of_the_model() {
    let model = fa(2, &table::<f64>(4, &rows(200, 4, 14)));
    let drawn = sample(&model, 40_000, true, &Context::new(0)).unwrap();
    let expected = covariance(model.component(), model.noise());
    let n = drawn.rows() as f64;
    let mut found = [0.0; 16];
    for r in 0..drawn.rows() {
        let apart: Vec<f64> = drawn.row(r).iter().zip(model.mean()).map(|(x, m)| x - m).collect();
        for i in 0..4 {
            for j in 0..4 {
                found[i * 4 + j] += apart[i] * apart[j] / n;
            }
        }
    }
    close(&found, &expected, 0.06, "covariance");
}

#[test]
fn a_resumed_run_ends_where_the_other_did() {
    let folder = tempfile::tempdir().unwrap();
    let data = table::<f64>(5, &with_holes(rows(90, 5, 15), 15));
    let plan = Plan { passes: 12, tolerance: 0.0, ..Plan::default() };
    let whole = fit_fa(&FaParams::new(2), &data, &plan, &Context::new(0), &mut Silent).unwrap();
    let mut checkpoints = Checkpoints::new(folder.path().join("run.ck"));
    checkpoints.every = std::time::Duration::ZERO;
    checkpoints.resume = true;
    let kept = Plan { checkpoints: Some(checkpoints), ..plan };
    let context = Context::new(0);
    let mut watcher = StopAt(context.stop().clone(), 5);
    fit_fa(&FaParams::new(2), &data, &kept, &context, &mut watcher).unwrap();
    let resumed = fit_fa(&FaParams::new(2), &data, &kept, &Context::new(0), &mut Silent).unwrap();
    assert_eq!(resumed.0, whole.0);
}

fn edge_is_finite<T: Real>(what: &str, columns: usize, values: &[f64]) {
    let data = table::<T>(columns, values);
    for n in 1..=columns.min(3) {
        let plan = Plan { passes: 20, ..Plan::default() };
        let context = Context::new(0);
        let (model, training) =
            fit_fa(&FaParams::new(n), &data, &plan, &context, &mut Silent).unwrap();
        assert!(training.bound.is_finite(), "{what} {n}");
        assert!(scores(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
        assert!(codes(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
        assert!(filled(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
        Fa::from_file(model.to_file(Manifest::new("fa")), what.as_ref()).unwrap();
        let (model, training) =
            fit_ppca(&PpcaParams::new(n), &data, &plan, &context, &mut Silent).unwrap();
        assert!(training.bound.is_finite(), "{what} {n}");
        assert!(scores(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
        assert!(filled(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
        Ppca::from_file(model.to_file(Manifest::new("ppca")), what.as_ref()).unwrap();
    }
}

#[test]
fn edges_have_answers() {
    for (what, columns, values) in odd_tables() {
        edge_is_finite::<f64>(what, columns, &values);
        edge_is_finite::<f32>(what, columns, &values);
    }
    let nothing = table::<f64>(1, &[f64::NAN]);
    let plan = Plan::default();
    let error =
        fit_fa(&FaParams::new(1), &nothing, &plan, &Context::new(0), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("no observed cell"));
    let error = fit_ppca(
        &PpcaParams::new(3),
        &table::<f64>(2, &[1.0; 8]),
        &plan,
        &Context::new(0),
        &mut Silent,
    )
    .unwrap_err();
    assert!(error.to_string().contains("more than the 2 columns"));
}
