//! The two networks of a learned model: from rows to codes and back, and the file that keeps them.

use std::path::Path;

use mereo_core::{Manifest, ModelFile, Picture, Real, Result};

use crate::layers::Layer;
use crate::network::{Network, Trace};
use crate::units::Units;
use crate::weights::{Weights, list_layers, network_of};

/// An encoder and a decoder, and the units that they see rows in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Coder {
    pub(crate) units: Units,
    pub(crate) encoder: (Network, Weights),
    pub(crate) decoder: (Network, Weights),
    pub(crate) code: usize,
}

/// What the first layer of an encoder looks for: one vector of weights after another.
///
/// ```
/// use mereo_core::{Context, Dense, Picture, Plan, Silent, Table};
/// use mereo_neural::{AeParams, ae};
/// let picture = Picture { height: 4, width: 4, channels: 1 };
/// let cells = (0..160).map(|i| f64::from(i % 7)).collect();
/// let table = Table::from(Dense::new(10, 16, cells)?).with_picture(picture)?;
/// let params = AeParams { encoder: Some("conv 5x3/2, relu".into()), ..AeParams::new(2) };
/// let plan = Plan { passes: 1, ..Plan::default() };
/// let (model, _) = ae::fit(&params, &table, &plan, &Context::new(0), &mut Silent)?;
/// let filters = model.filters().unwrap();
/// assert_eq!(filters.weights.len(), 5 * 9);
/// assert_eq!(filters.patch, Some(Picture { height: 3, width: 3, channels: 1 }));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filters<'a> {
    /// The weights, `[outputs, inputs]`; of a convolution `[channels, patch]`.
    pub weights: &'a [f64],
    /// The little picture that a convolution sees; nothing if every filter sees whole rows.
    pub patch: Option<Picture>,
}

impl Coder {
    /// The first layer's weights.
    pub(crate) fn filters(&self) -> Option<Filters<'_>> {
        let (layer, own) = self.encoder.0.places().next()?;
        let patch = match layer {
            Layer::Dense { .. } => None,
            Layer::Conv(conv) => Some(Picture {
                height: conv.kernel,
                width: conv.kernel,
                channels: conv.from.channels,
            }),
            Layer::Deconv(_) | Layer::Activation { .. } => return None,
        };
        let weights = layer.shapes()?.0.iter().product();
        Some(Filters { weights: &self.encoder.1.get::<f64>()[own][..weights], patch })
    }

    /// What the decoder makes of codes `[rows, k]`, in its own units.
    pub(crate) fn decoded<T: Real>(&self, codes: &[T]) -> Vec<T> {
        let rows = codes.len() / self.code.max(1);
        let (network, weights) = &self.decoder;
        network.forward(weights.get(), rows, codes, &mut Trace::new()).to_vec()
    }

    /// Number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.encoder.1.len() + self.decoder.1.len()
    }

    /// Takes both networks out of a file: from `width` numbers to `outputs` that tell a code, and back.
    pub(crate) fn take(
        units: Units,
        (width, code, outputs): (usize, usize, usize),
        file: &mut ModelFile,
        path: &Path,
    ) -> Result<Self> {
        let encoder = network_of(file, "encoder", width, outputs, path)?;
        let decoder = network_of(file, "decoder", code, width, path)?;
        let encoder_weights = Weights::take("encoder", &encoder, file, path)?;
        let decoder_weights = Weights::take("decoder", &decoder, file, path)?;
        let (encoder, decoder) = ((encoder, encoder_weights), (decoder, decoder_weights));
        Ok(Self { units, encoder, decoder, code })
    }

    /// A file with both networks.
    pub(crate) fn put(&self, mut manifest: Manifest) -> ModelFile {
        let networks = [("encoder", &self.encoder), ("decoder", &self.decoder)];
        for (name, (network, _)) in networks {
            list_layers(&mut manifest.params, name, network);
        }
        manifest.params["code"] = serde_json::json!(self.code);
        let mut file = ModelFile::new(manifest);
        self.units.put(&mut file);
        for (name, (network, weights)) in networks {
            weights.put(name, network, &mut file);
        }
        file
    }
}
