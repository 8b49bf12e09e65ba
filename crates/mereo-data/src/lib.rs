//! Everything that turns files into [`mereo_core::Table`]s and back: readers that see a file's
//! kind from its content, streams over files larger than memory, writers, preprocessing steps
//! that can be undone, patches of photographs, and toy worlds whose truth is known. It knows no model.

mod arrow_columns;
mod arrow_values;
mod kind;
mod patches;
mod read;
pub mod steps;
pub mod toy;
pub mod write;

pub use kind::{Kind, detect};
pub use patches::{patches, prepare_patch};
pub use read::{
    AnySource, Pixels, ReadOptions, open_stream, read, read_bytes, read_labels, read_pixels,
};
