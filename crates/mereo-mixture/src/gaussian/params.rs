//! What the user chooses.

use mereo_core::slots::{Shrinkage, Survey};
use mereo_core::{Error, Real, Result};
use serde::{Deserialize, Serialize};

/// Most components, and most numbers in all that rows tell them.
pub(crate) const MOST_COMPONENTS: usize = 1 << 20;
const MOST_NUMBERS: usize = 1 << 28;
/// Rows that columns of sparse tables are taken to have been seen in, if nobody says.
const SHRINKAGE: f64 = 15.0;
/// Most rows to shrink by.
const MOST_SHRINKAGE: f64 = 1e12;

/// What the covariances of components may be.
///
/// ```
/// use mereo_mixture::Covariance;
/// assert_eq!("low-rank".parse::<Covariance>()?, Covariance::LowRank);
/// assert!("round".parse::<Covariance>().is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariance {
    /// One variance for all columns of a component.
    Spherical,
    /// A variance for each column of a component.
    Diagonal,
    /// Any covariance, the same for all components.
    Tied,
    /// Any covariance of its own for each component.
    Full,
    /// A few factors that columns share and noise in each column: a mixture of factor analysers.
    LowRank,
}

mereo_core::choices!(Covariance, "covariance":
    Spherical = "spherical", Diagonal = "diagonal", Tied = "tied", Full = "full",
    LowRank = "low-rank");

impl Covariance {
    /// Whether columns may go together.
    pub(crate) fn correlates(self) -> bool {
        !matches!(self, Self::Spherical | Self::Diagonal)
    }
}

/// The size of the model and how it is learned. The one place where defaults live.
///
/// ```
/// use mereo_mixture::GmmParams;
/// assert!(GmmParams::new(16).check().is_ok());
/// assert!(GmmParams::new(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GmmParams {
    /// Number of components, N.
    pub components: usize,
    /// What their covariances may be.
    pub covariance: Covariance,
    /// Number of factors of covariances of low rank.
    pub factors: usize,
    /// Whether a row belongs to its likeliest component alone while learning: hard EM.
    pub hard: bool,
    /// The smallest variance that a component may have in a column (in any direction, where columns
    /// may go together), as a fraction of the column's.
    pub variance_floor: f64,
    /// Of full covariances: how many rows of a covariance that all components have in common each is
    /// drawn towards it by; some hundreds keep components of few rows from fitting these too closely, none if nobody says. Of diagonal
    /// and spherical ones: how many rows with the column's mean and variance each column of each component is taken to have been seen in
    /// beside its own; if nobody says, some of tables that are mostly unknown and none of others.
    pub shrinkage: Option<f64>,
    /// How many rows like the whole table every component is taken to have been seen in beside its own, in columns of
    /// counts and words.
    #[serde(default = "default_pseudo_count")]
    pub pseudo_count: f64,
}

fn default_pseudo_count() -> f64 {
    0.05
}

impl GmmParams {
    /// A diagonal mixture of this size with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_mixture::GmmParams::new(4).variance_floor, 1e-3);
    /// ```
    pub fn new(components: usize) -> Self {
        Self::with(components, Covariance::Diagonal)
    }

    /// A mixture of this size with these covariances. Directions in which columns go together vary
    /// far less than any column does, so the floor of full covariances is lower.
    ///
    /// ```
    /// use mereo_mixture::{Covariance, GmmParams};
    /// assert_eq!(GmmParams::with(4, Covariance::Full).variance_floor, 1e-6);
    /// ```
    pub fn with(components: usize, covariance: Covariance) -> Self {
        let tight = matches!(covariance, Covariance::Tied | Covariance::Full);
        let variance_floor = if tight { 1e-6 } else { 1e-3 };
        Self {
            components,
            covariance,
            factors: 4,
            hard: false,
            variance_floor,
            shrinkage: None,
            pseudo_count: default_pseudo_count(),
        }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// let params = mereo_mixture::GmmParams { variance_floor: 0.0, ..mereo_mixture::GmmParams::new(4) };
    /// assert!(params.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        check_size(self.components, self.variance_floor)?;
        if self.covariance == Covariance::LowRank && self.factors == 0 {
            return Err(Error::option("factors", "at least 1 factor is needed"));
        }
        let chosen = self.shrinkage.unwrap_or(0.0);
        if !(0.0..=MOST_SHRINKAGE).contains(&chosen) {
            let problem = format!("{chosen} is not from 0 to {MOST_SHRINKAGE:e} rows");
            return Err(Error::option("shrinkage", problem));
        }
        if chosen > 0.0 && matches!(self.covariance, Covariance::Tied | Covariance::LowRank) {
            let problem = "only full, diagonal and spherical covariances can be shrunk";
            return Err(Error::option("shrinkage", problem));
        }
        mereo_core::slots::check_pseudo_count(self.pseudo_count)
    }

    /// The rows that columns of diagonal and spherical components are taken to have been seen in, for data of which this is known.
    pub(super) fn rows_more<T: Real>(&self, survey: &Survey<T>) -> Result<Option<Shrinkage>> {
        if !survey.typical.kinds.is_mixed() {
            return Ok(Shrinkage::of(self.shrinkage, SHRINKAGE, survey));
        }
        if self.shrinkage.is_some_and(|rows| rows > 0.0) {
            let problem =
                "it is for tables of numbers; columns of counts and words have --pseudo-count";
            return Err(Error::option("shrinkage", problem));
        }
        Ok(None)
    }

    /// Whether it fits data of this many columns.
    pub(super) fn check_columns(&self, columns: usize) -> Result<()> {
        if self.covariance == Covariance::LowRank && self.factors > columns {
            let problem = format!("{} are more than the {columns} columns", self.factors);
            return Err(Error::option("factors", problem));
        }
        let width = if self.covariance.correlates() { columns.saturating_add(1) } else { 1 };
        check_numbers(self.components, columns, width)
    }
}

/// Limits that all mixtures have.
pub(crate) fn check_size(components: usize, variance_floor: f64) -> Result<()> {
    if components == 0 {
        return Err(Error::option("components", "at least 1 component is needed"));
    }
    if components > MOST_COMPONENTS {
        return Err(Error::option(
            "components",
            format!("{components} are more than the {MOST_COMPONENTS} allowed"),
        ));
    }
    if !(1e-12..=1.0).contains(&variance_floor) {
        return Err(Error::option(
            "variance-floor",
            format!("{variance_floor} is not from 1e-12 to 1"),
        ));
    }
    Ok(())
}

/// Whether components with so many numbers to each column are not too many.
pub(crate) fn check_numbers(components: usize, columns: usize, width: usize) -> Result<()> {
    let numbers = components.saturating_mul(columns).saturating_mul(width);
    if numbers <= MOST_NUMBERS {
        return Ok(());
    }
    Err(Error::option(
        "components",
        format!(
            "{components} components of {columns} columns are more than the {MOST_NUMBERS} numbers \
             allowed"
        ),
    ))
}
