//! Features, codebooks that add up, and the codec.

use crate::world::{World, npy_shape, numbers};

/// Eight sums of three features, ten times each.
fn corners() -> String {
    let line = |i: usize| {
        let on = |b: usize| (i >> b & 1) as f64;
        format!("{},{},{},{}\n", 5.0 + on(0), 3.0 * on(1), 2.0 * on(2), on(0) - on(2))
    };
    "a,b,c,d\n".to_owned() + &(0..80).map(|i| line(i % 8)).collect::<Vec<_>>().concat()
}

#[test]
fn features_go_all_the_way() {
    let world = World::new();
    world.write("d.csv", corners());
    let told = world.json("fit gvq d.csv --features 3 -o m.safetensors --json");
    assert_eq!((&told["model"], &told["rows"]), (&"gvq".into(), &80.into()));
    world.ok("encode m.safetensors d.csv -o codes.csv");
    let text = world.text("codes.csv");
    assert!(text.starts_with("set0.feature0,set0.feature1,set0.feature2,set\n"), "{text}");
    let codes = numbers(&text, true);
    let mut distinct: Vec<String> = codes.iter().map(|c| format!("{c:?}")).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!((codes.len(), distinct.len()), (80, 8));
    for association in ["auto", "exact", "bp", "br", "mf", "gibbs", "dbp", "dbr", "local"] {
        world.ok(&format!("encode m.safetensors d.csv --association {association} -o c.csv"));
    }
    world.ok("encode m.safetensors d.csv --association exact -o exact.csv");
    assert_eq!(world.text("exact.csv"), text);
    world.ok("reconstruct m.safetensors d.csv -o rows.csv");
    let rows = numbers(&world.text("rows.csv"), true);
    for (made, given) in rows.iter().zip(numbers(&corners(), true)) {
        assert!(made.iter().zip(given).all(|(a, b)| (a - b).abs() < 1e-4), "{made:?}");
    }
    assert!(world.ok("show m.safetensors").contains("3 features"));
    world.ok("score m.safetensors d.csv");
    world.ok("sample m.safetensors -n 3 -o s.csv");
    world.ok("report m.safetensors d.csv -o r.html");
    let page = world.text("r.html");
    assert!(page.contains("most used combinations") && page.contains("Bits and error"));
    world.ok("encode m.safetensors d.csv --codes -o d.gvq");
    assert!(world.bytes("d.gvq").len() < 300);
    world.ok("decompress d.gvq -o back.npy");
    assert_eq!(npy_shape(&world.path("back.npy")), [80, 4]);
    assert!(world.refused("decompress d.gvq -o back.png").contains("a table"));
}

#[test]
fn sets_penalties_and_binary_data_are_learned() {
    let world = World::new();
    world.write("d.csv", corners());
    world.ok("fit gvq d.csv --features 2 --sets 2 --penalty 0.1 --restarts 1 -o m.safetensors");
    world.ok("encode m.safetensors d.csv -o codes.csv");
    assert!(world.text("codes.csv").starts_with("set0.feature0,set0.feature1,set1.feature0"));
    let bits = ["0,0,1,0\n", "1,0,1,0\n", "0,1,1,0\n", "1,1,1,0\n"].concat().repeat(10);
    world.write("b.csv", bits);
    world.ok("fit gvq b.csv --features 2 --binary --beta 6 -o b.safetensors");
    world.ok("encode b.safetensors b.csv -o codes.csv");
    assert!(
        world.refused("fit gvq d.csv --features 2 --binary -o x.safetensors").contains("binary")
    );
    assert!(world.refused("fit gvq d.csv --features 99 -o x.safetensors").contains("`--features`"));
    let refused = world.refused("fit gvq d.csv --features 20 --association dbr -o x.safetensors");
    assert!(refused.contains("dbr"));
    let refused =
        world.refused("fit gvq toy:faces --features 20 --association dbp -o x.safetensors");
    assert!(refused.contains("20 features of 1024 columns") && refused.contains("use auto"));
    assert_eq!(world.run("fit gvq d.csv --features 2 --association magic -o x").code, Some(2));
}

#[test]
fn codebooks_that_add_up_go_all_the_way() {
    let world = World::new();
    world.write("d.csv", corners());
    for inference in ["local", "mean-field", "gibbs"] {
        world.ok(&format!(
            "fit cvq d.csv --parts 3 --states 2 --inference {inference} -o m.safetensors"
        ));
        world.ok("encode m.safetensors d.csv -o codes.csv");
        assert!(world.text("codes.csv").starts_with("part0.state0,part0.state1,part1.state0"));
        world.ok("score m.safetensors d.csv");
        world.ok("report m.safetensors d.csv -o r.html");
    }
    assert!(world.refused("encode m.safetensors d.csv --association br -o x.csv").contains("cvq"));
    assert!(world.refused("encode m.safetensors d.csv --codes -o x.gvq").contains("cvq"));
}

/// A picture with some structure, as PNM.
fn picture(colour: bool) -> Vec<u8> {
    let kind = if colour { "P6" } else { "P5" };
    let mut bytes = format!("{kind}\n48 40\n255\n").into_bytes();
    for y in 0..40 {
        for x in 0..48 {
            for c in 0..if colour { 3 } else { 1 } {
                let wave = (f64::from(x + 9 * c) / 5.0).sin() + (f64::from(y) / 7.0).cos();
                bytes.push((120.0 + 50.0 * wave) as u8);
            }
        }
    }
    bytes
}

#[test]
fn pictures_are_compressed_and_come_back() {
    let world = World::new();
    for (name, colour) in [("grey.pgm", false), ("colour.ppm", true)] {
        world.write(name, picture(colour));
        let line = format!("compress {name} -o p.gvq --block 8 --features 4 --bits 9 --json");
        let told = world.json(&line);
        assert_eq!(told["bytes"].as_u64(), Some(world.bytes("p.gvq").len() as u64));
        assert!(told["kilobits"].as_f64().unwrap() > 0.0 && told["psnr"].as_f64().unwrap() > 20.0);
        world.ok("decompress p.gvq -o p.png");
        // The picture again, said with as many features, is the picture.
        let again = world.json("compress p.png -o q.gvq --block 8 --features 4 --bits 9 --json");
        assert!(again["psnr"].as_f64().is_none_or(|p| p > 30.0), "{again}");
        let first = world.bytes("p.gvq");
        world.ok(&line);
        assert_eq!(first, world.bytes("p.gvq"));
    }
    let told = world.json("compress grey.pgm -o p.gvq --block 8 --features 4 --compare --json");
    let names: Vec<&str> =
        told["compare"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert!(names[0].starts_with("GVQ of 4") && names[1].starts_with("VQ of"), "{names:?}");
    assert!(world.bytes("p.compare.png").starts_with(b"\x89PNG"));
    assert!(world.ok("compress grey.pgm -o p.gvq --block 8 --features 4").contains("PSNR"));
}

#[test]
fn files_that_are_no_compressed_pictures_are_refused() {
    let world = World::new();
    world.write("grey.pgm", picture(false));
    world.ok("-q compress grey.pgm -o p.gvq --block 8 --features 2");
    let bytes = world.bytes("p.gvq");
    world.write("cut.gvq", &bytes[..bytes.len() / 2]);
    assert!(world.refused("decompress cut.gvq -o p.png").contains("cut.gvq"));
    let mut wrong = bytes.clone();
    wrong[40] ^= 1;
    world.write("wrong.gvq", wrong);
    assert!(world.refused("decompress wrong.gvq -o p.png").contains("checksum"));
    assert!(world.refused("decompress grey.pgm -o p.png").contains("another kind of file"));
    world.write("empty.gvq", b"");
    assert!(world.refused("decompress empty.gvq -o p.png").contains("empty.gvq"));
    world.write("empty.png", b"");
    assert!(world.refused("compress empty.png -o x.gvq").contains("empty.png"));
    assert!(world.refused("decompress p.gvq -o p.csv").contains("a picture"));
    assert!(world.refused("compress grey.pgm -o x.gvq --bits 40").contains("`--bits`"));
    assert!(world.refused("compress grey.pgm -o x.gvq --block 999").contains("`--block`"));
    assert!(world.refused("compress none.png -o x.gvq").contains("none.png"));
}

#[test]
fn pictures_of_any_size_come_back() {
    let world = World::new();
    // Smaller than a block, not a multiple of one, and one pixel wide.
    for (width, height) in [(1, 1), (5, 7), (37, 50), (1, 60), (60, 1)] {
        let mut bytes = format!("P5\n{width} {height}\n255\n").into_bytes();
        bytes.extend((0..width * height).map(|i| (i * 37 % 256) as u8));
        world.write("p.pgm", bytes);
        let told = world.json("compress p.pgm -o p.gvq --features 3 --restarts 1 --json");
        assert_eq!((&told["width"], &told["height"]), (&width.into(), &height.into()));
        assert!(told["psnr"].as_f64().is_none_or(|p| p > 10.0), "{told}");
        world.ok("decompress p.gvq -o p.png");
        let png = world.bytes("p.png");
        let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((side(16), side(20)), (width, height));
    }
}
