//! User rating profiles (Marlin): latent Dirichlet allocation for ratings.
//!
//! There are N profiles, each with probabilities `β_zdl` of every level l of the scale in every column d. A row draws
//! its shares of them, `θ ~ Dirichlet(α)`; each of its cells draws a profile `z ~ θ` and then a level by `β_zd`:
//!
//! `P(x) = ∫ Dir(θ; α) Π_{d observed} Σ_z θ_z β_{z d x_d} dθ`.
//!
//! **Rows.** The posterior is approximated by `Dir(θ; γ) Π_d φ_dz`. With `E_z = ψ(γ_z) - ψ(Σγ)` the bound on a row's log
//! probability is largest at `φ_dz ∝ exp(E_z) β_{z d x_d}` and `γ_z = α_z + Σ_d φ_dz`, and with φ put in it is
//!
//! `F = log Γ(Σα) - Σ log Γ(α_z) - log Γ(Σγ) + Σ log Γ(γ_z) + Σ_z (α_z - γ_z) E_z + Σ_d log Σ_z exp(E_z) β_{z d x_d}`.
//!
//! The two are taken in turn from even shares until they rest, at every pass anew: a new row is
//! understood as those learned from are.
//!
//! **Profiles.** `β_zdl ∝ Σ_c w_c φ_cdz [x_cd = l] + κ p_dl`: each column of each profile is taken to have been seen in κ
//! rows more, with the levels as common as in the column (itself drawn towards all columns), which adds
//! `κ Σ p_dl log β_zdl` to F. **The prior** α maximises `W [log Γ(Σα) - Σ log Γ(α_z)] + Σ_z α_z Σ_c w_c E_cz`, by Newton's
//! steps whose matrix is diagonal but for a constant, halved until they rise.
//!
//! Cells that take more than 32 values are no levels and are cut into ten steps of equal width.

mod kind;
mod learner;
mod model;

pub use kind::{UrpParams, fit};
pub(crate) use learner::UrpLearner;
pub use model::Urp;
