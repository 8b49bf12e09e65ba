//! What linear models are asked.

use clap::Args;
use mereo_linear::{FaParams, Loss, NmfParams, PcaParams, PpcaParams, Rotation};

use super::{Common, restarts_help};
use crate::wanted::{Wanted, restarts};

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
pub(super) struct PcaArgs {
    /// Number of components
    #[arg(long, value_name = "N")]
    components: usize,

    /// Divide codes by the deviation along each component
    #[arg(long)]
    whiten: bool,

    #[command(flatten)]
    pub(super) common: Common,
}

impl PcaArgs {
    pub(super) fn wanted(&self) -> Wanted {
        Wanted::Pca(PcaParams { whiten: self.whiten, ..PcaParams::new(self.components) })
    }
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
pub(super) struct PpcaArgs {
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
    pub(super) common: Common,
}

impl PpcaArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let mut params = PpcaParams::new(self.components);
        params.variance_floor = self.variance_floor.unwrap_or(params.variance_floor);
        Wanted::Ppca(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::LINEAR)
    }
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
pub(super) struct FaArgs {
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
    pub(super) common: Common,
}

impl FaArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let mut params = FaParams::new(self.components);
        params.variance_floor = self.variance_floor.unwrap_or(params.variance_floor);
        params.rotation = self.rotation.unwrap_or(params.rotation);
        Wanted::Fa(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::LINEAR)
    }
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
pub(super) struct NmfArgs {
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
    pub(super) common: Common,
}

impl NmfArgs {
    pub(super) fn wanted(&self) -> Wanted {
        let mut params = NmfParams::new(self.components);
        params.loss = self.loss.unwrap_or(params.loss);
        Wanted::Nmf(params)
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::LINEAR)
    }
}
