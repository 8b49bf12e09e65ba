//! The largest and the smallest eigenvalues of a symmetric matrix that is too large to decompose,
//! by Lanczos' method: with orthonormal `q_1, q_2, ...` made by multiplying and making orthogonal to
//! all before, `A Q = Q T + rest` with T tridiagonal, and the ends of T's spectrum soon are those of A's.

use mereo_core::math::{dot, eigen, orient};
use mereo_core::{Context, Result};
use rand_distr::{Distribution, StandardNormal};

/// Most steps, and how often to look whether the ends have settled.
const STEPS: usize = 400;
const LOOK: usize = 16;
/// How far from an eigenvector, relative to the largest eigenvalue, is near enough.
const NEAR: f64 = 1e-9;

/// The ends of a spectrum.
pub(crate) struct Ends {
    /// The largest eigenvalues, falling.
    pub(crate) values: Vec<f64>,
    /// `[count, n]`: their eigenvectors.
    pub(crate) vectors: Vec<f64>,
    /// The smallest eigenvalue.
    pub(crate) least: f64,
}

/// The `count` largest eigenvalues of the `[n, n]` matrix that `apply` multiplies by.
pub(crate) fn ends(
    n: usize,
    count: usize,
    context: &Context,
    apply: impl Fn(&[f64], &mut [f64]),
) -> Result<Ends> {
    let count = count.min(n);
    let mut random = context.random("lanczos", [n as u64, 0]);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let mut next: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut random)).collect();
    let most = STEPS.max(4 * count).min(n);
    loop {
        make_orthogonal(&mut next, &basis);
        let mut length = dot(&next, &next).sqrt();
        let largest = diagonal.iter().chain(&beside).fold(0.0f64, |m: f64, v: &f64| m.max(v.abs()));
        if length <= 1e-12 * largest || length == 0.0 {
            // All of an invariant subspace is known: go on in another.
            if !basis.is_empty() {
                beside.push(0.0);
            }
            next = (0..n).map(|_| StandardNormal.sample(&mut random)).collect();
            make_orthogonal(&mut next, &basis);
            length = dot(&next, &next).sqrt();
        } else if !basis.is_empty() {
            beside.push(length);
        }
        let unit: Vec<f64> = next.iter().map(|x| x / length).collect();
        apply(&unit, &mut next);
        diagonal.push(dot(&unit, &next));
        basis.push(unit);
        let steps = basis.len();
        if steps == most || (steps >= count && steps.is_multiple_of(LOOK)) {
            let mut tridiagonal = vec![0.0; steps * steps];
            for i in 0..steps {
                tridiagonal[i * steps + i] = diagonal[i];
                if i > 0 {
                    tridiagonal[i * steps + i - 1] = beside[i - 1];
                }
            }
            let small = eigen(&tridiagonal, steps)?;
            let mut rest = next.clone();
            make_orthogonal(&mut rest, &basis);
            let rest = dot(&rest, &rest).sqrt();
            let scale = small.values[0].abs().max(small.values[steps - 1].abs());
            let off = |k: usize| rest * small.vectors[k * steps + steps - 1].abs();
            let settled = (0..count).chain([steps - 1]).all(|k| off(k) <= NEAR * scale);
            if settled || steps == most {
                let mut vectors = vec![0.0; count * n];
                for (k, out) in vectors.chunks_exact_mut(n.max(1)).enumerate() {
                    for (q, s) in basis.iter().zip(&small.vectors[k * steps..]) {
                        out.iter_mut().zip(q).for_each(|(o, q)| *o += s * q);
                    }
                    orient(out);
                }
                let least = small.values[steps - 1];
                return Ok(Ends { values: small.values[..count].to_vec(), vectors, least });
            }
        }
    }
}

/// Takes out of x what lies along the basis; twice, since once leaves rounding errors.
fn make_orthogonal(x: &mut [f64], basis: &[Vec<f64>]) {
    for _ in 0..2 {
        for q in basis {
            let along = dot(x, q);
            x.iter_mut().zip(q).for_each(|(x, q)| *x -= along * q);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_those_of_the_whole_spectrum() {
        let n = 300;
        let root: Vec<f64> =
            (0..n * n).map(|i| ((i * 7919) % 1009) as f64 / 1009.0 - 0.5).collect();
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                matrix[i * n + j] = root[i * n + j] + root[j * n + i];
            }
        }
        let all = eigen(&matrix, n).unwrap();
        let some = ends(n, 4, &Context::new(0), |x, out| {
            for (o, row) in out.iter_mut().zip(matrix.chunks_exact(n)) {
                *o = dot(row, x);
            }
        })
        .unwrap();
        for k in 0..4 {
            assert!((some.values[k] - all.values[k]).abs() < 1e-8);
            for (a, b) in some.vectors[k * n..(k + 1) * n].iter().zip(&all.vectors[k * n..]) {
                assert!((a - b).abs() < 1e-5);
            }
        }
        assert!((some.least - all.values[n - 1]).abs() < 1e-8);
    }

    #[test]
    fn the_identity_and_nothing_have_spectra_too() {
        let one = ends(5, 3, &Context::new(0), |x, out| out.copy_from_slice(x)).unwrap();
        assert!(one.values.iter().all(|v| (v - 1.0).abs() < 1e-12));
        let zero = ends(5, 3, &Context::new(0), |_, out| out.fill(0.0)).unwrap();
        assert_eq!(zero.values, [0.0; 3]);
    }
}
