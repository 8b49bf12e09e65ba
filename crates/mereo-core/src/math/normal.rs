//! The Gaussian distribution.

use super::HALF_LOG_TWO_PI;

/// The probability that a standard Gaussian number is at most z.
///
/// ```
/// use mereo_core::math::normal_cdf;
/// assert_eq!(normal_cdf(0.0), 0.5);
/// assert!((normal_cdf(-1.0) - 0.158_655_253_931_457).abs() < 1e-14);
/// assert!(normal_cdf(-20.0) > 0.0);
/// ```
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The log density of a Gaussian number.
///
/// ```
/// use mereo_core::math::normal_log_density;
/// assert!((normal_log_density(3.0, 1.0, 4.0) + 0.5 + 2f64.ln() + 0.918_938_533_2).abs() < 1e-9);
/// ```
pub fn normal_log_density(x: f64, mean: f64, variance: f64) -> f64 {
    let apart = x - mean;
    -0.5 * (variance.ln() + apart * (apart / variance)) - HALF_LOG_TWO_PI
}
