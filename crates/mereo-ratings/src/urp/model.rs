//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::slots::RowCells;
use mereo_core::{
    Appearance, Batch, CellPrediction, Encode, Error, Manifest, ModelFile, Parts, PartsView,
    PredictCells, Random, Real, Reconstruct, Result, Sample, Tensor, draw,
};
use rand_distr::{Distribution, Gamma};

use super::learner::{Belief, State, UrpLearner};
use crate::levels::Levels;

/// Learned rating profiles.
///
/// ```
/// use mereo_core::{CellPrediction, Context, Dense, Manifest, ModelFile, Table, Tensor, predict_cells};
/// use mereo_ratings::Urp;
/// let mut file = ModelFile::new(Manifest::new("urp"));
/// // Those who loathe both columns and those who love them, on a scale of two.
/// file.insert("level", Tensor::new(vec![2, 2, 2], vec![0.9, 0.1, 0.9, 0.1, 0.1, 0.9, 0.1, 0.9]));
/// file.insert("value", Tensor::new(vec![2], vec![1.0, 5.0]));
/// file.insert("prior", Tensor::new(vec![2], vec![0.1, 0.1]));
/// let model = Urp::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(1, 2, vec![5.0, f64::NAN])?);
/// let cells = [(0, 1)];
/// let median = predict_cells::<f64, _>(&model, &table, &cells, &Context::new(0), CellPrediction::median)?;
/// assert_eq!(median, [5.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Urp {
    profiles: usize,
    columns: usize,
    levels: Levels,
    /// `[N, D, L]`.
    level: Vec<f64>,
    /// `[N]`: α.
    prior: Vec<f64>,
    /// `[N, D]`: expected cells.
    mean: Vec<f64>,
    /// `[N]`: α as shares.
    weight: Vec<f64>,
    /// `[D, 1]`, for the view of parts.
    gate: Vec<f64>,
}

impl Urp {
    pub(super) fn of(learner: &UrpLearner, state: &State) -> Self {
        let (n, d, l) = (learner.params.profiles, learner.columns, learner.levels.len());
        let at = |i: usize| (i / l % d * l + i % l) * n + i / (d * l);
        let level = (0..n * d * l).map(|i| state.level[at(i)]).collect();
        Self::new(learner.levels.clone(), level, state.prior.clone())
    }

    fn new(levels: Levels, level: Vec<f64>, prior: Vec<f64>) -> Self {
        let (profiles, l) = (prior.len(), levels.len());
        let mean: Vec<f64> = level
            .chunks_exact(l)
            .map(|own| {
                let first = levels.0[0];
                let apart = own.iter().zip(&levels.0).map(|(p, v)| p * (v - first));
                first + apart.sum::<f64>()
            })
            .collect();
        let columns = mean.len() / profiles;
        let all: f64 = prior.iter().sum();
        let weight = prior.iter().map(|a| a / all).collect();
        Self { profiles, columns, levels, level, prior, mean, weight, gate: vec![1.0; columns] }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of profiles, N.
    pub fn profiles(&self) -> usize {
        self.profiles
    }

    /// `[L]`: the levels of the scale.
    pub fn levels(&self) -> &[f64] {
        &self.levels.0
    }

    /// Takes a model out of a file: `level [N, D, L]`, probabilities; `value [L]`, rising; `prior [N]`, above 0.
    /// `path` is what errors call the file.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = match file.get("level").map(|t| t.shape.as_slice()) {
            Some(&[n, d, l]) => [n, d, l],
            _ => [1, 1, 1],
        };
        let level = file.take_distributions("level", &shape, path)?;
        let value = file.take_means("value", &shape[2..], path)?;
        let prior = file.take_variances("prior", &shape[..1], path)?;
        if value.windows(2).any(|pair| !(pair[0] < pair[1])) {
            return Err(Error::model_file(path, "the levels in `value` do not rise"));
        }
        if prior.iter().any(|a| !(1e-12..=1e12).contains(a)) {
            return Err(Error::model_file(path, "`prior` has numbers outside 1e-12 to 1e12"));
        }
        Ok(Self::new(Levels(value), level, prior))
    }

    /// The model as a file with this manifest.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (n, d, l) = (self.profiles, self.columns, self.levels.len());
        let mut file = ModelFile::new(manifest);
        file.insert("level", Tensor::new(vec![n, d, l], self.level.clone()));
        file.insert("value", Tensor::new(vec![l], self.levels.0.clone()));
        file.insert("prior", Tensor::new(vec![n], self.prior.clone()));
        file
    }

    fn levels_of(&self, profile: usize, column: usize) -> &[f64] {
        let l = self.levels.len();
        let start = (profile * self.columns + column) * l;
        &self.level[start..start + l]
    }

    /// Calls `visit(row, expected shares)` for each row of a batch.
    fn for_each_row<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(usize, &[f64])) {
        let n = self.profiles;
        let (mut cells, mut belief) = (RowCells::default(), Belief::default());
        let (mut given, mut shares) = (Vec::new(), vec![0.0; n]);
        for row in 0..batch.rows {
            cells.take(batch, row);
            given.clear();
            for (d, x) in cells.iter() {
                let level = self.levels.nearest(x);
                given.extend((0..n).map(|z| self.levels_of(z, d)[level]));
            }
            belief.find(&self.prior, given.chunks_exact(n));
            let all: f64 = belief.gamma.iter().sum();
            shares.iter_mut().zip(&belief.gamma).for_each(|(s, g)| *s = g / all);
            visit(row, &shares);
        }
    }
}

impl<T: Real> Encode<T> for Urp {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn code_width(&self) -> usize {
        self.profiles
    }

    /// The row's expected shares of the profiles.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        self.for_each_row(batch, |row, shares| {
            let code = &mut codes[row * self.profiles..(row + 1) * self.profiles];
            code.iter_mut().zip(shares).for_each(|(c, s)| *c = T::from_f64(*s));
        });
    }
}

impl<T: Real> Reconstruct<T> for Urp {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// The expected level, in every column.
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

impl<T: Real> PredictCells<T> for Urp {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `P(l) = Σ_z E[θ_z] β_zdl`.
    fn predict_cells_batch(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    ) {
        let mut at = 0;
        self.for_each_row(batch, |row, shares| {
            while let Some(&(_, column)) = cells.get(at).filter(|cell| cell.0 == row) {
                let mut levels: Vec<(f64, f64)> = self.levels.0.iter().map(|v| (*v, 0.0)).collect();
                for (z, share) in shares.iter().enumerate() {
                    let own = levels.iter_mut().zip(self.levels_of(z, column));
                    own.for_each(|((_, sum), p)| *sum += share * p);
                }
                visit(at, &CellPrediction::Levels(levels));
                at += 1;
            }
        });
    }
}

impl Sample for Urp {
    fn columns(&self) -> usize {
        self.columns
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        // A Dirichlet draw is gamma draws by their sum. Small shapes can all come out as 0: then the prior's own shares.
        let mut shares: Vec<f64> = self
            .prior
            .iter()
            .map(|a| Gamma::new(*a, 1.0).map_or(0.0, |gamma| gamma.sample(random)))
            .collect();
        let all: f64 = shares.iter().sum();
        if all > 0.0 && all.is_finite() {
            shares.iter_mut().for_each(|s| *s /= all);
        } else {
            shares.clone_from(&self.weight);
        }
        for (column, x) in row.iter_mut().enumerate() {
            *x = if noise {
                let profile = draw(&shares, random).unwrap_or(0);
                self.levels.0[draw(self.levels_of(profile, column), random).unwrap_or(0)]
            } else {
                let expected = |(z, s): (usize, &f64)| s * self.mean[z * self.columns + column];
                shares.iter().enumerate().map(expected).sum()
            };
        }
    }
}

impl Parts for Urp {
    /// One part that all columns belong to fully, the profiles its states.
    fn parts(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns,
            parts: 1,
            states: self.profiles,
            appearance: Appearance::States,
            gate: &self.gate,
            state_prior: &self.weight,
            mean: &self.mean,
        }
    }
}
