//! Single cells: draws of a row's code are slots, each with a weight.

use mereo_core::math::softmax;
use mereo_core::slots::Cells;
use mereo_core::{Asked, Batch, Context, Predict, Random, Real, draw, prediction_starts};

use super::Vae;
use super::model::FILL_DRAWS;

impl Vae {
    /// Calls `visit(row, cells, observed, log weights of the draws)`: observed values, NaN where there are none.
    fn for_each_weighted<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(usize, &Cells<'_>, &[f64], &[f64]),
    ) {
        let mut values = vec![f64::NAN; self.columns()];
        self.for_each_row(batch, FILL_DRAWS, false, &Context::new(0), |row, logs, ratios, made| {
            let slots = self.slots(made);
            let cells = self.cells(&slots);
            values.fill(f64::NAN);
            batch.for_each_observed(row, |d, x| {
                if cells.is_known(d, x.to_f64()) {
                    values[d] = x.to_f64();
                }
            });
            let joint: Vec<f64> = logs.iter().zip(ratios).map(|(p, r)| p + r).collect();
            visit(row, &cells, &values, &joint);
        });
    }
}

impl<T: Real> Predict<T> for Vae {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn levels(&self) -> Vec<usize> {
        let mut levels = vec![0; self.columns()];
        for words in self.layout().iter().flat_map(|layout| layout.kinds().words()) {
            levels[words.column] = words.levels;
        }
        levels
    }

    fn predict_batch(&self, batch: &Batch<'_, T>, asked: Asked, out: &mut [f64]) {
        let starts = prediction_starts(&Predict::<T>::levels(self));
        let width = starts[self.columns()];
        out.fill(f64::NAN);
        self.for_each_weighted(batch, |row, cells, values, joint| {
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
        out.fill(f64::NAN);
        self.for_each_weighted(batch, |row, cells, values, joint| {
            for (d, &x) in values.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
                let (logs, _) = cells.without(d, x, joint);
                out[row * self.columns() + d] = -cells.log_density(d, &logs, x);
            }
        });
    }

    fn draw_batch(&self, batch: &Batch<'_, T>, random: &dyn Fn(usize) -> Random, out: &mut [T]) {
        self.for_each_weighted(batch, |row, cells, values, joint| {
            let mut random = random(row);
            let mut shares = joint.to_vec();
            softmax(&mut shares);
            let chosen = draw(&shares, &mut random).unwrap_or(0);
            let out = &mut out[row * self.columns()..(row + 1) * self.columns()];
            for ((d, &x), out) in values.iter().enumerate().zip(out) {
                let drawn = if x.is_nan() { cells.draw(chosen, d, &mut random) } else { x };
                *out = T::from_f64(drawn.clamp(-T::LARGEST, T::LARGEST));
            }
        });
    }
}
