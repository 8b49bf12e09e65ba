//! The most probable distribution under Brand's entropic prior.
//!
//! Given counts `n_k` and the prior `P(a) ∝ exp(α Σ_k a_k log a_k)`, which prefers distributions
//! of low entropy, what is wanted is the maximum over distributions `a` of
//!
//! `L(a) = Σ_k n_k log a_k + α Σ_k a_k log a_k`.
//!
//! The second term is convex, so it lies above its tangent at any `a⁰`, and
//! `Σ_k n_k log a_k + α Σ_k a_k (log a⁰_k + 1) - α` touches `L` at `a⁰` and is nowhere above it. Its
//! maximum, by a Lagrange multiplier λ for `Σ_k a_k = 1`, is `a_k = n_k / (λ - α log a⁰_k)`, with the
//! λ above `α max_k log a⁰_k` (over k with `n_k > 0`) at which these add up to 1: there is exactly
//! one, as their sum falls in λ from infinity to 0. Stepping from tangent to tangent therefore
//! never lowers `L` and ends where `n_k/a_k + α log a_k` is the same for all k: Brand's fixed point.
//!
//! When α is large beside the counts, `L` has several maxima. So the climb starts from the shares
//! `n_k / Σ n`, from the distribution at hand (hence learning never goes down), and from near the
//! corner of the largest count; the highest end is taken.

/// Steps of one climb: each gains a fixed share of what is left.
const STEPS: usize = 300;
/// Newton's steps to one λ.
const NEWTON: usize = 100;
/// A climb has ended when no probability moves by more than this.
const STILL: f64 = 1e-13;
/// A probability that is as good as 0.
const NOTHING: f64 = 1e-300;

/// Moves a distribution to the most probable one, given these counts (of which one is above 0).
pub(crate) fn most_probable(at: &mut [f64], counts: &[f64], alpha: f64) {
    let total: f64 = counts.iter().sum();
    let shares: Vec<f64> = counts.iter().map(|n| n / total).collect();
    let largest =
        (0..counts.len()).fold(0, |best, k| if counts[k] > counts[best] { k } else { best });
    let mut corner: Vec<f64> = shares.iter().map(|s| 1e-3 * s).collect();
    corner[largest] += 1.0 - 1e-3;
    let ends = [shares, at.to_vec(), corner].map(|start| climb(start, counts, alpha));
    let best = ends.iter().map(|end| objective(end, counts, alpha)).enumerate();
    let best =
        best.fold((0, f64::NEG_INFINITY), |best, new| if new.1 > best.1 { new } else { best });
    at.copy_from_slice(&ends[best.0]);
}

fn objective(a: &[f64], counts: &[f64], alpha: f64) -> f64 {
    let terms = a.iter().zip(counts).map(|(&a, &n)| {
        let log = a.max(NOTHING).ln();
        n * log + alpha * a * log
    });
    terms.sum()
}

fn climb(mut a: Vec<f64>, counts: &[f64], alpha: f64) -> Vec<f64> {
    let mut next = a.clone();
    for _ in 0..STEPS {
        let logs: Vec<f64> = a.iter().map(|a| alpha * a.max(NOTHING).ln()).collect();
        let used = |k: &usize| counts[*k] > 0.0;
        let top = (0..a.len()).filter(used).fold(None, |top: Option<usize>, k| match top {
            Some(top) if logs[top] >= logs[k] => Some(top),
            _ => Some(k),
        });
        let Some(top) = top else { break };
        // In λ the sum is convex and falls, and at this λ the top's share alone is 1: Newton's
        // steps from here rise to the root and never pass it.
        let mut above = counts[top];
        for _ in 0..NEWTON {
            let (mut sum, mut slope) = (0.0, 0.0);
            for k in (0..a.len()).filter(used) {
                let share = counts[k] / (above + logs[top] - logs[k]);
                sum += share;
                slope += share * share / counts[k];
            }
            let step = (sum - 1.0) / slope;
            above += step;
            if step <= 1e-15 * above {
                break;
            }
        }
        for (k, next) in next.iter_mut().enumerate() {
            *next = if counts[k] > 0.0 { counts[k] / (above + logs[top] - logs[k]) } else { 0.0 };
        }
        let total: f64 = next.iter().sum();
        next.iter_mut().for_each(|a| *a /= total);
        let moved = a.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        std::mem::swap(&mut a, &mut next);
        if moved < STILL {
            break;
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_point_of_a_grid_is_better(
            counts in prop::collection::vec(0.01f64..50.0, 3), alpha in 0.01f64..60.0
        ) {
            let mut at = vec![1.0 / 3.0; 3];
            most_probable(&mut at, &counts, alpha);
            prop_assert!((at.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let found = objective(&at, &counts, alpha);
            for i in 1..60 {
                for j in 1..60 - i {
                    let (p, q) = (f64::from(i) / 60.0, f64::from(j) / 60.0);
                    let there = objective(&[p, q, 1.0 - p - q], &counts, alpha);
                    prop_assert!(there <= found + 1e-6 * (1.0 + found.abs()), "{at:?} {p} {q}");
                }
            }
        }

        #[test]
        fn the_derivatives_are_equal_where_the_climb_ends(
            counts in prop::collection::vec(1.0f64..50.0, 4), alpha in 0.01f64..3.0
        ) {
            let mut at = vec![0.25; 4];
            most_probable(&mut at, &counts, alpha);
            let slope = |k: usize| counts[k] / at[k] + alpha * at[k].ln();
            for k in 1..4 {
                prop_assert!((slope(k) - slope(0)).abs() < 1e-5 * slope(0).abs(), "{at:?}");
            }
        }
    }

    #[test]
    fn without_strength_it_is_the_shares() {
        let mut at = vec![0.1, 0.9];
        most_probable(&mut at, &[3.0, 1.0], 1e-12);
        assert!((at[0] - 0.75).abs() < 1e-9, "{at:?}");
    }
}
