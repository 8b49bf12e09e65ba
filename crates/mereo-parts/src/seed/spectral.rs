//! Cutting the graph of associated columns into groups (normalised cut).
//!
//! With all pairs measured, the K leading eigenvectors of `D^-½ W D^-½` place the columns such
//! that groups which hang together are near each other (Shi and Malik; Ng, Jordan and Weiss). With
//! landmarks, `W` is taken as `Z Λ^-1 Zᵀ`, Z the associations with rows scaled to add up to 1 and
//! Λ their column sums; its leading eigenvectors follow from the small matrix `ẐᵀẐ`,
//! `Ẑ = Z Λ^-½` (Chen and Cai). k-means on the rows of the embedding, scaled to length 1, gives the
//! groups.

use mereo_core::math::{Matrix, leading_eigen, product, product_self};
use mereo_core::slots::{Lloyd, Survey};
use mereo_core::{Context, Dense, Plan, Real, Result, Silent, Table};

use super::association::Affinity;

/// Starts of the k-means on the embedding.
const RESTARTS: usize = 10;

pub(super) fn cut(
    affinity: &Affinity,
    groups: usize,
    restart: usize,
    context: &Context,
) -> Result<Vec<Option<usize>>> {
    let pairs = affinity.landmarks.len();
    let degree: Vec<f64> = affinity
        .values
        .chunks_exact(pairs.max(1))
        .map(|row| row.iter().map(|&v| f64::from(v)).sum())
        .collect();
    let linked: Vec<usize> = (0..affinity.columns).filter(|&d| degree[d] > 1e-9).collect();
    if linked.len() <= groups {
        // Nothing to cut: a group each, as far as they go.
        let mut found = vec![None; affinity.columns];
        for (group, &d) in linked.iter().enumerate() {
            found[d] = Some(group);
        }
        return Ok(found);
    }
    let embedding = if affinity.is_full() {
        embed_full(affinity, &degree, &linked, groups)
    } else {
        embed_landmarks(affinity, &degree, &linked, groups)
    }?;
    let found = cluster(embedding, linked.len(), groups, restart, context)?;
    let mut all = vec![None; affinity.columns];
    for (&d, group) in linked.iter().zip(found) {
        all[d] = Some(group);
    }
    Ok(all)
}

/// The leading eigenvectors of a symmetric `[n, n]` matrix, of which the lower triangle is looked
/// at, as `[n, count]`, and their values.
fn leading(matrix: &[f64], n: usize, count: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let found = leading_eigen(matrix, n, count)?;
    let out = (0..n * count).map(|i| found.vectors[i % count * n + i / count]).collect();
    Ok((out, found.values))
}

fn embed_full(
    affinity: &Affinity,
    degree: &[f64],
    linked: &[usize],
    groups: usize,
) -> Result<Vec<f64>> {
    let n = linked.len();
    let mut scaled = Vec::with_capacity(n * n);
    for &d in linked {
        scaled.extend(linked.iter().map(|&e| {
            let association = f64::from(affinity.values[d * affinity.columns + e]);
            association / (degree[d] * degree[e]).sqrt()
        }));
    }
    Ok(leading(&scaled, n, groups)?.0)
}

fn embed_landmarks(
    affinity: &Affinity,
    degree: &[f64],
    linked: &[usize],
    groups: usize,
) -> Result<Vec<f64>> {
    let (n, pairs) = (linked.len(), affinity.landmarks.len());
    let mut z = Vec::with_capacity(n * pairs);
    let mut sums = vec![0.0; pairs];
    for &d in linked {
        for (&value, sum) in affinity.values[d * pairs..(d + 1) * pairs].iter().zip(&mut sums) {
            let share = f64::from(value) / degree[d];
            *sum += share;
            z.push(share);
        }
    }
    for row in z.chunks_exact_mut(pairs) {
        for (share, &sum) in row.iter_mut().zip(&sums) {
            *share /= if sum > 0.0 { sum.sqrt() } else { 1.0 };
        }
    }
    let z = Matrix::new(&z, n, pairs);
    let mut gram = vec![0.0; pairs * pairs];
    product_self(&mut gram, z, false);
    let count = groups.min(pairs);
    let (mut right, values) = leading(&gram, pairs, count)?;
    for row in right.chunks_exact_mut(count) {
        row.iter_mut().zip(&values).for_each(|(v, value)| *v /= value.max(1e-12).sqrt());
    }
    let mut left = vec![0.0; n * count];
    product(&mut left, z, Matrix::new(&right, pairs, count), false);
    Ok(left)
}

/// k-means on the rows of the embedding, scaled to length 1.
fn cluster(
    mut embedding: Vec<f64>,
    rows: usize,
    groups: usize,
    restart: usize,
    context: &Context,
) -> Result<Vec<usize>> {
    let width = embedding.len() / rows;
    for row in embedding.chunks_exact_mut(width) {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|v| *v /= length);
        }
    }
    let table = Table::from(Dense::new(rows, width, embedding)?);
    // The groups of one restart must not be the groups of the next.
    let context =
        context.with_seed(context.seed() ^ (restart as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let learner = Lloyd::plain(groups, &Survey::of(&table, &context)?);
    let plan = Plan {
        restarts: RESTARTS,
        passes: 100,
        tolerance: 1e-9,
        checkpoints: None,
        ..Plan::default()
    };
    let learned = learner.learn(&table, &plan, &context, &mut Silent)?;
    Ok(nearest(&table, &learned.state.mean, groups))
}

/// The nearest of these means for every row of a complete table.
fn nearest<T: Real>(table: &Table<T>, mean: &[f64], states: usize) -> Vec<usize> {
    let mereo_core::Cells::Dense(cells) = table.cells() else { return Vec::new() };
    let width = cells.columns();
    let distance = |row: &[T], state: usize| -> f64 {
        let mean = &mean[state * width..(state + 1) * width];
        row.iter().zip(mean).map(|(x, m)| (x.to_f64() - m).powi(2)).sum()
    };
    (0..cells.rows())
        .map(|r| {
            let row = cells.row(r);
            (0..states)
                .fold(0, |best, s| if distance(row, s) < distance(row, best) { s } else { best })
        })
        .collect()
}
