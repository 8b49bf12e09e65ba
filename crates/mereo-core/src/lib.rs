//! The core of mereo: tables, the one learning loop, mathematics and model files.
//!
//! Almost every model of mereo learns the same way: *look at rows, add up what they tell,
//! re-estimate*. This crate holds what that needs and nothing that knows a particular model.

pub mod math;
pub mod slots;

mod about;
mod context;
mod error;
mod files;
mod fingerprint;
mod format;
mod gaussians;
mod learn;
mod model;
mod parallel;
mod ratings;
mod real;
mod rows;
mod source;
mod table;
mod together;
mod view;

pub use about::{About, ColumnKind, Labels, Picture, column_name};
pub use context::{Context, Random, Stop, draw};
pub use error::{Error, Place, Result};
pub use files::{
    abandon_files, check_writable, follow_links, write_atomically, write_file_atomically,
};
pub use fingerprint::Fingerprint;
pub use format::{DATE_PATTERNS, Format, cell_text, days_since_1970, how_often, plainly};
pub use gaussians::Gaussians;
pub use learn::{
    Answer, Checkpoints, Deal, Descender, Facts, Learned, Learner, Lent, Look, Memory, Observer,
    Pass, Pieces, Plan, Portions, Record, Remote, Request, Restart, RowTask, RowsTask, Schedule,
    Silent, Start, Statistics, Status, Told, Training, descend, gather, learn, map_rows, pack,
    unpack,
};
#[doc(hidden)]
pub use model::about_of;
pub use model::{
    Appearance, Asked, CellPrediction, ClassView, Classify, Components, ComponentsView, DynModel,
    Encode, Estimate, Explain, Features, Layers, LevelsView, Likelihood, Manifest, Members, Model,
    ModelFile, Normal, OnRows, Options, OwnColumns, ParamInfo, ParamType, ParamValue, Params,
    Parts, PartsView, Predict, PredictCells, Prediction, Predictions, Reconstruct, RowLikelihood,
    Sample, Score, ScoreKind, Scores, Size, SizeTried, Tensor, classify, draw_missing, encode,
    estimate, predict, predict_cells, prediction_starts, read_options, reconstruct,
    responsible_parts, sample, score, surprise,
};
pub use parallel::{in_parallel, map_in_parallel};
pub use ratings::RatingsSeen;
pub use real::Real;
pub use rows::sample_rows;
pub use source::{Batch, Block, Lane, Source, batch_rows};
pub use table::{Absent, AnyTable, Cells, Dense, Sparse, Table, check_cells};
pub use view::View;

// What the macros of this crate write.
#[doc(hidden)]
pub use {serde, serde_json};
