//! Making right files wrong, in ways that hurt readers.

/// `SplitMix64` (Steele, Lea and Flood): small, good enough, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    /// The random numbers of one execution.
    pub(crate) fn new(seed: u64, execution: u64) -> Self {
        let mut random = Self(seed ^ execution.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, or 0 if that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Numbers at which readers stumble.
const NUMBERS: [u64; 18] = [
    0,
    1,
    2,
    7,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x0001_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x0000_0001_0000_0000,
    0x0000_0040_0000_0000,
    0x2000_0000_0000_0001,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// Words that mean something in one or another of the formats.
const WORDS: [&str; 54] = [
    "nan",
    "NA",
    "inf",
    "-inf",
    "-",
    "-1",
    "0",
    "1e308",
    "1e400",
    "-1e39",
    "1e-320",
    "0x10",
    "\"",
    "\"\"",
    "'",
    ",",
    ";",
    "\t",
    "::",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "\u{feff}",
    "\0",
    "é",
    "[",
    "]",
    "{",
    "}",
    "null",
    "true",
    "(",
    ")",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "99999999999999999999999999",
    "4294967296",
    "4294967295",
    "2147483648",
    "1000000000",
    "0.5",
    "<f8",
    ">f4",
    "|u1",
    "|S9",
    "<U3",
    "'shape': ",
    "F64",
    "BF16",
    "data_offsets",
    "[9999999999,9999999999]",
    "\\u0000",
];

/// Changes bytes in one to several places. `others` lend pieces.
pub(crate) fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    loop {
        mutate_once(bytes, others, random);
        if random.one_in(3) {
            return;
        }
    }
}

fn mutate_once(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(12) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        2 if !bytes.is_empty() => bytes[at] = *random.choose(&NUMBERS) as u8,
        3 => bytes.truncate(at),
        4 => {
            let end = (at + 1 + random.below(16)).min(bytes.len());
            bytes.drain(at.min(end)..end);
        }
        5 => {
            let piece = take(bytes, random);
            bytes.splice(at..at, piece);
        }
        6 => {
            let other = random.choose(others);
            let piece = take(other, random);
            let end = (at + random.below(piece.len() + 1)).min(bytes.len());
            bytes.splice(at.min(end)..end, piece);
        }
        7 | 8 => overwrite_number(bytes, random),
        9 => {
            let word = random.choose(&WORDS).bytes();
            let end = (at + random.below(word.len() + 1)).min(bytes.len());
            bytes.splice(at.min(end)..end, word);
        }
        _ => replace_written_number(bytes, random),
    }
}

/// A piece of at most 64 bytes.
fn take(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let start = random.below(bytes.len());
    let end = (start + 1 + random.below(64)).min(bytes.len());
    bytes[start.min(end)..end].to_vec()
}

/// Writes a number of 1, 2, 4 or 8 bytes in either order over what is there: lengths, offsets,
/// counts.
fn overwrite_number(bytes: &mut [u8], random: &mut Random) {
    let width = *random.choose(&[1usize, 2, 4, 8]);
    if bytes.len() < width {
        return;
    }
    // Numbers that say how much there is like to stand at either end.
    let last = bytes.len() - width;
    let at = match random.below(4) {
        0 => random.below(last.min(32) + 1),
        1 => last - random.below(last.min(32) + 1),
        _ => random.below(last + 1),
    };
    let length = bytes.len() as u64;
    let number = match random.below(4) {
        0 => length.wrapping_add(random.below(9) as u64).wrapping_sub(4),
        1 => random.next() >> random.below(64),
        _ => *random.choose(&NUMBERS),
    };
    let mut written = number.to_le_bytes()[..width].to_vec();
    if random.one_in(2) {
        written.reverse();
    }
    bytes[at..at + width].copy_from_slice(&written);
}

/// Puts another number where one is written in digits.
fn replace_written_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = random.below(bytes.len());
    let digits = |b: &u8| b.is_ascii_digit();
    let Some(start) = bytes[from..].iter().position(digits).map(|i| from + i) else { return };
    let end = bytes[start..].iter().position(|b| !digits(b)).map_or(bytes.len(), |i| start + i);
    let word = match random.below(3) {
        0 => random.choose(&NUMBERS).to_string(),
        1 => (random.next() >> random.below(64)).to_string(),
        _ => (*random.choose(&WORDS)).to_owned(),
    };
    bytes.splice(start..end, word.bytes());
}
