//! How much a level of difference between neighbours costs, from clean grey pictures.
//!
//! `P(x_i | neighbours) ∝ exp(-w Σ_j min(|x_i - x_j|, limit))`: its log is concave in w.

use mereo_core::{Error, Result};

use super::{LabelPicture, golden};

/// Pixels that are looked at: more tell nothing new.
const PIXELS: usize = 4000;
/// The largest cost of a level that is learned.
const MOST: f64 = 5.0;

/// The weight that makes the pseudo-likelihood of pictures of 256 levels largest.
///
/// ```
/// use mereo_field::learn::{LabelPicture, differences_pseudo_likelihood};
/// let ramp: Vec<u8> = (0..100).map(|i| (i % 10) * 4).collect();
/// let picture = LabelPicture { height: 10, width: 10, labels: &ramp };
/// assert!(differences_pseudo_likelihood(&[picture], 255)? > 0.01);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn differences_pseudo_likelihood(pictures: &[LabelPicture<'_>], limit: usize) -> Result<f64> {
    let pixels: usize = pictures.iter().map(|p| p.labels.len()).sum();
    if pixels == 0 || pictures.iter().any(|p| p.labels.len() != p.height * p.width) {
        return Err(Error::option("examples", "expected pictures with at least one pixel"));
    }
    let step = (pixels / PIXELS).max(1) | 1;
    // Of each pixel its level, and what each level would cost it.
    let mut costs: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut at = 0;
    for p in pictures {
        for i in 0..p.labels.len() {
            at += 1;
            if at % step != 0 && pixels > 1 {
                continue;
            }
            let (y, x) = (i / p.width, i % p.width);
            let around = [
                (y > 0).then(|| i - p.width),
                (y + 1 < p.height).then(|| i + p.width),
                (x > 0).then(|| i - 1),
                (x + 1 < p.width).then(|| i + 1),
            ];
            let near: Vec<usize> =
                around.into_iter().flatten().map(|j| usize::from(p.labels[j])).collect();
            let cost = |m: usize| near.iter().map(|n| m.abs_diff(*n).min(limit) as f64).sum();
            costs.push((usize::from(p.labels[i]), (0..256).map(cost).collect()));
        }
    }
    Ok(golden(0.0, MOST, 30, |w| {
        let each = costs.iter().map(|(own, costs)| {
            let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
            let sum: f64 = costs.iter().map(|c| (-w * (c - least)).exp()).sum();
            -w * (costs[*own] - least) - sum.ln()
        });
        each.sum()
    }))
}
