//! Opening rows: files, folders and toy worlds, in memory or streamed, of either number type.

use std::path::Path;

use mereo_core::{AnyTable, Context, Error, Real, Result, Source, Table};
use mereo_data::toy::World;
use mereo_data::{AnySource, Kind, ReadOptions, detect, open_stream, read};

/// Bytes of cells from which on a file that can be streamed is, on a machine with plenty.
const LARGE: u64 = 2 << 30;
/// Files smaller than this are never worth asking.
const SMALL: u64 = 64 << 20;

/// Rows to learn from or to look at.
// There is one of them at a time: its size does not matter.
#[allow(clippy::large_enum_variant)]
pub enum Held<'a, T> {
    /// In memory.
    Table(Table<T>),
    /// In a file that is gone over again and again.
    Stream(Box<dyn Source<T> + 'a>),
}

impl<'a, T: Real> Held<'a, T> {
    /// The rows, lent out.
    pub fn source(&self) -> &dyn Source<T> {
        match self {
            Self::Table(table) => table,
            Self::Stream(source) => &**source,
        }
    }

    /// The rows, given away.
    pub fn into_source(self) -> Box<dyn Source<T> + 'a> {
        match self {
            Self::Table(table) => Box::new(table),
            Self::Stream(source) => source,
        }
    }
}

impl<T: Real> From<Table<T>> for Held<'_, T> {
    fn from(table: Table<T>) -> Self {
        Self::Table(table)
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Held<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Table(_) => "rows in memory",
            Self::Stream(_) => "rows in a file",
        })
    }
}

/// Rows in whichever number type they came.
///
/// ```
/// use mereo::{Context, Data, with_data};
/// let data = Data::open("toy:shapes".as_ref(), &Default::default(), false, &Context::new(0))?;
/// assert_eq!(with_data!(&data, held => held.source().columns()), 121);
/// # Ok::<(), mereo::Error>(())
/// ```
#[derive(Debug)]
pub enum Data {
    /// In single precision.
    F32(Held<'static, f32>),
    /// In double precision.
    F64(Held<'static, f64>),
}

/// Runs the same expression on whatever number type the rows of a [`Data`] have.
#[macro_export]
macro_rules! with_data {
    ($data:expr, $held:ident => $body:expr) => {
        match $data {
            $crate::Data::F32($held) => $body,
            $crate::Data::F64($held) => $body,
        }
    };
}

impl From<AnyTable> for Data {
    fn from(table: AnyTable) -> Self {
        match table {
            AnyTable::F32(table) => Self::F32(Held::Table(table)),
            AnyTable::F64(table) => Self::F64(Held::Table(table)),
        }
    }
}

impl From<AnySource> for Data {
    fn from(source: AnySource) -> Self {
        match source {
            AnySource::F32(source) => Self::F32(Held::Stream(source)),
            AnySource::F64(source) => Self::F64(Held::Stream(source)),
        }
    }
}

impl Data {
    /// Opens a path, or `toy:WORLD`. A file that can be streamed and is too large to be held is
    /// streamed, and any that can be if `stream` says so. Reading is done on the context's threads.
    pub fn open(
        data: &Path,
        options: &ReadOptions,
        stream: bool,
        context: &Context,
    ) -> Result<Self> {
        if let Some(world) = toy_world(data) {
            let world = world?;
            if *options != ReadOptions::default() || stream {
                return Err(Error::option(
                    "data",
                    "a toy world is made, not read: it has no options",
                ));
            }
            return Ok(AnyTable::from(world.make(None, 0)?.table).into());
        }
        if stream {
            return open_stream(data, options).map(Self::from).map_err(|e| e.in_file(data));
        }
        let size = std::fs::metadata(data)
            .map_err(|e| Error::io(data, e))
            .map(|about| if about.is_file() { about.len() } else { 0 })?;
        let streamable = [Kind::Parquet, Kind::Npy];
        if size >= SMALL
            && options.kind.is_none_or(|kind| streamable.contains(&kind))
            && streamable.contains(&detect(data)?)
        {
            let stream = Self::from(open_stream(data, options)?);
            if stream.bytes() > memory().map_or(LARGE, |memory| LARGE.min(memory / 4)) {
                return Ok(stream);
            }
        }
        context.install(|| read(data, options)).map(Self::from)
    }

    /// Whether rows are read anew at every pass.
    pub fn is_streamed(&self) -> bool {
        matches!(self, Self::F32(Held::Stream(_)) | Self::F64(Held::Stream(_)))
    }

    /// Bytes that the cells take in memory.
    fn bytes(&self) -> u64 {
        let cells = with_data!(self, held => {
            (held.source().rows() as u64).saturating_mul(held.source().columns() as u64)
        });
        cells.saturating_mul(match self {
            Self::F32(_) => 4,
            Self::F64(_) => 8,
        })
    }
}

/// The toy world that DATA names, if it names one.
fn toy_world(data: &Path) -> Option<Result<World>> {
    Some(data.to_str()?.strip_prefix("toy:")?.parse())
}

/// The memory in bytes that the program can have, where the system says: the machine's, or less if the
/// program or the group that it runs in was given less.
pub(crate) fn memory() -> Option<u64> {
    let number = |file: &str, before: &str| -> Option<u64> {
        let text = std::fs::read_to_string(file).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(before))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let machine =
        number("/proc/meminfo", "MemTotal:").and_then(|kilobytes| kilobytes.checked_mul(1024));
    let program = number("/proc/self/limits", "Max address space");
    let group = number("/sys/fs/cgroup/memory.max", "");
    [machine, program, group].into_iter().flatten().min()
}

/// Complains about results that the machine could not hold, before trying to.
pub(crate) fn check_fits(rows: usize, columns: usize, bytes: usize) -> Result<()> {
    let wanted = (rows as u64).saturating_mul(columns as u64).saturating_mul(bytes as u64);
    // Asking the system takes longer than looking at a row does.
    if wanted <= SMALL {
        return Ok(());
    }
    let most = memory().unwrap_or(1 << 36);
    if wanted <= most {
        return Ok(());
    }
    let problem = format!(
        "{rows} rows of {columns} numbers take {} GB, more than this machine's memory; \
         give fewer rows at a time",
        wanted >> 30
    );
    Err(Error::option("output", problem))
}
