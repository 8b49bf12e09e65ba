//! Sources over files that are larger than memory.

mod npy;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use mereo_core::{Error, Place, Result};

use super::parquet;
use crate::{AnySource, ReadOptions};

/// Opens a Parquet or npy file to be gone over again and again without being held in memory.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<AnySource> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let mut start = Vec::new();
    file.take(6).read_to_end(&mut start).map_err(|e| Error::io(path, e))?;
    if start.starts_with(b"PAR1") {
        parquet::open(path, options)
    } else if start == b"\x93NUMPY" {
        npy::open(path, options)
    } else {
        Err(Error::found(
            Place::file(path),
            "neither Parquet nor npy",
            "a kind of file that can be streamed; read this one into memory, or convert it",
        ))
    }
}
