//! NMF against its theory and at the edges.

use super::*;
use crate::testing::{Bounds, StopAt, close, codes, filled, odd_tables, sparse, table, with_holes};
use mereo_core::{Absent, Checkpoints, Context, Manifest, Plan, Real, Silent, Table};
use rand::RngExt;

const LOSSES: [Loss; 2] = [Loss::Kl, Loss::Frobenius];

/// Sums of three components with about half of their numbers 0, plus a little, rounded to counts.
fn counts(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("counts", [0, 0]);
    let mut number = |zero: f64| -> f64 {
        let (a, b): (f64, f64) = (random.random(), random.random());
        if a < zero { 0.0 } else { -b.ln() }
    };
    let component: Vec<f64> = (0..3 * columns).map(|_| 3.0 * number(0.5)).collect();
    let mut out = Vec::new();
    for _ in 0..rows {
        let code = [number(0.3), number(0.3), number(0.3)];
        for d in 0..columns {
            let sum: f64 = (0..3).map(|j| code[j] * component[j * columns + d]).sum();
            out.push((sum + 0.4 * number(0.5)).round());
        }
    }
    out
}

fn params(loss: Loss, components: usize) -> NmfParams {
    NmfParams { loss, ..NmfParams::new(components) }
}

fn long() -> Plan {
    Plan { passes: 2000, tolerance: 1e-9, ..Plan::default() }
}

fn nmf<T: Real>(loss: Loss, n: usize, table: &Table<T>, plan: &Plan) -> Nmf {
    fit(&params(loss, n), table, plan, &Context::new(1), &mut Silent).unwrap().0
}

/// The loss of rows under their best codes, over observed cells.
fn loss_of(model: &Nmf, columns: usize, values: &[f64]) -> f64 {
    let rebuilt = filled(model, &table::<f64>(columns, values));
    let pairs = values.iter().zip(&rebuilt).filter(|(x, _)| !x.is_nan());
    pairs
        .map(|(&x, &r)| match model.loss() {
            Loss::Kl => (if x > 0.0 { x * (x / r).ln() } else { 0.0 }) - x + r,
            Loss::Frobenius => 0.5 * (x - r).powi(2),
        })
        .sum()
}

fn bound_never_falls<T: Real>(tolerance: f64) {
    let values = counts(200, 8, 1);
    let holes = with_holes(values.clone(), 1);
    let tables = [
        table::<T>(8, &values),
        table::<T>(8, &holes),
        sparse::<T>(8, &values, Absent::Zero),
        sparse::<T>(8, &holes, Absent::Unobserved),
    ];
    for data in &tables {
        for loss in LOSSES {
            for seed in 0..2 {
                let plan = Plan { passes: 60, tolerance: 0.0, restarts: 1, ..Plan::default() };
                let mut bounds = Bounds::default();
                fit(&params(loss, 3), data, &plan, &Context::new(seed), &mut bounds).unwrap();
                assert!(bounds.0.len() > 20);
                bounds.never_fall(tolerance);
            }
        }
    }
}

#[test]
fn the_bound_never_falls() {
    bound_never_falls::<f64>(1e-11);
    // The squared error is a small difference of large sums.
    bound_never_falls::<f32>(1e-4);
}

#[test]
fn all_forms_of_a_table_teach_the_same() {
    let values = counts(120, 6, 2);
    let holes = with_holes(values.clone(), 2);
    let plan = Plan { passes: 30, tolerance: 0.0, ..Plan::default() };
    for loss in LOSSES {
        let dense = nmf(loss, 3, &table::<f64>(6, &values), &plan);
        let stored = nmf(loss, 3, &sparse::<f64>(6, &values, Absent::Zero), &plan);
        close(dense.component(), stored.component(), 1e-6, "zeros");
        let dense = nmf(loss, 3, &table::<f64>(6, &holes), &plan);
        let stored = nmf(loss, 3, &sparse::<f64>(6, &holes, Absent::Unobserved), &plan);
        close(dense.component(), stored.component(), 1e-6, "holes");
    }
}

#[test]
fn a_planted_factorisation_is_found_through_holes() {
    let mut random = Context::new(3).random("planted", [0, 0]);
    // Each component has a column that no other has: the factorisation is unique.
    let component =
        [[4.0, 0.0, 0.0, 2.0, 1.0], [0.0, 3.0, 0.0, 0.0, 2.0], [0.0, 0.0, 5.0, 1.0, 0.0]];
    let mut values = Vec::new();
    for _ in 0..300 {
        // Codes with zeros, so that the planted components are the extreme ones.
        let code: [f64; 3] =
            std::array::from_fn(
                |_| {
                    if random.random::<f64>() < 0.4 { 0.0 } else { random.random() }
                },
            );
        values.extend((0..5).map(|d| (0..3).map(|j| code[j] * component[j][d]).sum::<f64>()));
    }
    for loss in LOSSES {
        for data in [values.clone(), with_holes(values.clone(), 3)] {
            let model = nmf(loss, 3, &table::<f64>(5, &data), &long());
            for planted in component {
                let sum: f64 = planted.iter().sum();
                let distance = |w: &[f64]| -> f64 {
                    w.iter().zip(planted).map(|(w, p)| (w - p / sum).abs()).sum()
                };
                let nearest = model.component().chunks(5).map(distance).fold(9.0, f64::min);
                assert!(nearest < 0.06, "{loss:?} {nearest} {:?}", model.component());
            }
            // What was hidden comes back, but where nothing else tells of it.
            let rebuilt = filled(&model, &table::<f64>(5, &data));
            let apart: f64 = rebuilt.iter().zip(&values).map(|(a, b)| (a - b).abs()).sum();
            assert!(apart / (values.len() as f64) < 0.1, "{loss:?} {apart}");
        }
    }
}

#[test]
fn codes_are_the_best_there_are() {
    // No small change of any code makes the loss smaller, as far as 1,000 updates go.
    let values = with_holes(counts(20, 6, 4), 4);
    for loss in LOSSES {
        let model = nmf(loss, 3, &table::<f64>(6, &values), &Plan::default());
        let data = table::<f64>(6, &values);
        let codes = codes(&model, &data);
        let of = |row: usize, code: &[f64]| -> f64 {
            (0..6)
                .filter(|d| !values[row * 6 + d].is_nan())
                .map(|d| {
                    let x = values[row * 6 + d];
                    let r: f64 = (0..3).map(|j| code[j] * model.component()[j * 6 + d]).sum();
                    match loss {
                        Loss::Kl => (if x > 0.0 { x * (x / r).ln() } else { 0.0 }) - x + r,
                        Loss::Frobenius => 0.5 * (x - r).powi(2),
                    }
                })
                .sum()
        };
        for row in 0..20 {
            let own = &codes[row * 3..(row + 1) * 3];
            let best = of(row, own);
            for j in 0..3 {
                for step in [-0.01, 0.01] {
                    let mut other = own.to_vec();
                    other[j] = (other[j] + step).max(0.0);
                    let found = of(row, &other);
                    assert!(
                        found.is_nan() || found >= best - 1e-3,
                        "{loss:?} row {row}: {found} {best}"
                    );
                }
            }
        }
    }
}

#[test]
fn weight_2_is_the_row_twice_and_weight_0_the_row_removed() {
    let values = counts(40, 5, 5);
    let weights: Vec<f64> = (0..40).map(|r| f64::from(r % 3)).collect();
    for loss in LOSSES {
        for values in [values.clone(), with_holes(values.clone(), 5)] {
            let repeated: Vec<f64> = values
                .chunks(5)
                .zip(&weights)
                .flat_map(|(row, &w)| row.repeat(w as usize))
                .collect();
            let weighted = table::<f64>(5, &values).with_weights(weights.clone()).unwrap();
            let plan = Plan { passes: 20, tolerance: 0.0, ..Plan::default() };
            let a = nmf(loss, 2, &weighted, &plan);
            let b = nmf(loss, 2, &table::<f64>(5, &repeated), &plan);
            close(a.component(), b.component(), 1e-7, "component");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let values = counts(6000, 7, 6);
    let tables = [
        table::<f32>(7, &values),
        table::<f32>(7, &with_holes(values.clone(), 6)),
        sparse::<f32>(7, &values, Absent::Zero),
    ];
    let bytes = |threads: usize| {
        let context = Context::new(5).with_threads(threads).unwrap();
        let plan = Plan { restarts: 2, passes: 4, ..Plan::default() };
        let mut all = Vec::new();
        for data in &tables {
            for loss in LOSSES {
                let model = fit(&params(loss, 3), data, &plan, &context, &mut Silent).unwrap().0;
                all.extend(model.to_file(Manifest::new("nmf")).to_bytes().unwrap());
            }
        }
        all
    };
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(7));
}

#[test]
fn a_resumed_run_ends_where_the_other_did() {
    let data = table::<f32>(5, &counts(90, 5, 7));
    for loss in LOSSES {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan { passes: 12, tolerance: 0.0, ..Plan::default() };
        let whole = fit(&params(loss, 2), &data, &plan, &Context::new(0), &mut Silent).unwrap();
        let mut checkpoints = Checkpoints::new(folder.path().join("run.ck"));
        checkpoints.every = std::time::Duration::ZERO;
        checkpoints.resume = true;
        let kept = Plan { checkpoints: Some(checkpoints), ..plan };
        let context = Context::new(0);
        let mut watcher = StopAt(context.stop().clone(), 5);
        fit(&params(loss, 2), &data, &kept, &context, &mut watcher).unwrap();
        let resumed = fit(&params(loss, 2), &data, &kept, &Context::new(0), &mut Silent).unwrap();
        assert_eq!(resumed.0, whole.0);
    }
}

#[test]
fn a_scale_changes_nothing_but_codes() {
    let values = counts(60, 5, 8);
    for loss in LOSSES {
        for scale in [1e-25, 1e25] {
            let scaled: Vec<f64> = values.iter().map(|x| x * scale).collect();
            let plan = Plan { passes: 20, ..Plan::default() };
            let (a, b) = (
                nmf(loss, 2, &table::<f64>(5, &values), &plan),
                nmf(loss, 2, &table::<f64>(5, &scaled), &plan),
            );
            close(a.component(), b.component(), 1e-8, "component");
        }
    }
}

#[test]
fn what_learning_reports_is_what_codes_reach() {
    let values = counts(50, 5, 9);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    for loss in LOSSES {
        let data = table::<f64>(5, &values);
        let (model, training) =
            fit(&params(loss, 2), &data, &long(), &Context::new(0), &mut Silent).unwrap();
        let unit = if loss == Loss::Kl { mean } else { mean * mean };
        let found = loss_of(&model, 5, &values);
        assert!((found / unit + training.bound).abs() < 1e-3 * found / unit, "{loss:?}");
    }
}

fn edge_is_finite<T: Real>(what: &str, columns: usize, values: &[f64]) {
    let data = table::<T>(columns, values);
    for loss in LOSSES {
        for n in [1, 2, 7] {
            let plan = Plan { passes: 20, ..Plan::default() };
            let (model, training) =
                fit(&params(loss, n), &data, &plan, &Context::new(0), &mut Silent).unwrap();
            assert!(training.bound.is_finite(), "{what} {n} {loss:?}");
            assert!(model.component().iter().all(|w| *w >= 0.0 && w.is_finite()), "{what} {n}");
            assert!(codes(&model, &data).iter().all(|h| *h >= 0.0 && h.is_finite()), "{what} {n}");
            assert!(filled(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
            Nmf::from_file(model.to_file(Manifest::new("nmf")), what.as_ref()).unwrap();
        }
    }
}

#[test]
fn edges_have_answers() {
    for (what, columns, values) in odd_tables() {
        edge_is_finite::<f64>(what, columns, &values);
        edge_is_finite::<f32>(what, columns, &values);
    }
}

#[test]
fn a_negative_cell_is_named() {
    let data =
        table::<f64>(2, &[1.0, 2.0, 3.0, -4.0]).with_names(vec!["a".into(), "b".into()]).unwrap();
    let error = fit(&NmfParams::new(1), &data, &Plan::default(), &Context::new(0), &mut Silent)
        .unwrap_err()
        .to_string();
    assert!(error.contains("row 1, column `b`: found -4"), "{error}");
}
