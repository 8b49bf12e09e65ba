//! Jobs on whole tables, without choosing a model: filling holes, finding odd rows, finding groups.
//!
//! All of them measure what they do on cells that are hidden on purpose: what a model says of a cell that it
//! has not seen is worth more than how well it fits.

mod describe;
mod fill;
mod groups;
mod odd;
mod together;
mod unfold;
mod write;

use mereo_core::{
    Asked, Cells, ColumnKind, Context, Dense, Error, Place, Prediction, Real, Result, Source,
    Table, predict,
};

pub(crate) use describe::in_units;
pub use describe::{Standing, stand_out};
pub use fill::{Filled, Filling, Tried, fill};
pub use groups::{Group, Grouped, groups};
pub use odd::{Odd, OddCell, odd};
pub(crate) use odd::{RARE, tail};
pub use together::{Together, together};
pub(crate) use unfold::Unfold;
pub use write::{Origin, write_completed};

use crate::Fitted;

/// The kinds of a table's columns.
fn kinds_of<T: Real>(table: &Table<T>) -> Vec<ColumnKind> {
    (0..table.columns()).map(|column| table.about().kind(column).clone()).collect()
}

/// The cells of a table, which must all have a place.
fn dense<T: Real>(table: &Table<T>) -> Result<&Dense<T>> {
    match table.cells() {
        Cells::Dense(cells) => Ok(cells),
        Cells::Sparse(_) => Err(Error::found(
            Place::default(),
            "a sparse table",
            "a table of rows and columns; learn a model and use `reconstruct`, `score` or `encode`",
        )),
    }
}

/// The table with other cells.
fn with_cells<T: Real>(table: &Table<T>, values: Vec<T>) -> Result<Table<T>> {
    let cells = Dense::new(table.rows(), table.columns(), values)?;
    Table::from(cells).with_about(table.about().clone())
}

/// What a model makes of the missing cells of rows, in unfolded columns.
fn made<T: Real>(
    fitted: &Fitted,
    rows: &dyn Source<T>,
    unfold: &Unfold,
    context: &Context,
) -> Result<Dense<T>> {
    if let Some((plain, unfolded)) = fitted.plainly(rows)? {
        return plain.reconstruct(&*unfolded, false, context);
    }
    let (Some(kinds), Some(predictor)) = (&fitted.manifest.kinds, fitted.model.predictor::<T>())
    else {
        return fitted.reconstruct(rows, false, context);
    };
    let said = predict(predictor, &*fitted.prepared(rows)?, Asked::Missing, context)?;
    let width = unfold.width();
    let mut values = vec![T::ZERO; rows.rows() * width];
    for (row, out) in values.chunks_exact_mut(width.max(1)).enumerate() {
        for column in 0..kinds.len() {
            match said.cell(row, column) {
                Some(Prediction::Number { mean, .. }) => unfold.put(column, &[mean], out),
                Some(Prediction::Levels(shares)) => unfold.put(column, shares, out),
                None => {}
            }
        }
    }
    Dense::new(rows.rows(), width, values)
}
