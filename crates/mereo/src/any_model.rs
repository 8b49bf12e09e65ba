//! Any model that mereo knows.

use std::path::Path;

use mereo_core::{
    Encode, Error, Explain, Manifest, ModelFile, Parts, PartsView, Real, Reconstruct, Result,
    Sample, Score,
};
use mereo_parts::Mcvq;

/// A model of any kind, and what it can do. Each question answers with the capability, or with
/// nothing if a model of this kind does not have it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AnyModel {
    /// Multiple cause vector quantisation.
    Mcvq(Mcvq),
}

/// Runs the same expression on the model inside, whatever its kind.
macro_rules! with_model {
    ($any:expr, $model:ident => $body:expr) => {
        match $any {
            AnyModel::Mcvq($model) => $body,
        }
    };
}

impl AnyModel {
    /// Opens a model file.
    pub fn open(path: &Path) -> Result<(Self, Manifest)> {
        Self::from_file(ModelFile::read(path)?, path)
    }

    /// Takes a model out of a file that was read; `path` is what errors call it.
    pub fn from_file(file: ModelFile, path: &Path) -> Result<(Self, Manifest)> {
        let manifest = file.manifest.clone();
        let model = match manifest.model.as_str() {
            Mcvq::KIND => Self::Mcvq(Mcvq::from_file(file, path)?),
            other => {
                return Err(Error::model_file(
                    path,
                    format!("it holds a `{other}` model, which this mereo does not know"),
                ));
            }
        };
        let columns = model.columns();
        if manifest.columns.as_ref().is_some_and(|names| names.len() != columns)
            || manifest.picture.is_some_and(|picture| picture.columns() != Some(columns))
        {
            return Err(Error::model_file(
                path,
                format!("its manifest speaks of other columns than the {columns} of its tensors"),
            ));
        }
        Ok((model, manifest))
    }

    /// Writes a model file, whole or not at all.
    pub fn save(&self, manifest: Manifest, path: &Path) -> Result<()> {
        with_model!(self, model => model.to_file(manifest)).write(path)
    }

    /// The kind of model, as model files say it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mcvq(_) => Mcvq::KIND,
        }
    }

    /// Number of columns of the rows it was learned from.
    pub fn columns(&self) -> usize {
        with_model!(self, model => model.columns())
    }

    /// Rows to codes.
    pub fn encoder<T: Real>(&self) -> Option<&dyn Encode<T>> {
        with_model!(self, model => Some(model))
    }

    /// Rows to rows.
    pub fn reconstructor<T: Real>(&self) -> Option<&dyn Reconstruct<T>> {
        with_model!(self, model => Some(model))
    }

    /// Rows to log densities.
    pub fn scorer<T: Real>(&self) -> Option<&dyn Score<T>> {
        with_model!(self, model => Some(model))
    }

    /// New rows.
    pub fn sampler(&self) -> Option<&dyn Sample> {
        with_model!(self, model => Some(model))
    }

    /// The parts and their states.
    pub fn parts(&self) -> Option<PartsView<'_>> {
        with_model!(self, model => Some(model.parts()))
    }

    /// Which part each cell came from.
    pub fn explainer<T: Real>(&self) -> Option<&dyn Explain<T>> {
        match self {
            Self::Mcvq(model) => Some(model),
        }
    }
}
