//! One `NumPy` array.
//!
//! `f4` stays `f32`; so do integers of one or two bytes and booleans, which it holds exactly.
//! `f8` and longer integers become `f64`.

use std::fs::File;
use std::io::{BufRead, Read, Seek};
use std::path::Path;
use std::sync::OnceLock;

use bytemuck::Pod;
use mereo_core::{AnyTable, Error, Labels, Place, Result, in_parallel};
use npyz::{DType, Deserialize, Endianness, TypeChar, TypeRead, TypeStr};

use super::array::{self, Values};
use super::input::{make_room, unreadable};
use super::text::quoted;
use super::{Input, ReadOptions};

/// Values that are read in one go: few enough to stay in the processor's cache while they are looked at.
const PIECE: usize = 1 << 16;

/// Bytes of a header: a simple type and a shape take a hundred.
const MOST_HEADER: u64 = 1 << 20;

/// Reads a table, and its labels from another file if one is named.
pub(super) fn parse(
    input: Input<'_>,
    path: Option<&Path>,
    options: &ReadOptions,
) -> Result<AnyTable> {
    let table = match path.map_or(Ok(None), parse_file)? {
        Some(table) => table,
        None => {
            let mut reader = input.into_reader();
            let header = Header::read(&mut reader)?;
            array::table(&header.shape, header.values(reader)?)?
        }
    };
    array::with_labels_beside(table, options)
}

/// Reads one label a row.
pub(super) fn labels(input: Input<'_>) -> Result<Labels> {
    let mut reader = input.into_reader();
    let header = Header::read(&mut reader)?;
    array::labels(&header.shape, header.texts(reader)?)
}

/// What stands before the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) item: TypeStr,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
}

impl Header {
    /// Reads the header of version 1, 2 or 3 and leaves the reader at the first value.
    ///
    /// It is a Python dictionary of which `NumPy` writes one form only. That form is read here
    /// and not with `npyz`, whose parser takes any Python literal: it recurses as deep as a
    /// stranger's brackets go, and multiplies the sizes without a look at overflow.
    pub(super) fn read(reader: &mut impl Read) -> Result<Self> {
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(unreadable)?;
        let [0x93, b'N', b'U', b'M', b'P', b'Y', version, _] = start else {
            return Err(broken("a file that starts otherwise", "the magic bytes of npy"));
        };
        let length = match version {
            1 => {
                let mut length = [0; 2];
                reader.read_exact(&mut length).map_err(unreadable)?;
                u64::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0; 4];
                reader.read_exact(&mut length).map_err(unreadable)?;
                u64::from(u32::from_le_bytes(length))
            }
            _ => return Err(broken(format!("npy version {version}"), "version 1, 2 or 3")),
        };
        if length > MOST_HEADER {
            let expected = format!("at most {MOST_HEADER} bytes");
            return Err(broken(format!("a header of {length} bytes"), expected));
        }
        let mut text = Vec::new();
        reader.by_ref().take(length).read_to_end(&mut text).map_err(unreadable)?;
        if text.len() as u64 != length {
            return Err(broken(
                format!("{} bytes of header", text.len()),
                format!("{length} bytes"),
            ));
        }
        Self::parse(&super::text::decode(&text))
    }

    fn parse(text: &str) -> Result<Self> {
        let bad = |key: &str, value: &str, expected: &str| {
            broken(format!("the {key} {}", quoted(value.as_bytes())), expected)
        };
        let descr = value_of(text, "descr")?;
        let item = descr
            .strip_prefix(['\'', '"'])
            .and_then(|rest| rest.split(['\'', '"']).next())
            .and_then(|item| item.parse().ok())
            .ok_or_else(|| bad("descr", descr, "one simple type such as '<f4'"))?;
        let order = value_of(text, "fortran_order")?;
        let fortran_order = match (order.starts_with("True"), order.starts_with("False")) {
            (true, _) => true,
            (_, true) => false,
            _ => return Err(bad("fortran_order", order, "True or False")),
        };
        let tuple = value_of(text, "shape")?;
        let sizes = tuple.strip_prefix('(').and_then(|rest| rest.split(')').next());
        let shape = sizes
            .and_then(|sizes| {
                let sizes = sizes.split(',').map(|n| n.trim().trim_end_matches('L'));
                sizes.filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect()
            })
            .ok_or_else(|| bad("shape", tuple, "a tuple of sizes"))?;
        Ok(Self { item, fortran_order, shape })
    }

    /// Reads all values as numbers, in row-major order, and makes sure that nothing follows.
    pub(super) fn values(&self, mut reader: impl BufRead) -> Result<Values> {
        self.values_of(&mut From::Reader(&mut reader))
    }

    fn values_of(&self, reader: &mut From<'_>) -> Result<Values> {
        use TypeChar::{Bool, Float, Int, Uint};
        let values = match (self.item.type_char(), self.item.size_field()) {
            (Float, 4) => Values::F32(self.floats(reader, f32::from_be_bytes)?),
            (Float, 8) => Values::F64(self.floats(reader, f64::from_be_bytes)?),
            (Bool, 1) => Values::F32(self.numbers(reader, |[b]| f32::from(u8::from(b != 0)))?),
            (Int, 1) => Values::F32(self.numbers(reader, |b| f32::from(i8::from_be_bytes(b)))?),
            (Uint, 1) => Values::F32(self.numbers(reader, |[b]| f32::from(b))?),
            (Int, 2) => Values::F32(self.numbers(reader, |b| f32::from(i16::from_be_bytes(b)))?),
            (Uint, 2) => Values::F32(self.numbers(reader, |b| f32::from(u16::from_be_bytes(b)))?),
            (Int, 4) => Values::F64(self.numbers(reader, |b| f64::from(i32::from_be_bytes(b)))?),
            (Uint, 4) => Values::F64(self.numbers(reader, |b| f64::from(u32::from_be_bytes(b)))?),
            (Int, 8) => Values::F64(self.numbers(reader, |b| i64::from_be_bytes(b) as f64)?),
            (Uint, 8) => Values::F64(self.numbers(reader, |b| u64::from_be_bytes(b) as f64)?),
            _ => {
                return Err(broken(
                    format!("values of type `{}`", self.item),
                    "floats of 4 or 8 bytes, integers or booleans; convert with .astype('float32')",
                ));
            }
        };
        Ok(values)
    }

    /// Reads all values as texts, none where one is missing.
    pub(super) fn texts(&self, mut reader: impl BufRead) -> Result<Vec<Option<String>>> {
        /// A label longer than this is no label, and space for one is made before it is read.
        const MOST: u64 = 1 << 12;
        let given = |text: String| (!text.is_empty()).then_some(text);
        match (self.item.type_char(), self.item.size_field()) {
            (TypeChar::UnicodeStr, 1..=MOST) => self.items(&mut reader, given),
            (TypeChar::ByteStr, 1..=MOST) => {
                self.items(&mut reader, |bytes: Vec<u8>| given(super::text::decode(&bytes).into()))
            }
            (TypeChar::UnicodeStr | TypeChar::ByteStr, size) => {
                Err(broken(format!("texts of {size} characters"), format!("1 to {MOST}")))
            }
            _ => Ok(self.values(reader)?.texts()),
        }
    }

    /// Whether the values are anything but fractions, so that they can be classes.
    pub(super) fn is_countable(&self) -> bool {
        use TypeChar::{Bool, ByteStr, Int, Uint, UnicodeStr};
        matches!(self.item.type_char(), Bool | Int | Uint | ByteStr | UnicodeStr)
    }

    /// Floats: straight into the place where they stay if they are written as this machine has them.
    fn floats<const N: usize, T: Pod + Send + Sync>(
        &self,
        from: &mut From<'_>,
        convert: impl Fn([u8; N]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let native =
            if cfg!(target_endian = "little") { Endianness::Little } else { Endianness::Big };
        if self.item.endianness() != native {
            return self.numbers(from, convert);
        }
        self.pieces(from, |out: &mut [T], read| read(bytemuck::cast_slice_mut(out)))
    }

    /// Numbers of N bytes, handed to `convert` with the highest byte first.
    fn numbers<const N: usize, T: Pod + Send + Sync>(
        &self,
        from: &mut From<'_>,
        convert: impl Fn([u8; N]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let turned = self.item.endianness() == Endianness::Little;
        self.pieces(from, |out: &mut [T], read| {
            let mut bytes = vec![0; N * out.len()];
            let came = read(&mut bytes)?;
            for (out, &(mut number)) in out.iter_mut().zip(bytes.as_chunks::<N>().0) {
                if turned {
                    number.reverse();
                }
                *out = convert(number);
            }
            Ok(came)
        })
    }

    /// All values, a piece at a time. `fill` fills a piece by means of a function that reads bytes, and says
    /// how many came.
    fn pieces<T: Pod + Send + Sync>(
        &self,
        from: &mut From<'_>,
        fill: impl Fn(&mut [T], &mut dyn FnMut(&mut [u8]) -> Result<usize>) -> Result<usize> + Sync,
    ) -> Result<Vec<T>> {
        let count = array::cells(&self.shape)?;
        let size = self.item.size_field() as usize;
        let mut values: Vec<T> = Vec::new();
        match from {
            From::File(file, start) => {
                // The file is as long as it should be: that was seen before.
                make_room(&mut values, count)?;
                values = vec![T::zeroed(); count];
                let broken = OnceLock::new();
                in_parallel(values.chunks_mut(PIECE).enumerate(), |(index, out)| {
                    let at = *start + (index * PIECE * size) as u64;
                    let mut read = |bytes: &mut [u8]| read_at(file, bytes, at);
                    if let Err(error) = fill(out, &mut read) {
                        let _ = broken.set(error);
                    }
                });
                match broken.into_inner() {
                    Some(error) => return Err(error),
                    None => Ok(()),
                }
            }
            From::Reader(reader) => {
                while values.len() < count {
                    let before = values.len();
                    let piece = PIECE.min(count - before);
                    // The header is not trusted with memory: it grows with what really comes.
                    make_room(&mut values, piece)?;
                    values.resize(before + piece, T::zeroed());
                    let came = fill(&mut values[before..], &mut |bytes| fill_from(*reader, bytes))?;
                    if came < piece * size {
                        let came = before + came / size;
                        return Err(broken(
                            format!("{came} values"),
                            format!("the {count} that the header announces"),
                        ));
                    }
                }
                self.expect_end(*reader, count)
            }
        }?;
        Ok(if self.fortran_order { row_major(&self.shape, &values) } else { values })
    }

    /// Texts, one by one.
    fn items<T: Deserialize, U: Clone + Send + Sync>(
        &self,
        reader: &mut dyn BufRead,
        convert: impl Fn(T) -> U,
    ) -> Result<Vec<U>> {
        let count = array::cells(&self.shape)?;
        let item = T::reader(&DType::new_scalar(self.item.clone()))
            .map_err(|e| broken(e, "values of a simple type"))?;
        let mut values = Vec::new();
        for index in 0..count {
            values.push(convert(item.read_one(&mut *reader).map_err(|e| {
                if e.kind() == std::io::ErrorKind::UnexpectedEof {
                    let expected = format!("the {count} that the header announces");
                    broken(format!("{index} values"), expected)
                } else {
                    unreadable(e)
                }
            })?));
        }
        self.expect_end(reader, count)?;
        Ok(if self.fortran_order { row_major(&self.shape, &values) } else { values })
    }

    fn expect_end(&self, reader: &mut dyn BufRead, count: usize) -> Result<()> {
        if reader.fill_buf().map_err(unreadable)?.is_empty() {
            return Ok(());
        }
        let expected = format!("{count} values of type `{}` and no more", self.item);
        Err(broken("more bytes after the last value", expected))
    }
}

/// Where values come from.
enum From<'a> {
    /// From a reader, one after another.
    Reader(&'a mut dyn BufRead),
    /// From a file that is as long as its header says, on all threads; they start at this byte.
    File(&'a File, u64),
}

/// Reads a table from a file in which one can jump about; none if it is not such a file, or not as long as
/// its header says, so that it has to be read from front to back to say what is wrong.
fn parse_file(path: &Path) -> Result<Option<AnyTable>> {
    let Ok(mut file) = File::open(path) else { return Ok(None) };
    let length = match file.metadata() {
        Ok(about) if cfg!(unix) && about.is_file() => about.len(),
        _ => return Ok(None),
    };
    let Ok(header) = Header::read(&mut file) else { return Ok(None) };
    let Ok(start) = file.stream_position() else { return Ok(None) };
    let bytes = (array::cells(&header.shape)? as u64).checked_mul(header.item.size_field());
    if bytes.and_then(|bytes| bytes.checked_add(start)) != Some(length) {
        return Ok(None);
    }
    let values = header.values_of(&mut From::File(&file, start))?;
    array::table(&header.shape, values).map(Some)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> Result<usize> {
    use std::os::unix::fs::FileExt;
    file.read_exact_at(bytes, at).map_err(unreadable)?;
    Ok(bytes.len())
}

#[cfg(not(unix))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> Result<usize> {
    Err(broken("a system without positions", "to be read from front to back"))
}

/// Fills as much as there is; how many bytes that was.
fn fill_from(reader: &mut dyn BufRead, bytes: &mut [u8]) -> Result<usize> {
    let mut came = 0;
    while came < bytes.len() {
        match reader.read(&mut bytes[came..]) {
            Ok(0) => break,
            Ok(count) => came += count,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(unreadable(e)),
        }
    }
    Ok(came)
}

/// What follows a key of the header's dictionary.
fn value_of<'a>(text: &'a str, key: &str) -> Result<&'a str> {
    ['\'', '"']
        .iter()
        .find_map(|quote| text.split_once(&format!("{quote}{key}{quote}")))
        .and_then(|(_, rest)| rest.trim_start().strip_prefix(':'))
        .map(str::trim_start)
        .ok_or_else(|| broken(format!("a header without `{key}`"), "descr, fortran_order, shape"))
}

fn broken(found: impl std::fmt::Display, expected: impl std::fmt::Display) -> Error {
    Error::found(Place::default(), found, expected)
}

/// Brings values from Fortran's order (first index fastest) to C's (last index fastest).
fn row_major<U: Clone + Send + Sync>(shape: &[u64], values: &[U]) -> Vec<U> {
    if let &[rows, columns] = shape {
        return turned(rows as usize, columns as usize, values);
    }
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &size in shape {
        strides.push(stride);
        stride *= size as usize;
    }
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        out.push(values[at].clone());
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis] as usize;
            index[axis] = 0;
        }
    }
    out
}

/// The rows of a table whose columns come one after another, a square at a time: so both what is
/// read and what is written stays near.
fn turned<U: Clone + Send + Sync>(rows: usize, columns: usize, values: &[U]) -> Vec<U> {
    const SIDE: usize = 64;
    let mut out = values.to_vec();
    in_parallel(out.chunks_mut((SIDE * columns).max(1)).enumerate(), |(index, out)| {
        let first = index * SIDE;
        for column in (0..columns).step_by(SIDE) {
            for (row, out) in out.chunks_exact_mut(columns).enumerate() {
                for c in column..(column + SIDE).min(columns) {
                    out[c] = values[c * rows + first + row].clone();
                }
            }
        }
    });
    out
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Kind, read_bytes};

    /// A file as `NumPy` writes it.
    pub(in crate::read) fn npy(
        descr: &str,
        order: npyz::Order,
        shape: &[u64],
        values: &[u8],
    ) -> Vec<u8> {
        let order = if order == npyz::Order::Fortran { "True" } else { "False" };
        let sizes = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({sizes}), }}\n");
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(values);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<(Vec<u64>, Values)> {
        let mut reader = bytes;
        let header = Header::read(&mut reader)?;
        let values = header.values(reader)?;
        Ok((header.shape, values))
    }

    fn message(bytes: &[u8]) -> String {
        read_bytes(Kind::Npy, bytes, &ReadOptions::default()).unwrap_err().to_string()
    }

    const C: npyz::Order = npyz::Order::C;

    #[test]
    fn every_type_is_read_in_either_byte_order() {
        let read = |descr: &str, bytes: &[u8]| read(&npy(descr, C, &[1], bytes)).unwrap().1;
        assert_eq!(read("<f4", &1.5f32.to_le_bytes()), Values::F32(vec![1.5]));
        assert_eq!(read(">f4", &1.5f32.to_be_bytes()), Values::F32(vec![1.5]));
        assert_eq!(read("<f8", &1.5f64.to_le_bytes()), Values::F64(vec![1.5]));
        assert_eq!(read("|b1", &[1]), Values::F32(vec![1.0]));
        assert_eq!(read("|u1", &[255]), Values::F32(vec![255.0]));
        assert_eq!(read("|i1", &[255]), Values::F32(vec![-1.0]));
        assert_eq!(read(">u2", &[1, 0]), Values::F32(vec![256.0]));
        assert_eq!(read("<i2", &[0xfe, 0xff]), Values::F32(vec![-2.0]));
        assert_eq!(read("<i4", &(-9i32).to_le_bytes()), Values::F64(vec![-9.0]));
        assert_eq!(read("<u4", &9u32.to_le_bytes()), Values::F64(vec![9.0]));
        assert_eq!(read(">i8", &(-9i64).to_be_bytes()), Values::F64(vec![-9.0]));
        assert_eq!(read("<u8", &9u64.to_le_bytes()), Values::F64(vec![9.0]));
    }

    #[test]
    fn a_file_is_read_as_its_bytes_are_on_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let (rows, columns) = (4001, 50);
        for (descr, size) in
            [("<f4", 4usize), (">f4", 4), ("<f8", 8), ("|u1", 1), (">i2", 2), ("<i8", 8)]
        {
            for order in [C, npyz::Order::Fortran] {
                let values: Vec<u8> = (0..rows * columns * size)
                    .map(|i| if i % size < size.saturating_sub(2) { (i * 7) as u8 } else { 64 })
                    .collect();
                let bytes = npy(descr, order, &[rows as u64, columns as u64], &values);
                std::fs::write(&path, &bytes).unwrap();
                let options = ReadOptions::default();
                let expected = read_bytes(Kind::Npy, &bytes, &options).unwrap();
                for threads in [1, 3] {
                    let context = mereo_core::Context::new(0).with_threads(threads).unwrap();
                    let found = context.install(|| crate::read(&path, &options)).unwrap();
                    assert_eq!(found, expected, "{descr} {order:?}");
                }
            }
        }
        // One that is cut short says so as ever.
        let bytes = npy("<f8", C, &[3, 2], &[0; 20]);
        std::fs::write(&path, &bytes).unwrap();
        let error = crate::read(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("found 2 values, expected the 6"), "{error}");
    }

    #[test]
    fn fortran_order_is_turned() {
        let bytes = npy("|u1", npyz::Order::Fortran, &[2, 3], &[1, 4, 2, 5, 3, 6]);
        let expected = Values::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(read(&bytes).unwrap(), (vec![2, 3], expected));
    }

    #[test]
    fn not_a_number_is_a_missing_cell() {
        let bytes = npy("<f4", C, &[1, 2], &[0, 0, 0xc0, 0x7f, 0, 0, 0, 0]);
        let AnyTable::F32(table) = read_bytes(Kind::Npy, &bytes, &ReadOptions::default()).unwrap()
        else {
            panic!("f4 is f32")
        };
        let mereo_core::Cells::Dense(cells) = table.cells() else { panic!("dense") };
        assert!(cells.values()[0].is_nan() && !cells.is_complete());
    }

    #[test]
    fn errors_say_what_was_found() {
        assert!(message(&npy("<f2", C, &[1], &[0, 0])).contains("values of type `<f2`"));
        assert!(message(&npy("<c8", C, &[1], &[0; 8])).contains("values of type `<c8`"));
        let short = message(&npy("<f4", C, &[2, 3], &[0; 9]));
        assert!(short.contains("found 2 values, expected the 6"), "{short}");
        assert!(message(&npy("|u1", C, &[1], &[0, 0])).contains("more bytes after the last"));
        assert!(message(&npy("|u1", C, &[0, 4], &[])).contains("no rows"));
        assert!(message(b"\x93NUMPY\x09\0").contains("version 9"));
        assert!(message(b"\x93NUMPY\x02\0\xff\xff\xff\xff{").contains("a header of 4294967295"));
        assert!(message(&npy("|u1", C, &[1 << 40, 1 << 40], &[1])).contains("can be counted"));
        assert!(message(&npy("<f8", C, &[1 << 31, 1 << 31], &[1; 8])).contains("found 1 values"));
    }

    #[test]
    fn headers_are_read_as_python_may_write_them() {
        let of = |text: &str| Header::parse(text);
        let header = of(r#"{"shape":(3L,4L),"descr":">i4","fortran_order":True}"#).unwrap();
        assert_eq!((header.shape, header.fortran_order), (vec![3, 4], true));
        let message = |text: &str| of(text).unwrap_err().to_string();
        assert!(message("{}").contains("a header without `descr`"));
        let structured = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}";
        assert!(message(structured).contains("one simple type"));
        let negative = "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}";
        assert!(message(negative).contains("a tuple of sizes"));
        let vague = "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}";
        assert!(message(vague).contains("True or False"));
    }

    #[test]
    fn texts_can_be_labels() {
        let labels = |descr: &str, values: &[u8]| {
            let bytes = npy(descr, C, &[2], values);
            labels(Input::of_bytes(&bytes, &ReadOptions::default()).unwrap()).unwrap().names
        };
        assert_eq!(labels("|S3", b"ox\0cat"), ["cat", "ox"]);
        let wide: Vec<u8> = "béaa".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        assert_eq!(labels("<U2", &wide), ["aa", "bé"]);
        assert_eq!(labels("|u1", &[7, 3]), ["3", "7"]);
    }

    proptest! {
        #[test]
        fn both_orders_hold_the_same_array(
            shape in proptest::collection::vec(1u64..5, 1..4),
            seed in any::<u8>(),
        ) {
            let count: u64 = shape.iter().product();
            let c: Vec<u8> = (0..count).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect();
            // Fortran's order of an array is C's order of the array with its axes reversed.
            let reversed: Vec<u64> = shape.iter().rev().copied().collect();
            let f = row_major(&reversed, &c);
            prop_assert_eq!(row_major(&shape, &f), c);
        }
    }
}
