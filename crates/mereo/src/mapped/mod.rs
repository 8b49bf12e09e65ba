//! Maps of anything that can be made rows of: what goes before a map (steps, a model's codes, principal
//! components) and the map itself, as one thing that is made, saved, opened, asked and drawn.

mod page;
mod through;

use std::path::Path;

use mereo_core::{
    Context, Error, Fingerprint, Labels, Manifest, ModelFile, Place, Real, Result, Source, Training,
};
use mereo_data::steps::StepKind;
use mereo_map::{Distances, Given, Journey, Map, MapParams, Placer, Similarity, fit};

use self::through::Through;
use crate::fitted::{for_each_batch, own_names};
use crate::{Fitted, Held, align_columns};

/// A map to be made: how, and what rows go through before.
///
/// ```
/// use mereo::map::{Journey, MapParams, Method};
/// use mereo::{Context, MapFit, Mapped, Source};
/// let toy = mereo::data::toy::World::Shapes.make(Some(100), 0)?;
/// let context = Context::new(0);
/// let mut journey = Journey { context: &context, checkpoints: None, watch: &mut |_| () };
/// let how = MapFit::new(MapParams::new(Method::tsne())).components(Some(10));
/// let mapped = how.run(&toy.table, None, &mut journey)?;
/// assert_eq!(mapped.map.points().len(), 200);
/// // It is a file like any other, and new rows go the same way.
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("map.safetensors");
/// mapped.save(&path)?;
/// let again = Mapped::open(&path)?;
/// assert_eq!(again.place(&toy.table, &context)?, mapped.place(&toy.table, &context)?);
/// # Ok::<(), mereo::Error>(())
/// ```
#[derive(Debug)]
pub struct MapFit {
    params: MapParams,
    steps: Vec<StepKind>,
    model: Option<Fitted>,
    components: Option<usize>,
}

impl MapFit {
    /// A map of rows as they are.
    pub fn new(params: MapParams) -> Self {
        Self { params, steps: Vec::new(), model: None, components: None }
    }

    /// Rows go through these steps first, learned from them.
    #[must_use]
    pub fn prepare(mut self, steps: Vec<StepKind>) -> Self {
        self.steps = steps;
        self
    }

    /// What this model makes of rows is mapped: its codes. An error if it makes none.
    pub fn through(mut self, model: Fitted) -> Result<Self> {
        if model.model.encoder::<f64>().is_none() {
            return Err(model.incapable("make codes of rows, and so cannot be mapped"));
        }
        self.model = Some(model);
        Ok(self)
    }

    /// So many principal components of the rows, or of what the model makes of them, are mapped.
    #[must_use]
    pub fn components(mut self, components: Option<usize>) -> Self {
        self.components = components;
        self
    }

    /// Makes the map of rows. Labels, if there are any, are kept, and how well neighbours agree in them is told.
    pub fn run<T: Real>(
        &self,
        raw: &dyn Source<T>,
        labels: Option<&Labels>,
        journey: &mut Journey<'_>,
    ) -> Result<Mapped> {
        if self.model.is_some() && !self.steps.is_empty() {
            return Err(Error::option("prepare", "the model has steps of its own"));
        }
        self.params.check()?;
        let context = journey.context;
        let mut manifest = described(raw, context)?;
        let mut through = Through::new(self.model.as_ref());
        let rows = through.learn(raw, &self.steps, self.components, context)?;
        let (map, training) = fit(&self.params, &Given::Rows(&rows), labels, journey)?;
        let map = match &raw.about().ids {
            None => map,
            Some(names) => map.with_names(names.clone())?,
        };
        manifest.training = Some(training);
        Ok(Mapped { map, manifest, through })
    }

    /// Makes the map of a square matrix of distances, or of similarities that a rule turns into distances.
    pub fn run_matrix<T: Real>(
        &self,
        matrix: &dyn Source<T>,
        similarities: Option<Similarity>,
        journey: &mut Journey<'_>,
    ) -> Result<Mapped> {
        let (count, columns) = (matrix.rows(), matrix.columns());
        if count != columns || matrix.absent().is_some() {
            return Err(Error::found(
                Place::default(),
                format!("{count} rows of {columns} columns"),
                "a square matrix that is not sparse: as many columns as rows, beside at most one column of names",
            ));
        }
        let values = cells(matrix)?;
        let mut distances = match similarities {
            None => Distances::new(count, values)?,
            Some(rule) => Distances::from_similarities(count, values, rule)?,
        };
        if let Some(weights) = &matrix.about().weights {
            distances = distances.with_weights(weights.clone())?;
        }
        self.run_distances(&distances, Some(matrix), journey)
    }

    /// Makes the map of things of which distances alone are known. `table` is the matrix as it was read, for
    /// the map's file to know it by.
    pub fn run_distances<T: Real>(
        &self,
        distances: &Distances,
        table: Option<&dyn Source<T>>,
        journey: &mut Journey<'_>,
    ) -> Result<Mapped> {
        if self.model.is_some() || !self.steps.is_empty() || self.components.is_some() {
            return Err(Error::option("distances", "there are no rows for a model or for steps"));
        }
        let mut manifest = match table {
            None => Manifest::new(Map::KIND),
            Some(table) => described(table, journey.context)?,
        };
        manifest.columns = None;
        let (map, training) = fit(&self.params, &Given::Distances(distances), None, journey)?;
        manifest.training = Some(training);
        Ok(Mapped { map, manifest, through: Through::default() })
    }
}

/// A finished map, what rows go through before it, and what its file says of it.
#[derive(Debug)]
pub struct Mapped {
    /// The map.
    pub map: Map,
    /// What its file says of it.
    pub manifest: Manifest,
    through: Through,
}

impl Mapped {
    /// Opens the file of a map.
    pub fn open(path: &Path) -> Result<Self> {
        Self::from_file(ModelFile::read(path)?, path)
    }

    /// Whether a model file holds a map.
    ///
    /// ```
    /// use mereo::{Manifest, Mapped, ModelFile};
    /// assert!(Mapped::is_in(&ModelFile::new(Manifest::new("map"))));
    /// assert!(!Mapped::is_in(&ModelFile::new(Manifest::new("pca"))));
    /// ```
    pub fn is_in(file: &ModelFile) -> bool {
        file.manifest.model == Map::KIND
    }

    /// Takes a map out of a file that was read; `path` is what errors call it.
    pub fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        let (map, manifest, through) = through::from_file(file, path)?;
        Ok(Self { map, manifest, through })
    }

    /// The map and what rows go through before it, as a file in memory.
    pub fn to_file(&self) -> Result<ModelFile> {
        through::to_file(&self.through, &self.map, self.manifest.clone())
    }

    /// Writes the file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.to_file()?.write(path)
    }

    /// How the map came to be, if its file says.
    pub fn training(&self) -> Option<&Training> {
        self.manifest.training.as_ref()
    }

    /// What rows go through before they are mapped, by name.
    pub fn through(&self) -> Vec<String> {
        self.through.names()
    }

    /// The same map with names of its rows.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        self.map = self.map.with_names(names)?;
        Ok(self)
    }

    /// Rows that are given away, with the columns that the map knows in its order.
    pub fn align<'a, T: Real>(&self, held: Held<'a, T>) -> Result<Held<'a, T>> {
        let first = self.through.model();
        let columns =
            first.map_or_else(|| self.map.columns().unwrap_or(0), |model| model.model.columns());
        let names = first.and_then(|model| model.manifest.columns.as_deref());
        let names = names.or(self.manifest.columns.as_deref());
        Ok(Held::Stream(align_columns(held.into_source(), columns, names)?))
    }

    /// Where new rows belong, `[rows, dimensions]`. Of a map made of distances alone, rows are the distances
    /// of new things from each of the known ones. One by one rows are where they are all together.
    pub fn place<T: Real>(&self, source: &dyn Source<T>, context: &Context) -> Result<Vec<f64>> {
        let placer = Placer::new(&self.map);
        match placer.things() {
            Some(known) => {
                let distances = distances(source, known)?;
                context.install(|| placer.distances(&distances))
            }
            None => {
                let rows = self.through.rows(source, placer.centre(), context)?;
                context.install(|| placer.rows(&rows))
            }
        }
    }
}

/// What is known of the rows beside their cells.
fn described<T: Real>(source: &dyn Source<T>, context: &Context) -> Result<Manifest> {
    let about = source.about();
    let mut manifest = Manifest::new(Map::KIND);
    manifest.fingerprint = Some(Fingerprint::of(source, context)?.to_string());
    manifest.columns = own_names(about.names.as_deref()).map(<[String]>::to_vec);
    manifest.picture = about.picture;
    manifest.absent = source.absent();
    Ok(manifest)
}

/// Distances of new things, row by row, from the known ones.
fn distances<T: Real>(source: &dyn Source<T>, known: usize) -> Result<Vec<f64>> {
    if source.columns() != known {
        return Err(Error::found(
            Place::default(),
            format!("rows of {} columns", source.columns()),
            format!("the distances from each of the {known} things that the map was made of"),
        ));
    }
    cells(source)
}

/// All cells, row by row.
fn cells<T: Real>(source: &dyn Source<T>) -> Result<Vec<f64>> {
    let mut values = Vec::with_capacity(source.rows() * source.columns());
    let mut row_cells = vec![T::ZERO; source.columns()];
    for_each_batch(source, |batch| {
        for row in 0..batch.rows {
            batch.dense_row(row, &mut row_cells);
            values.extend(row_cells.iter().map(|v| v.to_f64()));
        }
        Ok(())
    })?;
    Ok(values)
}
