//! `mereo score`: how well a model explains each row.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo_core::{
    AnyTable, Context, Dense, Likelihood, Real, Result, ScoreKind, Scores, Source, Table, estimate,
    map_rows,
};
use serde_json::json;

use crate::args::{ModelAndData, Rule};
use crate::data::with_data;
use crate::fitted::{Fitted, for_each_batch};
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
        output::check_output(path, &input.files())?;
    }
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(rule.seed)?;
    let how = rule.likelihood();
    let data = fitted.open_data(&input.data, &input.reading, &context, voice)?;
    let scores = with_data!(&data, held => {
        score(&fitted, held.source(), how, &context).map_err(|e| e.in_file(&input.data))?
    });
    if let Some(path) = path {
        let column = Dense::of_results(scores.rows.len(), 1, scores.rows.clone())?;
        let table = Table::from(column).with_names(vec!["score".to_owned()])?;
        output::write_rows(path, &AnyTable::from(table))?;
        voice.say(format_args!("{} scores in {}", scores.rows.len(), path.display()));
    }
    let of_prepared = !has_density(&fitted);
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
        output::print_json(&told)?;
    } else {
        output::print(&summary(&scores))?;
    }
    if of_prepared {
        voice.say(
            "mereo: a step of this model has no density: the scores are those of prepared rows, \
             not to be compared with scores of other preparations",
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn has_density(fitted: &Fitted) -> bool {
    fitted.steps.as_ref().is_none_or(mereo_data::steps::Steps::has_density)
}

/// One number a row, in the data's units where the steps allow it; worked out as the model offers
/// it if nothing else is wanted.
pub(crate) fn score<T: Real>(
    fitted: &Fitted,
    raw: &dyn Source<T>,
    how: Option<Likelihood>,
    context: &Context,
) -> Result<Scores> {
    let mut scores = of_prepared(fitted, &*fitted.prepared(raw)?, how, context)?;
    if let Some(steps) = &fitted.steps
        && steps.has_density()
    {
        let (mut moved, mut total) = (0.0, 0.0);
        for_each_batch(raw, |batch| {
            let volumes = steps.log_volume(batch)?.unwrap_or_default();
            let rows = &mut scores.rows[batch.first_row..];
            for (row, (score, volume)) in rows.iter_mut().zip(volumes).enumerate() {
                *score += volume;
                moved += batch.weight(row) * volume;
                total += batch.weight(row);
            }
            Ok(())
        })?;
        scores.mean += if total > 0.0 { moved / total } else { 0.0 };
    }
    Ok(scores)
}

fn of_prepared<T: Real>(
    fitted: &Fitted,
    prepared: &dyn Source<T>,
    how: Option<Likelihood>,
    context: &Context,
) -> Result<Scores> {
    let scorer = fitted.model.scorer::<T>();
    match (how, fitted.model.estimator::<T>(), scorer) {
        (Some(how), Some(estimator), _) => estimate(estimator, how, prepared, context),
        (how, _, Some(scorer)) if how.is_none_or(|how| how.kind() == scorer.score_kind()) => {
            // Weights come with the batches: a stream knows them nowhere else.
            let scored = map_rows(prepared, context, 1, |batch, out: &mut [(f64, f64)]| {
                let mut scores = vec![0.0; batch.rows];
                scorer.score_batch(batch, &mut scores);
                for (row, (score, out)) in scores.iter().zip(out).enumerate() {
                    *out = (*score, batch.weight(row));
                }
            })?;
            let (rows, weights): (Vec<f64>, Vec<f64>) = scored.into_iter().unzip();
            Ok(Scores::new(scorer.score_kind(), rows, &weights))
        }
        (Some(_), _, Some(_)) => Err(fitted.incapable("score in this way")),
        _ => Err(fitted.incapable("score")),
    }
}

/// Nats, readable however many.
fn nats(score: f64) -> String {
    if score.abs() < 1e15 { format!("{score:.4}") } else { format!("{score:.4e}") }
}

fn summary(scores: &Scores) -> String {
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
         least expected: row {worst}\n",
        order.len(),
        score(worst),
        score(best),
        score(order[order.len() / 2])
    )
}
