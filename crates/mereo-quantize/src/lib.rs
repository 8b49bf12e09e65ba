//! Quantisers: models that say a row with the number of the vector that is most like it
//! ([`vq`]).

pub mod vq;

pub use vq::{Vq, VqParams};
