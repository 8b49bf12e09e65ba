//! The mixture of Student's t distributions, over observed cells and with weights: Gaussians whose
//! rows differ in how far they scatter.
//!
//! A row is made by one of N components and has a precision u of its own: given the component j,
//! `u ~ χ²(ν_j)/ν_j` and `x ~ N(μ_j, Σ_j/u)`. With u integrated out x is Student's t with `ν_j` degrees of
//! freedom; `full/` has the density, and every part of a row is Student's t again, so that missing
//! cells are left out of it. The fewer degrees of freedom, the more rows lie far out; with many the
//! component is Gaussian.
//!
//! Learning is EM with two kinds of hidden causes, components and precisions. Given row and component
//! u is a gamma variable, with δ the squared distance of the observed cells O:
//!
//! `E[u] = (ν+|O|)/(ν+δ)`, `E[log u] = log E[u] + digamma(½(ν+|O|)) - log ½(ν+|O|)`.
//!
//! A pass finds responsibilities r and these expectations. Given them, rows are Gaussian and count
//! `r E[u]` times, so `μ = Σ r u x̂ / Σ r u`, and the covariance is that of a Gaussian component, with
//! `Σ r u` in place of its number of rows: this is a step of EM for the larger model in which
//! precisions may have a mean other than 1 (parameter expansion: Liu, Rubin and Wu), and it
//! converges faster than with `Σ r`. The expectation in ν is then
//!
//! `n [½ν log ½ν - log Γ(½ν)] + ½ν (Σ r E[log u] - n log(Σ r E[u]/n) - n)`,
//!
//! whose derivative falls in ν: its zero is found by halving (`degrees.rs`). Where the floor of
//! covariances holds, the model is not expanded, so that the bound, which is the exact log
//! likelihood, never falls.

mod fit;
mod kind;
mod model;
mod params;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use model::Student;
pub use params::StudentParams;
