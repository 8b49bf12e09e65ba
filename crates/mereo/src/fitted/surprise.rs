//! How rare each cell of a row is, given the others.
//!
//! Of a word: the probability of all words that are as rare or rarer than it. Of a number, count or date: the chance
//! of a distance as large or larger from its mean, by Student's t with 3 degrees of freedom and the deviation that the
//! model gives. That is more forgiving than a normal distribution, as tails of real columns are heavy.

use mereo_core::{Asked, Context, Prediction, Real, Result, Table, predict};

use super::{Fitted, nearest};
use crate::OddCell;
use crate::page::in_full;
use crate::tables::{RARE, in_units, tail};

/// What a model says of each cell of some rows.
pub(crate) struct Surprise {
    columns: usize,
    /// How rare each cell is, `[R, D]`; `NaN` of missing ones.
    pub(crate) chance: Vec<f64>,
    expected: Vec<f64>,
}

impl Fitted {
    /// How rare the cells of rows are, each given the others of its row; nothing if the model cannot tell. Rows have
    /// the model's columns.
    pub(crate) fn surprise<T: Real>(
        &self,
        rows: &Table<T>,
        context: &Context,
    ) -> Result<Option<Surprise>> {
        let Some(predictor) = self.model.predictor::<T>() else { return Ok(None) };
        let columns = self.model.columns();
        let observed = in_full(rows)?;
        let said = predict(predictor, &*self.prepared(rows)?, Asked::Every, context)?;
        let mut chance = vec![f64::NAN; rows.rows() * columns];
        let mut expected = vec![f64::NAN; rows.rows() * columns];
        for row in 0..rows.rows() {
            let number = |d: usize| match said.cell(row, d) {
                Some(Prediction::Number { mean, deviation }) => (mean, mean + deviation),
                _ => (0.0, 0.0),
            };
            let (mut mean, mut above): (Vec<f64>, Vec<f64>) = (0..columns).map(number).unzip();
            // Steps that look at a whole row cannot be undone without it.
            if self.undo(&mut mean).is_err() || self.undo(&mut above).is_err() {
                return Ok(None);
            }
            for (d, &x) in observed.row(row).iter().enumerate() {
                let at = row * columns + d;
                match said.cell(row, d) {
                    Some(Prediction::Levels(shares)) => {
                        let own = shares.get(x as usize).copied().filter(|_| !x.is_nan());
                        if let Some(own) = own {
                            let rarer = shares.iter().filter(|p| **p <= own * (1.0 + 1e-9));
                            chance[at] = rarer.sum::<f64>().min(1.0);
                        }
                        expected[at] = Prediction::Levels(shares).value();
                    }
                    Some(Prediction::Number { .. }) => {
                        let deviation = (above[d] - mean[d]).abs();
                        if !x.is_nan() && deviation > 0.0 {
                            chance[at] = tail(3f64.sqrt() * (x - mean[d]).abs() / deviation);
                        }
                        expected[at] = mean[d];
                    }
                    None => {}
                }
            }
        }
        Ok(Some(Surprise { columns, chance, expected }))
    }

    /// The cells of a row that are rarer than 1 in 20, the rarest first.
    pub(crate) fn surprising(&self, told: &Surprise, row: usize, observed: &[f64]) -> Vec<OddCell> {
        let about = self.about();
        let at = |d: usize| row * told.columns + d;
        let mut rare: Vec<usize> =
            (0..told.columns).filter(|&d| told.chance[at(d)] < RARE).collect();
        rare.sort_by(|&a, &b| told.chance[at(a)].total_cmp(&told.chance[at(b)]));
        let cell = |d: usize| OddCell {
            column: mereo_core::column_name(about.names.as_deref(), d),
            found: about.cell(d, observed[d]),
            expected: if about.kind(d).levels().is_empty() {
                in_units(&about, d, nearest(&about, d, told.expected[at(d)]))
            } else {
                about.cell(d, told.expected[at(d)])
            },
            chance: told.chance[at(d)],
        };
        rare.into_iter().map(cell).collect()
    }
}
