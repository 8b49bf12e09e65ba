//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::softmax;
use mereo_core::slots::{Densities, RowCells, first_smallest};
use mereo_core::{
    Appearance, Batch, Encode, Manifest, ModelFile, Parts, PartsView, Random, Real, Reconstruct,
    Result, Sample, Score, ScoreKind, Tensor, draw,
};
use rand_distr::{Distribution, StandardNormal};

/// A learned vector quantiser.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, encode, score};
/// use mereo_quantize::Vq;
/// let mut file = ModelFile::new(Manifest::new("vq"));
/// file.insert("mean", Tensor::new(vec![2, 1], vec![0.0, 4.0]));
/// file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
/// file.insert("variance", Tensor::new(vec![1], vec![1.0]));
/// let model = Vq::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(2, 1, vec![3.0f32, f32::NAN])?);
/// let context = Context::new(0);
/// // The nearest mean; of a row without observed cells, the first.
/// assert_eq!(encode::<f32>(&model, &table, &context)?.values(), [0.0, 1.0, 1.0, 0.0]);
/// // Nothing observed tells nothing: the log density of no cells is 0.
/// assert!(score::<f32>(&model, &table, &context)?.rows[1].abs() < 1e-15);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Vq {
    states: usize,
    columns: usize,
    /// `[J, D]`.
    mean: Vec<f64>,
    /// `[J]`.
    state_prior: Vec<f64>,
    variance: f64,
    /// All columns belong to the one part: `[D, 1]`.
    gate: Vec<f64>,
}

impl Vq {
    /// `mean` is `[J, D]`, J the length of `state_prior`.
    pub(super) fn new(mean: Vec<f64>, state_prior: Vec<f64>, variance: f64) -> Self {
        let states = state_prior.len();
        let columns = mean.len() / states.max(1);
        Self { states, columns, mean, state_prior, variance, gate: vec![1.0; columns] }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of states, J.
    pub fn states(&self) -> usize {
        self.states
    }

    /// `[J, D]`: the means.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `[J]`: the share of rows nearest to each mean.
    pub fn state_prior(&self) -> &[f64] {
        &self.state_prior
    }

    /// The variance of a cell about its mean, the same in all columns and states.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Takes a model out of a file: `mean [J, D]`, `state_prior [J]` and `variance [1]`. `path` is
    /// what errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("vq"));
    /// let error = mereo_quantize::Vq::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `mean` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = match file.get("mean") {
            Some(mean) if mean.shape.len() == 2 => mean.shape.clone(),
            _ => vec![1; 2],
        };
        let mean = file.take_means("mean", &shape, path)?;
        let state_prior = file.take_distributions("state_prior", &shape[..1], path)?;
        let variance = file.take_variances("variance", &[1], path)?;
        Ok(Self::new(mean, state_prior, variance[0]))
    }

    /// The model as a file, to be given more to say about itself.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Manifest, Plan, Silent, Table};
    /// use mereo_quantize::{Vq, VqParams, vq};
    /// let table = Table::from(Dense::new(3, 1, vec![0.0, 1.0, 5.0])?);
    /// let (model, _) =
    ///     vq::fit(&VqParams::new(2), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// let file = model.to_file(Manifest::new("vq"));
    /// assert_eq!(Vq::from_file(file, "memory".as_ref())?, model);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (j, d) = (self.states, self.columns);
        let mut file = ModelFile::new(manifest);
        file.insert("mean", Tensor::new(vec![j, d], self.mean.clone()));
        file.insert("state_prior", Tensor::new(vec![j], self.state_prior.clone()));
        file.insert("variance", Tensor::new(vec![1], vec![self.variance]));
        file
    }

    fn densities(&self) -> Densities {
        Densities::new(self.columns, &self.mean, &vec![self.variance; self.mean.len()])
    }

    /// Calls `visit(row, state)` with the state nearest to each row of a batch.
    fn for_each_nearest<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(usize, usize)) {
        let slots = self.densities();
        let (mut cells, mut squares) = (RowCells::default(), vec![0.0; self.states]);
        for row in 0..batch.rows {
            cells.take(batch, row);
            slots.squares(&cells, &mut squares);
            visit(row, first_smallest(&squares));
        }
    }
}

impl<T: Real> Encode<T> for Vq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn code_width(&self) -> usize {
        self.states
    }

    /// 1 at the nearest state, 0 elsewhere.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        codes.fill(T::ZERO);
        self.for_each_nearest(batch, |row, state| codes[row * self.states + state] = T::ONE);
    }
}

impl<T: Real> Reconstruct<T> for Vq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// The nearest mean.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        self.for_each_nearest(batch, |row, state| {
            let mean = &self.mean[state * self.columns..(state + 1) * self.columns];
            let out = &mut out[row * self.columns..(row + 1) * self.columns];
            for (x, &m) in out.iter_mut().zip(mean) {
                *x = T::from_f64(m);
            }
        });
    }
}

impl<T: Real> Score<T> for Vq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Exact
    }

    /// `log Σ_j b_j N(x; μ_j, σ² I)` over the observed cells.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        let slots = self.densities();
        let (mut cells, mut logs) = (RowCells::default(), vec![0.0; self.states]);
        for (row, out) in out.iter_mut().enumerate() {
            cells.take(batch, row);
            slots.logs(&cells, &mut logs);
            for (log, b) in logs.iter_mut().zip(&self.state_prior) {
                *log += b.ln();
            }
            *out = softmax(&mut logs);
        }
    }
}

impl Sample for Vq {
    fn columns(&self) -> usize {
        self.columns
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let state = draw(&self.state_prior, random).unwrap_or(0);
        row.copy_from_slice(&self.mean[state * self.columns..(state + 1) * self.columns]);
        if noise {
            let deviation = self.variance.sqrt();
            for x in row {
                let normal: f64 = StandardNormal.sample(random);
                *x += deviation * normal;
            }
        }
    }
}

impl Parts for Vq {
    /// One part that all columns belong to fully.
    fn parts(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns,
            parts: 1,
            states: self.states,
            appearance: Appearance::States,
            gate: &self.gate,
            state_prior: &self.state_prior,
            mean: &self.mean,
        }
    }
}
