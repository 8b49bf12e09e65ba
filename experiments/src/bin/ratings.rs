//! JMLR 3.2, Table 2: predicting ratings that were held out, on `MovieLens` where the paper had
//! `EachMovie` (which is no longer given out), so that the paper's numbers are a guide only.
//!
//! Of every viewer one rating is held out; models are learned from two thirds of the viewers and
//! predict the held-out ratings of those (weak generalisation) and of the others (strong
//! generalisation), in three folds. The paper shows each model at its best size with at most 60
//! vectors; here the size is chosen by a further rating held out of each training viewer, and
//! the paper's size stands beside it.
//!
//! `cargo xtask experiments ratings`.

use mereo_core::{
    Cells, Context, Plan, Real, Reconstruct, Result, Silent, Sparse, Table, reconstruct, with_table,
};
use mereo_data::{ReadOptions, read};
use mereo_experiments::{parts_plan, shared};
use mereo_linear::{FaParams, factor};
use mereo_mixture::{GmmParams, gaussian};
use mereo_parts::{McfaParams, McvqParams, mcfa, mcvq};
use rand::RngExt;

/// The mean absolute error of guesses at random, of ratings from 1 to 5.
const CHANCE: f64 = 4.0 * 6.0 / (3.0 * 5.0);
const FOLDS: usize = 3;

/// A row and column of a table, and what stood there.
type Held = Vec<(usize, usize, f64)>;

fn main() -> Result<()> {
    let Some(path) = shared("movielens-100k/u.data.gz") else { return Ok(()) };
    let all: Table<f64> = with_table!(&read(&path, &ReadOptions::default())?, table => {
        let Cells::Sparse(cells) = table.cells() else { return Ok(()) };
        let values = cells.values().iter().map(|v| v.to_f64()).collect();
        let (starts, indices) = (cells.starts().to_vec(), cells.indices().to_vec());
        Table::from(Sparse::new(cells.columns(), starts, indices, values, cells.absent())?)
    });
    println!(
        "JMLR Table 2: error by the error of guessing, {FOLDS} folds of {} viewers",
        all.rows()
    );
    println!("(the paper's numbers are of other data)\n");
    println!(
        "{:<20} {:<10} {:>6} {:>6}   {:>6} {:>6}",
        "model", "size", "weak", "strong", "paper", "strong"
    );
    let rows: [Row; 4] = [
        ("MCVQ", [0.4896, 0.4942], &[[5, 12], [3, 4], [2, 6], [4, 3], [5, 2]], fit_mcvq),
        ("Gaussian mixture", [0.4945, 0.4895], &[[1, 60], [1, 20], [1, 8], [1, 4]], fit_gmm),
        ("Factor analysis", [0.5314, 0.5318], &[[1, 60], [1, 20], [1, 8], [1, 4]], fit_fa),
        ("MCFA", [0.5502, 0.5503], &[[4, 6], [4, 2], [3, 1], [2, 2]], fit_mcfa),
    ];
    for (name, paper, sizes, fit) in rows {
        let mut of_paper = [0.0; 2];
        let mut chosen = [0.0; 2];
        let mut names = Vec::new();
        for fold in 0..FOLDS {
            let fold = Fold::new(&all, fold)?;
            // The size: one more rating held out of each training viewer.
            let (inner, held) = hold_out(&fold.train, 2)?;
            let mut best = (f64::INFINITY, sizes[0]);
            for &size in sizes {
                let model = fit(size, &inner, &fold.context)?;
                let error = error(model.as_ref(), &inner, &held, &fold.context)?;
                if error < best.0 {
                    best = (error, size);
                }
            }
            names.push(best.1);
            let first = fold.errors(fit(sizes[0], &fold.train, &fold.context)?.as_ref())?;
            let best = if best.1 == sizes[0] {
                first
            } else {
                fold.errors(fit(best.1, &fold.train, &fold.context)?.as_ref())?
            };
            for i in 0..2 {
                of_paper[i] += first[i] / FOLDS as f64;
                chosen[i] += best[i] / FOLDS as f64;
            }
        }
        let size = |[parts, each]: [usize; 2]| {
            if parts == 1 { each.to_string() } else { format!("{parts} x {each}") }
        };
        let [weak, strong] = of_paper;
        let [paper_weak, paper_strong] = paper;
        println!(
            "{name:<20} {:<10} {weak:>6.4} {strong:>6.4}   {paper_weak:>6.4} {paper_strong:>6.4}",
            size(sizes[0]),
        );
        let [weak, strong] = chosen;
        let names: Vec<String> = names.into_iter().map(size).collect();
        println!(
            "{:<20} {:<10} {weak:>6.4} {strong:>6.4}   by held-out ratings: {}",
            "",
            "chosen",
            names.join(", ")
        );
    }
    let mut errors = [0.0; 2];
    for fold in 0..FOLDS {
        let fold = Fold::new(&all, fold)?;
        let means = column_means(&fold.train);
        let of = |held: &Held| {
            held.iter().map(|&(_, d, x)| (means[d] - x).abs()).sum::<f64>()
                / (CHANCE * held.len() as f64)
        };
        errors[0] += of(&fold.weak) / FOLDS as f64;
        errors[1] += of(&fold.strong) / FOLDS as f64;
    }
    println!(
        "{:<31} {:>6.4} {:>6.4}   0.5621 0.5621",
        "Mean observed rating", errors[0], errors[1]
    );
    Ok(())
}

/// A model's name, the paper's errors, sizes to choose from (the paper's first), how to fit it.
type Row = (&'static str, [f64; 2], &'static [[usize; 2]], Fit);
type Model = Box<dyn Reconstruct<f64>>;
type Fit = fn([usize; 2], &Table<f64>, &Context) -> Result<Model>;

fn fit_mcvq([parts, states]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let params = McvqParams::new(parts, states);
    Ok(Box::new(mcvq::fit(&params, train, &parts_plan(), context, &mut Silent)?.0))
}

fn fit_gmm([_, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let plan = Plan { restarts: 3, ..Plan::default() };
    Ok(Box::new(gaussian::fit(&GmmParams::new(n), train, &plan, context, &mut Silent)?.0))
}

fn fit_fa([_, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let plan = Plan { passes: 30, ..Plan::default() };
    Ok(Box::new(factor::fit_fa(&FaParams::new(n), train, &plan, context, &mut Silent)?.0))
}

fn fit_mcfa([parts, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let params = McfaParams::new(parts, n);
    Ok(Box::new(mcfa::fit(&params, train, &parts_plan(), context, &mut Silent)?.0))
}

/// One fold of viewers.
struct Fold {
    train: Table<f64>,
    weak: Held,
    test: Table<f64>,
    strong: Held,
    context: Context,
}

impl Fold {
    fn new(all: &Table<f64>, fold: usize) -> Result<Self> {
        // A fixed shuffle: every row to the place of a multiple of it.
        let of = |row: usize| row * 1009 % all.rows() % FOLDS;
        let rows = |test: bool| {
            (0..all.rows()).filter(|&row| (of(row) == fold) == test).collect::<Vec<_>>()
        };
        let (train, weak) = hold_out(&all.select_rows(&rows(false)), 0)?;
        let (test, strong) = hold_out(&all.select_rows(&rows(true)), 1)?;
        let context = Context::new(fold as u64).with_threads(0)?;
        Ok(Self { train, weak, test, strong, context })
    }

    /// Weak and strong.
    fn errors(&self, model: &dyn Reconstruct<f64>) -> Result<[f64; 2]> {
        Ok([
            error(model, &self.train, &self.weak, &self.context)?,
            error(model, &self.test, &self.strong, &self.context)?,
        ])
    }
}

/// The table without one rating of every row, drawn at random, and those ratings.
fn hold_out(table: &Table<f64>, seed: u64) -> Result<(Table<f64>, Held)> {
    let Cells::Sparse(cells) = table.cells() else { return Ok((table.clone(), Vec::new())) };
    let mut random = Context::new(seed).random("held out", [0, 0]);
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut held = Vec::new();
    for row in 0..cells.rows() {
        let (columns, ratings) = cells.row(row);
        let out = random.random_range(0..columns.len());
        for (at, (&column, &rating)) in columns.iter().zip(ratings).enumerate() {
            if at == out {
                held.push((row, column as usize, rating));
            } else {
                indices.push(column);
                values.push(rating);
            }
        }
        starts.push(values.len());
    }
    Ok((Table::from(Sparse::new(cells.columns(), starts, indices, values, cells.absent())?), held))
}

/// The mean absolute error of a model's predictions, by that of guesses at random.
fn error(
    model: &dyn Reconstruct<f64>,
    table: &Table<f64>,
    held: &Held,
    context: &Context,
) -> Result<f64> {
    let rebuilt = reconstruct(model, table, context)?;
    let total: f64 = held.iter().map(|&(row, d, x)| (rebuilt.row(row)[d] - x).abs()).sum();
    Ok(total / (CHANCE * held.len() as f64))
}

/// The mean of what rows tell of each column; of all cells where none does.
fn column_means(table: &Table<f64>) -> Vec<f64> {
    let Cells::Sparse(cells) = table.cells() else { return Vec::new() };
    let all = cells.values().iter().sum::<f64>() / cells.values().len() as f64;
    let mut sums = vec![(0.0, 0.0); cells.columns()];
    for (&column, &x) in cells.indices().iter().zip(cells.values()) {
        let (sum, count) = &mut sums[column as usize];
        (*sum, *count) = (*sum + x, *count + 1.0);
    }
    sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { all }).collect()
}
