//! Rows to log densities.

use mereo_core::{Context, Likelihood, Real, Result, Scores, Source, estimate};

use super::{Fitted, for_each_batch};

impl Fitted {
    /// Whether scores are densities in the data's units: every step says how it changes them.
    pub fn has_density(&self) -> bool {
        self.steps.as_ref().is_none_or(mereo_data::steps::Steps::has_density)
    }

    /// One number a row, in the data's units where the steps allow it; worked out as the model offers
    /// it if nothing else is wanted.
    ///
    /// ```
    /// # use mereo::{Context, Fit, mixture::GmmParams};
    /// # use mereo::{Dense, Table};
    /// let table = Table::from(Dense::new(4, 1, vec![0.0, 1.0, 8.0, 9.0])?);
    /// let fitted = Fit::new(GmmParams::new(2)).run(&table)?;
    /// assert_eq!(fitted.score(&table, None, &Context::new(0))?.rows.len(), 4);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn score<T: Real>(
        &self,
        raw: &dyn Source<T>,
        how: Option<Likelihood>,
        context: &Context,
    ) -> Result<Scores> {
        if let Some((plain, unfolded)) = self.plainly(raw)? {
            return plain.score(&*unfolded, how, context);
        }
        let mut scores = self.score_prepared(&*self.prepared(raw)?, how, context)?;
        if let Some(steps) = &self.steps
            && steps.has_density()
        {
            let (mut moved, mut total) = (0.0, 0.0);
            for_each_batch(&*self.aligned(raw)?, |batch| {
                let volumes = steps.log_volume(batch)?.unwrap_or_default();
                let rows = &mut scores.rows[batch.first_row..];
                for (row, (score, volume)) in rows.iter_mut().zip(volumes).enumerate() {
                    *score += volume;
                    moved += batch.weight(row) * volume;
                    total += batch.weight(row);
                }
                Ok(())
            })?;
            scores.mean += if total > 0.0 { moved / total } else { 0.0 };
        }
        Ok(scores)
    }

    fn score_prepared<T: Real>(
        &self,
        prepared: &dyn Source<T>,
        how: Option<Likelihood>,
        context: &Context,
    ) -> Result<Scores> {
        let scorer = self.model.scorer::<T>();
        match (how, self.model.estimator::<T>(), scorer) {
            (Some(how), Some(estimator), _) => estimate(estimator, how, prepared, context),
            (how, _, Some(scorer)) if how.is_none_or(|how| how.kind() == scorer.score_kind()) => {
                mereo_core::score(scorer, prepared, context)
            }
            (Some(_), _, Some(_)) => Err(self.incapable("score in this way")),
            _ => Err(self.incapable("score")),
        }
    }
}
