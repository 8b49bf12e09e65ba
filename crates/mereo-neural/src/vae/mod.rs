//! Variational auto-encoders: a density whose rows are decoded from normal numbers.
//!
//! A row is made by drawing a code `z ~ N(0, I)` of k numbers and then its cells, each by itself, from what the
//! decoder D says of z: `N(D(z)_d, v_d)`, or a Bernoulli of log odds `D(z)_d`; in tables a count is Poisson and a word has the
//! probability of its level (`layout.rs`). The encoder gives, for a row x, the
//! normal `q(z|x) = N(μ(x), diag σ²(x))` that stands for the posterior. For any q
//!
//! `log p(x) = E_q[log p(x|z) + log p(z) - log q(z|x)] + KL(q ‖ p(z|x)) ≥ E_q[log p(x|z)] - KL(q ‖ p(z))`,
//!
//! and between normals `KL(q ‖ p(z)) = ½ Σ_i (σ_i² + μ_i² - 1 - log σ_i²)`. Draws are written `z = μ + σu`, `u ~ N(0, I)`,
//! so that they have slopes: with g the gradient of `log p(x|z)` by z, averaged over the draws,
//!
//! `∂/∂μ = g - μ`, `∂/∂ log σ² = ½ g σ u - ½ (σ² - 1)`.
//!
//! **Importance-weighted bound.** With K draws and `w_k = p(x|z_k) p(z_k) / q(z_k|x)`, Jensen's inequality gives
//! `E log (1/K) Σ w_k ≤ log p(x)`, tighter as K grows (K = 1 is the bound above). Its gradient is `Σ_k w̃_k ∇ log w_k` with
//! `w̃_k = w_k / Σ w`; and `log w_k = log p(x|z_k) - ½ z_k² + ½ u_k² + ½ log σ²`, summed over the code, has slopes
//! `g - z` by z and ½ by `log σ²`. The same average over many draws *estimates* the density, with a standard error
//! from the spread of the weights.
//!
//! **Weighting.** The two terms of the bound pull against each other, and early on the prior wins: codes fall
//! silent. So the reconstruction may weigh more at first: its weight is `1/β` with β rising to 1 over the first
//! passes (`warm`), which is the bound with its KL term times β, up to the length of steps.
//!
//! **Missing cells** are no part of `log p(x|z)`, and 0 (the mean) on the way into the encoder: what is learned is a
//! bound on the density of the observed cells. A hidden cell is filled by its mean given the observed ones,
//! `Σ_k w̃_k E[x_d|z_k]`, by draws weighted as above.
//!
//! **Single cells.** Draws of a row's code are slots, each with a look in every column and a weight, so that what a cell
//! may be is `Σ_k w̃_k p(x_d|z_k)`. A cell that is observed is predicted from the others by taking it out of the weights, `w_k /
//! p(x_d|z_k)`.
//!
//! **Variances** of a Gaussian decoder are learned, one a column: with `v = f + e^l`, f a floor,
//! `∂/∂l = ½ ((x - D)²/v² - 1/v) e^l`; or they are 1, in the data's units.
//!
//! **Grey cells.** A Bernoulli gives a grey cell no probability. With `binarise` a cell from 0 to 1 is the chance of
//! a 1, drawn anew at every pass (and once for a score); without, grey cells are refused.

mod fit;
mod kind;
mod layout;
mod learner;
mod model;
mod params;
mod predict;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use model::Vae;
pub use params::{DecoderKind, VaeParams, Variance};
