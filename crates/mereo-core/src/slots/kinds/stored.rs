//! Kinds of columns and shares of levels as a model keeps them, in memory and in its file.

use std::path::Path;

use super::{Family, Kinds, Mixed, words};
use crate::{About, ColumnKind, Error, LevelsView, ModelFile, Result, Tensor};

/// What a learned model knows of its columns' kinds, and what its slots say in columns of words.
///
/// ```
/// use mereo_core::slots::StoredKinds;
/// assert!(StoredKinds::numbers(3).view().is_none());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StoredKinds {
    /// As files say them; empty for numbers throughout.
    columns: Vec<ColumnKind>,
    kinds: Kinds,
    /// Levels of each column.
    counts: Vec<usize>,
    /// `[S, W]`.
    level: Vec<f64>,
}

impl StoredKinds {
    /// So many columns of numbers.
    pub fn numbers(columns: usize) -> Self {
        Self {
            columns: Vec::new(),
            kinds: Kinds::numbers(columns),
            counts: vec![0; columns],
            level: Vec::new(),
        }
    }

    /// What was learned from a table of which this is known: shares of levels, `[S, W]`.
    pub fn learned(about: &About, columns: usize, level: Vec<f64>) -> Result<Self> {
        if !about.is_mixed() {
            return Ok(Self::numbers(columns));
        }
        let kinds = Kinds::of(about, columns)?;
        Ok(Self::new(about.kinds.clone().unwrap_or_default(), kinds, level))
    }

    fn new(columns: Vec<ColumnKind>, kinds: Kinds, level: Vec<f64>) -> Self {
        let counts = columns.iter().map(|kind| kind.levels().len()).collect();
        Self { columns, kinds, counts, level }
    }

    /// The families of the columns.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Shares of levels, `[S, W]`.
    pub fn level(&self) -> &[f64] {
        &self.level
    }

    /// What slots need beside means and variances, unless all columns are numbers.
    pub fn mixed(&self) -> Option<Mixed<'_>> {
        self.kinds.with(&self.level)
    }

    /// What there is to show, if there are words.
    pub fn view(&self) -> Option<LevelsView<'_>> {
        (self.kinds.width() > 0).then_some(LevelsView { counts: &self.counts, share: &self.level })
    }

    /// Takes kinds and `level` out of a file. `slots` is the shape of all slots, D the number of columns; means and
    /// variances of counts and of words without an order are made to agree.
    pub fn from_file(
        file: &mut ModelFile,
        slots: &[usize],
        (mean, variance): (&mut [f64], &mut [f64]),
        columns: usize,
        path: &Path,
    ) -> Result<Self> {
        let about = About { kinds: file.manifest.kinds.clone(), ..About::default() };
        let bad = |problem: String| Error::model_file(path, problem);
        if about.kinds.as_ref().is_some_and(|kinds| kinds.len() != columns) {
            return Err(bad(format!("its manifest has other kinds than of {columns} columns")));
        }
        if !about.is_mixed() {
            return Ok(Self::numbers(columns));
        }
        let kinds = Kinds::of(&about, columns).map_err(|e| bad(e.to_string()))?;
        let width = kinds.width();
        let mut level = Vec::new();
        if width > 0 {
            let shape: Vec<usize> = slots.iter().copied().chain([width]).collect();
            level = file.take_shaped("level", &shape, path)?;
            for (s, own) in level.chunks_mut(width).enumerate() {
                for words in kinds.words() {
                    let p = &mut own[words.first..words.first + words.levels];
                    let sum: f64 = p.iter().sum();
                    if !(p.iter().all(|p| *p >= 0.0) && (sum - 1.0).abs() < 1e-3) {
                        return Err(bad(format!(
                            "`level` has no distribution in state {s} of column {}: it adds up to {sum}",
                            words.column
                        )));
                    }
                    // What was written by us comes back as it was.
                    if (sum - 1.0).abs() > 1e-9 {
                        p.iter_mut().for_each(|p| *p /= sum);
                    }
                }
            }
        }
        let total: usize = slots.iter().product();
        for s in 0..total {
            for d in 0..columns {
                let i = s * columns + d;
                match kinds.family(d) {
                    Family::Number | Family::Words { ordered: true, .. } => {}
                    Family::Count => {
                        if !(mean[i] > 0.0) {
                            return Err(bad(format!(
                                "`mean` has a rate of {} in state {s} of column {d}, not above 0",
                                mean[i]
                            )));
                        }
                        variance[i] = mean[i];
                    }
                    Family::Words { first, levels, .. } => {
                        let own = &level[s * width + first..][..levels];
                        (mean[i], variance[i]) = words::summary(own);
                    }
                }
            }
        }
        Ok(Self::new(about.kinds.unwrap_or_default(), kinds, level))
    }

    /// Puts kinds and `level` into a file.
    pub fn to_file(&self, file: &mut ModelFile, slots: &[usize]) {
        if !self.kinds.is_mixed() && self.columns.is_empty() {
            return;
        }
        if file.manifest.kinds.is_none() {
            file.manifest.kinds = Some(self.columns.clone());
        }
        if self.kinds.width() > 0 {
            let shape = slots.iter().copied().chain([self.kinds.width()]).collect();
            file.insert("level", Tensor::new(shape, self.level.clone()));
        }
    }
}
