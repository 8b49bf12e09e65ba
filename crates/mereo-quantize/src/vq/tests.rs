//! Vector quantisation against enumeration, against its theory, and at the edges of its input.

mod edges;
mod theory;

use mereo_core::{
    Absent, Context, Dense, Encode, Manifest, ModelFile, Plan, Real, Reconstruct, Score, Silent,
    Table, Tensor, encode, reconstruct, score,
};
use mereo_testing::{
    Bounds, StopAt, blobs, close, filled, odd_tables, scores, sparse, table,
    tables_of_all_magnitudes, with_holes,
};

use super::{Vq, VqParams, fit};

fn learn<T: Real>(states: usize, table: &Table<T>) -> Vq {
    learn_with(states, table, &Plan::default(), &Context::new(3))
}

fn learn_with<T: Real>(states: usize, table: &Table<T>, plan: &Plan, context: &Context) -> Vq {
    let model = fit(&VqParams::new(states), table, plan, context, &mut Silent).unwrap().0;
    assert!(model.mean().iter().all(|m| m.is_finite()));
    assert!(model.variance() > 0.0 && model.variance().is_finite());
    assert!((model.state_prior().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    model
}

fn by_hand(mean: &[f64], prior: &[f64], variance: f64) -> Vq {
    let shape = vec![prior.len(), mean.len() / prior.len()];
    let mut file = ModelFile::new(Manifest::new("vq"));
    file.insert("mean", Tensor::new(shape, mean.to_vec()));
    file.insert("state_prior", Tensor::new(vec![prior.len()], prior.to_vec()));
    file.insert("variance", Tensor::new(vec![1], vec![variance]));
    Vq::from_file(file, "by hand".as_ref()).unwrap()
}

fn codes<T: Real>(model: &Vq, table: &Table<T>) -> Vec<usize> {
    let codes = encode(model as &dyn Encode<T>, table, &Context::new(0)).unwrap();
    (0..table.rows())
        .map(|r| {
            assert_eq!(codes.row(r).iter().filter(|m| **m == T::ONE).count(), 1);
            codes.row(r).iter().position(|m| *m == T::ONE).unwrap()
        })
        .collect()
}
