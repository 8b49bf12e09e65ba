//! New rows.

use mereo_core::{Context, Dense, Result};

use super::Fitted;
use crate::data_of::check_fits;

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
        Dense::new(rows, columns, values)
    }
}
