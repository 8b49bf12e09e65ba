//! Learning from arrays.

use std::path::PathBuf;
use std::time::Duration;

use mereo::{
    Checkpoints, Context, Error, Fit, Fitted, Held, Observer, Options, Plan, Portions, Real,
    Record, Result, Source, Stop,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::interrupt::watched;
use crate::model::Model;
use crate::raised;
use crate::rows::{Given, Known, with_rows};

/// What was chosen: the kind of model, its options as JSON, and how long to learn.
#[derive(FromPyObject)]
pub(crate) struct Chosen {
    kind: String,
    options: String,
    restarts: usize,
    passes: usize,
    tolerance: f64,
    seed: u64,
    average: usize,
    threads: usize,
    checkpoint: Option<PathBuf>,
    checkpoint_every: f64,
    resume: bool,
}

impl Chosen {
    /// What is to be learned, and the flag that stops it.
    pub(crate) fn fit(&self) -> PyResult<(Fit, Context)> {
        let options: Options = serde_json::from_str(&self.options)
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        let mut context = Context::new(self.seed);
        if self.threads != 1 {
            context = context.with_threads(self.threads).map_err(raised)?;
        }
        let checkpoints = match &self.checkpoint {
            None => None,
            Some(path) => Some(Checkpoints {
                every: Duration::try_from_secs_f64(self.checkpoint_every)
                    .map_err(|e| PyValueError::new_err(format!("checkpoint_every: {e}")))?,
                resume: self.resume,
                ..Checkpoints::new(path)
            }),
        };
        let Self { restarts, passes, tolerance, .. } = *self;
        let plan = Plan { restarts, passes, tolerance, checkpoints, ..Plan::default() };
        let fit = Fit::named(&self.kind, &options).map_err(raised)?.plan(plan).context(&context);
        // One is the model itself.
        let fit = if self.average == 1 { fit } else { fit.average(self.average) };
        Ok((fit, context))
    }
}

/// Tells a function of Python of every pass; it can ask for a stop by returning something true.
pub(crate) struct Told {
    pub(crate) call: Option<Py<PyAny>>,
    pub(crate) stop: Stop,
    pub(crate) failed: Option<PyErr>,
}

impl Told {
    fn tell(&mut self, fill: impl Fn(&Bound<'_, PyDict>) -> PyResult<()>) {
        let (Some(call), None) = (&self.call, &self.failed) else { return };
        let told = Python::attach(|py| {
            let record = PyDict::new(py);
            fill(&record)?;
            call.call1(py, (record,))?.is_truthy(py)
        });
        match told {
            Ok(false) => {}
            Ok(true) => self.stop.ask(),
            Err(error) => {
                self.failed = Some(error);
                self.stop.ask();
            }
        }
    }
}

impl Observer for Told {
    fn passed(&mut self, record: &Record) {
        self.tell(|told| {
            told.set_item("restart", record.restart)?;
            told.set_item("restarts", record.restarts)?;
            told.set_item("pass", record.pass)?;
            told.set_item("passes", record.passes)?;
            told.set_item("bound", record.bound)?;
            told.set_item("change", record.change)?;
            told.set_item("notes", record.notes.clone())?;
            told.set_item("seconds", record.seconds)
        });
    }

    fn starting(&mut self, restart: usize, restarts: usize) {
        self.tell(|told| {
            told.set_item("restart", restart)?;
            told.set_item("restarts", restarts)
        });
    }
}

/// What was learned, and the exception that is to be raised after it was kept.
pub(crate) type Outcome = (Option<Model>, Option<PyErr>);

/// Puts together what came of learning.
pub(crate) fn outcome(
    fitted: Result<Fitted>,
    failed: Option<PyErr>,
    signal: Option<PyErr>,
) -> PyResult<Outcome> {
    match fitted {
        Ok(fitted) => Ok((Some(Model(fitted)), failed.or(signal))),
        Err(Error::Interrupted) => Ok((None, failed.or(signal))),
        Err(error) => Err(failed.unwrap_or_else(|| raised(error))),
    }
}

/// Learns from rows.
pub(crate) fn observed<'a, T: Real>(
    fit: &Fit,
    source: Box<dyn Source<T> + 'a>,
    told: &mut Told,
) -> Result<Fitted> {
    fit.observed(Held::Stream(source), told)
}

/// Learns a model: what was learned, if anything, and the exception to raise after keeping it.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    chosen: Chosen,
    rows: &Bound<'_, PyAny>,
    known: Known<'_>,
    observer: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let (fit, context) = chosen.fit()?;
    let given = Given::of(rows)?;
    let (lent, about) = (given.lend()?, known.about()?);
    let stop = context.stop().clone();
    let mut told = Told { call: observer, stop: stop.clone(), failed: None };
    let (fitted, signal) = watched(py, &stop, || {
        let rows = context.install(|| lent.rows(about))?;
        with_rows!(rows, source => observed(&fit, Box::new(source), &mut told))
    });
    outcome(fitted, told.failed, signal)
}

/// Learns from one more portion of rows: the model of all so far, and all that must be kept of them. `kept` is what the portion
/// before gave.
#[pyfunction]
pub(crate) fn partial_fit<'py>(
    py: Python<'py>,
    chosen: Chosen,
    rows: &Bound<'py, PyAny>,
    known: Known<'py>,
    kept: Option<&[u8]>,
    observer: Option<Py<PyAny>>,
) -> PyResult<(Option<Model>, Option<PyErr>, Bound<'py, PyBytes>)> {
    let (fit, context) = chosen.fit()?;
    let given = Given::of(rows)?;
    let (lent, about) = (given.lend()?, known.about()?);
    let portions =
        kept.map_or_else(|| Ok(Portions::default()), Portions::from_bytes).map_err(raised)?;
    let stop = context.stop().clone();
    let mut told = Told { call: observer, stop: stop.clone(), failed: None };
    let (fitted, signal) = watched(py, &stop, || {
        let rows = context.install(|| lent.rows(about))?;
        with_rows!(rows, source => fit.portion(&portions, Held::Stream(Box::new(source)), &mut told))
    });
    let (model, error) = outcome(fitted, told.failed, signal)?;
    Ok((model, error, PyBytes::new(py, &portions.to_bytes().map_err(raised)?)))
}
