//! What mixtures are asked.

use clap::Args;
use mereo_mixture::deep::{Em, LayerKind, MStep, Search};
use mereo_mixture::{Covariance, DeepGmmParams, GmmParams, StudentParams};

use super::{Common, restarts_help};
use crate::wanted::{Wanted, restarts};

/// A mixture of Gaussians
///
/// Every row is made by one of N components, each with a mean and a covariance of the kind that
/// --covariance says. Missing cells are left out of the density; `mereo reconstruct` fills them by
/// their expectations.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit gmm heights.csv --components 3 -o mixture.safetensors
  mereo fit gmm patches.npy --components 15 --covariance full -o mixture.safetensors
  mereo fit gmm toy:faces --components 20 --covariance low-rank --factors 6 -o mfa.safetensors
  mereo fit gmm data.parquet --components 8 --weight count -o mixture.safetensors")]
pub(super) struct GmmArgs {
    /// Number of components
    #[arg(long, value_name = "N")]
    components: usize,

    /// What covariances may be: spherical, diagonal, tied (one for all), full or low-rank (a mixture
    /// of factor analysers) [default: diagonal]
    #[arg(long, value_name = "KIND", value_parser = str::parse::<Covariance>)]
    covariance: Option<Covariance>,

    #[arg(long, value_name = "K", help = format!(
        "Factors of each component, for --covariance low-rank [default: {}]",
        GmmParams::new(1).factors))]
    factors: Option<usize>,

    /// Give each row to its likeliest component alone while learning
    #[arg(long)]
    hard: bool,

    #[arg(long, value_name = "R", help = restarts_help(restarts::GMM))]
    restarts: Option<usize>,

    #[arg(long, value_name = "F", allow_negative_numbers = true, help = format!(
        "The smallest variance of a component, as a fraction of its column's [default: {}; tied and \
         full, in any direction, {}]",
        GmmParams::new(1).variance_floor, GmmParams::with(1, Covariance::Full).variance_floor))]
    variance_floor: Option<f64>,

    /// Draw full covariances towards one that they have in common, as by so many more rows of it:
    /// some hundreds help where components have few rows [default: 0]
    #[arg(long, value_name = "ROWS", allow_negative_numbers = true)]
    shrinkage: Option<f64>,

    #[command(flatten)]
    pub(super) common: Common,
}

impl GmmArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let covariance = self.covariance.unwrap_or(GmmParams::new(1).covariance);
        let mut params = GmmParams::with(self.components, covariance);
        params.factors = self.factors.unwrap_or(params.factors);
        params.hard = self.hard;
        params.variance_floor = self.variance_floor.unwrap_or(params.variance_floor);
        params.shrinkage = self.shrinkage.unwrap_or(params.shrinkage);
        Wanted::Gmm(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::GMM)
    }
}

/// A mixture of Student's t distributions: Gaussians with tails
///
/// As gmm with full covariances, but some rows may lie far out: how many, each component's degrees of
/// freedom say, which are learned.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit student returns.csv --components 2 -o tails.safetensors
  mereo fit student patches.npy --components 15 -o tails.safetensors
  mereo fit student holes.csv --components 3 --restarts 5 -o tails.safetensors")]
pub(super) struct StudentArgs {
    /// Number of components
    #[arg(long, value_name = "N")]
    components: usize,

    #[arg(long, value_name = "R", help = restarts_help(restarts::GMM))]
    restarts: Option<usize>,

    #[arg(long, value_name = "F", allow_negative_numbers = true, help = format!(
        "The smallest spread in any direction, columns in units of their deviations [default: {}]",
        StudentParams::new(1).variance_floor))]
    variance_floor: Option<f64>,

    #[command(flatten)]
    pub(super) common: Common,
}

impl StudentArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let mut params = StudentParams::new(self.components);
        params.variance_floor = self.variance_floor.unwrap_or(params.variance_floor);
        Wanted::Student(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::GMM)
    }
}

/// A Deep Gaussian mixture: layers of transforms, a row made by one path through them
///
/// The top layer, the first of --layers, is next to a standard normal, the last next to the data. As
/// many paths as the product of all layers' components share as few transforms as their sum.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit deep-gmm patches.npy --layers 10,5 -o deep.safetensors
  mereo fit deep-gmm patches.npy --layers 15,5 --layer-kind full,scale -o scales.safetensors
  mereo fit deep-gmm patches.npy --layers 15,5,5 --em hard --search coordinate -o deep.safetensors")]
pub(super) struct DeepGmmArgs {
    /// Components of each layer, the top one first
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', required = true)]
    layers: Vec<usize>,

    /// What transforms of each layer may be, the top one first: full, scale, diagonal or orthogonal
    /// (times a scale) [default: full]
    #[arg(long, value_name = "KIND,KIND,...", value_delimiter = ',', value_parser = str::parse::<LayerKind>)]
    layer_kind: Vec<LayerKind>,

    /// How rows are shared among paths: hard (each has one) or soft [default: soft]
    #[arg(long, value_name = "HOW", value_parser = str::parse::<Em>)]
    em: Option<Em>,

    /// How hard EM finds paths: full (try all) or coordinate (layer by layer) [default: full]
    #[arg(long, value_name = "HOW", value_parser = str::parse::<Search>)]
    search: Option<Search>,

    /// Make the probability of a path a product of one for each layer
    #[arg(long)]
    factorised: bool,

    /// Go through the rows so often in mini-batches first, a step along the gradient for each, before
    /// passes of EM: a quick way to begin with many rows or deep layers. Each counts as 16 passes [default: 0]
    #[arg(long, value_name = "N")]
    sweeps: Option<usize>,

    /// How a pass sums over the paths above a transform: lbfgs (path by path), kronecker (as one matrix, for
    /// few columns) or auto (whichever is quicker); all find the same [default: auto]
    #[arg(long, value_name = "HOW", value_parser = str::parse::<MStep>)]
    m_step: Option<MStep>,

    #[arg(long, value_name = "N", help = format!(
        "Most steps of a pass with each transform below the top layer [default: {}]",
        DeepGmmParams::new(&[1]).steps))]
    steps: Option<usize>,

    #[arg(long, value_name = "R", help = restarts_help(restarts::DEEP_GMM))]
    restarts: Option<usize>,

    #[arg(long, value_name = "F", allow_negative_numbers = true, help = format!(
        "The variance that cells are taken to be blurred with, as a fraction of their column's \
         [default: {}]", DeepGmmParams::new(&[1]).variance_floor))]
    variance_floor: Option<f64>,

    #[command(flatten)]
    pub(super) common: Common,
}

impl DeepGmmArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let mut params = DeepGmmParams::new(&self.layers);
        if !self.layer_kind.is_empty() {
            params.kinds.clone_from(&self.layer_kind);
        }
        params.em = self.em.unwrap_or(params.em);
        params.search = self.search.unwrap_or(params.search);
        params.factorised = self.factorised;
        params.sweeps = self.sweeps.unwrap_or(params.sweeps);
        params.m_step = self.m_step.unwrap_or(params.m_step);
        params.steps = self.steps.unwrap_or(params.steps);
        params.variance_floor = self.variance_floor.unwrap_or(params.variance_floor);
        Wanted::DeepGmm(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::DEEP_GMM)
    }
}
