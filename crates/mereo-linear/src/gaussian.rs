//! The linear Gaussian model under PCA, probabilistic PCA and factor analysis: what it thinks of
//! a row, whichever of its cells are observed.
//!
//! A row is `x = μ + Wᵀz + ε` with N hidden numbers `z ~ N(0, I)`, loadings W (`[N, D]`) and noise
//! `ε_d ~ N(0, ψ_d)` of its own in each column, so that `x ~ N(μ, WᵀW + Ψ)`. Of a row that is
//! observed in the columns O alone, with `y = x - μ` and `w_d` column d of W, Bayes' rule gives
//!
//! `P(z | x_O) = N(ẑ, M⁻¹)`, `M = I + Σ_{d∈O} w_d w_dᵀ/ψ_d`, `ẑ = M⁻¹ Σ_{d∈O} w_d y_d/ψ_d`,
//!
//! and the exact density, by the matrix determinant lemma and because ẑ minimises the sum,
//!
//! `-2 log P(x_O) = |O| log 2π + Σ_{d∈O} log ψ_d + log |M| + Σ_{d∈O} (y_d - w_dᵀẑ)²/ψ_d + ẑᵀẑ`.
//!
//! A missing cell is expected to be `μ_d + w_dᵀẑ`, and its variance is `ψ_d + w_dᵀM⁻¹w_d`.

use mereo_core::math::{HALF_LOG_TWO_PI, cholesky, cholesky_solve, dot, packed};
use mereo_core::{Batch, CellPrediction, Normal, Random, Real};
use rand_distr::{Distribution, StandardNormal};

/// Means, loadings and noise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gaussian {
    /// `[D]`.
    pub(crate) mean: Vec<f64>,
    /// `[N, D]`.
    pub(crate) loading: Vec<f64>,
    /// `[D]`.
    pub(crate) noise: Vec<f64>,
}

/// What the model thinks of a row.
pub(crate) struct Belief<'a> {
    /// Which row of the batch it is.
    pub(crate) row: usize,
    /// The log density of its observed cells.
    pub(crate) log_density: f64,
    /// `[N]`: the expectation of the hidden numbers.
    pub(crate) hidden: &'a [f64],
    /// The observed cells: column, and value less its mean.
    pub(crate) observed: &'a [(usize, f64)],
    /// Packed `[N]`: the Cholesky factor of M.
    pub(crate) factor: &'a [f64],
}

impl Gaussian {
    pub(crate) fn columns(&self) -> usize {
        self.mean.len()
    }

    pub(crate) fn components(&self) -> usize {
        self.loading.len() / self.mean.len().max(1)
    }

    /// Calls `visit` for each row of a batch.
    pub(crate) fn for_each_row<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(Belief<'_>),
    ) {
        let mut thought = Thought::new(self);
        for row in 0..batch.rows {
            visit(thought.of_row(self, batch, row));
        }
    }

    /// `Wᵀz`: how far from the mean a row is expected, given its hidden numbers.
    pub(crate) fn apart(&self, hidden: &[f64], row: &mut [f64]) {
        let d = self.columns();
        row.fill(0.0);
        for (z, loading) in hidden.iter().zip(self.loading.chunks_exact(d)) {
            row.iter_mut().zip(loading).for_each(|(x, w)| *x += z * w);
        }
    }

    /// `μ + Wᵀz`.
    fn expected(&self, hidden: &[f64], row: &mut [f64]) {
        self.apart(hidden, row);
        row.iter_mut().zip(&self.mean).for_each(|(x, m)| *x += m);
    }

    pub(crate) fn reconstruct_batch<T: Real>(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let d = self.columns();
        let mut expected = vec![0.0; d];
        self.for_each_row(batch, |belief| {
            self.expected(belief.hidden, &mut expected);
            let out = &mut out[belief.row * d..(belief.row + 1) * d];
            out.iter_mut().zip(&expected).for_each(|(x, e)| *x = T::from_f64(*e));
        });
    }

    /// Visits cells `(row, column)`, rows rising: `N(μ_d + w_dᵀẑ, ψ_d + w_dᵀM⁻¹w_d)`.
    pub(crate) fn predict_cells_batch<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    ) {
        let (n, d) = (self.components(), self.columns());
        let mut thought = Thought::new(self);
        let mut at = 0;
        for own in cells.chunk_by(|a, b| a.0 == b.0) {
            let belief = thought.of_row(self, batch, own[0].0);
            for &(_, column) in own {
                let loading: Vec<f64> = (0..n).map(|i| self.loading[i * d + column]).collect();
                let mut solved = loading.clone();
                cholesky_solve(belief.factor, n, &mut solved);
                let mean = self.mean[column] + dot(&loading, belief.hidden);
                let variance = self.noise[column] + dot(&loading, &solved).max(0.0);
                visit(at, &CellPrediction::normals(vec![Normal { weight: 1.0, mean, variance }]));
                at += 1;
            }
        }
    }

    pub(crate) fn encode_batch<T: Real>(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let n = self.components();
        self.for_each_row(batch, |belief| {
            let code = &mut codes[belief.row * n..(belief.row + 1) * n];
            code.iter_mut().zip(belief.hidden).for_each(|(c, z)| *c = T::from_f64(*z));
        });
    }

    pub(crate) fn score_batch<T: Real>(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        self.for_each_row(batch, |belief| out[belief.row] = belief.log_density);
    }

    pub(crate) fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let hidden: Vec<f64> =
            (0..self.components()).map(|_| StandardNormal.sample(random)).collect();
        self.expected(&hidden, row);
        if noise {
            for (x, v) in row.iter_mut().zip(&self.noise) {
                let normal: f64 = StandardNormal.sample(random);
                *x += v.sqrt() * normal;
            }
        }
    }
}

/// What thinking about rows needs, kept from row to row.
pub(crate) struct Thought {
    /// `[D, N]`.
    by_column: Vec<f64>,
    /// Packed `[N]`: the factor of M for the columns in `factored`, since neighbouring rows often
    /// miss the same cells; and `log |M| + Σ log ψ`.
    factor: Vec<f64>,
    factored: Option<Vec<usize>>,
    log_determinant: f64,
    observed: Vec<(usize, f64)>,
    hidden: Vec<f64>,
}

impl Thought {
    pub(crate) fn new(gaussian: &Gaussian) -> Self {
        let (n, d) = (gaussian.components(), gaussian.columns());
        let by_column =
            (0..d).flat_map(|c| (0..n).map(move |i| gaussian.loading[i * d + c])).collect();
        Self {
            by_column,
            factor: vec![0.0; packed(n)],
            factored: None,
            log_determinant: 0.0,
            observed: Vec::with_capacity(d),
            hidden: vec![0.0; n],
        }
    }

    /// What the model thinks of a row.
    pub(crate) fn of_row<T: Real>(
        &mut self,
        gaussian: &Gaussian,
        batch: &Batch<'_, T>,
        row: usize,
    ) -> Belief<'_> {
        let Self { by_column, factor, factored, log_determinant, observed, hidden } = self;
        let n = hidden.len();
        let of = |column: usize| &by_column[column * n..(column + 1) * n];
        observed.clear();
        batch.for_each_observed(row, |column, value| {
            observed.push((column, value.to_f64() - gaussian.mean[column]));
        });
        let columns = observed.iter().map(|(column, _)| *column);
        if !factored.as_ref().is_some_and(|f| f.iter().copied().eq(columns.clone())) {
            factor.fill(0.0);
            for i in 0..n {
                factor[packed(i) + i] = 1.0;
            }
            for column in columns.clone() {
                add_outer(factor, of(column), 1.0 / gaussian.noise[column]);
            }
            // Only numbers that overflow have no factor: nothing is known then.
            *log_determinant = cholesky(factor, n).unwrap_or(f64::INFINITY)
                + columns.clone().map(|c| gaussian.noise[c].ln()).sum::<f64>();
            *factored = Some(columns.collect());
        }
        hidden.fill(0.0);
        for &(column, y) in &*observed {
            let scaled = y / gaussian.noise[column];
            hidden.iter_mut().zip(of(column)).for_each(|(h, w)| *h += scaled * w);
        }
        cholesky_solve(factor, n, hidden);
        let mut square: f64 = hidden.iter().map(|z| z * z).sum();
        for &(column, y) in &*observed {
            let left = y - dot(of(column), hidden);
            square += left * left / gaussian.noise[column];
        }
        let mut log_density =
            -0.5 * (square + *log_determinant) - HALF_LOG_TWO_PI * observed.len() as f64;
        if !log_density.is_finite() || hidden.iter().any(|z| !z.is_finite()) {
            hidden.fill(0.0);
            log_density = f64::NEG_INFINITY;
        }
        Belief { row, log_density, hidden, observed, factor }
    }
}

/// Adds `scale v vᵀ` to a packed matrix.
pub(crate) fn add_outer(matrix: &mut [f64], vector: &[f64], scale: f64) {
    let mut at = 0;
    for (i, a) in vector.iter().enumerate() {
        let scaled = scale * a;
        for (m, b) in matrix[at..=at + i].iter_mut().zip(vector) {
            *m += scaled * b;
        }
        at += i + 1;
    }
}
