//! What the experiments share. Each program in `src/bin` is one table or figure of a paper and
//! prints the paper's number beside ours.

use mereo_core::{Cells, Context, Parts, Plan, Real, Reconstruct, Result, Table, reconstruct};
use mereo_data::toy::{Recovery, Toy};

/// Restarts of a parts model, one of each kind of start.
pub fn parts_plan() -> Plan {
    Plan { restarts: 3, ..Plan::default() }
}

/// The mean over rows of each row's root-mean-square reconstruction error.
pub fn mean_rms<T: Real>(model: &dyn Reconstruct<T>, table: &Table<T>, context: &Context) -> Result<f64> {
    let rebuilt = reconstruct(model, table, context)?;
    let Cells::Dense(cells) = table.cells() else { return Ok(f64::NAN) };
    let total: f64 = (0..cells.rows())
        .map(|row| {
            let pairs = cells.row(row).iter().zip(rebuilt.row(row));
            let squares: f64 = pairs.map(|(x, y)| (x.wide() - y.wide()).powi(2)).sum();
            (squares / cells.columns() as f64).sqrt()
        })
        .sum();
    Ok(total / cells.rows() as f64)
}

/// How well a model's parts agree with the planted ones.
pub fn recovery(model: &dyn Parts, toy: &Toy) -> Result<Recovery> {
    toy.truth.recovery(&model.parts().part_of_column())
}

/// Mean and standard deviation.
///
/// ```
/// assert_eq!(mereo_experiments::mean_and_spread(&[1.0, 3.0]), (2.0, 1.0));
/// ```
pub fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// The number given as this program's first argument, or a default.
pub fn seeds(default: u64) -> u64 {
    std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(default)
}
