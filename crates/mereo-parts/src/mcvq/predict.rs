//! What the model says of single cells.
//!
//! A cell is made by part k with probability `a_dk` and by state j of it with `m_kj`, the row's code, so that its distribution is
//! `Σ_kj a_dk m_kj P(x_d | kj)`. A missing cell's code is that of the whole row; an observed cell, of which the others are to
//! tell, takes its share `g_dk log P(x_d | kj)` out of the evidence first.

use mereo_core::slots::Cells;
use mereo_core::{Asked, Batch, Block, Predict, Random, Real, draw, prediction_starts};

use super::Mcvq;
use super::model::shares_of;

impl Mcvq {
    /// The cells of a batch as numbers, row after row, `NaN` where missing or unknown.
    pub(super) fn values_of<T: Real>(&self, cells: &Cells<'_>, batch: &Batch<'_, T>) -> Vec<f64> {
        let mut values = vec![f64::NAN; batch.rows * self.columns];
        for row in 0..batch.rows {
            batch.for_each_observed(row, |d, x| {
                if cells.is_known(d, x.to_f64()) {
                    values[row * self.columns + d] = x.to_f64();
                }
            });
        }
        values
    }

    /// Rows whose cells are these.
    pub(super) fn dense_batch<'a>(&self, values: &'a [f64], rows: usize) -> Batch<'a, f64> {
        let block = Block::Dense { values, complete: false };
        Batch { first_row: 0, rows, columns: self.columns, block, weights: None, labels: None }
    }

    /// Codes of dense rows whose cells are these, `[K, J, R]`.
    fn codes_of(&self, values: &[f64], rows: usize) -> Vec<f64> {
        let batch = self.dense_batch(values, rows);
        if !self.gates_of_rows {
            return self.infer(&batch).codes;
        }
        let mut codes = vec![0.0; self.parts * self.states * rows];
        self.find_rows(&batch, |found| {
            for row in 0..found.work.rows {
                for part in 0..self.parts {
                    for (state, &m) in found.code(part, row).iter().enumerate() {
                        codes[(part * self.states + state) * rows + found.first + row] = m;
                    }
                }
            }
        });
        codes
    }

    /// Calls `visit(row, column, x, probabilities of the states)` for the cells of a batch: missing ones by the
    /// code of the whole row if `missing`, observed ones by the code without them if `observed`.
    fn for_each_cell<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        [missing, observed]: [bool; 2],
        mut visit: impl FnMut(usize, usize, f64, &[f64]),
    ) {
        let (cells, rows, columns) = (self.cells(), batch.rows, self.columns);
        let mut values = self.values_of(&cells, batch);
        let mut tell = |column: usize, codes: &[f64], values: &[f64], asked: fn(f64) -> bool| {
            let gate = &self.gate_prior[column * self.parts..(column + 1) * self.parts];
            for row in 0..rows {
                let x = values[row * columns + column];
                if asked(x) {
                    let made = shares_of(gate, self.states, |slot| codes[slot * rows + row]);
                    visit(row, column, x, &made);
                }
            }
        };
        if missing {
            let codes = self.codes_of(&values, rows);
            (0..columns).for_each(|d| tell(d, &codes, &values, f64::is_nan));
        }
        if !observed {
            return;
        }
        if self.gates_of_rows {
            for d in 0..columns {
                let own: Vec<f64> = values.iter().skip(d).step_by(columns).copied().collect();
                (0..rows).for_each(|row| values[row * columns + d] = f64::NAN);
                let codes = self.codes_of(&values, rows);
                own.iter().enumerate().for_each(|(row, &x)| values[row * columns + d] = x);
                tell(d, &codes, &values, |x| !x.is_nan());
            }
            return;
        }
        let (evidence, frame) = self.evidence(batch);
        for d in 0..columns {
            let mut rest = evidence.clone();
            for (slot, of_slot) in rest.chunks_exact_mut(rows).enumerate() {
                let gate = self.gate(d, slot / self.states);
                for (row, e) in of_slot.iter_mut().enumerate() {
                    let x = values[row * columns + d];
                    if !x.is_nan() {
                        *e -= gate * cells.densities.cell(slot, d, x);
                    }
                }
            }
            let codes = self.resolve(rest, rows, frame.clone()).codes;
            tell(d, &codes, &values, |x| !x.is_nan());
        }
    }
}

impl<T: Real> Predict<T> for Mcvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn levels(&self) -> Vec<usize> {
        self.cells().levels()
    }

    fn predict_batch(&self, batch: &Batch<'_, T>, asked: Asked, out: &mut [f64]) {
        let cells = self.cells();
        let starts = prediction_starts(&cells.levels());
        let width = starts[self.columns];
        out.fill(f64::NAN);
        self.for_each_cell(batch, [true, asked == Asked::Every], |row, d, _, made| {
            cells.predict(d, made, &mut out[row * width..][starts[d]..starts[d + 1]]);
        });
    }

    fn surprise_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        let cells = self.cells();
        out.fill(f64::NAN);
        self.for_each_cell(batch, [false, true], |row, d, x, made| {
            let logs: Vec<f64> = made.iter().map(|q| q.max(1e-300).ln()).collect();
            out[row * self.columns + d] = -cells.log_density(d, &logs, x);
        });
    }

    /// With classes, a class is drawn first and then the states that it makes probable; the part of each missing cell is
    /// drawn by its column's gate.
    fn draw_batch(&self, batch: &Batch<'_, T>, random: &dyn Fn(usize) -> Random, out: &mut [T]) {
        let (cells, rows, columns) = (self.cells(), batch.rows, self.columns);
        let values = self.values_of(&cells, batch);
        let codes = self.codes_of(&values, rows);
        let of_classes = self.classes.as_ref().map(|classes| {
            let (evidence, frame) = self.evidence(batch);
            (classes, self.resolve(evidence.clone(), rows, frame).classes, evidence)
        });
        for row in 0..rows {
            let mut random = random(row);
            let mut code: Vec<f64> =
                (0..self.parts * self.states).map(|slot| codes[slot * rows + row]).collect();
            if let Some((classes, posterior, evidence)) = &of_classes {
                let of_row: Vec<f64> =
                    (0..classes.prior.len()).map(|n| posterior[n * rows + row]).collect();
                let prior = classes.of(draw(&of_row, &mut random).unwrap_or(0));
                for (slot, m) in code.iter_mut().enumerate() {
                    *m = prior[slot].max(1e-300).ln() + evidence[slot * rows + row];
                }
                code.chunks_exact_mut(self.states).for_each(|part| {
                    mereo_core::math::softmax(part);
                });
            }
            let chosen: Vec<usize> = code
                .chunks_exact(self.states)
                .enumerate()
                .map(|(k, part)| k * self.states + draw(part, &mut random).unwrap_or(0))
                .collect();
            for d in 0..columns {
                let x = values[row * columns + d];
                let drawn = if x.is_nan() {
                    let gate = &self.gate_prior[d * self.parts..(d + 1) * self.parts];
                    let part = draw(gate, &mut random).unwrap_or(0);
                    cells.draw(chosen[part], d, &mut random)
                } else {
                    x
                };
                out[row * columns + d] = T::from_f64(drawn.clamp(-T::LARGEST, T::LARGEST));
            }
        }
    }
}
