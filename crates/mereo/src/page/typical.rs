//! Rows that show each state most clearly, by name.

use mereo_core::{Appearance, Context, Real, Result, Source};

use super::in_full;
use crate::Fitted;
use crate::fitted::for_each_batch;

/// Rows told of for each state.
const ROWS: usize = 3;
/// Numbers of codes that are looked through at most.
const MOST: usize = 1 << 26;

/// For each state of each part the names of the rows that show it most surely, those with more cells first among equals;
/// nothing if rows have no names or parts no states.
pub(super) fn rows<T: Real>(
    fitted: &Fitted,
    raw: &dyn Source<T>,
    context: &Context,
) -> Result<Option<Vec<Vec<String>>>> {
    let Some(view) = fitted.model.parts() else { return Ok(None) };
    let width = view.parts * view.states;
    if view.appearance != Appearance::States
        || raw.about().ids.is_none()
        || fitted.model.encoder::<T>().is_none_or(|encoder| encoder.code_width() != width)
        || raw.rows().saturating_mul(width) > MOST
    {
        return Ok(None);
    }
    let codes = in_full(&fitted.encode(raw, context)?)?;
    let mut cells = vec![0; raw.rows()];
    for_each_batch(raw, |batch| {
        for row in 0..batch.rows {
            cells[batch.first_row + row] = batch.stored(row);
        }
        Ok(())
    })?;
    let of_state = |slot: usize| {
        let sure = |row: usize| codes.row(row)[slot];
        let mut best: Vec<usize> = (0..codes.rows()).filter(|&row| sure(row) >= 0.5).collect();
        // Beyond a thousandth, surer is not more typical.
        let key = |row: usize| ((1000.0 * sure(row)).round() as u64, cells[row]);
        best.sort_by(|&a, &b| key(b).cmp(&key(a)).then(a.cmp(&b)));
        best.truncate(ROWS);
        best.into_iter().map(|row| raw.about().row_name(row)).collect()
    };
    Ok(Some((0..width).map(of_state).collect()))
}
