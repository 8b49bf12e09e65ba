//! The Gaussian mixture against enumeration, against its theory, and at the edges of its input.

mod edges;
mod kinds;
mod theory;

use mereo_core::{
    Absent, Context, Dense, Encode, Manifest, ModelFile, Plan, Real, Reconstruct, Score, Silent,
    Table, Tensor, encode, reconstruct, score,
};

use super::{Gmm, GmmParams, fit};
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
