//! Bayesian factor analysis of sparse tables, with biases of rows and columns.
//!
//! A cell is what its column is like, plus what its row is like, plus what factors of both have in common:
//!
//! `x_cd = c_d + b_c + w_d · z_c + ε_cd`, `z_c ~ N(0, I)`, `b_c ~ N(0, 1/λ)`, `ε_cd ~ N(0, ψ_d)`.
//!
//! Plain factor analysis finds the loadings `w_d` and the offset `c_d` that fit best. Of a column that five rows observe it then
//! believes whatever those five say. Here both have priors, `w_dj ~ N(0, 1/α_j)` and `c_d ~ N(m, 1/β)` with m the mean of all
//! cells, and a posterior: what is not known is averaged over, in learning and in predictions.
//!
//! Write `z̃ = (z, b, 1)` and `l̃ = (w, 1, c)`, so that a cell is `l̃ · z̃ + ε`. The posterior is approximated by
//! `Π_c q(z_c, b_c) Π_d q(w_d, c_d)`, and the bound is, with rows counting `w_c` times,
//!
//! `F = Σ_c w_c { Σ_{d∈O_c} E[log N(x_cd; l̃_d·z̃_c, ψ_d)] - KL(q(z_c, b_c) ‖ prior) } - Σ_d KL(q(w_d, c_d) ‖ prior) + log P(ψ, ψ₀, α, β, λ)`.
//!
//! Each of these raises it as far as it can:
//!
//! - rows (`items.rs`): a Gaussian with precision `P = diag(1, λ) + Σ_d E[ll ᵀ]/ψ_d` and mean `P⁻¹h`, `h = Σ_d (E[l] x - E[l c])/ψ_d`, l the first two
//!   of `l̃`. Put back, a row's share is `½ h·P⁻¹h - ½ log|P| + ½ log λ - ½ Σ_d (log 2πψ_d + E[(x - c)²]/ψ_d)`. So a new row
//!   costs one small system, and nothing is learned anew;
//! - columns, from the sums `A_d = Σ w_c E[z̃z̃ᵀ]`, `r_d = Σ w_c x E[z̃]`, `Σ w_c x²` over the rows that observe d: a Gaussian with
//!   precision `diag(α, β) + A_d/ψ_d` (the rows and columns of w and c) and mean that times `(r_d - A_db)/ψ_d + (0, βm)`;
//! - noise: `ψ_d = (E Σ w_c (x - l̃·z̃)² + ν ψ₀)/(n_d + ν)`, an inverse gamma prior of ν rows about `ψ₀`, the harmonic mean of all;
//! - `α_j = (D + 2a)/(Σ_d E[w_dj²] + 2a)`, which shuts factors off that columns do not need; β and λ likewise, with
//!   `a` small.
//!
//! **Predictions** are Gaussian with mean `E[l̃]·E[z̃]` and variance `ψ + E[l̃]ᵀ C_z E[l̃] + E[z̃]ᵀ C_l E[z̃] + tr(C_z C_l)`, the C being
//! the covariances: they are less sure of rows and of columns of which little is known.
//!
//! **Choices.** People rate what they chose to see, so that which columns a row observes speaks before any value does (SVD++ of Koren, 2008, has a term
//! like it). With [`BfaParams::chosen_rows`] κ above 0 the prior of a row's factors is `z_c ~ N(μ_c, I)`, `μ_c = Σ_{d∈O_c} v_d / √n_c` over the `n_c`
//! columns that it observes, with `v_dj ~ N(0, 1/κ)`. A row's h gains `μ_c` and its share of the bound `-½|μ_c|²`. The v are chosen, not averaged over: F depends on them by
//! `-½ Σ_c w_c |E[z_c] - μ_c|² - ½κ Σ_d |v_d|²`. All columns' moving together would be one large system; but with `r_c = E[z_c] - μ_c`
//! and steps `δ_d`, Jensen's inequality gives
//!
//! `|r_c - Σ_d δ_d/√n_c|² = |1/n_c Σ_d (r_c - √n_c δ_d)|² ≤ 1/n_c Σ_d |r_c - √n_c δ_d|²`,
//!
//! equal where nothing moves, and the right side falls apart by columns: `δ_d = (Σ_c w_c r_c/√n_c - κ v_d)/(Σ_c w_c + κ)` over the rows that observe d, which never lowers F.
//!
//! With [`BfaParams::ordinal`] a cell is not a number but a level that a latent number shows (`ordinal.rs`).

mod items;
mod kind;
mod learner;
mod model;
mod ordinal;

pub use kind::{BfaParams, fit};
pub(crate) use learner::BfaLearner;
pub use model::Bfa;
