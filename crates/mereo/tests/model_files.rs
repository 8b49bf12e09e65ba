//! Model files written by hand, and files that somebody broke.

use std::fmt::Write;

use mereo::AnyModel;
use mereo::{
    Context, Dense, Likelihood, ModelFile, Table, classify, encode, reconstruct, sample, score,
};
use proptest::prelude::*;

const LOG_2_PI: f64 = 1.837_877_066_409_345_3;

/// A safetensors file from nothing but its description: a length, a JSON header, the numbers.
fn by_hand(manifest: &str, tensors: &[(&str, &[usize], &[f64])]) -> Vec<u8> {
    let escaped = manifest.replace('"', "\\\"");
    let mut header = format!("{{\"__metadata__\":{{\"mereo\":\"{escaped}\"}}");
    let mut data = Vec::new();
    for (name, shape, values) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        write!(
            header,
            ",\"{name}\":{{\"dtype\":\"F64\",\"shape\":{shape:?},\"data_offsets\":[{start},{}]}}",
            data.len()
        )
        .unwrap();
    }
    header.push('}');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

fn manifest(kind: &str) -> String {
    format!("{{\"format\":1,\"model\":\"{kind}\"}}")
}

/// A valid file of each kind: two columns, two states (or one factor).
fn valid(kind: &str) -> Vec<u8> {
    let mean: &[f64] = &[0.0, 0.0, 10.0, 10.0];
    match kind {
        "vq" => by_hand(
            &manifest(kind),
            &[
                ("mean", &[2, 2], mean),
                ("state_prior", &[2], &[0.5; 2]),
                ("variance", &[1], &[1.0]),
            ],
        ),
        "gmm" => by_hand(
            &manifest(kind),
            &[
                ("mean", &[2, 2], mean),
                ("state_prior", &[2], &[0.5; 2]),
                ("variance", &[2, 2], &[1.0; 4]),
            ],
        ),
        "student" => by_hand(
            &manifest(kind),
            &[
                ("mean", &[2, 2], mean),
                ("weight", &[2], &[0.5; 2]),
                ("scale", &[2, 2, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]),
                ("degrees", &[2], &[3.0; 2]),
            ],
        ),
        "deep-gmm" => by_hand(
            &manifest(kind),
            &[
                ("layer1.transform", &[2, 2, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]),
                ("layer1.bias", &[2, 2], mean),
                ("layer2.transform", &[1, 2, 2], &[1.0, 0.0, 0.0, 1.0]),
                ("layer2.bias", &[1, 2], &[0.0; 2]),
                ("path_weight", &[2, 1], &[0.5; 2]),
            ],
        ),
        "mcfa" => by_hand(
            &manifest(kind),
            &[
                ("gate", &[2, 1], &[1.0; 2]),
                ("loading", &[1, 2, 1], &[0.0; 2]),
                ("offset", &[1, 2], &[0.0; 2]),
                ("noise", &[1, 2], &[1.0; 2]),
            ],
        ),
        // Two states of one feature: nothing, and ten more everywhere.
        "gvq" => by_hand(
            &manifest(kind),
            &[
                ("feature", &[1, 1, 2], &[10.0; 2]),
                ("origin", &[1, 2], &[0.0; 2]),
                ("variance", &[1], &[1.0]),
            ],
        ),
        "cvq" => by_hand(
            &manifest(kind),
            &[
                ("mean", &[1, 2, 2], mean),
                ("state_prior", &[1, 2], &[0.5; 2]),
                ("variance", &[1], &[1.0]),
            ],
        ),
        _ => by_hand(
            &manifest(kind),
            &[
                ("gate", &[2, 1], &[1.0; 2]),
                ("mean", &[1, 2, 2], mean),
                ("state_prior", &[1, 2], &[0.5; 2]),
                ("variance", &[1, 2, 2], &[1.0; 4]),
            ],
        ),
    }
}

const KINDS: [&str; 8] = ["vq", "gmm", "student", "deep-gmm", "mcvq", "mcfa", "gvq", "cvq"];

fn open(bytes: &[u8]) -> mereo::Result<AnyModel> {
    let path = "some.safetensors".as_ref();
    Ok(AnyModel::from_file(ModelFile::from_bytes(bytes, path)?, path)?.0)
}

fn refused(bytes: &[u8]) -> String {
    let said = open(bytes).unwrap_err().to_string();
    assert!(said.starts_with("some.safetensors: "), "{said}");
    said
}

/// Asks a model for everything that it can do; nothing may panic.
fn exercise(model: &AnyModel) {
    let context = Context::new(0);
    let columns = model.columns();
    let cells = (0..2 * columns).map(|i| if i % 3 == 1 { f64::NAN } else { i as f64 }).collect();
    let table = Table::from(Dense::new(2, columns, cells).unwrap());
    if let Some(scorer) = model.scorer::<f64>() {
        let scores = score(scorer, &table, &context).unwrap();
        assert!(scores.rows.iter().all(|s| !s.is_nan()));
    }
    if let Some(encoder) = model.encoder::<f64>() {
        let codes = encode(encoder, &table, &context).unwrap();
        assert!(codes.values().iter().all(|m| !m.is_nan()));
    }
    // Means may be larger than a table's cells can be: an error then, with the place.
    let _ = model.reconstructor::<f64>().map(|r| reconstruct(r, &table, &context));
    let _ = model.sampler().map(|s| sample(s, 3, true, &context));
    assert!(model.parts().is_none_or(|p| p.columns == columns));
}

#[test]
fn a_file_by_hand_of_each_kind_scores() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("by-hand.safetensors");
        std::fs::write(&path, valid(kind)).unwrap();
        let (model, manifest) = AnyModel::open(&path).unwrap();
        assert_eq!((model.kind(), manifest.model.as_str(), model.columns()), (kind, kind, 2));
        let table = Table::from(Dense::new(2, 2, vec![0.0, 0.0, 10.0, f64::NAN]).unwrap());
        let scores = score(model.scorer::<f64>().unwrap(), &table, &Context::new(0)).unwrap();
        // At a mean of one of two equal states, the other far away: ½ N(0)^D.
        let half = 0.5f64.ln();
        let right = match kind {
            // One part that does not move: N(0)^2, and N(10).
            "mcfa" => [-LOG_2_PI, -50.0 - 0.5 * LOG_2_PI],
            // With 3 degrees of freedom the other is not so far away.
            "student" => [
                half - LOG_2_PI + (1.0 + (1.0f64 + 200.0 / 3.0).powf(-2.5)).ln(),
                half + (2.0 / (std::f64::consts::PI * 3.0f64.sqrt())).ln()
                    + (1.0 + (1.0f64 + 100.0 / 3.0).powi(-2)).ln(),
            ],
            _ => [half - LOG_2_PI, half - 0.5 * LOG_2_PI],
        };
        for (found, right) in scores.rows.iter().zip(right) {
            assert!((found - right).abs() < 1e-9, "{kind}: {found}, not {right}");
        }
        exercise(&model);
        let again = folder.path().join("again.safetensors");
        model.save(manifest.clone(), &again).unwrap();
        assert_eq!(AnyModel::open(&again).unwrap(), (model, manifest));
    }
}

#[test]
fn hostile_files_are_refused_with_a_reason() {
    for kind in KINDS {
        let good = valid(kind);
        for end in 0..good.len() {
            refused(&good[..end]);
        }
        let mut huge = good.clone();
        huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(refused(&huge).contains("no safetensors file"));
    }
    assert!(refused(b"").contains("no safetensors file"));
    let one: (&str, &[usize], &[f64]) = ("mean", &[1], &[1.0]);
    assert!(refused(&by_hand("not JSON", &[one])).contains("its manifest is broken"));
    assert!(refused(&by_hand(&manifest("oracle"), &[one])).contains("a `oracle` model"));
    let newer = "{\"format\":99,\"model\":\"vq\"}";
    assert!(refused(&by_hand(newer, &[one])).contains("its format is 99"));
    let older = "{\"format\":0,\"model\":\"vq\"}";
    assert!(refused(&by_hand(older, &[one])).contains("its format is 0"));
    let speaks = "{\"format\":1,\"model\":\"vq\",\"columns\":[\"one\"]}";
    let tensors: [(&str, &[usize], &[f64]); 3] =
        [("mean", &[1, 2], &[0.0; 2]), ("state_prior", &[1], &[1.0]), ("variance", &[1], &[1.0])];
    assert!(refused(&by_hand(speaks, &tensors)).contains("other columns than the 2"));
    let picture = "{\"format\":1,\"model\":\"vq\",\"picture\":{\"height\":18446744073709551615,\"width\":9,\"channels\":3}}";
    assert!(refused(&by_hand(picture, &tensors)).contains("other columns than the 2"));
    // Sizes that are declared but not there.
    let text = String::from_utf8_lossy(&valid("vq")[8..]).into_owned();
    let header = &text[..=text.rfind('}').unwrap()];
    for shape in ["[9999999999,9999999999]", "[18446744073709551615,2]", "[4000000000,1]", "[-1,2]"]
    {
        let header = header.replacen("[2, 2]", shape, 1);
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.bytes());
        refused(&bytes);
    }
}

#[test]
fn wrong_tensors_are_named() {
    type Tensors<'a> = [(&'a str, &'a [usize], &'a [f64]); 3];
    let cases: [(&str, Tensors<'_>, &str); 8] = [
        (
            "vq",
            [
                ("mean", &[2], &[0.0; 2]),
                ("state_prior", &[2], &[0.5; 2]),
                ("variance", &[1], &[1.0]),
            ],
            "`mean`",
        ),
        (
            "vq",
            [
                ("mean", &[2, 1], &[0.0; 2]),
                ("state_prior", &[1], &[1.0]),
                ("variance", &[1], &[1.0]),
            ],
            "`state_prior`",
        ),
        (
            "vq",
            [
                ("mean", &[1, 2], &[0.0, f64::NAN]),
                ("state_prior", &[1], &[1.0]),
                ("variance", &[1], &[1.0]),
            ],
            "NaN",
        ),
        (
            "vq",
            [("mean", &[1, 1], &[0.0]), ("state_prior", &[1], &[1.0]), ("variance", &[1], &[-2.0])],
            "holds -2",
        ),
        (
            "gmm",
            [("mean", &[1, 1], &[0.0]), ("state_prior", &[1], &[1.0]), ("variance", &[1], &[1.0])],
            "`variance`",
        ),
        (
            "gmm",
            [
                ("mean", &[1, 1], &[0.0]),
                ("state_prior", &[1], &[1.0]),
                ("variance", &[1, 1], &[0.0]),
            ],
            "`variance` holds 0",
        ),
        (
            "gmm",
            [
                ("mean", &[1, 1], &[0.0]),
                ("state_prior", &[1], &[0.2]),
                ("variance", &[1, 1], &[1.0]),
            ],
            "no distribution",
        ),
        (
            "gmm",
            [
                ("mean", &[1, 1], &[f64::INFINITY]),
                ("state_prior", &[1], &[1.0]),
                ("variance", &[1, 1], &[1.0]),
            ],
            "inf",
        ),
    ];
    for (kind, tensors, expected) in cases {
        let said = refused(&by_hand(&manifest(kind), &tensors));
        assert!(said.contains(expected), "{said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever happens to the bytes of a file: it is refused, or it is a model that works.
    #[test]
    fn mutated_files_never_panic(
        kind in 0usize..4,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut bytes = valid(KINDS[kind]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(model) = open(&bytes) {
            exercise(&model);
        }
    }
}

#[test]
fn features_by_hand_encode_without_knowing_their_noise() {
    let bytes = by_hand(
        &manifest("gvq"),
        &[
            ("feature", &[2, 1, 2], &[1.0, 0.0, 0.0, 1.0]),
            ("origin", &[2, 2], &[0.0, 0.0, 5.0, 5.0]),
            ("penalty", &[1], &[0.1]),
        ],
    );
    let model = open(&bytes).unwrap();
    assert!(model.scorer::<f64>().is_none() && model.parts().is_none());
    let table = Table::from(Dense::new(2, 2, vec![1.0, 0.1, 5.0, 6.0]).unwrap());
    let codes = encode(model.encoder::<f64>().unwrap(), &table, &Context::new(0)).unwrap();
    // The features of both sets, then the set.
    assert_eq!(codes.values(), [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    for (tensor, value, said) in [("penalty", -1.0, "`penalty`"), ("beta", 0.0, "`beta`")] {
        let feature: (&str, &[usize], &[f64]) = ("feature", &[1, 1, 1], &[1.0]);
        let origin: (&str, &[usize], &[f64]) = ("origin", &[1, 1], &[1.0]);
        let bytes = by_hand(&manifest("gvq"), &[feature, origin, (tensor, &[1], &[value])]);
        assert!(refused(&bytes).contains(said));
    }
    let large: (&str, &[usize], &[f64]) = ("feature", &[1, 1, 1], &[1e140]);
    let bytes = by_hand(&manifest("gvq"), &[large, ("origin", &[1, 1], &[1.0])]);
    assert!(refused(&bytes).contains("1e140"));
}

/// One part of two states; the first class shows the first alone, the second mostly the second.
fn with_classes(manifest: &str, class_prior: &[f64], state_prior: &[f64]) -> Vec<u8> {
    let n = class_prior.len();
    by_hand(
        manifest,
        &[
            ("class_prior", &[n], class_prior),
            ("gate", &[2, 1], &[1.0; 2]),
            ("mean", &[1, 2, 2], &[0.0, 0.0, 10.0, 10.0]),
            ("state_prior", &[n, 1, 2], state_prior),
            ("variance", &[1, 2, 2], &[1.0; 4]),
        ],
    )
}

#[test]
fn a_class_layer_is_seen_from_its_prior() {
    let model =
        open(&with_classes(&manifest("mcvq"), &[0.25, 0.75], &[1.0, 0.0, 0.2, 0.8])).unwrap();
    let table = Table::from(Dense::new(2, 2, vec![0.0, 0.0, 10.0, 10.0]).unwrap());
    let context = Context::new(0);
    let scores = score(model.scorer::<f64>().unwrap(), &table, &context).unwrap();
    // State 0 has 0.25 + 0.75 · 0.2 of the rows, state 1 the rest.
    for (found, prior) in scores.rows.iter().zip([0.4f64, 0.6]) {
        assert!((found - (prior.ln() - LOG_2_PI)).abs() < 1e-9, "{found} {prior}");
    }
    for how in [Likelihood::Bound, Likelihood::Exact, Likelihood::Importance(500)] {
        let classifier = model.classifier::<f64>().unwrap();
        let found = classify(classifier, how, &table, &context).unwrap();
        for (row, expected) in [[0.625, 0.375], [0.0, 1.0]].iter().enumerate() {
            for (found, expected) in found.row(row).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{how:?} {found} {expected}");
            }
        }
    }
    let half = model.hybrid(&[vec![(0, 1.0), (1, 1.0)]]).unwrap();
    assert_eq!(half.parts().unwrap().state_prior, [0.6, 0.4]);
    assert!(half.classes().is_none() && half.classifier::<f64>().is_none());
}

#[test]
fn factors_of_a_class_layer_are_centred_elsewhere() {
    let bytes = |prior: &[f64], centres: &[f64]| {
        let n = prior.len();
        by_hand(
            &manifest("mcfa"),
            &[
                ("class_prior", &[n], prior),
                ("factor_mean", &[n, 1, 1], centres),
                ("gate", &[2, 1], &[1.0; 2]),
                ("loading", &[1, 2, 1], &[1.0, 0.0]),
                ("noise", &[1, 2], &[1.0; 2]),
                ("offset", &[1, 2], &[5.0, 0.0]),
            ],
        )
    };
    let model = open(&bytes(&[0.25, 0.75], &[2.0, -2.0])).unwrap();
    let table = Table::from(Dense::new(2, 2, vec![7.0, 0.0, 4.0, 0.0]).unwrap());
    let context = Context::new(0);
    // With one part the bound is the density: the first column is N(5 ± 2, 1 + 1).
    let of = |x: f64, centre: f64| -0.25 * (x - 5.0 - centre).powi(2) - 0.5 * 2f64.ln() - LOG_2_PI;
    let scores = score(model.scorer::<f64>().unwrap(), &table, &context).unwrap();
    let classes = model.classifier::<f64>().unwrap();
    let found = classify(classes, Likelihood::Bound, &table, &context).unwrap();
    let drawn = classify(classes, Likelihood::Importance(4000), &table, &context).unwrap();
    for (row, x) in [7.0, 4.0].into_iter().enumerate() {
        let terms = [0.25 * of(x, 2.0).exp(), 0.75 * of(x, -2.0).exp()];
        let total = terms[0] + terms[1];
        assert!((scores.rows[row] - total.ln()).abs() < 1e-9);
        assert!((found.row(row)[0] - terms[0] / total).abs() < 1e-9);
        assert!((drawn.row(row)[0] - terms[0] / total).abs() < 0.02);
    }
    let half = model.hybrid(&[vec![(0, 1.0), (1, 1.0)]]).unwrap();
    assert_eq!(half.parts().unwrap().mean[..2], [5.0, 0.0]);
    assert!(half.classes().is_none() && half.classifier::<f64>().is_none());
    let said = refused(&bytes(&[0.5, 0.4], &[1.0, 2.0]));
    assert!(said.contains("class_prior"), "{said}");
    let said = refused(&bytes(&[0.5, 0.5], &[f64::NAN, 2.0]));
    assert!(said.contains("factor_mean"), "{said}");
}

#[test]
fn broken_class_layers_are_refused() {
    let said = refused(&with_classes(&manifest("mcvq"), &[0.25, 0.25], &[1.0, 0.0, 0.2, 0.8]));
    assert!(said.contains("class_prior"), "{said}");
    let said = refused(&with_classes(&manifest("mcvq"), &[0.5, 0.5], &[1.0, 0.0, 0.2, 0.2]));
    assert!(said.contains("state_prior"), "{said}");
    let named = "{\"format\":1,\"model\":\"mcvq\",\"classes\":[\"a\"]}";
    let said = refused(&with_classes(named, &[0.5, 0.5], &[1.0, 0.0, 0.2, 0.8]));
    assert!(said.contains("names 1 classes"), "{said}");
}
