//! Networks from short descriptions: `conv 16x3/2, relu, dense 64, relu`.
//!
//! A description lists hidden layers. The layer that makes the code, and the one that makes cells, follow
//! from the data; so does a decoder that nobody described: it is the encoder's mirror.

use mereo_core::{Error, Picture, Result};

use crate::layers::{Activation, Conv, Grid, Layer};
use crate::network::Network;

/// The widest layer.
const WIDEST: usize = 1 << 22;
/// What is encoded by if nobody says.
pub(crate) const ENCODER: &str = "dense 256, relu, dense 128, relu";

/// One word of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Dense(usize),
    Conv { channels: usize, kernel: usize, stride: usize, transposed: bool },
    Activation(Activation),
}

fn wrong(option: &str, problem: impl std::fmt::Display) -> Error {
    Error::option(option, problem)
}

fn parse(option: &str, text: &str) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (word, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let number = |text: &str| -> Result<usize> {
            text.trim().parse().ok().filter(|n| (1..=WIDEST).contains(n)).ok_or_else(|| {
                wrong(option, format!("`{part}`: `{text}` is no number from 1 to {WIDEST}"))
            })
        };
        let piece = match word {
            "flatten" => continue,
            "relu" => Piece::Activation(Activation::Relu),
            "sigmoid" => Piece::Activation(Activation::Sigmoid),
            "tanh" => Piece::Activation(Activation::Tanh),
            "dense" => Piece::Dense(number(rest)?),
            "conv" | "deconv" => {
                let (size, stride) = rest.split_once('/').unwrap_or((rest, "1"));
                let Some((channels, kernel)) = size.split_once('x') else {
                    let problem = format!(
                        "`{part}`: a convolution is CHANNELSxKERNEL or CHANNELSxKERNEL/STRIDE, as in 16x3/2"
                    );
                    return Err(wrong(option, problem));
                };
                let (channels, kernel, stride) =
                    (number(channels)?, number(kernel)?, number(stride)?);
                if kernel > 64 || stride > kernel {
                    let problem = format!(
                        "`{part}`: a kernel may be up to 64 wide, and its stride no longer than it is wide"
                    );
                    return Err(wrong(option, problem));
                }
                Piece::Conv { channels, kernel, stride, transposed: word == "deconv" }
            }
            _ => {
                let problem = format!(
                    "`{part}` is not known; layers are dense N, conv CxK/S, deconv CxK/S, relu, sigmoid, tanh, \
                     flatten"
                );
                return Err(wrong(option, problem));
            }
        };
        pieces.push(piece);
    }
    Ok(pieces)
}

/// Complains about a description that cannot be read.
pub(crate) fn check(option: &str, text: Option<&str>) -> Result<()> {
    text.map_or(Ok(()), |text| parse(option, text).map(|_| ()))
}

fn grid_of(picture: Option<Picture>) -> Option<Grid> {
    picture.map(|Picture { height, width, channels }| Grid { height, width, channels })
}

fn checked(option: &str, network: Network) -> Result<Network> {
    match network.layers.iter().find(|layer| layer.outputs() > WIDEST) {
        None => Ok(network),
        Some(layer) => {
            let problem = format!("a layer of {} numbers is too wide", layer.outputs());
            Err(wrong(option, problem))
        }
    }
}

/// The network from rows of `inputs` numbers to `outputs` numbers that describe a code of `code`.
pub(crate) fn encoder(
    text: Option<&str>,
    inputs: usize,
    picture: Option<Picture>,
    (code, outputs): (usize, usize),
) -> Result<Network> {
    let option = "encoder";
    let mut pieces = parse(option, text.unwrap_or(ENCODER))?;
    // A last layer as wide as the code is the code's own.
    if pieces.last() == Some(&Piece::Dense(code)) {
        pieces.pop();
    }
    let mut layers = Vec::new();
    let (mut width, mut grid) = (inputs, grid_of(picture));
    for piece in pieces {
        let layer = match piece {
            Piece::Dense(outputs) => {
                grid = None;
                Layer::Dense { inputs: width, outputs }
            }
            Piece::Activation(function) => Layer::Activation { width, function },
            Piece::Conv { transposed: true, .. } => {
                return Err(wrong(option, "deconv makes pictures larger: it is for decoders"));
            }
            Piece::Conv { channels, kernel, stride, .. } => {
                let Some(from) = grid else {
                    let problem = "a convolution needs pictures, and no dense layer before it";
                    return Err(wrong(option, problem));
                };
                let to = from.strided(stride, channels);
                grid = Some(to);
                Layer::Conv(Conv { from, to, kernel, stride })
            }
        };
        width = layer.outputs();
        layers.push(layer);
    }
    layers.push(Layer::Dense { inputs: width, outputs });
    checked(option, Network { layers })
}

/// The mirror of an encoder: from a code back to rows.
pub(crate) fn mirror(encoder: &Network, code: usize, outputs: usize) -> Network {
    let mut layers: Vec<Layer> = encoder
        .layers
        .iter()
        .rev()
        .map(|layer| match *layer {
            Layer::Dense { inputs, outputs } => Layer::Dense { inputs: outputs, outputs: inputs },
            Layer::Conv(conv) => Layer::Deconv(conv),
            Layer::Deconv(conv) => Layer::Conv(conv),
            activation @ Layer::Activation { .. } => activation,
        })
        .collect();
    if let Some(Layer::Dense { inputs, .. }) = layers.first_mut() {
        *inputs = code;
    }
    // An encoder whose first word is a function of cells has no use for it at the end.
    while matches!(layers.last(), Some(Layer::Activation { .. })) && layers.len() > 1 {
        layers.pop();
    }
    if let Some(Layer::Dense { outputs: last, .. }) = layers.last_mut() {
        *last = outputs;
    }
    Network { layers }
}

/// The network from a code to `outputs` numbers.
pub(crate) fn decoder(
    text: Option<&str>,
    encoder: &Network,
    code: usize,
    outputs: usize,
    picture: Option<Picture>,
) -> Result<Network> {
    let option = "decoder";
    let Some(text) = text else { return Ok(mirror(encoder, code, outputs)) };
    let mut pieces = parse(option, text)?;
    let spatial = |piece: &Piece| matches!(piece, Piece::Conv { .. });
    let mut layers = Vec::new();
    let mut width = code;
    let Some(first) = pieces.iter().position(spatial) else {
        if pieces.last() == Some(&Piece::Dense(outputs)) {
            pieces.pop();
        }
        for piece in pieces {
            let layer = match piece {
                Piece::Dense(outputs) => Layer::Dense { inputs: width, outputs },
                Piece::Activation(function) => Layer::Activation { width, function },
                Piece::Conv { .. } => continue,
            };
            width = layer.outputs();
            layers.push(layer);
        }
        layers.push(Layer::Dense { inputs: width, outputs });
        return checked(option, Network { layers });
    };
    let Some(picture) = grid_of(picture).filter(|grid| grid.cells() == outputs) else {
        return Err(wrong(option, "a convolution needs pictures"));
    };
    let last = pieces.iter().rposition(spatial).map(|at| pieces[at]);
    if !matches!(last, Some(Piece::Conv { channels, .. }) if channels == picture.channels)
        || !pieces.last().is_some_and(spatial)
    {
        let channels = picture.channels;
        pieces.push(Piece::Conv { channels, kernel: 3, stride: 1, transposed: false });
    }
    // Sizes follow from the picture that must come out, from back to front.
    let mut grids = vec![picture];
    for piece in pieces[first..].iter().rev() {
        let Some(&after) = grids.last() else { continue };
        grids.push(match *piece {
            Piece::Conv { stride, transposed: true, .. } => after.strided(stride, 0),
            Piece::Conv { stride, .. } if stride > 1 => {
                return Err(wrong(
                    option,
                    "a decoder's conv has stride 1; use deconv to go larger",
                ));
            }
            Piece::Dense(_) => {
                return Err(wrong(option, "dense layers come before the first deconv or conv"));
            }
            _ => after,
        });
    }
    grids.reverse();
    for piece in &pieces[..first] {
        let layer = match *piece {
            Piece::Dense(outputs) => Layer::Dense { inputs: width, outputs },
            Piece::Activation(function) => Layer::Activation { width, function },
            Piece::Conv { .. } => continue,
        };
        width = layer.outputs();
        layers.push(layer);
    }
    let places = grids[0].places();
    if places == 0 || !width.is_multiple_of(places) {
        let problem = format!(
            "{width} numbers come to the first deconv or conv, expected a multiple of {} x {}: put `dense {}` \
             before it",
            grids[0].height,
            grids[0].width,
            16 * places
        );
        return Err(wrong(option, problem));
    }
    let mut channels = width / places;
    for (piece, sizes) in pieces[first..].iter().zip(grids.windows(2)) {
        let (before, after) = (Grid { channels, ..sizes[0] }, sizes[1]);
        let layer = match *piece {
            Piece::Conv { channels: own, kernel, stride, transposed } => {
                channels = own;
                let after = Grid { channels: own, ..after };
                if transposed {
                    Layer::Deconv(Conv { from: after, to: before, kernel, stride })
                } else {
                    Layer::Conv(Conv { from: before, to: after, kernel, stride })
                }
            }
            Piece::Activation(function) => Layer::Activation { width: before.cells(), function },
            Piece::Dense(_) => continue,
        };
        layers.push(layer);
    }
    checked(option, Network { layers })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: Option<Picture> = Some(Picture { height: 19, width: 7, channels: 2 });

    #[test]
    fn descriptions_become_layers_and_mirrors_end_where_they_began() {
        let text = Some("conv 4x3/2, relu, conv 3x5/3, tanh, flatten, dense 10, relu");
        let network = encoder(text, 19 * 7 * 2, PICTURE, (3, 6)).unwrap();
        assert_eq!((network.inputs(), network.outputs()), (266, 6));
        let back = decoder(None, &network, 3, 266, PICTURE).unwrap();
        assert_eq!((back.inputs(), back.outputs(), back.layers.len()), (3, 266, 7));
        for network in [network, back] {
            for pair in network.layers.windows(2) {
                assert_eq!(pair[0].outputs(), pair[1].inputs(), "{pair:?}");
            }
        }
        let own = Some("dense 160, relu, deconv 8x3/2, relu, deconv 2x3/2");
        let own = decoder(own, &mirror_of(), 3, 266, PICTURE).unwrap();
        assert_eq!((own.inputs(), own.outputs()), (3, 266));
        for pair in own.layers.windows(2) {
            assert_eq!(pair[0].outputs(), pair[1].inputs(), "{pair:?}");
        }
    }

    fn mirror_of() -> Network {
        encoder(None, 266, PICTURE, (3, 3)).unwrap()
    }

    #[test]
    fn a_last_layer_as_wide_as_the_code_is_the_codes_own() {
        let network = encoder(Some("dense 5, relu, dense 3"), 4, None, (3, 3)).unwrap();
        assert_eq!(network.layers.len(), 3);
    }

    #[test]
    fn what_cannot_be_is_told() {
        for (text, word) in [
            ("conv 3x3", "needs pictures"),
            ("dense", "no number"),
            ("dense 0", "no number"),
            ("magic 3", "not known"),
            ("conv 3", "CHANNELSxKERNEL"),
            ("conv 3x2/5", "stride"),
            ("deconv 3x2", "decoders"),
        ] {
            let error = encoder(Some(text), 4, None, (2, 2)).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        let error = decoder(Some("dense 7, deconv 1x3/2"), &mirror_of(), 3, 266, PICTURE);
        assert!(error.unwrap_err().to_string().contains("multiple of 10 x 4"));
    }
}
