//! What a mixture says of single cells.
//!
//! With `l_j = log b_j + Σ_d log P(x_d | j)` over the observed columns, a missing cell is made by component j with probability
//! `q_j ∝ exp l_j`; an observed one, of which the others of its row are to tell, with `q_j ∝ exp(l_j - log P(x_d | j))`.

use mereo_core::math::softmax;
use mereo_core::slots::{Cells, RowCells};
use mereo_core::{Asked, Batch, Gaussians, Predict, Random, Real, draw};

use super::Gmm;

impl Gmm {
    /// The components where columns go together.
    fn joint<'a>(&'a self, covariance: &'a [f64]) -> Gaussians<'a> {
        Gaussians::new(self.columns(), self.weight(), self.mean(), covariance)
    }

    /// Calls `visit(row, cells, log joint)` for each row of a batch, its cells `NaN` where missing or unknown.
    fn for_each_joint<T: Real>(
        &self,
        cells: &Cells<'_>,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(usize, &[f64], &[f64]),
    ) {
        let columns = self.columns();
        let log_prior: Vec<f64> = self.weight().iter().map(|b| b.max(1e-300).ln()).collect();
        let (mut observed, mut logs) = (RowCells::default(), vec![0.0; self.components()]);
        let mut values = vec![f64::NAN; columns];
        for row in 0..batch.rows {
            observed.take(batch, row);
            cells.densities.logs(&observed, &mut logs);
            logs.iter_mut().zip(&log_prior).for_each(|(log, prior)| *log += prior);
            values.fill(f64::NAN);
            for (d, x) in observed.iter().filter(|&(d, x)| cells.is_known(d, x)) {
                values[d] = x;
            }
            visit(row, &values, &logs);
        }
    }
}

impl<T: Real> Predict<T> for Gmm {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn levels(&self) -> Vec<usize> {
        self.cells().levels()
    }

    fn predict_batch(&self, batch: &Batch<'_, T>, asked: Asked, out: &mut [f64]) {
        if let Some(covariance) = self.full_covariance() {
            return self.joint(&covariance).predict(batch, asked, out);
        }
        let cells = self.cells();
        let starts = mereo_core::prediction_starts(&cells.levels());
        let width = starts[self.columns()];
        out.fill(f64::NAN);
        self.for_each_joint(&cells, batch, |row, values, joint| {
            let out = &mut out[row * width..(row + 1) * width];
            for (d, &x) in values.iter().enumerate() {
                if x.is_nan() || asked == Asked::Every {
                    let (_, shares) = cells.without(d, x, joint);
                    cells.predict(d, &shares, &mut out[starts[d]..starts[d + 1]]);
                }
            }
        });
    }

    fn surprise_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        if let Some(covariance) = self.full_covariance() {
            return self.joint(&covariance).surprise(batch, out);
        }
        let cells = self.cells();
        out.fill(f64::NAN);
        self.for_each_joint(&cells, batch, |row, values, joint| {
            for (d, &x) in values.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                let (logs, _) = cells.without(d, x, joint);
                out[row * self.columns() + d] = -cells.log_density(d, &logs, x);
            }
        });
    }

    fn draw_batch(&self, batch: &Batch<'_, T>, random: &dyn Fn(usize) -> Random, out: &mut [T]) {
        if let Some(covariance) = self.full_covariance() {
            return self.joint(&covariance).draw(batch, random, out);
        }
        let cells = self.cells();
        self.for_each_joint(&cells, batch, |row, values, joint| {
            let mut random = random(row);
            let mut shares = joint.to_vec();
            softmax(&mut shares);
            let component = draw(&shares, &mut random).unwrap_or(0);
            let out = &mut out[row * self.columns()..(row + 1) * self.columns()];
            for ((d, &x), out) in values.iter().enumerate().zip(out) {
                let drawn = if x.is_nan() { cells.draw(component, d, &mut random) } else { x };
                *out = T::from_f64(drawn.clamp(-T::LARGEST, T::LARGEST));
            }
        });
    }
}
