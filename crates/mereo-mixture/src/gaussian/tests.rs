//! The Gaussian mixture against enumeration, against its theory, and at the edges of its input.

mod edges;
mod theory;

use mereo_core::{
    Absent, Context, Dense, Encode, Manifest, ModelFile, Observer, Plan, Real, Reconstruct, Record,
    Score, Silent, Sparse, Table, Tensor, encode, reconstruct, score,
};
use rand_distr::{Distribution, StandardNormal};

use super::{Gmm, GmmParams, fit};

/// Rows about a few centres, ten deviations apart or so, in turn.
fn blobs(rows: usize, columns: usize, centres: usize, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("blobs", [0, 0]);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let centre: Vec<f64> = (0..centres * columns).map(|_| 10.0 * normal()).collect();
    (0..rows * columns)
        .map(|i| centre[(i / columns % centres) * columns + i % columns] + normal())
        .collect()
}

/// The same with about every fifth cell missing.
fn with_holes(mut values: Vec<f64>, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("holes", [0, 0]);
    for x in &mut values {
        let normal: f64 = StandardNormal.sample(&mut random);
        if normal > 0.85 {
            *x = f64::NAN;
        }
    }
    values
}

fn table<T: Real>(columns: usize, values: &[f64]) -> Table<T> {
    let cells = values.iter().map(|&v| T::of(v)).collect();
    Table::from(Dense::new(values.len() / columns, columns, cells).unwrap())
}

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
    assert!((model.state_prior().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    model
}

fn by_hand(mean: &[f64], variance: &[f64], prior: &[f64]) -> Gmm {
    let shape = vec![prior.len(), mean.len() / prior.len()];
    let mut file = ModelFile::new(Manifest::new(Gmm::KIND));
    file.insert("mean", Tensor::new(shape.clone(), mean.to_vec()));
    file.insert("variance", Tensor::new(shape, variance.to_vec()));
    file.insert("state_prior", Tensor::new(vec![prior.len()], prior.to_vec()));
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

fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        let far = (f - e).abs() / (1.0 + e.abs());
        assert!(far <= tolerance, "{what}[{i}]: found {f}, expected {e}");
    }
}

/// Keeps the bounds of all passes, and whether components were seeded in them.
#[derive(Default)]
struct Bounds(Vec<(f64, bool)>);

impl Observer for Bounds {
    fn passed(&mut self, record: &Record) {
        self.0.push((record.bound, !record.notes.is_empty()));
    }
}
