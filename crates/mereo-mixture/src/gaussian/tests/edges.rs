//! A right answer or a clear error: data and files at the edges.

use super::*;
use crate::Covariance;
use mereo_core::Status;

#[test]
fn offset_changes_nothing_but_the_means() {
    let values = with_holes(blobs(90, 3, 3, 1), 1);
    let shifted: Vec<f64> = values.iter().map(|x| x + 1e6).collect();
    let (data, moved) = (table::<f64>(3, &values), table::<f64>(3, &shifted));
    let (a, b) = (learn(3, &data), learn(3, &moved));
    close(&codes(&a, &data), &codes(&b, &moved), 1e-6, "code");
    let back: Vec<f64> = b.mean().iter().map(|m| m - 1e6).collect();
    close(a.mean(), &back, 1e-6, "mean");
    close(a.variance(), b.variance(), 1e-6, "variance");
    // Thirds are exact in neither; eighths are exact in both, a million up.
    let eighths: Vec<f64> = values.iter().map(|x| (x * 8.0).round() / 8.0).collect();
    let up: Vec<f64> = eighths.iter().map(|x| x + 1e6).collect();
    let (data, moved) = (table::<f32>(3, &eighths), table::<f32>(3, &up));
    let (a, b) = (learn(3, &data), learn(3, &moved));
    close(&codes(&a, &data), &codes(&b, &moved), 0.05, "code");
    close(a.variance(), b.variance(), 0.05, "variance");
}

fn scale_changes_nothing_but_the_units<T: Real>(scale: f64) {
    let values = with_holes(blobs(90, 3, 3, 2), 2);
    let scaled: Vec<f64> = values.iter().map(|x| x * scale).collect();
    let (data, other) = (table::<T>(3, &values), table::<T>(3, &scaled));
    let (a, b) = (learn(3, &data), learn(3, &other));
    close(&codes(&a, &data), &codes(&b, &other), 1e-3, "code");
    let back: Vec<f64> = b.mean().iter().map(|m| m / scale).collect();
    close(a.mean(), &back, 1e-3, "mean");
    let back: Vec<f64> = b.variance().iter().map(|v| v / scale / scale).collect();
    close(a.variance(), &back, 1e-3, "variance");
    // A density has the units of one over the data: each observed cell is worth log scale.
    for ((row, x), y) in values.chunks(3).zip(scores(&a, &data)).zip(scores(&b, &other)) {
        let observed = row.iter().filter(|x| !x.is_nan()).count() as f64;
        close(&[y + observed * scale.ln()], &[x], 1e-3, "score");
    }
}

#[test]
fn scale_of_1e_30_and_1e30() {
    for scale in [1e-30, 1e30] {
        scale_changes_nothing_but_the_units::<f32>(scale);
        scale_changes_nothing_but_the_units::<f64>(scale);
    }
    scale_changes_nothing_but_the_units::<f64>(1e-120);
    scale_changes_nothing_but_the_units::<f64>(1e120);
}

/// Learns and asks for everything: all of it must be finite.
fn all_is_finite<T: Real>(columns: usize, values: &[f64], what: &str) {
    let data = table::<T>(columns, values);
    for components in [1, 2, 7] {
        let model = learn(components, &data);
        assert!(scores(&model, &data).iter().all(|s| s.is_finite()), "{what}");
        assert!(filled(&model, &data).iter().all(|x| x.to_f64().is_finite()), "{what}");
        assert!(codes(&model, &data).iter().all(|r| (0.0..=1.0).contains(r)), "{what}");
        let file = model.to_file(Manifest::new("gmm"));
        assert_eq!(Gmm::from_file(file, what.as_ref()).unwrap(), model);
    }
}

#[test]
fn odd_tables_are_learned() {
    for (what, columns, values) in odd_tables().into_iter().chain(tables_of_all_magnitudes()) {
        all_is_finite::<f64>(columns, &values, what);
        all_is_finite::<f32>(columns, &values, what);
    }
    all_is_finite::<f64>(2, &[1e139, -1e139, 1e-139, 1e-320, 3e-160, 0.0], "huge and tiny");
    all_is_finite::<f64>(1, &[1e-160, 3e-160, 5e-162], "squares that are subnormal");
}

#[test]
fn nothing_to_learn_from_is_an_error() {
    let say = |table: Table<f64>| {
        let params = GmmParams::new(2);
        let result = fit(&params, &table, &Plan::default(), &Context::new(0), &mut Silent);
        result.unwrap_err().to_string()
    };
    let two = || table::<f64>(1, &[1.0, 2.0]);
    assert!(say(table(1, &[])).contains("no observed cell"));
    assert!(say(table(2, &[f64::NAN; 4])).contains("no observed cell"));
    assert!(say(Table::from(Dense::new(3, 0, vec![]).unwrap())).contains("no observed cell"));
    assert!(say(two().with_weights(vec![0.0, 0.0]).unwrap()).contains("no observed cell"));
    assert!(say(two().with_weights(vec![1e300, 1.0]).unwrap()).contains("weights that add up"));
    assert!(say(two().with_weights(vec![1e-9, 1e-9]).unwrap()).contains("weights that add up"));
    for params in [
        GmmParams::new(0),
        GmmParams::new(usize::MAX),
        GmmParams { variance_floor: f64::NAN, ..GmmParams::new(1) },
        GmmParams { variance_floor: -1.0, ..GmmParams::new(1) },
        GmmParams { shrinkage: Some(1.0), ..GmmParams::with(1, Covariance::Tied) },
        GmmParams { shrinkage: Some(f64::NAN), ..GmmParams::with(1, Covariance::Full) },
    ] {
        let result = fit(&params, &two(), &Plan::default(), &Context::new(0), &mut Silent);
        assert!(result.unwrap_err().to_string().starts_with("option `"));
    }
}

#[test]
fn rows_of_weight_0_say_nothing_however_far_they_are() {
    let values = blobs(20, 2, 2, 3);
    let model = learn(2, &table::<f32>(2, &values));
    let with: Vec<f64> = values.iter().copied().chain([1e30, -1e36]).collect();
    let weights = (0..21).map(|r| if r < 20 { 1.0 } else { 0.0 }).collect();
    let other = learn(2, &table::<f32>(2, &with).with_weights(weights).unwrap());
    close(other.mean(), model.mean(), 1e-5, "mean");
}

#[test]
fn a_model_by_hand_answers_for_rows_beyond_all_reason() {
    let model = by_hand(&[0.0, 1e140, 1e-140, 0.0], &[1e-280, 1e280, 1.0, 1e-300], &[1.0, 0.0]);
    let data = table::<f64>(2, &[1e140, -1e140, 0.0, 0.0, f64::NAN, 5.0]);
    assert!(scores(&model, &data).iter().all(|s| s.is_finite()));
    assert!(codes(&model, &data).iter().all(|r| (0.0..=1.0).contains(r)));
    assert_eq!(filled(&model, &data).len(), 6);
}

#[test]
fn rows_of_another_width_are_an_error() {
    let model = by_hand(&[0.0, 1.0], &[1.0, 1.0], &[1.0]);
    let data = table::<f64>(3, &[1.0, 2.0, 3.0]);
    let context = Context::new(0);
    let errors = [
        score(&model as &dyn Score<f64>, &data, &context).map(|_| ()),
        encode(&model as &dyn Encode<f64>, &data, &context).map(|_| ()),
        reconstruct(&model as &dyn Reconstruct<f64>, &data, &context).map(|_| ()),
    ];
    for error in errors {
        assert!(error.unwrap_err().to_string().contains("found rows of 3 columns"));
    }
}

#[test]
fn a_stop_keeps_what_was_learned() {
    let context = Context::new(0);
    let mut stopper = StopAt(context.stop().clone(), 0);
    let data = table::<f64>(2, &blobs(100, 2, 3, 1));
    let plan = Plan { tolerance: 0.0, ..Plan::default() };
    let (model, training) = fit(&GmmParams::new(3), &data, &plan, &context, &mut stopper).unwrap();
    assert_eq!(training.status, Status::Interrupted);
    assert!(model.variance().iter().all(|v| v.is_finite()));
}

#[test]
fn broken_files_are_named() {
    let good =
        || by_hand(&[0.0, 1.0, 2.0, 3.0], &[1.0; 4], &[0.5, 0.5]).to_file(Manifest::new("gmm"));
    let cases: [(&str, Vec<usize>, Vec<f64>, &str); 9] = [
        ("mean", vec![4], vec![0.0; 4], "`mean` has shape [4], expected 2 indices"),
        ("mean", vec![2, 0], vec![], "`mean` has shape [2, 0]"),
        ("mean", vec![2, 2], vec![0.0, f64::NAN, 0.0, 0.0], "`mean` holds NaN at position 1"),
        ("mean", vec![2, 2], vec![0.0, 1e200, 0.0, 0.0], "`mean` holds 1"),
        ("weight", vec![3], vec![0.3; 3], "`weight` has shape [3], expected [2]"),
        ("weight", vec![2], vec![0.5, 0.1], "`weight` is no distribution"),
        ("weight", vec![2], vec![1.5, -0.5], "`weight` holds -0.5 at position 1"),
        ("variance", vec![2, 2], vec![1.0, 1.0, -1.0, 1.0], "`variance` holds -1 at position 2"),
        ("variance", vec![1, 4], vec![1.0; 4], "`variance` has shape [1, 4], expected [2, 2]"),
    ];
    for (name, shape, values, expected) in cases {
        let mut file = good();
        file.insert(name, Tensor::new(shape, values));
        let said = Gmm::from_file(file, "m.safetensors".as_ref()).unwrap_err().to_string();
        assert!(said.starts_with("m.safetensors") && said.contains(expected), "{said}");
    }
}
