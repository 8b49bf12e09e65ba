//! What quantisers are asked.

use clap::Args;
use mereo_quantize::cvq::Inference;
use mereo_quantize::{Association, CvqParams, GvqParams, VqParams};

use super::{Common, restarts_help};
use crate::wanted::{Wanted, restarts};

/// A codebook: vector quantisation by k-means
///
/// Every row is said by the one of J means that is most like it. Missing cells are not looked at.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit vq toy:shapes --states 27 -o codebook.safetensors
  mereo fit vq data.csv --states 8 --prepare standardise -o codebook.safetensors
  mereo fit vq digits.idx.gz --states 64 --restarts 1 -o codebook.safetensors")]
pub(super) struct VqArgs {
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
    pub(super) common: Common,
}

impl VqArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let mut params = VqParams::new(self.states);
        params.variance_floor = self.variance_floor.unwrap_or(params.variance_floor);
        Wanted::Vq(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::VQ)
    }
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
pub(super) struct GvqArgs {
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
    pub(super) common: Common,
}

/// The steepness of binary sums if nobody says: the paper's.
const BETA: f64 = 4.5;

impl GvqArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let mut params = GvqParams::new(self.features);
        params.sets = self.sets.unwrap_or(params.sets);
        params.penalty = self.penalty.unwrap_or(params.penalty);
        params.beta = self.binary.then(|| self.beta.unwrap_or(BETA));
        params.association = self.association.unwrap_or(params.association);
        params.scouts = self.scouts.unwrap_or(params.scouts);
        Wanted::Gvq(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::GVQ)
    }
}

/// Codebooks that add up: cooperative vector quantisation
///
/// Every row is the sum of one vector from each of K codebooks of J.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit cvq data.csv --parts 4 --states 16 -o sums.safetensors
  mereo fit cvq toy:shapes --parts 3 --states 12 --inference mean-field -o sums.safetensors
  mereo fit cvq patches.npy --parts 8 --states 4 --restarts 1 -o sums.safetensors")]
pub(super) struct CvqArgs {
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
    pub(super) common: Common,
}

impl CvqArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let mut params = CvqParams::new(self.parts, self.states);
        params.inference = self.inference.unwrap_or(params.inference);
        Wanted::Cvq(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::CVQ)
    }
}
