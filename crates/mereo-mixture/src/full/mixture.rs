//! A learned mixture: what it thinks of rows, in `f64` whatever the data's type.

use mereo_core::slots::responsibilities;
use mereo_core::{Batch, Random, Real, draw};
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use super::{Shapes, Whitened, Work, take_rows};

/// Rows that are thought about at a time.
const ROWS: usize = 256;
/// A component that is less responsible than this has no say in what is expected.
const NO_SAY: f64 = 1e-12;

/// Components with covariances, ready to be asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mixture {
    columns: usize,
    weight: Vec<f64>,
    degrees: Option<Vec<f64>>,
    whitened: Whitened<f64>,
}

impl Mixture {
    pub(crate) fn new(shapes: &Shapes<'_>, columns: usize) -> Self {
        Self {
            columns,
            weight: shapes.weight.to_vec(),
            degrees: shapes.degrees.map(<[f64]>::to_vec),
            whitened: Whitened::new(shapes, columns, true),
        }
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn components(&self) -> usize {
        self.weight.len()
    }

    pub(crate) fn weight(&self) -> &[f64] {
        &self.weight
    }

    /// Calls `visit(first row, work)` for block after block of a batch, with log densities in
    /// `work.log_norms` and responsibilities `[N, R]` in `work.evidence`.
    fn for_each_block<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(usize, &mut Work<f64>),
    ) {
        let mut work = Work::default();
        for first in (0..batch.rows).step_by(ROWS) {
            let rows = first..(first + ROWS).min(batch.rows);
            take_rows(batch, rows.clone(), |_, x| x.to_f64(), &mut work.values);
            self.whitened.evidence(&mut work);
            let (evidence, log_norms) = (&mut work.evidence, &mut work.log_norms);
            responsibilities(evidence, log_norms, self.components(), rows.len(), None);
            visit(first, &mut work);
        }
    }

    pub(crate) fn score_batch<T: Real>(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        self.for_each_block(batch, |first, work| {
            out[first..first + work.log_norms.len()].copy_from_slice(&work.log_norms);
        });
    }

    pub(crate) fn encode_batch<T: Real>(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let n = self.components();
        self.for_each_block(batch, |first, work| {
            let rows = work.log_norms.len();
            for row in 0..rows {
                let code = &mut codes[(first + row) * n..(first + row + 1) * n];
                for (component, m) in code.iter_mut().enumerate() {
                    *m = T::from_f64(work.evidence[component * rows + row]);
                }
            }
        });
    }

    /// `Σ_j r_j μ_j` in observed cells, in missing ones `Σ_j r_j E[x | observed, j]`; taken about the
    /// mean of the likeliest component, so that offsets of the data cost no precision.
    pub(crate) fn reconstruct_batch<T: Real>(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let d = self.columns;
        let (mut apart, mut filled) = (vec![0.0; d], vec![0.0; d]);
        let mut room = Vec::new();
        self.for_each_block(batch, |first, work| {
            let rows = work.log_norms.len();
            let at = |row: usize, n: usize| work.evidence[n * rows + row];
            for row in 0..rows {
                let likeliest = (0..self.components())
                    .fold(0, |best, n| if at(row, n) > at(row, best) { n } else { best });
                let centre = self.whitened.mean(likeliest);
                apart.fill(0.0);
                for n in (0..self.components()).filter(|&n| at(row, n) > NO_SAY) {
                    let mean = self.whitened.mean(n);
                    filled.fill(0.0);
                    let pattern = work.pattern_of[row].map(|p| &work.patterns[p]);
                    let conditional = pattern.and_then(|p| self.whitened.conditional(n, p));
                    if let (Some(pattern), Some(conditional)) = (pattern, conditional) {
                        let cells = &work.values[row * d..(row + 1) * d];
                        for ((y, x), m) in filled.iter_mut().zip(cells).zip(mean) {
                            *y = x - m;
                        }
                        conditional.fill(&mut filled, &mut room);
                        pattern.observed.iter().for_each(|&o| filled[o] = 0.0);
                    }
                    for (((a, y), m), c) in apart.iter_mut().zip(&filled).zip(mean).zip(centre) {
                        *a += at(row, n) * (y + (m - c));
                    }
                }
                let out = &mut out[(first + row) * d..(first + row + 1) * d];
                for ((x, c), a) in out.iter_mut().zip(centre).zip(&apart) {
                    let cell = c + a;
                    *x = T::from_f64(if cell.is_finite() { cell } else { *c });
                }
            }
        });
    }

    pub(crate) fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let component = draw(&self.weight, random).unwrap_or(0);
        let mean = self.whitened.mean(component);
        row.fill(0.0);
        if noise {
            row.iter_mut().for_each(|z| *z = StandardNormal.sample(random));
            self.whitened.colour(component, row);
            // The precision of a row of Student's t is a chi-square over its degrees of freedom.
            let degrees = self.degrees.as_ref().map(|degrees| degrees[component]);
            if let Some((v, Ok(chi))) = degrees.map(|v| (v, ChiSquared::new(v))) {
                let precision: f64 = chi.sample(random).max(f64::MIN_POSITIVE) / v;
                row.iter_mut().for_each(|y| *y /= precision.sqrt());
            }
        }
        row.iter_mut().zip(mean).for_each(|(y, m)| *y += m);
    }
}
