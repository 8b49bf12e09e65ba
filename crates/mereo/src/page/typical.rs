//! Rows that show each state best, by name.

use mereo_core::{Appearance, Context, PartsView, Real, Result, Source};

use super::{in_full, pick};
use crate::Fitted;

/// Rows told of for each state.
const ROWS: usize = 3;
/// Numbers of codes that are looked through at most.
const MOST: usize = 1 << 26;
/// Only rows that show a state at least as surely as this are its own.
const SURE: f64 = 0.5;
/// A column of which the part has less than this does not count.
const OWN: f64 = 0.1;

/// For each state of each part the names of the rows that show it best; nothing if rows have no names or parts no states.
///
/// A row shows a state well if it does so surely and its cells are those that are typical of the state. How far it is from
/// that is `-2 log P(state | row) + Σ_d g_d e_d` over the columns of the part, g being the gate: of a number e is the squared distance from the
/// mean of the state's rows in their deviations, of a word `2 log(p_max/p)` by the shares of the state, and of a missing cell 1, what
/// a number has on average. Among equals the likelier row is first.
pub(super) fn rows<T: Real>(
    fitted: &Fitted,
    raw: &dyn Source<T>,
    context: &Context,
) -> Result<Option<Vec<Vec<String>>>> {
    let Some(view) = fitted.model.parts() else { return Ok(None) };
    let width = view.parts * view.states;
    let numbers = raw.rows().saturating_mul(width.max(view.columns));
    if view.appearance != Appearance::States
        || raw.about().ids.is_none()
        || fitted.model.encoder::<T>().is_none_or(|encoder| encoder.code_width() != width)
        || numbers > MOST
    {
        return Ok(None);
    }
    let codes = in_full(&fitted.encode(raw, context)?)?;
    let all: Vec<usize> = (0..raw.rows()).collect();
    let cells = in_full(&pick(&*fitted.prepared(raw)?, &all)?)?;
    let scores = match fitted.model.scorer::<T>() {
        Some(_) => fitted.score(raw, None, context)?.rows,
        None => vec![0.0; raw.rows()],
    };
    let of_state = |slot: usize| {
        let sure = |row: usize| codes.row(row)[slot];
        let mut best: Vec<(f64, usize)> =
            (0..codes.rows()).filter(|&row| sure(row) >= SURE).map(|row| (0.0, row)).collect();
        let columns = (0..view.columns).map(|d| (d, view.gate_of(d)[slot / view.states]));
        for (d, gate) in columns.filter(|(_, gate)| *gate >= OWN) {
            let cell = |row: usize| cells.row(row)[d];
            let apart = Apart::of(fitted, &view, slot, d, best.iter().map(|&(_, row)| cell(row)));
            best.iter_mut().for_each(|(sum, row)| *sum += gate * apart.from(cell(*row)));
        }
        best.iter_mut().for_each(|(sum, row)| *sum -= 2.0 * sure(*row).ln());
        // Beyond a millionth, nearer is not more typical.
        let key = |far: f64| (1e6 * far).round();
        best.sort_by(|&(near, a), &(far, b)| {
            let likelier = scores[b].total_cmp(&scores[a]);
            key(near).total_cmp(&key(far)).then(likelier).then(a.cmp(&b))
        });
        best.truncate(ROWS);
        best.into_iter().map(|(_, row)| raw.about().row_name(row)).collect()
    };
    Ok(Some((0..width).map(of_state).collect()))
}

/// How far cells of a column are from what is typical of a state.
enum Apart {
    Number { mean: f64, variance: f64 },
    Words(Vec<f64>),
}

impl Apart {
    fn of(
        fitted: &Fitted,
        view: &PartsView<'_>,
        slot: usize,
        column: usize,
        cells: impl Iterator<Item = f64>,
    ) -> Self {
        if let Some(levels) = fitted.model.levels().filter(|levels| levels.counts[column] > 0) {
            let shares = levels.of(slot, column);
            let most = shares.iter().copied().fold(1e-12, f64::max);
            return Self::Words(shares.iter().map(|p| 2.0 * (most / p.max(1e-12)).ln()).collect());
        }
        let seen: Vec<f64> = cells.filter(|x| !x.is_nan()).collect();
        let count = seen.len().max(1) as f64;
        let mean = match seen.len() {
            0 => view.mean[slot * view.columns + column],
            _ => seen.iter().sum::<f64>() / count,
        };
        let variance = seen.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        Self::Number { mean, variance }
    }

    fn from(&self, cell: f64) -> f64 {
        match self {
            _ if cell.is_nan() => 1.0,
            Self::Number { variance, .. } if !(*variance > 0.0) => 0.0,
            Self::Number { mean, variance } => (cell - mean).powi(2) / variance,
            Self::Words(apart) => apart.get(cell as usize).copied().unwrap_or(1.0),
        }
    }
}
