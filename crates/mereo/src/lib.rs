//! mereo learns the parts that data is made of: this crate is the front door.
//!
//! It re-exports what users need and adds [`AnyModel`], which opens any model file and says what
//! the model in it can do.

pub mod segment;

mod any_model;

pub use any_model::AnyModel;
pub use mereo_core as core;
pub use mereo_core::{Context, Error, Place, Plan, Result, Silent};
pub use mereo_data as data;
pub use mereo_field as field;
pub use mereo_linear as linear;
pub use mereo_mixture as mixture;
pub use mereo_parts as parts;
pub use mereo_quantize as quantize;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
