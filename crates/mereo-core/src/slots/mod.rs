//! Gaussian slots: the one kernel under every model whose states have a mean and a variance in
//! each column.
//!
//! A *slot* is a part's state, a mixture's component or a quantiser's vector: `S` of them over
//! `D` columns, numbered part by part (`s = k J + j`). Looking at a batch asks two things of
//! them, and both are matrix products over the same features of the data:
//!
//! - the **evidence** of every row for every slot, with gate `g`, over observed columns only,
//!   `E[s,r] = log b_s - Σ_d g_ds ε_rds`, `ε = ½ log σ² + (x-μ)²/(2σ²)`, which is
//!   `Θ φ(X)ᵀ` with features `φ(x) = (x², x, 1)` of an observed cell (zeros of a missing one)
//!   and natural parameters `Θ = (-g/2σ², gμ/σ², -g(μ²/2σ² + ½ log σ²))`;
//! - the **moments** of the rows that each slot is responsible for, `M φ(X)`: how many, their
//!   sum and their sum of squares in every column.
//!
//! Inside, cells are measured in a [`Frame`]: shifted and scaled column by column, so that an
//! offset of a million or a unit of 1e-30 costs no precision. Sums are kept in `f64`.
//! Responsibilities stand slot after slot (`[S, R]`), so that everything done to them is a plain
//! loop over rows that the compiler can vectorise. Sparse batches visit stored entries only.
//!
//! Columns of counts and words have a place in the same products: `kinds/` says how.

mod cells;
mod clusters;
mod columns;
mod densities;
mod evidence;
mod kinds;
mod lines;
mod lloyd;
mod nearest;
mod quick;
mod shrinkage;
mod spread;
mod statistics;
mod survey;
mod swaps;
#[cfg(test)]
mod tests;
mod worst;

pub use cells::Cells;
pub use clusters::Clusters;
pub use columns::{ColumnMoments, Frame};
pub use densities::{Densities, RowCells, first_smallest};
pub use evidence::{Evidence, SlotParams, SlotWork};
pub use kinds::{
    Expanded, Family, Hold, Kinds, Looks, Mixed, StoredKinds, Typical, WordColumn,
    check_pseudo_count, log_count_base, shown_level,
};
pub use lloyd::{Lloyd, LloydState};
pub use quick::QuickSums;
pub use shrinkage::Shrinkage;
pub use statistics::{SlotMoments, SlotStatistics};
pub use survey::{Survey, SurveyTask, refuse_words};
pub use worst::{WorstRow, WorstRows};

use serde::{Deserialize, Serialize};

use crate::math::widest;
use crate::{Absent, Answer, Batch, Block, Real, Statistics};

/// How the cells of a source are stored, as far as the kernel cares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Form {
    /// Every cell has a place.
    Dense,
    /// Unstored cells are unobserved. If the stored ones take few values (ratings), `levels`
    /// lists them and tables by level make looking twice as fast.
    Unobserved {
        /// The distinct values, rising; empty if there are too many.
        levels: Vec<f64>,
    },
    /// Unstored cells are zero.
    Zero,
}

/// Most distinct values for which tables by level pay.
const MOST_LEVELS: usize = 12;
/// Levels are looked up by their double, which must be below this.
const LEVEL_CODES: usize = 64;

impl Form {
    /// The form of a batch whose source is not at hand.
    pub fn of_batch<T: Real>(batch: &Batch<'_, T>) -> Self {
        match batch.block {
            Block::Dense { .. } => Self::Dense,
            Block::Sparse { absent: Absent::Unobserved, .. } => {
                Self::Unobserved { levels: Vec::new() }
            }
            Block::Sparse { absent: Absent::Zero, .. } => Self::Zero,
        }
    }

    /// The form for numbers that depend on which cells are observed, not on what they hold: all stored cells are one level. Only
    /// [counts](SlotMoments::count) are to be read from statistics of this form.
    ///
    /// ```
    /// use mereo_core::slots::Form;
    /// let stars = Form::Unobserved { levels: vec![1.0, 2.0, 3.0] };
    /// assert_eq!(stars.of_presence(), Form::Unobserved { levels: vec![0.0] });
    /// assert_eq!(Form::Dense.of_presence(), Form::Dense);
    /// ```
    #[must_use]
    pub fn of_presence(&self) -> Self {
        match self {
            // No other level has a code of its own, so that every value has this one's.
            Self::Unobserved { .. } => Self::Unobserved { levels: vec![0.0] },
            other => other.clone(),
        }
    }
}

/// The tasks and learners of this crate, to be answered where rows are.
pub fn answers() -> Vec<Answer> {
    vec![
        Answer::task::<SurveyTask, SurveyTask>(),
        Answer::task::<crate::fingerprint::DigestTask, crate::fingerprint::DigestTask>(),
        Answer::task::<columns::MomentsTask, columns::MomentsTask>(),
        Answer::task::<clusters::ClustersTask, clusters::ClustersTask>(),
        Answer::task::<crate::RowsTask, crate::RowsTask>(),
        Answer::task::<crate::ratings::RatingsTask, crate::ratings::RatingsTask>(),
        Answer::task::<crate::together::TogetherTask, crate::together::TogetherTask>(),
        Answer::task::<crate::rows::SampleTask, crate::rows::SampleTask>(),
        Answer::pass::<Lloyd<f32>, Lloyd<f64>>(),
    ]
}

/// The distinct values of a sparse source, as long as they are few and simple.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Levels {
    values: Vec<f64>,
    too_many: bool,
}

impl Levels {
    /// The values, rising; none if they are too many.
    fn few(self) -> Vec<f64> {
        if self.too_many { Vec::new() } else { self.values }
    }

    fn accumulate<T: Real>(&mut self, batch: &Batch<'_, T>) {
        let Block::Sparse { values, .. } = batch.block else {
            self.too_many = true;
            return;
        };
        for value in values {
            if self.too_many {
                return;
            }
            self.add(value.to_f64());
        }
    }

    fn add(&mut self, value: f64) {
        if let Err(place) = self.values.binary_search_by(|v| v.total_cmp(&value)) {
            let simple =
                value >= 0.0 && value * 2.0 < LEVEL_CODES as f64 && (value * 2.0).fract() == 0.0;
            self.too_many |= !simple || self.values.len() == MOST_LEVELS;
            self.values.insert(place, value);
        }
    }
}

impl Statistics for Levels {
    fn merge(&mut self, other: &Self) {
        self.too_many |= other.too_many;
        for &value in &other.values {
            if !self.too_many {
                self.add(value);
            }
        }
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Which level a value is, by its double.
fn level_codes(levels: &[f64]) -> [u8; LEVEL_CODES] {
    let mut codes = [0; LEVEL_CODES];
    for (index, level) in levels.iter().enumerate() {
        codes[((level * 2.0) as usize).min(LEVEL_CODES - 1)] = index as u8;
    }
    codes
}

/// The level of a value that is one of the levels.
#[inline(always)]
fn level_of<T: Real>(codes: &[u8; LEVEL_CODES], value: T) -> usize {
    codes[((value.to_f64() * 2.0) as usize).min(LEVEL_CODES - 1)] as usize
}

/// The most numbers of evidence that are made at once: 128 MB in single precision.
const EVIDENCE_AT_ONCE: usize = 1 << 25;

/// The most rows whose evidence is to be made at once, of so many slots: a batch of most models is less, and a million
/// states take no more memory than their parameters do.
///
/// ```
/// use mereo_core::slots::rows_at_once;
/// assert!(rows_at_once(60) > 100_000 && rows_at_once(1_000_000) < 100 && rows_at_once(usize::MAX) == 1);
/// ```
pub fn rows_at_once(slots: usize) -> usize {
    (EVIDENCE_AT_ONCE / slots.max(1)).max(1)
}

/// Turns evidence `[K, J, R]` into responsibilities within each part, in place, times the rows'
/// weights; writes the log of each part's normaliser to `log_norms [K, R]` (unweighted).
pub fn responsibilities<T: Real>(
    evidence: &mut [T],
    log_norms: &mut [T],
    states: usize,
    rows: usize,
    weights: Option<&[f64]>,
) {
    let weights: Option<Vec<T>> = weights.map(|w| w.iter().map(|&w| T::from_f64(w)).collect());
    widest(
        #[inline(always)]
        || {
            for (part, norm) in
                evidence.chunks_exact_mut(states * rows).zip(log_norms.chunks_exact_mut(rows))
            {
                norm.copy_from_slice(&part[..rows]);
                for slot in part[rows..].chunks_exact(rows) {
                    for (m, &v) in norm.iter_mut().zip(slot) {
                        *m = if v > *m { v } else { *m };
                    }
                }
                for slot in part.chunks_exact_mut(rows) {
                    for (v, &m) in slot.iter_mut().zip(&*norm) {
                        *v -= m;
                    }
                }
            }
        },
    );
    crate::math::exp_in_place(evidence);
    widest(
        #[inline(always)]
        || {
            let mut sum = vec![T::ZERO; rows];
            for (part, norm) in
                evidence.chunks_exact_mut(states * rows).zip(log_norms.chunks_exact_mut(rows))
            {
                sum.fill(T::ZERO);
                for slot in part.chunks_exact(rows) {
                    for (s, &v) in sum.iter_mut().zip(slot) {
                        *s += v;
                    }
                }
                for (n, s) in norm.iter_mut().zip(&mut sum) {
                    *n += T::from_f64(s.to_f64().ln());
                    *s = T::ONE / *s;
                }
                if let Some(weights) = &weights {
                    for (s, &w) in sum.iter_mut().zip(weights) {
                        *s *= w;
                    }
                }
                for slot in part.chunks_exact_mut(rows) {
                    for (v, &s) in slot.iter_mut().zip(&sum) {
                        *v *= s;
                    }
                }
            }
        },
    );
}
