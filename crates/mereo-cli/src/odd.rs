//! `mereo odd`: the rows that are not like the others, and why.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::{Held, Odd, OddCell, with_data};
use mereo_core::{Error, Result, how_often};
use serde_json::json;

use crate::args::{Reading, Threads, told_lines};
use crate::interrupt;
use crate::output::{self, Voice};

/// Cells told of for a row.
const CELLS: usize = 4;

/// List the oddest rows of a table with the cells that make them so, without choosing a model
///
/// Every cell is hidden once and compared with what the rest of its row lets expect: "height 140 (here usually
/// 176): 2 in 1,000". Rows with the rarest cells come first.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo odd data.csv
  mereo odd data.csv -n 5 --drop notes
  mereo odd data.csv --json | jq '.[0].cells'")]
pub(crate) struct OddArgs {
    /// The table: a file, - for the standard input, or toy:WORLD
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// How many rows to list
    #[arg(short = 'n', long = "rows", value_name = "N", default_value_t = 20)]
    rows: usize,

    /// Keep the model in a file
    #[arg(long, short, value_name = "MODEL")]
    model: Option<PathBuf>,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Print a JSON list: row, name, oddness, cells (column, found, expected, chance)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    reading: Reading,

    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &OddArgs, voice: Voice) -> Result<ExitCode> {
    if let Some(model) = &args.model {
        output::check_written("model", model, &args.reading.with_files(&[&args.data]))?;
        output::check_model_name(model)?;
    }
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let options = args.reading.options();
    let (data, told) = args.reading.open_told(&args.data, &options, &context, voice)?;
    told_lines(&told).iter().for_each(|line| voice.say(line));
    let (found, fitted) = with_data!(&data, held => {
        let Held::Table(table) = held else {
            return Err(Error::option("stream", "a table whose rows are compared is held in memory"));
        };
        mereo::odd(table, args.rows, &context).map_err(|e| e.in_file(&args.data))?
    });
    if let Some(path) = &args.model {
        fitted.save(path)?;
    }
    if args.json {
        output::print_json(&json!(found))?;
    } else if found.is_empty() {
        output::print("no row is odd: no cell is rarer than 1 in 20 given the rest of its row\n")?;
    } else {
        output::print(&found.iter().map(in_words).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(odd: &Odd) -> String {
    let mut text = format!("row {}\n", output::name(&odd.name));
    for cell in odd.cells.iter().take(CELLS) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {}", surprise_in_words(cell));
    }
    text
}

/// "Height 150 (here usually 175): 3 in 1,000"
pub(crate) fn surprise_in_words(cell: &OddCell) -> String {
    let [column, found, expected] =
        [&cell.column, &cell.found, &cell.expected].map(|text| output::name(text));
    format!("{column} {found} (here usually {expected}): {}", how_often(cell.chance))
}
