//! What users choose is what the library would take by itself, and what models say of themselves is so.

use mereo_core::{Context, Dense, DynModel, Manifest, Model, Options, Params, Plan, Silent, Table};
use mereo_linear::{
    Fa, FaParams, Loss, Nmf, NmfParams, Pca, PcaParams, Ppca, PpcaParams, Rotation,
};
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
    assert_eq!(PcaParams::from_options(&three).unwrap(), PcaParams::new(3));
    assert_eq!(PpcaParams::from_options(&three).unwrap(), PpcaParams::new(3));
    assert_eq!(FaParams::from_options(&three).unwrap(), FaParams::new(3));
    assert_eq!(NmfParams::from_options(&three).unwrap(), NmfParams::new(3));
    assert_eq!(names::<PcaParams>(), ["components", "whiten"]);
    assert_eq!(names::<PpcaParams>(), ["components", "variance-floor"]);
    assert_eq!(names::<FaParams>(), ["components", "rotation", "variance-floor", "shrinkage"]);
    assert_eq!(names::<NmfParams>(), ["components", "loss"]);
}

#[test]
fn what_is_chosen_is_taken() {
    let chosen = options(json!({"components": 3, "whiten": true}));
    assert!(PcaParams::from_options(&chosen).unwrap().whiten);
    let chosen = options(json!({"components": 3, "rotation": "varimax", "variance_floor": 0.01}));
    let fa = FaParams::from_options(&chosen).unwrap();
    assert_eq!((fa.rotation, fa.variance_floor), (Rotation::Varimax, 0.01));
    let chosen = options(json!({"components": 3, "loss": "kl"}));
    assert_eq!(NmfParams::from_options(&chosen).unwrap().loss, Loss::Kl);
}

#[test]
fn what_cannot_be_is_told_by_the_name_of_its_option() {
    let error = NmfParams::from_options(&options(json!({"components": 3, "loss": "l1"})));
    let told = error.unwrap_err().to_string();
    assert!(told.contains("loss") && told.contains("l1"), "{told}");
    let told = "l1".parse::<Loss>().unwrap_err().to_string();
    assert!(told.contains("kl, frobenius"), "{told}");
    let told = PcaParams::from_options(&Options::new()).unwrap_err().to_string();
    assert!(told.contains("components"), "{told}");
}

/// Learns by the trait alone, and looks at the model as front ends do.
fn learned<M: Model>() -> Box<dyn DynModel> {
    let values = (0..60).map(|i| f64::from(i * 7 % 11)).collect();
    let table = Table::from(Dense::new(20, 3, values).unwrap());
    let params = M::Params::from_options(&options(json!({"components": 2}))).unwrap();
    params.check().unwrap();
    assert_eq!((params.vectors(100), M::Params::RESTARTS), (("components", 2), 1));
    let (model, _) =
        M::fit(&params, &table, &Plan::default(), &Context::new(0), &mut Silent).unwrap();
    let file = model.to_file(Manifest::new(M::KIND));
    assert_eq!(M::from_file(file, "memory".as_ref()).unwrap(), model);
    Box::new(model)
}

#[test]
fn models_can_do_what_they_say() {
    for (model, kind, density) in [
        (learned::<Pca>(), "pca", true),
        (learned::<Ppca>(), "ppca", true),
        (learned::<Fa>(), "fa", true),
        (learned::<Nmf>(), "nmf", false),
    ] {
        assert_eq!((model.kind(), model.columns()), (kind, 3));
        assert!(model.on_f64().encoder.is_some() && model.on_f32().encoder.is_some(), "{kind}");
        assert!(model.on_f64().reconstructor.is_some(), "{kind}");
        assert_eq!(model.on_f64().scorer.is_some(), density, "{kind}");
        assert_eq!(model.sampler().is_some(), density, "{kind}");
        assert_eq!(model.components().map(|view| view.component.len()), Some(6), "{kind}");
        assert!(model.parts().is_none() && model.free_parameters().is_none(), "{kind}");
        assert!(!model.varies_within_states(), "{kind}");
    }
}
