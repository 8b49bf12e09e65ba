//! Components with covariances: what mixtures of Gaussians, of Student's t and deep ones share.
//!
//! # Density
//!
//! With `y = x - μ` and `W` the inverse of the covariance's Cholesky factor (`WΣWᵀ = I`), the squared
//! distance of a row is `δ = yᵀΣ⁻¹y = |Wy|²`, and over D columns
//!
//! - Gaussian: `log P = -½ (D log 2π + log |Σ| + δ)`;
//! - Student's t with ν degrees of freedom: `log P = log Γ((ν+D)/2) - log Γ(ν/2) - (D/2) log νπ -
//!   ½ log |Σ| - ((ν+D)/2) log(1 + δ/ν)`.
//!
//! So the distances of a batch are one matrix product for each component, `Y Wᵀ`. Differences are
//! taken before anything is squared, in the frame's units, and offsets cost no precision. Components
//! whose covariances are the same but for a number s share the product: with c the middle of their
//! means, `δ = |W(x - c) - W(μ - c)|²/s`.
//!
//! # Missing cells
//!
//! Of a row that observes the columns O and not M, with `P = Σ⁻¹`, the missing cells are expected at
//! `ŷ_M = -P_MM⁻¹ P_MO y_O = Σ_MO Σ_OO⁻¹ y_O`, with covariance `C = P_MM⁻¹ = Σ_MM - Σ_MO Σ_OO⁻¹ Σ_OM`.
//! The row that is filled so has, of all ways to fill it, the smallest distance, which is the
//! distance of its observed cells alone: `|Wŷ|² = y_Oᵀ Σ_OO⁻¹ y_O`. And `log |Σ_OO| = log |Σ| + log |P_MM|`.
//! Hence rows with holes are filled component by component and then treated like all others; rows of a
//! batch that miss the same cells share the factor of `P_MM` or of `Σ_OO`, whichever is smaller.
//!
//! # Moments
//!
//! With responsibilities r (in which weights are contained), rows tell a component
//! `Σ r [ŷ;1][ŷ;1]ᵀ + Σ r C` about its mean of before: the expected moments of complete rows. For
//! Student's t rows count `r u`, with `u = (ν+|O|)/(ν+δ)` the expected precision of the row, but C
//! counts r, since given u the covariance is `C/u`. Rows with a negligible responsibility are left
//! out: where components are far apart, each is asked of few rows only. Sums are in the data's own type, unless a
//! component is so much narrower in one direction than in another that single precision could not tell its
//! narrowest variance; then they are in double precision.

mod conditional;
mod learner;
mod mixture;
mod moments;
mod narrow;
mod whitened;

pub(crate) use learner::{
    MixtureLearner, MixtureStatistics, Shape, State, accumulate, has_holes, in_data_units,
};
pub(crate) use mixture::Mixture;
pub(crate) use moments::Moments;
pub(crate) use narrow::RowSpace;
pub(crate) use whitened::{Shapes, Whitened, Work, take_rows};

/// Makes the most likely component of every row responsible for all of it, and with `log_norms` the log
/// of its joint density: hard EM. Evidence is `[N, R]`.
pub(crate) fn harden<T: mereo_core::Real>(
    evidence: &mut [T],
    log_norms: &mut [T],
    rows: usize,
    weights: Option<&[f64]>,
) {
    for row in 0..rows {
        let mut best = row;
        for at in (row..evidence.len()).step_by(rows.max(1)) {
            if evidence[at] > evidence[best] {
                best = at;
            }
        }
        log_norms[row] = evidence[best];
        for at in (row..evidence.len()).step_by(rows.max(1)) {
            evidence[at] = T::ZERO;
        }
        evidence[best] = T::from_f64(weights.map_or(1.0, |w| w[row]));
    }
}
