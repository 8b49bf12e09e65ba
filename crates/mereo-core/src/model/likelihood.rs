//! Log densities of models with hidden causes, worked out in more than one way.

use serde::{Deserialize, Serialize};

use super::capability::{ScoreKind, Scores, check_columns};
use crate::{Batch, Context, Dense, Real, Result, Source, map_rows};

/// How a log density is worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Likelihood {
    /// The variational bound: quick, and never above the density.
    Bound,
    /// All hidden causes one by one: the density itself, for small models.
    Exact,
    /// An average over this many causes drawn about those that the row suggests.
    Importance(usize),
    /// An average over this many causes drawn from the prior, as the papers do it.
    Prior(usize),
}

impl Likelihood {
    /// A way by its name, with so many draws if it draws.
    ///
    /// ```
    /// use mereo_core::Likelihood;
    /// assert_eq!(Likelihood::named("prior", 9)?, Likelihood::Prior(9));
    /// assert!(Likelihood::named("guess", 9).is_err());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn named(name: &str, draws: usize) -> Result<Self> {
        match name {
            "bound" => Ok(Self::Bound),
            "exact" => Ok(Self::Exact),
            "importance" => Ok(Self::Importance(draws)),
            "prior" => Ok(Self::Prior(draws)),
            _ => {
                let problem =
                    format!("`{name}` is not known; choose bound, exact, importance, prior");
                Err(crate::Error::option("likelihood", problem))
            }
        }
    }

    /// What the numbers are.
    ///
    /// ```
    /// use mereo_core::{Likelihood, ScoreKind};
    /// assert_eq!(Likelihood::Importance(100).kind(), ScoreKind::Estimate);
    /// ```
    pub fn kind(self) -> ScoreKind {
        match self {
            Self::Bound => ScoreKind::Bound,
            Self::Exact => ScoreKind::Exact,
            Self::Importance(_) | Self::Prior(_) => ScoreKind::Estimate,
        }
    }
}

/// The log density of one row, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RowLikelihood {
    /// The log density, in nats.
    pub log: f64,
    /// Its standard error; 0 where nothing was drawn.
    pub standard_error: f64,
    /// How many independent draws from the posterior would have told as much; 0 where nothing
    /// was drawn.
    pub effective_samples: f64,
}

/// A model whose density can be worked out in several ways.
pub trait Estimate<T: Real>: Sync {
    /// Columns that rows must have, if the model knows: data of another width is an error.
    fn expects_columns(&self) -> Option<usize> {
        None
    }

    /// Whether it can be done in this way.
    fn check_likelihood(&self, how: Likelihood) -> Result<()>;

    /// Writes one density a row of the batch. What is drawn depends on the context's seed and the
    /// row's number alone.
    fn estimate_batch(
        &self,
        how: Likelihood,
        batch: &Batch<'_, T>,
        context: &Context,
        out: &mut [RowLikelihood],
    );
}

/// Rows to classes.
pub trait Classify<T: Real>: Sync {
    /// Columns that rows must have, if the model knows: data of another width is an error.
    fn expects_columns(&self) -> Option<usize> {
        None
    }

    /// Number of classes.
    fn classes(&self) -> usize;

    /// Whether it can be done by densities worked out in this way.
    fn check_rule(&self, how: Likelihood) -> Result<()>;

    /// Writes how likely each class is, `[rows, classes]`, by densities worked out in this way.
    fn classify_batch(
        &self,
        how: Likelihood,
        batch: &Batch<'_, T>,
        context: &Context,
        out: &mut [f64],
    );
}

/// What classes say of parts, lent out.
#[derive(Debug, Clone, Copy)]
pub struct ClassView<'a> {
    /// How common each class is, `[N]`.
    pub prior: &'a [f64],
    /// The priors over states of each class, `[N, K, J]`: how common each state is, or, where
    /// [`PartsView::appearance`](crate::PartsView::appearance) is that of factors, where each factor is centred.
    pub class_state_prior: &'a [f64],
}

/// The log densities of all rows, worked out in this way.
pub fn estimate<T: Real>(
    model: &dyn Estimate<T>,
    how: Likelihood,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Scores> {
    check_columns(model.expects_columns(), source)?;
    model.check_likelihood(how)?;
    // Weights come with the batches: a stream knows them nowhere else.
    let found = map_rows(source, context, 1, |batch, out: &mut [(RowLikelihood, f64)]| {
        let mut rows = vec![RowLikelihood::default(); batch.rows];
        model.estimate_batch(how, batch, context, &mut rows);
        for (row, (found, out)) in rows.into_iter().zip(out).enumerate() {
            *out = (found, batch.weight(row));
        }
    })?;
    let rows = found.iter().map(|(row, _)| row.log).collect();
    let weights: Vec<f64> = found.iter().map(|(_, weight)| *weight).collect();
    let mut scores = Scores::new(how.kind(), rows, &weights);
    if how.kind() == ScoreKind::Estimate {
        let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let squares: f64 = found.iter().map(|(row, w)| (w * row.standard_error).powi(2)).sum();
        let effective: f64 = found.iter().map(|(row, w)| w * row.effective_samples).sum();
        scores.standard_error = Some(squares.sqrt() / total);
        scores.effective_samples = Some(effective / total);
    }
    Ok(scores)
}

/// How likely each class is for all rows, `[rows, classes]`.
pub fn classify<T: Real>(
    model: &dyn Classify<T>,
    how: Likelihood,
    source: &dyn Source<T>,
    context: &Context,
) -> Result<Dense<f64>> {
    check_columns(model.expects_columns(), source)?;
    model.check_rule(how)?;
    let classes = model.classes();
    let values = map_rows(source, context, classes, |batch, out| {
        model.classify_batch(how, batch, context, out);
    })?;
    Dense::new(source.rows(), classes, values)
}
