//! Densities of small tables: red wine and Boston housing, a flat mixture against deep ones.
//!
//! Columns in units of their deviation over the training rows, nine tenths of all; the mean log density
//! of the other tenth, in nats. `cargo xtask experiments small_tables`; the number of splits may follow.

use mereo_core::{Context, Dense, Plan, Result, Silent, Table, score};
use mereo_data::steps::{StepKind, Steps};
use mereo_data::{ReadOptions, read};
use mereo_experiments::densities::learn;
use mereo_experiments::{cells, mean_and_spread, seeds, shared, wide};
use rand::seq::SliceRandom;

/// Floors that few rows need, in units of a column's variance.
const FLOOR: f64 = 1e-3;

fn main() -> Result<()> {
    let splits = seeds(5);
    for (name, file) in [
        ("red wine", "uci-density/winequality-red.csv"),
        ("Boston housing", "uci-density/housing.data"),
    ] {
        let Some(path) = shared(file) else { continue };
        let table = wide(&read(&path, &ReadOptions::default())?)?;
        println!("{name}: {} rows of {} columns, {splits} splits", table.rows(), table.columns());
        println!("{:<28} {:>16}", "model", "test (spread)");
        for model in
            ["gmm-1", "gmm-2", "gmm-4", "low-rank-4", "student-2", "deep-2,2", "scales-2,3"]
        {
            let mut found = Vec::new();
            for split in 0..splits {
                let context = Context::new(split).with_threads(0)?;
                let (train, test) = halves(&table, split)?;
                let plan = Plan { restarts: 3, passes: 200, ..Plan::default() };
                let density = learn(model, &train, Some(FLOOR), &plan, &context, &mut Silent)?;
                found.push(score(&*density.model, &test, &context)?.mean);
            }
            let (mean, spread) = mean_and_spread(&found);
            println!("{model:<28} {:>16}", format!("{mean:.3} ({spread:.3})"));
        }
        println!();
    }
    Ok(())
}

/// Nine tenths of the rows and the others, in units of the former's deviations.
fn halves(table: &Table<f64>, split: u64) -> Result<(Table<f64>, Table<f64>)> {
    let mut order: Vec<usize> = (0..table.rows()).collect();
    order.shuffle(&mut Context::new(split).random("split", [0, 0]));
    let (test, train) = order.split_at(table.rows() / 10);
    let plain = |rows: &[usize]| -> Result<Table<f64>> {
        let picked = table.select_rows(rows);
        let values = cells(&picked).to_vec();
        Ok(Table::from(Dense::new(rows.len(), table.columns(), values)?))
    };
    let train = plain(train)?;
    let steps = Steps::learn(&[StepKind::Standardise], &train, &Context::new(0))?;
    Ok((steps.apply(train)?, steps.apply(plain(test)?)?))
}
