//! What some models are made of beside parts and components: binary features, layers.

use super::DynModel;
use crate::{Batch, Result};

/// A model whose rows are sums of binary features, each there or not; with several sets a row is
/// made of the features of one of them.
pub trait Features: Sync {
    /// Number of sets, M.
    fn sets(&self) -> usize;

    /// Number of features of each set, n.
    fn features(&self) -> usize;

    /// What each feature adds, `[M, n, D]`.
    fn feature(&self) -> &[f64];

    /// What features are added to, `[M, D]`.
    fn origin(&self) -> &[f64];

    /// How often each feature is there, `[M, n]`.
    fn usage(&self) -> &[f64];

    /// How common each set is, `[M]`.
    fn set_prior(&self) -> &[f64];

    /// What a row with these features of a set looks like; feature i is there if bit i is set.
    fn appearance(&self, set: usize, state: u64) -> Vec<f64>;

    /// Calls `visit(row, set, features)` for every row of a batch.
    fn for_each_state(&self, batch: &Batch<'_, f64>, visit: &mut dyn FnMut(usize, usize, u64));

    /// The same model with only this many features of each set, those that matter most.
    fn strongest(&self, features: usize) -> Box<dyn DynModel>;

    /// The same model whose rows find their features in another way, by its name.
    fn with_association(&self, name: &str) -> Result<Box<dyn DynModel>>;
}

/// A model whose rows are made by a path through layers of components.
pub trait Layers: Sync {
    /// Components of each layer, the top one first.
    fn sizes(&self) -> &[usize];

    /// What the transforms of a layer may be, in a word.
    fn layer_kind(&self, layer: usize) -> &'static str;

    /// How common each component of a layer is.
    fn usage(&self, layer: usize) -> Vec<f64>;

    /// How common each path is.
    fn path_weight(&self) -> &[f64];

    /// The mean of the rows of each path, `[paths, D]`.
    fn path_mean(&self) -> &[f64];

    /// One draw from the top, as each component of a layer would have it, the rest of the path being the
    /// likeliest: `[components, D]`.
    fn variations(&self, layer: usize, draw: &[f64]) -> Vec<f64>;
}
