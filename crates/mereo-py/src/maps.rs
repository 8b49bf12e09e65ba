//! Maps: rows on a page.

use std::path::{Path, PathBuf};

use mereo::map::{Journey, MapParams, Method, Similarity, Step};
use mereo::{Checkpoints, MapFit, Mapped, ModelFile, Source};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::watched;
use crate::model::{Model, context};
use crate::pictures::overlaid;
use crate::rows::{Given, Known, with_rows};
use crate::{array, raised};

/// A finished map.
#[pyclass(frozen, module = "mereo._native")]
pub(crate) struct Map(Mapped);

/// Makes a map of rows, or of what a model makes of them. Options are those of the library, as JSON; what is not among them has
/// its default.
#[pyfunction]
pub(crate) fn map_rows(
    py: Python<'_>,
    method: &str,
    size: (usize, Option<usize>),
    options: &str,
    through: (Option<PyRef<'_, Model>>, Option<usize>, Vec<String>),
    rows: &Bound<'_, PyAny>,
    known: Known<'_>,
    matrix: Option<&str>,
    names: Option<Vec<String>>,
    checkpoint: Option<PathBuf>,
    resume: bool,
    seed: u64,
    threads: usize,
) -> PyResult<Map> {
    let method = match method {
        "tsne" => Method::tsne(),
        "sammon" => Method::sammon(),
        "mds" => Method::mds(),
        "pcoa" => Method::Pcoa,
        other => {
            let problem = format!("`{other}` is not tsne, sammon, mds or pcoa");
            return Err(raised(mereo::Error::option("method", problem)));
        }
    };
    let mut params: MapParams = overlaid(&MapParams::new(method), options)?;
    (params.dimensions, params.landmarks) = size;
    let (model, components, steps) = through;
    let steps = steps.iter().map(|step| step.parse().map_err(raised)).collect::<PyResult<_>>()?;
    let mut how = MapFit::new(params).components(components).prepare(steps);
    if let Some(model) = model {
        how = how.through(model.0.clone()).map_err(raised)?;
    }
    let context = context(seed, threads)?;
    let given = Given::of(rows)?;
    let (lent, about) = (given.lend()?, known.about()?);
    let labels = about.labels.clone();
    let checkpoints = checkpoint.map(|path| Checkpoints { resume, ..Checkpoints::new(path) });
    let similarity = match matrix {
        None | Some("distances") => None,
        Some(rule) => {
            let wrong = |e| raised(mereo::Error::option("similarities", e));
            Some(rule.parse::<Similarity>().map_err(wrong)?)
        }
    };
    let (made, signal) = watched(py, context.stop(), || {
        let mut watch = |_: &Step| ();
        let checkpoints = checkpoints.as_ref();
        let mut journey = Journey { context: &context, checkpoints, watch: &mut watch };
        let rows = context.install(|| lent.rows(about))?;
        let made = if matrix.is_some() {
            with_rows!(rows, source => how.run_matrix(&source, similarity, &mut journey))
        } else {
            with_rows!(rows, source => how.run(&source, labels.as_ref(), &mut journey))
        }?;
        match names {
            None => Ok(made),
            Some(names) => made.with_names(names),
        }
    });
    match signal {
        Some(signal) => Err(signal),
        None => made.map(Map).map_err(raised),
    }
}

#[pymethods]
impl Map {
    /// Opens a map's file.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        Mapped::open(&path).map(Self).map_err(raised)
    }

    /// Whether a model file holds a map.
    #[staticmethod]
    fn is_in(path: PathBuf) -> PyResult<bool> {
        Ok(Mapped::is_in(&ModelFile::read(&path).map_err(raised)?))
    }

    /// Takes a map from the bytes of its file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let path = Path::new("map");
        let file = ModelFile::from_bytes(bytes, path).map_err(raised)?;
        Mapped::from_file(file, path).map(Self).map_err(raised)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.0.to_file().map_err(raised)?;
        Ok(PyBytes::new(py, &file.to_bytes().map_err(raised)?))
    }

    /// Writes its file, whole or not at all.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.0.save(&path).map_err(raised)
    }

    /// How it was made, and of how many dimensions it is.
    #[getter]
    fn params(&self) -> (&'static str, usize) {
        (self.0.map.params().method.name(), self.0.map.dimensions())
    }

    /// Where rows are, `[rows, dimensions]`.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let map = &self.0.map;
        array(py, map.points().to_vec(), &[map.rows(), map.dimensions()])
    }

    /// How well the map keeps what it is to keep, as the library tells it.
    #[getter]
    fn quality(&self) -> PyResult<String> {
        serde_json::to_string(self.0.map.quality())
            .map_err(|e| pyo3::exceptions::PyValueError::new_err(e.to_string()))
    }

    /// Writes a page about it, with the rows' cells if they are there.
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
        let Some(rows) = rows else {
            let nothing: Option<&dyn Source<f64>> = None;
            let written = py.detach(|| self.0.write_report(nothing, title, None, &path, &context));
            return written.map_err(raised);
        };
        let given = Given::of(rows)?;
        let (lent, about) = (given.lend()?, known.about()?);
        let (written, signal) = watched(py, context.stop(), || {
            let rows = context.install(|| lent.rows(about))?;
            with_rows!(rows, source => {
                self.0.write_report(Some(&source), title, None, &path, &context)
            })
        });
        match signal {
            Some(signal) => Err(signal),
            None => written.map_err(raised),
        }
    }

    /// What rows are called, if they have names.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.0.map.names().map(<[String]>::to_vec)
    }

    /// Where new rows belong, `[rows, dimensions]`.
    fn place<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        known: Known<'py>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let context = context(0, threads)?;
        let given = Given::of(rows)?;
        let (lent, about) = (given.lend()?, known.about()?);
        let (placed, signal) = watched(py, context.stop(), || {
            let rows = context.install(|| lent.rows(about))?;
            with_rows!(rows, source => self.0.place(&source, &context))
        });
        if let Some(signal) = signal {
            return Err(signal);
        }
        let placed = placed.map_err(raised)?;
        let dimensions = self.0.map.dimensions();
        let rows = placed.len() / dimensions.max(1);
        array(py, placed, &[rows, dimensions])
    }
}
