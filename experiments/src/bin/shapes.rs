//! Thesis section 3.1.2 and Table 3.1: 100 shape images to learn from, 629 to test on.
//!
//! `cargo xtask experiments shapes`; the number of seeds may follow.

use mereo_core::{Cells, Context, Dense, Plan, Result, Silent, Table};
use mereo_data::toy::{Toy, shapes};
use mereo_experiments::{mean_and_spread, mean_rms, parts_plan, recovery, seeds};
use mereo_linear::{Loss, NmfParams, PcaParams, nmf, pca};
use mereo_parts::{McvqParams, mcvq};
use mereo_quantize::{VqParams, vq};

/// Table 3.1 of the thesis: parts, states, its error.
const MCVQ_ROWS: [(usize, usize, f64); 5] =
    [(3, 12, 0.21), (2, 18, 0.26), (4, 9, 0.26), (8, 4, 0.34), (6, 6, 0.35)];

fn main() -> Result<()> {
    let seeds = seeds(20);
    println!("Thesis Table 3.1: mean RMS error over 629 test images ({seeds} seeds)\n");
    println!("{:<8} {:<18} {:>6} {:>16}", "model", "size", "paper", "ours (spread)");
    for (parts, states, paper) in MCVQ_ROWS {
        let errors = (0..seeds)
            .map(|seed| {
                let (train, test) = shapes::split(seed)?;
                let context = Context::new(seed).with_threads(0)?;
                let params = McvqParams::new(parts, states);
                let (model, _) =
                    mcvq::fit(&params, &train.table, &parts_plan(), &context, &mut Silent)?;
                mean_rms(&model, &test.table, &context)
            })
            .collect::<Result<Vec<f64>>>()?;
        row("MCVQ", &format!("{parts} parts, {states} states"), paper, &errors);
    }
    let errors = (0..seeds)
        .map(|seed| {
            let (train, test) = shapes::split(seed)?;
            let context = Context::new(seed).with_threads(0)?;
            let plan = Plan { restarts: 5, ..Plan::default() };
            let (model, _) =
                vq::fit(&VqParams::new(38), &train.table, &plan, &context, &mut Silent)?;
            mean_rms(&model, &test.table, &context)
        })
        .collect::<Result<Vec<f64>>>()?;
    row("VQ", "38 vectors", 0.49, &errors);
    let errors = (0..seeds)
        .map(|seed| {
            let (train, test) = shapes::split(seed)?;
            let context = Context::new(seed).with_threads(0)?;
            let params = PcaParams::new(12);
            let (model, _) =
                pca::fit(&params, &train.table, &Plan::default(), &context, &mut Silent)?;
            mean_rms(&model, &test.table, &context)
        })
        .collect::<Result<Vec<f64>>>()?;
    row("PCA", "12 components", 0.22, &errors);
    let errors = (0..seeds)
        .map(|seed| {
            let (train, test) = shapes::split(seed)?;
            let context = Context::new(seed).with_threads(0)?;
            // Pixels from -1 to 1 are raised to be learned; errors do not change.
            let (train, test) = (raised(&train.table)?, raised(&test.table)?);
            let params = NmfParams { loss: Loss::Kl, ..NmfParams::new(12) };
            let plan = Plan { restarts: 3, passes: 500, ..Plan::default() };
            let (model, _) = nmf::fit(&params, &train, &plan, &context, &mut Silent)?;
            mean_rms(&model, &test, &context)
        })
        .collect::<Result<Vec<f64>>>()?;
    row("NMF", "12 components", 0.35, &errors);
    println!();

    let clean = |toy: Toy, _: u64| Ok(toy);
    let noisy = |toy: Toy, seed: u64| toy.with_noise(0.3, seed);
    let holes = |toy: Toy, seed: u64| toy.with_missing(0.5, seed);
    parts_found("as they are", seeds.max(20), clean)?;
    parts_found("with Gaussian noise of 0.3", seeds.max(20), noisy)?;
    parts_found("with half of the cells missing", seeds.max(20), holes)
}

/// The table with 1 added to every cell.
fn raised(table: &Table<f32>) -> Result<Table<f32>> {
    let Cells::Dense(cells) = table.cells() else { return Ok(table.clone()) };
    let values = cells.values().iter().map(|x| x + 1.0).collect();
    Ok(Table::from(Dense::new(table.rows(), table.columns(), values)?))
}

fn row(model: &str, size: &str, paper: f64, errors: &[f64]) {
    let (mean, spread) = mean_and_spread(errors);
    println!("{model:<8} {size:<18} {paper:>6.2} {mean:>8.4} ({spread:.4})");
}

/// In how many seeds box, triangle and cross come out as the three parts.
fn parts_found(what: &str, seeds: u64, change: impl Fn(Toy, u64) -> Result<Toy>) -> Result<()> {
    let mut purities = Vec::new();
    for seed in 0..seeds {
        let train = change(shapes::split(seed)?.0, seed)?;
        let context = Context::new(seed).with_threads(0)?;
        let params = McvqParams::new(3, 12);
        let (model, _) = mcvq::fit(&params, &train.table, &parts_plan(), &context, &mut Silent)?;
        purities.push(recovery(&model, &train)?.purity);
    }
    let whole = purities.iter().filter(|p| **p > 0.9999).count();
    let nearly = purities.iter().filter(|p| **p >= 0.95).count();
    println!(
        "3 parts x 12 states, shapes {what}: purity 1 in {whole} of {seeds} seeds, at least 0.95 in {nearly}"
    );
    Ok(())
}
