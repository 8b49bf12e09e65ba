//! Bayesian factor analysis of ordered levels.

use mereo_core::{
    Absent, CellPrediction, Context, Manifest, Plan, Silent, Sparse, Table, Training, predict_cells,
};
use mereo_ratings::{Bfa, BfaParams, bfa};
use rand_distr::{Distribution, StandardNormal};

const ITEMS: usize = 30;
/// Levels that are not equally likely nor equally wide.
const CUTS: [f64; 3] = [-1.6, -1.0, 0.6];

/// 400 people who show one of four levels of about a third of the items each; and what they think of all.
fn world(offset: f64) -> (Table<f64>, Vec<f64>) {
    let mut random = Context::new(5).random("world", [0, 0]);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let loading: Vec<f64> = (0..ITEMS).map(|_| 0.9 * normal()).collect();
    let centre: Vec<f64> = (0..ITEMS).map(|_| 0.5 * normal()).collect();
    let (mut starts, mut indices, mut values, mut all) =
        (vec![0], Vec::new(), Vec::new(), Vec::new());
    for person in 0..400usize {
        let (z, bias) = (normal(), 0.4 * normal());
        for item in 0..ITEMS {
            let y = centre[item] + bias + z * loading[item] + normal();
            let level = CUTS.iter().filter(|cut| **cut < y).count() as f64 + 1.0 + offset;
            all.push(level);
            if (person * 7 + item * 11 + person / 13) % 3 == 0 {
                indices.push(item as u32);
                values.push(level);
            }
        }
        starts.push(values.len());
    }
    (Table::from(Sparse::new(ITEMS, starts, indices, values, Absent::Unobserved).unwrap()), all)
}

fn fit(ordinal: bool, table: &Table<f64>, threads: usize) -> (Bfa, Training) {
    let params = BfaParams { ordinal, ..BfaParams::new(2) };
    let plan = Plan { passes: 60, tolerance: 1e-7, ..Plan::default() };
    let context = Context::new(1).with_threads(threads).unwrap();
    bfa::fit(&params, table, &plan, &context, &mut Silent).unwrap()
}

#[test]
fn the_bound_never_falls_and_threads_do_not_matter() {
    let (table, _) = world(0.0);
    let (model, training) = fit(true, &table, 1);
    for pair in training.restarts[0].bounds.windows(2) {
        assert!(pair[1] >= pair[0] - 1e-6 * pair[0].abs(), "{pair:?}");
    }
    assert_eq!(fit(true, &table, 3).0, model);
    let again = Bfa::from_file(model.to_file(Manifest::new("bfa")), "again".as_ref()).unwrap();
    assert_eq!(again, model);
}

#[test]
fn cut_points_are_found() {
    let (model, _) = fit(true, &world(0.0).0, 2);
    let file = model.to_file(Manifest::new("bfa"));
    assert_eq!(file.get("level").unwrap().values, [1.0, 2.0, 3.0, 4.0]);
    let cuts = &file.get("cut").unwrap().values;
    // Up to where the columns' mean happens to be.
    for (cut, truth) in cuts.windows(2).zip(CUTS.windows(2)) {
        let (found, truth) = (cut[1] - cut[0], truth[1] - truth[0]);
        assert!((found / truth - 1.0).abs() < 0.15, "{cuts:?}");
    }
}

/// Log probability of the levels that were not seen, and absolute error by the median.
fn judged(model: &Bfa, table: &Table<f64>, all: &[f64]) -> (f64, f64) {
    let hidden: Vec<(usize, usize)> = (0..400)
        .flat_map(|person| (0..ITEMS).map(move |item| (person, item)))
        .filter(|(person, item)| (person * 7 + item * 11 + person / 13) % 3 != 0)
        .collect();
    let levels = [1.0, 2.0, 3.0, 4.0];
    let told = |p: &CellPrediction| p.on_levels(&levels);
    let guesses = predict_cells::<f64, _>(model, table, &hidden, &Context::new(0), told).unwrap();
    let (mut log, mut error) = (0.0, 0.0);
    for (guess, (person, item)) in guesses.iter().zip(&hidden) {
        let truth = all[person * ITEMS + item];
        log += guess.log_density(truth);
        error += (guess.median() - truth).abs();
    }
    (log / hidden.len() as f64, error / hidden.len() as f64)
}

#[test]
fn levels_are_predicted_better_than_as_numbers() {
    let (table, all) = world(0.0);
    let (levels, numbers) = (fit(true, &table, 2).0, fit(false, &table, 2).0);
    let (log, error) = judged(&levels, &table, &all);
    let (log_numbers, error_numbers) = judged(&numbers, &table, &all);
    assert!(
        log > log_numbers + 0.02 && error < error_numbers + 0.01,
        "{log} {log_numbers} {error} {error_numbers}"
    );
}

#[test]
fn where_the_scale_begins_changes_nothing() {
    let (near, far) = (fit(true, &world(0.0).0, 2).0, fit(true, &world(1e6).0, 2).0);
    let cuts = |model: &Bfa| model.to_file(Manifest::new("bfa")).get("cut").unwrap().values.clone();
    assert_eq!(cuts(&near), cuts(&far));
    let apart = near.mean().iter().zip(far.mean()).map(|(a, b)| (b - a - 1e6).abs());
    assert!(apart.fold(0.0, f64::max) < 1e-6);
}

#[test]
fn one_level_and_one_rating_have_answers() {
    for (starts, indices, values) in [
        (vec![0, 1], vec![0], vec![3.0]),
        (vec![0, 2, 3], vec![0, 1, 1], vec![3.0, 3.0, 3.0]),
        (vec![0, 1, 1], vec![1], vec![2.0]),
    ] {
        let table =
            Table::from(Sparse::new(2, starts, indices, values, Absent::Unobserved).unwrap());
        let (model, training) = fit(true, &table, 1);
        assert!(training.bound.is_finite() && model.mean().iter().all(|m| m.is_finite()));
    }
}
