//! The linear models from end to end.

use std::fmt::Write as _;

use crate::world::{World, numbers};

/// Rows of two directions with a hole, and the same number added to all cells.
fn data(offset: f64, holes: bool) -> String {
    let mut text = "a,b,c\n".to_owned();
    for i in 0..60 {
        let (u, v) = (f64::from(i * 7 % 11), f64::from(i * 5 % 13));
        let b = if holes && i % 9 == 4 { String::new() } else { (u + v + offset).to_string() };
        let noise = f64::from(i * 3 % 7) / 10.0;
        let (a, c) = (2.0 * u + offset + noise, 2.0 * v + offset - noise);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{a},{b},{c}");
    }
    text
}

#[test]
fn every_linear_model_does_what_it_can() {
    let world = World::new();
    world.write("d.csv", data(1.0, true));
    let models = ["pca", "ppca", "fa", "nmf", "nmf --loss kl"];
    for model in models {
        let told = world.json(&format!(
            "fit {model} d.csv --components 2 --passes 300 --json -o m.safetensors"
        ));
        let kind = model.split(' ').next().unwrap();
        assert_eq!((told["model"].as_str(), told["rows"].as_u64()), (Some(kind), Some(60)));
        assert!(told["bound"].as_f64().unwrap().is_finite());
        let shown = world.ok("show m.safetensors");
        assert!(shown.contains("2 components") && shown.contains("component 1"), "{shown}");
        let shown = world.json("show m.safetensors --json");
        assert_eq!(shown["components"].as_array().unwrap().len(), 2);
        world.ok("encode m.safetensors d.csv -o codes.csv");
        assert!(world.text("codes.csv").starts_with("component0,component1\n"));
        world.ok("reconstruct m.safetensors d.csv --fill -o filled.csv");
        let whole = numbers(&data(1.0, false), true);
        for (found, right) in numbers(&world.text("filled.csv"), true).iter().zip(&whole) {
            for (f, r) in found.iter().zip(right) {
                assert!((f - r).abs() < 1.0, "{model}: {f}, not {r}");
            }
        }
        if kind == "nmf" {
            assert!(world.refused("score m.safetensors d.csv").contains("cannot score"));
            let said = world.refused("sample m.safetensors -n 2 -o s.csv");
            assert!(said.contains("cannot sample"), "{said}");
        } else {
            let scores = world.json("score m.safetensors d.csv --json");
            assert_eq!(scores["kind"], "exact");
            world.ok("sample m.safetensors -n 5 -o s.csv");
        }
        world.ok("report m.safetensors d.csv -o r.html");
        let page = world.text("r.html");
        assert!(page.contains("The components") && page.contains("2 components"));
        assert_eq!(page.contains("share of all variance"), kind != "nmf");
    }
}

#[test]
fn fit_pca_whitens_and_fit_fa_rotates() {
    let world = World::new();
    world.write("d.csv", data(0.0, false));
    world.ok("fit pca d.csv --components 2 --whiten -o m.safetensors");
    world.ok("encode m.safetensors d.csv -o codes.csv");
    let codes = numbers(&world.text("codes.csv"), true);
    for i in 0..2 {
        let variance: f64 = codes.iter().map(|c| c[i] * c[i]).sum::<f64>() / 59.0;
        assert!((variance - 1.0).abs() < 1e-6, "{variance}");
    }
    world.ok("fit fa d.csv --components 2 --rotation varimax -o m.safetensors");
    let ran = world.run("fit fa d.csv --components 2 --rotation oblique -o m.safetensors");
    assert!(ran.code == Some(2) && ran.stderr.contains("principal, varimax"), "{ran:?}");
}

#[test]
fn what_cannot_be_learned_is_named() {
    let world = World::new();
    world.write("d.csv", data(-9.0, false));
    let said = world.refused("fit nmf d.csv --components 2 -o m.safetensors");
    assert!(
        said.contains("d.csv") && said.contains("row 0") && said.contains("at least 0"),
        "{said}"
    );
    let said = world.refused("fit pca d.csv --components 4 -o m.safetensors");
    assert!(said.contains("components") && said.contains("3 columns"), "{said}");
    let said = world.refused("fit fa d.csv --components 0 -o m.safetensors");
    assert!(said.contains("at least 1"), "{said}");
}
