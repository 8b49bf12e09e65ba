//! JMLR 3.2, Table 2: predicting ratings that were held out, on `MovieLens` where the paper had
//! `EachMovie` (which is no longer given out), so that the paper's numbers are a guide only.
//!
//! Of every viewer one rating is held out; models are learned from two thirds of the viewers and
//! predict the held-out ratings of those (weak generalisation) and of the others (strong
//! generalisation), in three folds, several draws of held-out ratings. Errors are those of means and of medians of what
//! models predict, by the error of guessing (NMAE). Sizes are chosen by a further rating held out of each training viewer,
//! in the first draw. Then the official split `u1`: root mean squared errors, each model's size chosen the same way.
//!
//! `cargo xtask experiments ratings [DRAWS]`.

use std::io::Read;

use flate2::read::GzDecoder;
use mereo_core::{
    Absent, CellPrediction, Cells, Context, Plan, PredictCells, Result, Silent, Sparse, Table,
    predict_cells,
};
use mereo_experiments::{parts_plan, shared};
use mereo_linear::{FaParams, factor};
use mereo_mixture::{GmmParams, gaussian};
use mereo_parts::{McfaParams, McvqParams, mcfa, mcvq};
use mereo_ratings::{AspectParams, BfaParams, UrpParams, aspect, bfa, urp};
use rand::RngExt;

/// The mean absolute error of guesses at random, of ratings from 1 to 5.
const CHANCE: f64 = 4.0 * 6.0 / (3.0 * 5.0);
const STARS: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const FOLDS: usize = 3;
const USERS: usize = 943;
const FILMS: usize = 1682;

/// A row and column of a table, and what stood there.
type Held = Vec<(usize, usize, f64)>;
type Model = Box<dyn PredictCells<f64>>;
type Fit = fn([usize; 2], &Table<f64>, &Context) -> Result<Model>;
/// A model's name, the paper's errors if it has any, sizes to choose from, how to fit it.
type Row = (&'static str, Option<[f64; 2]>, &'static [[usize; 2]], Fit);

const MODELS: [Row; 7] = [
    ("MCVQ", Some([0.4896, 0.4942]), &[[5, 12], [3, 6], [5, 4]], fit_mcvq),
    ("MCFA", Some([0.5502, 0.5503]), &[[2, 10], [4, 4], [2, 4]], fit_mcfa),
    ("Factor analysis", Some([0.5314, 0.5318]), &[[1, 10], [1, 4]], fit_fa),
    ("Gaussian mixture", Some([0.4945, 0.4895]), &[[1, 60], [1, 20], [1, 8]], fit_gmm),
    ("Aspect model", None, &[[1, 10], [1, 30]], fit_aspect),
    ("URP", Some([0.4422, 0.4557]), &[[1, 5], [1, 10], [1, 20]], fit_urp),
    ("Bayesian FA", None, &[[1, 10], [1, 20]], fit_bfa),
];

fn main() -> Result<()> {
    let Some(all) = ratings("u.data.gz")? else { return Ok(()) };
    let draws = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4);
    println!(
        "JMLR Table 2: NMAE of {FOLDS} folds of {USERS} viewers, {draws} draws: mean (spread over draws)"
    );
    println!("(the paper's numbers are of other data, by means)\n");
    println!(
        "{:<18} {:<9} {:>14} {:>14}  {:>14} {:>14}  {:>6} {:>6}",
        "", "", "weak, mean", "weak, median", "strong, mean", "strong, median", "paper", "strong"
    );
    let mut baseline = Errors::default();
    for draw in 0..draws {
        let mut folds = Vec::new();
        for fold in 0..FOLDS {
            let fold = Fold::new(&all, fold, draw)?;
            let means = Means::of(&fold.train);
            let of = |table: &Table<f64>, held: &Held| {
                let error = held.iter().map(|&(row, d, x)| (means.guess(table, row, d) - x).abs());
                error.sum::<f64>() / (CHANCE * held.len() as f64)
            };
            let (weak, strong) = (of(&fold.train, &fold.weak), of(&fold.test, &fold.strong));
            folds.push([weak, weak, strong, strong]);
        }
        baseline.add(&folds);
    }
    baseline.print("User + item means", "", None);
    for (name, paper, sizes, fit) in MODELS {
        let (mut errors, mut chosen) = (Errors::default(), [sizes[0]; FOLDS]);
        for draw in 0..draws {
            let mut folds = Vec::new();
            for fold in 0..FOLDS {
                let number = fold;
                let fold = Fold::new(&all, fold, draw)?;
                if draw == 0 {
                    chosen[number] = choose(sizes, fit, &fold.train, &fold.context)?;
                }
                let model = fit(chosen[number], &fold.train, &fold.context)?;
                let [weak, weak_median] = nmae(&*model, &fold.train, &fold.weak, &fold.context)?;
                let [strong, strong_median] =
                    nmae(&*model, &fold.test, &fold.strong, &fold.context)?;
                folds.push([weak, weak_median, strong, strong_median]);
            }
            errors.add(&folds);
        }
        let sizes: Vec<String> = chosen.iter().map(|size| said(*size)).collect();
        errors.print(name, &sizes.join(","), paper);
    }
    split()
}

/// The official split.
fn split() -> Result<()> {
    let (Some(train), Some(test)) = (ratings("u1.base.gz")?, ratings("u1.test.gz")?) else {
        return Ok(());
    };
    let Cells::Sparse(cells) = test.cells() else { return Ok(()) };
    let mut held = Held::new();
    for row in 0..cells.rows() {
        let (columns, values) = cells.row(row);
        held.extend(columns.iter().zip(values).map(|(&d, &x)| (row, d as usize, x)));
    }
    println!("\nu1: RMSE on {} ratings (best published of ratings alone 0.889)", held.len());
    let context = Context::new(0).with_threads(0)?;
    let means = Means::of(&train);
    let squares: f64 =
        held.iter().map(|&(row, d, x)| (means.guess(&train, row, d) - x).powi(2)).sum();
    println!("{:<18} {:<9} {:.4}", "User + item means", "", (squares / held.len() as f64).sqrt());
    for (name, _, sizes, fit) in MODELS {
        let size = choose(sizes, fit, &train, &context)?;
        let model = fit(size, &train, &context)?;
        let cells: Vec<(usize, usize)> = held.iter().map(|h| (h.0, h.1)).collect();
        let told = predict_cells(&*model, &train, &cells, &context, |p| p.mean().clamp(1.0, 5.0))?;
        let squares: f64 = told.iter().zip(&held).map(|(p, h)| (p - h.2).powi(2)).sum();
        println!("{name:<18} {:<9} {:.4}", said(size), (squares / held.len() as f64).sqrt());
    }
    Ok(())
}

fn said([parts, each]: [usize; 2]) -> String {
    if parts == 1 { each.to_string() } else { format!("{parts}x{each}") }
}

/// The size that predicts one more rating of each viewer best.
fn choose(
    sizes: &[[usize; 2]],
    fit: Fit,
    train: &Table<f64>,
    context: &Context,
) -> Result<[usize; 2]> {
    let (inner, held) = hold_out(train, 1000)?;
    let mut best = (f64::INFINITY, sizes[0]);
    for &size in sizes {
        let error = nmae(&*fit(size, &inner, context)?, &inner, &held, context)?[0];
        if error < best.0 {
            best = (error, size);
        }
    }
    Ok(best.1)
}

fn fit_mcvq([parts, states]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let params = McvqParams::new(parts, states);
    Ok(Box::new(mcvq::fit(&params, train, &parts_plan(), context, &mut Silent)?.0))
}

fn fit_mcfa([parts, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let params = McfaParams::new(parts, n);
    Ok(Box::new(mcfa::fit(&params, train, &parts_plan(), context, &mut Silent)?.0))
}

fn fit_fa([_, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let params = FaParams::new(n);
    Ok(Box::new(factor::fit_fa(&params, train, &Plan::default(), context, &mut Silent)?.0))
}

fn fit_gmm([_, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let plan = Plan { restarts: 3, ..Plan::default() };
    Ok(Box::new(gaussian::fit(&GmmParams::new(n), train, &plan, context, &mut Silent)?.0))
}

fn fit_aspect([_, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let params = AspectParams::new(n);
    Ok(Box::new(aspect::fit(&params, train, &Plan::default(), context, &mut Silent)?.0))
}

fn fit_urp([_, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let params = UrpParams::new(n);
    Ok(Box::new(urp::fit(&params, train, &Plan::default(), context, &mut Silent)?.0))
}

fn fit_bfa([_, n]: [usize; 2], train: &Table<f64>, context: &Context) -> Result<Model> {
    let params = BfaParams::new(n);
    Ok(Box::new(bfa::fit(&params, train, &Plan::default(), context, &mut Silent)?.0))
}

/// Errors of draws: weak by mean and by median, strong by mean and by median.
#[derive(Default)]
struct Errors(Vec<[f64; 4]>);

impl Errors {
    fn add(&mut self, folds: &[[f64; 4]]) {
        let mean = |i: usize| folds.iter().map(|f| f[i]).sum::<f64>() / folds.len() as f64;
        self.0.push([mean(0), mean(1), mean(2), mean(3)]);
    }

    fn print(&self, name: &str, sizes: &str, paper: Option<[f64; 2]>) {
        let n = self.0.len() as f64;
        let of = |i: usize| {
            let mean = self.0.iter().map(|e| e[i]).sum::<f64>() / n;
            let square = self.0.iter().map(|e| (e[i] - mean).powi(2)).sum::<f64>();
            format!("{mean:.4} ({:.4})", (square / (n - 1.0).max(1.0)).sqrt())
        };
        let paper =
            paper.map_or(["-".to_owned(), "-".to_owned()], |p| p.map(|p| format!("{p:.4}")));
        let [weak, strong] = paper;
        println!(
            "{name:<18} {sizes:<9} {:>14} {:>14}  {:>14} {:>14}  {weak:>6} {strong:>6}",
            of(0),
            of(1),
            of(2),
            of(3)
        );
    }
}

/// One fold of viewers, in one draw of held-out ratings.
struct Fold {
    train: Table<f64>,
    weak: Held,
    test: Table<f64>,
    strong: Held,
    context: Context,
}

impl Fold {
    fn new(all: &Table<f64>, fold: usize, draw: usize) -> Result<Self> {
        // A fixed shuffle: every row to the place of a multiple of it.
        let of = |row: usize| row * 1009 % all.rows() % FOLDS;
        let rows = |test: bool| {
            (0..all.rows()).filter(|&row| (of(row) == fold) == test).collect::<Vec<_>>()
        };
        let seed = 2 * draw as u64;
        let (train, weak) = hold_out(&all.select_rows(&rows(false)), seed)?;
        let (test, strong) = hold_out(&all.select_rows(&rows(true)), seed + 1)?;
        let context = Context::new(fold as u64).with_threads(0)?;
        Ok(Self { train, weak, test, strong, context })
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
        let out = random.random_range(0..columns.len().max(1));
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

/// The mean absolute error of a model's means and of its medians, by that of guesses at random.
fn nmae(
    model: &dyn PredictCells<f64>,
    table: &Table<f64>,
    held: &Held,
    context: &Context,
) -> Result<[f64; 2]> {
    let cells: Vec<(usize, usize)> = held.iter().map(|h| (h.0, h.1)).collect();
    let tell = |p: &CellPrediction| [p.mean().clamp(1.0, 5.0), p.on_levels(&STARS).median()];
    let told = predict_cells(model, table, &cells, context, tell)?;
    let error = |i: usize| {
        let errors = told.iter().zip(held).map(|(p, h)| (p[i] - h.2).abs());
        errors.sum::<f64>() / (CHANCE * held.len() as f64)
    };
    Ok([error(0), error(1)])
}

/// Means of users and items, each drawn towards the mean of all by five ratings.
struct Means {
    all: f64,
    item: Vec<f64>,
}

impl Means {
    fn of(table: &Table<f64>) -> Self {
        let Cells::Sparse(cells) = table.cells() else {
            return Self { all: 0.0, item: Vec::new() };
        };
        let all = cells.values().iter().sum::<f64>() / cells.values().len() as f64;
        let mut sums = vec![(0.0, 5.0); cells.columns()];
        for (&column, &x) in cells.indices().iter().zip(cells.values()) {
            let (sum, count) = &mut sums[column as usize];
            (*sum, *count) = (*sum + x - all, *count + 1.0);
        }
        Self { all, item: sums.into_iter().map(|(sum, count)| sum / count).collect() }
    }

    fn guess(&self, table: &Table<f64>, row: usize, column: usize) -> f64 {
        let Cells::Sparse(cells) = table.cells() else { return self.all };
        let (columns, values) = cells.row(row);
        let left = |(&d, &x): (&u32, &f64)| x - self.all - self.item[d as usize];
        let user = columns.iter().zip(values).map(left).sum::<f64>() / (5.0 + values.len() as f64);
        (self.all + self.item[column] + user).clamp(1.0, 5.0)
    }
}

/// Ratings of a file of `MovieLens` 100k, every user a row and every film a column.
fn ratings(name: &str) -> Result<Option<Table<f64>>> {
    let Some(path) = shared(&format!("movielens-100k/{name}")) else { return Ok(None) };
    let mut text = String::new();
    let file = std::fs::File::open(&path).map_err(|e| mereo_core::Error::io(&path, e))?;
    GzDecoder::new(file).read_to_string(&mut text).map_err(|e| mereo_core::Error::io(&path, e))?;
    let mut rows = vec![Vec::new(); USERS];
    for line in text.lines() {
        let fields: Vec<u32> = line.split('\t').filter_map(|f| f.parse().ok()).collect();
        if let [user, film, stars, ..] = fields[..] {
            rows[user as usize - 1].push((film - 1, f64::from(stars)));
        }
    }
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for mut row in rows {
        row.sort_by_key(|r| r.0);
        indices.extend(row.iter().map(|r| r.0));
        values.extend(row.iter().map(|r| r.1));
        starts.push(values.len());
    }
    Ok(Some(Table::from(Sparse::new(FILMS, starts, indices, values, Absent::Unobserved)?)))
}
