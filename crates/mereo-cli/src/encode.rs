//! `mereo encode`: rows to codes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo_core::{AnyTable, Context, Real, Result, Source, Table};

use crate::args::ModelAndData;
use crate::data::{check_fits, with_data};
use crate::fitted::Fitted;
use crate::output::{self, Format, Voice};

/// Turn rows into codes: how likely each state of each part is in each row
///
/// A code has one number for every state of every part, part by part; the numbers of one part add
/// up to 1. Columns are called part0.state0, part0.state1 and so on. Preprocessing that the model
/// learned with is applied first, and missing cells are simply not looked at.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo encode model.safetensors data.csv -o codes.csv
  mereo encode model.safetensors toy:faces -o codes.npy
  mereo encode model.safetensors huge.parquet --stream -o codes.parquet")]
pub(crate) struct EncodeArgs {
    #[command(flatten)]
    input: ModelAndData,

    /// The file to write: .csv, .tsv, .parquet or .npy
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn run(args: &EncodeArgs, voice: Voice) -> Result<ExitCode> {
    let EncodeArgs { input, output: path } = args;
    Format::of(path, false)?;
    output::check_output(path, &[&input.model, &input.data])?;
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(0)?;
    let data = fitted.open_data(&input.data, &input.reading, voice)?;
    let codes: AnyTable = with_data!(&data, held => {
        codes(&fitted, held.source(), &context).map_err(|e| e.in_file(&input.data))?.into()
    });
    output::write_rows(path, &codes)?;
    let (rows, columns) = (codes.rows(), codes.columns());
    voice.say(format_args!("{rows} codes of {columns} numbers in {}", path.display()));
    Ok(ExitCode::SUCCESS)
}

/// The codes of all rows, with names.
pub(crate) fn codes<T: Real>(
    fitted: &Fitted,
    raw: &dyn Source<T>,
    context: &Context,
) -> Result<Table<T>> {
    let encoder = fitted.model.encoder::<T>().ok_or_else(|| fitted.incapable("encode"))?;
    let width = encoder.code_width();
    check_fits(raw.rows(), width, size_of::<T>())?;
    let codes = mereo_core::encode(encoder, &*fitted.prepared(raw)?, context)?;
    let names = match fitted.model.parts() {
        Some(view) if view.parts * view.states == width => (0..view.parts)
            .flat_map(|part| (0..view.states).map(move |state| format!("part{part}.state{state}")))
            .collect(),
        None if fitted.model.components().is_some() => {
            (0..width).map(|index| format!("component{index}")).collect()
        }
        _ => (0..width).map(|index| format!("code{index}")).collect(),
    };
    Table::from(codes).with_names(names)
}
