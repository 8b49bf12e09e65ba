//! The mixture of Gaussians, over observed cells and with weights.
//!
//! A row is made by one of N components, j with probability `b_j`, and is then Gaussian with the
//! component's mean `μ_j` and covariance `Σ_j`. Columns that a row does not observe integrate to 1, so
//! with `O` the columns that it does, `P(x_O) = Σ_j b_j N(x_O; μ_jO, Σ_jOO)`.
//!
//! Learning is EM, the rows c counting `w_c` times. For any distributions `r_c` over components
//!
//! `F = Σ_c w_c Σ_j r_cj [log b_j + log N(x_cO; μ_jO, Σ_jOO) - log r_cj]`
//!
//! lies below `L = Σ_c w_c log P(x_c)` and meets it at the posteriors. One pass sets `r_cj ∝ b_j N(x_cO;
//! μ_jO, Σ_jOO)`, whose normaliser is `P(x_c)`, so that the pass knows the exact L of the model that it
//! looks with: this is the bound it reports. Then it sets the derivatives of F to zero. Always
//! `b_j = Σ_c w_c r_cj / Σ_c w_c`, and the rest depends on what covariances may be:
//!
//! - *diagonal*: `μ_jd`, `σ²_jd` are the mean and variance of column d over the rows that observe it,
//!   each counting `w_c r_cj` times (`learner.rs`, on the slots kernel);
//! - *spherical*: the same with one variance for all columns, in the data's units: the mean of the
//!   squared differences of all cells;
//! - *full*: missing cells are hidden causes too, known by their expectation and covariance under
//!   each component (`full/`). With `m_j` and `S_j` the expected first and second moments of complete
//!   rows, `μ_j = m_j / n_j`, and the free covariance is `C_j = S_j / n_j - μ_j μ_jᵀ`;
//!   Where components have few rows, covariances may be drawn towards one that they have in common
//!   (shrinkage, `covariances.rs`); the bound is then L less what that takes off;
//! - *tied*: one covariance, `Σ_j n_j C_j / Σ_j n_j`;
//! - *low rank*: `Σ_j = Λ_jΛ_jᵀ + Ψ_j` with K factors, a mixture of factor analysers: a few steps of factor
//!   analysis of `C_j` (`covariances.rs`).
//!
//! Variances have a floor relative to their column's variance; covariances have one for every
//! direction, columns in units of their deviations. The best Σ above the floor is known
//! (`covariances.rs`), so L never falls from pass to pass.
//!
//! Where most cells are unknown, diagonal and spherical components are drawn towards the columns' means and variances by a few rows
//! more (`shrinkage`, see [`mereo_core::slots::Shrinkage`]); the bound is then L plus the logarithm of that prior.
//!
//! *Hard* EM gives each row to its likeliest component alone, and the bound it reports and raises is
//! `Σ_c w_c max_j log b_j N(x_c; μ_j, Σ_j)`. What a bound other than L ends at says nothing to criteria such as
//! AIC and BIC, so L itself is then found by one pass more (`likelihood.rs`).
//!
//! In single precision, the distance of a row in a column whose variance is a share f of the whole column's
//! is off by some `1e-7/f`: at the floor, about `1e-4` nats. Near the end bounds of diagonal and spherical components
//! may therefore go up and down by that much, which the pass says in its notes. Sums for covariances are kept
//! in double precision where that is needed (`full/`).
//!
//! Columns of counts and words are Poisson and categorical in a diagonal or spherical component, exactly and in the same
//! products ([`mereo_core::slots`]): a mixture of words alone is latent class analysis.
//!
//! The start is k-means on a sample of the rows, each column in units of its own deviation, then
//! the variances of its clusters. A component that has come to explain almost nothing is seeded
//! anew from a row that the mixture explains badly; that pass says so in its notes, and it alone
//! may cost up to a nat or so, as the new component takes its share from the others.

mod fit;
mod kind;
mod learner;
mod model;
mod params;
mod predict;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use kind::GmmOptions;
pub(crate) use learner::GmmLearner;
pub use model::Gmm;
pub(crate) use model::Spread;
pub use params::{Covariance, GmmParams};
pub(crate) use params::{check_numbers, check_size};
