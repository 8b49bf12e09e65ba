//! IDX, the format of MNIST: two zeros, a type, the number of dimensions, their sizes, the
//! values; everything big-endian.

use std::io::{BufRead, Read};

use mereo_core::{AnyTable, Error, Labels, Place, Result};

use super::array::{self, Values};
use super::input::unreadable;
use super::{Input, ReadOptions};

/// Reads a table, and its labels from another file if one is named.
pub(super) fn parse(input: Input<'_>, options: &ReadOptions) -> Result<AnyTable> {
    let (shape, values) = read(input.into_reader())?;
    array::with_labels_beside(array::table(&shape, values)?, options)
}

/// Reads one label a row.
pub(super) fn labels(input: Input<'_>) -> Result<Labels> {
    let (shape, values) = read(input.into_reader())?;
    array::labels(&shape, values.texts())
}

fn read(mut input: impl BufRead) -> Result<(Vec<u64>, Values)> {
    let mut magic = [0; 4];
    input.read_exact(&mut magic).map_err(unreadable)?;
    let [0, 0, code, dimensions] = magic else {
        let found = format!("the first bytes {magic:02x?}");
        return Err(Error::found(Place::default(), found, "two zeros, a type and a dimension"));
    };
    let mut shape = Vec::new();
    for _ in 0..dimensions {
        let mut size = [0; 4];
        input.read_exact(&mut size).map_err(unreadable)?;
        shape.push(u64::from(u32::from_be_bytes(size)));
    }
    let count = array::cells(&shape)?;
    let values = match code {
        0x08 => Values::F32(numbers(input, count, |[b]| f32::from(b))?),
        0x09 => Values::F32(numbers(input, count, |b| f32::from(i8::from_be_bytes(b)))?),
        0x0b => Values::F32(numbers(input, count, |b| f32::from(i16::from_be_bytes(b)))?),
        0x0c => Values::F64(numbers(input, count, |b| f64::from(i32::from_be_bytes(b)))?),
        0x0d => Values::F32(numbers(input, count, f32::from_be_bytes)?),
        0x0e => Values::F64(numbers(input, count, f64::from_be_bytes)?),
        _ => {
            let found = format!("values of type {code:#04x}");
            return Err(Error::found(Place::default(), found, "a type of 8, 9 or 11 to 14"));
        }
    };
    Ok((shape, values))
}

/// Exactly this many numbers and then the end. The header's word for it is not trusted: memory
/// grows with the bytes that really come.
fn numbers<const N: usize, T>(
    mut input: impl Read,
    count: usize,
    convert: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let expected = (count as u64).saturating_mul(N as u64);
    let mut bytes = Vec::new();
    // One byte more than there should be shows whether the file goes on.
    input.by_ref().take(expected.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 != expected {
        let found = if bytes.len() as u64 > expected {
            "more bytes after the last value".to_owned()
        } else {
            format!("{} bytes of values", bytes.len())
        };
        let expected = format!("the {expected} bytes that the header announces");
        return Err(Error::found(Place::default(), found, expected));
    }
    Ok(bytes.as_chunks::<N>().0.iter().map(|&chunk| convert(chunk)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, read_bytes};

    fn idx(code: u8, shape: &[u32], values: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, code, shape.len() as u8];
        bytes.extend(shape.iter().flat_map(|n| n.to_be_bytes()));
        bytes.extend(values);
        bytes
    }

    fn values(bytes: &[u8]) -> Values {
        read(bytes).unwrap().1
    }

    fn message(bytes: &[u8]) -> String {
        read_bytes(Kind::Idx, bytes, &ReadOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn every_type_is_read() {
        assert_eq!(values(&idx(0x08, &[2], &[0, 255])), Values::F32(vec![0.0, 255.0]));
        assert_eq!(values(&idx(0x09, &[1], &[255])), Values::F32(vec![-1.0]));
        assert_eq!(values(&idx(0x0b, &[1], &[0xff, 0xfe])), Values::F32(vec![-2.0]));
        assert_eq!(
            values(&idx(0x0c, &[1], &(-70_000i32).to_be_bytes())),
            Values::F64(vec![-70_000.0])
        );
        assert_eq!(values(&idx(0x0d, &[1], &1.5f32.to_be_bytes())), Values::F32(vec![1.5]));
        assert_eq!(values(&idx(0x0e, &[1], &1.5f64.to_be_bytes())), Values::F64(vec![1.5]));
    }

    #[test]
    fn a_header_that_lies_is_an_error() {
        let short = message(&idx(0x08, &[2, 3], &[1, 2]));
        assert!(short.contains("found 2 bytes of values, expected the 6 bytes"), "{short}");
        assert!(message(&idx(0x08, &[1], &[1, 2])).contains("more bytes after the last value"));
        assert!(message(&idx(0x0a, &[1], &[1])).contains("type 0x0a"));
        assert!(message(&[1, 0, 8, 1]).contains("first bytes"));
        assert!(message(&[0, 0, 8]).contains("a sudden end"));
        let huge = message(&idx(0x08, &[u32::MAX; 8], &[]));
        assert!(huge.contains("can be counted"), "{huge}");
        let large = message(&idx(0x0e, &[u32::MAX, 1 << 31], &[1]));
        assert!(large.contains("found 1 bytes"), "{large}");
        assert!(message(&idx(0x08, &[0, 3], &[])).contains("no rows"));
        assert!(message(&idx(0x08, &[3, 0], &[])).contains("no columns"));
    }

    #[test]
    fn infinity_is_named_by_its_place() {
        let error = message(&idx(0x0e, &[1, 1], &f64::INFINITY.to_be_bytes()));
        assert_eq!(
            error,
            "row 0, column `0`: found infinity, expected a finite number, or NaN where the value is missing"
        );
    }
}
