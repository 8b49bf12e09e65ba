//! Rows to classes.

use mereo_core::math::adjusted_rand_index;
use mereo_core::{Context, Dense, Likelihood, Real, Result, Source};

use super::{Fitted, for_each_batch};
use crate::data_of::check_fits;

/// The classes of rows.
#[derive(Debug, Clone)]
pub struct Classified {
    /// Names of the model's classes.
    pub names: Vec<String>,
    /// Whether labels named them.
    pub named: bool,
    /// `[rows, classes]`.
    pub probabilities: Dense<f64>,
    /// The likeliest class of each row.
    pub predicted: Vec<usize>,
    /// How labels and classes agree, if the rows have labels.
    pub confusion: Option<Confusion>,
}

/// How often rows of each label are in each class.
#[derive(Debug, Clone)]
pub struct Confusion {
    /// Names of the labels.
    pub labels: Vec<String>,
    /// `[labels, classes]`.
    pub counts: Vec<Vec<usize>>,
    /// The share of labelled rows whose class has the label's name, if labels named the classes.
    pub accuracy: Option<f64>,
    /// The adjusted Rand index: 1 if classes and labels are the same groups, about 0 by chance.
    pub agreement: f64,
}

impl Fitted {
    /// The classes of all rows, by densities worked out in this way.
    pub fn classify<T: Real>(
        &self,
        raw: &dyn Source<T>,
        how: Likelihood,
        context: &Context,
    ) -> Result<Classified> {
        if let Some((plain, unfolded)) = self.plainly(raw)? {
            return plain.classify(&*unfolded, how, context);
        }
        let classifier = self.model.classifier::<T>().ok_or_else(|| self.incapable("classify"))?;
        check_fits(raw.rows(), classifier.classes(), size_of::<f64>())?;
        let probabilities = mereo_core::classify(classifier, how, &*self.prepared(raw)?, context)?;
        let best = |row: &[f64]| (0..row.len()).fold(0, |b, n| if row[n] > row[b] { n } else { b });
        let predicted: Vec<usize> =
            (0..probabilities.rows()).map(|row| best(probabilities.row(row))).collect();
        let names = self.class_names();
        let named = self.manifest.classes.is_some();
        let confusion = Confusion::of(raw, &names, named, &predicted)?;
        Ok(Classified { names, named, probabilities, predicted, confusion })
    }
}

impl Confusion {
    /// Nothing if the rows have no labels.
    fn of<T: Real>(
        raw: &dyn Source<T>,
        classes: &[String],
        named: bool,
        predicted: &[usize],
    ) -> Result<Option<Self>> {
        let Some(labels) = raw.about().labels.as_ref().map(|labels| labels.names.clone()) else {
            return Ok(None);
        };
        let mut counts = vec![vec![0usize; classes.len()]; labels.len()];
        // Labels come with the batches: a stream knows them nowhere else.
        for_each_batch(raw, |batch| {
            for (row, label) in batch.labels.unwrap_or_default().iter().enumerate() {
                if let Some(of_label) = label.and_then(|label| counts.get_mut(label as usize)) {
                    of_label[predicted[batch.first_row + row]] += 1;
                }
            }
            Ok(())
        })?;
        let all: usize = counts.iter().flatten().sum();
        if all == 0 {
            return Ok(None);
        }
        let right = |(label, counts): (&String, &Vec<usize>)| {
            classes.iter().position(|class| class == label).map_or(0, |class| counts[class])
        };
        let accuracy =
            named.then(|| labels.iter().zip(&counts).map(right).sum::<usize>() as f64 / all as f64);
        let agreement = adjusted_rand_index(&counts);
        Ok(Some(Self { labels, counts, accuracy, agreement }))
    }
}
