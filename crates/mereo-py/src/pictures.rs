//! Pictures cleaned and cut.

use std::path::{Path, PathBuf};

use mereo::ModelFile;
use mereo::data::Pixels;
use mereo::denoise::{clean, learn_coupling, levels};
use mereo::field::denoise::{DenoiseMethod, DenoiseParams};
use mereo::segment::{Colours as Told, Example, SegmentParams, learn, segment as cut};
use numpy::{PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::interrupt::watched;
use crate::model::context;
use crate::{array, raised};

/// A picture `[height, width, 1 or 3]`.
fn pixels(picture: &PyReadonlyArray3<'_, u8>) -> PyResult<Pixels> {
    let shape = picture.shape();
    let bytes = picture.as_slice()?.to_vec();
    Ok(Pixels { height: shape[0], width: shape[1], channels: shape[2], bytes })
}

/// A picture cleaned: pixels, coupling and noise of each channel, energy, how far it is the best, and of two levels how probable
/// the brighter one is. Options are those of the library, as JSON; clean pictures, if there are any, say the coupling.
#[pyfunction]
pub(crate) fn denoise<'py>(
    py: Python<'py>,
    picture: PyReadonlyArray3<'py, u8>,
    told_levels: Option<usize>,
    method: Option<&str>,
    options: &str,
    clean_ones: Vec<PyReadonlyArray3<'py, u8>>,
    seed: u64,
    threads: usize,
) -> PyResult<(Bound<'py, PyAny>, Vec<f64>, Vec<f64>, f64, String, Option<Bound<'py, PyAny>>)> {
    let given = pixels(&picture)?;
    let levels = levels(&given, told_levels).map_err(raised)?;
    let mut params: DenoiseParams = overlaid(&DenoiseParams::default(), options)?;
    params.method = match method {
        Some(name) => name.parse().map_err(raised)?,
        None => DenoiseMethod::usual(levels, params.shape),
    };
    let clean_ones = clean_ones.iter().map(pixels).collect::<PyResult<Vec<_>>>()?;
    let context = context(seed, threads)?;
    let (cleaned, signal) = watched(py, context.stop(), || {
        context.install(|| {
            if !clean_ones.is_empty() {
                params.coupling = Some(learn_coupling(&clean_ones, levels, params.shape)?);
            }
            clean(&given, levels, &params, &context)
        })
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    let cleaned = cleaned.map_err(raised)?;
    let first = &cleaned.channels[0];
    let (height, width) = (given.height, given.width);
    let probability = match &first.probability {
        None => None,
        Some(probability) => Some(array(py, probability.clone(), &[height, width])?),
    };
    let shape = [height, width, cleaned.picture.channels];
    Ok((
        array(py, cleaned.picture.bytes, &shape)?,
        cleaned.channels.iter().map(|c| c.coupling).collect(),
        cleaned.channels.iter().map(|c| c.noise).collect(),
        cleaned.channels.iter().map(|c| c.energy).sum(),
        first.kind.to_string(),
        probability,
    ))
}

/// A picture cut into the labels of its marks: labels, energy, how far they are the best, and if asked how probable each label is.
/// Options are those of the library, as JSON; what is not among them has its default.
#[pyfunction]
pub(crate) fn segment<'py>(
    py: Python<'py>,
    picture: PyReadonlyArray3<'py, u8>,
    marks: Option<PyReadonlyArray1<'py, u8>>,
    colours: Option<PyRef<'py, Colours>>,
    options: &str,
    probability: bool,
    seed: u64,
    threads: usize,
) -> PyResult<(Bound<'py, PyAny>, f64, String, Vec<u8>, Option<Bound<'py, PyAny>>)> {
    let given = pixels(&picture)?;
    let marks = marks.as_ref().map(|marks| marks.as_slice()).transpose()?;
    let colours = colours.as_ref().map(|colours| &colours.0);
    let usual = colours.map_or_else(SegmentParams::default, Told::params);
    let params: SegmentParams = overlaid(&usual, options)?;
    let context = context(seed, threads)?;
    let (made, signal) = watched(py, context.stop(), || {
        context.install(|| cut(&given, marks, colours, &params, probability, &context))
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    let made = made.map_err(raised)?;
    let (height, width) = (given.height, given.width);
    let probability = match made.probability {
        None => None,
        Some(values) => Some(array(py, values, &[height, width, made.values.len()])?),
    };
    let labels = array(py, made.labels, &[height, width])?;
    Ok((labels, made.energy, made.kind.to_string(), made.values, probability))
}

/// What tells labels by themselves: colours, or features around pixels.
#[pyclass(frozen, module = "mereo._native")]
pub(crate) struct Colours(Told);

#[pymethods]
impl Colours {
    /// Learns from a picture cut into labels.
    #[staticmethod]
    fn of_picture(
        py: Python<'_>,
        picture: PyReadonlyArray3<'_, u8>,
        labels: PyReadonlyArray1<'_, u8>,
        options: &str,
        seed: u64,
        threads: usize,
    ) -> PyResult<Self> {
        let (given, labels) = (pixels(&picture)?, labels.as_slice()?);
        let params: SegmentParams = overlaid(&SegmentParams::default(), options)?;
        let context = context(seed, threads)?;
        let learned =
            py.detach(|| context.install(|| Told::of_picture(&given, labels, &params, &context)));
        learned.map(Self).map_err(raised)
    }

    /// Learns from pictures with label pictures; labels that are to be ignored do not count.
    #[staticmethod]
    fn of_examples(
        py: Python<'_>,
        pictures: Vec<(PyReadonlyArray3<'_, u8>, PyReadonlyArray1<'_, u8>)>,
        ignore: Option<u8>,
        seed: u64,
        threads: usize,
    ) -> PyResult<Self> {
        let example = |(picture, labels): &(PyReadonlyArray3<'_, u8>, PyReadonlyArray1<'_, u8>)| {
            Example::new(pixels(picture)?, labels.as_slice()?, ignore).map_err(raised)
        };
        let examples = pictures.iter().map(example).collect::<PyResult<Vec<_>>>()?;
        let context = context(seed, threads)?;
        let (learned, signal) =
            watched(py, context.stop(), || context.install(|| learn(&examples, &context)));
        match signal {
            Some(signal) => Err(signal),
            None => learned.map(Self).map_err(raised),
        }
    }

    /// Opens a model file.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        let file = ModelFile::read(&path).map_err(raised)?;
        Told::from_file(file, &path).map(Self).map_err(raised)
    }

    /// Takes them from the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let path = Path::new("colours");
        let file = ModelFile::from_bytes(bytes, path).map_err(raised)?;
        Told::from_file(file, path).map(Self).map_err(raised)
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.0.with_params(&self.0.params());
        Ok(PyBytes::new(py, &file.to_bytes().map_err(raised)?))
    }

    /// Writes the model file, whole or not at all.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.0.with_params(&self.0.params()).write(&path).map_err(raised)
    }

    /// The labels that are told apart.
    #[getter]
    fn values(&self) -> Vec<u8> {
        self.0.values().to_vec()
    }

    /// How strongly neighbours that look alike are coupled, if it was learned.
    #[getter]
    fn strength(&self) -> Option<f64> {
        self.0.strength()
    }
}

/// Choices with some of them replaced, as JSON names them.
pub(crate) fn overlaid<P>(defaults: &P, options: &str) -> PyResult<P>
where
    P: serde::Serialize + serde::de::DeserializeOwned,
{
    let wrong = |e: serde_json::Error| PyValueError::new_err(e.to_string());
    let mut whole = serde_json::to_value(defaults).map_err(wrong)?;
    let chosen: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(options).map_err(wrong)?;
    for (name, value) in chosen {
        match whole.get_mut(&name) {
            Some(place) => *place = value,
            None => return Err(PyValueError::new_err(format!("there is no option {name:?}"))),
        }
    }
    serde_json::from_value(whole).map_err(wrong)
}
