//! What the derivation promises.

use super::super::learner::{GmmLearner, State};
use super::*;
use mereo_core::slots::Survey;
use mereo_core::{Learner, Pass, Source, Statistics, sample};
use proptest::prelude::*;

/// A small table with missing cells, and weights for its rows.
fn small_tables() -> impl Strategy<Value = (usize, Vec<f64>, Vec<f64>)> {
    (1usize..5, 1usize..30).prop_flat_map(|(columns, rows)| {
        let cell = prop_oneof![
            4 => -5.0..5.0f64,
            1 => Just(f64::NAN),
            1 => (-2i32..3).prop_map(f64::from),
        ];
        let weight = prop_oneof![3 => Just(1.0), 1 => 0.0..3.0f64];
        let cells = proptest::collection::vec(cell, columns * rows);
        (Just(columns), cells, proptest::collection::vec(weight, rows))
    })
}

/// `b_j Π_d N(x_d; μ_jd, σ²_jd)` over the observed cells, for every j, by the definition.
fn joint(row: &[f64], mean: &[f64], variance: &[f64], prior: &[f64]) -> Vec<f64> {
    let columns = row.len();
    prior
        .iter()
        .enumerate()
        .map(|(j, b)| {
            let mut density = *b;
            for (d, x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                let (m, v) = (mean[j * columns + d], variance[j * columns + d]);
                density *= (-(x - m).powi(2) / (2.0 * v)).exp();
                density /= (2.0 * std::f64::consts::PI * v).sqrt();
            }
            density
        })
        .collect()
}

/// A model by numbers that come from a seed.
fn some_model(columns: usize, components: usize, seed: u64) -> [Vec<f64>; 3] {
    let mean: Vec<f64> =
        blobs(components, columns, components, seed).iter().map(|m| m / 5.0).collect();
    let variance = mean.iter().map(|m| 0.5 + m.abs()).collect();
    let total = (components * (components + 1) / 2) as f64;
    [mean, variance, (1..=components).map(|j| j as f64 / total).collect()]
}

proptest! {
    #[test]
    fn log_likelihood_never_falls((columns, values, weights) in small_tables(), components in 1usize..6) {
        let cells: f64 = values.chunks(columns).zip(&weights)
            .map(|(row, w)| w * row.iter().filter(|x| !x.is_nan()).count() as f64).sum();
        prop_assume!(cells > 0.0 && weights.iter().sum::<f64>() > 0.01);
        let data = table::<f64>(columns, &values).with_weights(weights.clone()).unwrap();
        let mut bounds = Bounds::default();
        let plan = Plan { passes: 40, tolerance: 0.0, ..Plan::default() };
        let params = GmmParams::new(components);
        let (model, training) = fit(&params, &data, &plan, &Context::new(1), &mut bounds).unwrap();
        for pair in bounds.0.windows(2) {
            let ((before, seeded), (after, _)) = (pair[0], pair[1]);
            prop_assert!(seeded || after >= before - 1e-9 * (1.0 + before.abs()), "{before} {after}");
        }
        // What learning reports is what the model scores.
        let likelihood: f64 = scores(&model, &data).iter().zip(&weights).map(|(s, w)| s * w).sum();
        prop_assert!((training.bound - likelihood).abs() < 1e-8 * (1.0 + likelihood.abs()));
    }

    #[test]
    fn responsibilities_and_density_equal_enumeration((columns, values, _) in small_tables()) {
        let [mean, variance, prior] = some_model(columns, 3, 5);
        let model = by_hand(&mean, &variance, &prior);
        let data = table::<f64>(columns, &values);
        let (codes, scores, filled) =
            (codes(&model, &data), scores(&model, &data), filled(&model, &data));
        for (r, row) in values.chunks(columns).enumerate() {
            let joint = joint(row, &mean, &variance, &prior);
            let density: f64 = joint.iter().sum();
            prop_assert!((scores[r] - density.ln()).abs() < 1e-9 * (1.0 + scores[r].abs()));
            for (j, p) in joint.iter().enumerate() {
                prop_assert!((codes[r * 3 + j] - p / density).abs() < 1e-9);
            }
            for d in 0..columns {
                let x: f64 = (0..3).map(|j| joint[j] / density * mean[j * columns + d]).sum();
                prop_assert!((filled[r * columns + d] - x).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn one_pass_equals_em_by_the_definition((columns, values, weights) in small_tables()) {
        let observed = values.chunks(columns).zip(&weights).any(|(r, w)| *w > 0.0 && r.iter().any(|x| !x.is_nan()));
        let rows: f64 = weights.iter().sum();
        prop_assume!(observed && rows > 0.01);
        let components = 3;
        let [mean, variance, prior] = some_model(columns, components, 9);
        let data = table::<f64>(columns, &values).with_weights(weights.clone()).unwrap();
        let survey = Survey::of(&data, &Context::new(0)).unwrap();
        let params = GmmParams::new(components);
        let learner = GmmLearner { params, survey, shrinkage: None };
        let mut state = State {
            prior: prior.clone(), mean: mean.clone(), variance: variance.clone(), level: Vec::new(), reseeds: 0,
        };
        let at = Pass { restart: 0, pass: 0 };
        let (mut statistics, mut work) = (learner.statistics(), learner.workspace());
        let prepared = learner.prepare(&state, at);
        let mut lane = data.lane(0..1).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        learner.accumulate(&prepared, &batch, &mut work, &mut statistics);
        statistics.finish();
        let bound = Learner::<f64>::bound(&learner, &statistics);
        learner.update(&mut state, &statistics, at);

        let joints: Vec<Vec<f64>> =
            values.chunks(columns).map(|row| joint(row, &mean, &variance, &prior)).collect();
        let likelihood: f64 =
            joints.iter().zip(&weights).map(|(j, w)| w * j.iter().sum::<f64>().ln()).sum();
        prop_assert!((bound - likelihood).abs() < 1e-9 * (1.0 + likelihood.abs()));
        for j in 0..components {
            let share: Vec<f64> = joints.iter().zip(&weights)
                .map(|(p, w)| w * p[j] / p.iter().sum::<f64>()).collect();
            prop_assert!((state.prior[j] - share.iter().sum::<f64>() / rows).abs() < 1e-9);
            for d in 0..columns {
                let seen: Vec<(f64, f64)> = values.chunks(columns).zip(&share)
                    .filter(|(row, _)| !row[d].is_nan()).map(|(row, r)| (row[d], *r)).collect();
                let count: f64 = seen.iter().map(|(_, r)| r).sum();
                if count < 1e-6 {
                    continue;
                }
                let m = seen.iter().map(|(x, r)| x * r).sum::<f64>() / count;
                let v = seen.iter().map(|(x, r)| (x - m).powi(2) * r).sum::<f64>() / count;
                let i = j * columns + d;
                prop_assert!((state.mean[i] - m).abs() < 1e-7);
                prop_assert!((state.variance[i] - v.max(1e-3 * learner.survey.reference[d])).abs() < 1e-7);
            }
        }
    }
}

#[test]
fn well_separated_components_are_found() {
    let (rows, columns, centres) = (400, 4, 5);
    let values = blobs(rows, columns, centres, 11);
    for data in [values.clone(), with_holes(values, 1)] {
        let data = table::<f64>(columns, &data);
        let plan = Plan { restarts: 5, ..Plan::default() };
        let model = learn_with(centres, &data, &plan, &Context::new(0));
        for b in model.weight() {
            assert!((b - 0.2).abs() < 0.02, "{b}");
        }
        for v in model.variance() {
            assert!((v - 1.0).abs() < 0.6, "{v}");
        }
    }
}

#[test]
fn masked_equals_marginal() {
    let [mean, variance, prior] = some_model(3, 4, 2);
    let model = by_hand(&mean, &variance, &prior);
    // The model without its middle column.
    let drop = |t: &[f64]| -> Vec<f64> { t.chunks(3).flat_map(|m| [m[0], m[2]]).collect() };
    let marginal = by_hand(&drop(&mean), &drop(&variance), &prior);
    let masked: Vec<f64> = blobs(9, 3, 4, 3)
        .iter()
        .enumerate()
        .map(|(i, &x)| if i % 3 == 1 { f64::NAN } else { x / 5.0 })
        .collect();
    let left: Vec<f64> = masked.iter().copied().filter(|x| !x.is_nan()).collect();
    let (masked, left) = (table::<f64>(3, &masked), table::<f64>(2, &left));
    close(&scores(&model, &masked), &scores(&marginal, &left), 1e-12, "score");
    close(&codes(&model, &masked), &codes(&marginal, &left), 1e-12, "code");
    // And by integrating the masked column out: Simpson's rule over a wide interval.
    let (low, high, steps) = (-60.0, 60.0, 4000);
    let step = (high - low) / f64::from(steps);
    let row = |x: f64| [0.3, x, -0.7];
    let density: f64 = (0..=steps)
        .map(|i| {
            let weight =
                [2.0, 4.0][(i % 2) as usize] / if i == 0 || i == steps { 2.0 } else { 1.0 };
            let all: f64 =
                joint(&row(low + step * f64::from(i)), &mean, &variance, &prior).iter().sum();
            weight * all * step / 3.0
        })
        .sum();
    let masked = table::<f64>(3, &row(f64::NAN));
    close(&scores(&model, &masked), &[density.ln()], 1e-9, "integral");
}

#[test]
fn weight_10_converges_as_ten_rows_do() {
    let values: Vec<f64> = (0..40).map(|i| f64::from(i % 20).sqrt()).collect();
    let tenfold: Vec<f64> = values.iter().flat_map(|x| [*x; 10]).collect();
    let weighted = table::<f64>(1, &values).with_weights(vec![10.0; 40]).unwrap();
    let plan = Plan { tolerance: 1e-3, ..Plan::default() };
    let passes = |data: &Table<f64>| {
        let params = GmmParams::new(3);
        fit(&params, data, &plan, &Context::new(3), &mut Silent).unwrap().1.passes
    };
    assert_eq!(passes(&weighted), passes(&table(1, &tenfold)));
}

#[test]
fn dense_equals_sparse() {
    let values: Vec<f64> =
        blobs(80, 5, 3, 8).iter().map(|x| if x.abs() < 2.0 { 0.0 } else { *x }).collect();
    let dense = table::<f64>(5, &values);
    let model = learn(3, &dense);
    for absent in [Absent::Zero, Absent::Unobserved] {
        let sparse = sparse::<f64>(5, &values, absent);
        let other = learn(3, &sparse);
        close(other.mean(), model.mean(), 1e-6, "mean");
        close(other.variance(), model.variance(), 1e-6, "variance");
        assert_eq!(scores(&model, &sparse), scores(&model, &dense));
        assert_eq!(codes(&model, &sparse), codes(&model, &dense));
    }
    // With holes, and ratings, whose few values have tables of their own.
    let values: Vec<f64> = with_holes(blobs(80, 5, 3, 8), 8)
        .iter()
        .map(|x| (x / 5.0).round().clamp(-2.0, 2.0) + 3.0)
        .collect();
    let (dense, ratings) =
        (table::<f64>(5, &values), sparse::<f64>(5, &values, Absent::Unobserved));
    close(learn(3, &ratings).mean(), learn(3, &dense).mean(), 1e-6, "mean");
}

#[test]
fn f32_is_close_to_f64() {
    let values = with_holes(blobs(200, 6, 4, 9), 9);
    let values: Vec<f64> = values.iter().map(|&x| f64::from(x as f32)).collect();
    let (a, b) = (learn(4, &table::<f32>(6, &values)), learn(4, &table::<f64>(6, &values)));
    close(a.mean(), b.mean(), 1e-3, "mean");
    close(a.variance(), b.variance(), 1e-3, "variance");
    close(a.weight(), b.weight(), 1e-3, "prior");
}

#[test]
fn samples_have_the_moments_of_the_model() {
    let model = by_hand(&[0.0, 4.0, 8.0, -4.0], &[1.0, 2.0, 3.0, 4.0], &[0.25, 0.75]);
    let rows = sample(&model, 20_000, true, &Context::new(0)).unwrap();
    for d in 0..2 {
        let values: Vec<f64> = (0..rows.rows()).map(|r| rows.row(r)[d]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
        // Mean 6 or -2; variance ¼·¾·8² + ¼σ²_1 + ¾σ²_2.
        assert!((mean - [6.0, -2.0][d]).abs() < 0.15, "{mean}");
        assert!((variance - [14.5, 15.5][d]).abs() < 0.5, "{variance}");
    }
    let quiet = sample(&model, 50, false, &Context::new(0)).unwrap();
    assert!((0..50).all(|r| model.mean().chunks(2).any(|m| m == quiet.row(r))));
}

#[test]
fn an_empty_component_is_seeded_from_a_row_that_is_explained_badly() {
    // The third component is nowhere near the two rows; the outlier is explained by nobody.
    let data = table::<f64>(1, &[0.0, 0.1, 0.2, 0.1, 1.0]);
    let survey = Survey::of(&data, &Context::new(0)).unwrap();
    let params = GmmParams::new(2);
    let learner = GmmLearner { params, survey, shrinkage: None };
    let mut state = State {
        prior: vec![1.0, 0.0],
        mean: vec![0.1, 100.0],
        variance: vec![0.01, 0.01],
        level: Vec::new(),
        reseeds: 0,
    };
    let at = Pass { restart: 0, pass: 0 };
    let (mut statistics, mut work) = (learner.statistics(), learner.workspace());
    let prepared = learner.prepare(&state, at);
    let mut lane = data.lane(0..1).unwrap();
    let batch = lane.next_batch().unwrap().unwrap();
    learner.accumulate(&prepared, &batch, &mut work, &mut statistics);
    statistics.finish();
    let notes = learner.update(&mut state, &statistics, at);
    assert_eq!(notes, ["empty component 1 seeded from row 4"]);
    assert_eq!((state.mean[1], state.reseeds), (1.0, 1));
    // Not for ever.
    state.prior = vec![1.0, 0.0];
    state.reseeds = 8;
    assert!(learner.update(&mut state, &statistics, at).is_empty());
}
