//! Learning from a source: closed form where there is one, EM where there is not.

use mereo_core::math::{HALF_LOG_TWO_PI, packed};
use mereo_core::slots::{ColumnMoments, Frame, Shrinkage, Survey};
use mereo_core::{
    Context, Dense, Error, Facts, Learned, Observer, Plan, Portions, Real, Record, Restart, Result,
    Source, Status, Table, Training, learn,
};

use super::learner::{FactorLearner, Noise, State};
use super::params::SHRINKAGE;
use super::rotation::rotated;
use super::{Fa, FaParams, Ppca, PpcaParams, Rotation};
use crate::gaussian::Gaussian;
use crate::params::{check_columns, check_numbers};
use crate::spectrum::{Spectrum, Way, orthonormalise};

/// Most columns whose covariance stands in for complete rows.
const SUMMARISED: usize = 2048;
/// Least noise of a start, as a fraction of a column's variance: EM leaves small noise slowly.
const START_NOISE: f64 = 0.02;

/// The principal directions of rows, and the variance along and beside them, in the data's units.
pub(crate) struct Principal {
    pub(crate) mean: Vec<f64>,
    /// `[N, D]`, orthonormal.
    pub(crate) directions: Vec<f64>,
    /// `[N]`: the variance along each, falling, never below the noise.
    pub(crate) variance: Vec<f64>,
    /// The mean variance along all other directions.
    pub(crate) noise: f64,
    /// Weight of all rows.
    pub(crate) weight: f64,
    pub(crate) training: Training,
}

/// What the survey tells, and the units that follow.
struct FactorSurvey<T> {
    facts: Facts,
    frame: Frame<T>,
    /// `[D]`: variances that floors are relative to, in the frame's units.
    reference: Vec<f64>,
    log_scale: f64,
    holes: bool,
    /// Rows that columns are taken to have been seen in.
    shrinkage: Option<Shrinkage>,
}

impl<T: Real> FactorSurvey<T> {
    /// In units of each column's deviation or, with noise that is shared, of one for all.
    fn of(
        source: &dyn Source<T>,
        noise: Noise,
        shrinkage: Option<f64>,
        plan: &Plan,
        context: &Context,
    ) -> Result<Self> {
        let survey = Survey::of(source, context)?.among(plan)?;
        let shrinkage = Shrinkage::of(shrinkage, SHRINKAGE, &survey);
        let facts = survey.facts();
        let first = survey.first;
        let Survey { moments, mut reference, .. } = survey;
        let common = |moments: &ColumnMoments, reference: &mut [f64]| {
            if noise == Noise::Shared {
                let d = reference.len();
                let variances: Vec<f64> = (0..d).map(|d| moments.variance(d)).collect();
                let mean = variances.iter().sum::<f64>() / d as f64;
                let typical = if mean > 0.0 { mean } else { reference[0] };
                reference.fill(typical.max(T::SMALLEST_SPREAD * T::SMALLEST_SPREAD));
            }
        };
        common(&moments, &mut reference);
        let frame = match &first {
            None => Frame::new(&moments.mean, &reference),
            Some(first) => {
                let mut units = first.reference_variance();
                common(first, &mut units);
                Frame::new(&first.mean, &units)
            }
        };
        let log_scale =
            moments.weight.iter().enumerate().map(|(d, n)| n * frame.scale(d).ln()).sum();
        let holes = moments.weight.iter().any(|&n| n < moments.rows * (1.0 - 1e-12));
        for (d, r) in reference.iter_mut().enumerate() {
            *r /= frame.scale(d).powi(2);
        }
        Ok(Self { facts, frame, reference, log_scale, holes, shrinkage })
    }
}

mereo_core::fit_here! {
    /// Learns probabilistic PCA: in closed form, or by EM if cells are missing.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_linear::{PpcaParams, factor};
    /// let values = vec![0.0, 0.1, 1.0, 0.9, 2.0, f64::NAN, 3.0, 3.1, 4.0, 3.9];
    /// let table = Table::from(Dense::new(5, 2, values)?);
    /// let (model, training) =
    ///     factor::fit_ppca(&PpcaParams::new(1), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// assert!(model.noise()[0] < 0.1 && training.bound.is_finite());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit_ppca(PpcaParams) -> Ppca, by fit_ppca_as
}

fn fit_ppca_as<T: Real>(
    params: &PpcaParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Ppca, Training)> {
    params.check()?;
    let floor = params.variance_floor;
    let found = principal(params.components, floor, source, plan, context, observer)?;
    let d = found.mean.len();
    let mut loading = found.directions;
    for (direction, variance) in loading.chunks_exact_mut(d).zip(&found.variance) {
        let length = (variance - found.noise).max(0.0).sqrt();
        direction.iter_mut().for_each(|w| *w *= length);
    }
    let gaussian = Gaussian { mean: found.mean, loading, noise: vec![found.noise; d] };
    Ok((Ppca::new(gaussian), found.training))
}

/// The principal directions that make rows most likely under probabilistic PCA, which for
/// complete rows are the eigenvectors of their covariance.
pub(crate) fn principal<T: Real>(
    n: usize,
    floor: f64,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<Principal> {
    let d = source.columns();
    check_columns(n, d)?;
    let survey = FactorSurvey::of(source, Noise::Shared, Some(0.0), plan, context)?;
    let spectrum = match &plan.portions {
        None => {
            let way = Way::of(source.rows(), d, n);
            Spectrum::of(source, &survey.frame, n, true, way, context)?
        }
        Some(_) if survey.holes => {
            let problem = "principal components of rows with missing cells need all rows at once";
            return Err(Error::option("portions", problem));
        }
        Some(portions) => Spectrum::of_portions(source, &survey.frame, n, portions, context)?,
    };
    let rows = plan.portions.as_ref().map_or(source.rows(), Portions::rows);
    let unit = survey.frame.scale(0);
    let outward = |mean: &[f64]| -> Vec<f64> {
        mean.iter().enumerate().map(|(d, &m)| survey.frame.outward(d, m)).collect()
    };
    let noise = noise_of(&spectrum, d).max(floor * survey.reference[0]);
    if !survey.holes {
        let variance: Vec<f64> =
            spectrum.scatter.iter().map(|s| (s / spectrum.weight).max(noise)).collect();
        let bound = log_likelihood(&spectrum, &variance, noise, d) - survey.log_scale;
        let training = at_once(rows, survey.facts, bound, plan, context, observer);
        return Ok(Principal {
            mean: outward(&spectrum.mean),
            directions: spectrum.directions,
            variance: variance.iter().map(|v| v * unit * unit).collect(),
            noise: noise * unit * unit,
            weight: spectrum.weight,
            training,
        });
    }
    check_numbers(n, d, packed(n + 1))?;
    let first = first_state(&spectrum, noise, |_| noise);
    let learner = FactorLearner {
        components: n,
        noise: Noise::Shared,
        frame: survey.frame.clone(),
        reference: survey.reference.clone(),
        floor,
        log_scale: survey.log_scale,
        holes: true,
        shrinkage: None,
        facts: survey.facts,
    };
    let start = |restart| Ok(learner.start(&first, restart, context));
    let Learned { state, training } = learn(&learner, start, source, plan, context, observer)?;
    let mut directions = rotated(&state.loading, n, &vec![1.0; d], Rotation::Principal)?;
    let noise = state.noise[0];
    let variance = directions
        .chunks_exact(d)
        .map(|w| (w.iter().map(|w| w * w).sum::<f64>() + noise) * unit * unit)
        .collect();
    orthonormalise(&mut directions, d);
    Ok(Principal {
        mean: outward(&state.mean),
        directions,
        variance,
        noise: noise * unit * unit,
        weight: survey.facts.weight,
        training,
    })
}

/// The mean variance beside the leading directions.
fn noise_of(spectrum: &Spectrum, d: usize) -> f64 {
    let beside = d - spectrum.scatter.len();
    if beside == 0 {
        return 0.0;
    }
    let left = spectrum.total - spectrum.scatter.iter().sum::<f64>();
    left.max(0.0) / spectrum.weight / beside as f64
}

/// The log likelihood of complete rows, in the frame's units.
fn log_likelihood(spectrum: &Spectrum, variance: &[f64], noise: f64, d: usize) -> f64 {
    let along: f64 =
        spectrum.scatter.iter().zip(variance).map(|(s, v)| v.ln() + s / spectrum.weight / v).sum();
    let beside = (d - variance.len()) as f64 * noise.ln();
    let left = (spectrum.total - spectrum.scatter.iter().sum::<f64>()).max(0.0);
    let square = left / spectrum.weight / noise;
    -spectrum.weight * (0.5 * (along + beside + square) + HALF_LOG_TWO_PI * d as f64)
}

/// How a model came to be that needed no passes.
fn at_once(
    rows: usize,
    facts: Facts,
    bound: f64,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Training {
    observer.starting(0, 1);
    observer.passed(&Record {
        restart: 0,
        restarts: 1,
        pass: 0,
        passes: plan.passes,
        bound,
        change: None,
        notes: Vec::new(),
        seconds: 0.0,
    });
    let status = Status::Converged;
    let restart =
        Restart { start: "closed form".into(), status, settled_from: 0, bounds: vec![bound] };
    Training {
        rows,
        weight: not_rows(facts.weight, rows),
        fingerprint: facts.fingerprint,
        seed: context.seed(),
        bound,
        log_likelihood: None,
        likelihood_unknown: false,
        held_out: Vec::new(),
        passes: 0,
        status,
        best: 0,
        restarts: vec![restart],
    }
}

/// The weight of rows, if it is not their number.
fn not_rows(weight: f64, rows: usize) -> Option<f64> {
    Some(weight).filter(|&weight| weight != rows as f64)
}

/// Loadings along the leading directions, and noise beside them.
fn first_state(spectrum: &Spectrum, noise: f64, own: impl Fn(f64) -> f64) -> State {
    let (n, d) = (spectrum.scatter.len(), spectrum.mean.len());
    let lengths: Vec<f64> = spectrum
        .scatter
        .iter()
        // A loading of exactly 0 would never leave it.
        .map(|s| (s / spectrum.weight - noise).max(0.01 * noise).sqrt())
        .collect();
    let mut loading = vec![0.0; d * n];
    for column in 0..d {
        for i in 0..n {
            loading[column * n + i] = lengths[i] * spectrum.directions[i * d + column];
        }
    }
    let noise = loading.chunks_exact(n).map(|w| own(w.iter().map(|w| w * w).sum())).collect();
    State { mean: spectrum.mean.clone(), loading, noise }
}

mereo_core::fit_here! {
    /// Learns factor analysis.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_linear::{FaParams, factor};
    /// // The third column has nothing to do with the others.
    /// let values = vec![0.0, 0.1, 5.0, 1.0, 0.9, 3.0, 2.0, 2.2, 4.0, 3.0, 3.1, 5.0, 4.0, 3.9, 4.0];
    /// let table = Table::from(Dense::new(5, 3, values)?);
    /// let (model, _) =
    ///     factor::fit_fa(&FaParams::new(1), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// assert!(model.component()[2].abs() < 0.5 && model.noise()[2] > 0.4);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit_fa(FaParams) -> Fa, by fit_fa_as
}

fn fit_fa_as<T: Real>(
    params: &FaParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Fa, Training)> {
    params.check()?;
    let (n, d) = (params.components, source.columns());
    check_columns(n, d)?;
    let survey = FactorSurvey::of(source, Noise::Own, params.shrinkage, plan, context)?;
    if survey.holes {
        check_numbers(n, d, packed(n + 1))?;
    }
    let summarised = !survey.holes && d <= SUMMARISED && 2 * d < source.rows();
    let (wanted, way) =
        if summarised { (d, Way::Covariance) } else { (n, Way::of(source.rows(), d, n)) };
    let mut spectrum = Spectrum::of(source, &survey.frame, wanted, true, way, context)?;
    let summary = if summarised { Some(summary(&spectrum)?) } else { None };
    spectrum.scatter.truncate(n);
    spectrum.directions.truncate(n * d);
    let reference = &survey.reference;
    let first = State {
        noise: Vec::new(),
        ..first_state(&spectrum, noise_of(&spectrum, d).max(params.variance_floor), |_| 0.0)
    };
    let noise = first.loading.chunks_exact(n).zip(reference).map(|(w, &v)| {
        let least = START_NOISE.max(params.variance_floor) * v;
        (v - w.iter().map(|w| w * w).sum::<f64>()).max(least)
    });
    let first = State { noise: noise.collect(), ..first };
    let (state, mut training) = match summary {
        Some(table) => {
            // The summary is about the mean already.
            let (zeros, ones) = (vec![0.0; d], vec![1.0; d]);
            let frame = Frame::<f64>::new(&zeros, &ones);
            let centre = first.mean.clone();
            let first = State { mean: zeros, ..first };
            let mut learner = fa_learner(params, &survey, frame);
            if let Some(shrinkage) = &mut learner.shrinkage {
                shrinkage.mean.iter_mut().zip(&centre).for_each(|(m, c)| *m -= c);
            }
            let start = |restart| Ok(learner.start(&first, restart, context));
            let Learned { mut state, mut training } =
                learn(&learner, start, &table, plan, context, observer)?;
            learner.without_prior(&state, &mut training);
            state.mean.iter_mut().zip(&centre).for_each(|(m, c)| *m += c);
            (state, training)
        }
        None => {
            let learner = fa_learner(params, &survey, survey.frame.clone());
            let start = |restart| Ok(learner.start(&first, restart, context));
            let Learned { state, mut training } =
                learn(&learner, start, source, plan, context, observer)?;
            learner.without_prior(&state, &mut training);
            (state, training)
        }
    };
    training.rows = source.rows();
    training.weight = not_rows(survey.facts.weight, training.rows);
    let unit: Vec<f64> = match params.rotation {
        Rotation::Principal => state.noise.iter().map(|v| v.sqrt()).collect(),
        Rotation::Varimax => reference.iter().map(|v| v.sqrt()).collect(),
    };
    let mut loading = rotated(&state.loading, n, &unit, params.rotation)?;
    let frame = &survey.frame;
    for row in loading.chunks_exact_mut(d) {
        row.iter_mut().enumerate().for_each(|(d, w)| *w *= frame.scale(d));
    }
    let outward = |(d, &m): (usize, &f64)| frame.outward(d, m);
    let gaussian = Gaussian {
        mean: state.mean.iter().enumerate().map(outward).collect(),
        loading,
        noise: state.noise.iter().enumerate().map(|(d, v)| v * frame.scale(d).powi(2)).collect(),
    };
    Ok((Fa::new(gaussian), training))
}

/// Learns from rows, or from what stands in for them, in the units of this frame.
fn fa_learner<T: Real, U>(
    params: &FaParams,
    survey: &FactorSurvey<T>,
    frame: Frame<U>,
) -> FactorLearner<U> {
    FactorLearner {
        components: params.components,
        noise: Noise::Own,
        frame,
        reference: survey.reference.clone(),
        floor: params.variance_floor,
        log_scale: survey.log_scale,
        holes: survey.holes,
        shrinkage: survey.shrinkage.clone(),
        facts: survey.facts,
    }
}

/// A table with the covariance of the rows and mean 0: see the [module](super).
fn summary(spectrum: &Spectrum) -> Result<Table<f64>> {
    let d = spectrum.mean.len();
    let least = spectrum.scatter.first().copied().unwrap_or(0.0) * 1e-15;
    let kept = spectrum.scatter.iter().filter(|s| **s > least).count().max(1);
    let mut values = Vec::with_capacity(2 * kept * d);
    for (direction, s) in spectrum.directions.chunks_exact(d).zip(&spectrum.scatter).take(kept) {
        let length = (kept as f64 * s / spectrum.weight).sqrt();
        values.extend(direction.iter().map(|v| length * v));
        values.extend(direction.iter().map(|v| -length * v));
    }
    let weight = spectrum.weight / (2 * kept) as f64;
    Table::from(Dense::new(2 * kept, d, values)?).with_weights(vec![weight; 2 * kept])
}
