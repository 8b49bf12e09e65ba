//! Cuts, mean field and grey levels on grids, beside what they cannot do without; `fields_peers.py` prints
//! `PyMaxflow` on the same grid.

use std::time::Instant;

use mereo_core::{Context, Result};
use mereo_field::denoise::{DenoiseMethod, DenoiseParams, grey};
use mereo_field::infer::MeanFieldParams;
use mereo_field::{Coupling, Grid, Neighbours, Unary, Weights, grid_cut, grid_mean_field};

/// A picture of smooth blobs with noise, from -1 to 1: the same numbers that `fields_peers.py` makes.
pub(crate) fn blobs(height: usize, width: usize) -> Vec<f64> {
    let mut state = 1u64;
    (0..height * width)
        .map(|i| {
            let (y, x) = ((i / width) as f64, (i % width) as f64);
            let wave = (y / 23.0).sin() * (x / 31.0).cos() + 0.5 * ((x + y) / 11.0).sin();
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            wave + 2.0 * (state as f64 / f64::from(1u32 << 31) - 0.5)
        })
        .collect()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub(crate) fn all() -> Result<()> {
    let (height, width) = (321, 481);
    let values = blobs(height, width);
    let unary = || Unary::PerPixel(values.iter().flat_map(|v| [0.0, 2.0 * v]).collect());
    for (neighbours, name) in [(Neighbours::Four, 4), (Neighbours::Eight, 8)] {
        let weights = Weights::Shared(1.0);
        let grid = Grid::new((height, width), 2, neighbours, unary(), Coupling::Potts, weights)?;
        let times = (0..5)
            .map(|_| {
                let began = Instant::now();
                let found = grid_cut(&grid)?;
                assert!(found.energy.is_finite());
                Ok(began.elapsed().as_secs_f64())
            })
            .collect::<Result<Vec<f64>>>()?;
        println!("cut of {width} x {height}, {name} neighbours: {:.1} ms", 1e3 * median(times));
    }
    mean_field()?;
    let seen: Vec<u8> = values.iter().map(|v| (128.0 + 50.0 * v).clamp(0.0, 255.0) as u8).collect();
    for method in [DenoiseMethod::MeanField, DenoiseMethod::Cut] {
        let began = Instant::now();
        let params = DenoiseParams { method, ..DenoiseParams::default() };
        grey(&seen, (height, width), &params, &Context::new(0).with_threads(2)?)?;
        let seconds = began.elapsed().as_secs_f64();
        println!("256 levels of {width} x {height} by {method:?}: {seconds:.2} s on two threads");
    }
    Ok(())
}

/// 20 sweeps of a megapixel, beside moving the same bytes: bias and means are read and means written.
fn mean_field() -> Result<()> {
    let side = 1024;
    let values = blobs(side, side);
    let unary = Unary::PerPixel(values.iter().flat_map(|v| [0.0, *v]).collect());
    let (four, potts) = (Neighbours::Four, Coupling::Potts);
    let grid = Grid::new((side, side), 2, four, unary, potts, Weights::Shared(0.7))?;
    let context = Context::new(0).with_threads(2)?;
    let time = |sweeps: usize| -> Result<f64> {
        let params =
            MeanFieldParams { sweeps, tolerance: -1.0, trace: false, ..Default::default() };
        let times = (0..3).map(|_| {
            let began = Instant::now();
            grid_mean_field(&grid, None, &params, &context)?;
            Ok(began.elapsed().as_secs_f64())
        });
        Ok(median(times.collect::<Result<_>>()?))
    };
    // What is done once is no part of a sweep.
    let twenty = time(21)? - time(1)?;
    let (mut from, mut to) = (vec![1.0f32; 1 << 24], vec![0.0f32; 1 << 24]);
    let moved = (0..5)
        .map(|_| {
            let began = Instant::now();
            context.install(|| {
                let pieces = from.chunks_mut(1 << 20).zip(to.chunks_mut(1 << 20));
                mereo_core::in_parallel(pieces, |(from, to)| {
                    to.iter_mut().zip(from.iter()).for_each(|(t, f)| *t += *f);
                });
            });
            began.elapsed().as_secs_f64()
        })
        .collect();
    // Two reads and a write of four bytes a pixel, like a sweep's.
    let bound = 20.0 * median(moved) * (side * side) as f64 / f64::from(1u32 << 24);
    println!(
        "20 sweeps of mean field on {side} x {side}: {:.1} ms on two threads; moving the bytes {:.1} ms; ratio {:.2}",
        1e3 * twenty,
        1e3 * bound,
        twenty / bound
    );
    Ok(())
}
