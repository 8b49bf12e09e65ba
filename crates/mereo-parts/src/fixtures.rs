//! Results of an independent implementation, kept as test data; tables for tests.

use mereo_core::{Absent, Cells, Sparse, Table};

/// Tensors of a reference file, by path.
pub(crate) struct Fixture(serde_json::Value);

impl Fixture {
    pub(crate) fn open(name: &str) -> Self {
        let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    pub(crate) fn get(&self, path: &str) -> Vec<f64> {
        self.0
            .pointer(path)
            .and_then(|v| v.get("data"))
            .unwrap()
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect()
    }
}

pub(crate) fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= 1e-8 * (1.0 + e.abs()), "{what}[{i}]: found {f}, expected {e}");
    }
}

/// The observed cells of a table, stored sparsely.
pub(crate) fn sparse(table: &Table<f64>, absent: Absent) -> Table<f64> {
    let Cells::Dense(cells) = table.cells() else { unreachable!() };
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..cells.rows() {
        for (d, &x) in cells.row(row).iter().enumerate() {
            let stored = if absent == Absent::Zero { x != 0.0 } else { !x.is_nan() };
            if stored {
                indices.push(d as u32);
                values.push(x);
            }
        }
        starts.push(values.len());
    }
    Table::from(Sparse::new(cells.columns(), starts, indices, values, absent).unwrap())
}
