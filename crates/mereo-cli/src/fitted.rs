//! A learned model with all that its file says about it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use mereo::AnyModel;
use mereo_core::{
    About, Absent, Batch, Context, Error, Lane, Manifest, ModelFile, Real, Result, Source, Table,
};
use mereo_data::steps::Steps;

use crate::align::align;
use crate::args::Reading;
use crate::data::{self, Data, Held};
use crate::output::Voice;

/// A learned model, and the steps that data goes through before it.
pub(crate) struct Fitted {
    pub(crate) path: PathBuf,
    pub(crate) model: AnyModel,
    pub(crate) manifest: Manifest,
    pub(crate) steps: Option<Steps>,
}

impl Fitted {
    /// Opens a model file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::from_file(ModelFile::read(path)?, path)
    }

    /// Takes a model out of a file that was read.
    pub(crate) fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        let (model, manifest) = AnyModel::from_file(file, path)?;
        let bad = |e: &dyn std::fmt::Display| {
            Error::model_file(path, format!("its steps are broken: {e}"))
        };
        let steps = match &manifest.steps {
            serde_json::Value::Null => None,
            stored => {
                let steps: Steps = serde_json::from_value(stored.clone()).map_err(|e| bad(&e))?;
                steps.check(model.columns()).map_err(|e| bad(&e))?;
                Some(steps).filter(|steps| !steps.is_empty())
            }
        };
        Ok(Self { path: path.to_path_buf(), model, manifest, steps })
    }

    /// Writes the model file, whole or not at all.
    pub(crate) fn save(&self) -> Result<()> {
        self.model.save(self.manifest.clone(), &self.path)
    }

    /// Opens DATA for this model: its columns in the model's order.
    pub(crate) fn open_data(
        &self,
        data: &Path,
        reading: &Reading,
        context: &Context,
        voice: Voice,
    ) -> Result<Data> {
        Ok(match data::open(data, reading, context, voice)? {
            Data::F32(held) => Data::F32(self.align(held, data)?),
            Data::F64(held) => Data::F64(self.align(held, data)?),
        })
    }

    fn align<T: Real>(&self, held: Held<T>, data: &Path) -> Result<Held<T>> {
        let names = self.manifest.columns.as_deref();
        Ok(Held::Stream(align(held.into_source(), self.model.columns(), names, data)?))
    }

    /// The rows as the model wants to see them: after its steps.
    pub(crate) fn prepared<'a, T: Real>(
        &'a self,
        raw: &'a dyn Source<T>,
    ) -> Result<Box<dyn Source<T> + 'a>> {
        let lent = Box::new(Borrowed(raw));
        Ok(match &self.steps {
            None => lent,
            Some(steps) => Box::new(steps.source(lent)?),
        })
    }

    /// Brings rows that the model made up back to the data's units.
    pub(crate) fn undo(&self, rows: &mut [f64]) -> Result<()> {
        self.steps.as_ref().map_or(Ok(()), |steps| steps.undo(rows, None))
    }

    /// Names the columns of rows that the model made, and says that they are pictures if so.
    pub(crate) fn dress<T: Real>(&self, rows: Table<T>, data: Option<&About>) -> Result<Table<T>> {
        let names = self.manifest.columns.clone().or_else(|| data.and_then(|a| a.names.clone()));
        let picture = self.manifest.picture.or_else(|| data.and_then(|a| a.picture));
        rows.with_about(About { names, picture, ..About::default() })
    }

    /// Names of the classes: those of the labels, or their numbers.
    pub(crate) fn class_names(&self) -> Vec<String> {
        let classes = self.model.classes().map_or(0, |classes| classes.prior.len());
        let named = self.manifest.classes.clone().filter(|names| names.len() == classes);
        named.unwrap_or_else(|| (0..classes).map(|n| n.to_string()).collect())
    }

    /// The error for what this kind of model cannot do.
    pub(crate) fn incapable(&self, verb: &str) -> Error {
        Error::Incapable { model: self.model.kind().to_owned(), verb: verb.to_owned() }
    }
}

/// A source that is lent to somebody who wants to own one.
struct Borrowed<'a, T>(&'a dyn Source<T>);

impl<T: Real> Source<T> for Borrowed<'_, T> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn columns(&self) -> usize {
        self.0.columns()
    }

    fn batch_rows(&self) -> usize {
        self.0.batch_rows()
    }

    fn batches(&self) -> usize {
        self.0.batches()
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        self.0.lane(batches)
    }

    fn about(&self) -> &About {
        self.0.about()
    }

    fn absent(&self) -> Option<Absent> {
        self.0.absent()
    }
}

/// Goes over all batches of a source in order.
pub(crate) fn for_each_batch<T: Real>(
    source: &dyn Source<T>,
    mut visit: impl FnMut(&Batch<'_, T>) -> Result<()>,
) -> Result<()> {
    let mut lane = source.lane(0..source.batches())?;
    while let Some(batch) = lane.next_batch()? {
        visit(&batch)?;
    }
    Ok(())
}
