//! A learned model with all that its file says about it: what rows go through before the model
//! sees them, what their columns are called, and everything that can be asked about rows.

mod classify;
mod decode;
mod encode;
mod explain;
mod predict_cells;
mod reconstruct;
mod sample;
mod score;
mod similar;
mod states;
mod surprise;

use std::ops::Range;
use std::path::{Path, PathBuf};

use mereo_core::{
    About, Absent, Batch, ColumnKind, Error, Lane, Manifest, ModelFile, Real, Remote, Result,
    Source, Table, Training,
};
use mereo_data::steps::Steps;

pub use classify::{Classified, Confusion};
pub use explain::{Explained, Shown};
pub(crate) use reconstruct::nearest;
pub use similar::Alike;

use crate::AnyModel;
use crate::align::{Alignment, align_kinds};
use crate::align_sparse::Items;
use crate::data_of::Held;
use crate::tables::Unfold;

/// A learned model, the steps that rows go through before it, and what its file says of it.
///
/// Every question takes rows as they are: columns are brought into the model's order by their
/// names, steps are applied on the way in and undone on the way out.
///
/// ```
/// use mereo::{Context, Fit, Fitted};
/// use mereo::{Dense, Table};
/// use mereo::linear::FaParams;
/// let cells = (0..60).map(|i| f64::from(i % 20) + f64::from(i % 3)).collect();
/// let table = Table::from(Dense::new(20, 3, cells)?);
/// let fitted = Fit::new(FaParams::new(1)).run(&table)?;
/// // Fill a hole, save, open, and get the same again.
/// let holes = Table::from(Dense::new(1, 3, vec![3.0, f64::NAN, 5.0])?);
/// let filled = fitted.reconstruct(&holes, true, &Context::new(0))?;
/// assert_eq!((filled.row(0)[0], filled.row(0)[2]), (3.0, 5.0));
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("fa.safetensors");
/// fitted.save(&path)?;
/// let again = Fitted::open(&path)?;
/// assert_eq!(again.reconstruct(&holes, true, &Context::new(0))?, filled);
/// # Ok::<(), mereo::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The file that it was read from, if it was.
    pub path: PathBuf,
    /// The model.
    pub model: AnyModel,
    /// What its file says of it.
    pub manifest: Manifest,
    /// What rows go through before it.
    pub steps: Option<Steps>,
}

impl Fitted {
    /// Opens a model file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::from_file(ModelFile::read(path)?, path)
    }

    /// Takes a model out of a file that was read; `path` is what errors call it.
    pub fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
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
        if let Some(own) = &manifest.unfolded
            && (own.columns.len() != own.kinds.len()
                || Unfold::of(&own.kinds).width() != model.columns())
        {
            return Err(Error::model_file(path, "its words were unfolded into other columns"));
        }
        Ok(Self { path: path.to_path_buf(), model, manifest, steps })
    }

    /// Writes the model file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.model.save(self.manifest.clone(), path)
    }

    /// How the model came to be, if its file says.
    pub fn training(&self) -> Option<&Training> {
        self.manifest.training.as_ref()
    }

    /// What the model calls its columns: their names, and the ids that the data had for them.
    pub(crate) fn items(&self) -> Items<'_> {
        Items {
            columns: self.model.columns(),
            names: self.manifest.columns.as_deref(),
            keys: self.manifest.keys.as_deref(),
        }
    }

    /// The columns of a sparse table that the model never saw: they will be left out.
    pub fn unknown_columns(&self, about: &About) -> Vec<String> {
        if self.manifest.absent.is_some() { self.items().unknown(about) } else { Vec::new() }
    }

    /// Rows that are given away, with the model's columns in its order. Of a sparse table, columns that
    /// the model never saw are left out, and those that the table lacks are absent.
    pub fn align<'a, T: Real>(&self, held: Held<'a, T>) -> Result<Held<'a, T>> {
        if self.manifest.absent.is_some() && held.source().absent().is_some() {
            return Ok(Held::Stream(self.items().align(held.into_source())?));
        }
        let (columns, names, kinds) = self.own_columns();
        Ok(Held::Stream(align_kinds(held.into_source(), columns, names, kinds)?))
    }

    /// The same rows with the model's columns in its order.
    pub fn aligned<'a, T: Real>(&self, raw: &'a dyn Source<T>) -> Result<Box<dyn Source<T> + 'a>> {
        if self.manifest.absent.is_some() && raw.absent().is_some() {
            return self.items().align(Box::new(Borrowed(raw)));
        }
        let (columns, names, kinds) = self.own_columns();
        align_kinds(Box::new(Borrowed(raw)), columns, names, kinds)
    }

    /// What is worth saying about the columns of rows: those that the model does not know, those that lack,
    /// words that it has not seen.
    pub fn notices(&self, about: &About, columns: usize) -> Result<Vec<String>> {
        let (known, names, kinds) = self.own_columns();
        Alignment::of(about, columns, known, names, kinds).map(|alignment| alignment.notices)
    }

    /// The columns of the rows that it was learned from: how many, their names, what they hold.
    fn own_columns(&self) -> (usize, Option<&[String]>, Option<&[ColumnKind]>) {
        match &self.manifest.unfolded {
            Some(own) => (own.columns.len(), Some(&own.columns), Some(&own.kinds)),
            None => (
                self.model.columns(),
                self.manifest.columns.as_deref(),
                self.manifest.kinds.as_deref(),
            ),
        }
    }

    /// What readers of files should know about the model's columns.
    pub fn expected(&self) -> Option<mereo_data::Expected> {
        let (_, names, kinds) = self.own_columns();
        Some(mereo_data::Expected {
            columns: own_names(names)?.to_vec(),
            kinds: kinds.map(<[ColumnKind]>::to_vec),
            id: self.manifest.id.clone(),
            label: self.manifest.label.clone(),
        })
    }

    /// What the model's columns are called, hold and look like in a file.
    pub fn about(&self) -> About {
        let (_, names, kinds) = self.own_columns();
        About {
            names: names.map(<[String]>::to_vec),
            kinds: kinds.map(<[ColumnKind]>::to_vec),
            formats: self.manifest.formats.clone(),
            picture: self.manifest.picture,
            ..About::default()
        }
    }

    /// If words were unfolded: the model of what they became, and the rows as it sees them.
    pub(crate) fn plainly<'a, T: Real>(
        &self,
        raw: &'a dyn Source<T>,
    ) -> Result<Option<Plain<'a, T>>> {
        let Some(own) = &self.manifest.unfolded else { return Ok(None) };
        let unfold = Unfold::of(&own.kinds);
        let source = unfold.source(self.aligned(raw)?);
        Ok(Some((self.plain(), source)))
    }

    /// The same model without the words that its columns were unfolded from.
    pub(crate) fn plain(&self) -> Self {
        let mut plain = self.clone();
        plain.manifest.unfolded = None;
        plain.manifest.formats = None;
        plain
    }

    /// The rows as the model wants to see them: aligned, and after its steps.
    pub fn prepared<'a, T: Real>(
        &'a self,
        raw: &'a dyn Source<T>,
    ) -> Result<Box<dyn Source<T> + 'a>> {
        let aligned = self.aligned(raw)?;
        Ok(match &self.steps {
            None => aligned,
            Some(steps) => Box::new(steps.source(aligned)?),
        })
    }

    /// Brings rows that the model made up back to the data's units.
    pub fn undo(&self, rows: &mut [f64]) -> Result<()> {
        self.steps.as_ref().map_or(Ok(()), |steps| steps.undo(rows, None))
    }

    /// Names the columns of rows that the model made, and says that they are pictures if so.
    pub fn name_columns<T: Real>(&self, rows: Table<T>, data: Option<&About>) -> Result<Table<T>> {
        let own = self.about();
        let known = own.kinds.is_some() || own.formats.is_some();
        let data =
            data.filter(|about| about.ids.as_ref().is_none_or(|ids| ids.len() == rows.rows()));
        rows.with_about(About {
            names: own.names.or_else(|| data.and_then(|a| a.names.clone())),
            picture: own.picture.or_else(|| data.and_then(|a| a.picture)),
            kinds: own.kinds,
            formats: own.formats.filter(|_| known),
            ids: data.and_then(|a| a.ids.clone()),
            id_name: data.and_then(|a| a.id_name.clone()),
            ..About::default()
        })
    }

    /// Names of the classes: those of the labels, or their numbers.
    pub fn class_names(&self) -> Vec<String> {
        let classes = self.model.classes().map_or(0, |classes| classes.prior.len());
        let named = self.manifest.classes.clone().filter(|names| names.len() == classes);
        named.unwrap_or_else(|| (0..classes).map(|n| n.to_string()).collect())
    }

    /// Makes cells missing, in rows of the model's columns, of which nothing is known.
    fn forget_unobserved<T: Real>(&self, rows: &mut [T]) {
        let width = self.model.columns().max(1);
        for row in rows.chunks_mut(width) {
            for &d in self.manifest.unobserved.iter().filter(|&&d| d < width) {
                row[d] = T::MISSING;
            }
        }
    }

    /// The columns in which no row had a value when the model was learned, by name: nothing is known of them.
    pub fn unobserved(&self) -> Vec<String> {
        let names = self.manifest.columns.as_deref();
        let unobserved = self.manifest.unobserved.iter();
        unobserved.map(|&d| mereo_core::column_name(names, d)).collect()
    }

    /// The error for what this kind of model cannot do.
    pub fn incapable(&self, verb: &str) -> Error {
        Error::Incapable { model: self.model.kind().to_owned(), verb: verb.to_owned() }
    }

    /// What sizes of a model can be compared by, where it counts its parameters and its
    /// likelihood is known.
    pub fn criteria(&self) -> Option<Criteria> {
        let training = self.training()?;
        let parameters = self.model.free_parameters()?;
        let likelihood = training.log_likelihood_or_bound()?;
        let (k, n) = (parameters as f64, training.total_weight().max(1.0));
        let aic = 2.0 * k - 2.0 * likelihood;
        Some(Criteria { parameters, aic, bic: k * n.ln() - 2.0 * likelihood })
    }
}

/// A model of unfolded columns, and rows as it sees them.
type Plain<'a, T> = (Fitted, Box<dyn Source<T> + 'a>);

/// What sizes of a model can be compared by: smaller is better. `2k - 2L` and `k log n - 2L` with `k` free
/// parameters, `L` the log likelihood and `n` the weight of the rows learned from.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Criteria {
    /// Numbers that could be chosen freely.
    pub parameters: usize,
    /// Akaike's criterion.
    pub aic: f64,
    /// The Bayesian one.
    pub bic: f64,
}

/// The names of columns if they say more than their numbers.
///
/// ```
/// assert!(mereo::own_names(Some(&["0".to_owned(), "1".to_owned()])).is_none());
/// ```
pub fn own_names(names: Option<&[String]>) -> Option<&[String]> {
    names.filter(|names| names.iter().enumerate().any(|(i, name)| *name != i.to_string()))
}

/// A source that is lent to somebody who wants to own one.
pub(crate) struct Borrowed<'a, T>(pub(crate) &'a dyn Source<T>);

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

    fn shard_batches(&self) -> usize {
        self.0.shard_batches()
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

    fn remote(&self) -> Option<&dyn Remote> {
        self.0.remote()
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
