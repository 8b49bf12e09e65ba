//! A codec: pictures and tables said by learned features, in few bytes.
//!
//! A picture is cut into square blocks. Of each colour plane's blocks, less what the blocks before lead
//! one to guess, features are learned ([`gvq`](crate::gvq), or [`vq`](crate::vq) if there are none)
//! and rounded to a number of bits. What is kept are the rounded features and which of them each
//! block is made of; bits that save too little error are not spent. A table is the same with rows in
//! place of blocks, and nothing guessed. Whatever is kept is range-coded:
//!
//! - *features of blocks* as waves, rounded as coarsely as pays, those of tables as they are;
//! - *states*, feature by feature, and *sets*, digit by digit, each bit with a chance that depends on
//!   the blocks before.
//!
//! # The file
//!
//! Numbers are little-endian. `mereogvq`, then one byte each: version 3, what it is (0 a table, 1 a
//! grey picture, 2 a colour picture by plane, 3 by luminance and, at half the size, colour
//! differences), and whether blocks are guessed (0 or 1). Then as `u32`: width and height of the
//! picture (rows and columns of the table), and the side of a block (1). Then for each plane: sets
//! `u32`, features `u8`, bits `u8`, and what a level of the most coarsely rounded vector is worth, `f32`.
//! Then the range-coded planes, and a checksum of all that stands before it, `u32`.

mod bits;
mod guess;
mod levels;
mod mixed;
pub mod picture;
mod plane;
mod rounds;
mod say;
mod sheet;
mod start;
mod states;
#[cfg(test)]
mod tests;
mod waves;

use std::path::Path;

use mereo_core::{Context, Dense, Error, Place, Real, Result, Source, map_rows};

use crate::associate::MOST_FEATURES;
use crate::gvq::Gvq;
use bits::{BITS_A_BYTE, Broken, Reader, Writer};
pub use plane::Plane;
use plane::{Rounding, code};

const MAGIC: &[u8; 8] = b"mereogvq";
const VERSION: u8 = 3;
/// Most pixels or cells of what is coded.
const MOST_CELLS: u64 = 1 << 26;
const MOST_SETS: u32 = 1 << 16;
/// What is coded may have so many cells, and so many more for each byte of the file: a few bytes
/// must not be able to ask for a gigabyte. Files of less are filled up with zeros.
const FREE_CELLS: u64 = 1 << 23;
const CELLS_A_BYTE: u64 = 2048;
/// Most features of all sets of a plane: each has models of its own.
const MOST_MODELS: u64 = 1 << 18;
/// Most numbers in the features of a plane.
const MOST_NUMBERS: u64 = 1 << 24;

/// What is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Rows of numbers.
    Table {
        /// Number of rows.
        rows: u32,
        /// Number of columns.
        columns: u32,
    },
    /// A picture in blocks.
    Picture {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
        /// The side of a block, in pixels.
        block: u32,
        /// How its planes make colours.
        colour: Colour,
        /// Whether blocks are what those before them lead one to guess, and what is said besides.
        guessed: bool,
    },
}

/// How planes make colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// One plane.
    Grey,
    /// Red, green and blue.
    Planes,
    /// Luminance, and two colour differences at half the size.
    #[default]
    YCbCr,
}

impl What {
    /// Segments (blocks, rows) of each plane across and down.
    fn segments(self) -> Vec<(u32, u32)> {
        match self {
            Self::Table { rows, .. } => vec![(1, rows)],
            Self::Picture { width, height, block, colour, .. } => {
                let full = (width.div_ceil(block), height.div_ceil(block));
                let half = (width.div_ceil(2).div_ceil(block), height.div_ceil(2).div_ceil(block));
                match colour {
                    Colour::Grey => vec![full],
                    Colour::Planes => vec![full; 3],
                    Colour::YCbCr => vec![full, half, half],
                }
            }
        }
    }

    /// Numbers in a segment.
    fn size(self) -> u32 {
        match self {
            Self::Table { columns, .. } => columns,
            Self::Picture { block, .. } => block.saturating_mul(block),
        }
    }
}

/// What a file holds.
///
/// ```
/// use mereo_core::{Context, Dense, Plan, Silent, Table};
/// use mereo_quantize::{GvqParams, codec::Coded, gvq};
/// let table = Table::from(Dense::new(4, 2, vec![5.0, 5.0, 6.0, 5.0, 5.0, 8.0, 6.0, 8.0])?);
/// let context = Context::new(0);
/// let (model, _) = gvq::fit(&GvqParams::new(2), &table, &Plan::default(), &context, &mut Silent)?;
/// let coded = Coded::of_table::<f64>(&model, &table, 16, &context)?;
/// let bytes = coded.to_bytes();
/// let read = Coded::from_bytes(&bytes, "memory".as_ref())?;
/// assert_eq!(read, coded);
/// assert!((read.rows(0)?.row(3)[1] - 8.0).abs() < 1e-3);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Coded {
    /// What it is.
    pub what: What,
    /// Its planes.
    pub planes: Vec<Plane>,
}

impl Coded {
    /// The rows of a table, said by a model whose features are rounded to this many bits (1 to 16).
    /// Cells of rows may be missing; they come back filled.
    pub fn of_table<T: Real>(
        model: &Gvq,
        source: &dyn Source<T>,
        bits: u8,
        context: &Context,
    ) -> Result<Self> {
        check_bits(bits)?;
        let (rows, columns) = (source.rows(), source.columns());
        if columns != model.columns() {
            return Err(Error::found(
                Place::default(),
                format!("rows of {columns} columns"),
                format!("the {} columns that the model was learned from", model.columns()),
            ));
        }
        if model.beta().is_some() {
            let problem = "the codes of binary data are squashed sums, which files do not keep";
            return Err(Error::option("codes", problem));
        }
        let what = What::Table { rows: whole(rows)?, columns: whole(columns)? };
        check_cells(what)?;
        let vectors = model.vectors();
        let used = vec![1; vectors.len() / columns];
        let rounding = Rounding { bits, penalty: 0.0, used: &used };
        let (sets, features) = (whole(model.sets())?, model.features() as u8);
        let plane = Plane::round(sets, features, None, &vectors, &rounding)?;
        let model = model.with_vectors(&plane.vectors());
        let states = map_rows(source, context, 1, |batch, out: &mut [(u32, u64)]| {
            model.for_each_state(batch, |row, set, state| out[row] = (set as u32, state));
        })?;
        Ok(Self { what, planes: vec![plane.with_states(states)] })
    }

    /// The rows of a table, or what is said of the blocks of a plane of a picture,
    /// `[segments, size]`.
    pub fn rows(&self, plane: usize) -> Result<Dense<f64>> {
        let size = self.what.size() as usize;
        let plane = self.planes.get(plane).ok_or_else(|| {
            Error::option("plane", format!("there are {}, not {plane}", self.planes.len()))
        })?;
        Dense::new(plane.states.len(), size, plane.looks())
    }

    /// Kilobits by the plain count: see [`Plane::kilobits`].
    pub fn kilobits(&self) -> f64 {
        self.planes.iter().map(Plane::kilobits).sum()
    }

    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, guessed, a, b, block) = match self.what {
            What::Table { rows, columns } => (0, false, columns, rows, 1),
            What::Picture { width, height, block, colour, guessed } => {
                let kind = match colour {
                    Colour::Grey => 1,
                    Colour::Planes => 2,
                    Colour::YCbCr => 3,
                };
                (kind, guessed, width, height, block)
            }
        };
        let mut out = MAGIC.to_vec();
        out.extend([VERSION, kind, u8::from(guessed)]);
        for number in [a, b, block] {
            out.extend(number.to_le_bytes());
        }
        let mut writer = Writer::default();
        let segments = self.what.segments();
        for (plane, (across, _)) in self.planes.iter().zip(segments) {
            out.extend(plane.sets.to_le_bytes());
            out.extend([plane.features, plane.bits]);
            out.extend(plane.step.to_le_bytes());
            // Writing what is there cannot fail, and leaves it as it is.
            let _ = code(&mut plane.clone(), across as usize, &mut writer);
        }
        out.extend(writer.into_bytes());
        let least = cells(self.what).unwrap_or(0).saturating_sub(FREE_CELLS) / CELLS_A_BYTE;
        while (out.len() as u64) < least {
            out.extend([0; 4]);
        }
        out.extend(checksum(&out).to_le_bytes());
        out
    }

    /// Reads a file from its bytes; `path` is what errors call it.
    ///
    /// ```
    /// use mereo_quantize::codec::Coded;
    /// let error = Coded::from_bytes(b"GIF89a", "a.gvq".as_ref()).unwrap_err();
    /// assert!(error.to_string().starts_with("a.gvq: "));
    /// ```
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let bad = |found: &str, expected: &str| Error::found(Place::file(path), found, expected);
        if !bytes.starts_with(MAGIC) {
            return Err(bad("another kind of file", "one that `mereo compress` wrote"));
        }
        let Some((body, sum)) = bytes.split_last_chunk::<4>() else {
            return Err(bad("the beginning of a file", "all of it"));
        };
        if u32::from_le_bytes(*sum) != checksum(body) {
            return Err(bad("a wrong checksum", "a whole and undamaged file"));
        }
        let mut head = Head(&body[MAGIC.len()..]);
        let cut = || bad("the beginning of a file", "all of it");
        let [version, kind, guessed] = head.take().ok_or_else(cut)?;
        if version != VERSION {
            return Err(bad(
                &format!("version {version}"),
                &format!("version {VERSION}: another mereo may read it"),
            ));
        }
        let (a, b, block) = (head.u32(), head.u32(), head.u32());
        let (a, b, block) = (a.ok_or_else(cut)?, b.ok_or_else(cut)?, block.ok_or_else(cut)?);
        if guessed > 1 {
            return Err(bad(&format!("guesses of kind {guessed}"), "0 or 1"));
        }
        let picture =
            |colour| What::Picture { width: a, height: b, block, colour, guessed: guessed == 1 };
        let what = match kind {
            0 => What::Table { rows: b, columns: a },
            1 => picture(Colour::Grey),
            2 => picture(Colour::Planes),
            3 => picture(Colour::YCbCr),
            _ => return Err(bad(&format!("content of kind {kind}"), "a kind from 0 to 3")),
        };
        if a == 0 || b == 0 || block == 0 || block > 256 {
            return Err(bad("a size of nothing", "width, height and blocks of at least 1"));
        }
        if cells(what).is_none_or(|cells| cells > MOST_CELLS) {
            let expected = format!("at most {MOST_CELLS} numbers in one file");
            return Err(bad(&format!("a size of {a} x {b}"), &expected));
        }
        let size = what.size();
        let mut planes = Vec::new();
        let mut said = 0u64;
        for (across, down) in what.segments() {
            let sets = head.u32().ok_or_else(cut)?;
            let [features, bits] = head.take().ok_or_else(cut)?;
            let step = f32::from_bits(head.u32().ok_or_else(cut)?);
            let numbers = u64::from(sets) * (u64::from(features) + 1) * u64::from(size);
            let proper = (1..=MOST_SETS).contains(&sets)
                && usize::from(features) <= MOST_FEATURES
                && u64::from(sets) * u64::from(features) <= MOST_MODELS
                && (1..=16).contains(&bits)
                && numbers <= MOST_NUMBERS
                && (0.0..=f32::MAX / 1e6).contains(&step);
            if !proper {
                return Err(bad("a plane of impossible size", "sets, features and bits in range"));
            }
            let segments = u64::from(across) * u64::from(down);
            let a_segment = (u64::from(features) + u64::from(sets > 1)).max(1);
            said += numbers + segments * a_segment;
            planes.push((sets, features, bits, step, segments, across));
        }
        // Few bytes cannot say much: memory is taken only for what can be there.
        let room = FREE_CELLS + CELLS_A_BYTE * (bytes.len() as u64 + 8);
        let too_large = cells(what).is_none_or(|cells| cells > room);
        if too_large || said > (head.0.len() as u64 + 8) * BITS_A_BYTE {
            return Err(bad("the beginning of a file", "all of it"));
        }
        let broken = |_: Broken| bad("states that make no sense", "a whole and undamaged file");
        let mut reader = Reader::new(head.0).map_err(broken)?;
        let side = matches!(what, What::Picture { .. }).then_some(block as usize);
        let mut out = Vec::new();
        for (sets, features, bits, step, segments, across) in planes {
            let vectors = sets as usize * (usize::from(features) + 1);
            let mut plane = Plane {
                sets,
                features,
                bits,
                side,
                step,
                halvings: vec![0; vectors],
                levels: vec![0; vectors * size as usize],
                states: vec![(0, 0); segments as usize],
            };
            code(&mut plane, across as usize, &mut reader).map_err(broken)?;
            out.push(plane);
        }
        let filled_up = cells(what).is_some_and(|cells| cells > FREE_CELLS);
        if !filled_up && !reader.at_end() {
            return Err(broken(Broken));
        }
        Ok(Self { what, planes: out })
    }
}

fn whole(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| Error::option("size", format!("{number} is too large")))
}

pub(crate) fn check_bits(bits: u8) -> Result<()> {
    if (1..=16).contains(&bits) {
        return Ok(());
    }
    Err(Error::option("bits", format!("{bits} is not from 1 to 16")))
}

/// Cells of all segments together, unless they are beyond counting.
fn cells(what: What) -> Option<u64> {
    let size = u64::from(what.size());
    what.segments().iter().try_fold(0u64, |sum, &(across, down)| {
        u64::from(across).checked_mul(u64::from(down))?.checked_mul(size)?.checked_add(sum)
    })
}

fn check_cells(what: What) -> Result<()> {
    if cells(what).is_some_and(|cells| cells <= MOST_CELLS) {
        return Ok(());
    }
    Err(Error::option(
        "size",
        format!("more than {MOST_CELLS} numbers cannot be coded in one file"),
    ))
}

/// The bytes of a header, from the front.
struct Head<'a>(&'a [u8]);

impl Head<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
}

/// The checksum at the end of a file (Fowler, Noll and Vo's, 32 bits).
///
/// ```
/// assert_eq!(mereo_quantize::codec::checksum(b""), 0x811c_9dc5);
/// ```
pub fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, &b| (sum ^ u32::from(b)).wrapping_mul(0x0100_0193))
}
