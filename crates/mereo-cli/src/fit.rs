//! `mereo fit`: learns a model from data.

mod linear;
mod mixtures;
mod parts;
mod quantisers;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use mereo_core::{Checkpoints, Error, Plan, Result, SizeTried, Status, Training};
use mereo_data::steps::StepKind;
use serde_json::json;

use crate::args::{Reading, Threads};
use crate::data::{self, with_data};
use crate::fitted::Fitted;
use crate::output::{self, Voice};
use crate::wanted::{Task, Wanted, restarts};
use crate::{interrupt, progress};

/// Learn a model from data
///
/// The model file is a safetensors file that says all about itself; `mereo show` and `mereo
/// report` look into it. The same data, options and seed give the same file, byte for byte, on any
/// number of threads. Ctrl-C stops early and keeps the best model so far (exit code 130); with
/// --checkpoint even a killed run can be taken up again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit mcvq data.csv --parts 4 --states 6 -o model.safetensors
  mereo fit mcfa data.csv --parts 4 --factors 2 -o factors.safetensors
  mereo fit vq toy:shapes --states 27 -o codebook.safetensors
  mereo fit gmm heights.csv --components 3 -o mixture.safetensors
  mereo fit deep-gmm patches.npy --layers 10,5 -o deep.safetensors
  mereo fit fa holes.csv --components 5 -o factors.safetensors
  mereo fit gvq patches.npy --features 8 -o features.safetensors")]
pub(crate) struct FitArgs {
    #[command(subcommand)]
    model: Model,
}

#[derive(Debug, Subcommand)]
enum Model {
    Mcvq(parts::McvqArgs),
    Mcfa(parts::McfaArgs),
    Vq(quantisers::VqArgs),
    Gmm(mixtures::GmmArgs),
    Student(mixtures::StudentArgs),
    DeepGmm(mixtures::DeepGmmArgs),
    Pca(linear::PcaArgs),
    Ppca(linear::PpcaArgs),
    Fa(linear::FaArgs),
    Nmf(linear::NmfArgs),
    Gvq(quantisers::GvqArgs),
    Cvq(quantisers::CvqArgs),
}

fn restarts_help(default: usize) -> String {
    format!("How many starts to try; the best bound wins [default: {default}]")
}

/// What all models are asked.
#[derive(Debug, Clone, Args)]
struct Common {
    /// The rows to learn from: a file, a folder, or toy:WORLD
    #[arg(value_name = "DATA")]
    data: PathBuf,

    /// The model file to write
    #[arg(long, short, value_name = "MODEL")]
    output: PathBuf,

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
         steps: {}", StepKind::NAMES.join(", ")))]
    prepare: Vec<StepKind>,

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

impl Common {
    fn plan(&self, restarts: usize) -> Result<Plan> {
        let mut plan = Plan { restarts, ..Plan::default() };
        plan.passes = self.passes.unwrap_or(plan.passes);
        plan.tolerance = self.tolerance.unwrap_or(plan.tolerance);
        plan.checkpoints = match &self.checkpoint {
            None => None,
            Some(path) => {
                output::check_written("checkpoint", path, &[&self.data, &self.output])?;
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
}

pub(crate) fn run(args: &FitArgs, voice: Voice) -> Result<ExitCode> {
    match &args.model {
        Model::Mcvq(args) => {
            let (wanted, common) = args.wanted()?;
            fit(&wanted, args.restarts(), &common, voice)
        }
        Model::Mcfa(args) => {
            let (wanted, common) = args.wanted()?;
            fit(&wanted, args.restarts(), &common, voice)
        }
        Model::Vq(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Gmm(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Student(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::DeepGmm(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Pca(args) => fit(&args.wanted(), restarts::LINEAR, &args.common, voice),
        Model::Ppca(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Fa(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Nmf(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Gvq(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Cvq(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
    }
}

fn fit(wanted: &Wanted, restarts: usize, args: &Common, voice: Voice) -> Result<ExitCode> {
    wanted.check()?;
    output::check_output(&args.output, &args.reading.with_files(&[&args.data]))?;
    let plan = args.plan(restarts)?;
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let began = Instant::now();
    let data = data::open(&args.data, &args.reading, &context, voice)?;
    let task = Task { wanted, steps: &args.prepare, plan: &plan, context: &context };
    let (fitted, training) = with_data!(data, held => {
        let mut observer = progress::observer(held.source().rows(), voice);
        task.learn(held, &mut *observer, &args.output).map_err(|e| e.in_file(&args.data))?
    });
    fitted.save()?;
    let seconds = began.elapsed().as_secs_f64();
    if args.json {
        output::print_json(&in_json(&fitted, &training, seconds))?;
    } else {
        output::print(&in_words(&fitted, &training, seconds))?;
    }
    let interrupted = training.status == Status::Interrupted;
    Ok(if interrupted { interrupt::kept(&args.output, voice) } else { ExitCode::SUCCESS })
}

fn per_row(training: &Training) -> f64 {
    training.bound / training.rows.max(1) as f64
}

fn in_json(fitted: &Fitted, training: &Training, seconds: f64) -> serde_json::Value {
    json!({
        "model": fitted.model.kind(),
        "file": fitted.path.to_string_lossy(),
        "rows": training.rows,
        "columns": fitted.model.columns(),
        "bound": training.bound,
        "bound_per_row": per_row(training),
        "passes": training.passes,
        "converged": training.status == Status::Converged,
        "status": training.status,
        "restarts": training.restarts.len(),
        "params": fitted.manifest.params,
        "criteria": criteria(&fitted.model, training),
        "sizes": fitted.manifest.sizes,
        "best_restart": training.best,
        "seconds": seconds,
        "seed": training.seed,
    })
}

/// What sizes of a model can be compared by: smaller is better.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct Criteria {
    pub(crate) parameters: usize,
    pub(crate) aic: f64,
    pub(crate) bic: f64,
}

/// The log likelihood of the rows learned from, or the bound where that is all that is known.
pub(crate) fn log_likelihood(training: &Training) -> f64 {
    training.log_likelihood.unwrap_or(training.bound)
}

/// `2k - 2L` and `k log n - 2L` of models that count their parameters, with L the log likelihood.
pub(crate) fn criteria(model: &mereo::AnyModel, training: &Training) -> Option<Criteria> {
    let parameters = model.free_parameters()?;
    let (k, n) = (parameters as f64, training.rows.max(1) as f64);
    let likelihood = log_likelihood(training);
    let aic = 2.0 * k - 2.0 * likelihood;
    Some(Criteria { parameters, aic, bic: k * n.ln() - 2.0 * likelihood })
}

pub(crate) fn in_words(fitted: &Fitted, training: &Training, seconds: f64) -> String {
    let ended = match training.status {
        Status::Converged => "converged",
        Status::PassLimit => "still rising: more --passes may help",
        Status::Interrupted => "interrupted",
    };
    format!(
        "{}{}: {} rows of {} columns learned in {seconds:.1} s\n\
         bound {:.4} nats a row after {} passes ({ended}), the best of {} starts\n\
         {}\n",
        sizes_in_words(&fitted.manifest.sizes),
        fitted.model.kind(),
        training.rows,
        fitted.model.columns(),
        per_row(training),
        training.passes,
        training.restarts.len(),
        fitted.path.display()
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
