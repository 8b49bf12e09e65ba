//! What is known of a source before anything is learned from it.

use super::{ColumnMoments, Form, Frame};
use crate::{Context, Error, Place, Real, Result, Source};

/// Rows may weigh this little and this much all together: outside, sums would vanish or overflow.
const LEAST_WEIGHT: f64 = 1e-3;
const MOST_WEIGHT: f64 = 1e15;

/// The moments of a source's columns, how its cells are stored, and the units that follow: what
/// every model of slots surveys before it learns.
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
#[derive(Debug, Clone)]
pub struct Survey<T> {
    /// Weight, mean and spread of every column.
    pub moments: ColumnMoments,
    /// The variance of each column that floors are relative to, always above 0.
    pub reference: Vec<f64>,
    /// How cells are stored.
    pub form: Form,
    /// The units that cells are measured in.
    pub frame: Frame<T>,
}

impl<T: Real> Survey<T> {
    /// Looks at every row of a source once (twice if it is sparse and unobserved cells are not
    /// stored). Data in which nothing is observed, or whose weights are out of range, is an error.
    pub fn of(source: &dyn Source<T>, context: &Context) -> Result<Self> {
        let moments = ColumnMoments::of(source, context)?;
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
        let form = Form::of(source, context)?;
        let frame = Frame::of(&moments, &form);
        // A spread below what a column can be divided by counts as that, as it does in the frame.
        let least = T::SMALLEST_SPREAD * T::SMALLEST_SPREAD;
        let reference = moments.reference_variance().iter().map(|v| v.max(least)).collect();
        Ok(Self { moments, reference, form, frame })
    }

    /// `Σ_d n_d log s_d` over the columns, `n_d` the weight of the rows that observe column d and
    /// `s_d` its scale in the frame: what densities in the frame's units are above those in the
    /// data's, all rows together.
    pub fn log_scale(&self) -> f64 {
        let weights = self.moments.weight.iter().enumerate();
        weights.map(|(d, n)| n * self.frame.scale(d).ln()).sum()
    }
}
