//! Natural logarithms that the compiler can vectorise: no table, no branch, no call.
//!
//! With `x = 2^e m`, m between √½ and √2, and `t = (m - 1)/(m + 1)`,
//! `log x = e log 2 + 2 (t + t³/3 + t⁵/5 + …)`; since `|t| < 0.172` a few terms are enough.

/// The logarithm of a positive, normal number, to the last digits of `f32`.
#[inline(always)]
pub(crate) fn ln_f32(x: f32) -> f32 {
    // Moves the boundary of exponents from 1 to √½.
    let bits = x.to_bits().wrapping_add(0x3f80_0000 - 0x3f35_04f3);
    let exponent = ((bits >> 23) as i32 - 127) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff) + 0x3f35_04f3);
    let t = (m - 1.0) / (m + 1.0);
    let s = t * t;
    let series = 2.0 + s * (2.0 / 3.0 + s * (2.0 / 5.0 + s * (2.0 / 7.0 + s * (2.0 / 9.0))));
    exponent * std::f32::consts::LN_2 + t * series
}

/// The logarithm of a positive, normal number, to the last digits of `f64`.
#[inline(always)]
pub(crate) fn ln_f64(x: f64) -> f64 {
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    let bits = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - ROOT);
    let exponent = f64::from((bits >> 52) as i32 - 1023);
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + ROOT);
    let t = (m - 1.0) / (m + 1.0);
    let s = t * t;
    let mut series = 0.0;
    let mut k = 21;
    while k >= 1 {
        series = series * s + 2.0 / f64::from(k);
        k -= 2;
    }
    exponent * std::f64::consts::LN_2 + t * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        for i in -3000..3000 {
            let x = (f64::from(i) * 0.029).exp() * 1.000_37;
            let (found, expected) = (ln_f64(x), x.ln());
            assert!((found - expected).abs() <= 4e-16 * (1.0 + expected.abs()), "{x}");
            let x = x as f32;
            if x.is_normal() {
                let (found, expected) = (f64::from(ln_f32(x)), f64::from(x).ln());
                assert!((found - expected).abs() <= 3e-7 * (1.0 + expected.abs()), "{x}");
            }
        }
        assert_eq!(ln_f64(1.0), 0.0);
        assert_eq!(ln_f32(1.0), 0.0);
    }
}
