//! The passes of factor analysis and probabilistic PCA: see the [module](super) for the derivation.

use mereo_core::math::{
    HALF_LOG_TWO_PI, Matrix, cholesky, cholesky_inverse, cholesky_solve, dot, packed, product,
    product_tn,
};
use mereo_core::slots::{Frame, Shrinkage};
use mereo_core::{Batch, Context, Facts, Learner, Pass, Real, Start, Statistics, Training};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::blocks::{Block, BlockWork};
use crate::gaussian::add_outer;

/// Rows that observe less than one cell in this many are visited cell by cell.
const SPARSE: usize = 8;

/// What the noise may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Noise {
    /// The same in all columns: probabilistic PCA.
    Shared,
    /// Of its own in each column: factor analysis.
    Own,
}

/// Parameters that the passes move, in the frame's units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// `[D]`.
    pub(super) mean: Vec<f64>,
    /// `[D, N]`: the loadings, column by column.
    pub(super) loading: Vec<f64>,
    /// `[D]`.
    pub(super) noise: Vec<f64>,
}

/// Learns a linear Gaussian model by EM.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct FactorLearner<T> {
    pub(super) components: usize,
    pub(super) noise: Noise,
    pub(super) frame: Frame<T>,
    /// `[D]`: the variance of each column that floors are relative to.
    pub(super) reference: Vec<f64>,
    /// The smallest noise, as a fraction of that.
    pub(super) floor: f64,
    /// What densities in the frame's units are above those in the data's, all rows together.
    pub(super) log_scale: f64,
    /// Whether cells may be missing.
    pub(super) holes: bool,
    /// Rows that each column is taken to have been seen in beside those there are.
    pub(super) shrinkage: Option<Shrinkage>,
    pub(super) facts: Facts,
}

/// What rows tell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FactorStatistics {
    /// Weight of the rows without holes, and packed `[N+1]`: their `E[z̃z̃ᵀ]`.
    complete: f64,
    shared: Vec<f64>,
    /// Packed `[N+1]`: `E[z̃z̃ᵀ]` of all rows.
    all: Vec<f64>,
    /// `[D]`, and `[D, packed N+1]`: the weight of the rows with holes that observe a column, and
    /// their `E[z̃z̃ᵀ]`.
    weight: Vec<f64>,
    own: Vec<f64>,
    /// `[D, N+1]`: `y E[z̃]`.
    cross: Vec<f64>,
    /// `[D]`: `y²`.
    squares: Vec<f64>,
    /// In the frame's units, with the logarithm of the prior.
    log_likelihood: f64,
}

impl FactorStatistics {
    fn lists(&mut self) -> [&mut Vec<f64>; 6] {
        [
            &mut self.shared,
            &mut self.all,
            &mut self.weight,
            &mut self.own,
            &mut self.cross,
            &mut self.squares,
        ]
    }

    /// Weight of the rows that observe a column.
    fn observed(&self, column: usize) -> f64 {
        self.complete + self.weight[column]
    }
}

impl Statistics for FactorStatistics {
    fn merge(&mut self, other: &Self) {
        self.complete += other.complete;
        self.log_likelihood += other.log_likelihood;
        let theirs =
            [&other.shared, &other.all, &other.weight, &other.own, &other.cross, &other.squares];
        for (own, theirs) in self.lists().into_iter().zip(theirs) {
            own.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
    }

    fn reset(&mut self) {
        (self.complete, self.log_likelihood) = (0.0, 0.0);
        for list in self.lists() {
            list.fill(0.0);
        }
    }
}

/// What looking needs, once a pass.
pub(crate) struct Prepared {
    /// `[D]`.
    mean: Vec<f64>,
    /// `[D, N]`: `w_d / ψ_d`.
    scaled: Vec<f64>,
    /// `[N, N]`: `M⁻¹` of a row without holes, also packed; and `log |M|`.
    inverse: Vec<f64>,
    inverse_packed: Vec<f64>,
    log_determinant: f64,
    /// `[D, packed N]`: `w_d w_dᵀ / ψ_d`; nothing if there are no holes.
    outer: Vec<f64>,
    /// `[D]`: `1 / ψ_d` and `log 2π ψ_d`; and the sum of the latter.
    precision: Vec<f64>,
    log_noise: Vec<f64>,
    log_noises: f64,
    log_prior: f64,
}

/// Memory for looking at a batch.
pub(crate) struct Work<T> {
    blocks: BlockWork<T, f64>,
    inner: Inner,
}

#[derive(Default)]
struct Inner {
    /// `[R, N]`: `Σ_d w_d y_d/ψ_d`, then ẑ.
    hidden: Vec<f64>,
    other: Vec<f64>,
    /// `[R]`: `Σ_d y_d²/ψ_d`.
    squares: Vec<f64>,
    /// `[R, N+1]`: the rows' weights times `E[z̃]`.
    weighted: Vec<f64>,
    /// `[R, packed]`.
    precision: Vec<f64>,
    second: Vec<f64>,
    /// Packed `[N]`, and `[N]`.
    inverse: Vec<f64>,
    solve: Vec<f64>,
    cross: Vec<f64>,
    own: Vec<f64>,
}

impl<T: Real> FactorLearner<T> {
    /// The first state of a restart: this one, and then ones with random loadings.
    pub(super) fn start(&self, first: &State, restart: usize, context: &Context) -> Start<State> {
        let mut state = first.clone();
        if restart == 0 {
            return Start { state, how: "principal directions".into() };
        }
        let mut random = context.random("factor start", [restart as u64, 0]);
        let n = self.components;
        for (loadings, reference) in state.loading.chunks_exact_mut(n).zip(&self.reference) {
            for w in loadings {
                let normal: f64 = StandardNormal.sample(&mut random);
                *w = normal * (0.5 * reference / n as f64).sqrt();
            }
        }
        Start { state, how: "random loadings".into() }
    }

    /// The noise that explains what loadings leave over: its sum of squares, and its weight, in
    /// each column.
    fn set_noise(&self, state: &mut State, left: &[(f64, f64)]) {
        let noise = |(left, weight): (f64, f64), reference: f64| {
            let free = if weight > 0.0 { left / weight } else { reference };
            free.max(self.floor * reference)
        };
        match self.noise {
            Noise::Own => {
                for ((out, &left), &reference) in
                    state.noise.iter_mut().zip(left).zip(&self.reference)
                {
                    *out = noise(left, reference);
                }
            }
            Noise::Shared => {
                let all = left.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
                let reference = self.reference.iter().sum::<f64>() / self.reference.len() as f64;
                state.noise.fill(noise(all, reference));
            }
        }
    }

    /// What shrinkage adds to the log likelihood: minus the expected error of the rows that are imagined, in the frame's units.
    pub(super) fn log_prior(&self, state: &State) -> f64 {
        let Some(shrinkage) = &self.shrinkage else { return 0.0 };
        let mut error = 0.0;
        for (column, loadings) in state.loading.chunks_exact(self.components).enumerate() {
            let apart = shrinkage.mean[column] - state.mean[column];
            let square = apart * apart + shrinkage.variance[column] + dot(loadings, loadings);
            error += state.noise[column].ln() + square / state.noise[column];
        }
        -0.5 * shrinkage.rows * error
    }

    /// Tells the log likelihood of what was learned, where learning raised it together with a prior.
    pub(super) fn without_prior(&self, state: &State, training: &mut Training) {
        if self.shrinkage.is_some() {
            training.log_likelihood = Some(training.bound - self.log_prior(state));
        }
    }

    /// The step of the expanded model: hidden numbers that came out with a mean and a covariance
    /// of their own are brought back to 0 and 1, and mean and loadings take it up. With a prior, as far as that pays.
    fn standardise_hidden(&self, state: &mut State, statistics: &FactorStatistics) {
        let n = self.components;
        let second: Vec<f64> =
            statistics.shared.iter().zip(&statistics.all).map(|(a, b)| a + b).collect();
        let weight = second[packed(n) + n];
        let mean: Vec<f64> = second[packed(n)..packed(n) + n].iter().map(|z| z / weight).collect();
        let mut covariance: Vec<f64> = second[..packed(n)].iter().map(|s| s / weight).collect();
        add_outer(&mut covariance, &mean, -1.0);
        if self.shrinkage.is_none() {
            if cholesky(&mut covariance, n).is_some() {
                taken_up(state, &mean, &covariance);
            }
            return;
        }
        let before = self.log_prior(state);
        for share in [1.0, 0.5, 0.25, 0.125] {
            let centre: Vec<f64> = mean.iter().map(|m| share * m).collect();
            let mut factor: Vec<f64> = covariance.iter().map(|v| share * v).collect();
            (0..n).for_each(|i| factor[packed(i) + i] += 1.0 - share);
            let Some(log_determinant) = cholesky(&mut factor, n) else { continue };
            // What rows' hidden numbers gain by that mean and covariance, on the average.
            let (mut inverse, mut work) = (vec![0.0; packed(n)], vec![0.0; n]);
            cholesky_inverse(&factor, n, &mut inverse, &mut work);
            let mut about = covariance.clone();
            let apart: Vec<f64> = mean.iter().zip(&centre).map(|(m, c)| m - c).collect();
            add_outer(&mut about, &apart, 1.0);
            let trace: f64 = (0..n).map(|i| second[packed(i) + i] / weight).sum();
            let gain =
                0.5 * weight * (trace - log_determinant - product_trace(&inverse, &about, n));
            let mut moved = state.clone();
            taken_up(&mut moved, &centre, &factor);
            if gain + self.log_prior(&moved) >= before {
                *state = moved;
                return;
            }
        }
    }

    fn columns(&self) -> usize {
        self.reference.len()
    }

    /// Rows without holes: one M for all of them.
    fn look_complete(
        &self,
        prepared: &Prepared,
        batch: &Batch<'_, T>,
        block: &Block<'_, f64>,
        work: &mut Inner,
        statistics: &mut FactorStatistics,
    ) {
        let n = self.components;
        work.other.resize(block.rows * n, 0.0);
        product(
            &mut work.other,
            Matrix::new(&work.hidden, block.rows, n),
            Matrix::new(&prepared.inverse, n, n),
            false,
        );
        let mut total = 0.0;
        for row in 0..block.rows {
            let weight = batch.weight(block.first + row);
            let (b, z) = (&work.hidden[row * n..][..n], &work.other[row * n..][..n]);
            total += weight;
            let cost = work.squares[row] - dot(b, z) + prepared.log_determinant;
            statistics.log_likelihood -= 0.5 * weight * (cost + prepared.log_noises);
            let weighted = &mut work.weighted[row * (n + 1)..][..=n];
            weighted.iter_mut().zip(z).for_each(|(out, z)| *out = weight * z);
            weighted[n] = weight;
            add_outer(&mut statistics.shared, with_one(z, &mut work.solve), weight);
        }
        statistics.complete += total;
        for (s, g) in statistics.shared.iter_mut().zip(&prepared.inverse_packed) {
            *s += total * g;
        }
    }

    /// Rows with holes: each has an M of its own.
    fn look_holes(
        &self,
        prepared: &Prepared,
        batch: &Batch<'_, T>,
        block: &Block<'_, f64>,
        mask: &[f64],
        work: &mut Inner,
        statistics: &mut FactorStatistics,
    ) {
        let (n, d) = (self.components, self.columns());
        let (small, large) = (packed(n), packed(n + 1));
        let observed = mask.iter().filter(|m| **m > 0.0).count();
        let sparse = observed * SPARSE < mask.len();
        work.precision.resize(block.rows * small, 0.0);
        work.second.resize(block.rows * large, 0.0);
        if sparse {
            work.precision.fill(0.0);
            for (row, out) in work.precision.chunks_exact_mut(small).enumerate() {
                for column in seen(mask, row, d) {
                    let outer = &prepared.outer[column * small..][..small];
                    out.iter_mut().zip(outer).for_each(|(p, o)| *p += o);
                }
            }
        } else {
            product(
                &mut work.precision,
                Matrix::new(mask, block.rows, d),
                Matrix::new(&prepared.outer, d, small),
                false,
            );
        }
        work.inverse.resize(small, 0.0);
        for row in 0..block.rows {
            let weight = batch.weight(block.first + row);
            let precision = &mut work.precision[row * small..][..small];
            for i in 0..n {
                precision[packed(i) + i] += 1.0;
            }
            // Never fails: the matrix is 1 plus squares, in exact arithmetic and in ours.
            let log_determinant = cholesky(precision, n).unwrap_or(0.0);
            work.solve.resize(n, 0.0);
            cholesky_inverse(precision, n, &mut work.inverse, &mut work.solve);
            let b = &work.hidden[row * n..][..n];
            let mut z = b.to_vec();
            cholesky_solve(precision, n, &mut z);
            let mut cost = work.squares[row] - dot(b, &z) + log_determinant;
            let weighted = &mut work.weighted[row * (n + 1)..][..=n];
            weighted.iter_mut().zip(&z).for_each(|(out, z)| *out = weight * z);
            weighted[n] = weight;
            let second = &mut work.second[row * large..][..large];
            second.fill(0.0);
            second.iter_mut().zip(&work.inverse).for_each(|(s, g)| *s = weight * g);
            add_outer(second, with_one(&z, &mut work.solve), weight);
            statistics.all.iter_mut().zip(&*second).for_each(|(a, s)| *a += s);
            for column in seen(mask, row, d) {
                statistics.weight[column] += weight;
                cost += prepared.log_noise[column];
                if sparse {
                    let own = &mut statistics.own[column * large..][..large];
                    own.iter_mut().zip(&*second).for_each(|(a, s)| *a += s);
                }
            }
            statistics.log_likelihood -= 0.5 * weight * cost;
        }
        if !sparse {
            work.own.resize(d * large, 0.0);
            product_tn(
                &mut work.own,
                Matrix::new(mask, block.rows, d),
                Matrix::new(&work.second, block.rows, large),
                false,
            );
            statistics.own.iter_mut().zip(&work.own).for_each(|(a, b)| *a += b);
        }
    }
}

/// Means and loadings that make up for hidden numbers with this mean and a covariance of this factor.
fn taken_up(state: &mut State, mean: &[f64], factor: &[f64]) {
    let n = mean.len();
    for (loadings, centre) in state.loading.chunks_exact_mut(n).zip(&mut state.mean) {
        *centre += dot(loadings, mean);
        for j in 0..n {
            loadings[j] = (j..n).map(|i| factor[packed(i) + j] * loadings[i]).sum();
        }
    }
}

/// `tr(AB)` of two packed matrices.
fn product_trace(a: &[f64], b: &[f64], n: usize) -> f64 {
    let diagonal: f64 = (0..n).map(|i| a[packed(i) + i] * b[packed(i) + i]).sum();
    2.0 * dot(a, b) - diagonal
}

/// The columns that a row observes.
fn seen(mask: &[f64], row: usize, columns: usize) -> impl Iterator<Item = usize> {
    let row = &mask[row * columns..(row + 1) * columns];
    row.iter().enumerate().filter(|(_, m)| **m > 0.0).map(|(column, _)| column)
}

/// The vector with a 1 behind it.
fn with_one<'a>(vector: &[f64], room: &'a mut Vec<f64>) -> &'a [f64] {
    room.clear();
    room.extend_from_slice(vector);
    room.push(1.0);
    room
}

impl<T: Real> Learner<T> for FactorLearner<T> {
    const NAME: &'static str = "factor";
    type State = State;
    type Prepared = Prepared;
    type Statistics = FactorStatistics;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn prepare(&self, state: &State, _pass: Pass) -> Prepared {
        let n = self.components;
        let small = packed(n);
        let precision: Vec<f64> = state.noise.iter().map(|v| 1.0 / v).collect();
        let log_noise: Vec<f64> =
            state.noise.iter().map(|v| v.ln() + 2.0 * HALF_LOG_TWO_PI).collect();
        let columns = || state.loading.chunks_exact(n).zip(&precision);
        let scaled = columns().flat_map(|(w, p)| w.iter().map(move |w| w * p)).collect();
        let mut factor = vec![0.0; small];
        let mut outer = vec![0.0; if self.holes { small * precision.len() } else { 0 }];
        for i in 0..n {
            factor[packed(i) + i] = 1.0;
        }
        for (d, (w, p)) in columns().enumerate() {
            add_outer(&mut factor, w, *p);
            if self.holes {
                add_outer(&mut outer[d * small..][..small], w, *p);
            }
        }
        let log_determinant = cholesky(&mut factor, n).unwrap_or(0.0);
        let (mut inverse_packed, mut work) = (vec![0.0; small], vec![0.0; n]);
        cholesky_inverse(&factor, n, &mut inverse_packed, &mut work);
        let mut inverse = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                inverse[i * n + j] = inverse_packed[packed(i.max(j)) + i.min(j)];
            }
        }
        Prepared {
            mean: state.mean.clone(),
            scaled,
            inverse,
            inverse_packed,
            log_determinant,
            outer,
            precision,
            log_noises: log_noise.iter().sum(),
            log_noise,
            log_prior: self.log_prior(state),
        }
    }

    fn statistics(&self) -> FactorStatistics {
        let (n, d) = (self.components, self.columns());
        let large = packed(n + 1);
        FactorStatistics {
            complete: 0.0,
            shared: vec![0.0; large],
            all: vec![0.0; large],
            weight: vec![0.0; d],
            own: vec![0.0; if self.holes { d * large } else { 0 }],
            cross: vec![0.0; d * (n + 1)],
            squares: vec![0.0; d],
            log_likelihood: 0.0,
        }
    }

    fn workspace(&self) -> Work<T> {
        Work { blocks: BlockWork::default(), inner: Inner::default() }
    }

    fn accumulate(
        &self,
        prepared: &Prepared,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        statistics: &mut FactorStatistics,
    ) {
        let (n, d) = (self.components, self.columns());
        let Work { blocks, inner } = work;
        // Said once a pass.
        statistics.log_likelihood += if batch.first_row == 0 { prepared.log_prior } else { 0.0 };
        blocks.for_each(batch, &self.frame, |block| {
            inner.squares.clear();
            for (row, cells) in block.values.chunks_exact_mut(d).enumerate() {
                let weight = batch.weight(block.first + row);
                for (y, m) in cells.iter_mut().zip(&prepared.mean) {
                    *y -= m;
                }
                if let Some(mask) = block.mask {
                    let mask = &mask[row * d..(row + 1) * d];
                    cells.iter_mut().zip(mask).for_each(|(y, m)| *y *= m);
                }
                let mut square = 0.0;
                for ((s, y), p) in
                    statistics.squares.iter_mut().zip(&*cells).zip(&prepared.precision)
                {
                    *s += weight * y * y;
                    square += p * y * y;
                }
                inner.squares.push(square);
            }
            inner.hidden.resize(block.rows * n, 0.0);
            inner.weighted.resize(block.rows * (n + 1), 0.0);
            product(
                &mut inner.hidden,
                Matrix::new(block.values, block.rows, d),
                Matrix::new(&prepared.scaled, d, n),
                false,
            );
            match block.mask {
                None => self.look_complete(prepared, batch, &block, inner, statistics),
                Some(mask) => self.look_holes(prepared, batch, &block, mask, inner, statistics),
            }
            inner.cross.resize(d * (n + 1), 0.0);
            product_tn(
                &mut inner.cross,
                Matrix::new(block.values, block.rows, d),
                Matrix::new(&inner.weighted, block.rows, n + 1),
                false,
            );
            statistics.cross.iter_mut().zip(&inner.cross).for_each(|(a, b)| *a += b);
        });
    }

    fn bound(&self, statistics: &FactorStatistics) -> f64 {
        statistics.log_likelihood - self.log_scale
    }

    fn update(&self, state: &mut State, statistics: &FactorStatistics, _pass: Pass) -> Vec<String> {
        let (n, d) = (self.components, self.columns());
        let large = packed(n + 1);
        let mut factor = vec![0.0; large];
        let mut noises = Vec::with_capacity(d);
        for column in 0..d {
            // As if these rows had been seen too.
            let extra = self.shrinkage.as_ref().map_or(0.0, |shrinkage| shrinkage.rows);
            let observed = statistics.observed(column) + extra;
            let loadings = &mut state.loading[column * n..][..n];
            if !(observed > 0.0) {
                loadings.fill(0.0);
                noises.push((0.0, 0.0));
                continue;
            }
            if self.holes || column == 0 {
                factor.copy_from_slice(&statistics.shared);
                if self.holes {
                    let own = &statistics.own[column * large..][..large];
                    factor.iter_mut().zip(own).for_each(|(f, o)| *f += o);
                }
                (0..=n).for_each(|i| factor[packed(i) + i] += extra);
                factorise(&mut factor, n + 1);
            }
            let mut told = statistics.cross[column * (n + 1)..][..=n].to_vec();
            let mut square = statistics.squares[column];
            if let Some(shrinkage) = &self.shrinkage {
                let apart = shrinkage.mean[column] - state.mean[column];
                told[n] += extra * apart;
                square += extra * (apart * apart + shrinkage.variance[column]);
            }
            let mut solution = told.clone();
            cholesky_solve(&factor, n + 1, &mut solution);
            let left = (square - dot(&solution, &told)).max(0.0);
            noises.push((left, observed));
            loadings.copy_from_slice(&solution[..n]);
            state.mean[column] += solution[n];
        }
        self.set_noise(state, &noises);
        self.standardise_hidden(state, statistics);
        Vec::new()
    }
}

/// The Cholesky factor of a matrix that is positive definite but for rounding.
fn factorise(matrix: &mut [f64], n: usize) {
    let original = matrix.to_vec();
    let largest = (0..n).map(|i| matrix[packed(i) + i]).fold(0.0, f64::max);
    let mut ridge = 1e-14 * largest;
    while cholesky(matrix, n).is_none() {
        ridge = 10.0 * ridge.max(f64::MIN_POSITIVE);
        matrix.copy_from_slice(&original);
        for i in 0..n {
            matrix[packed(i) + i] += ridge;
        }
    }
}
