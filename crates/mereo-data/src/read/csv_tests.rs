use mereo_core::{AnyTable, Cells, Table};
use proptest::prelude::*;

use super::*;
use crate::{Kind, read_bytes};

fn options(label: Option<&str>, weight: Option<&str>) -> ReadOptions {
    ReadOptions {
        label: label.map(str::to_owned),
        weight: weight.map(str::to_owned),
        ..ReadOptions::default()
    }
}

fn read_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Table<f64>> {
    match read_bytes(Kind::Csv, text.as_ref(), options)? {
        AnyTable::F64(table) => Ok(table),
        AnyTable::F32(_) => panic!("text is read as f64"),
    }
}

fn read(text: impl AsRef<[u8]>) -> Table<f64> {
    read_with(text, &ReadOptions::default()).unwrap()
}

fn values(table: &Table<f64>) -> &[f64] {
    match table.cells() {
        Cells::Dense(cells) => cells.values(),
        Cells::Sparse(_) => panic!("text is dense"),
    }
}

fn names(table: &Table<f64>) -> Vec<&str> {
    table.about().names.iter().flatten().map(String::as_str).collect()
}

fn message(text: impl AsRef<[u8]>) -> String {
    read_with(text, &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn every_delimiter_is_seen() {
    for text in
        ["a,b\n1,2\n3,4\n", "a\tb\n1\t2\n3\t4\n", "a;b\n1;2\n3;4", "  a  b\n 1   2\n3\t4 \n"]
    {
        let table = read(text);
        assert_eq!(names(&table), ["a", "b"], "{text:?}");
        assert_eq!(values(&table), [1.0, 2.0, 3.0, 4.0], "{text:?}");
    }
    assert_eq!(values(&read("1, 2, 3\n4, 5, 6\n")), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    // Tabs in names delimit nothing, also where a quoted line makes them look as if they did.
    let table = read("a\tx,\"b\nc\ty\"\n1,2\n");
    assert_eq!(values(&table), [1.0, 2.0]);
    assert_eq!(names(&table).len(), 2);
}

#[test]
fn headers_are_seen_where_they_are() {
    assert_eq!(names(&read("x\n1\n2\n")), ["x"]);
    assert_eq!(names(&read("x,y\nNA,1\n")), ["x", "y"]);
    assert_eq!(names(&read(",y\n0,1\n")), ["0", "y"]);
    assert!(names(&read("1,2\n3,4\n")).is_empty());
    assert!(names(&read("NA,2\n3,4\n")).is_empty());
    let stated = ReadOptions { header: Some(true), ..ReadOptions::default() };
    assert_eq!(names(&read_with("1990,1991\n3,4\n", &stated).unwrap()), ["1990", "1991"]);
}

#[test]
fn a_text_label_without_header_is_not_a_header() {
    let text = "5.1,3.5,setosa\n6.2,2.9,virginica\n4.9,3.0,setosa\n";
    let table = read_with(text, &options(Some("2"), None)).unwrap();
    assert_eq!((table.rows(), table.columns()), (3, 2));
    assert_eq!(table.about().labels.as_ref().unwrap().of_row, [Some(0), Some(1), Some(0)]);
}

#[test]
fn label_and_weight_are_taken_out_by_name() {
    let text = "kind,x,w,y\n+,1,2,3\n-,4,0,5\n?,6,1,7\n";
    let table = read_with(text, &options(Some("kind"), Some("w"))).unwrap();
    assert_eq!(names(&table), ["x", "y"]);
    assert_eq!(values(&table), [1.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let labels = table.about().labels.as_ref().unwrap();
    assert_eq!(
        (labels.names.join(" "), &labels.of_row[..]),
        ("+ -".into(), &[Some(0), Some(1), None][..])
    );
    assert_eq!(table.about().weights.as_ref().unwrap(), &[2.0, 0.0, 1.0]);
}

#[test]
fn quotes_line_ends_marks_and_encodings() {
    let table = read("\u{feff}\"a, b\",\"c\"\"d\"\r\n\"1\",2\r\n\r\n3,4\r\n");
    assert_eq!(names(&table), ["a, b", "c\"d"]);
    assert_eq!(values(&table), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(names(&read(b"caf\xe9,th\xe9\n1,2\n")), ["café", "thé"]);
    let embedded = read_with("x,k\n1,\"a\nb\"\n2,c\n", &options(Some("k"), None)).unwrap();
    assert_eq!(embedded.about().labels.as_ref().unwrap().names, ["a\nb", "c"]);
}

#[test]
fn missing_cells_are_not_a_number() {
    let table = read("a,b,c\n,NA,1\n?,-,NaN\n");
    let missing: Vec<bool> = values(&table).iter().map(|v| v.is_nan()).collect();
    assert_eq!(missing, [true, true, false, true, true, true]);
}

#[test]
fn small_tables_are_fine_and_empty_ones_are_not() {
    assert_eq!((read("7").rows(), read("7").columns()), (1, 1));
    assert_eq!(values(&read("x\n\"\"\n1\n")).len(), 2);
    for text in ["", "\n\n", "a,b\n", "a,b"] {
        assert_eq!(message(text), "the data: found no rows, expected at least one row of data");
    }
}

#[test]
fn errors_name_line_and_column() {
    let cases = [
        ("a,b\n1,2\n\n3\n", "line 4: found 1 field, expected 2 fields as in the lines before"),
        ("a,b\n1,2\n3,4,5\n", "line 3: found 3 fields, expected 2 fields as in the lines before"),
        (
            "a,b\r\n1,2\r\n3,abc\r\n",
            "line 3, column `b`: found `abc`, expected a number; if the column holds words say \
             `--kinds b=category`; if it holds the rows' classes say `--label b`; to leave it out \
             say `--drop b`; if `abc` means that there is none, leave the cell empty",
        ),
        (
            "1,abc\n2,3\n",
            "line 1, column `1`: found `abc`, expected a number; if the column holds words say \
             `--kinds 1=category`; if it holds the rows' classes say `--label 1`; to leave it out \
             say `--drop 1`; if `abc` means that there is none, leave the cell empty; if this line \
             names the columns say `--header`",
        ),
        ("a\n1\ninf\n", "line 3, column `a`: found `inf`, expected a number of magnitude at most"),
        ("a\n1\n1e300\n", "line 3, column `a`: found `1e300`, expected a number of magnitude"),
    ];
    for (text, expected) in cases {
        let message = message(text);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn columns_that_are_not_there_are_named() {
    let message = |label: Option<&str>, weight: Option<&str>, text: &str| {
        read_with(text, &options(label, weight)).unwrap_err().to_string()
    };
    assert_eq!(
        message(Some("c"), None, "a,b\n1,2\n"),
        "option `label`: no column is called `c`; there are `a`, `b`"
    );
    assert_eq!(
        message(Some("c"), None, "1,2\n3,4\n"),
        "option `label`: there is no header, so a column is called by its number, 0 to 1; found `c`"
    );
    assert_eq!(
        message(None, Some("a"), "a,a\n1,2\n"),
        "option `weight`: more than one column is called `a`"
    );
    assert!(message(Some("a"), Some("a"), "a,b\n1,2\n").contains("already taken"));
    assert_eq!(
        message(None, Some("w"), "a,w\n1,-2\n"),
        "line 2, column `w`: found `-2`, expected a weight of at least 0"
    );
    assert!(message(Some("a"), None, "a\n1\n").contains("at least one column of numbers"));
}

/// A table of random width with missing cells, as text in one of many dresses.
fn tables() -> impl Strategy<Value = (usize, Vec<Option<f64>>)> {
    (1usize..6, 1usize..8).prop_flat_map(|(columns, rows)| {
        let number = prop_oneof![-1e9..1e9f64, Just(0.0), -1.0..1.0f64];
        let cells =
            proptest::collection::vec(proptest::option::weighted(0.8, number), columns * rows);
        (Just(columns), cells)
    })
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        (columns, cells) in tables(),
        delimiter in prop_oneof![Just(","), Just("\t"), Just(";"), Just("  ")],
        end in prop_oneof![Just("\n"), Just("\r\n")],
        mark in prop_oneof![Just("NA"), Just("nan"), Just("?")],
        header in any::<bool>(),
    ) {
        let mut lines = Vec::new();
        if header {
            lines.push((0..columns).map(|c| format!("name{c}")).collect::<Vec<_>>().join(delimiter));
        }
        for row in cells.chunks(columns) {
            let fields = row.iter().map(|cell| cell.map_or(mark.to_owned(), |v| v.to_string()));
            lines.push(fields.collect::<Vec<_>>().join(delimiter));
        }
        let table = read(lines.join(end));
        prop_assert_eq!(table.columns(), columns);
        prop_assert_eq!(table.about().names.is_some(), header);
        let found: Vec<Option<f64>> =
            values(&table).iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
        prop_assert_eq!(found, cells);
    }
}
