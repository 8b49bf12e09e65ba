//! Looking at rows that have gates of their own: by expectation, or by samples.

use mereo_core::math::{HALF_LOG_TWO_PI, softmax};
use mereo_core::slots::{Frame, SlotMoments, SlotParams, WorstRows};
use mereo_core::{Batch, Context, Pass, Random, Real, draw};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::per_row::{PerRow, ROUNDS, ROUNDS_ALONE, RowAppearance, RowSums, RowWork};
use mereo_core::Memory;

/// Monte Carlo EM: how many samples a pass learns from, and where random numbers come from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Gibbs {
    pub(crate) sweeps: usize,
    pub(crate) seed: u64,
}

impl Gibbs {
    /// The random numbers of a row in a pass.
    fn random(&self, pass: Pass, row: usize) -> Random {
        let at = (pass.restart as u64) << 32 | pass.pass as u64;
        Context::new(self.seed).random("gibbs", [at, row as u64])
    }

    /// Puts samples in the place of codes `[K, J, R]` times weights. Given a gate that all rows
    /// share, the states of different parts are independent, so that one draw of each is a sample
    /// of them all.
    pub(crate) fn sample_codes<T: Real>(
        &self,
        codes: &mut [T],
        states: usize,
        batch: &Batch<'_, T>,
        pass: Pass,
    ) {
        let rows = batch.rows;
        let mut code = vec![0.0; states];
        for row in (0..rows).filter(|&row| batch.weight(row) > 0.0) {
            let mut random = self.random(pass, batch.first_row + row);
            let share = T::from_f64(batch.weight(row) / self.sweeps as f64);
            for part in codes.chunks_exact_mut(states * rows) {
                for (state, code) in code.iter_mut().enumerate() {
                    *code = part[state * rows + row].to_f64();
                    part[state * rows + row] = T::ZERO;
                }
                for _ in 0..self.sweeps {
                    part[draw(&code, &mut random).unwrap_or(0) * rows + row] += share;
                }
            }
        }
    }
}

/// What a pass does with each row.
#[derive(Debug, Clone)]
pub(crate) enum Rounds {
    /// So many rounds of coordinate ascent.
    Expect(usize),
    /// Samples.
    Sample { gibbs: Gibbs, pass: Pass },
}

impl Rounds {
    pub(crate) fn of(gibbs: Option<&Gibbs>, pass: Pass) -> Self {
        match gibbs {
            None => Self::Expect(ROUNDS),
            Some(gibbs) => Self::Sample { gibbs: gibbs.clone(), pass },
        }
    }
}

/// What looking at rows needs, once a pass.
pub(crate) struct RowPass<T> {
    pub(crate) kernel: PerRow<T>,
    pub(crate) states: States,
    pub(crate) rounds: Rounds,
    /// Whether what lanes remember belongs to another restart.
    pub(crate) forget: bool,
    /// What the prior of the gate adds to the bound.
    pub(crate) log_entropic_prior: f64,
}

/// The appearance of MCVQ: a code is the probabilities of a part's states.
pub(crate) struct States {
    states: usize,
    log_prior: Vec<f64>,
}

impl States {
    fn of(&self, part: usize) -> &[f64] {
        &self.log_prior[part * self.states..(part + 1) * self.states]
    }
}

impl RowAppearance for States {
    fn code(&self, part: usize, natural: &[f64], code: &mut [f64]) -> f64 {
        for ((c, n), b) in code.iter_mut().zip(natural).zip(self.of(part)) {
            *c = n + b;
        }
        softmax(code)
    }
}

impl<T: Real> RowPass<T> {
    /// Rows that nothing is remembered of; `params.gate` is the prior of their gates.
    pub(crate) fn new(params: &SlotParams<'_>, frame: &Frame<T>) -> Self {
        let (columns, states) = (frame.columns(), params.states);
        let gate = params.gate.unwrap_or(&[]);
        let kernel = PerRow::new(params.parts, states, frame, gate, |part, state, d| {
            let i = (part * states + state) * columns + d;
            let scale = frame.scale(d);
            let variance = params.variance[i] / (scale * scale);
            let mean = frame.inward(d, params.mean[i]);
            [-0.5 / variance, mean / variance, -0.5 * (mean * mean / variance + variance.ln())]
        });
        Self {
            kernel,
            states: States { states, log_prior: params.log_prior.to_vec() },
            rounds: Rounds::Expect(ROUNDS_ALONE),
            forget: true,
            log_entropic_prior: 0.0,
        }
    }

    /// Adds what a batch tells and returns its share of the bound, in the frame's units.
    pub(crate) fn accumulate(
        &self,
        batch: &Batch<'_, T>,
        work: &mut RowWork<T>,
        memory: &mut Memory<T>,
        sums: &mut RowSums,
        mut worst: Option<&mut WorstRows>,
    ) -> f64 {
        sums.log_entropic_prior = self.log_entropic_prior;
        let mut bound = 0.0;
        for block in self.kernel.blocks(batch.rows) {
            let first = block.start;
            self.kernel.open(batch, block, work);
            bound += match &self.rounds {
                Rounds::Expect(rounds) => {
                    let kept = (&mut *memory, self.forget);
                    self.kernel.expect(&self.states, *rounds, batch, first, work, kept, sums)
                }
                Rounds::Sample { gibbs, pass } => {
                    self.sample(gibbs, *pass, batch, first, work, memory, sums)
                }
            };
            if let Some(worst) = worst.as_deref_mut() {
                for (i, &norm) in work.log_norms.iter().enumerate() {
                    let row = first + i % work.rows;
                    if batch.weight(row) > 0.0 {
                        worst.offer(i / work.rows, norm, batch.first_row + row, || {
                            let mut cells = vec![f64::NAN; batch.columns];
                            batch.for_each_observed(row, |d, x| cells[d] = x.to_f64());
                            cells
                        });
                    }
                }
            }
        }
        bound
    }

    /// Some sweeps of Gibbs sampling from the states that are remembered. Returns the mean of
    /// `log P(x, s)`, the parts of the cells summed out: a lower bound on `log P(x)` whatever `s`.
    #[allow(clippy::too_many_arguments)]
    fn sample(
        &self,
        gibbs: &Gibbs,
        pass: Pass,
        batch: &Batch<'_, T>,
        first: usize,
        work: &mut RowWork<T>,
        memory: &mut Memory<T>,
        sums: &mut RowSums,
    ) -> f64 {
        let (kernel, rows) = (&self.kernel, work.rows);
        let (kept, known) =
            memory.rows_mut(batch.first_row + first, rows, kernel.parts, self.forget);
        let mut randoms: Vec<Random> =
            (0..rows).map(|row| gibbs.random(pass, batch.first_row + first + row)).collect();
        if known {
            work.codes.fill(T::ZERO);
            for i in 0..kernel.parts * rows {
                let state = kept[i % rows * kernel.parts + i / rows].to_f64() as usize;
                work.codes[i * kernel.width + state] = T::ONE;
            }
        } else {
            kernel.natural(work);
            self.sample_states(work, &mut randoms, kept);
        }
        let mut bound = 0.0;
        for _ in 0..gibbs.sweeps {
            kernel.errors(work);
            kernel.normalise(work);
            for row in 0..rows {
                let prior: f64 = (0..kernel.parts)
                    .map(|part| {
                        self.states.of(part)[kept[row * kernel.parts + part].to_f64() as usize]
                    })
                    .sum();
                let own = work.explained[row] + prior - HALF_LOG_TWO_PI * work.observed[row];
                bound += batch.weight(first + row) * own / gibbs.sweeps as f64;
            }
            sample_gates(work, kernel, &mut randoms);
            kernel.natural(work);
            self.sample_states(work, &mut randoms, kept);
            let share = 1.0 / gibbs.sweeps as f64;
            kernel.add(
                |row| share * batch.weight(first + row),
                work,
                &mut sums.sums,
                &mut sums.totals,
            );
            if share != 1.0 || batch.weights.is_some() {
                // Adding weighed the codes.
                work.codes.fill(T::ZERO);
                for i in 0..kernel.parts * rows {
                    let state = kept[i % rows * kernel.parts + i / rows].to_f64() as usize;
                    work.codes[i * kernel.width + state] = T::ONE;
                }
            }
        }
        bound
    }

    /// Draws each part's state from its natural parameters, to `work.codes` and `kept` (`[R, K]`).
    fn sample_states(&self, work: &mut RowWork<T>, randoms: &mut [Random], kept: &mut [T]) {
        let (kernel, rows) = (&self.kernel, work.rows);
        let mut code = vec![0.0; kernel.width];
        let mut natural = vec![0.0; kernel.width];
        work.codes.fill(T::ZERO);
        for row in 0..rows {
            for part in 0..kernel.parts {
                let i = part * rows + row;
                let at = i * kernel.width..(i + 1) * kernel.width;
                for (n, v) in natural.iter_mut().zip(&work.natural[at]) {
                    *n = v.to_f64();
                }
                work.log_norms[i] = self.states.code(part, &natural, &mut code);
                let state = draw(&code, &mut randoms[row]).unwrap_or(0);
                work.codes[i * kernel.width + state] = T::ONE;
                kept[row * kernel.parts + part] = T::from_f64(state as f64);
            }
        }
    }
}

/// Draws the part of each cell from its gates, which become 1 and 0.
fn sample_gates<T: Real>(work: &mut RowWork<T>, kernel: &PerRow<T>, randoms: &mut [Random]) {
    let cells = work.rows * kernel.columns;
    for (row, random) in randoms.iter_mut().enumerate() {
        for cell in row * kernel.columns..(row + 1) * kernel.columns {
            let mut left = T::from_f64(random.random::<f64>());
            let mut chosen = kernel.parts - 1;
            for part in 0..kernel.parts {
                let gate = &mut work.gates[part * cells + cell];
                left -= *gate;
                *gate = T::ZERO;
                if left < T::ZERO && chosen == kernel.parts - 1 {
                    chosen = part;
                    left = T::from_f64(f64::from(f32::MAX));
                }
            }
            work.gates[chosen * cells + cell] = T::ONE;
        }
    }
}

/// How much of each column's rows each part has, `[D, K]`.
pub(crate) fn gate_sums(moments: &SlotMoments, parts: usize, columns: usize) -> Vec<f64> {
    let states = moments.count.len() / (parts * columns);
    let mut sums = vec![0.0; columns * parts];
    for (slot, counts) in moments.count.chunks_exact(columns).enumerate() {
        for (d, n) in counts.iter().enumerate() {
            sums[d * parts + slot / states] += n;
        }
    }
    sums
}
