//! `mereo classify`: which class each row belongs to.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo_core::math::adjusted_rand_index;
use mereo_core::{AnyTable, Context, Dense, Labels, Likelihood, Real, Result, Source, Table};
use serde_json::{Value, json};

use crate::args::{ModelAndData, Rule};
use crate::data::{check_fits, with_data};
use crate::fitted::{Fitted, for_each_batch};
use crate::output::{self, Format, Voice};

/// Say which class each row belongs to, and how surely
///
/// For models that were learned with --classes or --labels. If the data has labels too, the output
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
        output::check_output(path, &input.files())?;
    }
    let fitted = Fitted::open(&input.model)?;
    let context = input.threads.context(rule.seed)?;
    let data = fitted.open_data(&input.data, &input.reading, &context, voice)?;
    let how = rule.likelihood().unwrap_or(Likelihood::Bound);
    let found = with_data!(&data, held => {
        Classified::of(&fitted, held.source(), how, &context).map_err(|e| e.in_file(&input.data))?
    });
    if let Some(path) = path {
        let of_row = found.predicted.iter().map(|&n| Some(n as u32)).collect();
        let table = Table::from(found.probabilities.clone())
            .with_names(found.names.clone())?
            .with_labels(Labels { names: found.names.clone(), of_row })?;
        output::write_rows(path, &AnyTable::from(table))?;
        voice.say(format_args!("classes of {} rows in {}", found.predicted.len(), path.display()));
    }
    if *json {
        output::print_json(&found.in_json())?;
    } else {
        output::print(&found.in_words())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The classes of rows.
pub(crate) struct Classified {
    /// Names of the model's classes.
    names: Vec<String>,
    /// Whether labels named them.
    named: bool,
    /// `[rows, classes]`.
    probabilities: Dense<f64>,
    /// The likeliest class of each row.
    predicted: Vec<usize>,
    pub(crate) confusion: Option<Confusion>,
}

/// How often rows of each label are in each class.
pub(crate) struct Confusion {
    /// Names of the labels.
    pub(crate) labels: Vec<String>,
    /// `[labels, classes]`.
    pub(crate) counts: Vec<Vec<usize>>,
    /// The share of labelled rows whose class has the label's name, if labels named the classes.
    pub(crate) accuracy: Option<f64>,
    /// The adjusted Rand index: 1 if classes and labels are the same groups, about 0 by chance.
    pub(crate) agreement: f64,
}

impl Classified {
    pub(crate) fn of<T: Real>(
        fitted: &Fitted,
        raw: &dyn Source<T>,
        how: Likelihood,
        context: &Context,
    ) -> Result<Self> {
        let classifier =
            fitted.model.classifier::<T>().ok_or_else(|| fitted.incapable("classify"))?;
        check_fits(raw.rows(), classifier.classes(), size_of::<f64>())?;
        let probabilities =
            mereo_core::classify(classifier, how, &*fitted.prepared(raw)?, context)?;
        let best = |row: &[f64]| (0..row.len()).fold(0, |b, n| if row[n] > row[b] { n } else { b });
        let predicted: Vec<usize> =
            (0..probabilities.rows()).map(|row| best(probabilities.row(row))).collect();
        let names = fitted.class_names();
        let named = fitted.manifest.classes.is_some();
        let confusion = Confusion::of(raw, &names, named, &predicted)?;
        Ok(Self { names, named, probabilities, predicted, confusion })
    }

    fn in_json(&self) -> Value {
        let rows = 0..self.probabilities.rows();
        let mut json = json!({
            "classes": self.names,
            "predicted": self.predicted.iter().map(|&n| &self.names[n]).collect::<Vec<_>>(),
            "probabilities": rows.map(|r| self.probabilities.row(r)).collect::<Vec<_>>(),
        });
        if let Some(confusion) = &self.confusion {
            json["labels"] = json!(confusion.labels);
            json["confusion"] = json!(confusion.counts);
            json["accuracy"] = json!(confusion.accuracy);
            json["adjusted_rand_index"] = json!(confusion.agreement);
        }
        json
    }

    fn in_words(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write_words(&mut text);
        text
    }

    fn write_words(&self, text: &mut String) -> std::fmt::Result {
        let rows = self.predicted.len();
        let sure = self.predicted.iter().enumerate().map(|(r, &n)| self.probabilities.row(r)[n]);
        let sure = sure.sum::<f64>() / rows.max(1) as f64;
        writeln!(text, "{rows} rows, {:.1}% sure of their class on average", 100.0 * sure)?;
        let Some(confusion) = &self.confusion else {
            for (class, name) in self.names.iter().enumerate() {
                let count = self.predicted.iter().filter(|&&n| n == class).count();
                writeln!(text, "  {}: {count}", output::name(name))?;
            }
            return Ok(());
        };
        if let Some(accuracy) = confusion.accuracy {
            writeln!(text, "{:.2}% of the labelled rows are in the right class", 100.0 * accuracy)?;
        }
        if !self.named {
            writeln!(
                text,
                "adjusted Rand index of classes and labels: {:.4}",
                confusion.agreement
            )?;
        }
        let shown = |names: &[String]| names.iter().map(|n| output::name(n)).collect::<Vec<_>>();
        let (labels, names) = (shown(&confusion.labels), shown(&self.names));
        let wide = |names: &[String]| names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
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
}

impl Confusion {
    /// Nothing if the rows have no labels.
    fn of<T: Real>(
        raw: &dyn Source<T>,
        classes: &[String],
        named: bool,
        predicted: &[usize],
    ) -> Result<Option<Self>> {
        let Some(labels) = raw.about().labels.as_ref().map(|labels| labels.names.clone()) else {
            return Ok(None);
        };
        let mut counts = vec![vec![0usize; classes.len()]; labels.len()];
        // Labels come with the batches: a stream knows them nowhere else.
        for_each_batch(raw, |batch| {
            for (row, label) in batch.labels.unwrap_or_default().iter().enumerate() {
                if let Some(of_label) = label.and_then(|label| counts.get_mut(label as usize)) {
                    of_label[predicted[batch.first_row + row]] += 1;
                }
            }
            Ok(())
        })?;
        let all: usize = counts.iter().flatten().sum();
        if all == 0 {
            return Ok(None);
        }
        let right = |(label, counts): (&String, &Vec<usize>)| {
            classes.iter().position(|class| class == label).map_or(0, |class| counts[class])
        };
        let accuracy =
            named.then(|| labels.iter().zip(&counts).map(right).sum::<usize>() as f64 / all as f64);
        let agreement = adjusted_rand_index(&counts);
        Ok(Some(Self { labels, counts, accuracy, agreement }))
    }
}
