//! Data as it comes: a right answer or a named error, never NaN, never a panic.

use mereo_core::{Context, Table, encode, reconstruct, sample, score};

use super::*;
use crate::Association;

fn table(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Table<f64> {
    let values = (0..rows * columns).map(|i| value(i / columns, i % columns)).collect();
    Table::from(Dense::new(rows, columns, values).unwrap())
}

/// Learns and asks for everything; nothing may be NaN.
fn sound(params: &GvqParams, table: &Table<f64>) -> Gvq {
    let (model, training) = learned(params, table, 0).unwrap();
    assert!(training.bound.is_finite());
    assert!(model.feature().iter().chain(model.origin()).all(|v| v.is_finite()));
    let context = Context::new(0);
    let codes = encode::<f64>(&model, table, &context).unwrap();
    assert!(codes.values().iter().all(|v| v.is_finite()));
    assert!(reconstruct::<f64>(&model, table, &context).is_ok());
    assert!(score::<f64>(&model, table, &context).unwrap().rows.iter().all(|s| s.is_finite()));
    assert!(sample(&model, 3, true, &context).unwrap().values().iter().all(|v| v.is_finite()));
    model
}

#[test]
fn strange_tables_are_learned() {
    let odd = |r: usize, c: usize| ((r * 7 + c * 3) % 5) as f64;
    let params = GvqParams { scouts: 2, ..GvqParams::new(3) };
    for params in [params.clone(), GvqParams { sets: 2, penalty: 0.1, ..params }] {
        // Constant, one row, one column, duplicates, more features than rows.
        let constant = sound(&params, &table(10, 3, |_, _| 4.0));
        assert!(constant.appearance(0, 0).iter().all(|v| (v - 4.0).abs() < 1e-6));
        sound(&params, &table(1, 3, odd));
        sound(&params, &table(10, 1, odd));
        sound(&params, &table(10, 3, |_, c| c as f64));
        sound(&params, &table(2, 4, odd));
        // Columns and rows in which nothing is observed.
        let nothing = |r: usize, c: usize| if c == 1 || r == 3 { f64::NAN } else { odd(r, c) };
        sound(&params, &table(12, 3, nothing));
        // Tiny and huge.
        sound(&params, &table(12, 3, |r, c| 1e-100 * odd(r, c)));
        sound(&params, &table(12, 3, |r, c| 1e100 * odd(r, c)));
    }
    let unseen = |_: usize, _: usize| f64::NAN;
    assert!(learned(&GvqParams::new(2), &table(3, 2, unseen), 0).is_err());
}

#[test]
fn every_association_learns() {
    let (rows, _) = planted::<f64>(30, 4, 5, 0.2, 1);
    let holes = with_holes(&rows, 0.1, 1);
    for association in Association::NAMES.map(|name| name.parse::<Association>().unwrap()) {
        let params = GvqParams { association, scouts: 1, ..GvqParams::new(4) };
        for table in [&rows, &holes] {
            let plan = Plan { passes: 3, ..Plan::default() };
            let (model, _) = fit(&params, table, &plan, &Context::new(0), &mut Silent).unwrap();
            assert!(model.variance().unwrap().is_finite(), "{association:?}");
        }
    }
}

#[test]
fn wrong_sizes_are_named() {
    let wrong = |params: GvqParams| params.check().unwrap_err().to_string();
    assert!(wrong(GvqParams::new(0)).contains("`features`"));
    assert!(wrong(GvqParams { sets: 0, ..GvqParams::new(2) }).contains("`sets`"));
    assert!(wrong(GvqParams { penalty: f64::NAN, ..GvqParams::new(2) }).contains("`penalty`"));
    assert!(wrong(GvqParams { beta: Some(0.0), ..GvqParams::new(2) }).contains("`beta`"));
    assert!(wrong(GvqParams { beta: Some(4.5), ..GvqParams::new(11) }).contains("binary"));
    let dbr = GvqParams { association: Association::Dbr, ..GvqParams::new(20) };
    assert!(wrong(dbr).contains("dbr"));
    let squashed = GvqParams { association: Association::Mf, beta: Some(4.5), ..GvqParams::new(2) };
    assert!(wrong(squashed).contains("mf"));
}

#[test]
fn rows_that_dbp_would_take_minutes_for_are_refused() {
    let params = GvqParams { association: Association::Dbp, ..GvqParams::new(8) };
    let rows = table(3000, 100, |r, c| (r * c % 7) as f64);
    let said = learned(&params, &rows, 0).unwrap_err().to_string();
    assert!(said.contains("`association`") && said.contains("3000 rows"), "{said}");
}

#[test]
fn data_that_is_not_binary_is_named() {
    let rows = table(4, 2, |r, c| if (r, c) == (2, 1) { 3.0 } else { 1.0 });
    let params = GvqParams { beta: Some(4.5), ..GvqParams::new(2) };
    let said = learned(&params, &rows, 0).unwrap_err().to_string();
    assert!(said.contains("row 2") && said.contains("found 3"), "{said}");
}

#[test]
fn binary_tables_of_any_shape_are_learned() {
    let params = GvqParams { beta: Some(4.5), sets: 2, scouts: 2, ..GvqParams::new(2) };
    sound(&params, &table(1, 1, |_, _| 1.0));
    sound(&params, &table(6, 3, |_, _| 0.0));
    sound(
        &params,
        &table(9, 4, |r, c| if (r + c) % 4 == 0 { f64::NAN } else { (r * c % 2) as f64 }),
    );
}

#[test]
fn unused_features_are_given_something_to_do() {
    // Eight corners of a cube, far apart: three features are needed, none may idle.
    let corners = table(80, 3, |r, c| f64::from(u8::from(r >> c & 1 == 1)) * 9.0);
    let model = sound(&GvqParams::new(3), &corners);
    assert!(model.variance().unwrap() < 1e-3, "{:?}", model.variance());
}
