//! Boltzmann machines and discrete random fields.
//!
//! A field is a graph of variables with a few labels each: numbers say how likely each label is by itself,
//! tables how well labels of neighbours go together. This crate asks such fields for their marginals and
//! normalising constant ([`infer`]) and for their most probable state ([`decide`]), and every answer says
//! whether it is exact, a bound, or an estimate.
//!
//! ```
//! use mereo_core::Context;
//! use mereo_field::{Boltzmann, decide, infer};
//!
//! // Four variables in a ring that would rather agree, and the first would rather be 1.
//! let ring = [(0, 1, 0.5), (1, 2, 0.5), (2, 3, 0.5), (3, 0, 0.5)];
//! let field = Boltzmann { bias: vec![0.5, 0.0, 0.0, 0.0], edges: ring.to_vec() }.field()?;
//!
//! let exact = infer::enumerate(&field)?;
//! let mean = infer::mean_field(&field, None, &Default::default(), &Context::new(0))?;
//! assert!(mean.log_z <= exact.log_z); // a bound
//! assert_eq!(decide::cut(&field)?.labels, [1, 1, 1, 1]); // exact
//! # Ok::<(), mereo_core::Error>(())
//! ```

pub mod decide;
pub mod denoise;
pub mod divergence;
pub mod infer;
pub mod learn;
pub mod picture;

mod answer;
mod ask;
mod boltzmann;
mod field;
mod file;
mod flow;
mod grid;
mod messages;
mod pairwise;
mod regression;
#[cfg(test)]
mod testing;

pub use answer::{Decided, Inferred, Kind, Marginals};
pub use ask::{Answer, Method, ask};
pub use boltzmann::Boltzmann;
pub use field::{Field, Given};
pub use file::FieldFile;
pub use grid::{Coupling, Grid, Neighbours, Unary, Weights, grid_cut, grid_mean_field, levels};
pub use pairwise::{Link, Pairwise};
pub use regression::Regression;
