//! What the user chooses. The one place where defaults live.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a map is to look like and how it is made.
///
/// ```
/// use mereo_map::{MapParams, Method};
/// let params = MapParams::new(Method::tsne());
/// assert_eq!(params.dimensions, 2);
/// assert!(params.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapParams {
    /// Dimensions of the map.
    pub dimensions: usize,
    /// How it is made.
    #[serde(flatten)]
    pub method: Method,
    /// Rows that the map is made of, where not all: the others are placed into it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landmarks: Option<usize>,
}

/// How a map is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Method {
    /// Principal coordinates.
    Pcoa,
    /// Metric scaling.
    Mds(MdsParams),
    /// Sammon's mapping.
    Sammon(PairParams),
    /// t-SNE.
    Tsne(TsneParams),
}

impl Method {
    /// Metric scaling with everything at its default.
    pub fn mds() -> Self {
        Self::Mds(MdsParams { cost: PairCost::Squares, pairs: PairParams::default() })
    }

    /// Sammon's mapping with everything at its default.
    pub fn sammon() -> Self {
        Self::Sammon(PairParams::default())
    }

    /// t-SNE with everything at its default.
    pub fn tsne() -> Self {
        Self::Tsne(TsneParams::default())
    }

    /// The method's name.
    ///
    /// ```
    /// assert_eq!(mereo_map::Method::sammon().name(), "sammon");
    /// ```
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pcoa => "pcoa",
            Self::Mds(_) => "mds",
            Self::Sammon(_) => "sammon",
            Self::Tsne(_) => "tsne",
        }
    }
}

/// What distances that are not kept cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairCost {
    /// Squared differences of squared distances.
    Squares,
    /// Squared differences of distances: stress.
    Distances,
    /// Squared differences of distances, divided by the distance.
    Sammon,
}

impl PairCost {
    /// The cost of two rows this far apart whose points are in one place.
    pub(crate) fn when_together(self, distance: f64) -> f64 {
        match self {
            Self::Squares => distance.powi(4),
            Self::Distances => distance.powi(2),
            Self::Sammon => distance,
        }
    }
}

/// Choices of metric scaling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MdsParams {
    /// What distances that are not kept cost.
    pub cost: PairCost,
    /// How the cost is lowered.
    #[serde(flatten)]
    pub pairs: PairParams,
}

/// How a cost of pairs is lowered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairParams {
    /// Starts that are tried: principal coordinates, then random ones.
    pub starts: usize,
    /// Most steps from each.
    pub steps: usize,
    /// A start is done when 50 steps lower the cost by less than this share of it.
    pub tolerance: f64,
}

impl Default for PairParams {
    fn default() -> Self {
        Self { starts: 3, steps: 1000, tolerance: 1e-3 }
    }
}

/// Choices of t-SNE. The schedule is openTSNE's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TsneParams {
    /// How wide a row's neighbourhood is.
    pub affinity: Affinity,
    /// Where points begin.
    pub start: TsneStart,
    /// By how much attraction is exaggerated at first, and for how many steps.
    pub early_exaggeration: f64,
    /// Steps of the first phase.
    pub early_steps: usize,
    /// By how much attraction is exaggerated afterwards; 1 is not at all.
    pub exaggeration: f64,
    /// Steps of the second phase.
    pub steps: usize,
    /// Degrees of freedom of Student's t distribution in the map: fewer, and clusters are farther apart.
    pub degrees: f64,
    /// How forces between all points are worked out.
    pub forces: Forces,
}

impl Default for TsneParams {
    fn default() -> Self {
        Self {
            affinity: Affinity::Auto,
            start: TsneStart::Pca,
            early_exaggeration: 12.0,
            early_steps: 250,
            exaggeration: 1.0,
            steps: 500,
            degrees: 1.0,
            forces: Forces::Auto,
        }
    }
}

/// How wide a row's neighbourhood is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Affinity {
    /// A perplexity of 30, less if there are fewer than 91 rows.
    Auto,
    /// As wide as this many neighbours.
    Perplexity(f64),
    /// The mean of several perplexities: near and far neighbours alike.
    Multiscale(Vec<f64>),
    /// The same width σ everywhere, in the data's units.
    Width(f64),
}

/// Where t-SNE begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TsneStart {
    /// Principal coordinates.
    Pca,
    /// The slowest modes of a walk from neighbour to neighbour.
    Spectral,
    /// Anywhere.
    Random,
}

/// How t-SNE's forces between all points are worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forces {
    /// Exactly for few rows, then on a grid in one or two dimensions, by a tree in three.
    Auto,
    /// Pair by pair.
    Exact,
    /// Interpolated from a grid (one or two dimensions).
    Grid,
    /// From groups of points that are far away together (two or three dimensions).
    Tree,
}

impl MapParams {
    /// A map in two dimensions by this method.
    pub fn new(method: Method) -> Self {
        Self { dimensions: 2, method, landmarks: None }
    }

    /// Whether such a map can be made at all.
    pub fn check(&self) -> Result<()> {
        if self.dimensions == 0 {
            return Err(Error::option("dimensions", "a map has at least 1"));
        }
        if let Some(landmarks) = self.landmarks
            && landmarks <= self.dimensions
        {
            let problem =
                format!("{landmarks} rows do not fix a map of {} dimensions", self.dimensions);
            return Err(Error::option("landmarks", problem));
        }
        match &self.method {
            Method::Pcoa => Ok(()),
            Method::Mds(params) => params.pairs.check(),
            Method::Sammon(params) => params.check(),
            Method::Tsne(params) => params.check(self.dimensions),
        }
    }
}

impl PairParams {
    fn check(&self) -> Result<()> {
        if self.starts == 0 {
            return Err(Error::option("starts", "at least one start must be tried"));
        }
        not_below(self.tolerance, 0.0, "tolerance")
    }
}

impl TsneParams {
    fn check(&self, dimensions: usize) -> Result<()> {
        if dimensions > 3 {
            let problem = format!("t-SNE maps have 1, 2 or 3, not {dimensions}");
            return Err(Error::option("dimensions", problem));
        }
        match &self.affinity {
            Affinity::Auto => {}
            Affinity::Perplexity(perplexity) => not_below(*perplexity, 1.0, "perplexity")?,
            Affinity::Multiscale(several) => {
                if several.is_empty() {
                    return Err(Error::option("perplexity", "at least one is needed"));
                }
                several.iter().try_for_each(|p| not_below(*p, 1.0, "perplexity"))?;
            }
            Affinity::Width(width) => {
                if !(*width > 0.0 && width.is_finite()) {
                    let problem = format!("{width} is no width; give a number above 0");
                    return Err(Error::option("width", problem));
                }
            }
        }
        not_below(self.early_exaggeration, 1.0, "early-exaggeration")?;
        not_below(self.exaggeration, 1.0, "exaggeration")?;
        if !(0.1..=1000.0).contains(&self.degrees) {
            let problem = format!("{} degrees of freedom; give 0.1 to 1000", self.degrees);
            return Err(Error::option("degrees", problem));
        }
        match (self.forces, dimensions) {
            (Forces::Grid, 3) => Err(Error::option("forces", "a grid has 1 or 2 dimensions")),
            (Forces::Tree, 1) => Err(Error::option("forces", "a tree has 2 or 3 dimensions")),
            _ => Ok(()),
        }
    }
}

fn not_below(value: f64, least: f64, option: &str) -> Result<()> {
    if value >= least && value.is_finite() {
        return Ok(());
    }
    Err(Error::option(option, format!("{value} cannot be used; give a number from {least} up")))
}
