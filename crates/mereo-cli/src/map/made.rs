//! Making a map.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use mereo::with_data;
use mereo_core::{AnyTable, Cells, Context, Error, Labels, Manifest, Real, Result, Status, Table};
use mereo_data::{ReadOptions, read};
use mereo_map::{Distances, Given, Journey, Map, Step, fit};
use serde_json::json;

use super::args::MapArgs;
use super::chain::{Chain, describe};
use super::points;
use crate::output::{self, Voice};
use crate::{interrupt, progress};

pub(super) fn run(args: &MapArgs, path: &Path, voice: Voice) -> Result<ExitCode> {
    let params = args.params()?;
    let checkpoints = args.checkpoints()?;
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let began = Instant::now();
    let mut manifest = Manifest::new(Map::KIND);
    let mut chain = Chain::through(args.model.as_deref())?;
    let mut share = progress::share("map", voice);
    let mut watch = |step: &Step| {
        let all = (step.starts * step.steps).max(1) as f64;
        share.set((step.start * step.steps + step.step) as f64 / all);
        if let Some(warning) = &step.warning {
            share.warn(warning);
        }
    };
    let mut journey =
        Journey { context: &context, checkpoints: checkpoints.as_ref(), watch: &mut watch };
    let ((map, training), names) = if args.is_matrix() {
        let (distances, names) = matrix(args, &mut manifest)?;
        let made = fit(&params, &Given::Distances(&distances), None, &mut journey);
        (made.map_err(|e| e.in_file(&args.data))?, names)
    } else {
        let mut reading = args.reading.clone();
        let names_column = match &args.names {
            Some(names) if !Path::new(names).is_file() => {
                if reading.label.is_some() {
                    let problem = "a column of names and one of labels cannot both be read; give the names \
                                   as a text file";
                    return Err(Error::option("names", problem));
                }
                reading.label = Some(names.clone());
                true
            }
            _ => false,
        };
        let data = match chain.first() {
            None => reading.open(&args.data, &context, voice)?,
            Some(fitted) => reading.open_for(fitted, &args.data, &context, voice)?,
        };
        let (rows, labels) = with_data!(&data, held => {
            let source = held.source();
            describe(&mut manifest, source, &context)?;
            let rows = chain.learn(source, &args.prepare, args.pca, &context);
            (rows.map_err(|e| with_advice(e, args).in_file(&args.data))?, source.about().labels.clone())
        });
        drop(data);
        let (names, labels) = if names_column {
            (labels.map(|l| text_of(&l)), None)
        } else {
            (names_file(args.names.as_deref(), rows.rows())?, labels)
        };
        let made = fit(&params, &Given::Rows(&rows), labels.as_ref(), &mut journey);
        (made.map_err(|e| e.in_file(&args.data))?, names)
    };
    drop(share);
    let map = match names {
        None => map,
        Some(names) => map.with_names(names)?,
    };
    let interrupted = training.status == Status::Interrupted;
    manifest.training = Some(training.clone());
    chain.to_file(&map, manifest)?.write(path)?;
    if let Some(csv) = &args.csv {
        points::write(csv, map.points(), map.dimensions(), map.labels(), map.names())?;
    }
    let seconds = began.elapsed().as_secs_f64();
    if args.json {
        output::print_json(&in_json(&map, &chain, path, args.seed, seconds, &training))?;
    } else {
        let text = points::in_words(&map);
        output::print(&format!("{text}{} in {seconds:.1} s\n", path.display()))?;
    }
    Ok(if interrupted { interrupt::kept(path, voice) } else { ExitCode::SUCCESS })
}

/// Rows with holes can be mapped: says how.
fn with_advice(error: Error, args: &MapArgs) -> Error {
    match error {
        Error::Data { place, found, .. } if found == "a missing cell" && args.model.is_none() => {
            let expected = "rows without holes; use --pca N, which is at home with them, or learn a model \
                            (mereo fit ...) and map what it makes of the rows with --model";
            Error::found(place, found, expected)
        }
        other => other,
    }
}

fn text_of(labels: &Labels) -> Vec<String> {
    let name = |l: &Option<u32>| l.map_or_else(String::new, |l| labels.names[l as usize].clone());
    labels.of_row.iter().map(name).collect()
}

/// Names from a text file, one a line.
fn names_file(path: Option<&str>, rows: usize) -> Result<Option<Vec<String>>> {
    let Some(path) = path else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
    let names: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
    if names.len() != rows {
        let problem = format!("`{path}` has {} lines, the data {rows} rows", names.len());
        return Err(Error::option("names", problem));
    }
    Ok(Some(names))
}

/// A square matrix of distances or similarities, and the names beside it.
fn matrix(args: &MapArgs, manifest: &mut Manifest) -> Result<(Distances, Option<Vec<String>>)> {
    let (table, names) = square(args)?;
    let (count, columns) = (table.rows(), table.columns());
    if count != columns {
        return Err(Error::found(
            mereo_core::Place::file(&args.data),
            format!("{count} rows of {columns} columns"),
            "a square matrix: as many columns as rows, beside at most one column of names",
        ));
    }
    let (values, weights) = match &table {
        AnyTable::F32(table) => described(manifest, table)?,
        AnyTable::F64(table) => described(manifest, table)?,
    };
    let made = match args.similarities {
        None => Distances::new(count, values),
        Some(rule) => Distances::from_similarities(count, values, rule),
    };
    let mut made = made.map_err(|e| e.in_file(&args.data))?;
    if let Some(weights) = weights {
        made = made.with_weights(weights)?;
    }
    // A header may name the columns where the rows have no names of their own.
    let names = names.or_else(|| manifest.columns.clone().filter(|names| names.len() == count));
    let own = names_file(args.names.as_deref(), count)?;
    manifest.columns = None;
    Ok((made, own.or(names)))
}

fn described<T: Real>(
    manifest: &mut Manifest,
    table: &Table<T>,
) -> Result<(Vec<f64>, Option<Vec<f64>>)> {
    describe(manifest, table, &Context::new(0))?;
    let values = match table.cells() {
        Cells::Dense(cells) => cells.values().iter().map(|v| v.to_f64()).collect(),
        Cells::Sparse(_) => {
            return Err(Error::option("distances", "a square matrix is not a sparse file"));
        }
    };
    Ok((values, table.about().weights.clone()))
}

/// Reads a square file, taking a first column that is no number for names.
fn square(args: &MapArgs) -> Result<(AnyTable, Option<Vec<String>>)> {
    let options = args.reading.options();
    let named = |table: AnyTable| {
        let names = table.about().labels.as_ref().map(text_of);
        (table, names)
    };
    let first = read(&args.data, &options);
    if let Ok(table) = &first
        && (table.rows() == table.columns() || options.label.is_some())
    {
        return first.map(named);
    }
    let column = std::fs::read_to_string(&args.data).ok().and_then(|text| {
        let line = text.lines().next()?.trim_start_matches('\u{feff}').to_owned();
        let end = line.find([',', '\t', ';'])?;
        Some(line[..end].trim().trim_matches('"').to_owned())
    });
    let again = column.and_then(|label| {
        read(&args.data, &ReadOptions { label: Some(label), ..options.clone() }).ok()
    });
    match again {
        Some(table) if table.rows() == table.columns() => Ok(named(table)),
        _ => first.map(named),
    }
}

fn in_json(
    map: &Map,
    chain: &Chain,
    path: &Path,
    seed: u64,
    seconds: f64,
    training: &mereo_core::Training,
) -> serde_json::Value {
    let quality = map.quality();
    let mut value = json!({
        "model": Map::KIND,
        "method": map.params().method.name(),
        "file": path.to_string_lossy(),
        "rows": map.rows(),
        "columns": map.columns(),
        "dimensions": map.dimensions(),
        "through": chain.names(),
        "cost": map.cost().value,
        "relative_cost": map.relative_cost(),
        "trustworthiness": quality.trustworthiness,
        "continuity": quality.continuity,
        "neighbour_recall": quality.neighbour_recall,
        "rank_correlation": quality.rank_correlation,
        "label_agreement": quality.label_agreement,
        "neighbours": quality.neighbours,
        "measured_rows": quality.measured,
        "status": training.status,
        "seconds": seconds,
        "seed": seed,
    });
    if let Some(kl) = map.cost().kl {
        value["kl"] = json!(kl);
        value["search_recall"] = json!(map.search_recall());
    }
    if let Some(trace) = map.trace() {
        value["eigenvalues"] = json!(map.eigenvalues());
        value["eigenvalue_sum"] = json!(trace);
    }
    value
}
