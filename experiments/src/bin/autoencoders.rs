//! Forsyth 12.2 on MNIST: codes of several sizes against principal components, noise, stacking, few labels.
//!
//! `cargo xtask experiments autoencoders [ROWS [EPOCHS]]` (10,000 rows and 20 passes if nobody says; 60,000 is all).
//! The book gives no numbers. Errors are root mean squares a pixel, of 5,000 test digits.

use std::time::Instant;

use mereo_core::{
    Cells, Context, Labels, Likelihood, Plan, Real, Reconstruct, Result, Silent, Table, classify,
    reconstruct,
};
use mereo_experiments::{digits, seeds, test_digits};
use mereo_linear::{PcaParams, pca};
use mereo_neural::{Ae, AeClasses, AeParams, ae};

const ENCODER: &str = "dense 512, relu, dense 256, relu";

fn values(table: &Table<f32>) -> &[f32] {
    match table.cells() {
        Cells::Dense(cells) => cells.values(),
        Cells::Sparse(_) => &[],
    }
}

/// The error of what a model makes of some rows, against others.
fn error(
    model: &dyn Reconstruct<f32>,
    given: &Table<f32>,
    truth: &Table<f32>,
    context: &Context,
) -> Result<f64> {
    let made = reconstruct(model, given, context)?;
    let squares = made.values().iter().zip(values(truth)).map(|(a, b)| f64::from(a - b).powi(2));
    Ok((squares.sum::<f64>() / values(truth).len() as f64).sqrt())
}

/// A quarter of the pixels set to 0.
fn masked(table: &Table<f32>) -> Result<Table<f32>> {
    let hidden = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0;
    let cells = values(table).iter().enumerate().map(|(i, &x)| if hidden(i) { 0.0 } else { x });
    let dense = mereo_core::Dense::new(table.rows(), table.columns(), cells.collect())?;
    let picture = mereo_core::Picture { height: 28, width: 28, channels: 1 };
    Table::from(dense).with_picture(picture)
}

/// The share of rows whose likeliest class is their label.
fn accuracy(model: &Ae, table: &Table<f32>, context: &Context) -> Result<f64> {
    let chances = classify::<f32>(model, Likelihood::Bound, table, context)?;
    let labels = table.about().labels.clone().unwrap_or_default().of_row;
    let right = |row: &usize| {
        let own = chances.row(*row);
        let best = (0..own.len()).fold(0, |b, n| if own[n] > own[b] { n } else { b });
        labels[*row] == Some(best as u32)
    };
    Ok((0..table.rows()).filter(right).count() as f64 / table.rows() as f64)
}

/// The table with labels of the first rows only.
fn few_labels<T: Real>(table: &Table<T>, count: usize) -> Result<Table<T>> {
    let labels = table.about().labels.clone().unwrap_or_default();
    let of_row = labels.of_row.iter().enumerate().map(|(i, l)| l.filter(|_| i < count)).collect();
    table.clone().with_labels(Labels { names: labels.names, of_row })
}

fn main() -> Result<()> {
    let rows = seeds(10_000) as usize;
    let epochs = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(20);
    let (Some(train), Some(test)) = (digits(0, rows)?, test_digits(5000)?) else { return Ok(()) };
    let hidden = masked(&test)?;
    let context = Context::new(0).with_threads(0)?;
    let plan = Plan { passes: epochs, ..Plan::default() };
    let learn = |params: &AeParams| -> Result<Ae> {
        Ok(ae::fit(params, &train, &plan, &context, &mut Silent)?.0)
    };
    let params = |code: usize| AeParams { encoder: Some(ENCODER.into()), ..AeParams::new(code) };
    println!("Forsyth 12.2: {rows} digits, {epochs} passes, encoder {ENCODER}\n");

    println!("{:<34} {:>8} {:>8} {:>8}", "code", "network", "PCA", "seconds");
    for code in [2, 8, 32, 64] {
        let began = Instant::now();
        let model = learn(&params(code))?;
        let seconds = began.elapsed().as_secs_f64();
        let linear = pca::fit(&PcaParams::new(code), &train, &plan, &context, &mut Silent)?.0;
        println!(
            "{code:<34} {:>8.4} {:>8.4} {seconds:>8.1}",
            error(&model, &test, &test, &context)?,
            error(&linear, &test, &test, &context)?
        );
    }

    println!("\n{:<34} {:>8} {:>8}", "1,000 codes, one layer", "clean", "masked");
    for noise in [None, Some("gaussian:1"), Some("mask:0.25"), Some("salt:0.25")] {
        let encoder = Some("dense 1000, sigmoid".to_owned());
        let noise = noise.map(str::to_owned);
        let model = learn(&AeParams { encoder, noise: noise.clone(), ..AeParams::new(1000) })?;
        println!(
            "{:<34} {:>8.4} {:>8.4}",
            noise.as_deref().unwrap_or("plain: it may copy"),
            error(&model, &test, &test, &context)?,
            error(&model, &hidden, &test, &context)?
        );
    }

    println!("\n{:<34} {:>8} {:>8}", "32 codes, mask:0.25", "clean", "masked");
    for stacked in [false, true] {
        let noise = Some("mask:0.25".to_owned());
        let model = learn(&AeParams { noise, stacked, ..params(32) })?;
        println!(
            "{:<34} {:>8.4} {:>8.4}",
            if stacked { "stacked, then together" } else { "together from scratch" },
            error(&model, &test, &test, &context)?,
            error(&model, &hidden, &test, &context)?
        );
    }

    println!("\n{:<34} {:>8} {:>8}", "labels", "learned", "random");
    for count in [100, 1000, rows] {
        let some = few_labels(&train, count)?;
        let of = |passes: usize| -> Result<f64> {
            let noise = Some("mask:0.25".to_owned());
            let params = AeParams { noise, classes: AeClasses::Labels, ..params(64) };
            let plan = Plan { passes, ..plan.clone() };
            let model = ae::fit(&params, &some, &plan, &context, &mut Silent)?.0;
            accuracy(&model, &test, &context)
        };
        println!("{count:<34} {:>7.2}% {:>7.2}%", 100.0 * of(epochs)?, 100.0 * of(0)?);
    }
    Ok(())
}
