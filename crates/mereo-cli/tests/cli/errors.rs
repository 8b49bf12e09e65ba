//! What cannot be done is said in one line that names the way out.

use crate::files::{gaussian, model_file};
use crate::world::World;

const FIT: &str = "fit mcvq";
const SIZE: &str = "--parts 2 --states 2 --restarts 1 --passes 2";

#[test]
fn missing_files_are_named() {
    let world = World::with_model("d.npy");
    for line in [
        &format!("{FIT} nowhere.csv {SIZE} -o n.safetensors"),
        "score nowhere.csv d.npy",
        "show nowhere.csv",
        "encode m.safetensors nowhere.csv -o codes.csv",
        "report m.safetensors nowhere.csv -o r.html",
    ] {
        assert!(world.refused(&format!("-q {line}")).contains("nowhere.csv"), "{line}");
    }
}

#[test]
fn another_number_of_columns_is_named() {
    let world = World::with_model("d.npy");
    world.write("e.csv", "a,b\n1,2\n3,4\n");
    for line in [
        "score m.safetensors e.csv",
        "encode m.safetensors e.csv -o x.csv",
        "reconstruct m.safetensors e.csv -o x.csv",
        "report m.safetensors e.csv -o x.html",
    ] {
        let told = world.refused(line);
        assert!(
            told.contains("e.csv") && told.contains("2 columns") && told.contains("121"),
            "{told}"
        );
    }
}

#[test]
fn sizes_that_cannot_be_learned_are_refused_before_reading() {
    let world = World::new();
    for (line, piece) in [
        ("fit mcvq toy:shapes --parts 0 --states 2 -o m.safetensors", "parts"),
        ("fit mcvq toy:shapes --parts 2 --states 0 -o m.safetensors", "states"),
        ("fit mcvq toy:shapes --parts 99999999 --states 99999999 -o m.safetensors", "states"),
        (
            "fit mcvq toy:shapes --parts 2 --states 2 --variance-floor 0 -o m.safetensors",
            "variance-floor",
        ),
        (
            "fit mcvq toy:shapes --parts 2 --states 2 --variance-floor nan -o m.safetensors",
            "variance-floor",
        ),
        ("fit mcvq toy:shapes --parts 2 --states 2 --restarts 0 -o m.safetensors", "restarts"),
        ("fit mcvq toy:shapes --parts 2 --states 2 --tolerance -1 -o m.safetensors", "tolerance"),
        ("fit mcvq toy:shapes --parts 2 --states 2 --threads 100000 -o m.safetensors", "threads"),
        (
            "fit mcvq toy:shapes --parts 2 --states 2 --checkpoint c --checkpoint-every -1 -o m.safetensors",
            "checkpoint-every",
        ),
        ("fit mcvq toy:shapes --parts 4000 --states 4000 -o m.safetensors", "memory"),
        ("fit vq toy:shapes --states 0 -o m.safetensors", "states"),
        ("fit gmm toy:shapes --components 0 -o m.safetensors", "components"),
        ("fit mcvq toy:nowhere --parts 2 --states 2 -o m.safetensors", "faces"),
        ("fit mcvq toy:shapes --kind csv --parts 2 --states 2 -o m.safetensors", "toy world"),
        ("toy shapes --rows 0 -o d.csv", "rows"),
        ("toy shapes --rows 5 -o d.xlsx", ".parquet"),
        ("toy shapes --rows 5 -o d", "no extension"),
    ] {
        let told = world.refused(&format!("-q {line}"));
        assert!(told.contains(piece), "{line}: {told}");
    }
}

#[test]
fn bad_cells_are_placed() {
    let world = World::new();
    for (name, text, pieces) in [
        ("text.csv", "a,b\n1,2\n3,blue\n", ["line 3", "`b`", "blue"]),
        ("infinite.csv", "a,b\n1,2\n3,inf\n", ["`b`", "inf", "finite"]),
        ("ragged.csv", "a,b\n1,2\n3\n", ["line 3", "1", "2"]),
        ("empty.csv", "", ["empty", "data", "empty.csv"]),
        ("header.csv", "a,b\n", ["no rows", "row", "header.csv"]),
    ] {
        world.write(name, text);
        let told = world.refused(&format!("-q {FIT} {name} {SIZE} -o m.safetensors"));
        for piece in pieces.iter().chain([&name]) {
            assert!(told.contains(piece), "no {piece} in {told}");
        }
    }
    world.write("missing.csv", "a,b\n,\nNA,NaN\n");
    assert!(
        world
            .refused(&format!("-q {FIT} missing.csv {SIZE} -o m.safetensors"))
            .contains("no observed cell")
    );
}

#[test]
fn outputs_that_cannot_be_written_are_seen_before_the_work() {
    let world = World::with_model("d.npy");
    world.write("file", "in the way");
    std::fs::create_dir(world.path("folder")).unwrap();
    for target in ["nowhere/x.safetensors", "file/x.safetensors", "folder"] {
        let told = world.refused(&format!("-q {FIT} d.npy {SIZE} -o {target}"));
        assert!(told.contains(target), "{told}");
    }
    for line in [
        "sample m.safetensors -n 1 -o nowhere/x.csv",
        "encode m.safetensors d.npy -o nowhere/x.csv",
        "report m.safetensors -o nowhere/x.html",
        "toy shapes -o nowhere/x.csv",
    ] {
        assert!(world.refused(line).contains("nowhere/x"), "{line}");
    }
    // A device is not replaced by a file.
    let told = world.refused(&format!("-q {FIT} d.npy {SIZE} -o /dev/null"));
    assert!(told.contains("no ordinary file"), "{told}");
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    // What is read is not written over.
    let data = world.bytes("d.npy");
    for line in [
        format!("{FIT} d.npy {SIZE} -o d.npy"),
        "reconstruct m.safetensors d.npy -o ./d.npy".to_owned(),
        format!("{FIT} d.npy {SIZE} --checkpoint d.npy -o n.safetensors"),
    ] {
        assert!(world.refused(&format!("-q {line}")).contains("would be lost"), "{line}");
    }
    assert_eq!(world.bytes("d.npy"), data);
    for (line, piece) in [
        ("encode m.safetensors d.npy -o x.png", ".npy"),
        ("sample m.safetensors -n 4 -o x.jpg", ".png"),
        ("sample m.safetensors -n 0 -o x.csv", "at least 1"),
        ("sample m.safetensors -n 99999999999999 -o x.csv", "memory"),
    ] {
        assert!(world.refused(line).contains(piece), "{line}");
    }
    world.write("g.safetensors", gaussian(r#"{"format":1,"model":"mcvq"}"#));
    assert!(world.refused("sample g.safetensors -n 4 -o x.png").contains("no pictures"));
}

#[test]
fn hostile_models_are_refused() {
    let world = World::with_model("d.npy");
    let sound = world.bytes("m.safetensors");
    let mut huge = u64::MAX.to_le_bytes().to_vec();
    huge.extend(b"{}");
    let hostile: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("text", b"hello, this is no model at all".to_vec()),
        ("cut", sound[..sound.len() / 2].to_vec()),
        ("huge header", huge),
        ("no manifest", model_file("{}", &[("mean", &[1], &[1.0])])),
        ("manifest of rubbish", gaussian("][")),
        ("newer", gaussian(r#"{"format":99,"model":"mcvq"}"#)),
        ("unknown", gaussian(r#"{"format":1,"model":"oracle"}"#)),
        ("other columns", gaussian(r#"{"format":1,"model":"mcvq","columns":["a"]}"#)),
        (
            "other picture",
            gaussian(
                r#"{"format":1,"model":"mcvq","picture":{"height":9,"width":9,"channels":9}}"#,
            ),
        ),
        ("broken steps", gaussian(r#"{"format":1,"model":"mcvq","steps":[1,2]}"#)),
        (
            "steps of other columns",
            gaussian(
                r#"{"format":1,"model":"mcvq","steps":{"columns":7,"steps":[{"step":"log"}]}}"#,
            ),
        ),
        ("no tensors", model_file(r#"{"format":1,"model":"mcvq"}"#, &[])),
        (
            "negative variance",
            model_file(
                r#"{"format":1,"model":"mcvq"}"#,
                &[
                    ("gate", &[1, 1], &[1.0]),
                    ("state_prior", &[1, 1], &[1.0]),
                    ("mean", &[1, 1, 1], &[0.0]),
                    ("variance", &[1, 1, 1], &[-1.0]),
                ],
            ),
        ),
    ];
    for (what, bytes) in hostile {
        world.write("h.safetensors", bytes);
        for line in [
            "show h.safetensors",
            "show h.safetensors --json",
            "score h.safetensors d.npy",
            "sample h.safetensors -n 1 -o x.csv",
            "report h.safetensors -o x.html",
        ] {
            let told = world.refused(line);
            assert!(told.contains("h.safetensors"), "{what}: {told}");
        }
    }
}

#[test]
fn rubbish_data_is_refused() {
    let world = World::with_model("d.npy");
    let npy = world.bytes("d.npy");
    for (what, bytes) in [
        ("binary", vec![1u8, 2, 3, 0, 0, 255, 254]),
        ("cut npy", npy[..npy.len() - 10].to_vec()),
        ("bare npy", npy[..8].to_vec()),
        ("bare parquet", b"PAR1".to_vec()),
        ("rubbish parquet", b"PAR1 and then nothing of it PAR1".to_vec()),
        ("zip of nothing", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
    ] {
        world.write("r", bytes);
        for line in [format!("{FIT} r {SIZE} -o n.safetensors"), "score m.safetensors r".into()] {
            assert!(world.refused(&format!("-q {line}")).contains('r'), "{what}");
        }
    }
    world.refused(&format!("-q {FIT} d.npy {SIZE} --kind csv -o n.safetensors"));
    world.refused(&format!("-q {FIT} d.npy {SIZE} --label class -o n.safetensors"));
    world.write("t.csv", "1,2\n3,4\n");
    assert!(
        world
            .refused(&format!("-q {FIT} t.csv {SIZE} --stream -o n.safetensors"))
            .contains("t.csv")
    );
}

#[test]
fn a_checkpoint_and_a_model_are_not_the_same_file() {
    let world = World::new();
    world.ok("-q toy shapes --rows 30 -o d.npy");
    for (checkpoint, output) in [("x", "x"), ("./x", "x"), ("d.npy", "x"), ("x", "d.npy")] {
        let told = world.refused(&format!(
            "-q fit gmm d.npy --components 2 --checkpoint {checkpoint} -o {output}"
        ));
        assert!(told.contains("would be lost"), "{told}");
    }
    // Nor are labels lost that are read from a file of their own.
    world.ok("-q toy shapes --rows 30 -o y.npy");
    let told = world.refused("-q fit gmm d.npy --components 2 --label y.npy -o y.npy");
    assert!(told.contains("`y.npy`") && told.contains("would be lost"), "{told}");
}

#[test]
fn control_characters_in_names_do_not_reach_the_terminal() {
    let world = World::new();
    world.write("d.csv", "a\u{1b}[2Jb,\"c\nmereo: fine\",k\n1,2,x\u{7}\n3,1,y\n4,5,y\n");
    let fit = "fit mcvq d.csv --kind csv --parts 1 --states 2 --labels k -o m.safetensors";
    let raw = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    for line in [
        fit,
        "show m.safetensors",
        "show m.safetensors --json",
        "explain m.safetensors d.csv --kind csv --label k",
        "classify m.safetensors d.csv --kind csv --label k",
        "classify m.safetensors d.csv --kind csv --label k --json",
    ] {
        let ran = world.run(line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        assert!(!raw(&ran.stdout) && !raw(&ran.stderr), "{line}: {:?}", ran.stdout);
        assert!(!ran.stdout.lines().any(|line| line.starts_with("mereo: fine")), "{line}");
    }
    world.write("bad.csv", "a\u{1b}[2Jb,c\n1,\u{1b}]0;title\u{7}\n");
    let told = world.run("fit gmm bad.csv --kind csv --components 1 -o x");
    assert!(!raw(&told.stderr) && told.stderr.contains("\\u{1b}"), "{:?}", told.stderr);
    let told = world.refused("fit gmm no\u{1b}[2J --components 1 -o x");
    assert!(!raw(&told) && told.contains("\\u{1b}"), "{told:?}");
}

#[test]
fn scores_of_any_magnitude_are_written_and_told() {
    let world = World::new();
    world.write("d.csv", "a,b\n1e-20,3\n2e-20,1\n1.5e-20,2\n");
    world.write("far.csv", "a,b\n1e-20,3\n1e140,2\n");
    for model in ["gmm", "ppca"] {
        world.ok(&format!("-q fit {model} d.csv --components 1 -o {model}"));
        let told = world.json(&format!("-q score {model} far.csv -o s.csv --json"));
        assert!(told["mean"].as_f64().unwrap() < -1e100, "{told}");
        assert!(told["rows"][1].as_f64().unwrap() < -1e100, "{told}");
        let lowest: f64 = world.text("s.csv").lines().nth(2).unwrap().parse().unwrap();
        assert_eq!(Some(lowest), told["rows"][1].as_f64());
        let words = world.ok(&format!("score {model} far.csv"));
        assert!(words.lines().all(|line| line.len() < 120), "{words}");
    }
}

#[test]
fn more_than_any_machine_has_is_refused_by_name() {
    let world = World::new();
    world.ok("-q toy shapes --rows 30 -o d.npy");
    let most = 99_999_999_999_u64;
    for (line, option) in [
        (format!("fit mcvq d.npy --parts 2 --states 2 --scouts {most}"), "scouts"),
        (format!("fit mcfa d.npy --parts 2 --factors 2 --scouts {most}"), "scouts"),
        (format!("fit mcvq d.npy --parts 2 --states {most}"), "states"),
        (format!("fit gmm d.npy --components {most}"), "components"),
        (format!("fit vq d.npy --states {most}"), "states"),
        (format!("fit gvq d.npy --features {most}"), "features"),
        (format!("fit cvq d.npy --parts 2 --states {most}"), "states"),
        (format!("fit pca d.npy --components {most}"), "components"),
        (format!("fit nmf d.npy --components {most}"), "components"),
    ] {
        let told = world.refused(&format!("-q {line} -o x"));
        assert!(told.contains(option), "{told}");
    }
}
