//! `mereo decompress`: what `mereo compress` and `mereo encode --codes` wrote, back.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo_core::{Dense, Error, Picture, Result, Table, write_atomically};
use mereo_data::write;
use mereo_quantize::codec::{Coded, What};

use crate::output::{self, Format, Voice};

/// No compressed file is longer: what is may never end, as devices do not.
const MOST_BYTES: u64 = 1 << 30;

/// Give back a picture that was compressed, or the rows of a table
///
/// A picture is written as PNG; rows that `mereo encode --codes` wrote become a table.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo decompress photo.gvq -o photo.png
  mereo decompress embeddings.gvq -o embeddings.npy
  mereo decompress embeddings.gvq -o embeddings.csv")]
pub(crate) struct DecompressArgs {
    /// The compressed file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The file to write: .png for a picture; .csv, .tsv, .parquet or .npy for a table
    #[arg(long, short, value_name = "IMAGE")]
    output: PathBuf,
}

pub(crate) fn run(args: &DecompressArgs, voice: Voice) -> Result<ExitCode> {
    let format = Format::of(&args.output, true)?;
    output::check_output(&args.output, &[&args.file])?;
    let file = std::fs::File::open(&args.file).map_err(|e| Error::io(&args.file, e))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|e| Error::io(&args.file, e))?;
    let coded = Coded::from_bytes(&bytes, &args.file)?;
    match (coded.what, format) {
        (What::Picture { .. }, Format::Png) => {
            let picture = coded.picture()?;
            let shape = Picture {
                height: picture.height as usize,
                width: picture.width as usize,
                channels: usize::from(picture.channels),
            };
            let pixels: Vec<f64> = picture.pixels.iter().map(|&p| f64::from(p)).collect();
            let png = write::encode_png(&pixels, shape, Some((0.0, 255.0)), 1)?;
            write_atomically(&args.output, |out| out.write_all(&png))?;
            voice.say(format_args!("{} x {} pixels", picture.width, picture.height));
        }
        (What::Table { .. }, Format::Table) => {
            let rows: Dense<f64> = coded.rows(0)?;
            voice.say(format_args!("{} rows of {} columns", rows.rows(), rows.columns()));
            output::write_rows(&args.output, &Table::from(rows).into())?;
        }
        (What::Picture { .. }, Format::Table) => {
            return Err(Error::option("output", "the file holds a picture; use .png"));
        }
        (What::Table { .. }, Format::Png) => {
            let problem = "the file holds a table; use .csv, .tsv, .parquet or .npy";
            return Err(Error::option("output", problem));
        }
    }
    Ok(ExitCode::SUCCESS)
}
