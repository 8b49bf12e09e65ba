//! Where Deep Gaussian mixtures begin: see the [module](super).

use mereo_core::math::{Array, packed, whitening};
use mereo_core::slots::{Clusters, ColumnMoments, Form, Lloyd};
use mereo_core::{Context, Dense, Plan, Real, Result, Silent, Source, Table, sample_rows};
use rand_distr::{Distribution, StandardNormal};

use super::LayerKind;
use super::affine::Affine;
use super::layers::{Layer, Layers};
use super::learner::DeepLearner;
use crate::covariances::clip;
use crate::full::take_rows;

/// Rows that the start is learned from, and passes of k-means.
const START_ROWS: usize = 16_384;
const START_PASSES: usize = 30;
/// How far layers between begin from the identity.
const APART: f64 = 0.1;
/// The least contrast, and the least variance in any direction, that a start has.
const LEAST_CONTRAST: f64 = 1e-3;
const LEAST_VARIANCE: f64 = 1e-6;

pub(super) fn start<T: Real>(
    learner: &DeepLearner<T>,
    source: &dyn Source<T>,
    restart: usize,
    context: &Context,
) -> Result<Layers> {
    let (d, params) = (learner.frame.columns(), &learner.params);
    let sample =
        sample_rows(source, START_ROWS.min((1 << 24) / d).max(256), "deep start", context)?;
    let mut rows = in_frame(learner, &sample)?;
    let weights = sample.about().weights.clone().unwrap_or_else(|| vec![1.0; sample.rows()]);
    let all = spread(&rows, &weights, None, d);
    rows.chunks_exact_mut(d).for_each(|row| subtract(row, &all.offset));
    let deep = params.layers.len() > 1;
    let mut contrast = vec![1.0; sample.rows()];
    if deep && let Some(white) = whitening(&all.matrix, d) {
        for (row, contrast) in rows.chunks_exact_mut(d).zip(&mut contrast) {
            let of = white
                .matrix
                .chunks_exact(d)
                .map(|w| w.iter().zip(&*row).map(|(a, b)| a * b).sum::<f64>().powi(2));
            *contrast = (of.sum::<f64>() / d as f64).sqrt().max(LEAST_CONTRAST);
            row.iter_mut().for_each(|x| *x /= *contrast);
        }
    }
    let own = context.with_seed(context.seed().wrapping_add(restart as u64));
    let mut layers = vec![top(&rows, &weights, params.layers[0], params.layer_kind[0], d, &own)?];
    let mut by_contrast: Vec<(f64, f64)> = contrast.into_iter().zip(weights).collect();
    by_contrast.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (l, (&size, &kind)) in params.layers.iter().zip(&params.layer_kind).enumerate().skip(1) {
        let last = l + 1 == params.layers.len();
        let mut layer = Layer::zeros(kind, size, d);
        for component in 0..size {
            let place = (component as f64 + 0.5) / size as f64;
            let scale = if last {
                quantile(&by_contrast, place)
            } else {
                (2.0 * APART * (2.0 * place - 1.0)).exp()
            };
            let mut matrix = Array::identity(d);
            matrix.iter_mut().for_each(|v| *v *= scale);
            if !last && kind == LayerKind::Full {
                let numbers = [restart as u64, (l * size + component) as u64];
                let mut random = context.random("deep layer", numbers);
                let step = APART * scale / (d as f64).sqrt();
                for v in &mut *matrix {
                    let normal: f64 = StandardNormal.sample(&mut random);
                    *v += step * normal;
                }
            }
            layer.set(component, &Affine { matrix, offset: vec![0.0; d] });
        }
        layers.push(layer);
    }
    if let Some(last) = layers.last_mut() {
        for bias in last.bias.chunks_exact_mut(d) {
            bias.iter_mut().zip(&all.offset).for_each(|(b, m)| *b += m);
        }
    }
    let paths: usize = params.layers.iter().product();
    Ok(Layers { columns: d, layers, path_weight: vec![1.0 / paths as f64; paths] })
}

/// The value below which this share of all weight lies, of values and weights in rising order.
fn quantile(values: &[(f64, f64)], share: f64) -> f64 {
    let mut left = share * values.iter().map(|(_, weight)| weight).sum::<f64>();
    for &(value, weight) in values {
        left -= weight;
        if left < 0.0 {
            return value;
        }
    }
    values.last().map_or(1.0, |(value, _)| *value)
}

/// All rows in the frame's units, at its centre where a cell is missing.
fn in_frame<T: Real>(learner: &DeepLearner<T>, sample: &Table<T>) -> Result<Vec<f64>> {
    let (mut out, mut values) = (Vec::new(), Vec::new());
    let mut lane = sample.lane(0..sample.batches())?;
    while let Some(batch) = lane.next_batch()? {
        take_rows(&batch, 0..batch.rows, |d, x| learner.frame.cell(d, x).to_f64(), &mut values);
        out.extend(values.iter().map(|x| if x.is_nan() { 0.0 } else { *x }));
    }
    Ok(out)
}

fn subtract(row: &mut [f64], from: &[f64]) {
    row.iter_mut().zip(from).for_each(|(x, m)| *x -= m);
}

/// Covariance (as matrix) and mean (as offset) of the rows, or of those that `of` names, together
/// with D rows like `of`'s third part.
fn spread(
    rows: &[f64],
    weights: &[f64],
    of: Option<(&[usize], usize, &Affine)>,
    d: usize,
) -> Affine {
    let counts = |row: usize| match of {
        Some((cluster, wanted, _)) if cluster[row] != wanted => 0.0,
        _ => weights[row],
    };
    let total: f64 = (0..weights.len()).map(counts).sum();
    let mut mean = vec![0.0; d];
    for (row, cells) in rows.chunks_exact(d).enumerate() {
        let share = if total > 0.0 { counts(row) / total } else { 0.0 };
        mean.iter_mut().zip(cells).for_each(|(m, x)| *m += share * x);
    }
    let prior = if of.is_some() { d as f64 } else { 0.0 };
    let mut matrix = Array::zeros([d, d]);
    for (row, cells) in rows.chunks_exact(d).enumerate() {
        let share = counts(row) / (total + prior).max(f64::MIN_POSITIVE);
        if share > 0.0 {
            let apart: Vec<f64> = cells.iter().zip(&mean).map(|(x, m)| x - m).collect();
            for i in 0..d {
                let times = share * apart[i];
                for (out, x) in matrix.row_mut(i)[..=i].iter_mut().zip(&apart) {
                    *out += times * x;
                }
            }
        }
    }
    if let Some((_, _, whole)) = of {
        let share = prior / (total + prior);
        matrix.iter_mut().zip(&whole.matrix).for_each(|(o, w)| *o += share * w);
    }
    clip(&mut matrix, d, LEAST_VARIANCE);
    Affine { matrix, offset: mean }
}

/// The top layer: clusters of the rows.
fn top(
    rows: &[f64],
    weights: &[f64],
    size: usize,
    kind: LayerKind,
    d: usize,
    context: &Context,
) -> Result<Layer> {
    let table = Table::from(Dense::new(weights.len(), d, rows.to_vec())?);
    let table = table.with_weights(weights.to_vec())?;
    let moments = ColumnMoments::of(&table, context)?;
    let unit = moments.reference_variance();
    let lloyd = Lloyd::new(1, size, None, unit.clone(), &moments, Form::Dense);
    let plan = Plan { passes: START_PASSES, tolerance: 1e-6, ..Plan::default() };
    let means = lloyd.learn(&table, &plan, context, &mut Silent)?.state.mean;
    let cluster = Clusters::nearest(&table, &means, &unit)?;
    let whole = spread(rows, weights, None, d);
    let mut layer = Layer::zeros(kind, size, d);
    for component in 0..size {
        let Affine { matrix, offset } =
            spread(rows, weights, Some((&cluster, component, &whole)), d);
        let mut factor: Vec<f64> =
            matrix.rows().enumerate().flat_map(|(i, row)| row[..=i].iter().copied()).collect();
        let mut out = Array::zeros([d, d]);
        let variance = |i: usize| matrix.row(i)[i];
        let full = kind == LayerKind::Full && mereo_core::math::cholesky(&mut factor, d).is_some();
        let mean = (0..d).map(variance).sum::<f64>() / d as f64;
        for (i, out) in out.rows_mut().enumerate() {
            if full {
                out[..=i].copy_from_slice(&factor[packed(i)..=packed(i) + i]);
            } else if matches!(kind, LayerKind::Full | LayerKind::Diagonal) {
                out[i] = variance(i).sqrt();
            } else {
                out[i] = mean.sqrt();
            }
        }
        layer.set(component, &Affine { matrix: out, offset });
    }
    Ok(layer)
}
