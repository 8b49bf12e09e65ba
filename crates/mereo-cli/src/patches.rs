//! `mereo patches`: patches of photographs as rows.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo_core::{AnyTable, Result};

use crate::output::{self, Format, Voice};

/// Cut patches from photographs, prepared for densities
///
/// Squares of grey pixels from random places of random pictures, of any size each. Noise from 0 to 1
/// is added to pixels, they are divided by 256, the patch's mean is taken off, and the last pixel is
/// left out: 8 x 8 pixels are a row of 63 numbers. The same pictures and seed give the same rows.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo patches photographs --size 8 --count 50000 -o patches.npy
  mereo patches photographs.tar --size 8 --count 20000 --seed 1 -o test.npy
  mereo patches holidays --size 12 --count 1000 -o patches.parquet")]
pub(crate) struct PatchesArgs {
    /// A folder or a tar of pictures
    #[arg(value_name = "PICTURES")]
    pictures: PathBuf,

    /// Pixels to a side of a patch
    #[arg(long, value_name = "N", default_value_t = 8)]
    size: usize,

    /// How many patches to cut
    #[arg(long, value_name = "N")]
    count: usize,

    /// The seed of places and noise
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// The file to write: .npy, .csv, .tsv or .parquet
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn run(args: &PatchesArgs, voice: Voice) -> Result<ExitCode> {
    Format::of(&args.output, false)?;
    output::check_output(&args.output, &[&args.pictures])?;
    let table = mereo_data::patches(&args.pictures, args.size, args.count, args.seed)?;
    let (rows, columns) = (table.rows(), table.columns());
    mereo_data::write::write_table(&args.output, &AnyTable::from(table))?;
    let file = args.output.display();
    voice.say(format_args!("{rows} patches of {columns} numbers in {file}"));
    Ok(ExitCode::SUCCESS)
}
