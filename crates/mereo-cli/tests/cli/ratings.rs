//! Ratings: predict, recommend, ask, evaluate, similar.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::world::World;

/// Two kinds of people: even ones love the first eight items and loathe the others, odd ones the other way round. Beside
/// them a model of that.
fn learned() -> World {
    let world = World::new();
    let mut text = "user,item,rating\n".to_owned();
    for user in 0..60 {
        for item in 0..16 {
            if (user * 7 + item * 5) % 3 == 0 {
                continue;
            }
            let loves = (user % 2 == 0) == (item < 8);
            let rating = if loves { 4 } else { 1 } + (user * 31 + item * 17) / 3 % 2;
            writeln!(text, "u{user},i{item},{rating}").unwrap();
        }
    }
    world.write("r.csv", text);
    world.ok("-q fit mcvq r.csv --parts 1 --states 2 --restarts 2 -o m.safetensors");
    world
}

/// The number in an id.
fn number(id: &Value) -> usize {
    id.as_str().unwrap()[1..].parse().unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

#[test]
fn a_file_with_a_few_ratings_is_a_user() {
    let world = learned();
    world.write("me.csv", "user,item,rating\nme,i0,5\nme,i1,4\nme,nowhere,3\n");
    let ran = world.run("recommend m.safetensors --given me.csv -n 4 --json");
    assert!(
        ran.stderr.contains("1 columns that the model never saw are left out: `nowhere`"),
        "{}",
        ran.stderr
    );
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told[0]["user"], "me");
    let items = list(&told[0]["recommendations"]);
    assert_eq!(items.len(), 4);
    for item in items {
        assert!((2..8).contains(&number(&item["item"])), "{item}");
        assert!(item["mean"].as_f64().unwrap() > 3.8, "{item}");
        assert!(!list(&item["because"]).is_empty(), "{item}");
    }
    let words = world.ok("recommend m.safetensors --given r.csv --user u4");
    assert!(words.starts_with("user u4") && words.contains("part 0, state"), "{words}");
    let told = world.refused("recommend m.safetensors --given r.csv --user nobody");
    assert!(told.contains("there is no `nobody`; the file has 60 users, `u0` for one"), "{told}");
    // Codes and explanations of the same file need no more.
    world.ok("-q encode m.safetensors me.csv -o codes.csv");
    world.ok("-q explain m.safetensors me.csv");
}

#[test]
fn predictions_keep_the_order_of_the_pairs_and_lose_nothing() {
    let world = learned();
    let pairs = "user,item,rating\nu3,i9,5\nu2,i9,1\nu2,elsewhere,3\nstranger,i2,\nu2,i1,4\n";
    world.write("pairs.csv", pairs);
    let ran = world.run("predict m.safetensors --given r.csv --pairs pairs.csv -o out.csv");
    assert!(ran.stderr.contains("of 1 users nothing is given"), "{}", ran.stderr);
    let text = world.text("out.csv");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], ["user", "item", "mean", "median", "deviation"]);
    assert_eq!(lines.len(), 6);
    let mean = |line: usize| lines[line][2].parse::<f64>().unwrap();
    assert!(mean(1) >= 4.0 && mean(2) <= 2.0 && mean(5) >= 4.0, "{text}");
    assert_eq!(lines[3], ["u2", "elsewhere", "", "", ""]);
    assert!((1.0..=5.0).contains(&mean(4)), "{text}");
    let told = world.json("-q predict m.safetensors --given r.csv --pairs pairs.csv --json");
    for key in ["nmae", "nmae_median", "mae", "rmse"] {
        assert!(told[key].as_f64().unwrap() <= 1.0, "{told}");
    }
    assert_eq!((told["pairs"].as_u64(), list(&told["predictions"]).len()), (Some(3), 5));
    let levels = list(&told["predictions"][0]["levels"]);
    let total: f64 = levels.iter().map(|level| level["probability"].as_f64().unwrap()).sum();
    assert!(levels.len() == 4 && (total - 1.0).abs() < 1e-9, "{levels:?}");
}

#[test]
fn what_is_wrong_with_ratings_is_told() {
    let world = learned();
    let cases = [
        ("user,item,rating\nme,i0,9\n", "i0 of user me`: found 9, expected a rating from 1 to 5"),
        (
            "user,item,rating\nme,i0,5\nme,i0,4\n",
            "line 3: found a rating of item i0 by user me again",
        ),
        ("user,item,rating\nme,0,5\n", "none of which the model knows, `0` for one"),
        ("", "given.csv"),
        ("user,item,rating\n", "no rows"),
    ];
    for (text, expected) in cases {
        world.write("given.csv", text);
        let told = world.refused("recommend m.safetensors --given given.csv");
        assert!(told.contains(expected), "{told}");
    }
    world.write("pairs.csv", "user,item,rating\nu1,i1,77\n");
    let told = world.refused("predict m.safetensors --given r.csv --pairs pairs.csv -o out.csv");
    assert!(told.contains("line 2, column `rating`: found 77"), "{told}");
    world.write("pairs.csv", "user,item\nu1,1\n");
    let told = world.refused("predict m.safetensors --given r.csv --pairs pairs.csv -o out.csv");
    assert!(told.contains("none of an item that the model knows"), "{told}");
    world.ok("-q fit pca toy:shapes --components 2 -o other.safetensors");
    let told = world.refused("recommend other.safetensors --given r.csv");
    assert!(told.contains("was not learned from ratings"), "{told}");
}

#[test]
fn answers_from_a_file_are_asked_for_and_change_what_is_recommended() {
    let world = learned();
    world.write("answers.csv", "item,rating\ni9,5\ni3,?\ni12,5\n");
    let run = |questions: usize| {
        let line = "ask m.safetensors --answers answers.csv --json -n 3 --questions";
        world.json(&format!("-q {line} {questions}"))
    };
    let told = run(9);
    assert_eq!(list(&told["questions"]).len(), 3);
    for item in list(&told["recommendations"]) {
        assert!(number(&item["item"]) >= 8, "{item}");
    }
    assert_eq!(list(&run(1)["questions"]).len(), 1);
    assert_eq!(told, run(9));
    // In the terminal: a wrong answer is asked again, and the end of what is typed ends it.
    let mut asked = world.command("ask m.safetensors --questions 3");
    asked.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = asked.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"7\n5\n?\n").unwrap();
    let ended = child.wait_with_output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{err}");
    assert!(err.contains("please give a number from 1 to 5"), "{err}");
    assert!(out.contains("not known") && out.contains("recommended"), "{out}");
}

#[test]
fn models_are_evaluated_beside_means() {
    let world = learned();
    let line = "-q evaluate r.csv --model mcvq --parts 1 --states 2 --restarts 1 --folds 2";
    let told = world.json(&format!("{line} --draws 2 --given-n 2 --json"));
    let nmae = |at: usize| told["results"][at]["nmae"]["mean"].as_f64().unwrap();
    assert_eq!(told["results"][0]["name"], "mcvq");
    assert!(nmae(0) < 0.6 * nmae(3) && nmae(0) < 0.6 * nmae(2), "{told}");
    assert_eq!(list(&told["results"][0]["nmae"]["draws"]).len(), 2);
    assert_eq!(told["given"][0]["given"], 2);
    let words = world.ok(&format!("{line} --draws 1 --protocol weak"));
    assert!(words.contains("user + item means"), "{words}");
    let bad = world.run("evaluate r.csv --model mcvq --components 3");
    assert!(bad.code == Some(2) && bad.stderr.contains("--components"), "{}", bad.stderr);
    assert_eq!(world.run("evaluate r.csv --model oracle").code, Some(2));
}

#[test]
fn rows_and_columns_that_are_alike_are_called_by_their_names() {
    let world = learned();
    let told = world.json("similar m.safetensors r.csv --row u4 -n 3 --json");
    assert_eq!((&told["row"], list(&told["similar"]).len()), (&Value::from("u4"), 3));
    for row in list(&told["similar"]) {
        assert_eq!(number(&row["name"]) % 2, 0, "{told}");
    }
    let told = world.json("similar m.safetensors --column i3 -n 2 --json");
    for column in list(&told["similar"]) {
        assert!(number(&column["name"]) < 8, "{told}");
        assert!(column["similarity"].as_f64().unwrap() > 0.9, "{told}");
    }
    let told = world.refused("similar m.safetensors r.csv --row nobody");
    assert!(told.contains("there is no `nobody`"), "{told}");
}

#[test]
fn averages_are_asked_as_one_model_is_and_say_what_they_cannot_do() {
    let world = learned();
    let options = "--parts 1 --states 2 --restarts 1";
    let ran = world.run(&format!("fit mcvq r.csv {options} --average 3 -o a.safetensors"));
    assert!(ran.stdout.contains("average of 3 mcvq: 60 rows of 16 columns"), "{}", ran.stdout);
    let shown = world.ok("show a.safetensors");
    assert!(shown.starts_with("average of 3 mcvq models of 16 columns"), "{shown}");
    assert!(shown.contains("member 2: bound") && shown.contains("seed 2"), "{shown}");
    let told = world.json("show a.safetensors --json");
    assert_eq!(told["manifest"]["members"]["count"], 3);
    world.write("me.csv", "user,item,rating\nme,i0,5\nme,i1,4\n");
    let told = world.json("-q recommend a.safetensors --given me.csv -n 4 --json");
    for item in list(&told[0]["recommendations"]) {
        assert!((2..8).contains(&number(&item["item"])), "{item}");
    }
    world.write("pairs.csv", "user,item,rating\nu0,i3,4\nu1,i3,1\n");
    let told = world.json("-q predict a.safetensors --given r.csv --pairs pairs.csv --json");
    assert!(told["nmae"].as_f64().unwrap() < 0.6, "{told}");
    world.write("answers.csv", "item,rating\ni9,5\ni12,5\n");
    let told = world.json("-q ask a.safetensors --answers answers.csv --json -n 3");
    for item in list(&told["recommendations"]) {
        assert!(number(&item["item"]) >= 8, "{item}");
    }
    for question in list(&told["questions"]) {
        assert!(question["worth"].as_f64().unwrap() >= 0.0, "{question}");
    }
    let told = world.json("-q similar a.safetensors r.csv --row u4 -n 3 --json");
    for row in list(&told["similar"]) {
        assert_eq!(number(&row["name"]) % 2, 0, "{told}");
    }
    world.ok("-q score a.safetensors r.csv -o scores.csv");
    world.ok("-q reconstruct a.safetensors r.csv -o rows.csv");
    world.ok("-q encode a.safetensors r.csv -o codes.csv");
    world.ok("-q sample a.safetensors -n 5 -o new.csv");
    world.ok("-q report a.safetensors r.csv -o a.html");
    let told = world.refused("explain a.safetensors r.csv --rows u0");
    assert!(told.contains("average"), "{told}");
    let told = world.refused("fit mcvq r.csv --parts 1 --states 2 --average 0 -o b.safetensors");
    assert!(told.contains("average") && told.contains("1 to 256"), "{told}");
    let line = format!("fit mcvq r.csv {options} --average 2 --checkpoint c -o b.safetensors");
    assert!(world.refused(&line).contains("checkpoint"), "{line}");
    let line = format!("-q evaluate r.csv --model mcvq {options} --average 2 --folds 2 --draws 1");
    assert_eq!(world.json(&format!("{line} --json"))["results"][0]["name"], "average of 2 mcvq");
}

#[test]
fn means_of_ratings_are_taken_away_unless_somebody_says_otherwise() {
    let world = learned();
    let fit = |more: &str| {
        let line = format!("fit fa r.csv --components 1 --passes 5 -o f.safetensors {more}");
        let ran = world.run(&line);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        (ran.stderr, world.ok("show f.safetensors"))
    };
    let (said, shown) = fit("");
    assert!(said.contains("--prepare none"), "{said}");
    assert!(shown.contains("prepared by remove-means"), "{shown}");
    let (said, shown) = fit("--prepare none");
    assert!(!said.contains("are taken away") && !shown.contains("prepared by"), "{said}{shown}");
    let (said, shown) = fit("--prepare remove-row-means");
    assert!(!said.contains("are taken away"), "{said}");
    assert!(shown.contains("prepared by remove-row-means"), "{shown}");
    // Densities are those of the ratings, whatever was taken away.
    fit("");
    world.ok("-q score f.safetensors r.csv -o scores.csv");
    let told =
        world.refused("fit fa r.csv --components 1 --prepare none --prepare log -o g.safetensors");
    assert!(told.contains("`none` goes with no other step"), "{told}");
    // Models with biases of their own keep them.
    world.ok("-q fit bfa r.csv --factors 1 --passes 5 -o b.safetensors");
    assert!(!world.ok("show b.safetensors").contains("prepared by"));
}
