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
fn what_would_be_lost_is_refused() {
    let world = World::new();
    world.write("people.csv", people());
    let told = world.refused("-q fit gmm people.csv --components 2 -o people2.csv");
    assert!(told.contains("people2.safetensors"), "{told}");
    world.write("m.safetensors", "a,b\n1,2\n");
    let told = world.refused("-q fit gmm people.csv --components 2 -o m.safetensors");
    assert!(told.contains("would be lost"), "{told}");
}
