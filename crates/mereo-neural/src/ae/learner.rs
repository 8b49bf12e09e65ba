//! Bound and gradient of a few rows.

use mereo_core::{Batch, Context, Deal, Descender, Facts, Look, Pass, Real, Status, Told};
use serde::{Deserialize, Serialize};

use super::Loss;
use crate::layers::Given;
use crate::loss::{cross_entropy, scale_rows, squared};
use crate::network::{Network, Trace};
use crate::noise::{Noise, Replaced};
use crate::optimise::{Pace, Walker};
use crate::slopes::Slopes;
use crate::units::{Cells, Units, random_of};

/// Learns an encoder and a decoder.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct AeLearner<T> {
    pub(super) units: Units,
    /// What rows go through first, and does not change: encoders learned before.
    pub(super) below: Option<(Network, Vec<T>)>,
    pub(super) encoder: Network,
    pub(super) decoder: Network,
    pub(super) loss: Loss,
    pub(super) noise: Option<Noise>,
    pub(super) replaced: Replaced,
    pub(super) emphasis: f64,
    pub(super) pace: Pace,
    pub(super) facts: Facts,
    pub(super) seed: u64,
}

/// Memory for looking at rows.
#[derive(Debug)]
pub(crate) struct Work<T> {
    pub(crate) cells: Cells<T>,
    below: Trace<T>,
    encoder: Trace<T>,
    decoder: Trace<T>,
    inputs: Vec<T>,
    targets: Vec<T>,
    weights: Vec<T>,
    outputs: Vec<T>,
    scratch: Vec<T>,
    sums: Vec<f64>,
}

impl<T: Real> Work<T> {
    pub(crate) fn new() -> Self {
        Self {
            cells: Cells::default(),
            below: Trace::new(),
            encoder: Trace::new(),
            decoder: Trace::new(),
            inputs: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
            outputs: Vec::new(),
            scratch: Vec::new(),
            sums: Vec::new(),
        }
    }
}

impl<T: Real> AeLearner<T> {
    /// Parameters of both networks, the encoder's first.
    pub(super) fn parameters(&self) -> usize {
        self.encoder.parameters() + self.decoder.parameters()
    }
}

impl<T: Real> Descender<T> for AeLearner<T> {
    const NAME: &'static str = "ae";
    type State = Walker<T>;
    type Gradient = Slopes<T>;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn deal(&self) -> Deal {
        self.pace.deal()
    }

    fn gradient(&self) -> Slopes<T> {
        Slopes::new(self.parameters())
    }

    fn workspace(&self) -> Work<T> {
        Work::new()
    }

    fn accumulate(
        &self,
        state: &Walker<T>,
        pass: Pass,
        look: Look,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        slopes: &mut Slopes<T>,
    ) {
        let (rows, width) = (batch.rows, self.encoder.inputs());
        let (own, rest) = state.parameters.split_at(self.encoder.parameters());
        self.units.write(batch, &mut work.cells);
        work.inputs.clear();
        work.targets.clear();
        if let Some((network, parameters)) = &self.below {
            let codes = network.forward(parameters, rows, &work.cells.inputs, &mut work.below);
            work.inputs.extend_from_slice(codes);
            work.targets.extend_from_slice(codes);
        } else {
            work.inputs.extend_from_slice(&work.cells.inputs);
            work.targets.extend_from_slice(&work.cells.values);
            if self.loss == Loss::CrossEntropy {
                // Cells themselves, not their distance from the mean.
                for row in work.targets.chunks_exact_mut(width) {
                    let cells = row.iter_mut().zip(&self.units.centre);
                    cells.for_each(|(x, &centre)| *x += T::from_f64(centre));
                }
            }
        }
        let noise = self.noise.filter(|_| look == Look::Learn);
        if let Some(noise) = noise {
            work.weights.resize(rows * width, T::ONE);
            let context = Context::new(self.seed);
            let number = ((pass.restart as u64) << 32) | pass.pass as u64;
            let each =
                work.inputs.chunks_exact_mut(width).zip(work.weights.chunks_exact_mut(width));
            for ((inputs, weights), &key) in each.zip(&work.cells.keys) {
                let mut random = random_of(&context, "noise", key, number);
                noise.corrupt(&mut random, &self.replaced, inputs, (self.emphasis, weights));
            }
        }
        let emphasis = noise.filter(|noise| noise.hits_some()).map(|_| &*work.weights);
        let codes = self.encoder.forward(own, rows, &work.inputs, &mut work.encoder);
        let made = self.decoder.forward(rest, rows, codes, &mut work.decoder);
        work.outputs.clear();
        work.outputs.extend_from_slice(made);
        let Work { targets, outputs, scratch, sums, .. } = work;
        if self.below.is_none() && self.loss == Loss::CrossEntropy {
            cross_entropy(targets, outputs, width, 1, emphasis, scratch, sums);
        } else {
            squared(targets, outputs, width, emphasis, sums);
        }
        for (row, sum) in work.sums.iter().enumerate() {
            slopes.bound += batch.weight(row) * sum;
        }
        if look == Look::Judge {
            return;
        }
        scale_rows(&mut work.outputs, width, |row| batch.weight(row));
        let (by_encoder, by_decoder) = slopes.gradient.split_at_mut(own.len());
        let Work { encoder, decoder, inputs, outputs, .. } = work;
        let given = Given { parameters: rest, rows, inputs: self.encoder.made(rows, encoder) };
        let back = self.decoder.backward(given, outputs, by_decoder, true, decoder);
        let given = Given { parameters: own, rows, inputs };
        self.encoder.backward(given, back, by_encoder, false, encoder);
    }

    fn bound(&self, slopes: &Slopes<T>) -> f64 {
        slopes.bound
    }

    fn step(&self, state: &mut Walker<T>, slopes: &Slopes<T>, weight: f64, at: f64) {
        state.step(&self.pace, &slopes.gradient, slopes.bound, weight, at);
    }

    fn end_pass(&self, state: &mut Walker<T>, told: Told, pass: Pass) -> Option<Status> {
        state.end_pass(&self.pace, told, pass)
    }
}
