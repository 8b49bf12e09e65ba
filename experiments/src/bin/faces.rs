//! The toy faces: are hair, brows, eyes, nose and mouth found as parts?
//!
//! `cargo xtask experiments faces`; the number of seeds may follow.

use mereo_core::{Context, Result, Silent};
use mereo_data::toy::World;
use mereo_experiments::{mean_and_spread, parts_plan, recovery, seeds};
use mereo_parts::{McvqParams, mcvq};

fn main() -> Result<()> {
    let seeds = seeds(5);
    println!("Toy faces, 2,000 pictures: planted parts recovered ({seeds} seeds)\n");
    for (parts, states) in [(5, 8), (6, 8), (7, 8)] {
        let (mut purity, mut matched) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let toy = World::Faces.make(None, seed)?;
            let context = Context::new(seed).with_threads(0)?;
            let params = McvqParams::new(parts, states);
            let (model, _) = mcvq::fit(&params, &toy.table, &parts_plan(), &context, &mut Silent)?;
            let found = recovery(&model, &toy)?;
            purity.push(found.purity);
            matched.push(found.matched);
        }
        let ((p, ps), (m, ms)) = (mean_and_spread(&purity), mean_and_spread(&matched));
        println!("{parts} parts x {states} states: purity {p:.3} ({ps:.3}), matched {m:.3} ({ms:.3})");
    }
    Ok(())
}
