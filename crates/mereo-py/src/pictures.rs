//! Pictures cleaned and cut.

use mereo::data::Pixels;
use mereo::denoise::{clean, levels};
use mereo::field::denoise::{DenoiseMethod, DenoiseParams};
use mereo::segment::{SegmentParams, segment as cut};
use numpy::{PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

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
/// the brighter one is.
#[pyfunction]
pub(crate) fn denoise<'py>(
    py: Python<'py>,
    picture: PyReadonlyArray3<'py, u8>,
    told_levels: Option<usize>,
    method: Option<&str>,
    coupling: Option<f64>,
    noise: Option<f64>,
    seed: u64,
    threads: usize,
) -> PyResult<(Bound<'py, PyAny>, Vec<f64>, Vec<f64>, f64, String, Option<Bound<'py, PyAny>>)> {
    let given = pixels(&picture)?;
    let levels = levels(&given, told_levels).map_err(raised)?;
    let defaults = DenoiseParams::default();
    let method = match method {
        Some(name) => name.parse().map_err(raised)?,
        None => DenoiseMethod::usual(levels, defaults.shape),
    };
    let params = DenoiseParams { method, coupling, noise, ..defaults };
    let context = context(seed, threads)?;
    let (cleaned, signal) = watched(py, context.stop(), || {
        context.install(|| clean(&given, levels, &params, &context))
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
    marks: PyReadonlyArray1<'py, u8>,
    options: &str,
    probability: bool,
    seed: u64,
    threads: usize,
) -> PyResult<(Bound<'py, PyAny>, f64, String, Vec<u8>, Option<Bound<'py, PyAny>>)> {
    let given = pixels(&picture)?;
    let marks = marks.as_slice()?.to_vec();
    let params: SegmentParams = overlaid(&SegmentParams::default(), options)?;
    let context = context(seed, threads)?;
    let (made, signal) = watched(py, context.stop(), || {
        context.install(|| cut(&given, Some(&marks), None, &params, probability, &context))
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
