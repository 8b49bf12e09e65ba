//! Placing new rows into a finished map.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use mereo::{Data, Held, Mapped};
use mereo_core::{Context, Error, Labels, Real, Result};
use serde_json::json;

use super::args::MapArgs;
use super::points;
use crate::output::{self, Voice};

pub(super) fn run(args: &MapArgs, path: &Path, voice: Voice) -> Result<ExitCode> {
    if args.csv.is_none() && !args.json {
        let problem = "say where the points are to be written: --csv FILE, or --json";
        return Err(Error::option("csv", problem));
    }
    let began = Instant::now();
    let context = args.threads.context(args.seed)?;
    let mapped = Mapped::open(path)?;
    let map = &mapped.map;
    let data = args.reading.open(&args.data, &context, voice)?;
    let in_data = |e: Error| e.in_file(&args.data);
    let (new, labels) = match data {
        Data::F32(held) => placed(&mapped, held, &context).map_err(in_data)?,
        Data::F64(held) => placed(&mapped, held, &context).map_err(in_data)?,
    };
    let dimensions = map.dimensions();
    let rows = new.len() / dimensions;
    if let Some(csv) = &args.csv {
        points::write(csv, &new, dimensions, labels.as_ref(), None)?;
        voice.say(format_args!("{rows} rows placed, in {}", csv.display()));
    }
    if args.json {
        let points: Vec<&[f64]> = new.chunks_exact(dimensions).collect();
        output::print_json(&json!({
            "map": path.to_string_lossy(),
            "method": map.params().method.name(),
            "rows": rows,
            "dimensions": dimensions,
            "points": if args.csv.is_none() { json!(points) } else { json!(null) },
            "label_agreement": labels.as_ref().and_then(|l| points::agreement(map, &new, l)),
            "seconds": began.elapsed().as_secs_f64(),
        }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where rows belong, and their labels.
fn placed<T: Real>(
    mapped: &Mapped,
    held: Held<'_, T>,
    context: &Context,
) -> Result<(Vec<f64>, Option<Labels>)> {
    // Of a map made of distances alone, columns are things and may have any names.
    let held = if mapped.map.columns().is_some() { mapped.align(held)? } else { held };
    let source = held.source();
    Ok((mapped.place(source, context)?, source.about().labels.clone()))
}
