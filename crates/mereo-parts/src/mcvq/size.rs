//! Choosing how many parts and states there are.
//!
//! Sizes are tried one after another on the rows (a sample of them if they are many) with a tenth
//! of the cells hidden, and judged in two ways; `docs/size.md` has the reasons.
//!
//! *Description length*, in bits: what it takes to tell the model and, by means of it, the cells.
//!
//! - Model: a number learned from n rows is worth telling to `½ log2 n` bits. Part k needs a mean
//!   and a variance for each state that it uses, in each column as far as the column is its own:
//!   `Σ_dk g_dk J_k log2 n_d` (of counts one number, of words all shares but one); `K (J - 1)` priors of `½ log2 C` each; `log2 K` bits a column to say
//!   whose it is.
//! - Codes and residual: `-F / log 2`. F is the bound, so this is what it takes to tell which
//!   states each row shows, `Σ KL(m ‖ b)`, and then its cells, `Σ g m ε`. Cells are told to a
//!   precision of one unit; another adds the same to every size.
//!
//! *Held out*: the mean log density of a hidden cell given the shown ones of its row,
//! `log Σ_k g_dk Σ_j m_kj N(x_d; μ_kjd, σ²_kjd)`, in nats.
//!
//! The search climbs: from a middling size it goes to more or fewer parts, then states, first in
//! large steps, then by one, as long as that is better, and at last by one of both: with a part too many
//! the right number of states can look wrong, and the other way round. What turns out to be unused is pruned: a
//! part that holds less than half a column, and states of which no part shows as many often enough
//! to be half a row; the size without them is tried next. What of the size that was found is not needed in the end
//! is [left out](super::tidy).

use mereo_core::{
    Cells, Context, Dense, Encode, Error, Observer, Parts, Plan, Real, Record, Result, SizeTried,
    Source, Sparse, Table, sample_rows, score,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::{Mcvq, McvqParams, fit};

/// Cells of the sample that sizes are tried on.
const SEARCH_CELLS: usize = 1 << 22;
/// The share of cells that is hidden.
const HIDDEN: f64 = 0.1;
/// Where the search begins.
const FIRST: (usize, usize) = (4, 8);
/// Sizes of the large steps.
const LADDER: [usize; 18] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256];
/// Most sizes tried.
const MOST_TRIED: usize = 60;

/// What the best size is best in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeRule {
    /// The least bits for model, codes and residual.
    #[default]
    DescriptionLength,
    /// The likeliest hidden cells.
    HeldOut,
}

mereo_core::choices!(SizeRule, "choose-by":
    DescriptionLength = "description-length", HeldOut = "held-out");

/// A size that is to be found: what is given of it, and what the best is best in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeSearch {
    /// Parts and states, where given.
    pub given: [Option<usize>; 2],
    /// What the best is best in.
    pub rule: SizeRule,
}

/// Finds the numbers of parts and states, those that are not given, and tells what was tried.
///
/// ```no_run
/// use mereo_core::{Context, Plan, Silent};
/// use mereo_parts::{McvqParams, mcvq};
/// let toy = mereo_data::toy::World::Shapes.make(None, 0)?.with_noise(0.1, 0)?;
/// let params = McvqParams::new(1, 1);
/// let (found, tried) = mcvq::choose_size(
///     &params, [None, None], mcvq::SizeRule::DescriptionLength,
///     &toy.table, &Plan { restarts: 3, ..Plan::default() }, &Context::new(0), &mut Silent,
/// )?;
/// assert_eq!((found.parts, found.states), (3, 9));
/// assert!(tried.len() > 3);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn choose_size<T: Real>(
    params: &McvqParams,
    given: [Option<usize>; 2],
    rule: SizeRule,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(McvqParams, Vec<SizeTried>)> {
    let most = (SEARCH_CELLS / source.columns().max(1)).max(500);
    let sample = sample_rows(source, most, "sizes", context)?;
    let (shown, hidden) = split(&sample, context)?;
    let mut search = Search {
        params: McvqParams { classes: crate::Classes::None, search: None, ..params.clone() },
        rule,
        shown,
        hidden,
        plan: Plan { checkpoints: None, ..plan.clone() },
        context,
        tried: Vec::new(),
    };
    let limit = [sample.columns().max(1), sample.rows().max(1)];
    let mut at =
        [given[0].unwrap_or(FIRST.0.min(limit[0])), given[1].unwrap_or(FIRST.1.min(limit[1]))];
    let mut best = search.worth(at, observer)?;
    for fine in [false, true] {
        loop {
            let before = at;
            for axis in 0..2 {
                if given[axis].is_none() {
                    search.climb(axis, fine, limit[axis], &mut at, &mut best, observer)?;
                }
            }
            if let Some(pruned) = search.pruned(at, given)
                && search.tried.len() < MOST_TRIED
            {
                let worth = search.worth(pruned, observer)?;
                if worth >= best {
                    (at, best) = (pruned, worth);
                }
            }
            if at == before && fine && given == [None, None] {
                search.climb_across(limit, &mut at, &mut best, observer)?;
            }
            if at == before {
                break;
            }
        }
    }
    for tried in &mut search.tried {
        tried.chosen = [tried.parts, tried.states] == at;
    }
    let tidy = given.map(|size| size.is_none());
    let found = McvqParams { parts: at[0], states: at[1], search: None, tidy, ..params.clone() };
    Ok((found, search.tried))
}

struct Search<'a, T> {
    params: McvqParams,
    rule: SizeRule,
    shown: Table<T>,
    hidden: Table<T>,
    plan: Plan,
    context: &'a Context,
    tried: Vec<SizeTried>,
}

impl<T: Real> Search<'_, T> {
    /// Goes on along one axis as long as that is better.
    fn climb(
        &mut self,
        axis: usize,
        fine: bool,
        limit: usize,
        at: &mut [usize; 2],
        best: &mut f64,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        for up in [true, false] {
            let mut gained = false;
            while self.tried.len() < MOST_TRIED {
                let Some(next) = step(at[axis], up, fine).filter(|&next| next <= limit) else {
                    break;
                };
                let mut size = *at;
                size[axis] = next;
                let worth = self.worth(size, observer)?;
                if worth <= *best {
                    break;
                }
                (*at, *best, gained) = (size, worth, true);
            }
            // What came of going up need not be tried again on the way down.
            if gained {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Goes to the first better size that has one more or one less of both.
    fn climb_across(
        &mut self,
        limit: [usize; 2],
        at: &mut [usize; 2],
        best: &mut f64,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        for [more_parts, more_states] in
            [[false, false], [false, true], [true, false], [true, true]]
        {
            let (Some(parts), Some(states)) =
                (step(at[0], more_parts, true), step(at[1], more_states, true))
            else {
                continue;
            };
            if parts > limit[0] || states > limit[1] || self.tried.len() >= MOST_TRIED {
                continue;
            }
            let worth = self.worth([parts, states], observer)?;
            if worth > *best {
                (*at, *best) = ([parts, states], worth);
                return Ok(());
            }
        }
        Ok(())
    }

    /// How good a size is; more is better.
    fn worth(&mut self, [parts, states]: [usize; 2], observer: &mut dyn Observer) -> Result<f64> {
        let known = self.tried.iter().find(|t| (t.parts, t.states) == (parts, states)).cloned();
        let tried = match known {
            Some(tried) => tried,
            None => {
                let tried = self.attempt(parts, states, observer)?;
                self.tried.push(tried.clone());
                tried
            }
        };
        Ok(match self.rule {
            SizeRule::DescriptionLength => -tried.description_length,
            SizeRule::HeldOut => tried.held_out,
        })
    }

    fn attempt(
        &self,
        parts: usize,
        states: usize,
        observer: &mut dyn Observer,
    ) -> Result<SizeTried> {
        let params = McvqParams { parts, states, ..self.params.clone() };
        params.check()?;
        let what = format!("{parts} parts of {states} states");
        observer.trying(&what, self.tried.len() + 1, MOST_TRIED);
        let mut quiet = Quiet(observer);
        let (model, _) = fit(&params, &self.shown, &self.plan, self.context, &mut quiet)?;
        if self.context.stop().asked() {
            return Err(Error::Interrupted);
        }
        let of_bits = Bits::of(&model, &self.shown, self.context)?;
        Ok(SizeTried {
            parts,
            states,
            model_bits: of_bits.model,
            description_length: of_bits.model + of_bits.rows,
            held_out: held_out(&model, &self.shown, &self.hidden)?,
            parts_in_use: of_bits.parts_in_use,
            states_in_use: of_bits.states_in_use,
            chosen: false,
        })
    }

    /// The size without what is unused, if anything is.
    fn pruned(&self, at: [usize; 2], given: [Option<usize>; 2]) -> Option<[usize; 2]> {
        let tried = self.tried.iter().find(|t| [t.parts, t.states] == at)?;
        let size = [
            given[0].unwrap_or(tried.parts_in_use.max(1)),
            given[1].unwrap_or(tried.states_in_use.max(1)),
        ];
        (size != at).then_some(size)
    }
}

/// The next number up or down: on the ladder, or by one.
fn step(from: usize, up: bool, fine: bool) -> Option<usize> {
    match (fine, up) {
        (true, true) => Some(from + 1),
        (true, false) => (from > 1).then(|| from - 1),
        (false, true) => LADDER.into_iter().find(|&n| n > from),
        (false, false) => LADDER.into_iter().rev().find(|&n| n < from),
    }
}

/// Starts of sizes that are only tried are not told of.
struct Quiet<'a>(&'a mut dyn Observer);

impl Observer for Quiet<'_> {
    fn passed(&mut self, record: &Record) {
        self.0.passed(record);
    }
}

/// Two tables of the same rows: all cells but the hidden ones, and the hidden ones alone.
fn split<T: Real>(sample: &Table<T>, context: &Context) -> Result<(Table<T>, Table<T>)> {
    let hide = |row: usize| {
        let mut random = context.random("hidden cells", [row as u64, 0]);
        move || random.random::<f64>() < HIDDEN
    };
    let (columns, about) = (sample.columns(), sample.about().clone());
    let both: [Cells<T>; 2] = match sample.cells() {
        Cells::Sparse(cells) if cells.absent() == mereo_core::Absent::Unobserved => {
            let mut both = [(vec![0], Vec::new(), Vec::new()), (vec![0], Vec::new(), Vec::new())];
            for row in 0..cells.rows() {
                let mut hidden = hide(row);
                for i in cells.starts()[row]..cells.starts()[row + 1] {
                    let (_, indices, values) = &mut both[usize::from(hidden())];
                    indices.push(cells.indices()[i]);
                    values.push(cells.values()[i]);
                }
                both.iter_mut().for_each(|(starts, _, values)| starts.push(values.len()));
            }
            let [shown, hidden] = both.map(|(starts, indices, values)| {
                Sparse::new(columns, starts, indices, values, cells.absent())
            });
            [Cells::Sparse(shown?), Cells::Sparse(hidden?)]
        }
        _ => {
            let mut shown = vec![T::MISSING; sample.rows() * columns];
            let mut lane = sample.lane(0..sample.batches())?;
            while let Some(batch) = lane.next_batch()? {
                for row in 0..batch.rows {
                    let first = (batch.first_row + row) * columns;
                    batch.dense_row(row, &mut shown[first..first + columns]);
                }
            }
            let mut hidden = vec![T::MISSING; shown.len()];
            for (row, (shown, hidden)) in
                shown.chunks_mut(columns).zip(hidden.chunks_mut(columns)).enumerate()
            {
                let mut hides = hide(row);
                for (shown, hidden) in shown.iter_mut().zip(hidden) {
                    if hides() {
                        std::mem::swap(shown, hidden);
                    }
                }
            }
            let rows = sample.rows();
            [
                Cells::Dense(Dense::new(rows, columns, shown)?),
                Cells::Dense(Dense::new(rows, columns, hidden)?),
            ]
        }
    };
    let [shown, hidden] = both.map(|cells| match cells {
        Cells::Dense(cells) => Table::from(cells),
        Cells::Sparse(cells) => Table::from(cells),
    });
    let kinds = about.kinds.unwrap_or_default();
    let of_kind = |table: Table<T>| {
        if kinds.is_empty() { Ok(table) } else { table.with_kinds(kinds.clone()) }
    };
    let (shown, hidden) = (of_kind(shown)?, of_kind(hidden)?);
    let weights = about.weights;
    match weights {
        None => Ok((shown, hidden)),
        Some(weights) => Ok((shown.with_weights(weights.clone())?, hidden.with_weights(weights)?)),
    }
}

/// What it takes to tell a model, and rows by means of it.
struct Bits {
    model: f64,
    rows: f64,
    parts_in_use: usize,
    states_in_use: usize,
}

impl Bits {
    fn of<T: Real>(model: &Mcvq, table: &Table<T>, context: &Context) -> Result<Self> {
        let moments = mereo_core::slots::ColumnMoments::of(table, context)?;
        let view = model.parts();
        // A state is used if it is shown by half a row or more; a part, if it has half a column.
        let used = |part: usize| {
            let prior = &view.state_prior[part * view.states..(part + 1) * view.states];
            prior.iter().filter(|&&b| b * moments.rows >= 0.5).count()
        };
        let size = |part: usize| (0..view.columns).map(|d| view.gate_of(d)[part]).sum::<f64>();
        let in_use: Vec<usize> = (0..view.parts).filter(|&part| size(part) >= 0.5).collect();
        let mut model_bits = view.columns as f64 * (view.parts as f64).log2();
        model_bits += (view.parts * (view.states - 1)) as f64 * 0.5 * moments.rows.max(1.0).log2();
        for (d, n) in moments.weight.iter().enumerate() {
            for (part, gate) in view.gate_of(d).iter().enumerate() {
                // Two numbers of half of that each, or as many as the column's kind has.
                let numbers = 0.5 * model.kinds.kinds().free_parameters_of(d) as f64;
                model_bits += numbers * gate * used(part) as f64 * n.max(1.0).log2();
            }
        }
        let bound = score::<T>(model, table, context)?.mean * moments.rows;
        Ok(Self {
            model: model_bits,
            rows: -bound / std::f64::consts::LN_2,
            parts_in_use: in_use.len(),
            states_in_use: in_use.iter().map(|&part| used(part)).max().unwrap_or(1),
        })
    }
}

/// The mean log density of a hidden cell given what is shown of its row.
fn held_out<T: Real>(model: &Mcvq, shown: &Table<T>, hidden: &Table<T>) -> Result<f64> {
    let super::Tensors { parts, states, columns, gate, mean, variance, mixed, .. } =
        model.tensors();
    let (mut sum, mut count) = (0.0, 0.0);
    let of_kinds = mixed.map(|_| model.cells());
    // Hidden cells are dense wherever shown ones are, and cut at the same rows if one batch at a
    // time is cut by the shown.
    let mut lane = shown.lane(0..shown.batches())?;
    let mut cells = vec![T::MISSING; columns];
    while let Some(batch) = lane.next_batch()? {
        // As rows are encoded, gates of their own included.
        let mut codes = vec![T::ZERO; batch.rows * parts * states];
        Encode::<T>::encode_batch(model, &batch, &mut codes);
        for (row, code) in codes.chunks_exact(parts * states).enumerate() {
            let weight = batch.weight(row);
            let one = hidden.select_rows(&[batch.first_row + row]);
            let mut lane = one.lane(0..1)?;
            let Some(of_row) = lane.next_batch()? else { continue };
            of_row.dense_row(0, &mut cells);
            for (d, x) in cells.iter().enumerate().filter(|(_, x)| !x.is_missing()) {
                if let Some(cells) = &of_kinds {
                    let gate = &gate[d * parts..(d + 1) * parts];
                    let logs: Vec<f64> =
                        super::model::shares_of(gate, states, |slot| code[slot].to_f64())
                            .iter()
                            .map(|q| q.max(1e-300).ln())
                            .collect();
                    sum += weight * cells.log_density(d, &logs, x.to_f64());
                    count += weight;
                    continue;
                }
                let mut density = f64::MIN_POSITIVE;
                for (slot, shown) in code.iter().enumerate() {
                    let i = slot * columns + d;
                    let share = gate[d * parts + slot / states] * shown.to_f64();
                    let apart = x.to_f64() - mean[i];
                    density += share * (-0.5 * apart * apart / variance[i]).exp()
                        / (2.0 * std::f64::consts::PI * variance[i]).sqrt();
                }
                sum += weight * density.ln();
                count += weight;
            }
        }
    }
    Ok(if count > 0.0 { sum / count } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use mereo_core::Silent;

    use super::*;

    #[test]
    fn three_shapes_at_nine_places_are_found() {
        // Without noise every pixel is known to the last bit, and shapes fall into smaller pieces.
        let toy = mereo_data::toy::World::Shapes.make(Some(300), 0).unwrap();
        let toy = toy.with_noise(0.1, 0).unwrap();
        let params = McvqParams { scouts: 10, ..McvqParams::new(1, 1) };
        let plan = Plan { restarts: 3, ..Plan::default() };
        let context = Context::new(0).with_threads(2).unwrap();
        let (found, tried) = choose_size(
            &params,
            [None, None],
            SizeRule::DescriptionLength,
            &toy.table,
            &plan,
            &context,
            &mut Silent,
        )
        .unwrap();
        assert_eq!((found.parts, found.states), (3, 9), "{tried:#?}");
        assert_eq!(tried.iter().filter(|t| t.chosen).count(), 1);
    }

    #[test]
    fn hidden_and_shown_cells_are_all_cells_once() {
        let toy = mereo_data::toy::World::Shapes.make(Some(50), 0).unwrap();
        let (shown, hidden) = split(&toy.table, &Context::new(3)).unwrap();
        let [all, shown, hidden] = [&toy.table, &shown, &hidden].map(|t| match t.cells() {
            Cells::Dense(cells) => cells.values().to_vec(),
            Cells::Sparse(_) => Vec::new(),
        });
        let mut held = 0;
        for ((a, s), h) in all.iter().zip(&shown).zip(&hidden) {
            assert!(s.is_nan() != h.is_nan() && (s == a || h == a));
            held += usize::from(s.is_nan());
        }
        let share = held as f64 / all.len() as f64;
        assert!((share - HIDDEN).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_given_number_of_parts_stays() {
        let toy = mereo_data::toy::World::Shapes.make(Some(60), 0).unwrap();
        let params = McvqParams { scouts: 2, ..McvqParams::new(1, 1) };
        let plan = Plan { passes: 10, ..Plan::default() };
        let (found, tried) = choose_size(
            &params,
            [Some(2), None],
            SizeRule::HeldOut,
            &toy.table,
            &plan,
            &Context::new(0),
            &mut Silent,
        )
        .unwrap();
        assert!(found.parts == 2 && tried.iter().all(|t| t.parts == 2 && t.held_out.is_finite()));
    }
}
