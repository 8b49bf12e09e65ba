//! Models of data as parts with states. A parts model is gate x appearance x prior: the
//! [`gate`] says which part explains each column and is written once; the appearance is how a
//! part looks: a quantiser with a Gaussian a state ([`mcvq`]), or a factor analyser ([`mcfa`]);
//! the prior over states is independent or conditioned on a class ([`Classes`]).

mod classes;
mod entropic;
#[cfg(test)]
mod fixtures;
pub mod gate;
mod likelihood;
pub mod mcfa;
pub mod mcvq;
mod options;
mod per_row;
mod seed;
mod starts;

pub use classes::Classes;
pub use gate::Gate;
pub use mcfa::{Mcfa, McfaOptions, McfaParams};
pub use mcvq::{Engine, EngineChoice, GrowingRow, Mcvq, McvqOptions, McvqParams, StartKind};
pub use options::GateChoice;

/// The learners of this crate, to be answered where rows are.
///
/// ```
/// let names: Vec<_> = mereo_parts::answers().iter().map(|answer| answer.name()).collect();
/// assert_eq!(names, ["mcvq", "mcfa"]);
/// ```
pub fn answers() -> Vec<mereo_core::Answer> {
    use mcfa::McfaLearner;
    use mcvq::McvqLearner;
    use mereo_core::Answer;
    vec![
        Answer::pass::<McvqLearner<f32>, McvqLearner<f64>>(),
        Answer::pass::<McfaLearner<f32>, McfaLearner<f64>>(),
    ]
}
