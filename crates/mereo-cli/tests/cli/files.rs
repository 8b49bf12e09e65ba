//! Model files written by hand, and data in several forms.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, TensorView};

use crate::world::{World, numbers};

/// A model file with tensors of double precision and this manifest.
pub(crate) fn model_file(manifest: &str, tensors: &[(&str, &[usize], &[f64])]) -> Vec<u8> {
    let raw: Vec<Vec<u8>> =
        tensors.iter().map(|t| t.2.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let views = tensors
        .iter()
        .zip(&raw)
        .map(|(t, bytes)| (t.0, TensorView::new(Dtype::F64, t.1.to_vec(), bytes).unwrap()));
    let metadata = HashMap::from([("mereo".to_owned(), manifest.to_owned())]);
    safetensors::serialize(views, Some(metadata)).unwrap()
}

/// One part of one state in two columns: a Gaussian.
pub(crate) fn gaussian(manifest: &str) -> Vec<u8> {
    model_file(
        manifest,
        &[
            ("gate", &[2, 1], &[1.0, 1.0]),
            ("gate_prior", &[2, 1], &[1.0, 1.0]),
            ("state_prior", &[1, 1], &[1.0]),
            ("mean", &[1, 1, 2], &[3.0, -1.0]),
            ("variance", &[1, 1, 2], &[1.0, 4.0]),
        ],
    )
}

#[test]
fn a_model_written_by_hand_scores() {
    let world = World::new();
    world.write("m.safetensors", gaussian(r#"{"format":1,"model":"mcvq"}"#));
    world.write("d.csv", "a,b\n3,-1\n4,-1\n3,\n");
    let told = world.json("score m.safetensors d.csv --json");
    let half_log_two_pi = 0.5 * (2.0 * std::f64::consts::PI).ln();
    let at_mean = -2.0 * half_log_two_pi - 2f64.ln();
    for (row, expected) in [at_mean, at_mean - 0.5, -half_log_two_pi].iter().enumerate() {
        assert!((told["rows"][row].as_f64().unwrap() - expected).abs() < 1e-9, "{told}");
    }
    let shown = world.ok("show m.safetensors");
    assert!(shown.contains("mcvq model of 2 columns"), "{shown}");
    world.ok("encode m.safetensors d.csv -o codes.csv");
    world.ok("reconstruct m.safetensors d.csv -o r.csv");
    world.ok("sample m.safetensors -n 3 -o s.csv");
    world.ok("report m.safetensors d.csv -o r.html");
}

#[test]
fn columns_are_found_by_their_names() {
    let world = World::new();
    let manifest = r#"{"format":1,"model":"mcvq","columns":["a","b"]}"#;
    world.write("m.safetensors", gaussian(manifest));
    world.write("ab.csv", "a,b\n3,-1\n5,7\n");
    world.write("ba.csv", "b,a\n-1,3\n7,5\n");
    world.write("bare.csv", "3,-1\n5,7\n");
    world.write("ac.csv", "a,c\n3,-1\n5,7\n");
    let scores = |file: &str| world.ok(&format!("score m.safetensors {file} --json"));
    assert_eq!(scores("ab.csv"), scores("ba.csv"));
    assert_eq!(scores("ab.csv"), scores("bare.csv"));
    // A column that lacks is missing, and one that nobody knows is ignored.
    world.write("a.csv", "a\n3\n5\n");
    assert_eq!(scores("ac.csv"), scores("a.csv"));
    world.write("cd.csv", "c,d\n3,-1\n5,7\n");
    let told = world.refused("score m.safetensors cd.csv");
    assert!(told.contains("cd.csv") && told.contains("`c`") && told.contains("`b`"), "{told}");
    // A filled table has the columns of the file.
    world.write("ba.csv", "b,a\n-1,3\n,5\n");
    world.ok("reconstruct m.safetensors ba.csv --fill -o filled.csv");
    assert!(world.text("filled.csv").starts_with("b,a\n-1,3\n"));
    assert_eq!(numbers(&world.text("filled.csv"), true)[1][1], 5.0);
}

#[test]
fn weights_and_labels_are_not_learned_from() {
    let world = World::new();
    world.write("d.csv", "x,class,w\n1,a,1\n2,b,1\n9,b,0\n1.5,a,2\n");
    let told = world.json(
        "fit mcvq d.csv --parts 1 --states 1 --label class --weight w \
        -o m.safetensors --json",
    );
    assert_eq!(told["columns"], 1);
    let score = world.json("score m.safetensors d.csv --label class --weight w --json");
    let rows: Vec<f64> =
        score["rows"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    let mean = (rows[0] + rows[1] + 2.0 * rows[3]) / 4.0;
    assert!((score["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    // A row of weight 0 has no say in the mean.
    world.ok("sample m.safetensors -n 1 --no-noise -o s.csv");
    assert!((numbers(&world.text("s.csv"), true)[0][0] - 1.5).abs() < 1e-6);
}

#[test]
fn weights_count_alike_in_memory_and_in_streams() {
    let world = World::new();
    world.ok("toy documents --rows 60 -o d.parquet");
    world.ok("fit gmm d.parquet --components 2 --weight about -o m.safetensors");
    let mean = |options: &str| {
        let told = world.json(&format!("score m.safetensors d.parquet {options} --json"));
        told["mean"].as_f64().unwrap()
    };
    let weighted = mean("--weight about");
    assert_eq!(weighted, mean("--weight about --stream"));
    world.ok("toy documents --rows 60 -o d.csv");
    let counts: Vec<f64> = numbers(&world.text("d.csv"), true).iter().map(|r| r[0]).collect();
    let told = world.json("score m.safetensors d.parquet --weight about --json");
    let rows = told["rows"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap());
    let sum: f64 = rows.zip(&counts).map(|(score, n)| score * n).sum();
    assert!((weighted - sum / counts.iter().sum::<f64>()).abs() < 1e-9 * weighted.abs());
}

#[test]
fn formats_carry_the_same_numbers() {
    let world = World::new();
    for format in ["csv", "tsv", "parquet", "npy"] {
        world.ok(&format!("toy shapes --rows 40 -o d.{format}"));
    }
    world.ok("fit mcvq d.npy --parts 2 --states 2 --restarts 1 --passes 4 -o m.safetensors");
    let mean = |format: &str| {
        world.json(&format!("score m.safetensors d.{format} --json"))["mean"].as_f64().unwrap()
    };
    for format in ["csv", "tsv", "parquet"] {
        assert!((mean(format) - mean("npy")).abs() < 1e-3, "{format}");
    }
}
