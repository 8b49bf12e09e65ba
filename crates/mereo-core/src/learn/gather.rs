//! Adding up what rows tell, in parallel and always in the same order.

use std::ops::Range;

use crate::{Batch, Context, Error, Real, Result, Source, in_parallel};

/// What rows tell a learner, added up. Adding must not depend on how rows were cut into
/// batches, beyond rounding.
pub trait Statistics: Send + Sync {
    /// Adds what other rows told.
    fn merge(&mut self, other: &Self);

    /// Back to nothing, keeping the memory.
    fn reset(&mut self);

    /// Called once on the sum over all rows, for statistics that keep quick partial sums.
    fn finish(&mut self) {}

    /// About how much memory this takes: large statistics are kept in fewer copies.
    fn bytes(&self) -> usize {
        0
    }
}

/// Most lanes that a source is cut into.
const MOST_LANES: usize = 16;
/// Fewest, however much memory their statistics take.
const FEWEST_LANES: usize = 4;
/// Memory that all lanes' statistics together should stay below.
const LANE_BYTES: usize = 128 << 20;

/// The lanes of a source: consecutive batches that are looked at one after another, each lane
/// with statistics and a workspace of its own. How many there are depends on the source and the
/// statistics, never on threads; hence the same sums on any number of them.
pub(crate) struct Lanes<S, W> {
    lanes: Vec<(Range<usize>, S, W)>,
}

impl<S: Statistics, W: Send> Lanes<S, W> {
    pub(crate) fn new(
        batches: usize,
        statistics: impl Fn() -> S,
        workspace: impl Fn() -> W,
    ) -> Self {
        let first = statistics();
        let affordable = (LANE_BYTES / first.bytes().max(1)).clamp(FEWEST_LANES, MOST_LANES);
        let count = batches.clamp(1, affordable);
        let lanes = (0..count)
            .map(|i| (i * batches / count..(i + 1) * batches / count, statistics(), workspace()))
            .collect();
        Self { lanes }
    }

    /// The lanes' workspaces, in order.
    pub(crate) fn workspaces(&mut self) -> impl Iterator<Item = &mut W> {
        self.lanes.iter_mut().map(|lane| &mut lane.2)
    }

    /// Looks at every row once and returns the sum.
    pub(crate) fn pass<T: Real>(
        &mut self,
        source: &dyn Source<T>,
        context: &Context,
        look: impl Fn(&Batch<'_, T>, &mut W, &mut S) + Sync,
    ) -> Result<&mut S> {
        let walk = |(batches, statistics, workspace): &mut (Range<usize>, S, W)| -> Result<()> {
            statistics.reset();
            let mut lane = source.lane(batches.clone())?;
            while let Some(batch) = lane.next_batch()? {
                if context.stop().asked() {
                    return Err(Error::Interrupted);
                }
                look(&batch, workspace, statistics);
            }
            Ok(())
        };
        context.install(|| walk_all(self.lanes.iter_mut(), walk))?;
        // Pairwise, in order: lane 0 takes 1, 2 takes 3, ...; then 0 takes 2, ...
        context.install(|| {
            let mut step = 1;
            while step < self.lanes.len() {
                in_parallel(self.lanes.chunks_mut(2 * step), |pair| {
                    if let Some((left, right)) = pair.split_at_mut_checked(step)
                        && let (Some(left), Some(right)) = (left.first_mut(), right.first())
                    {
                        left.1.merge(&right.1);
                    }
                });
                step *= 2;
            }
            self.lanes[0].1.finish();
        });
        Ok(&mut self.lanes[0].1)
    }
}

/// Looks at every row of a source once and adds up what they tell.
///
/// ```
/// use mereo_core::{Batch, Context, Dense, Statistics, Table, gather};
/// struct Count(usize);
/// impl Statistics for Count {
///     fn merge(&mut self, other: &Self) { self.0 += other.0 }
///     fn reset(&mut self) { self.0 = 0 }
/// }
/// let table = Table::from(Dense::new(3, 1, vec![1.0f64, 2.0, 3.0])?);
/// let count = gather(&table, &Context::new(0), || Count(0), |batch: &Batch<'_, f64>, count: &mut Count| {
///     count.0 += batch.rows;
/// })?;
/// assert_eq!(count.0, 3);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn gather<T: Real, S: Statistics>(
    source: &dyn Source<T>,
    context: &Context,
    zero: impl Fn() -> S,
    look: impl Fn(&Batch<'_, T>, &mut S) + Sync,
) -> Result<S> {
    let mut lanes = Lanes::new(source.batches(), zero, || ());
    lanes.pass(source, context, |batch, (), statistics| look(batch, statistics))?;
    Ok(lanes.lanes.swap_remove(0).1)
}

/// StartsInTurn every row of a source into a row of `width` numbers, in parallel.
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
    let chunk = source.batch_rows() * width;
    if chunk == 0 || cells == 0 {
        return Ok(out);
    }
    let walk = |(index, out): (usize, &mut [U])| -> Result<()> {
        let mut lane = source.lane(index..index + 1)?;
        while let Some(batch) = lane.next_batch()? {
            if context.stop().asked() {
                return Err(Error::Interrupted);
            }
            turn(&batch, out);
        }
        Ok(())
    };
    context.install(|| walk_all(out.chunks_mut(chunk).enumerate(), walk))?;
    Ok(out)
}

/// Does every piece of work that may fail. Which of several errors is told does not depend on timing:
/// it is the first.
fn walk_all<I: Send>(
    pieces: impl ExactSizeIterator<Item = I>,
    work: impl Fn(I) -> Result<()> + Sync,
) -> Result<()> {
    let mut results: Vec<Result<()>> = (0..pieces.len()).map(|_| Ok(())).collect();
    in_parallel(pieces.zip(&mut results), |(piece, result)| *result = work(piece));
    results.into_iter().collect()
}
