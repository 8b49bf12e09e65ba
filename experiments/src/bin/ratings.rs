//! JMLR 3.2, Table 2: predicting ratings that were held out, on `MovieLens` where the paper had
//! `EachMovie` (which is no longer given out), so that the paper's numbers are a guide only.
//!
//! Of every viewer one rating is held out; models are learned from two thirds of the viewers and
//! predict the held-out ratings of those (weak generalisation) and of the others (strong
//! generalisation), in three folds, several draws of held-out ratings. Errors are those of means and of medians of what
//! models predict, by the error of guessing (NMAE). Sizes are chosen by a further rating held out of each training viewer,
//! in the first draw. Everything else is as `mereo fit` has it by default (MCFA averages over its loadings, and is also tried with
//! loadings that are chosen, with shrinkage); averages are of three members. Beside each error stands in how many draws it is below
//! that of user + item means. Then the official split `u1`: root mean squared errors, each model's size chosen the same way.
//!
//! `cargo xtask experiments ratings [DRAWS [MODEL]]`; a word chooses among the models by their names.

use std::io::Read;

use flate2::read::GzDecoder;
use mereo::linear::FaParams;
use mereo::mixture::GmmParams;
use mereo::parts::{McfaParams, McvqParams};
use mereo::ratings::{AspectParams, BfaParams, UrpParams};
use mereo::{Fit, Fitted};
use mereo_core::{Absent, CellPrediction, Cells, Context, Result, Sparse, Table};
use mereo_experiments::shared;
use rand::RngExt;

/// The mean absolute error of guesses at random, of ratings from 1 to 5.
const CHANCE: f64 = 4.0 * 6.0 / (3.0 * 5.0);
const STARS: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const FOLDS: usize = 3;
const USERS: usize = 943;
const FILMS: usize = 1682;

/// A row and column of a table, and what stood there.
type Held = Vec<(usize, usize, f64)>;
/// A model of this size, to be learned.
type Make = fn([usize; 2]) -> Fit;
/// A model's name, the paper's errors if it has any, sizes to choose from, how to make it.
type Row = (&'static str, Option<[f64; 2]>, &'static [[usize; 2]], Make);

/// Members of averages.
const MEMBERS: usize = 3;

const MODELS: [Row; 12] = [
    ("MCVQ", Some([0.4896, 0.4942]), &[[5, 12], [3, 6], [5, 4]], mcvq),
    ("Average of MCVQ", None, &[[5, 12], [3, 6], [5, 4]], |size| mcvq(size).average(MEMBERS)),
    ("MCFA", Some([0.5502, 0.5503]), &[[2, 10], [4, 4], [2, 4]], mcfa),
    ("MCFA, shrunken", None, &[[2, 10], [4, 4], [2, 4]], |[parts, factors]| {
        Fit::new(McfaParams { shrinkage: Some(5.0), ..McfaParams::new(parts, factors) })
    }),
    ("Average of MCFA", None, &[[2, 10], [4, 4], [2, 4]], |size| mcfa(size).average(MEMBERS)),
    ("Factor analysis", Some([0.5314, 0.5318]), &[[1, 10], [1, 4]], |[_, n]| {
        Fit::new(FaParams::new(n))
    }),
    ("Gaussian mixture", Some([0.4945, 0.4895]), &[[1, 60], [1, 20], [1, 8]], |[_, n]| {
        Fit::new(GmmParams::new(n)).restarts(3)
    }),
    ("Aspect model", None, &[[1, 10], [1, 30]], |[_, n]| Fit::new(AspectParams::new(n))),
    ("URP", Some([0.4422, 0.4557]), &[[1, 3], [1, 5], [1, 10]], |[_, n]| {
        Fit::new(UrpParams::new(n))
    }),
    ("Bayesian FA", None, &[[1, 10], [1, 20]], |[_, n]| Fit::new(BfaParams::new(n))),
    ("Ordinal Bayesian FA", None, &[[1, 10], [1, 20]], ordinal),
    ("Average of these", None, &[[1, 10], [1, 20]], |size| ordinal(size).average(MEMBERS)),
];

fn mcvq([parts, states]: [usize; 2]) -> Fit {
    Fit::new(McvqParams::new(parts, states))
}

fn mcfa([parts, factors]: [usize; 2]) -> Fit {
    Fit::new(McfaParams::new(parts, factors))
}

fn ordinal([_, factors]: [usize; 2]) -> Fit {
    Fit::new(BfaParams { ordinal: true, ..BfaParams::new(factors) })
}

fn main() -> Result<()> {
    let Some(all) = ratings("u.data.gz")? else { return Ok(()) };
    let draws = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4);
    let wanted = std::env::args().nth(2).unwrap_or_default();
    let models = || MODELS.into_iter().filter(|(name, ..)| name.contains(&wanted));
    println!(
        "JMLR Table 2: NMAE of {FOLDS} folds of {USERS} viewers, {draws} draws: mean (spread over draws)"
    );
    println!("(the paper's numbers are of other data, by means)\n");
    println!(
        "{:<20} {:<9} {:>14} {:>14}  {:>14} {:>14}  {:>6} {:>6}",
        "", "", "weak, mean", "weak, median", "strong, mean", "strong, median", "paper", "strong"
    );
    println!(
        "(last: in how many draws the mean is better than user + item means, weak and strong)"
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
    baseline.print("User + item means", "", None, &baseline);
    for (name, paper, sizes, make) in models() {
        let (mut errors, mut chosen) = (Errors::default(), [sizes[0]; FOLDS]);
        for draw in 0..draws {
            let mut folds = Vec::new();
            for fold in 0..FOLDS {
                let number = fold;
                let fold = Fold::new(&all, fold, draw)?;
                if draw == 0 {
                    chosen[number] = choose(sizes, make, &fold.train, &fold.context)?;
                }
                let model = make(chosen[number]).context(&fold.context).run(&fold.train)?;
                let [weak, weak_median] = nmae(&model, &fold.train, &fold.weak, &fold.context)?;
                let [strong, strong_median] =
                    nmae(&model, &fold.test, &fold.strong, &fold.context)?;
                folds.push([weak, weak_median, strong, strong_median]);
            }
            errors.add(&folds);
        }
        let sizes: Vec<String> = chosen.iter().map(|size| said(*size)).collect();
        errors.print(name, &sizes.join(","), paper, &baseline);
    }
    split(models())
}

/// The official split.
fn split(models: impl Iterator<Item = Row>) -> Result<()> {
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
    println!("{:<20} {:<9} {:.4}", "User + item means", "", (squares / held.len() as f64).sqrt());
    for (name, _, sizes, make) in models {
        let size = choose(sizes, make, &train, &context)?;
        let model = make(size).context(&context).run(&train)?;
        let cells: Vec<(usize, usize)> = held.iter().map(|h| (h.0, h.1)).collect();
        let told = model.predict_cells(&train, &cells, &context, |p| p.mean().clamp(1.0, 5.0))?;
        let squares: f64 = told.iter().zip(&held).map(|(p, h)| (p - h.2).powi(2)).sum();
        println!("{name:<20} {:<9} {:.4}", said(size), (squares / held.len() as f64).sqrt());
    }
    Ok(())
}

fn said([parts, each]: [usize; 2]) -> String {
    if parts == 1 { each.to_string() } else { format!("{parts}x{each}") }
}

/// The size that predicts one more rating of each viewer best.
fn choose(
    sizes: &[[usize; 2]],
    make: Make,
    train: &Table<f64>,
    context: &Context,
) -> Result<[usize; 2]> {
    let (inner, held) = hold_out(train, 1000)?;
    let mut best = (f64::INFINITY, sizes[0]);
    for &size in sizes {
        let error = nmae(&make(size).context(context).run(&inner)?, &inner, &held, context)?[0];
        if error < best.0 {
            best = (error, size);
        }
    }
    Ok(best.1)
}

/// Errors of draws: weak by mean and by median, strong by mean and by median.
#[derive(Default)]
struct Errors(Vec<[f64; 4]>);

impl Errors {
    fn add(&mut self, folds: &[[f64; 4]]) {
        let mean = |i: usize| folds.iter().map(|f| f[i]).sum::<f64>() / folds.len() as f64;
        self.0.push([mean(0), mean(1), mean(2), mean(3)]);
    }

    fn print(&self, name: &str, sizes: &str, paper: Option<[f64; 2]>, baseline: &Self) {
        let n = self.0.len() as f64;
        let of = |i: usize| {
            let mean = self.0.iter().map(|e| e[i]).sum::<f64>() / n;
            let square = self.0.iter().map(|e| (e[i] - mean).powi(2)).sum::<f64>();
            format!("{mean:.4} ({:.4})", (square / (n - 1.0).max(1.0)).sqrt())
        };
        let paper =
            paper.map_or(["-".to_owned(), "-".to_owned()], |p| p.map(|p| format!("{p:.4}")));
        let [weak, strong] = paper;
        // Paired: the same held-out ratings, draw by draw.
        let below = |i: usize| self.0.iter().zip(&baseline.0).filter(|(a, b)| a[i] < b[i]).count();
        println!(
            "{name:<20} {sizes:<9} {:>14} {:>14}  {:>14} {:>14}  {weak:>6} {strong:>6}  {}, {} of {}",
            of(0),
            of(1),
            of(2),
            of(3),
            below(0),
            below(2),
            self.0.len()
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
fn nmae(model: &Fitted, table: &Table<f64>, held: &Held, context: &Context) -> Result<[f64; 2]> {
    let cells: Vec<(usize, usize)> = held.iter().map(|h| (h.0, h.1)).collect();
    let tell = |p: &CellPrediction| [p.mean().clamp(1.0, 5.0), p.on_levels(&STARS).median()];
    let told = model.predict_cells(table, &cells, context, tell)?;
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
