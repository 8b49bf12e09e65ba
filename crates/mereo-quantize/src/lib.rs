//! Quantisers: models that say a row with the number of the vector that is most like it
//! ([`vq`]), or with the few features ([`gvq`]) or vectors ([`cvq`])
//! that add up to it; and a codec made of them ([`codec`]).

pub mod associate;
pub mod codec;
pub mod cvq;
#[cfg(test)]
mod fixture;
pub mod gvq;
mod squares;
pub mod vq;

pub use associate::Association;
pub use cvq::{Cvq, CvqParams};
pub use gvq::{Gvq, GvqOptions, GvqParams};
pub use vq::{Vq, VqParams};

/// The tasks and learners of this crate, to be answered where rows are. Vector quantisers learn by
/// those of [`mereo_core`].
///
/// ```
/// let names: Vec<&str> = mereo_quantize::answers().iter().map(|answer| answer.name()).collect();
/// assert_eq!(names, ["holes", "binary cells", "gvq usage", "gvq", "binary gvq", "cvq"]);
/// ```
pub fn answers() -> Vec<mereo_core::Answer> {
    let mut answers = gvq::answers();
    answers.push(cvq::answer());
    answers
}
