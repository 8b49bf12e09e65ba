//! What the derivation promises.

use super::*;
use mereo_core::{Parts, sample};
use proptest::prelude::*;

/// A small table with missing cells, and weights for its rows.
fn small_tables() -> impl Strategy<Value = (usize, Vec<f64>, Vec<f64>)> {
    (1usize..5, 1usize..30).prop_flat_map(|(columns, rows)| {
        let cell = prop_oneof![4 => -5.0..5.0f64, 1 => Just(f64::NAN), 1 => (-2i32..3).prop_map(f64::from)];
        let weight = prop_oneof![3 => Just(1.0), 1 => 0.0..3.0f64];
        let cells = proptest::collection::vec(cell, columns * rows);
        (Just(columns), cells, proptest::collection::vec(weight, rows))
    })
}

proptest! {
    #[test]
    fn distortion_never_rises((columns, values, weights) in small_tables(), states in 1usize..6) {
        let cells: f64 = values.chunks(columns).zip(&weights)
            .map(|(row, w)| w * row.iter().filter(|x| !x.is_nan()).count() as f64).sum();
        let rows: f64 = weights.iter().sum();
        prop_assume!(cells > 0.0 && rows > 0.01);
        let data = table::<f64>(columns, &values).with_weights(weights).unwrap();
        let mut bounds = Bounds::default();
        let plan = Plan { passes: 30, tolerance: 0.0, ..Plan::default() };
        let (model, training) =
            fit(&VqParams::new(states), &data, &plan, &Context::new(1), &mut bounds).unwrap();
        // F = -(N/2)(log 2πE + 1) - C log J, turned round.
        let distortion = |bound: f64| {
            let nats = 2.0 * (bound + rows * (states as f64).ln()) / cells + 1.0;
            (-nats).exp() / (2.0 * std::f64::consts::PI)
        };
        for pair in bounds.0.windows(2) {
            prop_assert!(distortion(pair[1]) <= distortion(pair[0]) * (1.0 + 1e-12) + 1e-11);
        }
        // The noise of the model is the distortion of the means that it kept.
        prop_assert!((model.variance() - distortion(training.bound)).abs() < 1e-4);
        if model.variance() > 1e-3 {
            let scores = scores(&model, &data);
            let likelihood: f64 = scores.iter().zip(data.about().weights.as_ref().unwrap())
                .map(|(s, w)| s * w).sum();
            prop_assert!(training.bound <= likelihood + 1e-9 * (1.0 + likelihood.abs()));
        }
    }

    #[test]
    fn code_and_density_equal_enumeration((columns, values, _) in small_tables()) {
        let states = 3;
        let mean: Vec<f64> = blobs(states, columns, states, 5).iter().map(|m| m / 5.0).collect();
        let (prior, variance) = ([0.5, 0.3, 0.2], 0.7);
        let model = by_hand(&mean, &prior, variance);
        let data = table::<f64>(columns, &values);
        let (codes, scores) = (codes(&model, &data), scores(&model, &data));
        for (r, row) in values.chunks(columns).enumerate() {
            let squares: Vec<f64> = mean.chunks(columns).map(|m| {
                row.iter().zip(m).filter(|(x, _)| !x.is_nan()).map(|(x, m)| (x - m).powi(2)).sum()
            }).collect();
            let observed = row.iter().filter(|x| !x.is_nan()).count() as f64;
            let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(squares[codes[r]] <= least + 1e-9);
            let density: f64 = squares.iter().zip(&prior).map(|(q, b)| {
                b * (-0.5 * q / variance).exp()
                    / (2.0 * std::f64::consts::PI * variance).powf(observed / 2.0)
            }).sum();
            prop_assert!((scores[r] - density.ln()).abs() < 1e-9 * (1.0 + scores[r].abs()));
        }
    }
}

#[test]
fn well_separated_clusters_are_found() {
    let (rows, columns, centres) = (300, 4, 6);
    let values = blobs(rows, columns, centres, 11);
    for data in [values.clone(), with_holes(values, 1)] {
        let data = table::<f64>(columns, &data);
        let plan = Plan { restarts: 8, ..Plan::default() };
        let model = learn_with(centres, &data, &plan, &Context::new(0));
        let codes = codes(&model, &data);
        // Rows of one blob share a code and no two blobs do; holes can hide a row or two.
        let mut seen = Vec::new();
        for blob in 0..centres {
            let own: Vec<usize> = codes.iter().copied().skip(blob).step_by(centres).collect();
            let most = (0..centres).max_by_key(|j| own.iter().filter(|c| *c == j).count()).unwrap();
            assert!(own.iter().filter(|c| **c == most).count() * 10 >= own.len() * 9);
            assert!(!seen.contains(&most));
            seen.push(most);
        }
        assert!((model.variance() - 1.0).abs() < 0.2, "{}", model.variance());
    }
}

#[test]
fn masked_equals_marginal() {
    let model = learn(4, &table::<f64>(3, &blobs(60, 3, 4, 2)));
    // The model without its middle column.
    let kept: Vec<f64> = model.mean().chunks(3).flat_map(|m| [m[0], m[2]]).collect();
    let marginal = by_hand(&kept, model.state_prior(), model.variance());
    let masked: Vec<f64> = blobs(9, 3, 4, 3)
        .iter()
        .enumerate()
        .map(|(i, &x)| if i % 3 == 1 { f64::NAN } else { x })
        .collect();
    let left: Vec<f64> = masked.iter().copied().filter(|x| !x.is_nan()).collect();
    let (masked, left) = (table::<f64>(3, &masked), table::<f64>(2, &left));
    close(&scores(&model, &masked), &scores(&marginal, &left), 1e-12, "score");
    assert_eq!(codes(&model, &masked), codes(&marginal, &left));
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
        close(other.mean(), model.mean(), 1e-9, "mean");
        close(&[other.variance()], &[model.variance()], 1e-9, "variance");
        assert_eq!(scores(&model, &sparse), scores(&model, &dense));
        assert_eq!(codes(&model, &sparse), codes(&model, &dense));
    }
    // With holes, and ratings, whose few values have tables of their own.
    let values: Vec<f64> = with_holes(blobs(80, 5, 3, 8), 8)
        .iter()
        .map(|x| (x / 5.0).round().clamp(-2.0, 2.0) + 3.0)
        .collect();
    let (a, b) = (
        learn(3, &table::<f64>(5, &values)),
        learn(3, &sparse::<f64>(5, &values, Absent::Unobserved)),
    );
    close(a.mean(), b.mean(), 1e-9, "mean");
}

#[test]
fn f32_is_close_to_f64() {
    let values = with_holes(blobs(200, 6, 4, 9), 9);
    let values: Vec<f64> = values.iter().map(|&x| f64::from(x as f32)).collect();
    let (a, b) = (learn(4, &table::<f32>(6, &values)), learn(4, &table::<f64>(6, &values)));
    close(a.mean(), b.mean(), 1e-5, "mean");
    close(a.state_prior(), b.state_prior(), 1e-12, "prior");
    close(&[a.variance()], &[b.variance()], 1e-5, "variance");
}

#[test]
fn samples_have_the_moments_of_the_model() {
    let model = by_hand(&[0.0, 4.0, 8.0, -4.0], &[0.25, 0.75], 2.0);
    let rows = sample(&model, 20_000, true, &Context::new(0)).unwrap();
    for d in 0..2 {
        let values: Vec<f64> = (0..rows.rows()).map(|r| rows.row(r)[d]).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
        // Mean 6 or -2; variance ¼·¾·8² + 2.
        assert!((mean - [6.0, -2.0][d]).abs() < 0.15, "{mean}");
        assert!((variance - 14.0).abs() < 0.5, "{variance}");
    }
    let quiet = sample(&model, 50, false, &Context::new(0)).unwrap();
    assert!((0..50).all(|r| model.mean().chunks(2).any(|m| m == quiet.row(r))));
}

#[test]
fn there_is_one_part_with_all_columns() {
    let model = by_hand(&[0.0, 4.0, 8.0, -4.0], &[0.25, 0.75], 2.0);
    let parts = model.parts();
    assert_eq!((parts.parts, parts.states, parts.columns), (1, 2, 2));
    assert_eq!(parts.gate, [1.0, 1.0]);
    assert_eq!(parts.state(0, 1), [8.0, -4.0]);
}
