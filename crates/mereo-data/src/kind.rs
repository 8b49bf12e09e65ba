//! What kind of data a file or folder holds, seen from its content.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use mereo_core::{Error, Place, Result};

use crate::read::{Input, ReadOptions, Sample, images, ratings, words};

/// The kinds of data that can be read.
///
/// ```
/// use mereo_data::Kind;
/// assert_eq!("ratings".parse::<Kind>()?, Kind::Ratings);
/// assert_eq!(Kind::Idx.to_string(), "idx");
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text with one row a line, fields set apart by comma, tab, semicolon or white space.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file or stream (also called Feather).
    Arrow,
    /// One `NumPy` array.
    Npy,
    /// A zip of `NumPy` arrays.
    Npz,
    /// The format of MNIST, plain or gzipped.
    Idx,
    /// A spreadsheet of Excel: its first sheet that has rows.
    Xlsx,
    /// A folder or tar of pictures, or a single picture.
    Images,
    /// User, item, rating (`MovieLens`).
    Ratings,
    /// UCI bag-of-words.
    Words,
}

impl Kind {
    /// All of them.
    ///
    /// ```
    /// use mereo_data::Kind;
    /// assert!(Kind::ALL.iter().all(|kind| kind.to_string().parse::<Kind>().unwrap() == *kind));
    /// ```
    pub const ALL: [Self; 10] = [
        Self::Xlsx,
        Self::Csv,
        Self::Parquet,
        Self::Arrow,
        Self::Npy,
        Self::Npz,
        Self::Idx,
        Self::Images,
        Self::Ratings,
        Self::Words,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "csv",
            Self::Xlsx => "xlsx",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Npy => "npy",
            Self::Npz => "npz",
            Self::Idx => "idx",
            Self::Images => "images",
            Self::Ratings => "ratings",
            Self::Words => "words",
        })
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.to_string() == text).ok_or_else(|| {
            let all = Self::ALL.map(|kind| kind.to_string()).join(", ");
            Error::option("kind", format!("`{text}` is none of {all}"))
        })
    }
}

/// Sees from its content what kind of data a file or folder holds.
///
/// The name plays no part, and gzipped data is looked into. Text is taken for ratings only if
/// it surely is: its fields are set apart by `::`, or its header names user, item and rating, or
/// it has exactly four columns of which the last holds times in seconds. Three bare columns of
/// numbers are a table until [`ReadOptions::kind`] says otherwise.
///
/// ```
/// use mereo_data::{Kind, detect};
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("heights");
/// std::fs::write(&path, "height,age\n1.7,33\n").unwrap();
/// assert_eq!(detect(&path)?, Kind::Csv);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn detect(path: &Path) -> Result<Kind> {
    if path.is_dir() {
        return Ok(Kind::Images);
    }
    let input = Input::open(path, &ReadOptions::default())?;
    kind_of(input.sample()).map_err(|e| e.in_file(path))
}

/// What kind of data starts like this.
pub(crate) fn kind_of(sample: &Sample) -> Result<Kind> {
    let bytes = sample.bytes.as_slice();
    let kind = match bytes {
        [] => return Err(Error::found(Place::default(), "an empty file", "data")),
        [b'P', b'A', b'R', b'1', ..] => Kind::Parquet,
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => Kind::Arrow,
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Kind::Npy,
        [b'P', b'K', 3, 4, ..] if is_workbook(bytes) => Kind::Xlsx,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Kind::Npz,
        [0, 0, 0x08 | 0x09 | 0x0b..=0x0e, 1..=8, ..] => Kind::Idx,
        _ if images::looks_like(bytes) => Kind::Images,
        _ if !is_text(bytes) => return Err(unknown(bytes)),
        _ if words::looks_like(sample) => Kind::Words,
        _ if ratings::looks_like(sample) => Kind::Ratings,
        _ => Kind::Csv,
    };
    Ok(kind)
}

/// Whether a zip holds a workbook: the names of what it holds stand in it as they are.
fn is_workbook(bytes: &[u8]) -> bool {
    let holds = |name: &[u8]| memchr::memmem::find(bytes, name).is_some();
    holds(b"[Content_Types].xml") && (holds(b"xl/") || !holds(b".npy"))
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|&b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0b | 0x0c))
}

fn unknown(bytes: &[u8]) -> Error {
    let found = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16 text".to_owned(),
        [0x89, b'H', b'D', b'F', ..] => "an HDF5 file".to_owned(),
        _ => {
            let first: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
            format!("unknown content starting with the bytes {}", first.join(" "))
        }
    };
    let expected = "UTF-8 text, Parquet, Arrow, npy, npz, IDX, pictures or a tar of pictures";
    Error::found(Place::default(), found, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(bytes: &[u8]) -> Result<Kind> {
        kind_of(&Sample { bytes: bytes.to_vec(), complete: true })
    }

    #[test]
    fn kinds_are_seen_from_content() {
        let cases: [(&[u8], Kind); 16] = [
            (b"PAR1....", Kind::Parquet),
            (b"ARROW1\0\0", Kind::Arrow),
            (b"\xff\xff\xff\xff\x10\x01\0\0", Kind::Arrow),
            (b"\x93NUMPY\x01\0", Kind::Npy),
            (b"PK\x03\x04", Kind::Npz),
            (b"\0\0\x08\x01\0\0\0\x01\x05", Kind::Idx),
            (b"\x89PNG\r\n\x1a\n", Kind::Images),
            (b"\xff\xd8\xff\xe0", Kind::Images),
            (b"P5 1 1 255 ", Kind::Images),
            (b"RIFF\0\0\0\0WEBPVP8 ", Kind::Images),
            (b"2\n3\n1\n1 1 4\n", Kind::Words),
            (b"1::1193::5::978300760\n", Kind::Ratings),
            (b"userId,movieId,rating\n1,2,3.5\n", Kind::Ratings),
            (b"P1,P2\n1,2\n", Kind::Csv),
            (b"BMI,age\n1,2\n", Kind::Csv),
            (b"1 2 3\n4 5 6\n", Kind::Csv),
        ];
        for (bytes, expected) in cases {
            assert_eq!(kind(bytes).unwrap(), expected, "{:?}", bytes.escape_ascii().to_string());
        }
    }

    #[test]
    fn ordinary_tables_are_not_taken_for_ratings_or_words() {
        let lines = |line: fn(u32) -> String| (1..200).map(line).collect::<Vec<_>>().join("\n");
        let integers = lines(|i| format!("{i}\t{}\t{}", i * 3, i % 5));
        let classed = lines(|i| format!("{i},{},{},1", i * 3, i % 5));
        let floats = lines(|i| format!("{i}.5\t2\t3\t881250949"));
        let column = "3\n4\n5\n6\n".to_owned();
        let named = "user_age,item_price,score_a\n1,2,3\n".to_owned();
        for text in [integers, classed, floats, column, named] {
            assert_eq!(kind(text.as_bytes()).unwrap(), Kind::Csv, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_described() {
        let message = |bytes: &[u8]| kind(bytes).unwrap_err().to_string();
        assert!(message(b"").contains("an empty file"));
        assert!(message(b"\xff\xfea\0,\0b\0").contains("UTF-16"));
        assert!(message(b"\x89HDF\r\n\x1a\n").contains("HDF5"));
        assert!(message(b"\x01\x02").contains("starting with the bytes 01 02"));
    }
}
