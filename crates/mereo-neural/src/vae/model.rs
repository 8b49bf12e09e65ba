//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::softmax;
use mereo_core::{
    Batch, Context, Encode, Error, Estimate, Likelihood, Manifest, ModelFile, Random, Real,
    Reconstruct, Result, RowLikelihood, Sample, Score, ScoreKind, Tensor,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::DecoderKind;
use super::learner::{Drawn, Likelihoods};
use crate::layers::sigmoid_in_place;
use crate::network::{Network, Trace};
use crate::units::Units;
use crate::weights::{Weights, list_layers, network_of};

/// Draws that a row's bound is averaged over, and that a hidden cell is filled by.
const SCORE_DRAWS: usize = 32;
const FILL_DRAWS: usize = 128;
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
    pub(super) units: Units,
    pub(super) encoder: (Network, Weights),
    pub(super) decoder: (Network, Weights),
    /// Variances of a Gaussian decoder, in the data's units; nothing of a Bernoulli one.
    pub(super) noise: Option<Vec<f64>>,
    pub(super) binarise: bool,
    pub(super) code: usize,
}

impl Vae {
    pub(super) fn new(parts: Parts) -> Self {
        Self(parts)
    }

    /// Numbers in a code.
    pub fn code(&self) -> usize {
        self.0.code
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.0.units.columns()
    }

    /// What cells are, given a code.
    pub fn decoder_kind(&self) -> DecoderKind {
        match self.0.noise {
            Some(_) => DecoderKind::Gaussian,
            None => DecoderKind::Bernoulli,
        }
    }

    /// The weights of the encoder's first layer as rows over the columns, `[outputs, D]`, if it is dense.
    pub fn filters(&self) -> Option<&[f64]> {
        match self.0.encoder.0.places().next()? {
            (layer @ crate::layers::Layer::Dense { .. }, own) => {
                let all = &self.0.encoder.1.get::<f64>()[own];
                Some(&all[..layer.inputs() * layer.outputs()])
            }
            _ => None,
        }
    }

    /// Means of rows given codes `[rows, k]`, in the data's units.
    pub fn decode<T: Real>(&self, codes: &[T]) -> Vec<T> {
        let rows = codes.len() / self.0.code.max(1);
        let (network, weights) = &self.0.decoder;
        let mut trace = Trace::new();
        let mut made = network.forward(weights.get(), rows, codes, &mut trace).to_vec();
        self.outward(&mut made);
        made
    }

    /// From what a decoder gives to means of cells.
    fn outward<T: Real>(&self, made: &mut [T]) {
        match self.decoder_kind() {
            DecoderKind::Bernoulli => sigmoid_in_place(made),
            DecoderKind::Gaussian => self.0.units.outward(made),
        }
    }

    fn likelihoods<T: Real>(&self) -> Likelihoods<T> {
        match &self.0.noise {
            None => Likelihoods::bernoulli(),
            Some(noise) => {
                let units = &self.0.units;
                let variances = noise.iter().zip(&units.scale).map(|(v, s)| v / (s * s));
                Likelihoods::gaussian(variances, units)
            }
        }
    }

    /// Rows with their posteriors.
    fn infer<T: Real>(&self, batch: &Batch<'_, T>, context: &Context) -> Drawn<T> {
        let Parts { units, encoder, binarise, code, .. } = &self.0;
        let mut drawn = Drawn::new();
        drawn.take(units, self.decoder_kind(), *binarise, batch, (context, u64::MAX));
        drawn.infer(&encoder.0, encoder.1.get(), batch.rows, *code);
        drawn
    }

    /// Draws codes of one row at a time and calls `visit(row, log densities of cells, log ratios, means)`; codes come
    /// from the posterior, or from the prior.
    fn for_each_row<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        draws: usize,
        prior: bool,
        context: &Context,
        mut visit: impl FnMut(usize, &[f64], &[f64], &[T]),
    ) {
        let (k, d) = (self.0.code, self.columns());
        let all = self.infer(batch, context);
        let likelihoods = self.likelihoods::<T>();
        let (network, weights) = &self.0.decoder;
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
    /// decoder is Gaussian; layers are listed in the manifest's params. `path` is what errors call the file.
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
        let encoder = network_of(&file, "encoder", columns, 2 * code, path)?;
        let decoder = network_of(&file, "decoder", code, columns, path)?;
        let encoder_weights = Weights::take("encoder", &encoder, &mut file, path)?;
        let decoder_weights = Weights::take("decoder", &decoder, &mut file, path)?;
        Ok(Self(Parts {
            units,
            encoder: (encoder, encoder_weights),
            decoder: (decoder, decoder_weights),
            noise,
            binarise,
            code,
        }))
    }

    /// The model as a file with this manifest.
    pub fn to_file(&self, mut manifest: Manifest) -> ModelFile {
        let Parts { units, encoder, decoder, noise, binarise, code } = &self.0;
        list_layers(&mut manifest.params, "encoder", &encoder.0);
        list_layers(&mut manifest.params, "decoder", &decoder.0);
        manifest.params["code"] = serde_json::json!(code);
        manifest.params["binarise"] = serde_json::json!(binarise);
        let mut file = ModelFile::new(manifest);
        units.put(&mut file);
        encoder.1.put("encoder", &encoder.0, &mut file);
        decoder.1.put("decoder", &decoder.0, &mut file);
        if let Some(noise) = noise {
            file.insert("noise", Tensor::new(vec![noise.len()], noise.clone()));
        }
        file
    }

    pub(super) fn free_numbers(&self) -> usize {
        let noise = self.0.noise.as_ref().map_or(0, Vec::len);
        self.0.encoder.1.len() + self.0.decoder.1.len() + noise
    }
}

impl<T: Real> Encode<T> for Vae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn code_width(&self) -> usize {
        self.0.code
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
            let mut means = means.to_vec();
            self.outward(&mut means);
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
            let bound = mean - all.divergence(row, self.0.code);
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
        self.0.units.columns()
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let codes: Vec<f64> = (0..self.0.code).map(|_| StandardNormal.sample(random)).collect();
        row.copy_from_slice(&self.decode(&codes));
        if !noise {
            return;
        }
        match &self.0.noise {
            Some(noise) => {
                for (x, v) in row.iter_mut().zip(noise) {
                    let drawn: f64 = StandardNormal.sample(random);
                    *x += v.sqrt() * drawn;
                }
            }
            None => {
                for x in row {
                    *x = f64::from(u8::from(random.random::<f64>() < *x));
                }
            }
        }
    }
}
