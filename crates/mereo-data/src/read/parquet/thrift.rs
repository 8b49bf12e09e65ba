//! As much of Thrift's compact protocol as it takes to look over a Parquet header before the
//! parquet crate makes room for what the header claims.

/// What a look at a page's header tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageClaim {
    /// Bytes on the disk.
    pub(super) packed: u64,
    /// Bytes in memory.
    pub(super) unpacked: u64,
    /// Values of a dictionary.
    pub(super) dictionary: u64,
}

/// Reads what the header of a page claims; nothing if it is no such header.
pub(super) fn page_claim(bytes: &[u8]) -> Option<PageClaim> {
    // struct PageHeader { 1: type, 2: uncompressed_page_size, 3: compressed_page_size,
    //   4: crc, 5: data_page_header, 6: index_page_header,
    //   7: dictionary_page_header { 1: num_values, .. }, 8: data_page_header_v2 }
    let mut input = Compact { bytes };
    let mut claim = PageClaim { packed: 0, unpacked: 0, dictionary: 0 };
    let mut seen = 0u8;
    let mut field = 0;
    loop {
        let kind = input.field(&mut field)?;
        match (field, kind) {
            // The header of a data page claims no room; its statistics may be long.
            (_, STOP) | (5 | 8, STRUCT) => break,
            (2, INT32) => (claim.unpacked, seen) = (input.count()?, seen | 1),
            (3, INT32) => (claim.packed, seen) = (input.count()?, seen | 2),
            (7, STRUCT) => {
                let mut inner = 0;
                loop {
                    let kind = input.field(&mut inner)?;
                    match (inner, kind) {
                        (_, STOP) => break,
                        (1, INT32) => claim.dictionary = input.count()?,
                        _ => input.skip(kind, 0)?,
                    }
                }
            }
            _ => input.skip(kind, 0)?,
        }
    }
    (seen == 3).then_some(claim)
}

/// Reads how many row groups a file's metadata claims; nothing if it is no such metadata.
pub(super) fn row_groups_claim(bytes: &[u8]) -> Option<u64> {
    // struct FileMetaData { 1: version, 2: list<SchemaElement>, 3: num_rows,
    //   4: list<RowGroup>, .. }
    let mut input = Compact { bytes };
    let mut field = 0;
    loop {
        let kind = input.field(&mut field)?;
        match (field, kind) {
            (_, STOP) => return Some(0),
            (4, LIST) => return Some(input.list()?.1),
            _ => input.skip(kind, 0)?,
        }
    }
}

const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const INT16: u8 = 4;
const INT32: u8 = 5;
const INT64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;
/// Parquet's own structures are nested half as deep.
const DEEPEST: u32 = 16;

struct Compact<'a> {
    bytes: &'a [u8],
}

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A signed number that counts something and so is not negative.
    fn count(&mut self) -> Option<u64> {
        let zigzag = self.varint()?;
        (zigzag & 1 == 0).then_some(zigzag >> 1)
    }

    /// Goes on to the next field of a structure: its type, which is [`STOP`] at the end.
    fn field(&mut self, number: &mut u64) -> Option<u8> {
        let byte = self.byte()?;
        match byte >> 4 {
            _ if byte == STOP => {}
            0 => *number = self.count()?,
            step => *number = number.saturating_add(step.into()),
        }
        // A step without a type is damage, not an end.
        (byte == STOP || byte & 0x0f != STOP).then_some(byte & 0x0f)
    }

    /// The element type and length of a list.
    fn list(&mut self) -> Option<(u8, u64)> {
        let byte = self.byte()?;
        let length = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
        Some((byte & 0x0f, length))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            TRUE | FALSE => {}
            BYTE => _ = self.byte()?,
            INT16 | INT32 | INT64 => _ = self.varint()?,
            DOUBLE => self.bytes = self.bytes.get(8..)?,
            BINARY => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.bytes = self.bytes.get(length..)?;
            }
            LIST | SET => {
                let (element, length) = self.list()?;
                for _ in 0..length {
                    match element {
                        // In a list, unlike in a structure, a truth value takes a byte.
                        TRUE | FALSE => _ = self.byte()?,
                        _ => self.skip(element, depth + 1)?,
                    }
                }
            }
            STRUCT => {
                let mut number = 0;
                loop {
                    match self.field(&mut number)? {
                        STOP => break,
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// type 2 (dictionary), 4000 bytes unpacked, 100 packed, 1000 values.
    const DICTIONARY: [u8; 14] =
        [0x15, 0x04, 0x15, 0xc0, 0x3e, 0x15, 0xc8, 0x01, 0x4c, 0x15, 0xd0, 0x0f, 0x00, 0x00];

    #[test]
    fn a_dictionary_page_is_understood() {
        let claim = PageClaim { packed: 100, unpacked: 4000, dictionary: 1000 };
        assert_eq!(page_claim(&DICTIONARY), Some(claim));
    }

    #[test]
    fn a_cut_header_is_none() {
        for length in 0..DICTIONARY.len() {
            assert_eq!(page_claim(&DICTIONARY[..length]), None);
        }
    }

    #[test]
    fn deep_nesting_and_negative_sizes_are_refused() {
        assert_eq!(page_claim(&[0x1c; 1000]), None);
        assert_eq!(page_claim(&[0x15, 0x04, 0x15, 0x01, 0x15, 0x02, 0x00]), None);
        // An empty element type would let a list be skipped without end.
        assert_eq!(row_groups_claim(&[0x19, 0xf0, 0xff, 0xff, 0xff, 0xff, 0x0f]), None);
    }
}
