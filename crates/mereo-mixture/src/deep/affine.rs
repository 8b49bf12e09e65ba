//! Affine maps of columns: `x ↦ M x + v`.

use mereo_core::math::{Array, dot, inverse, product, product_nt};

/// `x ↦ M x + v`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affine {
    /// `[D, D]`.
    pub(super) matrix: Array<2>,
    /// `[D]`.
    pub(super) offset: Vec<f64>,
}

impl Affine {
    /// This map after another.
    pub(super) fn after(&self, first: &Self) -> Self {
        let mut matrix = Array::zeros(self.matrix.shape());
        product(&mut matrix, self.matrix.view(), first.matrix.view(), false);
        Self { matrix, offset: self.apply(&first.offset) }
    }

    pub(super) fn apply(&self, x: &[f64]) -> Vec<f64> {
        self.matrix.rows().zip(&self.offset).map(|(row, v)| v + dot(row, x)).collect()
    }

    /// The map back; nothing if there is none.
    pub(super) fn inverse(&self) -> Option<Self> {
        let d = self.offset.len();
        let (matrix, _) = inverse(&self.matrix, d)?;
        let back = Self { matrix: Array::new([d, d], matrix), offset: vec![0.0; d] };
        let offset = back.apply(&self.offset).iter().map(|v| -v).collect();
        Some(Self { offset, ..back })
    }

    /// `[D+1, D+1]`: what the map does to `[x;1]`.
    pub(super) fn extended(&self) -> Array<2> {
        let d = self.offset.len();
        let mut out = Array::identity(d + 1);
        for (i, (row, v)) in self.matrix.rows().zip(&self.offset).enumerate() {
            let out = out.row_mut(i);
            out[..d].copy_from_slice(row);
            out[d] = *v;
        }
        out
    }
}

/// `G M Gᵀ` of square matrices.
pub(super) fn congruent(g: &Array<2>, m: &Array<2>) -> Array<2> {
    let (mut half, mut out) = (Array::zeros(m.shape()), Array::zeros(m.shape()));
    product(&mut half, g.view(), m.view(), false);
    product_nt(&mut out, half.view(), g.view(), false);
    out
}
