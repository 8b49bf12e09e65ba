//! Data as it really comes: a right answer or a named error, never NaN, never a panic, in either
//! number type.

use mereo_core::{
    Absent, Cells, Context, Dense, ModelFile, Parts, Plan, Real, Result, Silent, Source, Sparse,
    Table, encode, reconstruct, sample, score,
};
use mereo_parts::{Mcvq, McvqParams, mcvq};
use rand::RngExt;

fn plan() -> Plan {
    Plan { restarts: 3, passes: 45, ..Plan::default() }
}

fn params(parts: usize, states: usize) -> McvqParams {
    McvqParams { scouts: 4, ..McvqParams::new(parts, states) }
}

fn learn<T: Real>(table: &Table<T>, parts: usize, states: usize) -> Result<Mcvq> {
    Ok(mcvq::fit(&params(parts, states), table, &plan(), &Context::new(1), &mut Silent)?.0)
}

/// Everything that a model says about a table is a number, and codes are distributions.
fn check<T: Real>(table: &Table<T>, parts: usize, states: usize) -> Mcvq {
    let model = learn(table, parts, states).unwrap();
    let context = Context::new(0);
    let view = model.parts();
    assert!([view.gate, view.state_prior, view.mean, model.variance()].iter().all(|v| finite(v)));
    let scores = score::<T>(&model, table, &context).unwrap();
    assert!(finite(&scores.rows), "{:?}", scores.rows);
    let codes = encode::<T>(&model, table, &context).unwrap();
    for row in 0..codes.rows() {
        for part in codes.row(row).chunks(states) {
            let sum: f64 = part.iter().map(|m| m.to_f64()).sum();
            assert!((sum - 1.0).abs() < 1e-4, "row {row}: {part:?}");
        }
    }
    assert!(reconstruct::<T>(&model, table, &context).unwrap().is_complete());
    assert!(sample(&model, 5, true, &context).unwrap().is_complete());
    model
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|v| v.is_finite())
}

/// Two groups of columns, each showing one of three looks; `at(row, column, value)` changes cells.
fn planted<T: Real>(rows: usize, at: impl Fn(usize, usize, f64) -> f64) -> Table<T> {
    let mut random = Context::new(4).random("planted", [0, 0]);
    let mut cells = Vec::new();
    for row in 0..rows {
        let shown: [usize; 2] = [random.random_range(0..3), random.random_range(0..3)];
        for column in 0..8 {
            let look = (shown[column / 4] * (column % 4 + 1) % 5) as f64;
            cells.push(T::from_f64(at(row, column, look + random.random_range(-0.05..0.05))));
        }
    }
    Table::from(Dense::new(rows, 8, cells).unwrap())
}

fn in_both(rows: usize, at: impl Fn(usize, usize, f64) -> f64 + Copy) -> [Mcvq; 2] {
    [check(&planted::<f32>(rows, at), 2, 3), check(&planted::<f64>(rows, at), 2, 3)]
}

fn finds_both_groups(model: &Mcvq, columns: std::ops::Range<usize>) {
    let found = model.parts().part_of_column();
    for d in columns {
        assert_eq!(found[d] == found[0], d < 4, "column {d}: {found:?}");
    }
}

#[test]
fn missing_cells_rows_and_columns() {
    for model in in_both(200, |r, c, x| if (r * 7 + c * 3) % 5 == 0 { f64::NAN } else { x }) {
        finds_both_groups(&model, 0..8);
    }
    for model in in_both(150, |r, _, x| if r % 10 == 3 { f64::NAN } else { x }) {
        finds_both_groups(&model, 0..8);
    }
    for model in in_both(150, |_, c, x| if c == 7 { f64::NAN } else { x }) {
        finds_both_groups(&model, 0..7);
    }
}

#[test]
fn constant_columns_and_duplicate_rows() {
    for model in in_both(150, |_, c, x| if c == 7 { 4.0 } else { x }) {
        finds_both_groups(&model, 0..7);
    }
    in_both(60, |_, _, _| 1.5);
    let table = planted::<f64>(40, |_, _, x| x);
    check(&table.select_rows(&[3; 50]), 2, 3);
}

#[test]
fn offsets_and_units_change_nothing_but_the_units() {
    let density = |offset: f64| {
        let table = planted::<f64>(200, |_, _, x| x + offset);
        let model = check(&table, 2, 3);
        finds_both_groups(&model, 0..8);
        score::<f64>(&model, &table, &Context::new(0)).unwrap().mean
    };
    let (plain, shifted) = (density(0.0), density(1e6));
    assert!((plain - shifted).abs() < 1e-4, "{plain} {shifted}");
    for scale in [1e-30, 1e30] {
        for model in in_both(200, move |_, _, x| x * scale) {
            finds_both_groups(&model, 0..8);
        }
    }
    for model in in_both(200, |_, c, x| x * 10f64.powi(4 * c as i32 - 14) + 1e5) {
        assert!(finite(model.parts().mean));
    }
    // Single precision at an offset of a million still tells sixteenths apart.
    finds_both_groups(&check(&planted::<f32>(200, |_, _, x| x + 1e6), 2, 3), 0..8);
}

#[test]
fn tiny_tables() {
    check(&Table::from(Dense::new(1, 1, vec![2.0f32]).unwrap()), 1, 1);
    check(&Table::from(Dense::new(1, 4, vec![1.0f64, 2.0, 3.0, 4.0]).unwrap()), 2, 2);
    check(&Table::from(Dense::new(5, 1, vec![1.0f64, 2.0, 3.0, 4.0, 9.0]).unwrap()), 3, 2);
    check(&planted::<f32>(4, |_, _, x| x), 2, 9);
    check(&planted::<f64>(30, |_, _, x| x), 12, 2);
}

#[test]
fn nothing_to_learn_from_is_a_named_error() {
    let empty = Table::from(Dense::<f64>::new(3, 2, vec![f64::NAN; 6]).unwrap());
    assert!(learn(&empty, 1, 1).unwrap_err().to_string().contains("no observed cell"));
    let none = Table::from(Dense::<f32>::new(0, 2, vec![]).unwrap());
    assert!(learn(&none, 1, 1).is_err());
    let weightless = planted::<f64>(3, |_, _, x| x).with_weights(vec![0.0; 3]).unwrap();
    assert!(learn(&weightless, 1, 1).is_err());
    assert!(Dense::new(1, 1, vec![f32::INFINITY]).unwrap_err().to_string().contains("infinity"));
    for (parts, states) in [(0, 1), (1, 0), (1 << 20, 1 << 20)] {
        assert!(McvqParams::new(parts, states).check().is_err());
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice_and_of_zero_the_row_removed() {
    let table = planted::<f64>(60, |_, _, x| x);
    let weights: Vec<f64> = (0..60).map(|row| f64::from(row % 3)).collect();
    let rows: Vec<usize> = (0..60).flat_map(|row| std::iter::repeat_n(row, row % 3)).collect();
    let weighted = check(&table.clone().with_weights(weights).unwrap(), 2, 3);
    let repeated = check(&table.select_rows(&rows), 2, 3);
    finds_both_groups(&weighted, 0..8);
    same_density(&table, &weighted, &repeated);
}

#[test]
fn sparse_and_dense_tables_of_the_same_cells_learn_the_same() {
    let rated = |r: usize, c: usize| !(r * 5 + c).is_multiple_of(3);
    let level = |x: f64| x.round().clamp(0.0, 5.0) + 1.0;
    let dense = planted::<f64>(240, |r, c, x| if rated(r, c) { level(x) } else { f64::NAN });
    let Cells::Dense(cells) = dense.cells() else { unreachable!() };
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..cells.rows() {
        for (column, &x) in cells.row(row).iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            indices.push(column as u32);
            values.push(x);
        }
        starts.push(values.len());
    }
    let sparse = Table::from(Sparse::new(8, starts, indices, values, Absent::Unobserved).unwrap());
    same_density(&dense, &check(&dense, 2, 3), &check(&sparse, 2, 3));

    let counts = planted::<f64>(240, |_, _, x| x.round().max(0.0));
    let Cells::Dense(cells) = counts.cells() else { unreachable!() };
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..cells.rows() {
        for (column, &x) in cells.row(row).iter().enumerate().filter(|(_, x)| **x != 0.0) {
            indices.push(column as u32);
            values.push(x);
        }
        starts.push(values.len());
    }
    let sparse = Table::from(Sparse::new(8, starts, indices, values, Absent::Zero).unwrap());
    same_density(&counts, &check(&counts, 2, 3), &check(&sparse, 2, 3));
}

/// Rounding may make another of two equally good restarts win, which names the parts anew: it is
/// the density that must be the same.
fn same_density(table: &Table<f64>, a: &Mcvq, b: &Mcvq) {
    let mean = |model: &Mcvq| score::<f64>(model, table, &Context::new(0)).unwrap().mean;
    let (a, b) = (mean(a), mean(b));
    assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{a} {b}");
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let table = planted::<f32>(3000, |r, c, x| if (r + c) % 9 == 0 { f64::NAN } else { x });
    let bytes = |context: Context| {
        let (model, training) =
            mcvq::fit(&params(2, 3), &table, &plan(), &context, &mut Silent).unwrap();
        let mut manifest = mereo_core::Manifest::new(<Mcvq as mereo_core::Model>::KIND);
        manifest.training = Some(training);
        model.to_file(manifest).to_bytes().unwrap()
    };
    let alone = bytes(Context::new(9));
    for threads in [1, 2, 7] {
        assert_eq!(bytes(Context::new(9).with_threads(threads).unwrap()), alone);
    }
    let file = ModelFile::from_bytes(&alone, "model".as_ref()).unwrap();
    assert!(Mcvq::from_file(file, "model".as_ref()).is_ok());
}

#[test]
fn one_by_one_equals_all_at_once() {
    let table = planted::<f64>(300, |r, c, x| if (r + c) % 7 == 0 { f64::NAN } else { x });
    let model = check(&table, 2, 3);
    let context = Context::new(0);
    let all = score::<f64>(&model, &table, &context).unwrap().rows;
    for row in [0, 17, 299] {
        let alone = score::<f64>(&model, &table.select_rows(&[row]), &context).unwrap().rows[0];
        assert!((alone - all[row]).abs() < 1e-9 * (1.0 + alone.abs()));
    }
    assert_eq!(Source::<f64>::rows(&table), 300);
}

#[test]
fn samples_have_the_moments_of_the_model() {
    let model = check(&planted::<f64>(300, |_, _, x| x), 2, 3);
    let rows = 4000;
    let drawn = sample(&model, rows, true, &Context::new(3)).unwrap();
    let view = model.parts();
    for d in 0..8 {
        let mut mean = 0.0;
        for k in 0..2 {
            for j in 0..3 {
                mean += view.gate_of(d)[k] * view.state_prior[k * 3 + j] * view.state(k, j)[d];
            }
        }
        let found = (0..rows).map(|r| drawn.row(r)[d]).sum::<f64>() / rows as f64;
        assert!((found - mean).abs() < 0.12, "column {d}: {found} {mean}");
    }
}
