//! The standard normal distribution.

/// `φ(x)`; 0 at infinity.
///
/// ```
/// assert!((mereo_core::math::normal::density(0.0) - 0.398_942_280_401_432_7).abs() < 1e-16);
/// ```
pub fn density(x: f64) -> f64 {
    (-0.5 * x * x - super::HALF_LOG_TWO_PI).exp()
}

/// `Φ(x)`, to the last digits in the lower tail.
///
/// ```
/// use mereo_core::math::normal::cdf;
/// assert!((cdf(1.96) - 0.975_002_104_851_779_5).abs() < 1e-15);
/// assert!((cdf(-10.0) / 7.619_853_024_160_527e-24 - 1.0).abs() < 1e-12);
/// ```
pub fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// `Φ⁻¹(p)` of a probability between 0 and 1, by halving where it can be.
///
/// ```
/// use mereo_core::math::normal::{cdf, quantile};
/// for p in [1e-9, 0.025, 0.5, 0.9] {
///     assert!((cdf(quantile(p)) / p - 1.0).abs() < 1e-12);
/// }
/// ```
pub fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    while high - low > 1e-15 * (1.0 + f64::abs(low)) {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if cdf(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}
