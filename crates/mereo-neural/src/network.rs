//! Layers one after another, with all their parameters in one vector.

use mereo_core::{Random, Real};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::layers::{Activation, Given, Layer};

/// Layers one after another. Parameters are one vector, layer after layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Network {
    pub(crate) layers: Vec<Layer>,
}

/// What rows are on their way through a network, kept for the way back.
#[derive(Debug, Default)]
pub(crate) struct Trace<T> {
    /// What each layer made of the rows.
    made: Vec<Vec<T>>,
    /// Gradients by what comes into and goes out of a layer.
    slopes: [Vec<T>; 2],
    scratch: Vec<T>,
}

impl<T: Real> Trace<T> {
    pub(crate) fn new() -> Self {
        Self { made: Vec::new(), slopes: [Vec::new(), Vec::new()], scratch: Vec::new() }
    }
}

/// At least this long, keeping what it holds.
fn fit<T: Real>(values: &mut Vec<T>, length: usize) {
    if values.len() < length {
        values.resize(length, T::ZERO);
    }
}

impl Network {
    pub(crate) fn inputs(&self) -> usize {
        self.layers.first().map_or(0, Layer::inputs)
    }

    pub(crate) fn outputs(&self) -> usize {
        self.layers.last().map_or(0, Layer::outputs)
    }

    pub(crate) fn parameters(&self) -> usize {
        self.layers.iter().map(Layer::parameters).sum()
    }

    /// Where the parameters of each layer are.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Layer, std::ops::Range<usize>)> {
        self.layers.iter().scan(0, |start, layer| {
            let own = *start..*start + layer.parameters();
            *start = own.end;
            Some((layer, own))
        })
    }

    /// First parameters: weights that keep the size of what passes through (He's before a relu, Glorot's
    /// fan-in form elsewhere), biases of 0. The last layer's are a tenth, so that what comes out first is
    /// near the mean.
    pub(crate) fn start<T: Real>(&self, random: &mut Random) -> Vec<T> {
        let mut parameters = Vec::with_capacity(self.parameters());
        for (index, layer) in self.layers.iter().enumerate() {
            let Some((weights, biases)) = layer.shapes() else { continue };
            let next = self.layers.get(index + 1);
            let relu = matches!(next, Some(Layer::Activation { function: Activation::Relu, .. }));
            let gain = match next {
                _ if relu => 2f64.sqrt(),
                None => 0.1,
                _ => 1.0,
            };
            let deviation = gain / (layer.fan_in() as f64).sqrt();
            parameters.extend((0..weights.iter().product()).map(|_| {
                let drawn: f64 = StandardNormal.sample(random);
                T::from_f64(drawn * deviation)
            }));
            parameters.extend(std::iter::repeat_n(T::ZERO, biases));
        }
        parameters
    }

    /// Sends rows through; what comes out is lent.
    pub(crate) fn forward<'a, T: Real>(
        &self,
        parameters: &[T],
        rows: usize,
        inputs: &[T],
        trace: &'a mut Trace<T>,
    ) -> &'a mut [T] {
        let Trace { made, scratch, .. } = trace;
        made.resize_with(self.layers.len(), Vec::new);
        for (index, (layer, own)) in self.places().enumerate() {
            let (before, after) = made.split_at_mut(index);
            let inputs = before.last().map_or(inputs, |last| &last[..rows * layer.inputs()]);
            let outputs = &mut after[0];
            fit(outputs, rows * layer.outputs());
            let outputs = &mut outputs[..rows * layer.outputs()];
            layer.forward(
                &parameters[own],
                rows,
                &inputs[..rows * layer.inputs()],
                outputs,
                scratch,
            );
        }
        match made.last_mut() {
            Some(last) => &mut last[..rows * self.outputs()],
            None => &mut [],
        }
    }

    /// What came out of the last rows that were sent through.
    pub(crate) fn made<'a, T: Real>(&self, rows: usize, trace: &'a Trace<T>) -> &'a [T] {
        trace.made.last().map_or(&[], |last| &last[..rows * self.outputs()])
    }

    /// Goes back with the gradient by what came out, adding that of the parameters; the gradient by what
    /// went in is lent, if it is wanted.
    pub(crate) fn backward<'a, T: Real>(
        &self,
        given: Given<'_, T>,
        by_outputs: &[T],
        gradient: &mut [T],
        wanted: bool,
        trace: &'a mut Trace<T>,
    ) -> &'a [T] {
        let Given { parameters, rows, inputs } = given;
        let Trace { made, slopes: [out, into], scratch } = trace;
        fit(out, rows * self.outputs());
        out[..rows * self.outputs()].copy_from_slice(&by_outputs[..rows * self.outputs()]);
        let places: Vec<_> = self.places().collect();
        for (index, (layer, own)) in places.into_iter().enumerate().rev() {
            let inputs = if index == 0 { inputs } else { &made[index - 1] };
            let outputs = &made[index][..rows * layer.outputs()];
            let inputs = &inputs[..rows * layer.inputs()];
            let given = Given { parameters: &parameters[own.clone()], rows, inputs };
            let back = index > 0 || wanted;
            fit(into, rows * layer.inputs());
            let by_inputs = back.then(|| &mut into[..rows * layer.inputs()]);
            let by_outputs = &out[..rows * layer.outputs()];
            layer.backward(given, outputs, by_outputs, &mut gradient[own], by_inputs, scratch);
            std::mem::swap(out, into);
        }
        &out[..if wanted { rows * self.inputs() } else { 0 }]
    }
}
