//! Distances and densities of a block of rows: see the [module](super).

use mereo_core::math::{
    HALF_LOG_TWO_PI, Matrix, ln_gamma, product_self, product_upper, whitening, widest,
};
use mereo_core::{Batch, Block, Real, in_parallel};

use super::conditional::{Conditional, Pattern, patterns};

/// The largest squared distance: half of it is still a finite log density.
const FARTHEST: f64 = 1e295;
/// What vector loops take at a time, and from how many columns a remainder no longer matters.
const LANES: usize = 16;
const WIDE: usize = 96;

/// What sums of products in a number type may be off by, relative to the largest, times a hundred: no
/// variance that is a smaller share of another is learned from them. Nothing is better than `f64`.
const fn most_lost<T>() -> f64 {
    if size_of::<T>() < 8 { 3e-5 } else { 0.0 }
}

/// Components, lent out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shapes<'a> {
    /// `[N]`.
    pub(crate) weight: &'a [f64],
    /// `[N, D]`.
    pub(crate) mean: &'a [f64],
    /// `[C, D, D]`: one for each N/C components that follow each other, hence one for each, or one for
    /// all; lower triangles are enough.
    pub(crate) covariance: &'a [f64],
    /// `[N]`: by what a component's covariance is larger than the one it shares; nothing if by 1.
    pub(crate) scale: Option<&'a [f64]>,
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
    /// `[C, D, width]`: `Wᵀ` of each shared covariance, zeros in columns beyond D.
    turned: Vec<T>,
    width: usize,
    /// `[C]`: `log |Σ|`.
    log_determinant: Vec<f64>,
    /// `[N]`.
    log_weight: Vec<f64>,
    /// `[N]`: by what covariances are larger than the shared ones.
    scale: Vec<f64>,
    /// `[C, D]` and `[N, width]`, if covariances are shared: the middle of the means of those that share
    /// one, and what W makes of the way from there to each mean.
    centre: Vec<T>,
    offset: Vec<T>,
    /// `[C, D, D]` each, for rows with holes; empty if there are none.
    covariance: Vec<f64>,
    precision: Vec<f64>,
    /// `[C]`: whether rows must be added up in double precision.
    delicate: Vec<bool>,
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
    pub(crate) log_norms: Vec<f64>,
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

/// The columns of a whitened row: as many as vector loops like, where that costs little.
fn padded(columns: usize) -> usize {
    if columns < WIDE { columns.next_multiple_of(LANES) } else { columns }
}

impl<T: Real> Whitened<T> {
    /// With `holes`, rows may miss cells. A component whose covariance is not positive definite
    /// explains nothing.
    pub(crate) fn new(shapes: &Shapes<'_>, columns: usize, holes: bool) -> Self {
        let (d, size, width) = (columns, columns * columns, padded(columns));
        let count = shapes.covariance.len() / size;
        let sharing = shapes.weight.len() / count;
        let mut turned = vec![T::ZERO; count * d * width];
        let mut log_determinant = vec![f64::INFINITY; count];
        let (mut blurred, mut delicate) = (vec![0.0; count], vec![false; count]);
        let mut precision = vec![0.0; if holes { count * size } else { 0 }];
        let shared = sharing > 1;
        let mut centre = vec![T::ZERO; if shared { count * d } else { 0 }];
        let mut offset = vec![T::ZERO; if shared { shapes.weight.len() * width } else { 0 }];
        let precisions =
            precision.chunks_mut(size).map(Some).chain(std::iter::repeat_with(|| None));
        let middles = centre.chunks_mut(d).zip(offset.chunks_mut(sharing * width));
        let middles = middles.map(Some).chain(std::iter::repeat_with(|| None));
        let pieces = shapes
            .covariance
            .chunks(size)
            .zip(shapes.mean.chunks(sharing * d))
            .zip(turned.chunks_mut(d * width))
            .zip(log_determinant.iter_mut().zip(blurred.iter_mut().zip(&mut delicate)))
            .zip(precisions.zip(middles));
        in_parallel(
            pieces,
            |((((covariance, means), turned), (log, (blurred, delicate))), (precise, middle))| {
                let Some(white) = whitening(covariance, d) else { return };
                *log = white.log_determinant;
                let inverses = white.matrix.iter().map(|w| w * w).sum::<f64>();
                *blurred = 0.5 * shapes.blur * inverses;
                let widest = (0..d).map(|i| covariance[i * d + i]).fold(0.0, f64::max);
                *delicate = widest * inverses > 1.0 / most_lost::<T>();
                for (i, row) in white.matrix.chunks(d).enumerate() {
                    row.iter()
                        .enumerate()
                        .for_each(|(j, w)| turned[j * width + i] = T::from_f64(*w));
                }
                if let Some(precision) = precise {
                    product_self(precision, Matrix::new(&white.matrix, d, d), false);
                }
                if let Some((centre, offset)) = middle {
                    about(means, &white.matrix, centre, offset);
                }
            },
        );
        let scale = shapes.scale.map_or_else(|| vec![1.0; shapes.weight.len()], <[f64]>::to_vec);
        // A weight of 0 has no logarithm; this is as good as 0.
        let log_weight = shapes.weight.iter().zip(&scale).enumerate();
        let log_weight =
            log_weight.map(|(n, (w, scale))| w.max(1e-300).ln() - blurred[n / sharing] / scale);
        Self {
            columns,
            mean: shapes.mean.iter().map(|&m| T::from_f64(m)).collect(),
            turned,
            width,
            log_determinant,
            log_weight: log_weight.collect(),
            scale,
            centre,
            offset,
            covariance: if holes { shapes.covariance.to_vec() } else { Vec::new() },
            precision,
            delicate,
            degrees: shapes.degrees.map(|degrees| Degrees::new(degrees, columns)),
        }
    }

    pub(crate) fn components(&self) -> usize {
        self.log_weight.len()
    }

    pub(crate) fn mean(&self, component: usize) -> &[T] {
        &self.mean[component * self.columns..(component + 1) * self.columns]
    }

    /// How many components share a covariance.
    fn sharing(&self) -> usize {
        self.components() / self.log_determinant.len()
    }

    /// `[D, width]`: `Wᵀ` of a shared covariance.
    fn turned(&self, shared: usize) -> Matrix<'_, T> {
        let size = self.columns * self.width;
        Matrix::new(&self.turned[shared * size..(shared + 1) * size], self.columns, self.width)
    }

    pub(super) fn conditional<'a>(
        &'a self,
        component: usize,
        pattern: &'a Pattern,
    ) -> Option<Conditional<'a>> {
        let (size, c) = (self.columns * self.columns, component / self.sharing());
        Conditional::new(
            pattern,
            &self.covariance[c * size..(c + 1) * size],
            &self.precision[c * size..(c + 1) * size],
            self.log_determinant[c],
            self.scale[component],
            self.columns,
        )
    }

    /// The expected precision of a row at this squared distance: 1 for a Gaussian.
    pub(super) fn row_precision(&self, component: usize, observed: usize, distance: f64) -> f64 {
        self.degrees.as_ref().map_or(1.0, |d| {
            (d.degrees[component] + observed as f64) / (d.degrees[component] + distance)
        })
    }

    /// Whether the component is so much narrower in one direction than in another that moments of its
    /// rows must be added up in double precision. The sums of products in the data's own type are off by some
    /// `ε λ`, λ the variance in the widest direction; a variance of the narrowest one that is off by a share s
    /// costs `s²/4` nats a row, and a pass would lose what the one before had gained.
    pub(super) fn is_delicate(&self, component: usize) -> bool {
        self.delicate[component / self.sharing()]
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
        work.white.resize(rows * self.width, T::ZERO);
        work.log_norms.resize(rows, 0.0);
        work.evidence.resize(rows * self.components(), 0.0);
        if self.has_tails() {
            work.distance.resize(rows * self.components(), 0.0);
        }
    }

    /// The log joint density of every component and row, `[N, R]`, into `work.evidence`.
    pub(crate) fn evidence(&self, work: &mut Work<T>) {
        self.begin(work);
        let (rows, sharing) = (work.log_norms.len(), self.sharing());
        // What missing cells are filled with depends on the mean: such rows share nothing.
        let shared = !self.centre.is_empty() && work.patterns.is_empty();
        for component in 0..self.components() {
            if !shared {
                self.differences(component, work);
                self.whiten(component / sharing, &work.apart, &mut work.white);
            } else if component % sharing == 0 {
                let d = self.columns;
                let centre = &self.centre[component / sharing * d..][..d];
                subtract(&work.values, centre, &mut work.apart);
                self.whiten(component / sharing, &work.apart, &mut work.white);
                work.lost.clear();
                work.lost.resize(rows, 0.0);
            }
            let offset = &self.offset[..if shared { self.offset.len() } else { 0 }];
            let offset = offset.get(component * self.width..(component + 1) * self.width);
            let Work { evidence, distance, white, lost, observed, .. } = &mut *work;
            let evidence = &mut evidence[component * rows..(component + 1) * rows];
            self.distances(component, white, offset, evidence);
            if self.has_tails() {
                distance[component * rows..(component + 1) * rows].copy_from_slice(evidence);
            }
            self.logs(component, observed, lost, evidence);
        }
    }

    /// The rows less the component's mean, filled, into `work.apart`; and `½ log |P_MM|` into
    /// `work.lost`.
    fn differences(&self, component: usize, work: &mut Work<T>) {
        let (d, mean) = (self.columns, self.mean(component));
        let Work { values, apart, lost, patterns, room, log_norms, .. } = work;
        subtract(values, mean, apart);
        lost.clear();
        lost.resize(log_norms.len(), 0.0);
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
        self.whiten(component / self.sharing(), &apart[..rows.len() * d], white);
        self.distances(component, white, None, out);
        self.logs(component, &seen, lost, out);
    }

    /// `Y Wᵀ` of filled differences.
    fn whiten(&self, shared: usize, apart: &[T], white: &mut [T]) {
        product_upper(
            white,
            Matrix::new(apart, apart.len() / self.columns, self.columns),
            self.turned(shared),
        );
    }

    /// Squared distances of whitened rows from a component whose mean is at `offset` among them.
    fn distances(&self, component: usize, white: &[T], offset: Option<&[T]>, out: &mut [f64]) {
        match offset {
            None => squares(white, self.width, out),
            Some(offset) => squares_from(white, offset, out),
        }
        let by = 1.0 / self.scale[component];
        out.iter_mut().for_each(|square| *square = (*square * by).min(FARTHEST));
    }

    /// Turns squared distances of some rows into log joint densities, given what their holes cost.
    fn logs(&self, component: usize, observed: &[usize], lost: &[f64], out: &mut [f64]) {
        let (d, scale) = (self.columns, self.scale[component]);
        let log_determinant = self.log_determinant[component / self.sharing()];
        let log_determinant = log_determinant.min(FARTHEST) + d as f64 * scale.ln();
        let base = self.log_weight[component] - 0.5 * log_determinant;
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
        let (d, width) = (self.columns, self.width);
        let turned = &self.turned[component / self.sharing() * d * width..];
        for i in 0..d {
            let known: f64 = (0..i).map(|j| turned[j * width + i].to_f64() * z[j]).sum();
            z[i] = (z[i] - known) / turned[i * width + i].to_f64();
        }
        let by = self.scale[component].sqrt();
        z.iter_mut().for_each(|y| *y *= by);
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

/// The middle of means `[S, D]`, and for each what W makes of the way from there, `[S, width]`.
fn about<T: Real>(means: &[f64], w: &[f64], centre: &mut [T], offset: &mut [T]) {
    let d = centre.len();
    let count = means.len() / d;
    for (i, centre) in centre.iter_mut().enumerate() {
        let sum: f64 = means.iter().skip(i).step_by(d).map(|m| m / count as f64).sum();
        *centre = T::from_f64(sum);
    }
    for (mean, offset) in means.chunks(d).zip(offset.chunks_mut(offset.len() / count)) {
        for (out, row) in offset.iter_mut().zip(w.chunks(d)) {
            let way = row.iter().zip(mean).zip(&*centre).map(|((w, m), c)| w * (m - c.to_f64()));
            *out = T::from_f64(way.sum());
        }
    }
}

/// Rows less a row.
fn subtract<T: Real>(values: &[T], from: &[T], out: &mut [T]) {
    let d = from.len();
    widest(
        #[inline(always)]
        || {
            for (y, x) in out.chunks_exact_mut(d).zip(values.chunks_exact(d)) {
                for ((y, &x), &m) in y.iter_mut().zip(x).zip(from) {
                    *y = x - m;
                }
            }
        },
    );
}

/// The squared length of each row, finite whatever it is.
fn squares<T: Real>(rows: &[T], columns: usize, out: &mut [f64]) {
    widest(
        #[inline(always)]
        || {
            for (out, row) in out.iter_mut().zip(rows.chunks_exact(columns)) {
                let (chunks, rest) = row.as_chunks::<LANES>();
                let mut sums = [T::ZERO; LANES];
                for chunk in chunks {
                    for k in 0..LANES {
                        sums[k] += chunk[k] * chunk[k];
                    }
                }
                let rest: T = rest.iter().map(|&v| v * v).sum();
                *out = (folded(sums) + rest).to_f64().min(FARTHEST);
            }
        },
    );
}

/// The squared distance of each row from one, finite whatever it is.
fn squares_from<T: Real>(rows: &[T], from: &[T], out: &mut [f64]) {
    widest(
        #[inline(always)]
        || {
            let (places, far) = from.as_chunks::<LANES>();
            for (out, row) in out.iter_mut().zip(rows.chunks_exact(from.len())) {
                let (chunks, rest) = row.as_chunks::<LANES>();
                let mut sums = [T::ZERO; LANES];
                for (chunk, place) in chunks.iter().zip(places) {
                    for k in 0..LANES {
                        let way = chunk[k] - place[k];
                        sums[k] += way * way;
                    }
                }
                let rest: T = rest.iter().zip(far).map(|(&v, &p)| (v - p) * (v - p)).sum();
                *out = (folded(sums) + rest).to_f64().min(FARTHEST);
            }
        },
    );
}

/// The sum of the lanes, by halves.
#[inline(always)]
fn folded<T: Real>(mut sums: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for k in 0..half {
            let other = sums[k + half];
            sums[k] += other;
        }
        half /= 2;
    }
    sums[0]
}
