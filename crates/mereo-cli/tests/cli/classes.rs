//! Classes, densities and sizes, end to end.

use serde_json::Value;

use crate::world::World;

fn with_faces() -> World {
    let world = World::new();
    world.ok("-q toy faces --rows 300 --labels -o d.csv");
    world
}

const SMALL: &str = "--parts 5 --states 6 --restarts 1 --passes 45 --scouts 4";

#[test]
fn labelled_classes_are_learned_shown_and_used() {
    let world = with_faces();
    let columns = world.text("d.csv").lines().next().unwrap().split(',').count();
    let label = (columns - 1).to_string();
    world.ok(&format!("-q fit mcvq d.csv {SMALL} --labels {label} -o m.safetensors"));
    let shown = world.json("show m.safetensors --json");
    let names = shown["manifest"]["classes"].as_array().unwrap();
    assert_eq!(names.len(), 5);
    assert_eq!(shown["tensors"]["class_prior"], serde_json::json!([5]));
    assert_eq!(shown["tensors"]["state_prior"], serde_json::json!([5, 5, 6]));
    assert!(world.ok("show m.safetensors").contains("5 classes: anger"));

    let found = world.json(&format!("classify m.safetensors d.csv --label {label} --json"));
    assert!(found["accuracy"].as_f64().unwrap() > 0.8, "{}", found["accuracy"]);
    assert_eq!(found["predicted"].as_array().unwrap().len(), 300);
    let told = world.ok(&format!("classify m.safetensors d.csv --label {label}"));
    assert!(told.contains("right class") && told.contains("sunglasses"), "{told}");
    let words = format!("classify m.safetensors d.csv --label {label} --likelihood importance");
    let drawn = world.json(&format!("{words} --samples 50 --json"));
    assert!(drawn["accuracy"].as_f64().unwrap() > 0.8, "{}", drawn["accuracy"]);
    world.ok(&format!("-q classify m.safetensors d.csv --label {label} -o classes.csv"));
    assert!(world.text("classes.csv").lines().next().unwrap().starts_with("anger,neutral"));

    world.ok("-q sample m.safetensors -n 3 --class scream --class sunglasses:2 -o h.csv");
    world.ok("-q sample m.safetensors -n 3 --class smile=0.7 --class anger=0.3 -o x.csv");
    let told = world.refused("sample m.safetensors -n 3 --class grumpy -o y.csv");
    assert!(told.contains("grumpy") && told.contains("scream"), "{told}");
    let told = world.refused("sample m.safetensors -n 3 --class scream:7 -o y.csv");
    assert!(told.contains("no part 7"), "{told}");

    world.ok(&format!("-q report m.safetensors d.csv --label {label} -o r.html"));
    let page = world.text("r.html");
    for part in ["The classes and their habits", "by-class", "Labels and classes"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn factors_have_classes_too() {
    let world = World::new();
    let size = "--parts 5 --factors 2 --restarts 1 --passes 25 --scouts 2";
    world.ok(&format!("-q fit mcfa toy:faces {size} --classes labels -o m.safetensors"));
    let shown = world.json("show m.safetensors --json");
    assert_eq!(shown["tensors"]["factor_mean"], serde_json::json!([5, 5, 2]));
    assert_eq!(shown["manifest"]["classes"].as_array().unwrap().len(), 5);
    let found = world.json("classify m.safetensors toy:faces --json");
    assert!(found["accuracy"].as_f64().unwrap() > 0.6, "{}", found["accuracy"]);
    let words = "m.safetensors toy:faces --likelihood importance --samples 20 --json";
    assert_eq!(world.json(&format!("score {words}"))["kind"], "estimate");
    assert!(world.json(&format!("classify {words}"))["accuracy"].as_f64().unwrap() > 0.5);
    let told = world.refused("score m.safetensors toy:faces --likelihood exact");
    assert!(told.contains("importance"), "{told}");
    world.ok("-q sample m.safetensors -n 3 --class scream --class sunglasses:2=0.5 -o h.csv");
    world.ok("-q report m.safetensors toy:faces -o r.html");
    let page = world.text("r.html");
    for part in ["factors of a part are centred", "Drawn from each class", "Hybrids"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn classes_without_labels_are_compared_with_labels() {
    let world = World::new();
    world.ok(&format!("-q fit mcvq toy:faces {SMALL} --classes 3 -o m.safetensors"));
    let told = world.ok("classify m.safetensors toy:faces");
    assert!(told.contains("adjusted Rand index"), "{told}");
    let json = world.json("classify m.safetensors toy:faces --json");
    assert_eq!(json["classes"], serde_json::json!(["0", "1", "2"]));
    assert!(json["accuracy"].is_null());
    world.ok("-q report m.safetensors toy:faces -o r.html");
    let page = world.text("r.html");
    assert!(page.contains("Drawn from each class") && page.contains("Hybrids"));
}

#[test]
fn what_has_no_classes_says_so() {
    let world = World::with_model("d.npy");
    assert!(world.refused("classify m.safetensors d.npy").contains("cannot classify"));
    assert!(world.refused("sample m.safetensors -n 1 --class a -o s.csv").contains("no classes"));
    let told =
        world.refused("fit mcvq d.npy --parts 2 --states 2 --classes labels -o x.safetensors");
    assert!(told.contains("no labels"), "{told}");
    let told = world.refused("fit mcvq d.npy --parts 2 --states 2 --classes few -o x.safetensors");
    assert!(told.contains("`few` is not there") && told.contains("npy or IDX"), "{told}");
}

#[test]
fn densities_are_worked_out_as_asked() {
    let world = World::with_model("d.npy");
    let kind = |how: &str| {
        let told = world.json(&format!("score m.safetensors d.npy {how} --json"));
        (told["kind"].as_str().unwrap().to_owned(), told["mean"].as_f64().unwrap(), told)
    };
    let (bound, exact) = (kind(""), kind("--likelihood exact"));
    let drawn = kind("--likelihood importance --samples 200 --seed 3");
    let plain = kind("--likelihood prior --samples 200 --seed 3");
    assert_eq!(
        [&bound.0, &exact.0, &drawn.0, &plain.0],
        ["bound", "exact", "estimate", "estimate"]
    );
    assert!(bound.1 <= exact.1 + 1e-9);
    let error = |told: &Value| told["standard_error"].as_f64().unwrap();
    assert!((drawn.1 - exact.1).abs() <= 4.0 * error(&drawn.2) + 1e-3, "{} {}", drawn.1, exact.1);
    assert!(drawn.2["effective_samples"].as_f64().unwrap() >= 1.0);
    assert!(exact.2["standard_error"].is_null());
    assert_eq!(drawn.2, kind("--likelihood importance --samples 200 --seed 3").2);
    assert_ne!(
        drawn.1.to_bits(),
        kind("--likelihood importance --samples 200 --seed 4").1.to_bits()
    );
    assert!(
        world
            .refused("score m.safetensors d.npy --likelihood prior --samples 0")
            .contains("samples")
    );
    world.ok("-q fit gmm d.npy --components 2 -o g.safetensors");
    assert!(world.ok("score g.safetensors d.npy --likelihood exact").contains("log density"));
    assert!(world.refused("score g.safetensors d.npy --likelihood bound").contains("cannot"));
}

#[test]
fn rows_are_explained_part_by_part() {
    let world = World::with_model("d.npy");
    let told = world.ok("explain m.safetensors d.npy --rows 2,7");
    assert!(told.contains("row 2\n") && told.contains("row 7\n") && told.contains("part 2: state"));
    let json = world.json("explain m.safetensors d.npy --json");
    assert_eq!(json.as_array().unwrap().len(), 5);
    assert_eq!(json[0]["parts"].as_array().unwrap().len(), 3);
    assert!(world.refused("explain m.safetensors d.npy --rows 400").contains("no row 400"));
}

#[test]
fn a_size_is_found_and_its_path_kept() {
    let world = World::new();
    world.ok("-q toy shapes --rows 80 -o d.npy");
    let told = world.json(
        "-q fit mcvq d.npy --parts 2 --states auto --restarts 1 --passes 15 --scouts 2 \
         -o m.safetensors --json",
    );
    let sizes = told["sizes"].as_array().unwrap();
    let chosen: Vec<&Value> = sizes.iter().filter(|s| s["chosen"] == true).collect();
    assert!(sizes.len() > 1 && chosen.len() == 1);
    assert_eq!(chosen[0]["states"], told["params"]["states"]);
    assert!(world.ok("show m.safetensors").contains("chosen"));
    world.ok("-q report m.safetensors d.npy -o r.html");
    assert!(world.text("r.html").contains("How its size was found"));
}
