//! `mereo reconstruct`: rows to rows.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::{Fitted, with_data};
use mereo_core::{AnyTable, Result, Table};

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

    /// Keep observed cells and fill only the missing ones
    #[arg(long)]
    fill: bool,
}

pub(crate) fn run(args: &ReconstructArgs, voice: Voice) -> Result<ExitCode> {
    let ReconstructArgs { input, output: path, fill } = args;
    Format::of(path, true)?;
    output::check_output(path, &input.files())?;
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(0)?;
    let data = input.reading.open_for(&fitted, &input.data, &context, voice)?;
    let rows: AnyTable = with_data!(&data, held => {
        let raw = held.source();
        let rows = fitted.reconstruct(raw, *fill, &context).map_err(|e| e.in_file(&input.data))?;
        fitted.name_columns(Table::from(rows), Some(raw.about()))?.into()
    });
    output::write_rows(path, &rows)?;
    voice.say(format_args!("{} rows in {}", rows.rows(), path.display()));
    Ok(ExitCode::SUCCESS)
}
