//! What is known of a source before anything is learned from it.

use serde::{Deserialize, Serialize};

use super::{ColumnMoments, Form, Frame, Levels};
use crate::fingerprint::RowDigests;
use crate::{
    Absent, Batch, Context, Error, Facts, Fingerprint, Place, Real, Result, RowTask, Source,
    Statistics, gather,
};

/// Rows may weigh this little and this much all together: outside, sums would vanish or overflow.
const LEAST_WEIGHT: f64 = 1e-3;
const MOST_WEIGHT: f64 = 1e15;

/// What is asked of every row before anything is learned, all at once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SurveyTask {
    columns: usize,
    /// Whether the distinct values of cells matter: unobserved cells are not stored.
    levels: bool,
}

/// What rows answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SurveyStatistics {
    moments: ColumnMoments,
    levels: Option<Levels>,
    digests: RowDigests,
}

impl Statistics for SurveyStatistics {
    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        if let (Some(own), Some(other)) = (&mut self.levels, &other.levels) {
            own.merge(other);
        }
        self.digests.merge(&other.digests);
    }

    fn reset(&mut self) {
        self.moments.reset();
        self.levels.iter_mut().for_each(Statistics::reset);
        self.digests.reset();
    }
}

impl<T: Real> RowTask<T> for SurveyTask {
    const NAME: &'static str = "survey";
    type Statistics = SurveyStatistics;

    fn statistics(&self) -> SurveyStatistics {
        SurveyStatistics {
            moments: ColumnMoments::new(self.columns),
            levels: self.levels.then(Levels::default),
            digests: RowDigests::default(),
        }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, statistics: &mut SurveyStatistics) {
        statistics.moments.accumulate(batch);
        if let Some(levels) = &mut statistics.levels {
            levels.accumulate(batch);
        }
        statistics.digests.accumulate(batch);
    }
}

/// The moments of a source's columns, how its cells are stored, the units that follow, and what tells it
/// from other data: what every model surveys before it learns.
///
/// ```
/// use mereo_core::{Context, Dense, Table, slots::Survey};
/// let table = Table::from(Dense::new(2, 1, vec![1.0f64, 3.0])?);
/// let survey = Survey::of(&table, &Context::new(0))?;
/// assert_eq!(survey.reference, [1.0]);
/// let nothing = Table::from(Dense::new(1, 1, vec![f64::NAN])?);
/// assert!(Survey::of(&nothing, &Context::new(0)).is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub struct Survey<T> {
    /// Weight, mean and spread of every column.
    pub moments: ColumnMoments,
    /// The variance of each column that floors are relative to, always above 0.
    pub reference: Vec<f64>,
    /// How cells are stored.
    pub form: Form,
    /// The units that cells are measured in.
    pub frame: Frame<T>,
    /// What tells the data from other data.
    pub fingerprint: Fingerprint,
}

impl<T: Real> Survey<T> {
    /// Looks at every row of a source once. Data in which nothing is observed, or whose weights are out of range, is an error.
    pub fn of(source: &dyn Source<T>, context: &Context) -> Result<Self> {
        let levels = source.absent() == Some(Absent::Unobserved);
        let task = SurveyTask { columns: source.columns(), levels };
        let SurveyStatistics { moments, levels, digests } = gather(source, context, &task)?;
        if moments.rows == 0.0 || !moments.weight.iter().any(|&n| n > 0.0) {
            return Err(Error::found(
                Place::default(),
                "no observed cell in any row that counts",
                "at least one",
            ));
        }
        if !(LEAST_WEIGHT..=MOST_WEIGHT).contains(&moments.rows) {
            return Err(Error::found(
                Place::default(),
                format!("weights that add up to {:e}", moments.rows),
                format!(
                    "a sum from {LEAST_WEIGHT:e} to {MOST_WEIGHT:e}: multiply all by one number"
                ),
            ));
        }
        let form = match (source.absent(), levels) {
            (None, _) => Form::Dense,
            (Some(Absent::Zero), _) => Form::Zero,
            (Some(Absent::Unobserved), levels) => {
                Form::Unobserved { levels: levels.unwrap_or_default().few() }
            }
        };
        let frame = Frame::of(&moments, &form);
        // A spread below what a column can be divided by counts as that, as it does in the frame.
        let least = T::SMALLEST_SPREAD * T::SMALLEST_SPREAD;
        let reference = moments.reference_variance().iter().map(|v| v.max(least)).collect();
        let fingerprint = digests.of_source(source);
        Ok(Self { moments, reference, form, frame, fingerprint })
    }

    /// What the loop needs to know of the data.
    pub fn facts(&self) -> Facts {
        Facts { weight: self.moments.rows, fingerprint: Some(self.fingerprint) }
    }

    /// `Σ_d n_d log s_d` over the columns, `n_d` the weight of the rows that observe column d and
    /// `s_d` its scale in the frame: what densities in the frame's units are above those in the
    /// data's, all rows together.
    pub fn log_scale(&self) -> f64 {
        let weights = self.moments.weight.iter().enumerate();
        weights.map(|(d, n)| n * self.frame.scale(d).ln()).sum()
    }
}
