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
pub use gvq::{Gvq, GvqParams};
pub use vq::{Vq, VqParams};
