//! What a model sees in rows.

use mereo_core::{Appearance, Context, PartsView, Real, Result, Source, column_name};

use super::Fitted;
use crate::page::{in_full, pick};

/// Columns told of for each part, those that it says most about.
const COLUMNS: usize = 6;

/// What a model sees in a row.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The row's number.
    pub row: usize,
    /// What each part shows.
    pub parts: Vec<Shown>,
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
            return plain.explain(&*unfolded, numbers, context);
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
                Shown {
                    state: (!factors).then(|| (best, code[best])),
                    factors: if factors { code.to_vec() } else { Vec::new() },
                    columns: columns.collect(),
                }
            });
            Explained { row, parts: shown.collect() }
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
