//! New rows.

use mereo_core::{Context, Dense, Result};

use super::Fitted;
use super::reconstruct::nearest;
use crate::data_of::check_fits;
use crate::tables::Unfold;

impl Fitted {
    /// New rows, in the data's units. Row `i` depends on the context's seed and `i` alone; without `noise`
    /// rows are the means of the states they show.
    ///
    /// ```
    /// # use mereo::{Context, Fit, mixture::GmmParams};
    /// # use mereo::{Dense, Table};
    /// let table = Table::from(Dense::new(4, 1, vec![0.0, 1.0, 8.0, 9.0])?);
    /// let fitted = Fit::new(GmmParams::new(2)).run(&table)?;
    /// let (few, more) = (fitted.sample(2, true, &Context::new(5))?, fitted.sample(9, true, &Context::new(5))?);
    /// assert_eq!(few.row(1), more.row(1));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn sample(&self, rows: usize, noise: bool, context: &Context) -> Result<Dense<f64>> {
        let sampler = self.model.sampler().ok_or_else(|| self.incapable("sample"))?;
        if rows == 0 {
            return Err(mereo_core::Error::option("n", "at least 1 row is needed"));
        }
        check_fits(rows, sampler.columns(), size_of::<f64>())?;
        let drawn = mereo_core::sample(sampler, rows, noise, context)?;
        let columns = drawn.columns();
        let mut values = drawn.into_values();
        self.undo(&mut values)?;
        self.forget_unobserved(&mut values);
        let Some(own) = &self.manifest.unfolded else {
            return self.as_in_files(Dense::new(rows, columns, values)?);
        };
        let (unfold, width) = (Unfold::of(&own.kinds), own.kinds.len());
        let mut folded = vec![0.0; rows * width];
        for (made, out) in values.chunks_exact(columns).zip(folded.chunks_exact_mut(width)) {
            unfold.fold(made, out);
        }
        self.as_in_files(Dense::new(rows, width, folded)?)
    }

    /// Rows as the data's file could have them: whole numbers where it has whole numbers, none beyond what
    /// was seen.
    fn as_in_files(&self, rows: Dense<f64>) -> Result<Dense<f64>> {
        let about = self.about();
        if about.formats.is_none() {
            return Ok(rows);
        }
        let (count, columns) = (rows.rows(), rows.columns());
        let mut values = rows.into_values();
        for row in values.chunks_exact_mut(columns.max(1)) {
            for (column, value) in row.iter_mut().enumerate() {
                *value = nearest(&about, column, *value);
            }
        }
        Dense::new(count, columns, values)
    }
}
