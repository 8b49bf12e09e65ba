//! Deep GMM, Figure 2: how well the search for a row's path does, and what it costs.
//!
//! Patches of natural images (BSDS300) and a Deep GMM of three layers by hard EM. First, learning with the
//! full search against the coordinate search, which begins from the path of the pass before and from one
//! random path; pass by pass, with the share of rows for which the random one was better. Then, in
//! the learned model, how often coordinate ascent from random paths finds the best of all, by
//! the number of paths it begins from. `cargo xtask experiments search`; the number of patches may follow.

use mereo_core::math::{Matrix, product_nt, whitening};
use mereo_core::{Cells, Context, Observer, Plan, Record, Result, Score, Table, score};
use mereo_data::patches;
use mereo_experiments::plot::draw_curves;
use mereo_experiments::{seeds, shared};
use mereo_mixture::deep::{Em, Search};
use mereo_mixture::{DeepGmm, DeepGmmParams, deep};
use rand::RngExt;

const SIZES: [usize; 3] = [5, 5, 5];
const TEST: usize = 10_000;
const PASSES: usize = 60;
/// Rows whose paths are searched in the learned model, and from how many random paths at most.
const TRIED: usize = 2000;
const BEGINNINGS: [usize; 5] = [1, 2, 4, 8, 16];

/// Keeps bounds, and how many rows switched to what a random path led to.
struct Passes {
    rows: f64,
    bounds: Vec<f64>,
    switched: Vec<f64>,
    seconds: f64,
}

impl Observer for Passes {
    fn passed(&mut self, record: &Record) {
        self.bounds.push(record.bound / self.rows);
        self.seconds = record.seconds;
        let rates = record.notes.iter().filter_map(|note| {
            let rate = note.strip_prefix("a random start found better paths for ")?;
            rate.split(' ').next()?.parse::<f64>().ok()
        });
        self.switched.extend(rates);
    }
}

fn main() -> Result<()> {
    let [Some(train), Some(test)] = [shared("bsds300/train.tar"), shared("bsds300/test.tar")]
    else {
        return Ok(());
    };
    let count = seeds(20_000) as usize;
    let context = Context::new(0).with_threads(0)?;
    let (rows, others) = (patches(&train, 8, count, 0)?, patches(&test, 8, TEST, 1000)?);
    println!("{count} patches of BSDS300, layers of {SIZES:?}, hard EM; nats a patch\n");
    println!("{:<12} {:>10} {:>10} {:>7} {:>9}", "search", "bound", "test", "passes", "s a pass");
    let (mut bounds, mut switches) = (Vec::new(), Vec::new());
    let mut last = None;
    for (name, search) in [("full", Search::Full), ("coordinate", Search::Coordinate)] {
        let params = DeepGmmParams { em: Em::Hard, search, ..DeepGmmParams::new(&SIZES) };
        let plan = Plan { passes: PASSES, tolerance: 0.0, ..Plan::default() };
        let mut seen =
            Passes { rows: count as f64, bounds: Vec::new(), switched: Vec::new(), seconds: 0.0 };
        let (model, training) = deep::fit(&params, &rows, &plan, &context, &mut seen)?;
        let tested = score(&model as &dyn Score<f32>, &others, &context)?.mean;
        println!(
            "{name:<12} {:>10.2} {tested:>10.2} {:>7} {:>9.2}",
            training.bound / count as f64,
            training.passes,
            seen.seconds / training.passes.max(1) as f64
        );
        let by_pass = |values: &[f64], from: usize| -> Vec<(f64, f64)> {
            values.iter().enumerate().skip(from).map(|(i, &v)| (i as f64, v)).collect()
        };
        bounds.push((name.to_owned(), by_pass(&seen.bounds, 2)));
        if !seen.switched.is_empty() {
            let percent: Vec<f64> = seen.switched.iter().map(|s| 100.0 * s).collect();
            println!("\nrows that a random path led to a better one, by pass:");
            for pass in [0, 1, 2, 5, 10, 20, 40].into_iter().filter(|&p| p < percent.len()) {
                println!("{pass:>4}: {:.1}%", percent[pass]);
            }
            switches.push(("switched".to_owned(), by_pass(&percent, 1)));
        }
        last = Some(model);
    }
    if let Some(model) = last {
        from_random_paths(&model, &others, &context);
    }
    let titles = ("Learning with each search (Figure 2)", "Rows that switch (Figure 2)");
    draw_curves("search_bound", titles.0, ("pass", "bound, nats a patch"), &bounds)?;
    draw_curves("search_switches", titles.1, ("pass", "% of rows"), &switches)
}

/// How often coordinate ascent from random paths finds the best of all.
fn from_random_paths(model: &DeepGmm, rows: &Table<f32>, context: &Context) {
    let joint = log_joint(model, rows);
    let paths = model.path_weight().len();
    println!("\ncoordinate ascent in the learned model, from random paths:");
    println!("{:>10} {:>12} {:>20}", "beginnings", "best found", "nats below the best");
    for beginnings in BEGINNINGS {
        let (mut found, mut below) = (0, 0.0);
        for (row, logs) in joint.chunks_exact(paths).enumerate() {
            let best = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut random = context.random("beginnings", [row as u64, 0]);
            let reached = (0..beginnings)
                .map(|_| logs[ascend(logs, model.sizes(), random.random_range(0..paths))])
                .fold(f64::NEG_INFINITY, f64::max);
            found += usize::from(reached >= best);
            below += best - reached;
        }
        println!(
            "{beginnings:>10} {:>11.1}% {:>20.2}",
            100.0 * found as f64 / TRIED as f64,
            below / TRIED as f64
        );
    }
}

/// The path where no layer alone can change for the better.
fn ascend(logs: &[f64], sizes: &[usize], mut path: usize) -> usize {
    loop {
        let before = path;
        let mut below = logs.len();
        for &size in sizes {
            below /= size;
            let first = path - path / below % size * below;
            for other in (0..size).map(|c| first + c * below) {
                if logs[other] > logs[path] {
                    path = other;
                }
            }
        }
        if path == before {
            return path;
        }
    }
}

/// `[R, P]`: the log joint density of rows and paths, by the definition.
fn log_joint(model: &DeepGmm, rows: &Table<f32>) -> Vec<f64> {
    let Cells::Dense(cells) = rows.cells() else { return Vec::new() };
    let (d, sizes) = (model.columns(), model.sizes());
    let paths = model.path_weight().len();
    let mut out = vec![0.0; TRIED * paths];
    for path in 0..paths {
        // Ω, the product of the transforms along the path.
        let mut omega: Vec<f64> = (0..d * d).map(|i| f64::from(i / d == i % d)).collect();
        let mut below = paths;
        for (layer, size) in sizes.iter().enumerate() {
            below /= size;
            let own = &model.transform(layer)[path / below % size * d * d..][..d * d];
            let mut next = vec![0.0; d * d];
            mereo_core::math::product(
                &mut next,
                Matrix::new(own, d, d),
                Matrix::new(&omega, d, d),
                false,
            );
            omega = next;
        }
        let mut covariance = vec![0.0; d * d];
        product_nt(&mut covariance, Matrix::new(&omega, d, d), Matrix::new(&omega, d, d), false);
        let Some(white) = whitening(&covariance, d) else { continue };
        let mean = &model.path_mean()[path * d..(path + 1) * d];
        let apart: Vec<f64> = (0..TRIED)
            .flat_map(|row| cells.row(row).iter().zip(mean).map(|(&x, m)| f64::from(x) - m))
            .collect();
        let mut turned = vec![0.0; TRIED * d];
        let matrix = Matrix::new(&white.matrix, d, d);
        product_nt(&mut turned, Matrix::new(&apart, TRIED, d), matrix, false);
        let weight = model.path_weight()[path].max(1e-300).ln();
        for (row, turned) in turned.chunks_exact(d).enumerate() {
            let square: f64 = turned.iter().map(|v| v * v).sum();
            out[row * paths + path] = weight - 0.5 * (white.log_determinant + square);
        }
    }
    out
}
