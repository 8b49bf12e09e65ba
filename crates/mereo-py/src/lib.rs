//! The native half of mereo's Python package. It turns arrays into sources and results into arrays, and
//! holds no logic and no defaults: those are the facade's.

mod fit;
mod interrupt;
mod maps;
mod model;
mod pictures;
mod ratings;
mod remote;
mod rows;

use std::process::ExitCode;

use mereo::data::toy::World;
use mereo::{Error, ParamInfo, Place, Plan};
use numpy::PyArrayMethods;
use pyo3::exceptions::{PyKeyboardInterrupt, PyNotImplementedError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;

/// The exception that Python users expect for an error.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::Io { path, source } => {
            let text = source.to_string();
            match source.raw_os_error() {
                // With a number Python chooses the right kind: FileNotFoundError, say.
                Some(number) => PyOSError::new_err((number, text, path)),
                None => PyOSError::new_err(format!("{}: {text}", path.display())),
            }
        }
        Error::Incapable { .. } => PyNotImplementedError::new_err(error.to_string()),
        Error::Interrupted => PyKeyboardInterrupt::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// Everything that is registered, as JSON: models with what can be chosen for each, and the plan's defaults.
#[pyfunction]
fn registration() -> String {
    // Null stands for what must be said and for what depends on the rest: the first is said to be needed.
    let param = |info: &ParamInfo| {
        let mut told = serde_json::json!(info);
        told["needed"] = info.default.is_none().into();
        told
    };
    let models: Vec<_> = mereo::models()
        .iter()
        .map(|kind| {
            serde_json::json!({
                "name": kind.name,
                "title": kind.title,
                "about": kind.about,
                "capabilities": kind.capabilities,
                "restarts": kind.restarts,
                "in_portions": kind.in_portions,
                "params": kind.params().iter().map(param).collect::<Vec<_>>(),
            })
        })
        .collect();
    let Plan { passes, tolerance, .. } = Plan::default();
    serde_json::json!({
        "models": models,
        "passes": passes,
        "tolerance": tolerance,
        "most_members": mereo::MOST_MEMBERS,
    })
    .to_string()
}

/// A toy world: rows, names of columns, labels and the shape of pictures.
#[pyfunction]
fn toy<'py>(
    py: Python<'py>,
    world: &str,
    rows: Option<usize>,
    seed: u64,
) -> PyResult<(
    Bound<'py, PyAny>,
    Option<Vec<String>>,
    Option<Vec<Option<String>>>,
    Option<(usize, usize, usize)>,
)> {
    let world: World = world.parse().map_err(raised)?;
    let made = world.make(rows, seed).map_err(raised)?;
    let about = made.table.about().clone();
    let labels = about.labels.map(|labels| {
        let name = |label: &u32| labels.names[*label as usize].clone();
        labels.of_row.iter().map(|label| label.as_ref().map(name)).collect()
    });
    let picture = about.picture.map(|p| (p.height, p.width, p.channels));
    Ok((rows::full(py, &made.table)?, about.names, labels, picture))
}

/// The program, with these arguments; its exit code.
#[pyfunction]
fn run_program(py: Python<'_>, arguments: Vec<String>) -> u8 {
    let code = py.detach(|| mereo_cli::run_program(arguments.into_iter().map(Into::into)));
    // What the system is told is nothing but one of these.
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}

/// Rows of anything that speaks Arrow, through its C data interface: cells, names, labels (their names and each row's, -1 for none),
/// weights. Columns are read where they are, and laid out in rows.
#[pyfunction]
fn arrow_rows(
    py: Python<'_>,
    table: AnyRecordBatch,
    label: Option<String>,
    weight: Option<String>,
) -> PyResult<(
    Bound<'_, PyAny>,
    Option<Vec<String>>,
    Option<(Vec<String>, Vec<i32>)>,
    Option<Vec<f64>>,
)> {
    let options = mereo::data::ReadOptions { label, weight, ..Default::default() };
    let reader = table.into_reader()?;
    let table = py.detach(|| {
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>();
        let batches = batches.map_err(|e| Error::found(Place::default(), e, "Arrow's columns"))?;
        mereo::data::read_batches(&schema, &batches, &options)
    });
    let table = table.map_err(raised)?;
    let (cells, about) = mereo::with_table!(table, table => {
        let (cells, about) = table.into_parts();
        (rows::cells(py, cells)?, about)
    });
    let labels = about.labels.map(|labels| {
        let of_row = labels.of_row.iter().map(|l| l.map_or(-1, u32::cast_signed)).collect();
        (labels.names, of_row)
    });
    Ok((cells, about.names, labels, about.weights))
}

/// mereo's native half.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_function(wrap_pyfunction!(registration, module)?)?;
    module.add_function(wrap_pyfunction!(toy, module)?)?;
    module.add_function(wrap_pyfunction!(run_program, module)?)?;
    module.add_function(wrap_pyfunction!(arrow_rows, module)?)?;
    module.add_function(wrap_pyfunction!(fit::fit, module)?)?;
    module.add_function(wrap_pyfunction!(fit::partial_fit, module)?)?;
    module.add_function(wrap_pyfunction!(remote::fit_elsewhere, module)?)?;
    module.add_function(wrap_pyfunction!(remote::answer, module)?)?;
    module.add_function(wrap_pyfunction!(remote::merge, module)?)?;
    module.add_function(wrap_pyfunction!(remote::rows_of, module)?)?;
    module.add_class::<maps::Map>()?;
    module.add_function(wrap_pyfunction!(maps::map_rows, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::denoise, module)?)?;
    module.add_function(wrap_pyfunction!(pictures::segment, module)?)?;
    module.add_class::<pictures::Colours>()?;
    module.add_function(wrap_pyfunction!(ratings::ratings_scale, module)?)?;
    module.add_function(wrap_pyfunction!(ratings::ratings_columns, module)?)?;
    module.add_function(wrap_pyfunction!(ratings::ratings_items, module)?)?;
    module.add_function(wrap_pyfunction!(ratings::ratings_predict, module)?)?;
    module.add_function(wrap_pyfunction!(ratings::ratings_recommend, module)?)?;
    module.add_function(wrap_pyfunction!(ratings::ratings_ask, module)?)?;
    Ok(())
}

/// Values as an array of this shape, without copying them.
pub(crate) fn array<'py, T: numpy::Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let flat = numpy::PyArray1::from_vec(py, values);
    Ok(flat.reshape(numpy::IxDyn(shape))?.into_any())
}
