//! Models of data as parts with states. A parts model is gate x appearance x prior: the
//! [`gate`] says which part explains each column and is written once; the appearance is how a
//! part appearance: a quantiser with a Gaussian a state ([`mcvq`]), or a factor analyser ([`mcfa`]);
//! the prior over states is independent or conditioned on a class ([`Classes`]).

mod classes;
mod entropic;
#[cfg(test)]
mod fixtures;
pub mod gate;
mod likelihood;
pub mod mcfa;
pub mod mcvq;
mod per_row;
mod seed;
mod starts;

pub use classes::Classes;
pub use gate::Gate;
pub use mcfa::{Mcfa, McfaParams};
pub use mcvq::{Engine, Mcvq, McvqParams, StartKind};
