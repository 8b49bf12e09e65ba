//! `mereo similar`: rows, or columns, that are alike.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::{Alike, Fitted, with_data};
use mereo_core::{About, Error, Result, column_name};
use serde_json::{Value, json};

use crate::args::{Reading, Threads};
use crate::output::{self, Voice};

/// Find the rows of DATA that are most like a row, or the columns most like a column
///
/// Rows are alike if their codes are: documents on the same subjects, faces with the same mouth, people of the same taste. Where codes are
/// probabilities of states, likeness is how much those of each part have in common, from 0 to 1; otherwise it is the cosine of the codes. Columns
/// (films, words, pixels) are alike if the model's states or components raise and lower them together; no DATA is needed for that.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo similar nips.safetensors docword.nips.txt --row 17
  mereo similar films.safetensors u.data --row 42 -n 5
  mereo similar films.safetensors --column Fargo")]
pub(crate) struct SimilarArgs {
    /// The model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// The rows: a file, a folder, or toy:WORLD
    #[arg(value_name = "DATA", required_unless_present = "column")]
    data: Option<PathBuf>,

    /// The row: its id, or its number from 0 where rows have no ids
    #[arg(
        long,
        value_name = "ID|NUMBER",
        required_unless_present = "column",
        conflicts_with = "column"
    )]
    row: Option<String>,

    /// The column: its id, name or number
    #[arg(long, value_name = "NAME", conflicts_with = "data")]
    column: Option<String>,

    /// How many
    #[arg(short, long = "number", value_name = "N", default_value_t = 10)]
    n: usize,

    /// Print one JSON object: what was asked about, and a list of what is like it
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    threads: Threads,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &SimilarArgs, voice: Voice) -> Result<ExitCode> {
    let fitted = Fitted::open(&args.model)?;
    if let Some(column) = &args.column {
        let number = column_number(&fitted, column)?;
        let alike = fitted.similar_columns(number, args.n)?;
        return tell(args, "column", number, &alike, |at| column_title(&fitted, at));
    }
    let (Some(path), Some(row)) = (&args.data, &args.row) else {
        return Err(Error::option("row", "say which row, and the data that it is in"));
    };
    let context = args.threads.context(0)?;
    let data = args.reading.open_for(&fitted, path, &context, voice)?;
    with_data!(&data, held => {
        let source = held.source();
        let number = row_number(source.about(), source.rows(), row)?;
        let alike = fitted
            .similar_rows(source, number, args.n, &context)
            .map_err(|e| e.in_file(path))?;
        tell(args, "row", number, &alike, |at| source.about().row_name(at))
    })
}

fn tell(
    args: &SimilarArgs,
    what: &str,
    of: usize,
    alike: &[Alike],
    name: impl Fn(usize) -> String,
) -> Result<ExitCode> {
    if args.json {
        let each: Vec<Value> = alike
            .iter()
            .map(
                |a| json!({"name": name(a.number), "number": a.number, "similarity": a.similarity}),
            )
            .collect();
        output::print_json(&json!({what: name(of), "number": of, "similar": each}))?;
    } else {
        let line =
            |a: &Alike| format!("{:>7.4}  {}\n", a.similarity, output::name(&name(a.number)));
        output::print(&alike.iter().map(line).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The number of a row that is called by its id, or by its number.
pub(crate) fn row_number(about: &About, rows: usize, row: &str) -> Result<usize> {
    if let Some(ids) = &about.ids {
        if let Some(at) = ids.iter().position(|id| id == row) {
            return Ok(at);
        }
        let example = ids.first().map_or_else(String::new, |id| format!(", `{id}` for one"));
        let problem = format!("there is no `{row}`; the data has {rows} rows with ids{example}");
        return Err(Error::option("row", problem));
    }
    row.parse().ok().filter(|at| *at < rows).ok_or_else(|| {
        Error::option(
            "row",
            format!(
                "there is no row `{row}`; they are numbered from 0 to {}",
                rows.saturating_sub(1)
            ),
        )
    })
}

fn column_title(fitted: &Fitted, at: usize) -> String {
    column_name(fitted.manifest.columns.as_deref().or(fitted.manifest.keys.as_deref()), at)
}

fn column_number(fitted: &Fitted, name: &str) -> Result<usize> {
    let find = |names: Option<&Vec<String>>| names?.iter().position(|own| own == name);
    find(fitted.manifest.keys.as_ref())
        .or_else(|| find(fitted.manifest.columns.as_ref()))
        .or_else(|| name.parse().ok().filter(|at| *at < fitted.model.columns()))
        .ok_or_else(|| {
            let example = column_title(fitted, 0);
            Error::option(
                "column",
                format!("there is no `{name}`; a column of the model is `{example}`"),
            )
        })
}
