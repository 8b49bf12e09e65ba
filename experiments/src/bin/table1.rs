//! JMLR section 3.1, Table 1: faces told from other pictures by their density alone.
//!
//! Models learn the 2,429 training faces of MIT-CBCL; 472 test faces and 472 other pictures are
//! called faces if their density is above a threshold, which for each model is the best there is,
//! as in the paper. `cargo xtask experiments table1`; the number of seeds may follow.

use mereo_core::{
    Context, Estimate, Likelihood, Plan, Result, Score, Silent, Table, estimate, score,
};
use mereo_experiments::{cbcl_faces, mean_and_spread, parts_plan, picked, seeds};
use mereo_mixture::{GmmParams, gaussian};
use mereo_parts::{McvqParams, mcvq};

/// Draws of a row.
const SAMPLES: usize = 300;

fn main() -> Result<()> {
    let seeds = seeds(5);
    let files = ["train_faces.npy", "test_faces.npy", "test_nonfaces.npy"];
    let [Some(train), Some(faces), Some(others)] =
        [cbcl_faces(files[0])?, cbcl_faces(files[1])?, cbcl_faces(files[2])?]
    else {
        return Ok(());
    };
    println!("JMLR Table 1: accuracy of face against non-face by density ({seeds} seeds)\n");
    println!("{:<34} {:>6}  {:>16}  {:>16}", "model", "paper", "bound (spread)", "importance");
    for (states, paper) in [(14, 0.8305), (10, 0.8030)] {
        let (mut bounds, mut drawn) = (Vec::new(), Vec::new());
        for seed in 0..seeds {
            let others = picked(&others, faces.rows(), seed);
            let context = Context::new(seed).with_threads(0)?;
            let params = McvqParams::new(6, states);
            let (model, _) = mcvq::fit(&params, &train, &parts_plan(), &context, &mut Silent)?;
            bounds.push(accuracy(
                &faces,
                &others,
                |t| Ok(score::<f32>(&model, t, &context)?.rows),
            )?);
            let how = Likelihood::Importance(SAMPLES);
            let model: &dyn Estimate<f32> = &model;
            drawn.push(accuracy(&faces, &others, |t| Ok(estimate(model, how, t, &context)?.rows))?);
        }
        row(&format!("MCVQ, 6 parts of {states} states"), paper, &bounds, Some(&drawn));
    }
    let mixtures = [
        (1, 0.7871, "Gaussian, diagonal"),
        (60, 0.8072, "mixture of 60"),
        (84, 0.7680, "mixture of 84"),
    ];
    for (components, paper, name) in mixtures {
        let mut found = Vec::new();
        for seed in 0..seeds {
            let others = picked(&others, faces.rows(), seed);
            let context = Context::new(seed).with_threads(0)?;
            let params = GmmParams::new(components);
            let plan = Plan::default();
            let (model, _) = gaussian::fit(&params, &train, &plan, &context, &mut Silent)?;
            let model: &dyn Score<f32> = &model;
            found.push(accuracy(&faces, &others, |t| Ok(score(model, t, &context)?.rows))?);
        }
        row(name, paper, &found, None);
    }
    Ok(())
}

fn row(name: &str, paper: f64, exact: &[f64], drawn: Option<&[f64]>) {
    let told = |values: &[f64]| {
        let (mean, spread) = mean_and_spread(values);
        format!("{mean:.4} ({spread:.4})")
    };
    let drawn = drawn.map(told).unwrap_or_default();
    println!("{name:<34} {paper:>6.4}  {:>16}  {drawn:>16}", told(exact));
}

/// The accuracy of the best threshold.
fn accuracy(
    faces: &Table<f32>,
    others: &Table<f32>,
    densities: impl Fn(&Table<f32>) -> Result<Vec<f64>>,
) -> Result<f64> {
    let mut all: Vec<(f64, bool)> = densities(faces)?.into_iter().map(|s| (s, true)).collect();
    all.extend(densities(others)?.into_iter().map(|s| (s, false)));
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    // From above: so many faces found, less so many others taken for one.
    let (mut right, mut best) = (0i64, 0i64);
    for (_, face) in &all {
        right += if *face { 1 } else { -1 };
        best = best.max(right);
    }
    Ok((best as f64 + others.rows() as f64) / all.len() as f64)
}
