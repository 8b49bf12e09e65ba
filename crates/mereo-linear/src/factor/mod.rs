//! Factor analysis and probabilistic PCA, over observed cells and with weights.
//!
//! A row is `x = μ + Wᵀz + ε`: N hidden numbers `z ~ N(0, I)`, loadings W, noise `ε ~ N(0, Ψ)` with
//! Ψ diagonal (factor analysis) or `σ²I` (probabilistic PCA). So x is Gaussian with mean μ and
//! covariance `WᵀW + Ψ`, and the density of observed cells is exact: `gaussian.rs` has its formula.
//! W is known up to a rotation of z. mereo returns it with loadings that are orthogonal (in units
//! of the noise for factor analysis), the strongest first, or rotated by [`Rotation::Varimax`].
//!
//! # Probabilistic PCA of complete rows
//!
//! has its maximum in closed form (Tipping and Bishop): with `λ_1 ≥ λ_2 ≥ …` the eigenvalues of
//! the rows' covariance and `v_i` its eigenvectors,
//! `σ² = Σ_{i>N} λ_i / (D - N)` and `w_i = √(λ_i - σ²) v_i`.
//!
//! # Everything else is EM
//!
//! Rows c count `w_c` times, `O_c` are the columns that c observes, and `y = x - μ` about the μ of
//! the state at hand. The E-step finds `P(z | x_O) = N(ẑ, M⁻¹)`, hence `E[z] = ẑ` and
//! `E[zzᵀ] = M⁻¹ + ẑẑᵀ`; write `z̃ = (z, 1)`, so that `δ`, by which μ moves, is one more loading.
//! In the expected log likelihood column d stands alone,
//!
//! `-½ Σ_{c: d∈O_c} w_c (log ψ_d + E[(y_cd - w̃_dᵀz̃_c)²]/ψ_d)`,
//!
//! and its derivatives vanish at
//!
//! `w̃_d = A_d⁻¹ r_d`, `A_d = Σ w_c E[z̃z̃ᵀ]`, `r_d = Σ w_c y_cd E[z̃]`,
//! `ψ_d = (Σ w_c y_cd² - w̃_dᵀ r_d) / Σ w_c`, sums over the rows that observe d;
//!
//! with noise that is shared, numerators and denominators are added up over the columns first. A
//! floor on the noise, relative to the column's variance, keeps the density proper; as a function
//! of `ψ_d` alone the expectation rises up to its optimum, so the larger of the two is best. The
//! sums are the statistics, and rows without holes have one M and one A for all columns.
//!
//! EM alone is slow here. The hidden numbers may be given a mean m and a covariance V of their own
//! without any change to what rows can look like; their estimates are those of `E[z]` and `E[zzᵀ]`
//! over all rows, and taking them into μ and W (`μ + Wᵀm`, `LᵀW` with `V = LLᵀ`) is a step of EM
//! for the larger model (parameter expansion: Liu, Rubin and Wu). The likelihood never falls, and
//! rises much faster.
//!
//! # Columns that few rows observe
//!
//! say little, and the loadings that fit those rows best predict nonsense of others. Where most cells are unknown each column is
//! therefore taken to have been seen in κ rows more, with the column's mean m and variance v (both drawn towards those of all columns:
//! [`Shrinkage`](mereo_core::slots::Shrinkage)) and hidden numbers that have nothing to do with it, `E[z] = 0` and `E[zzᵀ] = I`. Their expected log
//! likelihood, `-½ κ Σ_d (log ψ_d + ((m_d - μ_d)² + v_d + w_dᵀw_d)/ψ_d)`, is the logarithm of a conjugate prior (a ridge on loadings in units of the noise,
//! with normal means and inverse gamma noise). It only adds to the sums above: κ to the diagonal of `A_d`, `κ(m_d - μ_d)` to the last of `r_d`, `κ((m_d - μ_d)² + v_d)` to the squares and κ to the
//! weight. Log likelihood and prior together never fall. Parameter expansion changes the prior, so a share t of it is taken, `m_t = tm` and `V_t = I + t(V - I)`: the first
//! of 1, ½, ¼, ⅛ for which what hidden numbers gain, `½ Σ_c w_c (tr(V + mmᵀ) - log |V_t| - tr V_t⁻¹(V + (m - m_t)(m - m_t)ᵀ))`, and the change of the
//! prior are together not below 0.
//!
//! # Complete rows tell no more than their covariance
//!
//! For them the likelihood depends on the mean and the covariance `Σ_i λ_i v_i v_iᵀ` alone. With
//! more rows than columns the passes therefore go over a table of 2D rows `±√(D λ_i) v_i` that
//! count `n/2D` times each and have just that mean and covariance: the same likelihood, the same
//! passes, for the price of D rows.
//!
//! All of it happens in a frame: columns about their means, in units of their deviations (factor
//! analysis) or of one deviation for all (probabilistic PCA, which is not indifferent to units).

mod fit;
mod kind;
mod learner;
mod model;
mod params;
mod rotation;
#[cfg(test)]
mod tests;

pub(crate) use fit::principal;
pub use fit::{fit_fa, fit_ppca};
pub(crate) use learner::FactorLearner;
pub use model::{Fa, Ppca};
pub use params::{FaParams, PpcaParams, Rotation};
