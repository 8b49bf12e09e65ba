//! Fields from a JSON file, as `docs/fields.md` describes it.

use std::collections::BTreeMap;
use std::path::Path;

use mereo_core::{Error, Place, Result};
use serde::Deserialize;

use crate::Field;

/// Most labels of a variable, and most of all variables together.
const MOST_LABELS: usize = 1 << 16;
const MOST_IN_ALL: usize = 1 << 26;

/// A field, and what was observed of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldFile {
    /// The field of all variables.
    pub field: Field,
    /// Of each variable the label that was observed, if one was.
    pub observed: Vec<Option<usize>>,
    /// Of each variable what it is called, if it has a name.
    pub names: Vec<Option<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    variables: Vec<Variable>,
    #[serde(default)]
    unary: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    edges: Vec<Edge>,
    #[serde(default)]
    observed: BTreeMap<String, usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    labels: usize,
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edge {
    a: usize,
    b: usize,
    table: Vec<Vec<f64>>,
}

impl FieldFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        Self::from_bytes(&bytes, path)
    }

    /// Reads a file from its bytes; `path` is what errors call it.
    ///
    /// ```
    /// use mereo_field::FieldFile;
    /// let text = r#"{"variables": [{"labels": 2}, {"labels": 2}],
    ///     "edges": [{"a": 0, "b": 1, "table": [[1, 0], [0, 1]]}], "observed": {"1": 0}}"#;
    /// let file = FieldFile::from_bytes(text.as_bytes(), "field.json".as_ref())?;
    /// assert_eq!(file.observed, [None, Some(0)]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let document: Document = serde_json::from_slice(bytes).map_err(|e| {
            let place = Place::file(path).line(e.line() as u64);
            let expected = "a field: variables, unary, edges and observed, all numbers finite (log \
                            potentials)";
            Error::found(place, e, expected)
        })?;
        document.field().map_err(|error| error.in_file(path))
    }
}

impl Document {
    fn field(self) -> Result<FieldFile> {
        let count = self.variables.len();
        let wrong =
            |found: String, expected: String| Err(Error::found(Place::default(), found, expected));
        let mut in_all = 0;
        for (i, variable) in self.variables.iter().enumerate() {
            in_all += variable.labels.min(MOST_LABELS);
            if variable.labels == 0 || variable.labels > MOST_LABELS || in_all > MOST_IN_ALL {
                let found = format!("variable {i} with {} labels", variable.labels);
                let expected = format!("1 to {MOST_LABELS}, and {MOST_IN_ALL} of all variables");
                return wrong(found, expected);
            }
        }
        let unary = self.unary.unwrap_or_else(|| {
            self.variables.iter().map(|variable| vec![0.0; variable.labels]).collect()
        });
        if unary.len() != count {
            let found = format!("unary potentials of {} variables", unary.len());
            return wrong(found, format!("{count}, one list for each variable"));
        }
        for (i, (own, variable)) in unary.iter().zip(&self.variables).enumerate() {
            if own.len() != variable.labels {
                let found = format!("{} unary potentials of variable {i}", own.len());
                return wrong(found, format!("{}, one for each label", variable.labels));
            }
        }
        let mut field = Field::new(unary)?;
        for (index, edge) in self.edges.into_iter().enumerate() {
            let rows = self.variables.get(edge.a).map_or(edge.table.len(), |v| v.labels);
            let width = self.variables.get(edge.b).map(|v| v.labels);
            let ragged = edge.table.iter().any(|row| width.is_some_and(|w| row.len() != w));
            if edge.table.len() != rows || ragged {
                let found = format!("a table of another shape at edge {index}");
                let (a, b) = (edge.a, edge.b);
                let expected = format!(
                    "{rows} rows (labels of variable {a}) of {} numbers (labels of variable {b})",
                    width.unwrap_or(0)
                );
                return wrong(found, expected);
            }
            field.couple(edge.a, edge.b, edge.table.concat())?;
        }
        let mut observed = vec![None; count];
        for (name, label) in self.observed {
            let Some(i) = name.parse::<usize>().ok().filter(|i| *i < count) else {
                let found = format!("variable `{name}` as observed");
                return wrong(found, format!("numbers of variables below {count}"));
            };
            if label >= self.variables[i].labels {
                let found = format!("label {label} as observed of variable {i}");
                return wrong(found, format!("a label below {}", self.variables[i].labels));
            }
            observed[i] = Some(label);
        }
        let names = self.variables.into_iter().map(|variable| variable.name).collect();
        Ok(FieldFile { field, observed, names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        FieldFile::from_bytes(text.as_bytes(), "f.json".as_ref()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named() {
        let two = r#""variables":[{"labels":2},{"labels":2}]"#;
        assert!(said("{").contains("f.json, line 1"));
        assert!(said(r#"{"variables":[{"labels":0}]}"#).contains("variable 0 with 0 labels"));
        assert!(said(&format!(r#"{{{two},"unary":[[0,1]]}}"#)).contains("of 1 variables"));
        assert!(said(&format!(r#"{{{two},"unary":[[0,1],[0]]}}"#)).contains("variable 1"));
        let edge = |a: usize, b: usize, table: &str| {
            said(&format!(r#"{{{two},"edges":[{{"a":{a},"b":{b},"table":{table}}}]}}"#))
        };
        assert!(edge(0, 9, "[[1,0],[0,1]]").contains("variable 9"));
        assert!(edge(9, 0, "[[1,0],[0,1]]").contains("variable 9"));
        assert!(edge(0, 1, "[[1,0]]").contains("edge 0"));
        assert!(edge(0, 1, "[[1,0],[1]]").contains("edge 0"));
        assert!(edge(0, 1, "[[1,0],[1,1e999]]").contains("finite"));
        assert!(edge(0, 1, "[[1,0],[1,Infinity]]").contains("finite"));
        assert!(edge(0, 1, "[[1,0],[1,1e300]]").contains("1e300"));
        assert!(said(&format!(r#"{{{two},"observed":{{"7":1}}}}"#)).contains("`7`"));
        assert!(said(&format!(r#"{{{two},"observed":{{"1":2}}}}"#)).contains("label 2"));
        assert!(said(&format!(r#"{{{two},"edgse":[]}}"#)).contains("edgse"));
    }
}
