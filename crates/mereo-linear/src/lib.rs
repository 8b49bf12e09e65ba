//! Linear models: a row is a sum of components. [`pca`] finds the directions of most variance,
//! [`factor`] gives them a density (probabilistic PCA, factor analysis), [`nmf`] allows nothing to
//! be subtracted. All of them look at observed cells only.

pub mod factor;
pub mod nmf;
pub mod pca;

mod blocks;
mod files;
mod gaussian;
mod params;
mod spectrum;
#[cfg(test)]
mod testing;

pub use factor::{Fa, FaParams, Ppca, PpcaParams, Rotation};
pub use nmf::{Loss, Nmf, NmfParams};
pub use pca::{Pca, PcaParams};

use mereo_core::Answer;

/// Answers to all that linear models ask of rows, wherever the rows are.
///
/// ```
/// let names: Vec<&str> = mereo_linear::answers().iter().map(|answer| answer.name()).collect();
/// assert_eq!(names, ["products", "all rows", "nmf negative cell", "nmf sides", "factor", "nmf"]);
/// ```
pub fn answers() -> Vec<Answer> {
    vec![
        Answer::task::<spectrum::SumsTask<f32>, spectrum::SumsTask<f64>>(),
        Answer::task::<spectrum::RowsTask<f32>, spectrum::RowsTask<f64>>(),
        Answer::task::<nmf::NegativeTask, nmf::NegativeTask>(),
        Answer::task::<nmf::SidesTask<f32>, nmf::SidesTask<f64>>(),
        Answer::pass::<factor::FactorLearner<f32>, factor::FactorLearner<f64>>(),
        Answer::pass::<nmf::NmfLearner<f32>, nmf::NmfLearner<f64>>(),
    ]
}
