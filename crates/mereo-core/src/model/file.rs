//! Model files: named tensors and a manifest in one `safetensors` file. See `docs/model-file.md`.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use crate::math::{cholesky, packed};
use crate::{
    Absent, ColumnKind, Error, Format, Picture, RatingsSeen, Result, Training, write_atomically,
};

/// The version of the format that this program writes, and the newest that it reads.
const FORMAT: u32 = 1;
/// The metadata entry that holds the manifest.
const ENTRY: &str = "mereo";

/// Bytes of a header that stand for themselves, and those that each stored byte allows beyond: names and
/// steps of columns that have numbers. To read a header takes far longer than to read what is stored, so
/// that one that is nothing but header is not read.
const HEADER: u64 = 16 << 20;
const HEADER_FOR_BYTE: u64 = 64;

/// Numbers with a shape, last index fastest.
///
/// ```
/// use mereo_core::Tensor;
/// let tensor = Tensor::new(vec![2, 1], vec![1.0, 2.0]);
/// assert_eq!(tensor.shape, [2, 1]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its extent along each index.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub values: Vec<f64>,
}

impl Tensor {
    /// A tensor of this shape.
    pub fn new(shape: Vec<usize>, values: Vec<f64>) -> Self {
        Self { shape, values }
    }
}

/// A size of a model that was tried, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeTried {
    /// Number of parts.
    pub parts: usize,
    /// Number of states of each.
    pub states: usize,
    /// Bits that it takes to tell the model.
    pub model_bits: f64,
    /// Bits that it takes to tell the model and the rows by means of it.
    pub description_length: f64,
    /// Mean log density of a hidden cell, in nats.
    pub held_out: f64,
    /// Parts that hold half a column or more.
    pub parts_in_use: usize,
    /// The most states that any part shows in half a row or more.
    pub states_in_use: usize,
    /// Whether this size was chosen.
    pub chosen: bool,
}

/// Columns as the data has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnColumns {
    /// Their names.
    pub columns: Vec<String>,
    /// What each of them holds.
    pub kinds: Vec<ColumnKind>,
}

/// What an average is made of: models of one kind, whose tensors are called `member0.NAME`, `member1.NAME` and so on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// The kind of model that members are.
    pub model: String,
    /// How many there are.
    pub count: usize,
}

/// What a model file says about itself. Only `format` and `model` are required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// The kind of model.
    pub model: String,
    /// What it is an average of, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Members>,
    /// What the user chose.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub params: serde_json::Value,
    /// Names of the columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// What the cells of each column are, if not numbers throughout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<ColumnKind>>,
    /// The data's own columns, if words among them were unfolded into columns of 0 and 1, which are then what
    /// `columns` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfolded: Option<OwnColumns>,
    /// How the data wrote the cells of each column, and between which values they lay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formats: Option<Vec<Format>>,
    /// What the data called the column of the rows' names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the data called the column of labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Names of columns of the data that the model was not learned from: words, where it takes numbers only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Names of the classes, if the model has some with names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<String>>,
    /// The picture that each row is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
    /// What a cell that is not stored meant in the data, if that was sparse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<Absent>,
    /// What the data itself calls each column, where `columns` are titles: the ids of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<String>>,
    /// The scale of ratings and how well known each item is, if the data was ratings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratings: Option<RatingsSeen>,
    /// Preprocessing that the data went through, to be applied to new data and undone on the
    /// way out.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub steps: serde_json::Value,
    /// The sizes that were tried before this one was chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeTried>,
    /// How the model came to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// Columns in which no row had a value: nothing is known of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unobserved: Vec<usize>,
    /// A hash of the data it was learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl Manifest {
    /// A manifest that says only which kind of model this is.
    ///
    /// ```
    /// assert_eq!(mereo_core::Manifest::new("mcvq").format, 1);
    /// ```
    pub fn new(model: &str) -> Self {
        Self {
            format: FORMAT,
            model: model.to_owned(),
            members: None,
            params: serde_json::Value::Null,
            columns: None,
            kinds: None,
            unfolded: None,
            formats: None,
            id: None,
            label: None,
            left_out: Vec::new(),
            classes: None,
            picture: None,
            absent: None,
            keys: None,
            ratings: None,
            steps: serde_json::Value::Null,
            sizes: Vec::new(),
            training: None,
            unobserved: Vec::new(),
            fingerprint: None,
        }
    }
}

/// A model file in memory.
///
/// ```
/// use mereo_core::{Manifest, ModelFile, Tensor};
/// let mut file = ModelFile::new(Manifest::new("vq"));
/// file.insert("mean", Tensor::new(vec![1, 2], vec![0.5, 0.25]));
/// let bytes = file.to_bytes()?;
/// assert_eq!(ModelFile::from_bytes(&bytes, "a model".as_ref())?, file);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFile {
    /// What it says about itself.
    pub manifest: Manifest,
    tensors: BTreeMap<String, Tensor>,
}

impl ModelFile {
    /// A file without tensors.
    pub fn new(manifest: Manifest) -> Self {
        Self { manifest, tensors: BTreeMap::new() }
    }

    /// Adds a tensor.
    pub fn insert(&mut self, name: &str, tensor: Tensor) {
        self.tensors.insert(name.to_owned(), tensor);
    }

    /// A tensor by name, with any shape.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// The tensors by name.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// All tensors by name, given away.
    pub fn into_tensors(self) -> BTreeMap<String, Tensor> {
        self.tensors
    }

    /// Takes a tensor that must be there and have this many indices, all numbers finite.
    pub fn take(&mut self, name: &str, indices: usize, path: &Path) -> Result<Tensor> {
        let tensor = self
            .tensors
            .remove(name)
            .ok_or_else(|| Error::model_file(path, format!("the tensor `{name}` is missing")))?;
        if tensor.shape.len() != indices || tensor.shape.contains(&0) {
            return Err(Error::model_file(
                path,
                format!(
                    "the tensor `{name}` has shape {:?}, expected {indices} indices of at least 1",
                    tensor.shape
                ),
            ));
        }
        if let Some(at) = tensor.values.iter().position(|v| !v.is_finite()) {
            return Err(Error::model_file(
                path,
                format!(
                    "the tensor `{name}` holds {} at position {at}, expected finite numbers",
                    tensor.values[at]
                ),
            ));
        }
        Ok(tensor)
    }

    /// Takes a tensor that must be there and have exactly this shape, all numbers finite.
    pub fn take_shaped(&mut self, name: &str, shape: &[usize], path: &Path) -> Result<Vec<f64>> {
        let tensor = self.take(name, shape.len(), path)?;
        if tensor.shape == shape {
            return Ok(tensor.values);
        }
        let problem =
            format!("the tensor `{name}` has shape {:?}, expected {shape:?}", tensor.shape);
        Err(Error::model_file(path, problem))
    }

    /// As [`take_shaped`](Self::take_shaped), every number a mean that data can have.
    pub fn take_means(&mut self, name: &str, shape: &[usize], path: &Path) -> Result<Vec<f64>> {
        let values = self.take_shaped(name, shape, path)?;
        refuse(name, &values, |v| v.abs() <= 1e150, "a magnitude of at most 1e150", path)?;
        Ok(values)
    }

    /// As [`take_shaped`](Self::take_shaped), every number a variance.
    pub fn take_variances(&mut self, name: &str, shape: &[usize], path: &Path) -> Result<Vec<f64>> {
        let values = self.take_shaped(name, shape, path)?;
        let proper = |v: f64| (1e-300..=1e300).contains(&v);
        refuse(name, &values, proper, "a variance from 1e-300 to 1e300", path)?;
        Ok(values)
    }

    /// Covariances of `size` numbers each, the lower triangle row by row along the last index. Ones that are not of full rank will do.
    pub fn take_covariances(
        &mut self,
        name: &str,
        shape: &[usize],
        size: usize,
        path: &Path,
    ) -> Result<Vec<f64>> {
        let small = packed(size);
        let whole: Vec<usize> = shape.iter().copied().chain([small]).collect();
        let values = self.take_means(name, &whole, path)?;
        for (index, own) in values.chunks_exact(small.max(1)).enumerate() {
            let mut factor = own.to_vec();
            let most = (0..size).map(|i| own[packed(i) + i]).fold(0.0, f64::max);
            (0..size).for_each(|i| factor[packed(i) + i] += 1e-9 * most + f64::MIN_POSITIVE);
            if cholesky(&mut factor, size).is_none() {
                let problem = format!("row {index} of `{name}` is not the covariance of anything");
                return Err(Error::model_file(path, problem));
            }
        }
        Ok(values)
    }

    /// As [`take_shaped`](Self::take_shaped), the numbers along the last index a distribution. One
    /// that adds up to almost 1 is made to add up to 1.
    pub fn take_distributions(
        &mut self,
        name: &str,
        shape: &[usize],
        path: &Path,
    ) -> Result<Vec<f64>> {
        let mut values = self.take_shaped(name, shape, path)?;
        refuse(name, &values, |v| v >= 0.0, "at least 0", path)?;
        let width = shape.last().copied().unwrap_or(1).max(1);
        for (index, row) in values.chunks_mut(width).enumerate() {
            let sum: f64 = row.iter().sum();
            if !((sum - 1.0).abs() < 1e-3) {
                return Err(Error::model_file(
                    path,
                    format!("row {index} of `{name}` is no distribution: it adds up to {sum}"),
                ));
            }
            // What was written by us comes back as it was.
            if (sum - 1.0).abs() > 1e-9 {
                for p in row {
                    *p /= sum;
                }
            }
        }
        Ok(values)
    }

    /// The file as bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let manifest =
            serde_json::to_string(&self.manifest).map_err(|e| Error::model_file("the model", e))?;
        let raw: Vec<(&str, &[usize], Vec<u8>)> = self
            .tensors
            .iter()
            .map(|(name, t)| {
                let bytes = t.values.iter().flat_map(|v| v.to_le_bytes()).collect();
                (name.as_str(), t.shape.as_slice(), bytes)
            })
            .collect();
        let views = raw
            .iter()
            .map(|(name, shape, bytes)| {
                Ok((*name, TensorView::new(Dtype::F64, shape.to_vec(), bytes)?))
            })
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
            .map_err(|e| Error::model_file("the model", e))?;
        let metadata = HashMap::from([(ENTRY.to_owned(), manifest)]);
        let bytes = safetensors::serialize(views, Some(metadata))
            .map_err(|e| Error::model_file("the model", e))?;
        // What would not be read is not written.
        check_header(&bytes).map_err(|problem| Error::model_file("the model", problem))?;
        Ok(bytes)
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes()?;
        write_atomically(path, |out| out.write_all(&bytes))
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let mut file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
        let mut bytes = Vec::new();
        file.by_ref().take(8).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
        // What is no model file may never end, as devices do not.
        if header_length(&bytes).is_some() {
            file.read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
        }
        Self::from_bytes(&bytes, path)
    }

    /// Reads a file from its bytes; `path` is what errors call it.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let bad = |problem: String| Error::model_file(path, problem);
        check_header(bytes).map_err(bad)?;
        let (length, header) = SafeTensors::read_metadata(bytes)
            .map_err(|e| bad(format!("it is no safetensors file ({e})")))?;
        let text = header.metadata().as_ref().and_then(|m| m.get(ENTRY)).ok_or_else(|| {
            bad(format!("its metadata has no entry `{ENTRY}`: it was not written by or for mereo"))
        })?;
        let manifest: Manifest =
            serde_json::from_str(text).map_err(|e| bad(format!("its manifest is broken: {e}")))?;
        if manifest.format == 0 || manifest.format > FORMAT {
            return Err(bad(format!(
                "its format is {}, and this program reads up to {FORMAT}; a newer mereo may read it",
                manifest.format
            )));
        }
        let stored = &bytes[8 + length..];
        let mut tensors = BTreeMap::new();
        for (name, about) in header.tensors() {
            // That these are within the file was made sure of when the header was read.
            let data = stored.get(about.data_offsets.0..about.data_offsets.1).unwrap_or_default();
            let values = widen(about.dtype, data).ok_or_else(|| {
                let found = about.dtype;
                bad(format!("the tensor `{name}` is of type {found:?}, expected F32 or F64"))
            })?;
            tensors.insert(name, Tensor::new(about.shape.clone(), values));
        }
        Ok(Self { manifest, tensors })
    }
}

/// How long a file's header says that it is; none if that cannot be.
fn header_length(bytes: &[u8]) -> Option<u64> {
    /// More is never read.
    const MOST: u64 = 100_000_000;
    let length = u64::from_le_bytes(*bytes.first_chunk()?);
    (2..=MOST).contains(&length).then_some(length)
}

/// Says what is wrong with the length of a header.
fn check_header(bytes: &[u8]) -> std::result::Result<(), String> {
    let Some(length) = header_length(bytes) else {
        return Err(
            "it is no safetensors file (it does not begin with the length of a header)".into()
        );
    };
    let stored = (bytes.len() as u64).saturating_sub(8 + length);
    if length > HEADER + HEADER_FOR_BYTE * stored {
        return Err(format!(
            "its header takes {length} bytes and its tensors {stored}; a header may take {HEADER}, and \
             {HEADER_FOR_BYTE} for each byte of tensors"
        ));
    }
    Ok(())
}

/// Names the first number that is not as it should be.
fn refuse(
    name: &str,
    values: &[f64],
    proper: impl Fn(f64) -> bool,
    expected: &str,
    path: &Path,
) -> Result<()> {
    match values.iter().position(|&v| !proper(v)) {
        None => Ok(()),
        Some(at) => Err(Error::model_file(
            path,
            format!("`{name}` holds {} at position {at}, expected {expected}", values[at]),
        )),
    }
}

/// Numbers of either width as `f64`. Bytes need not be aligned.
fn widen(dtype: Dtype, data: &[u8]) -> Option<Vec<f64>> {
    match dtype {
        Dtype::F64 => {
            Some(data.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
        }
        Dtype::F32 => Some(
            data.as_chunks::<4>().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, stored: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), stored].concat()
    }

    #[test]
    fn a_file_that_is_nothing_but_header_is_refused_at_once() {
        let tensor = |i: usize| {
            format!("\"t{i}\":{{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]}}")
        };
        let all: Vec<String> = (0..400_000).map(tensor).collect();
        let bytes = file(&format!("{{{}}}", all.join(",")), &[]);
        assert!(bytes.len() as u64 > HEADER);
        let began = std::time::Instant::now();
        let error = ModelFile::from_bytes(&bytes, "big".as_ref()).unwrap_err().to_string();
        assert!(error.contains("its header takes") && error.contains("its tensors 0"), "{error}");
        assert!(began.elapsed().as_millis() < 200, "{:?}", began.elapsed());
    }

    #[test]
    fn what_would_not_be_read_is_not_written() {
        let mut manifest = Manifest::new("vq");
        manifest.columns = Some(vec!["n".repeat(20 << 20)]);
        let error = ModelFile::new(manifest).to_bytes().unwrap_err().to_string();
        assert!(error.contains("its header takes"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_without_end_is_no_model() {
        for device in ["/dev/zero", "/dev/null"] {
            let error = ModelFile::read(device.as_ref()).unwrap_err().to_string();
            assert!(error.contains("no safetensors file"), "{error}");
        }
    }
}
