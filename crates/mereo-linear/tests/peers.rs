//! Against scikit-learn: `fixtures/sklearn.py` made `fixtures/sklearn.json`.

use mereo_core::{
    Context, Dense, Encode, Plan, Reconstruct, Score, Silent, Table, encode, reconstruct, score,
};
use mereo_linear::{FaParams, Loss, NmfParams, PcaParams, PpcaParams, factor, nmf, pca};
use serde_json::Value;

fn fixture() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sklearn.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn table(value: &Value) -> Table<f64> {
    let rows = value.as_array().unwrap().len();
    let values = numbers(value);
    Table::from(Dense::new(rows, values.len() / rows, values).unwrap())
}

fn close(found: &[f64], expected: &Value, tolerance: f64, what: &str) {
    let expected = numbers(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (f, e) in found.iter().zip(&expected) {
        assert!((f - e).abs() <= tolerance * (1.0 + e.abs()), "{what}: found {f}, expected {e}");
    }
}

fn long() -> Plan {
    Plan { passes: 20_000, tolerance: 1e-12, ..Plan::default() }
}

#[test]
fn pca_agrees() {
    let all = fixture();
    let (x, told) = (table(&all["x"]), &all["pca"]);
    let context = Context::new(0);
    let (model, _) = pca::fit(&PcaParams::new(3), &x, &long(), &context, &mut Silent).unwrap();
    close(model.component(), &told["component"], 1e-8, "component");
    close(model.mean(), &told["mean"], 1e-10, "mean");
    close(model.explained_variance(), &told["explained_variance"], 1e-8, "variance");
    close(&[model.noise()], &told["noise"], 1e-8, "noise");
    let codes = encode(&model as &dyn Encode<f64>, &x, &context).unwrap();
    close(codes.values(), &told["codes"], 1e-8, "codes");
    let scores = score(&model as &dyn Score<f64>, &x, &context).unwrap();
    close(&scores.rows, &told["scores"], 1e-8, "scores");
    let rebuilt = reconstruct(&model as &dyn Reconstruct<f64>, &x, &context).unwrap();
    let values = numbers(&all["x"]);
    let error: f64 = rebuilt.values().iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum();
    close(&[error / values.len() as f64], &told["reconstruction_error"], 1e-8, "error");
}

#[test]
fn ppca_agrees() {
    let all = fixture();
    let (x, told) = (table(&all["x"]), &all["ppca"]);
    let context = Context::new(0);
    let (model, training) =
        factor::fit_ppca(&PpcaParams::new(3), &x, &long(), &context, &mut Silent).unwrap();
    close(model.component(), &told["component"], 1e-8, "component");
    close(&model.noise()[..1], &told["noise"], 1e-8, "noise");
    let scores = score(&model as &dyn Score<f64>, &x, &context).unwrap();
    close(&scores.rows, &told["scores"], 1e-8, "scores");
    let sum: f64 = scores.rows.iter().sum();
    assert!((training.bound - sum).abs() < 1e-8 * sum.abs());
}

#[test]
fn factor_analysis_reaches_the_same_likelihood() {
    let all = fixture();
    let (x, told) = (table(&all["x"]), &all["fa"]);
    let context = Context::new(0);
    let (model, _) = factor::fit_fa(&FaParams::new(2), &x, &long(), &context, &mut Silent).unwrap();
    let scores = score(&model as &dyn Score<f64>, &x, &context).unwrap();
    let theirs = told["log_likelihood"].as_f64().unwrap();
    assert!(scores.mean > theirs - 1e-6, "{} {theirs}", scores.mean);
    close(model.noise(), &told["noise"], 1e-3, "noise");
}

#[test]
fn nmf_reaches_the_same_loss() {
    let all = fixture();
    let x = table(&all["counts"]);
    let values = numbers(&all["counts"]);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    for (loss, name, unit) in [(Loss::Kl, "kl", mean), (Loss::Frobenius, "frobenius", mean * mean)]
    {
        let params = NmfParams { loss, ..NmfParams::new(3) };
        let plan = Plan { restarts: 5, ..long() };
        let (_, training) = nmf::fit(&params, &x, &plan, &Context::new(0), &mut Silent).unwrap();
        let (ours, theirs) = (-training.bound * unit, all["nmf"][name].as_f64().unwrap());
        assert!(ours <= theirs * (1.0 + 1e-4), "{name}: {ours} {theirs}");
    }
}
