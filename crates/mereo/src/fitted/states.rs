//! States in the user's words: where each stands out from the whole.

use mereo_core::{
    About, Appearance, Asked, Context, Dense, Prediction, Result, Table, column_name, predict,
};

use super::Fitted;
use crate::Standing;

/// A column of which the part has less than this is another's.
const NOTABLE: f64 = 0.2;
/// What stands out less than this, in deviations, is not worth a word.
const FAINT: f64 = 0.15;
/// A column that fewer of a state's rows observe says nothing of the state, and one that fewer than half of them do is told
/// with how many do.
const KNOWN: f64 = 0.2;
const MOSTLY_KNOWN: f64 = 0.5;

/// What a column is like as a whole, by the model: nothing of a row being known.
enum Whole {
    Number { mean: f64, deviation: f64 },
    Words(Vec<f64>),
}

impl Fitted {
    /// Where each state of each part, `[K, J]`, stands out from the whole, most conspicuous column first, in the
    /// data's words and units. Nothing for pictures, ratings, columns without names, and models without states.
    ///
    /// ```
    /// # use mereo::{Context, Dense, Fit, Table, mixture::GmmParams};
    /// let cells = (0..80).map(f64::from).flat_map(|i| [if i < 40.0 { 20.0 } else { 60.0 } + i % 4.0, i % 5.0]);
    /// let table = Table::from(Dense::new(80, 2, cells.collect())?).with_names(vec!["age".into(), "cars".into()])?;
    /// let fitted = Fit::new(GmmParams::new(2)).run(&table)?;
    /// let told = fitted.states_in_words(&Context::new(0))?.unwrap_or_default();
    /// let first: Vec<&str> = told.iter().map(|state| state[0].text.as_str()).collect();
    /// assert!(first.contains(&"age 21.5 (usually 41.5)"), "{first:?}");
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn states_in_words(&self, context: &Context) -> Result<Option<Vec<Vec<Standing>>>> {
        if self.manifest.unfolded.is_some() {
            return self.plain().states_in_words(context);
        }
        let manifest = &self.manifest;
        let Some(view) = self.model.parts() else { return Ok(None) };
        if view.appearance != Appearance::States
            || manifest.picture.is_some()
            || manifest.absent.is_some()
            || manifest.columns.is_none()
        {
            return Ok(None);
        }
        let mut mean = view.mean.to_vec();
        self.undo(&mut mean)?;
        let Some(whole) = self.whole(context)? else { return Ok(None) };
        let about = self.about();
        let (levels, owner) = (self.model.levels(), view.part_of_column());
        let observed = self.model.observed();
        let of_state = |slot: usize| {
            let part = slot / view.states;
            let of_column = |d: usize| {
                let gate = view.gate_of(d)[part];
                if owner[d] != part && gate < NOTABLE {
                    return None;
                }
                let name = (d, column_name(manifest.columns.as_deref(), d));
                let known = observed.map_or(1.0, |share| share[slot * view.columns + d]);
                if known < KNOWN {
                    return None;
                }
                let mut told = match (&whole[d], &levels) {
                    (Whole::Number { mean: usually, deviation }, _) => {
                        let own = mean[slot * view.columns + d];
                        Standing::of_number(&about, name, own, *usually, *deviation)
                    }
                    (Whole::Words(usually), Some(levels)) => {
                        Standing::of_words(&about, name, levels.of(slot, d), usually)
                    }
                    (Whole::Words(_), None) => None,
                }?;
                if known < MOSTLY_KNOWN {
                    told.text = format!("{}, known of {:.0}%", told.text, 100.0 * known);
                }
                (told.strength >= FAINT).then_some((gate * known * told.strength, told))
            };
            let mut told: Vec<(f64, Standing)> = (0..view.columns).filter_map(of_column).collect();
            told.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.at.cmp(&b.1.at)));
            told.into_iter().map(|(_, told)| told).collect()
        };
        Ok(Some((0..view.parts * view.states).map(of_state).collect()))
    }

    /// What each column is like as a whole: what the model says of a row that shows nothing.
    fn whole(&self, context: &Context) -> Result<Option<Vec<Whole>>> {
        let Some(predictor) = self.model.predictor::<f64>() else { return Ok(None) };
        let columns = self.model.columns();
        let kinds = self.manifest.kinds.clone();
        let nothing = Table::from(Dense::new(1, columns, vec![f64::NAN; columns])?)
            .with_about(About { kinds, ..About::default() })?;
        let said = predict(predictor, &nothing, Asked::Missing, context)?;
        let number = |d: usize| match said.cell(0, d) {
            Some(Prediction::Number { mean, deviation }) => (mean, deviation),
            _ => (0.0, 0.0),
        };
        let mut mean: Vec<f64> = (0..columns).map(|d| number(d).0).collect();
        let mut above: Vec<f64> = (0..columns).map(|d| number(d).0 + number(d).1).collect();
        self.undo(&mut mean)?;
        self.undo(&mut above)?;
        let of_column = |d: usize| match said.cell(0, d) {
            Some(Prediction::Levels(shares)) => Whole::Words(shares.to_vec()),
            _ => Whole::Number { mean: mean[d], deviation: (above[d] - mean[d]).abs() },
        };
        Ok(Some((0..columns).map(of_column).collect()))
    }
}
