//! Passes row by row, where something is stored or observed: for sparse tables, and for squared
//! errors with holes.

use mereo_core::math::dot;
use mereo_core::{Batch, Block, Real};

use super::Loss;
use super::kernels::{TINY, descend, descend_row, multiply};
use super::learner::{NmfLearner, NmfStatistics, Prepared, Work};

impl<T: Real> NmfLearner<T> {
    pub(super) fn look_rows(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        codes: &mut [T],
        updates: usize,
        work: &mut Work<T>,
        statistics: &mut NmfStatistics,
    ) {
        let n = self.params.components;
        for (row, code) in codes.chunks_exact_mut(n).enumerate() {
            work.row.clear();
            let stored = &mut work.row;
            match batch.block {
                Block::Sparse { starts, indices, values, .. } => {
                    let range = starts[row] - starts[0]..starts[row + 1] - starts[0];
                    for (&column, &value) in indices[range.clone()].iter().zip(&values[range]) {
                        stored.push((column as usize, value * self.inverse));
                    }
                }
                Block::Dense { .. } => batch.for_each_observed(row, |column, value| {
                    stored.push((column, value * self.inverse));
                }),
            }
            let weight = batch.weight(row);
            let loss = match (self.params.loss, self.holes) {
                (Loss::Kl, _) => self.kl_row(prepared, code, weight, updates, work, statistics),
                (Loss::Frobenius, false) => {
                    frobenius_row(prepared, code, weight, updates, work, statistics)
                }
                (Loss::Frobenius, true) => {
                    self.holes_row(prepared, code, weight, updates, work, statistics)
                }
            };
            statistics.loss += weight * loss;
        }
    }

    fn kl_row(
        &self,
        prepared: &Prepared<T>,
        code: &mut [T],
        weight: f64,
        updates: usize,
        work: &mut Work<T>,
        statistics: &mut NmfStatistics,
    ) -> f64 {
        let n = code.len();
        let of = |column: usize| &prepared.by_column[column * n..(column + 1) * n];
        let tiny = T::from_f64(TINY);
        let rebuilt = |code: &[T], column: usize| {
            let r = dot(code, of(column));
            if r > tiny { r } else { tiny }
        };
        let Work { row, above, below, .. } = work;
        below.clear();
        if self.holes {
            below.resize(n, T::ZERO);
            for &(column, _) in &*row {
                below.iter_mut().zip(of(column)).for_each(|(b, &w)| *b += w);
            }
        } else {
            below.extend_from_slice(&prepared.sums);
        }
        for _ in 0..updates {
            above.clear();
            above.resize(n, T::ZERO);
            for &(column, x) in &*row {
                let ratio = x / rebuilt(code, column);
                above.iter_mut().zip(of(column)).for_each(|(a, &w)| *a += ratio * w);
            }
            multiply(code, above, below, 1);
        }
        let mut loss = 0.0;
        for &(column, x) in &*row {
            let r = rebuilt(code, column);
            let ratio = (x / r).to_f64();
            if ratio > 0.0 {
                loss += x.to_f64() * ratio.ln() - x.to_f64();
            }
            if self.holes {
                loss += r.to_f64();
            }
            let sums = &mut statistics.above[column * n..(column + 1) * n];
            let share = weight * ratio;
            sums.iter_mut().zip(&*code).for_each(|(s, h)| *s += share * h.to_f64());
            if self.holes {
                let sums = &mut statistics.below[column * n..(column + 1) * n];
                sums.iter_mut().zip(&*code).for_each(|(s, h)| *s += weight * h.to_f64());
            }
        }
        if !self.holes {
            // Cells of 0 cost what they are rebuilt as, which adds up without visiting them.
            loss += dot(code, &prepared.sums).to_f64();
            statistics.below.iter_mut().zip(&*code).for_each(|(s, h)| *s += weight * h.to_f64());
        }
        loss
    }

    fn holes_row(
        &self,
        prepared: &Prepared<T>,
        code: &mut [T],
        weight: f64,
        updates: usize,
        work: &mut Work<T>,
        statistics: &mut NmfStatistics,
    ) -> f64 {
        let (n, d) = (code.len(), self.columns);
        let Work { row, own, step: left, .. } = work;
        own.clear();
        for w in prepared.component.chunks_exact(d) {
            own.extend(row.iter().map(|&(column, _)| w[column]));
        }
        left.clear();
        left.extend(row.iter().map(|&(_, x)| x));
        if !row.is_empty() {
            for (&h, w) in code.iter().zip(own.chunks_exact(row.len())) {
                left.iter_mut().zip(w).for_each(|(e, &w)| *e -= h * w);
            }
        }
        for _ in 0..updates {
            descend_row(code, own, left);
        }
        let mut loss = 0.0;
        for (&(column, x), &e) in row.iter().zip(&*left) {
            loss += 0.5 * e.to_f64() * e.to_f64();
            let at = column * n..(column + 1) * n;
            let (x, r) = (weight * x.to_f64(), weight * (x - e).to_f64());
            let sums = statistics.above[at.clone()].iter_mut().zip(&mut statistics.below[at]);
            for ((a, b), h) in sums.zip(&*code) {
                *a += x * h.to_f64();
                *b += r * h.to_f64();
            }
        }
        loss
    }
}

/// A row of counts, by squared errors: zeros are in the Gram matrix.
fn frobenius_row<T: Real>(
    prepared: &Prepared<T>,
    code: &mut [T],
    weight: f64,
    updates: usize,
    work: &mut Work<T>,
    statistics: &mut NmfStatistics,
) -> f64 {
    let n = code.len();
    let Work { row, above, step, .. } = work;
    above.clear();
    above.resize(n, T::ZERO);
    for &(column, x) in &*row {
        let w = &prepared.by_column[column * n..(column + 1) * n];
        above.iter_mut().zip(w).for_each(|(a, &w)| *a += x * w);
    }
    for _ in 0..updates {
        descend(code, above, &prepared.gram, n, 1, step);
    }
    let mut own = 0.0;
    for (j, &h) in code.iter().enumerate() {
        if h == T::ZERO {
            continue;
        }
        own += h.to_f64() * dot(code, &prepared.gram[j * n..(j + 1) * n]).to_f64();
        let sums = &mut statistics.gram[j * n..(j + 1) * n];
        sums.iter_mut().zip(&*code).for_each(|(s, k)| *s += weight * h.to_f64() * k.to_f64());
    }
    let mut squares = 0.0;
    for &(column, x) in &*row {
        squares += x.to_f64() * x.to_f64();
        let sums = &mut statistics.above[column * n..(column + 1) * n];
        let share = weight * x.to_f64();
        sums.iter_mut().zip(&*code).for_each(|(s, h)| *s += share * h.to_f64());
    }
    (0.5 * (squares - 2.0 * dot(code, above).to_f64() + own)).max(0.0)
}
