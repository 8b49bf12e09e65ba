//! `mereo fill`: the holes of a table filled, by whatever fills hidden cells best.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use mereo::{Filling, Held, Origin, with_data, write_completed};
use mereo_core::{AnyTable, Context, Error, Real, Result, Table, plainly};
use serde_json::json;

use crate::args::{Reading, Threads, told_lines};
use crate::interrupt;
use crate::output::{self, Format, Voice};
use crate::reconstruct::numbered;

/// Fill the holes of a table, without choosing a model
///
/// A few models are tried on cells that are hidden on purpose, and those that say best what was there fill
/// the holes; the output says which, and how good they are. The table that is written is yours: rows,
/// columns, names, words and numbers as they stand, and only what was missing is new. With --draws, several
/// tables with draws in the holes, for multiple imputation.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fill data.csv -o filled.csv
  mereo fill survey.csv -o filled.csv --probabilities
  mereo fill survey.csv -o filled.csv --draws 5
  mereo fill data.csv -o filled.csv -m model.safetensors --json | jq .tried")]
pub(crate) struct FillArgs {
    /// The table: a file, - for the standard input, or toy:WORLD
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// The file to write: .csv, .tsv, .parquet or .npy
    #[arg(long, short, value_name = "FILLED")]
    output: PathBuf,

    /// Keep the best model in a file
    #[arg(long, short, value_name = "MODEL")]
    model: Option<PathBuf>,

    /// Write this many tables with draws in the holes: FILLED-1.csv, FILLED-2.csv, ...
    #[arg(long, value_name = "N")]
    draws: Option<usize>,

    /// Add columns that say how sure each fill is: the probability of a word, the standard error of a number
    #[arg(long)]
    probabilities: bool,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Print one JSON object: chosen, error, tried, columns, files, seconds
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    reading: Reading,

    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &FillArgs, voice: Voice) -> Result<ExitCode> {
    Format::of(&args.output, false)?;
    output::check_one_stream(&args.output, args.json)?;
    if args.draws.is_some() && output::is_standard(&args.output) {
        return Err(Error::option("draws", "several tables need files; say one with --output"));
    }
    let inputs = args.reading.with_files(&[&args.data]);
    output::check_output(&args.output, &inputs)?;
    if let Some(model) = &args.model {
        output::check_written("model", model, &inputs)?;
        output::check_model_name(model)?;
    }
    if args.draws == Some(0) {
        return Err(Error::option("draws", "at least 1 is needed"));
    }
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let options = args.reading.options();
    let (data, told) = args.reading.open_told(&args.data, &options, &context, voice)?;
    told_lines(&told).iter().for_each(|line| voice.say(line));
    let origin = Origin { path: &args.data, options: &options, told: &told };
    with_data!(&data, held => {
        let Held::Table(table) = held else {
            return Err(Error::option("stream", "a table that is filled is held in memory"));
        };
        fill(args, table, origin, &context, voice).map_err(|e| e.in_file(&args.data))
    })
}

fn fill<T: Real>(
    args: &FillArgs,
    table: &Table<T>,
    origin: Origin<'_>,
    context: &Context,
    voice: Voice,
) -> Result<ExitCode>
where
    AnyTable: From<Table<T>>,
{
    let began = Instant::now();
    let filling = mereo::fill(table, context, &mut |tried| {
        voice.say(format_args!("  {:.3}  {}", tried.error, tried.name));
    })?;
    let added = if args.probabilities { sureness(&filling, table, context)? } else { Vec::new() };
    let mut files = Vec::new();
    match args.draws {
        None => {
            let filled = filling.complete(table, context)?;
            output::through(&args.output, |path| {
                write_completed(origin, table, Some(&filled), &added, path)
            })?;
            files.push(args.output.clone());
        }
        Some(draws) => {
            for number in 0..draws {
                let filled = filling.draw(table, number as u64, context)?;
                let path = numbered(&args.output, number + 1);
                write_completed(origin, table, Some(&filled), &added, &path)?;
                files.push(path);
            }
        }
    }
    if let Some(path) = &args.model {
        filling.models[0].save(path)?;
    }
    let seconds = began.elapsed().as_secs_f64();
    if args.json {
        output::print_json(&json!({
            "chosen": filling.name(),
            "error": filling.error,
            "tried": filling.tried,
            "columns": filling.columns,
            "filled": filling.columns.iter().map(|c| c.missing).sum::<usize>(),
            "files": files,
            "model": args.model,
            "seconds": seconds,
        }))?;
    } else {
        output::tell_beside(Some(&args.output), &in_words(&filling, &files, seconds), voice)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Columns that say how sure fills are, for columns with holes.
fn sureness<T: Real>(
    filling: &Filling,
    table: &Table<T>,
    context: &Context,
) -> Result<Vec<(String, Vec<String>)>> {
    let sure = filling.sureness(table, context)?;
    let columns = filling.columns.iter().enumerate().filter(|(_, column)| column.missing > 0);
    let added = columns.map(|(c, column)| {
        let words = !table.about().kind(c).levels().is_empty();
        let what = if words { "probability" } else { "standard error" };
        let cell = |row: usize| match sure.row(row)[c] {
            value if value.is_nan() => String::new(),
            value => plainly(value),
        };
        (format!("{} ({what})", column.column), (0..table.rows()).map(cell).collect())
    });
    Ok(added.collect())
}

fn in_words(filling: &Filling, files: &[PathBuf], seconds: f64) -> String {
    let holes: usize = filling.columns.iter().map(|c| c.missing).sum();
    let mut text = format!(
        "{holes} holes filled by {} in {seconds:.1} s\n\
         error on hidden cells {:.3} (1 is what always saying the mean or the commonest word gets)\n",
        filling.name(),
        filling.error
    );
    let name = |c: &mereo::Filled| output::name(&c.column);
    let shown = filling.columns.iter().filter(|c| c.missing > 0 && c.error.is_some());
    let wide = shown.clone().map(|c| name(c).chars().count()).max().unwrap_or(0).clamp(6, 40);
    if shown.clone().next().is_some() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "\n{:wide$}  {:>7}  how good", "column", "missing");
    }
    for column in shown {
        let (error, base) = (column.error.unwrap_or(0.0), column.baseline.unwrap_or(0.0));
        let how = match column.kind.as_str() {
            "number" | "count" | "date" => {
                format!("off by {} (the mean: {})", plainly(error), plainly(base))
            }
            _ => format!(
                "right in {:.0}% (the commonest word: {:.0}%)",
                100.0 * (1.0 - error),
                100.0 * (1.0 - base)
            ),
        };
        let _ = writeln!(text, "{:wide$}  {:>7}  {how}", name(column), column.missing);
    }
    for file in files {
        let _ = writeln!(text, "{}", shown_path(file));
    }
    text
}

fn shown_path(path: &Path) -> String {
    output::name(&path.display().to_string())
}
