//! Gates of single rows, by matrix products.
//!
//! With a posterior `q(r, s | x) = Π_d g_{d r_d} Π_k q_k(s_k)` for each row, a part's appearance
//! enters the bound by `-Σ_d g_dk E[ε_dk]`, and every appearance here has
//!
//! `-E[ε_dk] = φ(x_d) · Σ_v B_k[v, d] c_kv`, `φ(x) = (x², x, 1)`, zeros of a missing cell,
//!
//! linear in a *code* `c_k` of expectations: the states' probabilities in MCVQ, the expectations of
//! `(1, s, s sᵀ)` in MCFA. So one round of coordinate ascent on a block of rows is, part by part,
//!
//! - the *natural* parameters of the code, `N_k = (g_k ∘ φ) B_kᵀ`, a product `[R, 3D] x [3D, V]`;
//! - the code, which the appearance finds in them, with the log of its normaliser `z_k`;
//! - the *errors*, `φ · (c_k B_k)`, a product `[R, V] x [V, 3D]`;
//! - the gates, `g_dk ∝ a_dk exp(-E[ε_dk])`, the log of whose normaliser is `l_d`.
//!
//! As `z_k = N_k · c_k - KL(q_k ‖ prior)`, the row's share of the bound after a round is
//! `Σ_d l_d - Σ_k (N_k · c_k - z_k) - (D_c/2) log 2π`. What rows tell is `Σ_c c_k (g_k ∘ φ)`: weights,
//! sums and sums of squares of every number of the code in every column.
//!
//! A round raises the bound of given parameters, but a round from the prior's gates need not reach
//! what the pass before had reached. So codes are remembered from pass to pass ([`crate::memory`]): the
//! gates that follow from them are at least as good as those they came from.

use mereo_core::math::{HALF_LOG_TWO_PI, Matrix, exp_in_place, product, product_nt, product_tn};
use mereo_core::slots::{Frame, SlotMoments};
use mereo_core::{Batch, Real};
use serde::{Deserialize, Serialize};

use mereo_core::Memory;

/// Cells of a block of rows.
const BLOCK_CELLS: usize = 1 << 15;

/// Rounds of gates and codes that a pass gives each row. Codes are remembered, so that rounds add
/// up from pass to pass.
pub(crate) const ROUNDS: usize = 2;
/// Rounds that a row gets which nothing is remembered of.
pub(crate) const ROUNDS_ALONE: usize = 20;

/// What a part's code is, given its natural parameters.
pub(crate) trait RowAppearance: Sync {
    /// Writes a row's code of a part and returns the log of its normaliser, prior included.
    fn code(&self, part: usize, natural: &[f64], code: &mut [f64]) -> f64;
}

/// What a pass needs to give rows gates of their own.
pub(crate) struct PerRow<T> {
    pub(crate) parts: usize,
    pub(crate) columns: usize,
    /// Numbers in the code of a part, V.
    pub(crate) width: usize,
    frame: Frame<T>,
    /// `B`, `[K, V, 3D]`, in the frame's units.
    table: Vec<T>,
    /// `log a`, `[K, D]`.
    log_prior: Vec<T>,
    prior: Vec<T>,
}

/// Memory for a block of rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowWork<T> {
    /// Rows in the block, R.
    pub(crate) rows: usize,
    /// `[R, 3D]`.
    features: Vec<T>,
    /// One part's features times its gates, or their coefficients, `[R, 3D]`.
    gated: Vec<T>,
    /// `[K, R, D]`.
    pub(crate) gates: Vec<T>,
    /// `[K, R, V]`.
    pub(crate) natural: Vec<T>,
    /// `[K, R, V]`.
    pub(crate) codes: Vec<T>,
    /// Logs of the codes' normalisers, `[K, R]`.
    pub(crate) log_norms: Vec<f64>,
    /// The sum over columns of the logs of the gates' normalisers, `[R]`.
    pub(crate) explained: Vec<f64>,
    /// Observed cells, `[R]`.
    pub(crate) observed: Vec<f64>,
    cells: Vec<T>,
    largest: Vec<T>,
    product: Vec<T>,
}

impl<T: Real> PerRow<T> {
    /// Takes `coefficients(k, v, d)` of `(x², x, 1)`, in the frame's units, and the prior of the
    /// gates, `[D, K]`.
    pub(crate) fn new(
        parts: usize,
        width: usize,
        frame: &Frame<T>,
        prior: &[f64],
        coefficients: impl Fn(usize, usize, usize) -> [f64; 3],
    ) -> Self {
        let columns = frame.columns();
        let mut table = vec![T::ZERO; parts * width * 3 * columns];
        for (i, row) in table.chunks_exact_mut(3 * columns).enumerate() {
            for d in 0..columns {
                for (f, c) in coefficients(i / width, i % width, d).into_iter().enumerate() {
                    row[f * columns + d] = T::from_f64(c);
                }
            }
        }
        let turned = |of: &dyn Fn(f64) -> f64| -> Vec<T> {
            let at = |i: usize| prior[i % columns * parts + i / columns];
            (0..parts * columns).map(|i| T::from_f64(of(at(i)))).collect()
        };
        Self {
            parts,
            columns,
            width,
            frame: frame.clone(),
            table,
            log_prior: turned(&|a| a.max(1e-300).ln()),
            prior: turned(&|a| a),
        }
    }

    /// The blocks that a batch is looked at in.
    pub(crate) fn blocks(&self, rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let step = (BLOCK_CELLS / self.columns.max(1)).clamp(4, 256);
        (0..rows).step_by(step).map(move |first| first..(first + step).min(rows))
    }

    /// Takes up a block of a batch, with the prior as its gates.
    pub(crate) fn open(
        &self,
        batch: &Batch<'_, T>,
        block: std::ops::Range<usize>,
        work: &mut RowWork<T>,
    ) {
        let (rows, columns) = (block.len(), self.columns);
        work.rows = rows;
        work.features.clear();
        work.features.resize(rows * 3 * columns, T::ZERO);
        work.gated.resize(rows * 3 * columns, T::ZERO);
        work.natural.resize(self.parts * rows * self.width, T::ZERO);
        work.codes.resize(self.parts * rows * self.width, T::ZERO);
        work.log_norms.resize(self.parts * rows, 0.0);
        work.explained.resize(rows, 0.0);
        work.observed.clear();
        for (row, out) in block.zip(work.features.chunks_exact_mut(3 * columns)) {
            let mut observed = 0.0;
            batch.for_each_observed(row, |d, value| {
                let x = self.frame.cell(d, value);
                out[d] = x * x;
                out[columns + d] = x;
                out[2 * columns + d] = T::ONE;
                observed += 1.0;
            });
            work.observed.push(observed);
        }
        work.gates.clear();
        for prior in self.prior.chunks_exact(columns) {
            for _ in 0..rows {
                work.gates.extend_from_slice(prior);
            }
        }
    }

    /// `g_k ∘ φ` of one part, to `work.gated`.
    fn gate_features(&self, part: usize, work: &mut RowWork<T>) {
        let columns = self.columns;
        let gates = &work.gates[part * work.rows * columns..(part + 1) * work.rows * columns];
        let rows = work.features.chunks_exact(columns).zip(work.gated.chunks_exact_mut(columns));
        for (i, (features, gated)) in rows.enumerate() {
            let gates = &gates[i / 3 * columns..(i / 3 + 1) * columns];
            for ((out, &f), &g) in gated.iter_mut().zip(features).zip(gates) {
                *out = f * g;
            }
        }
    }

    fn table_of(&self, part: usize) -> Matrix<'_, T> {
        let length = self.width * 3 * self.columns;
        Matrix::new(&self.table[part * length..(part + 1) * length], self.width, 3 * self.columns)
    }

    /// From gates to natural parameters of the codes.
    pub(crate) fn natural(&self, work: &mut RowWork<T>) {
        let length = work.rows * self.width;
        for part in 0..self.parts {
            self.gate_features(part, work);
            product_nt(
                &mut work.natural[part * length..(part + 1) * length],
                Matrix::new(&work.gated, work.rows, 3 * self.columns),
                self.table_of(part),
                false,
            );
        }
    }

    /// From natural parameters to codes.
    pub(crate) fn codes(&self, appearance: &dyn RowAppearance, work: &mut RowWork<T>) {
        let (mut natural, mut code) = (vec![0.0; self.width], vec![0.0; self.width]);
        let places =
            work.natural.chunks_exact(self.width).zip(work.codes.chunks_exact_mut(self.width));
        for (i, (from, to)) in places.enumerate() {
            for (n, v) in natural.iter_mut().zip(from) {
                *n = proper(v.to_f64());
            }
            work.log_norms[i] = appearance.code(i / work.rows, &natural, &mut code);
            for (v, c) in to.iter_mut().zip(&code) {
                *v = T::from_f64(*c);
            }
        }
    }

    /// From codes to gates as logs, not normalised: `log a_dk - E[ε_dk]`.
    pub(crate) fn errors(&self, work: &mut RowWork<T>) {
        let (rows, columns) = (work.rows, self.columns);
        for part in 0..self.parts {
            let length = rows * self.width;
            let codes = &work.codes[part * length..(part + 1) * length];
            product(
                &mut work.gated,
                Matrix::new(codes, rows, self.width),
                self.table_of(part),
                false,
            );
            let log_prior = &self.log_prior[part * columns..(part + 1) * columns];
            let gates = &mut work.gates[part * rows * columns..(part + 1) * rows * columns];
            for ((gates, features), coefficients) in gates
                .chunks_exact_mut(columns)
                .zip(work.features.chunks_exact(3 * columns))
                .zip(work.gated.chunks_exact(3 * columns))
            {
                for (d, gate) in gates.iter_mut().enumerate() {
                    let at = [d, columns + d, 2 * columns + d];
                    let error: T = at.map(|i| features[i] * coefficients[i]).into_iter().sum();
                    let log = error + log_prior[d];
                    // Not a number, or below all that matters: as good as impossible.
                    *gate = if log > T::from_f64(-1e30) { log } else { T::from_f64(-1e30) };
                }
            }
        }
    }

    /// From logs to gates that add up to 1 in every cell.
    pub(crate) fn normalise(&self, work: &mut RowWork<T>) {
        let cells = work.rows * self.columns;
        work.largest.clear();
        work.largest.extend_from_slice(&work.gates[..cells]);
        for gates in work.gates[cells..].chunks_exact(cells) {
            for (m, &g) in work.largest.iter_mut().zip(gates) {
                *m = if g > *m { g } else { *m };
            }
        }
        for gates in work.gates.chunks_exact_mut(cells) {
            for (g, &m) in gates.iter_mut().zip(&work.largest) {
                *g -= m;
            }
        }
        exp_in_place(&mut work.gates);
        work.cells.clear();
        work.cells.resize(cells, T::ZERO);
        for gates in work.gates.chunks_exact(cells) {
            for (sum, &g) in work.cells.iter_mut().zip(gates) {
                *sum += g;
            }
        }
        for (row, explained) in work.explained.iter_mut().enumerate() {
            let at = row * self.columns..(row + 1) * self.columns;
            let there = &work.features[(3 * row + 2) * self.columns..(3 * row + 3) * self.columns];
            let logs = work.largest[at.clone()].iter().zip(&work.cells[at]).zip(there);
            *explained = logs
                .filter(|(_, there)| **there != T::ZERO)
                .map(|((largest, sum), _)| largest.to_f64() + sum.to_f64().ln())
                .sum();
        }
        for sum in &mut work.cells {
            *sum = T::ONE / *sum;
        }
        for gates in work.gates.chunks_exact_mut(cells) {
            for (g, &s) in gates.iter_mut().zip(&work.cells) {
                *g *= s;
            }
        }
    }

    /// From gates to codes to gates.
    pub(crate) fn round(&self, appearance: &dyn RowAppearance, work: &mut RowWork<T>) {
        self.natural(work);
        self.codes(appearance, work);
        self.errors(work);
        self.normalise(work);
    }

    /// A row's share of the bound after a round, in the frame's units and without `½ log 2π`.
    pub(crate) fn bound(&self, row: usize, work: &RowWork<T>) -> f64 {
        let told: f64 = (0..self.parts)
            .map(|part| {
                let i = part * work.rows + row;
                let at = i * self.width..(i + 1) * self.width;
                let pairs = work.natural[at.clone()].iter().zip(&work.codes[at]);
                let fit: f64 = pairs.map(|(n, c)| proper(n.to_f64()) * c.to_f64()).sum();
                fit - work.log_norms[i]
            })
            .sum();
        work.explained[row] - told
    }

    /// Adds `Σ_c c_k (g_k ∘ φ)` to sums `[K, V, 3D]` and `Σ_c c_k` to totals `[K, V]`, rows counting
    /// by these weights.
    pub(crate) fn add(
        &self,
        weights: impl Fn(usize) -> f64,
        work: &mut RowWork<T>,
        sums: &mut [f64],
        totals: &mut [f64],
    ) {
        let length = self.width * 3 * self.columns;
        for i in 0..self.parts * work.rows {
            let weight = T::from_f64(weights(i % work.rows));
            let part = i / work.rows;
            let code = &mut work.codes[i * self.width..(i + 1) * self.width];
            for (c, total) in code.iter_mut().zip(&mut totals[part * self.width..]) {
                *c *= weight;
                *total += c.to_f64();
            }
        }
        for (part, sums) in sums.chunks_exact_mut(length).enumerate() {
            self.gate_features(part, work);
            work.product.resize(length, T::ZERO);
            let codes = work.rows * self.width;
            product_tn(
                &mut work.product,
                Matrix::new(&work.codes[part * codes..(part + 1) * codes], work.rows, self.width),
                Matrix::new(&work.gated, work.rows, 3 * self.columns),
                false,
            );
            for (sum, new) in sums.iter_mut().zip(&work.product) {
                *sum += new.to_f64();
            }
        }
    }

    /// Looks at an open block: some rounds from the codes that are remembered (unless they are to be
    /// forgotten), then adds what its rows tell and returns their share of the bound, in the
    /// frame's units.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn expect(
        &self,
        appearance: &dyn RowAppearance,
        rounds: usize,
        batch: &Batch<'_, T>,
        first: usize,
        work: &mut RowWork<T>,
        (memory, forget): (&mut Memory<T>, bool),
        sums: &mut RowSums,
    ) -> f64 {
        let rows = work.rows;
        let width = self.parts * self.width;
        let (kept, known) = memory.rows_mut(batch.first_row + first, rows, width, forget);
        // Place of a row's code of a part in memory, row by row, and at work, part by part.
        let places = |i: usize| {
            let (part, row) = (i / rows, i % rows);
            (row * width + part * self.width, i * self.width)
        };
        if known {
            for i in 0..self.parts * rows {
                let (from, to) = places(i);
                work.codes[to..to + self.width].copy_from_slice(&kept[from..from + self.width]);
            }
            self.errors(work);
            self.normalise(work);
        }
        for _ in 0..rounds {
            self.round(appearance, work);
        }
        for i in 0..self.parts * rows {
            let (to, from) = places(i);
            kept[to..to + self.width].copy_from_slice(&work.codes[from..from + self.width]);
        }
        let bound = (0..rows)
            .map(|row| {
                let own = self.bound(row, work) - HALF_LOG_TWO_PI * work.observed[row];
                batch.weight(first + row) * own
            })
            .sum();
        self.add(|row| batch.weight(first + row), work, &mut sums.sums, &mut sums.totals);
        bound
    }
}

/// A number that sums can be made of.
fn proper(value: f64) -> f64 {
    if value > -1e300 { value.min(1e300) } else { -1e300 }
}

/// What rows with gates of their own tell.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RowSums {
    /// `[S, 3D]`: sum of squares, sum and weight, each row counting by gate and code.
    pub(crate) sums: Vec<f64>,
    /// Weight of each state, `[S]`.
    pub(crate) totals: Vec<f64>,
    /// Not a sum: what the prior of the gate adds to the bound.
    pub(crate) log_entropic_prior: f64,
}

impl RowSums {
    pub(crate) fn new(slots: usize, columns: usize) -> Self {
        Self {
            sums: vec![0.0; slots * 3 * columns],
            totals: vec![0.0; slots],
            log_entropic_prior: 0.0,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.totals.iter_mut().zip(&other.totals).for_each(|(a, b)| *a += b);
    }

    pub(crate) fn reset(&mut self) {
        self.sums.fill(0.0);
        self.totals.fill(0.0);
        self.log_entropic_prior = 0.0;
    }

    /// The sums, slot by slot and column by column.
    pub(crate) fn moments(&self, columns: usize) -> SlotMoments {
        let block = |which: usize| -> Vec<f64> {
            let blocks = self.sums.chunks_exact(columns).skip(which).step_by(3);
            blocks.flatten().copied().collect()
        };
        SlotMoments { second: block(0), first: block(1), count: block(2), level: Vec::new() }
    }
}
