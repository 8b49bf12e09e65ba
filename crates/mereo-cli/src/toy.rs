//! `mereo toy`: a toy world's data as a file, with its truth beside it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mereo_core::{About, AnyTable, Error, Result, Table, write_atomically};
use mereo_data::toy::{Toy, World};

use crate::output::{self, Format, Voice};

/// Write a toy world's data to a file, and its truth beside it
///
/// Toy worlds are made from a seed and nothing else, and what was planted in them is known: which
/// part each column belongs to, and the state of every part in every row. The truth goes to a
/// JSON file of the same name, faces.truth.json beside faces.csv. The same rows and seed give the
/// same file.
///
/// A world's classes, if it has any, are in the truth; --labels also makes them a column of the
/// data, `label`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo toy faces -o faces.npy
  mereo toy shapes --rows 200 --seed 3 -o shapes.csv
  mereo toy ratings -o ratings.parquet")]
pub(crate) struct ToyArgs {
    /// The world
    #[arg(value_name = "WORLD", value_parser = world())]
    world: World,

    /// How many rows to make [default: the world's own number]
    #[arg(long, value_name = "N")]
    rows: Option<usize>,

    /// The seed that the world is made from
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// The file to write: .npy, .csv, .tsv or .parquet
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Write the rows' classes as a column `label` (not to npy)
    #[arg(long)]
    labels: bool,
}

/// Reads the name of a world.
pub(crate) fn world() -> impl TypedValueParser<Value = World> {
    PossibleValuesParser::new(World::ALL.map(World::name)).try_map(|name| name.parse::<World>())
}

pub(crate) fn run(args: &ToyArgs, voice: Voice) -> Result<ExitCode> {
    Format::of(&args.output, false)?;
    let truth_path = args.output.with_extension("truth.json");
    for path in [&args.output, &truth_path] {
        output::check_output(path, &[])?;
    }
    let Toy { table, truth } = args.world.make(args.rows, args.seed)?;
    let table = if args.labels { table } else { without_labels(table)? };
    let text = serde_json::to_string_pretty(&truth).map_err(|e| Error::option("truth", e))?;
    let (rows, columns) = (table.rows(), table.columns());
    mereo_data::write::write_table(&args.output, &AnyTable::from(table))?;
    write_atomically(&truth_path, |out| writeln!(out, "{text}"))?;
    voice.say(format_args!(
        "{rows} rows of {columns} columns in {}, the truth about them in {}",
        args.output.display(),
        truth_path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

fn without_labels(table: Table<f32>) -> Result<Table<f32>> {
    let about = About { labels: None, ..table.about().clone() };
    table.with_about(about)
}
