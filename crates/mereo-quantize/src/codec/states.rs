//! What segments are made of, said given the segments before.
//!
//! The set of a segment is that to its left (or above, in the first column), or else said digit by
//! digit. Features are said one by one, each by the models of three contexts
//! ([`Mixed`](super::mixed)): whether the feature is on in the four segments near that are known,
//! how many features are on to the left and above, and how many in all three nearest.

use super::bits::{Bit, Broken, Coder, price};
use super::mixed::{Contexts, Mixed, VALUES};
use crate::associate::ones;

/// The set of a segment and its state, feature 0 the lowest bit.
pub(super) type Made = (u32, u64);

/// The models of sets and states.
#[derive(Clone)]
pub(super) struct States {
    across: usize,
    sets: u32,
    features: usize,
    digits: u32,
    /// By feature of a set.
    feature: Vec<Mixed>,
    /// By digit of the set and the digits before it.
    digit: Vec<Bit>,
    /// Whether the set is that of the segment before, by how the known ones agree.
    same: [Bit; 3],
}

/// What is known near a segment.
#[derive(Clone, Copy)]
pub(super) struct Near {
    left: Option<Made>,
    above: Option<Made>,
    above_left: Option<Made>,
    above_right: Option<Made>,
}

impl Near {
    /// The set of the segment before.
    fn likely_set(&self) -> u32 {
        self.left.or(self.above).map_or(0, |(set, _)| set)
    }

    /// States that a segment of this set may well have.
    pub(super) fn states(&self, set: u32) -> [u64; 3] {
        let of = |near: Option<Made>| near.filter(|n| n.0 == set).map_or(0, |n| n.1);
        [0, of(self.left), of(self.above)]
    }

    fn agreement(&self) -> usize {
        let same = self.left.is_some() && self.left.map(|l| l.0) == self.above.map(|a| a.0);
        usize::from(self.left.is_some()) + usize::from(same)
    }

    fn contexts(&self, set: u32, feature: usize) -> Contexts {
        let on = |near: Option<Made>| {
            usize::from(near.is_some_and(|(s, state)| s == set && state >> feature & 1 == 1))
        };
        let count = |near: Option<Made>| near.map_or(0, |(_, state)| state.count_ones() as usize);
        let (left, above) = (count(self.left), count(self.above));
        [
            on(self.left) + 2 * on(self.above) + 4 * (on(self.above_left) + on(self.above_right)),
            left.min(3) + 4 * above.min(3),
            (left + above + count(self.above_right)).min(VALUES - 1),
        ]
    }
}

impl States {
    pub(super) fn new(sets: u32, features: usize, across: usize) -> Self {
        let digits = 32 - (sets - 1).leading_zeros();
        Self {
            across,
            sets,
            features,
            digits,
            feature: vec![Mixed::default(); sets as usize * features],
            digit: vec![Bit::default(); 1 << digits],
            same: [Bit::default(); 3],
        }
    }

    /// What is known near segment `at`, given all that were said before it.
    pub(super) fn near(&self, said: &[Made], at: usize) -> Near {
        let (column, above) = (at % self.across, at.checked_sub(self.across));
        Near {
            left: (column > 0).then(|| said[at - 1]),
            above: above.map(|at| said[at]),
            above_left: above.filter(|_| column > 0).map(|at| said[at - 1]),
            above_right: above.filter(|_| column + 1 < self.across).map(|at| said[at + 1]),
        }
    }

    /// Codes a segment: writes what it is made of, or reads it.
    pub(super) fn code(
        &mut self,
        near: &Near,
        (set, state): Made,
        coder: &mut dyn Coder,
    ) -> Result<Made, Broken> {
        let mut found_set = near.likely_set();
        if self.sets > 1 && !coder.bit(&mut self.same[near.agreement()], set == found_set)? {
            found_set = by_digits(self.digits, |prefix, digit| {
                coder.bit(&mut self.digit[prefix], set >> digit & 1 == 1)
            })?;
            if found_set >= self.sets {
                return Err(Broken);
            }
        }
        let mut found = 0u64;
        for i in 0..self.features {
            let model = &mut self.feature[found_set as usize * self.features + i];
            let contexts = near.contexts(found_set, i);
            found |= u64::from(coder.mixed(model, contexts, state >> i & 1 == 1)?) << i;
        }
        Ok((found_set, found))
    }

    /// Forgets what was learned of some features of a set.
    pub(super) fn forget(&mut self, set: usize, features: u64) {
        for i in ones(features) {
            self.feature[set * self.features + i] = Mixed::default();
        }
    }

    /// What it would take to say this set, and each of its features on or off.
    pub(super) fn price(&self, near: &Near, set: u32, out: &mut Prices) {
        out.set = 0.0;
        if self.sets > 1 {
            let same = self.same[near.agreement()].chance();
            out.set += price(same, set == near.likely_set());
            if set != near.likely_set() {
                let _ = by_digits::<Broken>(self.digits, |prefix, digit| {
                    let bit = set >> digit & 1 == 1;
                    out.set += price(self.digit[prefix].chance(), bit);
                    Ok(bit)
                });
            }
        }
        out.features.clear();
        let models = &self.feature[set as usize * self.features..][..self.features];
        out.features.extend(models.iter().enumerate().map(|(i, model)| {
            let chance = model.mixture(near.contexts(set, i)).chance;
            [price(chance, false), price(chance, true)]
        }));
    }
}

/// A number said digit by digit, the highest first: each is asked for given a 1 and the digits before it.
fn by_digits<E>(digits: u32, mut ask: impl FnMut(usize, u32) -> Result<bool, E>) -> Result<u32, E> {
    let mut prefix = 1usize;
    for digit in (0..digits).rev() {
        prefix = prefix << 1 | usize::from(ask(prefix, digit)?);
    }
    Ok((prefix - (1 << digits)) as u32)
}

/// Bits that it would take to say what a segment is made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Prices {
    pub(super) set: f64,
    /// Each feature off, and on.
    pub(super) features: Vec<[f64; 2]>,
}
