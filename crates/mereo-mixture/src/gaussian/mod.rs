//! The mixture of Gaussians with diagonal covariances, over observed cells and with weights.
//!
//! A row is made by one of J components, j with probability `b_j`, and is then Gaussian with the
//! component's mean and variance in each column, independently. Columns that a row does not
//! observe integrate to 1, so with `O` the columns that it does
//!
//! `P(x_O) = Σ_j b_j Π_{d∈O} N(x_d; μ_jd, σ²_jd)`.
//!
//! Learning is EM, the rows c counting `w_c` times. For any distributions `r_c` over components
//!
//! `F = Σ_c w_c Σ_j r_cj [log b_j + Σ_{d∈O_c} log N(x_cd; μ_jd, σ²_jd) - log r_cj]`
//!
//! lies below `L = Σ_c w_c log P(x_c)` and meets it at the posteriors. One pass
//!
//! - sets `r_cj ∝ b_j Π_{d∈O_c} N(x_cd; μ_jd, σ²_jd)`, whose normaliser is `P(x_c)`, so that the
//!   pass knows the exact L of the model that it looks with: this is the bound it reports;
//! - sets the derivatives of F to zero: `b_j = Σ_c w_c r_cj / Σ_c w_c`, and `μ_jd`, `σ²_jd` the
//!   mean and variance of column d over the rows that observe it, each counting `w_c r_cj` times.
//!
//! Variances have a floor relative to their column's variance. As a function of one variance alone
//! F rises up to its free optimum and falls beyond, so the larger of optimum and floor is the
//! best that the floor allows, and L never falls from pass to pass.
//!
//! The start is k-means on a sample of the rows, each column in units of its own deviation, then
//! the variances of its clusters. A component that has come to explain almost nothing is seeded
//! anew from a row that the mixture explains badly; that pass says so in its notes, and it alone
//! may cost up to a nat or so, as the new component takes its share from the others.

mod fit;
mod learner;
mod model;
mod params;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use model::Gmm;
pub use params::GmmParams;
