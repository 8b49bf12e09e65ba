//! Densities of 8 x 8 patches of natural images at scale: many Gaussians, each at several contrasts,
//! learned from as many patches as there is time for, and scored on patches of other photographs.
//!
//! `cargo xtask experiments patches_large`; a model (`scales-250,8`), the number of training patches and of
//! passes may follow.

use std::time::Instant;

use mereo_core::{Context, Observer, Plan, Record, Result, score};
use mereo_data::patches;
use mereo_experiments::densities::learn;
use mereo_experiments::shared;

const SIDE: usize = 8;
const TEST: usize = 20_000;

/// Says how far it is.
struct Progress {
    rows: f64,
}

impl Observer for Progress {
    fn passed(&mut self, record: &Record) {
        if record.pass.is_multiple_of(5) {
            let bound = record.bound / self.rows;
            println!("pass {:>3}: {bound:.3} nats a row, {:.0} s", record.pass, record.seconds);
        }
    }
}

fn main() -> Result<()> {
    let [Some(train), Some(test)] = [shared("bsds300/train.tar"), shared("bsds300/test.tar")]
    else {
        return Ok(());
    };
    let given: Vec<String> = std::env::args().skip(1).collect();
    let name = given.first().map_or("scales-250,8", String::as_str);
    let number = |at: usize, default: usize| {
        given.get(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, passes) = (number(1, 1_000_000), number(2, 40));
    println!("{name}: {count} patches of BSDS300 learned from, {TEST} of other photographs scored");
    println!("the paper: GMM 153.7, Student-t 155.3, Deep GMM 156.2; nats a patch");
    let context = Context::new(0).with_threads(0)?;
    let rows = patches(&train, SIDE, count, 0)?;
    let others = patches(&test, SIDE, TEST, 1000)?;
    let plan = Plan { passes, tolerance: 1e-3, ..Plan::default() };
    let began = Instant::now();
    let mut progress = Progress { rows: count as f64 };
    let found = learn(name, &rows, None, &plan, &context, &mut progress)?;
    let seconds = began.elapsed().as_secs_f64();
    let trained = score(&*found.model, &mereo_experiments::picked(&rows, TEST, 0), &context)?.mean;
    let tested = score(&*found.model, &others, &context)?.mean;
    println!(
        "{} parameters, {} passes in {:.0} minutes: train {trained:.2}, test {tested:.2}",
        found.parameters,
        found.passes,
        seconds / 60.0
    );
    Ok(())
}
