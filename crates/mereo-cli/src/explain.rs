//! `mereo explain`: what a model sees in each row.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use mereo_core::{Context, Real, Result, Source, column_name};
use serde_json::{Value, json};

use crate::args::ModelAndData;
use crate::data::with_data;
use crate::encode::codes;
use crate::fitted::Fitted;
use crate::output::{self, Voice};
use crate::page::{in_full, pick};
use crate::reconstruct::reconstruct;

/// Columns told of for each part, those that the state says most about.
const COLUMNS: usize = 6;

/// Say what a model sees in rows: the state that each part shows, how surely, and what follows
///
/// For each part the most likely state, how likely it is, and the columns that this state says most
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
    let data = fitted.open_data(&input.data, &input.reading, &context, voice)?;
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
        explain(&fitted, source, &rows, &context).map_err(|e| e.in_file(&input.data))?
    });
    if args.json {
        let rows: Vec<Value> = told.iter().map(Explained::in_json).collect();
        output::print_json(&json!(rows))?;
    } else {
        output::print(&told.iter().map(Explained::in_words).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What a model sees in a row.
struct Explained {
    row: usize,
    parts: Vec<Shown>,
}

/// What a part shows.
struct Shown {
    state: usize,
    probability: f64,
    /// Name, what was observed (NaN if nothing), what the model makes of it.
    columns: Vec<(String, f64, f64)>,
}

fn explain<T: Real>(
    fitted: &Fitted,
    raw: &dyn Source<T>,
    numbers: &[usize],
    context: &Context,
) -> Result<Vec<Explained>> {
    let view = fitted.model.parts().ok_or_else(|| fitted.incapable("explain"))?;
    let picked = pick(raw, numbers)?;
    let observed = in_full(&picked)?;
    let codes = in_full(&codes(fitted, &picked, context)?)?;
    if codes.columns() != view.parts * view.states {
        return Err(fitted.incapable("explain"));
    }
    let made = reconstruct(fitted, &picked, false, context)?;
    let names = fitted.manifest.columns.as_deref();
    let part_of_column = view.part_of_column();
    let explained = |(at, &row): (usize, &usize)| {
        let parts = codes.row(at).chunks_exact(view.states).enumerate();
        let shown = parts.map(|(part, code)| {
            let state = (0..code.len()).fold(0, |b, j| if code[j] > code[b] { j } else { b });
            let moved = view.conspicuousness(part, state);
            let mut own: Vec<usize> =
                (0..view.columns).filter(|&d| part_of_column[d] == part).collect();
            own.sort_by(|&a, &b| moved[b].abs().total_cmp(&moved[a].abs()).then(a.cmp(&b)));
            own.truncate(COLUMNS);
            let columns = own
                .iter()
                .map(|&d| (column_name(names, d), observed.row(at)[d], made.row(at)[d].to_f64()));
            Shown { state, probability: code[state], columns: columns.collect() }
        });
        Explained { row, parts: shown.collect() }
    };
    Ok(numbers.iter().enumerate().map(explained).collect())
}

impl Explained {
    fn in_json(&self) -> Value {
        let parts: Vec<Value> = self
            .parts
            .iter()
            .map(|shown| {
                let columns: Vec<Value> = shown
                    .columns
                    .iter()
                    .map(|(name, x, made)| json!({"name": name, "observed": x, "made": made}))
                    .collect();
                json!({"state": shown.state, "probability": shown.probability, "columns": columns})
            })
            .collect();
        json!({"row": self.row, "parts": parts})
    }

    fn in_words(&self) -> String {
        let mut text = format!("row {}\n", self.row);
        for (part, shown) in self.parts.iter().enumerate() {
            let columns = shown.columns.iter().map(|(name, x, made)| {
                let x = if x.is_nan() { "missing".to_owned() } else { format!("{x:.4}") };
                format!("{} {x} -> {made:.4}", output::name(name))
            });
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "  part {part}: state {} ({:.1}%)  {}",
                shown.state,
                100.0 * shown.probability,
                columns.collect::<Vec<_>>().join(", ")
            );
        }
        text
    }
}
