//! Vector quantisation by k-means, over observed cells and with weights.
//!
//! J means stand for all rows; a row's code is the mean nearest to it. With `O_c` the columns that
//! row c observes, `w_c` its weight and N the weight of all observed cells, learning lowers the
//! mean squared distance of an observed cell from its code, the *distortion*
//!
//! `E = (1/N) Σ_c w_c min_j Σ_{d∈O_c} (x_cd - μ_jd)²`,
//!
//! by turns (Lloyd), after means were spread over the rows (greedy k-means++):
//!
//! - each row chooses its nearest mean, which no other choice beats at these means. Missing
//!   cells are missing from every mean's distance alike, so distances stay comparable;
//! - each mean becomes the weighted mean of its rows, column by column over those that observe
//!   the column: `∂E/∂μ_jd = 0` at `μ_jd = Σ w x / Σ w`. A mean that no row chose moves to a row
//!   far from all means, which changes nobody's nearest distance for the worse.
//!
//! Neither turn raises E, and there are finitely many choices, so it ends. Where a pass lowers E by less than a thousandth, the
//! five means that are missed least are moved beside the five of the largest error, and stay there if eight passes
//! lower E; each time they do not, one fewer is moved. So the end depends little on the start.
//!
//! As a density the model is the mixture of spherical Gaussians that k-means is a limit of,
//!
//! `P(x) = Σ_j b_j N(x; μ_j, σ² I)`,
//!
//! `b_j` the share of rows whose code is j and `σ²` the final distortion (or its floor, so that it
//! stays a density when every row is a mean). [`Score`](mereo_core::Score) gives its logarithm
//! over the observed cells, exactly. The bound that learning reports takes each row's own code
//! instead of the sum and all codes as equally likely:
//! `F = -(N/2)(log 2πE + 1) - Σ_c w_c log J`, which rises exactly when E falls and lies below
//! `Σ_c w_c log P(x_c)`: dropping terms of a sum lowers it, and shares `b` explain the codes they
//! were counted from better than equal ones.

mod fit;
mod kind;
mod model;
mod params;
#[cfg(test)]
mod tests;

pub use fit::fit;
pub use model::Vq;
pub use params::VqParams;
