//! `mereo sample`: new rows from a model.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::Fitted;
use mereo_core::{AnyTable, Context, Result, Table};

use crate::hybrid;
use crate::output::{self, Format, Voice};

/// Draw new rows from a model
///
/// Each row chooses a state for every part and takes its columns from there, in the data's units.
/// Row i depends on the seed and i alone, so that more rows start with the same ones. --no-noise
/// leaves out the noise of each column: such rows are nicer to look at, but less varied than data.
///
/// A model with classes draws a class first. --class chooses: NAME for all parts, NAME:PARTS for the
/// parts with these numbers alone (as `mereo show` counts them), and =WEIGHT for a mix of several.
/// In each part the classes that name it are used, else those that name no part, else all as common
/// as they are.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo sample model.safetensors -n 100 -o new.csv
  mereo sample model.safetensors -n 16 --no-noise -o faces.png
  mereo sample model.safetensors -n 1000 --seed 7 -o new.npy
  mereo sample faces.safetensors -n 16 --class scream --class sunglasses:2 -o hybrids.png
  mereo sample faces.safetensors -n 16 --class smile=0.7 --class anger=0.3 -o mixed.png")]
pub(crate) struct SampleArgs {
    /// The model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// How many rows to draw
    #[arg(short = 'n', long = "rows", value_name = "N")]
    rows: usize,

    /// The seed of the draw
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Draw from a class, or a hybrid of several: NAME[:PARTS][=WEIGHT]; may be given again
    #[arg(long, value_name = "CLASS")]
    class: Vec<String>,

    /// Leave out the noise of each column
    #[arg(long)]
    no_noise: bool,

    /// The file to write: .csv, .tsv, .parquet, .npy, or .png for pictures
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn run(args: &SampleArgs, voice: Voice) -> Result<ExitCode> {
    Format::of(&args.output, true)?;
    output::check_output(&args.output, &[&args.model])?;
    let mut fitted = Fitted::open(&args.model)?;
    if !args.class.is_empty() {
        fitted.model = fitted.model.hybrid(&hybrid::blend(&fitted, &args.class)?)?;
    }
    let drawn = fitted.sample(args.rows, !args.no_noise, &Context::new(args.seed))?;
    let rows = AnyTable::from(fitted.name_columns(Table::from(drawn), None)?);
    output::write_rows(&args.output, &rows)?;
    voice.say(format_args!("{} rows in {}", rows.rows(), args.output.display()));
    Ok(ExitCode::SUCCESS)
}
