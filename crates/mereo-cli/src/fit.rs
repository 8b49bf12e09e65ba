//! `mereo fit`: learns a model from data.

mod mixtures;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use mereo_core::{Checkpoints, Error, Plan, Result, SizeTried, Status, Training};
use mereo_data::steps::StepKind;
use mereo_linear::{FaParams, Loss, NmfParams, PcaParams, PpcaParams, Rotation};
use mereo_parts::mcvq::SizeRule;
use mereo_parts::{Classes, Engine, Gate, McfaParams, McvqParams};
use mereo_quantize::cvq::Inference;
use mereo_quantize::{Association, CvqParams, GvqParams, VqParams};
use serde_json::json;

use crate::args::{Reading, Threads};
use crate::data::{self, with_data};
use crate::fitted::Fitted;
use crate::output::{self, Voice};
use crate::wanted::{SizeSearch, Task, Wanted, restarts};
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
    Mcvq(McvqArgs),
    Mcfa(McfaArgs),
    Vq(VqArgs),
    Gmm(mixtures::GmmArgs),
    Student(mixtures::StudentArgs),
    DeepGmm(mixtures::DeepGmmArgs),
    Pca(PcaArgs),
    Ppca(PpcaArgs),
    Fa(FaArgs),
    Nmf(NmfArgs),
    Gvq(GvqArgs),
    Cvq(CvqArgs),
}

/// Parts with states: multiple cause vector quantisation
///
/// Columns are shared out among K parts, and each part shows one of its J states in every row.
/// Starts take turns: one seeded by which columns vary together, one scouted by many short random
/// tries, one from what those tries agree on; the best bound wins.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit mcvq toy:faces --parts 5 --states 8 -o faces.safetensors
  mereo fit mcvq u.data --parts 6 --states 5 --prepare remove-row-means -o m.safetensors
  mereo fit mcvq toy:faces --parts 5 --states 8 --classes labels -o faces.safetensors
  mereo fit mcvq iris.csv --parts 2 --states 4 --labels species -o iris.safetensors
  mereo fit mcvq toy:shapes --parts auto --states auto -o shapes.safetensors
  mereo fit mcvq huge.parquet --parts 8 --states 8 --checkpoint c --resume -o m.safetensors
  mereo fit mcvq faces.npy --parts 6 --states 10 --gate factorised --warm 40 -o m.safetensors
  mereo fit mcvq faces.npy --parts 6 --states 10 --engine gibbs --passes 120 -o m.safetensors")]
struct McvqArgs {
    /// Number of parts, or `auto` to find it
    #[arg(long, value_name = "K|auto")]
    parts: Size,

    /// Number of states of each part, or `auto` to find it
    #[arg(long, value_name = "J|auto")]
    states: Size,

    /// What the best size is best in, where it is to be found
    #[arg(long, value_name = "WHAT", default_value = "description-length")]
    choose_by: RuleChoice,

    #[arg(long, value_name = "R", help = restarts_help(restarts::MCVQ))]
    restarts: Option<usize>,

    #[command(flatten)]
    gate: GateArgs,

    /// How rows are looked at [default: variational]
    #[arg(long, value_name = "HOW")]
    engine: Option<EngineChoice>,

    /// Samples of each row that a pass of --engine gibbs learns from [default: 3]
    #[arg(long, value_name = "N")]
    sweeps: Option<usize>,

    #[arg(long, value_name = "F", allow_negative_numbers = true, help = format!(
        "The smallest variance of a state, as a fraction of its column's [default: {}]",
        McvqParams::new(1, 1).variance_floor))]
    variance_floor: Option<f64>,

    #[arg(long, value_name = "N", help = format!(
        "Random tries that a scouted start chooses from [default: {}]",
        McvqParams::new(1, 1).scouts))]
    scouts: Option<usize>,

    #[command(flatten)]
    classes: ClassArgs,

    #[command(flatten)]
    common: Common,
}

/// Classes that the parts of a model depend on.
#[derive(Debug, Clone, Args)]
struct ClassArgs {
    /// Classes that parts depend on: how many to find, or `labels` for one for each label that the
    /// data brings along
    #[arg(long, value_name = "N|labels", value_parser = classes, conflicts_with = "labels")]
    classes: Option<Classes>,

    /// One class for each label in this column; rows without a label are shared among them
    #[arg(long, value_name = "COLUMN", conflicts_with = "label")]
    labels: Option<String>,

    #[arg(long, value_name = "A", allow_negative_numbers = true, help = format!(
        "Rows that each class, and each state in each class, is taken to have been seen in beside \
         those there are [default: {}]", McvqParams::new(1, 1).class_pseudo_count))]
    class_pseudo_count: Option<f64>,
}

impl ClassArgs {
    /// What was chosen, in the place of these; a column of labels is also to be read.
    fn choose(&self, chosen: (&mut Classes, &mut f64), common: &Common) -> Common {
        let (classes, pseudo_count) = chosen;
        *pseudo_count = self.class_pseudo_count.unwrap_or(*pseudo_count);
        *classes = self.classes.unwrap_or(*classes);
        let mut common = common.clone();
        if let Some(column) = &self.labels {
            *classes = Classes::Labels;
            common.reading.label = Some(column.clone());
        }
        common
    }
}

/// A number, or `auto`.
#[derive(Debug, Clone, Copy)]
struct Size(Option<usize>);

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Self(None)),
            number => number
                .parse()
                .map(|n| Self(Some(n)))
                .map_err(|_| "expected a number or auto".into()),
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RuleChoice {
    /// The fewest bits for model, codes and residual
    DescriptionLength,
    /// Predicting a tenth of the cells, which are hidden
    HeldOut,
}

fn classes(text: &str) -> std::result::Result<Classes, String> {
    match text {
        "labels" => Ok(Classes::Labels),
        number => number
            .parse()
            .map(Classes::Learned)
            .map_err(|_| "expected how many classes to find, or `labels`".to_owned()),
    }
}

/// Parts with factors: multiple cause factor analysis
///
/// Columns are shared out among K parts, as by mcvq, but a part does not choose among states: its
/// columns move together along J factors, up and down by any amount. Good where parts change
/// smoothly, as brightness does. Starts take turns as mcvq's do.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit mcfa toy:faces --parts 5 --factors 3 -o faces.safetensors
  mereo fit mcfa faces.npy --parts 6 --factors 4 --gate standard -o faces.safetensors
  mereo fit mcfa toy:faces --parts 5 --factors 3 --classes labels -o faces.safetensors
  mereo fit mcfa u.data --parts 4 --factors 2 --prepare remove-row-means -o m.safetensors")]
struct McfaArgs {
    /// Number of parts
    #[arg(long, value_name = "K")]
    parts: usize,

    /// Number of factors of each part
    #[arg(long, value_name = "J")]
    factors: usize,

    #[arg(long, value_name = "R", help = restarts_help(restarts::MCFA))]
    restarts: Option<usize>,

    #[command(flatten)]
    gate: GateArgs,

    #[arg(long, value_name = "F", allow_negative_numbers = true, help = format!(
        "The smallest noise of a part in a column, as a fraction of the column's variance \
         [default: {}]", McfaParams::new(1, 1).noise_floor))]
    noise_floor: Option<f64>,

    #[arg(long, value_name = "N", help = format!(
        "Random tries that a scouted start chooses from [default: {}]",
        McfaParams::new(1, 1).scouts))]
    scouts: Option<usize>,

    #[command(flatten)]
    classes: ClassArgs,

    #[command(flatten)]
    common: Common,
}

/// A codebook: vector quantisation by k-means
///
/// Every row is said by the one of J means that is most like it. Missing cells are not looked at.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit vq toy:shapes --states 27 -o codebook.safetensors
  mereo fit vq data.csv --states 8 --prepare standardise -o codebook.safetensors
  mereo fit vq digits.idx.gz --states 64 --restarts 1 -o codebook.safetensors")]
struct VqArgs {
    /// Number of states: how many means there are
    #[arg(long, value_name = "J")]
    states: usize,

    #[arg(long, value_name = "R", help = restarts_help(restarts::VQ))]
    restarts: Option<usize>,

    #[arg(long, value_name = "F", allow_negative_numbers = true, help = format!(
        "The smallest variance about the means, as a fraction of the data's [default: {}]",
        VqParams::new(1).variance_floor))]
    variance_floor: Option<f64>,

    #[command(flatten)]
    common: Common,
}

/// Binary features that add up: generative vector quantisation
///
/// Every row is an origin plus some of N features, each there or not, so that N features make 2^N
/// codes. With several sets a row is made of the features of one of them. `mereo encode` says
/// which features a row has.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit gvq patches.npy --features 8 -o features.safetensors
  mereo fit gvq data.csv --features 12 --penalty 0.5 -o sparse.safetensors
  mereo fit gvq digits.idx.gz --prepare scale-all --binary --sets 4 --features 4 -o d.safetensors")]
struct GvqArgs {
    /// Number of features of each set
    #[arg(long, value_name = "N")]
    features: usize,

    #[arg(long, value_name = "M", help = format!(
        "Number of sets; a row is made of one of them [default: {}]", GvqParams::new(1).sets))]
    sets: Option<usize>,

    #[arg(long, value_name = "L", allow_negative_numbers = true, help = format!(
        "What each feature that is there costs, in squared units of the data [default: {}]",
        GvqParams::new(1).penalty))]
    penalty: Option<f64>,

    /// Cells are 0 or 1: so are features and their sums, squashed
    #[arg(long)]
    binary: bool,

    #[arg(long, value_name = "B", requires = "binary", allow_negative_numbers = true, help = format!(
        "How steeply sums are squashed to 0 or 1 [default: {BETA}]"))]
    beta: Option<f64>,

    /// How rows find their features: auto, exact, bp, br, mf, gibbs, dbp, dbr or local [default:
    /// auto]
    #[arg(long, value_name = "HOW", value_parser = str::parse::<Association>)]
    association: Option<Association>,

    #[arg(long, value_name = "R", help = restarts_help(restarts::GVQ))]
    restarts: Option<usize>,

    #[arg(long, value_name = "N", help = format!(
        "Short runs that a start is the best of [default: {}]", GvqParams::new(1).scouts))]
    scouts: Option<usize>,

    #[command(flatten)]
    common: Common,
}

/// The steepness of binary sums if nobody says: the paper's.
const BETA: f64 = 4.5;

/// Codebooks that add up: cooperative vector quantisation
///
/// Every row is the sum of one vector from each of K codebooks of J.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit cvq data.csv --parts 4 --states 16 -o sums.safetensors
  mereo fit cvq toy:shapes --parts 3 --states 12 --inference mean-field -o sums.safetensors
  mereo fit cvq patches.npy --parts 8 --states 4 --restarts 1 -o sums.safetensors")]
struct CvqArgs {
    /// Number of codebooks
    #[arg(long, value_name = "K")]
    parts: usize,

    /// Number of vectors in each
    #[arg(long, value_name = "J")]
    states: usize,

    /// How rows find their vectors: mean-field, gibbs or local [default: local]
    #[arg(long, value_name = "HOW", value_parser = str::parse::<Inference>)]
    inference: Option<Inference>,

    #[arg(long, value_name = "R", help = restarts_help(restarts::CVQ))]
    restarts: Option<usize>,

    #[command(flatten)]
    common: Common,
}

/// The gate of a parts model.
#[derive(Debug, Args)]
struct GateArgs {
    /// How boldly columns change parts, or whether every row shares its columns out anew
    /// [default: annealed]
    #[arg(long, value_name = "HOW")]
    gate: Option<GateChoice>,

    /// Passes with one gate for all rows before --gate factorised gives each its own [default: 0]
    #[arg(long, value_name = "P")]
    warm: Option<usize>,

    /// Strength of a prior that prefers columns which belong to one part alone; it needs --gate
    /// factorised [default: 0]
    #[arg(long, value_name = "ALPHA", allow_negative_numbers = true)]
    entropic: Option<f64>,
}

impl GateArgs {
    /// The gate that is wanted, where `default` is the model's own.
    fn gate(&self, default: Gate) -> Result<Gate> {
        let factorised = matches!(self.gate, Some(GateChoice::Factorised));
        if self.warm.is_some() && !factorised {
            return Err(Error::option("warm", "only --gate factorised can be warmed up"));
        }
        Ok(match self.gate {
            None | Some(GateChoice::Annealed) => default,
            Some(GateChoice::Standard) => Gate::Standard,
            Some(GateChoice::RTied) => Gate::RTied,
            Some(GateChoice::Factorised) => Gate::Factorised { from: self.warm.unwrap_or(0) },
        })
    }
}

/// Principal components: the directions of most variance
///
/// Exact for small tables, by random projections for large ones. If cells are missing, the
/// components are those that make the observed ones most likely. Codes are places along the
/// components.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit pca bodyfat.csv --components 3 -o pca.safetensors
  mereo fit pca toy:faces --components 20 --whiten -o pca.safetensors
  mereo fit pca data.csv --components 5 --prepare standardise -o pca.safetensors")]
struct PcaArgs {
    /// Number of components
    #[arg(long, value_name = "N")]
    components: usize,

    /// Divide codes by the deviation along each component
    #[arg(long)]
    whiten: bool,

    #[command(flatten)]
    common: Common,
}

/// Probabilistic principal components: a density about a plane
///
/// Rows are Gaussian, with N directions of their own variance and the same noise in all columns.
/// In closed form, or by EM if cells are missing; scores are exact, and missing cells are filled
/// by their expectations.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit ppca data.csv --components 5 -o ppca.safetensors
  mereo fit ppca toy:faces --components 20 -o ppca.safetensors
  mereo fit ppca holes.csv --components 3 --passes 500 -o ppca.safetensors")]
struct PpcaArgs {
    /// Number of components
    #[arg(long, value_name = "N")]
    components: usize,

    #[arg(long, value_name = "R", help = restarts_help(restarts::LINEAR))]
    restarts: Option<usize>,

    #[arg(long, value_name = "F", allow_negative_numbers = true, help = format!(
        "The smallest variance of the noise, as a fraction of the columns' mean [default: {}]",
        PpcaParams::new(1).variance_floor))]
    variance_floor: Option<f64>,

    #[command(flatten)]
    common: Common,
}

/// Factor analysis: what columns share, and noise of their own
///
/// Rows are Gaussian: N factors that several columns have in common, and in each column noise of
/// its own. Unlike principal components, the columns' units do not matter. Scores are exact, and
/// missing cells are filled by their expectations.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit fa data.csv --components 4 -o fa.safetensors
  mereo fit fa survey.csv --components 5 --rotation varimax -o fa.safetensors
  mereo fit fa holes.csv --components 10 --passes 500 -o fa.safetensors")]
struct FaArgs {
    /// Number of components (factors)
    #[arg(long, value_name = "N")]
    components: usize,

    /// Which of the equally good loadings: principal, or varimax for few large ones a factor
    /// [default: principal]
    #[arg(long, value_name = "HOW", value_parser = str::parse::<Rotation>)]
    rotation: Option<Rotation>,

    #[arg(long, value_name = "R", help = restarts_help(restarts::LINEAR))]
    restarts: Option<usize>,

    #[arg(long, value_name = "F", allow_negative_numbers = true, help = format!(
        "The smallest variance of a column's noise, as a fraction of its own [default: {}]",
        FaParams::new(1).variance_floor))]
    variance_floor: Option<f64>,

    #[command(flatten)]
    common: Common,
}

/// Non-negative factorisation: rows as sums of components, nothing subtracted
///
/// Cells must be at least 0. Components add up to 1, and a code says how much of each a row has.
/// The bound is minus the loss, cells measured in units of their mean; there are no scores.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit nmf toy:documents --components 6 --loss kl -o nmf.safetensors
  mereo fit nmf faces.npy --components 30 -o nmf.safetensors
  mereo fit nmf data.csv --components 5 --prepare scale:0,1 -o nmf.safetensors")]
struct NmfArgs {
    /// Number of components
    #[arg(long, value_name = "N")]
    components: usize,

    /// What is made small: kl, the divergence of counts, or frobenius, the squared error
    /// [default: frobenius]
    #[arg(long, value_name = "LOSS", value_parser = str::parse::<Loss>)]
    loss: Option<Loss>,

    #[arg(long, value_name = "R", help = restarts_help(restarts::LINEAR))]
    restarts: Option<usize>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum GateChoice {
    /// The papers' standard update: gently
    Standard,
    /// Gently at first, then ever more boldly
    Annealed,
    /// At once
    RTied,
    /// Not at all: every row has a gate of its own, the papers' fully factorised posterior
    Factorised,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum EngineChoice {
    /// By the approximate posterior that makes the bound largest
    Variational,
    /// By samples of the true posterior, for as many passes as are given
    Gibbs,
}

/// Sweeps of Gibbs sampling in a pass, if nobody says.
const SWEEPS: usize = 3;

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
                output::check_output(path, &[&self.data])?;
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
            let given = [args.parts.0, args.states.0];
            let mut params = McvqParams::new(given[0].unwrap_or(1), given[1].unwrap_or(1));
            let rule = match args.choose_by {
                RuleChoice::DescriptionLength => SizeRule::DescriptionLength,
                RuleChoice::HeldOut => SizeRule::HeldOut,
            };
            let search = given.contains(&None).then_some(SizeSearch { given, rule });
            params.gate = args.gate.gate(params.gate)?;
            params.entropic = args.gate.entropic.unwrap_or(params.entropic);
            params.engine = match args.engine {
                Some(EngineChoice::Gibbs) => {
                    Engine::Gibbs { sweeps: args.sweeps.unwrap_or(SWEEPS) }
                }
                _ if args.sweeps.is_some() => {
                    return Err(Error::option("sweeps", "only --engine gibbs sweeps"));
                }
                _ => Engine::Variational,
            };
            params.variance_floor = args.variance_floor.unwrap_or(params.variance_floor);
            params.scouts = args.scouts.unwrap_or(params.scouts);
            let chosen = (&mut params.classes, &mut params.class_pseudo_count);
            let common = args.classes.choose(chosen, &args.common);
            let restarts = args.restarts.unwrap_or(restarts::MCVQ);
            fit(&Wanted::Mcvq(params, search), restarts, &common, voice)
        }
        Model::Mcfa(args) => {
            let mut params = McfaParams::new(args.parts, args.factors);
            params.gate = args.gate.gate(params.gate)?;
            params.entropic = args.gate.entropic.unwrap_or(params.entropic);
            params.noise_floor = args.noise_floor.unwrap_or(params.noise_floor);
            params.scouts = args.scouts.unwrap_or(params.scouts);
            let chosen = (&mut params.classes, &mut params.class_pseudo_count);
            let common = args.classes.choose(chosen, &args.common);
            let restarts = args.restarts.unwrap_or(restarts::MCFA);
            fit(&Wanted::Mcfa(params), restarts, &common, voice)
        }
        Model::Vq(args) => {
            let mut params = VqParams::new(args.states);
            params.variance_floor = args.variance_floor.unwrap_or(params.variance_floor);
            let restarts = args.restarts.unwrap_or(restarts::VQ);
            fit(&Wanted::Vq(params), restarts, &args.common, voice)
        }
        Model::Gmm(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Student(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::DeepGmm(args) => fit(&args.wanted(), args.restarts(), &args.common, voice),
        Model::Pca(args) => {
            let params = PcaParams { whiten: args.whiten, ..PcaParams::new(args.components) };
            fit(&Wanted::Pca(params), restarts::LINEAR, &args.common, voice)
        }
        Model::Ppca(args) => {
            let mut params = PpcaParams::new(args.components);
            params.variance_floor = args.variance_floor.unwrap_or(params.variance_floor);
            let restarts = args.restarts.unwrap_or(restarts::LINEAR);
            fit(&Wanted::Ppca(params), restarts, &args.common, voice)
        }
        Model::Fa(args) => {
            let mut params = FaParams::new(args.components);
            params.variance_floor = args.variance_floor.unwrap_or(params.variance_floor);
            params.rotation = args.rotation.unwrap_or(params.rotation);
            let restarts = args.restarts.unwrap_or(restarts::LINEAR);
            fit(&Wanted::Fa(params), restarts, &args.common, voice)
        }
        Model::Nmf(args) => {
            let mut params = NmfParams::new(args.components);
            params.loss = args.loss.unwrap_or(params.loss);
            let restarts = args.restarts.unwrap_or(restarts::LINEAR);
            fit(&Wanted::Nmf(params), restarts, &args.common, voice)
        }
        Model::Gvq(args) => {
            let mut params = GvqParams::new(args.features);
            params.sets = args.sets.unwrap_or(params.sets);
            params.penalty = args.penalty.unwrap_or(params.penalty);
            params.beta = args.binary.then(|| args.beta.unwrap_or(BETA));
            params.association = args.association.unwrap_or(params.association);
            params.scouts = args.scouts.unwrap_or(params.scouts);
            let restarts = args.restarts.unwrap_or(restarts::GVQ);
            fit(&Wanted::Gvq(params), restarts, &args.common, voice)
        }
        Model::Cvq(args) => {
            let mut params = CvqParams::new(args.parts, args.states);
            params.inference = args.inference.unwrap_or(params.inference);
            let restarts = args.restarts.unwrap_or(restarts::CVQ);
            fit(&Wanted::Cvq(params), restarts, &args.common, voice)
        }
    }
}

fn fit(wanted: &Wanted, restarts: usize, args: &Common, voice: Voice) -> Result<ExitCode> {
    wanted.check()?;
    output::check_output(&args.output, &[&args.data])?;
    let plan = args.plan(restarts)?;
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice)?;
    let began = Instant::now();
    let data = data::open(&args.data, &args.reading, voice)?;
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
    if training.status != Status::Interrupted {
        return Ok(ExitCode::SUCCESS);
    }
    voice.say(format_args!(
        "mereo: interrupted; the best model so far is kept in {}",
        args.output.display()
    ));
    Ok(interrupt::exit_code())
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

/// `2k - 2L` and `k log n - 2L` of models that count their parameters, with the bound for L.
pub(crate) fn criteria(model: &mereo::AnyModel, training: &Training) -> Option<Criteria> {
    let parameters = model.free_parameters()?;
    let (k, n) = (parameters as f64, training.rows.max(1) as f64);
    let aic = 2.0 * k - 2.0 * training.bound;
    Some(Criteria { parameters, aic, bic: k * n.ln() - 2.0 * training.bound })
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
