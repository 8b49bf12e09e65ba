//! Rows that are elsewhere teach what rows that are here do, to the last bit.

use std::ops::Range;

use mereo_core::{
    About, Absent, Answer, Context, Dense, Error, Lane, Manifest, Plan, Remote, Request, Result,
    Silent, Source, Table, Training,
};
use mereo_quantize::cvq::Inference;
use mereo_quantize::{CvqParams, GvqParams, VqParams, cvq, gvq, vq};

/// A table that can only be asked.
struct Elsewhere {
    table: Table<f64>,
    answers: Vec<Answer>,
}

impl Elsewhere {
    fn new(table: &Table<f64>) -> Self {
        let mut answers = mereo_core::slots::answers();
        answers.extend(mereo_quantize::answers());
        Self { table: table.clone(), answers }
    }
}

impl Remote for Elsewhere {
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

impl Source<f64> for Elsewhere {
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

    fn lane(&self, _: Range<usize>) -> Result<Box<dyn Lane<f64> + '_>> {
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

/// Rows of several shards, cells from 0 to 1, this many of every hundred missing.
fn table(missing: usize) -> Table<f64> {
    let (rows, columns) = (9_000, 6);
    let cell = |i: usize| {
        if (i * 37 + i / 600) % 100 < missing {
            return f64::NAN;
        }
        let (row, column) = (i / columns, i % columns);
        let on = row.wrapping_mul(2_654_435_761) >> 7 >> (column / 2) & 1;
        0.8 * on as f64 + 0.2 * ((i as f64 * 0.618).fract())
    };
    let table =
        Table::from(Dense::new(rows, columns, (0..rows * columns).map(cell).collect()).unwrap());
    assert!(Source::<f64>::shards(&table) > 2);
    let weights = (0..rows).map(|r| [1.0, 0.5, 2.0, 0.0][r % 4]).collect();
    table.with_weights(weights).unwrap()
}

fn plan() -> Plan {
    Plan { restarts: 2, passes: 4, ..Plan::default() }
}

/// Asserts that a fit of rows here and elsewhere gives the same bytes.
fn same(missing: usize, fit: impl Fn(&dyn Source<f64>) -> (Vec<u8>, Training)) {
    let here = table(missing);
    let (bytes, training) = fit(&here);
    let (other, told) = fit(&Elsewhere::new(&here));
    assert!(bytes == other, "the models differ");
    assert_eq!(training, told);
}

#[test]
fn vector_quantisers_learn_the_same() {
    same(10, |source| {
        let (model, training) =
            vq::fit(&VqParams::new(5), source, &plan(), &Context::new(1), &mut Silent).unwrap();
        (model.to_file(Manifest::new("vq")).to_bytes().unwrap(), training)
    });
}

#[test]
fn features_are_the_same() {
    let plain = GvqParams { scouts: 2, ..GvqParams::new(3) };
    let sets = GvqParams { sets: 2, penalty: 0.01, ..plain.clone() };
    let binary = GvqParams { beta: Some(4.0), ..sets.clone() };
    for (params, missing) in [(&plain, 0), (&sets, 0), (&sets, 10), (&binary, 0), (&binary, 10)] {
        same(missing, |source| {
            let (model, training) =
                gvq::fit(params, source, &plan(), &Context::new(1), &mut Silent).unwrap();
            (model.to_file(Manifest::new("gvq")).to_bytes().unwrap(), training)
        });
    }
}

#[test]
fn sums_of_codebooks_are_the_same_where_no_row_is_remembered() {
    let params = CvqParams { inference: Inference::Gibbs, ..CvqParams::new(2, 2) };
    same(10, |source| {
        let (model, training) =
            cvq::fit(&params, source, &plan(), &Context::new(1), &mut Silent).unwrap();
        (model.to_file(Manifest::new("cvq")).to_bytes().unwrap(), training)
    });
    let source = Elsewhere::new(&table(0));
    let error = cvq::fit(&CvqParams::new(2, 2), &source, &plan(), &Context::new(1), &mut Silent)
        .unwrap_err();
    assert!(error.to_string().contains("`cvq` with these options remembers rows"), "{error}");
}
