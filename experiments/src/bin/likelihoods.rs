//! Densities worked out in four ways: how far off, how sure, how long.
//!
//! The papers average over states drawn from the prior; drawing what the row suggests is far surer
//! in the same time. `cargo xtask experiments likelihoods`; the number of seeds may follow.

use std::time::Instant;

use mereo_core::{Context, Estimate, Likelihood, Result, Scores, Silent, Table, estimate};
use mereo_data::toy::World;
use mereo_experiments::{mean_and_spread, parts_plan, seeds};
use mereo_parts::{Mcvq, McvqParams, mcvq};

/// Rows whose densities are worked out.
const ROWS: usize = 60;
const SAMPLES: usize = 200;

fn main() -> Result<()> {
    let seeds = seeds(5);
    println!(
        "Densities of {ROWS} new rows: mean in nats, standard error of a row, seconds ({seeds} seeds)"
    );
    for (world, parts, states) in [(World::Shapes, 3, 6), (World::Faces, 5, 6)] {
        let mut ratios = Vec::new();
        for seed in 0..seeds {
            let train = world.make(Some(600), seed)?;
            let test = world.make(Some(ROWS), seed + 1000)?;
            let context = Context::new(seed).with_threads(0)?;
            let params = McvqParams::new(parts, states);
            let (model, _) =
                mcvq::fit(&params, &train.table, &parts_plan(), &context, &mut Silent)?;
            ratios.push(compare(&model, &test.table, &context, seed == 0, world)?);
        }
        let (mean, spread) = mean_and_spread(&ratios);
        println!(
            "  at equal time the prior's standard error is {mean:.1} ({spread:.1}) times that of importance\n"
        );
    }
    Ok(())
}

/// The standard error of prior over that of importance, at equal time.
fn compare(
    model: &Mcvq,
    table: &Table<f32>,
    context: &Context,
    told: bool,
    world: World,
) -> Result<f64> {
    let timed = |how: Likelihood, name: &str| -> Result<(Scores, f64)> {
        let began = Instant::now();
        let scores = estimate(model as &dyn Estimate<f32>, how, table, context)?;
        let seconds = began.elapsed().as_secs_f64();
        if told {
            // The standard error of a row is √rows that of the mean.
            let error = scores.standard_error.map_or(0.0, |e| e * (table.rows() as f64).sqrt());
            let effective = scores.effective_samples.unwrap_or(0.0);
            println!(
                "  {world} {name:<22} {:>12.4}  ± {error:<8.4} {seconds:>7.3} s  {effective:>7.1} effective",
                scores.mean
            );
        }
        Ok((scores, seconds))
    };
    timed(Likelihood::Bound, "bound")?;
    timed(Likelihood::Exact, "exact")?;
    let (importance, seconds) = timed(Likelihood::Importance(SAMPLES), "importance, 200")?;
    let (_, of_prior) = timed(Likelihood::Prior(SAMPLES), "prior, 200")?;
    let samples = ((SAMPLES as f64 * seconds / of_prior) as usize).max(SAMPLES);
    let (prior, _) = timed(Likelihood::Prior(samples), "prior, the same time")?;
    let error = |scores: &Scores| scores.standard_error.unwrap_or(f64::NAN);
    Ok(error(&prior) / error(&importance))
}
