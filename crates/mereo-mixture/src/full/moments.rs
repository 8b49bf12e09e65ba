//! What rows tell components: see the [module](super).

use mereo_core::math::{Array, Matrix, product_self};
use mereo_core::{Real, in_parallel};
use serde::{Deserialize, Serialize};

use super::whitened::{Whitened, Work};

/// A responsibility below this is none: what it adds is far below rounding.
const fn negligible<T>() -> f64 {
    if size_of::<T>() < 8 { 1e-10 } else { 1e-14 }
}
/// Rows that go into sums of the data's own type before these are added to the `f64` ones.
const QUICK_ROWS: usize = 4096;

/// Sums over rows, for each component about the mean that it was asked with.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct Moments<T> {
    columns: usize,
    /// `[N]`: responsibility.
    pub(crate) total: Vec<f64>,
    /// `[N]`: for Student's t, `Σ r log((ν+|O|)/(ν+δ))` and `Σ r (digamma(½(ν+|O|)) - log ½(ν+|O|))`
    /// by numbers of observed cells, `[N, D + 1]` of Σ r.
    pub(crate) log_precision: Vec<f64>,
    pub(crate) by_observed: Array<2>,
    /// `[N, D+1, D+1]`: lower triangles of `Σ r u [y;1][y;1]ᵀ + Σ r C`.
    sums: Array<3>,
    quick: Array<3, T>,
    quick_rows: usize,
    #[serde(skip)]
    chosen: Vec<T>,
    #[serde(skip)]
    wide: Vec<f64>,
}

impl<T: Real> Moments<T> {
    pub(crate) fn new(components: usize, columns: usize, tails: bool) -> Self {
        let shape = [components, columns + 1, columns + 1];
        let tails = if tails { components } else { 0 };
        Self {
            columns,
            total: vec![0.0; components],
            log_precision: vec![0.0; tails],
            by_observed: Array::zeros([tails, columns + 1]),
            sums: Array::zeros(shape),
            quick: Array::zeros(shape),
            quick_rows: 0,
            chosen: Vec::new(),
            wide: Vec::new(),
        }
    }

    /// `[D+1, D+1]`: the lower triangle of a component's sums.
    pub(crate) fn of(&self, component: usize) -> Matrix<'_, f64> {
        self.sums.matrix([component])
    }

    /// Adds the rows that `work` holds, with its responsibilities.
    pub(crate) fn add(&mut self, whitened: &Whitened<T>, work: &mut Work<T>) {
        let rows = work.log_norms.len();
        for component in 0..self.total.len() {
            let responsible = component * rows..(component + 1) * rows;
            let sum: f64 = work.evidence[responsible.clone()].iter().sum();
            self.total[component] += sum;
            if sum > negligible::<T>() {
                self.add_component(component, whitened, work, responsible);
            }
        }
        self.quick_rows += rows;
        if self.quick_rows >= QUICK_ROWS {
            self.flush();
        }
    }

    fn add_component(
        &mut self,
        component: usize,
        whitened: &Whitened<T>,
        work: &mut Work<T>,
        at: std::ops::Range<usize>,
    ) {
        let (d, width) = (self.columns, self.columns + 1);
        let mean = whitened.mean(component);
        let Work { values, evidence, distance, patterns, observed, apart, room, .. } = work;
        let responsible = &evidence[at.clone()];
        let tails = whitened.has_tails();
        self.chosen.clear();
        let push = |chosen: &mut Vec<T>, row: usize, apart: &[T]| {
            let mut times = responsible[row];
            if tails {
                times *= whitened.row_precision(component, observed[row], distance[at.start + row]);
            }
            let root = T::from_f64(times.sqrt());
            chosen.extend(apart.iter().map(|&y| root * y));
            chosen.push(root);
        };
        for pattern in &*patterns {
            let total: f64 = pattern.rows.iter().map(|&row| responsible[row]).sum();
            if !(total > negligible::<T>()) {
                continue;
            }
            let Some(conditional) = whitened.conditional(component, pattern) else { continue };
            for &row in pattern.rows.iter().filter(|&&row| responsible[row] > negligible::<T>()) {
                let y = &mut apart[..d];
                y.copy_from_slice(&values[row * d..(row + 1) * d]);
                y.iter_mut().zip(mean).for_each(|(y, &m)| *y -= m);
                conditional.fill(y, room);
                push(&mut self.chosen, row, y);
            }
            conditional.add_covariance(total, self.sums.at_mut([component]), width);
        }
        for (row, &r) in responsible.iter().enumerate() {
            if r > negligible::<T>() && observed[row] == d {
                let y = &mut apart[..d];
                for ((y, &x), &m) in y.iter_mut().zip(&values[row * d..]).zip(mean) {
                    *y = x - m;
                }
                push(&mut self.chosen, row, y);
            }
        }
        if tails {
            for (row, &r) in responsible.iter().enumerate().filter(|(_, r)| **r > negligible::<T>())
            {
                let (o, square) = (observed[row], distance[at.start + row]);
                self.log_precision[component] +=
                    r * whitened.row_precision(component, o, square).ln();
                self.by_observed.row_mut(component)[o] += r;
            }
        }
        if self.chosen.is_empty() {
            return;
        }
        let rows = self.chosen.len() / width;
        if whitened.is_delicate(component) {
            self.wide.clear();
            self.wide.extend(self.chosen.iter().map(|y| y.to_f64()));
            let wide = Matrix::new(&self.wide, rows, width);
            product_self(self.sums.at_mut([component]), wide, true);
        } else {
            let chosen = Matrix::new(&self.chosen, rows, width);
            product_self(self.quick.at_mut([component]), chosen, true);
        }
    }

    /// Adds the quick sums to the others.
    pub(crate) fn flush(&mut self) {
        if self.quick_rows == 0 {
            return;
        }
        self.quick_rows = 0;
        let size = (self.columns + 1) * (self.columns + 1);
        let pieces = self.sums.chunks_mut(size).zip(self.quick.chunks_mut(size));
        in_parallel(pieces, |(sums, quick)| {
            for (sum, quick) in sums.iter_mut().zip(quick) {
                *sum += quick.to_f64();
                *quick = T::ZERO;
            }
        });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.flush();
        let size = (self.columns + 1) * (self.columns + 1);
        let others = other.sums.chunks(size).zip(other.quick.chunks(size));
        in_parallel(self.sums.chunks_mut(size).zip(others), |(sums, (more, quick))| {
            for ((sum, more), quick) in sums.iter_mut().zip(more).zip(quick) {
                *sum += more + quick.to_f64();
            }
        });
        let pairs: [(&mut [f64], &[f64]); 3] = [
            (&mut self.total, &other.total),
            (&mut self.log_precision, &other.log_precision),
            (&mut self.by_observed, &other.by_observed),
        ];
        for (sums, more) in pairs {
            sums.iter_mut().zip(more).for_each(|(a, b)| *a += b);
        }
    }

    pub(crate) fn reset(&mut self) {
        if self.quick_rows > 0 {
            self.quick.fill(T::ZERO);
            self.quick_rows = 0;
        }
        self.sums.fill(0.0);
        self.total.fill(0.0);
        self.log_precision.fill(0.0);
        self.by_observed.fill(0.0);
    }
}
