//! Principal component analysis, over observed cells and with weights.
//!
//! Of all N-dimensional planes, the one through the mean μ of the rows along the eigenvectors
//! `v_1 … v_N` of their covariance with the largest eigenvalues `λ_i` is closest to the rows: the
//! mean squared distance is what is left of the variance, `Σ_{i>N} λ_i`. A row's code is its place
//! in that plane, `z_i = v_iᵀ(x - μ)`, or with *whitening* `z_i/√λ_i`, whose variances are 1; the
//! reconstruction is `μ + Σ_i v_i v_iᵀ(x - μ)`. Covariances are those of a sample: divided by one
//! less than the weight of all rows. Each component's entry of largest magnitude is positive.
//!
//! How the eigenvectors are found (from the covariance, from the Gram matrix of the rows, or by
//! random projections) stands in `spectrum.rs`.
//!
//! **Missing cells.** PCA is the maximum of the likelihood of probabilistic PCA (see
//! [`factor`](crate::factor)) for complete rows. With cells missing its components are those
//! of that maximum, found by EM over the observed cells. The code of a row with holes is that of the
//! row with its missing cells replaced by their expectations under that density, whose noise σ² is
//! the mean variance beside the plane. Scores and samples are that density's too.

mod fit;
mod kind;
mod model;
mod params;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use model::Pca;
pub use params::PcaParams;
