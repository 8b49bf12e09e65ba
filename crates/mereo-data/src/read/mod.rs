//! Readers and streams.

mod array;
mod arrow;
mod csv;
mod entries;
mod idx;
pub(crate) mod images;
mod input;
mod least;
pub(crate) mod mixed;
mod npy;
mod npz;
mod pairs;
mod parquet;
mod pieces;
mod pixels;
pub(crate) mod ratings;
mod scipy;
mod stream;
mod text;
pub(crate) mod words;

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;

use mereo_core::{Absent, AnyTable, Error, Place, Result, Source};

use crate::Kind;
use crate::kind::kind_of;
pub use arrow::read_batches;
pub(crate) use input::{Input, Sample};
pub use least::LeastRatings;
pub use mixed::{ColumnTold, Expected, Kinds, Said, Told};
pub use pairs::{Answered, Pair, read_answers, read_pairs};
pub use pixels::{Pixels, read_labels, read_pixels};

/// How to read data, where its content does not say.
///
/// ```
/// use mereo_data::{Kind, ReadOptions};
/// let options = ReadOptions { kind: Some(Kind::Csv), label: Some("species".into()), ..Default::default() };
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The kind of data; seen from the content if not given.
    pub kind: Option<Kind>,
    /// Whether text starts with a header line; seen from the content if not given.
    pub header: Option<bool>,
    /// The column that holds each row's class: its name or, in text without a header, its
    /// number counted from 0. In an npz the name of an array. For npy and IDX the path of
    /// another npy or IDX file that holds one label a row.
    pub label: Option<String>,
    /// The column that holds each row's weight, in the same way; in an npz the name of an array.
    pub weight: Option<String>,
    /// What columns hold, where their content does not say.
    pub kinds: Kinds,
    /// The only columns to be learned from; all if not given.
    pub columns: Option<Vec<String>>,
    /// Columns to be left out.
    pub drop: Vec<String>,
    /// The column that names the rows; seen from the content if not given.
    pub id: Option<String>,
    /// What a model expects of the columns.
    pub expected: Option<Expected>,
    /// Height and width that pictures are brought to.
    pub resize: Option<(usize, usize)>,
    /// What a cell that a sparse npz does not store means; zero if not given.
    pub absent: Option<Absent>,
    /// Users and items with fewer ratings are left out.
    pub least_ratings: Option<LeastRatings>,
    /// How many bytes packed data may unpack to; 8 GiB if not given. It guards against small
    /// files made to fill the memory.
    pub most_bytes: Option<u64>,
}

/// A source in whichever number type its data has.
///
/// ```
/// use mereo_core::{Dense, Table};
/// use mereo_data::AnySource;
/// let table = Table::from(Dense::new(2, 1, vec![1.0f32, 2.0])?);
/// let source = AnySource::F32(Box::new(table));
/// assert!(matches!(source, AnySource::F32(source) if source.rows() == 2));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub enum AnySource {
    /// Single precision.
    F32(Box<dyn Source<f32>>),
    /// Double precision.
    F64(Box<dyn Source<f64>>),
}

/// Reads a whole file or folder into memory.
///
/// Beside a file of ratings or of bags of words, files that name its columns are looked for:
/// `u.item`, `movies.dat` or `movies.csv`, and `vocab*.txt`.
///
/// ```
/// use mereo_data::{ReadOptions, read};
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("iris.csv");
/// std::fs::write(&path, "length,width,species\n5.1,3.5,setosa\n6.2,NA,virginica\n").unwrap();
/// let options = ReadOptions { label: Some("species".into()), ..ReadOptions::default() };
/// let table = read(&path, &options)?;
/// assert_eq!((table.rows(), table.columns()), (2, 2));
/// assert_eq!(table.about().labels.as_ref().unwrap().names, ["setosa", "virginica"]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn read(path: &Path, options: &ReadOptions) -> Result<AnyTable> {
    read_told(path, options).map(|(table, _)| table)
}

/// The same, and what was decided about the columns. `-` is the standard input.
pub fn read_told(path: &Path, options: &ReadOptions) -> Result<(AnyTable, Told)> {
    if path == Path::new("-") {
        let bytes = input::standard_input(options)?;
        let kind =
            options.kind.map_or_else(|| kind_of(Input::of_bytes(&bytes, options)?.sample()), Ok);
        let table = kind.and_then(|kind| {
            let input = Input::of_bytes(&bytes, options)?;
            read_input(kind, input, Origin::Bytes(&bytes), options)
        });
        return table.map_err(|e| e.in_file(Path::new("standard input")));
    }
    let table = if path.is_dir() {
        let kind = options.kind.unwrap_or(Kind::Images);
        options.check(kind)?;
        if kind != Kind::Images {
            return Err(Error::found(Place::file(path), "a folder", format!("a {kind} file")));
        }
        images::read_folder(path, options).map(AnyTable::from).and_then(with_rows).map(untold)
    } else {
        // Opened once: what comes through a pipe can be read only once.
        Input::open(path, options).and_then(|input| {
            let kind = options.kind.map_or_else(|| kind_of(input.sample()), Ok)?;
            read_input(kind, input, Origin::Path(path), options)
        })
    };
    table.map_err(|e| e.in_file(path))
}

/// Reads a file's content from memory. There are no files beside it, and no folder.
///
/// ```
/// use mereo_data::{Kind, ReadOptions, read_bytes};
/// let table = read_bytes(Kind::Csv, b"x,y\n1,2\n3,4\n", &ReadOptions::default())?;
/// assert_eq!(table.about().names.as_ref().unwrap(), &["x", "y"]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn read_bytes(kind: Kind, bytes: &[u8], options: &ReadOptions) -> Result<AnyTable> {
    let input = Input::of_bytes(bytes, options)?;
    read_input(kind, input, Origin::Bytes(bytes), options).map(|(table, _)| table)
}

/// A table of which nothing is to be told.
fn untold(table: AnyTable) -> (AnyTable, Told) {
    (table, Told::default())
}

/// Opens a Parquet or npy file to be learned from without holding it in memory.
///
/// ```no_run
/// use mereo_data::{AnySource, ReadOptions, open_stream};
/// let source = open_stream("rows.parquet".as_ref(), &ReadOptions::default())?;
/// let rows = match &source {
///     AnySource::F32(source) => source.rows(),
///     AnySource::F64(source) => source.rows(),
/// };
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn open_stream(path: &Path, options: &ReadOptions) -> Result<AnySource> {
    stream::open(path, options)
}

/// The header of a text file, decoded, if it has one, and the records that follow.
pub(crate) type TextRows = (Option<Vec<String>>, text::Records<Box<dyn std::io::BufRead>>);

/// Opens a text file.
pub(crate) fn text_rows(path: &Path, options: &ReadOptions) -> Result<TextRows> {
    csv::rows(Input::open(path, options)?, options).map_err(|e| e.in_file(path))
}

/// The names that a text file's header gives its columns, if it has one.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("people.csv");
/// std::fs::write(&path, "age,height\n31,170\n").unwrap();
/// let names = mereo_data::header(&path, &Default::default())?;
/// assert_eq!(names.unwrap(), ["age", "height"]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn header(path: &Path, options: &ReadOptions) -> Result<Option<Vec<String>>> {
    text_rows(path, options).map(|(header, _)| header)
}

/// The fields of the current record as texts.
pub(crate) fn decoded_fields(records: &text::Records<Box<dyn std::io::BufRead>>) -> Vec<String> {
    records.fields().map(|field| text::decode(field).into_owned()).collect()
}

/// The pictures of a folder or a tar, of any sizes, in the order of their names: names, shapes and
/// grey pixels, which are whole numbers from 0 to 255.
pub(crate) fn grey_pictures(
    path: &Path,
    options: &ReadOptions,
) -> Result<Vec<(std::path::PathBuf, mereo_core::Picture, Vec<u8>)>> {
    let shots = if path.is_dir() {
        images::grey_folder(path, options)
    } else {
        Input::open(path, options).and_then(|input| match kind_of(input.sample())? {
            Kind::Images => images::grey(input, path, options),
            other => Err(Error::found(
                Place::default(),
                format!("data of kind {other}"),
                "a folder or a tar of pictures",
            )),
        })
    };
    shots.map_err(|e| e.in_file(path))
}

/// Where the content of a file is, for readers that jump about in it or look beside it.
#[derive(Debug, Clone, Copy)]
enum Origin<'a> {
    /// On the disk.
    Path(&'a Path),
    /// In memory.
    Bytes(&'a [u8]),
}

fn read_input(
    kind: Kind,
    input: Input<'_>,
    origin: Origin<'_>,
    options: &ReadOptions,
) -> Result<(AnyTable, Told)> {
    options.check(kind)?;
    let path = match origin {
        Origin::Path(path) => Some(path),
        Origin::Bytes(_) => None,
    };
    let table = match (kind, origin) {
        (Kind::Csv | Kind::Parquet | Kind::Arrow | Kind::Xlsx, _) => {
            let (table, told) = read_columns(kind, input, origin, options)?;
            return with_rows(table).map(|table| (table, told));
        }
        (Kind::Npy, _) => npy::parse(input, path, options)?,
        (Kind::Npz, Origin::Path(path)) => {
            let file = File::open(path).map_err(|e| Error::io(path, e))?;
            npz::parse(BufReader::new(file), options)?
        }
        (Kind::Npz, Origin::Bytes(bytes)) => npz::parse(Cursor::new(bytes), options)?,
        (Kind::Idx, _) => idx::parse(input, options)?,
        (Kind::Images, _) => images::parse(input, path, options)?.into(),
        (Kind::Ratings, _) => ratings::parse(input, path, options)?.into(),
        (Kind::Words, _) => words::parse(input, path)?.into(),
    };
    let table = with_rows(table)?;
    let Some(least) = options.least_ratings else { return Ok(untold(table)) };
    let (table, left_out) = least.keep(table)?;
    Ok((table, Told { notices: left_out.into_iter().collect(), ..Told::default() }))
}

/// Reads data whose columns may hold words.
fn read_columns(
    kind: Kind,
    input: Input<'_>,
    origin: Origin<'_>,
    options: &ReadOptions,
) -> Result<(AnyTable, Told)> {
    match (kind, origin) {
        (Kind::Parquet, Origin::Path(path)) => parquet::read(path, options),
        (Kind::Parquet, Origin::Bytes(bytes)) => parquet::read_bytes(bytes, options),
        (Kind::Arrow, Origin::Path(path)) => arrow::read(path, options),
        (Kind::Arrow, Origin::Bytes(bytes)) => arrow::read_bytes(bytes, options),
        (Kind::Xlsx, Origin::Path(path)) => {
            let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
            mixed::read_sheet(&bytes, options).map(|(table, told)| (table.into(), told))
        }
        (Kind::Xlsx, Origin::Bytes(bytes)) => {
            mixed::read_sheet(bytes, options).map(|(table, told)| (table.into(), told))
        }
        _ => {
            let again = || match origin {
                Origin::Path(path) => Input::open(path, options),
                Origin::Bytes(bytes) => Input::of_bytes(bytes, options),
            };
            csv::parse(input, &again, options).map(|(table, told)| (table.into(), told))
        }
    }
}

fn with_rows(table: AnyTable) -> Result<AnyTable> {
    match (table.rows(), table.columns()) {
        (0, _) => Err(Error::found(Place::default(), "no rows", "at least one row of data")),
        (_, 0) => Err(Error::found(Place::default(), "no columns", "at least one column of data")),
        _ => Ok(table),
    }
}

impl ReadOptions {
    /// Whether anything is said of columns beyond label and weight.
    fn says_kinds(&self) -> bool {
        !self.kinds.is_empty()
            || self.columns.is_some()
            || !self.drop.is_empty()
            || self.id.is_some()
            || self
                .expected
                .as_ref()
                .is_some_and(|e| e.kinds.is_some() || e.id.is_some() || e.label.is_some())
    }

    /// Whether a column is left out because somebody says so.
    fn leaves_out(&self, name: &str) -> bool {
        let is = |other: &String| other == name;
        let special = [&self.label, &self.weight, &self.id].into_iter().flatten().any(is);
        self.drop.iter().any(is)
            || self.columns.as_ref().is_some_and(|kept| !special && !kept.iter().any(is))
    }

    /// Whether a column is read as it is written: as words, or names.
    fn wants_text(&self, name: &str) -> bool {
        let is = |other: Option<&String>| other.is_some_and(|other| other == name);
        let expected = self.expected.as_ref();
        is(self.label.as_ref())
            || is(self.id.as_ref())
            || is(expected.and_then(|e| e.id.as_ref()))
            || is(expected.and_then(|e| e.label.as_ref()))
            || expected.and_then(|e| e.kind(name)).is_some_and(|kind| !kind.levels().is_empty())
            || matches!(
                self.kinds.of(name),
                Some(
                    Said::YesNo | Said::Category | Said::Ordered(_) | Said::Id | Said::Date { .. }
                )
            )
    }

    /// An option that does nothing for this kind is a misunderstanding, better told than ignored.
    fn check(&self, kind: Kind) -> Result<()> {
        use Kind::{Arrow, Csv, Idx, Images, Npy, Npz, Parquet, Ratings, Xlsx};
        let uses: [(&str, bool, &[Kind]); 10] = [
            ("header", self.header.is_some(), &[Csv, Xlsx, Ratings]),
            ("label", self.label.is_some(), &[Csv, Xlsx, Parquet, Arrow, Npy, Npz, Idx]),
            ("weight", self.weight.is_some(), &[Csv, Xlsx, Parquet, Arrow, Npz]),
            ("resize", self.resize.is_some(), &[Images]),
            ("kinds", !self.kinds.is_empty(), &[Csv, Xlsx, Parquet, Arrow]),
            ("columns", self.columns.is_some(), &[Csv, Xlsx, Parquet, Arrow]),
            ("drop", !self.drop.is_empty(), &[Csv, Xlsx, Parquet, Arrow]),
            ("id", self.id.is_some(), &[Csv, Xlsx, Parquet, Arrow]),
            ("absent", self.absent.is_some(), &[Npz]),
            ("least-ratings", self.least_ratings.is_some(), &[Ratings, Npz]),
        ];
        for (option, given, kinds) in uses {
            if given && !kinds.contains(&kind) {
                let kinds: Vec<String> = kinds.iter().map(Kind::to_string).collect();
                let kinds = kinds.join(", ");
                let problem =
                    format!("it has no meaning for data of kind {kind}, only for {kinds}");
                return Err(Error::option(option, problem));
            }
        }
        Ok(())
    }
}
