//! How strongly neighbours are coupled where they look alike, and how little across an edge.

use crate::Neighbours;
use crate::grid::STEPS;

/// `strength · exp(-‖Δ‖²/2s) / distance` for each edge of a grid, as [`Weights::PerEdge`](crate::Weights) wants them,
/// Δ the difference of two pixels' channels and s the mean of its square over all edges (Boykov and
/// Jolly). A picture of one colour is coupled alike everywhere.
///
/// ```
/// use mereo_field::{Neighbours, picture::contrast_weights};
/// let weights = contrast_weights(&[0.0, 0.0, 9.0], (1, 3), 1, Neighbours::Four, 2.0);
/// assert_eq!(weights[0], 2.0); // alike
/// assert!(weights[2] < 1.0); // an edge
/// ```
pub fn contrast_weights(
    picture: &[f64],
    (height, width): (usize, usize),
    channels: usize,
    neighbours: Neighbours,
    strength: f64,
) -> Vec<f64> {
    let count = neighbours.count();
    let mut weights = vec![0.0; height * width * count];
    let (mut sum, mut edges) = (0.0, 0.0f64);
    for y in 0..height {
        for x in 0..width {
            let i = y * width + x;
            for (d, (down, right)) in STEPS[..count].iter().enumerate() {
                let there = y.checked_add_signed(*down).zip(x.checked_add_signed(*right));
                let Some((y, x)) = there.filter(|&(y, x)| y < height && x < width) else {
                    continue;
                };
                let j = y * width + x;
                let (a, b) = (&picture[i * channels..], &picture[j * channels..]);
                let square: f64 = (0..channels).map(|c| (a[c] - b[c]).powi(2)).sum();
                weights[i * count + d] = square;
                sum += square;
                edges += 1.0;
            }
        }
    }
    let scale = if sum > 0.0 { -edges / (2.0 * sum) } else { 0.0 };
    for (at, weight) in weights.iter_mut().enumerate() {
        let near = if at % count < 2 { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
        *weight = strength * near * (scale * *weight).exp();
    }
    weights
}
