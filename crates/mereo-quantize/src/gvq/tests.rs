mod edges;
mod theory;

use mereo_core::{Context, Dense, Plan, Random, Real, Result, Silent, Table, Training};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::{Gvq, GvqParams, fit};

fn normal(random: &mut Random) -> f64 {
    StandardNormal.sample(random)
}

/// Rows made of n features in d columns with noise, and the mean squared error of a cell about
/// what they were made of.
fn planted<T: Real>(rows: usize, n: usize, d: usize, noise: f64, seed: u64) -> (Table<T>, f64) {
    let mut random = Context::new(seed).random("planted", [0, 0]);
    let feature: Vec<f64> = (0..n * d).map(|_| normal(&mut random)).collect();
    let origin: Vec<f64> = (0..d).map(|_| normal(&mut random)).collect();
    let (mut values, mut squares) = (Vec::new(), 0.0);
    for _ in 0..rows {
        let state: Vec<bool> = (0..n).map(|_| random.random()).collect();
        for c in 0..d {
            let off = noise * normal(&mut random);
            let on = (0..n).filter(|&i| state[i]).map(|i| feature[i * d + c]);
            values.push(T::from_f64(origin[c] + on.sum::<f64>() + off));
            squares += off * off;
        }
    }
    (Table::from(Dense::new(rows, d, values).unwrap()), squares / (rows * d) as f64)
}

/// The same with this share of its cells missing.
fn with_holes<T: Real>(table: &Table<T>, share: f64, seed: u64) -> Table<T> {
    let mut random = Context::new(seed).random("holes", [0, 0]);
    let mereo_core::Cells::Dense(cells) = table.cells() else { panic!("not dense") };
    let values = cells
        .values()
        .iter()
        .map(|&v| if random.random::<f64>() < share { T::MISSING } else { v })
        .collect();
    Table::from(Dense::new(cells.rows(), cells.columns(), values).unwrap())
}

fn learned<T: Real>(params: &GvqParams, table: &Table<T>, seed: u64) -> Result<(Gvq, Training)> {
    fit(params, table, &Plan::default(), &Context::new(seed), &mut Silent)
}
