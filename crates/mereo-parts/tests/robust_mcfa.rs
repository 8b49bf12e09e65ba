//! MCFA on data as it really comes: a right answer or a named error, never NaN, never a panic, in
//! either number type.

use mereo_core::{
    Absent, Cells, Context, Dense, Manifest, ModelFile, Parts, Plan, Real, Result, Silent, Sparse,
    Table, Tensor, encode, reconstruct, responsible_parts, sample, score,
};
use mereo_parts::{Gate, Mcfa, McfaParams, mcfa};
use rand::RngExt;

fn plan() -> Plan {
    Plan { restarts: 3, passes: 45, ..Plan::default() }
}

fn params(parts: usize, factors: usize) -> McfaParams {
    McfaParams { scouts: 4, ..McfaParams::new(parts, factors) }
}

fn learn<T: Real>(table: &Table<T>, params: &McfaParams) -> Result<Mcfa> {
    Ok(mcfa::fit(params, table, &plan(), &Context::new(1), &mut Silent)?.0)
}

/// Everything that a model says about a table is a number.
fn check_with<T: Real>(table: &Table<T>, params: &McfaParams) -> Mcfa {
    let model = learn(table, params).unwrap();
    let context = Context::new(0);
    for values in [model.parts().gate, model.loading(), model.offset(), model.noise()] {
        assert!(finite(values));
    }
    let scores = score::<T>(&model, table, &context).unwrap();
    assert!(finite(&scores.rows), "{:?}", scores.rows);
    let codes = encode::<T>(&model, table, &context).unwrap();
    assert!(codes.is_complete() && codes.columns() == params.parts * params.factors);
    assert!(reconstruct::<T>(&model, table, &context).unwrap().is_complete());
    assert!(sample(&model, 5, true, &context).unwrap().is_complete());
    let parts = responsible_parts::<T>(&model, table, &context).unwrap();
    assert!(parts.iter().all(|&part| (part as usize) < params.parts));
    model
}

fn check<T: Real>(table: &Table<T>, parts: usize, factors: usize) -> Mcfa {
    let own = Gate::Factorised { from: 25 };
    check_with(table, &McfaParams { gate: own, ..params(parts, factors) });
    check_with(table, &params(parts, factors))
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|v| v.is_finite())
}

/// Two groups of columns, each moving along two factors; `at(row, column, value)` changes cells.
fn planted<T: Real>(rows: usize, at: impl Fn(usize, usize, f64) -> f64) -> Table<T> {
    let mut random = Context::new(4).random("planted", [0, 0]);
    let mut cells = Vec::new();
    for _ in 0..rows {
        let s: [f64; 4] = std::array::from_fn(|_| random.random_range(-1.7..1.7));
        for column in 0..8 {
            let (group, own) = (column / 4, (column % 4) as f64);
            let x = s[2 * group] * (1.0 + 0.3 * own) + s[2 * group + 1] * (0.8 - 0.5 * own);
            let row = cells.len() / 8;
            cells.push(T::from_f64(at(row, column, x + random.random_range(-0.2..0.2))));
        }
    }
    Table::from(Dense::new(rows, 8, cells).unwrap())
}

fn in_both(rows: usize, at: impl Fn(usize, usize, f64) -> f64 + Copy) -> [Mcfa; 2] {
    [check(&planted::<f32>(rows, at), 2, 2), check(&planted::<f64>(rows, at), 2, 2)]
}

fn finds_both_groups(model: &Mcfa, columns: std::ops::Range<usize>) {
    let found = model.parts().part_of_column();
    for d in columns {
        assert_eq!(found[d] == found[0], d < 4, "column {d}: {found:?}");
    }
}

fn same_density(table: &Table<f64>, a: &Mcfa, b: &Mcfa) {
    let context = Context::new(0);
    let (a, b) = (
        score::<f64>(a, table, &context).unwrap().mean,
        score::<f64>(b, table, &context).unwrap().mean,
    );
    assert!((a - b).abs() < 1e-3 * (1.0 + a.abs()), "{a} {b}");
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
    check(&table.select_rows(&[3; 50]), 2, 2);
}

#[test]
fn offsets_and_units_change_nothing_but_the_units() {
    let density = |offset: f64| {
        let table = planted::<f64>(200, |_, _, x| x + offset);
        let model = check(&table, 2, 2);
        finds_both_groups(&model, 0..8);
        score::<f64>(&model, &table, &Context::new(0)).unwrap().mean
    };
    let (plain, shifted) = (density(0.0), density(1e6));
    assert!((plain - shifted).abs() < 1e-3, "{plain} {shifted}");
    for scale in [1e-30, 1e30] {
        for model in in_both(200, move |_, _, x| x * scale) {
            finds_both_groups(&model, 0..8);
        }
    }
    for model in in_both(200, |_, c, x| x * 10f64.powi(4 * c as i32 - 14) + 1e5) {
        assert!(finite(model.offset()));
    }
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
    assert!(learn(&empty, &params(1, 1)).unwrap_err().to_string().contains("no observed cell"));
    let none = Table::from(Dense::<f32>::new(0, 2, vec![]).unwrap());
    assert!(learn(&none, &params(1, 1)).is_err());
    let weightless = planted::<f64>(3, |_, _, x| x).with_weights(vec![0.0; 3]).unwrap();
    assert!(learn(&weightless, &params(1, 1)).is_err());
    for (parts, factors) in [(0, 1), (1, 0), (1 << 20, 1 << 20)] {
        assert!(McfaParams::new(parts, factors).check().is_err());
    }
    assert!(McfaParams { noise_floor: 0.0, ..params(1, 1) }.check().is_err());
    assert!(McfaParams { entropic: 1.0, ..params(1, 1) }.check().is_err());
}

#[test]
fn a_weight_of_two_is_the_row_twice_and_of_zero_the_row_removed() {
    let table = planted::<f64>(60, |_, _, x| x);
    let weights: Vec<f64> = (0..60).map(|row| f64::from(row % 3)).collect();
    let rows: Vec<usize> = (0..60).flat_map(|row| std::iter::repeat_n(row, row % 3)).collect();
    let weighted = check(&table.clone().with_weights(weights).unwrap(), 2, 2);
    let repeated = check(&table.select_rows(&rows), 2, 2);
    finds_both_groups(&weighted, 0..8);
    same_density(&table, &weighted, &repeated);
}

#[test]
fn sparse_and_dense_tables_of_the_same_cells_learn_the_same() {
    let rated = |r: usize, c: usize| !(r * 5 + c).is_multiple_of(3);
    let dense = planted::<f64>(240, |r, c, x| if rated(r, c) { x } else { f64::NAN });
    let stored = |table: &Table<f64>, absent: Absent, keep: fn(f64) -> bool| {
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..cells.rows() {
            for (column, &x) in cells.row(row).iter().enumerate().filter(|(_, x)| keep(**x)) {
                indices.push(column as u32);
                values.push(x);
            }
            starts.push(values.len());
        }
        Table::from(Sparse::new(8, starts, indices, values, absent).unwrap())
    };
    let sparse = stored(&dense, Absent::Unobserved, |x| !x.is_nan());
    same_density(&dense, &check(&dense, 2, 2), &check(&sparse, 2, 2));
    let counts = planted::<f64>(240, |_, _, x| (2.0 * x).round().max(0.0));
    let sparse = stored(&counts, Absent::Zero, |x| x != 0.0);
    same_density(&counts, &check(&counts, 2, 2), &check(&sparse, 2, 2));
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let table = planted::<f32>(3000, |r, c, x| if (r + c) % 7 == 0 { f64::NAN } else { x });
    for gate in [Gate::Standard, Gate::Factorised { from: 2 }] {
        let params = McfaParams { gate, ..params(2, 2) };
        let plan = Plan { restarts: 2, passes: 6, ..Plan::default() };
        let run = |threads: usize| {
            let context = Context::new(3).with_threads(threads).unwrap();
            mcfa::fit(&params, &table, &plan, &context, &mut Silent).unwrap().0
        };
        let alone = run(1);
        assert!([2, 7].iter().all(|&threads| run(threads) == alone));
    }
}

#[test]
fn a_file_by_hand_loads_and_scores() {
    let mut file = ModelFile::new(Manifest::new("mcfa"));
    file.insert("gate", Tensor::new(vec![2, 1], vec![1.0; 2]));
    file.insert("loading", Tensor::new(vec![1, 2, 1], vec![0.0; 2]));
    file.insert("offset", Tensor::new(vec![1, 2], vec![0.0; 2]));
    file.insert("noise", Tensor::new(vec![1, 2], vec![1.0; 2]));
    let model = Mcfa::from_file(file.clone(), "by hand".as_ref()).unwrap();
    let table = Table::from(Dense::new(1, 2, vec![0.0f64, 0.0]).unwrap());
    let scores = score::<f64>(&model, &table, &Context::new(0)).unwrap();
    assert!((scores.mean + 1.837_877_066).abs() < 1e-8, "{}", scores.mean);
    // Numbers as far apart as files can have them.
    file.insert("loading", Tensor::new(vec![1, 2, 1], vec![1e150, -1e150]));
    file.insert("noise", Tensor::new(vec![1, 2], vec![1e-300; 2]));
    let wild = Mcfa::from_file(file.clone(), "by hand".as_ref()).unwrap();
    let table = Table::from(Dense::new(1, 2, vec![1e100f64, -1e140]).unwrap());
    let context = Context::new(0);
    assert!(score::<f64>(&wild, &table, &context).unwrap().mean.is_finite());
    assert!(reconstruct::<f64>(&wild, &table, &context).unwrap().is_complete());
    file.insert("noise", Tensor::new(vec![1, 2], vec![0.0; 2]));
    let error = Mcfa::from_file(file, "by hand".as_ref()).unwrap_err().to_string();
    assert!(error.contains("noise"), "{error}");
}
