//! Sparse matrices as `SciPy` saves them (`fixtures/scipy/make.py`) are the matrices that they were.

use std::path::{Path, PathBuf};

use mereo_core::{Absent, AnyTable, Cells};
use mereo_data::{ReadOptions, read};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/scipy").join(name)
}

/// Every cell, zeros where nothing is stored.
fn full(name: &str) -> (usize, Vec<f64>) {
    fn full<T: mereo_core::Real>(cells: &Cells<T>) -> (usize, Vec<f64>) {
        match cells {
            Cells::Dense(cells) => {
                (cells.columns(), cells.values().iter().map(|v| v.to_f64()).collect())
            }
            Cells::Sparse(cells) => {
                assert_eq!(cells.absent(), Absent::Zero);
                let mut all = vec![0.0; cells.rows() * cells.columns()];
                for row in 0..cells.rows() {
                    let (columns, values) = cells.row(row);
                    for (&column, value) in columns.iter().zip(values) {
                        all[row * cells.columns() + column as usize] = value.to_f64();
                    }
                }
                (cells.columns(), all)
            }
        }
    }
    match read(&path(name), &ReadOptions::default()).unwrap() {
        AnyTable::F32(table) => full(table.cells()),
        AnyTable::F64(table) => full(table.cells()),
    }
}

#[test]
fn a_matrix_of_scipy_is_not_read_as_something_else() {
    let expected = full("dense.npy");
    assert_eq!((expected.0, expected.1.len()), (8, 160));
    for format in
        ["csr", "csc", "coo", "dia", "csr-array", "csc-array", "coo-array", "dia-array", "bsr"]
    {
        assert_eq!(full(&format!("{format}.npz")), expected, "{format}");
    }
}

#[test]
fn a_cell_that_is_stored_twice_is_the_sum() {
    assert_eq!(full("coo-twice.npz"), full("dense.npy"));
}

#[test]
fn diagonals_shorter_than_the_matrix_end_where_they_end() {
    assert_eq!(full("dia-wide.npz"), full("dia-wide.npy"));
}

#[test]
fn what_is_no_matrix_is_refused_by_name() {
    let error = read(&path("one-dimension.npz"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a sparse array of 1 dimensions"), "{error}");
}
