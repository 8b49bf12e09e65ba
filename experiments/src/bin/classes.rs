//! Thesis chapter 4: class priors, a hybrid, classification, learned clusters.
//!
//! The thesis used photographs of the AR set, which may not be passed on; the toy faces have the
//! same five classes. Beside them digits (MNIST at 14 x 14) and the people of the Olivetti faces, if
//! they are beside the project. What a kernel machine makes of the same rows, by pixels and by codes: `benches/classes_peers.py` reads
//! what this program leaves in `target/classes`.
//!
//! `cargo xtask experiments classes`; the number of seeds may follow.

use std::path::PathBuf;

use mereo_core::math::adjusted_rand_index;
use mereo_core::{
    AnyTable, Cells, ClassView, Classify, Context, Dense, Encode, Labels, Likelihood, Parts,
    PartsView, Plan, Reconstruct, Result, Silent, Table, classify, encode, reconstruct, sample,
};
use mereo_data::toy::World;
use mereo_data::write::write_table;
use mereo_experiments::{draw_pictures, halved_digits, mean_and_spread, olivetti, seeds};
use mereo_parts::{Classes, McfaParams, Mcvq, McvqParams, mcfa, mcvq};

const FACES: [usize; 2] = [1000, 500];
const DIGITS: [usize; 2] = [2000, 1000];

/// One seeded start: scouts would take ten times as long here.
fn plan() -> Plan {
    Plan::default()
}

/// Rows with labels to learn from, and others to try.
struct Data {
    name: &'static str,
    train: Table<f32>,
    test: Table<f32>,
    /// Sizes of MCVQ, of which held-out training rows choose one; the first is to be looked at.
    sizes: &'static [[usize; 2]],
    /// Sizes that codes are made by, of which the kernel machine's folds of the training rows choose
    /// one.
    codes: &'static [[usize; 2]],
    factors: McfaParams,
}

impl Data {
    /// The size that puts a fifth of the training rows best into classes after learning from the
    /// others.
    fn chosen(&self, context: &Context) -> Result<McvqParams> {
        let (held, kept): (Vec<usize>, Vec<usize>) =
            (0..self.train.rows()).partition(|row| row % 5 == 4);
        let (held, kept) = (self.train.select_rows(&held), self.train.select_rows(&kept));
        let mut best = (f64::NEG_INFINITY, labelled(self.sizes[0]));
        for &size in self.sizes {
            let params = labelled(size);
            let (model, _) = mcvq::fit(&params, &kept, &plan(), context, &mut Silent)?;
            let right = accuracy(&model, Likelihood::Bound, &held, context)?;
            if right > best.0 {
                best = (right, params);
            }
        }
        Ok(best.1)
    }
}

fn labelled([parts, states]: [usize; 2]) -> McvqParams {
    McvqParams { classes: Classes::Labels, ..McvqParams::new(parts, states) }
}

fn faces(seed: u64) -> Result<Data> {
    let world = World::Faces;
    Ok(Data {
        name: "toy faces",
        train: world.make(Some(FACES[0]), seed)?.table,
        test: world.make(Some(FACES[1]), seed + 1000)?.table,
        sizes: &[[5, 16], [6, 24], [8, 32]],
        codes: &[[5, 16], [8, 32]],
        factors: McfaParams::new(5, 3),
    })
}

/// Digits from another place in the file for every seed.
fn digits(seed: u64) -> Result<Option<Data>> {
    let [train, test] = DIGITS;
    let skip = seed as usize * (train + test);
    let Some(all) = halved_digits(skip, train + test)? else { return Ok(None) };
    Ok(Some(Data {
        name: "digits",
        train: all.select_rows(&(0..train).collect::<Vec<_>>()),
        test: all.select_rows(&(train..train + test).collect::<Vec<_>>()),
        sizes: &[[10, 12], [24, 16], [48, 12], [64, 16]],
        codes: &[[24, 16], [48, 12], [96, 8]],
        factors: McfaParams::new(6, 6),
    }))
}

/// Five pictures of each person to learn from and the others to try, five others for every seed.
fn people(seed: u64) -> Result<Option<Data>> {
    let Some(all) = olivetti()? else { return Ok(None) };
    let learned = |row: &usize| (row + seed as usize) % 10 < 5;
    let (train, test): (Vec<usize>, Vec<usize>) = (0..all.rows()).partition(learned);
    Ok(Some(Data {
        name: "people",
        train: all.select_rows(&train),
        test: all.select_rows(&test),
        sizes: &[[12, 16], [20, 20]],
        codes: &[[20, 20], [64, 10], [128, 8]],
        factors: McfaParams::new(6, 4),
    }))
}

type Make = fn(u64) -> Result<Option<Data>>;

fn main() -> Result<()> {
    let seeds = seeds(5);
    let sets: [Make; 3] = [|seed| faces(seed).map(Some), digits, people];
    for make in sets {
        let mut told: Vec<(String, Vec<f64>)> = Vec::new();
        for seed in 0..seeds {
            let Some(data) = make(seed)? else { break };
            for (rule, right) in supervised(&data, seed)? {
                let name = format!("{}: {rule}", data.name);
                match told.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, all)) => all.push(right),
                    None => told.push((name, vec![right])),
                }
            }
        }
        println!("\nClassification of new rows ({seeds} seeds)");
        for (name, right) in told {
            let (mean, spread) = mean_and_spread(&right);
            println!("  {name:<52} {mean:.4} ({spread:.4})");
        }
    }
    println!("\nClasses without labels: adjusted Rand index with the labels, over {seeds} seeds");
    println!(
        "(thesis Table 4.2: 253 of 255 sunglasses in one of three clusters, neutral and scream mixed:"
    );
    println!("0.495, worked out from the counts that are printed there, of other faces)");
    unsupervised(&["neutral", "scream", "sunglasses"], &faces(0)?, [8, 4], seeds)?;
    if let Some(data) = digits(0)? {
        unsupervised(&["0", "1", "7"], &data, [24, 8], seeds)?;
    }
    Ok(())
}

/// Section 4.3.1: how often new rows are put into the right class, by each rule.
fn supervised(data: &Data, seed: u64) -> Result<Vec<(&'static str, f64)>> {
    let context = Context::new(seed).with_threads(0)?;
    let params = data.chosen(&context)?;
    let (model, _) = mcvq::fit(&params, &data.train, &plan(), &context, &mut Silent)?;
    let right = accuracy(&model, Likelihood::Bound, &data.test, &context)?;
    println!("  {} seed {seed}: {} x {}", data.name, params.parts, params.states);
    let mut found = vec![("MCVQ of the size chosen, bound", right)];
    let params = labelled(data.sizes[0]);
    let (model, _) = mcvq::fit(&params, &data.train, &plan(), &context, &mut Silent)?;
    // Small enough to draw states. Going through all of them would take minutes.
    let small = params.parts <= 5;
    let rules = [
        ("MCVQ, bound", Likelihood::Bound),
        ("MCVQ, importance, 200 draws", Likelihood::Importance(200)),
        ("MCVQ, prior, 200 draws (the thesis's way)", Likelihood::Prior(200)),
    ];
    for (name, how) in rules.into_iter().take(if small { 3 } else { 1 }) {
        found.push((name, accuracy(&model, how, &data.test, &context)?));
    }
    if seed == 0 && small {
        let names = data.train.about().labels.as_ref().map(|l| l.names.clone());
        let names = names.unwrap_or_default();
        if let Some(classes) = model.class_view() {
            class_state_prior(&model.parts(), &classes, &names);
        }
        hybrids(&model, &data.train, &names, &context)?;
    }
    leave(data, seed, &context)?;
    let params = McfaParams { classes: Classes::Labels, ..data.factors.clone() };
    let (model, _) = mcfa::fit(&params, &data.train, &plan(), &context, &mut Silent)?;
    found.push(("MCFA, bound", accuracy(&model, Likelihood::Bound, &data.test, &context)?));
    if small {
        let how = Likelihood::Importance(200);
        found.push(("MCFA, importance, 200 draws", accuracy(&model, how, &data.test, &context)?));
    }
    Ok(found)
}

/// Leaves rows and labels for the kernel machine, with the codes of parts that were found without
/// labels, and what these decode to.
fn leave(data: &Data, seed: u64, context: &Context) -> Result<()> {
    let folder = PathBuf::from(format!("target/classes/{}-{seed}", data.name.replace(' ', "-")));
    std::fs::create_dir_all(&folder).map_err(|e| mereo_core::Error::io(&folder, e))?;
    let write = |name: String, cells: Dense<f32>| -> Result<()> {
        write_table(&folder.join(name + ".npy"), &AnyTable::F32(Table::from(cells)))
    };
    let tables = [("train", &data.train), ("test", &data.test)];
    for (name, table) in tables {
        let Cells::Dense(cells) = table.cells() else { continue };
        write(format!("{name}-pixels"), cells.clone())?;
        let labels: Vec<f32> = labels(table).iter().map(|&l| l as f32).collect();
        write(format!("{name}-labels"), Dense::new(labels.len(), 1, labels)?)?;
    }
    for &[parts, states] in data.codes {
        let params = McvqParams::new(parts, states);
        let (model, _) = mcvq::fit(&params, &data.train, &plan(), context, &mut Silent)?;
        for (name, table) in tables {
            let codes = encode(&model as &dyn Encode<f32>, table, context)?;
            write(format!("{name}-codes-{parts}x{states}"), codes)?;
            let decoded = reconstruct(&model as &dyn Reconstruct<f32>, table, context)?;
            write(format!("{name}-decoded-{parts}x{states}"), decoded)?;
        }
    }
    Ok(())
}

/// Table 4.1: the part that tells most about the class.
fn class_state_prior(view: &PartsView<'_>, classes: &ClassView<'_>, names: &[String]) {
    let slots = view.parts * view.states;
    let spread = |part: usize| -> f64 {
        (part * view.states..(part + 1) * view.states)
            .map(|slot| {
                let of: Vec<f64> =
                    (0..names.len()).map(|n| classes.class_state_prior[n * slots + slot]).collect();
                mean_and_spread(&of).1
            })
            .sum()
    };
    let part = (0..view.parts).fold(0, |b, k| if spread(k) > spread(b) { k } else { b });
    println!("Thesis Table 4.1, here for part {part}: how common each state is in each class\n");
    for (n, name) in names.iter().enumerate() {
        let first = n * slots + part * view.states;
        let priors: Vec<String> = classes.class_state_prior[first..first + view.states]
            .iter()
            .map(|p| format!("{p:.2}"))
            .collect();
        println!("  {name:<12} {}", priors.join("  "));
    }
}

/// Figure 4.3: rows drawn from each class, and screaming sunglasses: the part in which sunglasses
/// differ most from a neutral face, on screaming faces.
fn hybrids(model: &Mcvq, train: &Table<f32>, names: &[String], context: &Context) -> Result<()> {
    const DRAWN: usize = 10;
    let (Some(classes), Some(picture)) = (model.class_view(), train.about().picture) else {
        return Ok(());
    };
    let view = model.parts();
    let class = |name: &str| names.iter().position(|n| n == name).unwrap_or(0);
    let [neutral, scream, glasses] = ["neutral", "scream", "sunglasses"].map(class);
    let slots = view.parts * view.states;
    let apart = |part: usize| -> f64 {
        let of = |n: usize, slot: usize| classes.class_state_prior[n * slots + slot];
        let own = part * view.states..(part + 1) * view.states;
        own.map(|slot| (of(neutral, slot) - of(glasses, slot)).abs()).sum()
    };
    let eyes = (0..view.parts).fold(0, |b, k| if apart(k) > apart(b) { k } else { b });
    let mut cells = Vec::new();
    let mut draw = |blend: Vec<Vec<(usize, f64)>>| -> Result<()> {
        let rows = sample(&model.hybrid(&blend)?, DRAWN, false, context)?;
        cells.extend_from_slice(rows.values());
        Ok(())
    };
    for n in 0..names.len() {
        draw(vec![vec![(n, 1.0)]; view.parts])?;
    }
    let mut blend = vec![vec![(scream, 1.0)]; view.parts];
    blend[eyes] = vec![(glasses, 1.0)];
    draw(blend)?;
    let range = cells.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    println!("\n  lines of the picture: {}, screaming sunglasses", names.join(", "));
    draw_pictures("classes-hybrids", &cells, picture, DRAWN, range)
}

/// Section 4.3.2: some of the classes without their labels, by MCVQ of a size that was chosen by
/// hand among some that were tried on these rows.
fn unsupervised(
    classes: &[&str],
    data: &Data,
    [parts, states]: [usize; 2],
    seeds: u64,
) -> Result<()> {
    let names = data.train.about().labels.as_ref().map(|l| l.names.clone()).unwrap_or_default();
    let all = labels(&data.train);
    let place = |name: &&str| names.iter().position(|n| n == name).map(|n| n as u32);
    let wanted: Vec<u32> = classes.iter().filter_map(place).collect();
    let rows: Vec<usize> = (0..all.len()).filter(|&r| wanted.contains(&all[r])).collect();
    let table = data.train.select_rows(&rows);
    let mut agreement = Vec::new();
    for seed in 0..seeds {
        let context = Context::new(seed).with_threads(0)?;
        let params = McvqParams {
            classes: Classes::Learned(wanted.len()),
            ..McvqParams::new(parts, states)
        };
        let (model, _) = mcvq::fit(&params, &table, &plan(), &context, &mut Silent)?;
        let found = most_likely(&model, Likelihood::Bound, &table, &context)?;
        let mut counts = vec![vec![0usize; wanted.len()]; wanted.len()];
        for (class, label) in found.iter().zip(labels(&table)) {
            if let Some(row) = wanted.iter().position(|w| *w == label) {
                counts[row][*class as usize] += 1;
            }
        }
        if seed == 0 {
            for (name, counts) in classes.iter().zip(&counts) {
                println!("    {name:<12} {counts:?}");
            }
        }
        agreement.push(adjusted_rand_index(&counts));
    }
    let (mean, spread) = mean_and_spread(&agreement);
    println!("  {}: {mean:.4} ({spread:.4}): {agreement:.3?}", data.name);
    println!(
        "    of {}; {parts} parts of {states} states, chosen by hand among sizes tried on these rows",
        classes.join(", ")
    );
    Ok(())
}

fn labels(table: &Table<f32>) -> Vec<u32> {
    let of_row = table.about().labels.as_ref().map(|Labels { of_row, .. }| of_row.clone());
    of_row.unwrap_or_default().into_iter().map(|label| label.unwrap_or(u32::MAX)).collect()
}

fn accuracy(
    model: &dyn Classify<f32>,
    how: Likelihood,
    table: &Table<f32>,
    context: &Context,
) -> Result<f64> {
    let truth = labels(table);
    let found = most_likely(model, how, table, context)?;
    let same = found.iter().zip(&truth).filter(|(a, b)| a == b).count();
    Ok(same as f64 / truth.len() as f64)
}

fn most_likely(
    model: &dyn Classify<f32>,
    how: Likelihood,
    table: &Table<f32>,
    context: &Context,
) -> Result<Vec<u32>> {
    let found = classify(model, how, table, context)?;
    let best = |row: &[f64]| (0..row.len()).fold(0, |b, n| if row[n] > row[b] { n } else { b });
    Ok((0..found.rows()).map(|row| best(found.row(row)) as u32).collect())
}
