//! `mereo score`: how well a model explains each row.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo_core::{
    AnyTable, Context, Dense, Real, Result, ScoreKind, Scores, Source, Table, map_rows,
};
use serde_json::json;

use crate::args::ModelAndData;
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
  mereo score model.safetensors data.parquet -o scores.csv")]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    input: ModelAndData,

    /// Write one number a row to a file: .csv, .tsv, .parquet or .npy
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print one JSON object: kind, mean, rows
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ScoreArgs, voice: Voice) -> Result<ExitCode> {
    let ScoreArgs { input, output: path, json } = args;
    if let Some(path) = path {
        Format::of(path, false)?;
        output::check_output(path, &[&input.model, &input.data])?;
    }
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(0)?;
    let data = fitted.open_data(&input.data, &input.reading, voice)?;
    let scores = with_data!(&data, held => {
        score(&fitted, held.source(), &context).map_err(|e| e.in_file(&input.data))?
    });
    if let Some(path) = path {
        let column = Dense::new(scores.rows.len(), 1, scores.rows.clone())?;
        let table = Table::from(column).with_names(vec!["score".to_owned()])?;
        output::write_rows(path, &AnyTable::from(table))?;
        voice.say(format_args!("{} scores in {}", scores.rows.len(), path.display()));
    }
    let of_prepared = !has_density(&fitted);
    if *json {
        output::print_json(&json!({
            "kind": scores.kind,
            "mean": scores.mean,
            "rows": scores.rows,
            "units": if of_prepared { "prepared" } else { "data" },
        }))?;
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

/// One number a row, in the data's units where the steps allow it.
pub(crate) fn score<T: Real>(
    fitted: &Fitted,
    raw: &dyn Source<T>,
    context: &Context,
) -> Result<Scores> {
    let scorer = fitted.model.scorer::<T>().ok_or_else(|| fitted.incapable("score"))?;
    // Weights come with the batches: a stream knows them nowhere else.
    let scored = map_rows(&*fitted.prepared(raw)?, context, 1, |batch, out: &mut [(f64, f64)]| {
        let mut scores = vec![0.0; batch.rows];
        scorer.score_batch(batch, &mut scores);
        for (row, (score, out)) in scores.iter().zip(out).enumerate() {
            *out = (*score, batch.weight(row));
        }
    })?;
    let (mut rows, weights): (Vec<f64>, Vec<f64>) = scored.into_iter().unzip();
    if let Some(steps) = &fitted.steps
        && steps.has_density()
    {
        for_each_batch(raw, |batch| {
            let volumes = steps.log_volume(batch)?.unwrap_or_default();
            rows[batch.first_row..]
                .iter_mut()
                .zip(volumes)
                .for_each(|(row, volume)| *row += volume);
            Ok(())
        })?;
    }
    let total: f64 = weights.iter().sum();
    let sum: f64 = rows.iter().zip(&weights).map(|(row, weight)| row * weight).sum();
    let mean = if total > 0.0 { sum / total } else { 0.0 };
    Ok(Scores { kind: scorer.score_kind(), mean, rows })
}

fn summary(scores: &Scores) -> String {
    let kind = match scores.kind {
        ScoreKind::Exact => "log density",
        ScoreKind::Bound => "lower bound on the log density",
        ScoreKind::Estimate => "estimate of the log density",
    };
    let mean = format!("{:.4} nats a row: the mean {kind}\n", scores.mean);
    let mut order: Vec<usize> = (0..scores.rows.len()).collect();
    order.sort_by(|&a, &b| scores.rows[a].total_cmp(&scores.rows[b]));
    let (Some(&worst), Some(&best)) = (order.first(), order.last()) else { return mean };
    let score = |row: usize| scores.rows[row];
    format!(
        "{mean}{} rows, from {:.4} to {:.4}, half of them above {:.4}\n\
         least expected: row {worst}\n",
        order.len(),
        score(worst),
        score(best),
        score(order[order.len() / 2])
    )
}
