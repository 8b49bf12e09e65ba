//! Counts: Poisson columns, `log P(x) = x log λ - λ - log x!`.
//!
//! Evidence is measured against one rate `λ₀` of the column, `x log(λ/λ₀) - (λ - λ₀)`: numbers of moderate size
//! however large counts are. What all slots have in common, `x log λ₀ - λ₀ - log x!`, stands in the bound once.
//!
//! The M-step maximises `S log λ - n λ` over rows and pseudo-rows: `λ = (S + α λ̄) / (n + α)`.

use crate::math::ln_gamma;

/// Rates are at least this.
pub(crate) const LEAST: f64 = 1e-12;

/// The rate of `n` rows that add up to `sum`, and of `more` rows like the whole column.
pub(super) fn rate(n: f64, sum: f64, more: f64, typical: f64) -> f64 {
    if n + more > 0.0 {
        ((sum.max(0.0) + more * typical) / (n + more)).max(LEAST)
    } else {
        typical.max(LEAST)
    }
}

/// `Σ x log(λ/λ₀) - (λ - λ₀)` of `n` rows that add up to `sum`.
pub(crate) fn log_kernel(sum: f64, n: f64, rate: f64, reference: f64) -> f64 {
    let rate = rate.max(LEAST);
    sum * (rate / reference).ln() - n * (rate - reference)
}

/// `log x!`.
pub(crate) fn log_factorial(x: f64) -> f64 {
    ln_gamma(x.max(0.0) + 1.0)
}

/// `x log λ₀ - λ₀ - log x!`: what evidence of a count leaves out, measured against the rate `λ₀`.
///
/// ```
/// use mereo_core::slots::log_count_base;
/// assert!((log_count_base(2.0, 1.0) + 1.0 + 2f64.ln()).abs() < 1e-14);
/// ```
pub fn log_count_base(x: f64, reference: f64) -> f64 {
    x * reference.ln() - reference - log_factorial(x)
}

/// The logarithm of the probability of a count.
pub(crate) fn log_mass(x: f64, rate: f64) -> f64 {
    let rate = rate.max(LEAST);
    x * rate.ln() - rate - log_factorial(x)
}
