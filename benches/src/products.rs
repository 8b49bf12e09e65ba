//! The matrix products of a pass and nothing else.

use std::time::Instant;

use mereo_core::math::{Matrix, product, product_nt};
use mereo_core::{Context, Real, Result, batch_rows};
use rayon::prelude::*;

/// The median time of the products `Θ φᵀ` and `M φ` of one pass over all batches, `width`
/// features to a cell: four products of the plain shapes for 2, six for 3.
pub(crate) fn milliseconds<T: Real>(
    rows: usize,
    columns: usize,
    slots: usize,
    width: usize,
    threads: usize,
) -> Result<f64> {
    let context = Context::new(0).with_threads(threads)?;
    let (batch, inner) = (batch_rows(columns), width * columns);
    let natural = vec![T::from_f64(0.5); slots * inner];
    let mut lanes: Vec<_> = (0..16)
        .map(|_| {
            let zeros = |n: usize| vec![T::from_f64(0.25); n];
            (zeros(batch * inner), zeros(slots * batch), zeros(slots * inner))
        })
        .collect();
    let batches = rows.div_ceil(batch);
    let mut times: Vec<f64> = (0..15)
        .map(|_| {
            let began = Instant::now();
            context.install(|| {
                lanes.par_iter_mut().with_max_len(1).enumerate().for_each(
                    |(lane, (features, evidence, sums))| {
                        for _ in lane * batches / 16..(lane + 1) * batches / 16 {
                            let features = Matrix::new(features, batch, inner);
                            product_nt(
                                evidence,
                                Matrix::new(&natural, slots, inner),
                                features,
                                false,
                            );
                            product(sums, Matrix::new(evidence, slots, batch), features, false);
                        }
                    },
                );
            });
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Operations a second of large square products on so many threads.
pub(crate) fn peak<T: Real>(threads: usize) -> Result<f64> {
    const SIDE: usize = 1024;
    let context = Context::new(0).with_threads(threads)?;
    let given = vec![T::from_f64(0.5); SIDE * SIDE];
    let mut out = vec![vec![T::from_f64(0.0); SIDE * SIDE]; 2 * threads];
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let began = Instant::now();
            context.install(|| {
                out.par_iter_mut().with_max_len(1).for_each(|out| {
                    let given = Matrix::new(&given, SIDE, SIDE);
                    product(out, given, given, false);
                });
            });
            began.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Ok((4 * threads * SIDE * SIDE * SIDE) as f64 / times[2])
}
