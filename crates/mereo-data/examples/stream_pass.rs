//! Measures one pass over a Parquet or npy file that is streamed:
//!
//! ```text
//! cargo run --release --example stream_pass -- FILE [LANES]
//! ```
//!
//! Each lane goes over its share of the file on its own thread.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use mereo_core::{Block, Real, Source};
use mereo_data::{AnySource, ReadOptions, open_stream};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (path, lanes) = match &arguments[..] {
        [_, path] => (path, 1),
        [_, path, lanes] => (path, lanes.parse()?),
        _ => return Err("usage: stream_pass FILE [LANES]".into()),
    };
    let start = Instant::now();
    let source = open_stream(Path::new(path), &ReadOptions::default())?;
    println!("opened in {:.3} s", start.elapsed().as_secs_f64());
    match source {
        AnySource::F32(source) => pass(&*source, lanes),
        AnySource::F64(source) => pass(&*source, lanes),
    }
}

fn pass<T: Real>(source: &dyn Source<T>, lanes: usize) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let share = source.batches().div_ceil(lanes.max(1));
    let sums: Vec<mereo_core::Result<f64>> = std::thread::scope(|scope| {
        let work = |lane: usize| {
            scope.spawn(move || {
                let begun = Instant::now();
                let mut first = None;
                let mut lane = source.lane(lane * share..(lane + 1) * share)?;
                let mut sum = 0.0;
                while let Some(batch) = lane.next_batch()? {
                    first.get_or_insert_with(|| begun.elapsed().as_secs_f64());
                    if let Block::Dense { values, .. } = batch.block {
                        sum += values.first().map_or(0.0, |v| v.to_f64());
                    }
                }
                println!("first batch after {:.3} s", first.unwrap_or_default());
                Ok(sum)
            })
        };
        let running: Vec<_> = (0..lanes).map(work).collect();
        running.into_iter().filter_map(|lane| lane.join().ok()).collect()
    });
    let sum: f64 = sums.into_iter().sum::<mereo_core::Result<f64>>()?;
    let seconds = start.elapsed().as_secs_f64();
    let gigabytes = (source.rows() * source.columns() * size_of::<T>()) as f64 / 1e9;
    println!(
        "{} rows x {} columns, {gigabytes:.2} GB in {seconds:.2} s: {:.2} GB/s (check {sum:.3})",
        source.rows(),
        source.columns(),
        gigabytes / seconds
    );
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    }
    Ok(())
}
