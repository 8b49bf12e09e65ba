//! Generative vector quantisation: rows as sums of binary features.
//!
//! There are n features `f_i` and an origin o, and a row is said by which features are on in it:
//! `x ≈ o + Σ_i s_i f_i`, `s ∈ {0,1}^n`, so that n vectors make `2^n` codes. With M *sets* of features,
//! each with its origin, a row is made of the features of one set; sets of one feature are
//! codes two by two, and VQ is the case of many sets whose features do nothing. With `w_c` the
//! weight of row c, `O_c` the columns that it observes and λ the penalty on features, learning
//! lowers
//!
//! `E = Σ_c w_c min_{m,s} [ Σ_{d∈O_c} (x_cd - o_md - Σ_i s_i f_mid)² + λ Σ_i s_i ]`
//!
//! by turns:
//!
//! - *association*: each row takes the best set and state at these features
//!   ([`associate`](crate::associate); exact ones never raise E);
//! - *least squares*: at these states E is quadratic in a set's origin and features, with
//!   `∂E/∂(o,f) = 0` at `(Σ_c w_c a_c a_cᵀ) (o,f) = Σ_c w_c a_c x_cᵀ`, `a = (1, s)`: the statistics `SᵀS` and
//!   `SᵀX` are all that rows need to tell (`squares.rs` solves them, also if features are never used,
//!   always, or only together). A missing cell is missing from its column's equations.
//!
//! A feature that no row uses, or every row of its set, and a set without rows are given what the
//! worst explained rows lack; all sums that rows were made of remain possible, so that E does not
//! rise.
//!
//! As a density, `P(x) = Σ_{m,s} P(m) Π_i P(s_i|m) N(x; o_m + Σ_i s_i f_mi, σ² I)`, with the shares of rows
//! as `P(m)` and `P(s_i = 1|m)` and `σ²` the mean squared error of a cell.
//! [`Score`](mereo_core::Score) gives the term of the row's own code, a lower bound. The bound that
//! learning reports takes all codes as equally likely, N the weight of observed cells and C of rows:
//! `F = -(N/2)(log 2πE/N + 1) - C (log M + n log 2)`. It rises exactly when E falls and lies below
//! the sum of the scores: with a penalty the error alone is smaller than E, and shares explain the
//! states they were counted from better than equal ones.
//!
//! Binary data has its own module documentation, [`binary`].

pub mod binary;
mod eye;
mod fit;
mod kind;
mod learner;
mod model;
mod params;
pub(crate) mod sets;
mod squashed;
mod starts;
#[cfg(test)]
mod tests;

use mereo_core::Answer;

pub use fit::fit;
pub(crate) use fit::has_holes;
pub use kind::GvqOptions;
pub(crate) use learner::Units;
pub use model::Gvq;
pub use params::GvqParams;

/// The tasks and learners of this model.
pub(crate) fn answers() -> Vec<Answer> {
    vec![
        Answer::task::<fit::HolesTask, fit::HolesTask>(),
        Answer::task::<fit::BinaryTask, fit::BinaryTask>(),
        Answer::task::<eye::UsageTask, eye::UsageTask>(),
        Answer::pass::<learner::GvqLearner<f32>, learner::GvqLearner<f64>>(),
        Answer::pass::<binary::BinaryLearner, binary::BinaryLearner>(),
    ]
}
