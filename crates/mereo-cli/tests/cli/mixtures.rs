//! Mixtures and patches from end to end.

use std::fmt::Write as _;

use crate::world::World;

/// Rows in two groups whose columns go together, with a hole now and then.
fn data() -> String {
    let mut text = "a,b,c\n".to_owned();
    for i in 0..80 {
        let (u, v) = (f64::from(i * 7 % 11) / 5.0, f64::from(i * 5 % 13) / 6.0);
        let group = f64::from(i % 2) * 8.0;
        let b = if i % 9 == 4 { String::new() } else { (u + group + 0.1 * v).to_string() };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{},{b},{}", u + group, v - u);
    }
    text
}

#[test]
fn a_report_sets_models_beside_one_another() {
    let world = World::new();
    world.write("d.csv", data());
    world.write("e.csv", "x,y\n1,2\n2,1\n3,5\n");
    for n in [1, 2, 3] {
        world.ok(&format!("fit gmm d.csv --components {n} --passes 20 -o g{n}.safetensors"));
    }
    world.write("f.csv", data().replace("a,b,c", "a,q,c"));
    for name in ["e", "f"] {
        world.ok(&format!("fit gmm {name}.csv --components 1 -o {name}.safetensors"));
    }
    world.ok("report g2.safetensors d.csv -o alone.html");
    let alone = world.text("alone.html");
    assert!(alone.contains("Likelihood against parameters") && !alone.contains("class=\"dot\""));
    let beside = "--beside g1.safetensors --beside g3.safetensors";
    for data in ["", "d.csv"] {
        world.ok(&format!("report g2.safetensors {data} {beside} -o page.html"));
        assert_eq!(world.text("page.html").matches("class=\"dot\"").count(), 3);
    }
    let told = world.refused("report g2.safetensors --beside e.safetensors -o page.html");
    assert!(told.contains("option `--beside`: `e.safetensors` has 2 columns"), "{told}");
    let told = world.refused("report g2.safetensors --beside f.safetensors -o page.html");
    assert!(told.contains("`f.safetensors` has a column `q` where"), "{told}");
}

#[test]
fn every_mixture_does_what_it_can() {
    let world = World::new();
    world.write("d.csv", data());
    let models = [
        ("gmm", "gmm d.csv --components 2 --covariance spherical", 2),
        ("gmm", "gmm d.csv --components 2 --covariance tied --hard", 2),
        ("gmm", "gmm d.csv --components 2 --covariance full", 2),
        ("gmm", "gmm d.csv --components 2 --covariance full --shrinkage 20", 2),
        ("gmm", "gmm d.csv --components 2 --covariance low-rank --factors 1", 2),
        ("student", "student d.csv --components 2", 2),
        ("deep-gmm", "deep-gmm d.csv --layers 2,2", 4),
        ("deep-gmm", "deep-gmm d.csv --layers 2,2 --layer-kind full,scale", 4),
        ("deep-gmm", "deep-gmm d.csv --layers 2,2,2 --em hard --search coordinate", 8),
        ("deep-gmm", "deep-gmm d.csv --layers 2,2 --sweeps 1 --m-step kronecker", 4),
    ];
    for (kind, line, codes) in models {
        let told = world.json(&format!("fit {line} --passes 20 --json -o m.safetensors"));
        assert_eq!((told["model"].as_str(), told["rows"].as_u64()), (Some(kind), Some(80)));
        let (aic, bic) = (&told["criteria"]["aic"], &told["criteria"]["bic"]);
        assert!(bic.as_f64().unwrap() > aic.as_f64().unwrap(), "{line}");
        let scores = world.json("score m.safetensors d.csv --json");
        assert_eq!(scores["kind"].as_str(), Some("exact"), "{line}");
        let per_row = told["bound_per_row"].as_f64().unwrap();
        assert!(scores["mean"].as_f64().unwrap() >= per_row - 1e-6, "{line}");
        world.ok("encode m.safetensors d.csv -o codes.csv");
        let header = world.text("codes.csv").lines().next().unwrap().to_owned();
        assert_eq!(header.split(',').count(), codes, "{line}");
        world.ok("reconstruct m.safetensors d.csv --fill -o filled.csv");
        assert_eq!(world.text("filled.csv").lines().count(), 81);
        world.ok("sample m.safetensors -n 7 -o s.csv");
        assert_eq!(world.text("s.csv").lines().count(), 8);
        let shown = world.ok("show m.safetensors");
        assert!(shown.contains("BIC"), "{shown}");
        if kind == "deep-gmm" {
            assert!(shown.contains("layer 2 ("), "{shown}");
        }
        world.ok("report m.safetensors d.csv -o page.html");
    }
}

#[test]
fn wrong_options_of_mixtures_are_told() {
    let world = World::new();
    world.write("d.csv", data());
    for (line, expected) in [
        ("fit gmm d.csv --components 2 --covariance low-rank --factors 0 -o m", "factors"),
        ("fit gmm d.csv --components 2 --covariance low-rank --factors 9 -o m", "3 columns"),
        ("fit gmm d.csv --components 2 --covariance tied --shrinkage 9 -o m", "only full"),
        ("fit gmm d.csv --components 2 --covariance full --shrinkage -1 -o m", "shrinkage"),
        ("fit student d.csv --components 0 -o m", "components"),
        ("fit deep-gmm d.csv --layers 2,0 -o m", "layers"),
        ("fit deep-gmm d.csv --layers 2,2 --layer-kind full -o m", "1 kinds for 2 layers"),
        ("fit deep-gmm d.csv --layers 2,2 --search coordinate -o m", "choose hard for em"),
        ("fit deep-gmm d.csv --layers 2,2 --steps 0 -o m", "steps"),
    ] {
        let said = world.refused(line);
        assert!(said.contains(expected), "{line}: {said}");
    }
    let ran = world.run("fit deep-gmm d.csv --layers 2,2 --m-step newton -o m");
    assert!(ran.code == Some(2) && ran.stderr.contains("auto, lbfgs, kronecker"), "{ran:?}");
}

#[test]
fn patches_of_pictures_are_rows() {
    let world = World::new();
    world.ok("toy faces --rows 3 -o faces.npy");
    assert!(world.refused("patches faces.npy --count 5 -o p.npy").contains("pictures"));
    let mut picture = b"P5\n12 10\n255\n".to_vec();
    picture.extend((0..120u8).map(|i| i.wrapping_mul(37)));
    std::fs::create_dir(world.path("photos")).unwrap();
    std::fs::write(world.path("photos/a.pgm"), picture).unwrap();
    world.ok("patches photos --size 4 --count 9 --seed 3 -o p.csv");
    let text = world.text("p.csv");
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows.iter().all(|row| row.split(',').count() == 15), "{text}");
    world.ok("patches photos --size 4 --count 9 --seed 3 -o q.csv");
    assert_eq!(text, world.text("q.csv"));
    // Their last pixel, which is left out, is drawn with the others.
    world.ok("fit deep-gmm p.csv --layers 2,2 --passes 3 -o m.safetensors");
    world.ok("report m.safetensors p.csv --picture 4x4 -o page.html");
    assert!(world.text("page.html").contains("pictures of 4\u{a0}×\u{a0}4 pixels"));
    let said = world.refused("report m.safetensors --picture 4x5 -o page.html");
    assert!(said.contains("picture") && said.contains("15 columns"), "{said}");
    assert!(world.refused("patches photos --size 11 --count 9 -o p.npy").contains("a.pgm"));
}
