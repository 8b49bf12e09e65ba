//! Parameters of learned networks, in both precisions, and the tensors that they are in files.

use std::path::Path;

use mereo_core::{Error, ModelFile, Real, Result, Tensor};

use crate::layers::{Conv, Layer};
use crate::network::Network;

/// The widest layer that a file may speak of.
const WIDEST: usize = 1 << 24;

/// The same parameters as rows of either precision meet them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights {
    single: Vec<f32>,
    double: Vec<f64>,
}

impl Weights {
    pub(crate) fn new(double: Vec<f64>) -> Self {
        Self { single: double.iter().map(|&v| v as f32).collect(), double }
    }

    pub(crate) fn of<T: Real>(parameters: &[T]) -> Self {
        Self::new(parameters.iter().map(|p| p.to_f64()).collect())
    }

    /// As numbers of one type.
    pub(crate) fn get<T: Real>(&self) -> &[T] {
        if size_of::<T>() == size_of::<f32>() {
            bytemuck::cast_slice(&self.single)
        } else {
            bytemuck::cast_slice(&self.double)
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.double.len()
    }

    /// Puts the parameters of a network into a file: `NAME.0.weight`, `NAME.0.bias`, and so on.
    pub(crate) fn put(&self, name: &str, network: &Network, file: &mut ModelFile) {
        for (index, (layer, own)) in network.places().enumerate() {
            let Some((shape, biases)) = layer.shapes() else { continue };
            let (weights, rest) = self.double[own].split_at(shape.iter().product());
            file.insert(&format!("{name}.{index}.weight"), Tensor::new(shape, weights.to_vec()));
            file.insert(&format!("{name}.{index}.bias"), Tensor::new(vec![biases], rest.to_vec()));
        }
    }

    /// Takes them out again.
    pub(crate) fn take(
        name: &str,
        network: &Network,
        file: &mut ModelFile,
        path: &Path,
    ) -> Result<Self> {
        let mut all = Vec::new();
        for (index, layer) in network.layers.iter().enumerate() {
            let Some((shape, biases)) = layer.shapes() else { continue };
            all.extend(file.take_shaped(&format!("{name}.{index}.weight"), &shape, path)?);
            all.extend(file.take_shaped(&format!("{name}.{index}.bias"), &[biases], path)?);
        }
        if let Some(at) = all.iter().position(|w| w.abs() > 1e30) {
            let problem =
                format!("a parameter of `{name}` is {}, expected less than 1e30", all[at]);
            return Err(Error::model_file(path, problem));
        }
        Ok(Self::new(all))
    }
}

/// Takes the layers of a network from what a file's manifest says of them, if they fit one another.
pub(crate) fn network_of(
    file: &ModelFile,
    name: &str,
    inputs: usize,
    outputs: usize,
    path: &Path,
) -> Result<Network> {
    let bad = |problem: String| Error::model_file(path, format!("its layers `{name}`: {problem}"));
    let said = file.manifest.params.get("layers").and_then(|layers| layers.get(name));
    let said = said.ok_or_else(|| bad("the manifest does not list them".into()))?;
    let layers: Vec<Layer> =
        serde_json::from_value(said.clone()).map_err(|e| bad(e.to_string()))?;
    let sound = |layer: &Layer| match layer {
        Layer::Dense { inputs, outputs } => *inputs > 0 && *outputs > 0,
        Layer::Activation { width, .. } => *width > 0,
        Layer::Conv(conv) | Layer::Deconv(conv) => {
            let Conv { from, to, kernel, stride } = *conv;
            let sides = [from.height, from.width, from.channels, to.channels, kernel, stride];
            sides.iter().all(|side| (1..=WIDEST).contains(side))
                && kernel <= 64
                && stride <= kernel
                && from.height.saturating_mul(from.width).saturating_mul(from.channels) <= WIDEST
                && to == from.strided(stride, to.channels)
                && to.height.saturating_mul(to.width).saturating_mul(to.channels) <= WIDEST
        }
    };
    if layers.is_empty() || layers.len() > 1000 || !layers.iter().all(sound) {
        return Err(bad("there are none, too many, or some that cannot be".into()));
    }
    if layers.iter().any(|layer| layer.inputs() > WIDEST || layer.outputs() > WIDEST) {
        return Err(bad(format!("a layer is wider than {WIDEST}")));
    }
    if let Some(at) = layers.windows(2).position(|pair| pair[0].outputs() != pair[1].inputs()) {
        return Err(bad(format!("layer {at} and the next do not fit together")));
    }
    let network = Network { layers };
    if (network.inputs(), network.outputs()) != (inputs, outputs) {
        let found = (network.inputs(), network.outputs());
        return Err(bad(format!(
            "they lead from {} to {}, expected {inputs} to {outputs}",
            found.0, found.1
        )));
    }
    Ok(network)
}

/// Says in a manifest which layers a network has.
pub(crate) fn list_layers(params: &mut serde_json::Value, name: &str, network: &Network) {
    if !params.is_object() {
        *params = serde_json::json!({});
    }
    if !params["layers"].is_object() {
        params["layers"] = serde_json::json!({});
    }
    params["layers"][name] = serde_json::to_value(&network.layers).unwrap_or_default();
}
