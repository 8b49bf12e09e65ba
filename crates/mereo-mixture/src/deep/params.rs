//! What the user chooses.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::kronecker::MOST_COLUMNS;
use crate::gaussian::{check_numbers, check_size};

/// Most paths through the layers.
const MOST_PATHS: usize = 1 << 16;

/// What the transforms of a layer may be.
///
/// ```
/// use mereo_mixture::deep::LayerKind;
/// assert_eq!("scale".parse::<LayerKind>()?, LayerKind::Scale);
/// assert!("round".parse::<LayerKind>().is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// Any.
    Full,
    /// A number times the identity.
    Scale,
    /// A number for each column.
    Diagonal,
    /// A number times a rotation or reflection.
    Orthogonal,
}

impl LayerKind {
    /// Their names, as they are parsed.
    pub const NAMES: [&'static str; 4] = ["full", "scale", "diagonal", "orthogonal"];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Scale => "scale",
            Self::Diagonal => "diagonal",
            Self::Orthogonal => "orthogonal",
        }
    }

    /// Whether all transforms of another kind are of this one too.
    pub(super) fn covers(self, other: Self) -> bool {
        match self {
            Self::Full => true,
            Self::Scale => other == Self::Scale,
            Self::Diagonal | Self::Orthogonal => other == self || other == Self::Scale,
        }
    }
}

impl std::str::FromStr for LayerKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "full" => Self::Full,
            "scale" => Self::Scale,
            "diagonal" => Self::Diagonal,
            "orthogonal" => Self::Orthogonal,
            _ => {
                let problem = format!("`{text}` is not known; choose {}", Self::NAMES.join(", "));
                return Err(Error::option("layer-kind", problem));
            }
        })
    }
}

/// How rows are shared among paths while learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Em {
    /// A row belongs to one path.
    Hard,
    /// A row is shared among all, as likely as each is.
    Soft,
}

impl std::str::FromStr for Em {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "hard" => Ok(Self::Hard),
            "soft" => Ok(Self::Soft),
            _ => Err(Error::option("em", format!("`{text}` is not known; choose hard or soft"))),
        }
    }
}

/// How hard EM finds the path of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// By trying all.
    Full,
    /// Layer by layer, from the path of the pass before and from a random one.
    Coordinate,
}

impl std::str::FromStr for Search {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "full" => Ok(Self::Full),
            "coordinate" => Ok(Self::Coordinate),
            _ => Err(Error::option(
                "search",
                format!("`{text}` is not known; choose full or coordinate"),
            )),
        }
    }
}

/// How the M-step sums over the paths above a full transform: the optimum is the same, the cost is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MStep {
    /// Whichever is likely to be quicker.
    Auto,
    /// L-BFGS with two products a path and step.
    Lbfgs,
    /// L-BFGS with all paths in one matrix of D⁴ numbers, for few columns.
    Kronecker,
}

impl std::str::FromStr for MStep {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "lbfgs" => Ok(Self::Lbfgs),
            "kronecker" => Ok(Self::Kronecker),
            _ => {
                let problem = format!("`{text}` is not known; choose auto, lbfgs or kronecker");
                Err(Error::option("m-step", problem))
            }
        }
    }
}

/// The size of the model and how it is learned. The one place where defaults live.
///
/// ```
/// use mereo_mixture::DeepGmmParams;
/// assert!(DeepGmmParams::new(&[10, 5]).check().is_ok());
/// assert!(DeepGmmParams::new(&[10, 0]).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeepGmmParams {
    /// Number of components of each layer, the top one first.
    pub layers: Vec<usize>,
    /// What their transforms may be, layer by layer.
    pub kinds: Vec<LayerKind>,
    /// How rows are shared among paths.
    pub em: Em,
    /// How hard EM finds paths.
    pub search: Search,
    /// Whether the probability of a path is a product of one for each layer.
    pub factorised: bool,
    /// How often rows are gone through in mini-batches, with a step along the gradient for each, before
    /// passes of EM over all rows.
    #[serde(default)]
    pub sweeps: usize,
    /// How the M-step sums over paths.
    #[serde(default = "auto")]
    pub m_step: MStep,
    /// Most steps that a pass goes with each transform below the top layer.
    pub steps: usize,
    /// The variance that cells are taken to be blurred with, as a fraction of their column's.
    pub variance_floor: f64,
}

fn auto() -> MStep {
    MStep::Auto
}

impl DeepGmmParams {
    /// A model of full layers of these sizes, the top one first, with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_mixture::DeepGmmParams::new(&[10, 5]).kinds.len(), 2);
    /// ```
    pub fn new(layers: &[usize]) -> Self {
        Self {
            layers: layers.to_vec(),
            kinds: vec![LayerKind::Full; layers.len()],
            em: Em::Soft,
            search: Search::Full,
            factorised: false,
            sweeps: 0,
            m_step: MStep::Auto,
            steps: 10,
            variance_floor: 1e-6,
        }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// use mereo_mixture::DeepGmmParams;
    /// assert!(DeepGmmParams { steps: 0, ..DeepGmmParams::new(&[2, 2]) }.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        if self.layers.is_empty() || self.layers.contains(&0) {
            return Err(Error::option(
                "layers",
                "at least 1 layer, and at least 1 component in each, are needed",
            ));
        }
        let paths = self.layers.iter().fold(1usize, |p, &n| p.saturating_mul(n));
        if paths > MOST_PATHS {
            let problem = format!("{paths} paths are more than the {MOST_PATHS} allowed");
            return Err(Error::option("layers", problem));
        }
        if self.kinds.len() != self.layers.len() {
            let problem = format!("{} kinds for {} layers", self.kinds.len(), self.layers.len());
            return Err(Error::option("layer-kind", problem));
        }
        if self.em == Em::Soft && self.search == Search::Coordinate {
            return Err(Error::option("search", "only hard EM searches; add --em hard"));
        }
        if self.steps == 0 {
            return Err(Error::option("steps", "at least 1 is needed"));
        }
        check_size(paths, self.variance_floor)
    }

    /// Whether it fits data of this many columns.
    pub(super) fn check_columns(&self, columns: usize) -> Result<()> {
        if self.m_step == MStep::Kronecker && columns > MOST_COLUMNS {
            let problem = format!(
                "the Kronecker form is for at most {MOST_COLUMNS} columns, and there are {columns}; choose \
                 lbfgs"
            );
            return Err(Error::option("m-step", problem));
        }
        check_numbers(self.layers.iter().product(), columns, columns.saturating_add(1))
    }
}
