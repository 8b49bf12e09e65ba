//! Columns of counts and words: latent classes and mixtures of several kinds.

use mereo_core::{
    About, Asked, ColumnKind, Context, Dense, Manifest, ModelFile, Plan, Prediction, Silent, Table,
    draw_missing, predict, reconstruct, sample, score, surprise,
};

use crate::gaussian::{Gmm, GmmParams, fit};

fn words(levels: &[&str]) -> ColumnKind {
    ColumnKind::Category { levels: levels.iter().map(|&l| l.to_owned()).collect() }
}

fn yes_no() -> ColumnKind {
    ColumnKind::YesNo { levels: vec!["no".into(), "yes".into()] }
}

/// Three tests for pleural thickening: how often each pattern of answers occurred.
fn pleural() -> Table<f64> {
    let cells = (0..8).flat_map(|i| [i >> 2 & 1, i >> 1 & 1, i & 1].map(f64::from)).collect();
    let counts = [1513.0, 23.0, 59.0, 12.0, 21.0, 19.0, 11.0, 34.0];
    Table::from(Dense::new(8, 3, cells).unwrap())
        .with_weights(counts.to_vec())
        .unwrap()
        .with_kinds(vec![yes_no(); 3])
        .unwrap()
}

#[test]
fn latent_classes_of_the_pleural_data_reach_the_published_likelihood() {
    let table = pleural();
    let plan = Plan { restarts: 3, passes: 2000, tolerance: 1e-9, ..Plan::default() };
    let (model, training) =
        fit(&GmmParams::new(2), &table, &plan, &Context::new(0), &mut Silent).unwrap();
    let found = training.log_likelihood.unwrap();
    assert!((found + 891.1428).abs() < 1e-3, "{found}");
    assert_eq!(model.free_parameters(), 7);
    let scores = score::<f64>(&model, &table, &Context::new(0)).unwrap();
    assert!((scores.mean * 1692.0 - found).abs() < 1e-6);
}

/// Two kinds of rows in columns of every kind, some cells missing.
fn mixed(rows: usize) -> Table<f64> {
    let mut cells = Vec::new();
    for i in 0..rows {
        let high = i % 3 == 0;
        let noise = ((i * 37) % 100) as f64 / 100.0;
        let own = [
            if high { 5.0 + noise } else { noise },
            (if high { 8 + i % 5 } else { i % 3 }) as f64,
            f64::from(u8::from(high ^ (i % 11 == 0))),
            (if high { 2 } else { i % 2 }) as f64,
            (if high { 2 + i % 2 } else { i % 3 }) as f64,
        ];
        let cell = |(d, x): (usize, &f64)| if (i * 5 + d) % 13 == 0 { f64::NAN } else { *x };
        cells.extend(own.iter().enumerate().map(cell));
    }
    Table::from(Dense::new(rows, 5, cells).unwrap()).with_kinds(kinds()).unwrap()
}

fn kinds() -> Vec<ColumnKind> {
    let levels = ["low", "mid", "high", "top"].map(str::to_owned).to_vec();
    vec![
        ColumnKind::Number,
        ColumnKind::Count,
        yes_no(),
        words(&["a", "b", "c"]),
        ColumnKind::Ordered { levels },
    ]
}

fn learned(rows: usize, components: usize) -> (Table<f64>, Gmm, mereo_core::Training) {
    let table = mixed(rows);
    let plan = Plan { restarts: 2, passes: 60, ..Plan::default() };
    let (model, training) =
        fit(&GmmParams::new(components), &table, &plan, &Context::new(1), &mut Silent).unwrap();
    (table, model, training)
}

#[test]
fn the_bound_never_falls_in_columns_of_every_kind() {
    let (_, _, training) = learned(200, 3);
    for restart in &training.restarts {
        for pair in restart.bounds.windows(2) {
            assert!(pair[1] >= pair[0] - 1e-7 * pair[0].abs(), "{:?}", restart.bounds);
        }
    }
}

#[test]
fn scores_are_log_likelihoods_of_what_was_learned() {
    let (table, model, training) = learned(200, 3);
    let scores = score::<f64>(&model, &table, &Context::new(0)).unwrap();
    let found = training.log_likelihood.unwrap();
    assert!((scores.mean * 200.0 - found).abs() < 1e-6 * found.abs(), "{found} {}", scores.mean);
}

/// A row, everything else missing.
fn row(cells: [f64; 5]) -> Table<f64> {
    Table::from(Dense::new(1, 5, cells.to_vec()).unwrap())
}

#[test]
fn masses_of_all_that_a_cell_can_be_add_up_to_the_row_without_it() {
    let (_, model, _) = learned(200, 3);
    let context = Context::new(0);
    let log = |cells: [f64; 5]| score::<f64>(&model, &row(cells), &context).unwrap().rows[0];
    let base = [0.4, 1.0, 0.0, 1.0, 2.0];
    for (column, values) in [(1, 200), (2, 2), (3, 3), (4, 4)] {
        let mut cells = base;
        let mut sum = 0.0;
        for value in 0..values {
            cells[column] = f64::from(value);
            sum += log(cells).exp();
        }
        cells[column] = f64::NAN;
        assert!((sum.ln() - log(cells)).abs() < 1e-9, "column {column}");
    }
}

#[test]
fn predictions_and_surprise_are_ratios_of_scores() {
    let (_, model, _) = learned(200, 3);
    let context = Context::new(0);
    let log = |cells: [f64; 5]| score::<f64>(&model, &row(cells), &context).unwrap().rows[0];
    let base = [0.4, 1.0, 0.0, 1.0, 2.0];
    let said = predict(&model, &row(base), Asked::Every, &context).unwrap();
    let surprises = surprise(&model, &row(base), &context).unwrap();
    for column in 0..5 {
        let mut without = base;
        without[column] = f64::NAN;
        let own = log(base) - log(without);
        assert!((surprises[column] + own).abs() < 1e-9, "column {column}");
        let Some(said) = said.cell(0, column) else { panic!("column {column} was asked for") };
        match said {
            Prediction::Levels(p) => {
                assert!((p[base[column] as usize] - own.exp()).abs() < 1e-9);
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
            Prediction::Number { mean, deviation } => {
                assert!(mean.is_finite() && deviation > 0.0);
            }
        }
    }
    let missing = predict(&model, &row([f64::NAN; 5]), Asked::Missing, &context).unwrap();
    assert!((0..5).all(|d| missing.cell(0, d).is_some()));
}

#[test]
fn draws_have_the_moments_that_predictions_say() {
    let (_, model, _) = learned(200, 3);
    let context = Context::new(3);
    let rows = 20_000;
    let cells: Vec<f64> =
        [0.4, f64::NAN, f64::NAN, 1.0, f64::NAN].into_iter().cycle().take(rows * 5).collect();
    let table = Table::from(Dense::new(rows, 5, cells).unwrap());
    let drawn = draw_missing::<f64>(&model, &table, 0, &context).unwrap();
    let said = predict(&model, &table.select_rows(&[0]), Asked::Missing, &context).unwrap();
    for column in [1, 2, 4] {
        let values: Vec<f64> = (0..rows).map(|r| drawn.row(r)[column]).collect();
        match said.cell(0, column).unwrap() {
            Prediction::Number { mean, deviation } => {
                let found = values.iter().sum::<f64>() / rows as f64;
                assert!((found - mean).abs() < 5.0 * deviation / (rows as f64).sqrt());
            }
            Prediction::Levels(p) => {
                for (level, p) in p.iter().enumerate() {
                    let share = values.iter().filter(|&&x| x == level as f64).count();
                    let share = share as f64 / rows as f64;
                    assert!((share - p).abs() < 0.02, "column {column}: {share} {p}");
                }
            }
        }
    }
    assert!(drawn.row(7)[0] == 0.4 && drawn.row(7)[3] == 1.0);
}

#[test]
fn what_is_made_is_of_its_kind() {
    let (table, model, _) = learned(200, 3);
    let context = Context::new(0);
    let filled = reconstruct::<f64>(&model, &table, &context).unwrap();
    let drawn = sample(&model, 200, true, &context).unwrap();
    let usual = sample(&model, 20, false, &context).unwrap();
    for row in (0..200).map(|r| drawn.row(r)) {
        assert!(row[1] >= 0.0 && row[1].fract() == 0.0);
    }
    let about = About { kinds: Some(kinds()), ..About::default() };
    for made in [&filled, &drawn, &usual] {
        for row in (0..made.rows()).map(|r| made.row(r)) {
            for d in 2..5 {
                let levels = about.kind(d).levels().len() as f64;
                assert!(row[d] >= 0.0 && row[d] < levels && row[d].fract() == 0.0);
            }
        }
    }
}

#[test]
fn a_file_brings_kinds_and_shares_back() {
    let (_, model, _) = learned(100, 2);
    let bytes = model.to_file(Manifest::new("gmm")).to_bytes().unwrap();
    let again = ModelFile::from_bytes(&bytes, "memory".as_ref()).unwrap();
    assert_eq!(again.manifest.kinds, Some(kinds()));
    assert_eq!(Gmm::from_file(again, "memory".as_ref()).unwrap(), model);
    let mut file = model.to_file(Manifest::new("gmm"));
    let mut level = file.take("level", 2, "memory".as_ref()).unwrap();
    level.values[0] = 7.0;
    file.insert("level", level);
    let error = Gmm::from_file(file, "memory".as_ref()).unwrap_err().to_string();
    assert!(error.contains("no distribution"), "{error}");
}

#[test]
fn words_are_refused_by_name_where_columns_go_together() {
    use crate::gaussian::Covariance;
    let params = GmmParams::with(2, Covariance::Full);
    let error = fit(&params, &mixed(50), &Plan::default(), &Context::new(0), &mut Silent);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a column of words (yes/no)"), "{error}");
}

#[test]
fn any_threads_give_the_same_bytes() {
    let rows: Vec<usize> = (0..5000).map(|i| i * 7 % 200).collect();
    let table = mixed(200).select_rows(&rows);
    let plan = Plan { passes: 5, ..Plan::default() };
    let bytes = |threads: usize| {
        let context = Context::new(1).with_threads(threads).unwrap();
        let (model, _) = fit(&GmmParams::new(3), &table, &plan, &context, &mut Silent).unwrap();
        model.to_file(Manifest::new("gmm")).to_bytes().unwrap()
    };
    assert!(bytes(1) == bytes(3));
}

#[test]
fn odd_columns_of_words_and_counts_are_learned() {
    let kinds = vec![yes_no(), ColumnKind::Count, words(&["only"]), words(&["a", "b"])];
    let nan = f64::NAN;
    for cells in [
        vec![1.0, 0.0, 0.0, nan],
        vec![nan, nan, nan, nan, 1.0, 3e6, 0.0, nan, 0.0, 0.0, nan, nan],
        [1.0, 4.0, 0.0, 1.0].repeat(30),
    ] {
        let table = Table::from(Dense::new(cells.len() / 4, 4, cells).unwrap())
            .with_kinds(kinds.clone())
            .unwrap();
        let (model, training) =
            fit(&GmmParams::new(3), &table, &Plan::default(), &Context::new(0), &mut Silent)
                .unwrap();
        assert!(training.bound.is_finite());
        let context = Context::new(0);
        assert!(score::<f64>(&model, &table, &context).unwrap().rows.iter().all(|s| s.is_finite()));
        let filled = reconstruct::<f64>(&model, &table, &context).unwrap();
        assert!(filled.values().iter().all(|x| x.is_finite()));
    }
}

#[test]
fn joint_gaussians_predict_by_ratios_of_scores() {
    let mut file = ModelFile::new(Manifest::new("gmm"));
    let tensor = mereo_core::Tensor::new;
    file.insert("weight", tensor(vec![2], vec![0.3, 0.7]));
    file.insert("mean", tensor(vec![2, 3], vec![0.0, 1.0, 2.0, 3.0, 2.0, 1.0]));
    let covariance = [2.0, 0.8, 0.3, 0.8, 1.0, -0.2, 0.3, -0.2, 0.5];
    file.insert("covariance", tensor(vec![2, 3, 3], covariance.repeat(2)));
    let model = Gmm::from_file(file, "by hand".as_ref()).unwrap();
    let context = Context::new(0);
    let one = |cells: Vec<f64>| Table::from(Dense::new(1, 3, cells).unwrap());
    let log = |cells: &[f64]| score::<f64>(&model, &one(cells.to_vec()), &context).unwrap().rows[0];
    for base in [vec![0.5, 1.5, 2.5], vec![4.0, f64::NAN, 0.0]] {
        let surprises = surprise(&model, &one(base.clone()), &context).unwrap();
        let said = predict(&model, &one(base.clone()), Asked::Every, &context).unwrap();
        for d in 0..3 {
            let mut without = base.clone();
            without[d] = f64::NAN;
            if !base[d].is_nan() {
                assert!((surprises[d] + log(&base) - log(&without)).abs() < 1e-9);
            }
            // The mean and the variance of the density of the cell given the others.
            let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
            for i in -4000..4000 {
                let x = f64::from(i) * 0.005;
                without[d] = x;
                let p = log(&without).exp();
                mass += p;
                first += p * x;
                second += p * x * x;
            }
            let (mean, square) = (first / mass, second / mass);
            let Some(Prediction::Number { mean: m, deviation }) = said.cell(0, d) else { panic!() };
            assert!((m - mean).abs() < 1e-6, "{m} {mean}");
            assert!((deviation * deviation - (square - mean * mean)).abs() < 1e-5);
        }
    }
    let rows = 20_000;
    let many: Vec<f64> = [4.0, f64::NAN, f64::NAN].into_iter().cycle().take(3 * rows).collect();
    let table = Table::from(Dense::new(rows, 3, many).unwrap());
    let drawn = draw_missing::<f64>(&model, &table, 1, &context).unwrap();
    let said = predict(&model, &table.select_rows(&[0]), Asked::Missing, &context).unwrap();
    for d in [1, 2] {
        let mean = (0..rows).map(|r| drawn.row(r)[d]).sum::<f64>() / rows as f64;
        let Some(Prediction::Number { mean: m, deviation }) = said.cell(0, d) else { panic!() };
        assert!((mean - m).abs() < 5.0 * deviation / (rows as f64).sqrt(), "{mean} {m}");
    }
}
