use mereo_core::Cells;

use super::*;
use crate::read::npy::tests::npy;
use crate::read::npz::tests::{bytes, message, read};

const C: npyz::Order = npyz::Order::C;

type Named = Vec<(&'static str, Vec<u8>)>;

fn list(values: &[u8]) -> Vec<u8> {
    bytes(&[values.len() as u64], values)
}

fn of(format: [u8; 3], shape: &[u8], rest: Named) -> Named {
    let format = npy("|S3", C, &[], &format);
    [vec![("format", format), ("shape", list(shape))], rest].concat()
}

fn csr(indices: &[u8], starts: &[u8], values: &[u8], shape: &[u8]) -> Named {
    let rest = vec![("indices", list(indices)), ("indptr", list(starts)), ("data", list(values))];
    of(*b"csr", shape, rest)
}

fn coo(rows: &[u8], columns: &[u8], values: &[u8], shape: &[u8]) -> Named {
    of(*b"coo", shape, vec![("row", list(rows)), ("col", list(columns)), ("data", list(values))])
}

fn huge(format: [u8; 3], shape: [u64; 2], rest: Named) -> Named {
    let mut arrays = of(format, &[], rest);
    let sizes: Vec<u8> = shape.iter().flat_map(|n| n.to_le_bytes()).collect();
    arrays[1].1 = npy("<u8", C, &[2], &sizes);
    arrays
}

#[test]
fn columns_may_come_in_any_order() {
    let AnyTable::F32(table) = read(&csr(&[2, 0, 1], &[0, 2, 3], &[5, 6, 7], &[2, 3])).unwrap()
    else {
        panic!("bytes are f32")
    };
    let Cells::Sparse(cells) = table.cells() else { panic!("sparse") };
    assert_eq!((cells.columns(), cells.absent()), (3, Absent::Zero));
    assert_eq!(cells.row(0), (&[0, 2][..], &[6.0, 5.0][..]));
    assert_eq!(cells.row(1), (&[1][..], &[7.0][..]));
}

#[test]
fn broken_sparse_matrices_are_errors() {
    let blocks = |shape: &[u64], count: usize| {
        vec![
            ("indices", list(&[0])),
            ("indptr", list(&[0, 1])),
            ("data", bytes(shape, &vec![1; count])),
        ]
    };
    let cases = [
        (csr(&[3], &[0, 1], &[1], &[1, 3]), "in array `indices` 3 at 0"),
        (csr(&[0], &[0, 1, 1], &[1], &[1, 3]), "in array `indptr` 3 starts"),
        (csr(&[0], &[0, 5], &[1], &[1, 3]), "in array `indptr` 5 at 1"),
        (csr(&[0, 1], &[0, 2, 1], &[1, 1], &[2, 3]), "number 1 ending before it starts"),
        (csr(&[0], &[0, 2], &[1, 1], &[1, 3]), "in array `indices` 1 numbers, expected 2"),
        (csr(&[0, 1], &[0, 1], &[1, 1], &[1, 3]), "starts from Some(0) to Some(1)"),
        (csr(&[0], &[0, 1], &[1], &[1, 3, 1]), "a sparse array of 3 dimensions"),
        (coo(&[0, 1], &[0], &[1, 1], &[2, 2]), "in array `col` 1 numbers, expected 2"),
        (coo(&[2], &[0], &[1], &[2, 2]), "in array `row` 2 at 0, expected an index below 2"),
        (coo(&[0], &[2], &[1], &[2, 2]), "in array `col` 2 at 0, expected an index below 2"),
        (
            of(*b"bsr", &[3, 2], blocks(&[1, 2, 2], 4)),
            "blocks of 2 x 2, expected a size that 3 x 2",
        ),
        (of(*b"bsr", &[2, 2], blocks(&[1, 0, 2], 0)), "blocks of 0 x 2"),
        (
            of(*b"bsr", &[2, 2], blocks(&[4], 4)),
            "in array `data` an array of 4, expected 3 dimensions",
        ),
        (
            of(*b"dia", &[2, 2], vec![("offsets", list(&[0])), ("data", bytes(&[2, 2], &[1; 4]))]),
            "in array `offsets` 1 numbers, expected 2",
        ),
        (
            of(*b"lil", &[1, 1], vec![("data", list(&[1]))]),
            "the sparse format `lil`, expected `csr`",
        ),
        (of(*b"coo", &[1, 1], vec![("data", list(&[1]))]), "in array `row` no such array"),
    ];
    for (arrays, expected) in cases {
        let message = message(&arrays);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_small_matrix_cannot_claim_to_be_huge() {
    let one = |names: [&'static str; 2]| {
        vec![(names[0], list(&[0])), (names[1], list(&[0])), ("data", list(&[1]))]
    };
    let wide = message(&huge(*b"coo", [1, 1 << 32], one(["row", "col"])));
    assert!(wide.contains("4294967296 columns for 1 entries"), "{wide}");
    let high = message(&huge(*b"coo", [1 << 32, 1], one(["row", "col"])));
    assert!(high.contains("4294967296 rows for 1 entries"), "{high}");
    let starts = vec![("indices", list(&[0])), ("indptr", list(&[0, 1])), ("data", list(&[1]))];
    let wide = message(&huge(*b"csr", [1, 1 << 31], starts.clone()));
    assert!(wide.contains("2147483648 columns for 1 entries"), "{wide}");
    let high = message(&huge(*b"csc", [1 << 31, 1], starts));
    assert!(high.contains("2147483648 rows for 1 entries"), "{high}");
}

#[test]
fn entries_may_be_told_by_coordinates() {
    let rest = vec![("coords", bytes(&[2, 2], &[1, 0, 0, 1])), ("data", list(&[5, 6]))];
    let AnyTable::F32(table) = read(&of(*b"coo", &[2, 2], rest)).unwrap() else {
        panic!("bytes are f32")
    };
    let Cells::Sparse(cells) = table.cells() else { panic!("sparse") };
    assert_eq!(cells.row(0), (&[1][..], &[6.0][..]));
    assert_eq!(cells.row(1), (&[0][..], &[5.0][..]));
}

#[test]
fn what_is_not_stored_means_what_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ratings.npz");
    let unknown =
        crate::ReadOptions { absent: Some(Absent::Unobserved), ..crate::ReadOptions::default() };
    let told = |arrays: &Named, options: &crate::ReadOptions| {
        std::fs::write(&path, crate::read::npz::tests::archive(arrays)).unwrap();
        crate::read(&path, options).map(|table| match table {
            AnyTable::F32(table) => match table.cells() {
                Cells::Sparse(cells) => cells.absent(),
                Cells::Dense(_) => panic!("sparse"),
            },
            AnyTable::F64(_) => panic!("bytes are f32"),
        })
    };
    let once = csr(&[2, 0, 1], &[0, 2, 3], &[5, 6, 7], &[2, 3]);
    assert_eq!(told(&once, &crate::ReadOptions::default()).unwrap(), Absent::Zero);
    assert_eq!(told(&once, &unknown).unwrap(), Absent::Unobserved);
    let twice = csr(&[0, 0], &[0, 2], &[5, 5], &[1, 1]);
    assert!(told(&twice, &crate::ReadOptions::default()).is_ok());
    let error = told(&twice, &unknown).unwrap_err().to_string();
    assert!(error.contains("1 cells stored more than once"), "{error}");
}
