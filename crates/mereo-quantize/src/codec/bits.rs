//! Bits, coded with as much as they surprise: an adaptive model of each, and a range coder.
//!
//! A model is the chance of a 1 in units of 2⁻¹⁵: the share of ones among the bits that came by, the
//! last ones weighing more. Where several contexts each know something about a bit, [`Mixed`] makes
//! one chance of theirs. Whole numbers are a length in unary, bit by bit with models of each, and then
//! their digits (Elias's gamma code, made adaptive). All arithmetic is of integers, so that every
//! machine reads what any wrote.

use std::borrow::Borrow;
use std::num::NonZeroU16;

use constriction::stream::model::{DecoderModel, EncoderModel, EntropyModel};
use constriction::stream::queue::{RangeDecoder, RangeEncoder};
use constriction::stream::{Decode, Encode};

use super::mixed::{Contexts, Mixed};

pub(super) const PRECISION: usize = 15;
pub(super) const ONE: u16 = 1 << PRECISION;
/// The smallest chance of either bit. It bounds how much can be said with few bytes.
pub(super) const LEAST: u16 = 64;
/// The most bits that one byte can stand for: `8 / -log2(1 - 64/32768)`, rounded up.
pub(super) const BITS_A_BYTE: u64 = 2837;
/// So many bits a model remembers.
const MEMORY: u8 = 127;

/// The chance of a 1, and how much it has seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bit {
    chance: u16,
    seen: u8,
}

impl Default for Bit {
    fn default() -> Self {
        Self { chance: ONE / 2, seen: 0 }
    }
}

impl Bit {
    pub(super) fn chance(self) -> u16 {
        self.chance
    }

    pub(super) fn learn(&mut self, bit: bool) {
        let off = if bit { ONE - self.chance } else { self.chance };
        // Rounded up, so that chances get all the way to the smallest.
        let step = (2 * u32::from(off)).div_ceil(2 * u32::from(self.seen) + 3) as u16;
        let chance = if bit { self.chance + step } else { self.chance - step };
        self.chance = chance.clamp(LEAST, ONE - LEAST);
        self.seen = (self.seen + 1).min(MEMORY);
    }
}

/// A bit's chances as the coder wants them: first the 1, then the 0.
#[derive(Clone, Copy)]
struct Chances(u16);

impl Chances {
    fn of(self, bit: bool) -> (u16, NonZeroU16) {
        let (start, width) = if bit { (0, self.0) } else { (self.0, ONE - self.0) };
        (start, NonZeroU16::new(width).unwrap_or(NonZeroU16::MIN))
    }
}

impl EntropyModel<PRECISION> for Chances {
    type Symbol = bool;
    type Probability = u16;
}

impl EncoderModel<PRECISION> for Chances {
    fn left_cumulative_and_probability(
        &self,
        symbol: impl Borrow<bool>,
    ) -> Option<(u16, NonZeroU16)> {
        Some(self.of(*symbol.borrow()))
    }
}

impl DecoderModel<PRECISION> for Chances {
    fn quantile_function(&self, quantile: u16) -> (bool, u16, NonZeroU16) {
        let bit = quantile < self.0;
        let (start, width) = self.of(bit);
        (bit, start, width)
    }
}

/// The models of a whole number.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    length: [Mixed; 33],
    /// The digits below the leading one, each by how many there are and by those before it.
    digits: [Bit; 1 << MODELLED],
}

/// Numbers of fewer digits than this have models of them.
const MODELLED: u32 = 6;

impl Default for Whole {
    fn default() -> Self {
        Self {
            length: std::array::from_fn(|_| Mixed::default()),
            digits: [Bit::default(); 1 << MODELLED],
        }
    }
}

/// One thing that both writing and reading do, so that they cannot disagree.
pub(super) trait Coder {
    /// Codes a bit that is 1 with this chance: writes this one, or reads one and returns it.
    fn by_chance(&mut self, chance: u16, bit: bool) -> Result<bool, Broken>;

    /// Codes a bit by a model, which learns from it.
    fn bit(&mut self, model: &mut Bit, bit: bool) -> Result<bool, Broken> {
        let bit = self.by_chance(model.chance, bit)?;
        model.learn(bit);
        Ok(bit)
    }

    /// Codes a bit by the models of several contexts, which learn from it.
    fn mixed(&mut self, model: &mut Mixed, near: Contexts, bit: bool) -> Result<bool, Broken> {
        let mixture = model.mixture(near);
        let bit = self.by_chance(mixture.chance, bit)?;
        model.learn(near, mixture, bit);
        Ok(bit)
    }

    /// Codes a whole number below 2³² in these contexts.
    fn whole(&mut self, model: &mut Whole, near: Contexts, value: u32) -> Result<u32, Broken> {
        let value = u64::from(value) + 1;
        let length = value.ilog2();
        let mut digits = 0;
        while self.mixed(&mut model.length[digits as usize], near, digits < length)? {
            digits += 1;
            if digits > 32 {
                return Err(Broken);
            }
        }
        let mut out = 1u64;
        for digit in (0..digits).rev() {
            let mut even = Bit::default();
            let model = match digits {
                0..MODELLED => &mut model.digits[(1 << digits) + out as usize],
                _ => &mut even,
            };
            let bit = self.bit(model, value >> digit & 1 == 1)?;
            out = out << 1 | u64::from(bit);
        }
        u32::try_from(out - 1).map_err(|_| Broken)
    }
}

/// What was read makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

/// Writes bits.
#[derive(Debug, Default)]
pub(super) struct Writer(RangeEncoder<u32, u64>);

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let words: Vec<u32> = self.0.into();
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

impl Coder for Writer {
    fn by_chance(&mut self, chance: u16, bit: bool) -> Result<bool, Broken> {
        self.0.encode_symbol(bit, Chances(chance)).map_err(|_| Broken)?;
        Ok(bit)
    }
}

/// Writes nothing, and counts the bits that writing would take.
#[derive(Debug, Default)]
pub(super) struct Counter {
    pub(super) bits: f64,
}

impl Coder for Counter {
    fn by_chance(&mut self, chance: u16, bit: bool) -> Result<bool, Broken> {
        self.bits += price(chance, bit);
        Ok(bit)
    }
}

/// The bits that a bit of this chance takes.
pub(super) fn price(chance: u16, bit: bool) -> f64 {
    let chance = f64::from(chance) / f64::from(ONE);
    -(if bit { chance } else { 1.0 - chance }).log2()
}

/// Reads bits.
pub(super) struct Reader(RangeDecoder<u32, u64, constriction::backends::Cursor<u32, Vec<u32>>>);

impl Reader {
    pub(super) fn new(bytes: &[u8]) -> Result<Self, Broken> {
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(Broken);
        }
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        RangeDecoder::from_compressed(words).map(Self).map_err(|_| Broken)
    }

    /// Whether all that was written may have been read.
    pub(super) fn at_end(&self) -> bool {
        self.0.maybe_exhausted()
    }
}

impl Coder for Reader {
    fn by_chance(&mut self, chance: u16, _: bool) -> Result<bool, Broken> {
        self.0.decode_symbol(Chances(chance)).map_err(|_| Broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let numbers = [0u32, 1, 2, 3, 100, 65_535, u32::MAX, 7, 7, 7];
        let (mut writer, mut model, mut flag) =
            (Writer::default(), Whole::default(), Bit::default());
        for (i, &n) in numbers.iter().enumerate() {
            writer.whole(&mut model, [i % 3, 0, 15], n).unwrap();
            writer.bit(&mut flag, i % 3 == 0).unwrap();
        }
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes).unwrap();
        let (mut model, mut flag) = (Whole::default(), Bit::default());
        for (i, &n) in numbers.iter().enumerate() {
            assert_eq!(reader.whole(&mut model, [i % 3, 0, 15], 0), Ok(n));
            assert_eq!(reader.bit(&mut flag, false), Ok(i % 3 == 0));
        }
    }

    #[test]
    fn what_is_expected_costs_little() {
        let (mut writer, mut model) = (Writer::default(), Bit::default());
        for _ in 0..283_700 {
            writer.bit(&mut model, true).unwrap();
        }
        let bytes = writer.into_bytes().len() as u64;
        assert!((100..130).contains(&bytes), "{bytes}");
        assert!(283_700 <= (bytes + 8) * BITS_A_BYTE);
    }
}
