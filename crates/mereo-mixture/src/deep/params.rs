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

mereo_core::choices!(LayerKind, "layer-kind":
    Full = "full", Scale = "scale", Diagonal = "diagonal", Orthogonal = "orthogonal");

impl LayerKind {
    /// Whether all transforms of another kind are of this one too.
    pub(super) fn covers(self, other: Self) -> bool {
        match self {
            Self::Full => true,
            Self::Scale => other == Self::Scale,
            Self::Diagonal | Self::Orthogonal => other == self || other == Self::Scale,
        }
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

mereo_core::choices!(Em, "em": Hard = "hard", Soft = "soft");

/// How hard EM finds the path of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// By trying all.
    Full,
    /// Layer by layer, from the path of the pass before and from a random one.
    Coordinate,
}

mereo_core::choices!(Search, "search": Full = "full", Coordinate = "coordinate");

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

mereo_core::choices!(MStep, "m-step":
    Auto = "auto", Lbfgs = "lbfgs", Kronecker = "kronecker");

/// Steps with each transform, and the blur of cells, if nobody says.
const STEPS: usize = 10;
const VARIANCE_FLOOR: f64 = 1e-6;

mereo_core::params! {
    /// The size of the model and how it is learned.
    ///
    /// ```
    /// use mereo_mixture::DeepGmmParams;
    /// assert!(DeepGmmParams::new(&[10, 5]).check().is_ok());
    /// assert!(DeepGmmParams::new(&[10, 0]).check().is_err());
    /// ```
    pub struct DeepGmmParams {
        /// Components of each layer, the top one first.
        pub layers: Vec<usize>;
        /// What transforms of each layer may be, the top one first: full, scale, diagonal or
        /// orthogonal (times a scale); full in all layers if nobody says.
        pub layer_kind: Vec<LayerKind> = Vec::new();
        /// How rows are shared among paths: hard (each has one) or soft.
        pub em: Em = Em::Soft;
        /// How hard EM finds paths: full (try all) or coordinate (layer by layer).
        pub search: Search = Search::Full;
        /// Make the probability of a path a product of one for each layer.
        pub factorised: bool = false;
        /// Go through the rows so often in mini-batches first, a step along the gradient for each,
        /// before passes of EM: a quick way to begin with many rows or deep layers. Each counts as 16
        /// passes.
        pub sweeps: usize = 0;
        /// How a pass sums over the paths above a transform: lbfgs (path by path), kronecker (as one
        /// matrix, for few columns) or auto (whichever is quicker); all find the same.
        pub m_step: MStep = MStep::Auto;
        /// Most steps of a pass with each transform below the top layer.
        pub steps: usize = STEPS;
        /// The variance that cells are taken to be blurred with, as a fraction of their column's.
        pub variance_floor: f64 = VARIANCE_FLOOR;
    }
}

impl DeepGmmParams {
    /// A model of full layers of these sizes, the top one first, with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_mixture::DeepGmmParams::new(&[10, 5]).layer_kind.len(), 2);
    /// ```
    pub fn new(layers: &[usize]) -> Self {
        Self {
            layers: layers.to_vec(),
            layer_kind: vec![LayerKind::Full; layers.len()],
            em: Em::Soft,
            search: Search::Full,
            factorised: false,
            sweeps: 0,
            m_step: MStep::Auto,
            steps: STEPS,
            variance_floor: VARIANCE_FLOOR,
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
        let (kinds, layers) = (self.layer_kind.len(), self.layers.len());
        if kinds != layers {
            let problem = format!("{kinds} kinds for {layers} layers");
            return Err(Error::option("layer-kind", problem));
        }
        if self.em == Em::Soft && self.search == Search::Coordinate {
            return Err(Error::option("search", "only hard EM searches; choose hard for em"));
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
