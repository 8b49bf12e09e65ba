//! Rows that are elsewhere teach what rows that are here do, to the last bit.

use std::ops::Range;

use mereo_core::{
    About, Absent, Answer, Context, Dense, Error, Lane, Manifest, Plan, Real, Remote, Request,
    Result, Silent, Source, Table, Training,
};
use mereo_mixture::deep::{Em, LayerKind, Search};
use mereo_mixture::{
    Covariance, DeepGmm, DeepGmmParams, Gmm, GmmParams, Student, StudentParams, deep, gaussian,
    student,
};

/// A table that can only be asked.
struct Elsewhere<T> {
    table: Table<T>,
    answers: Vec<Answer>,
}

impl<T: Real> Elsewhere<T> {
    fn new(table: &Table<T>) -> Self {
        let mut answers = mereo_core::slots::answers();
        answers.extend(mereo_mixture::answers());
        Self { table: table.clone(), answers }
    }
}

impl<T: Real> Remote for Elsewhere<T> {
    fn ask(&self, request: &Request, runs: &[Range<usize>]) -> Result<Vec<Vec<u8>>> {
        let mut named = self.answers.iter().filter(|answer| answer.name() == request.task);
        let (Some(answer), None) = (named.next(), named.next()) else {
            panic!("`{}` is not answered by exactly one", request.task)
        };
        let ask =
            |run: &Range<usize>| answer.answer(request, &self.table, run.clone(), &Context::new(0));
        runs.iter().map(ask).collect()
    }
}

impl<T: Real> Source<T> for Elsewhere<T> {
    fn rows(&self) -> usize {
        self.table.rows()
    }

    fn columns(&self) -> usize {
        self.table.columns()
    }

    fn batch_rows(&self) -> usize {
        self.table.batch_rows()
    }

    fn shard_batches(&self) -> usize {
        self.table.shard_batches()
    }

    fn lane(&self, _: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        Err(Error::option("data", "the rows are elsewhere"))
    }

    fn about(&self) -> &About {
        self.table.about()
    }

    fn absent(&self) -> Option<Absent> {
        self.table.absent()
    }

    fn remote(&self) -> Option<&dyn Remote> {
        Some(self)
    }
}

/// Rows of several shards, this many of every hundred cells missing.
fn table<T: Real>(rows: usize, columns: usize, missing: usize) -> Table<T> {
    let cell = |i: usize| {
        if (i * 37 + i / 600) % 100 < missing {
            return T::MISSING;
        }
        let (row, column) = (i / columns, i % columns);
        let on = row.wrapping_mul(2_654_435_761) >> 7 >> (column / 2 % 8) & 1;
        T::from_f64(0.8 * on as f64 + 0.2 * ((i as f64 * 0.618).fract()))
    };
    let table =
        Table::from(Dense::new(rows, columns, (0..rows * columns).map(cell).collect()).unwrap());
    assert!(Source::<T>::shards(&table) > 2);
    let weights = (0..rows).map(|r| [1.0, 0.5, 2.0, 0.0][r % 4]).collect();
    table.with_weights(weights).unwrap()
}

fn plan() -> Plan {
    Plan { restarts: 2, passes: 4, ..Plan::default() }
}

/// Asserts that a fit of rows here and elsewhere gives the same bytes.
fn same<T: Real>(here: &Table<T>, fit: impl Fn(&dyn Source<T>) -> (Vec<u8>, Training)) {
    let (bytes, training) = fit(here);
    let (other, told) = fit(&Elsewhere::new(here));
    assert!(bytes == other, "the models differ");
    assert_eq!(training, told);
}

fn gmms<T: Real>() {
    use Covariance::{Diagonal, Full, LowRank, Spherical, Tied};
    for (covariance, hard, shrinkage) in [
        (Spherical, false, None),
        (Diagonal, true, None),
        (Diagonal, false, Some(4.0)),
        (Full, false, Some(9.0)),
        (Full, true, None),
        (Tied, false, None),
        (LowRank, false, None),
    ] {
        let params = GmmParams { hard, shrinkage, ..GmmParams::with(3, covariance) };
        for missing in [0, 10] {
            same(&table::<T>(9_000, 6, missing), |source| {
                let (model, training) =
                    gaussian::fit(&params, source, &plan(), &Context::new(1), &mut Silent).unwrap();
                (
                    model
                        .to_file(Manifest::new(<Gmm as mereo_core::Model>::KIND))
                        .to_bytes()
                        .unwrap(),
                    training,
                )
            });
        }
    }
}

#[test]
fn gaussian_mixtures_are_the_same() {
    gmms::<f32>();
    gmms::<f64>();
}

#[test]
fn mixtures_with_tails_are_the_same() {
    same(&table::<f32>(9_000, 6, 10), |source| {
        let params = StudentParams::new(2);
        let (model, training) =
            student::fit(&params, source, &plan(), &Context::new(1), &mut Silent).unwrap();
        (
            model.to_file(Manifest::new(<Student as mereo_core::Model>::KIND)).to_bytes().unwrap(),
            training,
        )
    });
}

#[test]
fn deep_mixtures_are_the_same_where_no_row_is_remembered() {
    let plain = DeepGmmParams::new(&[2, 2]);
    let swept = DeepGmmParams {
        sweeps: 1,
        layer_kind: vec![LayerKind::Full, LayerKind::Scale],
        ..plain.clone()
    };
    let hard = DeepGmmParams { em: Em::Hard, ..plain.clone() };
    for params in [&plain, &swept, &hard] {
        same(&table::<f32>(9_000, 6, 10), |source| {
            let plan = Plan { passes: 18, ..Plan::default() };
            let (model, training) =
                deep::fit(params, source, &plan, &Context::new(1), &mut Silent).unwrap();
            (
                model
                    .to_file(Manifest::new(<DeepGmm as mereo_core::Model>::KIND))
                    .to_bytes()
                    .unwrap(),
                training,
            )
        });
    }
    let source = Elsewhere::new(&table::<f64>(9_000, 6, 0));
    let searched = DeepGmmParams { search: Search::Coordinate, ..hard };
    let error = deep::fit(&searched, &source, &plan(), &Context::new(1), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("`deep-gmm` with these options remembers rows"), "{error}");
}
