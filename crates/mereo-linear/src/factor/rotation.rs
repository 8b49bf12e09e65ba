//! Loadings are known up to a rotation: which one is returned.

use mereo_core::Result;
use mereo_core::math::{eigen, orient};

use super::Rotation;

/// Rounds of varimax, and the angle below which a pair of factors is at rest.
const ROUNDS: usize = 200;
const REST: f64 = 1e-9;

/// Rotates loadings `[D, N]`, each column d in units of its `unit[d]`, and returns them `[N, D]`.
pub(super) fn rotated(
    loading: &[f64],
    n: usize,
    unit: &[f64],
    rotation: Rotation,
) -> Result<Vec<f64>> {
    let d = unit.len();
    let mut rows = principal(loading, n, unit)?;
    if rotation == Rotation::Varimax {
        varimax(&mut rows, d, unit);
    }
    for row in rows.chunks_exact_mut(d) {
        orient(row);
    }
    Ok(rows)
}

/// Orthogonal loadings, the strongest first: with U the eigenvectors of `Σ_d w_d w_dᵀ/u_d²`, `UᵀW`.
fn principal(loading: &[f64], n: usize, unit: &[f64]) -> Result<Vec<f64>> {
    let mut strength = vec![0.0; n * n];
    for (w, u) in loading.chunks_exact(n).zip(unit) {
        for i in 0..n {
            for j in 0..=i {
                strength[i * n + j] += w[i] * w[j] / (u * u);
            }
        }
    }
    let axes = eigen(&strength, n)?.vectors;
    let d = unit.len();
    let mut rows = vec![0.0; n * d];
    for (axis, row) in axes.chunks_exact(n).zip(rows.chunks_exact_mut(d)) {
        for (w, out) in loading.chunks_exact(n).zip(row) {
            *out = w.iter().zip(axis).map(|(w, a)| w * a).sum();
        }
    }
    Ok(rows)
}

/// Kaiser's varimax: pairs of factors are turned, again and again, each time by the angle that
/// makes the variance of their squared loadings greatest, until none moves.
///
/// With `u = a² - b²` and `v = 2ab` over the columns, that angle φ has
/// `tan 4φ = 2(Σuv - ΣuΣv/D) / (Σ(u² - v²) - ((Σu)² - (Σv)²)/D)`.
fn varimax(rows: &mut [f64], d: usize, unit: &[f64]) {
    let n = rows.len() / d;
    for _ in 0..ROUNDS {
        let mut widest: f64 = 0.0;
        for j in 1..n {
            for i in 0..j {
                let (head, tail) = rows.split_at_mut(j * d);
                let (a, b) = (&mut head[i * d..(i + 1) * d], &mut tail[..d]);
                let [mut su, mut sv, mut suv, mut suu] = [0.0; 4];
                for ((a, b), unit) in a.iter().zip(&*b).zip(unit) {
                    let (a, b) = (a / unit, b / unit);
                    let (u, v) = (a * a - b * b, 2.0 * a * b);
                    su += u;
                    sv += v;
                    suv += u * v;
                    suu += u * u - v * v;
                }
                let count = d as f64;
                let (top, bottom) =
                    (2.0 * (suv - su * sv / count), suu - (su * su - sv * sv) / count);
                let angle = top.atan2(bottom) / 4.0;
                widest = widest.max(angle.abs());
                let (sine, cosine) = angle.sin_cos();
                for (a, b) in a.iter_mut().zip(b) {
                    (*a, *b) = (cosine * *a + sine * *b, cosine * *b - sine * *a);
                }
            }
        }
        if widest < REST {
            break;
        }
    }
    // The strongest first.
    let strength =
        |row: &[f64]| -> f64 { row.iter().zip(unit).map(|(w, u)| (w / u).powi(2)).sum() };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| {
        strength(&rows[j * d..(j + 1) * d]).total_cmp(&strength(&rows[i * d..(i + 1) * d]))
    });
    let sorted: Vec<f64> = order.iter().flat_map(|&i| rows[i * d..(i + 1) * d].to_vec()).collect();
    rows.copy_from_slice(&sorted);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn criterion(rows: &[f64], d: usize) -> f64 {
        rows.chunks_exact(d)
            .map(|row| {
                let squares: Vec<f64> = row.iter().map(|w| w * w).collect();
                let mean = squares.iter().sum::<f64>() / d as f64;
                squares.iter().map(|s| (s - mean).powi(2)).sum::<f64>()
            })
            .sum()
    }

    #[test]
    fn varimax_finds_a_planted_simple_structure() {
        // Three factors of two columns each, hidden by a rotation of the factors.
        let (d, unit) = (6, [1.0; 6]);
        let planted = [
            2.0, 1.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5, 1.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0,
            0.9,
        ];
        let (c, s) = (0.6, 0.8);
        let mut hidden = planted;
        for k in 0..d {
            (hidden[k], hidden[d + k]) =
                (c * planted[k] + s * planted[d + k], c * planted[d + k] - s * planted[k]);
        }
        let by_column: Vec<f64> =
            (0..d).flat_map(|k| (0..3).map(move |i| hidden[i * d + k])).collect();
        let found = rotated(&by_column, 3, &unit, Rotation::Varimax).unwrap();
        for (f, p) in found.iter().zip(planted) {
            assert!((f - p).abs() < 1e-6, "{found:?}");
        }
        assert!(criterion(&found, d) > criterion(&hidden, d));
    }

    #[test]
    fn a_rotation_keeps_the_covariance() {
        let (n, d) = (3, 5);
        let loading: Vec<f64> = (0..n * d).map(|i| ((i * 37) % 11) as f64 - 5.0).collect();
        let unit = [1.0, 2.0, 0.5, 1.0, 3.0];
        for rotation in [Rotation::Principal, Rotation::Varimax] {
            let rows = rotated(&loading, n, &unit, rotation).unwrap();
            for i in 0..d {
                for j in 0..d {
                    let before: f64 = (0..n).map(|k| loading[i * n + k] * loading[j * n + k]).sum();
                    let after: f64 = (0..n).map(|k| rows[k * d + i] * rows[k * d + j]).sum();
                    assert!((before - after).abs() < 1e-9);
                }
            }
        }
    }
}
