//! The degrees of freedom of Student's t: see the [module](crate::student) for the derivation.

use mereo_core::math::digamma;

/// Where they begin, and where they may go: above, a component is as good as Gaussian.
pub(crate) const FIRST_DEGREES: f64 = 8.0;
const LEAST: f64 = 0.5;
const MOST: f64 = 500.0;
const HALVINGS: usize = 60;

/// The degrees of freedom that make the expected log likelihood largest, from where they are now:
/// `total` is `Σ r`, `log_precision` `Σ r log u`, `precise` `Σ r u`, and `by_observed` has `Σ r` for each
/// number of observed cells. With `expanded`, precisions may have a scale of their own.
pub(crate) fn new_degrees(
    now: f64,
    total: f64,
    log_precision: f64,
    precise: f64,
    by_observed: &[f64],
    expanded: bool,
) -> f64 {
    let mut log_mean = log_precision / total;
    for (observed, count) in by_observed.iter().enumerate().filter(|(_, n)| **n > 0.0) {
        let half = f64::midpoint(now, observed as f64);
        log_mean += count / total * (digamma(half) - half.ln());
    }
    let mean = precise / total;
    let told = if expanded { log_mean - mean.ln() } else { log_mean - mean + 1.0 };
    // Falls in ν.
    let slope = |degrees: f64| (0.5 * degrees).ln() - digamma(0.5 * degrees) + told;
    let (mut low, mut high) = (LEAST.ln(), MOST.ln());
    if !(slope(LEAST) > 0.0) {
        return LEAST;
    }
    if slope(MOST) >= 0.0 {
        return MOST;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if slope(middle.exp()) > 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::math::ln_gamma;

    #[test]
    fn the_expectation_is_largest_there() {
        // Of ten complete rows of three cells.
        let (now, total, log_precision, precise) = (5.0, 10.0, -2.0, 9.5);
        let found = new_degrees(now, total, log_precision, precise, &[0.0, 0.0, 0.0, 10.0], false);
        let half = f64::midpoint(now, 3.0);
        let logs = log_precision + total * (digamma(half) - half.ln());
        let expected = |v: f64| {
            let v = 0.5 * v;
            total * (v * v.ln() - ln_gamma(v)) + v * (logs - precise)
        };
        assert!(expected(found) >= expected(found * 1.001).max(expected(found * 0.999)));
        assert!(found > LEAST && found < MOST);
    }
}
