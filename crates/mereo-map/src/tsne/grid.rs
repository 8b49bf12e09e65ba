//! Repulsion in one or two dimensions by interpolation from a grid.
//!
//! Every point is spread over the nodes around it (four along each dimension, by cubic interpolation),
//! the sums `Σ_j K(y - y_j)` at all nodes are a convolution, which the Fourier transform makes a
//! product, and what a point feels is interpolated from the nodes around it. The kernels are w itself,
//! whose sum is Z, and the force `w (y - y')/(ν + d²)` along each dimension: taking the force as a whole
//! needs one transform forward and one back for each, and, other than `y Σ k - Σ k y'`, is no difference
//! of large numbers. w is even and the force odd along its dimension, so that their transforms are
//! purely real and purely imaginary.
//!
//! Nodes are a third of a unit apart, since w changes over a distance of about one, or less if the map
//! is small. The grid is padded with zeros to twice its size, for the transform thinks it periodic. It
//! depends on where points are and on nothing else: neither on threads nor on grids before.

use std::sync::Arc;

use mereo_core::{in_parallel, map_in_parallel};
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};

use super::forces::weight;

/// Distance of nodes for one degree of freedom, and least number of them along the longer side.
const STEP: f64 = 1.0 / 3.0;
const NODES: f64 = 120.0;
/// Columns of the transform that are worked on together.
const COLUMNS: usize = 16;
/// Rows of the transform that are worked on together.
const ROWS: usize = 8;
/// Points that are worked on together, and most grids that points are spread over at once.
const POINTS: usize = 2048;
const COPIES: usize = 8;

type Number = Complex<f32>;

/// Transforms of one size, and the kernels of one spacing.
struct Kernels {
    /// Size of the padded grid, and of a row's transform.
    size: [usize; 2],
    width: usize,
    step: f64,
    along: Arc<dyn RealToComplex<f32>>,
    along_back: Arc<dyn ComplexToReal<f32>>,
    across: Arc<dyn Fft<f32>>,
    across_back: Arc<dyn Fft<f32>>,
    /// For w and each dimension's force, in chunks of columns: the part that is not 0.
    spectra: Vec<Vec<f32>>,
}

/// Grids for one map.
pub(crate) struct Grid {
    degrees: f64,
    dimensions: usize,
    kernels: Option<Kernels>,
}

/// What points do to others anywhere on the grid.
pub(crate) struct Field {
    origin: [f64; 2],
    step: f64,
    nodes: [usize; 2],
    dimensions: usize,
    /// For w and each dimension's force: values at nodes, row by row.
    values: Vec<Vec<f32>>,
}

impl Grid {
    pub(crate) fn new(degrees: f64, dimensions: usize) -> Self {
        Self { degrees, dimensions, kernels: None }
    }

    /// Adds the repulsion of all points on each, and gives Z.
    pub(crate) fn add(&mut self, points: &[f64], out: &mut [f64]) -> f64 {
        let d = self.dimensions;
        let field = self.field(points, 0.0);
        let mut sums = vec![0.0; points.len().div_ceil(POINTS * d)];
        let pieces = points.chunks(POINTS * d).zip(out.chunks_mut(POINTS * d)).zip(&mut sums);
        in_parallel(pieces, |((points, out), sum)| {
            for (point, out) in points.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
                let (w, force) = field.at(point);
                *sum += w;
                out.iter_mut().zip(force).for_each(|(o, f)| *o += f);
            }
        });
        // Every point met itself, at w = 1 and without a force.
        sums.iter().sum::<f64>() - (points.len() / d) as f64
    }

    /// The field of points, on a grid that reaches this far beyond them.
    pub(crate) fn field(&mut self, points: &[f64], margin: f64) -> Field {
        let d = self.dimensions;
        let (mut low, mut high) = ([0.0; 2], [0.0; 2]);
        for k in 0..d {
            let values = || points.iter().skip(k).step_by(d).copied();
            low[k] = values().fold(f64::INFINITY, f64::min) - margin;
            high[k] = values().fold(f64::NEG_INFINITY, f64::max) + margin;
        }
        let widest = (high[0] - low[0]).max(high[1] - low[1]).max(1e-30);
        // Along a line nodes cost next to nothing.
        let finer = if d == 1 { 0.25 } else { 1.0 };
        let mut step = finer * STEP * self.degrees.min(1.0).sqrt();
        if widest < NODES * step {
            // On a ladder, so that kernels can be kept from step to step.
            let halves = (4.0 * (NODES * step / widest).log2()).ceil();
            step *= (-halves / 4.0).exp2();
        }
        let nodes = [0, 1]
            .map(|k| if k < d { ((high[k] - low[k]) / step).floor() as usize + 4 } else { 1 });
        let size = [0, 1].map(|k| if k < d { good_size(2 * nodes[k] - 1) } else { 1 });
        if self.kernels.as_ref().is_none_or(|k| k.size != size || k.step != step) {
            self.kernels = Some(Kernels::new(size, step, self.degrees, d));
        }
        let mut field = Field { origin: low, step, nodes, dimensions: d, values: Vec::new() };
        let charges = field.spread(points);
        if let Some(kernels) = &self.kernels {
            field.values = kernels.convolve(&charges, nodes);
        }
        field
    }
}

/// The next even size that transforms are fast for.
fn good_size(least: usize) -> usize {
    let mut size = least.max(8).next_multiple_of(2);
    loop {
        let mut left = size;
        for factor in [2, 3, 5] {
            while left.is_multiple_of(factor) {
                left /= factor;
            }
        }
        if left == 1 {
            return size;
        }
        size += 2;
    }
}

/// Cubic interpolation at t between the second and the third of four nodes.
#[inline(always)]
fn shares(t: f64) -> [f32; 4] {
    let (a, b, c) = (t + 1.0, t - 1.0, t - 2.0);
    [
        (-t * b * c / 6.0) as f32,
        (a * b * c / 2.0) as f32,
        (-a * t * c / 2.0) as f32,
        (a * t * b / 6.0) as f32,
    ]
}

impl Field {
    /// The first of the nodes around a coordinate, and their shares.
    #[inline(always)]
    fn around(&self, k: usize, y: f64) -> (usize, [f32; 4]) {
        if k >= self.dimensions {
            return (0, [1.0, 0.0, 0.0, 0.0]);
        }
        let most = (self.nodes[k] - 4) as f64;
        // What lies beyond the grid feels what its edge does.
        let t = ((y - self.origin[k]) / self.step).clamp(0.0, most + 1.0 - 1e-9);
        let first = t.floor().min(most);
        (first as usize, shares(t - first))
    }

    fn spread(&self, points: &[f64]) -> Vec<f32> {
        let (d, [nx, ny]) = (self.dimensions, self.nodes);
        let rows = points.len() / d;
        let copies = (rows / 8192).clamp(1, COPIES);
        let each = rows.div_ceil(copies).max(1);
        let pieces: Vec<&[f64]> = points.chunks(each * d).collect();
        let mut grids = map_in_parallel(pieces.len(), |p| {
            let mut grid = vec![0.0f32; nx * ny];
            for point in pieces[p].chunks_exact(d) {
                let (x, along) = self.around(0, point[0]);
                let (y, across) = self.around(1, point.get(1).copied().unwrap_or(0.0));
                for (k, share) in across.iter().enumerate().take(ny.min(4)) {
                    let line = &mut grid[(y + k) * nx + x..(y + k) * nx + x + 4];
                    line.iter_mut().zip(&along).for_each(|(g, a)| *g += share * a);
                }
            }
            grid
        })
        .into_iter();
        let mut all = grids.next().unwrap_or_default();
        for grid in grids {
            all.iter_mut().zip(grid).for_each(|(a, g)| *a += g);
        }
        all
    }

    /// The sum of w and the force at a place.
    #[inline]
    pub(crate) fn at(&self, point: &[f64]) -> (f64, [f64; 2]) {
        let [nx, ny] = self.nodes;
        let (x, along) = self.around(0, point[0]);
        let (y, across) = self.around(1, point.get(1).copied().unwrap_or(0.0));
        let mut sums = [0.0f32; 3];
        for (sum, values) in sums.iter_mut().zip(&self.values) {
            for (k, share) in across.iter().enumerate().take(ny.min(4)) {
                let line = &values[(y + k) * nx + x..(y + k) * nx + x + 4];
                let inner: f32 = line.iter().zip(&along).map(|(v, a)| v * a).sum();
                *sum += share * inner;
            }
        }
        (f64::from(sums[0]), [f64::from(sums[1]), f64::from(sums[2])])
    }
}

impl Kernels {
    fn new(size: [usize; 2], step: f64, degrees: f64, dimensions: usize) -> Self {
        let [sx, sy] = size;
        let mut real = RealFftPlanner::<f32>::new();
        let mut plain = FftPlanner::<f32>::new();
        let mut kernels = Self {
            size,
            width: sx / 2 + 1,
            step,
            along: real.plan_fft_forward(sx),
            along_back: real.plan_fft_inverse(sx),
            across: plain.plan_fft_forward(sy),
            across_back: plain.plan_fft_inverse(sy),
            spectra: Vec::new(),
        };
        // Signed distance from the origin of a periodic grid.
        let signed = |i: usize, size: usize| {
            if 2 * i < size { i as f64 } else { i as f64 - size as f64 }
        };
        let norm = 1.0 / (sx * sy) as f64;
        for kind in 0..=dimensions {
            let mut values = vec![0.0f32; sx * sy];
            in_parallel(values.chunks_mut(sx).enumerate(), |(y, line)| {
                let dy = signed(y, sy) * step;
                for (x, value) in line.iter_mut().enumerate() {
                    let dx = signed(x, sx) * step;
                    let (w, push) = weight(dx * dx + dy * dy, degrees);
                    // Half way round, what is odd is 0.
                    *value = (norm
                        * match kind {
                            0 => w,
                            1 if 2 * x != sx => push * dx,
                            2 if 2 * y != sy => push * dy,
                            _ => 0.0,
                        }) as f32;
                }
            });
            let lines = kernels.forward_lines(&values, sx, sy);
            let chunks = map_in_parallel(kernels.width.div_ceil(COLUMNS), |c| {
                let columns = kernels.forward_columns(&lines, sy, c);
                columns.iter().map(|v| if kind == 0 { v.re } else { v.im }).collect::<Vec<f32>>()
            });
            kernels.spectra.push(chunks.into_iter().flatten().collect());
        }
        kernels
    }

    /// The transforms of lines: `[lines, width]`.
    fn forward_lines(&self, values: &[f32], nx: usize, ny: usize) -> Vec<Number> {
        let (sx, width) = (self.size[0], self.width);
        let mut out = vec![Number::default(); ny * width];
        let pieces = out.chunks_mut(ROWS * width).zip(values.chunks(ROWS * nx));
        in_parallel(pieces, |(out, values)| {
            let mut line = vec![0.0f32; sx];
            let mut scratch = self.along.make_scratch_vec();
            for (out, values) in out.chunks_exact_mut(width).zip(values.chunks_exact(nx)) {
                line[..nx].copy_from_slice(values);
                line[nx..].fill(0.0);
                // Sizes fit, as they are the plan's own.
                let _ = self.along.process_with_scratch(&mut line, out, &mut scratch);
            }
        });
        out
    }

    /// The columns of a chunk, transformed: `[columns, size]`.
    fn forward_columns(&self, lines: &[Number], ny: usize, chunk: usize) -> Vec<Number> {
        let (sy, width) = (self.size[1], self.width);
        let first = chunk * COLUMNS;
        let count = COLUMNS.min(width - first);
        let mut columns = vec![Number::default(); count * sy];
        for y in 0..ny {
            let line = &lines[y * width + first..y * width + first + count];
            for (k, v) in line.iter().enumerate() {
                columns[k * sy + y] = *v;
            }
        }
        let mut scratch = vec![Number::default(); self.across.get_inplace_scratch_len()];
        self.across.process_with_scratch(&mut columns, &mut scratch);
        columns
    }

    /// The charges on a grid convolved with every kernel, at the grid's nodes.
    fn convolve(&self, charges: &[f32], [nx, ny]: [usize; 2]) -> Vec<Vec<f32>> {
        let ([sx, sy], width) = (self.size, self.width);
        let lines = self.forward_lines(charges, nx, ny);
        let kinds = self.spectra.len();
        // For every chunk of columns: `[kinds, ny, columns]`.
        let chunks = map_in_parallel(width.div_ceil(COLUMNS), |c| {
            let columns = self.forward_columns(&lines, ny, c);
            let count = columns.len() / sy;
            let mut out = vec![Number::default(); kinds * ny * count];
            let mut work = columns.clone();
            let mut scratch = vec![Number::default(); self.across_back.get_inplace_scratch_len()];
            for (kind, out) in out.chunks_exact_mut(ny * count).enumerate() {
                let from = c * COLUMNS * sy;
                let spectrum = &self.spectra[kind][from..from + columns.len()];
                for ((w, c), s) in work.iter_mut().zip(&columns).zip(spectrum) {
                    *w = if kind == 0 {
                        Number::new(c.re * s, c.im * s)
                    } else {
                        Number::new(-c.im * s, c.re * s)
                    };
                }
                self.across_back.process_with_scratch(&mut work, &mut scratch);
                for (y, out) in out.chunks_exact_mut(count).enumerate() {
                    for (k, out) in out.iter_mut().enumerate() {
                        *out = work[k * sy + y];
                    }
                }
            }
            out
        });
        let mut results: Vec<Vec<f32>> = (0..kinds).map(|_| vec![0.0; nx * ny]).collect();
        let pieces = results.iter_mut().enumerate().flat_map(|(kind, values)| {
            values.chunks_mut(ROWS * nx).enumerate().map(move |(p, out)| (kind, p, out))
        });
        in_parallel(pieces, |(kind, p, out)| {
            let mut line = vec![0.0f32; sx];
            let mut spectrum = vec![Number::default(); width];
            let mut scratch = self.along_back.make_scratch_vec();
            for (k, out) in out.chunks_exact_mut(nx).enumerate() {
                let y = p * ROWS + k;
                for (chunk, part) in chunks.iter().zip(spectrum.chunks_mut(COLUMNS)) {
                    let from = (kind * ny + y) * part.len();
                    part.copy_from_slice(&chunk[from..from + part.len()]);
                }
                // A real line's first and last terms are real; rounding may say otherwise.
                spectrum[0].im = 0.0;
                spectrum[width - 1].im = 0.0;
                let _ =
                    self.along_back.process_with_scratch(&mut spectrum, &mut line, &mut scratch);
                out.copy_from_slice(&line[..nx]);
            }
        });
        results
    }
}
