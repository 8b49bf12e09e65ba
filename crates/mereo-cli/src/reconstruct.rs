//! `mereo reconstruct`: rows to rows.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use mereo::{Fitted, Origin, with_data, write_completed};
use mereo_core::{AnyTable, Dense, Error, Real, Result, Source, Table};

use crate::args::ModelAndData;
use crate::output::{self, Format, Voice};

/// Write rows as the model makes them, missing cells filled in
///
/// Every cell comes back as the model expects it, given the rest of its row. With --fill, cells
/// that were observed stay as they are and only missing ones are filled. Preprocessing that the
/// model learned with is applied first and undone afterwards, so the rows are in the data's units.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo reconstruct model.safetensors data.csv -o seen-by-the-model.csv
  mereo reconstruct model.safetensors holes.csv --fill -o filled.csv
  mereo reconstruct model.safetensors toy:faces -o faces.png")]
pub(crate) struct ReconstructArgs {
    #[command(flatten)]
    input: ModelAndData,

    /// The file to write: .csv, .tsv, .parquet, .npy, or .png for pictures
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Keep observed cells and fill only the missing ones; a CSV file is written again as it stands
    #[arg(long)]
    fill: bool,

    /// Write this many tables with holes drawn from what the model says of them: FILE-1.csv, FILE-2.csv, ...
    #[arg(long, value_name = "N", requires = "fill")]
    draws: Option<usize>,

    /// The seed of the draws
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
}

pub(crate) fn run(args: &ReconstructArgs, voice: Voice) -> Result<ExitCode> {
    let ReconstructArgs { input, output: path, fill, draws, seed } = args;
    Format::of(path, true)?;
    if draws.is_some() && output::is_standard(path) {
        return Err(Error::option("draws", "several tables need files; say one with --output"));
    }
    output::check_output(path, &input.files())?;
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(*seed)?;
    let (data, told, options) =
        input.reading.open_for_told(&fitted, &input.data, &context, voice)?;
    let origin = Origin { path: &input.data, options: &options, told: &told };
    if *fill && Format::of(path, true)? == Format::Table {
        return with_data!(&data, held => {
            let raw = held.source();
            let table = in_memory(raw)?;
            let filled = match draws {
                None => vec![fitted.reconstruct(raw, true, &context)],
                Some(draws) => (0..*draws as u64).map(|n| fitted.draw(raw, n, &context)).collect(),
            };
            for (number, rows) in filled.into_iter().enumerate() {
                let rows = rows.map_err(|e| e.in_file(&input.data))?;
                let own = draws.map_or_else(|| path.clone(), |_| numbered(path, number + 1));
                let table = fitted.name_columns(table.clone(), Some(raw.about()))?;
                output::through(&own, |own| {
                    write_completed(origin, &table, Some(&rows), &[], own)
                })?;
                voice.say(format_args!("{} rows in {}", rows.rows(), own.display()));
            }
            Ok(ExitCode::SUCCESS)
        });
    }
    let rows: AnyTable = with_data!(&data, held => {
        let raw = held.source();
        let rows = fitted.reconstruct(raw, *fill, &context).map_err(|e| e.in_file(&input.data))?;
        fitted.name_columns(Table::from(rows), Some(raw.about()))?.into()
    });
    output::write_rows(path, &rows)?;
    voice.say(format_args!("{} rows in {}", rows.rows(), path.display()));
    Ok(ExitCode::SUCCESS)
}

/// All rows of a source, in memory.
fn in_memory<T: Real>(source: &dyn Source<T>) -> Result<Table<T>> {
    let width = source.columns();
    let mut values = vec![T::MISSING; source.rows() * width];
    let mut lane = source.lane(0..source.batches())?;
    while let Some(batch) = lane.next_batch()? {
        for row in 0..batch.rows {
            let start = (batch.first_row + row) * width;
            batch.dense_row(row, &mut values[start..start + width]);
        }
    }
    Ok(Table::from(Dense::new(source.rows(), width, values)?))
}

/// The name of one of several files: `filled-2.csv`.
pub(crate) fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{number}.{extension}"))
}
