//! Tables of several kinds through the facade: what is learned, what is left out, what is kept.

use mereo::linear::FaParams;
use mereo::mixture::GmmParams;
use mereo::{Asked, ColumnKind, Context, Dense, Fit, Fitted, Prediction, Table, predict};
use mereo_data::steps::StepKind;

/// Two numbers that go together, a count and a word.
fn table() -> Table<f64> {
    let cells = (0..90u32).flat_map(|i| {
        let (x, level) = (f64::from(i % 30), i % 3);
        [x + f64::from(level), 2.0 * x, f64::from(level * 4 + i % 2), f64::from(level)]
    });
    let words = ["red", "green", "blue"].map(str::to_owned).to_vec();
    let kinds = vec![
        ColumnKind::Number,
        ColumnKind::Number,
        ColumnKind::Count,
        ColumnKind::Category { levels: words },
    ];
    let names = ["a", "b", "visits", "colour"].map(str::to_owned).to_vec();
    Table::from(Dense::new(90, 4, cells.collect()).unwrap())
        .with_names(names)
        .unwrap()
        .with_kinds(kinds)
        .unwrap()
}

#[test]
fn a_model_of_numbers_leaves_words_out_and_says_so() {
    let fitted = Fit::new(FaParams::new(1)).run(&table()).unwrap();
    assert_eq!(fitted.manifest.left_out, ["colour"]);
    assert_eq!(fitted.manifest.columns.as_ref().map(Vec::len), Some(3));
    assert_eq!(fitted.model.columns(), 3);
}

#[test]
fn kinds_and_shares_are_kept_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    for components in [1, 3] {
        let fitted = Fit::new(GmmParams::new(components)).run(&table()).unwrap();
        assert!(fitted.manifest.left_out.is_empty());
        assert_eq!(fitted.manifest.kinds, table().about().kinds);
        fitted.save(&path).unwrap();
        let again = Fitted::open(&path).unwrap();
        assert_eq!(again.model, fitted.model);
        let levels = again.model.levels().unwrap();
        assert!((levels.of(0, 3).iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(levels.of(0, 2).is_empty());
        let predictor = again.model.predictor::<f64>().unwrap();
        let said = predict(predictor, &table(), Asked::Every, &Context::new(0)).unwrap();
        assert!(matches!(said.cell(0, 3), Some(Prediction::Levels(p)) if p.len() == 3));
    }
}

#[test]
fn steps_of_numbers_refuse_other_kinds_by_name() {
    let steps: Vec<StepKind> = vec!["standardise".parse().unwrap()];
    let error = Fit::new(GmmParams::new(2)).prepare(&steps).run(&table()).unwrap_err().to_string();
    assert!(error.contains("option `prepare`") && error.contains("count"), "{error}");
}
