//! Rounded numbers of features, said one by one.
//!
//! A level is how large it is, as a whole number, and its sign, which nothing foretells. How large it may
//! be is foretold by three contexts ([`Mixed`](super::mixed)): by the levels beside it that are
//! known, by what stood in its place in the vectors before, and by its place.

use super::bits::{Broken, Coder, ONE, Whole};
use super::mixed::{Contexts, VALUES};

/// How much finer than the coarsest a vector may be rounded: its step is halved so often at the most.
pub(super) const MOST_HALVINGS: u8 = 24;
/// No level is larger than this.
pub(super) const LARGEST: u32 = 1 << 30;

/// The models of a plane's levels.
pub(super) struct Levels {
    side: Option<usize>,
    size: Whole,
    halvings: Whole,
    /// What the levels of each place came to in all vectors before, in the finest steps.
    sums: Vec<u64>,
    vectors: u64,
}

impl Levels {
    /// Of vectors of so many numbers, which are waves of square blocks if these have a side.
    pub(super) fn new(numbers: usize, side: Option<usize>) -> Self {
        Self {
            side,
            size: Whole::default(),
            halvings: Whole::default(),
            sums: vec![0; numbers],
            vectors: 0,
        }
    }

    /// Codes a vector: writes it, or reads into it.
    pub(super) fn code(
        &mut self,
        halvings: &mut u8,
        levels: &mut [i32],
        coder: &mut dyn Coder,
    ) -> Result<(), Broken> {
        let read = coder.whole(&mut self.halvings, [0; 3], u32::from(*halvings))?;
        *halvings = u8::try_from(read).ok().filter(|&h| h <= MOST_HALVINGS).ok_or(Broken)?;
        let coarser = u32::from(MOST_HALVINGS - *halvings);
        for at in 0..levels.len() {
            let contexts = self.contexts(levels, at, coarser);
            let size = coder.whole(&mut self.size, contexts, levels[at].unsigned_abs())?;
            if size > LARGEST {
                return Err(Broken);
            }
            let negative = size > 0 && coder.by_chance(ONE / 2, levels[at] < 0)?;
            levels[at] = if negative { -(size as i32) } else { size as i32 };
            // At most 2³⁰ 2²⁴ for each of at most 2²⁴ vectors: the sums of hostile files stop there.
            self.sums[at] = self.sums[at].saturating_add(u64::from(size) << coarser);
        }
        self.vectors += 1;
        Ok(())
    }

    fn contexts(&self, levels: &[i32], at: usize, coarser: u32) -> Contexts {
        let before = (self.sums[at] / self.vectors.max(1)) >> coarser.saturating_sub(2);
        let level = |at: usize| u64::from(levels[at].unsigned_abs());
        let (near, place) = match self.side {
            Some(side) => {
                let (y, x) = (at / side, at % side);
                let left = (x > 0).then(|| level(at - 1));
                let above = (y > 0).then(|| level(at - side));
                let both = left.zip(above).map(|_| level(at - side - 1));
                let near = match (left, above, both) {
                    (Some(left), Some(above), Some(both)) => both + 3 * (left + above) / 2,
                    (Some(one), ..) | (_, Some(one), _) => 4 * one,
                    _ => before,
                };
                (near, (y + x) * VALUES / (2 * side))
            }
            None => (if at > 0 { 4 * level(at - 1) } else { before }, 0),
        };
        // By how many digits four times what is expected has.
        let class = |four_times: u64| ((four_times + 1).ilog2() as usize).min(VALUES - 1);
        [class(near), class(before), place]
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::{Reader, Writer};
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let vectors = [[0, -1, 3, 0], [700, -65_535, 0, 1], [0; 4], [LARGEST as i32, 2, -2, 0]];
        for side in [None, Some(2)] {
            let (mut writer, mut models) = (Writer::default(), Levels::new(4, side));
            for (i, vector) in vectors.iter().enumerate() {
                models.code(&mut (i as u8 * 8), &mut vector.clone(), &mut writer).unwrap();
            }
            let bytes = writer.into_bytes();
            let (mut reader, mut models) = (Reader::new(&bytes).unwrap(), Levels::new(4, side));
            for (i, vector) in vectors.iter().enumerate() {
                let (mut halvings, mut read) = (0, [0; 4]);
                models.code(&mut halvings, &mut read, &mut reader).unwrap();
                assert_eq!((usize::from(halvings), &read), (8 * i, vector));
            }
            assert!(reader.at_end());
        }
    }
}
