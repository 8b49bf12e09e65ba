use std::fmt::Write as _;

use mereo_core::{AnyTable, Cells, ColumnKind, Table};

use super::super::read_input;
use super::*;
use crate::read::{Input, Origin};
use crate::{Kind, ReadOptions};

fn told_with(text: &[u8], options: &ReadOptions) -> Result<(Table<f64>, Told)> {
    let input = Input::of_bytes(text, options)?;
    match read_input(Kind::Csv, input, Origin::Bytes(text), options)? {
        (AnyTable::F64(table), told) => Ok((table, told)),
        (AnyTable::F32(_), _) => panic!("text is read as f64"),
    }
}

fn read(text: &str) -> (Table<f64>, Told) {
    told_with(text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn kinds(told: &Told) -> Vec<&str> {
    told.columns.iter().map(|column| column.kind.as_str()).collect()
}

fn column(table: &Table<f64>, column: usize) -> Vec<f64> {
    let Cells::Dense(cells) = table.cells() else { panic!("dense") };
    (0..cells.rows()).map(|row| cells.row(row)[column]).collect()
}

/// A table as people have them.
fn people() -> String {
    let mut text =
        "\"\",\"name\",\"sex\",\"smokes\",\"visits\",\"height\",\"born\",\"exercise\",\"note\"\n"
            .to_owned();
    for row in 0..40 {
        let sex = ["Female", "Male"][row % 2];
        let smokes = ["No", "yes", "no", "NA"][row % 4];
        let visits = [0, 0, 1, 0, 2, 0, 5, 1][row % 8];
        let exercise = ["None", "Some", "Freq", ""][row % 4];
        writeln!(
            text,
            "\"{}\",\"Person, {row}\",\"{sex}\",\"{smokes}\",{visits},1{}.5,0{}/05/1980,{exercise},\"said {row} things\"",
            row + 1,
            50 + row,
            1 + row % 9,
        )
        .unwrap();
    }
    text
}

#[test]
fn kinds_are_found_from_content() {
    let (table, told) = read(&people());
    let expected = ["id", "text", "yes/no", "yes/no", "count", "number", "date", "ordered", "text"];
    assert_eq!(kinds(&told), expected, "{told:?}");
    let about = table.about();
    assert_eq!(about.id_name.as_deref(), Some(""));
    assert_eq!(about.row_name(3), "4");
    let kinds = about.kinds.clone().unwrap();
    assert_eq!(kinds[1].levels(), ["no", "yes"], "one yes is like another");
    assert_eq!(kinds[5].levels(), ["None", "Some", "Freq"]);
    assert_eq!(column(&table, 1)[..3], [0.0, 1.0, 0.0]);
    assert!(column(&table, 1)[3].is_nan() && column(&table, 5)[3].is_nan());
    assert_eq!(about.cell(4, column(&table, 4)[0]), "01/05/1980");
}

#[test]
fn what_is_said_comes_first() {
    let text = "zip,x,size,note\n1010,1,S,a\n1010,2,L,b\n2020,3,M,c\n2020,4,S,d\n";
    let options = ReadOptions {
        kinds: "zip=category,size=ordered:S<M<L".parse().unwrap(),
        drop: vec!["note".to_owned()],
        ..ReadOptions::default()
    };
    let (table, told) = told_with(text.as_bytes(), &options).unwrap();
    assert_eq!(kinds(&told), ["category", "number", "ordered", "left out"]);
    assert_eq!(table.about().kind(0).levels(), ["1010", "2020"]);
    assert_eq!(column(&table, 2), [0.0, 2.0, 1.0, 0.0]);
    let only = ReadOptions { columns: Some(vec!["x".into()]), ..ReadOptions::default() };
    assert_eq!(told_with(text.as_bytes(), &only).unwrap().0.columns(), 1);
    for bad in [
        ReadOptions { kinds: "nowhere=number".parse().unwrap(), ..ReadOptions::default() },
        ReadOptions { drop: vec!["nowhere".into()], ..ReadOptions::default() },
        ReadOptions { id: Some("nowhere".into()), ..ReadOptions::default() },
        ReadOptions { kinds: "size=ordered:S<M".parse().unwrap(), ..ReadOptions::default() },
    ] {
        assert!(told_with(text.as_bytes(), &bad).is_err(), "{bad:?}");
    }
    assert!("zip=colour".parse::<Kinds>().is_err());
}

#[test]
fn a_model_reads_what_it_knows_and_tells_what_it_does_not() {
    let levels = vec!["blue".to_owned(), "red".to_owned()];
    let expected = Expected {
        columns: vec!["7".into(), "colour".into()],
        kinds: Some(vec![ColumnKind::Number, ColumnKind::Category { levels }]),
        ..Expected::default()
    };
    let options = ReadOptions { expected: Some(expected), ..ReadOptions::default() };
    let (table, told) = told_with(b"colour,7\nred,1\ngreen,2\nBlue,3\n", &options).unwrap();
    assert_eq!(column(&table, 0)[0], 1.0);
    assert!(column(&table, 0)[1].is_nan());
    assert_eq!(column(&table, 0)[2], 0.0);
    assert!(told.notices.iter().any(|n| n.contains("`green`")), "{told:?}");
    // A header of numbers is a header where a model knows it.
    let expected = Expected { columns: vec!["1".into(), "7".into()], ..Expected::default() };
    let options = ReadOptions { expected: Some(expected), ..ReadOptions::default() };
    let (table, _) = told_with(b"7,1\n3,4\n5,6\n", &options).unwrap();
    assert_eq!((table.rows(), table.name(0)), (2, "7".to_owned()));
}

#[test]
fn text_details_of_real_files() {
    let (table, told) = read("a;b;c\n1,5;10%;$3\n2,5;20%;$4\n");
    assert_eq!((column(&table, 0), column(&table, 1)), (vec![1.5, 2.5], vec![10.0, 20.0]));
    assert_eq!(kinds(&told), ["number"; 3]);
    let (table, told) = read("x,x,y\n1,2,a\n3,4,b\n5,6,a\n");
    assert_eq!(table.name(1), "x.1");
    assert_eq!(told.notices.len(), 1);
    let (table, told) = told_with(
        b"ville,n\nOrl\xe9ans,1\nN\xeemes,2\nOrl\xe9ans,3\nOrl\xe9ans,4\n",
        &ReadOptions::default(),
    )
    .unwrap();
    assert_eq!(table.about().kind(0).levels(), ["Nîmes", "Orléans"]);
    assert!(told.notices[0].contains("windows-1252"), "{told:?}");
    let (table, _) =
        read("colour,shape\nred,round\nred,square\nblue,round\nblue,square\nred,round\n");
    assert_eq!((table.rows(), table.columns()), (5, 2));
}

#[test]
fn a_surprise_far_down_is_read_again() {
    let mut text = "x,y\n".to_owned();
    for row in 0..3000 {
        writeln!(text, "{row},{}", if row < 1000 { "3" } else { "many" }).unwrap();
    }
    let (table, told) = read(&text);
    assert_eq!((table.rows(), kinds(&told)[1]), (3000, "yes/no"));
}

#[test]
fn pieces_are_as_the_whole() {
    // More than one piece, with quotes that hold ends of lines in one of them.
    let mut text = "id,x,word\n".to_owned();
    for row in 0..90_000 {
        let word = match row {
            80_000 => "\"two\nlines\"".to_owned(),
            row => format!("\"word {}\"", row % 5),
        };
        writeln!(text, "r{row},{},{word}", row % 7).unwrap();
    }
    let (table, told) = read(&text);
    assert_eq!((table.rows(), kinds(&told)), (90_000, vec!["id", "count", "category"]));
    let words = column(&table, 1);
    assert_eq!(table.about().kind(1).levels().len(), 6);
    assert!((0..90_000).filter(|r| *r != 80_000).all(|r| words[r] == words[r % 5]));
    assert_eq!(table.about().row_name(70_001), "r70001");
}
