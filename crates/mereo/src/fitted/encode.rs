//! Rows to codes.

use mereo_core::{Context, Real, Result, Source, Table};

use super::Fitted;
use crate::data_of::check_fits;

impl Fitted {
    /// The codes of all rows, with names.
    ///
    /// ```
    /// # use mereo::{Context, Fit, quantize::VqParams};
    /// # use mereo::{Dense, Table};
    /// let table = Table::from(Dense::new(3, 1, vec![0.0, 0.5, 9.0])?);
    /// let fitted = Fit::new(VqParams::new(2)).run(&table)?;
    /// let codes = fitted.encode(&table, &Context::new(0))?;
    /// assert_eq!((codes.rows(), codes.columns()), (3, 2));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn encode<T: Real>(&self, raw: &dyn Source<T>, context: &Context) -> Result<Table<T>> {
        let encoder = self.model.encoder::<T>().ok_or_else(|| self.incapable("encode"))?;
        let width = encoder.code_width();
        check_fits(raw.rows(), width, size_of::<T>())?;
        let codes = mereo_core::encode(encoder, &*self.prepared(raw)?, context)?;
        Table::from(codes).with_names(self.code_names()?)
    }

    /// What the numbers of a code are called.
    pub fn code_names(&self) -> Result<Vec<String>> {
        let encoder = self.model.encoder::<f64>().ok_or_else(|| self.incapable("encode"))?;
        let width = encoder.code_width();
        Ok(match self.model.parts() {
            _ if encoder.code_names().is_some() => encoder.code_names().unwrap_or_default(),
            Some(view) if view.parts * view.states == width => (0..view.parts)
                .flat_map(|part| {
                    (0..view.states).map(move |state| format!("part{part}.state{state}"))
                })
                .collect(),
            None if self.model.components().is_some() => {
                (0..width).map(|index| format!("component{index}")).collect()
            }
            _ => (0..width).map(|index| format!("code{index}")).collect(),
        })
    }
}
