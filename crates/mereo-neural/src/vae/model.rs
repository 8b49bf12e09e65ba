//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::softmax;
use mereo_core::slots::Cells as SlotCells;
use mereo_core::{
    Batch, ColumnKind, Context, Encode, Error, Estimate, Likelihood, Manifest, ModelFile, Random,
    Real, Reconstruct, Result, RowLikelihood, Sample, Score, ScoreKind, Tensor,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::DecoderKind;
use super::layout::{Layout, Slots};
use super::learner::{Drawn, Likelihoods};
use crate::coder::{Coder, Filters};
use crate::layers::sigmoid_in_place;
use crate::network::Trace;
use crate::units::Units;

/// Draws that a row's bound is averaged over, and that a hidden cell is filled by.
const SCORE_DRAWS: usize = 32;
pub(super) const FILL_DRAWS: usize = 128;
/// Most draws that are decoded together.
const TOGETHER: usize = 256;
/// Most draws of an estimate.
const MOST_DRAWS: usize = 1 << 24;

/// A learned variational auto-encoder.
///
/// ```
/// use mereo_core::{Context, Dense, Likelihood, Plan, Silent, Table, estimate, sample};
/// use mereo_neural::{VaeParams, vae};
/// let table = Table::from(Dense::new(4, 2, vec![0.0, 0.0, 1.0, 2.0, 2.0, 4.0, 3.0, f64::NAN])?);
/// let (model, _) =
///     vae::fit(&VaeParams::new(1), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
/// let scores = estimate::<f64>(&model, Likelihood::Importance(100), &table, &Context::new(0))?;
/// assert!(scores.standard_error.is_some());
/// assert_eq!(sample(&model, 3, true, &Context::new(0))?.rows(), 3);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Vae(Parts);

/// What it is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts {
    pub(super) coder: Coder,
    /// Where columns stand that are of several kinds, and the kinds.
    pub(super) layout: Option<(Layout, Vec<ColumnKind>)>,
    /// Variances of a Gaussian decoder, in the data's units; nothing of a Bernoulli one.
    pub(super) noise: Option<Vec<f64>>,
    pub(super) binarise: bool,
}

impl Vae {
    pub(super) fn new(parts: Parts) -> Self {
        Self(parts)
    }

    /// Numbers in a code.
    pub fn code(&self) -> usize {
        self.0.coder.code
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.0.coder.units.columns()
    }

    /// What cells are, given a code.
    pub fn decoder_kind(&self) -> DecoderKind {
        match (&self.0.layout, &self.0.noise) {
            (Some(_), _) => DecoderKind::Own,
            (None, Some(_)) => DecoderKind::Gaussian,
            (None, None) => DecoderKind::Bernoulli,
        }
    }

    /// What the encoder's first layer looks for, if that is a dense one or a convolution.
    pub fn filters(&self) -> Option<Filters<'_>> {
        self.0.coder.filters()
    }

    pub(super) fn layout(&self) -> Option<&Layout> {
        self.0.layout.as_ref().map(|(layout, _)| layout)
    }

    /// Means of rows given codes `[rows, k]`, in the data's units; of words the number of the likeliest.
    pub fn decode<T: Real>(&self, codes: &[T]) -> Vec<T> {
        let made = self.0.coder.decoded(codes);
        if self.0.layout.is_none() {
            return self.means(made);
        }
        let slots = self.slots(&made);
        let (cells, d) = (self.cells(&slots), self.columns());
        (0..codes.len() / self.code() * d)
            .map(|i| T::from_f64(cells.usual(i / d, i % d).clamp(-T::LARGEST, T::LARGEST)))
            .collect()
    }

    /// From what a decoder gives to means of cells, of one kind throughout.
    fn means<T: Real>(&self, mut made: Vec<T>) -> Vec<T> {
        match self.0.noise {
            None => sigmoid_in_place(&mut made),
            Some(_) => self.0.coder.units.outward(&mut made),
        }
        made
    }

    /// What draws say of all columns, from what was decoded for them.
    pub(super) fn slots<T: Real>(&self, made: &[T]) -> Slots {
        let noise = self.0.noise.as_deref().unwrap_or(&[]);
        if let Some(layout) = self.layout() {
            return layout.slots(&self.0.coder.units, noise, made);
        }
        let mean: Vec<f64> = self.means(made.to_vec()).iter().map(|m| m.to_f64()).collect();
        let variance = match &self.0.noise {
            Some(noise) => noise.repeat(mean.len() / noise.len().max(1)),
            None => mean.iter().map(|p| (p * (1.0 - p)).max(1e-12)).collect(),
        };
        Slots { mean, variance, level: Vec::new() }
    }

    /// Draws, asked for single cells.
    pub(super) fn cells<'a>(&'a self, slots: &'a Slots) -> SlotCells<'a> {
        let mixed = self.layout().and_then(|layout| layout.kinds().with(&slots.level));
        SlotCells::new(self.columns(), &slots.mean, &slots.variance, mixed)
    }

    fn likelihoods<T: Real>(&self) -> Likelihoods<'_, T> {
        let units = &self.0.coder.units;
        let Some(noise) = &self.0.noise else { return Likelihoods::bernoulli() };
        let own = |d: usize| noise[d] / units.scale[d].powi(2);
        match self.layout() {
            Some(layout) => {
                let variances = layout.numbers().iter().map(|&d| own(d));
                Likelihoods::own(layout, variances, units)
            }
            None => Likelihoods::gaussian((0..noise.len()).map(own), units),
        }
    }

    /// Rows with their posteriors.
    fn infer<T: Real>(&self, batch: &Batch<'_, T>, context: &Context) -> Drawn<T> {
        let Parts { coder: Coder { units, encoder, code, .. }, binarise, .. } = &self.0;
        let mut drawn = Drawn::new();
        let seen = (units, self.layout());
        drawn.take(seen, self.decoder_kind(), *binarise, batch, (context, u64::MAX));
        drawn.infer(&encoder.0, encoder.1.get(), batch.rows, *code);
        drawn
    }

    /// Draws codes of one row at a time and calls `visit(row, log densities of cells, log ratios, what was decoded)`; codes come
    /// from the posterior, or from the prior.
    pub(super) fn for_each_row<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        draws: usize,
        prior: bool,
        context: &Context,
        mut visit: impl FnMut(usize, &[f64], &[f64], &[T]),
    ) {
        let (k, d) = (self.0.coder.code, self.columns());
        let all = self.infer(batch, context);
        let likelihoods = self.likelihoods::<T>();
        let (network, weights) = &self.0.coder.decoder;
        let (mut trace, mut scratch, mut sums) = (Trace::new(), Vec::new(), Vec::new());
        let mut one = Drawn::new();
        let (mut logs, mut ratios) = (Vec::with_capacity(draws), Vec::with_capacity(draws));
        for row in 0..batch.rows {
            logs.clear();
            ratios.clear();
            all.row(row, k, d, prior, &mut one);
            let mut part = 0u64;
            while logs.len() < draws {
                let n = TOGETHER.min(draws - logs.len());
                one.draw(n, k, "score", (context, part));
                part += 1;
                let made = network.forward(weights.get(), n, &one.codes, &mut trace);
                let means = made.to_vec();
                let complete = one.cells.complete;
                likelihoods.of(&one.targets, complete, made, (d, n), &mut scratch, &mut sums);
                logs.extend_from_slice(&sums);
                ratios.extend((0..n).map(
                    |draw| {
                        if prior { 0.0 } else { one.log_ratio(0, draw, n, k) }
                    },
                ));
                visit(row, &logs, &ratios, &means);
            }
        }
    }

    /// Takes a model out of a file: `centre [D]`, `scale [D]`, the tensors of encoder and decoder, and `noise [D]` if the
    /// decoder is not a Bernoulli; of a table of several kinds also `rate [D]` and `share [W]`. Layers are listed in the manifest's params. `path` is what errors call the file.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let units = Units::take(&mut file, path)?;
        let columns = units.columns();
        let bad = |problem: &str| Error::model_file(path, problem.to_owned());
        let said = file.manifest.params.get("code").and_then(serde_json::Value::as_u64);
        let code = said
            .filter(|code| (1..=1 << 20).contains(code))
            .ok_or_else(|| bad("its params do not say how long a code is"))?
            as usize;
        let binarise = file.manifest.params.get("binarise").is_some_and(|said| said == true);
        let noise = match file.get("noise") {
            None => None,
            Some(_) => Some(file.take_variances("noise", &[columns], path)?),
        };
        let layout = Layout::take(&mut file, columns, path)?;
        if layout.is_some() && noise.is_none() {
            return Err(bad("it has `rate` but no `noise`"));
        }
        let width = layout.as_ref().map_or(columns, |(layout, _)| layout.width());
        let coder = Coder::take(units, (width, code, 2 * code), &mut file, path)?;
        Ok(Self(Parts { coder, layout, noise, binarise }))
    }

    /// The model as a file with this manifest.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let Parts { coder, layout, noise, binarise } = &self.0;
        let mut file = coder.put(manifest);
        file.manifest.params["binarise"] = serde_json::json!(binarise);
        if let Some(noise) = noise {
            file.insert("noise", Tensor::new(vec![noise.len()], noise.clone()));
        }
        if let Some((layout, kinds)) = layout {
            layout.put(kinds, &mut file);
        }
        file
    }

    pub(super) fn free_numbers(&self) -> usize {
        let noise = self.0.noise.as_ref().map_or(0, Vec::len);
        self.0.coder.parameters() + self.layout().map_or(noise, |layout| layout.numbers().len())
    }
}

impl<T: Real> Encode<T> for Vae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn code_width(&self) -> usize {
        self.0.coder.code
    }

    fn encode_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        out.copy_from_slice(&self.infer(batch, &Context::new(0)).mean);
    }
}

impl<T: Real> Reconstruct<T> for Vae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    /// Rows in which nothing is missing are decoded from the mean of their posterior; hidden cells of others are
    /// filled by weighted draws, and so is the rest of the row.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let (context, d) = (Context::new(0), self.columns());
        let drawn = self.infer(batch, &context);
        out.copy_from_slice(&self.decode(&drawn.mean));
        if drawn.cells.complete {
            return;
        }
        let whole: Vec<bool> =
            drawn.targets.chunks_exact(d).map(|row| !row.iter().any(|x| x.is_missing())).collect();
        self.for_each_row(batch, FILL_DRAWS, false, &context, |row, logs, ratios, means| {
            if whole[row] {
                return;
            }
            let mut shares: Vec<f64> = logs.iter().zip(ratios).map(|(p, r)| p + r).collect();
            softmax(&mut shares);
            if self.0.layout.is_some() {
                let slots = self.slots(means);
                let cells = self.cells(&slots);
                for (column, out) in out[row * d..(row + 1) * d].iter_mut().enumerate() {
                    *out =
                        T::from_f64(cells.expected(column, &shares).clamp(-T::LARGEST, T::LARGEST));
                }
                return;
            }
            let means = self.means(means.to_vec());
            let out = &mut out[row * d..(row + 1) * d];
            out.fill(T::ZERO);
            for (share, means) in shares.iter().zip(means.chunks_exact(d)) {
                let share = T::from_f64(*share);
                out.iter_mut().zip(means).for_each(|(o, &m)| *o += share * m);
            }
        });
    }
}

impl<T: Real> Score<T> for Vae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Bound
    }

    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        let context = Context::new(0);
        let all = self.infer(batch, &context);
        self.for_each_row(batch, SCORE_DRAWS, false, &context, |row, logs, _, _| {
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            // Weights beyond all measure make densities beyond all measure: the smallest there is.
            let bound = mean - all.divergence(row, self.0.coder.code);
            out[row] = if bound.is_nan() { f64::MIN } else { bound.max(f64::MIN) };
        });
    }
}

impl<T: Real> Estimate<T> for Vae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn check_likelihood(&self, how: Likelihood) -> Result<()> {
        match how {
            Likelihood::Bound => Ok(()),
            Likelihood::Importance(n) | Likelihood::Prior(n) if (1..=MOST_DRAWS).contains(&n) => {
                Ok(())
            }
            Likelihood::Importance(_) | Likelihood::Prior(_) => {
                let problem = format!("a number of draws from 1 to {MOST_DRAWS} is needed");
                Err(Error::option("samples", problem))
            }
            Likelihood::Exact => Err(Error::option(
                "likelihood",
                "a decoder's density cannot be worked out exactly; choose importance, prior or bound",
            )),
        }
    }

    fn estimate_batch(
        &self,
        how: Likelihood,
        batch: &Batch<'_, T>,
        context: &Context,
        out: &mut [RowLikelihood],
    ) {
        let (draws, prior) = match how {
            Likelihood::Importance(draws) => (draws, false),
            Likelihood::Prior(draws) => (draws, true),
            Likelihood::Bound | Likelihood::Exact => {
                let mut bounds = vec![0.0; batch.rows];
                Score::<T>::score_batch(self, batch, &mut bounds);
                for (out, log) in out.iter_mut().zip(bounds) {
                    *out = RowLikelihood { log, ..RowLikelihood::default() };
                }
                return;
            }
        };
        self.for_each_row(batch, draws, prior, context, |row, logs, ratios, _| {
            if logs.len() == draws {
                out[row] = estimate_of(logs, ratios);
            }
        });
    }
}

/// The logarithm of the mean of weights, its standard error, and how many draws told it.
fn estimate_of(logs: &[f64], ratios: &[f64]) -> RowLikelihood {
    let n = logs.len() as f64;
    let mut shares: Vec<f64> = logs.iter().zip(ratios).map(|(p, r)| p + r).collect();
    let log = softmax(&mut shares) - n.ln();
    let squares: f64 = shares.iter().map(|s| s * s).sum();
    // Shares have mean 1/n; their spread about it, relative to it, is that of the mean of n weights.
    let spread = (n * squares - 1.0).max(0.0) / (n - 1.0).max(1.0);
    RowLikelihood { log, standard_error: spread.sqrt(), effective_samples: 1.0 / squares }
}

impl Sample for Vae {
    fn columns(&self) -> usize {
        self.0.coder.units.columns()
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let codes: Vec<f64> = (0..self.code()).map(|_| StandardNormal.sample(random)).collect();
        if !noise {
            row.copy_from_slice(&self.decode(&codes));
            return;
        }
        if self.0.noise.is_none() {
            for (x, p) in row.iter_mut().zip(self.decode(&codes)) {
                *x = f64::from(u8::from(random.random::<f64>() < p));
            }
            return;
        }
        let slots = self.slots(&self.0.coder.decoded(&codes));
        let cells = self.cells(&slots);
        for (column, x) in row.iter_mut().enumerate() {
            *x = cells.draw(0, column, random);
        }
    }
}
