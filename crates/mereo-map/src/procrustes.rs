//! Laying one map onto another.
//!
//! Points y are to lie on known positions z after `s y R + t`, R a rotation (reflections allowed).
//! The best t puts means on means; with both measured from their means and `YᵀZ = U Σ Vᵀ`, the best R
//! is `U Vᵀ`, since `tr(R ᵀYᵀZ)` is largest there, and the best scale is `tr Σ / |Y|²`. What is left is
//! `|Z|² - (tr Σ)²/|Y|²`.

use mereo_core::math::eigen;
use mereo_core::{Error, Place, Result};

/// A fit of points onto known positions.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// `[n, dimensions]`: the points, turned, scaled and moved.
    pub points: Vec<f64>,
    /// By how much they were scaled.
    pub scale: f64,
    /// Root mean squared distance from the known positions, in their units.
    pub error: f64,
    /// The share of the known positions' variance that the fit explains, at most 1.
    pub explained: f64,
}

/// Turns, reflects, moves and, if asked, scales points so that they lie as near as can be on known
/// positions.
///
/// ```
/// let points = [0.0, 0.0, 1.0, 0.0, 0.0, 2.0];
/// let turned = [5.0, 5.0, 5.0, 7.0, 1.0, 5.0];
/// let fit = mereo_map::procrustes(&points, &turned, 2, true)?;
/// assert!(fit.error < 1e-12 && (fit.scale - 2.0).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn procrustes(points: &[f64], onto: &[f64], dimensions: usize, scaled: bool) -> Result<Fitted> {
    let d = dimensions;
    if d == 0 || points.len() != onto.len() || !points.len().is_multiple_of(d) || points.is_empty()
    {
        return Err(Error::found(
            Place::default(),
            format!("{} coordinates to lay onto {}", points.len(), onto.len()),
            format!("as many points as positions, of {d} dimensions each"),
        ));
    }
    if let Some(k) = points.iter().chain(onto).position(|v| !v.is_finite()) {
        let row = (k % points.len()) / d;
        return Err(Error::found(Place::at_row(row), "no number", "a position for every point"));
    }
    let (y, _) = centred(points, d);
    let (z, middle) = centred(onto, d);
    let mut cross = vec![0.0; d * d];
    for (y, z) in y.chunks_exact(d).zip(z.chunks_exact(d)) {
        for i in 0..d {
            for j in 0..d {
                cross[i * d + j] += y[i] * z[j];
            }
        }
    }
    let (rotation, trace) = nearest_rotation(&cross, d)?;
    let squares = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
    let (own, theirs) = (squares(&y), squares(&z));
    let scale = if scaled && own > 0.0 { trace / own } else { 1.0 };
    let mut out = vec![0.0; y.len()];
    let mut left = 0.0;
    for ((out, y), z) in out.chunks_exact_mut(d).zip(y.chunks_exact(d)).zip(z.chunks_exact(d)) {
        for j in 0..d {
            let turned: f64 = (0..d).map(|i| y[i] * rotation[i * d + j]).sum();
            left += (scale * turned - z[j]).powi(2);
            out[j] = scale * turned + middle[j];
        }
    }
    let n = (points.len() / d) as f64;
    let explained = if theirs > 0.0 { 1.0 - left / theirs } else { 1.0 };
    Ok(Fitted { points: out, scale, error: (left / n).sqrt(), explained })
}

fn centred(points: &[f64], d: usize) -> (Vec<f64>, Vec<f64>) {
    let n = (points.len() / d) as f64;
    let mut mean = vec![0.0; d];
    for row in points.chunks_exact(d) {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
    }
    let apart = points.iter().enumerate().map(|(i, x)| x - mean[i % d]).collect();
    (apart, mean)
}

/// `U Vᵀ` and `tr Σ` of a matrix `U Σ Vᵀ`: from `AᵀA = V Σ² Vᵀ`, `U = A V / Σ`; directions in which the
/// matrix is 0 are completed to a rotation, whichever.
fn nearest_rotation(matrix: &[f64], d: usize) -> Result<(Vec<f64>, f64)> {
    let mut own = vec![0.0; d * d];
    for i in 0..d {
        for j in 0..d {
            own[i * d + j] = (0..d).map(|k| matrix[k * d + i] * matrix[k * d + j]).sum();
        }
    }
    let found = eigen(&own, d)?;
    let largest = found.values[0].max(0.0).sqrt();
    let mut trace = 0.0;
    // Rows are the left and the right directions.
    let mut left: Vec<Vec<f64>> = Vec::new();
    for v in found.vectors.chunks_exact(d) {
        let along = |i: usize| (0..d).map(|j| matrix[i * d + j] * v[j]).sum::<f64>();
        let mut u: Vec<f64> = (0..d).map(along).collect();
        let length = u.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 1e-12 * largest && length > 0.0 {
            trace += length;
            u.iter_mut().for_each(|x| *x /= length);
        } else {
            u = complete(&left, d);
        }
        left.push(u);
    }
    let mut rotation = vec![0.0; d * d];
    for (u, v) in left.iter().zip(found.vectors.chunks_exact(d)) {
        for i in 0..d {
            for j in 0..d {
                rotation[i * d + j] += u[i] * v[j];
            }
        }
    }
    Ok((rotation, trace))
}

/// A unit vector at right angles to these.
fn complete(known: &[Vec<f64>], d: usize) -> Vec<f64> {
    let mut best = (0.0, vec![0.0; d]);
    for axis in 0..d {
        let mut u = vec![0.0; d];
        u[axis] = 1.0;
        for k in known {
            let along = k[axis];
            u.iter_mut().zip(k).for_each(|(u, k)| *u -= along * k);
        }
        let length = u.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > best.0 + 1e-9 {
            best = (length, u.iter().map(|x| x / length).collect());
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_or_in_one_place_can_be_laid_too() {
        let line = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0];
        let onto = [0.0, 0.0, 0.0, 3.0, 0.0, 6.0];
        let fit = procrustes(&line, &onto, 2, true).unwrap();
        assert!(fit.error < 1e-9 && fit.explained > 1.0 - 1e-12);
        let same = procrustes(&[1.0, 1.0, 1.0, 1.0], &[0.0, 0.0, 2.0, 0.0], 2, true).unwrap();
        assert!((same.error - 1.0).abs() < 1e-12 && same.points == [1.0, 0.0, 1.0, 0.0]);
        assert!(procrustes(&[1.0], &[1.0, 2.0], 1, true).is_err());
        assert!(procrustes(&[f64::NAN], &[1.0], 1, true).is_err());
    }

    #[test]
    fn no_other_turn_lies_nearer() {
        let points = [0.0, 0.1, 1.0, 0.3, 0.2, 2.0, -1.0, 0.7];
        let onto = [1.0, 0.0, 0.5, 1.0, -1.0, 0.2, 0.3, -1.0];
        let best = procrustes(&points, &onto, 2, false).unwrap().error;
        let (y, _) = centred(&points, 2);
        let (z, _) = centred(&onto, 2);
        for step in 0..720 {
            let (sin, cos) = (f64::from(step) / 360.0 * std::f64::consts::PI).sin_cos();
            for mirror in [1.0, -1.0] {
                let left: f64 = (0..4)
                    .map(|i| {
                        let (a, b) = (y[2 * i], mirror * y[2 * i + 1]);
                        let (u, v) = (cos * a - sin * b, sin * a + cos * b);
                        (u - z[2 * i]).powi(2) + (v - z[2 * i + 1]).powi(2)
                    })
                    .sum();
                assert!((left / 4.0).sqrt() > best - 1e-9);
            }
        }
    }
}
