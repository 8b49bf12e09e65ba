//! What parts models are asked.

use clap::{Args, ValueEnum};
use mereo_core::{Error, Result};
use mereo_parts::mcvq::SizeRule;
use mereo_parts::{Classes, Engine, Gate, McfaParams, McvqParams};

use super::{Common, restarts_help};
use crate::wanted::{SizeSearch, Wanted, restarts};

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
pub(super) struct McvqArgs {
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

impl McvqArgs {
    /// What is wanted, and the data with the column of labels, if classes need one.
    pub(super) fn wanted(&self) -> Result<(Wanted, Common)> {
        let given = [self.parts.0, self.states.0];
        let mut params = McvqParams::new(given[0].unwrap_or(1), given[1].unwrap_or(1));
        let rule = match self.choose_by {
            RuleChoice::DescriptionLength => SizeRule::DescriptionLength,
            RuleChoice::HeldOut => SizeRule::HeldOut,
        };
        let search = given.contains(&None).then_some(SizeSearch { given, rule });
        params.gate = self.gate.gate(params.gate)?;
        params.entropic = self.gate.entropic.unwrap_or(params.entropic);
        params.engine = match self.engine {
            Some(EngineChoice::Gibbs) => Engine::Gibbs { sweeps: self.sweeps.unwrap_or(SWEEPS) },
            _ if self.sweeps.is_some() => {
                return Err(Error::option("sweeps", "only --engine gibbs sweeps"));
            }
            _ => Engine::Variational,
        };
        params.variance_floor = self.variance_floor.unwrap_or(params.variance_floor);
        params.scouts = self.scouts.unwrap_or(params.scouts);
        let chosen = (&mut params.classes, &mut params.class_pseudo_count);
        let common = self.classes.choose(chosen, &self.common);
        Ok((Wanted::Mcvq(params, search), common))
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::MCVQ)
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
pub(super) struct McfaArgs {
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

impl McfaArgs {
    /// What is wanted, and the data with the column of labels, if classes need one.
    pub(super) fn wanted(&self) -> Result<(Wanted, Common)> {
        let mut params = McfaParams::new(self.parts, self.factors);
        params.gate = self.gate.gate(params.gate)?;
        params.entropic = self.gate.entropic.unwrap_or(params.entropic);
        params.noise_floor = self.noise_floor.unwrap_or(params.noise_floor);
        params.scouts = self.scouts.unwrap_or(params.scouts);
        let chosen = (&mut params.classes, &mut params.class_pseudo_count);
        let common = self.classes.choose(chosen, &self.common);
        Ok((Wanted::Mcfa(params), common))
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.unwrap_or(restarts::MCFA)
    }
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

fn classes(text: &str) -> std::result::Result<Classes, String> {
    match text {
        "labels" => Ok(Classes::Labels),
        number => number
            .parse()
            .map(Classes::Learned)
            .map_err(|_| "expected how many classes to find, or `labels`".to_owned()),
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
    /// By samples, for as many passes as are given: of the true posterior with --gate factorised, of
    /// the approximate one with a gate that rows share
    Gibbs,
}

/// Sweeps of Gibbs sampling in a pass, if nobody says.
const SWEEPS: usize = 3;
