//! Results of an independent implementation, kept as test data.

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
