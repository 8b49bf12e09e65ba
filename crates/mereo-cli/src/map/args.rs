//! What a map can be asked to be.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use mereo_core::{Checkpoints, Error, Result};
use mereo_data::steps::StepKind;
use mereo_map::{
    Affinity, Forces, MapParams, MdsParams, Method, PairCost, PairParams, Similarity, TsneParams,
    TsneStart,
};

use crate::args::{Reading, Threads};
use crate::output;

/// Put rows on a page, or new rows onto a map that is there
///
/// Rows that are alike come to lie together: t-SNE keeps neighbours, Sammon's mapping and metric scaling
/// keep distances, principal coordinates keep the largest ones. The map is a file: `mereo report` draws it,
/// `mereo show` says what it is, and --onto places new rows into it. Rows with holes are mapped by what a
/// model makes of them (--model), or by --pca. The same data, options and seed give the same file, byte for
/// byte, on any number of threads.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo map digits.npy --label labels.npy --pca 50 -o map.safetensors
  mereo map table.csv --prepare standardise --method sammon -o map.safetensors --csv points.csv
  mereo map distances.csv --distances --method pcoa -o cities.safetensors
  mereo map --model ratings.safetensors ratings.csv -o people.safetensors
  mereo map --onto map.safetensors new.npy --csv new-points.csv
  mereo report map.safetensors digits.npy -o map.html")]
pub(crate) struct MapArgs {
    /// The rows: a file, a folder, or toy:WORLD; with --distances a square matrix
    #[arg(value_name = "DATA")]
    pub(super) data: PathBuf,

    /// How the map is made
    #[arg(long, value_name = "HOW", default_value = "tsne")]
    pub(super) method: MethodChoice,

    /// Dimensions of the map
    #[arg(long, short, value_name = "N", default_value_t = 2)]
    pub(super) dimensions: usize,

    /// The map file to write
    #[arg(long, short, value_name = "MAP")]
    pub(super) output: Option<PathBuf>,

    /// Also write where rows are: .csv, .tsv, .parquet or .npy
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,

    /// Map what this model makes of the rows (their codes) instead of their cells
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["distances", "similarities", "prepare"])]
    pub(super) model: Option<PathBuf>,

    /// Place the rows into this finished map
    #[arg(long, value_name = "MAP", conflicts_with_all = [
        "model", "pca", "prepare", "output", "checkpoint", "landmarks", "names"])]
    pub(super) onto: Option<PathBuf>,

    /// Bring rows to this many principal components first
    #[arg(long, value_name = "N", conflicts_with_all = ["distances", "similarities"])]
    pub(super) pca: Option<usize>,

    #[arg(long, value_name = "STEP", conflicts_with_all = ["distances", "similarities"], help = format!(
        "Preprocessing, kept in the map and done to new rows as well; may be given again for more steps: {}",
        StepKind::NAMES.join(", ")))]
    pub(super) prepare: Vec<StepKind>,

    /// DATA is a square matrix of distances; a column of names is allowed
    #[arg(long)]
    pub(super) distances: bool,

    /// DATA is a square matrix of similarities, turned into distances by a rule: reverse (for answers on
    /// a scale), root (for dot products) or log (for rates)
    #[arg(long, value_name = "RULE", value_parser = str::parse::<Similarity>)]
    pub(super) similarities: Option<Similarity>,

    /// Names of the rows: a text file with one a line, or the column that holds them
    #[arg(long, value_name = "FILE|COLUMN")]
    pub(super) names: Option<String>,

    /// Make the map of this many rows, evenly spread, and place the others into it
    #[arg(long, value_name = "N")]
    pub(super) landmarks: Option<usize>,

    #[command(flatten)]
    pub(super) tsne: TsneArgs,

    #[command(flatten)]
    pub(super) pairs: PairArgs,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(super) seed: u64,

    #[command(flatten)]
    pub(super) threads: Threads,

    /// Keep the state of the map in this file, to be taken up with --resume
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<PathBuf>,

    /// Go on from the checkpoint, if it is there
    #[arg(long, requires = "checkpoint")]
    pub(super) resume: bool,

    #[arg(long, value_name = "SECONDS", requires = "checkpoint", allow_negative_numbers = true, help = format!(
        "Least time between two checkpoints [default: {}]", Checkpoints::new("").every.as_secs()))]
    pub(super) checkpoint_every: Option<f64>,

    /// Print one JSON object: method, cost, kl, trustworthiness, `neighbour_recall`, eigenvalues, seconds ...
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) reading: Reading,
}

/// The ways to a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MethodChoice {
    /// t-SNE: neighbours stay neighbours
    Tsne,
    /// Sammon's mapping: distances stay, small ones above all
    Sammon,
    /// Metric scaling: distances stay
    Mds,
    /// Principal coordinates: the directions in which rows differ most
    Pcoa,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "t-SNE")]
pub(super) struct TsneArgs {
    /// How many neighbours a row has, roughly; several, as in 10,100, are averaged
    /// [default: 30, fewer for few rows]
    #[arg(long, value_name = "P", value_delimiter = ',', allow_negative_numbers = true)]
    perplexity: Vec<f64>,

    /// The same width of neighbourhoods everywhere, in the data's units, instead of a perplexity
    #[arg(
        long,
        value_name = "SIGMA",
        conflicts_with = "perplexity",
        allow_negative_numbers = true
    )]
    width: Option<f64>,

    /// Where points begin [default: pca]
    #[arg(long, value_name = "WHERE")]
    start: Option<StartChoice>,

    /// By how much attraction is exaggerated after the first phase: above 1, clusters are tighter
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    exaggeration: Option<f64>,

    /// By how much attraction is exaggerated in the first phase [default: 12]
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    early_exaggeration: Option<f64>,

    /// Degrees of freedom: fewer than 1 shows finer clusters [default: 1]
    #[arg(long, value_name = "NU", allow_negative_numbers = true)]
    degrees: Option<f64>,

    /// How forces between all points are worked out [default: as fits]
    #[arg(long, value_name = "HOW")]
    forces: Option<ForcesChoice>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StartChoice {
    /// Principal coordinates
    Pca,
    /// The slowest modes of a walk from neighbour to neighbour
    Spectral,
    /// Anywhere
    Random,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ForcesChoice {
    /// Pair by pair
    Exact,
    /// Interpolated from a grid (1 or 2 dimensions)
    Grid,
    /// By a tree (2 or 3 dimensions)
    Tree,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sammon, metric scaling, t-SNE")]
pub(super) struct PairArgs {
    /// What metric scaling minimises: differences of squared distances, or of distances (stress)
    /// [default: squares]
    #[arg(long, value_name = "WHAT")]
    cost: Option<CostChoice>,

    /// Starts of Sammon's mapping and metric scaling: principal coordinates first, then random ones
    /// [default: 3]
    #[arg(long, value_name = "N")]
    starts: Option<usize>,

    /// Most steps: from each start [default: 1000], or of t-SNE after its first 250 [default: 500]
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CostChoice {
    Squares,
    Distances,
}

impl MapArgs {
    pub(super) fn params(&self) -> Result<MapParams> {
        let TsneArgs {
            perplexity,
            width,
            start,
            exaggeration,
            early_exaggeration,
            degrees,
            forces,
        } = &self.tsne;
        let of_tsne = [
            ("perplexity", !perplexity.is_empty()),
            ("width", width.is_some()),
            ("start", start.is_some()),
            ("exaggeration", exaggeration.is_some()),
            ("early-exaggeration", early_exaggeration.is_some()),
            ("degrees", degrees.is_some()),
            ("forces", forces.is_some()),
        ];
        if self.method != MethodChoice::Tsne
            && let Some((option, _)) = of_tsne.iter().find(|(_, given)| *given)
        {
            return Err(Error::option(option, "it belongs to --method tsne"));
        }
        if self.pairs.cost.is_some() && self.method != MethodChoice::Mds {
            return Err(Error::option("cost", "it belongs to --method mds"));
        }
        let mut pairs = PairParams::default();
        pairs.starts = self.pairs.starts.unwrap_or(pairs.starts);
        pairs.steps = self.pairs.steps.unwrap_or(pairs.steps);
        let method = match self.method {
            MethodChoice::Pcoa => Method::Pcoa,
            MethodChoice::Sammon => Method::Sammon(pairs),
            MethodChoice::Mds => {
                let cost = match self.pairs.cost {
                    Some(CostChoice::Distances) => PairCost::Distances,
                    Some(CostChoice::Squares) | None => PairCost::Squares,
                };
                Method::Mds(MdsParams { cost, pairs })
            }
            MethodChoice::Tsne => {
                let mut params = TsneParams::default();
                params.affinity = match (perplexity.as_slice(), width) {
                    (_, Some(width)) => Affinity::Width(*width),
                    ([], None) => Affinity::Auto,
                    ([one], None) => Affinity::Perplexity(*one),
                    (several, None) => Affinity::Multiscale(several.to_vec()),
                };
                params.start = match start {
                    Some(StartChoice::Spectral) => TsneStart::Spectral,
                    Some(StartChoice::Random) => TsneStart::Random,
                    Some(StartChoice::Pca) | None => TsneStart::Pca,
                };
                params.forces = match forces {
                    Some(ForcesChoice::Exact) => Forces::Exact,
                    Some(ForcesChoice::Grid) => Forces::Grid,
                    Some(ForcesChoice::Tree) => Forces::Tree,
                    None => Forces::Auto,
                };
                params.exaggeration = exaggeration.unwrap_or(params.exaggeration);
                params.early_exaggeration = early_exaggeration.unwrap_or(params.early_exaggeration);
                params.degrees = degrees.unwrap_or(params.degrees);
                params.steps = self.pairs.steps.unwrap_or(params.steps);
                Method::Tsne(params)
            }
        };
        let params = MapParams { dimensions: self.dimensions, method, landmarks: self.landmarks };
        params.check()?;
        Ok(params)
    }

    pub(super) fn checkpoints(&self) -> Result<Option<Checkpoints>> {
        let Some(path) = &self.checkpoint else { return Ok(None) };
        output::check_output(path, &[&self.data])?;
        let mut checkpoints = Checkpoints::new(path);
        checkpoints.resume = self.resume;
        if let Some(seconds) = self.checkpoint_every {
            checkpoints.every = Duration::try_from_secs_f64(seconds).map_err(|_| {
                let problem = format!("{seconds} is no time; give seconds from 0 up");
                Error::option("checkpoint-every", problem)
            })?;
        }
        Ok(Some(checkpoints))
    }

    /// Whether DATA is a matrix in place of rows.
    pub(super) fn is_matrix(&self) -> bool {
        self.distances || self.similarities.is_some()
    }
}
