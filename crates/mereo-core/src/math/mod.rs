//! The mathematics that models share: matrix products, exponentials, log-sum-exp.

pub mod exp;

pub use exp::exp_in_place;

use crate::Real;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// `½ log 2π`: what every observed Gaussian cell costs, whatever its value.
pub const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// A matrix lent out in row-major order.
#[derive(Clone, Copy)]
pub struct Matrix<'a, T> {
    values: &'a [T],
    rows: usize,
    columns: usize,
}

impl<'a, T: Real> Matrix<'a, T> {
    /// Views values as rows of this many columns.
    pub fn new(values: &'a [T], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a matrix needs rows x columns values");
        Self { values, rows, columns }
    }

    fn view(self) -> MatRef<'a, T> {
        MatRef::from_row_major_slice(self.values, self.rows, self.columns)
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
    let out = MatMut::from_row_major_slice_mut(out, left.rows, right.columns);
    let accum = if add { Accum::Add } else { Accum::Replace };
    matmul(out, accum, left.view(), right.view(), T::ONE, Par::Seq);
}

/// `out = leftᵀ · right` or, with `add`, `out += leftᵀ · right`; on one thread.
///
/// ```
/// use mereo_core::math::{Matrix, transposed_product};
/// let mut out = [0.0f64; 1];
/// transposed_product(&mut out, Matrix::new(&[1.0, 2.0], 2, 1), Matrix::new(&[3.0, 4.0], 2, 1), false);
/// assert_eq!(out, [11.0]);
/// ```
pub fn transposed_product<T: Real>(
    out: &mut [T],
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    add: bool,
) {
    let out = MatMut::from_row_major_slice_mut(out, left.columns, right.columns);
    let accum = if add { Accum::Add } else { Accum::Replace };
    matmul(out, accum, left.view().transpose(), right.view(), T::ONE, Par::Seq);
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
