//! What a learned model can do, and the file it is kept in.

mod capability;
mod file;

pub use capability::{
    Components, ComponentsView, Encode, Explain, Looks, Parts, PartsView, Reconstruct, Sample,
    Score, ScoreKind, Scores, encode, reconstruct, responsible_parts, sample, score,
};
pub use file::{Manifest, ModelFile, Tensor};
