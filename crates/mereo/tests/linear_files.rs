//! Files of linear models written by hand, and files that somebody broke.

use mereo::AnyModel;
use mereo::{
    Context, Dense, Manifest, ModelFile, ScoreKind, Table, Tensor, encode, reconstruct, sample,
    score,
};
use proptest::prelude::*;

type Named = (&'static str, Vec<usize>, Vec<f64>);

/// A valid file of each kind: two columns, one component.
fn valid(kind: &str) -> Vec<Named> {
    let component = ("component", vec![1, 2], vec![0.6, 0.8]);
    let mean = ("mean", vec![2], vec![1.0, -1.0]);
    match kind {
        "pca" => vec![
            component,
            mean,
            ("explained_variance", vec![1], vec![4.0]),
            ("noise", vec![1], vec![0.5]),
        ],
        "ppca" => vec![component, mean, ("noise", vec![1], vec![0.5])],
        "fa" => vec![component, mean, ("noise", vec![2], vec![0.5, 0.25])],
        _ => vec![component],
    }
}

const KINDS: [&str; 4] = ["pca", "ppca", "fa", "nmf"];

fn open(kind: &str, tensors: &[Named]) -> mereo::Result<AnyModel> {
    let mut file = ModelFile::new(Manifest::new(kind));
    for (name, shape, values) in tensors {
        file.insert(name, Tensor::new(shape.clone(), values.clone()));
    }
    Ok(AnyModel::from_file(file, "some.safetensors".as_ref())?.0)
}

/// `log N(x; mean, c)` of two columns.
fn density(x: [f64; 2], mean: [f64; 2], c: [[f64; 2]; 2]) -> f64 {
    let determinant = c[0][0] * c[1][1] - c[0][1] * c[1][0];
    let (a, b) = (x[0] - mean[0], x[1] - mean[1]);
    let square = (c[1][1] * a * a - 2.0 * c[0][1] * a * b + c[0][0] * b * b) / determinant;
    -0.5 * (square + determinant.ln()) - (2.0 * std::f64::consts::PI).ln()
}

#[test]
fn a_file_by_hand_of_each_kind_scores() {
    let x = [2.0, 0.5];
    let table = Table::from(Dense::new(1, 2, x.to_vec()).unwrap());
    let outer = |s: f64, n: [f64; 2]| [[0.36 * s + n[0], 0.48 * s], [0.48 * s, 0.64 * s + n[1]]];
    let covariances = [
        ("pca", outer(3.5, [0.5, 0.5])),
        ("ppca", outer(1.0, [0.5, 0.5])),
        ("fa", outer(1.0, [0.5, 0.25])),
    ];
    for (kind, covariance) in covariances {
        let model = open(kind, &valid(kind)).unwrap();
        assert_eq!((model.kind(), model.columns()), (kind, 2));
        let scores = score(model.scorer::<f64>().unwrap(), &table, &Context::new(0)).unwrap();
        assert_eq!(scores.kind, ScoreKind::Exact);
        let right = density(x, [1.0, -1.0], covariance);
        assert!((scores.rows[0] - right).abs() < 1e-12, "{kind}: {} {right}", scores.rows[0]);
        assert!(model.parts().is_none() && model.explainer::<f64>().is_none());
        assert_eq!(model.components().unwrap().component, [0.6, 0.8]);
    }
    let model = open("nmf", &valid("nmf")).unwrap();
    assert!(model.scorer::<f64>().is_none() && model.sampler().is_none());
    let codes = encode(model.encoder::<f64>().unwrap(), &table, &Context::new(0)).unwrap();
    assert!((codes.values()[0] - 1.6).abs() < 1e-9, "least squares");
}

#[test]
fn what_was_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let model = open(kind, &valid(kind)).unwrap();
        let path = folder.path().join(kind);
        let manifest = Manifest {
            params: serde_json::json!({"loss": "kl", "whiten": true}),
            ..Manifest::new(kind)
        };
        model.save(manifest, &path).unwrap();
        let again = AnyModel::open(&path).unwrap().0;
        if !matches!(kind, "pca" | "nmf") {
            assert_eq!(again, model);
        }
    }
}

#[test]
fn broken_files_are_named() {
    let expectations = [
        ("pca", "component", vec![1, 2], vec![3.0, 4.0], "not orthonormal"),
        ("pca", "explained_variance", vec![1], vec![-1.0], "expected a variance"),
        ("ppca", "noise", vec![2], vec![1.0, 1.0], "expected [1]"),
        ("fa", "noise", vec![3], vec![1.0; 3], "expected [2]"),
        ("fa", "mean", vec![1], vec![1.0], "expected [2]"),
        ("nmf", "component", vec![1, 2], vec![1.0, -1.0], "expected at least 0"),
        ("nmf", "component", vec![2], vec![1.0, 1.0], "expected 2 indices"),
    ];
    for (kind, name, shape, values, said) in expectations {
        let mut tensors = valid(kind);
        tensors.retain(|t| t.0 != name);
        tensors.push((name, shape, values));
        let error = open(kind, &tensors).unwrap_err().to_string();
        assert!(error.starts_with("some.safetensors: ") && error.contains(said), "{error}");
    }
    for kind in KINDS {
        let error = open(kind, &[]).unwrap_err().to_string();
        assert!(error.contains("`component` is missing"), "{error}");
    }
}

proptest! {
    #[test]
    fn odd_numbers_never_make_a_score_that_is_none(
        kind in prop::sample::select(KINDS.to_vec()),
        which in 0usize..4,
        at in 0usize..2,
        number in prop::sample::select(vec![0.0, -1.0, 1e-300, 1e-160, 1e150, 1e300, 3.5, f64::MAX]),
    ) {
        let mut tensors = valid(kind);
        let which = which % tensors.len();
        let at = at % tensors[which].2.len();
        tensors[which].2[at] = number;
        if let Ok(model) = open(kind, &tensors) {
            let context = Context::new(0);
            let cells = vec![1.0, f64::NAN, 2.0, 3.0, 1e30, 0.0];
            let table = Table::from(Dense::new(3, 2, cells).unwrap());
            if let Some(scorer) = model.scorer::<f64>() {
                let scores = score(scorer, &table, &context).unwrap();
                prop_assert!(scores.rows.iter().all(|s| !s.is_nan()));
            }
            let codes = encode(model.encoder::<f64>().unwrap(), &table, &context);
            prop_assert!(codes.is_err() || codes.unwrap().values().iter().all(|c| !c.is_nan()));
            let _ = reconstruct(model.reconstructor::<f64>().unwrap(), &table, &context);
            let _ = model.sampler().map(|s| sample(s, 3, true, &context));
        }
    }
}
