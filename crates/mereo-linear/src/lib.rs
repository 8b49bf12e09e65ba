//! Linear models: a row is a sum of components. [`pca`] finds the directions of most variance,
//! [`factor`] gives them a density (probabilistic PCA, factor analysis), [`nmf`] allows nothing to
//! be subtracted. All of them look at observed cells only.

pub mod factor;
pub mod nmf;
pub mod pca;

mod blocks;
mod files;
mod gaussian;
mod params;
mod spectrum;
#[cfg(test)]
mod testing;

pub use factor::{Fa, FaParams, Ppca, PpcaParams, Rotation};
pub use nmf::{Loss, Nmf, NmfParams};
pub use pca::{Pca, PcaParams};
