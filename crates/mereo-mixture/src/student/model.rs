//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::packed;
use mereo_core::{
    Appearance, Batch, Encode, Error, Manifest, ModelFile, Parts, PartsView, Random, Real,
    Reconstruct, Result, Sample, Score, ScoreKind, Tensor,
};

use crate::files::{mean_shape, take_covariances};
use crate::full::{Mixture, Shapes};

/// A learned mixture of Student's t distributions.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, score};
/// use mereo_mixture::Student;
/// let mut file = ModelFile::new(Manifest::new("student"));
/// file.insert("weight", Tensor::new(vec![1], vec![1.0]));
/// file.insert("mean", Tensor::new(vec![1, 1], vec![2.0]));
/// file.insert("scale", Tensor::new(vec![1, 1, 1], vec![1.0]));
/// file.insert("degrees", Tensor::new(vec![1], vec![1.0]));
/// let model = Student::from_file(file, "by hand".as_ref())?;
/// // With one degree of freedom: Cauchy's distribution.
/// let table = Table::from(Dense::new(1, 1, vec![3.0f64])?);
/// let scores = score::<f64>(&model, &table, &Context::new(0))?;
/// assert!((scores.mean + (2.0 * std::f64::consts::PI).ln()).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Student {
    /// `[N, D]`.
    mean: Vec<f64>,
    /// `[N, D, D]`.
    scale: Vec<f64>,
    /// `[N]`.
    degrees: Vec<f64>,
    mixture: Mixture,
    /// All columns belong to the one part: `[D, 1]`.
    gate: Vec<f64>,
}

impl Student {
    /// `mean [N, D]`, `scale [N, D, D]`, `degrees [N]`, N the length of `weight`.
    pub(super) fn new(weight: &[f64], mean: Vec<f64>, scale: Vec<f64>, degrees: Vec<f64>) -> Self {
        let columns = mean.len() / weight.len().max(1);
        let shapes = Shapes {
            weight,
            mean: &mean,
            covariance: &scale,
            scale: None,
            degrees: Some(&degrees),
            blur: 0.0,
        };
        let mixture = Mixture::new(&shapes, columns);
        Self { mean, scale, degrees, mixture, gate: vec![1.0; columns] }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.mixture.columns()
    }

    /// Number of components, N.
    pub fn components(&self) -> usize {
        self.mixture.components()
    }

    /// `[N]`: how common each component is.
    pub fn weight(&self) -> &[f64] {
        self.mixture.weight()
    }

    /// `[N, D]`: the components' centres.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `[N, D, D]`: the components' scales; with ν > 2 degrees of freedom the covariance is `ν/(ν-2)` of
    /// it.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// `[N]`: the components' degrees of freedom.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// How many numbers were free to be learned: what AIC and BIC count.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("student"));
    /// # file.insert("weight", Tensor::new(vec![1], vec![1.0]));
    /// # file.insert("mean", Tensor::new(vec![1, 1], vec![2.0]));
    /// # file.insert("scale", Tensor::new(vec![1, 1, 1], vec![1.0]));
    /// # file.insert("degrees", Tensor::new(vec![1], vec![1.0]));
    /// let model = mereo_mixture::Student::from_file(file, "by hand".as_ref())?;
    /// assert_eq!(model.free_parameters(), 3);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn free_parameters(&self) -> usize {
        let (n, d) = (self.components(), self.columns());
        n - 1 + n * (d + packed(d) + 1)
    }

    /// Takes a model out of a file: `weight [N]`, `mean [N, D]`, `scale [N, D, D]` and `degrees [N]`. `path` is
    /// what errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("student"));
    /// let error = mereo_mixture::Student::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `mean` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = mean_shape(&file);
        let [n, d] = shape;
        let mean = file.take_means("mean", &shape, path)?;
        let weight = file.take_distributions("weight", &[n], path)?;
        let scale = take_covariances(&mut file, "scale", n, d, path)?;
        let degrees = file.take_shaped("degrees", &[n], path)?;
        if let Some(at) = degrees.iter().position(|v| !(1e-3..=1e9).contains(v)) {
            let problem = format!(
                "`degrees` holds {} at position {at}, expected degrees of freedom from 1e-3 to 1e9",
                degrees[at]
            );
            return Err(Error::model_file(path, problem));
        }
        Ok(Self::new(&weight, mean, scale, degrees))
    }

    /// The model as a file with this manifest.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("student"));
    /// # file.insert("weight", Tensor::new(vec![1], vec![1.0]));
    /// # file.insert("mean", Tensor::new(vec![1, 1], vec![2.0]));
    /// # file.insert("scale", Tensor::new(vec![1, 1, 1], vec![1.0]));
    /// # file.insert("degrees", Tensor::new(vec![1], vec![4.0]));
    /// let model = mereo_mixture::Student::from_file(file, "by hand".as_ref())?;
    /// let file = model.to_file(Manifest::new("student"));
    /// assert_eq!(file.get("degrees").unwrap().values, [4.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (n, d) = (self.components(), self.columns());
        let mut file = ModelFile::new(manifest);
        file.insert("weight", Tensor::new(vec![n], self.weight().to_vec()));
        file.insert("mean", Tensor::new(vec![n, d], self.mean.clone()));
        file.insert("scale", Tensor::new(vec![n, d, d], self.scale.clone()));
        file.insert("degrees", Tensor::new(vec![n], self.degrees.clone()));
        file
    }
}

impl<T: Real> Encode<T> for Student {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn code_width(&self) -> usize {
        self.components()
    }

    /// The probability of each component, given the observed cells.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        self.mixture.encode_batch(batch, codes);
    }
}

impl<T: Real> Reconstruct<T> for Student {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    /// `Σ_j r_j μ_j`, in missing cells the expectation given the observed ones.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        self.mixture.reconstruct_batch(batch, out);
    }
}

impl<T: Real> Score<T> for Student {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Exact
    }

    /// The log density of the observed cells.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        self.mixture.score_batch(batch, out);
    }
}

impl Sample for Student {
    fn columns(&self) -> usize {
        self.columns()
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        self.mixture.sample_row(random, noise, row);
    }
}

impl Parts for Student {
    /// One part that all columns belong to fully.
    fn parts(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns(),
            parts: 1,
            states: self.components(),
            appearance: Appearance::States,
            gate: &self.gate,
            state_prior: self.weight(),
            mean: &self.mean,
        }
    }
}
