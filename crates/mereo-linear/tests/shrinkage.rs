//! Factor analysis of tables that are mostly unknown.

use mereo_core::{Absent, Context, Plan, Silent, Sparse, Table, Training};
use mereo_core::{CellPrediction, predict_cells};
use mereo_linear::{FaParams, factor};

/// Ratings of 90 viewers of 40 films, a few each, of two tastes.
fn ratings() -> Table<f64> {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for user in 0..90usize {
        for film in 0..40usize {
            // The later the film, the rarer it is.
            if (user * 31 + film * 17).is_multiple_of(5 + film) {
                let likes = (user + film).is_multiple_of(2);
                let odd = (user * 7 + film * 3) % 3;
                indices.push(film as u32);
                values.push(if likes { 3.0 } else { 1.0 } + odd as f64);
            }
        }
        starts.push(values.len());
    }
    Table::from(Sparse::new(40, starts, indices, values, Absent::Unobserved).unwrap())
}

fn rises(training: &Training) {
    for restart in &training.restarts {
        let rest = (restart.settled_from + 1).min(restart.bounds.len());
        for pair in restart.bounds[rest..].windows(2) {
            assert!(pair[1] >= pair[0] - 1e-7 * pair[0].abs(), "{:?}", restart.bounds);
        }
    }
}

#[test]
fn the_bound_never_falls_and_predictions_stay_on_earth() {
    let (table, context) = (ratings(), Context::new(0));
    let plan = Plan { passes: 60, tolerance: 0.0, ..Plan::default() };
    let fit = |shrinkage: Option<f64>| {
        let params = FaParams { shrinkage, ..FaParams::new(3) };
        factor::fit_fa(&params, &table, &plan, &context, &mut Silent).unwrap()
    };
    let (model, training) = fit(None);
    rises(&training);
    let cells: Vec<(usize, usize)> = (0..90 * 40).map(|i| (i / 40, i % 40)).collect();
    let means = predict_cells(&model, &table, &cells, &context, CellPrediction::mean).unwrap();
    assert!(means.iter().all(|m| (0.0..=6.0).contains(m)), "{means:?}");
    // None at all is another model.
    assert_ne!(fit(Some(0.0)).0, model);
    assert!(FaParams { shrinkage: Some(-1.0), ..FaParams::new(3) }.check().is_err());
}
