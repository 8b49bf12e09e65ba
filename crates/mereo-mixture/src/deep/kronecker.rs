//! A component's quadratic form as one matrix.
//!
//! `½ Σ_u tr(Ω_u Θ Φ_u Θᵀ)` is `½ θᵀHθ` with θ the rows of Θ one after another and
//! `H = Σ_u Ω_u ⊗ Φ_u`, `[D(D+1), D(D+1)]`. Made once, by one product over u, it gives value and
//! gradient, `Hθ`, at a cost that does not grow with the number of paths above, where the sum
//! over u needs two products for each. H has some D⁴ numbers, so this is for few columns.

use mereo_core::math::{Array, Matrix, dot, product, product_tn};

/// Most columns: H takes 8 D²(D+1)² bytes.
pub(super) const MOST_COLUMNS: usize = 64;
/// By how much a number of H costs more than one of the products that it spares: it is read from
/// memory each time.
const READING: usize = 4;

/// `Σ Ω ⊗ Φ`.
pub(super) struct Kronecker {
    matrix: Array<2>,
}

impl Kronecker {
    /// Whether H, made once and asked `steps` times, costs less than so many pairs do.
    pub(super) fn pays(d: usize, pairs: usize, steps: usize) -> bool {
        let (size, each) = (d * (d + 1), 2 * d + 1);
        d <= MOST_COLUMNS && size * (pairs + READING * steps) < steps * pairs * each
    }

    /// Of pairs `Ω [D, D]` and `Φ [D+1, D+1]`.
    pub(super) fn new(pairs: &[(Array<2>, Array<2>)], d: usize) -> Self {
        let (width, size) = (d + 1, d * (d + 1));
        let omegas: Vec<f64> = pairs.iter().flat_map(|(omega, _)| omega.iter().copied()).collect();
        let phis: Vec<f64> = pairs.iter().flat_map(|(_, phi)| phi.iter().copied()).collect();
        let mut apart = Array::zeros([d, d, width, width]);
        let left = Matrix::new(&omegas, pairs.len(), d * d);
        product_tn(&mut apart, left, Matrix::new(&phis, pairs.len(), width * width), false);
        // From (i, k), (j, l) to (i, j), (k, l).
        let mut matrix = Array::zeros([size, size]);
        for (row, out) in matrix.rows_mut().enumerate() {
            let (i, j) = (row / width, row % width);
            for (k, out) in out.chunks_exact_mut(width).enumerate() {
                out.copy_from_slice(apart.at([i, k, j]));
            }
        }
        Self { matrix }
    }

    /// `½ θᵀHθ + linearᵀθ` and, in `gradient`, `Hθ + linear`.
    pub(super) fn quadratic(&self, linear: &[f64], theta: &[f64], gradient: &mut [f64]) -> f64 {
        product(gradient, self.matrix.view(), Matrix::new(theta, theta.len(), 1), false);
        let value = 0.5 * dot(theta, gradient) + dot(theta, linear);
        gradient.iter_mut().zip(linear).for_each(|(g, l)| *g += l);
        value
    }
}
