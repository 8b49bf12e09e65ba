//! Bayesian factor analysis that listens to which columns rows observe.

use mereo_core::{
    Absent, CellPrediction, Context, Manifest, Plan, Silent, Sparse, Table, Tensor, Training,
    predict_cells,
};
use mereo_ratings::{Bfa, BfaParams, bfa};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

const ITEMS: usize = 40;
const PEOPLE: usize = 500;

/// People who rate some of 40 items: with `chosen`, mostly those of the half that they like. Also what they think of every item.
fn world(chosen: bool) -> (Table<f64>, Vec<f64>) {
    let mut random = Context::new(2).random("world", [0, 0]);
    let (mut starts, mut indices, mut values, mut all) =
        (vec![0], Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PEOPLE {
        let taste: f64 = StandardNormal.sample(&mut random);
        for item in 0..ITEMS {
            let side = if item % 2 == 0 { 1.0 } else { -1.0 };
            let noise: f64 = StandardNormal.sample(&mut random);
            let rating = 3.0 + side * taste + noise;
            all.push(rating);
            let chance = if chosen && side * taste > 0.0 { 0.2 } else { 0.04 };
            if random.random::<f64>() < chance {
                indices.push(item as u32);
                values.push(rating);
            }
        }
        starts.push(values.len());
    }
    (Table::from(Sparse::new(ITEMS, starts, indices, values, Absent::Unobserved).unwrap()), all)
}

fn fit(params: &BfaParams, table: &Table<f64>, threads: usize) -> (Bfa, Training) {
    let plan = Plan { passes: 80, tolerance: 1e-9, ..Plan::default() };
    let context = Context::new(1).with_threads(threads).unwrap();
    bfa::fit(params, table, &plan, &context, &mut Silent).unwrap()
}

/// The mean squared error of everything.
fn error(model: &Bfa, table: &Table<f64>, all: &[f64]) -> f64 {
    let cells: Vec<(usize, usize)> =
        (0..PEOPLE).flat_map(|person| (0..ITEMS).map(move |item| (person, item))).collect();
    let told =
        predict_cells::<f64, _>(model, table, &cells, &Context::new(0), CellPrediction::mean);
    let told = told.unwrap();
    told.iter().zip(all).map(|(p, x)| (p - x).powi(2)).sum::<f64>() / all.len() as f64
}

#[test]
fn the_bound_never_falls_and_threads_do_not_matter() {
    let (table, _) = world(true);
    let of_levels = |ordinal: bool| {
        let stars = |x: &f64| x.round().clamp(1.0, 5.0);
        let mereo_core::Cells::Sparse(c) = table.cells() else { panic!("sparse") };
        let values =
            if ordinal { c.values().iter().map(stars).collect() } else { c.values().to_vec() };
        let (starts, indices) = (c.starts().to_vec(), c.indices().to_vec());
        Table::from(Sparse::new(ITEMS, starts, indices, values, Absent::Unobserved).unwrap())
    };
    for ordinal in [false, true] {
        let table = of_levels(ordinal);
        let params = BfaParams { chosen_rows: 5.0, ordinal, ..BfaParams::new(2) };
        let (model, training) = fit(&params, &table, 1);
        let own = &training.restarts[0];
        for pair in own.bounds[own.settled_from..].windows(2) {
            assert!(pair[1] >= pair[0] - 1e-7 * pair[0].abs(), "{ordinal}: {pair:?}");
        }
        assert_eq!(fit(&params, &table, 3).0, model);
        let again = Bfa::from_file(model.to_file(Manifest::new("bfa")), "again".as_ref()).unwrap();
        assert_eq!(again, model);
    }
}

#[test]
fn choices_that_tell_are_listened_to_and_others_do_no_harm() {
    for chosen in [true, false] {
        let (table, all) = world(chosen);
        let of = |chosen_rows| {
            let params = BfaParams { chosen_rows, ..BfaParams::new(1) };
            error(&fit(&params, &table, 2).0, &table, &all)
        };
        let (deaf, listening) = (of(0.0), of(10.0));
        // The noise alone is 1, and a perfect guess has that.
        if chosen {
            assert!(listening - 1.0 < 0.85 * (deaf - 1.0), "{listening} {deaf}");
        } else {
            assert!(listening - 1.0 < 1.1 * (deaf - 1.0), "{listening} {deaf}");
        }
    }
}

/// One column, known exactly: a Gaussian with another mean, conditioned by hand.
#[test]
fn the_prior_moves_by_what_is_observed() {
    let mut file = mereo_core::ModelFile::new(Manifest::new("bfa"));
    file.insert("mean", Tensor::new(vec![2], vec![3.0, 3.0]));
    file.insert("component", Tensor::new(vec![1, 2], vec![0.8, -0.5]));
    file.insert("covariance", Tensor::new(vec![2, 3], vec![0.0; 6]));
    file.insert("noise", Tensor::new(vec![2], vec![0.3, 0.7]));
    file.insert("bias_variance", Tensor::new(vec![1], vec![0.25]));
    file.insert("chosen", Tensor::new(vec![2, 1], vec![0.6, 0.0]));
    let model = Bfa::from_file(file, "by hand".as_ref()).unwrap();
    let cells = Sparse::new(2, vec![0, 1], vec![0], vec![4.5], Absent::Unobserved).unwrap();
    let table = Table::from(cells);
    let told =
        predict_cells::<f64, _>(&model, &table, &[(0, 1)], &Context::new(0), CellPrediction::mean);
    let (own, cross) = (0.64 + 0.25 + 0.3, -0.4 + 0.25);
    let expected = 3.0 - 0.5 * 0.6 + cross / own * (4.5 - 3.0 - 0.8 * 0.6);
    assert!((told.unwrap()[0] - expected).abs() < 1e-12);
    let score = mereo_core::score::<f64>(&model, &table, &Context::new(0)).unwrap().rows[0];
    let exact = mereo_core::math::normal_log_density(4.5, 3.0 + 0.8 * 0.6, own);
    assert!((score - exact).abs() < 1e-12, "{score} {exact}");
}
