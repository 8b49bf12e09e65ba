//! One cell in ten is hidden; every model that can fill is asked for it.
//!
//! `cargo xtask experiments fill`; words that follow choose data and models by their names.
//! `benches/fill_peers.py` does the same with scikit-learn and Lace.
//! Errors are root mean squares over the hidden cells, columns of body fat in units of their deviation.
//! Sizes, and the shrinkage and floors of mixtures, are chosen by a further tenth of the cells, hidden
//! in turn.

use std::time::Instant;

use mereo_core::slots::ColumnMoments;
use mereo_core::{
    Cells, Context, Dense, Plan, Reconstruct, Result, Silent, Table, reconstruct, with_table,
};
use mereo_data::{ReadOptions, read};
use mereo_experiments::{cells, halved, parts_plan, shared, wide};
use mereo_linear::{FaParams, NmfParams, PpcaParams, factor, nmf};
use mereo_mixture::{Covariance, GmmParams, StudentParams, gaussian, student};
use mereo_parts::{McfaParams, McvqParams, mcfa, mcvq};
use mereo_quantize::{GvqParams, VqParams, gvq, vq};

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

/// What is chosen of a model, as its function below reads it: how large it is, then whatever else there is;
/// floors in thousandths of the columns' variance.
type Size = &'static [usize];
type Fill = fn(&Table<f64>, Size, &Context) -> Result<Vec<f64>>;

fn plan() -> Plan {
    Plan { passes: 100, tolerance: 1e-2, ..Plan::default() }
}

/// Passes of mixtures take longer.
fn mixture_plan() -> Plan {
    Plan { passes: 60, ..plan() }
}

fn by_fa(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = factor::fit_fa(&FaParams::new(size[0]), table, &plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_ppca(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let (model, _) =
        factor::fit_ppca(&PpcaParams::new(size[0]), table, &plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_nmf(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let lowest = cells(table).iter().copied().filter(|x| !x.is_nan()).fold(f64::INFINITY, f64::min);
    let values = cells(table).iter().map(|x| x - lowest).collect();
    let raised = Table::from(Dense::new(table.rows(), table.columns(), values)?);
    let (model, _) = nmf::fit(&NmfParams::new(size[0]), &raised, &plan(), context, &mut Silent)?;
    Ok(filled(&model, &raised, context)?.iter().map(|x| x + lowest).collect())
}

fn by_mixture(params: &GmmParams, table: &Table<f64>, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = gaussian::fit(params, table, &mixture_plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_diagonal(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    by_mixture(&GmmParams::new(size[0]), table, context)
}

/// Shrinkage and the floor keep components of few rows from fitting them too closely.
fn by_full(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let params = GmmParams {
        variance_floor: 1e-3 * size[2] as f64,
        shrinkage: Some(size[1] as f64),
        ..GmmParams::with(size[0], Covariance::Full)
    };
    by_mixture(&params, table, context)
}

fn by_tied(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    by_mixture(&GmmParams::with(size[0], Covariance::Tied), table, context)
}

fn by_student(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let variance_floor = 1e-3 * size[1] as f64;
    let params = StudentParams { variance_floor, ..StudentParams::new(size[0]) };
    let (model, _) = student::fit(&params, table, &mixture_plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_low_rank(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let params = GmmParams { factors: size[1], ..GmmParams::with(size[0], Covariance::LowRank) };
    by_mixture(&params, table, context)
}

fn by_mcvq(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let params = McvqParams::new(size[0], size[1]);
    let (model, _) = mcvq::fit(&params, table, &parts_plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_mcfa(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let params = McfaParams::new(size[0], size[1]);
    let (model, _) = mcfa::fit(&params, table, &parts_plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_gvq(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = gvq::fit(&GvqParams::new(size[0]), table, &plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_vq(table: &Table<f64>, size: Size, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = vq::fit(&VqParams::new(size[0]), table, &plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn filled(model: &dyn Reconstruct<f64>, table: &Table<f64>, context: &Context) -> Result<Vec<f64>> {
    Ok(reconstruct(model, table, context)?.into_values())
}

/// A model, how it fills, and its sizes: for few columns, for tens of them, for hundreds.
const MODELS: [(&str, Fill, [&[Size]; 3]); 12] = [
    (
        "factor analysis",
        by_fa,
        [
            &[&[1], &[2], &[3], &[4], &[5], &[6], &[8]],
            &[&[5], &[10], &[15], &[20], &[30], &[40]],
            &[&[20], &[40], &[80]],
        ],
    ),
    (
        "probabilistic PCA",
        by_ppca,
        [
            &[&[1], &[2], &[3], &[4], &[5], &[6], &[8]],
            &[&[5], &[10], &[15], &[20], &[30], &[40]],
            &[&[20], &[40], &[80]],
        ],
    ),
    (
        "NMF",
        by_nmf,
        [
            &[&[1], &[2], &[3], &[4], &[5], &[6], &[8]],
            &[&[5], &[10], &[15], &[20], &[30], &[40]],
            &[&[20], &[40], &[80]],
        ],
    ),
    ("diagonal mixture", by_diagonal, [&[&[3], &[5], &[10]], &[&[60]], &[&[60], &[120]]]),
    (
        "full mixture",
        by_full,
        [
            &[&[1, 0, 1], &[2, 30, 1], &[2, 30, 50], &[3, 100, 1], &[3, 100, 50], &[5, 100, 50]],
            &[&[1, 0, 1], &[2, 100, 1], &[4, 300, 1], &[4, 300, 50], &[8, 300, 1], &[8, 300, 50]],
            &[
                &[1, 0, 1],
                &[10, 300, 10],
                &[10, 300, 50],
                &[20, 300, 1],
                &[20, 300, 10],
                &[20, 300, 50],
                &[20, 300, 100],
                &[40, 300, 50],
            ],
        ],
    ),
    (
        "tied mixture",
        by_tied,
        [&[&[1], &[2], &[4]], &[&[1], &[4], &[10], &[20]], &[&[5], &[10], &[20], &[40]]],
    ),
    (
        "Student mixture",
        by_student,
        [&[&[1, 1], &[2, 1], &[3, 5]], &[&[1, 1], &[2, 10], &[4, 30]], &[&[1, 1], &[2, 10]]],
    ),
    (
        "factor analysers",
        by_low_rank,
        [
            &[&[1, 3], &[2, 3], &[3, 2]],
            &[&[1, 30], &[4, 20], &[8, 15], &[16, 10]],
            &[&[5, 30], &[10, 25], &[20, 20], &[40, 15]],
        ],
    ),
    ("VQ", by_vq, [&[&[5], &[10]], &[&[60]], &[&[60], &[200]]]),
    ("MCVQ", by_mcvq, [&[&[3, 12], &[5, 8]], &[&[8, 12]], &[&[8, 16], &[12, 16]]]),
    ("MCFA", by_mcfa, [&[&[3, 1], &[3, 2]], &[&[4, 6], &[6, 6]], &[&[6, 10]]]),
    ("GVQ", by_gvq, [&[&[4], &[8]], &[&[8], &[12]], &[&[12]]]),
];

fn main() -> Result<()> {
    let context = Context::new(0).with_threads(0)?;
    println!("RMSE in one hidden cell of ten\n");
    println!("{:<14} {:<26} {:>8}", "data", "model (size)", "error");
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
        let values = halved(&with_table!(&any, table => first_rows(table)), 28);
        let digits = Table::from(Dense::new(DIGITS, 196, values)?);
        all("digits 14x14", &digits, &context)?;
    }
    Ok(())
}

fn first_rows<T: mereo_core::Real>(table: &Table<T>) -> Vec<f64> {
    match table.cells() {
        Cells::Dense(cells) => {
            cells.values()[..DIGITS * cells.columns()].iter().map(|x| x.to_f64()).collect()
        }
        Cells::Sparse(_) => Vec::new(),
    }
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
    let kind = match whole.columns() {
        ..20 => 0,
        20..100 => 1,
        _ => 2,
    };
    let asked = |model: &str| {
        std::env::args().skip(1).all(|word| name.contains(&word) || model.contains(&word))
    };
    for (model, fill, sizes) in MODELS.into_iter().filter(|(model, ..)| asked(model)) {
        let began = Instant::now();
        let mut best = (f64::INFINITY, sizes[kind][0]);
        for &size in sizes[kind] {
            let found = error(&fill(&twice, size, context)?, &twice, &hidden);
            if found < best.0 {
                best = (found, size);
            }
        }
        let size = best.1.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let error = error(&fill(&hidden, best.1, context)?, &hidden, whole);
        let seconds = began.elapsed().as_secs_f64();
        println!("{name:<14} {:<26} {error:>8.4}  ({seconds:.0} s)", format!("{model} ({size})"));
    }
    Ok(())
}
