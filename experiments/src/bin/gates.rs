//! Thesis Figures 5.1 and 5.2: shapes learned with gates of single rows, without and with an
//! entropic prior of strength 15. Both fail in the thesis; below, what a better start does.
//!
//! `cargo xtask experiments gates`; the number of seeds may follow.

use mereo_core::{Context, Parts, Picture, Plan, Result, Silent};
use mereo_data::toy::shapes;
use mereo_experiments::{
    draw_parts, gate_entropy, mean_and_spread, mean_rms, parts_plan, recovery, seeds,
};
use mereo_parts::{Gate, McvqParams, StartKind, mcvq};

const SHAPE: Picture = Picture { height: 11, width: 11, channels: 1 };

fn main() -> Result<()> {
    let seeds = seeds(10);
    println!("Shapes, 3 parts x 12 states, gates of single rows ({seeds} seeds)");
    println!("The thesis shows pictures: parts are found in neither of its figures.\n");
    println!(
        "{:<34} {:>8} {:>14} {:>16} {:>8}",
        "gate, prior, start", "found", "purity", "gate entropy", "RMS"
    );
    let cold = Gate::Factorised { from: 0 };
    let warm = Gate::Factorised { from: 40 };
    for (name, gate, entropic, start) in [
        ("Figure 5.1: factorised, papers'", cold, 0.0, StartKind::Papers),
        ("Figure 5.2: + entropic 15, papers'", cold, 15.0, StartKind::Papers),
        ("factorised, warm, papers'", warm, 0.0, StartKind::Papers),
        ("factorised, seeded", cold, 0.0, StartKind::InTurn),
        ("factorised, entropic 15, seeded", cold, 15.0, StartKind::InTurn),
        ("factorised, warm, seeded", warm, 0.0, StartKind::InTurn),
    ] {
        let (mut purities, mut entropies, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..seeds {
            let (train, test) = shapes::split(seed)?;
            let context = Context::new(seed).with_threads(0)?;
            let params = McvqParams { gate, entropic, start, ..McvqParams::new(3, 12) };
            let plan = Plan { passes: 80, ..parts_plan() };
            let (model, _) = mcvq::fit(&params, &train.table, &plan, &context, &mut Silent)?;
            purities.push(recovery(&model, &train)?.purity);
            entropies.push(gate_entropy(&model.parts()));
            errors.push(mean_rms(&model, &test.table, &context)?);
            if seed == 0 {
                let words = name.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
                let file = words.collect::<Vec<_>>().join("-").to_lowercase();
                draw_parts(&model.parts(), SHAPE, &format!("gates-{file}"))?;
            }
        }
        let found = purities.iter().filter(|p| **p > 0.9999).count();
        let ((p, ps), (e, es)) = (mean_and_spread(&purities), mean_and_spread(&entropies));
        println!(
            "{name:<34} {found:>3} of {seeds} {p:>7.3} ({ps:.3}) {e:>8.3} ({es:.3}) {:>8.3}",
            mean_and_spread(&errors).0
        );
    }
    Ok(())
}
