//! Cooperative vector quantisation: rows as sums of one vector from each of K codebooks.
//!
//! Each of K quantisers ("parts") adds one of its J vectors, `x ≈ Σ_k μ_{k,s_k}` (Hinton and Zemel;
//! Ghahramani, *Factorial learning and the EM algorithm*, 1995). With Gaussian noise,
//!
//! `P(x) = Σ_s Π_k b_{k,s_k} N(x; Σ_k μ_{k,s_k}, σ² I)`,
//!
//! the posterior over the `J^K` codes couples all parts. Over the columns that a row observes, with
//! `m_kj` the responsibility of state j in part k, three ways of [`Inference`] are:
//!
//! - *mean field*: of all `Q(s) = Π_k m_{k,s_k}` the one that maximises the bound
//!   `F = Σ_c [ -Σ_kj m log(m/b) - (1/2σ²) E_Q‖x - Σ_k μ_{k,s_k}‖² - (D_c/2) log 2πσ² ]`,
//!   by sweeps over the parts: `∂F/∂m_k = 0` at
//!   `m_kj ∝ b_kj exp(-(‖μ_kj‖² - 2 μ_kj·(x - Σ_{l≠k} Σ_i m_li μ_li))/2σ²)`;
//! - *Gibbs*: parts are drawn in turn from the same formula with the other parts' states in place of
//!   their means, and responsibilities are the shares of sweeps that showed a state;
//! - *local search*: the one code of least `‖x - Σ_k μ‖²` that changes of one part and of two at once,
//!   kicked out of local minima, find: noise goes to nothing, m is 0 or 1, and the bound that learning reports takes
//!   all states as equally likely.
//!
//! The M-step is least squares. Part vectors add up to `E‖x - Σ_kj s_kj μ_kj‖²` with
//! `E s_kj = m_kj`, `E s_kj s_kj' = m_kj [j = j']` and `E s_kj s_li = m_kj m_li` between parts: normal equations
//! (`squares.rs`), singular by nature (a constant may move from one part to another), hence solved
//! for the shortest vectors. `σ²` is the mean expected square, `b` the mean responsibilities.
//!
//! With K = 1 it is VQ (local search) or a spherical mixture (mean field).

mod fit;
mod kind;
mod learner;
mod model;
mod params;
mod sums;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use model::Cvq;
pub use params::{CvqParams, Inference};

/// The learner of this model.
pub(crate) fn answer() -> mereo_core::Answer {
    mereo_core::Answer::pass::<learner::CvqLearner<f32>, learner::CvqLearner<f64>>()
}
