//! What a learned model can do, and the file it is kept in.

mod capability;
mod cells;
mod file;
mod kind;
mod likelihood;
mod params;
mod predict;
mod structure;

pub use capability::{
    Appearance, Components, ComponentsView, Encode, Explain, LevelsView, Parts, PartsView,
    Reconstruct, Sample, Score, ScoreKind, Scores, encode, reconstruct, responsible_parts, sample,
    score,
};
pub use cells::{CellPrediction, Normal, PredictCells, predict_cells};
pub use file::{Manifest, Members, ModelFile, OwnColumns, SizeTried, Tensor};
pub use kind::{DynModel, Model, OnRows};
pub use likelihood::{
    ClassView, Classify, Estimate, Likelihood, RowLikelihood, classify, estimate,
};
#[doc(hidden)]
pub use params::about_of;
pub use params::{Options, ParamInfo, ParamType, ParamValue, Params, Size, read_options};
pub use predict::{
    Asked, Predict, Prediction, Predictions, draw_missing, predict, prediction_starts, surprise,
};
pub use structure::{Features, Layers};
