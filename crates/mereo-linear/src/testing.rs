//! What the tests of all models share.

use mereo_core::Context;
pub(crate) use mereo_testing::*;
use rand_distr::{Distribution, StandardNormal};

/// Rows along three directions, with noise that differs from column to column.
pub(crate) fn rows(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("rows", [0, 0]);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let loading: Vec<f64> = (0..3 * columns).map(|_| normal()).collect();
    let noise: Vec<f64> = (0..columns).map(|_| 0.2 + 0.3 * normal().abs()).collect();
    let centre: Vec<f64> = (0..columns).map(|_| 3.0 * normal()).collect();
    (0..rows)
        .flat_map(|_| {
            let z = [2.0 * normal(), 1.5 * normal(), normal()];
            (0..columns)
                .map(|d| {
                    let sum: f64 = (0..3).map(|i| z[i] * loading[i * columns + d]).sum();
                    centre[d] + sum + noise[d] * normal()
                })
                .collect::<Vec<_>>()
        })
        .collect()
}
