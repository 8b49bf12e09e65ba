//! The passes of GVQ: see the [module](super) for the derivation.

use mereo_core::math::{Array, Matrix, product_nt, product_tn};
use mereo_core::slots::{Survey, WorstRows};
use mereo_core::{
    Batch, Block, Context, Facts, Learner, Pass, Real, Result, Source, Start, Statistics,
};
use serde::{Deserialize, Serialize};

use super::GvqParams;
use super::sets::{Explainer, Found, Sets};
use super::starts::{best_of_scouts, random_states};
use crate::associate::ones;
use crate::squares::Squares;

/// A feature is unused when the rows that use it, or those of its set that do not, weigh no more.
const EMPTY: f64 = 1e-9;
/// How many passes of a restart may give unused features something to do.
const MOST_RESEEDS: u32 = 20;
/// The smallest mean squared error, in the frame's units, that bounds are told of.
const LEAST_ERROR: f64 = 1e-12;
/// Cells of the rows that are looked at together.
const CHUNK_CELLS: usize = 1 << 17;

/// The units that rows are measured in: about the columns' means, with one scale for all columns
/// so that distances keep their meaning.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct Units<T> {
    pub(crate) centre: Vec<T>,
    pub(crate) scale: T,
}

impl<T: Real> Units<T> {
    pub(crate) fn of(survey: &Survey<T>) -> Self {
        let mean = survey.reference.iter().sum::<f64>() / survey.reference.len().max(1) as f64;
        Self {
            centre: survey.moments.mean.iter().map(|&c| T::from_f64(c)).collect(),
            scale: T::from_f64(mean.sqrt().max(T::SMALLEST_SPREAD)),
        }
    }

    #[inline(always)]
    pub(crate) fn inward(&self, column: usize, value: T) -> T {
        let cell = (value - self.centre[column]) / self.scale;
        // Rows of weight 0 may be so far out that squares would overflow.
        let most = T::FARTHEST;
        let below = if cell > most { most } else { cell };
        if below < -most { -most } else { below }
    }
}

/// Features and origins so far, in the frame's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// `[M, n, D]`.
    pub(super) feature: Array<3>,
    /// `[M, D]`.
    pub(super) origin: Array<2>,
    /// Whether some feature or set was unused in the last pass.
    pub(super) unused: bool,
    /// How often unused ones were given something to do.
    pub(super) reseeds: u32,
}

impl State {
    /// Whether unused features are still to be given something to do.
    fn seeding(&self) -> bool {
        self.unused && self.reseeds < MOST_RESEEDS
    }
}

/// Learns GVQ by association and least squares in turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(super) struct GvqLearner<T> {
    pub(super) params: GvqParams,
    pub(super) units: Units<T>,
    pub(super) facts: Facts,
    /// Whether any cell is missing.
    pub(super) holes: bool,
    /// Whether this is a short run that starts are looked for by, which has to be soon done.
    pub(super) scouting: bool,
}

/// What rows tell.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GvqStatistics {
    /// The equations of each set: origin, then features.
    pub(super) squares: Vec<Squares>,
    /// Weight of the rows of each set that use each feature, `[M, 1 + n]`, the origin first.
    pub(super) usage: Array<2>,
    energy: f64,
    observed: f64,
    rows: f64,
    /// The worst rows, if something is unused: the row, then what its features leave of it.
    worst: WorstRows,
}

impl Statistics for GvqStatistics {
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.squares.iter_mut().zip(&other.squares) {
            a.merge(b);
        }
        for (a, b) in self.usage.iter_mut().zip(&other.usage) {
            *a += b;
        }
        self.energy += other.energy;
        self.observed += other.observed;
        self.rows += other.rows;
        self.worst.merge(&other.worst);
    }

    fn reset(&mut self) {
        self.squares.iter_mut().for_each(Squares::reset);
        self.usage.fill(0.0);
        (self.energy, self.observed, self.rows) = (0.0, 0.0, 0.0);
        self.worst.clear();
    }
}

impl GvqStatistics {
    #[cfg(test)]
    pub(super) fn energy(&self) -> f64 {
        self.energy
    }

    /// Adds a row that was explained. Its part of the equations' right side is added elsewhere.
    pub(super) fn add(&mut self, found: Found, weight: f64, observed: Option<&[usize]>) {
        let mut coefficients = [(0, 1.0); crate::associate::MOST_FEATURES + 1];
        let mut count = 1;
        for i in ones(found.state) {
            coefficients[count].0 = i + 1;
            count += 1;
        }
        let coefficients = &coefficients[..count];
        let squares = &mut self.squares[found.set];
        match observed {
            None => squares.add_complete(weight, coefficients),
            Some(columns) => {
                squares.add_observed(weight, coefficients, columns.iter().copied());
            }
        }
        for &(i, _) in coefficients {
            self.usage.row_mut(found.set)[i] += weight;
        }
    }
}

/// What looking needs, once a pass.
pub(super) struct Prepared<T> {
    pub(super) sets: Sets,
    /// Origins and features, `[M, 1 + n, D]`.
    vectors: Vec<T>,
    constants: Vec<f64>,
    keep_worst: bool,
}

/// Memory for one batch.
pub(super) struct Work<T> {
    explainer: Explainer,
    cells: Vec<T>,
    complete: Vec<bool>,
    products: Vec<T>,
    coefficients: Vec<T>,
    cross: Vec<T>,
    sum: Vec<f64>,
}

impl<T: Real> GvqLearner<T> {
    /// The best of many short runs from random states.
    pub(super) fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        let scouting = |facts| Self { scouting: true, facts, ..self.clone() };
        let mut start =
            best_of_scouts(scouting, random_states, &self.params, source, restart, context)?;
        start.state.reseeds = 0;
        Ok(start)
    }

    fn vectors(&self) -> usize {
        self.params.sets * (self.params.features + 1)
    }

    /// Puts rows of a batch into the frame's units, 0 where a cell is missing.
    fn fill(&self, batch: &Batch<'_, T>, rows: std::ops::Range<usize>, work: &mut Work<T>) {
        let d = batch.columns;
        work.cells.clear();
        work.cells.resize(rows.len() * d, T::ZERO);
        work.complete.clear();
        let all = matches!(batch.block, Block::Dense { complete: true, .. });
        for (row, cells) in rows.zip(work.cells.chunks_exact_mut(d)) {
            let mut seen = 0;
            match batch.block {
                Block::Dense { values, .. } if all => {
                    for (c, x) in cells.iter_mut().enumerate() {
                        *x = self.units.inward(c, values[row * d + c]);
                    }
                    seen = d;
                }
                _ => batch.for_each_observed(row, |c, value| {
                    cells[c] = self.units.inward(c, value);
                    seen += 1;
                }),
            }
            work.complete.push(seen == d);
        }
    }

    /// Gives features and sets that nothing uses something to do: what the worst explained rows
    /// lack. Whatever rows were made of can still be made, so nothing gets worse.
    fn reseed(&self, state: &mut State, statistics: &GvqStatistics) -> Vec<String> {
        let (n, d) = (self.params.features, self.units.centre.len());
        let mut notes = Vec::new();
        let mut worst = statistics.worst.of(0).iter();
        for set in 0..self.params.sets {
            let usage = statistics.usage.row(set);
            if usage[0] <= EMPTY {
                let Some(row) = worst.next() else { break };
                state.origin.row_mut(set).copy_from_slice(&row.cells[..d]);
                state.feature.at_mut([set]).fill(0.0);
                notes.push(format!("empty set {set} seeded from row {}", row.row));
                continue;
            }
            for i in 0..n {
                let always = usage[0] - usage[i + 1] <= EMPTY;
                if !always && usage[i + 1] > EMPTY {
                    continue;
                }
                let Some(row) = worst.next() else { break };
                let feature = state.feature.at_mut([set, i]);
                if always {
                    for (o, f) in state.origin.row_mut(set).iter_mut().zip(&*feature) {
                        *o += f;
                    }
                }
                feature.copy_from_slice(&row.cells[d..]);
                let row = row.row;
                notes.push(format!("unused feature {i} of set {set} seeded from row {row}"));
            }
        }
        state.reseeds += u32::from(!notes.is_empty());
        notes
    }
}

impl<T: Real> Learner<T> for GvqLearner<T> {
    const NAME: &'static str = "gvq";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = GvqStatistics;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn prepare(&self, state: &State, _pass: Pass) -> Prepared<T> {
        let scale = self.units.scale.to_f64();
        let penalty = self.params.penalty / scale / scale;
        let ready = Sets::new(state.feature.clone(), state.origin.clone(), penalty);
        let mut vectors = Vec::with_capacity(self.vectors() * ready.columns());
        for (set, origin) in state.origin.rows().enumerate() {
            let both = origin.iter().chain(state.feature.at([set]));
            vectors.extend(both.map(|&v| T::from_f64(v)));
        }
        let constants = ready.constants();
        Prepared { sets: ready, vectors, constants, keep_worst: state.seeding() }
    }

    fn statistics(&self) -> GvqStatistics {
        let (n, d) = (self.params.features, self.units.centre.len());
        GvqStatistics {
            squares: vec![Squares::new(n + 1, d, self.holes); self.params.sets],
            usage: Array::zeros([self.params.sets, n + 1]),
            energy: 0.0,
            observed: 0.0,
            rows: 0.0,
            worst: WorstRows::new(1, self.params.sets * n),
        }
    }

    fn workspace(&self) -> Work<T> {
        let explainer = if self.scouting {
            Explainer::quick()
        } else {
            Explainer::new(self.params.association)
        };
        Work {
            explainer,
            cells: Vec::new(),
            complete: Vec::new(),
            products: Vec::new(),
            coefficients: Vec::new(),
            cross: Vec::new(),
            sum: Vec::new(),
        }
    }

    fn accumulate(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        statistics: &mut GvqStatistics,
    ) {
        let (n, d, vectors) = (self.params.features, batch.columns, self.vectors());
        let chunk = (CHUNK_CELLS / d.max(1)).max(16);
        for first in (0..batch.rows).step_by(chunk) {
            let rows = first..(first + chunk).min(batch.rows);
            self.fill(batch, rows.clone(), work);
            let count = rows.len();
            let cells = Matrix::new(&work.cells, count, d);
            work.products.resize(count * vectors, T::ZERO);
            product_nt(
                &mut work.products,
                cells,
                Matrix::new(&prepared.vectors, vectors, d),
                false,
            );
            work.coefficients.clear();
            work.coefficients.resize(count * vectors, T::ZERO);
            for (at, row) in rows.enumerate() {
                let weight = batch.weight(row);
                let own = &work.cells[at * d..(at + 1) * d];
                let complete = work.complete[at];
                let found = if complete && work.explainer.by_products() {
                    let square = own.iter().map(|x| x.to_f64() * x.to_f64()).sum();
                    let products = &work.products[at * vectors..(at + 1) * vectors];
                    work.explainer.explain_products(
                        &prepared.sets,
                        products,
                        square,
                        &prepared.constants,
                    )
                } else {
                    work.explainer.take(batch, row);
                    let Explainer { observed, values, .. } = &mut work.explainer;
                    for (x, &c) in values.iter_mut().zip(&*observed) {
                        *x = own[c].to_f64();
                    }
                    work.explainer.explain(&prepared.sets)
                };
                let observed = (!complete).then_some(&*work.explainer.observed);
                if weight == 0.0 {
                    continue;
                }
                statistics.energy += weight * found.energy;
                statistics.rows += weight;
                statistics.observed += weight * observed.map_or(d, <[usize]>::len) as f64;
                statistics.add(found, weight, observed);
                let coefficients = &mut work.coefficients[at * vectors..(at + 1) * vectors];
                let base = found.set * (n + 1);
                coefficients[base] = T::from_f64(weight);
                for i in ones(found.state) {
                    coefficients[base + 1 + i] = T::from_f64(weight);
                }
                if prepared.keep_worst {
                    work.sum.resize(d, 0.0);
                    let (sum, seen) = (&mut work.sum, observed);
                    statistics.worst.offer(0, -found.energy, batch.first_row + row, || {
                        prepared.sets.sum(found.set, found.state, sum);
                        lacking(own, sum, seen)
                    });
                }
            }
            work.cross.resize(vectors * d, T::ZERO);
            let coefficients = Matrix::new(&work.coefficients, count, vectors);
            product_tn(&mut work.cross, coefficients, Matrix::new(&work.cells, count, d), false);
            let sets = statistics.squares.iter_mut();
            for (squares, cross) in sets.zip(work.cross.chunks_exact((n + 1) * d)) {
                for (sum, x) in squares.cross.iter_mut().zip(cross) {
                    *sum += x.to_f64();
                }
            }
        }
    }

    /// See the [module](super): `-(N/2)(log 2πσ² + 1) - C (log M + n log 2)` in the data's units.
    fn bound(&self, statistics: &GvqStatistics) -> f64 {
        let GvqStatistics { energy, observed, rows, .. } = *statistics;
        let variance = (energy / observed.max(f64::MIN_POSITIVE)).max(LEAST_ERROR);
        let codes =
            (self.params.sets as f64).ln() + self.params.features as f64 * std::f64::consts::LN_2;
        -0.5 * observed * ((std::f64::consts::TAU * variance).ln() + 1.0)
            - observed * self.units.scale.to_f64().ln()
            - rows * codes
    }

    fn update(&self, state: &mut State, statistics: &GvqStatistics, _pass: Pass) -> Vec<String> {
        let seeding = state.seeding();
        solve(statistics, state);
        let unused = |usage: &[f64]| {
            usage[0] <= EMPTY || usage[1..].iter().any(|&u| u <= EMPTY || usage[0] - u <= EMPTY)
        };
        state.unused = statistics.usage.rows().any(unused);
        if seeding { self.reseed(state, statistics) } else { Vec::new() }
    }
}

/// Least squares for every set that has rows.
pub(super) fn solve(statistics: &GvqStatistics, state: &mut State) {
    let [_, n, d] = state.feature.shape();
    let mut found = vec![0.0; (n + 1) * d];
    for (set, squares) in statistics.squares.iter().enumerate() {
        if statistics.usage.row(set)[0] > EMPTY {
            squares.solve(&mut found);
            state.origin.row_mut(set).copy_from_slice(&found[..d]);
            state.feature.at_mut([set]).copy_from_slice(&found[d..]);
        }
    }
}

/// A row, with the origin's cells where its own are missing, and what its explanation lacks.
fn lacking<T: Real>(own: &[T], sum: &[f64], observed: Option<&[usize]>) -> Vec<f64> {
    let d = own.len();
    let mut out = vec![0.0; 2 * d];
    let mut put = |c: usize| {
        out[c] = own[c].to_f64();
        out[d + c] = own[c].to_f64() - sum[c];
    };
    match observed {
        None => (0..d).for_each(put),
        Some(columns) => columns.iter().for_each(|&c| put(c)),
    }
    out
}
