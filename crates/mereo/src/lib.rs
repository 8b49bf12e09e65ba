//! mereo learns the parts that data is made of: this crate is the front door.
//!
//! It re-exports what users need and adds [`AnyModel`], which opens any model file and says what
//! the model in it can do.

mod align;
mod any_model;
mod data_of;
mod fit;
mod fitted;
mod models;
mod page;

pub use any_model::AnyModel;
pub use data_of::{Data, Held};
pub use fit::Fit;
pub use fitted::{Classified, Confusion, Criteria, Explained, Fitted, Shown};
#[doc(inline)]
pub use mereo_core::*;
pub use mereo_data as data;
pub use mereo_linear as linear;
pub use mereo_mixture as mixture;
pub use mereo_parts as parts;
pub use mereo_quantize as quantize;
pub use models::{AnyParams, ModelKind, answers, model, models};
pub use page::{Names, write_report};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
