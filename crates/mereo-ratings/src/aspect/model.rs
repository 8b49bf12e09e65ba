//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::normal_log_density;
use mereo_core::slots::RowCells;
use mereo_core::{
    Appearance, Batch, CellPrediction, Encode, Error, Manifest, ModelFile, Normal, Parts,
    PartsView, PredictCells, Real, Reconstruct, Result, Tensor,
};

use super::learner::{AspectLearner, Shares, State};

/// A learned aspect model.
///
/// ```
/// use mereo_core::{CellPrediction, Context, Dense, Manifest, ModelFile, Table, Tensor, predict_cells};
/// use mereo_ratings::Aspect;
/// let mut file = ModelFile::new(Manifest::new("aspect"));
/// file.insert("mean", Tensor::new(vec![2, 3], vec![1.0, 1.0, 1.0, 5.0, 5.0, 5.0]));
/// file.insert("variance", Tensor::new(vec![2, 3], vec![0.1; 6]));
/// file.insert("weight", Tensor::new(vec![2], vec![0.5; 2]));
/// file.insert("tempering", Tensor::new(vec![2], vec![1.0, 0.01]));
/// let model = Aspect::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(1, 3, vec![5.0, 4.9, f64::NAN])?);
/// let cells = [(0, 2)];
/// let told = predict_cells::<f64, _>(&model, &table, &cells, &Context::new(0), CellPrediction::mean)?;
/// assert!(told[0] > 4.9);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Aspect {
    aspects: usize,
    columns: usize,
    /// `[N, D]`.
    mean: Vec<f64>,
    variance: Vec<f64>,
    /// `[N]`.
    weight: Vec<f64>,
    tempering: f64,
    smoothing: f64,
    /// `[D, 1]`, for the view of parts.
    gate: Vec<f64>,
}

impl Aspect {
    pub(super) fn of(learner: &AspectLearner, state: &State) -> Self {
        let (n, d) = (learner.params.aspects, learner.scale.columns());
        let scale = &learner.scale;
        let by_aspect = |of: &dyn Fn(usize, usize) -> f64| {
            (0..n * d).map(|i| of(i % d, i % d * n + i / d)).collect::<Vec<f64>>()
        };
        Self {
            aspects: n,
            columns: d,
            mean: by_aspect(&|column, i| scale.outward(column, state.mean[i])),
            variance: by_aspect(&|_, i| state.variance[i] * scale.unit * scale.unit),
            weight: state.prior.clone(),
            tempering: learner.params.tempering,
            smoothing: learner.params.smoothing,
            gate: vec![1.0; d],
        }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of aspects, N.
    pub fn aspects(&self) -> usize {
        self.aspects
    }

    /// `[N, D]`: the mean of each column under each aspect.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Takes a model out of a file: `mean [N, D]`, `variance [N, D]`, `weight [N]` and `tempering [2]`, the inverse
    /// temperature and the smoothing that shares are found with. `path` is what errors call the file.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = match file.get("mean").map(|t| t.shape.as_slice()) {
            Some(&[n, d]) => [n, d],
            _ => [1, 1],
        };
        let mean = file.take_means("mean", &shape, path)?;
        let variance = file.take_variances("variance", &shape, path)?;
        let weight = file.take_distributions("weight", &shape[..1], path)?;
        let how = file.take_shaped("tempering", &[2], path)?;
        let (tempering, smoothing) = (how[0], how[1]);
        if !(tempering > 0.0 && tempering <= 1.0 && (0.0..=1e9).contains(&smoothing)) {
            let problem =
                "`tempering` is not an inverse temperature up to 1 and a smoothing from 0";
            return Err(Error::model_file(path, problem));
        }
        let (aspects, columns) = (shape[0], shape[1]);
        let gate = vec![1.0; columns];
        Ok(Self { aspects, columns, mean, variance, weight, tempering, smoothing, gate })
    }

    /// The model as a file with this manifest.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (n, d) = (self.aspects, self.columns);
        let mut file = ModelFile::new(manifest);
        file.insert("mean", Tensor::new(vec![n, d], self.mean.clone()));
        file.insert("variance", Tensor::new(vec![n, d], self.variance.clone()));
        file.insert("weight", Tensor::new(vec![n], self.weight.clone()));
        file.insert("tempering", Tensor::new(vec![2], vec![self.tempering, self.smoothing]));
        file
    }

    /// Calls `visit(row, shares)` for each row of a batch.
    fn for_each_row<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(usize, &[f64])) {
        let (mut cells, mut shares) = (RowCells::default(), Shares::default());
        for row in 0..batch.rows {
            cells.take(batch, row);
            shares.cells.clear();
            for (d, x) in cells.iter() {
                for z in 0..self.aspects {
                    let i = z * self.columns + d;
                    let log = normal_log_density(x, self.mean[i], self.variance[i]);
                    shares.cells.push(if log.is_finite() { log } else { -1e300 });
                }
            }
            shares.find(self.aspects, self.tempering, self.smoothing);
            visit(row, &shares.share);
        }
    }
}

impl<T: Real> Encode<T> for Aspect {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn code_width(&self) -> usize {
        self.aspects
    }

    /// The row's shares of the aspects.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        self.for_each_row(batch, |row, shares| {
            let code = &mut codes[row * self.aspects..(row + 1) * self.aspects];
            code.iter_mut().zip(shares).for_each(|(c, s)| *c = T::from_f64(*s));
        });
    }
}

impl<T: Real> Reconstruct<T> for Aspect {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `Σ_z θ_z μ_zd`, in every column.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let d = self.columns;
        self.for_each_row(batch, |row, shares| {
            for (column, out) in out[row * d..(row + 1) * d].iter_mut().enumerate() {
                let first = self.mean[column];
                let apart = |(z, s): (usize, &f64)| s * (self.mean[z * d + column] - first);
                *out = T::from_f64(first + shares.iter().enumerate().map(apart).sum::<f64>());
            }
        });
    }
}

impl<T: Real> PredictCells<T> for Aspect {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `Σ_z θ_z N(μ_zd, σ²_zd)`.
    fn predict_cells_batch(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    ) {
        let mut at = 0;
        self.for_each_row(batch, |row, shares| {
            while let Some(&(_, column)) = cells.get(at).filter(|cell| cell.0 == row) {
                let share = |(z, &weight): (usize, &f64)| {
                    let i = z * self.columns + column;
                    Normal { weight, mean: self.mean[i], variance: self.variance[i] }
                };
                visit(at, &CellPrediction::normals(shares.iter().enumerate().map(share).collect()));
                at += 1;
            }
        });
    }
}

impl Parts for Aspect {
    /// One part that all columns belong to fully, the aspects its states.
    fn parts(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns,
            parts: 1,
            states: self.aspects,
            appearance: Appearance::States,
            gate: &self.gate,
            state_prior: &self.weight,
            mean: &self.mean,
        }
    }
}
