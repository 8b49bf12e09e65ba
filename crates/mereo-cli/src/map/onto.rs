//! Placing new rows into a finished map.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use mereo::{Data, with_data};
use mereo_core::{Error, ModelFile, Real, Result, Source};
use mereo_map::Placer;
use serde_json::json;

use super::args::MapArgs;
use super::chain::Chain;
use super::points;
use crate::output::{self, Voice};

pub(super) fn run(args: &MapArgs, path: &Path, voice: Voice) -> Result<ExitCode> {
    if args.csv.is_none() && !args.json {
        let problem = "say where the points are to be written: --csv FILE, or --json";
        return Err(Error::option("csv", problem));
    }
    let began = Instant::now();
    let context = args.threads.context(args.seed)?;
    let (map, manifest, chain) = Chain::from_file(ModelFile::read(path)?, path)?;
    let placer = Placer::new(&map);
    let data = args.reading.open(&args.data, &context, voice)?;
    let (new, labels) = match placer.things() {
        Some(known) => with_data!(&data, held => {
            let source = held.source();
            let distances = distances(source, known).map_err(|e| e.in_file(&args.data))?;
            let placed = context.install(|| placer.distances(&distances));
            (placed.map_err(|e| e.in_file(&args.data))?, source.about().labels.clone())
        }),
        None => {
            let data: Data = chain.align(data, &map, &manifest, &args.data)?;
            with_data!(&data, held => {
                let source = held.source();
                let rows = chain.rows(source, placer.centre(), &context);
                let rows = rows.map_err(|e| e.in_file(&args.data))?;
                (context.install(|| placer.rows(&rows))?, source.about().labels.clone())
            })
        }
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
            "label_agreement": labels.as_ref().and_then(|l| points::agreement(&map, &new, l)),
            "seconds": began.elapsed().as_secs_f64(),
        }))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Distances of new things, row by row, from the known ones.
fn distances<T: Real>(source: &dyn Source<T>, known: usize) -> Result<Vec<f64>> {
    if source.columns() != known {
        return Err(Error::found(
            mereo_core::Place::default(),
            format!("rows of {} columns", source.columns()),
            format!("the distances from each of the {known} things that the map was made of"),
        ));
    }
    let mut values = Vec::with_capacity(source.rows() * known);
    let mut row_cells = vec![T::ZERO; known];
    let mut lane = source.lane(0..source.batches())?;
    while let Some(batch) = lane.next_batch()? {
        for row in 0..batch.rows {
            batch.dense_row(row, &mut row_cells);
            values.extend(row_cells.iter().map(|v| v.to_f64()));
        }
    }
    Ok(values)
}
