//! MCVQ of columns that hold numbers, counts and words.

use mereo_core::{
    Asked, Classify, ColumnKind, Context, Dense, Likelihood, Manifest, ModelFile, Parts, Plan,
    Prediction, Silent, Table, Training, classify, draw_missing, encode, estimate, predict,
    reconstruct, sample, score, surprise,
};

use crate::{Classes, Gate, Mcvq, McvqParams, mcvq::fit};

fn levels(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn kinds() -> Vec<ColumnKind> {
    vec![
        ColumnKind::Number,
        ColumnKind::Category { levels: levels(&["a", "b", "c"]) },
        ColumnKind::Count,
        ColumnKind::YesNo { levels: levels(&["no", "yes"]) },
        ColumnKind::Ordered { levels: levels(&["low", "mid", "high", "top"]) },
        ColumnKind::Number,
    ]
}

/// Two parts: columns 0, 1, 2 show one of three states, columns 3, 4, 5 one of two. Some cells are missing.
fn two_parts(rows: usize) -> Table<f64> {
    let mut random = Context::new(5).random("mixed rows", [0, 0]);
    let mut cells = Vec::new();
    for row in 0..rows {
        let mut pick = |n: usize| rand::RngExt::random_range(&mut random, 0..n);
        let (a, b) = (pick(3), pick(2));
        let noise = pick(100) as f64 / 100.0;
        let slip = pick(20) == 0;
        let own = [
            5.0 * a as f64 + noise,
            if slip { pick(3) } else { a } as f64,
            (6 * a + pick(3)) as f64,
            if slip { pick(2) } else { b } as f64,
            (2 * b + pick(2)) as f64,
            4.0 * b as f64 + noise,
        ];
        let hide = |(d, &x): (usize, &f64)| if (row * 7 + d) % 17 == 0 { f64::NAN } else { x };
        cells.extend(own.iter().enumerate().map(hide));
    }
    Table::from(Dense::new(rows, 6, cells).unwrap()).with_kinds(kinds()).unwrap()
}

fn learn(table: &Table<f64>, params: &McvqParams, restarts: usize) -> (Mcvq, Training) {
    let plan = Plan { restarts, passes: 120, ..Plan::default() };
    fit(params, table, &plan, &Context::new(2), &mut Silent).unwrap()
}

fn small(parts: usize, states: usize) -> McvqParams {
    McvqParams { scouts: 6, ..McvqParams::new(parts, states) }
}

#[test]
fn columns_of_every_kind_find_their_parts() {
    let table = two_parts(500);
    let (model, training) = learn(&table, &small(2, 3), 3);
    let parts = model.parts().part_of_column();
    assert!(parts[0] == parts[1] && parts[1] == parts[2], "{parts:?}");
    assert!(parts[3] == parts[4] && parts[4] == parts[5] && parts[3] != parts[0], "{parts:?}");
    for restart in &training.restarts {
        let rest = (restart.settled_from + 1).min(restart.bounds.len());
        for pair in restart.bounds[rest..].windows(2) {
            assert!(pair[1] >= pair[0] - 1e-7 * pair[0].abs(), "{:?}", restart.bounds);
        }
    }
    // The seeded start alone finds them too: association across kinds.
    let (model, _) = learn(&table, &small(2, 3), 1);
    assert_eq!(model.parts().part_of_column()[0], model.parts().part_of_column()[2]);
}

#[test]
fn scores_are_bounds_on_what_enumeration_says() {
    let table = two_parts(120);
    let context = Context::new(0);
    for (parts, slack) in [(1, 1e-8), (2, f64::INFINITY)] {
        let (model, _) = learn(&table, &small(parts, 3), 1);
        let bounds = score::<f64>(&model, &table, &context).unwrap().rows;
        let exact = estimate::<f64>(&model, Likelihood::Exact, &table, &context).unwrap().rows;
        for (bound, exact) in bounds.iter().zip(&exact) {
            assert!(*bound <= exact + 1e-8 && exact - bound <= slack, "{bound} {exact}");
        }
    }
}

/// A row by itself.
fn row(cells: [f64; 6]) -> Table<f64> {
    Table::from(Dense::new(1, 6, cells.to_vec()).unwrap())
}

#[test]
fn masses_of_all_that_a_cell_can_be_add_up_to_the_row_without_it() {
    let (model, _) = learn(&two_parts(200), &small(2, 3), 1);
    let context = Context::new(0);
    let log = |cells: [f64; 6]| {
        estimate::<f64>(&model, Likelihood::Exact, &row(cells), &context).unwrap().rows[0]
    };
    for (column, values) in [(1, 3), (2, 300), (3, 2), (4, 4)] {
        let mut cells = [5.2, 1.0, 7.0, 0.0, 1.0, 0.5];
        let mut sum = 0.0;
        for value in 0..values {
            cells[column] = f64::from(value);
            sum += log(cells).exp();
        }
        cells[column] = f64::NAN;
        assert!((sum.ln() - log(cells)).abs() < 1e-8, "column {column}");
    }
}

#[test]
fn with_one_part_predictions_and_surprise_are_ratios_of_scores() {
    let (model, _) = learn(&two_parts(200), &small(1, 4), 1);
    let context = Context::new(0);
    let log = |cells: [f64; 6]| score::<f64>(&model, &row(cells), &context).unwrap().rows[0];
    let base = [5.2, 1.0, 7.0, 0.0, 1.0, 0.5];
    let said = predict(&model, &row(base), Asked::Every, &context).unwrap();
    let surprises = surprise(&model, &row(base), &context).unwrap();
    for column in 0..6 {
        let mut without = base;
        without[column] = f64::NAN;
        let own = log(base) - log(without);
        assert!((surprises[column] + own).abs() < 1e-7, "column {column}");
        if let Some(Prediction::Levels(p)) = said.cell(0, column) {
            assert!((p[base[column] as usize] - own.exp()).abs() < 1e-7);
        }
    }
}

#[test]
fn hidden_cells_come_back_and_draws_vary_with_what_is_known() {
    let table = two_parts(500);
    let (model, _) = learn(&table, &small(2, 3), 3);
    let context = Context::new(0);
    // What the other columns of its part show tells a word.
    let nan = f64::NAN;
    for state in 0..3 {
        let cells =
            [5.0 * f64::from(state) + 0.5, nan, 6.0 * f64::from(state) + 1.0, nan, nan, 4.5];
        let filled = reconstruct::<f64>(&model, &row(cells), &context).unwrap();
        assert_eq!(filled.row(0)[1], f64::from(state));
        assert_eq!(filled.row(0)[3], 1.0);
        let said = predict(&model, &row(cells), Asked::Missing, &context).unwrap();
        assert!(said.cell(0, 0).is_none());
        let Some(Prediction::Levels(p)) = said.cell(0, 4) else { panic!("words have levels") };
        assert!(p[2] + p[3] > 0.9, "{p:?}");
    }
    let rows = 8000;
    let cells: Vec<f64> =
        [5.5, nan, nan, nan, nan, 4.5].into_iter().cycle().take(6 * rows).collect();
    let table = Table::from(Dense::new(rows, 6, cells).unwrap());
    let drawn = draw_missing::<f64>(&model, &table, 0, &context).unwrap();
    let again = draw_missing::<f64>(&model, &table, 1, &context).unwrap();
    assert!(drawn.values() != again.values());
    let said = predict(&model, &table.select_rows(&[0]), Asked::Missing, &context).unwrap();
    for column in 1..5 {
        let values = || (0..rows).map(|r| drawn.row(r)[column]);
        match said.cell(0, column).unwrap() {
            Prediction::Number { mean, deviation } => {
                let found = values().sum::<f64>() / rows as f64;
                assert!((found - mean).abs() < 5.0 * deviation / (rows as f64).sqrt());
            }
            Prediction::Levels(p) => {
                for (level, p) in p.iter().enumerate() {
                    let share = values().filter(|&x| x == level as f64).count();
                    assert!((share as f64 / rows as f64 - p).abs() < 0.03);
                }
            }
        }
    }
    let made = sample(&model, 100, true, &context).unwrap();
    for r in 0..100 {
        let row = made.row(r);
        assert!(row[2] >= 0.0 && row[2].fract() == 0.0);
        assert!(
            [(1, 3.0), (3, 2.0), (4, 4.0)]
                .iter()
                .all(|&(d, n)| row[d] < n && row[d].fract() == 0.0)
        );
    }
}

#[test]
fn classes_are_found_and_kept_with_columns_of_every_kind() {
    let table = two_parts(300);
    let params = McvqParams { classes: Classes::Learned(2), ..small(2, 3) };
    let (model, training) = learn(&table, &params, 1);
    assert!(training.bound.is_finite());
    let context = Context::new(0);
    let found = classify::<f64>(&model, Likelihood::Bound, &table, &context).unwrap();
    assert!(found.values().iter().all(|p| (0.0..=1.0 + 1e-9).contains(p)));
    assert_eq!(Classify::<f64>::classes(&model), 2);
    let drawn = draw_missing::<f64>(&model, &table, 0, &context).unwrap();
    assert!(drawn.values().iter().all(|x| x.is_finite()));
    assert!(surprise(&model, &table, &context).unwrap().iter().any(|s| *s > 0.0));
}

#[test]
fn a_file_brings_it_back_and_any_threads_give_the_same_bytes() {
    let many: Vec<usize> = (0..5000).map(|i| i * 7 % 200).collect();
    let table = two_parts(200).select_rows(&many);
    let plan = Plan { passes: 4, ..Plan::default() };
    let bytes = |threads: usize| {
        let context = Context::new(1).with_threads(threads).unwrap();
        let (model, _) = fit(&small(2, 3), &table, &plan, &context, &mut Silent).unwrap();
        let bytes = model.to_file(Manifest::new("mcvq")).to_bytes().unwrap();
        let file = ModelFile::from_bytes(&bytes, "memory".as_ref()).unwrap();
        assert_eq!(Mcvq::from_file(file, "memory".as_ref()).unwrap(), model);
        bytes
    };
    assert!(bytes(1) == bytes(3));
}

#[test]
fn weights_are_repeats_in_columns_of_every_kind() {
    let table = two_parts(60);
    let weight = |row: usize| [1.0, 2.0, 0.0, 1.0][row % 4];
    let repeats: Vec<usize> =
        (0..60).flat_map(|row| std::iter::repeat_n(row, weight(row) as usize)).collect();
    let weighted = table.clone().with_weights((0..60).map(weight).collect()).unwrap();
    let ((one, by_weight), (other, by_rows)) =
        (learn(&weighted, &small(2, 2), 1), learn(&table.select_rows(&repeats), &small(2, 2), 1));
    assert!((by_weight.bound - by_rows.bound).abs() < 1e-5 * by_rows.bound.abs());
    let context = Context::new(0);
    let [one, other] = [&one, &other].map(|m| encode::<f64>(m, &table, &context).unwrap());
    assert!(one.values().iter().zip(other.values()).all(|(a, b)| (a - b).abs() < 1e-3));
}

#[test]
fn gates_of_rows_are_refused_by_name() {
    let params = McvqParams { gate: Gate::Factorised { from: 0 }, ..small(2, 2) };
    let error = fit(&params, &two_parts(50), &Plan::default(), &Context::new(0), &mut Silent);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a column of words (category)"), "{error}");
}
