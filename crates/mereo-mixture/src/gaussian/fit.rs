//! Learning from a source: the start, and the loop.

use mereo_core::slots::{Family, StoredKinds, Survey};
use mereo_core::{Context, Learned, Observer, Plan, Real, Result, Source, Start, Training, learn};

use super::learner::{GmmLearner, State};
use super::model::Spread;
use super::{Covariance, Gmm, GmmParams};
use crate::full::{self, MixtureLearner, RowSpace, Shape, in_data_units};
use crate::likelihood::bound_of;
use crate::start::{ClusterStart, clusters};

mereo_core::fit_here! {
    /// Learns a Gaussian mixture.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_mixture::{GmmParams, gaussian};
    /// let values = vec![0.0, 0.1, -0.1, f64::NAN, 7.9, 8.0, 8.1, 8.0];
    /// let table = Table::from(Dense::new(8, 1, values)?);
    /// let (model, training) =
    ///     gaussian::fit(&GmmParams::new(2), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// let mut means = model.mean().to_vec();
    /// means.sort_by(f64::total_cmp);
    /// assert!(means[0].abs() < 1e-6 && (means[1] - 8.0).abs() < 1e-6);
    /// assert!(training.bound.is_finite());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(GmmParams) -> Gmm, by fit_as
}

fn fit_as<T: Real>(
    params: &GmmParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Gmm, Training)> {
    params.check()?;
    params.check_columns(source.columns())?;
    let survey = if params.covariance.correlates() {
        Survey::of(source, context)?
    } else {
        Survey::of_kinds(source, context)?.among(plan)?
    };
    let shape = match params.covariance {
        Covariance::Spherical | Covariance::Diagonal => {
            let shrinkage = params.rows_more(&survey)?;
            let mut learner = GmmLearner { params: params.clone(), survey, shrinkage };
            let start = |restart| start(&learner, source, restart, context);
            let Learned { state, mut training } =
                learn(&learner, start, source, plan, context, observer)?;
            let held = params.pseudo_count > 0.0 && learner.survey.typical.kinds.is_mixed();
            // Rows of earlier portions are gone.
            let all_here = !training.likelihood_unknown;
            if all_here && (params.hard || held || learner.shrinkage.is_some()) {
                learner.shrinkage = None;
                (learner.params.hard, learner.params.pseudo_count) = (false, 0.0);
                training.log_likelihood = bound_of(&learner, &state, source, context)?;
            }
            let State { prior, mean, variance, level, .. } = state;
            let kinds = StoredKinds::learned(source.about(), source.columns(), level)?;
            let spread = if params.covariance == Covariance::Spherical {
                Spread::Spherical
            } else {
                Spread::Diagonal
            };
            return Ok((Gmm::new(prior, mean, variance, spread).with_kinds(kinds), training));
        }
        Covariance::Tied => Shape::Tied,
        Covariance::Full => Shape::Full,
        Covariance::LowRank => Shape::LowRank(params.factors),
    };
    let frame = &survey.frame.clone();
    let space = match shape {
        Shape::Full | Shape::Tied => RowSpace::of(source, &survey, params.variance_floor, context)?,
        Shape::LowRank(_) => None,
    };
    let (state, training) = match &space {
        None => with_covariances(params, shape, survey, source, plan, context, observer)?,
        Some(space) => {
            let mut watched = space.watched(observer, survey.moments.rows);
            let (survey, rows) = (space.survey(&survey, context)?, &space.rows);
            let (mut state, training) =
                with_covariances(params, shape, survey, rows, plan, context, &mut watched)?;
            (state.mean, state.covariance) = space.widened(&state.mean, &state.covariance);
            (state, space.told(training, source.rows()))
        }
    };
    let (mean, covariance) = in_data_units(frame, &state.mean, &state.covariance);
    let d = frame.columns();
    let spread = match shape {
        Shape::Tied => Spread::Tied(covariance),
        Shape::Full => Spread::Full(covariance),
        Shape::LowRank(k) => {
            let scaled = |values: &[f64], width: usize, power: i32| -> Vec<f64> {
                let of = |(i, v): (usize, &f64)| v * frame.scale(i / width % d).powi(power);
                values.iter().enumerate().map(of).collect()
            };
            Spread::LowRank {
                loading: scaled(&state.loading, k, 1),
                noise: scaled(&state.noise, 1, 2),
            }
        }
    };
    let model = Gmm::of_spread(state.weight, mean, spread);
    Ok((model, training))
}

/// Learns components with covariances, in the frame's units.
fn with_covariances<T: Real>(
    params: &GmmParams,
    shape: Shape,
    survey: Survey<T>,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(full::State, Training)> {
    let mut learner = MixtureLearner {
        components: params.components,
        shape,
        hard: params.hard,
        tails: false,
        floor: params.variance_floor,
        shrinkage: params.shrinkage.unwrap_or(0.0),
        survey,
    };
    let start = |restart| learner.start(source, restart, context);
    let Learned { state, mut training } = learn(&learner, start, source, plan, context, observer)?;
    if params.hard || learner.shrinkage > 0.0 {
        (learner.hard, learner.shrinkage) = (false, 0.0);
        training.log_likelihood = bound_of(&learner, &state, source, context)?;
    }
    Ok((state, training))
}

/// k-means on a sample of the rows, then the variances of its clusters.
fn start<T: Real>(
    learner: &GmmLearner<T>,
    source: &dyn Source<T>,
    restart: usize,
    context: &Context,
) -> Result<Start<State>> {
    let GmmLearner { params, survey, .. } = learner;
    let start =
        clusters(survey, params.components, params.variance_floor, source, restart, context)?;
    let mut variance = start.variance.clone();
    if params.covariance == Covariance::Spherical {
        let kinds = &survey.typical.kinds;
        let numbers: Vec<usize> =
            (0..kinds.columns()).filter(|&d| kinds.family(d) == Family::Number).collect();
        for own in variance.chunks_exact_mut(survey.reference.len()) {
            let mean = numbers.iter().map(|&d| own[d]).sum::<f64>() / numbers.len().max(1) as f64;
            numbers.iter().for_each(|&d| own[d] = mean);
        }
    }
    let ClusterStart { weight, mean, level, .. } = start;
    let state = State { prior: weight, mean, variance, level, reseeds: 0 };
    Ok(Start { state, how: "k-means".into() })
}
