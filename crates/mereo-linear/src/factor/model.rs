//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::{
    Batch, CellPrediction, Components, ComponentsView, Encode, Manifest, ModelFile, PredictCells,
    Random, Real, Reconstruct, Result, Sample, Score, ScoreKind, Tensor,
};

use crate::files::{take_components, take_noise};
use crate::gaussian::Gaussian;

/// Everything that the two models do alike.
macro_rules! factor_model {
    ($model:ident) => {
        impl $model {
            /// Number of columns, D.
            pub fn columns(&self) -> usize {
                self.gaussian.columns()
            }

            /// Number of components, N.
            pub fn components(&self) -> usize {
                self.gaussian.components()
            }

            /// `[N, D]`: the loadings.
            pub fn component(&self) -> &[f64] {
                &self.gaussian.loading
            }

            /// `[D]`: the mean of each column.
            pub fn mean(&self) -> &[f64] {
                &self.gaussian.mean
            }

            /// `[D]`: the variance of each column's noise.
            pub fn noise(&self) -> &[f64] {
                &self.gaussian.noise
            }

            /// `[N]`: the variance along each component, of all columns together.
            pub fn explained_variance(&self) -> &[f64] {
                &self.explained
            }
        }

        impl Components for $model {
            fn component_view(&self) -> ComponentsView<'_> {
                let spread: f64 = self.gaussian.loading.iter().map(|w| w * w).sum();
                ComponentsView {
                    columns: self.columns(),
                    component: &self.gaussian.loading,
                    mean: Some(&self.gaussian.mean),
                    explained_variance: Some(&self.explained),
                    total_variance: Some(spread + self.gaussian.noise.iter().sum::<f64>()),
                }
            }
        }

        impl<T: Real> Encode<T> for $model {
            fn expects_columns(&self) -> Option<usize> {
                Some(self.columns())
            }

            fn code_width(&self) -> usize {
                self.components()
            }

            /// The expectation of the hidden numbers, given the observed cells.
            fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
                self.gaussian.encode_batch(batch, codes);
            }
        }

        impl<T: Real> Reconstruct<T> for $model {
            fn expects_columns(&self) -> Option<usize> {
                Some(self.columns())
            }

            /// `μ + Wᵀẑ`: in missing cells, their expectation given the observed ones.
            fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
                self.gaussian.reconstruct_batch(batch, out);
            }
        }

        impl<T: Real> PredictCells<T> for $model {
            fn expects_columns(&self) -> Option<usize> {
                Some(self.columns())
            }

            /// Gaussian: as sure as the factors are known, and no surer than the noise.
            fn predict_cells_batch(
                &self,
                batch: &Batch<'_, T>,
                cells: &[(usize, usize)],
                visit: &mut dyn FnMut(usize, &CellPrediction),
            ) {
                self.gaussian.predict_cells_batch(batch, cells, visit);
            }
        }

        impl<T: Real> Score<T> for $model {
            fn expects_columns(&self) -> Option<usize> {
                Some(self.columns())
            }

            fn score_kind(&self) -> ScoreKind {
                ScoreKind::Exact
            }

            /// `log N(x; μ, WᵀW + Ψ)` over the observed cells.
            fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
                self.gaussian.score_batch(batch, out);
            }
        }

        impl Sample for $model {
            fn columns(&self) -> usize {
                self.gaussian.columns()
            }

            fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
                self.gaussian.sample_row(random, noise, row);
            }
        }
    };
}

/// Learned probabilistic PCA.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, reconstruct};
/// use mereo_linear::Ppca;
/// let mut file = ModelFile::new(Manifest::new("ppca"));
/// file.insert("mean", Tensor::new(vec![2], vec![1.0, 2.0]));
/// file.insert("component", Tensor::new(vec![1, 2], vec![1.0, 1.0]));
/// file.insert("noise", Tensor::new(vec![1], vec![1.0]));
/// let model = Ppca::from_file(file, "by hand".as_ref())?;
/// // What was not observed is what is expected, given what was.
/// let table = Table::from(Dense::new(1, 2, vec![3.0f64, f64::NAN])?);
/// let filled = reconstruct::<f64>(&model, &table, &Context::new(0))?;
/// assert!((filled.values()[1] - 3.0).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ppca {
    gaussian: Gaussian,
    /// `[N]`.
    explained: Vec<f64>,
}

/// Learned factor analysis.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, score};
/// use mereo_linear::Fa;
/// let mut file = ModelFile::new(Manifest::new("fa"));
/// file.insert("mean", Tensor::new(vec![2], vec![0.0, 0.0]));
/// file.insert("component", Tensor::new(vec![1, 2], vec![0.0, 0.0]));
/// file.insert("noise", Tensor::new(vec![2], vec![1.0, 1.0]));
/// let model = Fa::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(1, 2, vec![0.0f64, 0.0])?);
/// let scores = score::<f64>(&model, &table, &Context::new(0))?;
/// assert!((scores.mean + 1.837877).abs() < 1e-6);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Fa {
    gaussian: Gaussian,
    /// `[N]`.
    explained: Vec<f64>,
}

factor_model!(Ppca);
factor_model!(Fa);

/// The squared length of each component.
fn lengths(gaussian: &Gaussian) -> Vec<f64> {
    let rows = gaussian.loading.chunks_exact(gaussian.columns().max(1));
    rows.map(|w| w.iter().map(|w| w * w).sum()).collect()
}

fn tensors(file: &mut ModelFile, gaussian: &Gaussian, explained: &[f64]) {
    let (n, d) = (gaussian.components(), gaussian.columns());
    file.insert("component", Tensor::new(vec![n, d], gaussian.loading.clone()));
    file.insert("mean", Tensor::new(vec![d], gaussian.mean.clone()));
    file.insert("explained_variance", Tensor::new(vec![n], explained.to_vec()));
}

impl Ppca {
    pub(super) fn new(gaussian: Gaussian) -> Self {
        let noise = gaussian.noise[0];
        let explained = lengths(&gaussian).iter().map(|length| length + noise).collect();
        Self { gaussian, explained }
    }

    /// Takes a model out of a file: `component [N, D]`, `mean [D]` and `noise [1]`. `path` is what
    /// errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("ppca"));
    /// let error = mereo_linear::Ppca::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `component` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let (loading, mean) = take_components(&mut file, path)?;
        let noise = file.take_variances("noise", &[1], path)?[0];
        let noise = vec![noise; mean.len()];
        Ok(Self::new(Gaussian { mean, loading, noise }))
    }

    /// The model as a file with this manifest.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("ppca"));
    /// # file.insert("mean", Tensor::new(vec![1], vec![0.0]));
    /// # file.insert("component", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("noise", Tensor::new(vec![1], vec![1.0]));
    /// let model = mereo_linear::Ppca::from_file(file, "by hand".as_ref())?;
    /// let file = model.to_file(Manifest::new("ppca"));
    /// assert_eq!(file.get("explained_variance").unwrap().values, [2.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let mut file = ModelFile::new(manifest);
        tensors(&mut file, &self.gaussian, &self.explained);
        file.insert("noise", Tensor::new(vec![1], vec![self.gaussian.noise[0]]));
        file
    }
}

impl Fa {
    pub(super) fn new(gaussian: Gaussian) -> Self {
        let explained = lengths(&gaussian);
        Self { gaussian, explained }
    }

    /// Takes a model out of a file: `component [N, D]`, `mean [D]` and `noise [D]` (or `[1]`, the
    /// same for all columns). `path` is what errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("fa"));
    /// let error = mereo_linear::Fa::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `component` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let (loading, mean) = take_components(&mut file, path)?;
        let noise = take_noise(&mut file, mean.len(), path)?;
        Ok(Self::new(Gaussian { mean, loading, noise }))
    }

    /// The model as a file with this manifest.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("fa"));
    /// # file.insert("mean", Tensor::new(vec![1], vec![0.0]));
    /// # file.insert("component", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("noise", Tensor::new(vec![1], vec![1.0]));
    /// let model = mereo_linear::Fa::from_file(file, "by hand".as_ref())?;
    /// let file = model.to_file(Manifest::new("fa"));
    /// assert_eq!(file.get("noise").unwrap().values, [1.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let mut file = ModelFile::new(manifest);
        tensors(&mut file, &self.gaussian, &self.explained);
        let noise = self.gaussian.noise.clone();
        file.insert("noise", Tensor::new(vec![noise.len()], noise));
        file
    }
}
