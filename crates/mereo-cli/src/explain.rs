//! `mereo explain`: what a model sees in each row.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use mereo::{Explained, Fitted, with_data};
use mereo_core::Result;
use serde_json::{Value, json};

use crate::args::ModelAndData;
use crate::output::{self, Voice};

/// Say what a model sees in rows: what each part shows, how surely, and what follows
///
/// For each part the most likely state and how likely it is (or, where parts have factors, where the row
/// stands along each, in the factor's deviations), and the columns that this state says most
/// about: what was observed, and what the model makes of it. A cell that is missing is filled in.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo explain model.safetensors data.csv
  mereo explain model.safetensors data.csv --rows 17,42
  mereo explain model.safetensors data.csv --rows 3 --json | jq '.[0].parts'")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    input: ModelAndData,

    /// The numbers of the rows, from 0 [default: the first five]
    #[arg(long, value_name = "I,J,...", value_delimiter = ',')]
    rows: Vec<usize>,

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
        let mut rows = args.rows.clone();
        if rows.is_empty() {
            rows.extend(0..source.rows().min(5));
        }
        rows.sort_unstable();
        rows.dedup();
        if let Some(row) = rows.iter().find(|row| **row >= source.rows()) {
            let problem = format!("there is no row {row}; the data has {}", source.rows());
            return Err(mereo_core::Error::option("rows", problem));
        }
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

fn in_json(told: &Explained) -> Value {
    let parts: Vec<Value> = told
        .parts
        .iter()
        .map(|shown| {
            let columns: Vec<Value> = shown
                .columns
                .iter()
                .map(|(name, x, made)| json!({"name": name, "observed": x, "made": made}))
                .collect();
            match shown.state {
                Some((state, probability)) => {
                    json!({"state": state, "probability": probability, "columns": columns})
                }
                None => json!({"factors": shown.factors, "columns": columns}),
            }
        })
        .collect();
    json!({"row": told.row, "parts": parts})
}

fn in_words(told: &Explained) -> String {
    let mut text = format!("row {}\n", told.row);
    for (part, shown) in told.parts.iter().enumerate() {
        let columns = shown.columns.iter().map(|(name, x, made)| {
            let x = if x.is_nan() { "missing".to_owned() } else { format!("{x:.4}") };
            format!("{} {x} -> {made:.4}", output::name(name))
        });
        let shows = match shown.state {
            Some((state, probability)) => format!("state {state} ({:.1}%)", 100.0 * probability),
            None => {
                let factors = shown.factors.iter().map(|m| format!("{m:+.2}"));
                format!("factors at {}", factors.collect::<Vec<_>>().join(", "))
            }
        };
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "  part {part}: {shows}  {}", columns.collect::<Vec<_>>().join(", "));
    }
    text
}
