//! The passes of NMF: see the [module](super) for the derivation.

use mereo_core::math::{Matrix, dot, product, product_nt, product_tn};
use mereo_core::{Batch, Block, Facts, Learner, Memory, Pass, Real, Source, Statistics};
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
pub(crate) struct State {
    /// `[N, D]`.
    pub(super) component: Vec<f64>,
}

/// How a source is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Way {
    /// By matrix products: codes are `[N, R]`, sums `[N, D]`.
    Products,
    /// Row by row, where something is stored or observed: codes are `[R, N]`, sums `[D, N]`.
    Rows,
}

/// Learns components and codes in turn.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct NmfLearner<T> {
    pub(super) params: NmfParams,
    pub(super) columns: usize,
    way: Way,
    /// Whether cells may be missing.
    pub(super) holes: bool,
    /// One over the mean cell.
    pub(super) inverse: T,
    /// Whether codes are remembered from pass to pass.
    remember: bool,
    facts: Facts,
}

/// What rows tell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NmfStatistics {
    /// Numerators, or `B`.
    pub(super) above: Vec<f64>,
    /// Denominators, one for every number of `above`, or `[N]`: the codes' sums.
    pub(super) below: Vec<f64>,
    /// `[N, N]`: `A`.
    pub(super) gram: Vec<f64>,
    pub(super) loss: f64,
}

impl Statistics for NmfStatistics {
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
}

/// What looking needs, once a pass.
pub(crate) struct Prepared<T> {
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
    /// Whether all codes are new.
    new: bool,
}

/// What looking at batches remembers and needs.
#[derive(Default)]
pub(crate) struct NmfWork<T> {
    /// Codes that are not remembered.
    codes: Vec<T>,
    memory: Memory<T>,
    work: Work<T>,
}

/// Memory for looking at a batch.
#[derive(Default)]
pub(super) struct Work<T> {
    /// `[N, D]`: what a batch adds.
    pub(super) part: Vec<T>,
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

impl<T: Real> NmfLearner<T> {
    pub(super) fn new(
        params: &NmfParams,
        source: &dyn Source<T>,
        mean: f64,
        holes: bool,
        remember: bool,
        facts: Facts,
    ) -> Self {
        let dense = source.absent().is_none();
        let products = dense && (params.loss == Loss::Kl || !holes);
        Self {
            params: params.clone(),
            columns: source.columns(),
            way: if products { Way::Products } else { Way::Rows },
            holes,
            inverse: T::from_f64(1.0 / mean),
            remember,
            facts,
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
        codes: &mut [T],
        updates: usize,
        work: &mut Work<T>,
        statistics: &mut NmfStatistics,
    ) {
        let (n, d, rows) = (self.params.components, self.columns, batch.rows);
        let Block::Dense { values, .. } = batch.block else { return };
        let Work { part, cells, mask, rebuilt, above, below, weighted, gram, step, losses, .. } =
            work;
        cells.clear();
        cells.extend(values.iter().map(|&x| x * self.inverse));
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
        part.resize(n * d, T::ZERO);
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
}

fn add_up<T: Real>(sums: &mut [f64], part: &[T]) {
    sums.iter_mut().zip(part).for_each(|(s, p)| *s += p.to_f64());
}

impl<T: Real> Learner<T> for NmfLearner<T> {
    const NAME: &'static str = "nmf";
    type State = State;
    type Prepared = Prepared<T>;
    type Statistics = NmfStatistics;
    type Workspace = NmfWork<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn prepare(&self, state: &State, pass: Pass) -> Prepared<T> {
        let (n, d) = (self.params.components, self.columns);
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
            new: pass.pass == 0,
        }
    }

    fn statistics(&self) -> NmfStatistics {
        let (n, d) = (self.params.components, self.columns);
        NmfStatistics {
            above: vec![0.0; n * d],
            below: vec![0.0; if self.holes { n * d } else { n }],
            gram: vec![0.0; if self.by_squares() { n * n } else { 0 }],
            loss: 0.0,
        }
    }

    fn workspace(&self) -> NmfWork<T> {
        NmfWork::default()
    }

    fn accumulate(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut NmfWork<T>,
        statistics: &mut NmfStatistics,
    ) {
        let NmfWork { codes, memory, work } = work;
        let (rows, n) = (batch.rows, self.params.components);
        let (codes, known) = if self.remember {
            memory.rows_mut(batch.first_row, rows, n, prepared.new)
        } else {
            codes.resize(rows * n, T::ZERO);
            (&mut codes[..], false)
        };
        if !known {
            codes.fill(prepared.flat);
        }
        let updates = match (self.remember, known) {
            (true, true) => 1,
            (true, false) => NEW,
            (false, _) => FORGOTTEN,
        };
        match self.way {
            Way::Products => self.look_products(prepared, batch, codes, updates, work, statistics),
            Way::Rows => self.look_rows(prepared, batch, codes, updates, work, statistics),
        }
    }

    fn remembers_rows(&self) -> bool {
        self.remember
    }

    fn memory(&self, workspace: &NmfWork<T>) -> Vec<f64> {
        workspace.memory.keep()
    }

    fn remember(&self, workspace: &mut NmfWork<T>, memory: &[f64]) {
        workspace.memory.recall(memory);
    }

    fn bound(&self, statistics: &NmfStatistics) -> f64 {
        -statistics.loss
    }

    fn update(&self, state: &mut State, statistics: &NmfStatistics, _pass: Pass) -> Vec<String> {
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
        Vec::new()
    }
}
