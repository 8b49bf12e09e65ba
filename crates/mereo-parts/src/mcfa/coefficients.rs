//! The errors of a part as polynomials in the cells.

use mereo_core::Real;
use mereo_core::math::packed;
use mereo_core::slots::Frame;

use super::normal::place;

/// The coefficients of `(x², x, 1)` in `-ε`, for every number of a part's code, in a frame's units.
pub(crate) struct Coefficients<'a, T> {
    pub(crate) loading: &'a [f64],
    pub(crate) offset: &'a [f64],
    pub(crate) noise: &'a [f64],
    /// How sure loadings and offset of every column are, `[K, D, packed J + 1]`; empty if they are known.
    pub(crate) covariance: &'a [f64],
    pub(crate) factors: usize,
    pub(crate) frame: &'a Frame<T>,
}

impl<T: Real> Coefficients<'_, T> {
    /// Of number `v` of the code of a part, in a column.
    pub(crate) fn of(&self, part: usize, v: usize, d: usize) -> [f64; 3] {
        let (i, j) = (part * self.frame.columns() + d, self.factors);
        let scale = self.frame.scale(d);
        let precision = scale * scale / self.noise[i];
        let offset = self.frame.inward(d, self.offset[i]);
        let loading = |f: usize| self.loading[i * j + f] / scale;
        // What a product of two of them is expected to be beside the product of what they are expected to be.
        let spread = |row: usize, column: usize| {
            let own = self.covariance.get(i * packed(j + 1) + place(row, column));
            own.map_or(0.0, |c| c / (scale * scale))
        };
        if v == 0 {
            let normaliser = -precision.ln();
            return [
                -0.5 * precision,
                precision * offset,
                -0.5 * (precision * (offset * offset + spread(j, j)) + normaliser),
            ];
        }
        if v <= j {
            let slope = precision * loading(v - 1);
            return [0.0, slope, -slope * offset - precision * spread(j, v - 1)];
        }
        let (row, column) = pair(v - 1 - j);
        let once = if row == column { 0.5 } else { 1.0 };
        let second = loading(row) * loading(column) + spread(row, column);
        [0.0, 0.0, -once * precision * second]
    }
}

/// The pair at a place among the packed ones.
fn pair(at: usize) -> (usize, usize) {
    let mut row = 0;
    while place(row + 1, 0) <= at {
        row += 1;
    }
    (row, at - place(row, 0))
}
