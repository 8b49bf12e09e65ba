//! What tells labels by themselves: mixtures of colours, or a regression. A model file like any other.

use std::path::Path;

use mereo_core::{
    Context, Dense, Error, Manifest, ModelFile, Plan, Result, Silent, Table, Tensor, score,
};
use mereo_data::Pixels;
use mereo_field::Regression;
use mereo_field::picture::{FEATURES, features, lab};
use mereo_mixture::{Covariance, Gmm, GmmParams, gaussian};

use super::{SegmentParams, Telling};

/// Most marked pixels of a label that colours are learned from: more tell nothing new.
const MOST_PIXELS: usize = 4000;
/// Colours nearer than this are one and the same to a mixture: every pixel stands for four around it.
const GRAIN: f64 = 1.0;
/// The ridge of a regression, in pixels.
const RIDGE: f64 = 1.0;

/// How labels are told.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// A mixture of the colours of each label.
    Mixtures(Vec<Gmm>),
    /// A regression on features around a pixel.
    Regression(Regression),
}

/// What tells labels by themselves, learned from a picture or from many.
#[derive(Debug, Clone, PartialEq)]
pub struct Colours {
    values: Vec<u8>,
    told: Told,
    /// How strongly neighbours are coupled, if that was learned too.
    strength: Option<f64>,
}

impl Colours {
    /// The kind of model, as model files say it.
    pub const KIND: &'static str = "segment";

    pub(super) fn new(values: Vec<u8>, told: Told, strength: Option<f64>) -> Self {
        Self { values, told, strength }
    }

    /// The labels there are, in order.
    pub fn values(&self) -> &[u8] {
        &self.values
    }

    /// How labels are told.
    pub fn told(&self) -> &Told {
        &self.told
    }

    /// How strongly neighbours are coupled, if that was learned too.
    pub fn strength(&self) -> Option<f64> {
        self.strength
    }

    /// What is best chosen with them, unless somebody says otherwise: neighbours are coupled as was learned.
    ///
    /// ```
    /// # use mereo::segment::{Colours, SegmentParams};
    /// # let picture = mereo::data::Pixels { height: 1, width: 4, channels: 1, bytes: vec![0, 10, 200, 210] };
    /// # let context = mereo::Context::new(0);
    /// let colours = Colours::of_picture(&picture, &[2, 2, 1, 1], &SegmentParams::default(), &context)?;
    /// assert_eq!(colours.params(), SegmentParams::default());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn params(&self) -> SegmentParams {
        let usual = SegmentParams::default();
        SegmentParams { strength: self.strength.unwrap_or(usual.strength), ..usual }
    }

    /// The model file, with what was chosen.
    pub fn with_params(&self, params: &SegmentParams) -> ModelFile {
        let mut manifest = Manifest::new(Self::KIND);
        manifest.params = serde_json::to_value(params).unwrap_or_default();
        self.to_file(manifest)
    }

    /// Learns from a picture cut into labels, for the next picture: all its pixels tell more than marks.
    ///
    /// ```
    /// use mereo::data::Pixels;
    /// use mereo::segment::{Colours, SegmentParams};
    /// let picture = Pixels { height: 1, width: 4, channels: 1, bytes: vec![0, 10, 200, 210] };
    /// let context = mereo::Context::new(0);
    /// let colours = Colours::of_picture(&picture, &[2, 2, 1, 1], &SegmentParams::default(), &context)?;
    /// assert_eq!(colours.values(), [1, 2]);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn of_picture(
        picture: &Pixels,
        labels: &[u8],
        params: &SegmentParams,
        context: &Context,
    ) -> Result<Self> {
        params.check()?;
        let mut values = labels.to_vec();
        values.sort_unstable();
        values.dedup();
        if values.len() < 2 || labels.len() != picture.height * picture.width {
            let problem =
                format!("expected a label for each pixel, and two labels: found {values:?}");
            return Err(Error::option("labels", problem));
        }
        let own: Vec<Option<usize>> =
            labels.iter().map(|l| values.iter().position(|v| v == l)).collect();
        let seen = lab(&picture.bytes, picture.channels);
        Self::learn(&seen, (picture.height, picture.width), &own, &values, params, context)
    }

    /// Learns from the pixels that have labels. Every label must have one.
    pub(super) fn learn(
        seen: &[f64],
        size: (usize, usize),
        labels: &[Option<usize>],
        values: &[u8],
        params: &SegmentParams,
        context: &Context,
    ) -> Result<Self> {
        let told = match params.telling {
            Telling::Mixtures => {
                let each = (0..values.len()).map(|label| {
                    let pixels = some_of(labels, label);
                    mixture(seen, &pixels, params.components, context)
                });
                Told::Mixtures(each.collect::<Result<_>>()?)
            }
            Telling::Regression => {
                let all = features(seen, size);
                let (mut rows, mut own, mut weight) = (Vec::new(), Vec::new(), Vec::new());
                for label in 0..values.len() {
                    let pixels = some_of(labels, label);
                    for pixel in &pixels {
                        rows.extend_from_slice(&all[pixel * FEATURES..(pixel + 1) * FEATURES]);
                        own.push(label as u8);
                        // Labels count alike, however much of each is marked.
                        weight.push(1.0 / pixels.len() as f64);
                    }
                }
                let scale = own.len() as f64 / values.len() as f64;
                weight.iter_mut().for_each(|w| *w *= scale);
                let labels = values.len();
                let fit = Regression::fit(&rows, FEATURES, &own, labels, Some(&weight), RIDGE)?;
                Told::Regression(fit)
            }
        };
        Ok(Self { values: values.to_vec(), told, strength: None })
    }

    /// `[pixels, labels]`: how much less likely each label is than the likeliest, at most by `clip`.
    pub(super) fn log_ratios(
        &self,
        seen: &[f64],
        size: (usize, usize),
        clip: f64,
        context: &Context,
    ) -> Result<Vec<f64>> {
        let (pixels, labels) = (seen.len() / 3, self.values.len());
        let mut logs = vec![0.0; pixels * labels];
        match &self.told {
            Told::Mixtures(mixtures) => {
                let narrow: Vec<f32> = seen.iter().map(|v| *v as f32).collect();
                let table = Table::from(Dense::new(pixels, 3, narrow)?);
                for (label, mixture) in mixtures.iter().enumerate() {
                    let scores = score::<f32>(mixture, &table, context)?;
                    for (out, score) in
                        logs.iter_mut().skip(label).step_by(labels).zip(&scores.rows)
                    {
                        *out = *score;
                    }
                }
            }
            Told::Regression(regression) => {
                let all = features(seen, size);
                for (out, row) in logs.chunks_exact_mut(labels).zip(all.chunks_exact(FEATURES)) {
                    regression.log_probabilities(row, out);
                }
            }
        }
        for own in logs.chunks_exact_mut(labels) {
            let most = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            own.iter_mut().for_each(|v| *v = (*v - most).max(-clip));
        }
        Ok(logs)
    }

    /// Takes them out of a file: `value [L]`, and `regression [L, 19]` or for every label l `mixture{l}.weight`,
    /// `mixture{l}.mean` and `mixture{l}.covariance`; perhaps `strength [1]`. `path` is what errors call it.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        if file.manifest.model != Self::KIND {
            let problem = format!("it is a {} model, expected {}", file.manifest.model, Self::KIND);
            return Err(Error::model_file(path, problem));
        }
        let values = file.take("value", 1, path)?.values;
        let labels = values.len();
        let whole = values.iter().all(|v| (0.0..=255.0).contains(v) && v.fract() == 0.0);
        if !(2..=256).contains(&labels) || !whole || !values.is_sorted_by(|a, b| a < b) {
            let problem = "`value` must hold at least two rising labels from 0 to 255";
            return Err(Error::model_file(path, problem));
        }
        let strength = match file.get("strength") {
            None => None,
            Some(_) => {
                let strength = file.take_shaped("strength", &[1], path)?[0];
                if !(0.0..=1000.0).contains(&strength) {
                    return Err(Error::model_file(path, format!("its strength is {strength}")));
                }
                Some(strength)
            }
        };
        let told = if file.get("regression").is_some() {
            let weights = file.take_shaped("regression", &[labels, FEATURES + 1], path)?;
            let regression = Regression::from_weights(labels, weights);
            Told::Regression(
                regression.ok_or_else(|| {
                    Error::model_file(path, "`regression` does not fit the labels")
                })?,
            )
        } else {
            let each = (0..labels).map(|label| {
                let mut own = ModelFile::new(Manifest::new(<Gmm as mereo_core::Model>::KIND));
                for name in ["weight", "mean", "covariance"] {
                    let from = format!("mixture{label}.{name}");
                    if let Some(tensor) = file.get(&from) {
                        own.insert(name, tensor.clone());
                    }
                }
                let mixture = Gmm::from_file(own, path)?;
                if mixture.columns() != 3 {
                    let problem =
                        format!("mixture {label} has {} columns, expected 3", mixture.columns());
                    return Err(Error::model_file(path, problem));
                }
                Ok(mixture)
            });
            Told::Mixtures(each.collect::<Result<_>>()?)
        };
        let values = values.into_iter().map(|v| v as u8).collect();
        Ok(Self { values, told, strength })
    }

    /// As a file.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let mut file = ModelFile::new(manifest);
        let values: Vec<f64> = self.values.iter().map(|v| f64::from(*v)).collect();
        file.insert("value", Tensor::new(vec![values.len()], values));
        if let Some(strength) = self.strength {
            file.insert("strength", Tensor::new(vec![1], vec![strength]));
        }
        match &self.told {
            Told::Regression(regression) => {
                let shape = vec![regression.labels(), regression.features() + 1];
                file.insert("regression", Tensor::new(shape, regression.weights().to_vec()));
            }
            Told::Mixtures(mixtures) => {
                for (label, mixture) in mixtures.iter().enumerate() {
                    for (name, tensor) in
                        mixture.to_file(Manifest::new(<Gmm as mereo_core::Model>::KIND)).tensors()
                    {
                        file.insert(&format!("mixture{label}.{name}"), tensor.clone());
                    }
                }
            }
        }
        file
    }
}

/// Pixels of a label, evenly some of them if there are many.
fn some_of(labels: &[Option<usize>], label: usize) -> Vec<usize> {
    let all: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == Some(label)).collect();
    let step = all.len().div_ceil(MOST_PIXELS).max(1);
    all.into_iter().step_by(step).collect()
}

/// A mixture of the colours of some pixels.
fn mixture(seen: &[f64], pixels: &[usize], components: usize, context: &Context) -> Result<Gmm> {
    if pixels.is_empty() {
        // A label that lost all its pixels may be of any colour, equally unlikely.
        return mixture(&[50.0, 0.0, 0.0], &[0], 1, context);
    }
    let corners = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];
    let rows: Vec<f64> = pixels
        .iter()
        .flat_map(|&pixel| {
            corners.iter().flat_map(move |corner| (0..3).map(move |c| (pixel, c, corner[c])))
        })
        .map(|(pixel, c, corner)| seen[3 * pixel + c] + GRAIN * corner)
        .collect();
    let table = Table::from(Dense::new(pixels.len() * 4, 3, rows)?);
    let params = GmmParams::with(components.min(pixels.len()), Covariance::Full);
    let plan = Plan { passes: 30, tolerance: 1e-3, ..Plan::default() };
    Ok(gaussian::fit(&params, &table, &plan, context, &mut Silent)?.0)
}
