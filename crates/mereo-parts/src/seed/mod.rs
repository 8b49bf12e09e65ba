//! A first guess at which columns belong together, so that learning starts near the parts.
//!
//! From the papers' own start (uniform gates, states at random rows) EM almost never finds the
//! parts. Columns of one part vary together and columns of different parts do not, so: measure
//! how strongly columns are [associated](association), cut that graph [into K groups](spectral),
//! and find each group's states by k-means on its columns.

mod association;
mod spectral;

use mereo_core::{Context, Real, Result, Table};

/// A group below K for each column, or none for columns that go with no other (constant ones).
pub(crate) fn group_columns<T: Real>(
    sample: &Table<T>,
    groups: usize,
    restart: usize,
    context: &Context,
) -> Result<Vec<Option<usize>>> {
    if groups == 1 {
        return Ok(vec![Some(0); sample.columns()]);
    }
    let affinity = context.install(|| association::associate(sample))?;
    spectral::cut(&affinity, groups, restart, context)
}

/// The groups that several gates `[D, K]` agree on.
pub(crate) fn agree(
    gates: &[&[f64]],
    groups: usize,
    restart: usize,
    context: &Context,
) -> Result<Vec<Option<usize>>> {
    spectral::cut(&association::co_membership(gates, groups), groups, restart, context)
}
