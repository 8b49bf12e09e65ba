//! What users choose is what the library would take by itself, and what models say of themselves is so.

use mereo_core::{
    Context, Dense, DynModel, Features, Manifest, Model, ModelFile, Options, Params, Plan, Silent,
    Table, Tensor,
};
use mereo_quantize::cvq::Inference;
use mereo_quantize::{Association, Cvq, CvqParams, Gvq, GvqParams, Vq, VqParams};
use serde_json::json;

fn options(json: serde_json::Value) -> Options {
    serde_json::from_value(json).unwrap()
}

fn names<P: Params>() -> Vec<String> {
    P::declared().iter().map(mereo_core::ParamInfo::option).collect()
}

#[test]
fn what_is_not_chosen_is_at_its_default() {
    let vq = VqParams::from_options(&options(json!({"states": 4}))).unwrap();
    assert_eq!(vq, VqParams::new(4));
    let gvq = GvqParams::from_options(&options(json!({"features": 4}))).unwrap();
    assert_eq!(gvq, GvqParams::new(4));
    let cvq = CvqParams::from_options(&options(json!({"parts": 2, "states": 4}))).unwrap();
    assert_eq!(cvq, CvqParams::new(2, 4));
    assert_eq!(names::<VqParams>(), ["states", "variance-floor"]);
    assert_eq!(
        names::<GvqParams>(),
        ["features", "sets", "penalty", "binary", "beta", "association", "scouts"]
    );
    assert_eq!(names::<CvqParams>(), ["parts", "states", "inference"]);
}

#[test]
fn what_is_chosen_is_taken() {
    let chosen = json!({"features": 3, "sets": 2, "penalty": 0.5, "binary": true, "scouts": 4,
        "association": "exact"});
    let mut wanted = GvqParams {
        sets: 2,
        penalty: 0.5,
        beta: Some(4.5),
        association: Association::Exact,
        scouts: 4,
        ..GvqParams::new(3)
    };
    let mut chosen = options(chosen);
    assert_eq!(GvqParams::from_options(&chosen).unwrap(), wanted);
    chosen.insert("beta".into(), json!(2.0));
    wanted.beta = Some(2.0);
    assert_eq!(GvqParams::from_options(&chosen).unwrap(), wanted);
    let chosen = json!({"parts": 2, "states": 3, "inference": "mean-field"});
    let wanted = CvqParams { inference: Inference::MeanField, ..CvqParams::new(2, 3) };
    assert_eq!(CvqParams::from_options(&options(chosen)).unwrap(), wanted);
}

#[test]
fn what_cannot_be_is_told_by_the_name_of_its_option() {
    let told = |result: mereo_core::Result<GvqParams>| result.unwrap_err().to_string();
    let of = |json| GvqParams::from_options(&options(json));
    assert!(told(of(json!({}))).contains("features"));
    let steep = told(of(json!({"features": 3, "beta": 2.0})));
    assert!(steep.contains("beta") && steep.contains("binary"), "{steep}");
    let magic = told(of(json!({"features": 3, "association": "magic"})));
    assert!(magic.contains("association") && magic.contains("magic"), "{magic}");
    let magic = "magic".parse::<Association>().unwrap_err().to_string();
    assert!(magic.contains("auto, exact, bp, br, mf, gibbs, dbp, dbr, local"), "{magic}");
}

#[test]
fn sizes_that_memory_must_hold_are_counted() {
    assert_eq!(VqParams::new(7).vectors(100), ("states", 7));
    assert_eq!(GvqParams { sets: 3, ..GvqParams::new(4) }.vectors(100), ("features", 15));
    assert_eq!(CvqParams::new(2, 8).vectors(100), ("states", 16));
    // However large, before it is checked.
    assert_eq!(GvqParams::new(usize::MAX).vectors(1).1, usize::MAX);
    assert_eq!(CvqParams::new(usize::MAX, 3).vectors(1).1, usize::MAX);
}

/// Learns by the trait alone, and looks at the model as front ends do.
fn learned<M: Model>(chosen: serde_json::Value) -> Box<dyn DynModel> {
    let values = (0..40).map(|i| f64::from(i * 7 % 11)).collect();
    let table = Table::from(Dense::new(20, 2, values).unwrap());
    let params = M::Params::from_options(&options(chosen)).unwrap();
    params.check().unwrap();
    let (model, _) =
        M::fit(&params, &table, &Plan::default(), &Context::new(0), &mut Silent).unwrap();
    let file = model.to_file(Manifest::new(M::KIND));
    assert_eq!(M::from_file(file, "memory".as_ref()).unwrap().columns(), 2);
    Box::new(model)
}

#[test]
fn models_can_do_what_they_say() {
    for (model, parts) in [
        (learned::<Vq>(json!({"states": 3})), true),
        (learned::<Gvq>(json!({"features": 2})), false),
        (learned::<Cvq>(json!({"parts": 2, "states": 2})), true),
    ] {
        let what = model.kind();
        for can in [model.on_f64().encoder.is_some(), model.on_f32().encoder.is_some()] {
            assert!(can, "{what}");
        }
        assert!(model.on_f64().reconstructor.is_some(), "{what}");
        assert!(model.on_f64().scorer.is_some(), "{what}");
        assert!(model.sampler().is_some(), "{what}");
        assert_eq!(model.parts().is_some(), parts, "{what}");
        assert_eq!(model.features().is_some(), !parts, "{what}");
        assert!(model.components().is_none() && model.free_parameters().is_none(), "{what}");
        assert!(!model.varies_within_states(), "{what}");
    }
}

/// Features 1 and 2 above 5.
fn by_hand() -> Gvq {
    let mut file = ModelFile::new(Manifest::new(Gvq::KIND));
    file.insert("feature", Tensor::new(vec![1, 2, 1], vec![1.0, 2.0]));
    file.insert("origin", Tensor::new(vec![1, 1], vec![5.0]));
    Gvq::from_file(file, "by hand".as_ref()).unwrap()
}

#[test]
fn features_that_do_not_know_their_noise_have_no_scores() {
    let model = by_hand();
    assert!(Model::scorer::<f64>(&model).is_none());
    assert!(Model::encoder::<f64>(&model).is_some());
}

#[test]
fn features_are_found_in_other_ways_and_left_out_behind_a_pointer() {
    let model = by_hand();
    let features: &dyn Features = &model;
    assert_eq!((features.sets(), features.features()), (1, 2));
    assert_eq!(features.appearance(0, 0b11), [8.0]);
    let weaker = features.strongest(1);
    let weaker = weaker.features().unwrap();
    assert_eq!((weaker.feature(), weaker.origin()), (&[0.0, 2.0][..], &[5.5][..]));
    assert!(features.with_association("br").unwrap().features().is_some());
    let magic = features.with_association("magic").unwrap_err().to_string();
    assert!(magic.contains("association"), "{magic}");
}
