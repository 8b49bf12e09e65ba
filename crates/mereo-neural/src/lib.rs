//! Auto-encoders. [`ae`] makes codes of rows and rows of codes: plain, denoising, stacked, with a classifier
//! on top. [`vae`] is its variational kin, a density.
//!
//! Networks are a few layers over this project's own matrix products, each with its exact gradient; there is
//! no general differentiation and no framework. A gradient summed over rows is an additive statistic, so
//! networks are learned as all else is: the same bytes on any number of threads, checkpoints that resume
//! exactly, streams, weights, missing cells.

#[macro_use]
mod options;

pub mod ae;
pub mod vae;

mod coder;
mod codes;
mod describe;
mod layers;
mod loss;
mod network;
mod noise;
mod optimise;
mod slopes;
mod units;
mod weights;

#[cfg(test)]
mod gradients;

pub use ae::{Ae, AeClasses, AeParams, Loss};
pub use coder::Filters;
pub use optimise::{Optimiser, RateSchedule};
pub use vae::{DecoderKind, Vae, VaeParams, Variance};

use mereo_core::Answer;

/// Answers to all that auto-encoders ask of rows, wherever the rows are.
///
/// ```
/// let names: Vec<&str> = mereo_neural::answers().iter().map(|answer| answer.name()).collect();
/// assert!(names.contains(&"codes"));
/// ```
pub fn answers() -> Vec<Answer> {
    vec![
        Answer::task::<units::RangeTask, units::RangeTask>(),
        Answer::task::<codes::CodesTask<f32>, codes::CodesTask<f64>>(),
        Answer::task::<ae::LabelsTask, ae::LabelsTask>(),
    ]
}
