//! `mereo classify`: which class each row belongs to.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::{Classified, Fitted, with_data};
use mereo_core::{AnyTable, Labels, Likelihood, Result, Table};
use serde_json::{Value, json};

use crate::args::{ModelAndData, Rule};
use crate::output::{self, Format, Voice};

/// Say which class each row belongs to, and how surely
///
/// For models that were learned with --classes. If the data has labels too, the output
/// says how often the model is right and what it takes for what; for classes that were found
/// without labels, how many rows of each label each class has, and how well the two agree.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo classify model.safetensors new.csv
  mereo classify model.safetensors test.csv --label species
  mereo classify model.safetensors test.csv --likelihood importance --samples 200 --json
  mereo classify model.safetensors new.parquet -o classes.csv")]
pub(crate) struct ClassifyArgs {
    #[command(flatten)]
    input: ModelAndData,

    #[command(flatten)]
    rule: Rule,

    /// Write each row's class and how likely every class is to a file: .csv, .tsv, .parquet or .npy
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print one JSON object: classes, predicted, probabilities, and with labels accuracy and
    /// confusion
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ClassifyArgs, voice: Voice) -> Result<ExitCode> {
    let ClassifyArgs { input, rule, output: path, json } = args;
    if let Some(path) = path {
        Format::of(path, false)?;
        output::check_one_stream(path, *json)?;
        output::check_output(path, &input.files())?;
    }
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(rule.seed)?;
    let data = input.reading.open_for(&fitted, &input.data, &context, voice)?;
    let how = rule.likelihood().unwrap_or(Likelihood::Bound);
    let (found, about) = with_data!(&data, held => {
        let source = held.source();
        let found = fitted.classify(source, how, &context).map_err(|e| e.in_file(&input.data))?;
        (found, source.about().clone())
    });
    if let Some(path) = path {
        let of_row = found.predicted.iter().map(|&n| Some(n as u32)).collect();
        let table = Table::from(found.probabilities.clone())
            .with_names(found.names.clone())?
            .with_labels(Labels { names: found.names.clone(), of_row })?;
        output::write_rows(path, &AnyTable::from(output::called_alike(table, &about)?))?;
        voice.say(format_args!("classes of {} rows in {}", found.predicted.len(), path.display()));
    }
    if *json {
        let mut told = in_json(&found);
        if let Some(names) = &about.ids {
            told["names"] = json!(names);
        }
        output::print_json(&told)?;
    } else {
        output::tell_beside(path.as_deref(), &in_words(&found), voice)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn in_json(found: &Classified) -> Value {
    let rows = 0..found.probabilities.rows();
    let mut json = json!({
        "classes": found.names,
        "predicted": found.predicted.iter().map(|&n| &found.names[n]).collect::<Vec<_>>(),
        "probabilities": rows.map(|r| found.probabilities.row(r)).collect::<Vec<_>>(),
    });
    if let Some(confusion) = &found.confusion {
        json["labels"] = json!(confusion.labels);
        json["confusion"] = json!(confusion.counts);
        json["accuracy"] = json!(confusion.accuracy);
        json["adjusted_rand_index"] = json!(confusion.agreement);
    }
    json
}

fn in_words(found: &Classified) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_words(found, &mut text);
    text
}

fn write_words(found: &Classified, text: &mut String) -> std::fmt::Result {
    let rows = found.predicted.len();
    let sure = found.predicted.iter().enumerate().map(|(r, &n)| found.probabilities.row(r)[n]);
    let sure = sure.sum::<f64>() / rows.max(1) as f64;
    writeln!(text, "{rows} rows, {:.1}% sure of their class on average", 100.0 * sure)?;
    let Some(confusion) = &found.confusion else {
        for (class, name) in found.names.iter().enumerate() {
            let count = found.predicted.iter().filter(|&&n| n == class).count();
            writeln!(text, "  {}: {count}", output::name(name))?;
        }
        return Ok(());
    };
    if let Some(accuracy) = confusion.accuracy {
        writeln!(text, "{:.2}% of the labelled rows are in the right class", 100.0 * accuracy)?;
    }
    if !found.named {
        writeln!(text, "adjusted Rand index of classes and labels: {:.4}", confusion.agreement)?;
    }
    let wide = |names: &[String]| names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let shown = |names: &[String]| names.iter().map(|n| output::name(n)).collect::<Vec<_>>();
    let (labels, names) = (shown(&confusion.labels), shown(&found.names));
    let (left, each) = (wide(&labels).max(5), wide(&names).max(6));
    write!(text, "\n{:left$}", "label")?;
    for name in &names {
        write!(text, "  {name:>each$}")?;
    }
    writeln!(text)?;
    for (label, counts) in labels.iter().zip(&confusion.counts) {
        write!(text, "{label:left$}")?;
        for count in counts {
            write!(text, "  {count:>each$}")?;
        }
        writeln!(text)?;
    }
    Ok(())
}
