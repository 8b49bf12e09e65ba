//! The distribution of a field's states: marginals and the log of the normalising constant.
//!
//! | method | fields | answer |
//! |---|---|---|
//! | [`enumerate`] | small | exact |
//! | [`tree`] | without loops | exact |
//! | [`mean_field()`] | any | a lower bound on log Z, and the distribution that gives it |
//! | [`belief`] | any | an estimate, exact without loops |
//! | [`gibbs()`] | any | an estimate of the marginals |

mod belief;
mod enumerate;
mod gibbs;
mod mean_field;
mod tree;

pub use belief::{BeliefParams, belief, belief_best};
pub use enumerate::{enumerate, enumerate_best};
pub use gibbs::{GibbsParams, gibbs};
pub use mean_field::{MeanFieldParams, Order, mean_field};
pub use tree::{is_forest, tree, tree_best};
