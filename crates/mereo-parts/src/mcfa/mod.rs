//! Multiple cause factor analysis (Ross and Zemel).
//!
//! As in [`crate::mcvq`], a row of D columns is made by K parts, and each column by one of them, k
//! with probability `a_dk`. But a part does not choose among states: it is a factor analyser, whose
//! look moves along J *factors* `s_k ~ N(0, I)`:
//!
//! `P(x, r, s) = Π_k N(s_k; 0, I) Π_d a_{d r_d} N(x_d; ρ_kd + λ_kd · s_k, ψ_kd)` with `k = r_d`,
//!
//! `ρ` the *offset*, `λ` the *loading*, `ψ` the *noise*. The posterior is approximated by
//! `Π_d g_{d r_d} Π_k N(s_k; m_k, Ω_k)`, the gate tied. With `ε_dk = ½ log ψ + (x - ρ - λ·s)²/(2ψ)` the
//! bound is, over observed cells,
//!
//! `F = Σ_c [ -Σ_dk g log(g/a) - Σ_k KL(N(m, Ω) ‖ N(0, I)) - Σ_dk g E[ε] - (D_c/2) log 2π ]`.
//!
//! - **Codes.** `-Σ_d g E[ε]` is a quadratic in `s_k`, so the best Gaussian is
//!   `Ω_k^-1 = P_k = I + Σ_d (g/ψ) λ λᵀ`, `m_k = Ω_k h_k`, `h_k = Σ_d (g/ψ) λ (x - ρ)`. Put back, row c's
//!   share of F is `Σ_k [ -½ Σ_d g (log ψ + (x-ρ)²/ψ) + ½ h·m - ½ log |P_k| ] - (D_c/2) log 2π`. All of
//!   these are sums over observed columns of polynomials in x: matrix products over the batch. If no
//!   cell is missing, `P_k` is the same for all rows; otherwise each row has its own, and a Cholesky
//!   factor of J x J for each part.
//! - **Offset and loading, jointly.** F depends on them by `-Σ_c g (x - ρ - λ·s)²/2ψ` in expectation:
//!   the regression of x on `(s, 1)`, the gate cancelling. With sums over the rows that observe d,
//!   `n`, `Σx`, `Σm`, `Σxm` and `Σ E[ssᵀ] = Σ (Ω + mmᵀ)`, eliminating the constant leaves `C λ = c`,
//!   `C = Σ E[ssᵀ] - Σm Σmᵀ/n`, `c = Σxm - Σx Σm/n`, and `ρ = (Σx - λ·Σm)/n`. As `C ⪰ Σ Ω` there is always
//!   one answer. What is left of the squares is `S = Σx² - (Σx)²/n - λ·c`.
//! - **Noise.** `ψ = S/n`, or the floor if that is larger.
//! - **Shrinkage**, where most cells are unknown: κ rows more in each column of each part, with the column's mean and variance and
//!   factors as the prior has them. They add κ to n and to the diagonal of `Σ E[ssᵀ]`, and minus their expected errors to F.
//! - **Averages over loadings and offsets** instead of the best of them, which is better still there: `posterior.rs`.
//! - **The gate**, from `G_dk = ½ (n log ψ + S/ψ)`: see [`crate::gate`]; with gates of single rows,
//!   `per_row.rs`, all sums count rows by `g^c_dk`.
//!
//! Each raises F, so F never falls at a fixed floor. Factors may be rotated without changing
//! anything: a part's loadings span a space and are no more unique than that.
//!
//! With classes, factors are centred elsewhere in each: see `classes/mod.rs` of this crate.

mod classes;
mod coefficients;
mod file;
mod find;
mod fit;
mod kind;
mod learner;
mod look;
mod model;
mod normal;
mod params;
mod posterior;
mod regression;
mod starts;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use kind::McfaOptions;
pub(crate) use learner::McfaLearner;
pub use model::Mcfa;
pub(crate) use model::Tensors;
pub(crate) use normal::{Normal, factor, place, width};
pub use params::McfaParams;
pub(crate) use posterior::spread_at;
