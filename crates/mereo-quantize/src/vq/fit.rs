//! Learning from a source.

use mereo_core::slots::{Clusters, Lloyd, Survey};
use mereo_core::{Context, Learned, Observer, Plan, Real, Result, Source, Stop, Training};

use super::{Vq, VqParams};

mereo_core::fit_here! {
    /// Learns a vector quantiser. Distances are taken in the data's own units, so that a column of
    /// larger numbers has a larger say; standardise the columns first if they should not.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_quantize::{VqParams, vq};
    /// let table = Table::from(Dense::new(4, 1, vec![0.0, 1.0, 10.0, 11.0])?);
    /// let (model, training) =
    ///     vq::fit(&VqParams::new(2), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// let mut means = model.mean().to_vec();
    /// means.sort_by(f64::total_cmp);
    /// assert_eq!(means, [0.5, 10.5]);
    /// assert_eq!((model.state_prior(), model.variance()), (&[0.5, 0.5][..], 0.25));
    /// assert!(training.bound.is_finite());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(VqParams) -> Vq, by fit_as
}

fn fit_as<T: Real>(
    params: &VqParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Vq, Training)> {
    params.check()?;
    params.check_columns(source.columns())?;
    let survey = Survey::of(source, context)?.among(plan)?;
    let lloyd = Lloyd::plain(params.states, &survey).with_swaps(context);
    let Learned { state, training } = lloyd.learn(source, plan, context, observer)?;
    let reference = survey.reference.iter().sum::<f64>() / survey.reference.len() as f64;
    let floor = params.variance_floor * reference;
    if survey.first.is_some() {
        // Rows of earlier portions are gone: each counts for the mean that it was nearest to when it was there.
        let rows: f64 = state.usage.iter().sum();
        let shares = state.usage.iter().map(|n| n / rows).collect();
        let noise = (state.distortion * lloyd.unit[0]).max(floor);
        return Ok((Vq::new(state.mean, shares, noise), training));
    }
    // Shares and noise are those of the means that were kept, also if somebody asked for a stop.
    let unstopped = context.clone().stopped_by(&Stop::default());
    let clusters = Clusters::about(source, &state.mean, &lloyd.unit, &unstopped)?;
    let rows: f64 = clusters.total.iter().sum();
    let cells: f64 = clusters.count.iter().sum();
    let squares: f64 = clusters.squares.iter().sum();
    let model = Vq::new(
        state.mean,
        clusters.total.iter().map(|n| n / rows).collect(),
        (squares / cells).max(floor),
    );
    Ok((model, training))
}
