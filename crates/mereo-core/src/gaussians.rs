//! Single cells under Gaussians whose columns go together.
//!
//! Component j is Gaussian with mean μ and covariance Σ. Of a row that observes the columns O, with `y = x - μ` and
//! `P = Σ_OO⁻¹`:
//!
//! - its density is `log N = -½ (|O| log 2π + log |Σ_OO| + y_Oᵀ P y_O)`;
//! - a missing cell m is Gaussian with mean `μ_m + Σ_mO P y_O` and variance `Σ_mm - Σ_mO P Σ_Om`, missing cells together
//!   likewise;
//! - an observed cell d is, given the others, Gaussian with variance `1/P_dd` and mean `x_d - (P y)_d / P_dd`, and the density of
//!   the others is that of the row less its own.
//!
//! The mixture weighs components by the density of what is given. Columns are measured in deviations of the component; rows of a
//! batch that miss the same cells share all that does not depend on their values.

use std::collections::HashMap;
use std::rc::Rc;

use rand_distr::{Distribution, StandardNormal};

use crate::math::{HALF_LOG_TWO_PI, cholesky, cholesky_inverse, cholesky_solve, packed, softmax};
use crate::{Asked, Batch, Random, Real, draw};

/// A mixture of Gaussians, asked for single cells; with one component, any linear Gaussian model.
///
/// ```
/// use mereo_core::{Asked, Dense, Gaussians, Source, Table};
/// let model = Gaussians::new(2, &[1.0], &[0.0, 1.0], &[1.0, 0.5, 0.5, 1.0]);
/// let table = Table::from(Dense::new(1, 2, vec![2.0, f64::NAN])?);
/// let mut lane = table.lane(0..1)?;
/// let mut out = [0.0; 4];
/// if let Some(batch) = lane.next_batch()? {
///     model.predict(&batch, Asked::Missing, &mut out);
/// }
/// assert!((out[2] - 2.0).abs() < 1e-12 && (out[3] - 0.75f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Gaussians<'a> {
    columns: usize,
    log_weight: Vec<f64>,
    mean: &'a [f64],
    covariance: &'a [f64],
    /// Deviations, `[N, D]`.
    deviation: Vec<f64>,
}

/// What components say of rows that observe the same columns.
struct Pattern {
    observed: Vec<usize>,
    missing: Vec<usize>,
    components: Vec<Given>,
}

/// One component given some columns, in units of deviations.
struct Given {
    /// The Cholesky factor of `Σ_OO`, packed, and P.
    factor: Vec<f64>,
    inverse: Vec<f64>,
    /// `|O| ½ log 2π + ½ log |Σ_OO|` in the data's units.
    cost: f64,
    /// `Σ_mO P`, `[M, O]`.
    gain: Vec<f64>,
    /// The covariance of what is missing, packed.
    left: Vec<f64>,
}

/// A row under one component.
struct Seen {
    log: f64,
    /// `y_O`, and `P y_O`.
    apart: Vec<f64>,
    solved: Vec<f64>,
}

impl<'a> Gaussians<'a> {
    /// With weights `[N]`, means `[N, D]` and covariances `[N, D, D]`, or `[1, D, D]` if all have the same.
    pub fn new(columns: usize, weight: &[f64], mean: &'a [f64], covariance: &'a [f64]) -> Self {
        let mut own = Self {
            columns,
            log_weight: weight.iter().map(|w| w.max(1e-300).ln()).collect(),
            mean,
            covariance,
            deviation: Vec::new(),
        };
        own.deviation = (0..weight.len() * columns)
            .map(|i| own.covariance_of(i / columns)[i % columns * (columns + 1)].sqrt())
            .collect();
        own
    }

    fn covariance_of(&self, component: usize) -> &'a [f64] {
        let size = self.columns * self.columns;
        let at = if self.covariance.len() == size { 0 } else { component * size };
        &self.covariance[at..at + size]
    }

    fn given(&self, component: usize, observed: &[usize], missing: &[usize]) -> Given {
        let covariance = self.covariance_of(component);
        let deviation = &self.deviation[component * self.columns..][..self.columns];
        let of =
            |a: usize, b: usize| covariance[a * self.columns + b] / (deviation[a] * deviation[b]);
        let lower = |of_columns: &[usize]| -> Vec<f64> {
            let pairs = of_columns.iter().enumerate();
            pairs.flat_map(|(i, &a)| of_columns[..=i].iter().map(move |&b| of(a, b))).collect()
        };
        let n = observed.len();
        // Columns that repeat each other leave nothing to divide by but rounding: a trace of noise of their own.
        let plain = lower(observed);
        let (mut factor, mut noise) = (plain.clone(), 0.0);
        let log_determinant = loop {
            if let Some(log) = cholesky(&mut factor, n) {
                break log;
            }
            noise = if noise == 0.0 { 1e-12 } else { noise * 10.0 };
            factor.clone_from(&plain);
            (0..n).for_each(|i| factor[packed(i + 1) - 1] += noise);
        };
        let mut inverse = vec![0.0; packed(n)];
        cholesky_inverse(&factor, n, &mut inverse, &mut vec![0.0; n]);
        let scales: f64 = observed.iter().map(|&d| deviation[d].ln()).sum();
        let mut gain = Vec::with_capacity(missing.len() * n);
        let mut left = lower(missing);
        let mut row = vec![0.0; n];
        for (i, &m) in missing.iter().enumerate() {
            row.iter_mut().zip(observed).for_each(|(row, &o)| *row = of(m, o));
            cholesky_solve(&factor, n, &mut row);
            for (j, &other) in missing[..=i].iter().enumerate() {
                let told: f64 = row.iter().zip(observed).map(|(g, &o)| g * of(other, o)).sum();
                left[packed(i) + j] -= told;
            }
            left[packed(i + 1) - 1] = left[packed(i + 1) - 1].max(1e-12);
            gain.extend_from_slice(&row);
        }
        let cost = n as f64 * HALF_LOG_TWO_PI + 0.5 * log_determinant + scales;
        Given { factor, inverse, cost, gain, left }
    }

    /// Visits the rows of a batch with what components make of them.
    fn for_each_row<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(usize, &[f64], &Pattern, &[Seen]),
    ) {
        let mut patterns: HashMap<Vec<bool>, Rc<Pattern>> = HashMap::new();
        let mut values = vec![f64::NAN; self.columns];
        for row in 0..batch.rows {
            values.fill(f64::NAN);
            batch.for_each_observed(row, |d, x| values[d] = x.to_f64());
            let there: Vec<bool> = values.iter().map(|x| !x.is_nan()).collect();
            let pattern = patterns.entry(there).or_insert_with_key(|there| {
                let (observed, missing) = (0..self.columns).partition::<Vec<_>, _>(|&d| there[d]);
                let components = (0..self.log_weight.len())
                    .map(|component| self.given(component, &observed, &missing))
                    .collect();
                Rc::new(Pattern { observed, missing, components })
            });
            let seen: Vec<Seen> = pattern
                .components
                .iter()
                .enumerate()
                .map(|(j, given)| self.see(j, given, &values, pattern))
                .collect();
            visit(row, &values, pattern, &seen);
        }
    }

    fn see(&self, j: usize, given: &Given, values: &[f64], pattern: &Pattern) -> Seen {
        let at = j * self.columns;
        let apart: Vec<f64> = pattern
            .observed
            .iter()
            .map(|&d| (values[d] - self.mean[at + d]) / self.deviation[at + d])
            .collect();
        let mut solved = apart.clone();
        cholesky_solve(&given.factor, solved.len(), &mut solved);
        let distance: f64 = apart.iter().zip(&solved).map(|(y, s)| y * s).sum();
        let log = self.log_weight[j] - given.cost - 0.5 * distance.min(1e290);
        Seen { log, apart, solved }
    }

    /// Components' probabilities given the other cells, and the cell's mean and variance under each: of missing cell
    /// number i, or of observed cell number i.
    fn cell(&self, pattern: &Pattern, seen: &[Seen], i: usize, missing: bool) -> Vec<[f64; 3]> {
        let each = pattern.components.iter().zip(seen).enumerate();
        let mut cells: Vec<[f64; 3]> = each
            .map(|(j, (given, seen))| {
                let n = pattern.observed.len();
                let column = if missing { pattern.missing[i] } else { pattern.observed[i] };
                let at = j * self.columns + column;
                let unit = self.deviation[at];
                let (log, inner, variance) = if missing {
                    let gain = &given.gain[i * n..(i + 1) * n];
                    let expected: f64 = gain.iter().zip(&seen.apart).map(|(g, y)| g * y).sum();
                    (seen.log, expected, given.left[packed(i + 1) - 1])
                } else {
                    let variance = 1.0 / given.inverse[packed(i + 1) - 1];
                    let off = seen.solved[i] * variance;
                    let own = -0.5 * (off * off / variance).min(1e290)
                        - HALF_LOG_TWO_PI
                        - 0.5 * variance.ln()
                        - unit.ln();
                    (seen.log - own, seen.apart[i] - off, variance)
                };
                [log, self.mean[at] + unit * inner, unit * unit * variance]
            })
            .collect();
        let mut logs: Vec<f64> = cells.iter().map(|cell| cell[0]).collect();
        softmax(&mut logs);
        cells.iter_mut().zip(logs).for_each(|(cell, q)| cell[0] = q);
        cells
    }

    /// As [`Predict::predict_batch`](crate::Predict::predict_batch).
    pub fn predict<T: Real>(&self, batch: &Batch<'_, T>, asked: Asked, out: &mut [f64]) {
        out.fill(f64::NAN);
        self.for_each_row(batch, |row, _, pattern, seen| {
            let out = &mut out[row * 2 * self.columns..(row + 1) * 2 * self.columns];
            let mut tell = |column: usize, cells: &[[f64; 3]]| {
                let mean: f64 = cells.iter().map(|[q, mean, _]| q * mean).sum();
                let square = |[q, m, v]: &[f64; 3]| q * (v + (m - mean) * (m - mean));
                let variance: f64 = cells.iter().map(square).sum();
                out[2 * column..2 * column + 2].copy_from_slice(&[mean, variance.sqrt()]);
            };
            for (i, &column) in pattern.missing.iter().enumerate() {
                tell(column, &self.cell(pattern, seen, i, true));
            }
            if asked == Asked::Every {
                for (i, &column) in pattern.observed.iter().enumerate() {
                    tell(column, &self.cell(pattern, seen, i, false));
                }
            }
        });
    }

    /// As [`Predict::surprise_batch`](crate::Predict::surprise_batch).
    pub fn surprise<T: Real>(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        out.fill(f64::NAN);
        self.for_each_row(batch, |row, values, pattern, seen| {
            for (i, &column) in pattern.observed.iter().enumerate() {
                let x = values[column];
                let log = |[q, mean, variance]: &[f64; 3]| {
                    let square = (x - mean) * (x - mean) / variance;
                    q.max(1e-300).ln() - 0.5 * (square.min(1e290) + variance.ln()) - HALF_LOG_TWO_PI
                };
                let mut logs: Vec<f64> =
                    self.cell(pattern, seen, i, false).iter().map(log).collect();
                out[row * self.columns + column] = -softmax(&mut logs);
            }
        });
    }

    /// As [`Predict::draw_batch`](crate::Predict::draw_batch).
    pub fn draw<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        random: &dyn Fn(usize) -> Random,
        out: &mut [T],
    ) {
        self.for_each_row(batch, |row, values, pattern, seen| {
            let mut random = random(row);
            let mut shares: Vec<f64> = seen.iter().map(|seen| seen.log).collect();
            softmax(&mut shares);
            let j = draw(&shares, &mut random).unwrap_or(0);
            let out = &mut out[row * self.columns..(row + 1) * self.columns];
            out.iter_mut().zip(values).for_each(|(out, &x)| *out = T::from_f64(x));
            let (given, m, n) =
                (&pattern.components[j], pattern.missing.len(), pattern.observed.len());
            let (mut factor, mut noise) = (given.left.clone(), 0.0);
            while cholesky(&mut factor, m).is_none() {
                noise = if noise == 0.0 { 1e-12 } else { noise * 10.0 };
                factor.clone_from(&given.left);
                (0..m).for_each(|i| factor[packed(i + 1) - 1] += noise);
            }
            let normal: Vec<f64> = (0..m).map(|_| StandardNormal.sample(&mut random)).collect();
            for (i, &column) in pattern.missing.iter().enumerate() {
                let gain = &given.gain[i * n..(i + 1) * n];
                let expected: f64 = gain.iter().zip(&seen[j].apart).map(|(g, y)| g * y).sum();
                let own = &factor[packed(i)..packed(i + 1)];
                let noise: f64 = own.iter().zip(&normal).map(|(l, z)| l * z).sum();
                let at = j * self.columns + column;
                let x = self.mean[at] + self.deviation[at] * (expected + noise);
                out[column] = T::from_f64(x.clamp(-T::LARGEST, T::LARGEST));
            }
        });
    }
}
