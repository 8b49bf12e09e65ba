//! `mereo groups`: rows that are alike.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::{Grouped, Held, Origin, with_data, write_completed};
use mereo_core::{Error, Result};
use serde_json::json;

use crate::args::{Reading, Threads, told_lines};
use crate::interrupt;
use crate::output::{self, Format, Voice};

/// Put rows that are alike into groups, and say what makes each group different
///
/// Writes the table with a column `group` added: 1 is the largest. The groups are told by where they stand out
/// from the whole, in the table's own words, and by the rows that show them best.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo groups data.csv -o grouped.csv
  mereo groups data.csv -k 4 -o grouped.csv
  mereo groups data.csv -k 3 -o grouped.csv -m groups.safetensors --json")]
pub(crate) struct GroupsArgs {
    /// The table: a file, - for the standard input, or toy:WORLD
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// How many groups, or auto: as many as the data speaks for
    #[arg(short, long, value_name = "N|auto", default_value = "auto", value_parser = how_many)]
    k: HowMany,

    /// The file to write: .csv, .tsv or .parquet
    #[arg(long, short, value_name = "WITH_GROUPS")]
    output: Option<PathBuf>,

    /// Keep the model in a file
    #[arg(long, short, value_name = "MODEL")]
    model: Option<PathBuf>,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Print one JSON object: groups (rows, `stands_out`, typical), `of_row`, sureness
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    reading: Reading,

    #[command(flatten)]
    threads: Threads,
}

/// A number of groups, if somebody says.
#[derive(Debug, Clone, Copy)]
struct HowMany(Option<usize>);

fn how_many(text: &str) -> std::result::Result<HowMany, String> {
    match text {
        "auto" => Ok(HowMany(None)),
        number => match number.parse::<usize>() {
            Ok(number) if number > 0 => Ok(HowMany(Some(number))),
            _ => Err("expected a number from 1 up, or auto".to_owned()),
        },
    }
}

pub(crate) fn run(args: &GroupsArgs, voice: Voice) -> Result<ExitCode> {
    let inputs = args.reading.with_files(&[&args.data]);
    if let Some(path) = &args.output {
        Format::of(path, false)?;
        output::check_one_stream(path, args.json)?;
        output::check_output(path, &inputs)?;
    }
    if let Some(model) = &args.model {
        output::check_written("model", model, &inputs)?;
        output::check_model_name(model)?;
    }
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let options = args.reading.options();
    let (data, told) = args.reading.open_told(&args.data, &options, &context, voice)?;
    told_lines(&told).iter().for_each(|line| voice.say(line));
    let origin = Origin { path: &args.data, options: &options, told: &told };
    let found = with_data!(&data, held => {
        let Held::Table(table) = held else {
            return Err(Error::option("stream", "a table whose rows are grouped is held in memory"));
        };
        let found = mereo::groups(table, args.k.0, &context).map_err(|e| e.in_file(&args.data))?;
        if let Some(path) = &args.output {
            let mut name = "group".to_owned();
            while table.about().names.iter().flatten().any(|own| *own == name) {
                name.push('_');
            }
            let cells = found.of_row.iter().map(|group| (group + 1).to_string()).collect();
            let added = [(name, cells)];
            output::through(path, |path| write_completed(origin, table, None, &added, path))?;
        }
        found
    });
    if let Some(path) = &args.model {
        found.fitted.save(path)?;
    }
    if args.json {
        output::print_json(&json!({
            "groups": found.groups,
            "of_row": found.of_row.iter().map(|group| group + 1).collect::<Vec<_>>(),
            "sureness": found.sureness,
        }))?;
    } else {
        output::tell_beside(args.output.as_deref(), &in_words(&found), voice)?;
    }
    if let Some(path) = &args.output {
        voice.say(format_args!("{} rows in {}", found.of_row.len(), path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(found: &Grouped) -> String {
    let rows = found.of_row.len().max(1) as f64;
    let mut text = String::new();
    for (number, group) in found.groups.iter().enumerate() {
        // Writing to a string does not fail.
        let share = 100.0 * group.rows as f64 / rows;
        let _ = writeln!(text, "group {}: {} rows ({share:.0}%)", number + 1, group.rows);
        for standing in &group.stands_out {
            let _ = writeln!(text, "  {}", output::name(&standing.text));
        }
        let typical: Vec<String> = group.typical.iter().map(|name| output::name(name)).collect();
        let _ = writeln!(text, "  typical rows: {}", typical.join(", "));
    }
    text
}
