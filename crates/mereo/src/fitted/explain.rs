//! What a model sees in rows.

use mereo_core::{Appearance, Context, PartsView, Real, Result, Source, column_name};

use super::Fitted;
use crate::page::{in_full, pick};
use crate::{OddCell, Standing};

/// Columns told of for each part, those that it says most about.
const COLUMNS: usize = 6;

/// What a model sees in a row.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The row's number.
    pub row: usize,
    /// The row's name, or its number.
    pub name: String,
    /// What each part shows.
    pub parts: Vec<Shown>,
    /// Cells that are rarer than 1 in 20 given the others of the row, the rarest first, where the model can tell.
    pub surprising: Vec<OddCell>,
}

/// What a part shows in a row.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The likeliest state and how likely it is, if parts choose among states.
    pub state: Option<(usize, f64)>,
    /// Where the row stands along each factor, in the factor's deviations, if parts have factors.
    pub factors: Vec<f64>,
    /// The columns that this says most about: name, what was observed (NaN if nothing), what the model
    /// makes of it.
    pub columns: Vec<(String, f64, f64)>,
    /// The same cells in the data's words: what was observed (empty if nothing), what the model makes of it.
    pub words: Vec<[String; 2]>,
    /// Where the state stands out from the whole, where columns have names.
    pub like: Vec<Standing>,
}

impl Fitted {
    /// What the model sees in these rows, by rising number.
    ///
    /// ```
    /// # use mereo::{Context, Fit, parts::McfaParams};
    /// let toy = mereo::data::toy::World::Shapes.make(Some(200), 0)?;
    /// let fitted = Fit::new(McfaParams::new(3, 1)).restarts(1).passes(5).run(&toy.table)?;
    /// let told = fitted.explain(&toy.table, &[0, 7], &Context::new(0))?;
    /// assert_eq!((told[1].row, told[1].parts.len(), told[1].parts[0].factors.len()), (7, 3, 1));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn explain<T: Real>(
        &self,
        raw: &dyn Source<T>,
        numbers: &[usize],
        context: &Context,
    ) -> Result<Vec<Explained>> {
        if let Some((plain, unfolded)) = self.plainly(raw)? {
            let mut told = plain.explain(&*unfolded, numbers, context)?;
            told.iter_mut().for_each(|told| told.name = raw.about().row_name(told.row));
            return Ok(told);
        }
        let view = self.model.parts().ok_or_else(|| self.incapable("explain"))?;
        let picked = pick(&*self.aligned(raw)?, numbers)?;
        let observed = in_full(&picked)?;
        let codes = in_full(&self.encode(&picked, context)?)?;
        let factors = view.appearance == Appearance::Factors;
        let width = if factors { view.states / 2 } else { view.states };
        if codes.columns() != view.parts * width {
            return Err(self.incapable("explain"));
        }
        let made = self.reconstruct(&picked, false, context)?;
        let names = self.manifest.columns.as_deref();
        let part_of_column = view.part_of_column();
        let about = self.about();
        let states = self.states_in_words(context)?;
        let surprise = self.surprise(&picked, context)?;
        let in_words = |d: usize, x: f64| match (about.kind(d).levels().is_empty(), x.is_nan()) {
            (_, true) => String::new(),
            (true, _) => crate::tables::in_units(&about, d, x),
            (false, _) => about.cell(d, x),
        };
        let explained = |(at, &row): (usize, &usize)| {
            let parts = codes.row(at).chunks_exact(width).enumerate();
            let shown = parts.map(|(part, code)| {
                let best = (0..code.len()).fold(0, |b, j| if code[j] > code[b] { j } else { b });
                let moved = if factors {
                    moved_by_factors(&view, part, code)
                } else {
                    view.conspicuousness(part, best)
                };
                let mut own: Vec<usize> =
                    (0..view.columns).filter(|&d| part_of_column[d] == part).collect();
                own.sort_by(|&a, &b| moved[b].abs().total_cmp(&moved[a].abs()).then(a.cmp(&b)));
                own.truncate(COLUMNS);
                let columns = own.iter().map(|&d| {
                    (column_name(names, d), observed.row(at)[d], made.row(at)[d].to_f64())
                });
                let words = own.iter().map(|&d| {
                    [in_words(d, observed.row(at)[d]), in_words(d, made.row(at)[d].to_f64())]
                });
                let slot = part * view.states + best;
                let like = states.as_ref().and_then(|states| states.get(slot));
                Shown {
                    words: words.collect(),
                    like: like.cloned().unwrap_or_default(),
                    state: (!factors).then(|| (best, code[best])),
                    factors: if factors { code.to_vec() } else { Vec::new() },
                    columns: columns.collect(),
                }
            });
            let surprising = surprise
                .as_ref()
                .map_or_else(Vec::new, |told| self.surprising(told, at, observed.row(at)));
            Explained { row, name: raw.about().row_name(row), parts: shown.collect(), surprising }
        };
        Ok(numbers.iter().enumerate().map(explained).collect())
    }
}

/// How far a row's place along the factors moves every column from the part's offset: looks are shown two
/// deviations up and as many down each factor.
fn moved_by_factors(view: &PartsView<'_>, part: usize, code: &[f64]) -> Vec<f64> {
    let loading = |f: usize, d: usize| {
        (view.state(part, 1 + 2 * f)[d] - view.state(part, 2 + 2 * f)[d]) / 4.0
    };
    let moved = |d: usize| code.iter().enumerate().map(|(f, m)| m * loading(f, d)).sum();
    (0..view.columns).map(moved).collect()
}
