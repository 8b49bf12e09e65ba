//! `NumPy` arrays, streamed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use mereo_core::{
    About, Absent, Batch, Block, Error, Lane, Picture, Place, Result, Source, batch_rows,
    check_cells,
};
use npyz::{Endianness, TypeChar};

use crate::arrow_columns::Cell;
use crate::read::npy::Header;
use crate::read::parquet::Stamp;
use crate::{AnySource, ReadOptions};

/// Opens an npy file to be gone over again and again.
pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<AnySource> {
    for (option, asked) in [("label", &options.label), ("weight", &options.weight)] {
        if asked.is_some() {
            return Err(Error::option(
                option,
                "an npy file that is streamed brings none; read it into memory",
            ));
        }
    }
    let file = NpyFile::open(path)?;
    Ok(match file.element {
        Element::Float64 => f64::any_source(file),
        Element::Float32 | Element::Byte => f32::any_source(file),
    })
}

/// How a number is written in the file.
#[derive(Debug, Clone, Copy)]
enum Element {
    Float32,
    Float64,
    Byte,
}

impl Element {
    fn size(self) -> usize {
        match self {
            Self::Float32 => 4,
            Self::Float64 => 8,
            Self::Byte => 1,
        }
    }

    fn decode<T: Cell>(self, bytes: &[u8], out: &mut Vec<T>) {
        out.clear();
        match self {
            Self::Float32 => out.extend(
                bytes
                    .as_chunks()
                    .0
                    .iter()
                    .map(|&four| T::from_f64(f32::from_le_bytes(four).into())),
            ),
            Self::Float64 => {
                out.extend(
                    bytes.as_chunks().0.iter().map(|&eight| T::from_f64(f64::from_le_bytes(eight))),
                );
            }
            Self::Byte => out.extend(bytes.iter().map(|&byte| T::from_f64(byte.into()))),
        }
    }
}

struct NpyFile {
    stamp: Stamp,
    data_start: u64,
    rows: usize,
    columns: usize,
    element: Element,
    about: About,
}

impl NpyFile {
    fn open(path: &Path) -> Result<Self> {
        let place = || Place::file(path);
        let stamp = Stamp::of(path)?;
        let mut file = stamp.open()?;
        let header = Header::read(&mut file).map_err(|error| error.in_file(path))?;
        let data_start = file.stream_position().map_err(|error| Error::io(path, error))?;
        let little = header.item.endianness() != Endianness::Big;
        let element = match (header.item.type_char(), header.item.size_field()) {
            (TypeChar::Float, 4) if little => Element::Float32,
            (TypeChar::Float, 8) if little => Element::Float64,
            (TypeChar::Uint, 1) => Element::Byte,
            _ => {
                let found = format!("values of type `{}`", header.item);
                let expected = "`<f4`, `<f8` or `|u1` to stream; read it into memory";
                return Err(Error::found(place(), found, expected));
            }
        };
        let shape: Option<Vec<usize>> =
            header.shape.iter().map(|&n| usize::try_from(n).ok()).collect();
        let shape = shape.unwrap_or_default();
        let (rows, columns, picture) = match shape[..] {
            [rows] => (rows, Some(1), None),
            [rows, columns] => (rows, Some(columns), None),
            [rows, height, width] => picture_rows(rows, height, width, 1),
            [rows, height, width, channels @ (1 | 3)] => {
                picture_rows(rows, height, width, channels)
            }
            _ => (0, None, None),
        };
        let expected = "[rows], [rows, columns] or pictures [rows, height, width(, 1 or 3)]";
        let columns = columns.filter(|&columns| columns > 0).ok_or_else(|| {
            Error::found(place(), format!("an array of shape {:?}", header.shape), expected)
        })?;
        if header.fortran_order && shape.len() > 1 {
            let found = "an array stored column by column";
            let expected = "rows one after another to stream; read it into memory";
            return Err(Error::found(place(), found, expected));
        }
        let claimed = rows as u128 * columns as u128 * element.size() as u128;
        let there = stamp.length.saturating_sub(data_start);
        if claimed > u128::from(there) {
            let found = format!("{there} bytes of data");
            let expected = format!("{claimed} bytes for shape {:?}", header.shape);
            return Err(Error::found(place(), found, expected));
        }
        let about = About { picture, ..About::default() };
        Ok(Self { stamp, data_start, rows, columns, element, about })
    }
}

fn picture_rows(
    rows: usize,
    height: usize,
    width: usize,
    channels: usize,
) -> (usize, Option<usize>, Option<Picture>) {
    let picture = Picture { height, width, channels };
    (rows, picture.columns(), Some(picture))
}

impl<T: Cell> Source<T> for NpyFile {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        let batch_rows = batch_rows(self.columns);
        let end_row = batches.end.saturating_mul(batch_rows).min(self.rows);
        let next_row = batches.start.saturating_mul(batch_rows).min(end_row);
        let mut reader = self.stamp.open()?;
        // The product fits: opening compared it with the length of the file.
        let skipped = next_row as u64 * self.columns as u64 * self.element.size() as u64;
        reader
            .seek(SeekFrom::Start(self.data_start + skipped))
            .map_err(|e| Error::io(&self.stamp.path, e))?;
        let (bytes, values) = (Vec::new(), Vec::new());
        Ok(Box::new(NpyLane { file: self, reader, batch_rows, next_row, end_row, bytes, values }))
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn absent(&self) -> Option<Absent> {
        None
    }
}

struct NpyLane<'a, T> {
    file: &'a NpyFile,
    reader: File,
    batch_rows: usize,
    next_row: usize,
    end_row: usize,
    bytes: Vec<u8>,
    values: Vec<T>,
}

impl<T: Cell> Lane<T> for NpyLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        if self.next_row >= self.end_row {
            return Ok(None);
        }
        let (file, first_row) = (self.file, self.next_row);
        let rows = self.batch_rows.min(self.end_row - first_row);
        self.bytes.resize(rows * file.columns * file.element.size(), 0);
        self.reader.read_exact(&mut self.bytes).map_err(|e| Error::io(&file.stamp.path, e))?;
        file.element.decode(&self.bytes, &mut self.values);
        let complete = check_cells(&self.values, |at| {
            let row = first_row + at / file.columns;
            Place::file(&file.stamp.path).row(row).column(at % file.columns)
        })?;
        self.next_row += rows;
        Ok(Some(Batch {
            first_row,
            rows,
            columns: file.columns,
            block: Block::Dense { values: &self.values, complete },
            weights: None,
            labels: None,
        }))
    }
}
