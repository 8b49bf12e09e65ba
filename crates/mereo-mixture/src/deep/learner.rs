//! The passes of the Deep Gaussian mixture: see the [module](super) for the derivation.

use mereo_core::math::Array;
use mereo_core::slots::{Frame, Survey, WorstRows, responsibilities};
use mereo_core::{
    Batch, Context, Facts, Learner, Memory, Pass, Real, Result, Source, Start, Statistics,
    batch_rows, in_parallel,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::affine::{Affine, congruent};
use super::gradient::{PARTS, rows_of, schedule};
use super::layers::{Layers, usage};
use super::node::{Above, Node};
use super::search::Paths;
use super::{DeepGmmParams, Em, Search};
use crate::full::{
    MixtureStatistics, Moments, Shapes, Whitened, Work, accumulate, harden, has_holes,
};
use crate::start::{EMPTY, MOST_RESEEDS, normalise};

/// By what the transform of a revived component is larger, or smaller, than the one it was copied
/// from.
const REVIVED: f64 = 1.5;
/// A component with fewer rows stays as it is.
const FEWEST_ROWS: f64 = 1e-6;
/// Sweeps of the search from the path of before, and from a random one.
const WARM_SWEEPS: usize = 1;
const RANDOM_SWEEPS: usize = 2;

/// Parameters that the passes move, in the frame's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(super) layers: Layers,
    /// How often unused components were revived.
    pub(super) reseeds: u32,
}

impl State {
    /// Makes each unused component a copy of the most used one of its layer.
    fn revive(&mut self) -> Vec<String> {
        let layers = &mut self.layers;
        let mut notes = Vec::new();
        if self.reseeds >= MOST_RESEEDS {
            return notes;
        }
        for layer in 0..layers.layers.len() {
            let size = layers.layers[layer].size();
            let below = layers.around(layer).1;
            for component in 0..size {
                let used = usage(&layers.path_weight, below, size);
                if used[component] * size as f64 >= EMPTY {
                    continue;
                }
                let most = (0..size).fold(0, |best, c| if used[c] > used[best] { c } else { best });
                let mut map = layers.layers[layer].map(most);
                let by = if component % 2 == 0 { REVIVED } else { 1.0 / REVIVED };
                map.matrix.iter_mut().for_each(|v| *v *= by);
                layers.layers[layer].set(component, &map);
                for path in (0..layers.path_weight.len()).filter(|p| p / below % size == most) {
                    let half = 0.5 * layers.path_weight[path];
                    layers.path_weight[path] = half;
                    let copy = path - most * below + component * below;
                    layers.path_weight[copy] += half;
                }
                notes.push(format!(
                    "unused component {component} of layer {} revived as a copy of {most}",
                    layer + 1
                ));
            }
        }
        normalise(&mut layers.path_weight);
        self.reseeds += u32::from(!notes.is_empty());
        notes
    }
}

/// Learns a Deep Gaussian mixture by EM.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct DeepLearner<T> {
    pub(super) params: DeepGmmParams,
    pub(super) survey: Survey<T>,
    pub(super) frame: Frame<T>,
    /// What densities in the frame's units are above those in the data's, all rows together.
    pub(super) log_scale: f64,
    /// Number of rows.
    pub(super) rows: usize,
    /// What random paths are drawn with.
    pub(super) seed: u64,
}

/// What rows tell.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct DeepStatistics<T> {
    pub(super) paths: MixtureStatistics<T>,
    /// Weight of the rows, and of those for which a random start found a better path.
    rows: f64,
    switched: f64,
}

impl<T: Real> Statistics for DeepStatistics<T> {
    fn merge(&mut self, other: &Self) {
        self.paths.merge(&other.paths);
        self.rows += other.rows;
        self.switched += other.switched;
    }

    fn reset(&mut self) {
        self.paths.reset();
        (self.rows, self.switched) = (0.0, 0.0);
    }

    fn finish(&mut self) {
        self.paths.finish();
    }
}

/// What looking needs, once a pass.
pub(crate) struct Prepared<T> {
    whitened: Whitened<T>,
    pass: Pass,
}

/// Memory for looking at a batch, and the paths of rows.
pub(crate) struct DeepWork<T> {
    work: Work<T>,
    paths: Memory<f64>,
}

impl<T: Real> DeepLearner<T> {
    fn columns(&self) -> usize {
        self.frame.columns()
    }

    /// The first state of a restart.
    pub(super) fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let layers = super::start::start(self, source, restart, context)?;
        Ok(Start { state: State { layers, reseeds: 0 }, how: "contrast".into() })
    }

    fn paths(&self) -> usize {
        self.params.layers.iter().product()
    }

    /// Finds a path for each row by coordinate search; returns the weight of those that switched.
    fn search(
        &self,
        prepared: &Prepared<T>,
        first_row: usize,
        work: &mut Work<T>,
        memory: &mut Memory<f64>,
        weights: Option<&[f64]>,
    ) -> f64 {
        let Prepared { whitened, pass } = prepared;
        let tries = Paths { whitened, sizes: &self.params.layers };
        whitened.begin(work);
        let (rows, count) = (work.log_norms.len(), self.paths());
        let new = pass.pass == 0 || pass.pass < PARTS && self.params.sweeps > 0;
        let (kept, known) = memory.rows_mut(first_row, rows, 1, new);
        let at = ((pass.restart as u64) << 32) | pass.pass as u64;
        let drawn = Context::new(self.seed);
        let random = |purpose: &str, row: usize| {
            drawn.random(purpose, [at, (first_row + row) as u64]).random_range(0..count)
        };
        let mut path: Vec<usize> = if known {
            kept.iter().map(|&p| (p as usize).min(count - 1)).collect()
        } else {
            (0..rows).map(|row| random("first path", row)).collect()
        };
        let mut value = tries.values(&path, work);
        tries.ascend(&mut path, &mut value, WARM_SWEEPS, work);
        let mut other: Vec<usize> = (0..rows).map(|row| random("path", row)).collect();
        let mut there = tries.values(&other, work);
        tries.ascend(&mut other, &mut there, RANDOM_SWEEPS, work);
        let mut switched = 0.0;
        work.evidence.fill(0.0);
        for row in 0..rows {
            let weight = weights.map_or(1.0, |w| w[row]);
            if there[row] > value[row] {
                (path[row], value[row]) = (other[row], there[row]);
                switched += weight;
            }
            kept[row] = path[row] as f64;
            work.log_norms[row] = value[row];
            work.evidence[path[row] * rows + row] = weight;
        }
        switched
    }

    /// `[P]` of `[D+1, D+1]`: moments of rows as they are, not about means, and blurred.
    pub(super) fn path_moments(&self, layers: &Layers, moments: &Moments<T>) -> Vec<Array<2>> {
        let (d, width) = (self.columns(), self.columns() + 1);
        let (mean, _) = layers.collapse();
        let mut out = vec![Array::default(); self.paths()];
        in_parallel(out.iter_mut().enumerate(), |(path, out)| {
            let sums = moments.of(path);
            // Sums are those of the lower triangle.
            let mut whole = Array::zeros([width, width]);
            for i in 0..width {
                for (j, &sum) in sums.row(i)[..=i].iter().enumerate() {
                    whole.row_mut(i)[j] = sum;
                    whole.row_mut(j)[i] = sum;
                }
            }
            let count = whole.row(d)[d];
            (0..d).for_each(|i| whole.row_mut(i)[i] += count * self.params.variance_floor);
            let about = Affine {
                matrix: Array::identity(d),
                offset: mean[path * d..(path + 1) * d].to_vec(),
            };
            *out = congruent(&about.extended(), &whole);
        });
        out
    }

    /// Re-estimates the components of a layer from path moments, those of all rows or, with a rate,
    /// goes a step from those of a part of them.
    pub(super) fn update_layer(
        &self,
        layers: &mut Layers,
        layer: usize,
        moments: &[Array<2>],
        rate: Option<f64>,
    ) {
        let d = self.columns();
        let (above, below) = layers.around(layer);
        let (Some(upper), Some(lower)) =
            (layers.up(0..layer), layers.up(layer + 1..layers.layers.len()))
        else {
            return;
        };
        let lower: Vec<Array<2>> = lower.iter().map(Affine::extended).collect();
        let size = layers.layers[layer].size();
        let kind = layers.layers[layer].kind;
        let mut found: Vec<Option<Affine>> = vec![None; size];
        let now = &*layers;
        in_parallel(found.iter_mut().enumerate(), |(component, found)| {
            let mut node = Node { columns: d, count: 0.0, above: Vec::with_capacity(above) };
            for (u, map) in upper.iter().enumerate() {
                let mut sums = Array::zeros([d + 1, d + 1]);
                for (q, lower) in lower.iter().enumerate() {
                    let path = &moments[(u * size + component) * below + q];
                    if path.row(d)[d] > 0.0 {
                        let turned = congruent(lower, path);
                        sums.iter_mut().zip(&turned).for_each(|(s, m)| *s += m);
                    }
                }
                node.count += sums.row(d)[d];
                node.above.push(Above { map: map.clone(), moments: sums });
            }
            if !(node.count > FEWEST_ROWS) {
                return;
            }
            let map = now.layers[layer].map(component);
            *found = match rate {
                Some(rate) => node.ascend(kind, &map, rate),
                None if layer == 0 => node.top(kind),
                None => node.solve(kind, &map, self.params.m_step, self.params.steps),
            };
        });
        for (component, map) in found.iter().enumerate() {
            if let Some(map) = map {
                layers.layers[layer].set(component, map);
            }
        }
    }

    fn update_weights(&self, layers: &mut Layers, total: &[f64], rate: Option<f64>) {
        let mut told = total.to_vec();
        normalise(&mut told);
        let rate = rate.unwrap_or(1.0);
        for (weight, told) in layers.path_weight.iter_mut().zip(&told) {
            *weight = (1.0 - rate) * *weight + rate * told;
        }
        if self.params.factorised {
            layers.path_weight = layers.independent();
            normalise(&mut layers.path_weight);
        }
    }
}

impl<T: Real> Learner<T> for DeepLearner<T> {
    const NAME: &'static str = "deep-gmm";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = DeepStatistics<T>;
    type Workspace = DeepWork<T>;

    fn facts(&self) -> Facts {
        self.survey.facts()
    }

    fn settled_from(&self) -> usize {
        self.params.sweeps.saturating_mul(PARTS)
    }

    fn prepare(&self, state: &State, pass: Pass) -> Prepared<T> {
        let (mean, covariance, scale) = state.layers.shared();
        let shapes = Shapes {
            weight: &state.layers.path_weight,
            mean: &mean,
            covariance: &covariance,
            scale: scale.as_deref(),
            degrees: None,
            blur: self.params.variance_floor,
        };
        Prepared { whitened: Whitened::new(&shapes, self.columns(), has_holes(&self.survey)), pass }
    }

    fn statistics(&self) -> DeepStatistics<T> {
        DeepStatistics {
            paths: MixtureStatistics {
                moments: Moments::new(self.paths(), self.columns(), false),
                log_likelihood: 0.0,
                worst: WorstRows::new(1, 0),
            },
            rows: 0.0,
            switched: 0.0,
        }
    }

    fn workspace(&self) -> DeepWork<T> {
        DeepWork { work: Work::default(), paths: Memory::default() }
    }

    fn accumulate(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut DeepWork<T>,
        statistics: &mut DeepStatistics<T>,
    ) {
        let DeepWork { work, paths: memory } = work;
        let DeepStatistics { paths, rows: weight, switched } = statistics;
        let mut responsible =
            |work: &mut Work<T>, rows: std::ops::Range<usize>, weights: Option<&[f64]>| {
                let count = rows.len();
                *weight += weights.map_or(count as f64, |w| w.iter().sum());
                match (self.params.em, self.params.search) {
                    (Em::Hard, Search::Coordinate) => {
                        let first = batch.first_row + rows.start;
                        *switched += self.search(prepared, first, work, memory, weights);
                    }
                    (em, _) => {
                        prepared.whitened.evidence(work);
                        let (evidence, log_norms) = (&mut work.evidence, &mut work.log_norms);
                        if em == Em::Hard {
                            harden(evidence, log_norms, count, weights);
                        } else {
                            responsibilities(evidence, log_norms, self.paths(), count, weights);
                        }
                    }
                }
            };
        let part = schedule(prepared.pass.pass, self.params.sweeps);
        let (whitened, frame) = (&prepared.whitened, &self.frame);
        let mut look = |rows: std::ops::Range<usize>| {
            accumulate(whitened, frame, false, batch, rows, work, paths, &mut responsible);
        };
        match part {
            None => look(0..batch.rows),
            Some((_, part)) => {
                let numbers = batch.first_row..batch.first_row + batch.rows;
                let stretch = batch_rows(batch.columns);
                rows_of(part, numbers, stretch, self.rows).for_each(look);
            }
        }
    }

    fn remembers_rows(&self) -> bool {
        self.params.em == Em::Hard && self.params.search == Search::Coordinate
    }

    fn memory(&self, workspace: &DeepWork<T>) -> Vec<f64> {
        workspace.paths.keep()
    }

    fn remember(&self, workspace: &mut DeepWork<T>, memory: &[f64]) {
        workspace.paths.recall(memory);
    }

    fn bound(&self, statistics: &DeepStatistics<T>) -> f64 {
        // A part of the rows says about what all would.
        let times = self.survey.moments.rows / statistics.rows;
        let times = if (times - 1.0).abs() > 1e-9 && times.is_finite() { times } else { 1.0 };
        times * statistics.paths.log_likelihood - self.log_scale
    }

    fn update(&self, state: &mut State, statistics: &DeepStatistics<T>, pass: Pass) -> Vec<String> {
        let part = schedule(pass.pass, self.params.sweeps);
        let rate = part.map(|(rate, _)| rate);
        if let Some((_, part)) = part
            && !(statistics.rows > 0.0)
        {
            // A small table has fewer rows than parts.
            return vec![format!("no rows for a step of part {} of {PARTS}", part + 1)];
        }
        let moments = self.path_moments(&state.layers, &statistics.paths.moments);
        for layer in 0..state.layers.layers.len() {
            self.update_layer(&mut state.layers, layer, &moments, rate);
        }
        self.update_weights(&mut state.layers, &statistics.paths.moments.total, rate);
        let mut notes = match part {
            // A part of the rows does not say which components none of them uses.
            Some((rate, part)) => {
                vec![format!("a step of {rate:.3} for part {} of {PARTS} of the rows", part + 1)]
            }
            None => state.revive(),
        };
        if self.params.search == Search::Coordinate {
            let rate = statistics.switched / statistics.rows.max(f64::MIN_POSITIVE);
            notes.push(format!("a random start found better paths for {rate:.4} of the rows"));
        }
        notes
    }
}
