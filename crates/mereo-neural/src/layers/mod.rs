//! Layers: what each makes of rows, and the exact gradient of that.
//!
//! A layer maps R rows of `inputs` numbers to R rows of `outputs`. Going back, it is given the gradient of
//! what is to be made large with respect to its outputs, adds the gradient with respect to its parameters
//! to a vector, and writes the one with respect to its inputs. Pictures are rows with channels last, so
//! that flattening one is doing nothing. All heavy work is matrix products.

mod activation;
mod conv;
mod dense;

use mereo_core::Real;
use serde::{Deserialize, Serialize};

pub(crate) use activation::{Activation, sigmoid_in_place};
pub(crate) use conv::{Conv, Grid};

/// What a layer was given: its parameters and its rows.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a, T> {
    pub(crate) parameters: &'a [T],
    pub(crate) rows: usize,
    pub(crate) inputs: &'a [T],
}

/// One layer. Parameters stand elsewhere: weights `[outputs, inputs]` or `[channels, kernel, kernel, channels]`,
/// then biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Layer {
    /// `y = Wx + b`.
    Dense { inputs: usize, outputs: usize },
    /// A convolution.
    Conv(Conv),
    /// A transposed convolution: what the convolution's gradient does, from small pictures to large ones.
    Deconv(Conv),
    /// A function of each number.
    Activation { width: usize, function: Activation },
}

impl Layer {
    /// Numbers in a row that comes in.
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Self::Dense { inputs, .. } => *inputs,
            Self::Conv(conv) => conv.from.cells(),
            Self::Deconv(conv) => conv.to.cells(),
            Self::Activation { width, .. } => *width,
        }
    }

    /// Numbers in a row that goes out.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Self::Dense { outputs, .. } => *outputs,
            Self::Conv(conv) => conv.to.cells(),
            Self::Deconv(conv) => conv.from.cells(),
            Self::Activation { width, .. } => *width,
        }
    }

    /// The shape of its weights and the number of its biases; nothing if it has none.
    pub(crate) fn shapes(&self) -> Option<(Vec<usize>, usize)> {
        match self {
            Self::Dense { inputs, outputs } => Some((vec![*outputs, *inputs], *outputs)),
            Self::Conv(conv) => Some((conv.weight_shape(), conv.to.channels)),
            Self::Deconv(conv) => Some((conv.weight_shape(), conv.from.channels)),
            Self::Activation { .. } => None,
        }
    }

    /// Number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.shapes().map_or(0, |(weights, biases)| weights.iter().product::<usize>() + biases)
    }

    /// How many inputs an output sees: what the size of first weights follows.
    pub(crate) fn fan_in(&self) -> usize {
        match self {
            Self::Dense { inputs, .. } => *inputs,
            Self::Conv(conv) => conv.patch(),
            // Every input is seen by a patch of outputs, each output by a share of the patches.
            Self::Deconv(conv) => {
                (conv.kernel * conv.kernel * conv.to.channels / (conv.stride * conv.stride)).max(1)
            }
            Self::Activation { .. } => 1,
        }
    }

    /// Writes what it makes of rows.
    pub(crate) fn forward<T: Real>(
        &self,
        parameters: &[T],
        rows: usize,
        inputs: &[T],
        outputs: &mut [T],
        scratch: &mut Vec<T>,
    ) {
        match self {
            Self::Dense { inputs: n, outputs: m } => {
                dense::forward(parameters, (rows, *n, *m), inputs, outputs);
            }
            Self::Conv(conv) => conv.forward(parameters, rows, inputs, outputs, scratch),
            Self::Deconv(conv) => {
                conv.forward_transposed(parameters, rows, inputs, outputs, scratch);
            }
            Self::Activation { function, .. } => function.forward(inputs, outputs),
        }
    }

    /// Adds the gradient of its parameters, and writes that of its inputs if somebody wants it.
    pub(crate) fn backward<T: Real>(
        &self,
        given: Given<'_, T>,
        outputs: &[T],
        by_outputs: &[T],
        gradient: &mut [T],
        by_inputs: Option<&mut [T]>,
        scratch: &mut Vec<T>,
    ) {
        match self {
            Self::Dense { inputs, outputs } => {
                dense::backward(given, (*inputs, *outputs), by_outputs, gradient, by_inputs);
            }
            Self::Conv(conv) => conv.backward(given, by_outputs, gradient, by_inputs, scratch),
            Self::Deconv(conv) => {
                conv.backward_transposed(given, by_outputs, gradient, by_inputs, scratch);
            }
            Self::Activation { function, .. } => {
                if let Some(by_inputs) = by_inputs {
                    function.backward(outputs, by_outputs, by_inputs);
                }
            }
        }
    }
}
