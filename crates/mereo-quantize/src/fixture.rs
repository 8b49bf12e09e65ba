//! Results of an independent implementation in another language, kept as data.

use std::collections::HashMap;

pub(crate) struct Fixture(HashMap<String, Vec<f64>>);

impl Fixture {
    pub(crate) fn open(name: &str) -> Self {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    /// Numbers by name, last index fastest.
    pub(crate) fn get(&self, name: &str) -> Vec<f64> {
        self.0[name].clone()
    }
}
