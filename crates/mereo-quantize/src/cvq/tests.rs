//! What the mathematics says must hold, and data as it comes.

use mereo_core::math::{Array, Matrix};
use mereo_core::{
    Context, Dense, Manifest, Plan, Random, Silent, Table, encode, reconstruct, score,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::sums::{Explainer, Seen, Sums, products};
use super::*;

fn normal(random: &mut Random) -> f64 {
    StandardNormal.sample(random)
}

/// Rows that are sums of one of three vectors from each of two codebooks.
fn sums_of_two(rows: usize, noise: f64, seed: u64) -> Table<f64> {
    let mut random = Context::new(seed).random("sums", [0, 0]);
    let books: Vec<f64> = (0..6 * 5).map(|_| 2.0 * normal(&mut random)).collect();
    let mut values = Vec::new();
    for _ in 0..rows {
        let (a, b) = (random.random_range(0..3), random.random_range(3..6));
        for c in 0..5 {
            values.push(books[a * 5 + c] + books[b * 5 + c] + noise * normal(&mut random));
        }
    }
    Table::from(Dense::new(rows, 5, values).unwrap())
}

#[test]
fn codebooks_that_add_up_are_found() {
    let table = sums_of_two(400, 0.1, 1);
    for name in Inference::NAMES {
        let inference = name.parse().unwrap();
        let params = CvqParams { inference, ..CvqParams::new(2, 3) };
        let plan = Plan { restarts: 12, ..Plan::default() };
        let (model, _) = fit(&params, &table, &plan, &Context::new(0), &mut Silent).unwrap();
        assert!(model.variance() < 0.013, "{name}: {}", model.variance());
    }
}

#[test]
fn the_bound_never_falls_without_draws() {
    let table = sums_of_two(200, 0.5, 2);
    // Half a row is added to every state's share, which the search does not look at.
    for (inference, slack) in [(Inference::MeanField, 0.05), (Inference::Local, 1e-6)] {
        let params = CvqParams { inference, ..CvqParams::new(3, 3) };
        let plan = Plan { tolerance: 0.0, passes: 25, restarts: 2, ..Plan::default() };
        let (_, training) = fit(&params, &table, &plan, &Context::new(0), &mut Silent).unwrap();
        for restart in &training.restarts {
            for pair in restart.bounds.windows(2) {
                assert!(pair[1] >= pair[0] - slack, "{inference:?}: {pair:?}");
            }
        }
    }
}

#[test]
fn responsibilities_and_bounds_agree_with_enumeration() {
    let mut random = Context::new(3).random("enumeration", [0, 0]);
    for _ in 0..50 {
        let mean: Vec<f64> = (0..6 * 2).map(|_| normal(&mut random)).collect();
        let x: Vec<f64> = (0..2).map(|_| 2.0 * normal(&mut random)).collect();
        let mut all = Array::default();
        products(Matrix::new(&mean, 6, 2), None, &mut all);
        let reach: Vec<f64> =
            mean.chunks(2).map(|m| m.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
        let square = |a: usize, b: usize| -> f64 {
            (0..2).map(|c| (x[c] - mean[a * 2 + c] - mean[b * 2 + c]).powi(2)).sum()
        };
        let own: f64 = x.iter().map(|x| x * x).sum();
        let log_evidence =
            (0..9).map(|k| (-0.5 * square(k / 3, 3 + k % 3)).exp() / 9.0).sum::<f64>().ln();
        let mut explainer = Explainer::default();
        for name in Inference::NAMES {
            let inference = name.parse().unwrap();
            let log_prior = vec![-(3f64.ln()); 6];
            let sums = Sums { parts: 2, states: 3, inference, variance: 1.0, log_prior };
            let seen = Seen { reach: &reach, products: all.view() };
            let (found, divergence) = sums.explain(seen, None, &mut explainer);
            if inference == Inference::Local {
                let best = (0..9).map(|k| square(k / 3, 3 + k % 3)).fold(f64::INFINITY, f64::min);
                assert!((own + found - best).abs() < 1e-9, "{name}");
            }
            if inference != Inference::Gibbs {
                let bound = -0.5 * (own + found) - divergence;
                assert!(bound <= log_evidence + 1e-9, "{name}: {bound} {log_evidence}");
            }
            for part in explainer.code.chunks(3) {
                assert!((part.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn the_search_finds_the_best_of_all_codes() {
    let mut random = Context::new(5).random("search", [0, 0]);
    let (parts, states, d) = (4usize, 3usize, 3usize);
    let mut found_best = 0;
    for _ in 0..200 {
        let mean: Vec<f64> = (0..parts * states * d).map(|_| normal(&mut random)).collect();
        let x: Vec<f64> = (0..d).map(|_| 2.0 * normal(&mut random)).collect();
        let mut all = Array::default();
        products(Matrix::new(&mean, parts * states, d), None, &mut all);
        let reach: Vec<f64> =
            mean.chunks(d).map(|m| m.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
        let own: f64 = x.iter().map(|x| x * x).sum();
        let mut best = f64::INFINITY;
        for code in 0..states.pow(parts as u32) {
            let mut left = x.clone();
            for k in 0..parts {
                let a = k * states + code / states.pow(k as u32) % states;
                left.iter_mut().zip(&mean[a * d..]).for_each(|(l, m)| *l -= m);
            }
            best = best.min(left.iter().map(|l| l * l).sum());
        }
        let log_prior = vec![-(3f64.ln()); parts * states];
        let inference = Inference::Local;
        let sums = Sums { parts, states, inference, variance: 1.0, log_prior };
        let mut explainer = Explainer::default();
        let (found, _) =
            sums.explain(Seen { reach: &reach, products: all.view() }, None, &mut explainer);
        assert!(own + found >= best - 1e-9);
        assert_eq!(explainer.code.iter().filter(|m| **m == 1.0).count(), parts);
        found_best += usize::from(own + found <= best + 1e-9);
    }
    assert!(found_best >= 190, "{found_best}");
}

#[test]
fn strange_tables_are_learned() {
    let odd = |i: usize| ((i * 7) % 5) as f64;
    let tables = [
        (10, 3, (0..30).map(|_| 4.0).collect::<Vec<f64>>()),
        (1, 3, (0..3).map(odd).collect()),
        (9, 1, (0..9).map(odd).collect()),
        (
            12,
            3,
            (0..36).map(|i| if i % 4 == 1 || i < 3 { f64::NAN } else { 1e6 + odd(i) }).collect(),
        ),
        (12, 3, (0..36).map(|i| 1e-100 * odd(i)).collect()),
        (12, 3, (0..36).map(|i| 1e100 * odd(i)).collect()),
    ];
    let context = Context::new(0);
    for (rows, columns, values) in tables {
        let table = Table::from(Dense::new(rows, columns, values).unwrap());
        for name in Inference::NAMES {
            let inference = name.parse().unwrap();
            let params = CvqParams { inference, ..CvqParams::new(2, 3) };
            let plan = Plan { passes: 5, ..Plan::default() };
            let (model, training) = fit(&params, &table, &plan, &context, &mut Silent).unwrap();
            assert!(training.bound.is_finite(), "{name}");
            let codes = encode::<f64>(&model, &table, &context).unwrap();
            assert!(codes.values().iter().all(|m| m.is_finite()), "{name}");
            let scores = score::<f64>(&model, &table, &context).unwrap();
            assert!(scores.rows.iter().all(|s| s.is_finite()), "{name}");
            assert!(reconstruct::<f64>(&model, &table, &context).is_ok());
            let file = model.to_file(Manifest::new("cvq"));
            let again = Cvq::from_file(file, "memory".as_ref()).unwrap();
            assert_eq!(again.with_inference(inference), model);
        }
    }
}
