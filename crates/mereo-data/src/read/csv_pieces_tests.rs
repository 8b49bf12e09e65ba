//! Texts that are read in several pieces are read as line by line.

use mereo_core::{AnyTable, Cells, Context, Table};

use super::*;
use crate::{Kind, read_bytes};

/// Read on these threads.
fn read(text: &str, threads: usize, options: &ReadOptions) -> Result<Table<f64>> {
    let context = Context::new(0).with_threads(threads).unwrap();
    let table = context.install(|| read_bytes(Kind::Csv, text.as_bytes(), options));
    match table? {
        AnyTable::F64(table) => Ok(table),
        AnyTable::F32(_) => panic!("text is read as f64"),
    }
}

/// Read line by line, as it was before there were pieces.
fn line_by_line(text: &str, options: &ReadOptions) -> Result<Table<f64>> {
    let input = Input::of_bytes(text.as_bytes(), options)?;
    let layout = Layout::of(input.sample(), options)?;
    let ((names, count), mut records) = begin(input.into_reader(), layout)?;
    let columns = Columns::new(names, count, options)?;
    let mut rows = Rows::default();
    columns.read_rows(&mut records, &mut rows)?;
    columns.into_table(rows)
}

/// A text of several pieces, whose line `at` is another.
fn text(end: &str, at: usize, odd: &str) -> String {
    let mut text = format!("x,y,kind,w{end}");
    for line in 2..200_000usize {
        if line == at {
            text.push_str(odd);
        } else {
            let (x, y) = (line as f64 / 7.0, (line * 31 % 1000) as f64 - 0.125);
            let fields = [x.to_string(), y.to_string(), ["a", "b", ""][line % 3].to_owned()];
            text.push_str(&fields.join(","));
            text.push_str([",0", ",1", ",2", ",3", ",4"][line % 5]);
        }
        text.push_str(end);
    }
    text
}

fn options() -> ReadOptions {
    let (label, weight) = (Some("kind".into()), Some("w".into()));
    ReadOptions { label, weight, ..ReadOptions::default() }
}

fn same(text: &str, options: &ReadOptions) {
    let expected = line_by_line(text, options);
    for threads in [1, 3] {
        match (read(text, threads, options), &expected) {
            (Ok(table), Ok(expected)) => {
                let bits = |table: &Table<f64>| match table.cells() {
                    Cells::Dense(cells) => cells.values().iter().map(|v| v.to_bits()).collect(),
                    Cells::Sparse(_) => Vec::new(),
                };
                assert_eq!(bits(&table), bits(expected));
                assert_eq!(table.about(), expected.about());
            }
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected.to_string()),
            (ours, expected) => panic!("{:?} for {:?}", ours.err(), expected.as_ref().err()),
        }
    }
}

#[test]
fn many_pieces_are_read_as_line_by_line() {
    for end in ["\n", "\r\n", "\r"] {
        let text = text(end, 0, "");
        assert!(text.len() > 5 << 20);
        same(&text, &options());
        assert_eq!(read(&text, 2, &options()).unwrap().rows(), 199_998);
    }
}

#[test]
fn an_error_in_a_late_piece_names_its_line() {
    let odd = [
        "1,2,a",
        "1,two,a,1",
        "1,2,a,-1",
        "inf,2,a,1",
        "\"1\",2,a,x",
        "\u{feff}1,2,a,1",
        "1,2,\"a\nb\",1\n1,zwei,a,1",
    ];
    for odd in odd {
        for end in ["\n", "\r\n"] {
            let text = text(end, 150_001, odd);
            same(&text, &options());
            let error = read(&text, 2, &options()).unwrap_err().to_string();
            assert!(error.contains("line 15000"), "{error}");
        }
    }
}

#[test]
fn quotes_that_hold_lines_may_stand_anywhere() {
    // A field of many lines, longer than a piece, which must not be read as rows.
    let long = format!("1,2,\"{}\",1", "7,7,a,1\n".repeat(300_000));
    for odd in ["1,2,\"a,\"\"\n1,2,b,3\",1", "1,2,\"never closed,1", "", "  ", &long] {
        for at in [3, 100_000, 199_999] {
            same(&text("\n", at, odd), &options());
        }
    }
}

#[test]
fn blanks_set_fields_apart_in_every_piece() {
    let lines = (0..300_000).map(|i| format!("  {i}   {} {}  \n", i % 7, f64::from(i) / 3.0));
    let text: String = lines.collect();
    same(&text, &ReadOptions::default());
    assert_eq!(read(&text, 2, &ReadOptions::default()).unwrap().columns(), 3);
}

#[test]
fn a_line_without_end_is_refused_by_name() {
    let text = format!("x,y\n1,2\n{}", "3,".repeat(40 << 20));
    let error = read(&text, 2, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a line of more than 67108864 bytes"), "{error}");
    let text = format!("x,y\n1,2\n\"{}", "3,4\n".repeat(20 << 20));
    let error = read(&text, 2, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a quote that is never closed"), "{error}");
}
