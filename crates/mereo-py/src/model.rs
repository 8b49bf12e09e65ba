//! A learned model, asked about rows.

use std::path::{Path, PathBuf};

use mereo::{
    About, Context, Dense, Fitted, Likelihood, ModelFile, Names, Real, Result, Source, write_report,
};
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::interrupt::watched;
use crate::rows::{Given, Known, Rows, cells, with_rows};
use crate::{array, raised};

/// Cells up to which work is done before a signal could be looked for.
const QUICK: usize = 1 << 16;

/// A learned model.
#[pyclass(frozen, module = "mereo._native")]
pub(crate) struct Model(pub(crate) Fitted);

/// A context with so many threads.
pub(crate) fn context(seed: u64, threads: usize) -> PyResult<Context> {
    let context = Context::new(seed);
    if threads == 1 { Ok(context) } else { context.with_threads(threads).map_err(raised) }
}

impl Model {
    /// Asks something of rows, without the interpreter's lock.
    fn ask<R: Send>(
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        about: About,
        context: &Context,
        work: impl FnOnce(Rows<'_>) -> Result<R> + Send,
    ) -> PyResult<R> {
        let given = Given::of(rows)?;
        let lent = given.lend()?;
        let work = || work(context.install(|| lent.rows(about))?);
        if given.cells() <= QUICK {
            return py.detach(work).map_err(raised);
        }
        match watched(py, context.stop(), work) {
            (_, Some(signal)) => Err(signal),
            (result, None) => result.map_err(raised),
        }
    }
}

/// Codes, reconstructions: cells of the rows' own type.
enum Made {
    F32(Dense<f32>),
    F64(Dense<f64>),
}

impl Made {
    fn array(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::F32(made) => cells(py, mereo::Cells::Dense(made)),
            Self::F64(made) => cells(py, mereo::Cells::Dense(made)),
        }
    }
}

fn encoded<T: Real>(
    fitted: &Fitted,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Dense<T>> {
    match fitted.encode(source, context)?.into_parts().0 {
        mereo::Cells::Dense(codes) => Ok(codes),
        mereo::Cells::Sparse(_) => Err(fitted.incapable("encode densely")),
    }
}

#[pymethods]
impl Model {
    /// Opens a model file.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        Fitted::open(&path).map(Self).map_err(raised)
    }

    /// Takes a model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let path = Path::new("model");
        let file = ModelFile::from_bytes(bytes, path).map_err(raised)?;
        Fitted::from_file(file, path).map(Self).map_err(raised)
    }

    /// Pickled as its file.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let from_bytes = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((from_bytes, (self.to_bytes(py)?,)))
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.0.model.to_file(self.0.manifest.clone());
        Ok(PyBytes::new(py, &file.to_bytes().map_err(raised)?))
    }

    /// Writes its file, whole or not at all.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.0.save(&path).map_err(raised)
    }

    /// What its file says of it, as JSON.
    fn manifest(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.manifest).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// Its tensors, by name.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let file = self.0.model.to_file(self.0.manifest.clone());
        let all = PyDict::new(py);
        for (name, tensor) in file.tensors() {
            all.set_item(name, array(py, tensor.values.clone(), &tensor.shape)?)?;
        }
        Ok(all)
    }

    /// Its kind, by the name of the registration.
    #[getter]
    fn kind(&self) -> &str {
        self.0.model.kind()
    }

    /// How many members an average has; none if it is no average.
    #[getter]
    fn members(&self) -> usize {
        self.0.model.members().len()
    }

    /// How many columns its rows have.
    #[getter]
    fn columns(&self) -> usize {
        self.0.model.columns()
    }

    /// Names of its classes, if it has any.
    #[getter]
    fn classes(&self) -> Option<Vec<String>> {
        self.0.model.classes().map(|_| self.0.class_names())
    }

    /// How many of its numbers were free, and both criteria, where they are known.
    #[getter]
    fn criteria(&self) -> Option<(usize, f64, f64)> {
        self.0.criteria().map(|c| (c.parameters, c.aic, c.bic))
    }

    /// Its parts: what looks are, gate `[D, K]`, how common looks are `[K, J]`, looks `[K, J, D]` in the data's units.
    #[getter]
    fn parts<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(&'static str, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)>>
    {
        let Some(view) = self.0.model.parts() else { return Ok(None) };
        let (k, j, d) = (view.parts, view.states, view.columns);
        let mut mean = view.mean.to_vec();
        self.0.undo(&mut mean).map_err(raised)?;
        let looks = match view.appearance {
            mereo::Appearance::States => "states",
            mereo::Appearance::Sums => "sums",
            mereo::Appearance::Factors => "factors",
        };
        Ok(Some((
            looks,
            array(py, view.gate.to_vec(), &[d, k])?,
            array(py, view.state_prior.to_vec(), &[k, j])?,
            array(py, mean, &[k, j, d])?,
        )))
    }

    /// Names of the numbers of codes.
    #[getter]
    fn code_names(&self) -> PyResult<Vec<String>> {
        self.0.code_names().map_err(raised)
    }

    /// Rows to codes.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        known: Known<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let context = context(0, threads)?;
        let made = Self::ask(py, rows, known.about()?, &context, |rows| {
            Ok(match rows {
                Rows::F32(source) => Made::F32(encoded(&self.0, &source, &context)?),
                Rows::F64(source) => Made::F64(encoded(&self.0, &source, &context)?),
            })
        })?;
        made.array(py)
    }

    /// Rows to rows; with `fill` only missing cells change.
    fn reconstruct<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        known: Known<'py>,
        fill: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let context = context(0, threads)?;
        let made = Self::ask(py, rows, known.about()?, &context, |rows| {
            Ok(match rows {
                Rows::F32(source) => Made::F32(self.0.reconstruct(&source, fill, &context)?),
                Rows::F64(source) => Made::F64(self.0.reconstruct(&source, fill, &context)?),
            })
        })?;
        made.array(py)
    }

    /// Rows with their missing cells drawn: number `draw` of several ways.
    fn draw_missing<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        known: Known<'py>,
        draw: u64,
        seed: u64,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let context = context(seed, threads)?;
        let made = Self::ask(py, rows, known.about()?, &context, |rows| {
            Ok(match rows {
                Rows::F32(source) => Made::F32(self.0.draw_missing(&source, draw, &context)?),
                Rows::F64(source) => Made::F64(self.0.draw_missing(&source, draw, &context)?),
            })
        })?;
        made.array(py)
    }

    /// Codes to rows.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        fn owned<T: Real + numpy::Element>(codes: PyReadonlyArray2<'_, T>) -> PyResult<Dense<T>> {
            let shape = [codes.shape()[0], codes.shape()[1]];
            Dense::new(shape[0], shape[1], codes.as_slice()?.to_vec()).map_err(raised)
        }
        let made = if let Ok(codes) = codes.cast::<PyArray2<f32>>() {
            let codes = owned(codes.try_readonly()?)?;
            Made::F32(py.detach(|| self.0.decode(&codes)).map_err(raised)?)
        } else {
            let codes = owned(codes.cast::<PyArray2<f64>>()?.try_readonly()?)?;
            Made::F64(py.detach(|| self.0.decode(&codes)).map_err(raised)?)
        };
        made.array(py)
    }

    /// Log densities of rows, what kind of number they are, their mean and its standard error.
    fn score<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        known: Known<'py>,
        how: Option<&str>,
        samples: usize,
        seed: u64,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyAny>, String, f64, Option<f64>)> {
        let context = context(seed, threads)?;
        let how = how.map(|how| likelihood(how, samples)).transpose()?;
        let scores = Self::ask(
            py,
            rows,
            known.about()?,
            &context,
            |rows| with_rows!(rows, source => self.0.score(&source, how, &context)),
        )?;
        let kind = format!("{:?}", scores.kind).to_lowercase();
        let count = scores.rows.len();
        Ok((array(py, scores.rows, &[count])?, kind, scores.mean, scores.standard_error))
    }

    /// Probabilities of the classes of rows.
    fn classify<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        known: Known<'py>,
        how: &str,
        samples: usize,
        seed: u64,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let context = context(seed, threads)?;
        let how = likelihood(how, samples)?;
        let found = Self::ask(
            py,
            rows,
            known.about()?,
            &context,
            |rows| with_rows!(rows, source => self.0.classify(&source, how, &context)),
        )?;
        cells(py, mereo::Cells::Dense(found.probabilities))
    }

    /// What each part shows in rows, by rising number: for each row and part the likeliest state and how likely it is, factors,
    /// and the columns that this says most about.
    fn explain(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        known: Known<'_>,
        numbers: Vec<usize>,
        threads: usize,
    ) -> PyResult<Vec<(usize, Vec<(Option<(usize, f64)>, Vec<f64>, Vec<(String, f64, f64)>)>)>>
    {
        let context = context(0, threads)?;
        let told = Self::ask(
            py,
            rows,
            known.about()?,
            &context,
            |rows| with_rows!(rows, source => self.0.explain(&source, &numbers, &context)),
        )?;
        let part = |shown: mereo::Shown| (shown.state, shown.factors, shown.columns);
        Ok(told
            .into_iter()
            .map(|row| (row.row, row.parts.into_iter().map(part).collect()))
            .collect())
    }

    /// New rows.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        rows: usize,
        noise: bool,
        seed: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = py.detach(|| self.0.sample(rows, noise, &Context::new(seed))).map_err(raised)?;
        cells(py, mereo::Cells::Dense(made))
    }

    /// Writes the report, with rows if there are any.
    fn report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        title: &str,
        rows: Option<&Bound<'_, PyAny>>,
        known: Known<'_>,
        threads: usize,
    ) -> PyResult<()> {
        let context = context(0, threads)?;
        let names = Names { title, model: "model.safetensors", data: None };
        let Some(rows) = rows else {
            let nothing: Option<&dyn Source<f64>> = None;
            let written =
                py.detach(|| write_report(&self.0, &[], nothing, &names, &path, &context));
            return written.map_err(raised);
        };
        Self::ask(
            py,
            rows,
            known.about()?,
            &context,
            |rows| with_rows!(rows, source => write_report(&self.0, &[], Some(&source), &names, &path, &context)),
        )
    }
}

/// How densities are worked out.
fn likelihood(how: &str, samples: usize) -> PyResult<Likelihood> {
    Likelihood::named(how, samples).map_err(raised)
}
