//! Thesis section 3.1.2 and Table 3.1: 100 shape images to learn from, 629 to test on.
//!
//! `cargo xtask experiments shapes`; the number of seeds may follow.

use mereo_core::{
    Cells, Context, Dense, Picture, Plan, Real, Reconstruct, Result, Silent, Table, Training,
    reconstruct,
};
use mereo_data::toy::{Toy, shapes};
use mereo_experiments::{draw_each, mean_and_spread, mean_rms, parts_plan, recovery, seeds};
use mereo_linear::{Loss, Nmf, NmfParams, PcaParams, nmf, pca};
use mereo_parts::{McvqParams, mcvq};
use mereo_quantize::{CvqParams, VqParams, cvq, vq};

/// Table 3.1 of the thesis: parts, states, its error.
const MCVQ_ROWS: [(usize, usize, f64); 5] =
    [(3, 12, 0.21), (2, 18, 0.26), (4, 9, 0.26), (8, 4, 0.34), (6, 6, 0.35)];

fn main() -> Result<()> {
    let seeds = seeds(20);
    println!("Thesis Table 3.1: mean RMS error over 629 test images ({seeds} seeds)\n");
    println!("{:<8} {:<18} {:>6} {:>16}", "model", "size", "paper", "ours (spread)");
    for (parts, states, paper) in MCVQ_ROWS {
        let size = format!("{parts} parts, {states} states");
        row("MCVQ", &size, Some(paper), seeds, |train, test, context| {
            let params = McvqParams::new(parts, states);
            let (model, _) = mcvq::fit(&params, train, &parts_plan(), context, &mut Silent)?;
            mean_rms(&model, test, context)
        })?;
    }
    row("CVQ", "3 parts, 12 states", None, seeds, |train, test, context| {
        let (model, _) =
            cvq::fit(&CvqParams::new(3, 12), train, &restarts(), context, &mut Silent)?;
        mean_rms(&model, test, context)
    })?;
    row("VQ", "38 vectors", Some(0.49), seeds, |train, test, context| {
        let (model, _) = vq::fit(&VqParams::new(38), train, &restarts(), context, &mut Silent)?;
        mean_rms(&model, test, context)
    })?;
    row("PCA", "12 components", Some(0.22), seeds, |train, test, context| {
        let (model, _) =
            pca::fit(&PcaParams::new(12), train, &Plan::default(), context, &mut Silent)?;
        mean_rms(&model, test, context)
    })?;
    row("NMF", "12 components", Some(0.35), seeds, |train, test, context| {
        // Pixels from -1 to 1 are raised to be learned; errors do not change.
        let (model, _) = nmf_of(12, &raised(train)?, context)?;
        mean_rms(&model, &raised(test)?, context)
    })?;
    println!();
    draw_others()?;

    let clean = |toy: Toy, _: u64| Ok(toy);
    let noisy = |toy: Toy, seed: u64| toy.with_noise(0.3, seed);
    let holes = |toy: Toy, seed: u64| toy.with_missing(0.5, seed);
    parts_found("as they are", seeds.max(20), clean)?;
    parts_found("with Gaussian noise of 0.3", seeds.max(20), noisy)?;
    parts_found("with half of the cells missing", seeds.max(20), holes)
}

fn restarts() -> Plan {
    Plan { restarts: 5, ..Plan::default() }
}

fn nmf_of(components: usize, train: &Table<f32>, context: &Context) -> Result<(Nmf, Training)> {
    let params = NmfParams { loss: Loss::Kl, ..NmfParams::new(components) };
    let plan = Plan { restarts: 3, passes: 500, ..Plan::default() };
    nmf::fit(&params, train, &plan, context, &mut Silent)
}

/// Figure 3.2: a line of 15 vectors each of VQ, PCA, NMF and CVQ (3 parts of 5 states), and below
/// them a test image and what VQ, PCA, NMF, CVQ and MCVQ make of it.
fn draw_others() -> Result<()> {
    let (train, test) = shapes::split(0)?;
    let (train, test) = (&train.table, &test.table);
    let context = &Context::new(0).with_threads(0)?;
    let (vq, _) = vq::fit(&VqParams::new(15), train, &restarts(), context, &mut Silent)?;
    let (pca, _) = pca::fit(&PcaParams::new(15), train, &Plan::default(), context, &mut Silent)?;
    let (nmf, _) = nmf_of(15, &raised(train)?, context)?;
    let (cvq, _) = cvq::fit(&CvqParams::new(3, 5), train, &restarts(), context, &mut Silent)?;
    let (mcvq, _) = mcvq::fit(&McvqParams::new(3, 5), train, &parts_plan(), context, &mut Silent)?;
    let mut pictures: Vec<f64> = [vq.mean(), pca.component(), nmf.component(), cvq.mean()].concat();
    // None of the training images has all three shapes near the top.
    let one = test.select_rows(&[0]);
    let Cells::Dense(original) = one.cells() else { return Ok(()) };
    pictures.extend(original.values().iter().map(|x| x.to_f64()));
    let up = raised(&one)?;
    let models: [(&dyn Reconstruct<f32>, &Table<f32>); 5] =
        [(&vq, &one), (&pca, &one), (&nmf, &up), (&cvq, &one), (&mcvq, &one)];
    for (model, rows) in models {
        pictures.extend(reconstruct(model, rows, context)?.values().iter().map(|x| x.to_f64()));
    }
    draw_each("shapes-others", &pictures, Picture { height: 11, width: 11, channels: 1 }, 15)
}

/// The table with 1 added to every cell.
fn raised(table: &Table<f32>) -> Result<Table<f32>> {
    let Cells::Dense(cells) = table.cells() else { return Ok(table.clone()) };
    let values = cells.values().iter().map(|x| x + 1.0).collect();
    Ok(Table::from(Dense::new(table.rows(), table.columns(), values)?))
}

/// A line of the table: the errors that `run(train, test, context)` tells, seed by seed.
fn row(
    model: &str,
    size: &str,
    paper: Option<f64>,
    seeds: u64,
    run: impl Fn(&Table<f32>, &Table<f32>, &Context) -> Result<f64>,
) -> Result<()> {
    let errors = (0..seeds)
        .map(|seed| {
            let (train, test) = shapes::split(seed)?;
            run(&train.table, &test.table, &Context::new(seed).with_threads(0)?)
        })
        .collect::<Result<Vec<f64>>>()?;
    let (mean, spread) = mean_and_spread(&errors);
    let paper = paper.map_or("-".into(), |p| format!("{p:.2}"));
    println!("{model:<8} {size:<18} {paper:>6} {mean:>8.4} ({spread:.4})");
    Ok(())
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
