use std::fs;

use mereo_core::{AnyTable, Cells, Sparse};

use super::*;
use crate::{Kind, detect, read, read_bytes};

fn table_of(any: AnyTable) -> Table<f32> {
    match any {
        AnyTable::F32(table) => table,
        AnyTable::F64(_) => panic!("ratings are f32"),
    }
}

fn cells(table: &Table<f32>) -> &Sparse<f32> {
    match table.cells() {
        Cells::Sparse(cells) => cells,
        Cells::Dense(_) => panic!("ratings are sparse"),
    }
}

fn of(text: &str) -> Result<Table<f32>> {
    read_bytes(Kind::Ratings, text.as_bytes(), &ReadOptions::default()).map(table_of)
}

fn message(text: &str) -> String {
    of(text).unwrap_err().to_string()
}

#[test]
fn every_layout_gives_the_same_table() {
    let texts = [
        "10\t7\t3\t881250949\n2\t30\t5\t881250950\n2\t7\t1\t881250951\n",
        "10::7::3::881250949\n2::30::5::881250950\n2::7::1::881250951\n",
        "userId,movieId,rating,timestamp\n10,7,3.0,881250949\n2,30,5,881250950\n2,7,1,881250951\n",
        "rating;item_id;user_id\n3;7;10\n5;30;2\n1;7;2\n",
        "10 7 3\n2 30 5\n2 7 1\n",
    ];
    for text in texts {
        let table = of(text).unwrap();
        assert_eq!(table.about().names.as_ref().unwrap(), &["7", "30"], "{text}");
        assert_eq!(cells(&table).absent(), Absent::Unobserved);
        assert_eq!(cells(&table).row(0), (&[0, 1][..], &[1.0, 5.0][..]), "{text}");
        assert_eq!(cells(&table).row(1), (&[0][..], &[3.0][..]), "{text}");
    }
}

#[test]
fn ids_may_be_texts() {
    let table = of("ann,tea,3\nbob,10,4\nann,9,5\n").unwrap();
    assert_eq!(table.about().names.as_ref().unwrap(), &["10", "9", "tea"]);
    assert_eq!(table.about().ids.as_ref().unwrap(), &["ann", "bob"]);
    assert_eq!(table.about().id_name.as_deref(), Some("user"));
}

#[test]
fn the_last_time_holds_and_without_times_once_is_enough() {
    let table = of("1\t1\t5\t881250951\n1\t1\t2\t881250949\n").unwrap();
    assert_eq!(cells(&table).values(), [5.0]);
    assert_eq!(
        message("1,1,5\n2,1,4\n1,1,2\n"),
        "line 3: found a rating of item 1 by user 1 again, expected it once, as on line 1"
    );
}

#[test]
fn errors_name_line_and_column() {
    let cases = [
        ("1,2\n", "the data: found fewer than three fields on the first line"),
        ("", "the data: found fewer than three fields on the first line"),
        ("1,2,3\n1,2\n", "line 2: found 2 fields, expected 3 fields as in the lines before"),
        ("1,2,3\n1,3,x\n", "line 2, column `rating`: found `x`, expected a number"),
        ("1,2,3\n1,3,\n", "line 2, column `rating`: found an empty field, expected a number"),
        ("1,2,3\n1,3,inf\n", "line 2, column `rating`: found `inf`, expected a number"),
        ("1,2,3\n,3,4\n", "line 2, column `user`: found an empty field, expected a user's id"),
        ("1,2,3,4\n1,3,4,now\n", "line 2, column `time`: found `now`, expected a time in seconds"),
        ("userId,movieId,rating\n", "the data: found no rows"),
    ];
    for (text, expected) in cases {
        let message = message(text);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn titles_name_the_columns_and_stay_apart() {
    let beside: [(&str, &[u8]); 3] = [
        ("u.item", b"1|\"Alien\" \xe9|x\n2|Heat|x\n3|Heat|x\n"),
        ("movies.dat", "1::\"Alien\" é::x\n2::Heat::x\n3::Heat::y\n".as_bytes()),
        ("movies.csv", "movieId,title\n1,\"\"\"Alien\"\" é\"\n2,Heat\n3,Heat\n".as_bytes()),
    ];
    for (name, titles) in beside {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), titles).unwrap();
        let path = folder.path().join("ratings");
        fs::write(&path, "userId,movieId,rating\n1,1,3\n1,2,4\n1,3,5\n1,4,1\n").unwrap();
        assert_eq!(detect(&path).unwrap(), Kind::Ratings);
        let table = table_of(read(&path, &ReadOptions::default()).unwrap());
        assert_eq!(
            table.about().names.as_ref().unwrap(),
            &["\"Alien\" é", "Heat #2", "Heat #3", "4"],
            "{name}"
        );
        assert_eq!(table.about().keys.as_ref().unwrap(), &["1", "2", "3", "4"], "{name}");
    }
}
