//! A vectorised exponential.
//!
//! `exp(x) = 2^n exp(r)` with `n = round(x / ln 2)` and `|r| <= ln 2 / 2`, `exp(r)` by its
//! Taylor polynomial: degree 7 in `f32` and 13 in `f64`, whose remainders (below 2e-9 and 1e-17)
//! are less than half a unit in the last place. The loops are plain so that the compiler can
//! vectorise them; [`pulp`] runs them with the widest instructions the machine has.

use super::widest;

/// Replaces every value by its exponential: 0 below the smallest normal number, the largest
/// finite number above it.
///
/// ```
/// let mut values = [0.0f64, 1.0, f64::NEG_INFINITY];
/// mereo_core::math::exp_in_place(&mut values);
/// assert!((values[1] - std::f64::consts::E).abs() < 1e-15);
/// assert_eq!(values[2], 0.0);
/// ```
pub fn exp_in_place<T: crate::Real>(values: &mut [T]) {
    T::exp_in_place(values);
}

macro_rules! vector_exp {
    ($name:ident, $one:ident, $t:ty, $log2_e:expr, $magic:expr, $bias:expr, $shift:expr,
     $low:expr, $high:expr, $ln2_high:expr, $ln2_low:expr, [$($c:expr),+]) => {
        #[inline(always)]
        fn $one(x: $t) -> $t {
            let clamped = if x > $high { $high } else { x };
            // Adding 1.5 * 2^(mantissa bits) rounds to an integer and leaves it in the low bits.
            let shifted = clamped.mul_add($log2_e, $magic);
            let n = shifted - $magic;
            let r = n.mul_add(-$ln2_low, n.mul_add(-$ln2_high, clamped));
            let mut p: $t = 0.0;
            $( p = p.mul_add(r, $c); )+
            let scale = <$t>::from_bits(
                shifted.to_bits().wrapping_sub(($magic as $t).to_bits()).wrapping_add($bias) << $shift,
            );
            if x < $low { 0.0 } else { p * scale }
        }

        pub(crate) fn $name(values: &mut [$t]) {
            widest(
                #[inline(always)]
                || {
                    for v in &mut *values {
                        *v = $one(*v);
                    }
                },
            );
        }
    };
}

vector_exp!(
    exp_f32,
    one_f32,
    f32,
    std::f32::consts::LOG2_E,
    12_582_912.0f32,
    127u32,
    23,
    -87.336_54f32,
    88.376_26f32,
    0.693_359_4f32,
    -2.121_944_4e-4f32,
    [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
);
vector_exp!(
    exp_f64,
    one_f64,
    f64,
    std::f64::consts::LOG2_E,
    6_755_399_441_055_744.0f64,
    1023u64,
    52,
    -708.396_418_532_264f64,
    709.089_565_712_824f64,
    6.931_471_803_691_238e-1f64,
    1.908_214_929_270_587_7e-10f64,
    [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0
    ]
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_standard_library_in_f32(x in -87.0f32..88.0) {
            let mut v = [x; 9];
            exp_in_place(&mut v);
            let right = f64::from(x).exp();
            prop_assert!((f64::from(v[8]) / right - 1.0).abs() < 2.5e-7, "{x}: {} {right}", v[8]);
        }

        #[test]
        fn agrees_with_the_standard_library_in_f64(x in -708.0f64..709.0) {
            let mut v = [x; 5];
            exp_in_place(&mut v);
            prop_assert!((v[4] / x.exp() - 1.0).abs() < 5e-16, "{x}: {} {}", v[4], x.exp());
        }
    }

    #[test]
    fn ends_of_the_range_are_finite() {
        let mut v = [f32::NEG_INFINITY, -1e30, 0.0, 1e30, f32::INFINITY];
        exp_in_place(&mut v);
        assert_eq!(&v[..3], &[0.0, 0.0, 1.0]);
        assert!(v[3].is_finite() && v[4].is_finite());
        let mut v = [f64::NEG_INFINITY, -1e300, 0.0, 1e300];
        exp_in_place(&mut v);
        assert_eq!(&v[..3], &[0.0, 0.0, 1.0]);
        assert!(v[3].is_finite());
    }
}
