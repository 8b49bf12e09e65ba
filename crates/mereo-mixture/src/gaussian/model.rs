//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::softmax;
use mereo_core::slots::{Densities, RowCells};
use mereo_core::{
    Batch, Encode, Looks, Manifest, ModelFile, Parts, PartsView, Random, Real, Reconstruct, Result,
    Sample, Score, ScoreKind, Tensor, draw,
};
use rand_distr::{Distribution, StandardNormal};

/// A learned diagonal Gaussian mixture.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, reconstruct};
/// use mereo_mixture::Gmm;
/// let mut file = ModelFile::new(Manifest::new(Gmm::KIND));
/// file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 1.0, 9.0, 2.0]));
/// file.insert("variance", Tensor::new(vec![2, 2], vec![1.0; 4]));
/// file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
/// let model = Gmm::from_file(file, "by hand".as_ref())?;
/// // What was not observed is filled in by the component that explains what was.
/// let table = Table::from(Dense::new(1, 2, vec![9.0f64, f64::NAN])?);
/// let filled = reconstruct::<f64>(&model, &table, &Context::new(0))?;
/// assert!((filled.values()[1] - 2.0).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Gmm {
    components: usize,
    columns: usize,
    /// `[J, D]`.
    mean: Vec<f64>,
    /// `[J, D]`.
    variance: Vec<f64>,
    /// `[J]`.
    state_prior: Vec<f64>,
    /// All columns belong to the one part: `[D, 1]`.
    gate: Vec<f64>,
}

impl Gmm {
    /// The kind of model, as model files say it.
    pub const KIND: &'static str = "gmm";

    /// `mean` and `variance` are `[J, D]`, J the length of `state_prior`.
    pub(super) fn new(mean: Vec<f64>, variance: Vec<f64>, state_prior: Vec<f64>) -> Self {
        let components = state_prior.len();
        let columns = mean.len() / components.max(1);
        Self { components, columns, mean, variance, state_prior, gate: vec![1.0; columns] }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of components, J.
    pub fn components(&self) -> usize {
        self.components
    }

    /// `[J, D]`: the components' means.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `[J, D]`: the components' variances.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// `[J]`: how common each component is.
    pub fn state_prior(&self) -> &[f64] {
        &self.state_prior
    }

    /// Takes a model out of a file: `mean [J, D]`, `variance [J, D]` and `state_prior [J]`. `path`
    /// is what errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("gmm"));
    /// let error = mereo_mixture::Gmm::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `mean` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = match file.get("mean") {
            Some(mean) if mean.shape.len() == 2 => mean.shape.clone(),
            _ => vec![1; 2],
        };
        let mean = file.take_means("mean", &shape, path)?;
        let variance = file.take_variances("variance", &shape, path)?;
        let state_prior = file.take_distributions("state_prior", &shape[..1], path)?;
        Ok(Self::new(mean, variance, state_prior))
    }

    /// The model as a file, to be given more to say about itself.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Manifest, Plan, Silent, Table};
    /// use mereo_mixture::{Gmm, GmmParams, gaussian};
    /// let table = Table::from(Dense::new(3, 1, vec![0.0, 1.0, 5.0])?);
    /// let plan = Plan::default();
    /// let (model, _) =
    ///     gaussian::fit(&GmmParams::new(2), &table, &plan, &Context::new(0), &mut Silent)?;
    /// let file = model.to_file(Manifest::new(Gmm::KIND));
    /// assert_eq!(Gmm::from_file(file, "memory".as_ref())?, model);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (j, d) = (self.components, self.columns);
        let mut file = ModelFile::new(manifest);
        file.insert("mean", Tensor::new(vec![j, d], self.mean.clone()));
        file.insert("variance", Tensor::new(vec![j, d], self.variance.clone()));
        file.insert("state_prior", Tensor::new(vec![j], self.state_prior.clone()));
        file
    }

    /// Calls `visit(row, log density, responsibilities)` for each row of a batch.
    fn for_each_row<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(usize, f64, &[f64]),
    ) {
        let slots = Densities::new(self.columns, &self.mean, &self.variance);
        let log_prior: Vec<f64> = self.state_prior.iter().map(|b| b.ln()).collect();
        let (mut cells, mut logs) = (RowCells::default(), vec![0.0; self.components]);
        for row in 0..batch.rows {
            cells.take(batch, row);
            slots.logs(&cells, &mut logs);
            for (log, prior) in logs.iter_mut().zip(&log_prior) {
                *log += prior;
            }
            let density = softmax(&mut logs);
            visit(row, density, &logs);
        }
    }
}

impl<T: Real> Encode<T> for Gmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn code_width(&self) -> usize {
        self.components
    }

    /// The probability of each component, given the observed cells.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        self.for_each_row(batch, |row, _, responsible| {
            let code = &mut codes[row * self.components..(row + 1) * self.components];
            for (m, &r) in code.iter_mut().zip(responsible) {
                *m = T::of(r);
            }
        });
    }
}

impl<T: Real> Reconstruct<T> for Gmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `x̂_d = Σ_j r_j μ_jd`, taken about the mean of the likeliest component, so that offsets of
    /// the data cost no precision and a sure row comes back as its component's mean exactly.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let columns = self.columns;
        let mut apart = vec![0.0; columns];
        self.for_each_row(batch, |row, _, r| {
            let likeliest = (0..r.len()).fold(0, |best, j| if r[j] > r[best] { j } else { best });
            let centre = &self.mean[likeliest * columns..(likeliest + 1) * columns];
            apart.fill(0.0);
            for (mean, &r) in self.mean.chunks_exact(columns).zip(r) {
                if r > 0.0 {
                    for ((a, m), c) in apart.iter_mut().zip(mean).zip(centre) {
                        *a += r * (m - c);
                    }
                }
            }
            let out = &mut out[row * columns..(row + 1) * columns];
            for ((x, c), a) in out.iter_mut().zip(centre).zip(&apart) {
                *x = T::of(c + a);
            }
        });
    }
}

impl<T: Real> Score<T> for Gmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Exact
    }

    /// `log Σ_j b_j Π_d N(x_d; μ_jd, σ²_jd)` over the observed cells.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        self.for_each_row(batch, |row, density, _| out[row] = density);
    }
}

impl Sample for Gmm {
    fn columns(&self) -> usize {
        self.columns
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let component = draw(&self.state_prior, random).unwrap_or(0);
        let own = component * self.columns..(component + 1) * self.columns;
        row.copy_from_slice(&self.mean[own.clone()]);
        if noise {
            for (x, v) in row.iter_mut().zip(&self.variance[own]) {
                let normal: f64 = StandardNormal.sample(random);
                *x += v.sqrt() * normal;
            }
        }
    }
}

impl Parts for Gmm {
    /// One part that all columns belong to fully.
    fn parts(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns,
            parts: 1,
            states: self.components,
            looks: Looks::States,
            gate: &self.gate,
            state_prior: &self.state_prior,
            mean: &self.mean,
        }
    }
}
