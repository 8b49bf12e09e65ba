//! The most probable joint state of a field, the one of least energy.
//!
//! | method | fields | answer |
//! |---|---|---|
//! | [`cut()`] | two labels, neighbours that rather agree | exact |
//! | [`infer::tree_best`](crate::infer::tree_best) | without loops | exact |
//! | [`program::integer`] | small | exact |
//! | [`program::linear`] | small | a bound, exact if it comes out whole |
//! | [`trws()`] | any | a state and a bound on how much better another could be |
//! | [`expansion()`] | any, best for labels that rather agree | a state that no single expansion improves |
//! | [`infer::belief_best`](crate::infer::belief_best) | any | an estimate |
//! | [`icm()`] | any | a state that no single change improves |

mod cut;
mod expansion;
mod icm;
pub mod program;
mod trws;

pub use cut::cut;
pub(crate) use cut::{Terms, Topology};
pub use expansion::{ExpansionParams, expansion};
pub use icm::icm;
pub use trws::{TrwsParams, trws};
