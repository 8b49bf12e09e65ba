//! Symmetric matrices: eigenvectors of large ones, factors of small ones.
//!
//! Small ones are *packed*: the lower triangle row by row, so that entry (i, j) with `j <= i`
//! stands at `i (i + 1) / 2 + j`. They are factored in place, without memory of their own, since
//! a model may have one for every row of data.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::tridiag_in_place;
use faer::linalg::evd::{
    ComputeEigenvectors, self_adjoint_evd_scratch, tridiagonal_self_adjoint_evd,
};
use faer::linalg::householder::apply_block_householder_sequence_on_the_left_in_place_with_conj as reflect;
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Col, Conj, Mat, MatRef, Par, Spec};

use crate::{Error, Place, Result};

/// The eigenvalues of a symmetric matrix, the largest first, and its eigenvectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    /// The eigenvalues, falling.
    pub values: Vec<f64>,
    /// `[n, n]`: row i is the eigenvector of value i, of length 1, its entry of largest magnitude
    /// positive, so that the same matrix always has the same eigenvectors.
    pub vectors: Vec<f64>,
}

/// The eigenvalues and eigenvectors of a symmetric `[n, n]` matrix, of which the lower triangle is
/// looked at.
///
/// ```
/// let eigen = mereo_core::math::eigen(&[2.0, 0.0, 1.0, 2.0], 2)?;
/// assert!((eigen.values[0] - 3.0).abs() < 1e-12 && (eigen.values[1] - 1.0).abs() < 1e-12);
/// assert!((eigen.vectors[0] - 0.5f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn eigen(matrix: &[f64], n: usize) -> Result<Eigen> {
    leading_eigen(matrix, n, n)
}

/// The `count` largest eigenvalues, and their eigenvectors, of a symmetric `[n, n]` matrix, of
/// which the lower triangle is looked at.
///
/// With reflections Q that make the matrix tridiagonal, `A = Q T Qᵀ`, and the eigenvectors V of T,
/// those of A are QV, of which only the wanted columns are worked out.
///
/// ```
/// let eigen = mereo_core::math::leading_eigen(&[2.0, 0.0, 1.0, 2.0], 2, 1)?;
/// assert!(eigen.values.len() == 1 && (eigen.values[0] - 3.0).abs() < 1e-12);
/// assert!(eigen.vectors.len() == 2 && (eigen.vectors[1] - 0.5f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn leading_eigen(matrix: &[f64], n: usize, count: usize) -> Result<Eigen> {
    let count = count.min(n);
    if count == 0 {
        return Ok(Eigen { values: Vec::new(), vectors: Vec::new() });
    }
    let params = Spec::default();
    let yes = ComputeEigenvectors::Yes;
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, yes, Par::Seq, params));
    let memory = MemStack::new(&mut memory);
    let mut reflected = MatRef::from_row_major_slice(&matrix[..n * n], n, n).to_owned();
    let mut coefficients = Mat::zeros(recommended_block_size::<f64>(n, n), n - 1);
    tridiag_in_place(reflected.as_mut(), coefficients.as_mut(), Par::Seq, memory, Spec::default());
    let diagonal = Col::from_fn(n, |i| reflected[(i, i)]);
    let beside = Col::from_fn(n, |i| if i + 1 < n { reflected[(i + 1, i)] } else { 0.0 });
    let (mut values, mut vectors) = (Col::zeros(n), Mat::zeros(n, n));
    tridiagonal_self_adjoint_evd(
        diagonal.as_diagonal(),
        beside.as_diagonal(),
        values.as_diagonal_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        memory,
        params,
    )
    .map_err(|_| {
        Error::found(
            Place::default(),
            format!("{n} columns whose principal directions cannot be computed"),
            "finite numbers of like magnitude; rescale the columns",
        )
    })?;
    reflect(
        reflected.submatrix(1, 0, n - 1, n - 1),
        coefficients.as_ref(),
        Conj::No,
        vectors.as_mut().submatrix_mut(1, n - count, n - 1, count),
        Par::Seq,
        memory,
    );
    let mut eigen = Eigen { values: Vec::with_capacity(count), vectors: vec![0.0; count * n] };
    for (i, out) in eigen.vectors.chunks_exact_mut(n).enumerate() {
        eigen.values.push(values[n - 1 - i]);
        for (d, v) in out.iter_mut().enumerate() {
            *v = vectors[(d, n - 1 - i)];
        }
        orient(out);
    }
    Ok(eigen)
}

/// Turns a vector so that its entry of largest magnitude (the first of them) is positive.
pub fn orient(vector: &mut [f64]) {
    let largest =
        vector.iter().fold(0.0, |most: f64, &v| if v.abs() > most.abs() { v } else { most });
    if largest < 0.0 {
        vector.iter_mut().for_each(|v| *v = -*v);
    }
}

/// Numbers in a packed symmetric `n x n` matrix.
///
/// ```
/// assert_eq!(mereo_core::math::packed(3), 6);
/// ```
#[inline]
pub const fn packed(n: usize) -> usize {
    n * (n + 1) / 2
}

/// Replaces a packed positive definite matrix by its Cholesky factor L and returns the log
/// determinant; nothing if it is not positive definite.
///
/// ```
/// use mereo_core::math::{cholesky, cholesky_solve};
/// let mut matrix = [4.0, 2.0, 3.0];
/// assert!((cholesky(&mut matrix, 2).unwrap() - 8f64.ln()).abs() < 1e-12);
/// let mut x = [8.0, 7.0];
/// cholesky_solve(&matrix, 2, &mut x);
/// assert!((x[0] - 1.25).abs() < 1e-12 && (x[1] - 1.5).abs() < 1e-12);
/// ```
pub fn cholesky(matrix: &mut [f64], n: usize) -> Option<f64> {
    let mut log_determinant = 0.0;
    for i in 0..n {
        let (above, own) = matrix.split_at_mut(packed(i));
        let own = &mut own[..=i];
        for j in 0..i {
            let other = &above[packed(j)..=packed(j) + j];
            let dot: f64 = own[..j].iter().zip(other).map(|(a, b)| a * b).sum();
            own[j] = (own[j] - dot) / other[j];
        }
        let square = own[i] - own[..i].iter().map(|a| a * a).sum::<f64>();
        if !(square > 0.0) {
            return None;
        }
        own[i] = square.sqrt();
        log_determinant += square.ln();
    }
    Some(log_determinant)
}

/// Replaces b by the solution of `L Lᵀ x = b`, with L from [`cholesky`].
pub fn cholesky_solve(factor: &[f64], n: usize, b: &mut [f64]) {
    for i in 0..n {
        let row = &factor[packed(i)..=packed(i) + i];
        let dot: f64 = row[..i].iter().zip(&*b).map(|(l, x)| l * x).sum();
        b[i] = (b[i] - dot) / row[i];
    }
    for i in (0..n).rev() {
        let row = &factor[packed(i)..=packed(i) + i];
        b[i] /= row[i];
        let (head, x) = (&row[..i], b[i]);
        for (b, l) in b.iter_mut().zip(head) {
            *b -= l * x;
        }
    }
}

/// Writes the packed inverse of `L Lᵀ`, with L from [`cholesky`]; `work` has room for n numbers.
///
/// ```
/// use mereo_core::math::{cholesky, cholesky_inverse};
/// let (mut matrix, mut inverse, mut work) = ([4.0, 2.0, 3.0], [0.0; 3], [0.0; 2]);
/// cholesky(&mut matrix, 2).unwrap();
/// cholesky_inverse(&matrix, 2, &mut inverse, &mut work);
/// assert!((inverse[0] - 0.375).abs() < 1e-12 && (inverse[1] + 0.25).abs() < 1e-12);
/// ```
pub fn cholesky_inverse(factor: &[f64], n: usize, inverse: &mut [f64], work: &mut [f64]) {
    // As [`cholesky_solve`] of each column of I, but for what is 0 in L^-1, above the diagonal, and what is not asked for.
    for j in 0..n {
        let column = &mut work[j..n];
        for i in j..n {
            let row = &factor[packed(i) + j..=packed(i) + i];
            let (head, pivot) = (&row[..i - j], row[i - j]);
            let dot: f64 = head.iter().zip(&*column).map(|(l, x)| l * x).sum();
            column[i - j] = if i == j { 1.0 } else { -dot } / pivot;
        }
        for i in (j..n).rev() {
            let row = &factor[packed(i) + j..=packed(i) + i];
            column[i - j] /= row[i - j];
            let x = column[i - j];
            for (b, l) in column.iter_mut().zip(&row[..i - j]) {
                *b -= l * x;
            }
            inverse[packed(i) + j] = x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_matrix(n: usize) -> Vec<f64> {
        let root: Vec<f64> = (0..n * n).map(|i| ((i * 7919) % 31) as f64 / 31.0 - 0.4).collect();
        let mut full = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                full[i * n + j] = (0..n).map(|k| root[i * n + k] * root[j * n + k]).sum();
            }
            full[i * n + i] += 1.0;
        }
        full
    }

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let n = 7;
        let matrix = some_matrix(n);
        let Eigen { values, vectors } = eigen(&matrix, n).unwrap();
        assert!(values.windows(2).all(|w| w[0] >= w[1]));
        for i in 0..n {
            for j in 0..n {
                let sum: f64 =
                    (0..n).map(|k| values[k] * vectors[k * n + i] * vectors[k * n + j]).sum();
                assert!((sum - matrix[i * n + j]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn leading_eigenvectors_are_the_first_of_all() {
        for n in [1, 2, 9, 150] {
            // Only the lower triangle counts.
            let mut matrix = some_matrix(n);
            for i in 0..n {
                matrix[i * n + i + 1..(i + 1) * n].fill(f64::NAN);
            }
            let all = eigen(&matrix, n).unwrap();
            for count in [0, 1, n / 2, n, n + 3] {
                let some = leading_eigen(&matrix, n, count).unwrap();
                let count = count.min(n);
                assert_eq!(some.values, all.values[..count]);
                assert_eq!(some.vectors.len(), count * n);
                for (a, b) in some.vectors.iter().zip(&all.vectors) {
                    assert!((a - b).abs() < 1e-10, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn inverse_times_matrix_is_one() {
        let n = 6;
        let full = some_matrix(n);
        let mut lower: Vec<f64> = (0..n).flat_map(|i| full[i * n..=i * n + i].to_vec()).collect();
        let (mut inverse, mut work) = (vec![0.0; packed(n)], vec![0.0; n]);
        cholesky(&mut lower, n).unwrap();
        cholesky_inverse(&lower, n, &mut inverse, &mut work);
        let at = |i: usize, j: usize| inverse[packed(i.max(j)) + i.min(j)];
        for i in 0..n {
            for j in 0..n {
                let sum: f64 = (0..n).map(|k| full[i * n + k] * at(k, j)).sum();
                assert!((sum - f64::from(i == j)).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        assert_eq!(cholesky(&mut [1.0, 2.0, 1.0], 2), None);
        assert_eq!(cholesky(&mut [f64::NAN], 1), None);
    }
}
