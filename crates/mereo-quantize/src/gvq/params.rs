//! What the user chooses.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::model::MOST_CODE_NUMBERS;
use crate::associate::{Association, MOST_FEATURES};

/// Most sets, most numbers in all features, and most features of a set of binary data, whose
/// combinations are gone through one by one.
const MOST_SETS: usize = 4096;
const MOST_NUMBERS: usize = 1 << 28;
const MOST_BINARY: usize = 10;

/// The size of the model and how it is learned. The one place where defaults live.
///
/// ```
/// use mereo_quantize::GvqParams;
/// assert!(GvqParams::new(8).check().is_ok());
/// assert!(GvqParams::new(65).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GvqParams {
    /// Number of features of each set, n.
    pub features: usize,
    /// Number of sets, M: a row is made of the features of one of them.
    pub sets: usize,
    /// λ: what each feature that is on costs, in squared units of the data.
    pub penalty: f64,
    /// How rows find their features.
    pub association: Association,
    /// Cells are 0 or 1, and so are features and their sums, squashed with this steepness β.
    pub beta: Option<f64>,
    /// Short runs from random states that a start is the best of.
    pub scouts: usize,
    /// The smallest variance of the noise, as a fraction of the columns' mean variance.
    pub variance_floor: f64,
}

impl GvqParams {
    /// One set of this many features with everything else at its default.
    ///
    /// ```
    /// assert_eq!(mereo_quantize::GvqParams::new(8).sets, 1);
    /// ```
    pub fn new(features: usize) -> Self {
        Self {
            features,
            sets: 1,
            penalty: 0.0,
            association: Association::Auto,
            beta: None,
            scouts: 10,
            variance_floor: 1e-6,
        }
    }

    /// Whether a model like this can be learned at all.
    ///
    /// ```
    /// let params = mereo_quantize::GvqParams { penalty: -1.0, ..mereo_quantize::GvqParams::new(4) };
    /// assert!(params.check().unwrap_err().to_string().contains("penalty"));
    /// ```
    pub fn check(&self) -> Result<()> {
        let refuse = |option: &str, problem: String| Err(Error::option(option, problem));
        if !(1..=MOST_FEATURES).contains(&self.features) {
            return refuse(
                "features",
                format!("{} is not from 1 to {MOST_FEATURES}", self.features),
            );
        }
        if !(1..=MOST_SETS).contains(&self.sets) {
            return refuse("sets", format!("{} is not from 1 to {MOST_SETS}", self.sets));
        }
        if !(0.0..=1e200).contains(&self.penalty) {
            return refuse("penalty", format!("{} is not from 0 to 1e200", self.penalty));
        }
        if let Some(beta) = self.beta {
            if !(0.1..=100.0).contains(&beta) {
                return refuse("beta", format!("{beta} is not from 0.1 to 100"));
            }
            if self.features > MOST_BINARY {
                let problem = format!(
                    "{} are too many for binary data, whose combinations are gone through one by \
                     one: at most {MOST_BINARY}; more sets may help",
                    self.features
                );
                return refuse("features", problem);
            }
            if !matches!(self.association, Association::Auto | Association::Exact) {
                let problem = format!(
                    "{} works on sums of features, and those of binary data are squashed; use auto",
                    self.association.name()
                );
                return refuse("association", problem);
            }
        }
        if !(1..=1000).contains(&self.scouts) {
            return refuse("scouts", format!("{} is not from 1 to 1000", self.scouts));
        }
        if !(1e-12..=1.0).contains(&self.variance_floor) {
            return refuse(
                "variance-floor",
                format!("{} is not from 1e-12 to 1", self.variance_floor),
            );
        }
        self.association.check(self.features, 1)
    }

    /// Whether it fits data of this many columns.
    pub(super) fn check_columns(&self, columns: usize) -> Result<()> {
        let combinations = if self.beta.is_some() { 1 << self.features } else { self.features + 1 };
        let most = if self.beta.is_some() { MOST_CODE_NUMBERS } else { MOST_NUMBERS };
        let numbers =
            [self.sets, combinations, columns].into_iter().try_fold(1usize, usize::checked_mul);
        if numbers.is_none_or(|numbers| numbers > most) {
            return Err(Error::option(
                "features",
                format!(
                    "{} sets of {} features of {columns} columns are more than the {most} numbers \
                     allowed, all combinations counted if data is binary",
                    self.sets, self.features
                ),
            ));
        }
        self.association.check(self.features, columns)
    }
}
