//! Preprocessing: what goes in comes out again, however it is stored, weighted or streamed.

use mereo_core::{
    Absent, Batch, Block, Cells, Context, Dense, Fingerprint, Real, Result, Source, Sparse, Table,
};
use mereo_data::steps::{RowFacts, StepKind, Steps};
use mereo_data::toy::World;
use proptest::collection::vec;
use proptest::prelude::*;

fn kinds(names: &[&str]) -> Vec<StepKind> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn learn<T: Real>(names: &[&str], source: &dyn Source<T>) -> Steps {
    Steps::learn(&kinds(names), source, &Context::new(0)).unwrap()
}

fn dense<T: Real>(columns: usize, values: Vec<T>) -> Table<T> {
    Table::from(Dense::new(values.len() / columns, columns, values).unwrap())
}

fn sparse(columns: usize, rows: &[Vec<(u32, f64)>], absent: Absent) -> Table<f64> {
    let mut starts = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        for (column, value) in row {
            indices.push(*column);
            values.push(*value);
        }
        starts.push(values.len());
    }
    Table::from(Sparse::new(columns, starts, indices, values, absent).unwrap())
}

fn values<T: Real>(table: &Table<T>) -> Vec<T> {
    match table.cells() {
        Cells::Dense(cells) => cells.values().to_vec(),
        Cells::Sparse(cells) => cells.values().to_vec(),
    }
}

/// Every cell of a table, in full.
fn full<T: Real>(table: &Table<T>) -> Vec<T> {
    let mut out = Vec::new();
    each_batch(table, |batch| {
        let mut row = vec![T::ZERO; batch.columns];
        for number in 0..batch.rows {
            batch.dense_row(number, &mut row);
            out.extend_from_slice(&row);
        }
        Ok(())
    });
    out
}

fn each_batch<T: Real>(source: &dyn Source<T>, mut visit: impl FnMut(&Batch<'_, T>) -> Result<()>) {
    let mut lane = source.lane(0..source.batches()).unwrap();
    while let Some(batch) = lane.next_batch().unwrap() {
        visit(&batch).unwrap();
    }
}

fn facts<T: Real>(steps: &Steps, table: &Table<T>) -> Vec<RowFacts> {
    let mut facts = Vec::new();
    each_batch(table, |batch| {
        facts.extend(steps.facts(batch)?);
        Ok(())
    });
    facts
}

fn volumes<T: Real>(steps: &Steps, table: &Table<T>) -> Option<Vec<f64>> {
    let mut volumes = Some(Vec::new());
    each_batch(table, |batch| {
        match (steps.log_volume(batch)?, &mut volumes) {
            (Some(of_batch), Some(volumes)) => volumes.extend(of_batch),
            _ => volumes = None,
        }
        Ok(())
    });
    volumes
}

fn there_and_back<T: Real>(steps: &Steps, table: &Table<T>) -> Vec<T> {
    let mut output = full(&steps.apply(table.clone()).unwrap());
    steps.undo(&mut output, Some(&facts(steps, table))).unwrap();
    output
}

/// Chains whose undoing loses nothing.
const EXACT: [&[&str]; 9] = [
    &[],
    &["scale:-1,1"],
    &["scale-all"],
    &["standardise"],
    &["remove-column-means"],
    &["remove-row-means", "standardise"],
    &["log", "scale:0,1"],
    &["normalise-counts", "log"],
    &["log", "remove-row-means", "remove-column-means", "scale-all:2,5"],
];

/// A cell that is missing now and then.
fn cell() -> impl Strategy<Value = f64> {
    prop_oneof![5 => 0.0..50.0, 1 => Just(0.0), 1 => Just(f64::NAN)]
}

fn close(a: f64, b: f64, scale: f64, tolerance: f64) -> bool {
    (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * scale.max(a.abs()).max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn undoing_gives_back_what_was_applied_to(cells in vec(cell(), 4..60), wide in any::<bool>()) {
        let columns = 4;
        let cells = cells[..cells.len() / columns * columns].to_vec();
        for chain in EXACT {
            let before = dense(columns, cells.clone());
            let after: Vec<f64> = if wide {
                there_and_back(&learn(chain, &before), &before)
            } else {
                let narrow = dense(columns, cells.iter().map(|&c| c as f32).collect());
                let after = there_and_back(&learn(chain, &narrow), &narrow);
                after.into_iter().map(f64::from).collect()
            };
            // Relative to the data's magnitude: a chain may pass through its largest value.
            let (scale, tolerance) = (50.0, if wide { 1e-12 } else { 1e-6 });
            for (a, b) in cells.iter().zip(&after) {
                prop_assert!(close(*a, *b, scale, tolerance), "{chain:?}: {a} became {b}");
            }
        }
    }

    #[test]
    fn a_stream_gives_what_the_table_gives(cells in vec(cell(), 3..90)) {
        let cells = cells[..cells.len() / 3 * 3].to_vec();
        for chain in EXACT.into_iter().chain([&["equalise"][..]]) {
            let table = dense(3, cells.clone());
            let steps = learn(chain, &table);
            let applied = steps.apply(table.clone()).unwrap();
            let mut streamed: Vec<f64> = Vec::new();
            let source = steps.source(Box::new(table)).unwrap();
            each_batch(&source, |batch| {
                let Block::Dense { values, .. } = batch.block else { unreachable!() };
                streamed.extend_from_slice(values);
                Ok(())
            });
            prop_assert_eq!(bits(&streamed), bits(&values(&applied)));
        }
    }

    #[test]
    fn a_weight_is_a_number_of_rows(rows in vec((vec(cell(), 3), 0u32..4), 1..12)) {
        let weighted = dense(3, rows.iter().flat_map(|r| r.0.clone()).collect())
            .with_weights(rows.iter().map(|r| f64::from(r.1)).collect())
            .unwrap();
        let repeated: Vec<f64> = rows
            .iter()
            .flat_map(|(cells, times)| (0..*times).flat_map(move |_| cells.clone()))
            .collect();
        let repeated = dense(3, repeated);
        for chain in EXACT.into_iter().chain([&["equalise"][..]]) {
            // Equal steps do equal things to the same table.
            let probe = dense(3, vec![1.0, 20.0, 45.0, 0.0, 3.0, 7.0]);
            let by_weight = there(&learn(chain, &weighted), &probe);
            let by_rows = there(&learn(chain, &repeated), &probe);
            for (a, b) in by_weight.iter().zip(&by_rows) {
                prop_assert!(close(*a, *b, 1.0, 1e-9), "{chain:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn missing_stays_missing_and_only_missing(cells in vec(cell(), 3..60)) {
        let cells = cells[..cells.len() / 3 * 3].to_vec();
        for chain in EXACT.into_iter().chain([&["equalise"][..]]) {
            let table = dense(3, cells.clone());
            let after = values(&learn(chain, &table).apply(table.clone()).unwrap());
            for (a, b) in cells.iter().zip(after) {
                prop_assert_eq!(a.is_nan(), b.is_nan());
            }
        }
    }

    #[test]
    fn unobserved_is_the_same_as_missing(cells in vec(cell(), 3..60)) {
        let cells = cells[..cells.len() / 3 * 3].to_vec();
        let rows: Vec<Vec<(u32, f64)>> = cells
            .chunks(3)
            .map(|row| (0..3u32).zip(row.to_vec()).filter(|c| !c.1.is_nan()).collect())
            .collect();
        for chain in EXACT.into_iter().chain([&["equalise"][..]]) {
            let (full_table, thin) = (dense(3, cells.clone()), sparse(3, &rows, Absent::Unobserved));
            let (a, b) = (learn(chain, &full_table), learn(chain, &thin));
            prop_assert_eq!(&a, &b);
            prop_assert_eq!(volumes(&a, &full_table), volumes(&b, &thin));
            prop_assert_eq!(facts(&a, &full_table), facts(&b, &thin));
            let ready = b.apply(thin.clone()).unwrap();
            prop_assert_eq!(values(&ready).len(), values(&thin).len());
            prop_assert_eq!(bits(&full(&a.apply(full_table).unwrap())), bits(&full(&ready)));
        }
    }

    #[test]
    fn the_volume_is_the_derivative(cells in vec(cell(), 3..30)) {
        let cells = cells[..cells.len() / 3 * 3].to_vec();
        let table = dense(3, cells.clone());
        for chain in EXACT {
            let steps = learn(chain, &table);
            let found = volumes(&steps, &table);
            prop_assert_eq!(found.is_some(), steps.has_density());
            let Some(found) = found else { continue };
            let step = 1e-5;
            let moved = |by: f64| {
                let table = dense(3, cells.iter().map(|c| c + by).collect());
                values(&steps.apply(table).unwrap())
            };
            let (up, down) = (moved(step), moved(-step));
            for (row, found) in found.into_iter().enumerate() {
                let expected: f64 = (row * 3..row * 3 + 3)
                    .map(|at| (up[at] - down[at]) / (2.0 * step))
                    .filter(|d| !d.is_nan())
                    .map(f64::ln)
                    .sum();
                prop_assert!((expected - found).abs() < 1e-4, "{chain:?}: {expected} {found}");
            }
        }
    }

    #[test]
    fn json_gives_the_same_steps(cells in vec(cell(), 3..30)) {
        let table = dense(3, cells[..cells.len() / 3 * 3].to_vec());
        for chain in EXACT.into_iter().chain([&["equalise"][..]]) {
            let steps = learn(chain, &table);
            let text = serde_json::to_string(&steps).unwrap();
            prop_assert_eq!(serde_json::from_str::<Steps>(&text).unwrap(), steps);
        }
    }
}

fn there(steps: &Steps, table: &Table<f64>) -> Vec<f64> {
    values(&steps.apply(table.clone()).unwrap())
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn offsets_and_scales_cost_no_digits() {
    for (offset, scale) in [(1e6, 1.0), (-1e9, 1e-2), (0.0, 1e-30), (0.0, 1e30), (1e12, 1e3)] {
        let cells: Vec<f64> = (0..1000).map(|i| offset + scale * f64::from(i % 10)).collect();
        let steps = learn(&["standardise"], &dense(1, cells));
        let deviation = 8.25f64.sqrt();
        let mut back = [0.0, 1.0];
        steps.undo(&mut back, None).unwrap();
        assert!(close(back[0], offset + 4.5 * scale, 0.0, 1e-13), "{offset} {scale}: {back:?}");
        // Beyond the offset's own rounding.
        let lost = 4.0 * f64::EPSILON * offset.abs();
        assert!((back[1] - back[0] - deviation * scale).abs() < 1e-9 * scale + lost);
    }
}

#[test]
fn columns_that_do_not_vary_or_are_missing_are_left_in_size() {
    let nan = f64::NAN;
    let table = dense(3, vec![0.1, nan, 1.0, 0.1, nan, 2.0, 0.1, nan, 3.0]);
    let probe = dense(3, vec![5.1, 7.0, 2.0]);
    let after = there(&learn(&["standardise"], &table), &probe);
    assert!((after[0] - 5.0).abs() < 1e-12);
    assert_eq!(after[1..], [7.0, 0.0]);
    let after = there(&learn(&["scale:-1,1"], &table), &probe);
    assert!((after[0] - 4.0).abs() < 1e-12, "{after:?}");
    assert_eq!(after[1..], [6.0, 0.0]);
}

#[test]
fn one_range_for_all_keeps_columns_comparable() {
    let table = dense(2, vec![0.0f32, 10.0, 5.0, 20.0]);
    let steps = learn(&["scale-all:-1,1"], &table);
    assert_eq!(values(&steps.apply(table).unwrap()), [-1.0, 0.0, -0.5, 1.0]);
}

#[test]
fn counts_stay_sparse_and_what_would_fill_them_is_refused() {
    let rows = [vec![(0, 1.0), (2, 3.0)], vec![], vec![(1, 8.0)]];
    let table = sparse(3, &rows, Absent::Zero);
    for chain in [&["normalise-counts"][..], &["log"], &["normalise-counts", "log"], &["scale:0,2"]]
    {
        let steps = learn(chain, &table);
        let after = steps.apply(table.clone()).unwrap();
        let Cells::Sparse(cells) = after.cells() else { panic!("{chain:?}") };
        assert_eq!((cells.values().len(), cells.absent()), (3, Absent::Zero));
        let back = there_and_back(&steps, &table);
        for (a, b) in full(&table).iter().zip(&back) {
            assert!(close(*a, *b, 0.0, 1e-12), "{chain:?}: {a} {b}");
        }
    }
    let fill = ["standardise", "scale:-1,1", "equalise", "remove-row-means", "remove-column-means"];
    for name in fill {
        let error =
            Steps::learn(&kinds(&[name]), &table, &Context::new(0)).unwrap_err().to_string();
        assert!(error.contains("normalise-counts"), "{error}");
        // Learned elsewhere, they are refused as well.
        let steps = learn(&[name], &dense(3, full(&table)));
        assert!(steps.apply(table.clone()).is_err());
        assert!(steps.source(Box::new(table.clone())).is_err());
        each_batch(&table, |batch| {
            assert!(steps.facts(batch).is_err() && steps.log_volume(batch).is_err());
            Ok(())
        });
    }
}

#[test]
fn sparse_streams_have_the_same_batches_wherever_a_lane_starts() {
    for (world, name) in [(World::Ratings, "remove-row-means"), (World::Documents, "log")] {
        let table = world.make(Some(5000), 0).unwrap().table;
        let steps = learn(&[name], &table);
        let applied = steps.apply(table.clone()).unwrap();
        let source = steps.source(Box::new(table)).unwrap();
        assert!(source.batches() > 1);
        let of = |rows: &dyn Source<f32>| Fingerprint::of(rows, &Context::new(0)).unwrap();
        assert_eq!(of(&source), of(&applied));
        for batch in (0..source.batches()).rev() {
            let mut lanes = [source.lane(batch..batch + 1), applied.lane(batch..batch + 1)]
                .map(std::result::Result::unwrap);
            let [streamed, whole] = lanes.each_mut().map(|l| l.next_batch().unwrap().unwrap());
            assert_eq!(streamed.first_row, whole.first_row);
            for row in 0..whole.rows {
                let mut cells = [vec![0.0; whole.columns], vec![0.0; whole.columns]];
                streamed.dense_row(row, &mut cells[0]);
                whole.dense_row(row, &mut cells[1]);
                assert!(cells[0].iter().zip(&cells[1]).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }
}

#[test]
fn zeros_that_are_not_stored_count_like_those_that_are() {
    let rows = [vec![(0, 4.0), (1, 1.0)], vec![(0, 2.0)], vec![(0, 1.0), (1, 5.0)]];
    let thin = sparse(2, &rows, Absent::Zero);
    let thick = dense(2, full(&thin));
    for chain in [&["log", "scale:0,1"][..], &["scale-all:0,3"], &["normalise-counts"]] {
        let steps = learn(chain, &thin);
        assert_eq!(volumes(&steps, &thin), volumes(&steps, &thick), "{chain:?}");
        assert_eq!(facts(&steps, &thin), facts(&steps, &thick), "{chain:?}");
        let (a, b) = (steps.apply(thin.clone()).unwrap(), steps.apply(thick.clone()).unwrap());
        assert_eq!(full(&a), full(&b), "{chain:?}");
    }
    // The first column has no zero, yet a zero to come must stay one.
    let Cells::Sparse(scaled) = learn(&["scale"], &thin).apply(thin).unwrap().into_parts().0 else {
        panic!()
    };
    assert_eq!(scaled.values(), [1.0, 0.2, 0.5, 0.25, 1.0]);
}

#[test]
fn counts_of_documents_have_the_same_total() {
    let table = dense(3, vec![1.0, 1.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0]);
    let steps = learn(&["normalise-counts"], &table);
    let after = there(&steps, &table);
    assert_eq!(after, [2.0, 2.0, 0.0, 0.0, 4.0 / 3.0, 8.0 / 3.0, 0.0, 0.0, 0.0]);
    // A row that a model made up has the mean total; an empty document stays empty.
    let mut made_up = [2.0, 1.0, 1.0];
    steps.undo(&mut made_up, None).unwrap();
    assert_eq!(made_up, [2.0, 1.0, 1.0]);
    steps.undo(&mut made_up, Some(&facts(&steps, &table)[2..])).unwrap();
    assert_eq!(made_up, [0.0; 3]);
}

#[test]
fn made_up_rows_have_the_mean_row_mean() {
    let table = dense(2, vec![1.0, 3.0, 5.0, 7.0]);
    let steps = learn(&["remove-row-means"], &table);
    let mut made_up = [-1.0, 1.0];
    steps.undo(&mut made_up, None).unwrap();
    assert_eq!(made_up, [3.0, 5.0]);
}

#[test]
fn equalised_pictures_differ_by_order_alone() {
    let table = dense(4, vec![0.1f32, 0.4, 0.2, 0.3, 100.0, 104.0, 101.0, 103.0]);
    let steps = learn(&["equalise"], &table);
    let after = values(&steps.apply(table).unwrap());
    assert_eq!(after[..4], [0.0, 1.0, 1.0 / 3.0, 2.0 / 3.0]);
    assert_eq!(after[..4], after[4..]);
    // Back through the mean histogram.
    let mut ends = vec![0.0f32, 1.0, 1.0 / 3.0, f32::NAN];
    steps.undo(&mut ends, None).unwrap();
    assert_eq!(ends[..2], [50.05, 52.2]);
    assert!((ends[2] - 50.6).abs() < 1e-4, "{}", ends[2]);
    assert!(ends[3].is_nan());
    assert!(!steps.has_density());
}

#[test]
fn values_that_a_step_cannot_take_are_named() {
    let table = dense(2, vec![1.0, -1.0]).with_names(vec!["a".into(), "b".into()]).unwrap();
    let steps = learn(&["log"], &table);
    let error = steps.apply(table.clone()).unwrap_err().to_string();
    assert!(error.contains("row 0, column `b`: found -1"), "{error}");
    let error = Steps::learn(&kinds(&["normalise-counts"]), &table, &Context::new(0))
        .unwrap_err()
        .to_string();
    assert!(error.contains("column `b`") && error.contains("count"), "{error}");
    // Too large after the step.
    let steps = learn(&["standardise"], &dense(1, vec![0.0f32, 1e-30]));
    assert!(steps.apply(dense(1, vec![1e30f32])).is_err());
}

#[test]
fn undoing_never_overflows() {
    let table = dense(1, vec![0.0f32, 1e30, 1e36]);
    let steps = learn(&["log", "standardise"], &table);
    let mut output = [1e37f32, -1e37, 0.0];
    steps.undo(&mut output, None).unwrap();
    assert!(output.iter().all(|v| v.is_finite()), "{output:?}");
}

#[test]
fn other_tables_are_refused() {
    let steps = learn(&["standardise", "remove-row-means"], &dense(2, vec![1.0, 2.0]));
    let other = dense(3, vec![1.0, 2.0, 3.0]);
    assert!(steps.check(2).is_ok() && steps.check(3).is_err());
    assert!(steps.apply(other.clone()).is_err());
    assert!(steps.source(Box::new(other.clone())).is_err());
    each_batch(&other, |batch| {
        assert!(steps.facts(batch).is_err() && steps.log_volume(batch).is_err());
        Ok(())
    });
    assert!(steps.undo(&mut [1.0, 2.0, 3.0], None).is_err());
    assert!(steps.undo(&mut [1.0, 2.0], Some(&[])).is_err());
    let others = facts(&learn::<f64>(&[], &dense(2, vec![1.0, 2.0])), &dense(2, vec![1.0, 2.0]));
    assert!(steps.undo(&mut [1.0, 2.0], Some(&others)).is_err());
}

#[test]
fn hostile_json_is_refused() {
    let hostile = [
        r#"{"columns":2,"steps":[{"step":"standardise","offset":[0],"spread":[1,1]}]}"#,
        r#"{"columns":2,"steps":[{"step":"standardise","offset":[0,0],"spread":[1]}]}"#,
        r#"{"columns":1,"steps":[{"step":"standardise","offset":[null],"spread":[1]}]}"#,
        r#"{"columns":1,"steps":[{"step":"standardise","offset":[1e999],"spread":[1]}]}"#,
        r#"{"columns":1,"steps":[{"step":"standardise","offset":[1e200],"spread":[1]}]}"#,
        r#"{"columns":1,"steps":[{"step":"standardise","offset":[0],"spread":[0]}]}"#,
        r#"{"columns":1,"steps":[{"step":"standardise","offset":[0],"spread":[-1]}]}"#,
        r#"{"columns":1,"steps":[{"step":"standardise","offset":[0],"spread":[1e-300]}]}"#,
        r#"{"columns":1,"steps":[{"step":"standardise","offset":[0],"spread":[1],"x":1}]}"#,
        r#"{"columns":1,"steps":[{"step":"scale","offset":[0],"spread":[1],"low":1e999}]}"#,
        r#"{"columns":1,"steps":[{"step":"scale-all","offset":0,"spread":0,"low":0}]}"#,
        r#"{"columns":1,"steps":[{"step":"equalise","levels":[]}]}"#,
        r#"{"columns":1,"steps":[{"step":"equalise","levels":[1,0]}]}"#,
        r#"{"columns":1,"steps":[{"step":"normalise-counts","mean_total":0}]}"#,
        r#"{"columns":1,"steps":[{"step":"remove-row-means"}]}"#,
        r#"{"columns":1,"steps":[{"step":"log","x":1}]}"#,
        r#"{"columns":1,"steps":[{"step":"magic"}]}"#,
        r#"{"columns":-1,"steps":[]}"#,
        r#"{"columns":1,"steps":[],"more":1}"#,
        r"{}",
        r"[]",
    ];
    for text in hostile {
        assert!(serde_json::from_str::<Steps>(text).is_err(), "{text}");
    }
    let sound = r#"{"columns":1,"steps":[{"step":"log"},{"step":"equalise","levels":[0,1]}]}"#;
    assert!(serde_json::from_str::<Steps>(sound).is_ok());
}

#[test]
fn means_of_rows_and_columns_are_drawn_to_all_and_come_back() {
    // Three users, three films; the last film was rated once, and user 2 said nothing.
    let stars = vec![5.0, 3.0, 1.0, 4.0];
    let cells = Sparse::new(3, vec![0, 3, 4, 4], vec![0, 1, 2, 0], stars, Absent::Unobserved);
    let table = Table::from(cells.unwrap());
    let steps = Steps::learn(&["remove-means".parse().unwrap()], &table, &Context::new(0)).unwrap();
    let mean = 13.0 / 4.0;
    let film = |sum: f64, n: f64| mean + (sum / n - mean) * n / (n + 5.0);
    let films = [film(9.0, 2.0), film(3.0, 1.0), film(1.0, 1.0)];
    let mut lane = table.lane(0..1).unwrap();
    let batch = lane.next_batch().unwrap().unwrap();
    let facts = steps.facts(&batch).unwrap();
    let mut nothing = vec![0.0; 9];
    steps.undo(&mut nothing, Some(&facts)).unwrap();
    let user = (9.0 - films.iter().sum::<f64>()) / 8.0;
    for (d, film) in films.iter().enumerate() {
        assert!((nothing[d] - (film + user)).abs() < 1e-12, "{nothing:?}");
        assert!((nothing[6 + d] - film).abs() < 1e-12, "{nothing:?}");
    }
    let ready = steps.apply(table.clone()).unwrap();
    let Cells::Sparse(ready) = ready.cells() else { panic!("sparse tables stay sparse") };
    assert!((ready.values()[2] - (1.0 - films[2] - user)).abs() < 1e-12);
    // What it does to a row of three cells is I - 11ᵀ/8, whose determinant is 5/8.
    let volumes = steps.log_volume(&batch).unwrap().unwrap();
    for (volume, exact) in volumes.iter().zip([5.0 / 8.0, 5.0 / 6.0, 1.0f64]) {
        assert!((volume - exact.ln()).abs() < 1e-12, "{volumes:?}");
    }
}
