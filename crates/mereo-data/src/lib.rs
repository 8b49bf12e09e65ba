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
    Answered, AnySource, ColumnTold, Expected, Kinds, LeastRatings, Pair, Pixels, ReadOptions,
    Said, Told, header, open_stream, read, read_answers, read_batches, read_bytes, read_labels,
    read_pairs, read_pixels, read_told,
};

/// The tasks of this crate, to be answered where rows are.
///
/// ```
/// assert_eq!(mereo_data::answers()[0].name(), "step");
/// ```
pub fn answers() -> Vec<mereo_core::Answer> {
    use steps::learn::StepTask;
    vec![mereo_core::Answer::task::<StepTask, StepTask>()]
}
