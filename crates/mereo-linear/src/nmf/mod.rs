//! Non-negative matrix factorisation, over observed cells and with weights.
//!
//! Rows of non-negative numbers are sums of N non-negative components W (`[N, D]`), each as much as
//! a non-negative code says: `x_c ≈ x̂_c = Σ_j h_cj w_j`. Nothing is ever subtracted, so components
//! tend to be parts. What is made small is, over the observed cells and with rows counting `w_c`
//! times, either
//!
//! - [`Loss::Kl`], the divergence `Σ w_c (x log(x/x̂) - x + x̂)`, that of Poisson counts; or
//! - [`Loss::Frobenius`], half the squared error, `½ Σ w_c (x - x̂)²`.
//!
//! Neither is a log likelihood of rows (codes have no prior), so there are no scores and no
//! samples; the bound that learning raises is minus the loss, cells measured in units of their mean.
//!
//! # KL: multiplicative updates
//!
//! By the concavity of the logarithm, for shares `s_j = h_j w_jd/x̂_d` of the present x̂,
//! `log x̂_d' ≥ Σ_j s_j log(h_j' w_jd/s_j)`, with equality at present. Setting the derivative of the loss
//! with that in it to zero gives (Lee and Seung), sums over observed cells,
//!
//! `h_j ← h_j (Σ_d w_jd x_d/x̂_d) / (Σ_d w_jd)`, `w_jd ← w_jd (Σ_c w_c h_cj x_cd/x̂_cd) / (Σ_c w_c h_cj)`,
//!
//! and neither step can raise the loss. A pass updates the codes of each row, then adds up the
//! numerators and denominators of W. Where x is 0 only denominators count, so a table of counts is
//! visited where it stores something and nowhere else.
//!
//! # Frobenius: coordinates in turn
//!
//! With all else fixed the loss is a parabola in each `h_j`, and in each row `w_j`:
//! `h_j ← max(0, h_j + (Wx - WWᵀh)_j/(WWᵀ)_jj)`, and with the sums `A = Σ w_c h_c h_cᵀ`, `B = Σ w_c h_c x_cᵀ`
//! that the rows tell, `w_j ← max(0, w_j + (B - AW)_j/A_jj)` (hierarchical alternating least squares).
//! If cells are missing, the parabola of `h_j` is over those that are observed; and for W, whose sums
//! would be one A for every column, Lee and Seung's step is taken instead:
//! `w_jd ← w_jd (Σ_c w_c h_cj x_cd)/(Σ_c w_c h_cj x̂_cd)`, again over the rows that observe d.
//!
//! # Codes are remembered
//!
//! from pass to pass, as long as they fit in memory, and a checkpoint holds them; otherwise each
//! pass finds them anew from the components.
//!
//! # Starts
//!
//! The first is the non-negative double singular value decomposition (Boutsidis and Gallopoulos):
//! of each pair of singular vectors the positive or the negative parts, whichever have the larger
//! product of lengths, with a hundredth of the mean where they have nothing, since nothing would
//! stay nothing. Further restarts are random.

mod fit;
mod kernels;
mod kind;
mod learner;
mod model;
mod params;
mod rows;
mod starts;
#[cfg(test)]
mod tests;

pub(crate) use fit::NegativeTask;
pub use fit::fit;
pub(crate) use learner::NmfLearner;
pub use model::Nmf;
pub use params::{Loss, NmfParams};
pub(crate) use starts::SidesTask;
