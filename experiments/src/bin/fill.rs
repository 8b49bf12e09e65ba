//! One cell in ten is hidden; every model that can fill is asked for it.
//!
//! `cargo xtask experiments fill`; `benches/fill_peers.py` does the same with scikit-learn and Lace.
//! Errors are root mean squares over the hidden cells, columns of body fat in units of their deviation.
//! The sizes of factor analysis, probabilistic PCA and NMF are chosen by a further tenth of the
//! cells, hidden in turn.

use mereo_core::slots::ColumnMoments;
use mereo_core::{Cells, Context, Dense, Plan, Result, Silent, Table, reconstruct, with_table};
use mereo_data::{ReadOptions, read};
use mereo_experiments::{cells, parts_plan, shared, wide};
use mereo_linear::{FaParams, NmfParams, PpcaParams, factor, nmf};
use mereo_mixture::{GmmParams, gaussian};
use mereo_parts::{McvqParams, mcvq};
use mereo_quantize::{VqParams, vq};

/// Rows of digits.
const DIGITS: usize = 3000;

/// The finaliser of splitmix64, as the peers' script has it.
fn hash(number: u64, seed: u64) -> u64 {
    let mut x = number.wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The table with one cell in ten hidden.
fn masked(table: &Table<f64>, seed: u64) -> Result<Table<f64>> {
    let values = cells(table)
        .iter()
        .enumerate()
        .map(|(i, &x)| if hash(i as u64, seed).is_multiple_of(10) { f64::NAN } else { x })
        .collect();
    Ok(Table::from(Dense::new(table.rows(), table.columns(), values)?))
}

/// The root mean square error in cells that are hidden in one table and known in the other.
fn error(filled: &[f64], hidden: &Table<f64>, whole: &Table<f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for ((f, h), w) in filled.iter().zip(cells(hidden)).zip(cells(whole)) {
        if h.is_nan() && !w.is_nan() {
            sum += (f - w).powi(2);
            count += 1.0;
        }
    }
    (sum / count).sqrt()
}

type Fill = fn(&Table<f64>, usize, &Context) -> Result<Vec<f64>>;

fn plan() -> Plan {
    Plan { passes: 200, tolerance: 1e-3, ..Plan::default() }
}

fn by_fa(table: &Table<f64>, n: usize, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = factor::fit_fa(&FaParams::new(n), table, &plan(), context, &mut Silent)?;
    Ok(reconstruct::<f64>(&model, table, context)?.into_values())
}

fn by_ppca(table: &Table<f64>, n: usize, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = factor::fit_ppca(&PpcaParams::new(n), table, &plan(), context, &mut Silent)?;
    Ok(reconstruct::<f64>(&model, table, context)?.into_values())
}

fn by_nmf(table: &Table<f64>, n: usize, context: &Context) -> Result<Vec<f64>> {
    let lowest = cells(table).iter().copied().filter(|x| !x.is_nan()).fold(f64::INFINITY, f64::min);
    let values = cells(table).iter().map(|x| x - lowest).collect();
    let raised = Table::from(Dense::new(table.rows(), table.columns(), values)?);
    let (model, _) = nmf::fit(&NmfParams::new(n), &raised, &plan(), context, &mut Silent)?;
    let filled = reconstruct::<f64>(&model, &raised, context)?;
    Ok(filled.values().iter().map(|x| x + lowest).collect())
}

fn by_gmm(table: &Table<f64>, n: usize, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = gaussian::fit(&GmmParams::new(n), table, &plan(), context, &mut Silent)?;
    Ok(reconstruct::<f64>(&model, table, context)?.into_values())
}

fn by_mcvq(table: &Table<f64>, n: usize, context: &Context) -> Result<Vec<f64>> {
    let params = McvqParams::new(n, 12);
    let (model, _) = mcvq::fit(&params, table, &parts_plan(), context, &mut Silent)?;
    Ok(reconstruct::<f64>(&model, table, context)?.into_values())
}

fn by_vq(table: &Table<f64>, n: usize, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = vq::fit(&VqParams::new(n), table, &plan(), context, &mut Silent)?;
    Ok(reconstruct::<f64>(&model, table, context)?.into_values())
}

fn main() -> Result<()> {
    let context = Context::new(0).with_threads(0)?;
    println!("RMSE in one hidden cell of ten\n");
    println!("{:<14} {:<24} {:>8}", "data", "model", "error");
    if let Some(path) = shared("expression/yeast_cellcycle.npy") {
        let yeast = wide(&read(&path, &ReadOptions::default())?)?;
        all("yeast", &yeast, &context)?;
    }
    if let Some(path) = shared("tabular/bodyfat.csv") {
        let fat = wide(&read(&path, &ReadOptions::default())?)?;
        all("body fat", &standardised(&fat, &context)?, &context)?;
    }
    if let Some(path) = shared("mnist/train-images-idx3-ubyte.gz") {
        let any = read(&path, &ReadOptions::default())?;
        all("digits 14x14", &halved(&with_table!(&any, table => first_rows(table)))?, &context)?;
    }
    Ok(())
}

fn first_rows<T: mereo_core::Real>(table: &Table<T>) -> Vec<f64> {
    match table.cells() {
        Cells::Dense(cells) => {
            cells.values()[..DIGITS * cells.columns()].iter().map(|x| x.wide()).collect()
        }
        Cells::Sparse(_) => Vec::new(),
    }
}

/// Pictures of 28 x 28 as means of 2 x 2 pixels, from 0 to 1.
fn halved(pixels: &[f64]) -> Result<Table<f64>> {
    let mut values = Vec::with_capacity(pixels.len() / 4);
    for picture in pixels.chunks_exact(784) {
        for at in 0..196 {
            let (y, x) = (at / 14 * 2, at % 14 * 2);
            let sum: f64 = [0, 1, 28, 29].iter().map(|o| picture[y * 28 + x + o]).sum();
            values.push(sum / 4.0 / 255.0);
        }
    }
    Ok(Table::from(Dense::new(values.len() / 196, 196, values)?))
}

/// Columns about their means in units of their deviations, those of the cells left to see.
fn standardised(table: &Table<f64>, context: &Context) -> Result<Table<f64>> {
    let moments = ColumnMoments::of(&masked(table, 1)?, context)?;
    let d = table.columns();
    let unit = |i: usize| moments.variance(i % d).sqrt().max(f64::MIN_POSITIVE);
    let values =
        cells(table).iter().enumerate().map(|(i, x)| (x - moments.mean[i % d]) / unit(i)).collect();
    Ok(Table::from(Dense::new(table.rows(), d, values)?))
}

fn all(name: &str, whole: &Table<f64>, context: &Context) -> Result<()> {
    let hidden = masked(whole, 1)?;
    // What is hidden twice chooses sizes.
    let twice = masked(&hidden, 2)?;
    let (small, large) = (whole.columns() < 20, whole.columns() > 100);
    let sizes: &[usize] = match (small, large) {
        (true, _) => &[1, 2, 3, 4, 5, 6, 8],
        (_, true) => &[20, 40, 60, 80],
        _ => &[5, 10, 15, 20, 30, 40],
    };
    let chosen: [(&str, Fill); 3] =
        [("factor analysis", by_fa), ("probabilistic PCA", by_ppca), ("NMF", by_nmf)];
    for (model, fill) in chosen {
        let mut best = (f64::INFINITY, sizes[0]);
        for &n in sizes {
            let found = error(&fill(&twice, n, context)?, &twice, &hidden);
            if found < best.0 {
                best = (found, n);
            } else {
                break;
            }
        }
        let n = best.1;
        line(name, &format!("{model} ({n})"), error(&fill(&hidden, n, context)?, &hidden, whole));
    }
    let parts = if small { 3 } else { 8 };
    let components = if small { 5 } else { 60 };
    let fixed: [(&str, Fill, usize); 3] = [
        ("diagonal mixture", by_gmm, components),
        ("VQ", by_vq, components),
        ("MCVQ, 12 states", by_mcvq, parts),
    ];
    for (model, fill, n) in fixed {
        line(name, &format!("{model} ({n})"), error(&fill(&hidden, n, context)?, &hidden, whole));
    }
    Ok(())
}

fn line(data: &str, model: &str, error: f64) {
    println!("{data:<14} {model:<24} {error:>8.4}");
}
