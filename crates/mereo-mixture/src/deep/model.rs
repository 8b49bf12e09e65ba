//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::Array;
use mereo_core::{
    Batch, Encode, Error, Manifest, ModelFile, Random, Real, Reconstruct, Result, Sample, Score,
    ScoreKind, Tensor,
};

use super::LayerKind;
use super::freedom::free_numbers;
use super::layers::{Layer, Layers};
use crate::files::can_whiten;
use crate::full::{Mixture, Shapes};
use crate::gaussian::{Gmm, Spread};

/// Most layers that a file may have.
const MOST_LAYERS: usize = 64;

/// A learned Deep Gaussian mixture.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, score};
/// use mereo_mixture::DeepGmm;
/// let mut file = ModelFile::new(Manifest::new("deep-gmm"));
/// file.insert("layer1.transform", Tensor::new(vec![1, 1, 1], vec![1.0]));
/// file.insert("layer1.bias", Tensor::new(vec![1, 1], vec![0.0]));
/// file.insert("layer2.transform", Tensor::new(vec![2, 1, 1], vec![1.0, 2.0]));
/// file.insert("layer2.bias", Tensor::new(vec![2, 1], vec![0.0, 0.0]));
/// file.insert("path_weight", Tensor::new(vec![1, 2], vec![1.0, 0.0]));
/// let model = DeepGmm::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(1, 1, vec![0.0f64])?);
/// let scores = score::<f64>(&model, &table, &Context::new(0))?;
/// assert!((scores.mean + 0.9189385).abs() < 1e-6);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DeepGmm {
    layers: Layers,
    /// `[k]`: the number of components of each layer.
    sizes: Vec<usize>,
    /// Whether path weights are products of one for each layer.
    factorised: bool,
    /// `[P, D]`: the mean of each path.
    mean: Vec<f64>,
    mixture: Mixture,
}

impl DeepGmm {
    pub(super) fn new(layers: Layers, factorised: bool) -> Self {
        let (mean, covariance, scale) = layers.shared();
        let shapes = Shapes {
            weight: &layers.path_weight,
            mean: &mean,
            covariance: &covariance,
            scale: scale.as_deref(),
            degrees: None,
            blur: 0.0,
        };
        let mixture = Mixture::new(&shapes, layers.columns);
        let sizes = layers.sizes();
        Self { layers, sizes, factorised, mean, mixture }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.layers.columns
    }

    /// Number of components of each layer, the top one first.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// What the transforms of a layer are, the top one being 0.
    pub fn kind(&self, layer: usize) -> LayerKind {
        self.layers.layers[layer].kind
    }

    /// `[N, D, D]`: the transforms of a layer, the top one being 0.
    pub fn transform(&self, layer: usize) -> &[f64] {
        &self.layers.layers[layer].transform
    }

    /// `[N, D]`: the biases of a layer.
    pub fn bias(&self, layer: usize) -> &[f64] {
        &self.layers.layers[layer].bias
    }

    /// `[N_1, …, N_k]`: how common each path is.
    pub fn path_weight(&self) -> &[f64] {
        &self.layers.path_weight
    }

    /// `[N]`: how common each component of a layer is.
    pub fn usage(&self, layer: usize) -> Vec<f64> {
        self.layers.usage(layer)
    }

    /// `[P, D]`: the mean of each path.
    pub fn path_mean(&self) -> &[f64] {
        &self.mean
    }

    /// `[N, D]`: what each component of a layer makes of the same draw z of a standard normal, the other
    /// layers taking their components of the most common path.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("deep-gmm"));
    /// # file.insert("layer1.transform", Tensor::new(vec![2, 1, 1], vec![1.0, 2.0]));
    /// # file.insert("layer1.bias", Tensor::new(vec![2, 1], vec![0.0, 0.0]));
    /// # file.insert("path_weight", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// let model = mereo_mixture::DeepGmm::from_file(file, "by hand".as_ref())?;
    /// assert_eq!(model.variations(0, &[3.0]), [3.0, 6.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn variations(&self, layer: usize, z: &[f64]) -> Vec<f64> {
        let (d, sizes, weight) = (self.columns(), self.sizes(), self.path_weight());
        let best = (0..weight.len()).fold(0, |b, p| if weight[p] > weight[b] { p } else { b });
        let mut out = Vec::with_capacity(sizes[layer] * d);
        for component in 0..sizes[layer] {
            let mut row = z.to_vec();
            let mut below: usize = sizes.iter().product();
            for (l, size) in sizes.iter().enumerate() {
                below /= size;
                let own = if l == layer { component } else { best / below % size };
                row = self.layers.layers[l].map(own).apply(&row);
            }
            out.extend(row);
        }
        out
    }

    /// The flat mixture with the same density: one component a path.
    pub fn flat(&self) -> Gmm {
        let (mean, covariance) = self.layers.collapse();
        Gmm::of_spread(self.layers.path_weight.clone(), mean, Spread::Full(covariance))
    }

    /// How many numbers were free to be learned: what AIC and BIC count. It is the dimension of the family of
    /// densities that such layers have, or, with diagonal or orthogonal ones, at most a little more: layers can be
    /// other ones with the same density (`freedom.rs` has the derivation). So one component on top of another
    /// has the freedom of one.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("deep-gmm"));
    /// # file.insert("layer1.transform", Tensor::new(vec![1, 2, 2], vec![1.0, 0.0, 1.0, 1.0]));
    /// # file.insert("layer1.bias", Tensor::new(vec![1, 2], vec![0.0; 2]));
    /// # file.insert("path_weight", Tensor::new(vec![1], vec![1.0]));
    /// let model = mereo_mixture::DeepGmm::from_file(file, "by hand".as_ref())?;
    /// assert_eq!(model.free_parameters(), 2 + 3);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn free_parameters(&self) -> usize {
        let d = self.columns();
        let layers = self.layers.layers.iter().map(|layer| (layer.kind, layer.size()));
        free_numbers(&layers.collect::<Vec<_>>(), d, self.factorised)
    }

    /// Takes a model out of a file: `path_weight [N_1, …, N_k]`, and for each layer i from 1, the top
    /// one, `layer{i}.transform [N_i, D, D]` and `layer{i}.bias [N_i, D]`. `path` is what errors call the
    /// file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("deep-gmm"));
    /// let error = mereo_mixture::DeepGmm::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `path_weight` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let bad = |problem: String| Error::model_file(path, problem);
        let sizes = match file.get("path_weight") {
            Some(tensor) if (1..=MOST_LAYERS).contains(&tensor.shape.len()) => tensor.shape.clone(),
            _ => vec![1],
        };
        let mut path_weight = file.take_shaped("path_weight", &sizes, path)?;
        let total: f64 = path_weight.iter().sum();
        if path_weight.iter().any(|w| *w < 0.0) || !((total - 1.0).abs() < 1e-3) {
            return Err(bad(format!(
                "`path_weight` is no distribution: its numbers add up to {total}, and none may be \
                 below 0"
            )));
        }
        if (total - 1.0).abs() > 1e-9 {
            path_weight.iter_mut().for_each(|w| *w /= total);
        }
        let d = match file.get("layer1.transform").map(|t| t.shape.as_slice()) {
            Some(&[_, d, _]) => d,
            _ => 1,
        };
        let stored = file.manifest.params.get("layer_kind").and_then(|kinds| kinds.as_array());
        let stored: Vec<Option<LayerKind>> = stored.map_or_else(Vec::new, |kinds| {
            kinds.iter().map(|kind| kind.as_str()?.parse().ok()).collect()
        });
        let factorised =
            file.manifest.params.get("factorised").and_then(mereo_core::serde_json::Value::as_bool);
        let factorised = factorised.unwrap_or(false);
        let mut layers = Vec::new();
        for (l, &size) in sizes.iter().enumerate() {
            let (transform, bias) =
                (format!("layer{}.transform", l + 1), format!("layer{}.bias", l + 1));
            let matrices = file.take_means(&transform, &[size, d, d], path)?;
            let bias = file.take_means(&bias, &[size, d], path)?;
            let kind = kind_of(&matrices, d);
            // What was learned as a wider kind may have come out narrower; but not the other way.
            let kind =
                stored.get(l).copied().flatten().filter(|wider| wider.covers(kind)).unwrap_or(kind);
            let transforms = Array::new([size, d, d], matrices);
            let layer = Layer { kind, transform: transforms, bias: Array::new([size, d], bias) };
            for component in 0..size {
                if layer.map(component).inverse().is_none() {
                    let problem = format!("matrix {component} of `{transform}` has no inverse");
                    return Err(bad(problem));
                }
            }
            layers.push(layer);
        }
        let layers = Layers { columns: d, layers, path_weight };
        let (mean, covariance) = layers.collapse();
        for (number, matrix) in covariance.chunks_exact(d * d).enumerate() {
            let far = mean[number * d..(number + 1) * d].iter().any(|m| !(m.abs() <= 1e150));
            if far || !can_whiten(matrix, d) {
                let problem =
                    format!("path {number} is too far, too wide or too narrow to be scored");
                return Err(bad(problem));
            }
        }
        let factorised = factorised && layers.are_independent();
        Ok(Self::new(layers, factorised))
    }

    /// The model as a file with this manifest.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("deep-gmm"));
    /// # file.insert("layer1.transform", Tensor::new(vec![1, 1, 1], vec![2.0]));
    /// # file.insert("layer1.bias", Tensor::new(vec![1, 1], vec![0.0]));
    /// # file.insert("path_weight", Tensor::new(vec![1], vec![1.0]));
    /// let model = mereo_mixture::DeepGmm::from_file(file, "by hand".as_ref())?;
    /// let file = model.to_file(Manifest::new("deep-gmm"));
    /// assert_eq!(file.get("layer1.transform").unwrap().values, [2.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let mut file = ModelFile::new(manifest);
        for (l, layer) in self.layers.layers.iter().enumerate() {
            file.insert(&format!("layer{}.transform", l + 1), layer.transform.to_tensor());
            file.insert(&format!("layer{}.bias", l + 1), layer.bias.to_tensor());
        }
        file.insert(
            "path_weight",
            Tensor::new(self.sizes().to_vec(), self.layers.path_weight.clone()),
        );
        file
    }
}

/// The narrowest kind that all these transforms are of.
fn kind_of(transform: &[f64], d: usize) -> LayerKind {
    let each = || transform.chunks_exact(d * d);
    let diagonal = each().all(|m| (0..d * d).all(|i| i / d == i % d || m[i] == 0.0));
    if diagonal {
        let scale = each().all(|m| (0..d).all(|i| m[i * d + i] == m[0]));
        return if scale { LayerKind::Scale } else { LayerKind::Diagonal };
    }
    let orthogonal = each().all(|m| {
        let size = m.iter().map(|v| v * v).sum::<f64>() / d as f64;
        (0..d).all(|i| {
            (0..=i).all(|j| {
                let dot: f64 = (0..d).map(|k| m[i * d + k] * m[j * d + k]).sum();
                (dot - f64::from(i == j) * size).abs() < 1e-9 * size
            })
        })
    });
    if orthogonal { LayerKind::Orthogonal } else { LayerKind::Full }
}

impl<T: Real> Encode<T> for DeepGmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn code_width(&self) -> usize {
        self.mixture.components()
    }

    /// The components of each path, the top one first.
    fn code_names(&self) -> Option<Vec<String>> {
        let sizes = self.sizes();
        let name = |path: usize| {
            let mut below: usize = sizes.iter().product();
            let own = sizes.iter().map(|size| {
                below /= size;
                (path / below % size).to_string()
            });
            format!("path_{}", own.collect::<Vec<_>>().join("_"))
        };
        Some((0..self.mixture.components()).map(name).collect())
    }

    /// The probability of each path, given the observed cells.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        self.mixture.encode_batch(batch, codes);
    }
}

impl<T: Real> Reconstruct<T> for DeepGmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    /// `Σ_p r_p β_p`, in missing cells the expectation given the observed ones.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        self.mixture.reconstruct_batch(batch, out);
    }
}

impl<T: Real> Score<T> for DeepGmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Exact
    }

    /// The log density of the observed cells, over all paths.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        self.mixture.score_batch(batch, out);
    }
}

impl Sample for DeepGmm {
    fn columns(&self) -> usize {
        self.columns()
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        self.mixture.sample_row(random, noise, row);
    }
}
