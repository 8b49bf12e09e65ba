//! Every line of the contract, on small toy data.

use serde_json::Value;

use crate::world::{World, npy_shape, numbers};

#[test]
fn demo_writes_a_report_and_a_model() {
    let world = World::new();
    let told = world.ok("demo shapes --out there");
    assert!(told.contains("3 of 3 planted parts found"), "{told}");
    assert!(told.contains("there/report.html"), "{told}");
    let page = world.text("there/report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(world.ok("show there/model.safetensors").contains("mcvq"));
    assert_eq!(world.names(), ["there"]);
}

#[test]
fn toy_writes_data_and_truth() {
    let world = World::new();
    for (file, name) in [("a.npy", "shapes"), ("b.csv", "faces"), ("c.parquet", "ratings")] {
        world.ok(&format!("toy {name} --rows 20 --seed 3 -o {file}"));
        let beside = format!("{}.truth.json", file.split('.').next().unwrap());
        let truth: Value = serde_json::from_str(&world.text(&beside)).unwrap();
        assert_eq!(truth["world"], name);
        assert_eq!(truth["seed"], 3);
        assert_eq!(truth["states"].as_array().unwrap().len(), 20);
    }
    assert_eq!(npy_shape(&world.path("a.npy")), [20, 11, 11]);
    assert_eq!(world.text("b.csv").lines().count(), 20);
    world.ok("toy shapes --rows 20 --seed 3 -o again.npy");
    assert_eq!(world.bytes("a.npy"), world.bytes("again.npy"));
    assert_eq!(world.bytes("a.truth.json"), world.bytes("again.truth.json"));
    world.ok("toy faces --rows 20 --seed 3 --labels -o d.csv");
    let classes =
        serde_json::from_str::<Value>(&world.text("d.truth.json")).unwrap()["labels"]["names"]
            .clone();
    for line in world.text("d.csv").lines() {
        let class = Value::from(line.rsplit(',').next().unwrap());
        assert!(classes.as_array().unwrap().contains(&class), "{class}");
    }
}

#[test]
fn fit_prints_one_json_object() {
    let world = World::new();
    world.ok("toy shapes --rows 100 -o d.npy");
    let told = world.json(
        "fit mcvq d.npy --parts 3 --states 3 --seed 5 --threads 2 --restarts 1 --passes 7 \
         -o m.safetensors --json",
    );
    assert_eq!(told["model"], "mcvq");
    assert_eq!((&told["rows"], &told["columns"]), (&100.into(), &121.into()));
    assert_eq!((&told["passes"], &told["seed"]), (&7.into(), &5.into()));
    assert_eq!(told["converged"], false);
    assert_eq!(told["status"], "pass-limit");
    let (bound, per_row) = (told["bound"].as_f64().unwrap(), told["bound_per_row"].as_f64());
    assert_eq!(per_row, Some(bound / 100.0));
    assert!(told["seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_bound_of_the_fit_is_the_score_of_the_data() {
    let world = World::new();
    world.ok("toy shapes --rows 100 -o d.npy");
    for line in ["mcvq d.npy --parts 3 --states 4", "gmm d.npy --components 4"] {
        let fit = world.json(&format!("fit {line} --restarts 1 -o m.safetensors --json"));
        let score = world.json("score m.safetensors d.npy --json");
        let (bound, mean) =
            (fit["bound_per_row"].as_f64().unwrap(), score["mean"].as_f64().unwrap());
        assert!((bound - mean).abs() < 1e-3 * bound.abs().max(1.0), "{line}: {bound} {mean}");
    }
}

#[test]
fn vector_quantisers_and_mixtures_go_all_the_way() {
    let world = World::new();
    world.ok("toy shapes --rows 120 -o d.npy");
    for (line, kind, width) in
        [("vq d.npy --states 6", "vq", 6), ("gmm d.npy --components 5", "gmm", 5)]
    {
        let told =
            world.json(&format!("fit {line} --restarts 1 --passes 20 -o m.safetensors --json"));
        assert_eq!(told["model"], kind);
        world.ok("encode m.safetensors d.npy -o codes.npy");
        assert_eq!(npy_shape(&world.path("codes.npy")), [120, width]);
        world.ok("reconstruct m.safetensors d.npy -o r.npy");
        assert_eq!(npy_shape(&world.path("r.npy")), [120, 11, 11]);
        world.ok("sample m.safetensors -n 7 -o s.npy");
        assert_eq!(npy_shape(&world.path("s.npy")), [7, 11, 11]);
        assert_eq!(
            world.json("score m.safetensors d.npy --json")["rows"].as_array().unwrap().len(),
            120
        );
        assert!(world.ok("show m.safetensors").contains(kind));
        world.ok("report m.safetensors d.npy -o r.html");
    }
}

#[test]
fn score_says_what_it_is() {
    let world = World::with_model("d.npy");
    let told = world.json("score m.safetensors d.npy --json");
    assert_eq!(told["kind"], "bound");
    let rows: Vec<f64> =
        told["rows"].as_array().unwrap().iter().map(|r| r.as_f64().unwrap()).collect();
    assert_eq!(rows.len(), 150);
    let mean = rows.iter().sum::<f64>() / 150.0;
    assert!((mean - told["mean"].as_f64().unwrap()).abs() < 1e-9 * mean.abs());
    let words = world.ok("score m.safetensors d.npy -o s.csv");
    assert!(words.contains("nats a row") && words.contains("150 rows"), "{words}");
    let file: Vec<f64> = numbers(&world.text("s.csv"), true).concat();
    assert_eq!(file, rows);
}

#[test]
fn codes_come_part_by_part() {
    let world = World::with_model("d.npy");
    world.ok("encode m.safetensors d.npy -o codes.csv");
    let text = world.text("codes.csv");
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    assert_eq!(header.len(), 12);
    assert_eq!(
        (header[0], header[7], header[11]),
        ("part0.state0", "part1.state3", "part2.state3")
    );
    for row in numbers(&text, true) {
        for part in row.chunks(4) {
            assert!((part.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{part:?}");
        }
    }
    world.ok("encode m.safetensors d.npy -o codes.npy");
    assert_eq!(npy_shape(&world.path("codes.npy")), [150, 12]);
}

#[test]
fn reconstruct_fills_only_what_is_missing_if_asked() {
    let world = World::with_model("d.csv");
    let holes: String = world
        .text("d.csv")
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let fields: Vec<&str> = line
                .split(',')
                .enumerate()
                .map(|(d, field)| if (d + i) % 3 == 0 { "" } else { field })
                .collect();
            fields.join(",") + "\n"
        })
        .collect();
    world.write("holes.csv", &holes);
    world.ok("reconstruct m.safetensors holes.csv --fill -o filled.csv");
    world.ok("reconstruct m.safetensors holes.csv -o all.csv");
    let (before, after) = (numbers(&holes, false), numbers(&world.text("filled.csv"), false));
    let all = numbers(&world.text("all.csv"), false);
    assert_eq!(after.len(), 150);
    for ((before, after), all) in before.iter().zip(&after).zip(&all) {
        assert!(after.iter().chain(all).all(|v| v.is_finite()));
        for ((b, a), r) in before.iter().zip(after).zip(all) {
            assert!(if b.is_nan() { a == r } else { a == b });
        }
    }
    assert_ne!(after, all);
}

#[test]
fn samples_follow_the_seed() {
    let world = World::with_model("d.npy");
    world.ok("sample m.safetensors -n 5 -o a.csv");
    world.ok("sample m.safetensors -n 9 -o b.csv");
    world.ok("sample m.safetensors -n 5 --seed 1 -o c.csv");
    world.ok("sample m.safetensors -n 5 --no-noise -o e.csv");
    let text = |name: &str| numbers(&world.text(name), false);
    assert_eq!(text("a.csv"), text("b.csv")[..5]);
    assert_ne!(text("a.csv"), text("c.csv"));
    assert_ne!(text("a.csv"), text("e.csv"));
    world.ok("sample m.safetensors -n 9 --no-noise -o grid.png");
    world.ok("reconstruct m.safetensors d.npy -o rows.png");
    assert!(world.bytes("grid.png").starts_with(b"\x89PNG"));
    assert!(world.bytes("rows.png").starts_with(b"\x89PNG"));
}

#[test]
fn show_tells_people_and_programs() {
    let world = World::with_model("d.npy");
    let words = world.ok("show m.safetensors");
    for piece in [
        "mcvq model of 121 columns",
        "3 parts of 4 states",
        "150 rows",
        "part 2 (C)",
        "strongest columns",
        "pictures of 11 x 11",
        "the part that each pixel belongs to",
    ] {
        assert!(words.contains(piece), "no {piece} in\n{words}");
    }
    let told = world.json("show m.safetensors --json");
    assert_eq!(told["model"], "mcvq");
    assert_eq!(told["manifest"]["format"], 1);
    assert_eq!(told["manifest"]["params"]["parts"], 3);
    assert_eq!(told["manifest"]["training"]["rows"], 150);
    assert_eq!(told["manifest"]["picture"]["height"], 11);
    assert_eq!(told["tensors"]["mean"], serde_json::json!([3, 4, 121]));
    let columns = |part: &Value| part["columns"].as_u64().unwrap();
    assert_eq!(told["parts"].as_array().unwrap().iter().map(columns).sum::<u64>(), 121);
}

#[test]
fn report_needs_no_data() {
    let world = World::with_model("d.npy");
    world.ok("report m.safetensors -o bare.html");
    world.ok("report m.safetensors d.npy --title Small -o full.html");
    let (bare, full) = (world.text("bare.html"), world.text("full.html"));
    assert!(bare.starts_with("<!DOCTYPE html>") && full.contains("<h1>Small</h1>"));
    assert!(full.len() > bare.len());
}

#[test]
fn sparse_worlds_go_all_the_way() {
    let world = World::new();
    for name in ["ratings", "documents"] {
        let told = world.json(&format!(
            "fit mcvq toy:{name} --parts 6 --states 2 --restarts 1 --passes 3 -o m.safetensors --json"
        ));
        assert!(told["bound"].as_f64().unwrap().is_finite());
        let rows = told["rows"].as_u64().unwrap() as usize;
        let score = world.json(&format!("score m.safetensors toy:{name} --json"));
        assert_eq!(score["rows"].as_array().unwrap().len(), rows);
        world.ok(&format!("encode m.safetensors toy:{name} -o codes.npy"));
        assert_eq!(npy_shape(&world.path("codes.npy")), [rows, 12]);
        world.ok(&format!("report m.safetensors toy:{name} -o r.html"));
        // Names of films and words come back.
        let shown = world.json("show m.safetensors --json");
        let first = shown["manifest"]["columns"][0].as_str().unwrap().to_owned();
        world.ok("sample m.safetensors -n 2 -o s.csv");
        assert!(world.text("s.csv").contains(&first));
    }
}

#[test]
fn completions_are_made_for_every_shell() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(world.ok(&format!("completions {shell}")).contains("reconstruct"), "{shell}");
    }
}

#[test]
fn quiet_says_nothing() {
    let world = World::new();
    let ran = world.run("toy shapes --rows 30 -q -o d.npy");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    let ran =
        world.run("fit mcvq d.npy --parts 2 --states 2 --passes 3 -q --json -o m.safetensors");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn parts_with_factors_do_what_parts_with_states_do() {
    let world = World::new();
    world.ok("toy shapes --rows 150 -o d.npy");
    let told = world.json(
        "fit mcfa d.npy --parts 3 --factors 2 --restarts 1 --passes 12 -o m.safetensors --json",
    );
    assert_eq!(told["model"], "mcfa");
    let shown = world.ok("show m.safetensors");
    assert!(shown.starts_with("mcfa model of 121 columns: 3 parts of 2 factors"), "{shown}");
    assert_eq!(world.json("show m.safetensors --json")["parts"][0]["factors"], 2);
    assert_eq!(world.json("score m.safetensors d.npy --json")["kind"], "bound");
    world.ok("encode m.safetensors d.npy -o codes.npy");
    assert_eq!(npy_shape(&world.path("codes.npy")), [150, 6]);
    world.ok("reconstruct m.safetensors d.npy -o r.npy");
    world.ok("sample m.safetensors -n 3 -o s.npy");
    world.ok("report m.safetensors d.npy -o r.html");
    let page = world.text("r.html");
    assert!(page.contains("factor 1 down") && page.contains("The parts and their factors"));
}

#[test]
fn gates_and_engines_can_be_chosen() {
    let world = World::new();
    world.ok("toy shapes --rows 80 -o d.npy");
    let size = "--parts 3 --states 3 --restarts 1 --passes 6";
    for (options, key) in [
        ("--gate factorised --warm 2 --entropic 3", "factorised"),
        ("--engine gibbs --sweeps 2", "gibbs"),
        ("--engine gibbs --gate factorised", "gibbs"),
    ] {
        world.ok(&format!("fit mcvq d.npy {size} {options} -o m.safetensors"));
        let params = world.json("show m.safetensors --json")["manifest"]["params"].clone();
        assert!(params.to_string().contains(key), "{params}");
        assert_eq!(world.json("score m.safetensors d.npy --json")["kind"], "bound");
    }
    for wrong in ["--entropic 3", "--warm 3", "--sweeps 3", "--engine gibbs --classes 2"] {
        let ran = world.run(&format!("fit mcvq d.npy {size} {wrong} -o m.safetensors"));
        assert_eq!(ran.code, Some(1), "{wrong}");
    }
}

#[test]
fn the_list_of_models_says_what_can_be_chosen() {
    let world = World::new();
    let models = world.json("models --json");
    let models = models.as_array().unwrap();
    assert_eq!(models.len(), mereo::models().len());
    for model in models {
        for key in ["name", "about", "params", "capabilities"] {
            assert!(!model[key].is_null(), "{model}");
        }
        for param in model["params"].as_array().unwrap() {
            let param = param.as_object().unwrap();
            for key in ["name", "type", "default", "about"] {
                assert!(param.contains_key(key), "{param:?}");
            }
        }
        let name = model["name"].as_str().unwrap();
        assert!(world.ok(&format!("fit {name} --help")).contains("Examples:"));
    }
    assert!(world.ok("models").contains("mcvq  Parts with states"));
}

#[test]
fn a_fit_without_sizes_and_output_finds_and_names_them() {
    let world = World::new();
    world.ok("-q toy shapes --rows 60 -o d.npy");
    let told = world.json("fit mcvq d.npy --restarts 1 --scouts 2 --passes 10 --json");
    assert_eq!(told["file"], "d-mcvq.safetensors");
    assert!(told["sizes"].as_array().unwrap().len() > 1);
    assert!(told["data_fingerprint"].as_str().unwrap().len() == 32);
    assert!(world.ok("show d-mcvq.safetensors").contains("mcvq model of 121 columns"));
}

/// Weights are rows: all weights 2 are every row twice, whoever says so.
#[test]
fn weighted_rows_are_counted_by_weight_in_memory_and_streamed() {
    let world = World::new();
    let rows: Vec<String> = (0..400).map(|i| format!("{},{},2", i % 7, (i * 5) % 11)).collect();
    world.write("d.csv", format!("a,b,w\n{}\n", rows.join("\n")));
    world.ok("-q fit pca d.csv --weight w --components 1 -o p.safetensors");
    let fit = "fit gmm d.csv --weight w --components 2 --json -o m.safetensors";
    let told = world.json(fit);
    let scored = world.json("score m.safetensors d.csv --weight w --json");
    let (bound, mean) = (told["bound_per_row"].as_f64().unwrap(), scored["mean"].as_f64().unwrap());
    assert!((bound - mean).abs() < 1e-3 * mean.abs(), "{bound} {mean}");
}

#[test]
fn rows_of_factors_are_explained_too() {
    let world = World::new();
    world.ok(
        "-q fit mcfa toy:shapes --parts 3 --factors 1 --restarts 1 --passes 5 -o m.safetensors",
    );
    assert!(world.ok("explain m.safetensors toy:shapes --rows 2").contains("part 1: factors at"));
    let told = world.json("explain m.safetensors toy:shapes --rows 2 --json");
    assert_eq!(told[0]["parts"][0]["factors"].as_array().unwrap().len(), 1);
}
