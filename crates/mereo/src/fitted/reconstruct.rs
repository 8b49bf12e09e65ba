//! Rows to rows: what the model makes of them, holes filled.

use mereo_core::{About, ColumnKind, Context, Dense, Real, Result, Source};

use super::{Fitted, for_each_batch};
use crate::data_of::check_fits;
use crate::tables::Unfold;

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
        if let Some((plain, unfolded)) = self.plainly(raw)? {
            let rows = plain.reconstruct(&*unfolded, false, context)?;
            return self.folded(rows, raw, fill);
        }
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
        let about = self.about();
        let as_made = about.kinds.is_none() && self.manifest.unobserved.is_empty();
        if self.steps.is_none() && !fill && as_made {
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
            if about.kinds.is_some() {
                let width = width.max(1);
                for (at, out) in rows.iter_mut().enumerate() {
                    *out = T::from_f64(nearest(&about, at % width, out.to_f64()));
                }
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

    /// The rows with their missing cells drawn from what the model says of them, number `draw` of several.
    pub fn draw<T: Real>(
        &self,
        raw: &dyn Source<T>,
        draw: u64,
        context: &Context,
    ) -> Result<Dense<T>> {
        let predictor = self.model.predictor::<T>().ok_or_else(|| self.incapable("draw cells"))?;
        if let Some((plain, unfolded)) = self.plainly(raw)? {
            let rows = plain.draw(&*unfolded, draw, context)?;
            return self.folded(rows, raw, true);
        }
        let width = self.model.columns();
        check_fits(raw.rows(), width, size_of::<T>())?;
        let drawn = mereo_core::draw_missing(predictor, &*self.prepared(raw)?, draw, context)?;
        let mut values = drawn.into_values();
        let about = self.about();
        for_each_batch(&*self.aligned(raw)?, |batch| {
            let start = batch.first_row * width;
            let rows = &mut values[start..start + batch.rows * width];
            if let Some(steps) = &self.steps {
                steps.undo(rows, Some(&steps.facts(batch)?))?;
            }
            for (row, out) in rows.chunks_mut(width.max(1)).enumerate() {
                for (column, out) in out.iter_mut().enumerate() {
                    *out = T::from_f64(nearest(&about, column, out.to_f64()));
                }
                batch.for_each_observed(row, |column, value| out[column] = value);
            }
            Ok(())
        })?;
        Dense::new(raw.rows(), width, values)
    }

    /// Rows of unfolded columns as rows of the data's columns.
    fn folded<T: Real>(&self, made: Dense<T>, raw: &dyn Source<T>, fill: bool) -> Result<Dense<T>> {
        let Some(own) = &self.manifest.unfolded else { return Ok(made) };
        let (unfold, width) = (Unfold::of(&own.kinds), own.kinds.len());
        let about = self.about();
        let mut values = vec![T::ZERO; made.rows() * width];
        for (row, out) in values.chunks_exact_mut(width.max(1)).enumerate() {
            unfold.fold(made.row(row), out);
            for (column, out) in out.iter_mut().enumerate() {
                *out = T::from_f64(nearest(&about, column, out.to_f64()));
            }
        }
        if fill {
            for_each_batch(&*self.aligned(raw)?, |batch| {
                for row in 0..batch.rows {
                    let out = &mut values[(batch.first_row + row) * width..][..width];
                    batch.for_each_observed(row, |column, value| out[column] = value);
                }
                Ok(())
            })?;
        }
        Dense::new(made.rows(), width, values)
    }
}

/// The nearest value that a cell of the column could have: a level, a count, a number as the file has them.
pub(crate) fn nearest(about: &About, column: usize, value: f64) -> f64 {
    let kind = about.kind(column);
    let value = match kind {
        ColumnKind::Number | ColumnKind::Date | ColumnKind::Count => {
            about.format(column).map_or(value, |format| format.nearest(value))
        }
        _ => value,
    };
    match kind {
        ColumnKind::Number | ColumnKind::Date => value,
        ColumnKind::Count => value.round().max(0.0),
        words => value.round().clamp(0.0, words.levels().len().saturating_sub(1) as f64),
    }
}
