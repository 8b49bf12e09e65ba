//! GVQ's learning: planted features recovered.
//!
//! `cargo xtask experiments gvq_learning`; the number of runs may follow.

use mereo_core::{Context, Dense, Plan, Result, Silent, Table};
use mereo_experiments::seeds;
use mereo_quantize::{GvqParams, gvq};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

fn main() -> Result<()> {
    let runs = seeds(40);
    let mut found = 0;
    for seed in 0..runs {
        let (table, truth) = planted(800, 8, 16, 0.3, seed)?;
        let context = Context::new(seed).with_threads(0)?;
        let (model, _) =
            gvq::fit(&GvqParams::new(8), &table, &Plan::default(), &context, &mut Silent)?;
        found += u64::from(model.variance().is_some_and(|v| v <= 1.02 * truth));
    }
    println!(
        "Planted features (n = 8, d = 16, 800 rows): error at most 1.02 of planted in {found} of {runs} runs\n(a throw-away implementation that is not mereo's nor the paper's: 95%)"
    );
    Ok(())
}

/// Rows made of features, and the mean squared noise in them.
fn planted(rows: usize, n: usize, d: usize, noise: f64, seed: u64) -> Result<(Table<f64>, f64)> {
    let mut random = Context::new(seed).random("planted experiment", [0, 0]);
    let feature: Vec<f64> = (0..n * d).map(|_| StandardNormal.sample(&mut random)).collect();
    let (mut values, mut squares) = (Vec::new(), 0.0);
    for _ in 0..rows {
        let state: Vec<bool> = (0..n).map(|_| random.random()).collect();
        for c in 0..d {
            let normal: f64 = StandardNormal.sample(&mut random);
            let on = (0..n).filter(|&i| state[i]).map(|i| feature[i * d + c]);
            values.push(on.sum::<f64>() + noise * normal);
            squares += (noise * normal).powi(2);
        }
    }
    Ok((Table::from(Dense::new(rows, d, values)?), squares / (rows * d) as f64))
}
