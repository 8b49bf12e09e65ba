//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::softmax;
use mereo_core::{
    Batch, ClassView, Classify, Context, Encode, Error, Likelihood, Manifest, ModelFile, Random,
    Real, Reconstruct, Result, Sample, Tensor,
};
use rand_distr::{Distribution, StandardNormal};

use super::Loss;
use super::classify::Classifier;
use super::codebooks::Books;
use crate::coder::{Coder, Filters};
use crate::layers::sigmoid_in_place;
use crate::network::Trace;
use crate::units::{Cells, Units};
use crate::weights::{Weights, list_layers, network_of};

/// A learned auto-encoder.
///
/// ```
/// use mereo_core::{Context, Dense, Plan, Silent, Table, encode, reconstruct};
/// use mereo_neural::{AeParams, ae};
/// let table = Table::from(Dense::new(4, 2, vec![0.0, 0.0, 1.0, 2.0, 2.0, 4.0, 3.0, 6.0])?);
/// let (model, _) =
///     ae::fit(&AeParams::new(1), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
/// assert_eq!(encode::<f64>(&model, &table, &Context::new(0))?.columns(), 1);
/// let made = reconstruct::<f64>(&model, &table, &Context::new(0))?;
/// assert!((made.row(2)[1] - 4.0).abs() < 1.0);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ae(Parts);

/// What it is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts {
    pub(super) coder: Coder,
    pub(super) loss: Loss,
    /// `[k]`.
    pub(super) code_mean: Vec<f64>,
    /// `[k, k]`, lower: a root of the covariance of codes.
    pub(super) code_root: Vec<f64>,
    pub(super) classifier: Option<Classifier>,
    pub(super) books: Option<Books>,
}

impl Ae {
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

    /// What the encoder's first layer looks for, if that is a dense one or a convolution.
    pub fn filters(&self) -> Option<Filters<'_>> {
        self.0.coder.filters()
    }

    /// The share of rows that each entry of each codebook is used by, `[M, N]`, if codes are quantised.
    pub fn usage(&self) -> Option<Vec<&[f64]>> {
        let books = self.0.books.as_ref()?;
        Some(books.usage.chunks_exact(books.entries.max(1)).collect())
    }

    /// Rows made of codes `[rows, k]`, in the data's units.
    pub fn decode<T: Real>(&self, codes: &[T]) -> Vec<T> {
        let mut made = self.0.coder.decoded(codes);
        if self.0.loss == Loss::CrossEntropy {
            sigmoid_in_place(&mut made);
        } else {
            self.0.coder.units.outward(&mut made);
        }
        made
    }

    fn codes<T: Real>(&self, batch: &Batch<'_, T>) -> Vec<T> {
        let (network, weights) = &self.0.coder.encoder;
        let (mut cells, mut trace) = (Cells::default(), Trace::new());
        self.0.coder.units.write(batch, &mut cells);
        network.forward(weights.get(), batch.rows, &cells.inputs, &mut trace).to_vec()
    }

    /// Stores codes in codebooks: calls `visit(row, entries)` and leaves what they add up to.
    fn quantise<T: Real>(&self, codes: &mut [T], mut visit: impl FnMut(usize, &[usize])) {
        let Some(books) = &self.0.books else { return };
        let mut numbers = vec![0; books.books];
        for (row, code) in codes.chunks_exact_mut(self.0.coder.code).enumerate() {
            let mut wide: Vec<f64> = code.iter().map(|z| z.to_f64()).collect();
            books.quantise(&mut wide, &mut numbers);
            code.iter_mut().zip(&wide).for_each(|(z, w)| *z = T::from_f64(*w));
            visit(row, &numbers);
        }
    }

    /// Takes a model out of a file: `centre [D]`, `scale [D]`, `encoder.I.weight`, `encoder.I.bias`, the same of the
    /// decoder, `code_mean [k]`, `code_root [k, k]`; layers are listed in the manifest's params. `path` is what
    /// errors call the file.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let bad = |problem: &str| Error::model_file(path, problem.to_owned());
        let units = Units::take(&mut file, path)?;
        let code = file.get("code_mean").map_or(1, |tensor| tensor.values.len());
        let code_mean = file.take_means("code_mean", &[code], path)?;
        let code_root = file.take_means("code_root", &[code, code], path)?;
        let loss = match file.manifest.params.get("loss") {
            None => Loss::Squared,
            Some(said) => said
                .as_str()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| bad("its loss is neither \"squared\" nor \"cross-entropy\""))?,
        };
        let columns = units.columns();
        let coder = Coder::take(units, (columns, code, code), &mut file, path)?;
        let classifier = match file.get("class_prior").map(|tensor| tensor.values.len()) {
            None => None,
            Some(classes) => {
                let network = network_of(&file, "classifier", columns, classes, path)?;
                let weights = Weights::take("classifier", &network, &mut file, path)?;
                let prior = file.take_distributions("class_prior", &[classes], path)?;
                Some(Classifier { network, weights, prior })
            }
        };
        let books = match file.get("codebook").map(|tensor| tensor.shape.clone()) {
            None => None,
            Some(shape) => {
                let &[books, entries, width] = &*shape else {
                    return Err(bad("the tensor `codebook` has not 3 indices"));
                };
                if width != code {
                    return Err(bad("the entries of `codebook` are not as long as a code"));
                }
                let entry = file.take_means("codebook", &shape, path)?;
                let usage = file.take_distributions("codebook_usage", &shape[..2], path)?;
                Some(Books { books, entries, width, entry, usage })
            }
        };
        Ok(Self(Parts { coder, loss, code_mean, code_root, classifier, books }))
    }

    /// The model as a file with this manifest.
    pub fn to_file(&self, mut manifest: Manifest) -> ModelFile {
        let code = self.0.coder.code;
        if let Some(classifier) = &self.0.classifier {
            list_layers(&mut manifest.params, "classifier", &classifier.network);
        }
        let mut file = self.0.coder.put(manifest);
        file.manifest.params["loss"] = serde_json::json!(self.0.loss);
        file.insert("code_mean", Tensor::new(vec![code], self.0.code_mean.clone()));
        file.insert("code_root", Tensor::new(vec![code; 2], self.0.code_root.clone()));
        if let Some(Classifier { network, weights, prior }) = &self.0.classifier {
            weights.put("classifier", network, &mut file);
            file.insert("class_prior", Tensor::new(vec![prior.len()], prior.clone()));
        }
        if let Some(books) = &self.0.books {
            let shape = vec![books.books, books.entries, books.width];
            let usage = Tensor::new(shape[..2].to_vec(), books.usage.clone());
            file.insert("codebook", Tensor::new(shape, books.entry.clone()));
            file.insert("codebook_usage", usage);
        }
        file
    }

    pub(super) fn free_numbers(&self) -> usize {
        self.0.coder.parameters()
    }

    pub(super) fn class_view(&self) -> Option<ClassView<'_>> {
        let classifier = self.0.classifier.as_ref()?;
        Some(ClassView { prior: &classifier.prior, class_state_prior: &[] })
    }
}

impl<T: Real> Encode<T> for Ae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn code_width(&self) -> usize {
        self.0.books.as_ref().map_or(self.0.coder.code, |books| books.books)
    }

    fn code_names(&self) -> Option<Vec<String>> {
        let books = self.0.books.as_ref()?;
        Some((0..books.books).map(|book| format!("codebook{book}")).collect())
    }

    fn encode_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let mut codes = self.codes(batch);
        match &self.0.books {
            None => out.copy_from_slice(&codes),
            Some(books) => self.quantise(&mut codes, |row, numbers| {
                let out = &mut out[row * books.books..(row + 1) * books.books];
                out.iter_mut().zip(numbers).for_each(|(o, &n)| *o = T::from_f64(n as f64));
            }),
        }
    }
}

impl<T: Real> Reconstruct<T> for Ae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let mut codes = self.codes(batch);
        self.quantise(&mut codes, |_, _| {});
        out.copy_from_slice(&self.decode(&codes));
    }
}

impl Sample for Ae {
    fn columns(&self) -> usize {
        self.0.coder.units.columns()
    }

    /// There is no noise about what a decoder makes, so that rows are the same with and without.
    fn sample_row(&self, random: &mut Random, _noise: bool, row: &mut [f64]) {
        let Parts { coder: Coder { code, .. }, code_mean, code_root, .. } = &self.0;
        let drawn: Vec<f64> = (0..*code).map(|_| StandardNormal.sample(random)).collect();
        let codes: Vec<f64> = (0..*code)
            .map(|i| {
                let root = &code_root[i * code..(i + 1) * code];
                code_mean[i] + root.iter().zip(&drawn).map(|(r, u)| r * u).sum::<f64>()
            })
            .collect();
        row.copy_from_slice(&self.decode(&codes));
    }
}

impl<T: Real> Classify<T> for Ae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn classes(&self) -> usize {
        self.0.classifier.as_ref().map_or(0, |classifier| classifier.prior.len())
    }

    /// Classes are told by a network of their own, whatever densities are worked out by.
    fn check_rule(&self, how: Likelihood) -> Result<()> {
        match how {
            Likelihood::Bound => Ok(()),
            _ => {
                Err(Error::option("rule", "an auto-encoder's classes come from its network alone"))
            }
        }
    }

    fn classify_batch(
        &self,
        _how: Likelihood,
        batch: &Batch<'_, T>,
        _context: &Context,
        out: &mut [f64],
    ) {
        let Some(Classifier { network, weights, prior }) = &self.0.classifier else { return };
        let (mut cells, mut trace) = (Cells::default(), Trace::new());
        self.0.coder.units.write(batch, &mut cells);
        let made = network.forward(weights.get(), batch.rows, &cells.inputs, &mut trace);
        for (made, out) in made.chunks_exact(prior.len()).zip(out.chunks_exact_mut(prior.len())) {
            out.iter_mut().zip(made).for_each(|(o, l)| *o = l.to_f64());
            softmax(out);
        }
    }
}
