//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::{Array, HALF_LOG_TWO_PI, Matrix};
use mereo_core::{
    Appearance, Batch, Encode, Error, Manifest, ModelFile, Parts, PartsView, Random, Real,
    Reconstruct, Result, Sample, Score, ScoreKind, Tensor, draw,
};
use rand_distr::{Distribution, StandardNormal};

use super::Inference;
use super::sums::{Explainer, Seen, Sums, products};

/// The largest magnitude of a vector: squares of sums of these stay finite.
const LARGEST: f64 = 1e130;
/// Most vectors: their products are held.
const MOST_VECTORS: usize = 4096;

/// Learned codebooks whose vectors add up.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, encode, reconstruct};
/// use mereo_quantize::Cvq;
/// let mut file = ModelFile::new(Manifest::new("cvq"));
/// file.insert("mean", Tensor::new(vec![2, 2, 1], vec![0.0, 1.0, 0.0, 10.0]));
/// file.insert("state_prior", Tensor::new(vec![2, 2], vec![0.5; 4]));
/// file.insert("variance", Tensor::new(vec![1], vec![0.01]));
/// let model = Cvq::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(1, 1, vec![11.1])?);
/// let context = Context::new(0);
/// assert_eq!(encode::<f64>(&model, &table, &context)?.values(), [0.0, 1.0, 0.0, 1.0]);
/// assert_eq!(reconstruct::<f64>(&model, &table, &context)?.values(), [11.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cvq {
    parts: usize,
    states: usize,
    columns: usize,
    /// `[K, J, D]`.
    mean: Vec<f64>,
    /// `[K, J]`.
    state_prior: Vec<f64>,
    variance: f64,
    inference: Inference,
    /// Every column belongs to all parts alike: `[D, K]`.
    gate: Vec<f64>,
    /// See [`Appearance::Sums`], `[K, J, D]`.
    appearance: Vec<f64>,
}

impl Cvq {
    pub(super) fn new(
        parts: usize,
        mean: Vec<f64>,
        state_prior: Vec<f64>,
        variance: f64,
        inference: Inference,
    ) -> Self {
        let states = state_prior.len() / parts.max(1);
        let columns = mean.len() / state_prior.len().max(1);
        let gate = vec![1.0 / parts as f64; columns * parts];
        let looks = looks(&mean, &state_prior, states, columns);
        Self {
            parts,
            states,
            columns,
            mean,
            state_prior,
            variance,
            inference,
            gate,
            appearance: looks,
        }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// `[K, J, D]`: the vectors.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `[K, J]`: how likely each state is.
    pub fn state_prior(&self) -> &[f64] {
        &self.state_prior
    }

    /// The variance of a cell about the sum.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The same model with codes found in another way.
    #[must_use]
    pub fn with_inference(mut self, inference: Inference) -> Self {
        self.inference = inference;
        self
    }

    /// Takes a model out of a file: `mean [K, J, D]`, `state_prior [K, J]` and `variance [1]`. `path`
    /// is what errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("cvq"));
    /// let error = mereo_quantize::Cvq::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `mean` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let mean = file.take("mean", 3, path)?;
        let [parts, states, _] = mean.shape[..] else {
            return Err(Error::model_file(path, "`mean` has no three indices"));
        };
        if parts.saturating_mul(states) > MOST_VECTORS {
            let problem = format!("it has more than {MOST_VECTORS} vectors");
            return Err(Error::model_file(path, problem));
        }
        if let Some(at) = mean.values.iter().position(|v| v.abs() > LARGEST) {
            let problem = format!(
                "`mean` holds {:e} at position {at}, expected a magnitude of at most {LARGEST:e}",
                mean.values[at]
            );
            return Err(Error::model_file(path, problem));
        }
        let prior = file.take_distributions("state_prior", &[parts, states], path)?;
        let variance = file.take_variances("variance", &[1], path)?;
        Ok(Self::new(parts, mean.values, prior, variance[0], Inference::Local))
    }

    /// The model as a file, to be given more to say about itself.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (k, j, d) = (self.parts, self.states, self.columns);
        let mut file = ModelFile::new(manifest);
        file.insert("mean", Tensor::new(vec![k, j, d], self.mean.clone()));
        file.insert("state_prior", Tensor::new(vec![k, j], self.state_prior.clone()));
        file.insert("variance", Tensor::new(vec![1], vec![self.variance]));
        file
    }

    /// Calls `visit(row, responsibilities, expected square, divergence, observed cells)`.
    fn for_each_code<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(usize, &[f64], f64, f64, usize),
    ) {
        let sums = Sums {
            parts: self.parts,
            states: self.states,
            inference: self.inference,
            variance: self.variance,
            log_prior: self.state_prior.iter().map(|b| b.max(1e-300).ln()).collect(),
        };
        // Distances are from the mean code, so that offsets cost no precision.
        let centre = self.centre();
        let shifted = self.shifted();
        let mean = Matrix::new(&shifted, self.parts * self.states, self.columns);
        let (mut all, mut some) = (Array::default(), Array::default());
        products(mean, None, &mut all);
        let mut explainer = Explainer::default();
        let (mut observed, mut values, mut reach) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..batch.rows {
            observed.clear();
            values.clear();
            batch.for_each_observed(row, |c, x| {
                observed.push(c);
                values.push(x.to_f64() - centre[c]);
            });
            let complete = observed.len() == self.columns;
            if !complete {
                products(mean, Some(&observed), &mut some);
            }
            reach.clear();
            reach.extend(
                shifted.chunks_exact(self.columns).map(|mean| {
                    observed.iter().zip(&values).map(|(&c, x)| mean[c] * x).sum::<f64>()
                }),
            );
            let products = if complete { all.view() } else { some.view() };
            let (square, divergence) =
                sums.explain(Seen { reach: &reach, products }, None, &mut explainer);
            let own: f64 = values.iter().map(|x| x * x).sum();
            let square = (own + square).clamp(0.0, 1e290);
            visit(row, &explainer.code, square, divergence, observed.len());
        }
    }

    /// The mean of all codes.
    fn centre(&self) -> Vec<f64> {
        let mut centre = vec![0.0; self.columns];
        for (mean, b) in self.mean.chunks_exact(self.columns).zip(&self.state_prior) {
            centre.iter_mut().zip(mean).for_each(|(c, m)| *c += b * m);
        }
        centre
    }

    /// The vectors about their part's mean.
    fn shifted(&self) -> Vec<f64> {
        let mut out = self.mean.clone();
        let size = self.states * self.columns;
        for (part, prior) in out.chunks_exact_mut(size).zip(self.state_prior.chunks(self.states)) {
            for c in 0..self.columns {
                let mean: f64 =
                    (0..self.states).map(|j| prior[j] * part[j * self.columns + c]).sum();
                (0..self.states).for_each(|j| part[j * self.columns + c] -= mean);
            }
        }
        out
    }
}

impl<T: Real> Encode<T> for Cvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn code_width(&self) -> usize {
        self.state_prior.len()
    }

    /// Responsibilities, part by part: 0 and 1 if found by local search.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let width = self.state_prior.len();
        self.for_each_code(batch, |row, code, _, _, _| {
            for (out, &m) in codes[row * width..(row + 1) * width].iter_mut().zip(code) {
                *out = T::from_f64(m);
            }
        });
    }
}

impl<T: Real> Reconstruct<T> for Cvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// The sum of the parts' vectors.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let d = self.columns;
        let mut sum = vec![0.0; d];
        self.for_each_code(batch, |row, code, _, _, _| {
            sum.fill(0.0);
            for (mean, &m) in self.mean.chunks_exact(d).zip(code).filter(|(_, m)| **m != 0.0) {
                sum.iter_mut().zip(mean).for_each(|(s, v)| *s += m * v);
            }
            for (x, &s) in out[row * d..(row + 1) * d].iter_mut().zip(&sum) {
                *x = T::from_f64(s);
            }
        });
    }
}

impl<T: Real> Score<T> for Cvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Bound
    }

    /// The bound of the row's responsibilities on its log density.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        self.for_each_code(batch, |row, _, square, divergence, cells| {
            let cost = HALF_LOG_TWO_PI + 0.5 * self.variance.ln();
            out[row] = -0.5 * square / self.variance - cells as f64 * cost - divergence;
            if cells == 0 {
                out[row] = 0.0;
            }
        });
    }
}

impl Sample for Cvq {
    fn columns(&self) -> usize {
        self.columns
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        row.fill(0.0);
        for (part, prior) in self.state_prior.chunks_exact(self.states).enumerate() {
            let j = draw(prior, random).unwrap_or(0);
            let at = (part * self.states + j) * self.columns;
            row.iter_mut().zip(&self.mean[at..]).for_each(|(x, m)| *x += m);
        }
        if noise {
            let deviation = self.variance.sqrt();
            for x in row {
                let normal: f64 = StandardNormal.sample(random);
                *x += deviation * normal;
            }
        }
    }
}

impl Parts for Cvq {
    /// Parts that share every column alike.
    fn parts(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns,
            parts: self.parts,
            states: self.states,
            appearance: Appearance::Sums,
            gate: &self.gate,
            state_prior: &self.state_prior,
            mean: &self.appearance,
        }
    }
}

/// How the mean row looks with each state in place of its part's usual ones.
fn looks(mean: &[f64], prior: &[f64], states: usize, columns: usize) -> Vec<f64> {
    let mut usual = vec![0.0; prior.len() / states.max(1) * columns];
    for (slot, (vector, prior)) in mean.chunks_exact(columns.max(1)).zip(prior).enumerate() {
        let usual = &mut usual[slot / states * columns..];
        usual.iter_mut().zip(vector).for_each(|(u, v)| *u += prior * v);
    }
    let mut row = vec![0.0; columns];
    for usual in usual.chunks_exact(columns.max(1)) {
        row.iter_mut().zip(usual).for_each(|(r, u)| *r += u);
    }
    let look = |(at, v): (usize, &f64)| {
        let (part, column) = (at / (states * columns), at % columns);
        row[column] + v - usual[part * columns + column]
    };
    mean.iter().enumerate().map(look).collect()
}
