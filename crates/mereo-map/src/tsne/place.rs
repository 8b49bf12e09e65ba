//! New rows in a finished map.
//!
//! A new row's point y minimises `-Σ_j p_j log w(y, y_j) + log Σ_j w(y, y_j)`, with p over its nearest known rows
//! as in the map itself, and nothing else moves: so it does not matter which other rows are placed with
//! it. The second term is that of all known points; it is looked up in their field, which is worked
//! out once (a grid or a tree). The way down begins at the best of a few places: where the nearest
//! rows are, and the middle of them.

use mereo_core::math::minimise;

use super::affinities::Widths;
use super::forces::{one, weight};
use super::grid::{Field, Grid};
use super::tree::Tree;

/// Perplexity by which new rows find their neighbours: few, since a row between two clusters belongs
/// to one of them.
const PERPLEXITY: f64 = 5.0;
/// Neighbours that are looked up.
pub(crate) const NEIGHBOURS: usize = 15;
/// Neighbours whose points are tried as beginnings.
const TRIED: usize = 5;
/// Points for which the field is worked out pair by pair.
const EXACT: usize = 1000;
/// How far new points may be from all known ones.
const MARGIN: f64 = 2.0;

/// What all known points do together.
enum All {
    Exact(Vec<Vec<f64>>),
    Grid(Field),
    Tree(Tree<3>),
}

/// Places new rows.
pub(crate) struct Placer {
    points: Vec<f64>,
    dimensions: usize,
    degrees: f64,
    all: All,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Placer {
    pub(crate) fn new(points: &[f64], dimensions: usize, degrees: f64) -> Self {
        let all = if points.len() / dimensions <= EXACT {
            let axis = |k: usize| points.iter().skip(k).step_by(dimensions).copied().collect();
            All::Exact((0..dimensions).map(axis).collect())
        } else if dimensions == 3 {
            All::Tree(Tree::new(points))
        } else {
            All::Grid(Grid::new(degrees, dimensions).field(points, MARGIN))
        };
        let fold = |k: usize, f: fn(f64, f64) -> f64, from: f64| {
            points.iter().skip(k).step_by(dimensions).copied().fold(from, f)
        };
        let low = (0..dimensions).map(|k| fold(k, f64::min, f64::INFINITY) - MARGIN).collect();
        let high = (0..dimensions).map(|k| fold(k, f64::max, f64::NEG_INFINITY) + MARGIN).collect();
        Self { points: points.to_vec(), dimensions, degrees, all, low, high }
    }

    /// Writes where a row is whose nearest known rows these are (squared distances and numbers,
    /// nearest first).
    pub(crate) fn place(&self, near: &[(f64, u32)], out: &mut [f64]) {
        let d = self.dimensions;
        let squares: Vec<f64> = near.iter().map(|n| n.0).collect();
        let mut p = vec![0.0; near.len()];
        let perplexity = PERPLEXITY.min(near.len() as f64 / 3.0).max(1.0);
        Widths::Perplexities(vec![perplexity]).probabilities(&squares, &mut p);
        let point = |j: u32| &self.points[j as usize * d..(j as usize + 1) * d];
        let mut middle = vec![0.0; d];
        for (n, p) in near.iter().zip(&p) {
            middle.iter_mut().zip(point(n.1)).for_each(|(m, y)| *m += p * y);
        }
        let cost = |y: &[f64], g: &mut [f64]| self.cost(y, near, &p, g);
        let mut waste = vec![0.0; d];
        let mut best = (cost(&middle, &mut waste), middle);
        for n in near.iter().take(TRIED) {
            let value = cost(point(n.1), &mut waste);
            if value < best.0 {
                best = (value, point(n.1).to_vec());
            }
        }
        let mut y = best.1;
        minimise(&mut y, 30, 1e-7, cost);
        for (k, o) in out.iter_mut().enumerate() {
            *o = y[k].clamp(self.low[k], self.high[k]);
        }
    }

    fn cost(&self, y: &[f64], near: &[(f64, u32)], p: &[f64], gradient: &mut [f64]) -> f64 {
        let (d, degrees) = (self.dimensions, self.degrees);
        let mut force = [0.0; 3];
        let z = match &self.all {
            All::Exact(axes) => match d {
                1 => exact::<1>(axes, y, degrees, &mut force),
                2 => exact::<2>(axes, y, degrees, &mut force),
                _ => exact::<3>(axes, y, degrees, &mut force),
            },
            All::Tree(tree) => tree.at(&[y[0], y[1], y[2]], degrees, &mut force),
            All::Grid(field) => {
                let (z, f) = field.at(y);
                force[..2].copy_from_slice(&f);
                z
            }
        };
        // On the edge of the grid interpolation may overshoot.
        let z = z.max(weight(1e4, degrees).0);
        let factor = degrees + 1.0;
        for k in 0..d {
            gradient[k] = -factor * force[k] / z;
        }
        let mut value = z.ln();
        for (n, p) in near.iter().zip(p) {
            let other = &self.points[n.1 as usize * d..(n.1 as usize + 1) * d];
            let square: f64 = y.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum();
            value += p * factor / 2.0 * (square / degrees).ln_1p();
            for k in 0..d {
                gradient[k] += factor * p * (y[k] - other[k]) / (degrees + square);
            }
        }
        value
    }
}

fn exact<const D: usize>(axes: &[Vec<f64>], y: &[f64], degrees: f64, force: &mut [f64; 3]) -> f64 {
    let mut own = [0.0; D];
    let z = one::<D>(axes, y, degrees, &mut own);
    force[..D].copy_from_slice(&own);
    z
}
