//! Deep GMM, Table 1 and Figure 4a: densities of 8 x 8 patches of natural images (BSDS300), in nats.
//!
//! Patches of the 200 training photographs are learned from, and patches of the 100 test photographs
//! scored. Beside the paper's models stands its honest baseline, a mixture in which each Gaussian has a few
//! contrast scales (a lower layer of scales alone). `cargo xtask experiments patches`; the number of
//! seeds, of training patches, and names of models (`gmm-15`, `shrunk-15`, `student-15`, `deep-10,5`, `scales-15,5`) may
//! follow.

use std::time::Instant;

use mereo_core::{Context, Plan, Result, Silent, score};
use mereo_data::patches;
use mereo_experiments::densities::learn;
use mereo_experiments::plot::{Curve, draw_curves};
use mereo_experiments::{mean_and_spread, seeds, shared};

const SIDE: usize = 8;
const TRAIN: usize = 50_000;
const TEST: usize = 20_000;
/// What is learned unless other names are given, which curve of the figure it is a point of, and what a
/// throw-away implementation that is neither mereo's nor the paper's reached with 50,000 patches.
const MODELS: [(&str, &str, Option<f64>); 20] = [
    ("gmm-1", "", Some(96.5)),
    ("gmm-15", "GMM", Some(147.0)),
    ("gmm-25", "GMM", Some(148.2)),
    ("gmm-50", "GMM", Some(148.4)),
    ("gmm-100", "GMM", Some(147.1)),
    ("shrunk-25", "GMM, shrunk", None),
    ("shrunk-50", "GMM, shrunk", None),
    ("shrunk-100", "GMM, shrunk", None),
    ("student-15", "Student-t", None),
    ("student-25", "Student-t", None),
    ("student-50", "Student-t", None),
    ("deep-5,5", "Deep GMM, 2 layers", None),
    ("deep-10,5", "Deep GMM, 2 layers", Some(149.5)),
    ("deep-20,5", "Deep GMM, 2 layers", Some(150.3)),
    ("deep-5,5,5", "Deep GMM, 3 layers", Some(150.3)),
    ("deep-10,5,5", "Deep GMM, 3 layers", None),
    ("deep-15,5,5", "Deep GMM, 3 layers", Some(151.2)),
    ("scales-15,5", "GMM x scales", Some(150.5)),
    ("scales-25,8", "GMM x scales", Some(151.9)),
    ("scales-50,8", "GMM x scales", None),
];

fn main() -> Result<()> {
    let [Some(train), Some(test)] = [shared("bsds300/train.tar"), shared("bsds300/test.tar")]
    else {
        return Ok(());
    };
    let given: Vec<String> = std::env::args().skip(1).collect();
    let seeds = seeds(3);
    let count = given.get(1).and_then(|text| text.parse().ok()).unwrap_or(TRAIN);
    let wanted = &given[given.len().min(2)..];
    println!("patches of BSDS300: {count} learned from, {TEST} of other photographs scored; nats");
    println!("{seeds} seeds; the paper, with more: GMM 153.7, Student-t 155.3, Deep GMM 156.2");
    println!(
        "`other`: a throw-away implementation, not mereo's nor the paper's, of {TRAIN} patches\n"
    );
    println!(
        "{:<14} {:>10} {:>9} {:>9} {:>16} {:>7} {:>9}",
        "model", "parameters", "other", "train", "test (spread)", "passes", "s a pass"
    );
    let mut curves: Vec<Curve> = Vec::new();
    for (name, curve, reference) in MODELS {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let (mut trained, mut tested) = (Vec::new(), Vec::new());
        let (mut parameters, mut passes, mut seconds) = (0, 0, 0.0);
        for seed in 0..seeds {
            let context = Context::new(seed).with_threads(0)?;
            let rows = patches(&train, SIDE, count, seed)?;
            let others = patches(&test, SIDE, TEST, 1000 + seed)?;
            let plan = Plan { passes: 100, tolerance: 2e-3, ..Plan::default() };
            let began = Instant::now();
            let found = learn(name, &rows, None, &plan, &context, &mut Silent)?;
            seconds += began.elapsed().as_secs_f64() / (found.passes.max(1) as f64 * seeds as f64);
            (parameters, passes) = (found.parameters, found.passes);
            trained.push(score(&*found.model, &rows, &context)?.mean);
            tested.push(score(&*found.model, &others, &context)?.mean);
        }
        let (test, spread) = mean_and_spread(&tested);
        let reference = reference.map_or("-".to_owned(), |nats| format!("{nats:.1}"));
        println!(
            "{name:<14} {parameters:>10} {reference:>9} {:>9.2} {:>16} {passes:>7} {seconds:>9.2}",
            mean_and_spread(&trained).0,
            format!("{test:.2} ({spread:.2})"),
        );
        if !curve.is_empty() {
            let point = (parameters as f64 / 1000.0, test);
            match curves.iter_mut().find(|(known, _)| known == curve) {
                Some((_, points)) => points.push(point),
                None => curves.push((curve.to_owned(), vec![point])),
            }
        }
    }
    draw_curves(
        "patches",
        "Densities of patches (Figure 4a)",
        ("thousands of parameters", "nats a test patch"),
        &curves,
    )
}
