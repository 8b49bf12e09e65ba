//! Preprocessing that can be undone: steps that are learned from data, applied before a model
//! sees it, stored with the model, and taken back on the way out.
//!
//! ```
//! use mereo_core::{Cells, Context, Dense, Table};
//! use mereo_data::steps::{StepKind, Steps};
//! let table = Table::from(Dense::new(2, 2, vec![1.0, 10.0, 3.0, f64::NAN])?);
//! let steps = Steps::learn(&["standardise".parse()?], &table, &Context::new(0))?;
//! let Cells::Dense(ready) = steps.apply(table)?.into_parts().0 else { unreachable!() };
//! assert_eq!(ready.row(0), [-1.0, 0.0]);
//! let mut output = vec![1.0, 0.5];
//! steps.undo(&mut output, None)?;
//! assert_eq!(output, [3.0, 10.5]);
//! # Ok::<(), mereo_core::Error>(())
//! ```
//!
//! Missing cells stay missing and sparse tables stay sparse. Of a table of counts, in which a
//! cell that is not stored is zero, only steps that leave zero alone are allowed. All is
//! computed in `f64`, whatever the data's type.

mod kind;
pub(crate) mod learn;
mod row;
mod source;
mod step;

use mereo_core::{
    Absent, Batch, Block, Cells, Context, Dense, Error, Place, Real, Result, Source, Sparse, Table,
};
use serde::{Deserialize, Serialize};

pub use kind::StepKind;
use row::Row;
use step::Step;

/// Learned steps, for tables of a certain number of columns.
///
/// They are stored as JSON, and whatever is read back is checked: finite numbers of sound
/// magnitude, one for each column.
///
/// ```
/// use mereo_core::{Context, Dense, Table};
/// use mereo_data::steps::Steps;
/// let table = Table::from(Dense::new(2, 1, vec![1.0, 3.0])?);
/// let steps = Steps::learn(&["log".parse()?, "scale:-1,1".parse()?], &table, &Context::new(0))?;
/// let text = serde_json::to_string(&steps).unwrap();
/// assert_eq!(serde_json::from_str::<Steps>(&text).unwrap(), steps);
/// assert!(serde_json::from_str::<Steps>(r#"{"columns":2,"steps":[{"step":"magic"}]}"#).is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Steps {
    columns: usize,
    steps: Vec<Step>,
}

/// Steps as somebody wrote them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    columns: usize,
    steps: Vec<Step>,
}

impl TryFrom<Unchecked> for Steps {
    type Error = Error;

    fn try_from(Unchecked { columns, steps }: Unchecked) -> Result<Self> {
        for step in &steps {
            step.check(columns).map_err(|problem| {
                Error::option("steps", format!("stored `{}`: {problem}", step.name()))
            })?;
        }
        Ok(Self { columns, steps })
    }
}

/// What undoing the steps of one row needs to know about it: its mean, its total. See
/// [`Steps::facts`].
#[derive(Debug, Clone, PartialEq)]
pub struct RowFacts(Vec<f64>);

impl Steps {
    /// Learns steps, each from data that has been through those before it, in one pass over the
    /// source for each step that has something to learn.
    ///
    /// Missing cells are skipped. A row of weight 2 counts twice and one of weight 0 not at all.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Table};
    /// use mereo_data::steps::Steps;
    /// let table = Table::from(Dense::new(3, 1, vec![1.0f32, 2.0, 100.0])?)
    ///     .with_weights(vec![1.0, 1.0, 0.0])?;
    /// let steps = Steps::learn(&["scale:0,1".parse()?], &table, &Context::new(0))?;
    /// let mut middle = [0.5f32];
    /// steps.undo(&mut middle, None)?;
    /// assert_eq!(middle, [1.5]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn learn<T: Real>(
        kinds: &[StepKind],
        source: &dyn Source<T>,
        context: &Context,
    ) -> Result<Self> {
        let mut learned = Self { columns: source.columns(), steps: Vec::new() };
        for &kind in kinds {
            let step = learn::learn(kind, &learned, source, context)?;
            learned.steps.push(step);
            learned.check_absent(source.absent())?;
        }
        Ok(learned)
    }

    /// The names of the steps in their order, as users write them.
    ///
    /// ```
    /// # use mereo_core::{Context, Dense, Table};
    /// # use mereo_data::steps::Steps;
    /// # let table = Table::from(Dense::new(1, 1, vec![1.0])?);
    /// let steps = Steps::learn(&["log".parse()?, "scale:0,1".parse()?], &table, &Context::new(0))?;
    /// assert_eq!(steps.names().collect::<Vec<_>>(), ["log", "scale"]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(Step::name)
    }

    /// Whether there are no steps.
    ///
    /// ```
    /// # use mereo_core::{Context, Dense, Table};
    /// # use mereo_data::steps::Steps;
    /// # let table = Table::from(Dense::new(2, 2, vec![1.0, 2.0, 3.0, 4.0])?);
    /// assert!(Steps::learn(&[], &table, &Context::new(0))?.is_empty());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether a log density of transformed rows can be made one of the rows themselves: not if
    /// a step (equalise, normalise-counts, remove-row-means) takes a dimension away.
    ///
    /// ```
    /// # use mereo_core::{Context, Dense, Table};
    /// # use mereo_data::steps::Steps;
    /// # let table = Table::from(Dense::new(2, 2, vec![1.0, 2.0, 3.0, 4.0])?);
    /// assert!(Steps::learn(&["standardise".parse()?], &table, &Context::new(0))?.has_density());
    /// assert!(!Steps::learn(&["equalise".parse()?], &table, &Context::new(0))?.has_density());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn has_density(&self) -> bool {
        self.steps.iter().all(Step::has_density)
    }

    /// Complains unless the steps are for tables of this many columns.
    ///
    /// ```
    /// # use mereo_core::{Context, Dense, Table};
    /// # use mereo_data::steps::Steps;
    /// # let table = Table::from(Dense::new(2, 2, vec![1.0, 2.0, 3.0, 4.0])?);
    /// let steps = Steps::learn(&["standardise".parse()?], &table, &Context::new(0))?;
    /// assert!(steps.check(2).is_ok() && steps.check(3).is_err());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn check(&self, columns: usize) -> Result<()> {
        if columns == self.columns {
            return Ok(());
        }
        Err(Error::found(
            Place::default(),
            format!("{columns} columns"),
            format!("the {} columns that the steps were learned from", self.columns),
        ))
    }

    /// Refuses steps that would fill a table of counts.
    fn check_absent(&self, absent: Option<Absent>) -> Result<()> {
        let fills = |step: &&Step| !step.keeps_zero();
        match self.steps.iter().find(fills) {
            Some(step) if absent == Some(Absent::Zero) => Err(kind::would_fill(step.name())),
            _ => Ok(()),
        }
    }

    fn check_batch<T: Real>(&self, batch: &Batch<'_, T>) -> Result<()> {
        self.check(batch.columns)?;
        self.check_absent(match batch.block {
            Block::Dense { .. } => None,
            Block::Sparse { absent, .. } => Some(absent),
        })
    }

    /// The table after all steps; names, labels, weights and picture shape stay.
    ///
    /// ```
    /// use mereo_core::{Absent, Cells, Context, Sparse, Table};
    /// use mereo_data::steps::Steps;
    /// let counts = Sparse::new(3, vec![0, 2, 3], vec![0, 1, 2], vec![1.0, 3.0, 2.0], Absent::Zero)?;
    /// let table = Table::from(counts);
    /// let steps = Steps::learn(&["normalise-counts".parse()?], &table, &Context::new(0))?;
    /// let Cells::Sparse(even) = steps.apply(table)?.into_parts().0 else { unreachable!() };
    /// assert_eq!(even.values(), [0.75, 2.25, 3.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn apply<T: Real>(&self, table: Table<T>) -> Result<Table<T>> {
        self.check(table.columns())?;
        self.check_absent(table.absent())?;
        let mut values = Vec::with_capacity(match table.cells() {
            Cells::Dense(cells) => cells.values().len(),
            Cells::Sparse(cells) => cells.values().len(),
        });
        let mut lane = table.lane(0..table.batches())?;
        while let Some(batch) = lane.next_batch()? {
            self.transform(&batch, table.about().names.as_deref(), &mut values)?;
        }
        drop(lane);
        let (rows, columns) = (table.rows(), table.columns());
        let (cells, about) = table.into_parts();
        let ready = match cells {
            Cells::Dense(_) => Table::from(Dense::new(rows, columns, values)?),
            Cells::Sparse(old) => {
                let (starts, indices) = (old.starts().to_vec(), old.indices().to_vec());
                Table::from(Sparse::new(columns, starts, indices, values, old.absent())?)
            }
        };
        ready.with_about(about)
    }

    /// A source that applies the steps to each batch of another as it comes: the same batches.
    ///
    /// ```
    /// use mereo_core::{Block, Context, Dense, Source, Table};
    /// use mereo_data::steps::Steps;
    /// let table = Table::from(Dense::new(2, 1, vec![1.0, 3.0])?);
    /// let steps = Steps::learn(&["remove-column-means".parse()?], &table, &Context::new(0))?;
    /// let source = steps.source(Box::new(table))?;
    /// let mut lane = source.lane(0..1)?;
    /// let Some(batch) = lane.next_batch()? else { unreachable!() };
    /// assert!(matches!(batch.block, Block::Dense { values: [-1.0, 1.0], .. }));
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn source<'a, T: Real>(
        &'a self,
        inner: Box<dyn Source<T> + 'a>,
    ) -> Result<impl Source<T> + 'a> {
        self.check(inner.columns())?;
        self.check_absent(inner.absent())?;
        Ok(source::Stepped::new(self, inner))
    }

    /// Appends the batch's cells after all steps.
    fn transform<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        names: Option<&[String]>,
        out: &mut Vec<T>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        for number in 0..batch.rows {
            let mut row = Row::load(batch, number, names, &mut buffer);
            self.forward(&mut row)?;
            row.store(row::stored(batch, number), out)?;
        }
        Ok(())
    }

    /// Takes one row through all steps.
    fn forward(&self, row: &mut Row<'_>) -> Result<RowFacts> {
        let mut facts = Vec::new();
        for step in &self.steps {
            facts.extend(step.forward(row)?);
        }
        Ok(RowFacts(facts))
    }

    /// The facts about each row of a batch, before any step, that undoing needs.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Source, Table};
    /// use mereo_data::steps::Steps;
    /// let table = Table::from(Dense::new(2, 2, vec![1.0, 3.0, 10.0, 20.0])?);
    /// let steps = Steps::learn(&["remove-row-means".parse()?], &table, &Context::new(0))?;
    /// let mut lane = table.lane(0..1)?;
    /// let Some(batch) = lane.next_batch()? else { unreachable!() };
    /// let facts = steps.facts(&batch)?;
    /// let mut output = vec![-1.0, 1.0, 0.0, 0.0];
    /// steps.undo(&mut output, Some(&facts))?;
    /// assert_eq!(output, [1.0, 3.0, 15.0, 15.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn facts<T: Real>(&self, batch: &Batch<'_, T>) -> Result<Vec<RowFacts>> {
        self.check_batch(batch)?;
        let mut buffer = Vec::new();
        (0..batch.rows)
            .map(|number| self.forward(&mut Row::load(batch, number, None, &mut buffer)))
            .collect()
    }

    /// Brings rows of a model's output (in full, one after another) back to the data's units.
    ///
    /// Where the rows belong to rows of data, give the [`facts`](Self::facts) about those; for
    /// rows that a model made up, the average of the data learned from stands in. `equalise`
    /// forgets each row's own histogram, so it is undone with the mean histogram of the data
    /// learned from. Values beyond what the number type should hold are brought to its ends.
    ///
    /// ```
    /// # use mereo_core::{Context, Dense, Table};
    /// # use mereo_data::steps::Steps;
    /// # let table = Table::from(Dense::new(2, 2, vec![1.0, 2.0, 3.0, 4.0])?);
    /// let steps = Steps::learn(&["remove-row-means".parse()?], &table, &Context::new(0))?;
    /// let mut made_up = vec![-0.5, 0.5];
    /// steps.undo(&mut made_up, None)?;
    /// assert_eq!(made_up, [2.0, 3.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn undo<T: Real>(&self, output: &mut [T], facts: Option<&[RowFacts]>) -> Result<()> {
        let width = self.columns.max(1);
        if !output.len().is_multiple_of(width) {
            return Err(Error::found(
                Place::default(),
                format!("{} values", output.len()),
                format!("whole rows of {} columns", self.columns),
            ));
        }
        let wanted: Vec<f64> = self.steps.iter().filter_map(Step::mean_fact).collect();
        let rows = output.len() / width;
        if let Some(facts) = facts
            && (facts.len() != rows || facts.iter().any(|f| f.0.len() != wanted.len()))
        {
            return Err(Error::found(
                Place::default(),
                format!("facts about {} rows", facts.len()),
                format!("facts that these steps gave about {rows} rows"),
            ));
        }
        let mut wide = vec![0.0; width];
        for (number, row) in output.chunks_mut(width).enumerate() {
            wide.iter_mut().zip(row.iter()).for_each(|(w, v)| *w = v.to_f64());
            let mut facts = facts.map_or(&wanted, |facts| &facts[number].0).iter().rev();
            for step in self.steps.iter().rev() {
                let fact = step.mean_fact().and_then(|_| facts.next().copied());
                step.undo(&mut wide, fact);
            }
            for (value, wide) in row.iter_mut().zip(&wide) {
                *value = T::from_f64(wide.clamp(-T::LARGEST, T::LARGEST));
            }
        }
        Ok(())
    }

    /// For each row of a batch, before any step, the sum over its observed cells of
    /// `log |dz/dx|`, where `z` is the cell after all steps: added to the log density of a
    /// transformed row it gives that of the row itself. None if the steps
    /// [have no density](Self::has_density).
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Source, Table};
    /// use mereo_data::steps::Steps;
    /// let table = Table::from(Dense::new(2, 1, vec![0.0, 4.0])?);
    /// let steps = Steps::learn(&["scale:0,1".parse()?], &table, &Context::new(0))?;
    /// let mut lane = table.lane(0..1)?;
    /// let Some(batch) = lane.next_batch()? else { unreachable!() };
    /// assert_eq!(steps.log_volume(&batch)?, Some(vec![-4f64.ln(); 2]));
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn log_volume<T: Real>(&self, batch: &Batch<'_, T>) -> Result<Option<Vec<f64>>> {
        self.check_batch(batch)?;
        if !self.has_density() {
            return Ok(None);
        }
        let logs: Vec<Vec<f64>> = self.steps.iter().map(Step::log_spreads).collect();
        let mut buffer = Vec::new();
        let mut volumes = Vec::with_capacity(batch.rows);
        for number in 0..batch.rows {
            let mut row = Row::load(batch, number, None, &mut buffer);
            let mut volume = 0.0;
            for (step, logs) in self.steps.iter().zip(&logs) {
                volume += step.log_volume(&row, logs, self.columns);
                step.forward(&mut row)?;
            }
            volumes.push(volume);
        }
        Ok(Some(volumes))
    }
}
