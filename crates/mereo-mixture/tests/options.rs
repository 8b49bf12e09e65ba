//! What users choose is what the library would take by itself, and what models say of themselves is so.

use mereo_core::{Context, Dense, DynModel, Manifest, Model, Options, Params, Plan, Silent, Table};
use mereo_mixture::deep::{Em, LayerKind, MStep, Search};
use mereo_mixture::{Covariance, DeepGmm, DeepGmmParams, Gmm, GmmParams, Student, StudentParams};
use serde_json::json;

fn options(json: serde_json::Value) -> Options {
    serde_json::from_value(json).unwrap()
}

fn names<P: Params>() -> Vec<String> {
    P::declared().iter().map(mereo_core::ParamInfo::option).collect()
}

#[test]
fn what_is_not_chosen_is_at_its_default() {
    let three = options(json!({"components": 3}));
    assert_eq!(GmmParams::from_options(&three).unwrap(), GmmParams::new(3));
    assert_eq!(StudentParams::from_options(&three).unwrap(), StudentParams::new(3));
    let deep = DeepGmmParams::from_options(&options(json!({"layers": [3, 2]}))).unwrap();
    assert_eq!(deep, DeepGmmParams::new(&[3, 2]));
    assert_eq!(
        names::<GmmParams>(),
        [
            "components",
            "covariance",
            "factors",
            "hard",
            "variance-floor",
            "shrinkage",
            "pseudo-count"
        ]
    );
    assert_eq!(names::<StudentParams>(), ["components", "variance-floor"]);
    let deep = "layers layer-kind em search factorised sweeps m-step steps variance-floor";
    assert_eq!(names::<DeepGmmParams>().join(" "), deep);
}

#[test]
fn the_floor_of_variances_depends_on_what_covariances_may_be() {
    let floor = |covariance: &str| {
        let chosen = options(json!({"components": 3, "covariance": covariance}));
        let params = GmmParams::from_options(&chosen).unwrap();
        assert_eq!(params, GmmParams::with(3, covariance.parse().unwrap()));
        params.variance_floor
    };
    let floors = Covariance::NAMES.map(floor);
    assert_eq!(floors, [1e-3, 1e-3, 1e-6, 1e-6, 1e-3]);
    // As the option's documentation says.
    let declared = GmmParams::declared();
    let about = &declared.iter().find(|info| info.name == "variance_floor").unwrap().about;
    assert!(about.contains(" 0.001 ") && about.contains(" 0.000001."), "{about}");
    let chosen = json!({"components": 3, "covariance": "full", "variance_floor": 0.5});
    assert_eq!(GmmParams::from_options(&options(chosen)).unwrap().variance_floor, 0.5);
}

#[test]
fn what_is_chosen_is_taken() {
    let chosen = json!({"components": 3, "covariance": "full", "factors": 2, "hard": true,
        "shrinkage": 100.0});
    let wanted = GmmParams {
        factors: 2,
        hard: true,
        shrinkage: Some(100.0),
        ..GmmParams::with(3, Covariance::Full)
    };
    assert_eq!(GmmParams::from_options(&options(chosen)).unwrap(), wanted);
    let chosen = json!({"layers": [3, 2], "layer_kind": ["full", "scale"], "em": "hard",
        "search": "coordinate", "factorised": true, "sweeps": 2, "m_step": "lbfgs", "steps": 3,
        "variance_floor": 0.1});
    let wanted = DeepGmmParams {
        layers: vec![3, 2],
        layer_kind: vec![LayerKind::Full, LayerKind::Scale],
        em: Em::Hard,
        search: Search::Coordinate,
        factorised: true,
        sweeps: 2,
        m_step: MStep::Lbfgs,
        steps: 3,
        variance_floor: 0.1,
    };
    assert_eq!(DeepGmmParams::from_options(&options(chosen)).unwrap(), wanted);
}

#[test]
fn what_cannot_be_is_told_by_the_name_of_its_option() {
    let of = |json| DeepGmmParams::from_options(&options(json));
    let told = of(json!({})).unwrap_err().to_string();
    assert!(told.contains("layers"), "{told}");
    let told = of(json!({"layers": [2], "layer_kind": ["round"]})).unwrap_err().to_string();
    assert!(told.contains("layer-kind") && told.contains("round"), "{told}");
    let told = "round".parse::<LayerKind>().unwrap_err().to_string();
    assert!(told.contains("full, scale, diagonal, orthogonal"), "{told}");
    let few = of(json!({"layers": [2, 2], "layer_kind": ["full"]})).unwrap();
    let told = few.check().unwrap_err().to_string();
    assert!(told.contains("layer-kind") && told.contains("1 kinds for 2 layers"), "{told}");
    let soft = of(json!({"layers": [2, 2], "search": "coordinate"})).unwrap();
    let told = soft.check().unwrap_err().to_string();
    assert!(told.contains("search") && told.contains("choose hard for em"), "{told}");
}

#[test]
fn sizes_that_memory_must_hold_are_counted() {
    assert_eq!(GmmParams::new(7).vectors(100), ("components", 7));
    assert_eq!(GmmParams::with(7, Covariance::LowRank).vectors(100), ("components", 700));
    assert_eq!(StudentParams::new(7).vectors(100), ("components", 700));
    assert_eq!(DeepGmmParams::new(&[3, 2]).vectors(100), ("layers", 600));
    // However large, before it is checked.
    assert_eq!(DeepGmmParams::new(&[usize::MAX, 3]).vectors(1).1, usize::MAX);
}

/// Learns by the trait alone, and looks at the model as front ends do.
fn learned<M: Model>(chosen: serde_json::Value) -> Box<dyn DynModel> {
    let values = (0..80).map(|i| f64::from(i * i * 7 % 23)).collect();
    let table = Table::from(Dense::new(40, 2, values).unwrap());
    let params = M::Params::from_options(&options(chosen)).unwrap();
    params.check().unwrap();
    let (model, _) =
        M::fit(&params, &table, &Plan::default(), &Context::new(0), &mut Silent).unwrap();
    let mut manifest = Manifest::new(M::KIND);
    manifest.params = serde_json::to_value(&params).unwrap();
    let file = model.to_file(manifest);
    assert_eq!(M::from_file(file, "memory".as_ref()).unwrap(), model);
    Box::new(model)
}

#[test]
fn models_can_do_what_they_say() {
    let of = |covariance| json!({"components": 2, "covariance": covariance, "factors": 1});
    for (model, kind, parts, varies) in [
        (learned::<Gmm>(of("spherical")), "gmm", true, false),
        (learned::<Gmm>(of("diagonal")), "gmm", true, false),
        (learned::<Gmm>(of("tied")), "gmm", true, true),
        (learned::<Gmm>(of("full")), "gmm", true, true),
        (learned::<Gmm>(of("low-rank")), "gmm", true, true),
        (learned::<Student>(json!({"components": 2})), "student", true, true),
        (learned::<DeepGmm>(json!({"layers": [2, 2]})), "deep-gmm", false, true),
    ] {
        assert_eq!((model.kind(), model.columns()), (kind, 2));
        assert!(model.on_f64().encoder.is_some() && model.on_f32().encoder.is_some(), "{kind}");
        assert!(model.on_f64().reconstructor.is_some(), "{kind}");
        assert!(model.on_f64().scorer.is_some() && model.sampler().is_some(), "{kind}");
        assert!(model.free_parameters().is_some_and(|free| free > 2), "{kind}");
        assert_eq!(model.parts().is_some(), parts, "{kind}");
        assert_eq!(model.layers().is_some(), !parts, "{kind}");
        assert_eq!(model.varies_within_states(), varies, "{kind}");
        assert!(model.components().is_none() && model.features().is_none(), "{kind}");
    }
}

#[test]
fn layers_are_seen_behind_a_pointer() {
    let model = learned::<DeepGmm>(json!({"layers": [3, 2], "layer_kind": ["full", "scale"]}));
    let layers = model.layers().unwrap();
    assert_eq!(layers.sizes(), [3, 2]);
    assert_eq!((layers.layer_kind(0), layers.layer_kind(1)), ("full", "scale"));
    assert_eq!((layers.usage(1).len(), layers.path_weight().len()), (2, 6));
    assert_eq!(layers.variations(0, &[0.5, -0.5]).len(), 3 * 2);
}
