//! `mereo evaluate MODEL`: how well a kind of model predicts ratings that it has not seen.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use mereo::rater::evaluate::{Evaluated, Measures, Protocol, Trial, evaluate};
use mereo::{Fit, ModelKind, models};
use mereo_core::{AnyTable, Dense, Options, ParamInfo, ParamType, Plan, Result, Sparse, Table};
use mereo_data::steps::StepKind;
use mereo_data::{LeastRatings, ReadOptions};
use serde_json::{Map, Value, json};

use crate::args::{Reading, Threads};
use crate::output::{self, Voice};
use crate::{fit, given, interrupt, progress};

const ABOUT: &str = "Evaluate how well a kind of model predicts ratings";
const LONG_ABOUT: &str = "\
Evaluate how well a kind of model predicts ratings that it has not seen

One rating of each user is put aside. With the weak protocol those of users who were learned from are predicted, with the strong one \
those of users who were not, from their other ratings. Users are dealt into folds, and a model is learned outside each; a draw deals anew, \
and what is told is the mean over draws ± their standard deviation, beside guessing by means. NMAE is the mean absolute error divided by that of guessing \
at random (1.6 stars for five), by the predicted mean and by the median. Recall and NDCG ask whether an item put aside that was liked is among the \
best of all items. The model's own options are those of `mereo fit`; one that this verb has too is --model-NAME.";
const EXAMPLES: &str = "\
Examples:
  mereo evaluate ratings.csv --model mcvq --parts 5 --states 12 --protocol strong
  mereo evaluate u.data --model fa --components 8 --protocol weak --draws 4 --json
  mereo evaluate u.data --model mcvq --parts 5 --states 12 --given-n 1,2,5,10,20,50";

/// What was asked for: a kind of model, what was chosen for it, and what is tried.
#[derive(Debug)]
pub(crate) struct EvaluateArgs {
    model: ModelKind,
    options: Options,
    restarts: usize,
    common: Common,
}

#[derive(Debug, Clone, Args)]
struct Common {
    /// The ratings: lines of user, item, rating and perhaps a time
    #[arg(value_name = "RATINGS")]
    data: PathBuf,

    /// The kind of model
    #[arg(long, value_name = "MODEL")]
    model: String,

    /// Whose ratings are predicted
    #[arg(long, value_enum, default_value_t = ProtocolChoice::Strong)]
    protocol: ProtocolChoice,

    /// Folds that users are dealt into
    #[arg(long, value_name = "N", default_value_t = 3)]
    folds: usize,

    /// How often they are dealt
    #[arg(long, value_name = "N", default_value_t = 4)]
    draws: usize,

    /// Also give this many ratings of each user who was not learned from, and predict all others
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    given_n: Vec<usize>,

    /// How many items the best are, for recall and NDCG
    #[arg(long, value_name = "K", default_value_t = 10)]
    top: usize,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    #[arg(long, value_name = "P", help = format!(
        "Most passes over the data of each start [default: {}]", Plan::default().passes))]
    passes: Option<usize>,

    #[arg(long, value_name = "STEP", help = format!(
        "Preprocessing; may be given again for more steps: {}; or `none` [default: as `mereo fit`]",
        StepKind::NAMES.join(", ")), value_parser = fit::step)]
    prepare: Vec<Option<StepKind>>,

    /// Try averages of this many models, learned with one seed after another
    #[arg(long, value_name = "N")]
    average: Option<usize>,

    /// Leave out users and items with fewer ratings than this; two numbers are for users and items
    #[arg(long, value_name = "N|USERS,ITEMS", value_parser = str::parse::<LeastRatings>)]
    least_ratings: Option<LeastRatings>,

    /// Print one JSON object: each measure's mean, spread and draws, baselines, seconds and memory
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    threads: Threads,

    #[command(flatten)]
    reading: Reading,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProtocolChoice {
    /// Those of users who were learned from
    Weak,
    /// Those of users who were not
    Strong,
}

/// The options of all models, each once, and what they are called here: those that this verb has itself are prefixed.
fn model_options() -> Vec<(ParamInfo, String)> {
    let own = Common::augment_args(Command::new("evaluate"));
    let taken = |name: &str| own.get_arguments().any(|arg| arg.get_long() == Some(name));
    let mut known: Vec<&'static str> = vec!["restarts"];
    let mut options = Vec::new();
    for info in models().iter().flat_map(ModelKind::params) {
        if known.contains(&info.name) {
            continue;
        }
        known.push(info.name);
        let option = info.option();
        let option = if taken(&option) { format!("model-{option}") } else { option };
        options.push((info, option));
    }
    options
}

impl Args for EvaluateArgs {
    fn augment_args(command: Command) -> Command {
        // The options of all models, to be read as the one that is chosen reads them.
        let mut command = command.after_long_help(EXAMPLES);
        for (info, option) in model_options() {
            let arg = Arg::new(option.clone()).long(option).help_heading("The model's options");
            let about = format!("See `mereo fit`: {}", info.about.trim_end_matches('.'));
            command = command.arg(match info.kind {
                ParamType::Flag => arg.action(ArgAction::SetTrue).help(about),
                _ => arg
                    .action(ArgAction::Append)
                    .allow_hyphen_values(true)
                    .help(about)
                    .value_name("X"),
            });
        }
        let restarts = Arg::new("restarts").long("restarts").value_name("R");
        let restarts = restarts
            .value_parser(clap::value_parser!(usize))
            .help("How many starts to try [default: as the kind of model wants]");
        // Last: what is flattened brings its own documentation along.
        Common::augment_args(command.arg(restarts)).about(ABOUT).long_about(LONG_ABOUT)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for EvaluateArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let common = Common::from_arg_matches(matches)?;
        let Some(model) = models().into_iter().find(|kind| kind.name == common.model) else {
            let names: Vec<&str> = models().iter().map(|kind| kind.name).collect();
            let problem =
                format!("`{}` is no kind of model; choose {}\n", common.model, names.join(", "));
            return Err(clap::Error::raw(clap::error::ErrorKind::InvalidValue, problem));
        };
        // What was said of the model, said again to its own subcommand.
        let mut words = vec![model.name.to_owned()];
        for (info, name) in model_options() {
            let option = format!("--{}", info.option());
            if info.kind == ParamType::Flag {
                if matches.get_flag(&name) {
                    words.push(option);
                }
            } else {
                for value in matches.get_many::<String>(&name).into_iter().flatten() {
                    words.push(format!("{option}={value}"));
                }
            }
        }
        let options = fit::options_of(&model, words)?;
        let restarts = matches.get_one::<usize>("restarts").copied().unwrap_or(model.restarts);
        Ok(Self { model, options, restarts, common })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(crate) fn run(args: &EvaluateArgs, voice: Voice) -> Result<ExitCode> {
    let EvaluateArgs { model, options, restarts, common } = args;
    let make = || {
        let mut plan = Plan { restarts: *restarts, ..Plan::default() };
        plan.passes = common.passes.unwrap_or(plan.passes);
        let fit = fit::prepared(Fit::named(model.name, options)?.plan(plan), &common.prepare)?;
        Ok(match common.average {
            None => fit,
            Some(members) => fit.average(members),
        })
    };
    make()?.params().check()?;
    let context = common.threads.context(common.seed)?;
    interrupt::watch(context.stop(), voice);
    let reading = ReadOptions { least_ratings: common.least_ratings, ..common.reading.options() };
    let table = given::read_ratings(&common.data, reading, &context, voice)?;
    let table = single(table).map_err(|e| e.in_file(&common.data))?;
    let trial = Trial {
        protocol: match common.protocol {
            ProtocolChoice::Weak => Protocol::Weak,
            ProtocolChoice::Strong => Protocol::Strong,
        },
        folds: common.folds,
        draws: common.draws,
        given: common.given_n.clone(),
        top: common.top,
    };
    let mut bar = progress::share("learning and predicting", voice);
    let found = evaluate(&make, &table, &trial, &context, &mut |share| {
        bar.set(share);
        Box::new(mereo_core::Silent)
    });
    drop(bar);
    let found = found.map_err(|e| e.in_file(&common.data))?;
    if common.json {
        output::print_json(&in_json(&found, &trial, model.name, common.average))?;
    } else {
        output::print(&in_words(&found, &trial, table.rows()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ratings in single precision.
fn single(table: AnyTable) -> Result<Table<f32>> {
    let table = match table {
        AnyTable::F32(table) => return Ok(table),
        AnyTable::F64(table) => table,
    };
    let (cells, about) = table.into_parts();
    let narrow = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<_>>();
    let table = match cells {
        mereo_core::Cells::Sparse(c) => Table::from(Sparse::new(
            c.columns(),
            c.starts().to_vec(),
            c.indices().to_vec(),
            narrow(c.values()),
            c.absent(),
        )?),
        mereo_core::Cells::Dense(c) => {
            Table::from(Dense::new(c.rows(), c.columns(), narrow(c.values()))?)
        }
    };
    table.with_about(about)
}

/// A measure: its key, its title, and how to take it.
type Measure = (&'static str, &'static str, fn(&Measures) -> Option<f64>);

const MEASURES: [Measure; 7] = [
    ("nmae", "NMAE", |m| Some(m.nmae)),
    ("nmae_median", "by median", |m| Some(m.nmae_median)),
    ("mae", "MAE", |m| Some(m.mae)),
    ("mae_median", "by median", |m| Some(m.mae_median)),
    ("rmse", "RMSE", |m| Some(m.rmse)),
    ("ndcg", "NDCG", |m| m.ndcg),
    ("recall", "recall", |m| m.recall),
];

fn in_json(found: &Evaluated, trial: &Trial, model: &str, average: Option<usize>) -> Value {
    let mut results = Vec::new();
    for outcome in &found.outcomes {
        let mut told = Map::new();
        told.insert("name".to_owned(), json!(outcome.name));
        told.insert(
            "pairs".to_owned(),
            json!(outcome.draws.iter().map(|m| m.pairs).collect::<Vec<_>>()),
        );
        for (key, _, of) in MEASURES {
            let Some((mean, spread)) = outcome.of(of) else { continue };
            let draws: Vec<Option<f64>> = outcome.draws.iter().map(of).collect();
            told.insert(key.to_owned(), json!({"mean": mean, "spread": spread, "draws": draws}));
        }
        results.push(Value::Object(told));
    }
    let curve: Vec<Value> = found
        .given
        .iter()
        .map(|point| {
            let errors: Vec<Value> = point
                .errors
                .iter()
                .map(|(name, nmae, nmae_median, mae)| {
                    json!({"name": name, "nmae": nmae, "nmae_median": nmae_median, "mae": mae})
                })
                .collect();
            json!({"given": point.given, "people": point.people, "results": errors})
        })
        .collect();
    json!({
        "model": model,
        "average": average,
        "protocol": trial.protocol,
        "folds": trial.folds,
        "draws": trial.draws,
        "top": trial.top,
        "z": found.z,
        "results": results,
        "given": curve,
        "fit_seconds": found.fit_seconds,
        "predict_seconds": found.predict_seconds,
        "peak_memory_mb": peak_memory(),
    })
}

fn in_words(found: &Evaluated, trial: &Trial, people: usize) -> String {
    let protocol = match trial.protocol {
        Protocol::Weak => "weak: users who were learned from",
        Protocol::Strong => "strong: users who were not learned from",
    };
    let mut text = format!(
        "{protocol}; one rating of each of {people} users put aside, {} folds, {} draws\n\n{:<20}",
        trial.folds, trial.draws, ""
    );
    // Writing to a string does not fail.
    for (key, title, _) in MEASURES {
        let title = if matches!(key, "ndcg" | "recall") {
            format!("{title}@{}", trial.top)
        } else {
            title.to_owned()
        };
        let _ = write!(text, "{title:>17}");
    }
    for outcome in &found.outcomes {
        let _ = write!(text, "\n{:<20}", outcome.name);
        for (_, _, of) in MEASURES {
            let shown = outcome.of(of).map_or_else(
                || "none".to_owned(),
                // One draw says nothing of the spread.
                |(mean, spread)| match trial.draws {
                    1 => format!("{mean:.4}"),
                    _ => format!("{mean:.4} ± {spread:.4}"),
                },
            );
            let _ = write!(text, "{shown:>17}");
        }
    }
    let _ = write!(
        text,
        "\n\nNMAE is MAE / {:.4}; learning took {:.1} s, predicting {:.1} s",
        found.z, found.fit_seconds, found.predict_seconds
    );
    if let Some(memory) = peak_memory() {
        let _ = write!(text, ", {memory:.0} MB at most");
    }
    text.push('\n');
    if !found.given.is_empty() {
        let _ = write!(text, "\n{:<8}{:>8}", "given", "users");
        for (name, ..) in &found.given[0].errors {
            let _ = write!(text, "{name:>20}");
        }
        text.push_str("  (NMAE by mean / by median)\n");
        for point in &found.given {
            let _ = write!(text, "{:<8}{:>8}", point.given, point.people);
            for (_, nmae, median, _) in &point.errors {
                let _ = write!(text, "{:>20}", format!("{nmae:.4} / {median:.4}"));
            }
            text.push('\n');
        }
    }
    text
}

/// The most memory that the program has had, in megabytes, where the system says.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some((kilobytes / 1024.0).round())
}
