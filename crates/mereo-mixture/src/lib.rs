//! Mixtures: a row is made by one of a number of components ([`gaussian`]).

pub mod gaussian;

pub use gaussian::{Gmm, GmmParams};
