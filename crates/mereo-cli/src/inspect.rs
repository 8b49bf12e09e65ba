//! `mereo inspect`: what is in a file, before anything is learned.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use mereo::{Data, Held, with_data};
use mereo_core::{Cells, Real, Result, Table, plainly};
use mereo_data::{ReadOptions, Told};
use serde_json::{Value, json};

use crate::args::{Reading, Threads};
use crate::output::{self, Voice};

/// Columns shown.
const MOST: usize = 60;
/// Words shown of a column.
const WORDS: usize = 4;

/// Say what is in a file: its rows and columns, what each column holds and why, and what to do next
///
/// Nothing is learned and nothing is written. What a column holds is seen from its content; --kinds says
/// otherwise, here as for every other verb.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo inspect data.csv
  mereo inspect survey.xlsx --kinds zip=category,size=ordered
  mereo inspect data.csv --json | jq '.columns[].kind'")]
pub(crate) struct InspectArgs {
    /// The rows: a file, a folder, or toy:WORLD
    #[arg(value_name = "DATA")]
    data: PathBuf,

    #[command(flatten)]
    reading: Reading,

    #[command(flatten)]
    threads: Threads,

    /// Print one JSON object: rows, columns (name, kind, why, missing, ...), notices, next
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &InspectArgs, voice: Voice) -> Result<ExitCode> {
    let context = args.threads.context(0)?;
    let options = ReadOptions { ..args.reading.options() };
    let (data, told) = args.reading.open_told(&args.data, &options, &context, voice)?;
    let found = with_data!(&data, held => Found::of(held, told));
    let next = next(&args.data, &found, &data);
    if args.json {
        output::print_json(&json!({
            "rows": found.rows,
            "columns": found.columns,
            "missing": found.missing,
            "notices": found.notices,
            "next": next,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&found.in_words(&next))?;
    Ok(ExitCode::SUCCESS)
}

struct Found {
    rows: usize,
    learned: usize,
    missing: usize,
    mixed: bool,
    label: bool,
    columns: Vec<Value>,
    notices: Vec<String>,
}

impl Found {
    fn of<T: Real>(held: &Held<'_, T>, told: Told) -> Self {
        let source = held.source();
        let about = source.about();
        let (rows, learned) = (source.rows(), source.columns());
        let table = match held {
            Held::Table(table) => Some(table),
            Held::Stream(_) => None,
        };
        let summaries: Vec<Value> =
            (0..learned).map(|c| table.map_or(Value::Null, |t| summary(t, c))).collect();
        let missing = summaries.iter().filter_map(|s| s["missing"].as_u64()).sum::<u64>() as usize;
        let name = |c: usize| mereo_core::column_name(about.names.as_deref(), c);
        let mut columns: Vec<Value> = Vec::new();
        if told.columns.is_empty() {
            for (c, own) in summaries.into_iter().enumerate() {
                let mut column = json!({"name": name(c), "kind": "number", "why": "numbers"});
                merge(&mut column, own);
                columns.push(column);
            }
        } else {
            for told in &told.columns {
                let mut column = json!(told);
                if let Some(c) = (0..learned).find(|&c| told.is_learned() && name(c) == told.name) {
                    merge(&mut column, summaries[c].clone());
                }
                columns.push(column);
            }
        }
        Self {
            rows,
            learned,
            missing,
            mixed: about.is_mixed(),
            label: about.labels.is_some(),
            columns,
            notices: told.notices,
        }
    }

    fn in_words(&self, next: &[String]) -> String {
        let mut text = format!("{} rows, {} columns to learn from", self.rows, self.learned);
        let cells = (self.rows * self.learned).max(1) as f64;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            ", {} cells missing ({:.1}%)\n",
            self.missing,
            100.0 * self.missing as f64 / cells
        );
        let word = |column: &Value, key: &str| column[key].as_str().unwrap_or_default().to_owned();
        let shown = &self.columns[..self.columns.len().min(MOST)];
        let wide = shown.iter().map(|c| output::name(&word(c, "name")).chars().count());
        let wide = wide.max().unwrap_or(4).clamp(6, 40);
        let _ = writeln!(text, "{:wide$}  {:9}  {:>7}  content", "column", "kind", "missing");
        for column in shown {
            let missing = column["missing"].as_u64().unwrap_or(0);
            let content = match column["content"].as_str() {
                Some(content) => output::name(content),
                None => output::name(&word(column, "why")),
            };
            let name = output::name(&word(column, "name"));
            let _ =
                writeln!(text, "{name:wide$}  {:9}  {missing:>7}  {content}", word(column, "kind"));
        }
        if self.columns.len() > MOST {
            let _ = writeln!(text, "and {} more", self.columns.len() - MOST);
        }
        for notice in &self.notices {
            let _ = writeln!(text, "\n{}", output::name(notice));
        }
        text.push_str("\nnext:\n");
        for line in next {
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

fn merge(column: &mut Value, own: Value) {
    if let (Value::Object(column), Value::Object(own)) = (column, own) {
        column.extend(own);
    }
}

/// What a column holds: from where to where, or which words.
fn summary<T: Real>(table: &Table<T>, column: usize) -> Value {
    let Cells::Dense(cells) = table.cells() else { return Value::Null };
    let about = table.about();
    let values: Vec<f64> = (0..cells.rows())
        .map(|row| cells.row(row)[column].to_f64())
        .filter(|value| !value.is_nan())
        .collect();
    let missing = cells.rows() - values.len();
    if values.is_empty() {
        return json!({"missing": missing, "content": "nothing"});
    }
    let levels = about.kind(column).levels();
    if levels.is_empty() {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let date = *about.kind(column) == mereo_core::ColumnKind::Date;
        let shown = |x: f64| if date { about.cell(column, x.round()) } else { plainly(x) };
        let content = format!("{} to {}, mean {}", shown(low), shown(high), shown(mean));
        return json!({"missing": missing, "lowest": low, "highest": high, "mean": mean, "content": content});
    }
    let mut shares: Vec<(usize, &String)> = levels
        .iter()
        .enumerate()
        .map(|(l, word)| (values.iter().filter(|v| **v == l as f64).count(), word))
        .collect();
    if !matches!(about.kind(column), mereo_core::ColumnKind::Ordered { .. }) {
        shares.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    }
    let percent = |count: usize| format!("{:.0}%", 100.0 * count as f64 / values.len() as f64);
    let mut words: Vec<String> = shares
        .iter()
        .take(WORDS)
        .map(|(count, word)| format!("{word} {}", percent(*count)))
        .collect();
    if levels.len() > WORDS {
        words.push(format!("{} more", levels.len() - WORDS));
    }
    json!({"missing": missing, "content": words.join(", ")})
}

fn next(path: &Path, found: &Found, data: &Data) -> Vec<String> {
    let data_name = output::name(&path.display().to_string());
    if with_data!(data, held => held.source().absent()).is_some() {
        return vec![format!("mereo fit mcvq {data_name}")];
    }
    let mut next = Vec::new();
    if found.missing > 0 {
        next.push(format!("mereo fill {data_name} -o filled.csv"));
    }
    next.push(format!("mereo fit mcvq {data_name} -o model.safetensors"));
    next.push(format!("mereo report model.safetensors {data_name} -o report.html"));
    if found.mixed || found.learned > 1 {
        next.push(format!("mereo groups {data_name} -o grouped.csv"));
        next.push(format!("mereo odd {data_name}"));
    }
    if found.label {
        next.push(format!("mereo fit mcvq {data_name} --classes labels -o classes.safetensors"));
    }
    next
}
