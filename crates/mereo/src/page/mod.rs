//! Computing what a report shows. The report crate only draws.

mod classes;
mod networks;
mod typical;

use std::path::Path;

use mereo_core::slots::ColumnMoments;
use mereo_core::{
    Block, ComponentsView, Context, Dense, Features as FeaturesOf, Labels, PartsView, Real, Result,
    Scores, Source, Sparse, Table, responsible_parts,
};
use mereo_report::{
    Combination, Compared, FeaturesView, Look, ShownLayer, ShownRows, Subject, Together,
};
use rand_distr::{Distribution, StandardNormal};

use self::classes::Classes;
use self::networks::Networks;
use crate::fitted::for_each_batch;
use crate::{AnyModel, Fitted, Standing};

/// Rows of data shown beside what the model makes of them, and rows drawn from the model.
const ROWS: usize = 12;
const SAMPLES: usize = 16;
/// Columns and rows up to which it is told which columns go together.
const TOGETHER: usize = 100;
const TOGETHER_ROWS: usize = 5_000;

/// What the page and its command lines call things.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// The page's title.
    pub title: &'a str,
    /// The model file.
    pub model: &'a str,
    /// The rows, if there are any.
    pub data: Option<&'a str>,
}

/// Writes a report on a model, with rows of data if there are any, beside other models.
pub fn write_report<T: Real>(
    fitted: &Fitted,
    others: &[Fitted],
    data: Option<&dyn Source<T>>,
    names: &Names<'_>,
    path: &Path,
    context: &Context,
) -> Result<()> {
    if fitted.manifest.unfolded.is_some() {
        let plain = fitted.plain();
        let unfolded = data.map(|data| fitted.plainly(data)).transpose()?.flatten();
        let data = unfolded.as_ref().map(|(_, source)| &**source);
        return write_report(&plain, others, data, names, path, context);
    }
    let view = fitted.model.parts();
    let mut mean = view.map_or_else(Vec::new, |view| view.mean.to_vec());
    fitted.undo(&mut mean)?;
    let samples = match fitted.model.sampler() {
        Some(_) => Some(fitted.sample(SAMPLES, fitted.model.varies_within_states(), context)?),
        None => None,
    };
    let seen = data.map(|data| Seen::of(fitted, data, context)).transpose()?;
    let typical = match data {
        Some(data) => typical::rows(fitted, data, context)?,
        None => None,
    };
    let told = fitted.states_in_words(context)?;
    let looks: Option<Vec<Vec<Look>>> =
        told.map(|states| states.into_iter().map(|s| s.into_iter().map(look).collect()).collect());
    let together = data.map(|data| columns_together(fitted, data)).transpose()?.flatten();
    let components = fitted.model.components();
    let mut shown =
        components.map(|view| (view.component.to_vec(), view.mean.map(<[f64]>::to_vec)));
    if let Some((component, Some(mean))) = &mut shown {
        in_data_units(fitted, component, mean)?;
    }
    let features = Features::of(fitted, data, seen.as_ref(), context)?;
    let classes = Classes::of(fitted, data, names.model, context)?;
    let drawn = classes.as_ref().map(Classes::drawn).unwrap_or_default();
    let networks = Networks::of(fitted, seen.as_ref().map(|seen| &seen.original), context)?;
    let galleries = networks.shown();
    let layers = Layers::of(fitted, context)?;
    let layers = layers.shown();
    let own = seen.as_ref().and_then(|seen| seen.scores.as_ref()).map(|scores| scores.mean);
    let mut compared = vec![likelihood(fitted, own)];
    for other in others {
        let shown = data.map(|data| mean_score(other, data, context)).transpose()?.flatten();
        compared.push(likelihood(other, shown));
    }
    if others.is_empty() && compared[0].parameters.is_none() {
        compared.clear();
    }
    let subject = Subject {
        layers: &layers,
        features: features.as_ref().map(Features::view),
        components: components.zip(shown.as_ref()).map(|(view, (component, mean))| {
            ComponentsView { component, mean: mean.as_deref(), ..view }
        }),
        parts: view.map(|view| PartsView { mean: &mean, ..view }),
        column_mean: seen.as_ref().map(|seen| &*seen.mean),
        column_deviation: seen.as_ref().map(|seen| &*seen.deviation),
        rows: seen.as_ref().map(Seen::rows),
        typical: typical.as_deref(),
        states: looks.as_deref(),
        together: together.as_ref().map(|(columns, strength)| Together { columns, strength }),
        samples: samples.as_ref(),
        galleries: &galleries,
        classes: classes.as_ref().map(|classes| classes.shown(&drawn)),
        scores: seen.as_ref().and_then(|seen| seen.scores.as_ref()),
        compared: &compared,
        model_file: Some(names.model),
        data_file: names.data,
        ..Subject::new(names.title, &fitted.manifest)
    };
    mereo_report::write(&subject, path)
}

/// What the page says of a state in a column.
fn look(told: Standing) -> Look {
    Look {
        column: told.at,
        value: told.value,
        usually: told.usual,
        share: told.share.map(|share| (share, told.usually)),
        below: told.below,
    }
}

/// Which columns go together, those of a part side by side: where rows are a table of columns with names.
fn columns_together<T: Real>(
    fitted: &Fitted,
    raw: &dyn Source<T>,
) -> Result<Option<(Vec<usize>, Vec<f64>)>> {
    let manifest = &fitted.manifest;
    let columns = fitted.model.columns();
    if manifest.picture.is_some()
        || manifest.absent.is_some()
        || manifest.columns.is_none()
        || !(2..=TOGETHER).contains(&columns)
    {
        return Ok(None);
    }
    let step = raw.rows().div_ceil(TOGETHER_ROWS).max(1);
    let numbers: Vec<usize> = (0..raw.rows()).step_by(step).collect();
    let rows = pick(&*fitted.aligned(raw)?, &numbers)?.with_about(fitted.about())?;
    let told = crate::together(&rows)?;
    let mut order: Vec<usize> = (0..columns).collect();
    if let Some(view) = fitted.model.parts() {
        let owner = view.part_of_column();
        order.sort_by_key(|&d| owner[d]);
    }
    let strength = order
        .iter()
        .flat_map(|&a| order.iter().map(move |&b| (a, b)))
        .map(|(a, b)| told.strength[a * columns + b])
        .collect();
    Ok(Some((order, strength)))
}

/// How likely a model makes rows on the average, if it can tell.
fn mean_score<T: Real>(
    fitted: &Fitted,
    data: &dyn Source<T>,
    context: &Context,
) -> Result<Option<f64>> {
    if fitted.model.scorer::<T>().is_none() {
        return Ok(None);
    }
    let scores = fitted.score(data, None, context).map_err(|e| e.in_file(&fitted.path))?;
    Ok(Some(scores.mean))
}

/// What a model is compared by.
fn likelihood(fitted: &Fitted, shown: Option<f64>) -> Compared<'_> {
    let training = fitted.manifest.training.as_ref();
    let counted = fitted.criteria();
    Compared {
        name: fitted.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("model"),
        kind: fitted.model.kind(),
        parameters: fitted.model.free_parameters(),
        learned: training
            .map(|t| t.log_likelihood.unwrap_or(t.bound) / t.total_weight().max(f64::MIN_POSITIVE)),
        aic: counted.map(|counted| counted.aic),
        bic: counted.map(|counted| counted.bic),
        shown,
    }
}

/// The layers of a deep mixture: names, usage, and what their components make of one draw. Its paths
/// come last.
struct Layers(Vec<(String, Vec<f64>, Option<Dense<f64>>)>);

impl Layers {
    fn of(fitted: &Fitted, context: &Context) -> Result<Self> {
        let Some(model) = fitted.model.layers() else { return Ok(Self(Vec::new())) };
        let columns = fitted.model.columns();
        let mut random = context.random("layers", [0, 0]);
        let draw: Vec<f64> = (0..columns).map(|_| StandardNormal.sample(&mut random)).collect();
        let mut layers = Vec::new();
        for (l, &size) in model.sizes().iter().enumerate() {
            let mut looks = model.variations(l, &draw);
            fitted.undo(&mut looks)?;
            let looks = Dense::new(size, columns, looks)?;
            let name = format!("Layer {}: {}", l + 1, model.layer_kind(l));
            layers.push((name, model.usage(l), Some(looks)));
        }
        layers.push(("Paths".to_owned(), model.path_weight().to_vec(), None));
        Ok(Self(layers))
    }

    fn shown(&self) -> Vec<ShownLayer<'_>> {
        let each = self.0.iter().map(|(name, usage, looks)| ShownLayer {
            name,
            usage,
            appearance: looks.as_ref(),
        });
        each.collect()
    }
}

/// Brings a mean back to the data's units, and components to what adding one changes there.
fn in_data_units(fitted: &Fitted, component: &mut [f64], mean: &mut [f64]) -> Result<()> {
    let columns = mean.len().max(1);
    for row in component.chunks_exact_mut(columns) {
        row.iter_mut().zip(&*mean).for_each(|(w, m)| *w += m);
    }
    fitted.undo(component)?;
    fitted.undo(mean)?;
    for row in component.chunks_exact_mut(columns) {
        row.iter_mut().zip(&*mean).for_each(|(w, m)| *w -= m);
    }
    Ok(())
}

/// What the model makes of data, as far as it can.
struct Seen {
    mean: Vec<f64>,
    deviation: Vec<f64>,
    scores: Option<Scores>,
    /// Where the shown rows stand in the data.
    numbers: Vec<usize>,
    original: Dense<f64>,
    labels: Option<Labels>,
    reconstruction: Option<Dense<f64>>,
    responsible: Option<Vec<u32>>,
    states: Option<Vec<u32>>,
    shown_scores: Option<Vec<f64>>,
    names: Option<Vec<String>>,
    notes: Option<Vec<&'static str>>,
    chances: Option<Vec<f64>>,
}

impl Seen {
    fn of<T: Real>(fitted: &Fitted, raw: &dyn Source<T>, context: &Context) -> Result<Self> {
        let moments = ColumnMoments::of(raw, context)?;
        let deviation = (0..raw.columns()).map(|d| moments.variance(d).sqrt()).collect();
        let scores = match fitted.model.scorer::<T>() {
            Some(_) => Some(fitted.score(raw, None, context)?),
            None => None,
        };
        let shown = raw.rows().min(ROWS);
        // Of tables the most and the least likely rows, of all else rows from all over.
        let is_table = fitted.manifest.picture.is_none()
            && raw.absent().is_none()
            && raw.about().names.is_some()
            && fitted.model.predictor::<T>().is_some();
        let told = scores.as_ref().filter(|_| is_table && raw.rows() > shown);
        let (numbers, notes) = match told {
            Some(scores) => typical_and_odd(&scores.rows, shown),
            None => ((0..shown).map(|i| i * raw.rows() / shown).collect(), None),
        };
        let picked = pick(raw, &numbers)?;
        let chances = if is_table {
            fitted.surprise(&pick(&*fitted.aligned(raw)?, &numbers)?, context)?
        } else {
            None
        };
        let about = raw.about();
        let names = about.ids.is_some().then(|| numbers.iter().map(|&n| about.row_name(n)));
        let reconstruction = match fitted.model.reconstructor::<T>() {
            Some(_) => Some(wide(&fitted.reconstruct(&picked, false, context)?)?),
            None => None,
        };
        let responsible = match fitted.model.explainer::<T>() {
            Some(explainer) => {
                Some(responsible_parts(explainer, &*fitted.prepared(&picked)?, context)?)
            }
            None => None,
        };
        Ok(Self {
            mean: moments.mean.clone(),
            deviation,
            shown_scores: scores.as_ref().map(|s| numbers.iter().map(|&n| s.rows[n]).collect()),
            scores,
            original: in_full(&picked)?,
            labels: labels(raw, &numbers),
            reconstruction,
            responsible,
            states: states(fitted, &picked, context)?,
            names: names.map(Iterator::collect),
            notes,
            chances: chances.map(|told| told.chance),
            numbers,
        })
    }

    fn rows(&self) -> ShownRows<'_> {
        ShownRows {
            reconstruction: self.reconstruction.as_ref(),
            responsible: self.responsible.as_deref(),
            states: self.states.as_deref(),
            labels: self.labels.as_ref(),
            scores: self.shown_scores.as_deref(),
            numbers: Some(&self.numbers),
            names: self.names.as_deref(),
            notes: self.notes.as_deref(),
            chances: self.chances.as_deref(),
            ..ShownRows::new(&self.original)
        }
    }
}

/// The most and the least likely rows, by rising number, and what each is.
fn typical_and_odd(scores: &[f64], shown: usize) -> (Vec<usize>, Option<Vec<&'static str>>) {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let typical = order.iter().take(shown / 2).map(|&n| (n, "typical"));
    let odd = order.iter().rev().take(shown - shown / 2).map(|&n| (n, "odd"));
    let mut picked: Vec<(usize, &'static str)> = typical.chain(odd).collect();
    picked.sort_unstable_by_key(|(n, _)| *n);
    let (numbers, notes) = picked.into_iter().unzip();
    (numbers, Some(notes))
}

/// Binary features, and how rows of data use them.
struct Features<'a> {
    model: &'a dyn FeaturesOf,
    feature: Vec<f64>,
    origin: Vec<f64>,
    common: Vec<Combination>,
    rows: Option<Vec<(usize, u64)>>,
    curve: Vec<(f64, f64)>,
}

/// Combinations shown, and rows that errors are taken from.
const COMBINATIONS: usize = 37;
const CURVE_ROWS: usize = 2000;

impl<'a> Features<'a> {
    fn of<T: Real>(
        fitted: &'a Fitted,
        data: Option<&dyn Source<T>>,
        seen: Option<&Seen>,
        context: &Context,
    ) -> Result<Option<Self>> {
        let Some(model) = fitted.model.features() else { return Ok(None) };
        let (n, d) = (model.features(), fitted.model.columns());
        // What a feature adds, in the data's units: with it, less without it.
        let mut origin = model.origin().to_vec();
        let mut with: Vec<f64> = (0..model.feature().len())
            .map(|at| model.feature()[at] + model.origin()[at / (n * d) * d + at % d])
            .collect();
        fitted.undo(&mut origin)?;
        fitted.undo(&mut with)?;
        let feature =
            with.iter().enumerate().map(|(at, v)| v - origin[at / (n * d) * d + at % d]).collect();
        let mut features =
            Self { model, feature, origin, common: Vec::new(), rows: None, curve: Vec::new() };
        let (Some(raw), Some(seen)) = (data, seen) else { return Ok(Some(features)) };
        let prepared = fitted.prepared(raw)?;
        let mut counts = std::collections::BTreeMap::new();
        let mut shown = Vec::new();
        let mut cells = Vec::new();
        for_each_batch(&*prepared, |batch| {
            model.for_each_state(&batch.widen(&mut cells), &mut |row, set, state| {
                *counts.entry((set, state)).or_insert(0.0) += batch.weight(row);
                if seen.numbers.binary_search(&(batch.first_row + row)).is_ok() {
                    shown.push((set, state));
                }
            });
            Ok(())
        })?;
        let total: f64 = counts.values().sum();
        let mut common: Vec<((usize, u64), f64)> = counts.into_iter().collect();
        common.sort_by(|a, b| b.1.total_cmp(&a.1));
        for ((set, state), weight) in common.into_iter().take(COMBINATIONS) {
            let mut look = model.appearance(set, state);
            fitted.undo(&mut look)?;
            features.common.push(Combination { set, state, share: weight / total, look });
        }
        features.rows = Some(shown);
        let sample = mereo_core::sample_rows(&*prepared, CURVE_ROWS, "features", context)?;
        for k in 0..=n {
            let fewer = AnyModel::from(model.strongest(k));
            let bits = k as f64 + (model.sets() as f64).log2();
            features.curve.push((bits, error(&fewer, &sample, context)?));
        }
        Ok(Some(features))
    }

    fn view(&self) -> FeaturesView<'_> {
        FeaturesView {
            sets: self.model.sets(),
            features: self.model.features(),
            feature: &self.feature,
            origin: &self.origin,
            usage: self.model.usage(),
            set_prior: self.model.set_prior(),
            common: &self.common,
            rows: self.rows.as_deref(),
            curve: &self.curve,
        }
    }
}

/// The root-mean-square error of the observed cells.
fn error<T: Real>(model: &AnyModel, rows: &Table<T>, context: &Context) -> Result<f64> {
    let Some(model) = model.reconstructor::<T>() else { return Ok(0.0) };
    let made = mereo_core::reconstruct(model, rows, context)?;
    let (mut squares, mut cells) = (0.0f64, 0.0);
    for_each_batch(rows, |batch| {
        for row in 0..batch.rows {
            let made = made.row(batch.first_row + row);
            batch.for_each_observed(row, |c, x| {
                squares += (x.to_f64() - made[c].to_f64()).powi(2);
                cells += 1.0;
            });
        }
        Ok(())
    })?;
    Ok(if cells > 0.0 { (squares / cells).sqrt() } else { 0.0 })
}

/// The most likely state of each part in each row.
fn states<T: Real>(
    fitted: &Fitted,
    rows: &Table<T>,
    context: &Context,
) -> Result<Option<Vec<u32>>> {
    let (Some(view), Some(_)) = (fitted.model.parts(), fitted.model.encoder::<T>()) else {
        return Ok(None);
    };
    let codes = in_full(&fitted.encode(rows, context)?)?;
    let most_likely = |part: &[f64]| {
        (0..part.len()).max_by(|&a, &b| part[a].total_cmp(&part[b])).unwrap_or(0) as u32
    };
    Ok((codes.columns() == view.parts * view.states)
        .then(|| codes.values().chunks_exact(view.states).map(most_likely).collect()))
}

/// The classes of some rows, where the source knows them.
fn labels<T: Real>(raw: &dyn Source<T>, numbers: &[usize]) -> Option<Labels> {
    let labels = raw.about().labels.as_ref()?;
    let of_row = numbers.iter().map(|&n| labels.of_row.get(n).copied()).collect::<Option<_>>()?;
    Some(Labels { names: labels.names.clone(), of_row })
}

/// Some rows of a source, by rising number, in memory.
pub(crate) fn pick<T: Real>(raw: &dyn Source<T>, numbers: &[usize]) -> Result<Table<T>> {
    let columns = raw.columns();
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut wanted = numbers.iter().copied().peekable();
    for_each_batch(raw, |batch| {
        while let Some(number) = wanted.next_if(|n| *n < batch.first_row + batch.rows) {
            let row = number - batch.first_row;
            match batch.block {
                Block::Dense { values: cells, .. } => {
                    values.extend_from_slice(&cells[row * columns..(row + 1) * columns]);
                }
                Block::Sparse { starts: from, indices: at, values: cells, .. } => {
                    let range = from[row] - from[0]..from[row + 1] - from[0];
                    indices.extend_from_slice(&at[range.clone()]);
                    values.extend_from_slice(&cells[range]);
                    starts.push(values.len());
                }
            }
        }
        Ok(())
    })?;
    Ok(match raw.absent() {
        None => Table::from(Dense::new(numbers.len(), columns, values)?),
        Some(absent) => Table::from(Sparse::new(columns, starts, indices, values, absent)?),
    })
}

/// Rows in full and in double precision, `NaN` where a cell is missing.
pub(crate) fn in_full<T: Real>(rows: &Table<T>) -> Result<Dense<f64>> {
    let mut values = Vec::with_capacity(rows.rows() * rows.columns());
    let mut row_values = vec![T::MISSING; rows.columns()];
    for_each_batch(rows, |batch| {
        for row in 0..batch.rows {
            batch.dense_row(row, &mut row_values);
            values.extend(row_values.iter().map(|v| v.to_f64()));
        }
        Ok(())
    })?;
    Dense::new(rows.rows(), rows.columns(), values)
}

fn wide<T: Real>(rows: &Dense<T>) -> Result<Dense<f64>> {
    Dense::new(rows.rows(), rows.columns(), rows.values().iter().map(|v| v.to_f64()).collect())
}
