//! Layers learned one by one.

use mereo_core::{Context, Error, Plan, Real, Result, Silent, Source, Start, Status, descend};

use super::Loss;
use super::learner::AeLearner;
use crate::layers::Layer;
use crate::network::Network;
use crate::noise::Replaced;
use crate::optimise::Walker;

/// Where a network can be cut into blocks: a layer with parameters and the functions that follow it.
fn blocks(network: &Network) -> Vec<std::ops::Range<usize>> {
    let begins: Vec<usize> = (0..network.layers.len())
        .filter(|&at| !matches!(network.layers[at], Layer::Activation { .. }))
        .collect();
    let ends = begins.iter().skip(1).copied().chain([network.layers.len()]);
    let mut blocks: Vec<_> = begins.iter().copied().zip(ends).map(|(a, b)| a..b).collect();
    if let Some(first) = blocks.first_mut() {
        first.start = 0;
    }
    blocks
}

/// The blocks of a mirror: functions stand before the layer, as they stood behind it in the encoder.
fn mirrored(network: &Network) -> Vec<std::ops::Range<usize>> {
    let ends: Vec<usize> = (0..network.layers.len())
        .filter(|&at| !matches!(network.layers[at], Layer::Activation { .. }))
        .map(|at| at + 1)
        .collect();
    let begins = [0].into_iter().chain(ends.iter().copied());
    begins.zip(&ends).map(|(a, &b)| a..b).collect()
}

fn parameters_of(network: &Network, layers: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let places: Vec<_> = network.places().map(|(_, own)| own).collect();
    places[layers.start].start..places[layers.end - 1].end
}

/// Whether an encoder and a decoder can be learned block by block: each block of the decoder undoes one of the
/// encoder.
pub(super) fn fits(encoder: &Network, decoder: &Network) -> bool {
    let (up, down) = (blocks(encoder), mirrored(decoder));
    up.len() == down.len()
        && up.iter().zip(down.iter().rev()).all(|(up, down)| {
            let (e, d) = (&encoder.layers[up.clone()], &decoder.layers[down.clone()]);
            let width = |layers: &[Layer]| {
                (layers.first().map_or(0, Layer::inputs), layers.last().map_or(0, Layer::outputs))
            };
            let ((a, b), (c, d)) = (width(e), width(d));
            (a, b) == (d, c)
        })
}

/// Learns blocks one by one, each on codes of clean rows from those below, and puts their parameters together.
pub(super) fn start<T: Real>(
    whole: &AeLearner<T>,
    source: &dyn Source<T>,
    plan: &Plan,
    restart: usize,
    context: &Context,
) -> Result<Start<Walker<T>>> {
    let (up, down) = (blocks(&whole.encoder), mirrored(&whole.decoder));
    let mut random = context.random("first weights", [restart as u64, 0]);
    let mut encoder: Vec<T> = whole.encoder.start(&mut random);
    let mut decoder: Vec<T> = whole.decoder.start(&mut random);
    let short = Plan { restarts: 1, checkpoints: None, ..plan.clone() };
    let pieces = plan.checkpoints.as_ref().map(|checkpoints| checkpoints.pieces.clone());
    for (stage, (up, down)) in up.iter().zip(down.iter().rev()).enumerate() {
        // What an interrupted run has learned of this stage is as it would be learned again.
        let name = format!("stage {stage} of start {restart}");
        if let Some(done) = pieces.as_ref().and_then(|pieces| pieces.get::<Vec<Vec<T>>>(&name))
            && let [up, down] = &*done
            && (up.len(), down.len()) == (encoder.len(), decoder.len())
        {
            encoder.copy_from_slice(up);
            decoder.copy_from_slice(down);
            continue;
        }
        let (own, back) = (parameters_of(&whole.encoder, up), parameters_of(&whole.decoder, down));
        let layers = |network: &Network, range: &std::ops::Range<usize>| Network {
            layers: network.layers[range.clone()].to_vec(),
        };
        // What came before is learned; a decoder's functions in front of its layer are a matter of the
        // block above, so that codes are compared as they are.
        let (below, own_encoder) =
            (layers(&whole.encoder, &(0..up.start)), layers(&whole.encoder, up));
        let width = own_encoder.inputs();
        let learner = AeLearner {
            below: (stage > 0).then(|| (below, encoder[..own.start].to_vec())),
            encoder: own_encoder,
            decoder: Network {
                layers: whole.decoder.layers[down.clone()]
                    .iter()
                    .filter(|layer| !matches!(layer, Layer::Activation { .. }))
                    .copied()
                    .collect(),
            },
            loss: if stage == 0 { whole.loss } else { Loss::Squared },
            replaced: if stage == 0 {
                whole.replaced.clone()
            } else {
                Replaced {
                    nothing: vec![0.0; width],
                    darkest: vec![0.0; width],
                    brightest: vec![1.0; width],
                }
            },
            ..whole.clone()
        };
        let mut parameters = encoder[own.clone()].to_vec();
        parameters.extend_from_slice(&decoder[back.clone()]);
        let start = |_| Ok(Start { state: Walker::new(parameters.clone()), how: "stage".into() });
        let seeded = context.with_seed(context.seed().wrapping_add(stage as u64 + 1));
        let learned = descend(&learner, start, source, &short, &seeded, &mut Silent)?;
        if learned.training.status == Status::Interrupted {
            return Err(Error::Interrupted);
        }
        let learned = learned.state.chosen();
        let (up, down) = learned.split_at(own.len());
        encoder[own].copy_from_slice(up);
        decoder[back].copy_from_slice(down);
        if let Some(pieces) = &pieces {
            pieces.keep(&[(&name, &vec![encoder.clone(), decoder.clone()])]);
        }
    }
    // The loop's own checkpoints hold all of it from here on.
    if let Some(pieces) = &pieces {
        pieces.forget();
    }
    encoder.extend(decoder);
    Ok(Start { state: Walker::new(encoder), how: "stacked".into() })
}
