//! What the tests of models share: rows to learn from, tables at the edges, and comparisons.
#![forbid(unsafe_code)]
#![allow(clippy::missing_panics_doc, reason = "to panic is how tests complain")]

mod laws;

pub use laws::{Laws, check_model};

use mereo_core::{
    Absent, Context, Dense, Encode, Observer, Real, Reconstruct, Record, Score, Sparse, Stop,
    Table, encode, reconstruct, score,
};
use rand_distr::{Distribution, StandardNormal};

/// Rows about a few centres, ten deviations apart or so, in turn.
///
/// ```
/// assert_eq!(mereo_testing::blobs(4, 3, 2, 0).len(), 12);
/// ```
pub fn blobs(rows: usize, columns: usize, centres: usize, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("blobs", [0, 0]);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let centre: Vec<f64> = (0..centres * columns).map(|_| 10.0 * normal()).collect();
    (0..rows * columns)
        .map(|i| centre[(i / columns % centres) * columns + i % columns] + normal())
        .collect()
}

/// Values of which about every fifth is missing.
///
/// ```
/// let values = mereo_testing::with_holes(vec![1.0; 100], 0);
/// assert!(values.iter().any(|x| x.is_nan()));
/// ```
pub fn with_holes(mut values: Vec<f64>, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("holes", [0, 0]);
    for x in &mut values {
        let normal: f64 = StandardNormal.sample(&mut random);
        if normal > 0.85 {
            *x = f64::NAN;
        }
    }
    values
}

/// A dense table.
///
/// ```
/// assert_eq!(mereo_testing::table::<f32>(2, &[1.0, 2.0, 3.0, 4.0]).rows(), 2);
/// ```
pub fn table<T: Real>(columns: usize, values: &[f64]) -> Table<T> {
    let cells = values.iter().map(|&v| T::from_f64(v)).collect();
    Table::from(Dense::new(values.len() / columns, columns, cells).unwrap())
}

/// A sparse one with every observed cell stored, but for zeros if those need not be.
///
/// ```
/// let table = mereo_testing::sparse::<f64>(2, &[0.0, 2.0], mereo_core::Absent::Zero);
/// assert_eq!(table.columns(), 2);
/// ```
pub fn sparse<T: Real>(columns: usize, values: &[f64], absent: Absent) -> Table<T> {
    let (mut starts, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks(columns) {
        for (d, &x) in row.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            if absent == Absent::Unobserved || x != 0.0 {
                indices.push(d as u32);
                stored.push(T::from_f64(x));
            }
        }
        starts.push(stored.len());
    }
    Table::from(Sparse::new(columns, starts, indices, stored, absent).unwrap())
}

/// The codes of all rows, one after another.
pub fn codes<T: Real>(model: &dyn Encode<T>, table: &Table<T>) -> Vec<f64> {
    let codes = encode(model, table, &Context::new(0)).unwrap();
    codes.values().iter().map(|r| r.to_f64()).collect()
}

/// The score of every row.
pub fn scores<T: Real>(model: &dyn Score<T>, table: &Table<T>) -> Vec<f64> {
    score(model, table, &Context::new(0)).unwrap().rows
}

/// All rows as the model has them, missing cells filled in.
pub fn filled<T: Real>(model: &dyn Reconstruct<T>, table: &Table<T>) -> Vec<f64> {
    let rows = reconstruct(model, table, &Context::new(0)).unwrap();
    rows.values().iter().map(|x| x.to_f64()).collect()
}

/// Complains of numbers that are farther off than a share of what is expected, and one.
///
/// ```
/// mereo_testing::close(&[1.0, 100.1], &[1.0, 100.0], 0.01, "numbers");
/// ```
pub fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        let far = (f - e).abs() / (1.0 + e.abs());
        assert!(far <= tolerance, "{what}[{i}]: found {f}, expected {e}");
    }
}

/// Keeps the bounds of all passes.
#[derive(Debug, Default)]
pub struct Bounds(pub Vec<f64>);

impl Observer for Bounds {
    fn passed(&mut self, record: &Record) {
        self.0.push(record.bound);
    }
}

impl Bounds {
    /// Complains of a bound below the one before it.
    ///
    /// ```
    /// mereo_testing::Bounds(vec![1.0, 1.0, 2.0]).never_fall(1e-9);
    /// ```
    pub fn never_fall(&self, tolerance: f64) {
        for pair in self.0.windows(2) {
            assert!(pair[1] >= pair[0] - tolerance * (1.0 + pair[0].abs()), "{:?}", self.0);
        }
    }
}

/// Asks for a stop after a pass.
#[derive(Debug)]
pub struct StopAt(pub Stop, pub usize);

impl Observer for StopAt {
    fn passed(&mut self, record: &Record) {
        if record.pass == self.1 {
            self.0.ask();
        }
    }
}

/// More of them, with values from the smallest to nearly the largest, of either sign.
///
/// ```
/// assert!(mereo_testing::tables_of_all_magnitudes().len() > 1);
/// ```
pub fn tables_of_all_magnitudes() -> Vec<(&'static str, usize, Vec<f64>)> {
    vec![
        ("all magnitudes", 2, vec![1e36, -1e36, 1e-36, 0.0, 1.0, -1e36]),
        ("subnormal numbers", 1, vec![1e-44, 3e-44, 0.0]),
    ]
}

/// Tables that a model must learn all the same: what is odd about them, columns and values. No value is
/// below 0.
///
/// ```
/// assert!(mereo_testing::odd_tables().iter().all(|(_, columns, v)| v.len() % columns == 0));
/// ```
pub fn odd_tables() -> Vec<(&'static str, usize, Vec<f64>)> {
    let nan = f64::NAN;
    let some = |i: i32| f64::from(i * 7 % 11);
    vec![
        ("a constant column", 2, vec![1.0, 7.0, 2.0, 7.0, 4.0, 7.0, 3.0, 7.0]),
        ("nothing but constant columns", 2, vec![4.0, 5.0, 4.0, 5.0, 4.0, 5.0]),
        ("one value", 2, vec![1.0; 12]),
        ("zeros", 2, vec![0.0; 8]),
        ("one column of zeros", 1, vec![0.0; 3]),
        ("one row", 3, vec![1.0, 2.0, 3.0]),
        ("one column", 1, vec![1.0, 2.0, 7.0, 8.0]),
        ("one cell", 1, vec![5.0]),
        ("rows that repeat", 2, vec![1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 9.0, 9.0]),
        ("rows that all repeat", 2, [1.0, 2.0, 3.0, 5.0].repeat(5)),
        ("columns that say the same", 2, vec![1.0, 2.0, 2.0, 4.0, 3.0, 6.0, 4.0, 8.0]),
        ("more columns than rows", 6, (0..18).map(some).collect()),
        ("a row that is all missing", 2, vec![1.0, 2.0, nan, nan, 3.0, 1.0, 2.0, 2.5]),
        ("a column that is all missing", 2, vec![1.0, nan, 2.0, nan, 4.0, nan]),
        ("rows that share nothing", 2, vec![nan, nan, 1.0, nan, nan, 2.0]),
        ("one seen cell a row", 2, vec![1.0, nan, nan, 2.0, 3.0, nan, nan, 5.0]),
        ("tiny", 2, (0..20).map(|i| some(i) * 1e-30).collect()),
        ("huge", 2, (0..20).map(|i| some(i) * 1e30).collect()),
    ]
}
