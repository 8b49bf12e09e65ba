//! Sources over files that are larger than memory.

mod npy;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use mereo_core::{Error, Place, Result};

use super::parquet;
use crate::{AnySource, Kind, ReadOptions};

/// Opens a Parquet or npy file to be gone over again and again without being held in memory.
///
/// Labels and weights come with the batches; what is known about the source beforehand has the
/// names of the classes, and no row's class.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<AnySource> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let mut start = Vec::new();
    file.take(6).read_to_end(&mut start).map_err(|e| Error::io(path, e))?;
    let kind = if start.starts_with(b"PAR1") {
        Some(Kind::Parquet)
    } else if start == b"\x93NUMPY" {
        Some(Kind::Npy)
    } else {
        None
    };
    let Some(kind) = kind.filter(|kind| options.kind.is_none_or(|asked| asked == *kind)) else {
        return Err(Error::found(
            Place::file(path),
            options.kind.map_or("neither parquet nor npy".into(), |asked| format!("kind {asked}")),
            "a kind of file that can be streamed; read this one into memory, or convert it",
        ));
    };
    options.check(kind)?;
    let source = match kind {
        Kind::Parquet => parquet::open(path, options),
        _ => npy::open(path, options),
    }?;
    let rows = match &source {
        AnySource::F32(source) => source.rows(),
        AnySource::F64(source) => source.rows(),
    };
    if rows == 0 {
        return Err(Error::found(Place::file(path), "no rows", "at least one row of data"));
    }
    Ok(source)
}
