//! Opening DATA: files, folders and toy worlds, in memory or streamed.

use std::path::Path;

use mereo_core::{AnyTable, Context, Error, Real, Result, Source, Table};
use mereo_data::toy::World;
use mereo_data::{AnySource, Kind, detect, open_stream, read};

use crate::args::Reading;
use crate::output::Voice;

/// Bytes of cells from which on a file that can be streamed is, on a machine with plenty.
const LARGE: u64 = 2 << 30;
/// Files smaller than this are never worth asking.
const SMALL: u64 = 64 << 20;

/// Rows to learn from or to look at.
pub(crate) enum Held<T> {
    /// In memory.
    Table(Table<T>),
    /// In a file that is gone over again and again.
    Stream(Box<dyn Source<T>>),
}

impl<T: Real> Held<T> {
    pub(crate) fn source(&self) -> &dyn Source<T> {
        match self {
            Self::Table(table) => table,
            Self::Stream(source) => &**source,
        }
    }

    pub(crate) fn into_source(self) -> Box<dyn Source<T>> {
        match self {
            Self::Table(table) => Box::new(table),
            Self::Stream(source) => source,
        }
    }
}

/// Rows in whichever number type they came.
pub(crate) enum Data {
    F32(Held<f32>),
    F64(Held<f64>),
}

/// Runs the same expression on whatever number type the rows have.
macro_rules! with_data {
    ($data:expr, $held:ident => $body:expr) => {
        match $data {
            $crate::data::Data::F32($held) => $body,
            $crate::data::Data::F64($held) => $body,
        }
    };
}
pub(crate) use with_data;

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

/// Opens DATA: a path, or `toy:WORLD`.
pub(crate) fn open(
    data: &Path,
    reading: &Reading,
    context: &Context,
    voice: Voice,
) -> Result<Data> {
    if let Some(world) = toy_world(data) {
        let world = world?;
        if let Some(option) = reading.given() {
            return Err(Error::option(option, "it has no meaning for a toy world"));
        }
        return Ok(AnyTable::from(world.make(None, 0)?.table).into());
    }
    let options = reading.options();
    if reading.stream {
        return open_stream(data, &options).map(Data::from).map_err(|e| e.in_file(data));
    }
    let size = std::fs::metadata(data)
        .map_err(|e| Error::io(data, e))
        .map(|about| if about.is_file() { about.len() } else { 0 })?;
    let streamable = [Kind::Parquet, Kind::Npy];
    if size >= SMALL
        && options.kind.is_none_or(|kind| streamable.contains(&kind))
        && streamable.contains(&detect(data)?)
    {
        let stream = Data::from(open_stream(data, &options)?);
        if stream.bytes() > memory().map_or(LARGE, |memory| LARGE.min(memory / 4)) {
            voice.say(format_args!("mereo: {} is large and will be streamed", data.display()));
            return Ok(stream);
        }
    }
    context.install(|| read(data, &options)).map(Data::from)
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

/// The names of columns if they say more than their numbers.
pub(crate) fn own_names(names: Option<&[String]>) -> Option<&[String]> {
    names.filter(|names| names.iter().enumerate().any(|(i, name)| *name != i.to_string()))
}
