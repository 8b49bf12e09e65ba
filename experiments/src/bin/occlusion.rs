//! JMLR section 3.1.1: MCVQ learned from faces of which half are partly covered, and covered faces
//! repaired.
//!
//! Every face is there twice, once with a rectangle of a quarter to a half of it replaced by noise
//! with the mean and variance of the other pixels. The paper shows that each part learns at least
//! one blurred state for its covered view; here that is counted: a part *knows* that it is covered
//! if some states hold most of the rows in which it is, and five times the share of the others.
//!
//! Then faces that were held out are covered and rebuilt, and the error in the covered pixels is
//! measured: once not told which pixels are covered, by models of the covered faces, and once told,
//! as missing cells, by models of the clean faces. Not told, a part that is covered is rebuilt as
//! covered; so MCVQ is also asked which parts are, and the model of clean faces fills them. The sizes of PPCA are the best of several on
//! other faces. `cargo xtask experiments occlusion`; the number of seeds may follow.

use mereo_core::{
    Cells, Context, Dense, Encode, Parts, Picture, Plan, Random, Reconstruct, Result, Silent,
    Table, encode, reconstruct,
};
use mereo_experiments::{cbcl_faces, draw_pictures, mean_and_spread, seeds};
use mereo_linear::{Ppca, PpcaParams, factor};
use mereo_parts::{McfaParams, Mcvq, McvqParams, mcfa, mcvq};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

const SIDE: usize = 19;
const PIXELS: usize = SIDE * SIDE;
const FACE: Picture = Picture { height: SIDE, width: SIDE, channels: 1 };
/// A part is covered if this share of it is, and clear below the other.
const COVERED: f64 = 0.75;
const CLEAR: f64 = 0.05;
/// Faces to repair, and faces to choose sizes by.
const TEST: usize = 300;
const CHOOSE: usize = 200;

fn main() -> Result<()> {
    let seeds = seeds(5);
    let Some(faces) = cbcl_faces("train_faces.npy")? else { return Ok(()) };
    let (mut known, mut rates) = (Vec::new(), [Vec::new(), Vec::new()]);
    let mut errors: Vec<(&str, Vec<f64>)> = Vec::new();
    for seed in 0..seeds {
        let context = Context::new(seed).with_threads(0)?;
        let mut random = context.random("occlusion", [0, 0]);
        let mut order: Vec<usize> = (0..faces.rows()).collect();
        rand::seq::SliceRandom::shuffle(&mut order[..], &mut random);
        let test = faces.select_rows(&order[..TEST]);
        let choose = faces.select_rows(&order[TEST..TEST + CHOOSE]);
        let train = faces.select_rows(&order[TEST + CHOOSE..]);
        let (both, covers) = with_covered(&train, &mut random)?;

        let params = McvqParams::new(6, 10);
        // One seeded start: ten times quicker than all kinds, and as good on faces.
        let plan = Plan { restarts: 1, ..Plan::default() };
        let (model, _) = mcvq::fit(&params, &both, &plan, &context, &mut Silent)?;
        let told = knowledge(&model, &both, &covers, &context)?;
        let knows = |p: &&Covered| p.covered >= 0.5 && p.covered >= 5.0 * p.clear;
        known.push(told.iter().filter(knows).count() as f64);
        for (part, Covered { covered, clear, .. }) in told.iter().enumerate() {
            rates[0].push(*covered);
            rates[1].push(*clear);
            if seed == 0 {
                println!("  part {part}: {covered:.2} of covered rows, {clear:.2} of clear ones");
            }
        }

        let hidden: Vec<Vec<bool>> = (0..TEST).map(|_| cover(&mut random)).collect();
        let noisy = covered(&test, &hidden, &mut random)?;
        let missing = masked(&test, &hidden)?;
        let mut add = |name: &'static str, filled: &[f32]| {
            let error = error(filled, &test, &hidden);
            match errors.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) => all.push(error),
                None => errors.push((name, vec![error])),
            }
        };
        let mean = column_means(&train);
        add("the mean face", &mean.repeat(TEST));
        // Not told.
        let rebuilt = reconstruct::<f32>(&model, &noisy, &context)?;
        add("not told: MCVQ 6 x 10", rebuilt.values());
        if seed == 0 {
            draw(&model)?;
        }
        let (validation, of_validation) = {
            let hidden: Vec<Vec<bool>> = (0..CHOOSE).map(|_| cover(&mut random)).collect();
            (covered(&choose, &hidden, &mut random)?, hidden)
        };
        let ppca = best_ppca(&both, &validation, &choose, &of_validation, &context)?;
        add("not told: PPCA", reconstruct::<f32>(&ppca, &noisy, &context)?.values());
        // Told.
        let seen = without_covered(&model, &told, &noisy, &context)?;
        let (model, _) = mcvq::fit(&params, &train, &plan, &context, &mut Silent)?;
        let filled = reconstruct::<f32>(&model, &seen, &context)?;
        add("not told: MCVQ, 2 steps", filled.values());
        if seed == 0 {
            draw_faces(&test, &noisy, filled.values())?;
        }
        add("told: MCVQ 6 x 10", reconstruct::<f32>(&model, &missing, &context)?.values());
        let (model, _) = mcfa::fit(&McfaParams::new(6, 4), &train, &plan, &context, &mut Silent)?;
        add("told: MCFA 6 x 4", reconstruct::<f32>(&model, &missing, &context)?.values());
        let validation = masked(&choose, &of_validation)?;
        let ppca = best_ppca(&train, &validation, &choose, &of_validation, &context)?;
        add("told: PPCA", reconstruct::<f32>(&ppca, &missing, &context)?.values());
    }
    println!("\nJMLR 3.1.1: MCVQ 6 x 10 of faces half of which are partly covered ({seeds} seeds)");
    println!("The paper: every one of 6 parts has a state for its covered view.");
    let (mean, spread) = mean_and_spread(&known);
    println!("  parts that know when they are covered: {mean:.1} ({spread:.1}) of 6");
    println!(
        "  their states for it hold {:.2} of covered and {:.2} of clear rows",
        mean_and_spread(&rates[0]).0,
        mean_and_spread(&rates[1]).0
    );
    println!("\nRMS error in the covered pixels of {TEST} faces, pixels from -2 to 2");
    for (name, all) in errors {
        let (mean, spread) = mean_and_spread(&all);
        println!("  {name:<24} {mean:.4} ({spread:.4})");
    }
    Ok(())
}

/// A rectangle of a quarter to a half of the picture.
fn cover(random: &mut Random) -> Vec<bool> {
    loop {
        let [height, width]: [usize; 2] = std::array::from_fn(|_| random.random_range(5..=SIDE));
        if !(PIXELS / 4..=PIXELS / 2).contains(&(height * width)) {
            continue;
        }
        let top = random.random_range(0..=SIDE - height);
        let left = random.random_range(0..=SIDE - width);
        return (0..PIXELS)
            .map(|d| {
                (top..top + height).contains(&(d / SIDE))
                    && (left..left + width).contains(&(d % SIDE))
            })
            .collect();
    }
}

fn rows(table: &Table<f32>) -> &[f32] {
    match table.cells() {
        Cells::Dense(cells) => cells.values(),
        Cells::Sparse(_) => &[],
    }
}

/// The table with what is hidden replaced by noise.
fn covered(table: &Table<f32>, hidden: &[Vec<bool>], random: &mut Random) -> Result<Table<f32>> {
    let mut values = rows(table).to_vec();
    for (face, hidden) in values.chunks_exact_mut(PIXELS).zip(hidden) {
        let seen: Vec<f64> =
            face.iter().zip(hidden).filter(|(_, h)| !**h).map(|(x, _)| f64::from(*x)).collect();
        let (mean, deviation) = mean_and_spread(&seen);
        for (x, _) in face.iter_mut().zip(hidden).filter(|(_, h)| **h) {
            let normal: f64 = StandardNormal.sample(random);
            *x = (mean + deviation * normal) as f32;
        }
    }
    Ok(Table::from(Dense::new(table.rows(), PIXELS, values)?))
}

/// The table without what is hidden.
fn masked(table: &Table<f32>, hidden: &[Vec<bool>]) -> Result<Table<f32>> {
    let of = |(i, x): (usize, &f32)| if hidden[i / PIXELS][i % PIXELS] { f32::NAN } else { *x };
    let values = rows(table).iter().enumerate().map(of).collect();
    Ok(Table::from(Dense::new(table.rows(), PIXELS, values)?))
}

/// Every face clean and covered, and what was covered of each row.
fn with_covered(table: &Table<f32>, random: &mut Random) -> Result<(Table<f32>, Vec<Vec<bool>>)> {
    let mut covers = vec![vec![false; PIXELS]; table.rows()];
    let hidden: Vec<Vec<bool>> = (0..table.rows()).map(|_| cover(random)).collect();
    let noisy = covered(table, &hidden, random)?;
    covers.extend(hidden);
    let values = [rows(table), rows(&noisy)].concat();
    Ok((Table::from(Dense::new(2 * table.rows(), PIXELS, values)?), covers))
}

/// A part's states for being covered.
struct Covered {
    /// Those states: they hold a larger share of rows in which the part is covered than of others.
    states: Vec<usize>,
    /// The share that they hold of rows in which it is covered, and of rows in which it is clear.
    covered: f64,
    clear: f64,
}

/// What each part has learned of being covered.
fn knowledge(
    model: &Mcvq,
    table: &Table<f32>,
    covers: &[Vec<bool>],
    context: &Context,
) -> Result<Vec<Covered>> {
    let view = model.parts();
    let codes = encode(model as &dyn Encode<f32>, table, context)?;
    let mut told = Vec::new();
    for part in 0..view.parts {
        let size: f64 = (0..PIXELS).map(|d| view.gate_of(d)[part]).sum();
        let mut held = [vec![0.0; view.states], vec![0.0; view.states]];
        for (row, cover) in covers.iter().enumerate() {
            let under: f64 = (0..PIXELS).filter(|&d| cover[d]).map(|d| view.gate_of(d)[part]).sum();
            let kind = match under / size {
                share if share >= COVERED => 0,
                share if share <= CLEAR => 1,
                _ => continue,
            };
            let code = &codes.row(row)[part * view.states..(part + 1) * view.states];
            held[kind].iter_mut().zip(code).for_each(|(held, m)| *held += f64::from(*m));
        }
        let total = |kind: usize| held[kind].iter().sum::<f64>().max(1.0);
        let share = |kind: usize, state: usize| held[kind][state] / total(kind);
        let states: Vec<usize> =
            (0..view.states).filter(|&state| share(0, state) > 2.0 * share(1, state)).collect();
        let of = |kind: usize| states.iter().map(|&state| share(kind, state)).sum();
        let (covered, clear) = (of(0), of(1));
        told.push(Covered { states, covered, clear });
    }
    Ok(told)
}

/// The table without the parts that are in a state for being covered.
fn without_covered(
    model: &Mcvq,
    told: &[Covered],
    table: &Table<f32>,
    context: &Context,
) -> Result<Table<f32>> {
    let view = model.parts();
    let part_of = view.part_of_column();
    let codes = encode(model as &dyn Encode<f32>, table, context)?;
    let mut values = rows(table).to_vec();
    for (row, face) in values.chunks_exact_mut(PIXELS).enumerate() {
        let covered = |part: usize| {
            let code = &codes.row(row)[part * view.states..(part + 1) * view.states];
            told[part].states.iter().map(|&state| code[state]).sum::<f32>() > 0.5
        };
        for (x, part) in face.iter_mut().zip(&part_of) {
            if covered(*part) {
                *x = f32::NAN;
            }
        }
    }
    Ok(Table::from(Dense::new(table.rows(), PIXELS, values)?))
}

fn column_means(table: &Table<f32>) -> Vec<f32> {
    let mut sums = vec![0.0f64; PIXELS];
    for face in rows(table).chunks_exact(PIXELS) {
        sums.iter_mut().zip(face).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    sums.iter().map(|sum| (sum / table.rows() as f64) as f32).collect()
}

fn error(filled: &[f32], whole: &Table<f32>, hidden: &[Vec<bool>]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (i, (f, w)) in filled.iter().zip(rows(whole)).enumerate() {
        if hidden[i / PIXELS][i % PIXELS] {
            sum += f64::from(f - w).powi(2);
            count += 1.0;
        }
    }
    (sum / f64::max(count, 1.0)).sqrt()
}

/// PPCA of the size that repairs other faces best.
fn best_ppca(
    train: &Table<f32>,
    shown: &Table<f32>,
    whole: &Table<f32>,
    hidden: &[Vec<bool>],
    context: &Context,
) -> Result<Ppca> {
    let mut best: Option<(f64, Ppca)> = None;
    for components in [2, 5, 10, 20, 40, 80] {
        let params = PpcaParams::new(components);
        let (model, _) = factor::fit_ppca(&params, train, &Plan::default(), context, &mut Silent)?;
        let filled = reconstruct(&model as &dyn Reconstruct<f32>, shown, context)?;
        let found = error(filled.values(), whole, hidden);
        if best.as_ref().is_none_or(|(error, _)| found < *error) {
            best = Some((found, model));
        }
    }
    best.map(|(_, model)| model).ok_or_else(|| mereo_core::Error::option("sizes", "none"))
}

/// Masks and states.
fn draw(model: &Mcvq) -> Result<()> {
    let view = model.parts();
    let mut cells: Vec<f64> = Vec::new();
    for part in 0..view.parts {
        cells.extend((0..PIXELS).map(|d| 4.0 * view.gate_of(d)[part] - 2.0));
        (0..view.states).for_each(|state| cells.extend_from_slice(view.state(part, state)));
    }
    draw_pictures("occlusion-parts", &cells, FACE, 1 + view.states, (-2.0, 2.0))
}

/// Some faces as they are, covered, and repaired.
fn draw_faces(test: &Table<f32>, noisy: &Table<f32>, repaired: &[f32]) -> Result<()> {
    const SHOWN: usize = 10;
    let cells: Vec<f64> = [rows(test), rows(noisy), repaired]
        .iter()
        .flat_map(|all| all[..SHOWN * PIXELS].iter().map(|&x| f64::from(x)))
        .collect();
    draw_pictures("occlusion-repaired", &cells, FACE, SHOWN, (-2.0, 2.0))
}
