//! Rows that are elsewhere teach what rows that are here do, to the last bit.

use std::ops::Range;

use mereo_core::{
    About, Absent, Answer, Context, Dense, Error, Lane, Manifest, Plan, Real, Remote, Request,
    Result, Silent, Source, Table, Training,
};
use mereo_linear::{Fa, FaParams, NmfParams, Pca, PcaParams, Ppca, PpcaParams, factor, nmf, pca};

/// A table that can only be asked.
struct Elsewhere<T> {
    table: Table<T>,
    answers: Vec<Answer>,
}

impl<T: Real> Elsewhere<T> {
    fn new(table: &Table<T>) -> Self {
        let mut answers = mereo_core::slots::answers();
        answers.extend(mereo_linear::answers());
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

#[test]
fn principal_components_are_the_same_whichever_way_they_are_found() {
    // By the covariance, by passes over rows with holes, by the rows' products, at random.
    for (rows, columns, missing) in
        [(9_000, 6, 0), (9_000, 6, 10), (900, 1_000, 0), (1_100, 1_100, 0)]
    {
        same(&table::<f32>(rows, columns, missing), |source| {
            let params = PcaParams::new(2);
            let (model, training) =
                pca::fit(&params, source, &plan(), &Context::new(1), &mut Silent).unwrap();
            (
                model.to_file(Manifest::new(<Pca as mereo_core::Model>::KIND)).to_bytes().unwrap(),
                training,
            )
        });
    }
}

#[test]
fn factors_are_the_same() {
    for missing in [0, 10] {
        let table = table::<f64>(9_000, 6, missing);
        same(&table, |source| {
            let params = FaParams::new(2);
            let (model, training) =
                factor::fit_fa(&params, source, &plan(), &Context::new(1), &mut Silent).unwrap();
            assert_eq!(training.rows, 9_000);
            assert_eq!(training.weight, Some(9_000.0 * 0.875));
            (
                model.to_file(Manifest::new(<Fa as mereo_core::Model>::KIND)).to_bytes().unwrap(),
                training,
            )
        });
        same(&table, |source| {
            let params = PpcaParams::new(2);
            let (model, training) =
                factor::fit_ppca(&params, source, &plan(), &Context::new(1), &mut Silent).unwrap();
            assert_eq!(training.weight, Some(9_000.0 * 0.875));
            assert!(training.fingerprint.is_some());
            (
                model.to_file(Manifest::new(<Ppca as mereo_core::Model>::KIND)).to_bytes().unwrap(),
                training,
            )
        });
    }
}

#[test]
fn non_negative_factors_stay_where_their_rows_are() {
    let source = Elsewhere::new(&table::<f64>(9_000, 6, 0));
    let error =
        nmf::fit(&NmfParams::new(2), &source, &plan(), &Context::new(1), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("`nmf` with these options remembers rows"), "{error}");
}
