//! What is known of a source before anything is learned from it.

use serde::{Deserialize, Serialize};

use super::kinds::{Kinds, Marginals, Typical};
use super::{ColumnMoments, Family, Form, Frame, Levels};
use crate::fingerprint::RowDigests;
use crate::{
    About, Absent, Batch, Context, Error, Facts, Fingerprint, Place, Plan, Real, Result, RowTask,
    Source, Statistics, gather,
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
    /// The columns' kinds, if not numbers throughout.
    kinds: Option<Kinds>,
}

/// What rows answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SurveyStatistics {
    moments: ColumnMoments,
    levels: Option<Levels>,
    digests: RowDigests,
    marginals: Option<Marginals>,
}

impl Statistics for SurveyStatistics {
    fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        if let (Some(own), Some(other)) = (&mut self.levels, &other.levels) {
            own.merge(other);
        }
        self.digests.merge(&other.digests);
        if let (Some(own), Some(other)) = (&mut self.marginals, &other.marginals) {
            own.merge(other);
        }
    }

    fn reset(&mut self) {
        self.moments.reset();
        self.levels.iter_mut().for_each(Statistics::reset);
        self.digests.reset();
        self.marginals.iter_mut().for_each(Statistics::reset);
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
            marginals: self.kinds.as_ref().map(Marginals::new),
        }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, statistics: &mut SurveyStatistics) {
        statistics.moments.accumulate(batch);
        if let Some(levels) = &mut statistics.levels {
            levels.accumulate(batch);
        }
        statistics.digests.accumulate(batch);
        if let (Some(marginals), Some(kinds)) = (&mut statistics.marginals, &self.kinds) {
            marginals.accumulate(kinds, batch);
        }
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
    /// The families of the columns, and what those are like that are not numbers.
    pub typical: Typical,
    /// If rows come in portions, the moments of the first, which units follow from.
    pub first: Option<ColumnMoments>,
}

impl<T: Real> Survey<T> {
    /// Looks at every row of a source once, for a model of numbers: counts and dates are numbers too, a column of
    /// words is an error. So is data in which nothing is observed, or whose weights are out of range.
    pub fn of(source: &dyn Source<T>, context: &Context) -> Result<Self> {
        refuse_words(source.about(), source.columns())?;
        Self::by_kinds(source, None, context)
    }

    /// As [`Survey::of`], for a model that takes columns of every kind.
    pub fn of_kinds(source: &dyn Source<T>, context: &Context) -> Result<Self> {
        let kinds = Kinds::of(source.about(), source.columns())?;
        if !kinds.is_mixed() {
            return Self::by_kinds(source, None, context);
        }
        if source.absent().is_some() && kinds.counts().count() < kinds.columns() {
            return Err(Error::found(
                Place::default(),
                "a sparse table with columns of several kinds",
                "numbers throughout or counts throughout: store it densely",
            ));
        }
        Self::by_kinds(source, Some(kinds), context)
    }

    fn by_kinds(source: &dyn Source<T>, kinds: Option<Kinds>, context: &Context) -> Result<Self> {
        let levels = source.absent() == Some(Absent::Unobserved);
        let task = SurveyTask { columns: source.columns(), levels, kinds };
        let SurveyStatistics { moments, levels, digests, marginals } =
            gather(source, context, &task)?;
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
        let typical = match (task.kinds, &marginals) {
            (Some(kinds), Some(marginals)) => Typical::new(kinds, marginals, &moments),
            _ => Typical::numbers(source.columns()),
        };
        Ok(Self { moments, reference, form, frame, fingerprint, typical, first: None })
    }

    /// What the loop needs to know of the data.
    pub fn facts(&self) -> Facts {
        // Nobody has seen all portions of rows at once.
        let fingerprint = self.first.is_none().then_some(self.fingerprint);
        Facts { weight: self.moments.rows, fingerprint }
    }

    /// What is known once these rows are one of several [portions](crate::Portions): of all so far, in the units of the first.
    pub fn among(self, plan: &Plan) -> Result<Self> {
        let Some(portions) = &plan.portions else { return Ok(self) };
        let problem = |text: &str| Err(Error::option("portions", text));
        if matches!(self.form, Form::Unobserved { .. }) || self.typical.kinds.is_mixed() {
            return problem(
                "rows whose unstored cells are unobserved, or with columns of words or counts, must be learned from together",
            );
        }
        let all = match portions.survey::<T, Self>()? {
            None => self,
            Some(mut all) => {
                if all.form != self.form || all.moments.mean.len() != self.moments.mean.len() {
                    return problem(
                        "they must all have the same columns, and be dense or sparse alike",
                    );
                }
                all.first.get_or_insert_with(|| all.moments.clone());
                all.moments.merge(&self.moments);
                let least = T::SMALLEST_SPREAD * T::SMALLEST_SPREAD;
                all.reference =
                    all.moments.reference_variance().iter().map(|v| v.max(least)).collect();
                all.typical = self.typical;
                all
            }
        };
        portions.keep_survey(&all)?;
        Ok(all)
    }

    /// The moments that units follow from: those of the first portion, if there are several.
    pub fn framing(&self) -> &ColumnMoments {
        self.first.as_ref().unwrap_or(&self.moments)
    }

    /// `Σ_d n_d log s_d` over the columns of numbers, `n_d` the weight of the rows that observe column d and
    /// `s_d` its scale in the frame: what densities in the frame's units are above those in the
    /// data's, all rows together. Of counts it is `Σ λ₀ - x log λ₀ + log x!`, what evidence leaves out.
    pub fn log_scale(&self) -> f64 {
        let kinds = &self.typical.kinds;
        let of = |d: usize, n: f64| match kinds.family(d) {
            Family::Number => n * self.frame.scale(d).ln(),
            Family::Count => {
                let rate = self.frame.rate(d);
                n * (rate - self.moments.mean[d] * rate.ln())
            }
            Family::Words { .. } => 0.0,
        };
        let sum: f64 = self.moments.weight.iter().enumerate().map(|(d, &n)| of(d, n)).sum();
        sum + self.typical.log_factorials
    }
}

/// Complains about columns of words, for models that take numbers only.
///
/// ```
/// use mereo_core::{About, ColumnKind, slots::refuse_words};
/// let levels = vec!["red".into(), "blue".into()];
/// let kinds = Some(vec![ColumnKind::Category { levels }]);
/// assert!(refuse_words(&About { kinds, ..About::default() }, 1).is_err());
/// assert!(refuse_words(&About::default(), 1).is_ok());
/// ```
pub fn refuse_words(about: &About, columns: usize) -> Result<()> {
    match (0..columns).find(|&d| !about.kind(d).levels().is_empty()) {
        None => Ok(()),
        Some(d) => Err(Error::found(
            Place::default().column(d),
            format!(
                "`{}`, a column of words ({})",
                crate::column_name(about.names.as_deref(), d),
                about.kind(d).name()
            ),
            "numbers, for this model: leave the column out, or use mcvq or gmm with diagonal covariances",
        )),
    }
}
