//! Learning from a source.

use mereo_core::slots::{Frame, Survey};
use mereo_core::{Context, Learned, Observer, Plan, Real, Result, Source, Training, learn};

use super::layers::Layers;
use super::learner::DeepLearner;
use super::{DeepGmm, DeepGmmParams, Em, LayerKind, Search};
use crate::likelihood::bound_of;

/// Most paths that are summed over at the end where learning searched among them: a pass that does is
/// to take no longer than the passes that did not.
const MOST_SUMMED: usize = 1 << 12;

mereo_core::fit_here! {
    /// Learns a Deep Gaussian mixture.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_mixture::{DeepGmmParams, deep};
    /// let values = vec![0.0, 0.1, -0.1, 0.2, 7.0, 8.0, 9.0, 8.0];
    /// let table = Table::from(Dense::new(8, 1, values)?);
    /// let (params, plan) = (DeepGmmParams::new(&[2, 2]), Plan::default());
    /// let (model, training) = deep::fit(&params, &table, &plan, &Context::new(0), &mut Silent)?;
    /// assert_eq!(model.path_weight().len(), 4);
    /// assert!(training.bound.is_finite());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(DeepGmmParams) -> DeepGmm, by fit_as
}

fn fit_as<T: Real>(
    params: &DeepGmmParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(DeepGmm, Training)> {
    params.check()?;
    params.check_columns(source.columns())?;
    let survey = Survey::of(source, context)?;
    let frame = match scaled_layer(&params.layer_kind) {
        Some(_) => survey.frame.clone(),
        None => {
            let mean = survey.reference.iter().sum::<f64>() / survey.reference.len() as f64;
            Frame::new(&survey.moments.mean, &vec![mean; survey.reference.len()])
        }
    };
    let scales = survey.moments.weight.iter().enumerate().map(|(d, n)| n * frame.scale(d).ln());
    let log_scale = scales.sum();
    let mut learner = DeepLearner {
        params: params.clone(),
        survey,
        frame,
        log_scale,
        rows: source.rows(),
        seed: context.seed(),
    };
    let start = |restart| learner.start(source, restart, context);
    let Learned { state, mut training } = learn(&learner, start, source, plan, context, observer)?;
    let paths = state.layers.path_weight.len();
    if params.search == Search::Full || paths <= MOST_SUMMED {
        let summed = (Em::Soft, Search::Full);
        (learner.params.em, learner.params.search) = summed;
        (learner.params.sweeps, learner.params.variance_floor) = (0, 0.0);
        training.log_likelihood = bound_of(&learner, &state, source, context)?;
    } else {
        training.likelihood_unknown = true;
    }
    let mut layers = state.layers;
    in_data_units(&mut layers, &learner.frame, scaled_layer(&params.layer_kind));
    Ok((DeepGmm::new(layers, params.factorised), training))
}

/// The layer that can take up a scale for each column without becoming one of another kind: the
/// lowest that is full, if those below it only scale columns.
fn scaled_layer(kinds: &[LayerKind]) -> Option<usize> {
    for (layer, kind) in kinds.iter().enumerate().rev() {
        match kind {
            LayerKind::Full => return Some(layer),
            LayerKind::Diagonal if layer == 0 => return Some(layer),
            LayerKind::Scale | LayerKind::Diagonal => {}
            LayerKind::Orthogonal => return None,
        }
    }
    None
}

/// Takes layers from the frame's units to the data's: with S the scales of the columns,
/// `c + S(A_k(…) + b_k)`. S passes through layers that only scale; without a layer that takes it up it
/// is the same number in all columns, which any layer can take.
fn in_data_units<T: Real>(layers: &mut Layers, frame: &Frame<T>, taken_by: Option<usize>) {
    let d = layers.columns;
    let last = layers.layers.len() - 1;
    let taken_by = taken_by.unwrap_or(last);
    for (l, layer) in layers.layers.iter_mut().enumerate() {
        if l >= taken_by {
            layer.bias.iter_mut().enumerate().for_each(|(i, b)| *b *= frame.scale(i % d));
        }
        if l == taken_by {
            for (i, v) in layer.transform.iter_mut().enumerate() {
                *v *= frame.scale(i / d % d);
            }
        }
        if l == last {
            for (i, b) in layer.bias.iter_mut().enumerate() {
                *b += frame.outward(i % d, 0.0);
            }
        }
    }
}
