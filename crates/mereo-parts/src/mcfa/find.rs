//! What a model finds of rows: codes, gates and bounds, in double precision.

use mereo_core::math::{HALF_LOG_TWO_PI, packed as pairs};
use mereo_core::slots::{Form, Frame, RowCells};
use mereo_core::{Batch, Real};

use super::Mcfa;
use super::coefficients::Coefficients;
use super::normal::{Normal, place, width};
use crate::classes::FactorWork;
use crate::per_row::{PerRow, ROUNDS_ALONE, RowAppearance, RowWork};

/// What was found of one row.
pub(crate) struct Found<'a> {
    pub(crate) row: usize,
    /// `[K, V]`.
    pub(crate) codes: &'a [f64],
    /// Its own gates, `[K, D]`, if it has them.
    pub(super) gates: Option<Vec<&'a [f64]>>,
    /// How likely each class is, `[N]`, if there are classes.
    pub(crate) classes: &'a [f64],
    pub(crate) bound: f64,
}

impl Mcfa {
    /// Finds codes (and gates, if rows have their own) of a batch's rows, in double precision.
    pub(crate) fn find<T: Real>(&self, batch: &Batch<'_, T>, visit: impl FnMut(&Found<'_>)) {
        if self.gates_of_rows { self.find_own(batch, visit) } else { self.find_tied(batch, visit) }
    }

    /// Row by row, differences before squares: right for whatever model and data there are.
    fn find_tied<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(&Found<'_>)) {
        let (j, v) = (self.factors, width(self.factors));
        let normal = Normal { factors: j };
        // What each observed column costs beside its error: ½ log 2π and KL(g_d ‖ a_d).
        let cost: Vec<f64> = (0..self.columns)
            .map(|d| {
                let at = d * self.parts..(d + 1) * self.parts;
                let pairs = self.gate[at.clone()].iter().zip(&self.gate_prior[at]);
                let divergence: f64 = pairs
                    .filter(|(g, _)| **g > 0.0)
                    .map(|(g, a)| g * (g / a.max(1e-300)).ln())
                    .sum();
                HALF_LOG_TWO_PI + divergence
            })
            .collect();
        // In units of the noise.
        let inverse: Vec<f64> = self.noise.iter().map(|n| 1.0 / n.sqrt()).collect();
        let scaled: Vec<f64> =
            self.loading.iter().enumerate().map(|(i, l)| l * inverse[i / j]).collect();
        let pairs_of = |part: usize, d: usize, out: &mut [f64]| {
            let gate = self.gate[d * self.parts + part];
            let i = part * self.columns + d;
            let loading = &scaled[i * j..(i + 1) * j];
            let unsure = self.covariance_of(part, d);
            for r in 0..j {
                for c in 0..=r {
                    let once = if r == c { 0.5 } else { 1.0 };
                    let spread = unsure.map_or(0.0, |u| u[place(r, c)] * inverse[i] * inverse[i]);
                    out[place(r, c)] -= once * gate * (loading[r] * loading[c] + spread);
                }
            }
        };
        let mut of_all = vec![0.0; self.parts * pairs(j)];
        for (part, out) in of_all.chunks_exact_mut(pairs(j)).enumerate() {
            (0..self.columns).for_each(|d| pairs_of(part, d, out));
        }
        let (mut cells, mut natural) = (RowCells::default(), vec![0.0; v]);
        let mut codes = vec![0.0; self.parts * v];
        let classes = self.classes.as_ref().map(|classes| classes.of_factors(self.parts, 0.0));
        let mut work = FactorWork::default();
        for row in 0..batch.rows {
            cells.take(batch, row);
            let complete = cells.iter().count() == self.columns;
            let mut bound = -cells.iter().map(|(d, _)| cost[d]).sum::<f64>();
            for (part, code) in codes.chunks_exact_mut(v).enumerate() {
                natural.fill(0.0);
                for (d, x) in cells.iter() {
                    let (gate, i) = (self.gate[d * self.parts + part], part * self.columns + d);
                    let apart = ((x - self.offset[i]) * inverse[i]).clamp(-1e140, 1e140);
                    natural[0] -= gate * (0.5 * apart * apart - inverse[i].ln());
                    for (h, l) in natural[1..=j].iter_mut().zip(&scaled[i * j..(i + 1) * j]) {
                        *h += gate * l * apart;
                    }
                    if let Some(unsure) = self.covariance_of(part, d) {
                        let (precision, offset) = (inverse[i] * inverse[i], &unsure[pairs(j)..]);
                        natural[0] -= 0.5 * gate * precision * offset[j];
                        for (h, c) in natural[1..=j].iter_mut().zip(offset) {
                            *h -= gate * precision * c;
                        }
                    }
                    if !complete {
                        pairs_of(part, d, &mut natural[1 + j..]);
                    }
                }
                if complete {
                    let at = part * pairs(j)..(part + 1) * pairs(j);
                    natural[1 + j..].copy_from_slice(&of_all[at]);
                }
                bound += self.code(&normal, part, &mut natural, code);
            }
            if let Some(classes) = &classes {
                bound = classes.infer(&mut codes, bound, None, &mut work);
            }
            visit(&Found { row, codes: &codes, gates: None, classes: &work.posterior, bound });
        }
    }

    /// A code, whatever the numbers: a model by hand can have noise so small beside its loadings
    /// that squares overflow, and then says as much as nothing.
    fn code(&self, normal: &Normal, part: usize, natural: &mut [f64], code: &mut [f64]) -> f64 {
        for n in natural.iter_mut() {
            *n = if n.is_finite() { n.clamp(-1e300, 1e300) } else { -1e300 };
        }
        let norm = normal.code(part, natural, code);
        if norm.is_finite() && code.iter().all(|c| c.is_finite()) {
            return norm;
        }
        code.fill(0.0);
        code[0] = 1.0;
        for r in 0..self.factors {
            code[1 + self.factors + place(r, r)] = 1.0;
        }
        natural[0]
    }

    /// Mean and variance of each column under the model: a good frame to measure data in.
    fn frame(&self, form: &Form) -> Frame<f64> {
        let (mut centre, mut variance) = (vec![0.0; self.columns], vec![0.0; self.columns]);
        for d in 0..self.columns {
            let share = |k: usize| self.gate_prior[d * self.parts + k];
            centre[d] = (0..self.parts).map(|k| share(k) * self.offset[k * self.columns + d]).sum();
            for k in 0..self.parts {
                let i = k * self.columns + d;
                let moved: f64 = self.loading_of(k, d).iter().map(|l| l * l).sum();
                let apart = self.offset[i] - centre[d];
                variance[d] += share(k) * (self.noise[i] + moved + apart * apart);
            }
        }
        if *form == Form::Zero {
            centre.fill(0.0);
        }
        Frame::new(&centre, &variance)
    }

    /// With gates of the rows' own.
    fn find_own<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(&Found<'_>)) {
        let (j, v) = (self.factors, width(self.factors));
        let frame = self.frame(&Form::of_batch(batch));
        let coefficients = Coefficients {
            loading: &self.loading,
            offset: &self.offset,
            noise: &self.noise,
            covariance: &self.covariance,
            factors: j,
            frame: &frame,
        };
        let kernel = PerRow::new(self.parts, v, &frame, &self.gate_prior, |part, v, d| {
            coefficients.of(part, v, d)
        });
        let (mut cells, mut work) = (Vec::new(), RowWork::default());
        let wide = batch.widen(&mut cells);
        let mut codes = vec![0.0; self.parts * v];
        for block in kernel.blocks(batch.rows) {
            let first = block.start;
            kernel.open(&wide, block, &mut work);
            for _ in 0..ROUNDS_ALONE {
                kernel.round(&Normal { factors: j }, &mut work);
            }
            for row in 0..work.rows {
                let mut bound = kernel.bound(row, &work);
                batch.for_each_observed(first + row, |d, _| {
                    bound -= HALF_LOG_TWO_PI + frame.scale(d).ln();
                });
                let mut gates = Vec::with_capacity(self.parts);
                for part in 0..self.parts {
                    let i = part * work.rows + row;
                    codes[part * v..(part + 1) * v]
                        .copy_from_slice(&work.codes[i * v..(i + 1) * v]);
                    gates.push(&work.gates[i * self.columns..(i + 1) * self.columns]);
                }
                let (row, gates, classes) = (first + row, Some(gates), &[][..]);
                visit(&Found { row, codes: &codes, gates, classes, bound });
            }
        }
    }
}
