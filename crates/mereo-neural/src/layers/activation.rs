//! Functions of single numbers, with their slopes in terms of what they gave: relu `y > 0`, sigmoid
//! `y(1 - y)`, tanh `1 - y²`.

use mereo_core::Real;
use mereo_core::math::{exp_in_place, widest};
use serde::{Deserialize, Serialize};

/// What is done with each number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Activation {
    Relu,
    Sigmoid,
    Tanh,
}

/// Replaces every number by its sigmoid.
pub(crate) fn sigmoid_in_place<T: Real>(values: &mut [T]) {
    widest(
        #[inline(always)]
        || values.iter_mut().for_each(|v| *v = -*v),
    );
    exp_in_place(values);
    widest(
        #[inline(always)]
        || values.iter_mut().for_each(|v| *v = T::ONE / (T::ONE + *v)),
    );
}

impl Activation {
    pub(super) fn forward<T: Real>(self, inputs: &[T], outputs: &mut [T]) {
        let two = T::from_f64(2.0);
        match self {
            Self::Relu => widest(
                #[inline(always)]
                || {
                    for (y, &x) in outputs.iter_mut().zip(inputs) {
                        *y = if x > T::ZERO { x } else { T::ZERO };
                    }
                },
            ),
            Self::Sigmoid => {
                outputs.copy_from_slice(inputs);
                sigmoid_in_place(outputs);
            }
            // tanh x = 1 - 2/(1 + exp 2x): exact where it matters, and the exponential never overflows.
            Self::Tanh => {
                widest(
                    #[inline(always)]
                    || {
                        for (y, &x) in outputs.iter_mut().zip(inputs) {
                            *y = two * x;
                        }
                    },
                );
                exp_in_place(outputs);
                widest(
                    #[inline(always)]
                    || outputs.iter_mut().for_each(|y| *y = T::ONE - two / (T::ONE + *y)),
                );
            }
        }
    }

    pub(super) fn backward<T: Real>(self, outputs: &[T], by_outputs: &[T], by_inputs: &mut [T]) {
        widest(
            #[inline(always)]
            || {
                let each = by_inputs.iter_mut().zip(outputs.iter().zip(by_outputs));
                match self {
                    Self::Relu => {
                        each.for_each(|(d, (&y, &g))| *d = if y > T::ZERO { g } else { T::ZERO });
                    }
                    Self::Sigmoid => each.for_each(|(d, (&y, &g))| *d = g * y * (T::ONE - y)),
                    Self::Tanh => each.for_each(|(d, (&y, &g))| *d = g * (T::ONE - y * y)),
                }
            },
        );
    }
}
