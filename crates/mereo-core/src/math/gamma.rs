//! The gamma function's logarithm and its derivative, for positive numbers.
//!
//! Both have asymptotic series in `1/x²` (Stirling) that are exact to the last digits from 10 on;
//! smaller numbers are brought there by `Γ(x + 1) = x Γ(x)`.

/// From here on the series are used.
const FAR: f64 = 10.0;

/// `log Γ(x)` of a positive number.
///
/// ```
/// use mereo_core::math::ln_gamma;
/// assert!((ln_gamma(5.0) - 24f64.ln()).abs() < 1e-14);
/// assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-14);
/// ```
pub fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut less) = (x, 0.0);
    while x < FAR {
        less += x.ln();
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    let series = (1.0 / 12.0
        - s * (1.0 / 360.0
            - s * (1.0 / 1260.0
                - s * (1.0 / 1680.0 - s * (1.0 / 1188.0 - s * (691.0 / 360_360.0 - s / 156.0))))))
        / x;
    (x - 0.5) * x.ln() - x + super::HALF_LOG_TWO_PI + series - less
}

/// `d log Γ(x) / dx` of a positive number.
///
/// ```
/// let euler = 0.577_215_664_901_532_9;
/// assert!((mereo_core::math::digamma(1.0) + euler).abs() < 1e-14);
/// ```
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut less) = (x, 0.0);
    while x < FAR {
        less += 1.0 / x;
        x += 1.0;
    }
    let s = 1.0 / (x * x);
    let series = s
        * (1.0 / 12.0
            - s * (1.0 / 120.0
                - s * (1.0 / 252.0
                    - s * (1.0 / 240.0 - s * (1.0 / 132.0 - s * (691.0 / 32_760.0 - s / 12.0))))));
    x.ln() - 0.5 / x - series - less
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factorials_and_slopes() {
        let mut factorial = 1.0f64;
        for n in 1..60 {
            let x = f64::from(n);
            assert!((ln_gamma(x) - factorial.ln()).abs() <= 2e-15 * (10.0 + factorial.ln()), "{n}");
            factorial *= x;
            for x in [x / 7.0, x, 1e3 * x] {
                let step = 1e-5 * x;
                let slope = (ln_gamma(x + step) - ln_gamma(x - step)) / (2.0 * step);
                assert!((digamma(x) - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{x}");
                let next = digamma(x) + 1.0 / x;
                assert!((digamma(x + 1.0) - next).abs() < 1e-13 * (1.0 + 1.0 / x), "{x}");
            }
        }
    }
}
