//! Couplings from examples in which every variable was seen.
//!
//! The likelihood needs `log Z`, which cannot be had. Two ways around it:
//!
//! - *pseudo-likelihood* (Besag): `Σ_i log P(x_i | all others)`, whose normalisers are sums over one variable's
//!   labels. It is concave, and finds the truth as examples grow in number.
//! - *mean-field likelihood*: `log Z` as mean field sees it. Its gradient is the statistics of the examples
//!   less those of mean field, covariances being how its means answer to biases.

mod differences;
mod golden;
mod machine;
mod potts;

pub use differences::differences_pseudo_likelihood;
pub use golden::golden;
pub use machine::{mean_field_likelihood, pseudo_likelihood};
pub use potts::{LabelPicture, PottsCoupling, potts_mean_field, potts_pseudo_likelihood};
