//! The Gaussian aspect model (Hofmann), by tempered EM.
//!
//! There are N aspects, tastes say, and every row c has shares `θ_c` of them. Each of its cells chooses an aspect
//! by these shares and is then Gaussian as the aspect has that column:
//!
//! `P(x_c | θ_c) = Π_{d observed} Σ_z θ_cz N(x_cd; μ_zd, σ²_zd)`.
//!
//! Unlike in a mixture, cells of one row may come from different aspects. The shares of a row are numbers to
//! be found, not hidden causes with a prior, so there is no density of rows.
//!
//! **Tempered EM.** With an inverse temperature `0 < β <= 1` and responsibilities `r_cdz` what is made large is
//!
//! `F = Σ_c w_c { Σ_d Σ_z r [log θ_cz + log N(x_cd; μ_zd, σ²_zd)] - (1/β) Σ_d Σ_z r log r + s Σ_z log θ_cz } + log prior`,
//!
//! the log likelihood at β = 1; below, responsibilities are kept from being too sure, which fits rows less closely.
//! The derivatives vanish at `r_cdz ∝ (θ_cz N(x_cd))^β`, where the first two terms are `(1/β) Σ_d log Σ_z (θ_cz N)^β`, and at
//! `θ_cz ∝ Σ_d r_cdz + s` (s smooths). Given the aspects a row's F is concave in its shares (a logarithm of a sum
//! of concave powers), so wherever one begins these two steps end at the same shares: they are found anew at every pass, and a row
//! that was never seen is understood just as those learned from.
//!
//! **Aspects.** Each column of each aspect is taken to have been seen in κ more rows, with the column's mean (itself drawn
//! towards that of all cells) and the variance v₀ of a cell: a conjugate prior, which adds
//! `-κ Σ_zd [½ log 2πσ² + ((m₀ - μ)² + v₀)/2σ²]` to F. Hence `μ_zd = (Σ w r x + κ m₀)/(Σ w r + κ)` and
//! `σ²_zd = (Σ w r x² + κ(m₀² + v₀))/(Σ w r + κ) - μ_zd²`. Columns that few rows observe stay near their mean.

mod kind;
mod learner;
mod model;

pub use kind::{AspectParams, fit};
pub(crate) use learner::AspectLearner;
pub use model::Aspect;
