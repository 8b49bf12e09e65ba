//! Factor analysis of tables that are mostly unknown: loadings are not believed too readily.

use mereo_core::{
    Absent, CellPrediction, Context, Manifest, ModelFile, Plan, Silent, Sparse, Table,
    predict_cells, score,
};
use mereo_linear::{Fa, FaParams, factor};

const FILMS: usize = 60;

/// Ratings of 150 viewers, from 1 to 5; the later the film, the fewer rated it.
fn ratings() -> Table<f64> {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for user in 0..150usize {
        for film in 0..FILMS {
            if (user * 31 + film * 17).is_multiple_of(5 + film) {
                let likes = (user + film).is_multiple_of(2);
                indices.push(film as u32);
                values.push(if likes { 3.0 } else { 1.0 } + ((user * 7 + film * 3) % 3) as f64);
            }
        }
        starts.push(values.len());
    }
    Table::from(Sparse::new(FILMS, starts, indices, values, Absent::Unobserved).unwrap())
}

fn fit(shrinkage: Option<f64>, passes: usize) -> (Fa, mereo_core::Training) {
    let params = FaParams { shrinkage, ..FaParams::new(4) };
    let plan = Plan { passes, tolerance: 0.0, ..Plan::default() };
    factor::fit_fa(&params, &ratings(), &plan, &Context::new(0), &mut Silent).unwrap()
}

fn furthest(model: &Fa) -> f64 {
    let cells: Vec<(usize, usize)> =
        (0..150).flat_map(|row| (0..FILMS).map(move |d| (row, d))).collect();
    let mean = CellPrediction::mean;
    let told = predict_cells::<f64, _>(model, &ratings(), &cells, &Context::new(0), mean).unwrap();
    told.iter().map(|x| (x - 3.0).abs()).fold(0.0, f64::max)
}

fn log_likelihood(model: &Fa) -> f64 {
    score::<f64>(model, &ratings(), &Context::new(0)).unwrap().rows.iter().sum()
}

#[test]
fn the_bound_with_its_prior_never_falls_and_the_likelihood_is_told_apart() {
    let (model, training) = fit(None, 150);
    for pair in training.restarts[0].bounds.windows(2) {
        assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{pair:?}");
    }
    let told = training.log_likelihood.unwrap();
    assert!((told - log_likelihood(&model)).abs() < 1e-6 * told.abs());
    assert!(fit(Some(0.0), 5).1.log_likelihood.is_none());
}

#[test]
fn predictions_stay_near_the_scale() {
    let (shrunk, free) = (furthest(&fit(None, 150).0), furthest(&fit(Some(0.0), 150).0));
    assert!(shrunk < 2.5 && free > 2.0 * shrunk, "{shrunk} {free}");
}

/// The logarithm of the prior, from its formula: rows with the column's mean and variance, drawn towards those of all by 5 cells.
fn log_prior(rows: f64, mean: &[f64], component: &[f64], noise: &[f64]) -> f64 {
    let (mut count, mut sum, mut square) = ([0.0; FILMS], [0.0; FILMS], [0.0; FILMS]);
    let table = ratings();
    let mereo_core::Cells::Sparse(cells) = table.cells() else { panic!("ratings are sparse") };
    for row in 0..150 {
        let (films, own) = cells.row(row);
        for (&d, x) in films.iter().zip(own) {
            count[d as usize] += 1.0;
            sum[d as usize] += x;
            square[d as usize] += x * x;
        }
    }
    let known: Vec<usize> = (0..FILMS).filter(|&d| count[d] > 0.0).collect();
    let all: f64 = known.iter().map(|&d| count[d]).sum();
    let overall = known.iter().map(|&d| sum[d]).sum::<f64>() / all;
    let variance = |d: usize| square[d] / count[d] - (sum[d] / count[d]).powi(2);
    let within = known.iter().map(|&d| count[d] * variance(d)).sum::<f64>() / all;
    let mut log = 0.0;
    for d in 0..FILMS {
        let (mut m, mut v) = (overall, within);
        if count[d] > 0.0 {
            m = (sum[d] + 5.0 * overall) / (count[d] + 5.0);
            v = (count[d] * variance(d) + 5.0 * within) / (count[d] + 5.0);
        }
        let loadings: f64 = (0..4).map(|i| component[i * FILMS + d].powi(2)).sum();
        log += noise[d].ln() + ((m - mean[d]).powi(2) + v + loadings) / noise[d];
    }
    -0.5 * rows * log
}

#[test]
fn what_is_learned_is_a_maximum_of_likelihood_and_prior() {
    let (model, _) = fit(Some(7.0), 3000);
    let take = |name: &str| {
        let file: ModelFile = model.to_file(Manifest::new("fa"));
        file.get(name).unwrap().values.clone()
    };
    let (mean, component, noise) = (take("mean"), take("component"), take("noise"));
    let objective = |name: &str, values: &[f64]| {
        let mut file = model.to_file(Manifest::new("fa"));
        let shape = file.get(name).unwrap().shape.clone();
        file.insert(name, mereo_core::Tensor::new(shape, values.to_vec()));
        let moved = Fa::from_file(file, "moved".as_ref()).unwrap();
        let pick =
            |other: &str, own: &[f64]| if other == name { values.to_vec() } else { own.to_vec() };
        let (m, c, n) = (pick("mean", &mean), pick("component", &component), pick("noise", &noise));
        log_likelihood(&moved) + log_prior(7.0, &m, &c, &n)
    };
    let best = objective("mean", &mean);
    for (name, own) in [("mean", &mean), ("component", &component), ("noise", &noise)] {
        for at in [0, 3, 30, 59] {
            for by in [0.97, 1.03] {
                let mut values = own.clone();
                values[at] *= by;
                let moved = objective(name, &values);
                assert!(moved < best + 1e-6, "{name} {at} {by}: {moved} above {best}");
            }
        }
    }
}
