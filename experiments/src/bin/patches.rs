//! Deep GMM, Table 1 and Figure 4a: densities of 8 x 8 patches of natural images (BSDS300), in nats.
//!
//! Patches of the 200 training photographs are learned from, and patches of the 100 test photographs
//! scored. Beside the paper's models stands its honest baseline, a mixture in which each Gaussian has a few
//! contrast scales (a lower layer of scales alone). `cargo xtask experiments patches`; the number of
//! seeds, of training patches, and names of models (`gmm-15`, `student-15`, `deep-10,5`, `scales-15,5`) may
//! follow.

use std::time::Instant;

use mereo_core::{Context, Plan, Result, Score, Silent, Table, score};
use mereo_data::patches;
use mereo_experiments::{mean_and_spread, seeds, shared};
use mereo_mixture::deep::LayerKind;
use mereo_mixture::{Covariance, DeepGmmParams, GmmParams, StudentParams, deep, gaussian, student};

const SIDE: usize = 8;
const TRAIN: usize = 50_000;
const TEST: usize = 20_000;
/// What is learned unless other names are given, and what a reference implementation reached with
/// 50,000 patches.
const MODELS: [(&str, f64); 12] = [
    ("gmm-1", 96.5),
    ("gmm-15", 147.0),
    ("gmm-25", 148.2),
    ("gmm-50", 148.4),
    ("student-15", f64::NAN),
    ("student-25", f64::NAN),
    ("deep-10,5", 149.5),
    ("deep-20,5", 150.3),
    ("deep-5,5,5", 150.3),
    ("deep-15,5,5", 151.2),
    ("scales-15,5", 150.5),
    ("scales-25,8", 151.9),
];

fn main() -> Result<()> {
    let [Some(train), Some(test)] = [shared("bsds300/train.tar"), shared("bsds300/test.tar")]
    else {
        return Ok(());
    };
    let given: Vec<String> = std::env::args().skip(1).collect();
    let seeds = seeds(1);
    let count = given.get(1).and_then(|text| text.parse().ok()).unwrap_or(TRAIN);
    let wanted = &given[given.len().min(2)..];
    println!("patches of BSDS300: {count} learned from, {TEST} of other photographs scored; nats");
    println!("the paper, with more: GMM 153.7, Student-t 155.3, Deep GMM 156.2\n");
    println!(
        "{:<14} {:>10} {:>9} {:>9} {:>16} {:>7} {:>9}",
        "model", "parameters", "reference", "train", "test (spread)", "passes", "s a pass"
    );
    for (name, reference) in MODELS {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let (mut trained, mut tested) = (Vec::new(), Vec::new());
        let (mut parameters, mut passes, mut seconds) = (0, 0, 0.0);
        for seed in 0..seeds {
            let context = Context::new(seed).with_threads(0)?;
            let rows = patches(&train, SIDE, count, seed)?;
            let others = patches(&test, SIDE, TEST, 1000 + seed)?;
            let began = Instant::now();
            let (model, size, took) = learn(name, &rows, &context)?;
            seconds += began.elapsed().as_secs_f64() / (took.max(1) as f64 * seeds as f64);
            (parameters, passes) = (size, took);
            trained.push(score(&*model, &rows, &context)?.mean);
            tested.push(score(&*model, &others, &context)?.mean);
        }
        let (test, spread) = mean_and_spread(&tested);
        println!(
            "{name:<14} {parameters:>10} {reference:>9.1} {:>9.2} {:>16} {passes:>7} {seconds:>9.2}",
            mean_and_spread(&trained).0,
            format!("{test:.2} ({spread:.2})"),
        );
    }
    Ok(())
}

/// A model by its name, its free parameters, and the passes that it took.
fn learn(
    name: &str,
    rows: &Table<f32>,
    context: &Context,
) -> Result<(Box<dyn Score<f32>>, usize, usize)> {
    let plan = Plan { passes: 100, tolerance: 2e-3, ..Plan::default() };
    let (kind, sizes) = name.split_once('-').unwrap_or((name, "1"));
    let sizes: Vec<usize> = sizes.split(',').filter_map(|n| n.parse().ok()).collect();
    Ok(match kind {
        "gmm" => {
            let params = GmmParams::with(sizes[0], Covariance::Full);
            let (model, training) = gaussian::fit(&params, rows, &plan, context, &mut Silent)?;
            let size = model.free_parameters();
            (Box::new(model), size, training.passes)
        }
        "student" => {
            let params = StudentParams::new(sizes[0]);
            let (model, training) = student::fit(&params, rows, &plan, context, &mut Silent)?;
            let size = model.free_parameters();
            (Box::new(model), size, training.passes)
        }
        _ => {
            let mut params = DeepGmmParams::new(&sizes);
            if kind == "scales" {
                params.kinds[1] = LayerKind::Scale;
            }
            let (model, training) = deep::fit(&params, rows, &plan, context, &mut Silent)?;
            let size = model.free_parameters();
            (Box::new(model), size, training.passes)
        }
    })
}
