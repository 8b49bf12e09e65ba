//! Bits, coded with as much as they surprise: an adaptive model of each, and a range coder.
//!
//! A model is the chance of a 1 in units of 2⁻¹², moved towards what came by. Whole numbers are a
//! length in unary, bit by bit with a model each, and then their digits (Elias's gamma code, made
//! adaptive). All arithmetic is of integers, so that every machine reads what any wrote.

use std::borrow::Borrow;
use std::num::NonZeroU16;

use constriction::stream::model::{DecoderModel, EncoderModel, EntropyModel};
use constriction::stream::queue::{RangeDecoder, RangeEncoder};
use constriction::stream::{Decode, Encode};

const PRECISION: usize = 12;
const ONE: u16 = 1 << PRECISION;
/// The smallest chance of either bit. It bounds how much can be said with few bytes.
const LEAST: u16 = 32;
/// The most bits that one byte can stand for: `8 / -log2(1 - 32/4096)`, rounded up.
pub(super) const BITS_A_BYTE: u64 = 710;
/// How quickly chances follow what comes by: fast at first, then by 1/32 each time.
const SLOWEST: u8 = 5;

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
    fn learn(&mut self, bit: bool) {
        let rate = (self.seen / 2 + 1).min(SLOWEST);
        self.seen = self.seen.saturating_add(1);
        if bit {
            self.chance += (ONE - self.chance) >> rate;
        } else {
            self.chance -= self.chance >> rate;
        }
        self.chance = self.chance.clamp(LEAST, ONE - LEAST);
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
    length: [Bit; 33],
    /// The digit below the leading one, by length.
    second: [Bit; 33],
}

impl Default for Whole {
    fn default() -> Self {
        Self { length: [Bit::default(); 33], second: [Bit::default(); 33] }
    }
}

/// One thing that both writing and reading do, so that they cannot disagree.
pub(super) trait Coder {
    /// Codes a bit: writes this one, or reads one and returns it.
    fn bit(&mut self, model: &mut Bit, bit: bool) -> Result<bool, Broken>;

    /// Codes a whole number below 2³².
    fn whole(&mut self, model: &mut Whole, value: u32) -> Result<u32, Broken> {
        let value = u64::from(value) + 1;
        let length = value.ilog2();
        let mut digits = 0;
        while self.bit(&mut model.length[digits as usize], digits < length)? {
            digits += 1;
            if digits > 32 {
                return Err(Broken);
            }
        }
        let mut out = 1u64;
        for digit in (0..digits).rev() {
            let mut even = Bit::default();
            let first = digit + 1 == digits;
            let model = if first { &mut model.second[digits as usize] } else { &mut even };
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
pub(super) struct Writer(RangeEncoder<u16, u32>);

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        let words: Vec<u16> = self.0.into();
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

impl Coder for Writer {
    fn bit(&mut self, model: &mut Bit, bit: bool) -> Result<bool, Broken> {
        self.0.encode_symbol(bit, Chances(model.chance)).map_err(|_| Broken)?;
        model.learn(bit);
        Ok(bit)
    }
}

/// Reads bits.
pub(super) struct Reader(RangeDecoder<u16, u32, constriction::backends::Cursor<u16, Vec<u16>>>);

impl Reader {
    pub(super) fn new(bytes: &[u8]) -> Result<Self, Broken> {
        let (pairs, rest) = bytes.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(Broken);
        }
        let words: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        RangeDecoder::from_compressed(words).map(Self).map_err(|_| Broken)
    }
}

impl Coder for Reader {
    fn bit(&mut self, model: &mut Bit, _: bool) -> Result<bool, Broken> {
        let bit = self.0.decode_symbol(Chances(model.chance)).map_err(|_| Broken)?;
        model.learn(bit);
        Ok(bit)
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
            writer.whole(&mut model, n).unwrap();
            writer.bit(&mut flag, i % 3 == 0).unwrap();
        }
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes).unwrap();
        let (mut model, mut flag) = (Whole::default(), Bit::default());
        for (i, &n) in numbers.iter().enumerate() {
            assert_eq!(reader.whole(&mut model, 0), Ok(n));
            assert_eq!(reader.bit(&mut flag, false), Ok(i % 3 == 0));
        }
    }

    #[test]
    fn what_is_expected_costs_little() {
        let (mut writer, mut model) = (Writer::default(), Bit::default());
        for _ in 0..71_000 {
            writer.bit(&mut model, true).unwrap();
        }
        let bytes = writer.into_bytes().len() as u64;
        assert!((100..130).contains(&bytes), "{bytes}");
        assert!(71_000 <= (bytes + 8) * BITS_A_BYTE);
    }
}
