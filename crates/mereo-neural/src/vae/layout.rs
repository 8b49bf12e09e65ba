//! Tables whose columns are of several kinds, as networks see them.
//!
//! Numbers come first, then counts, then words, on both sides of a network. Going in, a number or a count is a cell in its
//! column's units, a word the indicators of its levels less their shares, in units of the column's spread (of two levels
//! the second's indicator alone); a missing cell is 0 throughout. Coming out, y says how a row differs from the column
//! as a whole:
//!
//! * a number is normal about y, in the column's units;
//! * a count is Poisson of rate `λ̄ eʸ`, λ̄ being the column's own: `log P(x) = [x log λ̄ - λ̄ - log x!] + xy - λ̄(eʸ - 1)`,
//!   with slope `x - λ̄ eʸ`;
//! * one of two words is a Bernoulli of log odds `o = log(π₁/π₀) + y`: `xo - log(1 + eᵒ)`, slope `x - σ(o)`;
//! * one of more words is `p_l ∝ π_l exp(y_l)`, with π the shares of levels in the column: `log p_l`, slope
//!   `[l is shown] - p_l`. The order of ordered words is not used.
//!
//! So a network that says nothing, y = 0, says what the whole column is like.

use std::path::Path;

use mereo_core::math::softmax;
use mereo_core::slots::{Family, Kinds, Typical, WordColumn, log_count_base, shown_level};
use mereo_core::{About, ColumnKind, Error, ModelFile, Real, Result, Tensor};
use serde::{Deserialize, Serialize};

use crate::loss::squares;
use crate::units::Units;

/// How far rates and odds can be from the column's, as a logarithm.
const FARTHEST: f64 = 15.0;
/// The least spread of a column of words: those that never change say nothing.
const LEAST_SPREAD: f64 = 1e-3;

/// Where columns of several kinds stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Layout {
    kinds: Kinds,
    numbers: Vec<usize>,
    counts: Vec<usize>,
    /// The rate of each column of counts as a whole, `[D]`.
    rate: Vec<f64>,
    /// The share of each level in its column, `[W]`.
    share: Vec<f64>,
}

/// What draws say of all columns, as slots do: `[S, D]`, `[S, D]` and `[S, W]`, in the data's units.
pub(super) struct Slots {
    pub(super) mean: Vec<f64>,
    pub(super) variance: Vec<f64>,
    pub(super) level: Vec<f64>,
}

/// Numbers that a column of words takes in a network.
fn places(words: &WordColumn) -> usize {
    if words.levels == 2 { 1 } else { words.levels }
}

impl Layout {
    /// Of a table with columns that are no numbers; nothing of others.
    pub(super) fn of(typical: &Typical) -> Option<Self> {
        let Typical { kinds, share, rate, .. } = typical;
        kinds.is_mixed().then(|| Self::new(kinds.clone(), rate.clone(), share.clone()))
    }

    fn new(kinds: Kinds, rate: Vec<f64>, share: Vec<f64>) -> Self {
        let (columns, counts) = (0..kinds.columns(), kinds.counts().collect());
        let numbers = columns.filter(|&d| kinds.family(d) == Family::Number).collect();
        Self { kinds, numbers, counts, rate, share }
    }

    /// The families of the columns.
    pub(super) fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The columns of numbers.
    pub(super) fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// Numbers that go into the encoder and come out of the decoder.
    pub(super) fn width(&self) -> usize {
        self.numbers.len()
            + self.counts.len()
            + self.kinds.words().map(|w| places(&w)).sum::<usize>()
    }

    /// From cells in units, NaN where missing, to what goes in and what densities are of: numbers in units, counts,
    /// numbers of levels.
    pub(super) fn write<T: Real>(
        &self,
        units: &Units,
        cells: &[T],
        inputs: &mut [T],
        targets: &mut [T],
    ) {
        let back = |d: usize| (units.centre[d] + units.scale[d] * cells[d].to_f64()).round();
        let mut at = 0;
        for &d in self.numbers.iter().chain(&self.counts) {
            inputs[at] = if cells[d].is_missing() { T::ZERO } else { cells[d] };
            targets[at] = match self.kinds.family(d) {
                Family::Count if !cells[d].is_missing() => T::from_f64(back(d).max(0.0)),
                _ => cells[d],
            };
            at += 1;
        }
        let mut place = at;
        for words in self.kinds.words() {
            let share = &self.share[words.first..words.first + words.levels];
            let spread = (1.0 - share.iter().map(|p| p * p).sum::<f64>()).max(LEAST_SPREAD).sqrt();
            let shown = shown_level(back(words.column), words.levels);
            targets[at] = shown.map_or(T::MISSING, |level| T::from_f64(level as f64));
            at += 1;
            let first = words.levels - places(&words);
            for (level, pi) in share.iter().enumerate().skip(first) {
                let off = shown.map_or(0.0, |shown| f64::from(u8::from(shown == level)) - pi);
                inputs[place] = T::from_f64(off / spread);
                place += 1;
            }
        }
    }

    /// Replaces what was decoded by slopes, and writes the log density of each draw; rows have `draws` each.
    /// `precision` and `constants` are of the numbers.
    pub(super) fn log_densities<T: Real>(
        &self,
        targets: &[T],
        outputs: &mut [T],
        draws: usize,
        (precision, constants): (&[T], &[f64]),
        sums: &mut Vec<f64>,
    ) {
        sums.clear();
        let (n, c) = (self.numbers.len(), self.counts.len());
        let rows = targets.chunks_exact(self.kinds.columns());
        for (targets, outputs) in rows.zip(outputs.chunks_exact_mut(draws * self.width())) {
            let (numbers, rest) = targets.split_at(n);
            let (counts, shown) = rest.split_at(c);
            let seen = numbers.iter().zip(constants).filter(|(x, _)| !x.is_missing());
            let mut base: f64 = seen.map(|(_, constant)| constant).sum();
            for (x, &d) in counts.iter().zip(&self.counts).filter(|(x, _)| !x.is_missing()) {
                base += log_count_base(x.to_f64(), self.rate[d]);
            }
            for outputs in outputs.chunks_exact_mut(self.width()) {
                let (by_numbers, rest) = outputs.split_at_mut(n);
                let (by_counts, mut by_words) = rest.split_at_mut(c);
                let mut sum = base + squares(numbers, by_numbers, |c| precision[c]);
                for ((x, y), &d) in counts.iter().zip(by_counts).zip(&self.counts) {
                    let (log, slope) = count(x.to_f64(), y.to_f64(), self.rate[d]);
                    sum += log;
                    *y = T::from_f64(slope);
                }
                for (words, x) in self.kinds.words().zip(shown) {
                    let (own, rest) = by_words.split_at_mut(places(&words));
                    by_words = rest;
                    let shown = (!x.is_missing()).then(|| x.to_f64() as usize);
                    sum += self.word(&words, shown, own);
                }
                sums.push(sum);
            }
        }
    }

    /// The log probability of a word, its outputs replaced by slopes; nothing of a missing one.
    fn word<T: Real>(&self, words: &WordColumn, shown: Option<usize>, outputs: &mut [T]) -> f64 {
        let Some(shown) = shown else {
            outputs.fill(T::ZERO);
            return 0.0;
        };
        let mut p = vec![0.0; words.levels];
        let log = self.shares(words, outputs, &mut p, shown);
        let first = words.levels - outputs.len();
        for (level, slope) in outputs.iter_mut().enumerate() {
            let beyond = slope.to_f64().abs() > FARTHEST;
            let own = f64::from(u8::from(shown == level + first)) - p[level + first];
            *slope = T::from_f64(if beyond { 0.0 } else { own });
        }
        log
    }

    /// Writes the probabilities of a column's levels, and returns the logarithm of that of one.
    fn shares<T: Real>(&self, words: &WordColumn, outputs: &[T], p: &mut [f64], of: usize) -> f64 {
        let first = words.levels - outputs.len();
        for (level, p) in p.iter_mut().enumerate() {
            let said = level.checked_sub(first).map_or(0.0, |at| outputs[at].to_f64());
            *p = self.share[words.first + level].max(1e-300).ln() + said.clamp(-FARTHEST, FARTHEST);
        }
        let own = p[of];
        own - softmax(p)
    }

    /// What draws say of all columns, from what was decoded, `[S, width]`; `noise` has the variances of numbers, by column.
    pub(super) fn slots<T: Real>(&self, units: &Units, noise: &[f64], decoded: &[T]) -> Slots {
        let (d, wide) = (self.kinds.columns(), self.kinds.width());
        let draws = decoded.len() / self.width();
        let (mut mean, mut variance) = (vec![0.0; draws * d], vec![1.0; draws * d]);
        let mut level = vec![0.0; draws * wide];
        for (draw, made) in decoded.chunks_exact(self.width()).enumerate() {
            let (mean, variance) = (&mut mean[draw * d..][..d], &mut variance[draw * d..][..d]);
            let mut made = made.iter();
            for (&d, y) in self.numbers.iter().zip(&mut made) {
                let value = units.centre[d] + units.scale[d] * y.to_f64();
                mean[d] = value.clamp(-T::LARGEST, T::LARGEST);
                variance[d] = noise[d];
            }
            for (&d, y) in self.counts.iter().zip(&mut made) {
                mean[d] = (self.rate[d] * y.to_f64().clamp(-FARTHEST, FARTHEST).exp()).max(1e-12);
                variance[d] = mean[d];
            }
            let mut rest = made.as_slice();
            for words in self.kinds.words() {
                let (own, after) = rest.split_at(places(&words));
                rest = after;
                let p = &mut level[draw * wide + words.first..][..words.levels];
                self.shares(&words, own, p, 0);
            }
        }
        Slots { mean, variance, level }
    }

    /// Puts `rate [D]` and `share [W]` into a file.
    pub(super) fn put(&self, kinds: &[ColumnKind], file: &mut ModelFile) {
        if file.manifest.kinds.is_none() {
            file.manifest.kinds = Some(kinds.to_vec());
        }
        file.insert("rate", Tensor::new(vec![self.rate.len()], self.rate.clone()));
        if !self.share.is_empty() {
            file.insert("share", Tensor::new(vec![self.share.len()], self.share.clone()));
        }
    }

    /// Takes them out, with the kinds that the manifest lists; nothing if there is no `rate`.
    pub(super) fn take(
        file: &mut ModelFile,
        columns: usize,
        path: &Path,
    ) -> Result<Option<(Self, Vec<ColumnKind>)>> {
        if file.get("rate").is_none() {
            return Ok(None);
        }
        let bad = |problem: String| Error::model_file(path, problem);
        let listed = file.manifest.kinds.clone().unwrap_or_default();
        if listed.len() != columns {
            return Err(bad(format!("its manifest has not the kinds of {columns} columns")));
        }
        let about = About { kinds: Some(listed.clone()), ..About::default() };
        let kinds = Kinds::of(&about, columns).map_err(|e| bad(e.to_string()))?;
        let rate = file.take_shaped("rate", &[columns], path)?;
        if let Some(d) = kinds.counts().find(|&d| !(rate[d] > 0.0 && rate[d] < 1e15)) {
            return Err(bad(format!("`rate` is {} in column {d}, not above 0", rate[d])));
        }
        let mut share = Vec::new();
        if kinds.width() > 0 {
            share = file.take_shaped("share", &[kinds.width()], path)?;
        }
        for words in kinds.words() {
            let own = &share[words.first..words.first + words.levels];
            let sum: f64 = own.iter().sum();
            if !(own.iter().all(|p| *p >= 0.0) && (sum - 1.0).abs() < 1e-3) {
                let problem = format!("`share` adds up to {sum} in column {}", words.column);
                return Err(bad(problem));
            }
        }
        Ok(Some((Self::new(kinds, rate, share), listed)))
    }
}

/// What a count adds to a log probability beyond what the whole column's rate gives it, and the slope.
fn count(x: f64, y: f64, rate: f64) -> (f64, f64) {
    if x.is_nan() {
        return (0.0, 0.0);
    }
    let beyond = y.abs() > FARTHEST;
    let y = y.clamp(-FARTHEST, FARTHEST);
    let log = x * y - rate * y.exp_m1();
    (log, if beyond { 0.0 } else { x - rate * y.exp() })
}
