//! Thesis section 3.1.3 and JMLR 3.1: faces of 19 x 19 pixels rebuilt by models of about the same
//! description length, pixels of samples that are out of the range of the data, and Figure 6: the
//! bases of NMF (first two lines) and probabilistic PCA.
//!
//! `cargo xtask experiments cbcl`.

use mereo_core::{
    Cells, Context, Dense, Picture, Plan, Real, Result, Sample, Silent, Table, encode, sample,
    with_table,
};
use mereo_data::{ReadOptions, read};
use mereo_experiments::{cells, draw_each, mean_rms, parts_plan, shared};
use mereo_linear::{Loss, NmfParams, PcaParams, PpcaParams, factor, nmf, pca};
use mereo_parts::{McvqParams, mcvq};
use mereo_quantize::{VqParams, vq};

const PIXELS: usize = 361;
const TRAIN: usize = 1800;
const TEST: usize = 629;
/// Bits of a real number, as the thesis's 5.9e5 bits for 12 components of the shapes imply.
const REAL: f64 = 64.0;

fn main() -> Result<()> {
    let Some(path) = shared("cbcl-faces/train_faces.npy") else { return Ok(()) };
    let any = read(&path, &ReadOptions::default())?;
    // Pixels from -1 to 1.
    let values: Vec<f64> = with_table!(&any, table => match table.cells() {
        Cells::Dense(cells) => cells.values().iter().map(|x| x.to_f64() / 127.5 - 1.0).collect(),
        Cells::Sparse(_) => Vec::new(),
    });
    let all = Table::from(Dense::new(values.len() / PIXELS, PIXELS, values)?);
    // Every row to the place of a multiple of it: a fixed shuffle.
    let order: Vec<usize> = (0..all.rows()).map(|r| r * 1009 % all.rows()).collect();
    let train = all.select_rows(&order[..TRAIN]);
    let test = all.select_rows(&order[TRAIN..TRAIN + TEST]);
    let context = Context::new(0).with_threads(0)?;

    println!("Thesis 3.1.3: mean RMS error over {TEST} faces, about 1.5e6 bits each\n");
    println!("{:<8} {:<22} {:>10} {:>6} {:>8}", "model", "size", "bits", "paper", "ours");
    let line = |model: &str, size: &str, bits: f64, paper: f64, error: f64| {
        println!("{model:<8} {size:<22} {bits:>10.2e} {paper:>6.2} {error:>8.4}");
    };
    let linear_bits = |n: usize| REAL * n as f64 * (PIXELS + TEST) as f64;
    let n = 24;
    let params = PcaParams::new(n);
    let (model, _) = pca::fit(&params, &train, &Plan::default(), &context, &mut Silent)?;
    let size = format!("{n} components");
    line("PCA", &size, linear_bits(n), 0.12, mean_rms(&model, &test, &context)?);

    let (up, up_test) = (raised(&train)?, raised(&test)?);
    let params = NmfParams { loss: Loss::Kl, ..NmfParams::new(n) };
    let plan = Plan { passes: 400, ..Plan::default() };
    let (factors, _) = nmf::fit(&params, &up, &plan, &context, &mut Silent)?;
    line("NMF", &size, linear_bits(n), 0.20, mean_rms(&factors, &up_test, &context)?);

    let mut quantised = None;
    for (parts, states) in [(6, 5), (3, 10)] {
        let params = McvqParams::new(parts, states);
        let (model, _) = mcvq::fit(&params, &train, &parts_plan(), &context, &mut Silent)?;
        let vectors = 2.0 * (parts * states) as f64 + parts as f64;
        let codes = TEST as f64 * parts as f64 * (states as f64).log2();
        let bits = REAL * vectors * PIXELS as f64 + codes;
        let size = format!("{parts} parts, {states} states");
        line("MCVQ", &size, bits, 0.23, mean_rms(&model, &test, &context)?);
        quantised = quantised.or(Some(model));
    }
    let states = 32;
    let plan = Plan { restarts: 3, ..Plan::default() };
    let (model, _) = vq::fit(&VqParams::new(states), &train, &plan, &context, &mut Silent)?;
    let bits = REAL * 2.0 * (states * PIXELS) as f64 + TEST as f64 * (states as f64).log2();
    line("VQ", &format!("{states} vectors"), bits, 0.28, mean_rms(&model, &test, &context)?);

    println!(
        "\nJMLR 3.1: pixels of 1,000 samples without noise that are out of the data's range\n"
    );
    println!("{:<8} {:>7} {:>8}", "model", "paper", "ours");
    let params = PpcaParams::new(n);
    let (model, _) = factor::fit_ppca(&params, &train, &Plan::default(), &context, &mut Silent)?;
    println!("{:<8} {:>6}% {:>7.2}%", "PPCA", 7, 100.0 * outside(&model, &train, &context)?);
    let bases = [factors.component(), model.component()].concat();
    let picture = Picture { height: 19, width: 19, channels: 1 };
    draw_each("cbcl-bases", &bases, picture, 12)?;
    // NMF has no density: each amount is that of some row, drawn independently.
    let codes = encode(&factors, &up, &context)?;
    let mut random = context.random("amounts", [0, 0]);
    let mut rows = Vec::new();
    for _ in 0..1000 {
        let mut row = vec![-1.0; PIXELS];
        for (j, w) in factors.component().chunks_exact(PIXELS).enumerate() {
            let from = mereo_core::draw(&vec![1.0; TRAIN], &mut random).unwrap_or(0);
            let amount = codes.row(from)[j];
            row.iter_mut().zip(w).for_each(|(x, w)| *x += amount * w);
        }
        rows.extend(row);
    }
    println!("{:<8} {:>6}% {:>7.2}%", "NMF", 4.5, 100.0 * share_outside(&rows, &train));
    if let Some(model) = quantised {
        println!("{:<8} {:>6}% {:>7.2}%", "MCVQ", 0, 100.0 * outside(&model, &train, &context)?);
    }
    Ok(())
}

/// The share of a model's samples' pixels that are outside of what each pixel shows in the data.
fn outside(model: &dyn Sample, train: &Table<f64>, context: &Context) -> Result<f64> {
    Ok(share_outside(sample(model, 1000, false, context)?.values(), train))
}

fn share_outside(rows: &[f64], train: &Table<f64>) -> f64 {
    let (low, high) = cells(train)
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
    let out = rows.iter().filter(|x| **x < low - 1e-9 || **x > high + 1e-9).count();
    out as f64 / rows.len() as f64
}

/// The table with 1 added to every cell.
fn raised(table: &Table<f64>) -> Result<Table<f64>> {
    let values = cells(table).iter().map(|x| x + 1.0).collect();
    Ok(Table::from(Dense::new(table.rows(), table.columns(), values)?))
}
