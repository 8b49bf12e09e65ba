//! Affine maps of columns: `x ↦ M x + v`.

use mereo_core::math::{Matrix, dot, inverse, product, product_nt};

/// `x ↦ M x + v`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affine {
    /// `[D, D]`.
    pub(super) matrix: Vec<f64>,
    /// `[D]`.
    pub(super) offset: Vec<f64>,
}

impl Affine {
    /// This map after another.
    pub(super) fn after(&self, first: &Self) -> Self {
        let d = self.offset.len();
        let mut matrix = vec![0.0; d * d];
        let (left, right) = (Matrix::new(&self.matrix, d, d), Matrix::new(&first.matrix, d, d));
        product(&mut matrix, left, right, false);
        Self { matrix, offset: self.apply(&first.offset) }
    }

    pub(super) fn apply(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.matrix.chunks_exact(x.len());
        rows.zip(&self.offset).map(|(row, v)| v + dot(row, x)).collect()
    }

    /// The map back; nothing if there is none.
    pub(super) fn inverse(&self) -> Option<Self> {
        let d = self.offset.len();
        let (matrix, _) = inverse(&self.matrix, d)?;
        let back = Self { matrix, offset: vec![0.0; d] };
        let offset = back.apply(&self.offset).iter().map(|v| -v).collect();
        Some(Self { offset, ..back })
    }

    /// `[D+1, D+1]`: what the map does to `[x;1]`.
    pub(super) fn extended(&self) -> Vec<f64> {
        let d = self.offset.len();
        let mut out = vec![0.0; (d + 1) * (d + 1)];
        for (i, (row, v)) in self.matrix.chunks_exact(d).zip(&self.offset).enumerate() {
            out[i * (d + 1)..i * (d + 1) + d].copy_from_slice(row);
            out[i * (d + 1) + d] = *v;
        }
        out[d * (d + 1) + d] = 1.0;
        out
    }
}

/// `G M Gᵀ` of square matrices.
pub(super) fn congruent(g: &[f64], m: &[f64], n: usize) -> Vec<f64> {
    let (mut half, mut out) = (vec![0.0; n * n], vec![0.0; n * n]);
    product(&mut half, Matrix::new(g, n, n), Matrix::new(m, n, n), false);
    product_nt(&mut out, Matrix::new(&half, n, n), Matrix::new(g, n, n), false);
    out
}
