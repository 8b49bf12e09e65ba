//! How long it takes to read a file into memory: `read_time FILE [THREADS]`, the best of three.

use std::time::Instant;

use mereo_core::{Context, Error, Result};
use mereo_data::{ReadOptions, read};

fn main() -> Result<()> {
    let mut given = std::env::args().skip(1);
    let path = given.next().ok_or_else(|| Error::option("FILE", "say which"))?;
    let threads = given.next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let context = Context::new(0).with_threads(threads)?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let began = Instant::now();
        let table = context.install(|| read(path.as_ref(), &ReadOptions::default()))?;
        let seconds = began.elapsed().as_secs_f64();
        best = best.min(seconds);
        println!("{} x {}: {seconds:.3} s", table.rows(), table.columns());
    }
    println!("best {best:.3} s");
    Ok(())
}
