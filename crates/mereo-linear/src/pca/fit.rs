//! Learning from a source.

use mereo_core::{Context, Observer, Plan, Real, Result, Source, Training};

use super::{Pca, PcaParams};
use crate::factor::principal;

/// The smallest variance beside the components, as a fraction of the columns' mean variance.
const FLOOR: f64 = 1e-12;

mereo_core::fit_here! {
    /// Learns principal components.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_linear::{PcaParams, pca};
    /// let table = Table::from(Dense::new(3, 2, vec![0.0, 0.0, 3.0, 4.0, 6.0, 8.0])?);
    /// let (model, _) =
    ///     pca::fit(&PcaParams::new(1), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// assert!((model.component()[0] - 0.6).abs() < 1e-12);
    /// assert!((model.explained_variance()[0] - 25.0).abs() < 1e-12);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(PcaParams) -> Pca, by fit_as
}

fn fit_as<T: Real>(
    params: &PcaParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Pca, Training)> {
    mereo_core::slots::refuse_words(source.about(), source.columns())?;
    params.check()?;
    let found = principal(params.components, FLOOR, source, plan, context, observer)?;
    // The variance of a sample; a single row has none to tell.
    let sample = if found.weight > 1.0 { found.weight / (found.weight - 1.0) } else { 1.0 };
    let explained = found.variance.iter().map(|v| v * sample).collect();
    let noise = found.noise * sample;
    let model = Pca::new(found.mean, found.directions, explained, noise, params.whiten);
    Ok((model, found.training))
}
