//! What rows go through before they are mapped: steps, a model, principal components. All of it is kept
//! in the map's file, so that new rows go the same way.

use std::path::Path;

use mereo_core::{
    Context, Error, Manifest, Model, ModelFile, Plan, Real, Result, Silent, Source, Table, Tensor,
};
use mereo_data::steps::Steps;
use mereo_linear::{PcaParams, pca};
use mereo_map::{Map, Rows};
use serde_json::Value;

use crate::Fitted;

/// What the manifest calls the models that rows go through.
const THROUGH: &str = "through";

/// What rows go through before they are mapped.
#[derive(Debug, Default)]
pub(super) struct Through {
    steps: Option<Steps>,
    models: Vec<Fitted>,
}

impl Through {
    /// Through a model, if there is one.
    pub(super) fn new(model: Option<&Fitted>) -> Self {
        Self { steps: None, models: model.cloned().into_iter().collect() }
    }

    /// Learns what is to be learned of rows before they are mapped, and what is left of them.
    pub(super) fn learn<T: Real>(
        &mut self,
        source: &dyn Source<T>,
        prepare: &[mereo_data::steps::StepKind],
        components: Option<usize>,
        context: &Context,
    ) -> Result<Rows> {
        if !prepare.is_empty() {
            self.steps = Some(Steps::learn(prepare, source, context)?);
        }
        if let Some(components) = components {
            let codes = self.table(source, context)?;
            let seen: &dyn Source<T> = codes.as_ref().map_or(source, |table| table);
            if components > seen.columns() {
                let problem = format!(
                    "{components} components cannot be taken of {} columns",
                    seen.columns()
                );
                return Err(Error::option("pca", problem));
            }
            let params = PcaParams::new(components);
            let (model, training) =
                pca::fit(&params, seen, &Plan::default(), context, &mut Silent)?;
            let mut manifest = Manifest::new(mereo_linear::Pca::KIND);
            manifest.training = Some(training);
            manifest.params = serde_json::to_value(&params).map_err(|e| Error::option("pca", e))?;
            let path = Path::new("principal components");
            self.models.push(Fitted::from_file(model.to_file(manifest), path)?);
        }
        self.rows(source, None, context)
    }

    /// What rows become, measured from a centre if one is known.
    pub(super) fn rows<T: Real>(
        &self,
        source: &dyn Source<T>,
        centre: Option<&[f64]>,
        context: &Context,
    ) -> Result<Rows> {
        let table = self.table(source, context)?;
        let seen: &dyn Source<T> = table.as_ref().map_or(source, |table| table);
        match centre {
            None => Rows::read(seen),
            Some(centre) => Rows::read_about(seen, centre),
        }
    }

    /// What rows become; nothing if they stay as they are.
    fn table<T: Real>(
        &self,
        source: &dyn Source<T>,
        context: &Context,
    ) -> Result<Option<Table<T>>> {
        let about = source.about();
        let mut table: Option<Table<T>> = match &self.steps {
            None => None,
            Some(steps) => {
                let stepped =
                    mereo_core::map_rows(source, context, source.columns(), |batch, out| {
                        for (row, out) in out.chunks_exact_mut(batch.columns).enumerate() {
                            batch.dense_row(row, out);
                        }
                    })?;
                let cells = mereo_core::Dense::new(source.rows(), source.columns(), stepped)?;
                Some(steps.apply(Table::from(cells))?)
            }
        };
        for model in &self.models {
            let seen: &dyn Source<T> = table.as_ref().map_or(source, |table| table);
            table = Some(model.encode(seen, context)?);
        }
        match (table, &about.weights) {
            (Some(table), Some(weights)) => table.with_weights(weights.clone()).map(Some),
            (table, _) => Ok(table),
        }
    }

    /// The first model, if there is one.
    pub(super) fn model(&self) -> Option<&Fitted> {
        self.models.first()
    }

    /// What rows go through, by name.
    pub(super) fn names(&self) -> Vec<String> {
        let steps = self.steps.iter().flat_map(Steps::names).map(str::to_owned);
        steps.chain(self.models.iter().map(|fitted| fitted.model.kind().to_owned())).collect()
    }
}

/// The file of a map, with what rows go through in it.
pub(super) fn to_file(through: &Through, map: &Map, mut manifest: Manifest) -> Result<ModelFile> {
    if let Some(steps) = &through.steps {
        manifest.steps = serde_json::to_value(steps).map_err(|e| Error::option("prepare", e))?;
    }
    let mut file = map.to_file(manifest)?;
    let mut manifests = Vec::new();
    for (k, fitted) in through.models.iter().enumerate() {
        let own = fitted.model.to_file(fitted.manifest.clone());
        manifests.push(serde_json::to_value(&own.manifest).map_err(|e| Error::option("model", e))?);
        for (name, tensor) in own.tensors() {
            let tensor = Tensor::new(tensor.shape.clone(), tensor.values.clone());
            file.insert(&format!("{THROUGH}{k}/{name}"), tensor);
        }
    }
    if let Value::Object(params) = &mut file.manifest.params
        && !manifests.is_empty()
    {
        params.insert(THROUGH.to_owned(), Value::Array(manifests));
    }
    Ok(file)
}

/// The map in a file, what the file says, and what rows go through before it. Nothing is trusted.
pub(super) fn from_file(file: ModelFile, path: &Path) -> Result<(Map, Manifest, Through)> {
    let bad = |problem: String| Error::model_file(path, problem);
    let mut models = Vec::new();
    let manifests = match file.manifest.params.get(THROUGH) {
        None => Vec::new(),
        Some(Value::Array(manifests)) => manifests.clone(),
        Some(_) => return Err(bad("what rows go through is broken".to_owned())),
    };
    for (k, stored) in manifests.into_iter().enumerate() {
        let manifest: Manifest = serde_json::from_value(stored)
            .map_err(|e| bad(format!("a model that rows go through is broken: {e}")))?;
        let mut own = ModelFile::new(manifest);
        let prefix = format!("{THROUGH}{k}/");
        for (name, tensor) in file.tensors() {
            if let Some(name) = name.strip_prefix(&prefix) {
                own.insert(name, tensor.clone());
            }
        }
        models.push(Fitted::from_file(own, path)?);
    }
    let (map, manifest) = Map::from_file(file, path)?;
    let width = |fitted: &Fitted| fitted.model.encoder::<f64>().map(mereo_core::Encode::code_width);
    if models.windows(2).any(|pair| width(&pair[0]) != Some(pair[1].model.columns())) {
        return Err(bad("the models that rows go through do not fit together".to_owned()));
    }
    if models.last().is_some_and(|last| width(last).is_none() || width(last) != map.columns()) {
        return Err(bad("the map does not fit the model that rows go through".to_owned()));
    }
    let mut through = Through { steps: None, models };
    if !manifest.steps.is_null() {
        let steps: Steps = serde_json::from_value(manifest.steps.clone())
            .map_err(|e| bad(format!("its steps are broken: {e}")))?;
        let columns = through.model().map_or(map.columns(), |f| Some(f.model.columns()));
        steps.check(columns.unwrap_or(0)).map_err(|e| bad(e.to_string()))?;
        through.steps = Some(steps).filter(|steps| !steps.is_empty());
    }
    Ok((map, manifest, through))
}

/// The states of a model's parts that rows show, part by part: names of the parts and the likeliest
/// state of each row.
pub(super) fn states<T: Real>(
    fitted: &Fitted,
    raw: &dyn Source<T>,
    context: &Context,
) -> Result<Vec<(String, Vec<u32>)>> {
    let Some(view) = fitted.model.parts() else { return Ok(Vec::new()) };
    let Some(encoder) = fitted.model.encoder::<T>() else { return Ok(Vec::new()) };
    if view.appearance == mereo_core::Appearance::Factors
        || encoder.code_width() != view.parts * view.states
    {
        return Ok(Vec::new());
    }
    let codes = fitted.encode(raw, context)?;
    let mereo_core::Cells::Dense(cells) = codes.cells() else { return Ok(Vec::new()) };
    let likeliest = |row: usize, part: usize| {
        let of = &cells.row(row)[part * view.states..(part + 1) * view.states];
        (0..of.len()).fold(0, |best, j| if of[j] > of[best] { j } else { best }) as u32
    };
    let each = (0..view.parts).map(|part| {
        let states = (0..cells.rows()).map(|row| likeliest(row, part)).collect();
        (format!("part {part}"), states)
    });
    Ok(each.collect())
}
