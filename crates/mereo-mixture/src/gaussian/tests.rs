//! The Gaussian mixture against enumeration, against its theory, and at the edges of its input.

mod edges;
mod kinds;
mod theory;

use mereo_core::{
    Absent, Cells, Context, Dense, Encode, Manifest, ModelFile, Plan, Real, Reconstruct, Score,
    Silent, Table, Tensor, encode, reconstruct, score,
};

use super::{Covariance, Gmm, GmmParams, fit};
use crate::testing::{Bounds, blobs, close, table, with_holes};
use mereo_testing::{StopAt, codes, filled, odd_tables, scores, sparse, tables_of_all_magnitudes};

fn learn<T: Real>(components: usize, table: &Table<T>) -> Gmm {
    learn_with(components, table, &Plan::default(), &Context::new(3))
}

fn learn_with<T: Real>(components: usize, table: &Table<T>, plan: &Plan, context: &Context) -> Gmm {
    let (model, training) =
        fit(&GmmParams::new(components), table, plan, context, &mut Silent).unwrap();
    assert!(training.bound.is_finite());
    assert!(model.mean().iter().all(|m| m.is_finite()));
    assert!(model.variance().iter().all(|v| *v > 0.0 && v.is_finite()));
    assert!((model.weight().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    model
}

fn by_hand(mean: &[f64], variance: &[f64], prior: &[f64]) -> Gmm {
    let shape = vec![prior.len(), mean.len() / prior.len()];
    let mut file = ModelFile::new(Manifest::new("gmm"));
    file.insert("mean", Tensor::new(shape.clone(), mean.to_vec()));
    file.insert("variance", Tensor::new(shape, variance.to_vec()));
    file.insert("weight", Tensor::new(vec![prior.len()], prior.to_vec()));
    Gmm::from_file(file, "by hand".as_ref()).unwrap()
}

/// More columns than rows, in two clusters.
fn wide() -> Table<f64> {
    let (rows, columns) = (24, 300);
    let cell = |i: usize| {
        let (r, d) = (i / columns, i % columns);
        let wave = ((r * 37 + d * 11) as f64 * 0.618).sin() + ((r * d) as f64 * 0.1).cos();
        1e3 + (d as f64 + 1.0) * (wave + if r % 2 == 0 { 3.0 } else { -3.0 })
    };
    Table::from(Dense::new(rows, columns, (0..rows * columns).map(cell).collect()).unwrap())
}

#[test]
fn a_mixture_learned_in_the_space_of_rows_says_the_density_that_it_has() {
    for covariance in [Covariance::Full, Covariance::Tied] {
        let params = GmmParams { covariance, variance_floor: 1e-3, ..GmmParams::new(2) };
        let (table, context) = (wide(), Context::new(0));
        let (model, training) =
            fit(&params, &table, &Plan::default(), &context, &mut Silent).unwrap();
        let total: f64 = scores(&model, &table).iter().sum();
        assert!((total - training.bound).abs() < 1e-6 * total.abs(), "{total} {}", training.bound);
        assert_eq!(training.restarts[0].bounds.last(), Some(&training.bound));
        assert_eq!(training.rows, 24);
        // With a hole it is learned column by column: the same density but for what one cell tells.
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        let mut values = cells.values().to_vec();
        values[5] = f64::NAN;
        let holed = Table::from(Dense::new(24, 300, values).unwrap());
        let (_, other) = fit(&params, &holed, &Plan::default(), &context, &mut Silent).unwrap();
        assert!(
            (other.bound - training.bound).abs() < 0.02 * training.bound.abs(),
            "{} {}",
            other.bound,
            training.bound
        );
    }
}
