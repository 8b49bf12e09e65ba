//! The Gaussian mixture against enumeration, against its theory, and at the edges of its input.

mod edges;
mod theory;

use mereo_core::{
    Absent, Context, Dense, Encode, Manifest, ModelFile, Plan, Real, Reconstruct, Score, Silent,
    Sparse, Table, Tensor, encode, reconstruct, score,
};

use super::{Gmm, GmmParams, fit};
use crate::testing::{Bounds, blobs, close, table, with_holes};

/// Every observed cell stored.
fn sparse(columns: usize, values: &[f64], absent: Absent) -> Table<f64> {
    let (mut starts, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks(columns) {
        for (d, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            if absent == Absent::Unobserved || x != 0.0 {
                indices.push(d as u32);
                stored.push(x);
            }
        }
        starts.push(stored.len());
    }
    Table::from(Sparse::new(columns, starts, indices, stored, absent).unwrap())
}

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
    let mut file = ModelFile::new(Manifest::new(Gmm::KIND));
    file.insert("mean", Tensor::new(shape.clone(), mean.to_vec()));
    file.insert("variance", Tensor::new(shape, variance.to_vec()));
    file.insert("weight", Tensor::new(vec![prior.len()], prior.to_vec()));
    Gmm::from_file(file, "by hand".as_ref()).unwrap()
}

fn codes<T: Real>(model: &Gmm, table: &Table<T>) -> Vec<f64> {
    let codes = encode(model as &dyn Encode<T>, table, &Context::new(0)).unwrap();
    codes.values().iter().map(|r| r.wide()).collect()
}

fn scores<T: Real>(model: &Gmm, table: &Table<T>) -> Vec<f64> {
    score(model as &dyn Score<T>, table, &Context::new(0)).unwrap().rows
}

fn filled<T: Real>(model: &Gmm, table: &Table<T>) -> Vec<T> {
    reconstruct(model as &dyn Reconstruct<T>, table, &Context::new(0)).unwrap().into_values()
}
