//! `mereo encode`: rows to codes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;
use mereo::{Fitted, with_data};
use mereo_core::{AnyTable, Error, Result, write_atomically};
use mereo_quantize::{Association, Gvq, codec::Coded};

use crate::args::ModelAndData;
use crate::output::{self, Format, Voice};

/// Turn rows into codes: how likely each state of each part is in each row
///
/// A code has one number for every state of every part, part by part; the numbers of one part add
/// up to 1. Columns are called part0.state0, part0.state1 and so on; those of a gvq model are 1 for
/// each feature that the row has, set0.feature0 and so on, and last the set that it is made of.
/// Preprocessing that the model learned with is applied first, and missing cells are simply not
/// looked at. --codes writes the codes of a gvq model with its features in few bytes, to be read by
/// `mereo decompress`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo encode model.safetensors data.csv -o codes.csv
  mereo encode model.safetensors toy:faces -o codes.npy
  mereo encode model.safetensors huge.parquet --stream -o codes.parquet
  mereo encode features.safetensors embeddings.npy --codes -o embeddings.gvq")]
pub(crate) struct EncodeArgs {
    #[command(flatten)]
    input: ModelAndData,

    /// The file to write: .csv, .tsv, .parquet or .npy; any name with --codes
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// How rows find the features of a gvq model: auto, exact, bp, br, mf, gibbs, dbp, dbr or local
    /// [default: auto]
    #[arg(long, value_name = "HOW", value_parser = PossibleValuesParser::new(Association::NAMES))]
    association: Option<String>,

    /// Write features and codes in few bytes instead of a table
    #[arg(long)]
    codes: bool,

    /// Bits that each number of a feature is rounded to, with --codes
    #[arg(long, value_name = "B", default_value_t = 16, requires = "codes")]
    bits: u8,
}

pub(crate) fn run(args: &EncodeArgs, voice: Voice) -> Result<ExitCode> {
    let EncodeArgs { input, output: path, .. } = args;
    if !args.codes {
        Format::of(path, false)?;
    }
    output::check_output(path, &input.files())?;
    let mut fitted = Fitted::open(&input.model)?;
    if let Some(association) = &args.association {
        let Some(features) = fitted.model.features() else {
            let problem = format!("a {} model has no features to associate", fitted.model.kind());
            return Err(Error::option("association", problem));
        };
        fitted.model = features.with_association(association)?.into();
    }
    let context = input.threads.context(0)?;
    let data = input.reading.open_for(&fitted, &input.data, &context, voice)?;
    if args.codes {
        let Some(model) = fitted.model.downcast_ref::<Gvq>() else {
            return Err(fitted.incapable("encode --codes"));
        };
        if fitted.steps.is_some() {
            let problem = "the model's preprocessing is not kept in such a file; learn one without";
            return Err(Error::option("codes", problem));
        }
        let coded = with_data!(&data, held => {
            Coded::of_table(model, held.source(), args.bits, &context)
                .map_err(|e| e.in_file(&input.data))?
        });
        let bytes = coded.to_bytes();
        write_atomically(path, |out| out.write_all(&bytes))?;
        voice.say(format_args!("{} bytes in {}", bytes.len(), path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let codes: AnyTable = with_data!(&data, held => {
        let source = held.source();
        let codes = fitted.encode(source, &context).map_err(|e| e.in_file(&input.data))?;
        output::called_alike(codes, source.about())?.into()
    });
    output::write_rows(path, &codes)?;
    let (rows, columns) = (codes.rows(), codes.columns());
    voice.say(format_args!("{rows} codes of {columns} numbers in {}", path.display()));
    Ok(ExitCode::SUCCESS)
}
