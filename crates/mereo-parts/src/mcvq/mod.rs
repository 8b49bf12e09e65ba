//! Multiple cause vector quantisation (Ross and Zemel).
//!
//! A row `x` of D columns is made by K parts. Each part k shows one of its J states, `s_k` with
//! probability `b_kj`; each column is made by one part, k with probability `a_dk`, and is then
//! Gaussian with that state's mean and variance in that column:
//!
//! `P(x, r, s) = Π_k b_{k s_k} Π_d a_{d r_d} N(x_d; μ_{r_d s_{r_d} d}, σ²_{r_d s_{r_d} d})`.
//!
//! Learning is variational EM with `q(r, s | x) = Π_d g_{d r_d} Π_k m_{k s_k}`, the gate `g` tied
//! to be the same for all rows. With `ε = ½ log σ² + (x-μ)²/(2σ²)` the bound on `Σ_c log P(x^c)`,
//! over observed cells only, is
//!
//! `F = Σ_c [ -Σ_d Σ_k g log(g/a) - Σ_kj m log(m/b) - Σ_dkj g m ε - (D_c/2) log 2π ]`.
//!
//! Setting derivatives to zero under the constraints that distributions add up to 1 gives
//!
//! - codes: `m_kj ∝ b_kj exp(-Σ_d g_dk ε_dkj)`; put back, row c's share of F is
//!   `Σ_k log Σ_j b_kj exp(-Σ_d g_dk ε_dkj) - (D_c/2) log 2π - Σ_d KL(g_d ‖ a_d)`;
//! - `b_kj`: the mean of `m_kj` over rows;
//! - `μ, σ²`: mean and variance of the rows that observe d, each counting `m_kj` times (the gate
//!   cancels, as it does not depend on the row);
//! - where most cells are unknown, each column of each state is taken to have been seen in κ rows more, and the gate is softened:
//!   see [`mereo_core::slots::Shrinkage`] and [`crate::gate`];
//! - the gate: see [`crate::gate`].
//!
//! With gates of single rows ([`crate::Gate::Factorised`]) `g` and its divergence stand inside the
//! sum over rows, means and variances weigh rows by `g^c_dk m_kj`, and `a` is the mean of `g^c`: see
//! `per_row.rs`. With samples of `r` and `s` in their places it is Monte Carlo EM
//! ([`Engine::Gibbs`]): sampling `r` given `s` and `s` given `r` in turn, each from its exact
//! conditional.
//!
//! Columns of counts and words have other densities than Gaussian in a state, Poisson and categorical, and `-log P(x | state)` in the
//! place of ε: [`mereo_core::slots`] has their features, natural parameters and M-steps, with pseudo-rows that keep shares above 0.
//!
//! One pass does them in this order; each raises F, so F never falls at a fixed variance floor.

mod classes;
mod file;
mod fit;
mod kind;
mod learner;
mod model;
mod model_rows;
mod online;
mod params;
mod predict;
mod rows;
mod size;
mod starts;
#[cfg(test)]
mod tests;
mod tidy;

pub use fit::fit;
pub use kind::{EngineChoice, McvqOptions};
pub(crate) use learner::McvqLearner;
pub use model::Mcvq;
pub(crate) use model::Tensors;
pub use online::GrowingRow;
pub use params::{Engine, McvqParams, StartKind};
pub use size::{SizeRule, SizeSearch, choose_size};
