//! `mereo explain`: what a model sees in each row.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use mereo::{Explained, Fitted, with_data};
use mereo_core::{Result, plainly};
use serde_json::{Value, json};

use crate::args::ModelAndData;
use crate::odd::surprise_in_words;
use crate::output::{self, Voice};

/// Columns named in which a state stands out, and surprising cells.
const LIKE: usize = 4;
const SURPRISING: usize = 5;

/// Say what a model sees in rows: what each part shows, how surely, and which cells surprise
///
/// For each part the most likely state, how likely it is and where such rows stand out from the whole (or,
/// where parts have factors, where the row stands along each, in the factor's deviations), and the
/// columns that this state says most about: what was observed, and what the model makes of it. A cell
/// that is missing is filled in. At the end, the cells that are rare given the rest of the row.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo explain model.safetensors data.csv
  mereo explain model.safetensors data.csv --rows 17,42
  mereo explain model.safetensors people.csv --rows Ada,Grace
  mereo explain model.safetensors data.csv --rows 3 --json | jq '.[0].parts'")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    input: ModelAndData,

    /// The rows, by their names if the data has a column of names, or by their numbers, from 0
    /// [default: the first five]
    #[arg(long, value_name = "I,J,...", value_delimiter = ',')]
    rows: Vec<String>,

    /// Print a JSON list, one object a row
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ExplainArgs, voice: Voice) -> Result<ExitCode> {
    let input = &args.input;
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(0)?;
    let data = input.reading.open_for(&fitted, &input.data, &context, voice)?;
    let told = with_data!(&data, held => {
        let source = held.source();
        let mut rows = numbered(&args.rows, source.about().ids.as_deref(), source.rows())?;
        if rows.is_empty() {
            rows.extend(0..source.rows().min(5));
        }
        rows.sort_unstable();
        rows.dedup();
        fitted.explain(source, &rows, &context).map_err(|e| e.in_file(&input.data))?
    });
    if args.json {
        let rows: Vec<Value> = told.iter().map(in_json).collect();
        output::print_json(&json!(rows))?;
    } else {
        output::print(&told.iter().map(in_words).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The numbers of rows that are called by name or by number; a name comes first.
fn numbered(asked: &[String], names: Option<&[String]>, rows: usize) -> Result<Vec<usize>> {
    let find = |asked: &String| {
        let named = names.and_then(|names| names.iter().position(|name| name == asked));
        let number = || asked.trim().parse().ok().filter(|row: &usize| *row < rows);
        named.or_else(number).ok_or_else(|| {
            let problem = match names.and_then(<[String]>::first) {
                Some(first) => format!(
                    "there is no row {asked}; the data has {rows}, and the first is `{first}`"
                ),
                None => format!("there is no row {asked}; the data has {rows}, counted from 0"),
            };
            mereo_core::Error::option("rows", problem)
        })
    };
    asked.iter().map(find).collect()
}

fn in_json(told: &Explained) -> Value {
    let parts: Vec<Value> = told
        .parts
        .iter()
        .map(|shown| {
            let columns: Vec<Value> = shown
                .columns
                .iter()
                .zip(&shown.words)
                .map(|((name, x, made), [observed, as_made])| {
                    let said = [(x, observed), (made, as_made)].map(|(value, text)| {
                        let word = !text.is_empty() && is_word(*value, text);
                        if word { json!(text) } else { json!(value) }
                    });
                    json!({"name": name, "observed": said[0], "made": said[1]})
                })
                .collect();
            match shown.state {
                Some((state, probability)) => json!({
                    "state": state,
                    "probability": probability,
                    "stands_out": shown.like,
                    "columns": columns,
                }),
                None => json!({"factors": shown.factors, "columns": columns}),
            }
        })
        .collect();
    json!({"row": told.row, "name": told.name, "parts": parts, "surprising": told.surprising})
}

/// Whether a cell is a word: numbers are for programs, and words are for everybody.
fn is_word(value: f64, text: &str) -> bool {
    !value.is_nan() && text.parse::<f64>().is_err()
}

fn in_words(told: &Explained) -> String {
    let mut text = format!("row {}\n", output::name(&told.name));
    for (part, shown) in told.parts.iter().enumerate() {
        let cells = shown.columns.iter().zip(&shown.words);
        let columns = cells.map(|((name, x, made), [observed, as_made])| {
            let said = |value: f64, text: &str| match text {
                _ if value.is_nan() => "missing".to_owned(),
                "" => plainly(value),
                text => output::name(text),
            };
            let (name, x, made) = (output::name(name), said(*x, observed), said(*made, as_made));
            if x == made { format!("{name} {x}") } else { format!("{name} {x} -> {made}") }
        });
        let shows = match shown.state {
            Some((state, probability)) => format!("state {state} ({:.1}%)", 100.0 * probability),
            None => {
                let factors = shown.factors.iter().map(|m| format!("{m:+.2}"));
                format!("factors at {}", factors.collect::<Vec<_>>().join(", "))
            }
        };
        let like = shown.like.iter().take(LIKE).map(|standing| output::name(&standing.text));
        let like = like.collect::<Vec<_>>().join(", ");
        let columns = columns.collect::<Vec<_>>().join(", ");
        // Writing to a string does not fail.
        let _ = match like.as_str() {
            "" => writeln!(text, "  part {part}: {shows}  {columns}"),
            like => writeln!(text, "  part {part}: {shows}: {like}\n    {columns}"),
        };
    }
    for cell in told.surprising.iter().take(SURPRISING) {
        let _ = writeln!(text, "  surprising: {}", surprise_in_words(cell));
    }
    text
}
