//! `mereo fit MODEL`: learning from data. Subcommands and their options are made from the list of
//! models and what each says of itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use mereo::{Fit, Fitted, ModelKind, models, with_data};
use mereo_core::slots::ColumnMoments;
use mereo_core::{
    Checkpoints, Context, Error, Options, ParamInfo, ParamType, Plan, Real, Result, SizeTried,
    Source, Status, Training,
};
use mereo_data::steps::StepKind;
use mereo_data::{LeastRatings, ReadOptions};
use serde_json::{Value, json};

use crate::args::{Reading, Threads};
use crate::output::{self, Voice};
use crate::{interrupt, progress};

const ABOUT: &str = "Learn a model from data";
const LONG_ABOUT: &str = "\
Learn a model from data

The model file is a safetensors file that says all about itself; `mereo show` and `mereo report` look \
into it. The same data, options and seed give the same file, byte for byte, on any number of threads. \
Ctrl-C stops early and keeps the best model so far (exit code 130); with --checkpoint even a killed run \
can be taken up again. `mereo models` lists all models with their options.";
/// Deviations of columns that are so many times apart are worth a word.
const UNITS_APART: f64 = 10.0;

const EXAMPLES: &str = "\
Examples:
  mereo fit mcvq data.csv
  mereo fit mcvq data.csv --parts 4 --states 6 -o model.safetensors
  mereo fit mcfa data.csv --parts 4 --factors 2 -o factors.safetensors
  mereo fit vq toy:shapes --states 27 -o codebook.safetensors
  mereo fit gmm heights.csv --components 3 -o mixture.safetensors
  mereo fit deep-gmm patches.npy --layers 10,5 -o deep.safetensors
  mereo fit fa holes.csv --components 5 -o factors.safetensors
  mereo fit gvq patches.npy --features 8 -o features.safetensors";

/// What was asked for: a model, what was chosen for it, and what all models are asked.
#[derive(Debug)]
pub(crate) struct FitArgs {
    model: ModelKind,
    options: Options,
    /// How many starts, if somebody said.
    restarts: Option<usize>,
    common: Common,
}

/// What all models are asked.
#[derive(Debug, Clone, Args)]
struct Common {
    /// The rows to learn from: a file, a folder, or toy:WORLD
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// The model file to write [default: named after the data and the model]
    #[arg(long, short, value_name = "MODEL")]
    output: Option<PathBuf>,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    threads: Threads,

    #[arg(long, value_name = "P", help = format!(
        "Most passes over the data of each start [default: {}]", Plan::default().passes))]
    passes: Option<usize>,

    #[arg(long, value_name = "NATS", allow_negative_numbers = true, help = format!(
        "A start has converged when a pass gains less than this a row [default: {}]",
        Plan::default().tolerance))]
    tolerance: Option<f64>,

    #[arg(long, value_name = "STEP", help = format!(
        "Preprocessing, stored in the model and undone on the way out; may be given again for more \
         steps: {}; or `none` [default: remove-means, of ratings and for models that want it; otherwise none]",
        StepKind::NAMES.join(", ")), value_parser = step)]
    prepare: Vec<Option<StepKind>>,

    /// Leave out users and items with fewer ratings than this; two numbers are for users and items
    #[arg(long, value_name = "N|USERS,ITEMS", value_parser = str::parse::<LeastRatings>)]
    least_ratings: Option<LeastRatings>,

    /// Learn this many models, with one seed after another, and write their average: it predicts better than each
    #[arg(long, value_name = "N")]
    average: Option<usize>,

    /// Keep the state of learning in this file, to be taken up with --resume
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// Go on from the checkpoint, if it is there
    #[arg(long, requires = "checkpoint")]
    resume: bool,

    #[arg(long, value_name = "SECONDS", requires = "checkpoint", allow_negative_numbers = true, help = format!(
        "Least time between two checkpoints [default: {}]",
        Checkpoints::new("").every.as_secs()))]
    checkpoint_every: Option<f64>,

    /// Print one JSON object: model, rows, columns, bound, passes, converged, seconds, seed ...
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    reading: Reading,
}

impl Args for FitArgs {
    fn augment_args(command: Command) -> Command {
        command
            .about(ABOUT)
            .long_about(LONG_ABOUT)
            .after_long_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(models().iter().map(subcommand))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FitArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let chosen = matches.subcommand().and_then(|(name, given)| {
            Some((models().into_iter().find(|kind| kind.name == name)?, given))
        });
        let Some((model, given)) = chosen else {
            return Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand));
        };
        let mut common = Common::from_arg_matches(given)?;
        let mut options = Options::new();
        for info in model.params() {
            if let Some(value) = value_of(&info, given) {
                options.insert(info.name.to_owned(), value);
            }
        }
        if let Some(column) = classes_column(&model, &options, given) {
            if common.reading.label.as_ref().is_some_and(|label| *label != column) {
                return Err(clap::Error::raw(
                    clap::error::ErrorKind::ArgumentConflict,
                    format!(
                        "--classes {column} takes the classes from that column: leave --label out\n"
                    ),
                ));
            }
            options.insert("classes".to_owned(), json!("labels"));
            common.reading.label = Some(column);
        }
        let restarts = given.get_one::<usize>("restarts").copied();
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

/// What was chosen for a model, from words as they would stand after `mereo fit`: its name, then options.
pub(crate) fn options_of(
    model: &ModelKind,
    words: Vec<String>,
) -> std::result::Result<Options, clap::Error> {
    let mut command = Command::new(model.name).disable_help_flag(true);
    for info in model.params() {
        command = command.arg(argument(&info));
    }
    let given = command.try_get_matches_from(words)?;
    let named = |info: ParamInfo| Some((info.name.to_owned(), value_of(&info, &given)?));
    Ok(model.params().into_iter().filter_map(named).collect())
}

/// Whether a model can have classes, and so a column of labels.
fn has_classes(model: &ModelKind) -> bool {
    model.params().iter().any(|info| info.name == "classes")
}

/// The column that holds the classes to be learned, if `--classes` names one (or `--labels`, as it was called).
fn classes_column(model: &ModelKind, options: &Options, given: &ArgMatches) -> Option<String> {
    if !has_classes(model) {
        return None;
    }
    let named = options.get("classes").and_then(Value::as_str);
    let named = named.filter(|word| !["none", "labels"].contains(word)).map(str::to_owned);
    named.or_else(|| given.get_one::<String>("labels").cloned())
}

/// The subcommand of a model.
fn subcommand(model: &ModelKind) -> Command {
    let mut examples = "Examples:".to_owned();
    for example in model.examples {
        examples.push_str("\n  ");
        examples.push_str(example);
    }
    let mut command = Command::new(model.name);
    for info in model.params() {
        command = command.arg(argument(&info));
    }
    if has_classes(model) {
        command = command.arg(
            Arg::new("labels")
                .long("labels")
                .value_name("COLUMN")
                .hide(true)
                .conflicts_with_all(["classes", "label"])
                .help(
                    "One class for each label in this column; rows without a label are shared among \
                     them",
                ),
        );
    }
    let restarts =
        format!("How many starts to try; the best bound wins [default: {}]", model.restarts);
    command = command.arg(
        Arg::new("restarts")
            .long("restarts")
            .value_name("R")
            .value_parser(value_parser!(usize))
            .help(restarts),
    );
    Common::augment_args(command)
        .about(model.title)
        .long_about(format!("{}\n\n{}", model.title, model.about))
        .after_long_help(examples)
}

/// The option of something that can be chosen.
fn argument(info: &ParamInfo) -> Arg {
    let mut help = info.about.trim_end_matches('.').to_owned();
    if let Some(default) = info.default.as_ref().filter(|value| !value.is_null()) {
        match default {
            Value::Bool(_) => {}
            Value::Array(all) if all.is_empty() => {}
            Value::String(text) => help = format!("{help} [default: {text}]"),
            other => help = format!("{help} [default: {other}]"),
        }
    }
    if info.name == "classes" {
        // A number is how many to find; any other word is a column.
        let (value, find) = match &info.kind {
            ParamType::CountOr(_) => ("N|COLUMN", "how many to find, or "),
            _ => ("COLUMN", ""),
        };
        return Arg::new(info.name).long(info.option()).value_name(value).help(format!(
            "Classes to learn: {find}the column that holds each row's class (rows without one are shared \
             among them); `labels` if the data brings classes along by itself, as folders of pictures do \
             [default: none]"
        ));
    }
    let arg = Arg::new(info.name)
        .long(info.option())
        .help(help)
        .required(info.default.is_none())
        .allow_negative_numbers(info.kind == ParamType::Number);
    match &info.kind {
        ParamType::Count => arg.value_name("N").value_parser(value_parser!(usize)),
        ParamType::Number => arg.value_name("X").value_parser(value_parser!(f64)),
        ParamType::Flag => arg.action(ArgAction::SetTrue),
        ParamType::Choice(words) => {
            arg.value_name("HOW").value_parser(PossibleValuesParser::new(words.iter().copied()))
        }
        ParamType::CountOr(words) => {
            let known: Vec<&str> = words.iter().copied().filter(|word| *word != "none").collect();
            let words = words.clone();
            arg.value_name(format!("N|{}", known.join("|"))).value_parser(move |text: &str| {
                match text.parse::<usize>() {
                    Ok(_) => Ok(text.to_owned()),
                    Err(_) if words.contains(&text) => Ok(text.to_owned()),
                    Err(_) => Err(format!("expected a number or {}", known.join(" or "))),
                }
            })
        }
        ParamType::Counts => arg
            .value_name("N,N,...")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .value_parser(value_parser!(usize)),
        ParamType::Choices(words) => arg
            .value_name("HOW,HOW,...")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .value_parser(PossibleValuesParser::new(words.iter().copied())),
        ParamType::Text => arg.value_name("TEXT"),
    }
}

/// What was said of it, if anything.
fn value_of(info: &ParamInfo, given: &ArgMatches) -> Option<Value> {
    let name = info.name;
    match &info.kind {
        ParamType::Count => given.get_one::<usize>(name).map(|v| json!(v)),
        ParamType::Number => given.get_one::<f64>(name).map(|v| number(*v)),
        ParamType::Flag => given.get_flag(name).then_some(json!(true)),
        ParamType::Choice(_) | ParamType::Text => given.get_one::<String>(name).map(|v| json!(v)),
        ParamType::CountOr(_) => given
            .get_one::<String>(name)
            .map(|text| text.parse::<usize>().map_or_else(|_| json!(text), |number| json!(number))),
        ParamType::Counts => {
            given.get_many::<usize>(name).map(|all| json!(all.copied().collect::<Vec<_>>()))
        }
        ParamType::Choices(_) => {
            given.get_many::<String>(name).map(|all| json!(all.cloned().collect::<Vec<_>>()))
        }
    }
}

/// JSON has no word for numbers that are none; they are told as text, and refused by name.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value)
        .map_or_else(|| Value::String(value.to_string()), Value::Number)
}

impl Common {
    fn plan(&self, restarts: usize, output: &Path) -> Result<Plan> {
        let mut plan = Plan { restarts, ..Plan::default() };
        plan.passes = self.passes.unwrap_or(plan.passes);
        plan.tolerance = self.tolerance.unwrap_or(plan.tolerance);
        plan.checkpoints = match &self.checkpoint {
            None => None,
            Some(path) => {
                output::check_written("checkpoint", path, &[&self.data, output])?;
                let mut checkpoints = Checkpoints::new(path);
                checkpoints.resume = self.resume;
                if let Some(seconds) = self.checkpoint_every {
                    checkpoints.every = Duration::try_from_secs_f64(seconds).map_err(|_| {
                        let problem = format!("{seconds} is no time; give seconds from 0 up");
                        Error::option("checkpoint-every", problem)
                    })?;
                }
                Some(checkpoints)
            }
        };
        Ok(plan)
    }

    /// The file to write: as was said, or named after the data and the model.
    fn output(&self, model: &str) -> PathBuf {
        self.output.clone().unwrap_or_else(|| {
            let text = self.data.to_string_lossy();
            let data = text.strip_prefix("toy:").unwrap_or(&text);
            let name = Path::new(data).file_name().map(|name| name.to_string_lossy());
            let stem = name.as_deref().and_then(|name| name.split('.').find(|s| !s.is_empty()));
            PathBuf::from(format!("{}-{model}.safetensors", stem.unwrap_or("data")))
        })
    }
}

pub(crate) fn run(args: &FitArgs, voice: Voice) -> Result<ExitCode> {
    let FitArgs { model, options, restarts, common } = args;
    let path = common.output(model.name);
    let fit = Fit::named(model.name, options)?;
    fit.params().check()?;
    output::check_output(&path, &common.reading.with_files(&[&common.data]))?;
    output::check_model_name(&path)?;
    let plan = common.plan(restarts.unwrap_or(model.restarts), &path)?;
    let context = common.threads.context(common.seed)?;
    interrupt::watch(context.stop(), voice);
    let began = Instant::now();
    let reading = ReadOptions { least_ratings: common.least_ratings, ..common.reading.options() };
    let data = common.reading.open_as(&common.data, &reading, &context, voice)?;
    let mut fit = prepared(fit.plan(plan).context(&context), &common.prepare)?;
    if let Some(members) = common.average {
        fit = fit.average(members);
    }
    let fitted = with_data!(data, held => {
        if model.units_matter && common.prepare.is_empty()
            && let Some(notice) = of_units(model.name, held.source(), &context)?
        {
            voice.say(format_args!("mereo: {notice}"));
        }
        let mut observer = progress::observer(held.source().rows(), voice);
        fit.observed(held, &mut *observer).map_err(|e| e.in_file(&common.data))?
    });
    if common.prepare.is_empty() && fitted.steps.is_some() {
        voice.say(format_args!(
            "mereo: means of users and items are taken away before learning, as ratings want it; --prepare none keeps them"
        ));
    }
    if !fitted.manifest.left_out.is_empty() {
        let (kind, names) = (fitted.model.kind(), fitted.manifest.left_out.join(", "));
        voice.say(format_args!("mereo: {kind} learns from numbers; left out, as words: {names}"));
    }
    fitted.save(&path)?;
    if let Some(warning) = of_unobserved(&fitted.unobserved()) {
        voice.say(format_args!("warning: {warning}"));
    }
    let seconds = began.elapsed().as_secs_f64();
    let Some(training) = fitted.training() else { return Err(Error::Interrupted) };
    if common.json {
        output::print_json(&in_json(&fitted, &path, training, seconds))?;
    } else {
        output::print(&in_words(&fitted, &path, training, seconds))?;
    }
    let interrupted = training.status == Status::Interrupted;
    Ok(if interrupted { interrupt::kept(&path, voice) } else { ExitCode::SUCCESS })
}

/// A step by its name; `none` is none.
pub(crate) fn step(text: &str) -> Result<Option<StepKind>> {
    if text == "none" { Ok(None) } else { text.parse().map(Some) }
}

/// The same with the steps that were asked for, if anything was said about them.
pub(crate) fn prepared(fit: Fit, steps: &[Option<StepKind>]) -> Result<Fit> {
    let named: Vec<StepKind> = steps.iter().copied().flatten().collect();
    match (steps.len(), named.len()) {
        (0, _) => Ok(fit),
        (said, steps) if said == steps || steps == 0 => Ok(fit.prepare(&named)),
        _ => Err(Error::option("prepare", "`none` goes with no other step")),
    }
}

/// What to say of columns whose units differ much, to models that units matter to.
fn of_units<T: Real>(
    model: &str,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Option<String>> {
    let about = source.about();
    if about.picture.is_some() || source.absent().is_some() || source.remote().is_some() {
        return Ok(None);
    }
    let Some(names) = mereo::own_names(about.names.as_deref()) else { return Ok(None) };
    let moments = ColumnMoments::of(source, context)?;
    let mut spread: Vec<(f64, &String)> = names
        .iter()
        .enumerate()
        .filter(|(d, _)| about.kind(*d).levels().is_empty() && moments.variance(*d) > 0.0)
        .map(|(d, name)| (moments.variance(d).sqrt(), name))
        .collect();
    spread.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some((least, narrow)), Some((most, wide))) = (spread.first(), spread.last()) else {
        return Ok(None);
    };
    let times = most / least;
    Ok((times >= UNITS_APART).then(|| {
        format!(
            "units matter to {model}: `{}` varies {} times as much as `{}` and says as much more; \
             --prepare standardise gives all columns an equal say",
            output::name(wide),
            mereo_core::plainly(times),
            output::name(narrow)
        )
    }))
}

/// What to say of columns in which no row has a value.
fn of_unobserved(names: &[String]) -> Option<String> {
    let known = "nothing is known of";
    match names {
        [] => None,
        [name] => {
            Some(format!("no row has a value in column `{name}`: {known} it, and it stays empty"))
        }
        [name, others @ ..] => Some(format!(
            "no row has a value in column `{name}` and {} more: {known} them, and they stay empty",
            others.len()
        )),
    }
}

fn in_json(fitted: &Fitted, path: &Path, training: &Training, seconds: f64) -> Value {
    json!({
        "model": fitted.model.kind(),
        "members": fitted.manifest.members,
        "file": path.to_string_lossy(),
        "rows": training.rows,
        "columns": fitted.model.columns(),
        "bound": training.bound,
        "bound_per_row": training.bound_per_row(),
        "passes": training.passes,
        "converged": training.status == Status::Converged,
        "status": training.status,
        "restarts": training.restarts.len(),
        "params": fitted.manifest.params,
        "criteria": fitted.criteria(),
        "sizes": fitted.manifest.sizes,
        "best_restart": training.best,
        "data_fingerprint": fitted.manifest.fingerprint,
        "unobserved": fitted.unobserved(),
        "seconds": seconds,
        "seed": training.seed,
    })
}

pub(crate) fn in_words(fitted: &Fitted, path: &Path, training: &Training, seconds: f64) -> String {
    let ended = match training.status {
        Status::Converged => "converged",
        Status::PassLimit => "still rising: more --passes may help",
        Status::Interrupted => "interrupted",
        Status::Behind => "behind another start",
        Status::EarlyStop => "rows held out gained no more: the best state was kept",
        Status::Diverged => "it diverged and the last good state was kept: try a smaller --rate",
    };
    let bound = training.bound_per_row();
    let how = match fitted.model.members().len() {
        0 => {
            let (passes, starts) = (training.passes, training.restarts.len());
            format!(
                "bound {bound:.4} nats a row after {passes} passes ({ended}), the best of {starts} starts"
            )
        }
        _ => format!("bound {bound:.4} nats a row, the mean of all members' ({ended})"),
    };
    format!(
        "{}{}: {} rows of {} columns learned in {seconds:.1} s\n{how}\n{}\n",
        sizes_in_words(&fitted.manifest.sizes),
        fitted.model.described(),
        training.rows,
        fitted.model.columns(),
        path.display()
    )
}

/// The sizes that were tried, in the order in which they were.
pub(crate) fn sizes_in_words(sizes: &[SizeTried]) -> String {
    if sizes.is_empty() {
        return String::new();
    }
    let mut text = "parts  states  bits in all (of the model)  held-out cell\n".to_owned();
    for tried in sizes {
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:>5}  {:>6}  {:>11.0} {:>14}  {:>8.4} nats{}",
            tried.parts,
            tried.states,
            tried.description_length,
            format!("({:.0})", tried.model_bits),
            tried.held_out,
            if tried.chosen { "  chosen" } else { "" }
        );
    }
    text.push('\n');
    text
}
