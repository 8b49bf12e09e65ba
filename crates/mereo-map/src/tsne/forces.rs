//! Repulsion between all points: `Σ_j w_ij (y_i - y_j)/(ν + d²)`, and `Z = Σ_{i≠j} w_ij`.

use mereo_core::in_parallel;
use mereo_core::math::widest;

use super::grid::Grid;
use super::tree;
use crate::params::Forces;

/// Up to this many rows exact forces are as fast as others.
const EXACT: usize = 1000;
const EXACT_IN_THREE: usize = 2000;
/// Rows that are worked on together.
const PIECE: usize = 64;

/// How repulsion is worked out.
pub(crate) struct Repulsion {
    degrees: f64,
    dimensions: usize,
    way: Way,
}

enum Way {
    Exact,
    Grid(Box<Grid>),
    Tree,
}

/// `w` and `w/(ν + d²)` at a squared distance.
#[inline(always)]
pub(crate) fn weight(square: f64, degrees: f64) -> (f64, f64) {
    if degrees == 1.0 {
        let w = 1.0 / (1.0 + square);
        (w, w * w)
    } else {
        let w = (1.0 + square / degrees).powf(-f64::midpoint(degrees, 1.0));
        (w, w / (degrees + square))
    }
}

impl Repulsion {
    pub(crate) fn new(forces: Forces, degrees: f64, rows: usize, dimensions: usize) -> Self {
        let exact = if dimensions == 3 { EXACT_IN_THREE } else { EXACT };
        let way = match forces {
            Forces::Exact => Way::Exact,
            Forces::Auto if rows <= exact => Way::Exact,
            Forces::Tree => Way::Tree,
            Forces::Auto if dimensions == 3 => Way::Tree,
            Forces::Auto | Forces::Grid => Way::Grid(Box::new(Grid::new(degrees, dimensions))),
        };
        Self { degrees, dimensions, way }
    }

    /// Adds the repulsion of all points on each, and gives Z.
    pub(crate) fn add(&mut self, points: &[f64], out: &mut [f64]) -> f64 {
        match (&mut self.way, self.dimensions) {
            (Way::Grid(grid), _) => grid.add(points, out),
            (Way::Tree, 2) => tree::add::<2>(points, self.degrees, out),
            (Way::Tree, _) => tree::add::<3>(points, self.degrees, out),
            (Way::Exact, 1) => exact::<1>(points, self.degrees, out),
            (Way::Exact, 2) => exact::<2>(points, self.degrees, out),
            (Way::Exact, _) => exact::<3>(points, self.degrees, out),
        }
    }
}

fn exact<const D: usize>(points: &[f64], degrees: f64, out: &mut [f64]) -> f64 {
    let n = points.len() / D;
    // Coordinates one after another, so that loops over points are plain.
    let axes: Vec<Vec<f64>> =
        (0..D).map(|d| points.iter().skip(d).step_by(D).copied().collect()).collect();
    let mut sums = vec![0.0; n.div_ceil(PIECE)];
    let pieces = out.chunks_mut(PIECE * D).zip(&mut sums).enumerate();
    in_parallel(pieces, |(piece, (out, sum))| {
        for (k, out) in out.as_chunks_mut::<D>().0.iter_mut().enumerate() {
            let i = piece * PIECE + k;
            *sum += one::<D>(&axes, &points[i * D..(i + 1) * D], degrees, out) - 1.0;
        }
    });
    sums.iter().sum()
}

/// Adds the forces of all points at one place, and gives the sum of their w.
pub(crate) fn one<const D: usize>(
    axes: &[Vec<f64>],
    own: &[f64],
    degrees: f64,
    out: &mut [f64; D],
) -> f64 {
    const LANES: usize = 8;
    let n = axes[0].len();
    let mut total = 0.0;
    widest(
        #[inline(always)]
        || {
            let (mut z, mut force) = ([0.0; LANES], [[0.0; LANES]; D]);
            let whole = n / LANES * LANES;
            for from in (0..whole).step_by(LANES) {
                let mut square = [0.0; LANES];
                let mut apart = [[0.0; LANES]; D];
                for d in 0..D {
                    let axis = &axes[d][from..from + LANES];
                    for l in 0..LANES {
                        apart[d][l] = own[d] - axis[l];
                        square[l] += apart[d][l] * apart[d][l];
                    }
                }
                for l in 0..LANES {
                    let (w, push) = weight(square[l], degrees);
                    z[l] += w;
                    for d in 0..D {
                        force[d][l] += push * apart[d][l];
                    }
                }
            }
            total = z.iter().sum::<f64>();
            for d in 0..D {
                out[d] += force[d].iter().sum::<f64>();
            }
            for j in whole..n {
                let mut square = 0.0;
                for d in 0..D {
                    square += (own[d] - axes[d][j]) * (own[d] - axes[d][j]);
                }
                let (w, push) = weight(square, degrees);
                total += w;
                for d in 0..D {
                    out[d] += push * (own[d] - axes[d][j]);
                }
            }
        },
    );
    total
}
