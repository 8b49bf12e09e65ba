//! What a model answers when rows have gates of their own.

use mereo_core::math::{HALF_LOG_TWO_PI, Matrix, product};
use mereo_core::slots::{Form, Frame, SlotParams};
use mereo_core::{Batch, Real};

use super::Mcvq;
use super::rows::RowPass;
use crate::per_row::{PerRow, ROUNDS_ALONE, RowWork};

/// A block of rows, each with its gates and codes found.
pub(super) struct Found<'a> {
    /// The block's first row in the batch.
    pub(super) first: usize,
    pub(super) kernel: &'a PerRow<f64>,
    pub(super) work: &'a RowWork<f64>,
    pub(super) frame: &'a Frame<f64>,
}

impl Found<'_> {
    /// A row's gate of a part in every column.
    pub(super) fn gates(&self, part: usize, row: usize) -> &[f64] {
        let columns = self.kernel.columns;
        let start = (part * self.work.rows + row) * columns;
        &self.work.gates[start..start + columns]
    }

    /// A row's probabilities of a part's states.
    pub(super) fn code(&self, part: usize, row: usize) -> &[f64] {
        let width = self.kernel.width;
        let start = (part * self.work.rows + row) * width;
        &self.work.codes[start..start + width]
    }

    /// A row's share of the bound, in the data's units.
    pub(super) fn bound<T: Real>(&self, batch: &Batch<'_, T>, row: usize) -> f64 {
        let mut bound = self.kernel.bound(row, self.work);
        batch.for_each_observed(self.first + row, |d, _| {
            bound -= HALF_LOG_TWO_PI + self.frame.scale(d).ln();
        });
        bound
    }

    /// `x̂_d = Σ_k g^c_dk Σ_j m_kj μ_kjd`, row after row.
    pub(super) fn reconstruct<T: Real>(&self, model: &Mcvq, out: &mut [T]) {
        let (rows, columns, states) = (self.work.rows, self.kernel.columns, self.kernel.width);
        let mean: Vec<f64> = model
            .mean
            .iter()
            .enumerate()
            .map(|(i, &m)| self.frame.inward(i % columns, m))
            .collect();
        let (mut looks, mut inner) = (vec![0.0; rows * columns], vec![0.0; rows * columns]);
        for part in 0..self.kernel.parts {
            let codes = part * rows * states..(part + 1) * rows * states;
            let means = part * states * columns..(part + 1) * states * columns;
            product(
                &mut looks,
                Matrix::new(&self.work.codes[codes], rows, states),
                Matrix::new(&mean[means], states, columns),
                false,
            );
            let gates = &self.work.gates[part * rows * columns..(part + 1) * rows * columns];
            for ((x, look), gate) in inner.iter_mut().zip(&looks).zip(gates) {
                *x += gate * look;
            }
        }
        for (i, (out, x)) in out.iter_mut().zip(inner).enumerate() {
            let x = self.frame.outward(i % columns, x);
            *out = T::from_f64(x.clamp(-T::LARGEST, T::LARGEST));
        }
    }
}

impl Mcvq {
    /// Finds gates and codes of a batch's rows, block by block, in double precision.
    pub(super) fn find_rows<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(&Found<'_>),
    ) {
        let form = Form::of_batch(batch);
        let frame = self.frame(&form);
        let log_prior = self.log_prior();
        let params = SlotParams {
            parts: self.parts,
            states: self.states,
            gate: Some(&self.gate_prior),
            mean: &self.mean,
            variance: &self.variance,
            log_prior: &log_prior,
            mixed: None,
        };
        let own = RowPass::new(&params, &frame);
        let (mut cells, mut work) = (Vec::new(), RowWork::default());
        let wide = batch.widen(&mut cells);
        for block in own.kernel.blocks(batch.rows) {
            let first = block.start;
            own.kernel.open(&wide, block, &mut work);
            for _ in 0..ROUNDS_ALONE {
                own.kernel.round(&own.states, &mut work);
            }
            visit(&Found { first, kernel: &own.kernel, work: &work, frame: &frame });
        }
    }
}
