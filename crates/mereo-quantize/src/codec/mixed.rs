//! One chance out of several: logistic mixing.
//!
//! Each context k has a model of the bit that says the chance `p_k`. With `z = ln(p/(1-p))`, the chance
//! that is used is `p = σ(Σ_k w_k z_k)`, and its weights follow the gradient of what the bit b cost,
//! `-ln p` or `-ln(1-p)`: `w_k += η (b - p) z_k`. A context that has seen nothing says z = 0 and
//! keeps quiet; one that is often right grows loud. Numbers are fixed-point: z in units of 1/256,
//! weights of 1/65536.

use super::bits::{Bit, LEAST, ONE};

/// How many contexts a bit has, and the most values that each takes.
const CONTEXTS: usize = 3;
pub(super) const VALUES: usize = 16;
/// The value of each context.
pub(super) type Contexts = [usize; CONTEXTS];

/// One.
const WEIGHT: i32 = 1 << 16;
/// The weight of each context at first: together they may be a little louder than any alone.
const FIRST_WEIGHT: i32 = WEIGHT * 2 / 5;
const MOST_WEIGHT: i32 = 8 * WEIGHT;
/// η: about 0.02 of what the units make of it.
const RATE: i64 = 82;
/// The largest z.
const FARTHEST: i32 = 2047;

/// `32768/(1 + e^-z)` for z from -8 to 8 in steps of a half.
const SIGMOID: [i32; 33] = [
    11, 18, 30, 49, 81, 133, 219, 360, 589, 961, 1554, 2486, 3906, 5978, 8813, 12371, 16384, 20397,
    23955, 26790, 28862, 30282, 31214, 31807, 32179, 32408, 32549, 32635, 32687, 32719, 32738,
    32750, 32757,
];

/// σ, between the points of the table by straight lines.
const fn sigmoid(z: i32) -> i32 {
    let z = if z > FARTHEST {
        FARTHEST
    } else if z < -FARTHEST {
        -FARTHEST
    } else {
        z
    } + FARTHEST
        + 1;
    let (point, between) = ((z >> 7) as usize, z & 127);
    (SIGMOID[point] * (128 - between) + SIGMOID[point + 1] * between) >> 7
}

/// The z of each chance in steps of 1/4096: σ turned round.
static LOGIT: [i16; 4096] = {
    let mut table = [FARTHEST as i16; 4096];
    let (mut z, mut filled) = (-FARTHEST, 0);
    while z <= FARTHEST {
        let reached = (sigmoid(z) >> 3) as usize;
        while filled <= reached && filled < 4096 {
            table[filled] = z as i16;
            filled += 1;
        }
        z += 1;
    }
    table
};

/// The models of a bit in all values of its contexts, and how they are mixed.
#[derive(Debug, Clone)]
pub(super) struct Mixed {
    bits: [[Bit; VALUES]; CONTEXTS],
    weights: [i32; CONTEXTS],
}

impl Default for Mixed {
    fn default() -> Self {
        Self { bits: [[Bit::default(); VALUES]; CONTEXTS], weights: [FIRST_WEIGHT; CONTEXTS] }
    }
}

/// The chance of a 1, and what the contexts say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mixture {
    pub(super) chance: u16,
    z: [i32; CONTEXTS],
}

impl Mixed {
    pub(super) fn mixture(&self, near: Contexts) -> Mixture {
        let mut z = [0; CONTEXTS];
        let mut sum = 0i64;
        for k in 0..CONTEXTS {
            let chance = self.bits[k][near[k]].chance();
            z[k] = i32::from(LOGIT[usize::from(chance >> 3)]);
            sum += i64::from(self.weights[k]) * i64::from(z[k]);
        }
        let chance = sigmoid((sum >> 16) as i32) as u16;
        Mixture { chance: chance.clamp(LEAST, ONE - LEAST), z }
    }

    pub(super) fn learn(&mut self, near: Contexts, mixture: Mixture, bit: bool) {
        let goal = if bit { i64::from(ONE) } else { 0 };
        // In units of 1/4096, as the rate expects.
        let off = (goal - i64::from(mixture.chance)) >> 3;
        for k in 0..CONTEXTS {
            let step = (i64::from(mixture.z[k]) * off * RATE) >> 16;
            self.weights[k] = (self.weights[k] + step as i32).clamp(-MOST_WEIGHT, MOST_WEIGHT);
            self.bits[k][near[k]].learn(bit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::{Coder, Counter};
    use super::*;

    #[test]
    fn the_table_is_the_function() {
        for z in -FARTHEST..=FARTHEST {
            let true_chance = 32768.0 / (1.0 + (-f64::from(z) / 256.0).exp());
            let off = (f64::from(sigmoid(z)) - true_chance).abs();
            assert!(off < 1.5 + 0.04 * true_chance.min(32768.0 - true_chance), "{z} {off}");
        }
        for chance in [64, 1000, 8192, 16384, 30000, 32704u16] {
            let back = sigmoid(i32::from(LOGIT[usize::from(chance >> 3)]));
            assert!((back - i32::from(chance)).abs() <= 8, "{chance} {back}");
        }
    }

    #[test]
    fn the_context_that_knows_is_listened_to() {
        // The first context tells the bit nine times of ten, the others tell nothing.
        let (mut model, mut counter) = (Mixed::default(), Counter::default());
        let rows = 20_000u64;
        for i in 0..rows {
            let noise = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_right(29);
            let noise = noise.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20;
            let told = noise & 1 == 1;
            let bit = told != (noise >> 1).is_multiple_of(10);
            let near =
                [usize::from(told), (noise >> 20) as usize % 16, (noise >> 30) as usize % 16];
            counter.mixed(&mut model, near, bit).unwrap();
        }
        // The entropy of one in ten is 0.47 bits; without the first context it would be a whole one.
        let each = counter.bits / rows as f64;
        assert!((0.44..0.5).contains(&each), "{each}");
    }
}
