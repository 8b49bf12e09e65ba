//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::dot;
use mereo_core::{
    Batch, Components, ComponentsView, Encode, Error, Manifest, ModelFile, Random, Real,
    Reconstruct, Result, Sample, Score, ScoreKind, Tensor,
};

use crate::files::take_components;
use crate::gaussian::{Gaussian, Thought};

/// How far from orthonormal the components of a file may be.
const ORTHONORMAL: f64 = 1e-4;

/// Learned principal components.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, encode};
/// use mereo_linear::Pca;
/// let mut file = ModelFile::new(Manifest::new("pca"));
/// file.insert("mean", Tensor::new(vec![2], vec![1.0, 1.0]));
/// file.insert("component", Tensor::new(vec![1, 2], vec![0.6, 0.8]));
/// file.insert("explained_variance", Tensor::new(vec![1], vec![25.0]));
/// let model = Pca::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(1, 2, vec![4.0f64, 5.0])?);
/// let codes = encode::<f64>(&model, &table, &Context::new(0))?;
/// assert!((codes.values()[0] - 5.0).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pca {
    /// `[N, D]`, orthonormal.
    component: Vec<f64>,
    /// `[N]`.
    explained: Vec<f64>,
    whiten: bool,
    /// The density whose maximum this is.
    gaussian: Gaussian,
}

impl Pca {
    pub(super) fn new(
        mean: Vec<f64>,
        component: Vec<f64>,
        explained: Vec<f64>,
        noise: f64,
        whiten: bool,
    ) -> Self {
        let d = mean.len();
        let mut loading = component.clone();
        for (direction, variance) in loading.chunks_exact_mut(d).zip(&explained) {
            let length = (variance - noise).max(0.0).sqrt();
            direction.iter_mut().for_each(|w| *w *= length);
        }
        let gaussian = Gaussian { mean, loading, noise: vec![noise; d] };
        Self { component, explained, whiten, gaussian }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.gaussian.columns()
    }

    /// Number of components, N.
    pub fn components(&self) -> usize {
        self.explained.len()
    }

    /// `[N, D]`: the components, orthonormal.
    pub fn component(&self) -> &[f64] {
        &self.component
    }

    /// `[D]`: the mean of each column.
    pub fn mean(&self) -> &[f64] {
        &self.gaussian.mean
    }

    /// `[N]`: the variance along each component, falling.
    pub fn explained_variance(&self) -> &[f64] {
        &self.explained
    }

    /// The mean variance along all directions beside the components.
    pub fn noise(&self) -> f64 {
        self.gaussian.noise[0]
    }

    /// The variance of all columns together.
    pub fn total_variance(&self) -> f64 {
        let beside = self.columns() - self.components();
        self.explained.iter().sum::<f64>() + beside as f64 * self.noise()
    }

    /// Takes a model out of a file: `component [N, D]` (orthonormal), `mean [D]`,
    /// `explained_variance [N]` and, if there, `noise [1]`, the mean variance beside the components;
    /// without it a millionth of the smallest explained variance. Codes are whitened if the
    /// manifest's `params` say `"whiten": true`. `path` is what errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile, Tensor};
    /// let mut file = ModelFile::new(Manifest::new("pca"));
    /// file.insert("mean", Tensor::new(vec![2], vec![1.0, 1.0]));
    /// file.insert("component", Tensor::new(vec![1, 2], vec![3.0, 4.0]));
    /// file.insert("explained_variance", Tensor::new(vec![1], vec![25.0]));
    /// let error = mereo_linear::Pca::from_file(file, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("not orthonormal"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let whiten = match file.manifest.params.get("whiten") {
            None => false,
            Some(value) => value.as_bool().ok_or_else(|| {
                Error::model_file(path, format!("`whiten` is {value}, expected true or false"))
            })?,
        };
        let (component, mean) = take_components(&mut file, path)?;
        let (d, n) = (mean.len(), component.len() / mean.len());
        if n > d {
            let problem = format!("{n} components of {d} columns are not orthonormal");
            return Err(Error::model_file(path, problem));
        }
        for (i, a) in component.chunks_exact(d).enumerate() {
            for (j, b) in component.chunks_exact(d).enumerate().take(i + 1) {
                let product = dot(a, b);
                if !((product - f64::from(i == j)).abs() < ORTHONORMAL) {
                    return Err(Error::model_file(
                        path,
                        format!(
                            "rows {j} and {i} of `component` are not orthonormal: their product is \
                             {product}"
                        ),
                    ));
                }
            }
        }
        let explained = file.take_variances("explained_variance", &[n], path)?;
        let noise = if file.get("noise").is_some() {
            file.take_variances("noise", &[1], path)?[0]
        } else {
            explained.iter().copied().fold(f64::INFINITY, f64::min).max(1e-294) * 1e-6
        };
        Ok(Self::new(mean, component, explained, noise, whiten))
    }

    /// The model as a file with this manifest.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("pca"));
    /// # file.insert("mean", Tensor::new(vec![1], vec![0.0]));
    /// # file.insert("component", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("explained_variance", Tensor::new(vec![1], vec![2.0]));
    /// let model = mereo_linear::Pca::from_file(file, "by hand".as_ref())?;
    /// let file = model.to_file(Manifest::new("pca"));
    /// assert_eq!(file.get("explained_variance").unwrap().values, [2.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, mut manifest: Manifest) -> ModelFile {
        let (n, d) = (self.components(), self.columns());
        if self.whiten && manifest.params.is_null() {
            manifest.params = serde_json::json!({ "whiten": true });
        }
        let mut file = ModelFile::new(manifest);
        file.insert("component", Tensor::new(vec![n, d], self.component.clone()));
        file.insert("mean", Tensor::new(vec![d], self.gaussian.mean.clone()));
        file.insert("explained_variance", Tensor::new(vec![n], self.explained.clone()));
        file.insert("noise", Tensor::new(vec![1], vec![self.noise()]));
        file
    }

    /// Calls `visit(row, z)` for each row of a batch, with its place in the plane.
    fn for_each_row<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(usize, &[f64])) {
        let d = self.columns();
        let (mut apart, mut place) = (vec![0.0; d], vec![0.0; self.components()]);
        let mut project = |row: usize, apart: &[f64]| {
            for (z, v) in place.iter_mut().zip(self.component.chunks_exact(d)) {
                *z = dot(v, apart);
            }
            visit(row, &place);
        };
        let mut thought = None;
        for row in 0..batch.rows {
            apart.fill(f64::NAN);
            batch.for_each_observed(row, |c, x| apart[c] = x.to_f64() - self.gaussian.mean[c]);
            if apart.iter().all(|x| !x.is_nan()) {
                project(row, &apart);
                continue;
            }
            let thought = thought.get_or_insert_with(|| Thought::new(&self.gaussian));
            let belief = thought.of_row(&self.gaussian, batch, row);
            self.gaussian.apart(belief.hidden, &mut apart);
            for &(column, y) in belief.observed {
                apart[column] = y;
            }
            project(row, &apart);
        }
    }
}

impl Components for Pca {
    fn component_view(&self) -> ComponentsView<'_> {
        ComponentsView {
            columns: self.columns(),
            component: &self.component,
            mean: Some(&self.gaussian.mean),
            explained_variance: Some(&self.explained),
            total_variance: Some(self.total_variance()),
        }
    }
}

impl<T: Real> Encode<T> for Pca {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn code_width(&self) -> usize {
        self.components()
    }

    /// The row's place along each component; whitened, in deviations.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let n = self.components();
        self.for_each_row(batch, |row, place| {
            let code = &mut codes[row * n..(row + 1) * n];
            for ((c, z), v) in code.iter_mut().zip(place).zip(&self.explained) {
                *c = T::from_f64(if self.whiten { z / v.sqrt() } else { *z });
            }
        });
    }
}

impl<T: Real> Reconstruct<T> for Pca {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    /// The point of the plane that is closest to the row.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let d = self.columns();
        let mut expected = vec![0.0; d];
        self.for_each_row(batch, |row, place| {
            expected.fill(0.0);
            for (z, v) in place.iter().zip(self.component.chunks_exact(d)) {
                expected.iter_mut().zip(v).for_each(|(x, v)| *x += z * v);
            }
            let out = &mut out[row * d..(row + 1) * d];
            for ((x, e), m) in out.iter_mut().zip(&expected).zip(&self.gaussian.mean) {
                *x = T::from_f64(m + e);
            }
        });
    }
}

impl<T: Real> Score<T> for Pca {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Exact
    }

    /// The log density of probabilistic PCA with these components and this noise.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        self.gaussian.score_batch(batch, out);
    }
}

impl Sample for Pca {
    fn columns(&self) -> usize {
        self.gaussian.columns()
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        self.gaussian.sample_row(random, noise, row);
    }
}
