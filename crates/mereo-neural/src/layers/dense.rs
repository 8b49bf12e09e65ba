//! `Y = XWᵀ + 1bᵀ`. With G the gradient by Y: `GᵀX` is that by W, the column sums of G that by b, and `GW` that
//! by X.

use mereo_core::Real;
use mereo_core::math::{Matrix, product, product_nt, product_tn, widest};

use super::Given;

/// Writes the biases in every row: what products are then added to.
pub(super) fn write_biases<T: Real>(biases: &[T], outputs: &mut [T]) {
    for row in outputs.chunks_exact_mut(biases.len().max(1)) {
        row.copy_from_slice(biases);
    }
}

/// Adds the column sums.
pub(super) fn add_columns<T: Real>(rows: &[T], sums: &mut [T]) {
    let width = sums.len().max(1);
    widest(
        #[inline(always)]
        || {
            for row in rows.chunks_exact(width) {
                for (sum, &x) in sums.iter_mut().zip(row) {
                    *sum += x;
                }
            }
        },
    );
}

pub(super) fn forward<T: Real>(
    parameters: &[T],
    (rows, n, m): (usize, usize, usize),
    inputs: &[T],
    outputs: &mut [T],
) {
    let (weights, biases) = parameters.split_at(n * m);
    write_biases(biases, outputs);
    product_nt(outputs, Matrix::new(inputs, rows, n), Matrix::new(weights, m, n), true);
}

pub(super) fn backward<T: Real>(
    Given { parameters, rows, inputs }: Given<'_, T>,
    (n, m): (usize, usize),
    by_outputs: &[T],
    gradient: &mut [T],
    by_inputs: Option<&mut [T]>,
) {
    let (by_weights, by_biases) = gradient.split_at_mut(n * m);
    let slopes = Matrix::new(by_outputs, rows, m);
    product_tn(by_weights, slopes, Matrix::new(inputs, rows, n), true);
    add_columns(by_outputs, by_biases);
    if let Some(by_inputs) = by_inputs {
        product(by_inputs, slopes, Matrix::new(&parameters[..n * m], m, n), false);
    }
}
