//! The Deep Gaussian mixture: layers of components, a row made by one path through them.
//!
//! Layer 1 is the top one. A path `p = (p_1, …, p_k)` has probability `π_p`, and along it a standard normal
//! z is transformed layer after layer: `x = A_k(…(A_2(A_1 z + b_1) + b_2)…) + b_k`, with the transforms and
//! biases of the components `p_1 … p_k`. So given the path x is Gaussian with mean `β_p` and covariance
//! `Ω_pΩ_pᵀ`, `Ω_p = A_k ⋯ A_1`: the model is a Gaussian mixture of as many components as there are paths,
//! `ΠN_i`, whose parameters are tied, `ΣN_i` transforms. Scores, codes, missing cells and samples are those
//! of that flat mixture ([`DeepGmm::flat`]).
//!
//! # E-step
//!
//! Distances need `|W_p(x - β_p)|²` for any `W_p` with `W_pᵀW_p = (Ω_pΩ_pᵀ)⁻¹`. One triangular `W_p` a path,
//! made once a pass, costs each row P products; passing rows through the layers from below would
//! cost one for every prefix of a path, which are more. Paths that differ only in layers of scales, the
//! last ones, share W but for a number, and the product with it. So all of it, missing cells
//! included, is what flat mixtures do (`full/`), and rows tell path moments `Σ r [x;1][x;1]ᵀ`.
//!
//! *Soft* EM shares a row among all paths. *Hard* EM gives it to one, found by a full search, or by
//! coordinate ascent: from a path, each layer in turn from the top changes to its best component.
//! That starts once from the path of the pass before, for one sweep, and once from a random path, for
//! two; a row switches only to a better path, so the bound never falls (`search.rs`).
//!
//! # M-step
//!
//! Layer by layer from the top. For one component with `Q = A⁻¹`, `q = -A⁻¹b`, `Θ = [Q q]`, let z be what
//! the layers below make of x (by their inverses), and for each path u through the layers above let
//! `R_u w + r_u` be what they make of `w = Θ[z;1]`. With `Φ_u = Σ r [z;1][z;1]ᵀ` over the rows of u, whatever
//! comes below, and `n` rows in all, the expected log likelihood is, up to a constant,
//!
//! `n log |Q| - ½ Σ_u tr(Ω_u Θ Φ_u Θᵀ) - Σ_u (R_uᵀr_u)ᵀ Θ φ_u - ½ Σ_u n_u |r_u|²`, `Ω_u = R_uᵀR_u`, `φ_u` the last column of `Φ_u`,
//!
//! with the gradient `n [Q⁻ᵀ 0] - Σ_u Ω_u Θ Φ_u - Σ_u R_uᵀr_u φ_uᵀ`. It does not depend on the number of
//! rows, nor on other components of the layer, which are learned in parallel (`node.rs`):
//!
//! - the *top* layer has nothing above: `b` is the mean of z and `AAᵀ` its covariance;
//! - *full* transforms: L-BFGS, in coordinates in which the averages of `Ω_u` and `Φ_u` are the identity,
//!   for a limited number of steps (more of them fit the rows better, not always new ones); with few
//!   columns and many paths above, all paths in one matrix (`kronecker.rs`);
//! - *scale* `A = sI` and *diagonal*: q is linear in the rest; then a quadratic less logarithms is
//!   left, solved in closed form, one column after the other;
//! - *orthogonal* `A = sO`: s and q as for scale, then O. The quadratic form lies below
//!   `λ|O|²` and a plane, and `|O|` is fixed, so the polar factor of `λO - gradient` never loses.
//!
//! Every step raises the expectation, hence the bound.
//!
//! Before that, rows may be gone through in mini-batches, each for one step along its gradient
//! (`gradient.rs`): many steps in the time of one pass, where rows are many or layers deep.
//!
//! # Floor
//!
//! Paths with few rows would shrink to nothing. A row's log density under a path is therefore lowered by
//! `½ ε tr (Ω_pΩ_pᵀ)⁻¹`, as if each cell were blurred with variance ε, a small fraction of its column's.
//! In the M-step that is ε added to the path's moments. The bound is what is left of the log likelihood
//! and lies a little below it. The log likelihood itself, which criteria need, is found by one pass more over all
//! paths, unless a search was made among so many that this would take too long: then it is not known.
//!
//! # Start
//!
//! Rows are divided by their contrast (their length, whitened by the covariance of all). The first layer
//! from below has scales at the quantiles of contrast, layers between begin near the
//! identity, and the top layer with the covariances of k-means clusters of the divided rows.
//! A component that no path uses any more becomes a copy of the most used one of its layer, made
//! larger or smaller; the pass says so.

mod affine;
mod fit;
mod freedom;
mod gradient;
mod kind;
mod kronecker;
mod layers;
mod learner;
mod model;
mod node;
mod params;
mod search;
mod start;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub(crate) use learner::DeepLearner;
pub use model::DeepGmm;
pub use params::{DeepGmmParams, Em, LayerKind, MStep, Search};
