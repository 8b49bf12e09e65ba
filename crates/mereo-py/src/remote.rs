//! Learning from rows that other processes read, and answering for some of them.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use mereo::{Context, Elsewhere, Error, Source, Window};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::fit::{Chosen, Outcome, Told, observed, outcome};
use crate::interrupt::watched;
use crate::raised;
use crate::rows::{Given, Known, with_rows};

/// Learns a model from rows that are elsewhere: `ask(request, runs)` gives for each run of shards the bytes that
/// [`answer`] gave for it.
#[pyfunction]
pub(crate) fn fit_elsewhere(
    py: Python<'_>,
    chosen: Chosen,
    rows: usize,
    columns: usize,
    single: bool,
    known: Known<'_>,
    ask: Py<PyAny>,
    observer: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let (fit, context) = chosen.fit()?;
    let about = known.about()?;
    let stop = context.stop().clone();
    let mut told = Told { call: observer, stop: stop.clone(), failed: None };
    let failed: Mutex<Option<PyErr>> = Mutex::new(None);
    let through = |request: &[u8], runs: &[Range<usize>]| {
        if context.stop().asked() {
            return Err(Error::Interrupted);
        }
        let asked = Python::attach(|py| {
            let runs: Vec<(usize, usize)> = runs.iter().map(|run| (run.start, run.end)).collect();
            ask.call1(py, (PyBytes::new(py, request), runs))?.extract::<Vec<Vec<u8>>>(py)
        });
        asked.map_err(|error| {
            let told = Error::option("cluster", &error);
            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            told
        })
    };
    let (fitted, signal) = watched(py, &stop, || {
        let elsewhere = Elsewhere::new(rows, columns, about, &through);
        if single {
            observed::<f32>(&fit, Box::new(elsewhere), &mut told)
        } else {
            observed::<f64>(&fit, Box::new(elsewhere), &mut told)
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome(fitted, failed.or(told.failed), signal)
}

/// The rows that a run of shards covers, of so many.
#[pyfunction]
pub(crate) fn rows_of(rows: usize, columns: usize, start: usize, end: usize) -> (usize, usize) {
    let range = Window::<f64>::rows_of(rows, columns, start..end);
    (range.start, range.end)
}

/// What each of several runs of shards tells, by whoever holds their rows.
#[pyfunction]
pub(crate) fn answer<'py>(
    py: Python<'py>,
    request: &[u8],
    rows: usize,
    first_row: usize,
    runs: Vec<(usize, usize)>,
    part: &Bound<'py, PyAny>,
    known: Known<'py>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let given = Given::of(part)?;
    let (lent, about) = (given.lend()?, known.about()?);
    let runs: Vec<Range<usize>> = runs.into_iter().map(|(start, end)| start..end).collect();
    let answers = py.detach(|| {
        let context = Context::new(0);
        with_rows!(lent.rows(about)?, source => {
            let source: &dyn Source<_> = &source;
            let window = Window::new(rows, first_row, source)?;
            mereo::answer(request, &window, &runs, &context)
        })
    });
    Ok(answers.map_err(raised)?.iter().map(|answer| PyBytes::new(py, answer)).collect())
}

/// The answers of runs that lie side by side, put together as one run of all would have answered.
#[pyfunction]
pub(crate) fn merge<'py>(
    py: Python<'py>,
    request: &[u8],
    answers: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(|| mereo::merge_answers(request, &answers)).map_err(raised)?;
    Ok(PyBytes::new(py, &bytes))
}
