//! Where bytes come from: a file or memory, unpacked on the way if they are gzipped.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use mereo_core::{Error, Place, Result};

use super::ReadOptions;

/// How much of the beginning is looked at to see what the data is.
const SAMPLE_BYTES: u64 = 1 << 20;

/// What a packed file may unpack to, unless the options say otherwise.
const MOST_BYTES: u64 = 8 << 30;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The beginning of the data.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// The first bytes.
    pub(crate) bytes: Vec<u8>,
    /// Whether these are all the bytes there are.
    pub(crate) complete: bool,
}

impl Sample {
    /// The bytes up to the last line that is surely whole; all of them if there is no such line.
    pub(crate) fn whole_lines(&self) -> &[u8] {
        let end = match self.bytes.iter().rposition(|&b| b == b'\n') {
            Some(last) if !self.complete => last + 1,
            _ => self.bytes.len(),
        };
        &self.bytes[..end]
    }
}

/// Bytes to read, with a look at their beginning.
pub(crate) struct Input<'a> {
    sample: Sample,
    rest: Box<dyn BufRead + Send + 'a>,
}

impl<'a> Input<'a> {
    /// The content of a file.
    pub(crate) fn open(path: &Path, options: &ReadOptions) -> Result<Input<'static>> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        Input::new(BufReader::with_capacity(1 << 16, file), options).map_err(|e| e.in_file(path))
    }

    /// Bytes in memory.
    pub(crate) fn of_bytes(bytes: &'a [u8], options: &ReadOptions) -> Result<Self> {
        Self::new(bytes, options)
    }

    fn new(mut packed: impl BufRead + Send + 'a, options: &ReadOptions) -> Result<Self> {
        let is_gzip = packed.fill_buf().map_err(unreadable)?.starts_with(&GZIP_MAGIC);
        let mut rest: Box<dyn BufRead + Send + 'a> = if is_gzip {
            let most = most_bytes(options);
            let unpacked = Capped { inner: MultiGzDecoder::new(packed), most, left: most };
            Box::new(BufReader::with_capacity(1 << 16, unpacked))
        } else {
            Box::new(packed)
        };
        let mut bytes = Vec::new();
        rest.by_ref().take(SAMPLE_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
        let complete = rest.fill_buf().map_err(unreadable)?.is_empty();
        Ok(Self { sample: Sample { bytes, complete }, rest })
    }

    /// The beginning of the data.
    pub(crate) fn sample(&self) -> &Sample {
        &self.sample
    }

    /// The data from its beginning.
    pub(crate) fn into_reader(self) -> impl BufRead + Send + 'a {
        Cursor::new(self.sample.bytes).chain(self.rest)
    }
}

/// All that comes through the standard input, as far as memory is spent on it.
pub(super) fn standard_input(options: &ReadOptions) -> Result<Vec<u8>> {
    let most = most_bytes(options);
    let mut bytes = Vec::new();
    let input = io::stdin().lock().take(most.saturating_add(1));
    { input }.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        let found = format!("more than {most} bytes");
        return Err(Error::found(Place::default(), found, "less; put it into a file"));
    }
    Ok(bytes)
}

/// What a packed file may unpack to.
pub(super) fn most_bytes(options: &ReadOptions) -> u64 {
    options.most_bytes.unwrap_or(MOST_BYTES)
}

/// The error for data that breaks off or does not unpack.
pub(super) fn unreadable(error: io::Error) -> Error {
    let found: Box<dyn fmt::Display> = match error.kind() {
        io::ErrorKind::UnexpectedEof => Box::new("a sudden end of the data"),
        _ => Box::new(error),
    };
    Error::found(Place::default(), found, "data that can be read to its end")
}

/// Makes room for so many more values, or says that there is none.
pub(super) fn make_room<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    values.try_reserve(more).map_err(|_| {
        let size = values.len().saturating_add(more).saturating_mul(size_of::<T>()) >> 20;
        let found = format!("data that takes more than {size} MiB");
        let expected =
            "data that fits into memory; stream it from Parquet or npy, or take fewer rows";
        Error::found(Place::default(), found, expected)
    })
}

/// Refuses to yield more than it should, so that a small file cannot unpack to a whole disk.
pub(super) struct Capped<R> {
    pub(super) inner: R,
    pub(super) most: u64,
    pub(super) left: u64,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other(format!("packed data that unpacks to more than {} bytes", self.most))
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn read_all(bytes: &[u8], options: &ReadOptions) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        Input::of_bytes(bytes, options)?.into_reader().read_to_end(&mut all).map_err(unreadable)?;
        Ok(all)
    }

    #[test]
    fn gzip_is_unpacked_and_members_are_joined() {
        let packed = [gzip(b"one,"), gzip(b"two")].concat();
        assert_eq!(read_all(&packed, &ReadOptions::default()).unwrap(), b"one,two");
        assert_eq!(read_all(b"plain", &ReadOptions::default()).unwrap(), b"plain");
    }

    #[test]
    fn unpacking_stops_at_the_limit() {
        let packed = gzip(&vec![b'0'; 5 << 20]);
        let options = ReadOptions { most_bytes: Some(3 << 20), ..ReadOptions::default() };
        let error = read_all(&packed, &options).unwrap_err().to_string();
        assert!(error.contains("unpacks to more than 3145728 bytes"), "{error}");
    }

    #[test]
    fn broken_gzip_is_an_error() {
        let mut packed = gzip(&(0..10_000u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        packed.truncate(packed.len() / 2);
        let error = read_all(&packed, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("a sudden end"), "{error}");
    }

    #[test]
    fn a_sample_ends_with_a_whole_line_unless_it_is_everything() {
        let cut = Sample { bytes: b"1,2\n3,".to_vec(), complete: false };
        assert_eq!(cut.whole_lines(), b"1,2\n");
        let all = Sample { complete: true, ..cut };
        assert_eq!(all.whole_lines(), b"1,2\n3,");
    }
}
