//! Factors and inverses of square matrices, row-major.

use faer::linalg::matmul::triangular::BlockStructure;
use faer::linalg::solvers::Solve;
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::reborrow::ReborrowMut;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

use super::Matrix;
use crate::Real;

/// What makes a Gaussian's covariance Σ the identity.
#[derive(Debug, Clone, PartialEq)]
pub struct Whitening {
    /// `[n, n]`: W, the inverse of the Cholesky factor, lower triangular: `W Σ Wᵀ = I`, and
    /// `yᵀ Σ⁻¹ y = |W y|²`.
    pub matrix: Vec<f64>,
    /// `log |Σ|`.
    pub log_determinant: f64,
}

/// The whitening of a symmetric `[n, n]` matrix, of which the lower triangle is looked at; nothing
/// if it is not positive definite.
///
/// ```
/// use mereo_core::math::whitening;
/// let white = whitening(&[4.0, 0.0, 2.0, 2.0], 2).unwrap();
/// assert!((white.log_determinant - 4f64.ln()).abs() < 1e-12);
/// assert!((white.matrix[0] - 0.5).abs() < 1e-12 && (white.matrix[2] + 0.5).abs() < 1e-12);
/// assert!(whitening(&[1.0, 0.0, 2.0, 1.0], 2).is_none());
/// ```
pub fn whitening(matrix: &[f64], n: usize) -> Option<Whitening> {
    let factor = square(matrix, n).llt(Side::Lower).ok()?;
    let lower = factor.L();
    let log_determinant = (0..n).map(|i| 2.0 * lower[(i, i)].ln()).sum::<f64>();
    if !log_determinant.is_finite() {
        return None;
    }
    let mut out = vec![0.0f64; n * n];
    invert_lower_triangular(MatMut::from_row_major_slice_mut(&mut out, n, n), factor.L(), Par::Seq);
    let finite = out.iter().all(|w| w.is_finite());
    finite.then_some(Whitening { matrix: out, log_determinant })
}

/// The inverse of an `[n, n]` matrix and the logarithm of its determinant's magnitude; nothing if
/// it has no inverse.
///
/// ```
/// let (inverse, log) = mereo_core::math::inverse(&[0.0, 2.0, 1.0, 0.0], 2).unwrap();
/// assert_eq!((inverse, log), (vec![0.0, 1.0, 0.5, 0.0], 2f64.ln()));
/// ```
pub fn inverse(matrix: &[f64], n: usize) -> Option<(Vec<f64>, f64)> {
    if matrix.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let factors = square(matrix, n).partial_piv_lu();
    let upper = factors.U();
    let log_determinant = (0..n).map(|i| upper[(i, i)].abs().ln()).sum::<f64>();
    if !log_determinant.is_finite() {
        return None;
    }
    let solved = factors.solve(Mat::<f64>::identity(n, n));
    let mut out = vec![0.0f64; n * n];
    for (i, row) in out.chunks_exact_mut(n.max(1)).enumerate() {
        for (j, v) in row.iter_mut().enumerate() {
            *v = solved[(i, j)];
        }
    }
    out.iter().all(|v| v.is_finite()).then_some((out, log_determinant))
}

/// As [`product`](super::product) with a right matrix that is upper triangular, perhaps with columns of
/// zeros behind: up to half the work.
///
/// ```
/// use mereo_core::math::{Matrix, product_upper};
/// let mut out = [0.0f64; 2];
/// product_upper(&mut out, Matrix::new(&[1.0, 2.0], 1, 2), Matrix::new(&[3.0, 4.0, 0.0, 5.0], 2, 2));
/// assert_eq!(out, [3.0, 14.0]);
/// ```
pub fn product_upper<T: Real>(out: &mut [T], left: Matrix<'_, T>, right: Matrix<'_, T>) {
    /// Below these, splitting the triangle, or splitting it into more than two, costs what it saves.
    const SMALL: usize = 48;
    const MIDDLE: usize = 96;
    let (rows, n) = (left.rows, right.columns);
    if n < SMALL {
        return super::product(out, left, right, false);
    }
    let mut out = MatMut::from_row_major_slice_mut(&mut out[..rows * n], rows, n);
    if n < MIDDLE || right.rows != n {
        // The first half of the columns needs the first half of the rows only.
        let half = (n / 2).next_multiple_of(16).min(right.rows);
        let (left, right) = (left.view(), right.view());
        let (first, second) = (right.get(..half, ..half), right.get(.., half..));
        let own = out.rb_mut().get_mut(.., ..half);
        T::multiply(own, Accum::Replace, left.get(.., ..half), first);
        T::multiply(out.get_mut(.., half..), Accum::Replace, left, second);
        return;
    }
    let (upper, full) = (BlockStructure::TriangularUpper, BlockStructure::Rectangular);
    let (left, right) = (left.view(), right.view());
    T::multiply_triangular((out, full), Accum::Replace, (left, full), (right, upper));
}

fn square(matrix: &[f64], n: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(&matrix[..n * n], n, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_matrix(n: usize) -> Vec<f64> {
        (0..n * n).map(|i| ((i * 7919) % 31) as f64 / 31.0 - 0.4).collect()
    }

    #[test]
    fn whitened_covariances_are_one() {
        let n = 120;
        let root = some_matrix(n);
        let mut matrix = vec![0.0; n * n];
        super::super::product_nt(
            &mut matrix,
            Matrix::new(&root, n, n),
            Matrix::new(&root, n, n),
            false,
        );
        (0..n).for_each(|i| matrix[i * n + i] += 1.0);
        let white = whitening(&matrix, n).unwrap().matrix;
        let (mut half, mut one) = (vec![0.0; n * n], vec![0.0; n * n]);
        super::super::product(
            &mut half,
            Matrix::new(&white, n, n),
            Matrix::new(&matrix, n, n),
            false,
        );
        // Wᵀ is upper triangular.
        let turned: Vec<f64> = (0..n * n).map(|i| white[i % n * n + i / n]).collect();
        product_upper(&mut one, Matrix::new(&half, n, n), Matrix::new(&turned, n, n));
        for (i, v) in one.iter().enumerate() {
            assert!((v - f64::from(i / n == i % n)).abs() < 1e-10);
        }
    }

    #[test]
    fn triangular_products_are_products() {
        for (n, behind) in
            [(3, 0), (47, 1), (50, 0), (63, 1), (63, 0), (80, 16), (120, 0), (130, 6)]
        {
            let (rows, width) = (5, n + behind);
            let left: Vec<f64> = (0..rows * n).map(|i| ((i * 31) % 17) as f64 - 8.0).collect();
            let upper = |i: usize| f64::from(i % width < n && i / width <= i % width);
            let right: Vec<f64> =
                (0..n * width).map(|i| upper(i) * (((i * 7919) % 31) as f64 - 15.0)).collect();
            let (mut fast, mut plain) = (vec![1.0; rows * width], vec![0.0; rows * width]);
            let (left, right) = (Matrix::new(&left, rows, n), Matrix::new(&right, n, width));
            product_upper(&mut fast, left, right);
            super::super::product(&mut plain, left, right, false);
            // Sums of whole numbers are exact in any order.
            assert_eq!(fast, plain, "{n} + {behind}");
        }
    }

    #[test]
    fn inverse_times_matrix_is_one() {
        let n = 9;
        let mut matrix = some_matrix(n);
        (0..n).for_each(|i| matrix[i * n + (i + 1) % n] += 2.0);
        let (inverted, log) = inverse(&matrix, n).unwrap();
        let mut one = vec![0.0; n * n];
        super::super::product(
            &mut one,
            Matrix::new(&inverted, n, n),
            Matrix::new(&matrix, n, n),
            false,
        );
        for (i, v) in one.iter().enumerate() {
            assert!((v - f64::from(i / n == i % n)).abs() < 1e-10);
        }
        assert!((inverse(&inverted, n).unwrap().1 + log).abs() < 1e-10);
        assert!(inverse(&[1.0, 2.0, 2.0, 4.0], 2).is_none());
        assert!(inverse(&[f64::NAN], 1).is_none());
        assert!(whitening(&[f64::NAN], 1).is_none());
    }
}
