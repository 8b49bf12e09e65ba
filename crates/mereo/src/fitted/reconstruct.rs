//! Rows to rows: what the model makes of them, holes filled.

use mereo_core::{Context, Dense, Real, Result, Source};

use super::{Fitted, for_each_batch};
use crate::data_of::check_fits;

impl Fitted {
    /// The rows as the model makes them, in the data's units and the model's order of columns; with
    /// `fill`, cells that were observed stay as they are and only missing ones are filled. Columns in which no row had a value
    /// when the model was learned stay missing: nothing is known of them.
    pub fn reconstruct<T: Real>(
        &self,
        raw: &dyn Source<T>,
        fill: bool,
        context: &Context,
    ) -> Result<Dense<T>> {
        let model = self.model.reconstructor::<T>().ok_or_else(|| self.incapable("reconstruct"))?;
        let width = self.model.columns();
        check_fits(raw.rows(), width, size_of::<T>())?;
        let rows = mereo_core::reconstruct(model, &*self.prepared(raw)?, context)?;
        if self.steps.is_none() && !fill && self.manifest.unobserved.is_empty() {
            return Ok(rows);
        }
        let mut values = rows.into_values();
        for_each_batch(&*self.aligned(raw)?, |batch| {
            let start = batch.first_row * width;
            let rows = &mut values[start..start + batch.rows * width];
            if let Some(steps) = &self.steps {
                steps.undo(rows, Some(&steps.facts(batch)?))?;
            }
            self.forget_unobserved(rows);
            if fill {
                for (row, out) in rows.chunks_mut(width.max(1)).enumerate() {
                    batch.for_each_observed(row, |column, value| out[column] = value);
                }
            }
            Ok(())
        })?;
        Dense::new(raw.rows(), width, values)
    }
}
