//! Tables as people have them: words, names and dates beside numbers.

use crate::world::World;

/// A table with words, names of rows, and holes.
fn people() -> String {
    let mut text = "\"\",\"sex\",\"smokes\",\"height\",\"visits\",\"city\"\n".to_owned();
    for row in 0..120usize {
        let man = row % 2 == 0;
        let height = 150 + 18 * usize::from(man) + row * 7 % 11;
        let height = if row % 9 == 4 { "NA".to_owned() } else { height.to_string() };
        let smokes = if row % 13 == 5 { "" } else { ["no", "yes"][usize::from(row % 3 == 0)] };
        let sex = ["Female", "Male"][usize::from(man)];
        let city = ["Bonn", "Graz", "Lyon"][row % 3];
        let visits = [0, 0, 1, 0, 3, 0, 2, 0, 0, 7][row * 3 % 10];
        let number = row + 1;
        let line = [&number.to_string(), sex, smokes, &height, &visits.to_string(), city];
        let quoted = [true, true, true, false, false, true];
        let cells = line.iter().zip(quoted);
        let cells = cells
            .map(|(cell, quoted)| if quoted { format!("\"{cell}\"") } else { (*cell).to_owned() });
        text.push_str(&cells.collect::<Vec<_>>().join(","));
        text.push('\n');
    }
    text
}

#[test]
fn a_file_is_inspected_before_anything_is_learned() {
    let world = World::new();
    world.write("people.csv", people());
    let told = world.ok("-q inspect people.csv");
    for piece in ["120 rows", "yes/no", "count", "category", "mereo fill people.csv", "Graz"] {
        assert!(told.contains(piece), "no {piece} in {told}");
    }
    let told = world.ok("-q inspect people.csv --json --kinds visits=number --drop city");
    assert!(told.contains("left out") && told.contains("\"id\""), "{told}");
}

#[test]
fn a_filled_table_is_the_users_table() {
    let world = World::new();
    world.write("people.csv", people());
    world.ok("-q fill people.csv -o filled.csv --json -m model.safetensors");
    let filled = world.text("filled.csv");
    let original = people().replace('"', "");
    assert_eq!(filled.lines().count(), original.lines().count());
    for (line, (new, old)) in filled.lines().zip(original.lines()).enumerate() {
        for (new, old) in new.split(',').zip(old.split(',')) {
            if ["", "NA"].contains(&old) && line > 0 && new != old {
                assert!(["yes", "no"].contains(&new) || new.parse::<u32>().is_ok(), "{new}");
            } else {
                assert_eq!(new, old, "line {line}");
            }
        }
    }
    assert!(!filled.contains(",,") && !filled.contains("NA"), "{filled}");
    world.ok("-q fill people.csv -o drawn.csv --draws 2 --probabilities");
    assert!(world.text("drawn-1.csv") != world.text("drawn-2.csv"));
    assert!(world.text("drawn-1.csv").lines().next().unwrap().contains("smokes (probability)"));
    world.ok("-q reconstruct model.safetensors people.csv --fill -o again.csv");
    assert_eq!(world.text("again.csv").lines().next(), filled.lines().next());
}

#[test]
fn odd_rows_and_groups_are_told_in_the_users_words() {
    let world = World::new();
    world.write("people.csv", people().replace("168,", "199,"));
    let told = world.ok("-q odd people.csv -n 3");
    assert!(told.contains("row ") && told.contains("usually"), "{told}");
    let told = world.ok("-q groups people.csv -k 2 -o grouped.csv");
    assert!(told.contains("group 1") && told.contains("usually"), "{told}");
    assert!(world.text("grouped.csv").lines().next().unwrap().ends_with(",group"));
}

#[test]
fn what_was_learned_is_told_in_the_users_words() {
    let world = World::new();
    world.write("people.csv", people().replace("\"1\",", "\"Ada\","));
    world.ok("-q fit mcvq people.csv --id 0 --parts 1 --states 2 -o m.safetensors");
    let shown = world.ok("show m.safetensors");
    assert!(shown.contains("% of rows: ") && shown.contains("sex Male "), "{shown}");
    assert!(shown.contains("height 1") && shown.contains("(usually "), "{shown}");
    let told = world.ok("-q explain m.safetensors people.csv --rows Ada");
    assert!(told.starts_with("row Ada\n") && told.contains("sex Male"), "{told}");
    let told = world.json("-q explain m.safetensors people.csv --rows Ada,2 --json");
    assert_eq!((&told[0]["name"], &told[1]["name"]), (&"Ada".into(), &"2".into()));
    assert!(told[0]["parts"][0]["stands_out"][0]["text"].is_string(), "{told}");
    world.ok("-q report m.safetensors people.csv -o r.html");
    let page = world.text("r.html");
    for piece in ["Columns that go together", "usually ", "typical", "For experts", "Male"] {
        assert!(page.contains(piece), "no {piece}");
    }
    // Names of rows come first in whatever is written of them, also on standard output.
    for (verb, head) in [("encode", ",part0.state0"), ("score", ",score")] {
        let rows = world.ok(&format!("-q {verb} m.safetensors people.csv -o -"));
        let mut lines = rows.lines();
        assert!(lines.next().unwrap().contains(head), "{rows}");
        assert!(lines.next().unwrap().starts_with("Ada,"), "{rows}");
        assert_eq!(rows.lines().count(), 121);
    }
    let filled = world.ok("-q reconstruct m.safetensors people.csv --fill -o -");
    assert!(filled.contains("Ada,Male,"), "{filled}");
    assert!(world.refused("-q score m.safetensors people.csv -o - --json").contains("a file"));
}

#[test]
fn what_would_be_lost_is_refused() {
    let world = World::new();
    world.write("people.csv", people());
    let told = world.refused("-q fit gmm people.csv --components 2 -o people2.csv");
    assert!(told.contains("people2.safetensors"), "{told}");
    world.write("m.safetensors", "a,b\n1,2\n");
    let told = world.refused("-q fit gmm people.csv --components 2 -o m.safetensors");
    assert!(told.contains("would be lost") && told.contains("--force"), "{told}");
    world.ok("-q fit gmm people.csv --components 2 -o m.safetensors --force");
    assert!(world.ok("show m.safetensors").contains("gmm"));
}
