//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::packed;
use mereo_core::{
    Batch, CellPrediction, Components, ComponentsView, Encode, Error, Manifest, ModelFile, Normal,
    PredictCells, Random, Real, Reconstruct, Result, Sample, Score, ScoreKind, Tensor,
};
use rand_distr::{Distribution, StandardNormal};

use super::items::{Items, Row};
use super::learner::{BfaLearner, State};
use super::ordinal::Cuts;

/// Learned Bayesian factor analysis.
///
/// ```
/// use mereo_core::{CellPrediction, Context, Dense, Manifest, ModelFile, Table, Tensor, predict_cells};
/// use mereo_ratings::Bfa;
/// let mut file = ModelFile::new(Manifest::new("bfa"));
/// file.insert("mean", Tensor::new(vec![2], vec![3.0, 4.0]));
/// file.insert("component", Tensor::new(vec![1, 2], vec![0.0, 0.0]));
/// file.insert("covariance", Tensor::new(vec![2, 3], vec![0.0; 6]));
/// file.insert("noise", Tensor::new(vec![2], vec![1.0, 1.0]));
/// file.insert("bias_variance", Tensor::new(vec![1], vec![1.0]));
/// let model = Bfa::from_file(file, "by hand".as_ref())?;
/// // Who rates one thing a star above its mean may rate all things half a star above.
/// let table = Table::from(Dense::new(1, 2, vec![4.0, f64::NAN])?);
/// let told =
///     predict_cells::<f64, _>(&model, &table, &[(0, 1)], &Context::new(0), CellPrediction::mean)?;
/// assert!((told[0] - 4.5).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bfa {
    /// `[D]`: expected means, of latent values where cells show levels.
    centre: Vec<f64>,
    /// `[N, D]`.
    component: Vec<f64>,
    /// `[D, packed N + 1]`: of loadings and mean.
    covariance: Vec<f64>,
    /// `[D]`.
    noise: Vec<f64>,
    bias_variance: f64,
    /// `[N]`.
    explained: Vec<f64>,
    items: Items,
    /// If cells show levels: the latent values' cut points, and `[D]` what each column is expected to show.
    cuts: Option<Cuts>,
    shown: Vec<f64>,
}

impl PartialEq for Bfa {
    fn eq(&self, other: &Self) -> bool {
        self.centre == other.centre
            && self.component == other.component
            && self.covariance == other.covariance
            && self.noise == other.noise
            && self.bias_variance == other.bias_variance
            && self.cuts == other.cuts
            && self.items.chosen == other.items.chosen
    }
}

impl Bfa {
    pub(super) fn of(learner: &BfaLearner, state: &State) -> Self {
        let (scale, n) = (&learner.scale, learner.params.factors);
        let (q, d) = (n + 2, scale.columns());
        let latent = state.cuts.is_some();
        let unit = if latent { 1.0 } else { scale.unit };
        let square = unit * unit;
        let offset = |column: usize| state.mean[column * q + n + 1];
        let of = |column: usize| {
            if latent { offset(column) } else { scale.outward(column, offset(column)) }
        };
        let mean = (0..d).map(of);
        let component = (0..n * d).map(|i| unit * state.mean[i % d * q + i / d]).collect();
        Self::new(
            mean.collect(),
            component,
            state.covariance.iter().map(|v| v * square).collect(),
            state.noise.iter().map(|v| v * square).collect(),
            square / state.bias_precision,
            state.cuts.clone(),
            state.chosen.clone(),
        )
    }

    fn new(
        mean: Vec<f64>,
        component: Vec<f64>,
        covariance: Vec<f64>,
        noise: Vec<f64>,
        bias_variance: f64,
        cuts: Option<Cuts>,
        chosen: Vec<f64>,
    ) -> Self {
        let d = mean.len();
        let n = component.len() / d;
        // Cells are measured from their column's mean, so that offsets cost no precision. Latent values are not.
        let mut loading = Vec::with_capacity(d * (n + 2));
        for column in 0..d {
            loading.extend((0..n).map(|i| component[i * d + column]));
            loading.extend([1.0, if cuts.is_some() { mean[column] } else { 0.0 }]);
        }
        let items = Items::new(n, loading, &covariance, noise.clone(), 1.0 / bias_variance)
            .with_chosen(chosen);
        let explained = component.chunks_exact(d).map(|w| w.iter().map(|w| w * w).sum()).collect();
        let shown = match &cuts {
            None => mean.clone(),
            Some(cuts) => {
                let nobody = Row::of_nobody(n + 1);
                let of = |column: usize| {
                    cuts.predict(items.predict(column, &nobody).0, noise[column]).mean()
                };
                (0..d).map(of).collect()
            }
        };
        let centre = mean;
        Self { centre, component, covariance, noise, bias_variance, explained, items, cuts, shown }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.centre.len()
    }

    /// Number of factors, N.
    pub fn factors(&self) -> usize {
        self.items.factors
    }

    /// `[D]`: the expected mean of each column; where cells show levels, what a row of no factors is expected to show.
    pub fn mean(&self) -> &[f64] {
        &self.shown
    }

    /// Takes a model out of a file: `mean [D]`, `component [N, D]`, `covariance [D, (N+1)(N+2)/2]` of each column's
    /// loadings and mean, the lower triangle row by row, `noise [D]` and `bias_variance [1]`; if it says something which columns a row observes, `chosen [D, N]`; where cells show levels also `level [L]` and
    /// `cut [L-1]`, and the others are of latent values. `path` is what errors call the file.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = match file.get("component").map(|t| t.shape.as_slice()) {
            Some(&[n, d]) => [n, d],
            _ => [1, 1],
        };
        let [n, d] = shape;
        let component = file.take_means("component", &shape, path)?;
        let mean = file.take_means("mean", &[d], path)?;
        let covariance = file.take_covariances("covariance", &[d], n + 1, path)?;
        let noise = file.take_variances("noise", &[d], path)?;
        let bias_variance = file.take_variances("bias_variance", &[1], path)?[0];
        let cuts = match file.get("level").map(|t| t.shape.clone()).as_deref() {
            Some(&[levels]) => {
                let level = file.take_means("level", &[levels], path)?;
                let cut = file.take_means("cut", &[levels.saturating_sub(1)], path)?;
                let checked = Cuts::checked(level, cut);
                Some(checked.map_err(|e| Error::model_file(path, e.to_string()))?)
            }
            _ => None,
        };
        let chosen = match file.get("chosen") {
            Some(_) => file.take_means("chosen", &[d, n], path)?,
            None => Vec::new(),
        };
        Ok(Self::new(mean, component, covariance, noise, bias_variance, cuts, chosen))
    }

    /// The model as a file with this manifest.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (n, d) = (self.factors(), self.columns());
        let mut file = ModelFile::new(manifest);
        file.insert("mean", Tensor::new(vec![d], self.centre.clone()));
        file.insert("component", Tensor::new(vec![n, d], self.component.clone()));
        file.insert("covariance", Tensor::new(vec![d, packed(n + 1)], self.covariance.clone()));
        file.insert("noise", Tensor::new(vec![d], self.noise.clone()));
        file.insert("bias_variance", Tensor::new(vec![1], vec![self.bias_variance]));
        if !self.items.chosen.is_empty() {
            file.insert("chosen", Tensor::new(vec![d, n], self.items.chosen.clone()));
        }
        if let Some(cuts) = &self.cuts {
            file.insert("level", Tensor::new(vec![cuts.levels.len()], cuts.levels.0.clone()));
            file.insert("cut", Tensor::new(vec![cuts.cuts.len()], cuts.cuts.clone()));
        }
        file
    }

    /// Finds what is to be believed of a row of a batch; returns its bound.
    fn understand<T: Real>(&self, batch: &Batch<'_, T>, number: usize, row: &mut Row) -> f64 {
        let mut cells = Vec::with_capacity(batch.stored(number));
        if let Some(cuts) = &self.cuts {
            batch.for_each_observed(number, |d, x| cells.push((d, x.to_f64())));
            return self.items.understand_levels(cuts, &cells, row, &mut Vec::new());
        }
        batch.for_each_observed(number, |d, x| cells.push((d, x.to_f64() - self.centre[d])));
        self.items.understand(&cells, row)
    }

    /// `E[x] - E[c]` of a cell, given `E[z]` and `E[b]`.
    fn apart(&self, hidden: &[f64], column: usize) -> f64 {
        let (n, d) = (self.factors(), self.columns());
        (0..n).map(|i| hidden[i] * self.component[i * d + column]).sum::<f64>() + hidden[n]
    }
}

impl Components for Bfa {
    fn component_view(&self) -> ComponentsView<'_> {
        ComponentsView {
            columns: self.columns(),
            component: &self.component,
            mean: Some(&self.shown),
            explained_variance: Some(&self.explained),
            total_variance: None,
        }
    }
}

impl<T: Real> Encode<T> for Bfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn code_width(&self) -> usize {
        self.factors() + 1
    }

    fn code_names(&self) -> Option<Vec<String>> {
        let factors = (0..self.factors()).map(|i| format!("factor{i}"));
        Some(factors.chain(["bias".to_owned()]).collect())
    }

    /// The expected factors of the row, then its bias.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let mut row = Row::default();
        for (number, code) in codes.chunks_exact_mut(self.factors() + 1).enumerate() {
            self.understand(batch, number, &mut row);
            let pairs = code.iter_mut().zip(&row.mean);
            pairs.for_each(|(c, m)| *c = T::from_f64(m.clamp(-T::LARGEST, T::LARGEST)));
        }
    }
}

impl<T: Real> Reconstruct<T> for Bfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    /// `E[c] + E[b] + E[w]·E[z]`, in every column; the expected level, where cells show levels.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let mut row = Row::default();
        for (number, out) in out.chunks_exact_mut(self.columns().max(1)).enumerate() {
            self.understand(batch, number, &mut row);
            for (column, out) in out.iter_mut().enumerate() {
                let x = match &self.cuts {
                    None => self.centre[column] + self.apart(&row.mean, column),
                    Some(cuts) => {
                        let (mean, variance) = self.items.predict(column, &row);
                        cuts.predict(mean, variance).mean()
                    }
                };
                *out = T::from_f64(x.clamp(-T::LARGEST, T::LARGEST));
            }
        }
    }
}

impl<T: Real> Score<T> for Bfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Bound
    }

    fn takes_levels(&self) -> bool {
        self.cuts.is_some()
    }

    /// A bound on the log density of the observed cells, columns averaged over what is believed of them.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        let mut row = Row::default();
        for (number, out) in out.iter_mut().enumerate() {
            *out = self.understand(batch, number, &mut row);
        }
    }
}

impl<T: Real> PredictCells<T> for Bfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    /// Gaussian, as sure as row and column are known; probabilities of levels, where cells show levels.
    fn predict_cells_batch(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    ) {
        let (mut row, mut at) = (Row::default(), 0);
        for own in cells.chunk_by(|a, b| a.0 == b.0) {
            self.understand(batch, own[0].0, &mut row);
            for &(_, column) in own {
                let (apart, variance) = self.items.predict(column, &row);
                if let Some(cuts) = &self.cuts {
                    visit(at, &cuts.predict(apart, variance));
                    at += 1;
                    continue;
                }
                let mean = self.centre[column] + apart;
                let share = Normal { weight: 1.0, mean, variance };
                visit(at, &CellPrediction::normals(vec![share]));
                at += 1;
            }
        }
    }
}

impl Sample for Bfa {
    fn columns(&self) -> usize {
        self.centre.len()
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let n = self.factors();
        let mut hidden: Vec<f64> = (0..=n).map(|_| StandardNormal.sample(random)).collect();
        hidden[n] *= self.bias_variance.sqrt();
        for (column, x) in row.iter_mut().enumerate() {
            *x = self.centre[column] + self.apart(&hidden, column);
            if noise {
                let normal: f64 = StandardNormal.sample(random);
                *x += self.noise[column].sqrt() * normal;
            }
            if let Some(cuts) = &self.cuts {
                *x = if noise {
                    cuts.level(*x)
                } else {
                    cuts.predict(*x, self.noise[column]).mean()
                };
            }
        }
    }
}
