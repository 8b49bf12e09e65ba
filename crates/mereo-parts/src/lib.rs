//! Models of data as parts with states. A parts model is gate x appearance x prior: the
//! [`gate`] says which part explains each column and is written once; the appearance is how a
//! part looks, here a quantiser with a Gaussian a state ([`mcvq`]).

mod entropic;
#[cfg(test)]
mod fixtures;
pub mod gate;
pub mod mcvq;
mod per_row;
mod seed;

pub use gate::Gate;
pub use mcvq::{Engine, Mcvq, McvqParams};
