//! Distances and densities of a block of rows: see the [module](super).

use mereo_core::math::{
    HALF_LOG_TWO_PI, Matrix, ln_gamma, product_self, product_upper, whitening, widest,
};
use mereo_core::{Batch, Block, Real, in_parallel};

use super::conditional::{Conditional, Pattern, patterns};

/// The largest squared distance: half of it is still a finite log density.
const FARTHEST: f64 = 1e295;

/// Components, lent out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shapes<'a> {
    /// `[N]`.
    pub(crate) weight: &'a [f64],
    /// `[N, D]`.
    pub(crate) mean: &'a [f64],
    /// `[N, D, D]`, or `[1, D, D]` if all have the same; lower triangles are enough.
    pub(crate) covariance: &'a [f64],
    /// `[N]`: degrees of freedom, of Student's t.
    pub(crate) degrees: Option<&'a [f64]>,
    /// The variance ε that cells are taken to be blurred with: `½ ε tr Σ⁻¹` is taken off log
    /// densities.
    pub(crate) blur: f64,
}

/// Components, ready to be asked for densities.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Whitened<T> {
    columns: usize,
    /// `[N, D]`.
    mean: Vec<T>,
    /// `[C, D, D]`: `Wᵀ`, with C = N, or 1 if all components have the same.
    turned: Vec<T>,
    /// `[C]`: `log |Σ|`.
    log_determinant: Vec<f64>,
    /// `[N]`.
    log_weight: Vec<f64>,
    /// `[C, D, D]` each, for rows with holes; empty if there are none.
    covariance: Vec<f64>,
    precision: Vec<f64>,
    degrees: Option<Degrees>,
}

#[derive(Debug, Clone, PartialEq)]
struct Degrees {
    /// `[N]`.
    degrees: Vec<f64>,
    /// `[N, D + 1]`: the density's constant, for each number of observed cells.
    constant: Vec<f64>,
}

/// Memory for one block of rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work<T> {
    /// `[R, D]`: the rows, `NaN` where a cell is missing.
    pub(crate) values: Vec<T>,
    /// `[N, R]`: evidence, then responsibilities.
    pub(crate) evidence: Vec<f64>,
    /// `[R]`: log densities.
    pub(crate) norms: Vec<f64>,
    /// `[N, R]`: for Student's t, squared distances.
    pub(super) distance: Vec<f64>,
    pub(super) patterns: Vec<Pattern>,
    /// `[R]`: the number of a row's pattern, if it has holes.
    pub(super) pattern_of: Vec<Option<usize>>,
    /// `[R]`: observed cells.
    pub(super) observed: Vec<usize>,
    pub(super) apart: Vec<T>,
    white: Vec<T>,
    /// `[R]`: `½ log |P_MM|`.
    lost: Vec<f64>,
    pub(super) room: Vec<f64>,
}

/// Writes some rows of a batch out in full, each cell by `place(column, cell)`, `NaN` where one is
/// missing.
pub(crate) fn take_rows<T: Real, U: Real>(
    batch: &Batch<'_, T>,
    rows: std::ops::Range<usize>,
    place: impl Fn(usize, T) -> U,
    out: &mut Vec<U>,
) {
    let columns = batch.columns;
    out.clear();
    out.resize(rows.len() * columns, U::MISSING);
    for (row, out) in rows.zip(out.chunks_exact_mut(columns.max(1))) {
        match batch.block {
            Block::Dense { values, .. } => {
                let cells = &values[row * columns..(row + 1) * columns];
                // A missing cell stays missing, whatever its place.
                for (d, (out, &cell)) in out.iter_mut().zip(cells).enumerate() {
                    *out = if cell.is_missing() { U::MISSING } else { place(d, cell) };
                }
            }
            Block::Sparse { .. } => batch.for_each_observed(row, |d, x| out[d] = place(d, x)),
        }
    }
}

impl<T: Real> Whitened<T> {
    /// With `holes`, rows may miss cells. A component whose covariance is not positive definite
    /// explains nothing.
    pub(crate) fn new(shapes: &Shapes<'_>, columns: usize, holes: bool) -> Self {
        let (d, size) = (columns, columns * columns);
        let count = shapes.covariance.len() / size;
        let mut turned = vec![T::ZERO; count * size];
        let mut log_determinant = vec![f64::INFINITY; count];
        let mut blurred = vec![0.0; count];
        let mut precision = vec![0.0; if holes { count * size } else { 0 }];
        let precisions =
            precision.chunks_mut(size).map(Some).chain(std::iter::repeat_with(|| None));
        let pieces = shapes
            .covariance
            .chunks(size)
            .zip(turned.chunks_mut(size))
            .zip(log_determinant.iter_mut().zip(&mut blurred))
            .zip(precisions);
        in_parallel(pieces, |(((covariance, turned), (log_determinant, blurred)), precision)| {
            let Some(white) = whitening(covariance, d) else { return };
            *log_determinant = white.log_determinant;
            *blurred = 0.5 * shapes.blur * white.matrix.iter().map(|w| w * w).sum::<f64>();
            for (i, row) in white.matrix.chunks(d).enumerate() {
                row.iter().enumerate().for_each(|(j, w)| turned[j * d + i] = T::of(*w));
            }
            if let Some(precision) = precision {
                product_self(precision, Matrix::new(&white.matrix, d, d), false);
            }
        });
        // A weight of 0 has no logarithm; this is as good as 0.
        let cost = |component: usize| blurred[if count == 1 { 0 } else { component }];
        let log_weight =
            shapes.weight.iter().enumerate().map(|(n, w)| w.max(1e-300).ln() - cost(n)).collect();
        Self {
            columns,
            mean: shapes.mean.iter().map(|&m| T::of(m)).collect(),
            turned,
            log_determinant,
            log_weight,
            covariance: if holes { shapes.covariance.to_vec() } else { Vec::new() },
            precision,
            degrees: shapes.degrees.map(|degrees| Degrees::new(degrees, columns)),
        }
    }

    pub(crate) fn components(&self) -> usize {
        self.log_weight.len()
    }

    pub(crate) fn mean(&self, component: usize) -> &[T] {
        &self.mean[component * self.columns..(component + 1) * self.columns]
    }

    fn covariance_of(&self, component: usize) -> usize {
        if self.log_determinant.len() == 1 { 0 } else { component }
    }

    /// `[D, D]`: `Wᵀ` of a component.
    pub(super) fn turned(&self, component: usize) -> &[T] {
        let size = self.columns * self.columns;
        &self.turned[self.covariance_of(component) * size..][..size]
    }

    pub(super) fn conditional<'a>(
        &'a self,
        component: usize,
        pattern: &'a Pattern,
    ) -> Option<Conditional<'a>> {
        let (size, c) = (self.columns * self.columns, self.covariance_of(component));
        Conditional::new(
            pattern,
            &self.covariance[c * size..(c + 1) * size],
            &self.precision[c * size..(c + 1) * size],
            self.log_determinant[c],
            self.columns,
        )
    }

    /// The expected precision of a row at this squared distance: 1 for a Gaussian.
    pub(super) fn row_precision(&self, component: usize, observed: usize, distance: f64) -> f64 {
        self.degrees.as_ref().map_or(1.0, |d| {
            (d.degrees[component] + observed as f64) / (d.degrees[component] + distance)
        })
    }

    pub(super) fn has_tails(&self) -> bool {
        self.degrees.is_some()
    }

    /// Gets ready for the rows in `work.values`.
    pub(crate) fn begin(&self, work: &mut Work<T>) {
        let (d, rows) = (self.columns, work.values.len() / self.columns);
        if self.covariance.is_empty() {
            work.patterns.clear();
        } else {
            patterns(&work.values, d, &mut work.patterns);
        }
        work.observed.clear();
        work.observed.resize(rows, d);
        work.pattern_of.clear();
        work.pattern_of.resize(rows, None);
        for (number, pattern) in work.patterns.iter().enumerate() {
            for &row in &pattern.rows {
                work.observed[row] = pattern.observed.len();
                work.pattern_of[row] = Some(number);
            }
        }
        work.apart.resize(rows * d, T::ZERO);
        work.white.resize(rows * d, T::ZERO);
        work.norms.resize(rows, 0.0);
        work.evidence.resize(rows * self.components(), 0.0);
        if self.has_tails() {
            work.distance.resize(rows * self.components(), 0.0);
        }
    }

    /// The log joint density of every component and row, `[N, R]`, into `work.evidence`.
    pub(crate) fn evidence(&self, work: &mut Work<T>) {
        self.begin(work);
        let rows = work.norms.len();
        for component in 0..self.components() {
            self.differences(component, work);
            let Work { evidence, distance, apart, white, lost, observed, .. } = &mut *work;
            let evidence = &mut evidence[component * rows..(component + 1) * rows];
            self.logs(component, apart, white, observed, lost, evidence);
            if self.has_tails() {
                let distance = &mut distance[component * rows..(component + 1) * rows];
                squares(white, self.columns, distance);
            }
        }
    }

    /// The rows less the component's mean, filled, into `work.apart`; and `½ log |P_MM|` into
    /// `work.lost`.
    fn differences(&self, component: usize, work: &mut Work<T>) {
        let (d, mean) = (self.columns, self.mean(component));
        let Work { values, apart, lost, patterns, room, norms, .. } = work;
        widest(
            #[inline(always)]
            || {
                for (y, x) in apart.chunks_exact_mut(d).zip(values.chunks_exact(d)) {
                    for ((y, &x), &m) in y.iter_mut().zip(x).zip(mean) {
                        *y = x - m;
                    }
                }
            },
        );
        lost.clear();
        lost.resize(norms.len(), 0.0);
        for pattern in &*patterns {
            let conditional = self.conditional(component, pattern);
            for &row in &pattern.rows {
                let y = &mut apart[row * d..(row + 1) * d];
                if let Some(conditional) = &conditional {
                    conditional.fill(y, room);
                    lost[row] = 0.5 * conditional.log_determinant;
                } else {
                    pattern.missing.iter().for_each(|&m| y[m] = T::ZERO);
                    lost[row] = FARTHEST;
                }
            }
        }
    }

    /// The log joint density of one component and some of the rows, after [`begin`](Self::begin).
    pub(crate) fn logs_of(
        &self,
        component: usize,
        rows: &[usize],
        work: &mut Work<T>,
        out: &mut [f64],
    ) {
        let (d, mean) = (self.columns, self.mean(component));
        let Work { values, apart, white, lost, patterns, pattern_of, observed, room, .. } = work;
        lost.clear();
        let mut last: Option<(usize, Option<Conditional<'_>>)> = None;
        for (&row, y) in rows.iter().zip(apart.chunks_exact_mut(d)) {
            for ((y, &x), &m) in y.iter_mut().zip(&values[row * d..]).zip(mean) {
                *y = x - m;
            }
            let mut cost = 0.0;
            if let Some(number) = pattern_of[row] {
                let pattern = &patterns[number];
                if last.as_ref().is_none_or(|(known, _)| *known != number) {
                    last = Some((number, self.conditional(component, pattern)));
                }
                if let Some((_, Some(conditional))) = &last {
                    conditional.fill(y, room);
                    cost = 0.5 * conditional.log_determinant;
                } else {
                    pattern.missing.iter().for_each(|&m| y[m] = T::ZERO);
                    cost = FARTHEST;
                }
            }
            lost.push(cost);
        }
        let seen: Vec<usize> = rows.iter().map(|&row| observed[row]).collect();
        self.logs(component, &apart[..rows.len() * d], white, &seen, lost, out);
    }

    /// Log joint densities of some rows, given their filled differences `apart` and what their
    /// holes cost. `white` is where the product goes.
    fn logs(
        &self,
        component: usize,
        apart: &[T],
        white: &mut [T],
        observed: &[usize],
        lost: &[f64],
        out: &mut [f64],
    ) {
        let (d, rows) = (self.columns, out.len());
        let turned = Matrix::new(self.turned(component), d, d);
        product_upper(white, Matrix::new(apart, rows, d), turned);
        squares(white, d, out);
        let c = self.covariance_of(component);
        let base = self.log_weight[component] - 0.5 * self.log_determinant[c].min(FARTHEST);
        for ((log, &observed), lost) in out.iter_mut().zip(observed).zip(lost) {
            let density = match &self.degrees {
                None => -0.5 * *log - HALF_LOG_TWO_PI * observed as f64,
                Some(degrees) => degrees.log_density(component, observed, d, *log),
            };
            *log = base + density - lost;
        }
    }

    /// Solves `W y = z` for a draw `z` of the standard normal: y has the component's covariance.
    pub(crate) fn colour(&self, component: usize, z: &mut [f64]) {
        let (d, turned) = (self.columns, self.turned(component));
        for i in 0..d {
            let known: f64 = (0..i).map(|j| turned[j * d + i].wide() * z[j]).sum();
            z[i] = (z[i] - known) / turned[i * d + i].wide();
        }
    }
}

impl Degrees {
    fn new(degrees: &[f64], columns: usize) -> Self {
        let constant = degrees.iter().flat_map(|&v| {
            (0..=columns).map(move |o| {
                let o = o as f64;
                ln_gamma(f64::midpoint(v, o))
                    - ln_gamma(0.5 * v)
                    - 0.5 * o * (v * std::f64::consts::PI).ln()
            })
        });
        Self { degrees: degrees.to_vec(), constant: constant.collect() }
    }

    fn log_density(&self, component: usize, observed: usize, columns: usize, square: f64) -> f64 {
        let v = self.degrees[component];
        let constant = self.constant[component * (columns + 1) + observed];
        constant - f64::midpoint(v, observed as f64) * (square / v).ln_1p()
    }
}

/// The squared length of each row, finite whatever it is.
fn squares<T: Real>(rows: &[T], columns: usize, out: &mut [f64]) {
    widest(
        #[inline(always)]
        || {
            for (out, row) in out.iter_mut().zip(rows.chunks_exact(columns)) {
                let (chunks, rest) = row.as_chunks::<16>();
                let mut sums = [T::ZERO; 16];
                for chunk in chunks {
                    for k in 0..16 {
                        sums[k] += chunk[k] * chunk[k];
                    }
                }
                let rest: T = rest.iter().map(|&v| v * v).sum();
                let sum = (sums.into_iter().sum::<T>() + rest).wide();
                *out = if sum < FARTHEST { sum } else { FARTHEST };
            }
        },
    );
}
