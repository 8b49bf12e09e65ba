//! What a learned model can do, and the file it is kept in.

mod capability;
mod file;
mod likelihood;

pub use capability::{
    Appearance, Components, ComponentsView, Encode, Explain, Parts, PartsView, Reconstruct, Sample,
    Score, ScoreKind, Scores, encode, reconstruct, responsible_parts, sample, score,
};
pub use file::{Manifest, ModelFile, SizeTried, Tensor};
pub use likelihood::{
    ClassView, Classify, Estimate, Likelihood, RowLikelihood, classify, estimate,
};
