//! Mixtures: a row is made by one of a number of components ([`gaussian`], [`student`]), or by
//! one of the paths through layers of them ([`deep`]).

pub mod deep;
pub mod gaussian;
pub mod student;

mod covariances;
mod degrees;
mod files;
mod full;
mod start;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use deep::{DeepGmm, DeepGmmParams};
pub use gaussian::{Covariance, Gmm, GmmParams};
pub use student::{Student, StudentParams};
