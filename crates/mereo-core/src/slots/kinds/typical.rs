//! What columns that are not numbers are like as a whole.

use serde::{Deserialize, Serialize};

use super::{Family, Kinds, count, words};
use crate::slots::ColumnMoments;
use crate::{Batch, Real, Statistics};

/// The families of a table's columns and what each column is like as a whole: what pseudo-rows are made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Typical {
    /// The families.
    pub kinds: Kinds,
    /// The share of each level in its column, `[W]`. One more row, of all levels in equal parts, keeps all above 0.
    pub share: Vec<f64>,
    /// The mean of each column of counts, `[D]`; 0 of others. Half a count in one more row keeps it above 0.
    pub rate: Vec<f64>,
    /// `Σ log x!` over all counts, by the rows' weights.
    pub log_factorials: f64,
}

impl Typical {
    /// So many columns of numbers.
    pub fn numbers(columns: usize) -> Self {
        Self {
            kinds: Kinds::numbers(columns),
            share: Vec::new(),
            rate: vec![0.0; columns],
            log_factorials: 0.0,
        }
    }

    pub(in crate::slots) fn new(kinds: Kinds, of: &Marginals, moments: &ColumnMoments) -> Self {
        let mut share = of.level.clone();
        for words in kinds.words() {
            let own = &mut share[words.first..words.first + words.levels];
            let all = own.iter().sum::<f64>() + 1.0;
            own.iter_mut().for_each(|n| *n = (*n + 1.0 / words.levels as f64) / all);
        }
        let mut rate = vec![0.0; kinds.columns()];
        for d in kinds.counts() {
            let n = moments.weight[d];
            rate[d] = (n * moments.mean[d] + 0.5) / (n + 1.0);
        }
        Self { kinds, share, rate, log_factorials: of.log_factorials }
    }
}

/// How often each level occurs, and what counts owe to their factorials.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::slots) struct Marginals {
    level: Vec<f64>,
    log_factorials: f64,
}

impl Marginals {
    pub(in crate::slots) fn new(kinds: &Kinds) -> Self {
        Self { level: vec![0.0; kinds.width()], log_factorials: 0.0 }
    }

    pub(in crate::slots) fn accumulate<T: Real>(&mut self, kinds: &Kinds, batch: &Batch<'_, T>) {
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            batch.for_each_observed(row, |d, x| match kinds.family(d) {
                Family::Number => {}
                Family::Count => {
                    self.log_factorials += weight * count::log_factorial(x.to_f64());
                }
                Family::Words { first, levels, .. } => {
                    if let Some(level) = words::shown_level(x.to_f64(), levels) {
                        self.level[first + level] += weight;
                    }
                }
            });
        }
    }
}

impl Statistics for Marginals {
    fn merge(&mut self, other: &Self) {
        self.level.iter_mut().zip(&other.level).for_each(|(a, b)| *a += b);
        self.log_factorials += other.log_factorials;
    }

    fn reset(&mut self) {
        self.level.fill(0.0);
        self.log_factorials = 0.0;
    }
}
