//! Columns of every kind in the one kernel.
//!
//! A column is an exponential family: of a cell x in slot s, `log P(x | s) = θ_s · t(x) + c_s + log h(x)`. What depends
//! on the slot is a product of features of the cell with natural parameters of the slot, so evidence stays a
//! product whatever the kind, and what the M-step needs are sums of features. A gate g multiplies all features of a column.
//!
//! | kind | features | of a slot | where |
//! |---|---|---|---|
//! | number, date | `x², x, 1` | mean, variance | the [kernel](super) itself |
//! | count | `x, 1` | rate: [`count`] | the same product, without a square |
//! | yes/no, category | one of L indicators | L probabilities: [`words`] | a line of a table by level: a product with a one is an addition |
//! | ordered | one of L indicators | L probabilities that a location and a spread give: [`ordered`] | as categories |
//!
//! **Pseudo-rows.** Every slot is taken to have been seen, beside its rows, in α rows that are as the whole column is:
//! shares of levels and the mean count ([`Typical`]). This is the conjugate prior, Dirichlet or gamma, with its mode at
//! the whole column's distribution: a level that a slot never shows keeps a probability above 0. Numbers have a floor of
//! their variance in its place. Pseudo-rows count in the bound as rows do, times the gate of their column, so that it
//! never falls.

pub(super) mod count;
mod expand;
pub(super) mod ordered;
mod stored;
mod typical;
pub(super) mod words;

pub use count::log_count_base;
pub use expand::Expanded;
pub use stored::StoredKinds;
pub(super) use typical::Marginals;
pub use typical::Typical;
pub use words::shown_level;

use serde::{Deserialize, Serialize};

use super::{Frame, SlotMoments};
use crate::{About, ColumnKind, Error, Place, Real, Result, in_parallel};

/// The family of distributions that a column has in every slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    /// Gaussian: numbers and dates.
    Number,
    /// Poisson: counts.
    Count,
    /// One of so many levels, which are numbered from `first` on among those of all columns.
    Words {
        /// The number of its first level.
        first: usize,
        /// How many levels it has.
        levels: usize,
        /// Whether their order counts.
        ordered: bool,
    },
}

/// The families of a table's columns.
///
/// ```
/// use mereo_core::slots::{Family, Kinds};
/// use mereo_core::{About, ColumnKind};
/// let levels = vec!["red".into(), "blue".into(), "green".into()];
/// let kinds = Some(vec![ColumnKind::Number, ColumnKind::Category { levels }]);
/// let kinds = Kinds::of(&About { kinds, ..About::default() }, 2)?;
/// assert_eq!(kinds.family(1), Family::Words { first: 0, levels: 3, ordered: false });
/// assert_eq!(kinds.width(), 3);
/// assert!(!Kinds::numbers(2).is_mixed());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kinds {
    families: Vec<Family>,
    width: usize,
}

/// A column of words: which it is, the number of its first level and how many it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordColumn {
    /// The column.
    pub column: usize,
    /// The number of its first level among those of all columns.
    pub first: usize,
    /// How many levels it has.
    pub levels: usize,
    /// Whether their order counts.
    pub ordered: bool,
}

impl Kinds {
    /// So many columns of numbers.
    pub fn numbers(columns: usize) -> Self {
        Self { families: vec![Family::Number; columns], width: 0 }
    }

    /// The families of a table of which this is known.
    pub fn of(about: &About, columns: usize) -> Result<Self> {
        let mut width = 0;
        let mut families = Vec::with_capacity(columns);
        for column in 0..columns {
            let kind = about.kind(column);
            families.push(match kind {
                ColumnKind::Number | ColumnKind::Date => Family::Number,
                ColumnKind::Count => Family::Count,
                words => {
                    let levels = words.levels().len();
                    if levels == 0 {
                        let name = crate::column_name(about.names.as_deref(), column);
                        return Err(Error::found(
                            Place::default().column(column),
                            format!("no words in the column of words `{name}`"),
                            "at least one level: leave the column out",
                        ));
                    }
                    // Two levels have one order only.
                    let ordered = matches!(words, ColumnKind::Ordered { .. }) && levels > 2;
                    width += levels;
                    Family::Words { first: width - levels, levels, ordered }
                }
            });
        }
        Ok(Self { families, width })
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.families.len()
    }

    /// The family of a column.
    pub fn family(&self, column: usize) -> Family {
        self.families[column]
    }

    /// Whether any column is something else than a number.
    pub fn is_mixed(&self) -> bool {
        self.families.iter().any(|family| *family != Family::Number)
    }

    /// The levels of all columns of words together, W.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The columns of words.
    pub fn words(&self) -> impl Iterator<Item = WordColumn> + '_ {
        self.families.iter().enumerate().filter_map(|(column, family)| match *family {
            Family::Words { first, levels, ordered } => {
                Some(WordColumn { column, first, levels, ordered })
            }
            _ => None,
        })
    }

    /// The columns of counts.
    pub fn counts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns()).filter(|&d| self.families[d] == Family::Count)
    }

    /// Columns whose cells are measured in a frame: numbers, then counts; and how many are numbers.
    pub(super) fn measured(&self) -> (Vec<usize>, usize) {
        let numbers = (0..self.columns()).filter(|&d| self.families[d] == Family::Number);
        let mut measured: Vec<usize> = numbers.collect();
        let numbers = measured.len();
        measured.extend(self.counts());
        (measured, numbers)
    }

    /// With the shares of levels, what slots need beside means and variances; nothing if all columns are numbers.
    pub fn with<'a>(&'a self, level: &'a [f64]) -> Option<Mixed<'a>> {
        self.is_mixed().then_some(Mixed { kinds: self, level })
    }

    /// Free numbers of one slot in a column: a mean and a variance of a number, a rate, all shares but one, a location and a spread.
    pub fn free_parameters_of(&self, column: usize) -> usize {
        match self.families[column] {
            Family::Count => 1,
            Family::Number | Family::Words { ordered: true, .. } => 2,
            Family::Words { levels, .. } => levels - 1,
        }
    }

    /// Free numbers of one slot in all columns.
    pub fn free_parameters(&self) -> usize {
        (0..self.columns()).map(|d| self.free_parameters_of(d)).sum()
    }
}

/// What slots say in columns that are not numbers.
#[derive(Debug, Clone, Copy)]
pub struct Mixed<'a> {
    /// The families of all columns.
    pub kinds: &'a Kinds,
    /// The probability of each level in each slot, `[S, W]`.
    pub level: &'a [f64],
}

impl Mixed<'_> {
    /// The probabilities of a column's levels in a slot.
    pub fn levels(&self, slot: usize, words: WordColumn) -> &[f64] {
        &self.level[slot * self.kinds.width + words.first..][..words.levels]
    }
}

/// The numbers of all slots, to be learned: `[S, D]`, `[S, D]` and `[S, W]`.
#[derive(Debug)]
pub struct Looks<'a> {
    /// Means; rates of counts; locations of ordered words; probabilities of yes.
    pub mean: &'a mut [f64],
    /// Variances.
    pub variance: &'a mut [f64],
    /// Probabilities of levels.
    pub level: &'a mut [f64],
}

/// An error if so many pseudo-rows are none.
///
/// ```
/// use mereo_core::slots::check_pseudo_count;
/// assert!(check_pseudo_count(0.1).is_ok() && check_pseudo_count(-1.0).is_err());
/// ```
pub fn check_pseudo_count(rows: f64) -> Result<()> {
    if (0.0..=1e12).contains(&rows) {
        return Ok(());
    }
    Err(Error::option("pseudo-count", format!("{rows} is not from 0 to 1e12 rows")))
}

/// How strongly slots are held to what the whole column is like.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// Pseudo-rows, α.
    pub rows: f64,
    /// More of them for every row that a slot has: above 0 only while schedules are not at rest.
    pub share: f64,
}

impl Typical {
    /// The M-step of all columns that are not numbers, from their moments: rates and shares of rows and pseudo-rows.
    pub fn update<T: Real>(
        &self,
        moments: &SlotMoments,
        frame: &Frame<T>,
        hold: Hold,
        looks: Looks<'_>,
    ) {
        let (kinds, columns, width) = (&self.kinds, self.kinds.columns(), self.kinds.width);
        if !kinds.is_mixed() {
            return;
        }
        let thresholds = ordered::Thresholds::of(self);
        let Looks { mean, variance, level } = looks;
        let mut nothing: Vec<[f64; 0]> = vec![[]; mean.len() / columns.max(1)];
        let levels: Vec<&mut [f64]> = if width == 0 {
            nothing.iter_mut().map(|n| &mut n[..]).collect()
        } else {
            level.chunks_mut(width).collect()
        };
        let slots = mean.chunks_mut(columns).zip(variance.chunks_mut(columns)).zip(levels);
        in_parallel(slots.enumerate(), |(s, ((mean, variance), level))| {
            for d in kinds.counts() {
                let (n, sum) = (
                    moments.count[s * columns + d],
                    frame.total(d, moments.count[s * columns + d], moments.first[s * columns + d]),
                );
                let more = hold.rows + hold.share * n;
                mean[d] = count::rate(n, sum, more, self.rate[d]);
                variance[d] = mean[d];
            }
            for words in kinds.words() {
                let own = words.first..words.first + words.levels;
                let seen = &moments.level[s * width..][own.clone()];
                let share = &self.share[own.clone()];
                let n: f64 = seen.iter().sum();
                let more = hold.rows + hold.share * n;
                let out = &mut level[own];
                words::shares(seen, n, more, share, out);
                let d = words.column;
                (mean[d], variance[d]) =
                    if words.ordered { thresholds.fit(words, out) } else { words::summary(out) };
            }
        });
    }

    /// `-Σ_c m log P(x | s)` of a slot in a column that is not a number, without what all slots have in common, from
    /// moments: rows and pseudo-rows.
    pub fn error<T: Real>(
        &self,
        moments: &SlotMoments,
        (slot, column): (usize, usize),
        hold: f64,
        frame: &Frame<T>,
        mean: &[f64],
        level: &[f64],
    ) -> f64 {
        let i = slot * self.kinds.columns() + column;
        match self.kinds.family(column) {
            Family::Number => 0.0,
            Family::Count => {
                let (n, sum) =
                    (moments.count[i], frame.total(column, moments.count[i], moments.first[i]));
                let (n, sum) = (n + hold, sum + hold * self.rate[column]);
                -count::log_kernel(sum, n, mean[i], frame.rate(column))
            }
            Family::Words { first, levels, .. } => {
                let at = slot * self.kinds.width + first;
                let seen = moments.level[at..at + levels].iter().zip(&self.share[first..]);
                let shares = &level[at..at + levels];
                -seen.zip(shares).map(|((n, pi), p)| (n + hold * pi) * words::log(*p)).sum::<f64>()
            }
        }
    }

    /// What pseudo-rows add to the bound, `gate(column, slot)` times each column's: minus the errors of no rows.
    pub fn log_prior<T: Real>(
        &self,
        hold: f64,
        gate: impl Fn(usize, usize) -> f64,
        frame: &Frame<T>,
        mean: &[f64],
        level: &[f64],
    ) -> f64 {
        let columns = self.kinds.columns();
        if !self.kinds.is_mixed() || columns == 0 {
            return 0.0;
        }
        let none = SlotMoments::nothing(mean.len(), level.len());
        let mut sum = 0.0;
        for slot in 0..mean.len() / columns {
            for d in (0..columns).filter(|&d| self.kinds.family(d) != Family::Number) {
                let of = gate(d, slot);
                if of > 0.0 {
                    sum -= of * self.error(&none, (slot, d), hold, frame, mean, level);
                }
            }
        }
        sum
    }

    /// The look of a slot that shows a row, halfway to the whole column: for slots that are seeded.
    pub fn look_of_row(&self, cells: &[f64], slot: usize, own: f64, looks: Looks<'_>) {
        let columns = self.kinds.columns();
        let at = slot * columns;
        let Looks { mean, variance, level } = looks;
        for d in self.kinds.counts() {
            let x = if cells[d].is_nan() { self.rate[d] } else { cells[d] };
            mean[at + d] = own * x + (1.0 - own) * self.rate[d];
            variance[at + d] = mean[at + d];
        }
        for words in self.kinds.words() {
            let share = &self.share[words.first..words.first + words.levels];
            let out = &mut level[slot * self.kinds.width + words.first..][..words.levels];
            let shown = words::shown_level(cells[words.column], words.levels);
            for (l, (p, &pi)) in out.iter_mut().zip(share).enumerate() {
                *p = match shown {
                    Some(shown) => (1.0 - own) * pi + if l == shown { own } else { 0.0 },
                    None => pi,
                };
            }
            (mean[at + words.column], variance[at + words.column]) =
                if words.ordered { (0.0, 1.0) } else { words::summary(out) };
        }
    }
}
