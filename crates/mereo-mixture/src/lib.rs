//! Mixtures: a row is made by one of a number of components ([`gaussian`], [`student`]), or by
//! one of the paths through layers of them ([`deep`]).

pub mod deep;
pub mod gaussian;
pub mod student;

mod covariances;
mod degrees;
mod files;
mod full;
mod likelihood;
mod start;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use deep::{DeepGmm, DeepGmmParams};
pub use gaussian::{Covariance, Gmm, GmmOptions, GmmParams};
pub use student::{Student, StudentParams};

use mereo_core::Answer;

/// Answers to all that mixtures ask of rows, wherever the rows are.
///
/// ```
/// let names: Vec<&str> = mereo_mixture::answers().iter().map(|answer| answer.name()).collect();
/// assert_eq!(names, ["gmm", "mixture with covariances", "deep-gmm"]);
/// ```
pub fn answers() -> Vec<Answer> {
    vec![
        Answer::pass::<gaussian::GmmLearner<f32>, gaussian::GmmLearner<f64>>(),
        Answer::pass::<full::MixtureLearner<f32>, full::MixtureLearner<f64>>(),
        Answer::pass::<deep::DeepLearner<f32>, deep::DeepLearner<f64>>(),
    ]
}
