//! What the tests of all models share.

use mereo_core::{
    Absent, Context, Dense, Encode, Observer, Real, Reconstruct, Record, Score, Sparse, Stop,
    Table, encode, reconstruct, score,
};
use rand_distr::{Distribution, StandardNormal};

/// Rows along three directions, with noise that differs from column to column.
pub(crate) fn rows(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("rows", [0, 0]);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let loading: Vec<f64> = (0..3 * columns).map(|_| normal()).collect();
    let noise: Vec<f64> = (0..columns).map(|_| 0.2 + 0.3 * normal().abs()).collect();
    let centre: Vec<f64> = (0..columns).map(|_| 3.0 * normal()).collect();
    (0..rows)
        .flat_map(|_| {
            let z = [2.0 * normal(), 1.5 * normal(), normal()];
            (0..columns)
                .map(|d| {
                    let sum: f64 = (0..3).map(|i| z[i] * loading[i * columns + d]).sum();
                    centre[d] + sum + noise[d] * normal()
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The same with about every fifth cell missing.
pub(crate) fn with_holes(mut values: Vec<f64>, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("holes", [0, 0]);
    for x in &mut values {
        let normal: f64 = StandardNormal.sample(&mut random);
        if normal > 0.85 {
            *x = f64::NAN;
        }
    }
    values
}

pub(crate) fn table<T: Real>(columns: usize, values: &[f64]) -> Table<T> {
    let cells = values.iter().map(|&v| T::of(v)).collect();
    Table::from(Dense::new(values.len() / columns, columns, cells).unwrap())
}

/// Every observed cell stored (zeros of counts left out).
pub(crate) fn sparse<T: Real>(columns: usize, values: &[f64], absent: Absent) -> Table<T> {
    let (mut starts, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks(columns) {
        for (d, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            if absent == Absent::Unobserved || x != 0.0 {
                indices.push(d as u32);
                stored.push(T::of(x));
            }
        }
        starts.push(stored.len());
    }
    Table::from(Sparse::new(columns, starts, indices, stored, absent).unwrap())
}

pub(crate) fn codes<T: Real>(model: &dyn Encode<T>, table: &Table<T>) -> Vec<f64> {
    let codes = encode(model, table, &Context::new(0)).unwrap();
    codes.values().iter().map(|r| r.wide()).collect()
}

pub(crate) fn scores<T: Real>(model: &dyn Score<T>, table: &Table<T>) -> Vec<f64> {
    score(model, table, &Context::new(0)).unwrap().rows
}

pub(crate) fn filled<T: Real>(model: &dyn Reconstruct<T>, table: &Table<T>) -> Vec<f64> {
    let rows = reconstruct(model, table, &Context::new(0)).unwrap();
    rows.values().iter().map(|x| x.wide()).collect()
}

pub(crate) fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        let far = (f - e).abs() / (1.0 + e.abs());
        assert!(far <= tolerance, "{what}[{i}]: found {f}, expected {e}");
    }
}

/// Keeps the bounds of all passes.
#[derive(Default)]
pub(crate) struct Bounds(pub(crate) Vec<f64>);

impl Observer for Bounds {
    fn passed(&mut self, record: &Record) {
        self.0.push(record.bound);
    }
}

impl Bounds {
    pub(crate) fn never_fall(&self, tolerance: f64) {
        for pair in self.0.windows(2) {
            assert!(pair[1] >= pair[0] - tolerance * (1.0 + pair[0].abs()), "{:?}", self.0);
        }
    }
}

/// Asks for a stop after a pass.
pub(crate) struct StopAt(pub(crate) Stop, pub(crate) usize);

impl Observer for StopAt {
    fn passed(&mut self, record: &Record) {
        if record.pass == self.1 {
            self.0.ask();
        }
    }
}

/// Tables at the edges: constant, duplicate, one row, one column, holes of all kinds.
pub(crate) fn edges() -> Vec<(&'static str, usize, Vec<f64>)> {
    let nan = f64::NAN;
    vec![
        ("one row", 3, vec![1.0, 2.0, 3.0]),
        ("one column", 1, vec![1.0, 2.0, 4.0, 3.0]),
        ("one cell", 1, vec![5.0]),
        ("constant", 2, vec![1.0; 12]),
        ("zeros", 2, vec![0.0; 8]),
        ("a constant column", 2, vec![1.0, 7.0, 2.0, 7.0, 4.0, 7.0, 3.0, 7.0]),
        ("duplicates", 2, [1.0, 2.0, 3.0, 5.0].repeat(5)),
        ("an empty row", 2, vec![1.0, 2.0, nan, nan, 3.0, 1.0, 2.0, 2.5]),
        ("an empty column", 2, vec![1.0, nan, 2.0, nan, 4.0, nan]),
        ("more columns than rows", 6, (0..18).map(|i| f64::from((i * 7) % 11)).collect()),
        ("one seen cell a row", 2, vec![1.0, nan, nan, 2.0, 3.0, nan, nan, 5.0]),
        ("tiny", 2, (0..20).map(|i| f64::from((i * 7) % 11) * 1e-30).collect()),
        ("huge", 2, (0..20).map(|i| f64::from((i * 7) % 11) * 1e30).collect()),
    ]
}
