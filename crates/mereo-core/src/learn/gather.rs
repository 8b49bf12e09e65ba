//! Asking something of every row: here, or wherever the rows are.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::shards::{Runs, ShardLane, Spare, Tree, Walk, each, run_of};
use super::{Learner, Pass, Statistics, pack, unpack};
use crate::{Batch, Context, Error, Real, Result, Source};

/// Something asked of every row whose answers add up: moments of columns, a sample of rows. It
/// serialises, so that it can be asked where the rows are.
pub trait RowTask<T: Real>: Sync + Serialize + DeserializeOwned {
    /// What it is called among all tasks.
    const NAME: &'static str;
    /// The answers, added up.
    type Statistics: Statistics;

    /// The answer of no rows.
    fn statistics(&self) -> Self::Statistics;

    /// Adds what a batch tells.
    fn accumulate(&self, batch: &Batch<'_, T>, statistics: &mut Self::Statistics);
}

/// What is asked of rows that are elsewhere: a [`RowTask`] or one pass of a [`Learner`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The name of the task or learner.
    pub task: String,
    /// The type of cells.
    pub cells: String,
    /// The task, or learner, state and pass, [packed](pack).
    pub body: Vec<u8>,
}

/// Rows that are elsewhere: in other processes, on other machines. What [`Source::remote`] gives.
pub trait Remote: Sync {
    /// Asks runs of shards; returns the answer of each, in order: what [`Answer::answer`] gives
    /// there. A run may be asked again, of anybody who can read its rows.
    fn ask(&self, request: &Request, runs: &[Range<usize>]) -> Result<Vec<Vec<u8>>>;
}

/// What is done where rows of one type of cells are.
type AnswerOf<T> = fn(&Request, &dyn Source<T>, &[Range<usize>], &Context) -> Result<Vec<Vec<u8>>>;

/// Answers requests of one kind where rows are.
#[derive(Clone, Copy)]
pub struct Answer {
    name: &'static str,
    single: AnswerOf<f32>,
    double: AnswerOf<f64>,
    merge_single: MergeOf,
    merge_double: MergeOf,
}

/// What puts answers together.
type MergeOf = fn(&[Vec<u8>]) -> Result<Vec<u8>>;

impl Answer {
    /// Answers a task, for both types of cells.
    pub fn task<S: RowTask<f32>, D: RowTask<f64>>() -> Self {
        Self {
            name: S::NAME,
            single: answer_task::<f32, S>,
            double: answer_task::<f64, D>,
            merge_single: merged::<S::Statistics>,
            merge_double: merged::<D::Statistics>,
        }
    }

    /// Answers passes of a learner, for both types of cells.
    pub fn pass<S: Learner<f32>, D: Learner<f64>>() -> Self {
        Self {
            name: S::NAME,
            single: answer_pass::<f32, S>,
            double: answer_pass::<f64, D>,
            merge_single: merged::<S::Statistics>,
            merge_double: merged::<D::Statistics>,
        }
    }

    /// The name of the task or learner.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Puts the answers of runs that lie side by side together, in the tree in which they would have been
    /// put together anywhere else: if all but the last are of one size, a power of two, and the first starts at a multiple
    /// of all of them together, this is what one run of all their shards would have answered. `cells` is the type of cells.
    pub fn merge(&self, cells: &str, answers: &[Vec<u8>]) -> Result<Vec<u8>> {
        if cells == f32::NAME { (self.merge_single)(answers) } else { (self.merge_double)(answers) }
    }

    /// What the shards of a run tell, as bytes.
    pub fn answer<T: Real>(
        &self,
        request: &Request,
        source: &dyn Source<T>,
        shards: Range<usize>,
        context: &Context,
    ) -> Result<Vec<u8>> {
        let mut answers = self.answers(request, source, &[shards], context)?;
        answers.pop().ok_or_else(|| Error::option("request", "there is no answer"))
    }

    /// What the shards of each of several runs tell: the request is read, and looking prepared, once for all.
    pub fn answers<T: Real>(
        &self,
        request: &Request,
        source: &dyn Source<T>,
        runs: &[Range<usize>],
        context: &Context,
    ) -> Result<Vec<Vec<u8>>> {
        if request.task != self.name || request.cells != T::NAME {
            let problem = format!(
                "`{}` of {} cells was asked of `{}` with {} cells",
                request.task,
                request.cells,
                self.name,
                T::NAME
            );
            return Err(Error::option("request", problem));
        }
        if let Some(shards) = runs.iter().find(|r| r.start > r.end || r.end > source.shards()) {
            let problem = format!("shards {shards:?} of {} were asked for", source.shards());
            return Err(Error::option("request", problem));
        }
        match T::lend(source) {
            super::Lent::F32(source) => (self.single)(request, source, runs, context),
            super::Lent::F64(source) => (self.double)(request, source, runs, context),
        }
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Answer").field(&self.name).finish()
    }
}

fn merged<S: Statistics>(answers: &[Vec<u8>]) -> Result<Vec<u8>> {
    let spare = Spare::new();
    let tree = Tree::new(answers.len(), &spare);
    for (index, answer) in answers.iter().enumerate() {
        tree.put(unpack::<S>(answer)?, 0, index);
    }
    match tree.root() {
        Some(sum) => pack(&sum),
        None => Err(Error::option("request", "there are no answers to put together")),
    }
}

fn answer_task<T: Real, Q: RowTask<T>>(
    request: &Request,
    source: &dyn Source<T>,
    runs: &[Range<usize>],
    context: &Context,
) -> Result<Vec<Vec<u8>>> {
    let task: Q = unpack(&request.body)?;
    let spare = Spare::new();
    let of_run = |shards: &Range<usize>| {
        let accumulate =
            |batch: &Batch<'_, T>, sum: &mut Q::Statistics| task.accumulate(batch, sum);
        let zero = || task.statistics();
        let mut lane = ShardLane::open(source, shards.clone())?;
        let run = shards.len();
        let sum = run_of(&mut lane, run, usize::MAX, context, &spare, zero, accumulate)?;
        packed(sum, &spare)
    };
    runs.iter().map(of_run).collect()
}

fn answer_pass<T: Real, L: Learner<T>>(
    request: &Request,
    source: &dyn Source<T>,
    runs: &[Range<usize>],
    context: &Context,
) -> Result<Vec<Vec<u8>>> {
    let (learner, state, pass): (L, L::State, Pass) = unpack(&request.body)?;
    let prepared = context.install(|| learner.prepare(&state, pass));
    let spare = Spare::new();
    let of_run = |shards: &Range<usize>| {
        let mut workspace = learner.workspace();
        let accumulate = |batch: &Batch<'_, T>, sum: &mut L::Statistics| {
            learner.accumulate(&prepared, batch, &mut workspace, sum);
        };
        let (at_once, zero) = (learner.rows_at_once(), || learner.statistics());
        let mut lane = ShardLane::open(source, shards.clone())?;
        let run = shards.len();
        let sum = run_of(&mut lane, run, at_once, context, &spare, zero, accumulate)?;
        packed(sum, &spare)
    };
    runs.iter().map(of_run).collect()
}

/// Statistics as bytes; their memory is for the next run.
fn packed<S: Statistics>(sum: S, spare: &Spare<S>) -> Result<Vec<u8>> {
    let bytes = pack(&sum)?;
    spare.give(sum);
    Ok(bytes)
}

/// Asks rows that are elsewhere and merges what they answer, in the tree in which it would have
/// been merged here.
pub(super) fn ask_remote<T: Real, S: Statistics>(
    remote: &dyn Remote,
    request: &Request,
    source: &dyn Source<T>,
    context: &Context,
    zero: impl Fn() -> S,
) -> Result<S> {
    let runs: Vec<Range<usize>> = Runs::of(source).iter().collect();
    let answers = remote.ask(request, &runs)?;
    if answers.len() != runs.len() {
        let problem = format!("{} answers came for {} runs", answers.len(), runs.len());
        return Err(Error::option("request", problem));
    }
    let spare = Spare::new();
    let tree = Tree::new(runs.len(), &spare);
    for (index, answer) in answers.iter().enumerate() {
        tree.put(unpack(answer)?, 0, index);
    }
    let mut sum = tree.root().unwrap_or_else(zero);
    context.install(|| sum.finish());
    Ok(sum)
}

/// Asks every row of a source once and adds up what they tell.
///
/// ```
/// use mereo_core::{Batch, Context, Dense, RowTask, Statistics, Table, gather};
/// use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize)]
/// struct CountRows;
/// #[derive(Serialize, Deserialize)]
/// struct Count(usize);
/// impl Statistics for Count {
///     fn merge(&mut self, other: &Self) { self.0 += other.0 }
///     fn reset(&mut self) { self.0 = 0 }
/// }
/// impl RowTask<f64> for CountRows {
///     const NAME: &'static str = "count";
///     type Statistics = Count;
///     fn statistics(&self) -> Count { Count(0) }
///     fn accumulate(&self, batch: &Batch<'_, f64>, count: &mut Count) { count.0 += batch.rows }
/// }
/// let table = Table::from(Dense::new(3, 1, vec![1.0f64, 2.0, 3.0])?);
/// assert_eq!(gather(&table, &Context::new(0), &CountRows)?.0, 3);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn gather<T: Real, Q: RowTask<T>>(
    source: &dyn Source<T>,
    context: &Context,
    task: &Q,
) -> Result<Q::Statistics> {
    if let Some(remote) = source.remote() {
        let request =
            Request { task: Q::NAME.to_owned(), cells: T::NAME.to_owned(), body: pack(task)? };
        return ask_remote(remote, &request, source, context, || task.statistics());
    }
    Walk::new(source, || ()).pass(
        source,
        usize::MAX,
        context,
        || task.statistics(),
        |batch, (), statistics| task.accumulate(batch, statistics),
    )
}

/// Turns every row of a source into a row of `width` numbers, in parallel.
///
/// ```
/// use mereo_core::{Context, Dense, Table, map_rows};
/// let table = Table::from(Dense::new(2, 2, vec![1.0f64, 2.0, 3.0, 4.0])?);
/// let sums: Vec<f64> = map_rows(&table, &Context::new(0), 1, |batch, out| {
///     for row in 0..batch.rows {
///         batch.for_each_observed(row, |_, value| out[row] += value);
///     }
/// })?;
/// assert_eq!(sums, [3.0, 7.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn map_rows<T: Real, U: Copy + Default + Send>(
    source: &dyn Source<T>,
    context: &Context,
    width: usize,
    turn: impl Fn(&Batch<'_, T>, &mut [U]) + Sync,
) -> Result<Vec<U>> {
    let cells = source.rows().checked_mul(width).ok_or_else(|| {
        Error::option(
            "rows",
            format!("{} rows of {width} numbers do not fit in memory", source.rows()),
        )
    })?;
    let mut out = vec![U::default(); cells];
    let runs = Runs::of(source);
    let batches = source.shard_batches().max(1);
    let chunk =
        runs.iter().next().map_or(0, |run| run.len()) * batches * source.batch_rows() * width;
    if chunk == 0 || cells == 0 {
        return Ok(out);
    }
    let all: Vec<Range<usize>> = runs.iter().collect();
    let walk = |(own, mut out): (&[Range<usize>], &mut [U])| -> Result<()> {
        let mut lane = ShardLane::open(source, own[0].start..own[own.len() - 1].end)?.lane;
        while let Some(batch) = lane.next_batch()? {
            if context.stop().asked() {
                return Err(Error::Interrupted);
            }
            let (own, rest) = out.split_at_mut(batch.rows * width);
            turn(&batch, own);
            out = rest;
        }
        Ok(())
    };
    context.install(|| {
        let together = runs.together();
        each(all.chunks(together).zip(out.chunks_mut(chunk * together)), walk)
    })?;
    Ok(out)
}
