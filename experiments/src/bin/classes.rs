//! Thesis chapter 4 on the toy faces: class priors, a hybrid, classification, learned clusters.
//!
//! The thesis used photographs of the AR set, which may not be passed on; the toy faces have the
//! same five classes. `cargo xtask experiments classes`; the number of seeds may follow.

use mereo_core::math::adjusted_rand_index;
use mereo_core::{
    ClassView, Context, Likelihood, Parts, PartsView, Result, Silent, Table, classify,
};
use mereo_data::toy::World;
use mereo_experiments::{mean_and_spread, parts_plan, seeds};
use mereo_parts::{Classes, Mcvq, McvqParams, mcvq};

const ROWS: usize = 1000;
const STATES: usize = 8;

fn main() -> Result<()> {
    let seeds = seeds(5);
    supervised(seeds)?;
    unsupervised(seeds)
}

/// Section 4.3.1: five classes, five parts; how often new faces are put into the right one.
fn supervised(seeds: u64) -> Result<()> {
    let rules = [
        ("bound", Likelihood::Bound),
        ("exact", Likelihood::Exact),
        ("importance, 200 draws", Likelihood::Importance(200)),
        ("prior, 200 draws (the thesis's way)", Likelihood::Prior(200)),
    ];
    let mut right = vec![Vec::new(); rules.len()];
    for seed in 0..seeds {
        let (train, test) =
            (World::Faces.make(Some(ROWS), seed)?, World::Faces.make(Some(500), seed + 1000)?);
        let context = Context::new(seed).with_threads(0)?;
        let params = McvqParams { classes: Classes::Labels, ..McvqParams::new(5, STATES) };
        let (model, _) = mcvq::fit(&params, &train.table, &parts_plan(), &context, &mut Silent)?;
        let truth = labels(&test.table);
        for ((_, how), right) in rules.iter().zip(&mut right) {
            let found = most_likely(&model, *how, &test.table, &context)?;
            let same = found.iter().zip(&truth).filter(|(a, b)| a == b).count();
            right.push(same as f64 / truth.len() as f64);
        }
        if seed == 0
            && let Some(classes) = model.class_view()
        {
            let names = train.truth.labels.map(|l| l.names).unwrap_or_default();
            habits(&model.parts(), &classes, &names);
        }
    }
    println!("\nClassification of 500 new faces, 5 classes ({seeds} seeds)");
    for ((name, _), right) in rules.iter().zip(&right) {
        let (mean, spread) = mean_and_spread(right);
        println!("  {name:<38} {mean:.4} ({spread:.4})");
    }
    Ok(())
}

/// Table 4.1: the part that tells most about the class.
fn habits(view: &PartsView<'_>, classes: &ClassView<'_>, names: &[String]) {
    let slots = view.parts * view.states;
    let spread = |part: usize| -> f64 {
        (part * view.states..(part + 1) * view.states)
            .map(|slot| {
                let of: Vec<f64> =
                    (0..names.len()).map(|n| classes.state_prior[n * slots + slot]).collect();
                mean_and_spread(&of).1
            })
            .sum()
    };
    let part = (0..view.parts).fold(0, |b, k| if spread(k) > spread(b) { k } else { b });
    println!("Thesis Table 4.1, here for part {part}: how common each state is in each class\n");
    for (n, name) in names.iter().enumerate() {
        let first = n * slots + part * view.states;
        let priors: Vec<String> = classes.state_prior[first..first + view.states]
            .iter()
            .map(|p| format!("{p:.2}"))
            .collect();
        println!("  {name:<12} {}", priors.join("  "));
    }
}

/// Section 4.3.2: three of the classes without their labels.
fn unsupervised(seeds: u64) -> Result<()> {
    println!("\nThesis Table 4.2: neutral, scream and sunglasses, 3 classes without labels");
    println!(
        "(there 253 of 255 sunglasses were in one cluster, the others mixed: index about 0.54)"
    );
    let mut agreement = Vec::new();
    for seed in 0..seeds {
        let toy = World::Faces.make(Some(ROWS), seed)?;
        let names = toy.truth.labels.as_ref().map(|l| l.names.clone()).unwrap_or_default();
        let wanted: Vec<u32> = ["neutral", "scream", "sunglasses"]
            .iter()
            .filter_map(|name| names.iter().position(|n| n == name).map(|n| n as u32))
            .collect();
        let all = labels(&toy.table);
        let rows: Vec<usize> = (0..all.len()).filter(|&r| wanted.contains(&all[r])).collect();
        let table = toy.table.select_rows(&rows);
        let context = Context::new(seed).with_threads(0)?;
        let params = McvqParams { classes: Classes::Learned(3), ..McvqParams::new(5, STATES) };
        let (model, _) = mcvq::fit(&params, &table, &parts_plan(), &context, &mut Silent)?;
        let found = most_likely(&model, Likelihood::Bound, &table, &context)?;
        let mut counts = vec![vec![0usize; 3]; 3];
        for (class, label) in found.iter().zip(labels(&table)) {
            if let Some(row) = wanted.iter().position(|w| *w == label) {
                counts[row][*class as usize] += 1;
            }
        }
        if seed == 0 {
            for (label, counts) in wanted.iter().zip(&counts) {
                println!("  {:<12} {counts:?}", names[*label as usize]);
            }
        }
        agreement.push(adjusted_rand_index(&counts));
    }
    let (mean, spread) = mean_and_spread(&agreement);
    println!("  adjusted Rand index {mean:.4} ({spread:.4}) over {seeds} seeds: {agreement:.3?}");
    Ok(())
}

fn labels(table: &Table<f32>) -> Vec<u32> {
    let of_row = table.about().labels.as_ref().map(|l| l.of_row.clone()).unwrap_or_default();
    of_row.into_iter().map(|label| label.unwrap_or(u32::MAX)).collect()
}

fn most_likely(
    model: &Mcvq,
    how: Likelihood,
    table: &Table<f32>,
    context: &Context,
) -> Result<Vec<u32>> {
    let found = classify::<f32>(model, how, table, context)?;
    let best = |row: &[f64]| (0..row.len()).fold(0, |b, n| if row[n] > row[b] { n } else { b });
    Ok((0..found.rows()).map(|row| best(found.row(row)) as u32).collect())
}
