//! The passes of mixtures whose components have covariances: see the modules of
//! [Gaussian](crate::gaussian) and [Student's t](crate::student) mixtures for the updates.

use mereo_core::math::Array;
use mereo_core::slots::{Frame, Survey, WorstRow, WorstRows, responsibilities};
use mereo_core::{
    Batch, Context, Facts, Learner, Pass, Real, Result, Source, Start, Statistics, batch_rows,
};
use serde::{Deserialize, Serialize};

use super::{Moments, Shapes, Whitened, Work, harden, take_rows};
use crate::covariances::{LowRank, analyse, clip, divergence, in_common, pooled, shrink};
use crate::degrees::{FIRST_DEGREES, new_degrees};
use crate::start::{EMPTY, MOST_RESEEDS, SEEDED_VARIANCE, clusters, normalise};

/// What covariances may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// Of its own for each component.
    Full,
    /// The same for all.
    Tied,
    /// So many factors and noise in each column.
    LowRank(usize),
}

/// Parameters that the passes move, in the frame's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// `[N]`.
    pub(crate) weight: Vec<f64>,
    /// `[N, D]`.
    pub(crate) mean: Array<2>,
    /// `[N, D, D]`, or `[1, D, D]` if tied: lower triangles.
    pub(crate) covariance: Array<3>,
    /// `[N, D, K]` and `[N, D]`; K is 0 if not of low rank.
    pub(crate) loading: Array<3>,
    pub(crate) noise: Array<2>,
    /// `[N]`, of Student's t.
    pub(crate) degrees: Option<Vec<f64>>,
    /// How often empty components were seeded anew.
    pub(crate) reseeds: u32,
}

/// Learns by EM.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct MixtureLearner<T> {
    pub(crate) components: usize,
    pub(crate) shape: Shape,
    pub(crate) hard: bool,
    /// Whether components have tails: Student's t.
    pub(crate) tails: bool,
    /// The least variance in any direction, in the frame's units.
    pub(crate) floor: f64,
    /// By how many rows covariances are drawn towards what they have in common.
    pub(crate) shrinkage: f64,
    pub(crate) survey: Survey<T>,
}

/// What rows tell.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct MixtureStatistics<T> {
    pub(crate) moments: Moments<T>,
    /// In the frame's units, less what shrinkage takes off.
    pub(crate) log_likelihood: f64,
    /// The rows that are explained worst, if there are empty components.
    pub(crate) worst: WorstRows,
}

impl<T: Real> Statistics for MixtureStatistics<T> {
    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.log_likelihood += other.log_likelihood;
        self.worst.merge(&other.worst);
    }

    fn reset(&mut self) {
        self.moments.reset();
        self.log_likelihood = 0.0;
        self.worst.clear();
    }

    fn finish(&mut self) {
        self.moments.flush();
    }
}

/// What looking needs, once a pass.
pub(crate) struct Prepared<T> {
    whitened: Whitened<T>,
    keep_worst: bool,
    /// What shrinkage takes off the log likelihood, for a row of weight 1.
    cost: f64,
}

/// Whether any row misses a cell.
pub(crate) fn has_holes<T>(survey: &Survey<T>) -> bool {
    survey.moments.weight.iter().any(|&w| w < survey.moments.rows)
}

/// Looks at some rows of a batch with components that are ready: `responsible` turns evidence into
/// responsibilities.
#[expect(clippy::too_many_arguments, reason = "what is looked with, at, and into")]
pub(crate) fn accumulate<T: Real>(
    whitened: &Whitened<T>,
    frame: &Frame<T>,
    keep_worst: bool,
    batch: &Batch<'_, T>,
    of: std::ops::Range<usize>,
    work: &mut Work<T>,
    statistics: &mut MixtureStatistics<T>,
    mut responsible: impl FnMut(&mut Work<T>, std::ops::Range<usize>, Option<&[f64]>),
) {
    let most = batch_rows(batch.columns);
    for first in of.clone().step_by(most) {
        let rows = first..(first + most).min(of.end);
        take_rows(batch, rows.clone(), |d, x| frame.cell(d, x), &mut work.values);
        responsible(work, rows.clone(), batch.weights.map(|w| &w[rows.clone()]));
        for (row, norm) in rows.zip(&work.log_norms) {
            let weight = batch.weight(row);
            statistics.log_likelihood += weight * norm;
            if keep_worst && weight > 0.0 {
                statistics.worst.offer(0, *norm, batch.first_row + row, || {
                    let mut cells = vec![f64::NAN; batch.columns];
                    batch.for_each_observed(row, |d, x| cells[d] = x.to_f64());
                    cells
                });
            }
        }
        statistics.moments.add(whitened, work);
    }
}

impl<T: Real> MixtureLearner<T> {
    fn columns(&self) -> usize {
        self.survey.frame.columns()
    }

    /// The first state of a restart: k-means on a sample of the rows, then the variances of its clusters.
    pub(crate) fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let (d, frame) = (self.columns(), &self.survey.frame);
        let start = clusters(&self.survey, self.components, self.floor, source, restart, context)?;
        let count = if self.shape == Shape::Tied { 1 } else { self.components };
        let variance = start.variance.iter().enumerate();
        let variance = variance.map(|(i, v)| v / frame.scale(i % d).powi(2)).collect();
        let noise = Array::new([self.components, d], variance);
        let mut covariance = Array::zeros([count, d, d]);
        for n in 0..self.components {
            let share = if count == 1 { start.weight[n] } else { 1.0 };
            for (i, variance) in noise.row(n).iter().enumerate() {
                covariance.at_mut([n % count, i])[i] += share * variance;
            }
        }
        let factors = if let Shape::LowRank(k) = self.shape { k } else { 0 };
        let mean = start.mean.iter().enumerate().map(|(i, &m)| frame.inward(i % d, m));
        let state = State {
            weight: start.weight,
            mean: Array::new([self.components, d], mean.collect()),
            covariance,
            loading: Array::zeros([self.components, d, factors]),
            noise,
            degrees: self.tails.then(|| vec![FIRST_DEGREES; self.components]),
            reseeds: 0,
        };
        Ok(Start { state, how: "k-means".into() })
    }

    /// `[D, D]`: what covariances are drawn towards, if they are. One component has nothing in
    /// common with others.
    fn common(&self, state: &State) -> Option<Vec<f64>> {
        let shrunk = self.shrinkage > 0.0 && self.components > 1;
        shrunk.then(|| in_common(&state.covariance, self.columns())).flatten()
    }

    fn is_empty(&self, weight: f64) -> bool {
        weight * (self.components as f64) < EMPTY
    }

    fn has_empty_component(&self, state: &State) -> bool {
        state.reseeds < MOST_RESEEDS && state.weight.iter().any(|&w| self.is_empty(w))
    }

    /// Gives each empty component the look of a row that is explained badly.
    fn seed_empty_components(&self, state: &mut State, worst: &[WorstRow]) -> Vec<String> {
        let (d, frame) = (self.columns(), &self.survey.frame);
        let common = pooled(&state.covariance, &state.weight, d * d);
        let mut notes = Vec::new();
        let mut worst = worst.iter();
        for n in 0..self.components {
            if !self.is_empty(state.weight[n]) {
                continue;
            }
            let Some(WorstRow { row, cells, .. }) = worst.next() else { break };
            for (column, &x) in cells.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                state.mean.row_mut(n)[column] = frame.cell(column, T::from_f64(x)).to_f64();
            }
            if self.shape != Shape::Tied {
                let own = state.covariance.at_mut([n]);
                own.iter_mut().zip(&common).for_each(|(s, c)| *s = SEEDED_VARIANCE * c);
                clip(own, d, self.floor);
            }
            if let Shape::LowRank(_) = self.shape {
                for i in 0..d {
                    let own = state.covariance.at_mut([n, i]);
                    state.noise.row_mut(n)[i] = own[i].max(self.floor);
                    own[..i].fill(0.0);
                }
                state.loading.at_mut([n]).fill(0.0);
            }
            if let Some(degrees) = &mut state.degrees {
                degrees[n] = FIRST_DEGREES;
            }
            state.weight[n] = 1.0 / self.survey.moments.rows.max(1.0);
            notes.push(format!("empty component {n} seeded from row {row}"));
        }
        normalise(&mut state.weight);
        state.reseeds += u32::from(!notes.is_empty());
        notes
    }

    /// Moves means and writes free covariances, about the new means, over those of before. Sums of
    /// components without rows are left out.
    fn update_moments(&self, state: &mut State, moments: &Moments<T>) {
        let d = self.columns();
        let tied = self.shape == Shape::Tied;
        let mut shared = vec![0.0; if tied { d * d } else { 0 }];
        let mut shares = 0.0;
        for n in 0..self.components {
            let sums = moments.of(n);
            let (sum, count) = (&sums.row(d)[..d], sums.row(d)[d]);
            if !(moments.total[n] > 1e-12 && count > 0.0) {
                continue;
            }
            let shift: Vec<f64> = sum.iter().map(|s| s / count).collect();
            state.mean.row_mut(n).iter_mut().zip(&shift).for_each(|(m, s)| *m += s);
            if tied {
                shares += count;
            }
            let out = if tied { &mut shared[..] } else { state.covariance.at_mut([n]) };
            for (i, out) in out.chunks_exact_mut(d).enumerate() {
                for (j, out) in out[..=i].iter_mut().enumerate() {
                    let sum = sums.row(i)[j] - count * shift[i] * shift[j];
                    *out = if tied { *out + sum } else { sum / count };
                }
            }
        }
        if tied && shares > 0.0 {
            state.covariance.iter_mut().zip(&shared).for_each(|(c, s)| *c = s / shares);
        }
    }
}

impl<T: Real> Learner<T> for MixtureLearner<T> {
    const NAME: &'static str = "mixture with covariances";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = MixtureStatistics<T>;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.survey.facts()
    }

    fn prepare(&self, state: &State, _pass: Pass) -> Prepared<T> {
        let shapes = Shapes {
            weight: &state.weight,
            mean: &state.mean,
            covariance: &state.covariance,
            scale: None,
            degrees: state.degrees.as_deref(),
            blur: 0.0,
        };
        let cost = self.common(state).map_or(0.0, |common| {
            self.shrinkage * divergence(&common, &state.covariance, self.columns())
        });
        Prepared {
            cost: cost / self.survey.moments.rows,
            whitened: Whitened::new(&shapes, self.columns(), has_holes(&self.survey)),
            keep_worst: self.has_empty_component(state),
        }
    }

    fn statistics(&self) -> MixtureStatistics<T> {
        MixtureStatistics {
            moments: Moments::new(self.components, self.columns(), self.tails),
            log_likelihood: 0.0,
            worst: WorstRows::new(1, self.components),
        }
    }

    fn workspace(&self) -> Work<T> {
        Work::default()
    }

    fn accumulate(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        statistics: &mut MixtureStatistics<T>,
    ) {
        let Prepared { whitened, keep_worst, cost } = prepared;
        let responsible = |work: &mut Work<T>, _, weights: Option<&[f64]>| {
            whitened.evidence(work);
            let rows = work.log_norms.len();
            if self.hard {
                harden(&mut work.evidence, &mut work.log_norms, rows, weights);
            } else {
                let (evidence, log_norms) = (&mut work.evidence, &mut work.log_norms);
                responsibilities(evidence, log_norms, self.components, rows, weights);
            }
        };
        let (frame, rows) = (&self.survey.frame, 0..batch.rows);
        accumulate(whitened, frame, *keep_worst, batch, rows, work, statistics, responsible);
        let weight = batch.weights.map_or(batch.rows as f64, |weights| weights.iter().sum());
        statistics.log_likelihood -= cost * weight;
    }

    fn bound(&self, statistics: &MixtureStatistics<T>) -> f64 {
        statistics.log_likelihood - self.survey.log_scale()
    }

    fn update(
        &self,
        state: &mut State,
        statistics: &MixtureStatistics<T>,
        _pass: Pass,
    ) -> Vec<String> {
        let (d, moments) = (self.columns(), &statistics.moments);
        let size = d * d;
        let seeding = self.has_empty_component(state);
        let common = self.common(state);
        self.update_moments(state, moments);
        if let Some(common) = common {
            shrink(&mut state.covariance, &moments.total, common, d, self.shrinkage, self.floor);
        } else if let Shape::LowRank(k) = self.shape {
            let pieces = state
                .covariance
                .chunks_mut(size)
                .zip(state.loading.chunks_mut(d * k))
                .zip(state.noise.chunks_mut(d))
                .zip(&moments.total);
            mereo_core::in_parallel(pieces, |(((covariance, loading), noise), &total)| {
                if total > 1e-12 {
                    analyse(covariance, LowRank { loading, noise }, d, k, self.floor);
                }
            });
        } else {
            let tails = match &mut state.degrees {
                Some(degrees) => degrees.iter_mut().map(Some).collect::<Vec<_>>(),
                None => state.covariance.chunks(size).map(|_| None).collect(),
            };
            let pieces = state.covariance.chunks_mut(size).zip(tails).enumerate();
            mereo_core::in_parallel(pieces, |(n, (covariance, degrees))| {
                let free = if degrees.is_some() { covariance.to_vec() } else { Vec::new() };
                let clipped = clip(covariance, d, self.floor);
                let Some(degrees) = degrees else { return };
                let (total, precise) = (moments.total[n], moments.of(n).row(d)[d]);
                if !(total > 1e-12 && precise > 0.0) {
                    return;
                }
                if clipped {
                    // The floor holds for the model that is not expanded.
                    covariance.iter_mut().zip(&free).for_each(|(c, f)| *c = f * (precise / total));
                    clip(covariance, d, self.floor);
                }
                *degrees = new_degrees(
                    *degrees,
                    total,
                    moments.log_precision[n],
                    precise,
                    moments.by_observed.row(n),
                    !clipped,
                );
            });
        }
        state.weight.copy_from_slice(&moments.total);
        normalise(&mut state.weight);
        if seeding { self.seed_empty_components(state, statistics.worst.of(0)) } else { Vec::new() }
    }
}

/// Means `[N, D]` and covariances `[C, D, D]` in the data's units, the latter made whole from their
/// lower triangles.
pub(crate) fn in_data_units<T: Real>(
    frame: &Frame<T>,
    mean: &Array<2>,
    covariance: &Array<3>,
) -> (Vec<f64>, Vec<f64>) {
    let d = frame.columns();
    let mean = mean.iter().enumerate().map(|(i, &m)| frame.outward(i % d, m)).collect();
    let covariance = (0..covariance.len()).map(|at| {
        let (c, i, j) = (at / (d * d), at / d % d, at % d);
        covariance.at([c, i.max(j)])[i.min(j)] * (frame.scale(i) * frame.scale(j))
    });
    (mean, covariance.collect())
}
