//! Readers and streams.

use std::path::Path;

use mereo_core::{AnyTable, Result, Source};

use crate::Kind;

/// How to read data, where its content does not say.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The kind of data; seen from the content if not given.
    pub kind: Option<Kind>,
    /// Whether text starts with a header line; seen from the content if not given.
    pub header: Option<bool>,
    /// The column that holds each row's class.
    pub label: Option<String>,
    /// The column that holds each row's weight.
    pub weight: Option<String>,
    /// Height and width that pictures are brought to.
    pub resize: Option<(usize, usize)>,
}

/// A source in whichever number type its data has.
pub enum AnySource {
    /// Single precision.
    F32(Box<dyn Source<f32>>),
    /// Double precision.
    F64(Box<dyn Source<f64>>),
}

/// Reads a whole file or folder into memory.
pub fn read(_path: &Path, _options: &ReadOptions) -> Result<AnyTable> {
    unreachable!("written by the readers' author")
}

/// Opens a Parquet or npy file to be learned from without holding it in memory.
pub fn open_stream(_path: &Path, _options: &ReadOptions) -> Result<AnySource> {
    unreachable!("written by the readers' author")
}
