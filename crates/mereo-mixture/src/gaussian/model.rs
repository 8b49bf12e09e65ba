//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::{packed, softmax};
use mereo_core::slots::{Densities, RowCells};
use mereo_core::{
    Appearance, Batch, CellPrediction, Encode, Error, Manifest, ModelFile, Normal, Parts,
    PartsView, PredictCells, Random, Real, Reconstruct, Result, Sample, Score, ScoreKind, Tensor,
    draw,
};
use rand_distr::{Distribution, StandardNormal};

use super::Covariance;
use crate::covariances::rebuilt;
use crate::files::{can_whiten, mean_shape, take_covariances};
use crate::full::{Mixture, Shapes};

/// A learned Gaussian mixture.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, reconstruct};
/// use mereo_mixture::Gmm;
/// let mut file = ModelFile::new(Manifest::new("gmm"));
/// file.insert("weight", Tensor::new(vec![2], vec![0.5, 0.5]));
/// file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 1.0, 9.0, 2.0]));
/// file.insert("covariance", Tensor::new(vec![2, 2, 2], [1.0, 0.5, 0.5, 1.0].repeat(2)));
/// let model = Gmm::from_file(file, "by hand".as_ref())?;
/// // What was not observed is filled in by the component that explains what was.
/// let table = Table::from(Dense::new(1, 2, vec![10.0f64, f64::NAN])?);
/// let filled = reconstruct::<f64>(&model, &table, &Context::new(0))?;
/// assert!((filled.values()[1] - 2.5).abs() < 1e-6);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Gmm {
    components: usize,
    columns: usize,
    /// `[N]`.
    weight: Vec<f64>,
    /// `[N, D]`.
    mean: Vec<f64>,
    /// `[N, D]`.
    variance: Vec<f64>,
    spread: Spread,
    /// What answers for rows, if columns may go together.
    mixture: Option<Mixture>,
    /// All columns belong to the one part: `[D, 1]`.
    gate: Vec<f64>,
}

/// What there is beside variances.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Spread {
    Spherical,
    Diagonal,
    /// `[1, D, D]`.
    Tied(Vec<f64>),
    /// `[N, D, D]`.
    Full(Vec<f64>),
    /// `[N, D, K]` and `[N, D]`.
    LowRank {
        loading: Vec<f64>,
        noise: Vec<f64>,
    },
}

impl Gmm {
    /// `mean` and `variance` are `[N, D]`, N the length of `weight`.
    pub(super) fn new(
        weight: Vec<f64>,
        mean: Vec<f64>,
        variance: Vec<f64>,
        spread: Spread,
    ) -> Self {
        let components = weight.len();
        let columns = mean.len() / components.max(1);
        // Where there is no difference, there is one name.
        let spread = match spread {
            Spread::Spherical if columns == 1 => Spread::Diagonal,
            Spread::Tied(covariance) if components == 1 => Spread::Full(covariance),
            other => other,
        };
        let gate = vec![1.0; columns];
        Self { components, columns, weight, mean, variance, spread, mixture: None, gate }
    }

    /// Of a spread that says more than variances.
    pub(crate) fn of_spread(weight: Vec<f64>, mean: Vec<f64>, spread: Spread) -> Self {
        let (n, d) = (weight.len(), mean.len() / weight.len().max(1));
        let covariance = match &spread {
            Spread::Tied(covariance) | Spread::Full(covariance) => covariance.clone(),
            Spread::LowRank { loading, noise } => {
                let k = loading.len() / noise.len();
                let each = loading.chunks_exact(d * k).zip(noise.chunks_exact(d));
                each.flat_map(|(loading, noise)| rebuilt(loading, noise, d, k)).collect()
            }
            Spread::Spherical | Spread::Diagonal => Vec::new(),
        };
        let own = |component: usize| {
            if covariance.len() == d * d { 0 } else { component * d * d }
        };
        let variance = (0..n * d).map(|i| covariance[own(i / d) + i % d * (d + 1)]).collect();
        let shapes = Shapes {
            weight: &weight,
            mean: &mean,
            covariance: &covariance,
            scale: None,
            degrees: None,
            blur: 0.0,
        };
        let mixture = Some(Mixture::new(&shapes, d));
        Self { mixture, ..Self::new(weight, mean, variance, spread) }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of components, N.
    pub fn components(&self) -> usize {
        self.components
    }

    /// `[N, D]`: the components' means.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `[N, D]`: the components' variances in each column.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// `[N]`: how common each component is.
    pub fn weight(&self) -> &[f64] {
        &self.weight
    }

    /// What the covariances are.
    pub fn covariance(&self) -> Covariance {
        match self.spread {
            Spread::Spherical => Covariance::Spherical,
            Spread::Diagonal => Covariance::Diagonal,
            Spread::Tied(_) => Covariance::Tied,
            Spread::Full(_) => Covariance::Full,
            Spread::LowRank { .. } => Covariance::LowRank,
        }
    }

    /// How many numbers were free to be learned: what AIC and BIC count.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("gmm"));
    /// # file.insert("weight", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("mean", Tensor::new(vec![2, 3], vec![0.0; 6]));
    /// # file.insert("variance", Tensor::new(vec![2, 3], vec![1.0; 6]));
    /// let model = mereo_mixture::Gmm::from_file(file, "by hand".as_ref())?;
    /// assert_eq!(model.free_parameters(), 1 + 6 + 6);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn free_parameters(&self) -> usize {
        let (n, d) = (self.components, self.columns);
        let spread = match &self.spread {
            Spread::Spherical => n,
            Spread::Diagonal => n * d,
            Spread::Tied(_) => packed(d),
            Spread::Full(_) => n * packed(d),
            // Factors can be rotated.
            Spread::LowRank { loading, noise } => {
                let k = loading.len() / noise.len();
                (n * d * (k + 1)).saturating_sub(n * packed(k - 1))
            }
        };
        n - 1 + n * d + spread
    }

    /// Takes a model out of a file: `weight [N]` (in older files `state_prior`), `mean [N, D]`, and
    /// one of `variance [N, D]` or `[N, 1]`, `covariance [N, D, D]` or `[1, D, D]`, `loading [N, D, K]` with
    /// `noise [N, D]`. `path` is what errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("gmm"));
    /// let error = mereo_mixture::Gmm::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `mean` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = mean_shape(&file);
        let (n, d) = (shape[0], shape[1]);
        let mean = file.take_means("mean", &shape, path)?;
        let name = if file.get("state_prior").is_some() { "state_prior" } else { "weight" };
        let weight = file.take_distributions(name, &[n], path)?;
        let first =
            |file: &ModelFile, name: &str| file.get(name).and_then(|t| t.shape.first().copied());
        if file.get("covariance").is_some() {
            let tied = n > 1 && first(&file, "covariance") == Some(1);
            let covariance =
                take_covariances(&mut file, "covariance", if tied { 1 } else { n }, d, path)?;
            let spread = if tied { Spread::Tied(covariance) } else { Spread::Full(covariance) };
            return Ok(Self::of_spread(weight, mean, spread));
        }
        if let Some(loading) = file.get("loading") {
            let factors = loading.shape.last().copied().unwrap_or(1);
            let loading = file.take_means("loading", &[n, d, factors], path)?;
            let noise = file.take_variances("noise", &shape, path)?;
            // Noise that vanishes beside the loadings leaves directions in which nothing varies.
            let mut each = loading.chunks_exact(d * factors).zip(noise.chunks_exact(d));
            let vanishes = |(loading, noise)| !can_whiten(&rebuilt(loading, noise, d, factors), d);
            if let Some(component) = each.position(vanishes) {
                let problem = format!(
                    "component {component} of `loading` and `noise` has no density: its noise is too small"
                );
                return Err(Error::model_file(path, problem));
            }
            return Ok(Self::of_spread(weight, mean, Spread::LowRank { loading, noise }));
        }
        let spherical = d > 1 && file.get("variance").is_some_and(|t| t.shape == [n, 1]);
        let variance =
            file.take_variances("variance", &[n, if spherical { 1 } else { d }], path)?;
        Ok(if spherical {
            let all = variance.iter().flat_map(|&v| std::iter::repeat_n(v, d)).collect();
            Self::new(weight, mean, all, Spread::Spherical)
        } else {
            Self::new(weight, mean, variance, Spread::Diagonal)
        })
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
    /// let file = model.to_file(Manifest::new("gmm"));
    /// assert_eq!(Gmm::from_file(file, "memory".as_ref())?, model);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (n, d) = (self.components, self.columns);
        let mut file = ModelFile::new(manifest);
        file.insert("weight", Tensor::new(vec![n], self.weight.clone()));
        file.insert("mean", Tensor::new(vec![n, d], self.mean.clone()));
        match &self.spread {
            Spread::Spherical => {
                let variance = self.variance.iter().step_by(d.max(1)).copied().collect();
                file.insert("variance", Tensor::new(vec![n, 1], variance));
            }
            Spread::Diagonal => {
                file.insert("variance", Tensor::new(vec![n, d], self.variance.clone()));
            }
            Spread::Tied(covariance) => {
                file.insert("covariance", Tensor::new(vec![1, d, d], covariance.clone()));
            }
            Spread::Full(covariance) => {
                file.insert("covariance", Tensor::new(vec![n, d, d], covariance.clone()));
            }
            Spread::LowRank { loading, noise } => {
                let k = loading.len() / noise.len();
                file.insert("loading", Tensor::new(vec![n, d, k], loading.clone()));
                file.insert("noise", Tensor::new(vec![n, d], noise.clone()));
            }
        }
        file
    }

    /// Calls `visit(row, log density, responsibilities)` for each row of a batch.
    fn for_each_row<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(usize, f64, &[f64]),
    ) {
        let slots = Densities::new(self.columns, &self.mean, &self.variance);
        let log_prior: Vec<f64> = self.weight.iter().map(|b| b.ln()).collect();
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
        if let Some(mixture) = &self.mixture {
            return mixture.encode_batch(batch, codes);
        }
        self.for_each_row(batch, |row, _, responsible| {
            let code = &mut codes[row * self.components..(row + 1) * self.components];
            for (m, &r) in code.iter_mut().zip(responsible) {
                *m = T::from_f64(r);
            }
        });
    }
}

impl<T: Real> Reconstruct<T> for Gmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `x̂_d = Σ_j r_j μ_jd` (where columns may go together, in missing cells the expectation given the
    /// observed ones), taken about the mean of the likeliest component, so that offsets of
    /// the data cost no precision and a sure row comes back as its component's mean exactly.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        if let Some(mixture) = &self.mixture {
            return mixture.reconstruct_batch(batch, out);
        }
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
                *x = T::from_f64(c + a);
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

    /// `log Σ_j b_j N(x; μ_j, Σ_j)` over the observed cells.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        if let Some(mixture) = &self.mixture {
            return mixture.score_batch(batch, out);
        }
        self.for_each_row(batch, |row, density, _| out[row] = density);
    }
}

impl<T: Real> PredictCells<T> for Gmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `Σ_j r_j N(μ_jd, σ²_jd)`, of components whose columns do not go together.
    fn predict_cells_batch(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    ) {
        let mut at = 0;
        self.for_each_row(batch, |row, _, responsible| {
            while let Some(&(_, column)) = cells.get(at).filter(|cell| cell.0 == row) {
                let share = |(j, &weight): (usize, &f64)| {
                    let i = j * self.columns + column;
                    Normal { weight, mean: self.mean[i], variance: self.variance[i] }
                };
                let shares = responsible.iter().enumerate().map(share).collect();
                visit(at, &CellPrediction::normals(shares));
                at += 1;
            }
        });
    }
}

impl Sample for Gmm {
    fn columns(&self) -> usize {
        self.columns
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        if let Some(mixture) = &self.mixture {
            return mixture.sample_row(random, noise, row);
        }
        let component = draw(&self.weight, random).unwrap_or(0);
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
            appearance: Appearance::States,
            gate: &self.gate,
            state_prior: &self.weight,
            mean: &self.mean,
        }
    }
}
