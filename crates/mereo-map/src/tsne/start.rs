//! Where points begin.

use mereo_core::{Context, Result};
use rand_distr::{Distribution, StandardNormal};

use super::affinities::Affinities;
use crate::Given;
use crate::lanczos::ends;
use crate::params::TsneStart;
use crate::pcoa::coordinates;

/// How wide the map is at first, and what share of that is chance: equal rows must be able to part.
const SPREAD: f64 = 1e-4;
const CHANCE: f64 = 1e-2;

pub(super) fn points(
    given: &Given<'_>,
    joint: &Affinities,
    start: TsneStart,
    dimensions: usize,
    context: &Context,
) -> Result<Vec<f64>> {
    let rows = given.count();
    let mut points = match start {
        TsneStart::Pca => coordinates(given, dimensions, context)?.points,
        TsneStart::Spectral => spectral(joint, dimensions, context)?,
        TsneStart::Random => vec![0.0; rows * dimensions],
    };
    // In units of the deviation along the first dimension.
    let column = || points.iter().step_by(dimensions);
    let mean = column().sum::<f64>() / rows as f64;
    let deviation = (column().map(|y| (y - mean).powi(2)).sum::<f64>() / rows as f64).sqrt();
    let scale = if deviation > 0.0 { SPREAD / deviation } else { 0.0 };
    let chance = if scale == 0.0 { SPREAD } else { CHANCE * SPREAD };
    let mut random = context.random("t-sne", [rows as u64, dimensions as u64]);
    for y in &mut points {
        let noise: f64 = StandardNormal.sample(&mut random);
        *y = *y * scale + chance * noise;
    }
    Ok(points)
}

/// The slowest modes of a walk from row to row by p: eigenvectors of `D^-½ P D^-½`, divided by `D^½`,
/// without the first, which is the same everywhere.
fn spectral(joint: &Affinities, dimensions: usize, context: &Context) -> Result<Vec<f64>> {
    let rows = joint.rows();
    let root: Vec<f64> = (0..rows)
        .map(|i| joint.row(i).1.iter().map(|&p| f64::from(p)).sum::<f64>().sqrt().max(1e-150))
        .collect();
    let found = ends(rows, dimensions + 1, context, |x, out| joint.walk(&root, x, out))?;
    let mut points = vec![0.0; rows * dimensions];
    for k in 0..dimensions.min(found.values.len().saturating_sub(1)) {
        for i in 0..rows {
            points[i * dimensions + k] = found.vectors[(k + 1) * rows + i] / root[i];
        }
    }
    Ok(points)
}
