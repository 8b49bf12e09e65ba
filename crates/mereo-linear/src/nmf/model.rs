//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::{Matrix, product_nt};
use mereo_core::{
    Batch, Components, ComponentsView, Encode, Error, Manifest, ModelFile, Real, Reconstruct,
    Result, Tensor,
};

use super::Loss;
use super::kernels::{TINY, descend, multiply};
use crate::files::component_shape;

/// Most updates of a row's code, and the relative change of all of it at which it is done.
const UPDATES: usize = 1000;
const DONE: f64 = 1e-9;

/// A learned non-negative factorisation.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, reconstruct};
/// use mereo_linear::Nmf;
/// let mut file = ModelFile::new(Manifest::new("nmf"));
/// file.insert("component", Tensor::new(vec![2, 3], vec![0.5, 0.0, 0.5, 0.0, 1.0, 0.0]));
/// let model = Nmf::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(1, 3, vec![2.0f64, 1.0, f64::NAN])?);
/// let filled = reconstruct::<f64>(&model, &table, &Context::new(0))?;
/// assert!((filled.values()[2] - 2.0).abs() < 1e-6);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Nmf {
    /// `[N, D]`.
    component: Vec<f64>,
    columns: usize,
    loss: Loss,
}

impl Nmf {
    pub(super) fn new(component: Vec<f64>, columns: usize, loss: Loss) -> Self {
        Self { component, columns, loss }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of components, N.
    pub fn components(&self) -> usize {
        self.component.len() / self.columns.max(1)
    }

    /// `[N, D]`: the components.
    pub fn component(&self) -> &[f64] {
        &self.component
    }

    /// What codes make small.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// Takes a model out of a file: `component [N, D]`, no number negative. The manifest's `params`
    /// may say which `loss` codes are to make small, `kl` or `frobenius`; without it the latter.
    /// `path` is what errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile, Tensor};
    /// let mut file = ModelFile::new(Manifest::new("nmf"));
    /// file.insert("component", Tensor::new(vec![1, 2], vec![1.0, -1.0]));
    /// let error = mereo_linear::Nmf::from_file(file, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("expected at least 0"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let loss = match file.manifest.params.get("loss") {
            None => Loss::Frobenius,
            Some(value) => value.as_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
                let problem = format!("its loss is {value}, expected \"kl\" or \"frobenius\"");
                Error::model_file(path, problem)
            })?,
        };
        let shape = component_shape(&file);
        let component = file.take_means("component", &shape, path)?;
        if let Some(at) = component.iter().position(|w| *w < 0.0) {
            return Err(Error::model_file(
                path,
                format!(
                    "`component` holds {} at position {at}, expected at least 0",
                    component[at]
                ),
            ));
        }
        Ok(Self::new(component, shape[1], loss))
    }

    /// The model as a file with this manifest.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("nmf"));
    /// # file.insert("component", Tensor::new(vec![1, 1], vec![1.0]));
    /// let model = mereo_linear::Nmf::from_file(file, "by hand".as_ref())?;
    /// let file = model.to_file(Manifest::new("nmf"));
    /// assert_eq!(file.get("component").unwrap().shape, [1, 1]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, mut manifest: Manifest) -> ModelFile {
        if manifest.params.is_null() {
            manifest.params = serde_json::json!({ "loss": self.loss });
        }
        let shape = vec![self.components(), self.columns];
        let mut file = ModelFile::new(manifest);
        file.insert("component", Tensor::new(shape, self.component.clone()));
        file
    }

    /// Calls `visit(row, code)` for each row of a batch.
    fn for_each_row<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(usize, &[f64])) {
        let (n, d) = (self.components(), self.columns);
        // Components may have any magnitude: in their own units nothing over- or underflows.
        let lengths: Vec<f64> = self
            .component
            .chunks_exact(d)
            .map(|w| w.iter().copied().fold(0.0, f64::max))
            .map(|largest| if largest > 0.0 { largest } else { 1.0 })
            .collect();
        let by_column: Vec<f64> = (0..d)
            .flat_map(|c| (0..n).map(move |j| (j, c)))
            .map(|(j, c)| self.component[j * d + c] / lengths[j])
            .collect();
        let mut work = RowWork { code: vec![0.0; n], ..RowWork::default() };
        for row in 0..batch.rows {
            work.cells.clear();
            let mut largest: f64 = 0.0;
            batch.for_each_observed(row, |column, x| {
                // What is negative is as far from the components as 0 is near.
                let x = x.to_f64().max(0.0);
                largest = largest.max(x);
                work.cells.push((column, x));
            });
            if largest > 0.0 {
                work.cells.iter_mut().for_each(|cell| cell.1 /= largest);
                match self.loss {
                    Loss::Kl => work.kl(&by_column),
                    Loss::Frobenius => work.frobenius(&by_column, d),
                }
                let code = work.code.iter_mut().zip(&lengths);
                code.for_each(|(h, length)| *h *= largest / length);
            } else {
                work.code.fill(0.0);
            }
            visit(row, &work.code);
        }
    }
}

/// The code of one row, found from its observed cells.
#[derive(Default)]
struct RowWork {
    cells: Vec<(usize, f64)>,
    code: Vec<f64>,
    above: Vec<f64>,
    below: Vec<f64>,
    before: Vec<f64>,
    step: Vec<f64>,
    gram: Vec<f64>,
    /// The columns that the Gram matrix is of.
    of: Vec<usize>,
    own: Vec<f64>,
}

impl RowWork {
    /// A code that rebuilds the row's sum, all components alike.
    fn begin(&mut self) {
        let total: f64 = self.cells.iter().map(|cell| cell.1).sum();
        let spread: f64 = self.below.iter().sum();
        self.code.fill(total / spread.max(TINY));
    }

    fn update_until_done(&mut self, mut update: impl FnMut(&mut Self)) {
        for _ in 0..UPDATES {
            self.before.clear();
            self.before.extend_from_slice(&self.code);
            update(self);
            let change: f64 = self.code.iter().zip(&self.before).map(|(a, b)| (a - b).abs()).sum();
            if change <= DONE * self.before.iter().sum::<f64>() {
                break;
            }
        }
    }

    fn column_sums(&mut self, by_column: &[f64]) {
        let n = self.code.len();
        self.below.clear();
        self.below.resize(n, 0.0);
        for &(column, _) in &self.cells {
            let w = &by_column[column * n..(column + 1) * n];
            self.below.iter_mut().zip(w).for_each(|(b, w)| *b += w);
        }
    }

    fn kl(&mut self, by_column: &[f64]) {
        let n = self.code.len();
        self.column_sums(by_column);
        self.begin();
        self.cells.retain(|cell| cell.1 > 0.0);
        self.update_until_done(|work| {
            work.above.clear();
            work.above.resize(n, 0.0);
            for &(column, x) in &work.cells {
                let w = &by_column[column * n..(column + 1) * n];
                let rebuilt: f64 = w.iter().zip(&work.code).map(|(w, h)| w * h).sum();
                let ratio = x / rebuilt.max(TINY);
                work.above.iter_mut().zip(w).for_each(|(a, w)| *a += ratio * w);
            }
            multiply(&mut work.code, &work.above, &work.below, 1);
        });
    }

    fn frobenius(&mut self, by_column: &[f64], d: usize) {
        let n = self.code.len();
        let columns = self.cells.iter().map(|cell| cell.0);
        if !self.of.iter().copied().eq(columns.clone()) || self.gram.is_empty() {
            self.of = columns.collect();
            self.own.clear();
            self.own.reserve(n * d);
            for j in 0..n {
                self.own.extend(self.of.iter().map(|column| by_column[column * n + j]));
            }
            let own = Matrix::new(&self.own, n, self.of.len());
            self.gram.resize(n * n, 0.0);
            product_nt(&mut self.gram, own, own, false);
        }
        self.above.clear();
        self.above.resize(n, 0.0);
        for &(column, x) in &self.cells {
            let w = &by_column[column * n..(column + 1) * n];
            self.above.iter_mut().zip(w).for_each(|(a, w)| *a += x * w);
        }
        self.column_sums(by_column);
        self.begin();
        self.update_until_done(|work| {
            descend(&mut work.code, &work.above, &work.gram, n, 1, &mut work.step);
        });
    }
}

impl Components for Nmf {
    fn component_view(&self) -> ComponentsView<'_> {
        ComponentsView {
            columns: self.columns,
            component: &self.component,
            mean: None,
            explained_variance: None,
            total_variance: None,
        }
    }
}

impl<T: Real> Encode<T> for Nmf {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn code_width(&self) -> usize {
        self.components()
    }

    /// How much of each component the row has.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let n = self.components();
        self.for_each_row(batch, |row, code| {
            let out = &mut codes[row * n..(row + 1) * n];
            out.iter_mut().zip(code).for_each(|(c, h)| *c = T::from_f64(*h));
        });
    }
}

impl<T: Real> Reconstruct<T> for Nmf {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `Σ_j h_j w_j`, in every column.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let d = self.columns;
        let mut sum = vec![0.0; d];
        self.for_each_row(batch, |row, code| {
            sum.fill(0.0);
            for (h, w) in code.iter().zip(self.component.chunks_exact(d)) {
                sum.iter_mut().zip(w).for_each(|(s, w)| *s += h * w);
            }
            let out = &mut out[row * d..(row + 1) * d];
            out.iter_mut().zip(&sum).for_each(|(x, s)| *x = T::from_f64(*s));
        });
    }
}
