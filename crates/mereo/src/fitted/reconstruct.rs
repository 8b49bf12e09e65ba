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
        check_fits(raw.rows(), self.model.columns(), size_of::<T>())?;
        let rows = mereo_core::reconstruct(model, &*self.prepared(raw)?, context)?;
        self.brought_back(raw, rows, fill)
    }

    /// The rows with their missing cells drawn from what the model says of all of them together, given the
    /// observed ones: number `draw` of several ways to complete them, which are multiple imputations.
    ///
    /// ```
    /// # use mereo::{Context, Dense, Fit, Table, linear::FaParams};
    /// let cells = (0..60).map(|i| if i == 31 { f64::NAN } else { f64::from(i % 20 + i % 3) }).collect();
    /// let table = Table::from(Dense::new(20, 3, cells)?);
    /// let fitted = Fit::new(FaParams::new(1)).run(&table)?;
    /// let draws = [0, 1].map(|draw| fitted.draw_missing(&table, draw, &Context::new(0)));
    /// let [first, second] = draws.map(|rows| rows.map(|rows| (rows.row(10)[0], rows.row(10)[1])));
    /// let (first, second) = (first?, second?);
    /// assert!(first.0 == second.0 && first.1 != second.1);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn draw_missing<T: Real>(
        &self,
        raw: &dyn Source<T>,
        draw: u64,
        context: &Context,
    ) -> Result<Dense<T>> {
        let model = self.model.predictor::<T>().ok_or_else(|| self.incapable("draw cells"))?;
        check_fits(raw.rows(), self.model.columns(), size_of::<T>())?;
        let rows = mereo_core::draw_missing(model, &*self.prepared(raw)?, draw, context)?;
        self.brought_back(raw, rows, true)
    }

    /// Rows that the model made, in the data's units; with `fill`, observed cells as they were.
    fn brought_back<T: Real>(
        &self,
        raw: &dyn Source<T>,
        rows: Dense<T>,
        fill: bool,
    ) -> Result<Dense<T>> {
        if self.steps.is_none() && !fill && self.manifest.unobserved.is_empty() {
            return Ok(rows);
        }
        let width = self.model.columns();
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
