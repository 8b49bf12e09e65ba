//! `mereo field`, `mereo denoise` and `mereo segment`.

use mereo_data::{Pixels, read_labels, read_pixels, write};

use crate::world::World;

const FIELD: &str = r#"{"variables": [{"labels": 2}, {"labels": 3, "name": "weather"}, {"labels": 2}],
    "unary": [[0, 1], [0, 0.5, -1], [0.2, 0]],
    "edges": [{"a": 0, "b": 1, "table": [[1, 0, 0], [0, 1, 0]]}, {"a": 1, "b": 2, "table": [[1, 0], [0, 1], [0, 0]]}],
    "observed": {"2": 1}}"#;

fn pixels(
    height: usize,
    width: usize,
    channels: usize,
    of: impl Fn(usize, usize) -> Vec<u8>,
) -> Pixels {
    let bytes = (0..height * width).flat_map(|i| of(i / width, i % width)).collect();
    Pixels { height, width, channels, bytes }
}

/// A bright square with some pixels flipped.
fn noisy() -> (Pixels, Pixels) {
    let inside = |y: usize, x: usize| (10..30).contains(&y) && (15..45).contains(&x);
    let clean = pixels(40, 60, 1, |y, x| vec![if inside(y, x) { 255 } else { 0 }]);
    let flipped = |y: usize, x: usize| ((y * 60 + x) * 7919 + y * 31) % 97 < 9;
    let seen = pixels(40, 60, 1, |y, x| vec![if inside(y, x) ^ flipped(y, x) { 255 } else { 0 }]);
    (clean, seen)
}

fn differ(a: &Pixels, b: &Pixels) -> usize {
    a.bytes.iter().zip(&b.bytes).filter(|(a, b)| a != b).count()
}

#[test]
fn a_field_answers_by_every_method_and_says_how_far_to_trust_it() {
    let world = World::new();
    world.write("f.json", FIELD);
    let exact = world.json("field f.json --method exact --json");
    assert_eq!(exact["kind"], "exact");
    assert_eq!(exact["map"][2], 1);
    assert_eq!(exact["marginals"][2][1], 1.0);
    let log_z = exact["log_z"].as_f64().unwrap();
    for method in ["mean-field", "bp", "gibbs"] {
        let answer = world.json(&format!("field f.json --method {method} --json"));
        assert!(answer["marginals"][0][0].is_f64(), "{method}");
        if method == "mean-field" {
            assert_eq!(answer["kind"], "bound");
            assert!(answer["log_z"].as_f64().unwrap() <= log_z);
        }
    }
    for method in ["icm", "expansion", "trws", "linear", "integer"] {
        let answer = world.json(&format!("field f.json --method {method} --json"));
        assert!(answer["energy"].as_f64().unwrap() >= exact["energy"].as_f64().unwrap() - 1e-9);
        assert!(answer["marginals"].is_null());
    }
    let text = world.ok("field f.json --compare --report f.html");
    assert!(text.contains("weather") && text.contains("trws"), "{text}");
    assert!(world.text("f.html").contains("Methods"));
}

#[test]
fn fields_that_are_none_are_named() {
    let world = World::new();
    world.write("f.json", FIELD.replace("\"b\": 1", "\"b\": 9"));
    let ran = world.run("field f.json --json");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("f.json") && ran.stderr.contains("variable 9"), "{}", ran.stderr);
    world.write("g.json", FIELD.replace("0.5", "Infinity"));
    assert!(world.run("field g.json").stderr.contains("finite"));
    let ran = world.run("field f.json --method guess");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("trws"), "{}", ran.stderr);
}

#[test]
fn flips_are_removed_by_every_method() {
    let world = World::new();
    let (clean, seen) = noisy();
    write::write_pixels(&world.path("n.png"), &seen).unwrap();
    let before = differ(&clean, &seen);
    for method in ["mean-field", "cut", "icm", "gibbs", "bp"] {
        let line = format!("denoise n.png -o d.png --levels 2 --method {method} --json");
        let answer = world.json(&line);
        for key in ["energy", "labels", "seconds", "kind", "coupling", "noise"] {
            assert!(!answer[key].is_null(), "{method} {key}");
        }
        let after = differ(&clean, &read_pixels(&world.path("d.png")).unwrap());
        assert!(2 * after < before, "{method}: {before} to {after}");
    }
    write::write_pixels(&world.path("clean.png"), &clean).unwrap();
    let text = world.ok("denoise n.png -o d.png --clean clean.png --compare --report d.html");
    assert!(text.contains("gibbs"), "{text}");
    assert!(world.text("d.html").contains("free energy"));
}

#[test]
fn grey_noise_is_removed_and_threads_change_nothing() {
    let world = World::new();
    let level = |y: usize, x: usize| {
        let noise = ((y * 60 + x) * 7919 + y * 31) % 41;
        let base = if (10..30).contains(&y) && (15..45).contains(&x) { 160 } else { 40 };
        vec![(base + noise) as u8]
    };
    write::write_pixels(&world.path("n.png"), &pixels(40, 60, 1, level)).unwrap();
    world.ok("denoise n.png -o a.png --threads 1");
    world.ok("denoise n.png -o b.png --threads 3");
    assert_eq!(world.bytes("a.png"), world.bytes("b.png"));
    for rest in ["--method cut", "--potts --method icm", "--truncate 30 --error absolute"] {
        world.ok(&format!("denoise n.png -o c.png {rest}"));
    }
    assert_eq!(world.run("denoise n.png -o c.png --levels 7").code, Some(1));
    assert_eq!(world.run("denoise n.png -o c.png --coupling much").code, Some(2));
}

/// A red square on blue, and marks on both.
fn scene(world: &World) {
    let inside = |y: usize, x: usize| (10..30).contains(&y) && (15..45).contains(&x);
    let grain = |y: usize, x: usize| (((y * 60 + x) * 7919) % 40) as u8;
    let picture = pixels(40, 60, 3, |y, x| {
        if inside(y, x) {
            vec![180 + grain(y, x), grain(x, y), 30]
        } else {
            vec![grain(y, x), grain(x, y), 150]
        }
    });
    write::write_pixels(&world.path("p.png"), &picture).unwrap();
    let marks = pixels(40, 60, 1, |y, x| match (y, x) {
        (20, 25..30) => vec![1],
        (3, 5..50) => vec![2],
        _ => vec![0],
    });
    write::write_labels(&world.path("m.png"), &marks).unwrap();
}

fn is_square(world: &World, name: &str) -> bool {
    let labels = read_labels(&world.path(name)).unwrap();
    (0..2400).all(|i| {
        let inside = (10..30).contains(&(i / 60)) && (15..45).contains(&(i % 60));
        labels.bytes[i] == if inside { 1 } else { 2 }
    })
}

#[test]
fn an_object_is_cut_out_and_its_colours_serve_the_next_picture() {
    let world = World::new();
    scene(&world);
    let answer = world.json(
        "segment p.png --scribbles m.png -o l.png --cutout c.png --probability q.png --mask k.png \
         --save colours.safetensors --report s.html --json",
    );
    assert_eq!(answer["labels"], serde_json::json!([1, 2]));
    assert_eq!(answer["kind"], "exact");
    assert!(is_square(&world, "l.png"));
    let sure = read_pixels(&world.path("q.png")).unwrap();
    assert!(sure.bytes[20 * 60 + 27] > 200 && sure.bytes[3 * 60 + 20] < 50);
    assert_eq!(read_pixels(&world.path("k.png")).unwrap().bytes[20 * 60 + 27], 255);
    assert!(world.text("s.html").contains("The object"));
    world.ok("segment p.png --model colours.safetensors -o again.png");
    assert!(is_square(&world, "again.png"));
    for rest in ["--method mean-field", "--telling regression", "--rounds 4"] {
        world.ok(&format!("segment p.png --scribbles m.png -o r.png {rest}"));
        assert!(is_square(&world, "r.png"), "{rest}");
    }
}

#[test]
fn label_pictures_teach_a_model() {
    let world = World::new();
    scene(&world);
    for folder in ["pictures", "labels"] {
        std::fs::create_dir(world.path(folder)).unwrap();
    }
    world.ok("segment p.png --scribbles m.png -o l.png");
    std::fs::copy(world.path("p.png"), world.path("pictures/a.png")).unwrap();
    std::fs::copy(world.path("l.png"), world.path("labels/a.png")).unwrap();
    let answer = world.json("segment pictures --labels labels --save model.safetensors --json");
    assert_eq!(answer["labels"], serde_json::json!([1, 2]));
    world.ok("segment p.png --model model.safetensors -o new.png");
    assert!(is_square(&world, "new.png"));
    std::fs::rename(world.path("pictures/a.png"), world.path("pictures/b.png")).unwrap();
    let ran = world.run("segment pictures --labels labels --save model.safetensors");
    assert!(ran.code == Some(1) && ran.stderr.contains("`a`"), "{}", ran.stderr);
}

#[test]
fn scribbles_that_say_nothing_are_named() {
    let world = World::new();
    scene(&world);
    let say = |marks: &Pixels| {
        write::write_labels(&world.path("bad.png"), marks).unwrap();
        let ran = world.run("segment p.png --scribbles bad.png -o l.png");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        ran.stderr
    };
    assert!(say(&pixels(20, 60, 1, |_, _| vec![1])).contains("60 x 20"));
    assert!(say(&pixels(40, 60, 1, |_, _| vec![0])).contains("no marked pixel"));
    assert!(say(&pixels(40, 60, 1, |y, _| vec![u8::from(y == 3)])).contains("one label"));
    // 255 and 128 are object and background.
    let grey = pixels(40, 60, 1, |y, x| match (y, x) {
        (20, 25..30) => vec![255],
        (3, 5..50) => vec![128],
        _ => vec![0],
    });
    write::write_pixels(&world.path("grey.png"), &grey).unwrap();
    world.ok("segment p.png --scribbles grey.png -o l.png");
    assert!(is_square(&world, "l.png"));
    let photo = read_pixels(&world.path("p.png")).unwrap();
    write::write_pixels(&world.path("photo.png"), &photo).unwrap();
    let ran = world.run("segment p.png --scribbles photo.png -o l.png");
    assert!(ran.code == Some(1) && ran.stderr.contains("palette"), "{}", ran.stderr);
}
