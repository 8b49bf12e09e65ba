//! Cells to what they may be, in the data's units.

use mereo_core::{CellPrediction, Context, Error, Real, Result, Source};

use super::{Fitted, for_each_batch};

impl Fitted {
    /// What some cells may be, given all that their rows observe: each a row and a column of the model. Only rows
    /// that are asked about are looked at, and `tell` says what is wanted of each cell.
    ///
    /// ```
    /// # use mereo::{Context, Dense, Fit, CellPrediction, Table, linear::FaParams};
    /// let cells = (0..40).map(|i| f64::from(i / 2 % 20)).collect();
    /// let table = Table::from(Dense::new(20, 2, cells)?);
    /// let fitted = Fit::new(FaParams::new(1)).run(&table)?;
    /// let asked = Table::from(Dense::new(1, 2, vec![12.0, f64::NAN])?);
    /// let told = fitted.predict_cells(&asked, &[(0, 1)], &Context::new(0), CellPrediction::mean)?;
    /// assert!((told[0] - 12.0).abs() < 0.5);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn predict_cells<T: Real, R: Send>(
        &self,
        raw: &dyn Source<T>,
        cells: &[(usize, usize)],
        context: &Context,
        tell: impl Fn(&CellPrediction) -> R + Sync,
    ) -> Result<Vec<R>> {
        let predictor =
            self.model.cell_predictor::<T>().ok_or_else(|| self.incapable("predict"))?;
        let prepared = self.prepared(raw)?;
        if self.steps.is_none() {
            return mereo_core::predict_cells(predictor, &*prepared, cells, context, tell);
        }
        let found = mereo_core::predict_cells(predictor, &*prepared, cells, context, Clone::clone)?;
        let units = self.units(raw, cells)?;
        Ok(found
            .iter()
            .zip(units)
            .map(|(p, (scale, shift))| tell(&p.moved(scale, shift)))
            .collect())
    }

    /// What undoing the steps does to each of some cells: a scale and a shift.
    fn units<T: Real>(
        &self,
        raw: &dyn Source<T>,
        cells: &[(usize, usize)],
    ) -> Result<Vec<(f64, f64)>> {
        let mut units = vec![(1.0, 0.0); cells.len()];
        let Some(steps) = &self.steps else { return Ok(units) };
        let width = self.model.columns();
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_by_key(|&i| cells[i].0);
        let mut wanted = order.into_iter().peekable();
        for_each_batch(&*self.aligned(raw)?, |batch| {
            if wanted.peek().is_none_or(|&i| cells[i].0 >= batch.first_row + batch.rows) {
                return Ok(());
            }
            let facts = steps.facts(batch)?;
            while let Some(&next) =
                wanted.peek().filter(|&&i| cells[i].0 < batch.first_row + batch.rows)
            {
                let row = cells[next].0;
                let fact = row - batch.first_row..row - batch.first_row + 1;
                let at = |value: f64| -> Result<Vec<f64>> {
                    let mut cells = vec![value; width];
                    steps.undo(&mut cells, Some(&facts[fact.clone()]))?;
                    Ok(cells)
                };
                let (zero, one, two) = (at(0.0)?, at(1.0)?, at(2.0)?);
                while let Some(i) = wanted.next_if(|&i| cells[i].0 == row) {
                    let column = cells[i].1;
                    let scale = one[column] - zero[column];
                    if (two[column] - one[column] - scale).abs() > 1e-6 * scale.abs().max(1e-12) {
                        let problem = "predictions can be brought back through steps that shift \
                                       and scale only; learn the model without the others";
                        return Err(Error::option("prepare", problem));
                    }
                    units[i] = (scale, zero[column]);
                }
            }
            Ok(())
        })?;
        Ok(units)
    }
}
