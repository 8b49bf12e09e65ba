//! One plane of what is coded, and the one function that writes and reads it.

use mereo_core::{Error, Result};

use super::bits::{Broken, Coder, Counter};
use super::levels::{LARGEST, Levels, MOST_HALVINGS};
use super::states::{Made, States};
use super::waves::Waves;
use crate::associate::ones;

/// One plane: its features, rounded, and what its segments are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    /// Number of sets.
    pub sets: u32,
    /// Number of features of each set; 0 for a plain codebook.
    pub features: u8,
    /// Bits of a number, by the plain count.
    pub bits: u8,
    /// The side of a block, if segments are blocks: their vectors are kept as waves.
    pub(super) side: Option<usize>,
    /// What one level more is worth in vectors that are rounded most coarsely.
    pub(super) step: f32,
    /// How often the step is halved for each origin and feature, `[sets, 1 + features]`.
    pub(super) halvings: Vec<u8>,
    /// `[sets, 1 + features, size]`: origins and features as levels.
    pub(super) levels: Vec<i32>,
    /// The set and the state of each segment, row by row.
    pub(super) states: Vec<Made>,
}

/// How vectors are rounded.
pub(super) struct Rounding<'a> {
    /// Steps are not smaller than those that divide the range of all numbers into `2^bits` levels.
    pub(super) bits: u8,
    /// λ: how much squared error a bit must save.
    pub(super) penalty: f64,
    /// How many segments have each vector.
    pub(super) used: &'a [u32],
}

/// Largest numbers are at most so many steps.
const MOST_STEPS: f64 = (1 << 20) as f64;
/// Numbers of priced vectors are rounded up from here: what is nearer to 0 takes fewer bits.
const ROUNDED_UP: f64 = 0.6;

impl Rounding<'_> {
    /// The step that a bit more or less would pay for. With step Δ a number that n segments have costs a
    /// squared error of about `n Δ²/12`, and `-log2 Δ` bits and some; the sum of the first and λ times
    /// the second is least where `n Δ²/6 = λ/ln 2`.
    fn step(&self, used: u32) -> f64 {
        (6.0 / std::f64::consts::LN_2 * self.penalty / f64::from(used.max(1))).sqrt()
    }
}

impl Plane {
    /// A plane of vectors `[sets, 1 + features, size]`, rounded.
    pub(super) fn round(
        sets: u32,
        features: u8,
        side: Option<usize>,
        vectors: &[f64],
        rounding: &Rounding<'_>,
    ) -> Result<Self> {
        let count = sets as usize * (usize::from(features) + 1);
        let low = vectors.iter().copied().fold(f64::INFINITY, f64::min);
        let high = vectors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = (high - low) / ((1u64 << rounding.bits) - 1) as f64;
        let finest = range.max(high.max(-low) / MOST_STEPS);
        let wanted: Vec<f64> =
            (0..count).map(|v| rounding.step(rounding.used[v]).max(finest)).collect();
        let step = wanted.iter().copied().fold(0.0, f64::max) as f32;
        if !step.is_finite() {
            return Err(Error::option("bits", "the features are too large to be kept in a file"));
        }
        let halvings = wanted.iter().map(|wanted| {
            let times = (f64::from(step) / wanted).log2().round();
            times.clamp(0.0, f64::from(MOST_HALVINGS)) as u8
        });
        let mut plane = Self {
            sets,
            features,
            bits: rounding.bits,
            side,
            step,
            halvings: halvings.collect(),
            levels: Vec::with_capacity(vectors.len()),
            states: Vec::new(),
        };
        let up = if rounding.penalty > 0.0 { ROUNDED_UP } else { 0.5 };
        let mut waves = side.map(Waves::new);
        for (v, numbers) in vectors.chunks_exact(vectors.len() / count).enumerate() {
            let mut numbers = numbers.to_vec();
            if let Some(waves) = &mut waves {
                waves.take_apart(&mut numbers);
            }
            let step = plane.step_of(v);
            let level = |number: f64| {
                if step == 0.0 {
                    return 0;
                }
                let level = (number.abs() / step + 1.0 - up).floor().min(f64::from(LARGEST));
                if level > 0.0 { (level * number.signum()) as i32 } else { 0 }
            };
            plane.levels.extend(numbers.into_iter().map(level));
        }
        Ok(plane)
    }

    fn step_of(&self, vector: usize) -> f64 {
        f64::from(self.step) / f64::from(1u32 << self.halvings[vector])
    }

    /// Numbers in a vector.
    fn size(&self) -> usize {
        (self.levels.len() / self.halvings.len().max(1)).max(1)
    }

    /// The bits that each vector takes, after those before it.
    pub(super) fn vector_bits(&self) -> Vec<f64> {
        let mut models = Levels::new(self.size(), self.side);
        let vectors = self.levels.chunks_exact(self.size()).zip(&self.halvings);
        let bits = vectors.map(|(levels, &halvings)| {
            let mut counter = Counter::default();
            // Counting does not fail, and leaves what it counts as it is.
            let _ = models.code(&mut { halvings }, &mut levels.to_vec(), &mut counter);
            counter.bits
        });
        bits.collect()
    }

    /// The vectors that levels stand for.
    pub(super) fn vectors(&self) -> Vec<f64> {
        let mut out: Vec<f64> = self.levels.iter().map(|&level| f64::from(level)).collect();
        let mut waves = self.side.map(Waves::new);
        for (v, numbers) in out.chunks_exact_mut(self.size()).enumerate() {
            let step = self.step_of(v);
            numbers.iter_mut().for_each(|x| *x *= step);
            if let Some(waves) = &mut waves {
                waves.put_together(numbers);
            }
        }
        out
    }

    /// Says what each segment is made of.
    pub(super) fn with_states(mut self, states: Vec<Made>) -> Self {
        self.states = states;
        self
    }

    /// The same without features that no segment of any set has.
    pub(super) fn without_unused(mut self) -> Self {
        let (n, size) = (usize::from(self.features), self.size());
        let on = |set: usize| {
            let of = self.states.iter().filter(|s| s.0 as usize == set);
            of.fold(0u64, |on, s| on | s.1)
        };
        let on: Vec<u64> = (0..self.sets as usize).map(on).collect();
        let most = on.iter().map(|on| on.count_ones() as usize).max().unwrap_or(0);
        if n == 0 || most == n {
            return self;
        }
        // Of each set the features that are on, and as many of the others as another set has more.
        let (mut halvings, mut levels) = (Vec::new(), Vec::new());
        let kept: Vec<Vec<usize>> = on
            .iter()
            .map(|on| ones(*on).chain((0..n).filter(|i| on >> i & 1 == 0)).take(most).collect())
            .collect();
        for (set, kept) in kept.iter().enumerate() {
            for v in std::iter::once(0).chain(kept.iter().map(|i| i + 1)) {
                let v = set * (n + 1) + v;
                halvings.push(self.halvings[v]);
                levels.extend_from_slice(&self.levels[v * size..(v + 1) * size]);
            }
        }
        for (set, state) in &mut self.states {
            let kept = kept[*set as usize].iter().enumerate();
            *state = kept.fold(0, |new, (to, from)| new | (*state >> from & 1) << to);
        }
        self.features = most as u8;
        Self { halvings, levels, ..self }
    }

    /// The segments, one after another.
    pub(super) fn looks(&self) -> Vec<f64> {
        let (size, vectors) = (self.size(), self.vectors());
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

    /// Kilobits by the plain count with which the paper compares: bits for each number of each feature and
    /// origin, and one bit a segment for each feature and each doubling of the sets. The paper's own
    /// figure for GVQ, 56 kbit for 8 features, counts the origin as one more bit a segment
    /// (9·256·16 + 2112·9); the origin always belongs, so that it is not counted here (53.8).
    pub fn kilobits(&self) -> f64 {
        let code = f64::from(self.features) + f64::from(self.sets).log2();
        (f64::from(self.bits) * self.levels.len() as f64 + self.states.len() as f64 * code) / 1000.0
    }
}

/// Codes a plane: writes what it holds, or reads into it.
pub(super) fn code(
    plane: &mut Plane,
    across: usize,
    coder: &mut dyn Coder,
) -> std::result::Result<(), Broken> {
    let size = plane.size();
    let mut models = Levels::new(size, plane.side);
    let vectors = plane.levels.chunks_exact_mut(size).zip(&mut plane.halvings);
    for (levels, halvings) in vectors {
        models.code(halvings, levels, coder)?;
    }
    let mut states = States::new(plane.sets, usize::from(plane.features), across);
    for at in 0..plane.states.len() {
        let near = states.near(&plane.states, at);
        plane.states[at] = states.code(&near, plane.states[at], coder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wavy(vectors: usize) -> Vec<f64> {
        (0..vectors * 16).map(|i| 40.0 * (i as f64 * 0.7).sin() + (i % 5) as f64).collect()
    }

    #[test]
    fn what_many_segments_have_is_rounded_finer() {
        let vectors = wavy(3);
        let rounding = Rounding { bits: 16, penalty: 50.0, used: &[64, 1, 4] };
        let plane = Plane::round(1, 2, Some(4), &vectors, &rounding).unwrap();
        assert_eq!(plane.halvings, [3, 0, 1]);
        let off = |v: usize| -> f64 {
            let pairs = plane.vectors().into_iter().zip(vectors.clone()).skip(16 * v).take(16);
            pairs.map(|(a, b)| (a - b) * (a - b)).sum()
        };
        assert!(off(0) < off(2) && off(2) < off(1), "{} {} {}", off(0), off(2), off(1));
        // Without a price all are as fine as the bits allow.
        let rounding = Rounding { bits: 16, penalty: 0.0, used: &[64, 1, 4] };
        let plane = Plane::round(1, 2, Some(4), &vectors, &rounding).unwrap();
        assert_eq!(plane.halvings, [0, 0, 0]);
        assert!(plane.vectors().iter().zip(&vectors).all(|(a, b)| (a - b).abs() < 0.01));
    }

    #[test]
    fn nothing_and_what_is_far_from_0_can_be_rounded() {
        let rounding = Rounding { bits: 8, penalty: 0.0, used: &[1, 1] };
        let plane = Plane::round(1, 1, Some(4), &[0.0; 32], &rounding).unwrap();
        assert_eq!(plane.vectors(), [0.0; 32]);
        let far: Vec<f64> = (0..32).map(|i| 1e6 + f64::from(i)).collect();
        for side in [None, Some(4)] {
            let plane = Plane::round(1, 1, side, &far, &rounding).unwrap();
            assert!(plane.vectors().iter().zip(&far).all(|(a, b)| (a - b).abs() < 10.0));
        }
    }

    #[test]
    fn features_that_nothing_has_are_left_out_and_nothing_looks_different() {
        let rounding = Rounding { bits: 9, penalty: 0.0, used: &[1; 8] };
        let plane = Plane::round(2, 3, Some(4), &wavy(8), &rounding).unwrap();
        let plane = plane.with_states(vec![(0, 0b101), (1, 0b010), (0, 0b100), (1, 0)]);
        let less = plane.clone().without_unused();
        assert_eq!((plane.features, less.features), (3, 2));
        assert_eq!(less.looks(), plane.looks());
        let none = plane.with_states(vec![(0, 0), (1, 0)]).without_unused();
        assert_eq!((none.features, none.levels.len()), (0, 32));
    }
}
