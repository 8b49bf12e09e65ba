use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;

use super::*;
use crate::read::npy::tests::npy;
use crate::{Kind, read_bytes};

const C: npyz::Order = npyz::Order::C;

pub(in crate::read) fn archive(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub(in crate::read) fn bytes(shape: &[u64], values: &[u8]) -> Vec<u8> {
    npy("|u1", C, shape, values)
}

pub(in crate::read) fn read(arrays: &[(&str, Vec<u8>)]) -> Result<AnyTable> {
    read_bytes(Kind::Npz, &archive(arrays), &ReadOptions::default())
}

pub(in crate::read) fn message(arrays: &[(&str, Vec<u8>)]) -> String {
    read(arrays).unwrap_err().to_string()
}

#[test]
fn the_data_is_found_by_name_or_by_shape() {
    let table = read(&[("other", bytes(&[1, 1], &[9])), ("X", bytes(&[2, 1], &[1, 2]))]).unwrap();
    assert_eq!((table.rows(), table.columns()), (2, 1));
    let table =
        read(&[("ids", bytes(&[2], &[8, 9])), ("faces", bytes(&[2, 1, 3], &[0; 6]))]).unwrap();
    assert_eq!((table.rows(), table.columns()), (2, 3));
    assert_eq!(table.about().picture.unwrap().width, 3);
    let unclear = message(&[("a", bytes(&[1, 1], &[1])), ("b", bytes(&[1, 1], &[1]))]);
    assert!(
        unclear.contains("found the arrays `a`, `b`, expected one array named `X`"),
        "{unclear}"
    );
}

#[test]
fn labels_and_weights_come_along() {
    let arrays = [
        ("X", bytes(&[2, 1], &[1, 2])),
        ("y", npy("|S3", C, &[2], b"ox\0cat")),
        ("weights", npy("<f4", C, &[2], &[0, 0, 0x80, 0x3f, 0, 0, 0, 0])),
        ("names", npy("|S1", C, &[2], b"qp")),
    ];
    let table = read(&arrays).unwrap();
    assert_eq!(table.about().labels.as_ref().unwrap().names, ["cat", "ox"]);
    assert_eq!(table.about().weights.as_ref().unwrap(), &[1.0, 0.0]);
    let options = ReadOptions { label: Some("names".into()), ..ReadOptions::default() };
    let table = read_bytes(Kind::Npz, &archive(&arrays), &options).unwrap();
    assert_eq!(table.about().labels.as_ref().unwrap().names, ["p", "q"]);
    let options = ReadOptions { label: Some("kinds".into()), ..ReadOptions::default() };
    let error = read_bytes(Kind::Npz, &archive(&arrays), &options).unwrap_err().to_string();
    assert!(
        error.starts_with("option `label`: there is no array `kinds`, only `X`, `y`"),
        "{error}"
    );
}

#[test]
fn fractions_are_labels_only_when_asked_for() {
    let arrays = [("X", bytes(&[1, 1], &[1])), ("y", npy("<f4", C, &[1], &0.5f32.to_le_bytes()))];
    assert!(read(&arrays).unwrap().about().labels.is_none());
    let options = ReadOptions { label: Some("y".into()), ..ReadOptions::default() };
    let table = read_bytes(Kind::Npz, &archive(&arrays), &options).unwrap();
    assert_eq!(table.about().labels.as_ref().unwrap().names, ["0.5"]);
}

#[test]
fn errors_name_the_array() {
    let error = message(&[("X", npy("<f4", C, &[4], &[0; 4]))]);
    assert!(error.contains("found in array `X` 1 values, expected the 4"), "{error}");
    let error = message(&[("X", bytes(&[2, 1], &[1, 2])), ("y", bytes(&[3], &[1, 2, 3]))]);
    assert!(error.contains("3 labels, expected one for each of the 2 rows"), "{error}");
}

#[test]
fn what_is_no_archive_of_arrays_is_an_error() {
    let error = read_bytes(Kind::Npz, b"PK\x03\x04", &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("a zip of npy arrays"));
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("sheet.xml", SimpleFileOptions::default()).unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    let error = read_bytes(Kind::Npz, &bytes, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("a zip without npy arrays"));
}

#[test]
fn an_archive_cannot_unpack_without_end() {
    let packed = archive(&[("X", bytes(&[1, 4 << 20], &vec![0; 4 << 20]))]);
    assert!(packed.len() < 1 << 16);
    let options = ReadOptions { most_bytes: Some(1 << 20), ..ReadOptions::default() };
    let error = read_bytes(Kind::Npz, &packed, &options).unwrap_err().to_string();
    assert!(error.contains("unpacks to more than 1048576 bytes"), "{error}");
}
