//! One plane of what is coded, and the one function that writes and reads it.

use mereo_core::{Error, Result};

use super::bits::{Broken, Coder, Whole};
use super::states::{Made, States};
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
    pub(super) states: Vec<Made>,
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
    pub(crate) fn with_states(mut self, states: Vec<Made>) -> Self {
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

/// Codes a plane: writes what it holds, or reads into it.
pub(super) fn code(
    plane: &mut Plane,
    across: usize,
    size: usize,
    side: Option<usize>,
    coder: &mut dyn Coder,
) -> std::result::Result<(), Broken> {
    code_levels(plane, size, side, coder)?;
    let mut states = States::new(plane.sets, usize::from(plane.features), across);
    for at in 0..plane.states.len() {
        let near = states.near(&plane.states, at);
        plane.states[at] = states.code(&near, plane.states[at], coder)?;
    }
    Ok(())
}

/// Codes the levels of features and origins.
fn code_levels(
    plane: &mut Plane,
    size: usize,
    side: Option<usize>,
    coder: &mut dyn Coder,
) -> std::result::Result<(), Broken> {
    let mut model = Whole::default();
    let most = i64::try_from((1u64 << plane.bits) - 1).map_err(|_| Broken)?;
    for at in 0..plane.levels.len() {
        let inside = at % size;
        let expected = match side {
            Some(side) if inside > 0 => goes_on(&plane.levels[at - inside..at], side),
            _ => (most + 1) / 2,
        };
        let off = i64::from(plane.levels[at]) - expected;
        // 0, -1, 1, -2, 2 ... as 0, 1, 2, 3, 4 ...
        let folded = if off < 0 { -2 * off - 1 } else { 2 * off };
        let read = i64::from(coder.whole(&mut model, folded as u32)?);
        let level = expected + if read & 1 == 1 { -(read + 1) / 2 } else { read / 2 };
        if !(0..=most).contains(&level) {
            return Err(Broken);
        }
        plane.levels[at] = level as u32;
    }
    Ok(())
}

/// The level that those before it in a block lead one to expect: what they are, and some of how they
/// change.
fn goes_on(before: &[u32], side: usize) -> i64 {
    let (y, x) = (before.len() / side, before.len() % side);
    let level = |up: usize, back: usize| i64::from(before[(y - up) * side + x - back]);
    match (y, x) {
        (0, _) => level(0, 1),
        (_, 0) => level(1, 0),
        _ => {
            let farther = 3 * level(0, x.min(2)) + 2 * level(y.min(2), 0);
            (18 * level(0, 1) + 14 * level(1, 0) - 11 * level(1, 1) - farther + 8) >> 4
        }
    }
}
