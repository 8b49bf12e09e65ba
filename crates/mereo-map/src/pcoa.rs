//! Principal coordinates (classical scaling).
//!
//! With squared distances `D²`, weights w (all 1 unless told otherwise, W their sum) and the matrix
//! `A = I - 1wᵀ/W` that takes away the weighted mean, `M = -½ A D² Aᵀ` has the entries
//! `(x_i - m)·(x_j - m)` if the distances are Euclidean: putting `|x_i|² + |x_j|² - 2 x_i·x_j` for `D²_ij`,
//! A makes terms that depend on i or j alone vanish. The points whose dot products are nearest to M
//! (in squares, rows counting by weight) follow from the eigenvectors `S u = λ u` of `S = w^½ M w^½`:
//! `v_ik = √λ_k u_ik / √w_i`, the k largest λ taken. Where distances are not Euclidean some λ are below
//! 0; no real points have them, and how large they are says how far from Euclidean the distances are.
//!
//! Of rows, `S = XXᵀ` with rows `√w (x - m)`, and has the eigenvalues of the scatter `XᵀX`; the
//! coordinates are `v_k = (x - m)·a_k` with the scatter's eigenvectors a: the codes of PCA.
//!
//! **New points** (Gower): a thing at squared distances `d²_i` from the others is at
//! `y_k = Σ_i w_i v_ik (b_i - d²_i) / 2λ_k`, `b_i = Σ_j w_j D²_ij / W`. For `d²_i = |y - v_i|²`: what does not
//! depend on i vanishes since `Σ_i w_i v_ik = 0`; `b_i` is `|v_i|²` and a constant; there remains
//! `Σ_i w_i v_ik 2 y·v_i / 2λ_k = y_k` as `Σ_i w_i v_ik v_il = λ_k` for `k = l` and 0 else. Of rows this is
//! the projection `(x - m)·a_k` again.

use mereo_core::math::{
    Eigen, Matrix, dot, eigen, leading_eigen, orient, product_nt, product_self,
};
use mereo_core::{Context, Error, Place, Result, in_parallel, map_in_parallel};

use crate::lanczos::ends;
use crate::rows::Rows;
use crate::{Distances, Given};

/// Up to this size matrices are decomposed whole, which tells all eigenvalues.
const WHOLE: usize = 1024;
/// Rows of a matrix that are multiplied or added up together.
const PIECE: usize = 512;

/// Principal coordinates, and what new points need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Coordinates {
    /// `[n, dimensions]`.
    pub(crate) points: Vec<f64>,
    /// `[dimensions]`: the eigenvalue of each dimension; 0 beyond those that are positive.
    pub(crate) values: Vec<f64>,
    /// The eigenvalues that are known, falling: all of them, or the largest and the smallest.
    pub(crate) spectrum: Vec<f64>,
    /// All eigenvalues together.
    pub(crate) trace: f64,
    /// What new points need.
    pub(crate) placing: Placing,
}

/// What new points need.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Placing {
    /// Rows are projected: their mean as measured from the rows' centre, and `[dimensions, columns]`.
    Axes { mean: Vec<f64>, axes: Vec<f64> },
    /// Distances are compared with `b [n]`.
    Gower { mean_square: Vec<f64> },
}

/// The principal coordinates of rows or of distances, in so many dimensions.
pub(crate) fn coordinates(
    given: &Given<'_>,
    dimensions: usize,
    context: &Context,
) -> Result<Coordinates> {
    match given {
        Given::Rows(rows) => of_rows(rows, dimensions, context),
        Given::Distances(distances) => of_distances(distances, dimensions, context),
    }
}

fn weights_of(weights: Option<&[f64]>, count: usize) -> Result<(Vec<f64>, f64)> {
    let weights = weights.map_or_else(|| vec![1.0; count], <[f64]>::to_vec);
    let total: f64 = weights.iter().sum();
    if total > 0.0 {
        return Ok((weights, total));
    }
    Err(Error::found(Place::default(), "weights that are all 0", "at least one row that counts"))
}

fn of_rows(rows: &Rows, dimensions: usize, context: &Context) -> Result<Coordinates> {
    let (n, columns) = (rows.rows(), rows.columns());
    let (weights, total) = weights_of(rows.weights(), n)?;
    let mut mean = vec![0.0; columns];
    for (row, w) in rows.values().chunks_exact(columns.max(1)).zip(&weights) {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += w * x / total);
    }
    // √w (x - m), in units of the largest: squares neither vanish nor overflow.
    let mut x: Vec<f64> = Vec::with_capacity(n * columns);
    for (row, w) in rows.values().chunks_exact(columns.max(1)).zip(&weights) {
        x.extend(row.iter().zip(&mean).map(|(x, m)| w.sqrt() * (x - m)));
    }
    let unit = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let unit = if unit > 0.0 { unit } else { 1.0 };
    x.iter_mut().for_each(|v| *v /= unit);
    let trace = x.chunks(PIECE).map(|v| dot(v, v)).sum::<f64>();
    let (values, mut axes, mut spectrum) = if columns <= n.min(WHOLE) {
        let found = eigen(&scatter(&x, columns), columns)?;
        (found.values.clone(), found.vectors, found.values)
    } else if n <= WHOLE {
        let mut gram = vec![0.0; n * n];
        let view = Matrix::new(&x, n, columns);
        product_nt(&mut gram, view, view, false);
        let Eigen { values, vectors } = eigen(&gram, n)?;
        let count = dimensions.min(n);
        let mut axes = vec![0.0; count * columns];
        for (k, axis) in axes.chunks_exact_mut(columns.max(1)).enumerate() {
            for (row, u) in x.chunks_exact(columns.max(1)).zip(&vectors[k * n..]) {
                axis.iter_mut().zip(row).for_each(|(a, x)| *a += u * x);
            }
        }
        (values.clone(), axes, values)
    } else {
        let found = ends(columns, dimensions, context, |v, out| {
            let pieces: Vec<&[f64]> = x.chunks(PIECE * columns).collect();
            let sums = map_in_parallel(pieces.len(), |p| {
                let mut sum = vec![0.0; columns];
                for row in pieces[p].chunks_exact(columns) {
                    let along = dot(row, v);
                    sum.iter_mut().zip(row).for_each(|(s, x)| *s += along * x);
                }
                sum
            });
            out.fill(0.0);
            sums.iter().for_each(|sum| out.iter_mut().zip(sum).for_each(|(o, s)| *o += s));
        })?;
        (found.values.clone(), found.vectors, found.values)
    };
    let noise = spectrum.first().copied().unwrap_or(0.0).max(0.0) * 1e-13 * n.max(columns) as f64;
    let mut kept = vec![0.0; dimensions];
    axes.resize(dimensions * columns, 0.0);
    for (k, axis) in axes.chunks_exact_mut(columns.max(1)).enumerate() {
        let length = dot(axis, axis).sqrt();
        if values.get(k).is_some_and(|&v| v > noise) && length > 0.0 {
            kept[k] = values[k] * unit * unit;
            axis.iter_mut().for_each(|a| *a /= length);
            orient(axis);
        } else {
            axis.fill(0.0);
        }
    }
    // The scatter has no eigenvalue below 0: what seems so is rounding.
    spectrum.iter_mut().for_each(|v| *v = v.max(0.0) * unit * unit);
    spectrum.truncate(n);
    let points = project(rows.values(), columns, &mean, &axes, dimensions);
    let trace = trace * unit * unit;
    let placing = Placing::Axes { mean, axes };
    Ok(Coordinates { points, values: kept, spectrum, trace, placing })
}

/// `XᵀX`, the lower triangle, pieces added up in order.
fn scatter(x: &[f64], columns: usize) -> Vec<f64> {
    let columns = columns.max(1);
    let rows = x.len() / columns;
    // Few pieces: each holds a matrix of its own.
    let piece = rows.div_ceil(16).max(PIECE);
    let pieces: Vec<&[f64]> = x.chunks(piece * columns).collect();
    let sums = map_in_parallel(pieces.len(), |p| {
        let mut sum = vec![0.0; columns * columns];
        product_self(&mut sum, Matrix::new(pieces[p], pieces[p].len() / columns, columns), false);
        sum
    });
    let mut out = vec![0.0; columns * columns];
    sums.iter().for_each(|sum| out.iter_mut().zip(sum).for_each(|(o, s)| *o += s));
    out
}

/// `(x - m)·a` for every axis, each row on its own so that it does not matter which others there are.
pub(crate) fn project(
    values: &[f64],
    columns: usize,
    mean: &[f64],
    axes: &[f64],
    dimensions: usize,
) -> Vec<f64> {
    let columns = columns.max(1);
    let mut out = vec![0.0; values.len() / columns * dimensions];
    let pieces = values.chunks(PIECE * columns).zip(out.chunks_mut(PIECE * dimensions.max(1)));
    in_parallel(pieces, |(rows, out)| {
        let mut apart = vec![0.0; columns];
        for (row, out) in rows.chunks_exact(columns).zip(out.chunks_exact_mut(dimensions)) {
            apart.iter_mut().zip(row).zip(mean).for_each(|((a, x), m)| *a = x - m);
            for (o, axis) in out.iter_mut().zip(axes.chunks_exact(columns)) {
                *o = dot(&apart, axis);
            }
        }
    });
    out
}

fn of_distances(
    distances: &Distances,
    dimensions: usize,
    context: &Context,
) -> Result<Coordinates> {
    let n = distances.count();
    let (weights, total) = weights_of(distances.weights(), n)?;
    let unit = (0..n).flat_map(|i| distances.from(i)).fold(0.0f64, |m, &d| m.max(d));
    let unit = if unit > 0.0 { unit } else { 1.0 };
    let square = |d: f64| (d / unit) * (d / unit);
    let mean_square: Vec<f64> = map_in_parallel(n, |i| {
        distances.from(i).iter().zip(&weights).map(|(&d, w)| w * square(d)).sum::<f64>() / total
    });
    let grand: f64 = mean_square.iter().zip(&weights).map(|(b, w)| b * w).sum::<f64>() / total;
    // S = w^½ M w^½, row by row.
    let root: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
    let row_of = |i: usize, out: &mut [f64]| {
        for (j, (o, &d)) in out.iter_mut().zip(distances.from(i)).enumerate() {
            let m = -0.5 * (square(d) - mean_square[i] - mean_square[j] + grand);
            *o = root[i] * m * root[j];
        }
    };
    let mut matrix = vec![0.0; n * n];
    in_parallel(matrix.chunks_mut(n.max(1)).enumerate(), |(i, out)| row_of(i, out));
    let trace: f64 = (0..n).map(|i| matrix[i * n + i]).sum();
    let (values, vectors, mut spectrum) = if n <= WHOLE {
        let all = leading_eigen(&matrix, n, n)?;
        (all.values.clone(), all.vectors, all.values)
    } else {
        let found = ends(n, dimensions, context, |v, out| {
            in_parallel(out.chunks_mut(PIECE).enumerate(), |(p, out)| {
                for (k, o) in out.iter_mut().enumerate() {
                    let i = p * PIECE + k;
                    *o = dot(&matrix[i * n..(i + 1) * n], v);
                }
            });
        })?;
        let mut spectrum = found.values.clone();
        spectrum.push(found.least);
        (found.values, found.vectors, spectrum)
    };
    let noise = values.first().map_or(0.0, |v| v.abs()) * 1e-13 * n as f64;
    let (mut points, mut kept) = (vec![0.0; n * dimensions], vec![0.0; dimensions]);
    for k in 0..dimensions.min(values.len()) {
        if !(values[k] > noise) {
            continue;
        }
        kept[k] = values[k] * unit * unit;
        for i in 0..n {
            // A thing of weight 0 has no say; Gower's formula says where it is.
            points[i * dimensions + k] = if root[i] > 0.0 {
                values[k].sqrt() * vectors[k * n + i] / root[i] * unit
            } else {
                0.0
            };
        }
    }
    spectrum.iter_mut().for_each(|v| *v *= unit * unit);
    let mean_square: Vec<f64> = mean_square.iter().map(|b| b * unit * unit).collect();
    let trace = trace * unit * unit;
    if weights.contains(&0.0) {
        let old = points.clone();
        let gower =
            Gower { points: &old, values: &kept, mean_square: &mean_square, weights: &weights };
        for i in (0..n).filter(|&i| weights[i] == 0.0) {
            gower.place(distances.from(i), &mut points[i * dimensions..(i + 1) * dimensions]);
        }
    }
    let placing = Placing::Gower { mean_square };
    Ok(Coordinates { points, values: kept, spectrum, trace, placing })
}

/// Where new things are among known ones.
pub(crate) struct Gower<'a> {
    pub(crate) points: &'a [f64],
    pub(crate) values: &'a [f64],
    pub(crate) mean_square: &'a [f64],
    pub(crate) weights: &'a [f64],
}

impl Gower<'_> {
    pub(crate) fn place(&self, distances: &[f64], out: &mut [f64]) {
        let dimensions = out.len();
        out.fill(0.0);
        let things = distances.iter().zip(self.mean_square).zip(self.weights);
        for (((d, b), w), v) in things.zip(self.points.chunks_exact(dimensions)) {
            let off = w * (b - d * d);
            for k in 0..dimensions {
                if self.values[k] > 0.0 {
                    out[k] += off * v[k] / (2.0 * self.values[k]);
                }
            }
        }
    }
}
