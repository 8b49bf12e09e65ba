//! The largest value of a concave function of one number.

/// Golden section: where `value` is largest between two numbers, after this many steps.
///
/// ```
/// let at = mereo_field::learn::golden(0.0, 10.0, 40, |x| -(x - 3.0f64).powi(2));
/// assert!((at - 3.0).abs() < 1e-6);
/// ```
pub fn golden(low: f64, high: f64, steps: usize, mut value: impl FnMut(f64) -> f64) -> f64 {
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (low, high);
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (value(a), value(b));
    for _ in 0..steps {
        if at_a > at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = value(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = value(b);
        }
    }
    f64::midpoint(low, high)
}
