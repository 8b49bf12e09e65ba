//! A finished map, and its file.

use std::path::Path;

use mereo_core::{Error, Labels, Manifest, ModelFile, Result, Tensor};
use serde::{Deserialize, Serialize};

use crate::neighbours::Index;
use crate::params::{MapParams, Method};
use crate::quality::Quality;

/// What a map costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// What the method minimises: the Kullback-Leibler divergence of t-SNE, the sums over pairs of metric
    /// scaling and Sammon, the share of all squared distances from the mean that principal
    /// coordinates do not show.
    pub value: f64,
    /// The divergence, of t-SNE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kl: Option<f64>,
}

/// What new rows are placed by.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reference {
    /// Principal coordinates of rows: `[columns]`, `[dimensions, columns]`.
    Axes { centre: Vec<f64>, axes: Vec<f64> },
    /// Principal coordinates of distances.
    Gower { values: Vec<f64>, mean_square: Vec<f64>, weights: Option<Vec<f64>> },
    /// Rows, measured from a centre.
    Rows { centre: Vec<f64>, values: Vec<f64>, weights: Option<Vec<f64>>, index: Option<Index> },
    /// Nothing but distances was known.
    Things { weights: Option<Vec<f64>> },
}

/// A finished map: where rows are, how good that is, and what new rows are placed by.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    params: MapParams,
    points: Vec<f64>,
    /// The rows that it was made of, if not all.
    landmarks: Option<Vec<usize>>,
    reference: Reference,
    cost: Cost,
    relative_cost: Option<f64>,
    eigenvalues: Vec<f64>,
    trace: Option<f64>,
    search_recall: f64,
    quality: Option<Quality>,
    shepard: Vec<f64>,
    labels: Option<Labels>,
    names: Option<Vec<String>>,
}

/// What the manifest says about a map.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    /// Apart from the rest: metric scaling has a `cost` of its own.
    chosen: MapParams,
    cost: Cost,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    relative_cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<f64>,
    search_recall: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quality: Option<Quality>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label_names: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    row_names: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probes: Option<usize>,
}

impl Map {
    /// The kind of model that its file says it is.
    pub const KIND: &'static str = "map";

    pub(crate) fn new(
        params: MapParams,
        points: Vec<f64>,
        reference: Reference,
        cost: Cost,
    ) -> Self {
        Self {
            params,
            points,
            landmarks: None,
            reference,
            cost,
            relative_cost: None,
            eigenvalues: Vec::new(),
            trace: None,
            search_recall: 1.0,
            quality: None,
            shepard: Vec::new(),
            labels: None,
            names: None,
        }
    }

    /// What was chosen.
    pub fn params(&self) -> &MapParams {
        &self.params
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.points.len() / self.params.dimensions
    }

    /// Number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.params.dimensions
    }

    /// Columns of the rows that it was made of; none if it was made of distances.
    pub fn columns(&self) -> Option<usize> {
        match &self.reference {
            Reference::Axes { centre, .. } | Reference::Rows { centre, .. } => Some(centre.len()),
            _ => None,
        }
    }

    /// Where rows are, `[rows, dimensions]`.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// What it costs.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// What it costs beside all points in one place, where distances of pairs are its aim.
    pub fn relative_cost(&self) -> Option<f64> {
        self.relative_cost
    }

    /// The eigenvalues of principal coordinates, falling: all, or of large matrices the largest and the
    /// smallest. One below 0 says that the distances are not Euclidean.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// All eigenvalues together, of principal coordinates.
    pub fn trace(&self) -> Option<f64> {
        self.trace
    }

    /// The share of true neighbours that t-SNE was told of: below 1 for very many rows only.
    pub fn search_recall(&self) -> f64 {
        self.search_recall
    }

    /// How good it is.
    pub fn quality(&self) -> &Quality {
        self.quality.as_ref().unwrap_or(&Quality::PERFECT)
    }

    /// Distances of some pairs of rows in the data and in the map, one after another: a Shepard diagram.
    pub fn shepard(&self) -> &[f64] {
        &self.shepard
    }

    /// Classes of the rows, where they were known.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// Names of the rows, where they had some.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The same map with names for its rows.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.rows() {
            let problem = format!("{} for {} rows", names.len(), self.rows());
            return Err(Error::option("names", problem));
        }
        self.names = Some(names);
        Ok(self)
    }

    pub(crate) fn reference(&self) -> &Reference {
        &self.reference
    }

    /// Points of the rows that it was made of.
    pub(crate) fn known_points(&self) -> Vec<f64> {
        let d = self.params.dimensions;
        match &self.landmarks {
            None => self.points.clone(),
            Some(some) => {
                some.iter().flat_map(|&i| self.points[i * d..(i + 1) * d].iter().copied()).collect()
            }
        }
    }

    pub(crate) fn set_labels(&mut self, labels: Option<Labels>) {
        self.labels = labels;
    }

    pub(crate) fn set_quality(&mut self, quality: Quality, shepard: Vec<f64>) {
        (self.quality, self.shepard) = (Some(quality), shepard);
    }

    pub(crate) fn set_eigenvalues(&mut self, eigenvalues: Vec<f64>, trace: f64) {
        (self.eigenvalues, self.trace) = (eigenvalues, Some(trace));
    }

    pub(crate) fn set_search_recall(&mut self, recall: f64) {
        self.search_recall = recall;
    }

    pub(crate) fn set_relative_cost(&mut self, cost: f64) {
        self.relative_cost = Some(cost);
    }

    pub(crate) fn with_all_points(&self, points: Vec<f64>, landmarks: Vec<usize>) -> Self {
        Self { points, landmarks: Some(landmarks), ..self.clone() }
    }

    /// The map as a file, below a manifest that says what else is known.
    pub fn to_file(&self, mut manifest: Manifest) -> Result<ModelFile> {
        let (d, rows) = (self.dimensions(), self.rows());
        Self::KIND.clone_into(&mut manifest.model);
        let mut index_of = None;
        let mut tensors: Vec<(&str, Vec<usize>, Vec<f64>)> =
            vec![("point", vec![rows, d], self.points.clone())];
        let mut add = |name, shape, values: &[f64]| tensors.push((name, shape, values.to_vec()));
        if !self.eigenvalues.is_empty() {
            add("eigenvalue", vec![self.eigenvalues.len()], &self.eigenvalues);
        }
        if !self.shepard.is_empty() {
            add("shepard", vec![self.shepard.len() / 2, 2], &self.shepard);
        }
        if let Some(some) = &self.landmarks {
            let some: Vec<f64> = some.iter().map(|&i| i as f64).collect();
            add("landmark", vec![some.len()], &some);
        }
        if let Some(labels) = &self.labels {
            let of: Vec<f64> = labels.of_row.iter().map(|l| l.map_or(-1.0, f64::from)).collect();
            add("label", vec![rows], &of);
        }
        match &self.reference {
            Reference::Axes { centre, axes } => {
                add("centre", vec![centre.len()], centre);
                add("axis", vec![d, centre.len()], axes);
            }
            Reference::Gower { values, mean_square, weights } => {
                add("value", vec![d], values);
                add("mean_square", vec![mean_square.len()], mean_square);
                weights.iter().for_each(|w| add("weight", vec![w.len()], w));
            }
            Reference::Rows { centre, values, weights, index } => {
                let columns = centre.len();
                add("centre", vec![columns], centre);
                add("row", vec![values.len() / columns, columns], values);
                weights.iter().for_each(|w| add("weight", vec![w.len()], w));
                if let Some(index) = index {
                    add("index_centre", vec![index.cells(columns), columns], &index.centres);
                    let cell: Vec<f64> = index.cell.iter().map(|&c| f64::from(c)).collect();
                    add("index_cell", vec![cell.len()], &cell);
                    index_of = Some(index.probes);
                }
            }
            Reference::Things { weights } => {
                weights.iter().for_each(|w| add("weight", vec![w.len()], w));
            }
        }
        let said = Said {
            chosen: self.params.clone(),
            cost: self.cost,
            relative_cost: self.relative_cost,
            trace: self.trace,
            search_recall: self.search_recall,
            quality: self.quality.clone(),
            label_names: self.labels.as_ref().map(|l| l.names.clone()),
            row_names: self.names.clone(),
            probes: index_of,
        };
        manifest.params =
            serde_json::to_value(said).map_err(|e| Error::model_file("the map", e))?;
        let mut file = ModelFile::new(manifest);
        for (name, shape, values) in tensors {
            file.insert(name, Tensor::new(shape, values));
        }
        Ok(file)
    }

    /// A map from its file, which is not trusted.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<(Self, Manifest)> {
        let bad = |problem: String| Error::model_file(path, problem);
        if file.manifest.model != Self::KIND {
            return Err(bad(format!("it holds a {} model, not a map", file.manifest.model)));
        }
        let said: Said = serde_json::from_value(file.manifest.params.clone())
            .map_err(|e| bad(format!("what it says of the map is broken: {e}")))?;
        said.chosen.check().map_err(|e| bad(e.to_string()))?;
        let d = said.chosen.dimensions;
        let point = file.take("point", 2, path)?;
        let rows = point.shape[0];
        if point.shape[1] != d {
            return Err(bad(format!("`point` has {} dimensions, expected {d}", point.shape[1])));
        }
        let landmarks = match file.get("landmark") {
            None => None,
            Some(_) => {
                let some = file.take("landmark", 1, path)?.values;
                let rising = some.windows(2).all(|w| w[0] < w[1]);
                if !rising
                    || some.iter().any(|&i| !(i >= 0.0 && i < rows as f64 && i.fract() == 0.0))
                {
                    return Err(bad("`landmark` does not hold rising row numbers".to_owned()));
                }
                Some(some.into_iter().map(|i| i as usize).collect::<Vec<_>>())
            }
        };
        let known = landmarks.as_ref().map_or(rows, Vec::len);
        let labels = labels_from(&mut file, said.label_names, rows, path)?;
        let weights = match file.get("weight") {
            None => None,
            Some(_) => {
                let weights = file.take_shaped("weight", &[known], path)?;
                if weights.iter().any(|w| *w < 0.0) {
                    return Err(bad("`weight` holds a number below 0".to_owned()));
                }
                Some(weights)
            }
        };
        let eigenvalues = match file.get("eigenvalue") {
            None => Vec::new(),
            Some(_) => file.take("eigenvalue", 1, path)?.values,
        };
        let shepard = match file.get("shepard") {
            None => Vec::new(),
            Some(_) => {
                let shepard = file.take("shepard", 2, path)?;
                if shepard.shape[1] != 2 {
                    return Err(bad("`shepard` does not hold pairs".to_owned()));
                }
                shepard.values
            }
        };
        let pcoa = said.chosen.method == Method::Pcoa;
        let reference = if file.get("centre").is_some() {
            let centre = file.take("centre", 1, path)?.values;
            let columns = centre.len();
            if pcoa {
                let axes = file.take_shaped("axis", &[d, columns], path)?;
                Reference::Axes { centre, axes }
            } else {
                let values = file.take_means("row", &[known, columns], path)?;
                let index = match said.probes {
                    None => None,
                    Some(probes) => Some(index_from(&mut file, probes, columns, known, path)?),
                };
                Reference::Rows { centre, values, weights, index }
            }
        } else if pcoa {
            let values = file.take_shaped("value", &[d], path)?;
            let mean_square = file.take_shaped("mean_square", &[known], path)?;
            Reference::Gower { values, mean_square, weights }
        } else {
            Reference::Things { weights }
        };
        if said.row_names.as_ref().is_some_and(|names| names.len() != rows) {
            return Err(bad(format!("it does not name all of its {rows} rows")));
        }
        let map = Self {
            points: point.values,
            landmarks,
            reference,
            cost: said.cost,
            relative_cost: said.relative_cost,
            eigenvalues,
            trace: said.trace,
            search_recall: said.search_recall,
            quality: said.quality,
            shepard,
            labels,
            names: said.row_names,
            params: said.chosen,
        };
        Ok((map, file.manifest))
    }
}

fn labels_from(
    file: &mut ModelFile,
    names: Option<Vec<String>>,
    rows: usize,
    path: &Path,
) -> Result<Option<Labels>> {
    let Some(names) = names else { return Ok(None) };
    let of_row = file.take_shaped("label", &[rows], path)?;
    let of_row = of_row.into_iter().map(|label| {
        if label == -1.0 {
            Ok(None)
        } else if label >= 0.0 && label < names.len() as f64 && label.fract() == 0.0 {
            Ok(Some(label as u32))
        } else {
            Err(Error::model_file(path, format!("`label` holds {label}, which no class has")))
        }
    });
    let of_row = of_row.collect::<Result<Vec<_>>>()?;
    Ok(Some(Labels { names, of_row }))
}

fn index_from(
    file: &mut ModelFile,
    probes: usize,
    columns: usize,
    known: usize,
    path: &Path,
) -> Result<Index> {
    let centres = file.take("index_centre", 2, path)?;
    let cells = centres.shape[0];
    let cell = file.take_shaped("index_cell", &[known], path)?;
    let wrong = cell.iter().any(|&c| !(c >= 0.0 && c < cells as f64 && c.fract() == 0.0));
    if centres.shape[1] != columns || wrong || probes == 0 || probes > cells {
        return Err(Error::model_file(path, "its index of rows does not fit the rows"));
    }
    let cell = cell.into_iter().map(|c| c as u32).collect();
    Ok(Index { centres: centres.values, cell, probes })
}
