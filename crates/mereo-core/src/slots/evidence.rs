//! The evidence of every row for every slot.

use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::columns::limited;
use super::kinds::words::{WordLines, WordTable};
use super::kinds::{Family, Mixed, count};
use super::lines::{Lines, UNIT, add_to_rows};
use super::{Form, Frame, level_codes, level_of};
use crate::math::{Matrix, product_nt, widest};
use crate::{Absent, Batch, Block, Real, in_parallel};

/// The slots: their gate, means and variances, in the data's units.
#[derive(Debug, Clone, Copy)]
pub struct SlotParams<'a> {
    /// Number of parts, K.
    pub parts: usize,
    /// Number of states of each part, J.
    pub states: usize,
    /// How strongly each column belongs to each part, `[D, K]`; nothing means fully.
    pub gate: Option<&'a [f64]>,
    /// `[K J, D]`.
    pub mean: &'a [f64],
    /// `[K J, D]`.
    pub variance: &'a [f64],
    /// The log prior of each slot, `[K J]`.
    pub log_prior: &'a [f64],
    /// What slots say in columns that are not numbers, if there are any.
    pub mixed: Option<Mixed<'a>>,
}

impl SlotParams<'_> {
    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.parts * self.states
    }

    #[inline]
    pub(super) fn gate(&self, column: usize, slot: usize) -> f64 {
        self.gate.map_or(1.0, |gate| gate[column * self.parts + slot / self.states])
    }
}

/// Memory for looking at one batch.
#[derive(Debug, Clone, Default)]
pub struct SlotWork<T> {
    /// Evidence, then responsibilities: `[S, R]`.
    pub slots: Vec<T>,
    /// Log normalisers of the parts: `[K, R]`.
    pub log_norms: Vec<T>,
    /// Features of a dense batch, `[R, F D]`; of a sparse one unused.
    pub(super) features: Vec<T>,
    /// Features to a cell: 2 in a complete batch, 3 otherwise.
    pub(super) width: usize,
    /// Observed cells of numbers, by the rows' weights.
    pub observed: f64,
    /// The measured cells of a dense batch of several kinds, `[R, measured]`, and where its words stand.
    pub(super) cells: Vec<T>,
    pub(super) lines: WordLines,
    /// One row after another, `[R, S']`, for sparse batches.
    pub(super) by_row: Padded<T>,
    /// The entries of a sparse batch by column: row and value.
    pub(super) entries: Lines<(u32, T)>,
    /// The rows of a sparse batch by column and level.
    pub(super) leveled: Lines<u32>,
}

impl<T: Real> SlotWork<T> {
    /// For a learner, who looks at the batches of one source pass after pass: what is found out
    /// about sparse ones the first time is remembered.
    ///
    /// ```
    /// let work = mereo_core::slots::SlotWork::<f32>::remembering();
    /// assert!(work.slots.is_empty());
    /// ```
    pub fn remembering() -> Self {
        Self { entries: Lines::remembering(), leveled: Lines::remembering(), ..Self::default() }
    }
}

/// Natural parameters of the slots, ready to be multiplied with batches.
#[derive(Debug, Clone)]
pub struct Evidence<T> {
    slots: usize,
    columns: usize,
    frame: Frame<T>,
    /// Evidence of a row in which nothing is observed: the log prior.
    prior: Vec<T>,
    /// Evidence of a row whose cells are all observed and 0 in the frame, prior included.
    base: Vec<T>,
    coefficients: Coefficients<T>,
    /// Where columns are of several kinds.
    mixed: Option<Box<MixedEvidence<T>>>,
}

/// What is different where columns are of several kinds.
#[derive(Debug, Clone)]
struct MixedEvidence<T> {
    /// The columns that are measured, numbers first, and how many of them are numbers.
    measured: Vec<usize>,
    numbers: usize,
    /// The frame of the measured ones.
    frame: Frame<T>,
    /// The evidence of words, if there are any.
    words: Option<WordTable<T>>,
}

impl<T: Real> MixedEvidence<T> {
    fn new(params: &SlotParams<'_>, mixed: Mixed<'_>, frame: &Frame<T>) -> Self {
        let (measured, numbers) = mixed.kinds.measured();
        let words = (mixed.kinds.width() > 0).then(|| {
            WordTable::new(mixed.kinds, mixed.level, params.slots(), |d, s| params.gate(d, s))
        });
        Self { frame: frame.select(&measured), measured, numbers, words }
    }

    /// Takes the measured cells of rows.
    fn gather(&self, values: &[T], columns: usize, cells: &mut Vec<T>) {
        cells.clear();
        for row in values.chunks_exact(columns) {
            cells.extend(self.measured.iter().map(|&d| row[d]));
        }
    }
}

#[derive(Debug, Clone)]
enum Coefficients<T> {
    /// `[S, 3 D]`: of x², of x, of being observed.
    Dense(Vec<T>),
    /// `[D, 3, S']`: the same three, column by column, slots padded to `S'`.
    Entries { absent: Absent, table: Padded<T> },
    /// `[D, L, S']`: the evidence of each level in each column, and the slots of each column outside which all of it is 0: where columns
    /// belong to groups, as they do at starts, most of it is.
    Levels {
        codes: [u8; super::LEVEL_CODES],
        levels: usize,
        table: Padded<T>,
        stretches: Vec<Range<usize>>,
    },
}

/// Columns of a sparse table that one piece of parallel work makes.
const TILE: usize = 64;

/// Slots to a stored row of a sparse table: whole cache lines.
pub(super) fn padded_slots(slots: usize) -> usize {
    slots.next_multiple_of(UNIT)
}

/// Whole units of slots outside which a column has nothing to say.
fn stretch_of(of_slots: &[[f64; 3]], stride: usize) -> Range<usize> {
    let speaks = |natural: &[f64; 3]| *natural != [0.0; 3];
    let first = of_slots.iter().position(speaks).unwrap_or(0);
    let end = of_slots.iter().rposition(speaks).map_or(0, |last| last + 1);
    first / UNIT * UNIT..end.next_multiple_of(UNIT).min(stride)
}

/// Writes the first `count` columns of `[from_rows, from_columns]` as rows of `out`, each `stride`
/// long, in blocks that stay in the caches.
pub(super) fn turn<T: Real>(
    from: &[T],
    from_rows: usize,
    from_columns: usize,
    out: &mut [T],
    count: usize,
    stride: usize,
) {
    const BLOCK: usize = 16;
    for first in (0..from_rows).step_by(BLOCK) {
        let rows = first..(first + BLOCK).min(from_rows);
        for column in 0..count {
            let out = &mut out[column * stride + rows.start..column * stride + rows.end];
            for (out, row) in out.iter_mut().zip(rows.clone()) {
                *out = from[row * from_columns + column];
            }
        }
    }
}

/// A vector whose first used element stands at the start of a cache line.
#[derive(Debug, Clone, Default)]
pub(super) struct Padded<T> {
    values: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Real> Padded<T> {
    pub(super) fn zeros(length: usize) -> Self {
        let spare = 64 / size_of::<T>();
        let values = vec![T::ZERO; length + spare];
        let start = values.as_ptr().align_offset(64).min(spare);
        Self { values, start, length }
    }

    /// Makes it this long; what it holds then is unspecified.
    pub(super) fn resize(&mut self, length: usize) {
        if self.start + length > self.values.len() {
            *self = Self::zeros(length);
        }
        self.length = length;
    }

    pub(super) fn as_slice(&self) -> &[T] {
        &self.values[self.start..self.start + self.length]
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.values[self.start..self.start + self.length]
    }
}

impl<T: Real> Serialize for Padded<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(serializer)
    }
}

impl<'de, T: Real> Deserialize<'de> for Padded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = Vec::<T>::deserialize(deserializer)?;
        let mut padded = Self::zeros(values.len());
        padded.as_mut_slice().copy_from_slice(&values);
        Ok(padded)
    }
}

impl<T: Real> Evidence<T> {
    /// Derives the natural parameters for data of this form, measured in this frame. Evidence is that of
    /// densities in the frame's units: a density in the data's is, for each observed cell of column d, `log`
    /// [`scale(d)`](Frame::scale) less. Whatever the data's units, these are moderate numbers, and single
    /// precision keeps their differences.
    pub fn in_frame(params: &SlotParams<'_>, frame: &Frame<T>, form: &Form) -> Self {
        Self::derive(params, frame, form, |d, variance| {
            let scale = frame.scale(d);
            (variance / (scale * scale)).ln()
        })
    }

    /// As [`Evidence::in_frame`] without the normalisers of the densities: log priors less half the
    /// squared distances, in units of the variances.
    pub fn of_distances(params: &SlotParams<'_>, frame: &Frame<T>, form: &Form) -> Self {
        Self::derive(params, frame, form, |_, _| 0.0)
    }

    /// `log_variance` is what a column and a variance in it add to twice the error of a cell.
    fn derive(
        params: &SlotParams<'_>,
        frame: &Frame<T>,
        form: &Form,
        log_variance: impl Fn(usize, f64) -> f64 + Sync,
    ) -> Self {
        let columns = frame.columns();
        // Of one slot in one column: coefficients of x'², x' and 1.
        let natural = |s: usize, d: usize| {
            // A part that has nothing of a column says nothing.
            if params.gate(d, s) == 0.0 {
                return [0.0; 3];
            }
            let scale = frame.scale(d);
            match params.mixed.map_or(Family::Number, |mixed| mixed.kinds.family(d)) {
                Family::Number => {}
                Family::Count => {
                    // `x log(λ/λ₀) - (λ - λ₀)`, at `x = centre + scale x'`.
                    let (gate, rate) = (params.gate(d, s), params.mean[s * columns + d]);
                    let kernel = |x: f64, n: f64| count::log_kernel(x, n, rate, frame.rate(d));
                    let (slope, at) = (kernel(scale, 0.0), kernel(frame.outward(d, 0.0), 1.0));
                    return [0.0, gate * slope, gate * at];
                }
                Family::Words { .. } => return [0.0; 3],
            }
            let variance = params.variance[s * columns + d];
            let precision = params.gate(d, s) * (scale * scale / variance);
            let mean = frame.inward(d, params.mean[s * columns + d]);
            let normaliser = params.gate(d, s) * log_variance(d, variance);
            let constant = -0.5 * (precision * mean * mean + normaliser);
            [-0.5 * precision, precision * mean, constant]
        };
        let mixed = params.mixed.map(|mixed| Box::new(MixedEvidence::new(params, mixed, frame)));
        Self::of_columns(params.log_prior, frame, form, mixed, natural)
    }

    /// Any polynomials of degree 2 in the cells: number s of a row is `base_s` and, for every
    /// observed column d, `a x² + b x + c`, with x in the frame's units and `[a, b, c]` what
    /// `coefficients(s, d)` says.
    pub fn polynomial(
        base: &[f64],
        frame: &Frame<T>,
        form: &Form,
        coefficients: impl Fn(usize, usize) -> [f64; 3] + Sync,
    ) -> Self {
        Self::of_columns(base, frame, form, None, coefficients)
    }

    fn of_columns(
        base: &[f64],
        frame: &Frame<T>,
        form: &Form,
        mixed: Option<Box<MixedEvidence<T>>>,
        coefficients: impl Fn(usize, usize) -> [f64; 3] + Sync,
    ) -> Self {
        let (slots, columns, prior, natural) = (base.len(), frame.columns(), base, coefficients);
        let mut base: Vec<f64> = prior.to_vec();
        let coefficients = match form {
            Form::Dense => {
                let measured = mixed.as_ref().map(|mixed| &*mixed.measured);
                let columns = measured.map_or(columns, <[usize]>::len);
                let mut table = vec![T::ZERO; slots * 3 * columns];
                let rows = table.chunks_mut((3 * columns).max(1)).zip(&mut base).enumerate();
                in_parallel(rows, |(s, (row, base))| {
                    for d in 0..columns {
                        let [square, linear, constant] =
                            natural(s, measured.map_or(d, |measured| measured[d]));
                        row[d] = T::from_f64(square);
                        row[columns + d] = T::from_f64(linear);
                        row[2 * columns + d] = T::from_f64(constant);
                        *base += constant;
                    }
                });
                Coefficients::Dense(table)
            }
            Form::Unobserved { levels } if !levels.is_empty() => {
                let stride = padded_slots(slots);
                let mut table = Padded::zeros(columns * levels.len() * stride);
                let mut stretches = vec![0..0; columns];
                let tiles = table.as_mut_slice().chunks_mut(TILE * levels.len() * stride);
                let tiles = tiles.zip(stretches.chunks_mut(TILE));
                in_parallel(tiles.enumerate(), |(tile, (table, stretches))| {
                    let blocks = table.chunks_mut(levels.len() * stride).zip(stretches);
                    let mut of_slots = vec![[0.0; 3]; slots];
                    for (d, (block, stretch)) in (tile * TILE..).zip(blocks) {
                        of_slots.iter_mut().enumerate().for_each(|(s, n)| *n = natural(s, d));
                        for (&level, line) in levels.iter().zip(block.chunks_mut(stride)) {
                            let x = frame.cell(d, T::from_f64(level)).to_f64();
                            for (e, [square, linear, constant]) in line.iter_mut().zip(&of_slots) {
                                *e = T::from_f64((square * x + linear) * x + constant);
                            }
                        }
                        *stretch = stretch_of(&of_slots, stride);
                    }
                });
                let (codes, levels) = (level_codes(levels), levels.len());
                Coefficients::Levels { codes, levels, table, stretches }
            }
            Form::Unobserved { .. } | Form::Zero => {
                let stride = padded_slots(slots);
                let mut table = Padded::zeros(columns * 3 * stride);
                let mut bases = vec![0.0; columns.div_ceil(TILE) * slots];
                let tiles = table.as_mut_slice().chunks_mut(TILE * 3 * stride);
                in_parallel(
                    tiles.zip(bases.chunks_mut(slots)).enumerate(),
                    |(tile, (table, base))| {
                        for (d, block) in (tile * TILE..).zip(table.chunks_mut(3 * stride)) {
                            for s in 0..slots {
                                let [square, linear, constant] = natural(s, d);
                                block[s] = T::from_f64(square);
                                block[stride + s] = T::from_f64(linear);
                                block[2 * stride + s] = T::from_f64(constant);
                                base[s] += constant;
                            }
                        }
                    },
                );
                for tile in bases.chunks(slots) {
                    base.iter_mut().zip(tile).for_each(|(base, tile)| *base += tile);
                }
                let absent = if *form == Form::Zero { Absent::Zero } else { Absent::Unobserved };
                Coefficients::Entries { absent, table }
            }
        };
        let narrow = |values: &[f64]| values.iter().map(|&v| T::from_f64(v)).collect();
        Self {
            slots,
            columns,
            frame: frame.clone(),
            prior: narrow(prior),
            base: narrow(&base),
            coefficients,
            mixed,
        }
    }

    /// The frame that cells are measured in.
    pub fn frame(&self) -> &Frame<T> {
        &self.frame
    }

    /// Writes the evidence of a batch to `work.slots`, `[S, R]`, and keeps its features for
    /// [`SlotStatistics::add`](super::SlotStatistics::add).
    pub fn evaluate(&self, batch: &Batch<'_, T>, work: &mut SlotWork<T>) {
        work.slots.resize(self.slots * batch.rows, T::ZERO);
        match (&self.coefficients, batch.block) {
            (Coefficients::Dense(table), Block::Dense { values, complete }) => {
                let columns = match &self.mixed {
                    None => {
                        self.frame.features(values, complete, self.columns, batch, work);
                        self.columns
                    }
                    Some(mixed) => {
                        let mut cells = std::mem::take(&mut work.cells);
                        mixed.gather(values, self.columns, &mut cells);
                        mixed.frame.features(&cells, complete, mixed.numbers, batch, work);
                        work.cells = cells;
                        mixed.measured.len()
                    }
                };
                let start = if work.width == 3 { &self.prior } else { &self.base };
                match self.mixed.as_ref().and_then(|mixed| mixed.words.as_ref()) {
                    None => {
                        for (slot, &b) in work.slots.chunks_exact_mut(batch.rows).zip(start) {
                            slot.fill(b);
                        }
                    }
                    Some(words) => self.add_words(words, values, start, batch.rows, work),
                }
                let used = work.width * columns;
                if used == 0 {
                    return;
                }
                let natural = Matrix::new(table, self.slots, 3 * columns).first_columns(used);
                let features = Matrix::new(&work.features, batch.rows, used);
                product_nt(&mut work.slots, natural, features, true);
            }
            (Coefficients::Levels { codes, levels, table, stretches }, Block::Sparse { .. }) => {
                let stride = padded_slots(self.slots);
                let table = table.as_slice();
                work.leveled.sort(
                    batch,
                    self.columns * levels,
                    |column, value| column * levels + level_of(codes, value),
                    |row, _| row,
                );
                self.by_row(batch, &self.prior, work, |work| {
                    let by_row = work.by_row.as_mut_slice();
                    work.leveled.for_each(
                        #[inline(always)]
                        |line, rows| {
                            let stretch = stretches[line / levels].clone();
                            let line = &table[line * stride..(line + 1) * stride];
                            add_to_rows(line, stretch, rows, by_row);
                        },
                    );
                });
            }
            (Coefficients::Entries { absent, table }, Block::Sparse { .. }) => {
                let stride = padded_slots(self.slots);
                let table = table.as_slice();
                let (start, one) = match absent {
                    Absent::Unobserved => (&self.prior, T::ONE),
                    Absent::Zero => (&self.base, T::ZERO),
                };
                work.entries.sort(batch, self.columns, |column, _| column, |row, x| (row, x));
                self.by_row(batch, start, work, |work| {
                    let by_row = work.by_row.as_mut_slice();
                    work.entries.for_each(
                        #[inline(always)]
                        |column, entries| {
                            let line = &table[column * 3 * stride..(column + 1) * 3 * stride];
                            let (square, rest) = line.split_at(stride);
                            let (linear, constant) = rest.split_at(stride);
                            for &(row, value) in entries {
                                let x = self.frame.cell(column, value);
                                let sums = &mut by_row[row as usize * stride..][..stride];
                                for (((sum, &a), &b), &c) in
                                    sums.iter_mut().zip(square).zip(linear).zip(constant)
                                {
                                    *sum += (a * x + b) * x + one * c;
                                }
                            }
                        },
                    );
                });
            }
            _ => unreachable!("evidence is derived for the form of the data that it looks at"),
        }
    }

    /// Writes the evidence of a dense batch's words, each row beginning at `start`, slot by slot.
    fn add_words(
        &self,
        words: &WordTable<T>,
        values: &[T],
        start: &[T],
        rows: usize,
        work: &mut SlotWork<T>,
    ) {
        let stride = padded_slots(self.slots);
        work.lines.take(&words.kinds, values);
        work.by_row.resize(rows * stride);
        for sums in work.by_row.as_mut_slice().chunks_exact_mut(stride) {
            sums[..self.slots].copy_from_slice(start);
            sums[self.slots..].fill(T::ZERO);
        }
        work.lines.gather(words.table.as_slice(), stride, work.by_row.as_mut_slice());
        turn(work.by_row.as_slice(), rows, stride, &mut work.slots, self.slots, rows);
    }

    /// Adds up a sparse batch by rows, each beginning at `start`, then turns it slot by slot.
    #[inline(always)]
    fn by_row(
        &self,
        batch: &Batch<'_, T>,
        start: &[T],
        work: &mut SlotWork<T>,
        add: impl Fn(&mut SlotWork<T>),
    ) {
        let (stride, rows) = (padded_slots(self.slots), batch.rows);
        work.by_row.resize(rows * stride);
        for sums in work.by_row.as_mut_slice().chunks_exact_mut(stride) {
            sums[..self.slots].copy_from_slice(start);
            sums[self.slots..].fill(T::ZERO);
        }
        add(work);
        // Sparse tables hold numbers throughout, or counts throughout.
        work.observed = if self.mixed.is_some() { 0.0 } else { self.observed(batch) };
        turn(work.by_row.as_slice(), rows, stride, &mut work.slots, self.slots, rows);
    }

    /// The cells of a sparse batch that are observed, by the rows' weights.
    fn observed(&self, batch: &Batch<'_, T>) -> f64 {
        (0..batch.rows)
            .map(|row| {
                let cells = if self.is_zero() { self.columns } else { batch.stored(row) };
                batch.weight(row) * cells as f64
            })
            .sum()
    }

    fn is_zero(&self) -> bool {
        matches!(self.coefficients, Coefficients::Entries { absent: Absent::Zero, .. })
    }
}

impl<T: Real> Frame<T> {
    /// Features of a dense batch: x², x and, if a cell is missing anywhere, whether it is there. The first `numbers`
    /// columns count as observed.
    fn features(
        &self,
        values: &[T],
        complete: bool,
        numbers: usize,
        batch: &Batch<'_, T>,
        work: &mut SlotWork<T>,
    ) {
        let columns = self.columns();
        work.width = if complete { 2 } else { 3 };
        let width = work.width * columns;
        work.features.resize(batch.rows * width, T::ZERO);
        work.observed = 0.0;
        if columns == 0 {
            return;
        }
        let (centre, inverse) = (&self.centre[..columns], &self.inverse[..columns]);
        let features = &mut work.features[..batch.rows * width];
        let observed = widest(
            #[inline(always)]
            || {
                if complete {
                    for (row, out) in
                        values.chunks_exact(columns).zip(features.chunks_exact_mut(width))
                    {
                        let (square, linear) = out.split_at_mut(columns);
                        for d in 0..columns {
                            let x = limited((row[d] - centre[d]) * inverse[d]);
                            linear[d] = x;
                            square[d] = x * x;
                        }
                    }
                    let weight: f64 = batch.weights.map_or(batch.rows as f64, |w| w.iter().sum());
                    return weight * numbers as f64;
                }
                let mut observed = 0.0;
                for (r, (row, out)) in
                    values.chunks_exact(columns).zip(features.chunks_exact_mut(width)).enumerate()
                {
                    let (square, rest) = out.split_at_mut(columns);
                    let (linear, there) = rest.split_at_mut(columns);
                    for d in 0..columns {
                        let x = limited((row[d] - centre[d]) * inverse[d]);
                        let missing = x.is_missing();
                        let x = if missing { T::ZERO } else { x };
                        linear[d] = x;
                        square[d] = x * x;
                        there[d] = if missing { T::ZERO } else { T::ONE };
                    }
                    let count: T = there[..numbers].iter().copied().sum();
                    observed += batch.weight(r) * count.to_f64();
                }
                observed
            },
        );
        work.observed = observed;
    }
}
