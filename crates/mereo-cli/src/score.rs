//! `mereo score`: how well a model explains each row.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::{Fitted, with_data};
use mereo_core::{About, AnyTable, ColumnKind, Dense, Result, Score, ScoreKind, Scores, Table};
use serde_json::json;

use crate::args::{ModelAndData, Rule};
use crate::output::{self, Format, Voice};

/// Say how well a model explains each row: its log density, in nats
///
/// Higher is better. The number is exact, a lower bound or an estimate, depending on the kind of
/// model, and the output says which. Rows that score far below the others are unusual. If the
/// model learned with preprocessing, densities are brought back to the data's units; where a step
/// has no density (equalise, normalise-counts, remove-row-means), they are those of the prepared
/// rows, and the output says so. Missing cells are not counted.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo score model.safetensors held-out.csv
  mereo score model.safetensors held-out.csv --json | jq .mean
  mereo score model.safetensors data.parquet -o scores.csv
  mereo score model.safetensors held-out.csv --likelihood importance --samples 500")]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    input: ModelAndData,

    #[command(flatten)]
    rule: Rule,

    /// Write one number a row to a file: .csv, .tsv, .parquet or .npy
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print one JSON object: kind, mean, rows; of estimates also `standard_error` (of the mean) and
    /// `effective_samples` (of a row, on average)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ScoreArgs, voice: Voice) -> Result<ExitCode> {
    let ScoreArgs { input, rule, output: path, json } = args;
    if let Some(path) = path {
        Format::of(path, false)?;
        output::check_one_stream(path, *json)?;
        output::check_output(path, &input.files())?;
    }
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(rule.seed)?;
    let how = rule.likelihood();
    let data = input.reading.open_for(&fitted, &input.data, &context, voice)?;
    let (scores, about) = with_data!(&data, held => {
        let source = held.source();
        let scores = fitted.score(source, how, &context).map_err(|e| e.in_file(&input.data))?;
        (scores, source.about().clone())
    });
    if let Some(path) = path {
        let column = Dense::of_results(scores.rows.len(), 1, scores.rows.clone())?;
        let table = Table::from(column).with_names(vec!["score".to_owned()])?;
        let table = output::called_alike(table, &about)?;
        output::write_rows(path, &AnyTable::from(table))?;
        voice.say(format_args!("{} scores in {}", scores.rows.len(), path.display()));
    }
    let of_prepared = !fitted.has_density();
    if *json {
        let mut told = json!({
            "kind": scores.kind,
            "mean": scores.mean,
            "rows": scores.rows,
            "units": if of_prepared { "prepared" } else { "data" },
        });
        if let (Some(error), Some(effective)) = (scores.standard_error, scores.effective_samples) {
            told["standard_error"] = json!(error);
            told["effective_samples"] = json!(effective);
        }
        if let Some(names) = &about.ids {
            told["names"] = json!(names);
        }
        output::print_json(&told)?;
    } else {
        let told = summary(&scores, &about) + &units(&fitted, of_prepared);
        output::tell_beside(path.as_deref(), &told, voice)?;
    }
    if of_prepared {
        voice.say(
            "mereo: a step of this model has no density: the scores are those of prepared rows, \
             not to be compared with scores of other preparations",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// What scores are measured in: densities of numbers per unit of their column, and probabilities of counts and words.
fn units(fitted: &Fitted, of_prepared: bool) -> String {
    let about = fitted.about();
    let columns = fitted.manifest.kinds.as_ref().map_or(0, Vec::len);
    let masses = (0..columns).filter(|&d| {
        let kind = about.kind(d);
        *kind == ColumnKind::Count || !kind.levels().is_empty()
    });
    let (mut masses, all) = (masses.count(), fitted.model.columns());
    if fitted.model.scorer::<f64>().is_some_and(Score::takes_levels) {
        masses = all;
    }
    let density =
        if of_prepared { "per unit of the prepared columns" } else { "per unit of each column" };
    match (masses, all - masses.min(all)) {
        (0, _) => format!(
            "in natural logarithms of densities, {density}: other units give other scores\n"
        ),
        (_, 0) => {
            "in natural logarithms of probabilities: every column is of levels, counts or words\n"
                .to_owned()
        }
        (masses, numbers) => format!(
            "in natural logarithms: of probabilities for {masses} columns of counts and words, of densities, {density}, \
             for {numbers} of numbers and dates\n"
        ),
    }
}

/// Nats, readable however many.
fn nats(score: f64) -> String {
    if score.abs() < 1e15 { format!("{score:.4}") } else { format!("{score:.4e}") }
}

fn summary(scores: &Scores, about: &About) -> String {
    let kind = match scores.kind {
        ScoreKind::Exact => "log density",
        ScoreKind::Bound => "lower bound on the log density",
        ScoreKind::Estimate => "estimate of the log density",
    };
    let mut mean = format!("{} nats a row: the mean {kind}\n", nats(scores.mean));
    if let (Some(error), Some(effective)) = (scores.standard_error, scores.effective_samples) {
        // Writing to a string does not fail.
        let _ = writeln!(
            mean,
            "give or take {error:.4} (standard error); {effective:.1} effective samples a row"
        );
    }
    let mut order: Vec<usize> = (0..scores.rows.len()).collect();
    order.sort_by(|&a, &b| scores.rows[a].total_cmp(&scores.rows[b]));
    let (Some(&worst), Some(&best)) = (order.first(), order.last()) else { return mean };
    let score = |row: usize| nats(scores.rows[row]);
    format!(
        "{mean}{} rows, from {} to {}, half of them above {}\n\
         least expected: row {}\n",
        order.len(),
        score(worst),
        score(best),
        score(order[order.len() / 2]),
        output::name(&about.row_name(worst))
    )
}
