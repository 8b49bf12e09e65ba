//! Preprocessing: stored in the model, applied to new data, undone on the way out.

use crate::world::{World, numbers};

/// Rows of two columns that rise together, far from 0 and wide.
fn heights() -> String {
    let row = |i: usize| {
        let state = (i % 3) as f64;
        let noise = ((i * 37) % 11) as f64 / 11.0;
        format!("{},{}\n", 1000.0 + 50.0 * state + noise, 5.0 + 0.1 * state + 0.001 * noise)
    };
    "cm,kg\n".to_owned() + &(0..90).map(row).collect::<String>()
}

#[test]
fn steps_are_applied_and_undone() {
    let world = World::new();
    world.write("d.csv", heights());
    world.ok("fit mcvq d.csv --parts 1 --states 3 --prepare log --prepare standardise \
        -o m.safetensors");
    assert!(world.ok("show m.safetensors").contains("prepared by log, standardise"));
    let before = numbers(&world.text("d.csv"), true);
    world.ok("reconstruct m.safetensors d.csv -o r.csv");
    world.ok("sample m.safetensors -n 20 -o s.csv");
    for row in numbers(&world.text("r.csv"), true).iter().zip(&before) {
        assert!((row.0[0] - row.1[0]).abs() < 5.0 && (row.0[1] - row.1[1]).abs() < 0.05, "{row:?}");
    }
    for row in numbers(&world.text("s.csv"), true) {
        assert!((980.0..1120.0).contains(&row[0]) && (4.9..5.3).contains(&row[1]), "{row:?}");
    }
}

#[test]
fn scores_are_in_the_units_of_the_data() {
    let world = World::new();
    world.write("d.csv", heights());
    let mean = |options: &str| {
        world.ok(&format!("fit gmm d.csv --components 3 {options} -o m.safetensors"));
        world.json("score m.safetensors d.csv --json")
    };
    let (plain, scaled) = (mean(""), mean("--prepare standardise"));
    assert_eq!((&plain["units"], &scaled["units"]), (&"data".into(), &"data".into()));
    let (a, b) = (plain["mean"].as_f64().unwrap(), scaled["mean"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-3 * a.abs(), "{a} {b}");
    assert_eq!(mean("--prepare remove-row-means")["units"], "prepared");
    let told = world.run("score m.safetensors d.csv");
    assert!(told.stderr.contains("has no density"), "{}", told.stderr);
}

#[test]
fn row_means_come_back_with_each_row() {
    let world = World::new();
    let row = |i: usize| {
        let (base, up) = ((i * 10) as f64, (i % 2) as f64);
        format!("{},{}\n", base + up, base - up)
    };
    world.write("d.csv", "a,b\n".to_owned() + &(0..40).map(row).collect::<String>());
    world.ok("fit mcvq d.csv --parts 1 --states 2 --prepare remove-row-means -o m.safetensors");
    world.ok("reconstruct m.safetensors d.csv -o r.csv");
    let before = numbers(&world.text("d.csv"), true);
    for (made, row) in numbers(&world.text("r.csv"), true).concat().iter().zip(before.concat()) {
        assert!((made - row).abs() < 0.2, "{made} {row}");
    }
}

#[test]
fn unknown_steps_are_wrong_usage() {
    let world = World::new();
    let ran =
        world.run("fit mcvq toy:shapes --parts 1 --states 1 --prepare magic -o m.safetensors");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("standardise"), "{}", ran.stderr);
}

#[test]
fn broken_steps_in_a_model_are_refused() {
    let world = World::new();
    world.write("d.csv", heights());
    world.ok("fit mcvq d.csv --parts 1 --states 2 --prepare standardise -o m.safetensors");
    let bytes = world.bytes("m.safetensors");
    let text = String::from_utf8_lossy(&bytes[..]).into_owned();
    assert!(text.contains("standardise"));
    let at = bytes.windows(11).position(|w| w == b"standardise").unwrap();
    let mut broken = bytes.clone();
    broken[at..at + 11].copy_from_slice(b"standardixe");
    world.write("m.safetensors", broken);
    assert!(world.refused("score m.safetensors d.csv").contains("steps are broken"));
}
