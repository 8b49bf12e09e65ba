//! The passes of NMF: see the [module](super) for the derivation.

use std::sync::Mutex;

use mereo_core::math::{Matrix, dot, product, product_nt, product_tn};
use mereo_core::{Batch, Block, Context, Learner, Pass, Real, Result, Source, Start, Statistics};
use serde::{Deserialize, Serialize};

use super::kernels::{TINY, descend, multiply, ratios};
use super::{Loss, NmfParams};

/// Updates of codes that are new, and of codes that cannot be remembered.
const NEW: usize = 10;
const FORGOTTEN: usize = 30;
/// Rounds over the components in a pass.
const ROUNDS: usize = 2;

/// What the passes move, in units of the mean cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// `[N, D]`.
    pub(super) component: Vec<f64>,
    /// The codes, batch by batch, if a checkpoint is to hold them.
    codes: Vec<f64>,
}

impl State {
    pub(super) fn new(component: Vec<f64>) -> Self {
        Self { component, codes: Vec::new() }
    }
}

/// How a source is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By matrix products: codes are `[N, R]`, sums `[N, D]`.
    Products,
    /// Row by row, where something is stored or observed: codes are `[R, N]`, sums `[D, N]`.
    Rows,
}

/// Learns components and codes in turn.
pub(super) struct NmfLearner<'a, T> {
    pub(super) params: &'a NmfParams,
    pub(super) columns: usize,
    pub(super) batch_rows: usize,
    way: Way,
    /// Whether cells may be missing.
    pub(super) holes: bool,
    /// One over the mean cell.
    pub(super) inverse: T,
    /// The codes of each batch, empty as long as they are new.
    pub(super) codes: Option<Vec<Mutex<Vec<T>>>>,
    /// Whether states carry the codes.
    pub(super) keep: bool,
}

/// What rows tell.
pub(super) struct NmfStatistics<T> {
    /// Numerators, or `B`.
    pub(super) above: Vec<f64>,
    /// Denominators, one for every number of `above`, or `[N]`: the codes' sums.
    pub(super) below: Vec<f64>,
    /// `[N, N]`: `A`.
    pub(super) gram: Vec<f64>,
    pub(super) loss: f64,
    pub(super) part: Vec<T>,
}

impl<T: Real> Statistics for NmfStatistics<T> {
    fn merge(&mut self, other: &Self) {
        self.loss += other.loss;
        let pairs = [
            (&mut self.above, &other.above),
            (&mut self.below, &other.below),
            (&mut self.gram, &other.gram),
        ];
        for (own, theirs) in pairs {
            own.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
    }

    fn reset(&mut self) {
        self.loss = 0.0;
        for sums in [&mut self.above, &mut self.below, &mut self.gram] {
            sums.fill(0.0);
        }
    }

    fn bytes(&self) -> usize {
        (self.above.len() + self.below.len()) * size_of::<f64>()
    }
}

/// What looking needs, once a pass.
pub(super) struct Prepared<T> {
    /// `[N, D]`.
    pub(super) component: Vec<T>,
    /// `[D, N]`, to look row by row.
    pub(super) by_column: Vec<T>,
    /// `[N]`: the sum of each component.
    pub(super) sums: Vec<T>,
    /// `[N, N]`: `WWᵀ`.
    pub(super) gram: Vec<T>,
    /// What new codes are.
    pub(super) flat: T,
}

/// Memory for looking at a batch.
#[derive(Default)]
pub(super) struct Work<T> {
    pub(super) codes: Vec<T>,
    pub(super) cells: Vec<T>,
    pub(super) mask: Vec<T>,
    pub(super) rebuilt: Vec<T>,
    pub(super) above: Vec<T>,
    pub(super) below: Vec<T>,
    pub(super) weighted: Vec<T>,
    pub(super) gram: Vec<T>,
    pub(super) step: Vec<T>,
    pub(super) own: Vec<T>,
    pub(super) row: Vec<(usize, T)>,
    pub(super) losses: Vec<f64>,
}

impl<'a, T: Real> NmfLearner<'a, T> {
    pub(super) fn new(
        params: &'a NmfParams,
        source: &dyn Source<T>,
        mean: f64,
        holes: bool,
        remember: bool,
        keep: bool,
    ) -> Self {
        let dense = source.absent().is_none();
        let products = dense && (params.loss == Loss::Kl || !holes);
        let codes = remember
            .then(|| (0..source.batches().max(1)).map(|_| Mutex::new(Vec::new())).collect());
        Self {
            params,
            columns: source.columns(),
            batch_rows: source.batch_rows(),
            way: if products { Way::Products } else { Way::Rows },
            holes,
            inverse: T::from_f64(1.0 / mean),
            codes,
            keep: keep && remember,
        }
    }

    /// Whether components are learned from A and B.
    fn by_squares(&self) -> bool {
        self.params.loss == Loss::Frobenius && !self.holes
    }

    fn look_products(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        codes: &mut Vec<T>,
        work: &mut Work<T>,
        statistics: &mut NmfStatistics<T>,
    ) {
        let (n, d, rows) = (self.params.components, self.columns, batch.rows);
        let Block::Dense { values, .. } = batch.block else { return };
        let Work { cells, mask, rebuilt, above, below, weighted, gram, step, losses, .. } = work;
        cells.clear();
        cells.extend(values.iter().map(|&x| x * self.inverse));
        let updates = self.updates(codes, rows, prepared.flat);
        let component = Matrix::new(&prepared.component, n, d);
        above.resize(n * rows, T::ZERO);
        let is_kl = self.params.loss == Loss::Kl;
        if is_kl {
            rebuilt.resize(rows * d, T::ZERO);
            if self.holes {
                mask.clear();
                mask.extend(values.iter().map(|x| if x.is_missing() { T::ZERO } else { T::ONE }));
                below.resize(n * rows, T::ZERO);
                product_nt(below, component, Matrix::new(mask, rows, d), false);
            }
            for _ in 0..updates {
                product_tn(rebuilt, Matrix::new(codes, n, rows), component, false);
                ratios(cells, d, rebuilt, None);
                product_nt(above, component, Matrix::new(rebuilt, rows, d), false);
                let below = if self.holes { &*below } else { &prepared.sums };
                multiply(codes, above, below, rows);
            }
            product_tn(rebuilt, Matrix::new(codes, n, rows), component, false);
            losses.clear();
            ratios(cells, d, rebuilt, Some(losses));
        } else {
            product_nt(above, component, Matrix::new(cells, rows, d), false);
            for _ in 0..updates {
                descend(codes, above, &prepared.gram, n, rows, step);
            }
        }
        let weighted: &[T] = match batch.weights {
            None => codes,
            Some(weights) => {
                weighted.clear();
                let all = codes.chunks_exact(rows);
                weighted.extend(
                    all.flat_map(|h| h.iter().zip(weights).map(|(&h, &w)| h * T::from_f64(w))),
                );
                weighted
            }
        };
        let codes_now = Matrix::new(weighted, n, rows);
        let part = &mut statistics.part;
        let told = if is_kl { &*rebuilt } else { &*cells };
        product(part, codes_now, Matrix::new(told, rows, d), false);
        add_up(&mut statistics.above, part);
        if is_kl {
            let weigh = |(row, loss): (usize, &f64)| batch.weight(row) * loss;
            statistics.loss += losses.iter().enumerate().map(weigh).sum::<f64>();
            if self.holes {
                product(part, codes_now, Matrix::new(mask, rows, d), false);
                add_up(&mut statistics.below, part);
            } else {
                for (sum, h) in statistics.below.iter_mut().zip(weighted.chunks_exact(rows)) {
                    *sum += h.iter().map(|h| h.to_f64()).sum::<f64>();
                }
            }
            return;
        }
        gram.resize(n * n, T::ZERO);
        product_nt(gram, codes_now, Matrix::new(codes, n, rows), false);
        add_up(&mut statistics.gram, gram);
        let squares: f64 = cells
            .chunks_exact(d)
            .enumerate()
            .map(|(row, cells)| batch.weight(row) * dot(cells, cells).to_f64())
            .sum();
        let cross: f64 = weighted
            .chunks_exact(rows)
            .zip(above.chunks_exact(rows))
            .map(|(h, p)| dot(h, p).to_f64())
            .sum();
        let own: f64 = gram
            .chunks_exact(n)
            .zip(prepared.gram.chunks_exact(n))
            .map(|(a, g)| dot(a, g).to_f64())
            .sum();
        statistics.loss += (0.5 * (squares - 2.0 * cross + own)).max(0.0);
    }

    /// Makes new codes if there are none, and says how often to update them.
    pub(super) fn updates(&self, codes: &mut Vec<T>, rows: usize, flat: T) -> usize {
        let wanted = rows * self.params.components;
        if codes.len() == wanted && self.codes.is_some() {
            return 1;
        }
        codes.clear();
        codes.resize(wanted, flat);
        if self.codes.is_some() { NEW } else { FORGOTTEN }
    }
}

fn add_up<T: Real>(sums: &mut [f64], part: &[T]) {
    sums.iter_mut().zip(part).for_each(|(s, p)| *s += p.to_f64());
}

fn lock<T>(codes: &Mutex<Vec<T>>) -> std::sync::MutexGuard<'_, Vec<T>> {
    codes.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl<T: Real> Learner<T> for NmfLearner<'_, T> {
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = NmfStatistics<T>;
    type Workspace = Work<T>;

    fn describe(&self) -> String {
        format!("nmf {:?}", self.params)
    }

    fn start(
        &self,
        source: &dyn Source<T>,
        restart: usize,
        context: &Context,
    ) -> Result<Start<State>> {
        super::starts::start(self.params, source, self.inverse, restart, context)
    }

    fn settled_from(&self, _restart: usize) -> usize {
        0
    }

    fn prepare(&self, state: &State, pass: Pass) -> Prepared<T> {
        let (n, d) = (self.params.components, self.columns);
        if let Some(all) = &self.codes {
            if pass.pass == 0 {
                all.iter().for_each(|codes| lock(codes).clear());
            } else if !state.codes.is_empty() && all.iter().all(|codes| lock(codes).is_empty()) {
                // Taken up from a checkpoint.
                for (codes, stored) in all.iter().zip(state.codes.chunks(self.batch_rows * n)) {
                    *lock(codes) = stored.iter().map(|&h| T::from_f64(h)).collect();
                }
            }
        }
        let component: Vec<T> = state.component.iter().map(|&w| T::from_f64(w)).collect();
        let by_column = match self.way {
            Way::Products => Vec::new(),
            Way::Rows => (0..d)
                .flat_map(|c| (0..n).map(move |j| (j, c)))
                .map(|(j, c)| component[j * d + c])
                .collect(),
        };
        let sums: Vec<f64> = state.component.chunks_exact(d).map(|w| w.iter().sum()).collect();
        let gram = if self.by_squares() {
            let mut gram = vec![0.0; n * n];
            let rows = Matrix::new(&state.component, n, d);
            product_nt(&mut gram, rows, rows, false);
            gram.into_iter().map(T::from_f64).collect()
        } else {
            Vec::new()
        };
        let typical = sums.iter().sum::<f64>() / d as f64;
        Prepared {
            component,
            by_column,
            sums: sums.into_iter().map(T::from_f64).collect(),
            gram,
            flat: T::from_f64(1.0 / typical.max(TINY)),
        }
    }

    fn statistics(&self) -> NmfStatistics<T> {
        let (n, d) = (self.params.components, self.columns);
        NmfStatistics {
            above: vec![0.0; n * d],
            below: vec![0.0; if self.holes { n * d } else { n }],
            gram: vec![0.0; if self.by_squares() { n * n } else { 0 }],
            loss: 0.0,
            part: vec![T::ZERO; if self.way == Way::Products { n * d } else { 0 }],
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
        statistics: &mut NmfStatistics<T>,
    ) {
        let mut codes = std::mem::take(&mut work.codes);
        let remembered =
            self.codes.as_ref().and_then(|all| all.get(batch.first_row / self.batch_rows));
        let mut remembered = remembered.map(lock);
        let own = remembered.as_deref_mut().unwrap_or(&mut codes);
        match self.way {
            Way::Products => self.look_products(prepared, batch, own, work, statistics),
            Way::Rows => self.look_rows(prepared, batch, own, work, statistics),
        }
        drop(remembered);
        work.codes = codes;
    }

    fn bound(&self, statistics: &NmfStatistics<T>) -> f64 {
        -statistics.loss
    }

    fn update(&self, state: &mut State, statistics: &NmfStatistics<T>, _pass: Pass) -> Vec<String> {
        let (n, d) = (self.params.components, self.columns);
        let at = |j: usize, c: usize| match self.way {
            Way::Products => j * d + c,
            Way::Rows => c * n + j,
        };
        if self.by_squares() {
            for _ in 0..ROUNDS {
                for j in 0..n {
                    let curvature = statistics.gram[j * n + j];
                    if !(curvature > TINY) {
                        continue;
                    }
                    let mut step: Vec<f64> = (0..d).map(|c| statistics.above[at(j, c)]).collect();
                    for (k, w) in state.component.chunks_exact(d).enumerate() {
                        let a = statistics.gram[j * n + k];
                        step.iter_mut().zip(w).for_each(|(s, w)| *s -= a * w);
                    }
                    let own = &mut state.component[j * d..(j + 1) * d];
                    own.iter_mut().zip(&step).for_each(|(w, s)| *w = (*w + s / curvature).max(0.0));
                }
            }
        } else {
            for j in 0..n {
                for c in 0..d {
                    let below =
                        if self.holes { statistics.below[at(j, c)] } else { statistics.below[j] };
                    if below > TINY {
                        state.component[j * d + c] *= statistics.above[at(j, c)] / below;
                    }
                }
            }
        }
        if let (true, Some(all)) = (self.keep, &self.codes) {
            state.codes.clear();
            for codes in all {
                state.codes.extend(lock(codes).iter().map(|h| h.to_f64()));
            }
        }
        Vec::new()
    }
}
