//! Making a map.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use mereo::{Fitted, MapFit, Mapped, own_names, with_data};
use mereo_core::{AnyTable, Error, Labels, Result, Status};
use mereo_data::{ReadOptions, read};
use mereo_map::{Journey, Map, Step};
use serde_json::json;

use super::args::MapArgs;
use super::points;
use crate::output::{self, Voice};
use crate::{interrupt, progress};

pub(super) fn run(args: &MapArgs, path: &Path, voice: Voice) -> Result<ExitCode> {
    let checkpoints = args.checkpoints()?;
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let began = Instant::now();
    let mut how = MapFit::new(args.params()?).prepare(args.prepare.clone()).components(args.pca);
    let model = args.model.as_deref().map(Fitted::open).transpose()?;
    if let Some(model) = &model {
        how = how.through(model.clone())?;
    }
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
    let mapped = if args.is_matrix() {
        of_matrix(args, &how, &mut journey)?
    } else {
        of_rows(args, &how, model.as_ref(), &mut journey, voice)?
    };
    drop(share);
    mapped.save(path)?;
    let map = &mapped.map;
    if let Some(csv) = &args.csv {
        points::write(csv, map.points(), map.dimensions(), map.labels(), map.names())?;
    }
    let seconds = began.elapsed().as_secs_f64();
    if args.json {
        output::print_json(&in_json(&mapped, path, args.seed, seconds))?;
    } else {
        let text = points::in_words(map);
        output::print(&format!("{text}{} in {seconds:.1} s\n", path.display()))?;
    }
    let interrupted = mapped.training().is_some_and(|t| t.status == Status::Interrupted);
    Ok(if interrupted { interrupt::kept(path, voice) } else { ExitCode::SUCCESS })
}

fn of_rows(
    args: &MapArgs,
    how: &MapFit,
    model: Option<&Fitted>,
    journey: &mut Journey<'_>,
    voice: Voice,
) -> Result<Mapped> {
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
    let data = match model {
        None => reading.open(&args.data, journey.context, voice)?,
        Some(fitted) => reading.open_for(fitted, &args.data, journey.context, voice)?,
    };
    with_data!(&data, held => {
        let source = held.source();
        let labels = source.about().labels.as_ref();
        let names = if names_column {
            labels.map(text_of)
        } else {
            names_file(args.names.as_deref(), source.rows())?
        };
        let made = how.run(source, labels.filter(|_| !names_column), journey);
        let mapped = made.map_err(|e| with_advice(e, args).in_file(&args.data))?;
        match names {
            None => Ok(mapped),
            Some(names) => mapped.with_names(names),
        }
    })
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

/// A map of a square matrix of distances or similarities, with the names beside it.
fn of_matrix(args: &MapArgs, how: &MapFit, journey: &mut Journey<'_>) -> Result<Mapped> {
    let (table, names) = square(args)?;
    // A header may name the columns where the rows have no names of their own.
    let names = names.or_else(|| own_names(table.about().names.as_deref()).map(<[String]>::to_vec));
    let names = names_file(args.names.as_deref(), table.rows())?.or(names);
    let made = match &table {
        AnyTable::F32(table) => how.run_matrix(table, args.similarities, journey),
        AnyTable::F64(table) => how.run_matrix(table, args.similarities, journey),
    };
    let mapped = made.map_err(|e| e.in_file(&args.data))?;
    match names {
        None => Ok(mapped),
        Some(names) => mapped.with_names(names),
    }
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

fn in_json(mapped: &Mapped, path: &Path, seed: u64, seconds: f64) -> serde_json::Value {
    let map = &mapped.map;
    let quality = map.quality();
    let mut value = json!({
        "model": Map::KIND,
        "method": map.params().method.name(),
        "file": path.to_string_lossy(),
        "rows": map.rows(),
        "columns": map.columns(),
        "dimensions": map.dimensions(),
        "through": mapped.through(),
        "cost": map.cost().value,
        "relative_cost": map.relative_cost(),
        "trustworthiness": quality.trustworthiness,
        "continuity": quality.continuity,
        "neighbour_recall": quality.neighbour_recall,
        "rank_correlation": quality.rank_correlation,
        "label_agreement": quality.label_agreement,
        "neighbours": quality.neighbours,
        "measured_rows": quality.measured,
        "status": mapped.training().map(|t| t.status),
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
