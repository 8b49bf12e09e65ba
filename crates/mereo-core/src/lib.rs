//! The core of mereo: tables, the one learning loop, mathematics and model files.
//!
//! Almost every model of mereo learns the same way: *look at rows, add up what they tell,
//! re-estimate*. This crate holds what that needs and nothing that knows a particular model.

pub mod math;

mod context;
mod error;
mod files;
mod real;
mod source;
mod table;

pub use context::{Context, Random, Stop};
pub use error::{Error, Place, Result};
pub use files::{write_atomically, write_file_atomically};
pub use real::Real;
pub use source::{Batch, Block, Lane, Source, batch_rows};
pub use table::{
    About, Absent, AnyTable, Cells, Dense, Labels, Picture, Sparse, Table, column_name,
};
