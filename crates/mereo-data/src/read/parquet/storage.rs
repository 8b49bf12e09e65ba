//! Where the bytes of a Parquet file are, and a look at every header before it is believed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use mereo_core::{Error, Place, Result};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

use super::thrift::{PageClaim, page_claim, row_groups_claim};

/// A file that is opened once for each pass, and must not have changed in between.
#[derive(Debug, Clone)]
pub(in crate::read) struct Stamp {
    pub(in crate::read) path: PathBuf,
    pub(in crate::read) length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Notes how a file looks now.
    pub(in crate::read) fn of(path: &Path) -> Result<Self> {
        let facts = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.to_owned(), length: facts.len(), modified: facts.modified().ok() })
    }

    /// Opens the file again; an error if it is not the one that was noted.
    pub(in crate::read) fn open(&self) -> Result<File> {
        let now = Self::of(&self.path)?;
        if (now.length, now.modified) != (self.length, self.modified) {
            return Err(Error::found(
                Place::file(&self.path),
                "a file that has changed since it was opened",
                "the same rows in every pass",
            ));
        }
        File::open(&self.path).map_err(|e| Error::io(&self.path, e))
    }
}

/// Where a Parquet file is.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    File(Stamp),
    Memory(Bytes),
}

impl Origin {
    pub(super) fn place(&self) -> Place {
        match self {
            Self::File(stamp) => Place::file(&stamp.path),
            Self::Memory(_) => Place::default(),
        }
    }

    /// The same error, naming the file if there is one.
    pub(super) fn named(&self, error: Error) -> Error {
        match self {
            Self::File(stamp) => error.in_file(&stamp.path),
            Self::Memory(_) => error,
        }
    }

    pub(super) fn open(&self) -> Result<Chunks> {
        let (held, length) = match self {
            Self::File(stamp) => (Held::File(stamp.open()?), stamp.length),
            Self::Memory(bytes) => (Held::Memory(bytes.clone()), bytes.len() as u64),
        };
        Ok(Chunks { held: Arc::new(held), length })
    }
}

#[derive(Debug)]
enum Held {
    File(File),
    Memory(Bytes),
}

/// The bytes of one opened file. Clones share the handle, and with it the position: one lane
/// reads from it, on one thread.
#[derive(Debug, Clone)]
pub(super) struct Chunks {
    held: Arc<Held>,
    length: u64,
}

/// Bytes that a header is expected to fit in.
const HEADER_BYTES: usize = 512;
/// Bytes that a page may claim beyond what its size on the disk makes likely.
const SMALL: u64 = 64 << 20;
/// How many times smaller than its content a large page may be.
const LIKELY_PACKING: u64 = 1024;

impl Chunks {
    fn bytes(&self, start: u64, length: usize) -> std::io::Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match &*self.held {
            Held::Memory(bytes) => Ok(bytes.slice(start as usize..start as usize + length)),
            Held::File(file) => {
                let mut file = file;
                file.seek(SeekFrom::Start(start))?;
                let mut buffer = Vec::with_capacity(length);
                file.take(length as u64).read_to_end(&mut buffer)?;
                if buffer.len() < length {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                Ok(buffer.into())
            }
        }
    }

    /// As many bytes as there are, up to this many.
    fn some_bytes(&self, start: u64, most: usize) -> std::io::Result<Bytes> {
        let left = self.length.saturating_sub(start);
        self.bytes(start, usize::try_from(left).map_or(most, |left| left.min(most)))
    }

    /// What the page that starts here claims about itself, if that can be believed.
    ///
    /// The parquet crate makes room for a page, and for a dictionary's values, on the word of
    /// the page's header; a few bytes of a damaged or hostile file could ask for gigabytes.
    pub(super) fn page_claim(&self, start: u64) -> ParquetResult<PageClaim> {
        self.believe(&self.some_bytes(start, HEADER_BYTES)?)
    }

    fn believe(&self, header: &[u8]) -> ParquetResult<PageClaim> {
        let claim = page_claim(header)
            .ok_or_else(|| ParquetError::General("the header of a page is damaged".into()))?;
        let possible = claim.packed <= self.length
            && claim.unpacked <= SMALL + LIKELY_PACKING.saturating_mul(claim.packed)
            // Every value of a dictionary takes at least a byte.
            && claim.dictionary <= claim.unpacked;
        if possible {
            return Ok(claim);
        }
        Err(ParquetError::General(format!(
            "a page of {} bytes claims to hold {} bytes and a dictionary of {} values",
            claim.packed, claim.unpacked, claim.dictionary
        )))
    }

    /// The file's metadata, looked over before the parquet crate makes room for its row groups.
    pub(super) fn metadata(&self) -> ParquetResult<ParquetMetaData> {
        // The crate numbers them with 16 bits.
        const MOST_ROW_GROUPS: u64 = i16::MAX as u64;
        let damaged = || ParquetError::General("the file's metadata is damaged or cut off".into());
        let end = self.length.checked_sub(8).ok_or_else(damaged)?;
        let tail = self.bytes(end, 8)?;
        let size = tail[..4].iter().rev().fold(0u64, |size, &byte| size << 8 | u64::from(byte));
        if &tail[4..] != b"PAR1" {
            return Err(damaged());
        }
        let start = end.checked_sub(size).ok_or_else(damaged)?;
        let bytes = self.bytes(start, size as usize)?;
        let groups = row_groups_claim(&bytes).ok_or_else(damaged)?;
        if groups > MOST_ROW_GROUPS {
            let problem = format!("{groups} row groups, more than {MOST_ROW_GROUPS}");
            return Err(ParquetError::General(problem));
        }
        ParquetMetaDataReader::decode_metadata(&bytes)
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Chunks {
    type T = Header;

    /// The crate calls this at the start of every page, to read the page's header.
    fn get_read(&self, start: u64) -> ParquetResult<Header> {
        Ok(Header { chunks: self.clone(), bytes: Bytes::new(), offset: start, believed: false })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        Ok(self.bytes(start, length)?)
    }
}

/// Reads the header of a page, having looked it over.
#[derive(Debug)]
pub(super) struct Header {
    chunks: Chunks,
    bytes: Bytes,
    offset: u64,
    believed: bool,
}

impl Read for Header {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.bytes.is_empty() {
            self.bytes = self.chunks.some_bytes(self.offset, HEADER_BYTES)?;
            self.offset += self.bytes.len() as u64;
        }
        if !self.believed {
            self.chunks.believe(&self.bytes).map_err(std::io::Error::other)?;
            self.believed = true;
        }
        let length = out.len().min(self.bytes.len());
        out[..length].copy_from_slice(&self.bytes.split_to(length));
        Ok(length)
    }
}
