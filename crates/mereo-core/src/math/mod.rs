//! The mathematics that models share: matrix products and factors, exponentials, log-sum-exp,
//! minimisation.

mod array;
pub mod exp;
mod factors;
mod gamma;
mod lbfgs;
pub(crate) mod ln;
mod normal;
mod symmetric;

pub use array::Array;
pub use exp::exp_in_place;
pub use factors::{Whitening, inverse, product_upper, whitening};
pub use gamma::{digamma, ln_gamma};
pub use lbfgs::minimise;
pub use normal::{normal_cdf, normal_log_density};
pub use symmetric::{
    Eigen, cholesky, cholesky_inverse, cholesky_solve, eigen, leading_eigen, orient, packed,
};

use crate::Real;
use faer::linalg::matmul::triangular::BlockStructure;
use faer::{Accum, MatMut, MatRef};

/// `½ log 2π`: what every observed Gaussian cell costs, whatever its value.
pub const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// Runs a loop with the widest instructions the machine has; the closure must be marked
/// `#[inline(always)]`, and so must whatever it calls.
///
/// ```
/// let mut values = [1.0f32; 100];
/// mereo_core::math::widest(
///     #[inline(always)]
///     || values.iter_mut().for_each(|v| *v += 1.0),
/// );
/// assert_eq!(values, [2.0; 100]);
/// ```
#[inline(always)]
pub fn widest<R>(work: impl FnMut() -> R) -> R {
    // Called as `FnMut`: through `FnOnce` the compiler puts a function between that is not
    // inlined, and the loop falls back to the narrowest instructions.
    struct Work<F>(F);
    impl<R, F: FnMut() -> R> pulp::WithSimd for Work<F> {
        type Output = R;

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(mut self, _: S) -> R {
            (self.0)()
        }
    }
    pulp::Arch::new().dispatch(Work(work))
}

/// A matrix lent out in row-major order, perhaps the first columns of a wider one.
#[derive(Clone, Copy)]
pub struct Matrix<'a, T> {
    values: &'a [T],
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<'a, T: Real> Matrix<'a, T> {
    /// Views values as rows of this many columns.
    pub fn new(values: &'a [T], rows: usize, columns: usize) -> Self {
        Self { values: &values[..rows * columns], rows, columns, stride: columns }
    }

    /// The first columns of this matrix.
    #[must_use]
    pub fn first_columns(self, columns: usize) -> Self {
        assert!(columns <= self.columns, "{columns} columns asked of {}", self.columns);
        Self { columns, ..self }
    }

    /// Number of rows.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// One row.
    ///
    /// ```
    /// use mereo_core::math::Matrix;
    /// assert_eq!(Matrix::new(&[1.0, 2.0, 3.0, 4.0], 2, 2).row(1), [3.0, 4.0]);
    /// ```
    #[inline(always)]
    pub fn row(self, row: usize) -> &'a [T] {
        &self.values[row * self.stride..][..self.columns]
    }

    fn view(self) -> MatRef<'a, T> {
        MatRef::from_row_major_slice(self.values, self.rows, self.stride).get(.., ..self.columns)
    }
}

/// `out = left · right` or, with `add`, `out += left · right`; on one thread, since the loop's
/// lanes are the parallelism.
///
/// ```
/// use mereo_core::math::{Matrix, product};
/// let mut out = [0.0f64; 1];
/// product(&mut out, Matrix::new(&[1.0, 2.0], 1, 2), Matrix::new(&[3.0, 4.0], 2, 1), false);
/// assert_eq!(out, [11.0]);
/// ```
pub fn product<T: Real>(out: &mut [T], left: Matrix<'_, T>, right: Matrix<'_, T>, add: bool) {
    multiply(out, left.view(), right.view(), add);
}

/// Adds `left · right` to the first columns of `out`, whose rows are `stride` long.
///
/// ```
/// use mereo_core::math::{Matrix, add_product};
/// let mut out = [1.0f64, 5.0, 1.0, 5.0];
/// add_product(&mut out, 2, Matrix::new(&[1.0, 2.0], 2, 1), Matrix::new(&[3.0], 1, 1));
/// assert_eq!(out, [4.0, 5.0, 7.0, 5.0]);
/// ```
pub fn add_product<T: Real>(
    out: &mut [T],
    stride: usize,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
) {
    let out = MatMut::from_row_major_slice_mut(&mut out[..left.rows * stride], left.rows, stride);
    let out = out.get_mut(.., ..right.columns);
    T::multiply(out, Accum::Add, left.view(), right.view());
}

/// As [`product`] with the right matrix transposed: `left · rightᵀ`.
///
/// ```
/// use mereo_core::math::{Matrix, product_nt};
/// let mut out = [0.0f64; 1];
/// product_nt(&mut out, Matrix::new(&[1.0, 2.0], 1, 2), Matrix::new(&[3.0, 4.0], 1, 2), false);
/// assert_eq!(out, [11.0]);
/// ```
pub fn product_nt<T: Real>(out: &mut [T], left: Matrix<'_, T>, right: Matrix<'_, T>, add: bool) {
    multiply(out, left.view(), right.view().transpose(), add);
}

/// As [`product`] with the left matrix transposed: `leftᵀ · right`.
///
/// ```
/// use mereo_core::math::{Matrix, product_tn};
/// let mut out = [0.0f64; 1];
/// product_tn(&mut out, Matrix::new(&[1.0, 2.0], 2, 1), Matrix::new(&[3.0, 4.0], 2, 1), false);
/// assert_eq!(out, [11.0]);
/// ```
pub fn product_tn<T: Real>(out: &mut [T], left: Matrix<'_, T>, right: Matrix<'_, T>, add: bool) {
    multiply(out, left.view().transpose(), right.view(), add);
}

/// The lower triangle of `matrixᵀ · matrix`, or with `add` that added to `out`: half the work of
/// [`product_tn`].
///
/// ```
/// use mereo_core::math::{Matrix, product_self};
/// let mut out = [0.0f64; 4];
/// product_self(&mut out, Matrix::new(&[1.0, 2.0, 3.0, 4.0], 2, 2), false);
/// assert_eq!([out[0], out[2], out[3]], [10.0, 14.0, 20.0]);
/// ```
pub fn product_self<T: Real>(out: &mut [T], matrix: Matrix<'_, T>, add: bool) {
    let (view, n) = (matrix.view(), matrix.columns);
    let out = MatMut::from_row_major_slice_mut(&mut out[..n * n], n, n);
    let accum = if add { Accum::Add } else { Accum::Replace };
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    T::multiply_triangular((out, lower), accum, (view.transpose(), full), (view, full));
}

fn multiply<T: Real>(out: &mut [T], left: MatRef<'_, T>, right: MatRef<'_, T>, add: bool) {
    let out = MatMut::from_row_major_slice_mut(
        &mut out[..left.nrows() * right.ncols()],
        left.nrows(),
        right.ncols(),
    );
    let accum = if add { Accum::Add } else { Accum::Replace };
    T::multiply(out, accum, left, right);
}

/// `Σ a b`, in eight interleaved sums so that the compiler can vectorise it.
///
/// ```
/// assert_eq!(mereo_core::math::dot(&[1.0, 2.0], &[3.0, 4.0]), 11.0);
/// ```
#[inline(always)]
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [T::ZERO; 8];
    for (a, b) in a.iter().zip(b) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: T = a_rest.iter().zip(b_rest).map(|(&a, &b)| a * b).sum();
    sums.into_iter().sum::<T>() + rest
}

/// Turns log weights into weights that add up to 1 and returns the log of their sum before.
///
/// ```
/// let mut logs = [0.0f64, 0.0];
/// assert!((mereo_core::math::softmax(&mut logs) - 2f64.ln()).abs() < 1e-15);
/// assert_eq!(logs, [0.5, 0.5]);
/// ```
pub fn softmax(logs: &mut [f64]) -> f64 {
    let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        logs.fill(1.0 / logs.len() as f64);
        return max;
    }
    let mut sum = 0.0;
    for v in logs.iter_mut() {
        *v = (*v - max).exp();
        sum += *v;
    }
    for v in logs.iter_mut() {
        *v /= sum;
    }
    max + sum.ln()
}

/// The entropy of a distribution, in bits.
///
/// ```
/// assert_eq!(mereo_core::math::entropy_bits(&[0.5, 0.5, 0.0]), 1.0);
/// ```
pub fn entropy_bits(distribution: &[f64]) -> f64 {
    -distribution.iter().filter(|&&p| p > 0.0).map(|&p| p * p.log2()).sum::<f64>()
}

/// How well two groupings of rows agree, from how many rows are in each pair of groups: 1 if they
/// are the same, about 0 by chance (Hubert and Arabie's adjusted Rand index).
///
/// ```
/// use mereo_core::math::adjusted_rand_index;
/// assert_eq!(adjusted_rand_index(&[vec![0, 5], vec![3, 0]]), 1.0);
/// assert!(adjusted_rand_index(&[vec![4, 4], vec![4, 4]]) < 0.0);
/// ```
pub fn adjusted_rand_index(counts: &[Vec<usize>]) -> f64 {
    let pairs = |n: usize| n as f64 * (n as f64 - 1.0) / 2.0;
    let within: f64 = counts.iter().flatten().map(|&n| pairs(n)).sum();
    let rows: f64 = counts.iter().map(|row| pairs(row.iter().sum())).sum();
    let groups = counts.first().map_or(0, Vec::len);
    let columns: f64 = (0..groups).map(|c| pairs(counts.iter().map(|row| row[c]).sum())).sum();
    let all = pairs(counts.iter().flatten().sum());
    let (expected, most) = (rows * columns / all.max(1.0), f64::midpoint(rows, columns));
    if most > expected { (within - expected) / (most - expected) } else { 1.0 }
}
