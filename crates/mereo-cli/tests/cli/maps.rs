//! Maps from end to end.

use std::fmt::Write as _;

use crate::world::{World, numbers};

/// Three clusters in four columns, with labels.
fn clusters(rows: usize, label: bool) -> String {
    let mut text = format!("a,b,c,d{}\n", if label { ",kind" } else { "" });
    for i in 0..rows {
        let cell = |k: usize| {
            let noise = ((i * 37 + k * 101) * 7919 % 1009) as f64 / 1009.0;
            noise + if k == i % 3 { 4.0 } else { 0.0 }
        };
        // Writing to a string does not fail.
        let _ = write!(text, "{},{},{},{}", cell(0), cell(1), cell(2), cell(3));
        let _ = if label {
            writeln!(text, ",{}", ["red", "green", "blue"][i % 3])
        } else {
            writeln!(text)
        };
    }
    text
}

const TOWNS: &str = "town,Aa,Bb,Cc,Dd\nAa,0,3,5,4\nBb,3,0,4,5\nCc,5,4,0,3\nDd,4,5,3,0\n";

#[test]
fn every_method_makes_a_map_that_is_shown_reported_and_takes_new_rows() {
    let world = World::new();
    world.write("d.csv", clusters(150, true));
    world.write("new.csv", clusters(30, true));
    for method in ["tsne", "sammon", "mds", "mds --cost distances", "pcoa"] {
        let told = world.json(&format!(
            "map d.csv --label kind --method {method} --json -o m.safetensors --csv p.csv"
        ));
        let kind = method.split(' ').next().unwrap();
        assert_eq!(told["method"], kind);
        for key in ["cost", "trustworthiness", "neighbour_recall", "continuity", "seconds"] {
            assert!(told[key].as_f64().unwrap().is_finite(), "{method} {key}");
        }
        assert!(told["label_agreement"].as_f64().unwrap() > 0.95, "{method} {told}");
        assert_eq!(told["kl"].is_null(), kind != "tsne");
        assert_eq!(told["eigenvalues"].is_null(), kind != "pcoa");
        let text = world.text("p.csv");
        assert!(text.starts_with("x,y,"), "{text}");
        assert_eq!(text.lines().count(), 151);
        assert!(world.ok("show m.safetensors").contains("trustworthiness"));
        assert_eq!(world.json("show m.safetensors --json")["model"], "map");
        world.ok("map --onto m.safetensors new.csv --label kind --csv n.csv");
        assert_eq!(world.text("n.csv").lines().count(), 31);
        // One row alone is where it is among others.
        let all = numbers(&world.text("n.csv"), true);
        let lines = clusters(30, true);
        let lines: Vec<&str> = lines.lines().collect();
        world.write("one.csv", format!("{}\n{}\n", lines[0], lines[8]));
        world.ok("map --onto m.safetensors one.csv --label kind --csv o.csv");
        assert_eq!(numbers(&world.text("o.csv"), true)[0][..2], all[7][..2]);
        world.ok("report m.safetensors d.csv --label kind -o m.html");
        let page = world.text("m.html");
        assert!(page.contains("<canvas") && page.contains("red") && !page.contains("http:"));
        world.ok("report m.safetensors -o bare.html");
    }
}

#[test]
fn distances_and_similarities_are_mapped() {
    let world = World::new();
    world.write("t.csv", TOWNS);
    let told =
        world.json("map t.csv --distances --method pcoa --json -o m.safetensors --csv p.csv");
    assert_eq!(told["eigenvalues"].as_array().unwrap().len(), 4);
    let text = world.text("p.csv");
    assert!(text.starts_with("name,x,y\nAa,"), "{text}");
    world.write("new.csv", "3,0,4,5\n");
    world.ok("map --onto m.safetensors new.csv --csv n.csv");
    let (new, old) = (numbers(&world.text("n.csv"), true), numbers(&text, true));
    assert!((new[0][0] - old[1][1]).abs() < 1e-9 && (new[0][1] - old[1][2]).abs() < 1e-9);
    for method in ["tsne", "sammon", "mds"] {
        world.ok(&format!("map t.csv --distances --method {method} -o m.safetensors"));
    }
    world.write("s.csv", ",4.5,1\n4.5,,2\n1,2,\n");
    world.ok("map s.csv --no-header --similarities reverse --method pcoa -d 1 -o m.safetensors");
}

#[test]
fn bad_matrices_and_choices_are_refused() {
    let world = World::new();
    let refused = |text: &str, says: &str| {
        world.write("x.csv", text);
        let said = world.refused("map x.csv --distances --method pcoa -o m.safetensors");
        assert!(said.contains(says), "{said}");
    };
    refused("a,b\n0,1\n1,0\n2,3\n", "square");
    refused("a,b,c\n0,1,2\n1,0,3\n9,3,0\n", "other way round");
    refused("a,b,c\n0,-1,2\n-1,0,3\n2,3,0\n", "at least 0");
    refused("a,b,c\n0,,2\n,0,3\n2,3,0\n", "for every pair");
    world.write("d.csv", clusters(20, false));
    let says = |line: &str, says: &str| {
        let said = world.refused(line);
        assert!(said.contains(says), "{line}: {said}");
    };
    says("map d.csv --perplexity 25 -o m.safetensors", "perplexity");
    says("map d.csv -d 4 -o m.safetensors", "dimensions");
    says("map d.csv --method pcoa -d 30 -o m.safetensors", "more rows than");
    says("map d.csv --method sammon --perplexity 5 -o m.safetensors", "--method tsne");
    says("map d.csv --pca 9 -o m.safetensors", "pca");
    says("map d.csv --method tsne", "-o");
    world.write("same.csv", "a,b\n1,2\n1,2\n1,2\n1,2\n1,2\n");
    says("map same.csv -o m.safetensors", "all equal");
    world.ok("map same.csv --method pcoa -o m.safetensors");
    world.write("holes.csv", "a,b,c\n1,,2\n2,3,5\n4,1,0\n3,3,3\n2,1,1\n5,4,2\n");
    says("map holes.csv -o h.safetensors", "--pca");
    world.ok("map holes.csv --pca 2 -o h.safetensors");
    says("map --onto d.csv d.csv --csv p.csv", "not a usable model file");
}

#[test]
fn codes_of_a_model_are_mapped_and_new_rows_go_the_same_way() {
    let world = World::with_model("d.csv");
    world.ok("map --model m.safetensors d.csv -o map.safetensors --csv p.csv");
    world.ok("map --onto map.safetensors d.csv --csv n.csv");
    assert_eq!(world.text("n.csv").lines().count(), world.text("p.csv").lines().count());
    assert!(world.ok("show map.safetensors").contains("through mcvq"));
    world
        .ok("map --model m.safetensors d.csv --pca 3 --method pcoa -o map.safetensors --csv p.csv");
    world.ok("map --onto map.safetensors d.csv --csv n.csv");
    for (a, b) in
        numbers(&world.text("n.csv"), true).iter().zip(numbers(&world.text("p.csv"), true))
    {
        assert!((a[0] - b[0]).abs() < 1e-6 && (a[1] - b[1]).abs() < 1e-6);
    }
    world.ok("report map.safetensors d.csv -o map.html");
    assert!(world.text("map.html").contains("part 0"));
}

#[test]
fn maps_are_the_same_bytes_on_any_number_of_threads_and_after_a_break() {
    let world = World::new();
    world.write("d.csv", clusters(1100, false));
    for threads in [1, 2, 7] {
        world.ok(&format!("-q map d.csv --steps 60 --threads {threads} -o m{threads}.safetensors"));
    }
    assert!(world.bytes("m1.safetensors") == world.bytes("m2.safetensors"));
    assert!(world.bytes("m1.safetensors") == world.bytes("m7.safetensors"));
    let line =
        "-q map d.csv --steps 60 --checkpoint c --checkpoint-every 0 --resume -o c.safetensors";
    world.ok(line);
    assert!(world.bytes("m1.safetensors") == world.bytes("c.safetensors"));
    world.ok(line);
    assert!(world.bytes("m1.safetensors") == world.bytes("c.safetensors"));
    let said = world.refused("-q map d.csv --steps 61 --checkpoint c --resume -o x.safetensors");
    assert!(said.contains("other options"), "{said}");
}
