//! What every model must obey, asked of each in the same words.

use std::ops::Range;

use mereo_core::{
    About, Absent, Asked, Batch, Block, CellPrediction, ColumnKind, Context, Error, Lane, Manifest,
    Model, ModelFile, Options, ParamInfo, ParamType, Params, Plan, Prediction, Real, Result,
    ScoreKind, Silent, Source, Table, Training, draw_missing, encode, predict, predict_cells,
    reconstruct, sample, score, surprise,
};
use serde_json::json;

use crate::{blobs, codes, filled, odd_tables, scores, sparse, table, with_holes};

/// What does not hold for a kind of model, and why is said where it is checked.
#[derive(Debug, Clone, Copy)]
pub struct Laws {
    /// The bound never falls once schedules are at rest.
    pub bound_rises: bool,
    /// A million added to every cell changes nothing.
    pub offsets: bool,
    /// Rows in which nothing is missing may be stored sparsely.
    pub sparse: bool,
}

impl Default for Laws {
    fn default() -> Self {
        Self { bound_rises: true, offsets: true, sparse: true }
    }
}

/// Rows and columns that laws are checked on: a little of every kind of structure.
const ROWS: usize = 60;
const COLUMNS: usize = 4;

/// Checks that a model obeys all laws, of cells in single and double precision.
pub fn check_model<M: Model>(laws: Laws) {
    declares_what_it_offers::<M>();
    of_cells::<M, f64>(laws);
    of_cells::<M, f32>(laws);
}

fn of_cells<M: Model, T: Real>(laws: Laws) {
    let cells = positive(blobs(ROWS, COLUMNS, 3, 7));
    let holes = with_holes(cells.clone(), 3);
    let (whole, masked) = (table::<T>(COLUMNS, &cells), table::<T>(COLUMNS, &holes));
    for rows in [&whole, &masked] {
        let (model, training) = fit::<M, T>(rows);
        the_bound_never_falls::<M>(&training, laws);
        capabilities_are_as_declared::<M, T>(&model, rows);
        rows_one_by_one_equal_a_batch::<M, T>(&model, rows);
        predictions_are_sound::<M, T>(&model, rows);
        a_file_brings_it_back::<M, T>(&model, rows);
        any_threads_and_any_source_give_the_same_bytes::<M, T>(rows);
    }
    let (model, _) = fit::<M, T>(&whole);
    if size_of::<T>() == size_of::<f64>() {
        a_missing_cell_is_integrated_out::<M, T>(&model, &whole);
    }
    for cells in [&cells, &holes] {
        weights_are_repeats::<M, T>(cells);
        if laws.offsets {
            offsets_change_nothing::<M, T>(cells);
        }
    }
    if laws.sparse {
        stored_sparsely_it_is_the_same::<M, T>(&holes);
    }
    odd_tables_are_learned_or_refused_by_name::<M, T>();
    words_and_counts_are_learned_or_refused_by_name::<M, T>(laws);
}

/// Cells of at least 0, which all models take.
fn positive(mut cells: Vec<f64>) -> Vec<f64> {
    let least = cells.iter().copied().fold(f64::INFINITY, f64::min);
    cells.iter_mut().for_each(|x| *x -= least);
    cells
}

/// A small model: what must be said is 2, sizes that could be searched for are 2, and tries are few.
fn small<M: Model>() -> M::Params {
    let mut options = Options::new();
    for ParamInfo { name, kind, default, .. } in M::Params::declared() {
        let value = match (&kind, &default) {
            (ParamType::CountOr(words), Some(default)) if *default == json!("auto") => {
                assert!(words.contains(&"auto"));
                json!(2)
            }
            (ParamType::Count, None) => json!(2),
            // A code of the data's own size.
            (ParamType::Count, Some(_)) if name == "code" => json!(2),
            (ParamType::Counts, None) => json!([2, 1]),
            (_, None) => panic!("{}: say how a small one chooses `{name}`", M::KIND),
            _ if name == "scouts" => json!(2),
            _ => continue,
        };
        options.insert(name.to_owned(), value);
    }
    let params = M::Params::from_options(&options).expect("small options are sound");
    params.check().expect("a small model is sound");
    params
}

fn plan() -> Plan {
    Plan { restarts: 1, passes: 60, ..Plan::default() }
}

fn fit_by<M: Model, T: Real>(source: &dyn Source<T>, context: &Context) -> Result<(M, Training)> {
    M::fit(&small::<M>(), source, &plan(), context, &mut Silent)
}

fn fit<M: Model, T: Real>(rows: &Table<T>) -> (M, Training) {
    fit_by(rows, &Context::new(1)).unwrap_or_else(|e| panic!("{}: {e}", M::KIND))
}

/// How far numbers of a type may be off.
fn rounding<T: Real>() -> f64 {
    if size_of::<T>() == size_of::<f64>() { 1e-6 } else { 2e-3 }
}

fn same(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * scale, "{what} {i}: {f} instead of {e}");
    }
}

fn declares_what_it_offers<M: Model>() {
    assert!(!M::TITLE.is_empty() && !M::ABOUT.is_empty() && !M::EXAMPLES.is_empty());
    for example in M::EXAMPLES {
        assert!(example.starts_with(&format!("mereo fit {} ", M::KIND)), "{example}");
    }
    for info in M::Params::declared() {
        assert!(!info.about.is_empty(), "{}: `{}` has no documentation", M::KIND, info.name);
    }
    let unknown = serde_json::from_str(r#"{"no_such_option": 1}"#).expect("JSON");
    assert!(M::Params::from_options(&unknown).is_err());
    assert!(M::Params::RESTARTS > 0);
}

fn the_bound_never_falls<M: Model>(training: &Training, laws: Laws) {
    assert!(training.bound.is_finite(), "{}: a bound of {}", M::KIND, training.bound);
    if !laws.bound_rises {
        return;
    }
    for restart in &training.restarts {
        let rest = restart.settled_from.saturating_add(1).min(restart.bounds.len());
        for pair in restart.bounds[rest..].windows(2) {
            let least = pair[0] - 1e-5 * (1.0 + pair[0].abs());
            assert!(pair[1] >= least, "{}: the bound falls: {:?}", M::KIND, restart.bounds);
        }
    }
}

fn capabilities_are_as_declared<M: Model, T: Real>(model: &M, rows: &Table<T>) {
    let has = [
        ("encode", model.encoder::<T>().is_some()),
        ("reconstruct", model.reconstructor::<T>().is_some()),
        ("score", model.scorer::<T>().is_some()),
        ("estimate", model.estimator::<T>().is_some()),
        ("sample", model.sampler().is_some()),
        ("parts", model.parts().is_some()),
        ("explain", model.explainer::<T>().is_some()),
        ("cells", model.cell_predictor::<T>().is_some()),
        ("predict", model.predictor::<T>().is_some()),
        ("components", model.components().is_some()),
        ("layers", model.layers().is_some()),
        ("features", model.features().is_some()),
    ];
    for (name, has) in has {
        assert_eq!(M::CAPABILITIES.contains(&name), has, "{}: {name}", M::KIND);
    }
    assert_eq!(model.columns(), rows.columns());
    let context = Context::new(0);
    if let Some(sampler) = model.sampler() {
        let (few, more) = (
            sample(sampler, 2, true, &context).unwrap(),
            sample(sampler, 5, true, &context).unwrap(),
        );
        assert_eq!(few.row(1), more.row(1), "{}: row 1 depends on how many are drawn", M::KIND);
        assert!(more.values().iter().all(|x| x.is_finite()));
    }
}

fn rows_one_by_one_equal_a_batch<M: Model, T: Real>(model: &M, rows: &Table<T>) {
    let context = Context::new(0);
    for row in [0, 7, ROWS - 1] {
        let alone = rows.select_rows(&[row]);
        if let Some(encoder) = model.encoder::<T>() {
            let all = encode(encoder, rows, &context).unwrap();
            let own = encode(encoder, &alone, &context).unwrap();
            let [own, all] = [own.row(0), all.row(row)].map(wide);
            same(&own, &all, rounding::<T>(), &format!("{}: codes of row {row}", M::KIND));
        }
        if let Some(reconstructor) = model.reconstructor::<T>() {
            let all = reconstruct(reconstructor, rows, &context).unwrap();
            let own = reconstruct(reconstructor, &alone, &context).unwrap();
            let [own, all] = [own.row(0), all.row(row)].map(wide);
            assert!(all.iter().all(|x| x.is_finite()), "{}: a cell is not filled", M::KIND);
            same(&own, &all, rounding::<T>(), &format!("{}: row {row} made", M::KIND));
        }
        if let Some(scorer) = model.scorer::<T>() {
            let all = score(scorer, rows, &context).unwrap().rows;
            let own = score(scorer, &alone, &context).unwrap().rows;
            same(&own, &all[row..=row], rounding::<T>(), &format!("{}: scores", M::KIND));
        }
    }
}

/// Whatever cells are asked for, in whatever order, comes as it would alone, with a spread above 0.
fn predictions_are_sound<M: Model, T: Real>(model: &M, rows: &Table<T>) {
    let Some(cell_predictor) = model.cell_predictor::<T>() else { return };
    let context = Context::new(0).with_threads(2).unwrap();
    let cells: Vec<(usize, usize)> =
        (0..40).map(|i| (i * 17 % ROWS, i * 3 % rows.columns())).collect();
    let tell =
        |p: &CellPrediction| [p.mean(), p.median(), p.deviation(), p.log_density(p.median())];
    let all = predict_cells(cell_predictor, rows, &cells, &context, tell).unwrap();
    for (cell, told) in cells.iter().zip(&all) {
        assert!(told.iter().all(|x| x.is_finite()) && told[2] > 0.0, "{}: {told:?}", M::KIND);
        let alone = rows.select_rows(&[cell.0]);
        let own = predict_cells(cell_predictor, &alone, &[(0, cell.1)], &context, tell).unwrap();
        same(&own[0], told, rounding::<T>(), &format!("{}: the cell {cell:?}", M::KIND));
    }
    assert!(predict_cells(cell_predictor, rows, &[(ROWS, 0)], &context, tell).is_err());
    assert!(predict_cells(cell_predictor, rows, &[(0, rows.columns())], &context, tell).is_err());
}

fn wide<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|x| x.to_f64()).collect()
}

fn a_file_brings_it_back<M: Model, T: Real>(model: &M, rows: &Table<T>) {
    let bytes = model.to_file(Manifest::new(M::KIND)).to_bytes().unwrap();
    let file = ModelFile::from_bytes(&bytes, "a law".as_ref()).unwrap();
    let again = M::from_file(file, "a law".as_ref()).unwrap();
    assert_eq!(&again, model, "{}: a file does not bring it back", M::KIND);
    if let (Some(one), Some(other)) = (model.scorer::<T>(), again.scorer::<T>()) {
        assert_eq!(scores(one, rows), scores(other, rows));
    }
    let cut = ModelFile::from_bytes(&bytes[..bytes.len() / 2], "a law".as_ref());
    assert!(cut.and_then(|file| M::from_file(file, "a law".as_ref())).is_err());
}

/// A table that is read batch by batch, as a file would be.
struct Streamed<'a, T> {
    rows: &'a Table<T>,
    about: About,
}

struct StreamedLane<'a, T> {
    inner: Box<dyn Lane<T> + 'a>,
    values: Vec<T>,
}

impl<T: Real> Lane<T> for StreamedLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let Some(batch) = self.inner.next_batch()? else { return Ok(None) };
        let block = match batch.block {
            Block::Dense { values, complete } => {
                self.values.clear();
                self.values.extend_from_slice(values);
                Block::Dense { values: &self.values, complete }
            }
            sparse @ Block::Sparse { .. } => sparse,
        };
        Ok(Some(Batch { block, ..batch }))
    }
}

impl<T: Real> Source<T> for Streamed<'_, T> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn columns(&self) -> usize {
        self.rows.columns()
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        Ok(Box::new(StreamedLane { inner: self.rows.lane(batches)?, values: Vec::new() }))
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn absent(&self) -> Option<Absent> {
        None
    }
}

fn any_threads_and_any_source_give_the_same_bytes<M: Model, T: Real>(rows: &Table<T>) {
    // Enough rows for several shards, which are cut at the same places whoever reads them.
    let many: Vec<usize> = (0..4200).map(|i| i * 7 % rows.rows()).collect();
    let rows = rows.select_rows(&many);
    let bytes = |source: &dyn Source<T>, context: &Context| {
        let few = Plan { passes: 4, ..plan() };
        let (model, training) = M::fit(&small::<M>(), source, &few, context, &mut Silent).unwrap();
        let manifest = Manifest { training: Some(training), ..Manifest::new(M::KIND) };
        model.to_file(manifest).to_bytes().unwrap()
    };
    let alone = bytes(&rows, &Context::new(1));
    for threads in [2, 7] {
        let context = Context::new(1).with_threads(threads).unwrap();
        assert!(bytes(&rows, &context) == alone, "{}: {threads} threads", M::KIND);
    }
    let streamed = Streamed { rows: &rows, about: rows.about().clone() };
    assert!(bytes(&streamed, &Context::new(1)) == alone, "{}: streamed", M::KIND);
}

/// The density of a row without a cell is the sum over all that the cell could be.
fn a_missing_cell_is_integrated_out<M: Model, T: Real>(model: &M, rows: &Table<T>) {
    let Some(scorer) = model.scorer::<T>().filter(|s| s.score_kind() == ScoreKind::Exact) else {
        return;
    };
    let context = Context::new(0);
    let row = encode_row(rows, 5);
    let (from, to, steps) = (-150.0, 250.0, 40_000usize);
    let width = (to - from) / steps as f64;
    let mut cells = Vec::with_capacity((steps + 1) * COLUMNS);
    for i in 0..=steps {
        let mut own = row.clone();
        own[1] = from + i as f64 * width;
        cells.extend(own);
    }
    let all = score(scorer, &table::<T>(COLUMNS, &cells), &context).unwrap().rows;
    let whole: f64 = all.iter().map(|log| log.exp() * width).sum();
    let mut masked = row;
    masked[1] = f64::NAN;
    let found = score(scorer, &table::<T>(COLUMNS, &masked), &context).unwrap().rows[0];
    assert!(
        (whole.ln() - found).abs() < 1e-2 * (1.0 + found.abs()),
        "{}: {found} of a row without a cell, {} integrated",
        M::KIND,
        whole.ln()
    );
}

fn encode_row<T: Real>(rows: &Table<T>, row: usize) -> Vec<f64> {
    let mut cells = vec![f64::NAN; rows.columns()];
    let mut lane = rows.lane(0..rows.batches()).unwrap();
    while let Some(batch) = lane.next_batch().unwrap() {
        if (batch.first_row..batch.first_row + batch.rows).contains(&row) {
            batch.for_each_observed(row - batch.first_row, |d, x| cells[d] = x.to_f64());
        }
    }
    cells
}

/// Weight 2 is the row twice, weight 0 the row removed, starts included.
fn weights_are_repeats<M: Model, T: Real>(cells: &[f64]) {
    let weight = |row: usize| [1.0, 2.0, 0.0, 1.0][row % 4];
    let weighted =
        table::<T>(COLUMNS, cells).with_weights((0..ROWS).map(weight).collect()).unwrap();
    let repeats: Vec<usize> =
        (0..ROWS).flat_map(|row| std::iter::repeat_n(row, weight(row) as usize)).collect();
    let repeated = table::<T>(COLUMNS, cells).select_rows(&repeats);
    let ((one, by_weight), (other, by_rows)) = (fit::<M, T>(&weighted), fit::<M, T>(&repeated));
    let all = table::<T>(COLUMNS, cells);
    same(
        &[by_weight.bound],
        &[by_rows.bound],
        100.0 * rounding::<T>(),
        &format!("{}: the bound of weighted rows", M::KIND),
    );
    assert_eq!(by_weight.total_weight(), by_rows.rows as f64, "{}", M::KIND);
    same_answers::<M, T>(&one, &other, &all, &all, 100.0, "weighted rows");
}

/// Compares what two models make of rows that say the same.
fn same_answers<M: Model, T: Real>(
    one: &M,
    other: &M,
    rows: &Table<T>,
    others: &Table<T>,
    slack: f64,
    what: &str,
) {
    let what = format!("{}: {what}", M::KIND);
    let tolerance = slack * rounding::<T>();
    if let (Some(a), Some(b)) = (one.scorer::<T>(), other.scorer::<T>()) {
        same(&scores(a, rows), &scores(b, others), tolerance, &what);
    } else if let (Some(a), Some(b)) = (one.encoder::<T>(), other.encoder::<T>()) {
        same(&codes(a, rows), &codes(b, others), tolerance, &what);
    }
}

fn offsets_change_nothing<M: Model, T: Real>(cells: &[f64]) {
    // A million has seven digits, as many as single precision: what the cells have beyond is lost. Of 64ths nothing is.
    let offset = if size_of::<T>() == size_of::<f64>() { 1e6 } else { 1e3 };
    let near: Vec<f64> = cells.iter().map(|x| (x * 64.0).round() / 64.0).collect();
    let far: Vec<f64> = near.iter().map(|x| x + offset).collect();
    let (near, far) = (table::<T>(COLUMNS, &near), table::<T>(COLUMNS, &far));
    let ((one, _), (other, _)) = (fit::<M, T>(&near), fit::<M, T>(&far));
    same_answers::<M, T>(&one, &other, &near, &far, 100.0, "an offset");
    let (Some(a), Some(b)) = (one.reconstructor::<T>(), other.reconstructor::<T>()) else { return };
    let moved: Vec<f64> = filled(a, &near).iter().map(|x| x + offset).collect();
    same(&filled(b, &far), &moved, rounding::<T>(), &format!("{}: an offset", M::KIND));
}

/// A sparse table of the same cells is the same data, or is refused by name.
fn stored_sparsely_it_is_the_same<M: Model, T: Real>(holes: &[f64]) {
    let rows = sparse::<T>(COLUMNS, holes, Absent::Unobserved);
    match fit_by::<M, T>(&rows, &Context::new(1)) {
        Ok((model, training)) => {
            let dense = table::<T>(COLUMNS, holes);
            let (other, of_dense) = fit::<M, T>(&dense);
            let what = format!("{}: the bound of sparse rows", M::KIND);
            same(&[training.bound], &[of_dense.bound], 100.0 * rounding::<T>(), &what);
            same_answers::<M, T>(&model, &other, &rows, &dense, 100.0, "sparse rows");
        }
        Err(error) => assert!(is_named(&error), "{}: {error}", M::KIND),
    }
}

/// Rows of a number, a count, a category, an ordered word and a yes or no, with holes.
fn mixed_rows<T: Real>() -> Table<T> {
    let words = |n: usize| (0..n).map(|l| format!("word {l}")).collect::<Vec<_>>();
    let kinds = vec![
        ColumnKind::Number,
        ColumnKind::Count,
        ColumnKind::Category { levels: words(3) },
        ColumnKind::Ordered { levels: words(4) },
        ColumnKind::YesNo { levels: words(2) },
    ];
    let mut cells = Vec::new();
    for row in 0..ROWS {
        let (high, noise) = (row % 3 == 0, (row * 37 % 100) as f64 / 100.0);
        let own = [
            if high { 4.0 + noise } else { noise },
            (if high { 6 + row % 4 } else { row % 3 }) as f64,
            (if high { 2 } else { row % 2 }) as f64,
            (if high { 2 + row % 2 } else { row % 3 }) as f64,
            f64::from(u8::from(high)),
        ];
        let hide = |(d, &x): (usize, &f64)| if (row * 5 + d) % 11 == 0 { f64::NAN } else { x };
        cells.extend(own.iter().enumerate().map(hide));
    }
    table::<T>(kinds.len(), &cells).with_kinds(kinds).expect("cells of their kinds")
}

/// A model that takes words obeys the laws on them; any other refuses them by name.
fn words_and_counts_are_learned_or_refused_by_name<M: Model, T: Real>(laws: Laws) {
    let rows = mixed_rows::<T>();
    if !small::<M>().takes_words() {
        let error = fit_by::<M, T>(&rows, &Context::new(1)).expect_err("words are no numbers");
        assert!(is_named(&error) && error.to_string().contains("words"), "{}: {error}", M::KIND);
        return;
    }
    let (model, training) = fit::<M, T>(&rows);
    the_bound_never_falls::<M>(&training, laws);
    rows_one_by_one_equal_a_batch::<M, T>(&model, &rows);
    a_file_brings_it_back::<M, T>(&model, &rows);
    any_threads_and_any_source_give_the_same_bytes::<M, T>(&rows);
    let context = Context::new(0);
    let Some(predictor) = model.predictor::<T>() else {
        panic!("{}: takes words and predicts none", M::KIND)
    };
    let said = predict(predictor, &rows, Asked::Every, &context).expect("predictions");
    for cell in (0..ROWS * 5).map(|i| said.cell(i / 5, i % 5)) {
        match cell {
            None => panic!("{}: a cell is not predicted", M::KIND),
            Some(Prediction::Levels(p)) => assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9),
            Some(Prediction::Number { deviation, .. }) => assert!(deviation >= 0.0),
        }
    }
    let drawn = draw_missing(predictor, &rows, 0, &context).expect("draws");
    let kinds = rows.about().kinds.clone().expect("kinds");
    let of_their_kinds = Table::from(drawn).with_kinds(kinds);
    assert!(of_their_kinds.is_ok(), "{}: {:?}", M::KIND, of_their_kinds.err());
    let cells = surprise(predictor, &rows, &context).expect("surprise");
    assert!(cells.iter().filter(|s| s.is_finite()).count() > ROWS * 4, "{}", M::KIND);
}

fn is_named(error: &Error) -> bool {
    matches!(error, Error::Data { .. } | Error::Option { .. } | Error::Incapable { .. })
}

fn odd_tables_are_learned_or_refused_by_name<M: Model, T: Real>() {
    for (what, columns, cells) in odd_tables() {
        let rows = table::<T>(columns, &cells);
        let (model, training) = match fit_by::<M, T>(&rows, &Context::new(1)) {
            Ok(learned) => learned,
            Err(error) => {
                assert!(is_named(&error), "{} of {what}: {error}", M::KIND);
                continue;
            }
        };
        assert!(training.bound.is_finite(), "{} of {what}: {}", M::KIND, training.bound);
        if let Some(reconstructor) = model.reconstructor::<T>() {
            assert!(filled(reconstructor, &rows).iter().all(|x| x.is_finite()), "{what}");
        }
        if let Some(scorer) = model.scorer::<T>() {
            assert!(scores(scorer, &rows).iter().all(|x| x.is_finite()), "{} of {what}", M::KIND);
        }
        if let Some(encoder) = model.encoder::<T>() {
            assert!(codes(encoder, &rows).iter().all(|x| x.is_finite()), "{} of {what}", M::KIND);
        }
    }
}
