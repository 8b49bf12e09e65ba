//! One plane of what is coded, and the one function that writes and reads it.

use mereo_core::{Error, Result};

use super::bits::{Bit, Broken, Coder, Whole};
use crate::associate::ones;

/// One plane: its features, rounded, and what its segments are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    /// Number of sets.
    pub sets: u32,
    /// Number of features of each set; 0 for a plain codebook.
    pub features: u8,
    /// Bits of a level.
    pub bits: u8,
    /// The value of level 0.
    pub low: f32,
    /// What one level more is worth.
    pub step: f32,
    /// `[sets, 1 + features, size]`: origins and features as levels.
    pub(super) levels: Vec<u32>,
    /// The set and the state of each segment, row by row.
    pub(super) states: Vec<(u32, u64)>,
}

impl Plane {
    /// Rounds vectors `[sets, 1 + features, size]` to levels.
    pub(crate) fn round(sets: u32, features: u8, bits: u8, vectors: &[f64]) -> Result<Self> {
        let low = vectors.iter().copied().fold(f64::INFINITY, f64::min) as f32;
        let high = vectors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let most = (1u64 << bits) - 1;
        let step = ((high - f64::from(low)) / most as f64) as f32;
        if !(low.is_finite() && step.is_finite()) {
            return Err(Error::option("bits", "the features are too large to be kept in a file"));
        }
        let level = |v: &f64| {
            if step > 0.0 {
                let level = ((v - f64::from(low)) / f64::from(step)).round();
                level.clamp(0.0, most as f64) as u32
            } else {
                0
            }
        };
        let levels = vectors.iter().map(level).collect();
        Ok(Self { sets, features, bits, low, step, levels, states: Vec::new() })
    }

    /// The vectors that levels stand for.
    pub(crate) fn vectors(&self) -> Vec<f64> {
        let (low, step) = (f64::from(self.low), f64::from(self.step));
        self.levels.iter().map(|&level| low + step * f64::from(level)).collect()
    }

    /// Says what each segment is made of.
    pub(crate) fn with_states(mut self, states: Vec<(u32, u64)>) -> Self {
        self.states = states;
        self
    }

    /// The segments, one after another, `size` numbers each.
    pub(crate) fn looks(&self, size: usize) -> Vec<f64> {
        let vectors = self.vectors();
        let per_set = (usize::from(self.features) + 1) * size;
        let mut out = Vec::with_capacity(self.states.len() * size);
        for &(set, state) in &self.states {
            let set = &vectors[set as usize * per_set..][..per_set];
            let start = out.len();
            out.extend_from_slice(&set[..size]);
            for i in ones(state) {
                let feature = &set[(i + 1) * size..(i + 2) * size];
                out[start..].iter_mut().zip(feature).for_each(|(x, f)| *x += f);
            }
        }
        out
    }

    /// Kilobits by the paper's accounting: bits for each number of each feature and origin, and
    /// one bit a segment for each feature and each doubling of the sets.
    pub fn kilobits(&self) -> f64 {
        let code = f64::from(self.features) + f64::from(self.sets).log2();
        (f64::from(self.bits) * self.levels.len() as f64 + self.states.len() as f64 * code) / 1000.0
    }
}

/// The models of a plane's numbers and states.
struct Models {
    level: Whole,
    /// By feature of a set, then by the states to the left and above.
    state: Vec<[Bit; 4]>,
    /// By digit of the set, by the digits before it, by whether set is that to the left.
    set: Vec<Bit>,
    same: [Bit; 3],
}

/// Codes a plane: writes what it holds, or reads into it.
pub(super) fn code(
    plane: &mut Plane,
    across: usize,
    size: usize,
    side: Option<usize>,
    coder: &mut dyn Coder,
) -> std::result::Result<(), Broken> {
    let n = usize::from(plane.features);
    let digits = 32 - (plane.sets - 1).leading_zeros();
    let mut models = Models {
        level: Whole::default(),
        state: vec![[Bit::default(); 4]; plane.sets as usize * n],
        set: vec![Bit::default(); 1 << digits],
        same: [Bit::default(); 3],
    };
    let most = i64::try_from((1u64 << plane.bits) - 1).map_err(|_| Broken)?;
    for at in 0..plane.levels.len() {
        let inside = at % size;
        let expected = match side {
            Some(side) if !inside.is_multiple_of(side) => i64::from(plane.levels[at - 1]),
            Some(side) if inside > 0 => i64::from(plane.levels[at - side]),
            _ => (most + 1) / 2,
        };
        let off = i64::from(plane.levels[at]) - expected;
        // 0, -1, 1, -2, 2 ... as 0, 1, 2, 3, 4 ...
        let folded = if off < 0 { -2 * off - 1 } else { 2 * off };
        let read = i64::from(coder.whole(&mut models.level, folded as u32)?);
        let level = expected + if read & 1 == 1 { -(read + 1) / 2 } else { read / 2 };
        if !(0..=most).contains(&level) {
            return Err(Broken);
        }
        plane.levels[at] = level as u32;
    }
    for at in 0..plane.states.len() {
        let left = (at % across > 0).then(|| plane.states[at - 1]);
        let above = (at >= across).then(|| plane.states[at - across]);
        let (set, state) = plane.states[at];
        let guess = left.or(above).map_or(0, |(set, _)| set);
        let mut found_set = guess;
        if plane.sets > 1 {
            let agree = usize::from(left.is_some())
                + usize::from(left.is_some() && left.map(|l| l.0) == above.map(|a| a.0));
            if !coder.bit(&mut models.same[agree], set == guess)? {
                let mut prefix = 1usize;
                for digit in (0..digits).rev() {
                    let bit = coder.bit(&mut models.set[prefix], set >> digit & 1 == 1)?;
                    prefix = prefix << 1 | usize::from(bit);
                }
                found_set = (prefix - (1 << digits)) as u32;
                if found_set >= plane.sets {
                    return Err(Broken);
                }
            }
        }
        let on = |near: Option<(u32, u64)>, i: usize| {
            near.is_some_and(|(set, state)| set == found_set && state >> i & 1 == 1)
        };
        let mut found = 0u64;
        for i in 0..n {
            let context = usize::from(on(left, i)) + 2 * usize::from(on(above, i));
            let model = &mut models.state[found_set as usize * n + i][context];
            found |= u64::from(coder.bit(model, state >> i & 1 == 1)?) << i;
        }
        plane.states[at] = (found_set, found);
    }
    Ok(())
}
