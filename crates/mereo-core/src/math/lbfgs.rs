//! A small L-BFGS: minimises a smooth function of many variables from its values and gradients.
//!
//! The direction is `-H g`, H the inverse Hessian that the last few steps `s` and changes of the
//! gradient `y` imply (Nocedal's two loops, scaled by `sᵀy/yᵀy`); the step is halved until the value
//! falls enough (Armijo). Pairs with `sᵀy ≤ 0` are left out, so that H stays positive definite and
//! no value is ever above the first.

use std::collections::VecDeque;

use super::dot;

/// Steps that are remembered.
const MEMORY: usize = 8;
/// A step must gain this share of what the slope promises; how often it is halved.
const GAIN: f64 = 1e-4;
const HALVINGS: usize = 30;

/// Lowers `function(x, gradient) -> value` from where x is, for at most this many steps or until a
/// step gains less than `tolerance` times the value. Returns the value reached.
///
/// ```
/// use mereo_core::math::minimise;
/// let mut x = [3.0, -2.0];
/// let value = minimise(&mut x, 100, 1e-15, |x, g| {
///     (g[0], g[1]) = (2.0 * (x[0] - 1.0), 20.0 * x[1]);
///     (x[0] - 1.0).powi(2) + 10.0 * x[1].powi(2)
/// });
/// assert!(value < 1e-12 && (x[0] - 1.0).abs() < 1e-6);
/// ```
pub fn minimise(
    x: &mut [f64],
    steps: usize,
    tolerance: f64,
    mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> f64 {
    let n = x.len();
    let mut gradient = vec![0.0; n];
    let mut value = function(x, &mut gradient);
    let mut pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
    let (mut next, mut next_gradient) = (vec![0.0; n], vec![0.0; n]);
    for _ in 0..steps {
        let mut direction = towards(&gradient, &pairs);
        let mut slope = dot(&direction, &gradient);
        if !(slope < 0.0) {
            pairs.clear();
            direction = gradient.iter().map(|g| -g).collect();
            slope = dot(&direction, &gradient);
        }
        if !(slope < 0.0) {
            break;
        }
        // Without experience a step of about 1 is as good as any.
        let mut step = if pairs.is_empty() { 1.0f64.min(1.0 / (-slope).sqrt()) } else { 1.0 };
        let mut found = None;
        for _ in 0..HALVINGS {
            for i in 0..n {
                next[i] = x[i] + step * direction[i];
            }
            let there = function(&next, &mut next_gradient);
            if there <= value + GAIN * step * slope {
                found = Some(there);
                break;
            }
            step *= 0.5;
        }
        let Some(there) = found else { break };
        let s: Vec<f64> = next.iter().zip(&*x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let sy = dot(&s, &y);
        if sy > f64::MIN_POSITIVE {
            if pairs.len() == MEMORY {
                pairs.pop_front();
            }
            pairs.push_back((s, y, sy));
        }
        let gained = value - there;
        x.copy_from_slice(&next);
        gradient.copy_from_slice(&next_gradient);
        value = there;
        if gained <= tolerance * value.abs() {
            break;
        }
    }
    value
}

/// `-H g`.
fn towards(gradient: &[f64], pairs: &VecDeque<(Vec<f64>, Vec<f64>, f64)>) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = Vec::with_capacity(pairs.len());
    for (s, y, sy) in pairs.iter().rev() {
        let share = dot(s, &q) / sy;
        q.iter_mut().zip(y).for_each(|(q, y)| *q -= share * y);
        shares.push(share);
    }
    if let Some((_, y, sy)) = pairs.back() {
        let scale = sy / dot(y, y);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((s, y, sy), share) in pairs.iter().zip(shares.into_iter().rev()) {
        let back = share - dot(y, &q) / sy;
        q.iter_mut().zip(s).for_each(|(q, s)| *q += back * s);
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let mut x = [-1.2, 1.0];
        let value = minimise(&mut x, 200, 0.0, |x, g| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            (g[0], g[1]) = (-2.0 * a - 400.0 * x[0] * b, 200.0 * b);
            a * a + 100.0 * b * b
        });
        assert!(value < 1e-16 && (x[0] - 1.0).abs() < 1e-6, "{value} {x:?}");
    }

    #[test]
    fn a_minimum_stays_where_it_is() {
        let mut x = [0.0];
        assert_eq!(
            minimise(&mut x, 10, 0.0, |x, g| {
                g[0] = 2.0 * x[0];
                x[0] * x[0]
            }),
            0.0
        );
        assert_eq!(x, [0.0]);
    }
}
