//! Adding up what rows tell, in one fixed order, whoever does it.
//!
//! A source is cut into *shards*, runs of a fixed number of batches: the cut depends on the data
//! alone. Statistics of shards are merged in a fixed binary tree over shard numbers: a node of level
//! `l` and number `i` covers shards `i 2^l .. (i + 1) 2^l` and is its left child merged with its right
//! one (or the left one alone, where the right one lies beyond the last shard). Whoever evaluates
//! the tree, one thread, many, or many machines, gets the same bytes.
//!
//! Threads do not take single shards but *runs* of them, each the shards below one node. A run is read
//! front to back, with a workspace of its own that is kept from pass to pass, and
//! while it is evaluated at most one partial sum waits at each level. Neighbouring runs are read through one lane: to
//! open a file, and to skip what stands in it before the first row, takes time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::Statistics;
use crate::{Batch, Context, Error, Lane, Real, Result, Source, in_parallel};

/// Most runs that a source is cut into: enough for as many threads, each run long enough to be
/// worth opening a file for.
const MOST_RUNS: usize = 64;
/// Lanes that each of several threads opens in a pass: enough that none waits long for another in the end.
const LANES_A_THREAD: usize = 8;

/// The runs of a source: all alike but the last, each a power of two of shards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs {
    shards: usize,
    /// The level of the nodes that runs are below.
    level: u32,
}

impl Runs {
    pub(crate) fn of<T: Real>(source: &dyn Source<T>) -> Self {
        let shards = source.shards();
        let mut level = 0;
        while shards.div_ceil(1 << level) > MOST_RUNS {
            level += 1;
        }
        Self { shards, level }
    }

    pub(crate) fn count(&self) -> usize {
        self.shards.div_ceil(1 << self.level)
    }

    /// How many neighbouring runs are read through one lane by the threads that are here. It changes nothing of the
    /// sums.
    pub(super) fn together(&self) -> usize {
        let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
        let lanes = if threads == 1 { 1 } else { LANES_A_THREAD * threads };
        self.count().div_ceil(lanes).max(1)
    }

    /// The shards of each run.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Range<usize>> + use<> {
        let Self { shards, level } = *self;
        (0..self.count()).map(move |i| i << level..((i + 1) << level).min(shards))
    }
}

/// Statistics that wait to be used again.
#[derive(Debug)]
pub(super) struct Spare<S>(Mutex<Vec<S>>);

impl<S: Statistics> Spare<S> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn take(&self, new: impl FnOnce() -> S) -> S {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.map_or_else(new, |mut statistics| {
            statistics.reset();
            statistics
        })
    }

    pub(super) fn give(&self, statistics: S) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(statistics);
    }
}

/// The nodes of the tree that wait for their siblings.
#[derive(Debug)]
pub(super) struct Tree<'a, S> {
    /// Nodes at level 0.
    leaves: usize,
    waiting: Mutex<BTreeMap<(u32, usize), S>>,
    spare: &'a Spare<S>,
}

impl<'a, S: Statistics> Tree<'a, S> {
    pub(super) fn new(leaves: usize, spare: &'a Spare<S>) -> Self {
        Self { leaves, waiting: Mutex::new(BTreeMap::new()), spare }
    }

    /// Puts a node where it belongs, and merges it upwards as far as siblings are there. Which
    /// nodes are merged with which does not depend on the order in which they come.
    pub(super) fn put(&self, mut node: S, mut level: u32, mut index: usize) {
        loop {
            let width = self.leaves.div_ceil(1 << level);
            if width > 1 && (index ^ 1) < width {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(sibling) = waiting.remove(&(level, index ^ 1)) else {
                    waiting.insert((level, index), node);
                    return;
                };
                drop(waiting);
                let (mut left, right) =
                    if index.is_multiple_of(2) { (node, sibling) } else { (sibling, node) };
                left.merge(&right);
                self.spare.give(right);
                node = left;
            }
            if width <= 1 {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.insert((level, 0), node);
                return;
            }
            (level, index) = (level + 1, index / 2);
        }
    }

    /// The root, once all nodes are in.
    pub(super) fn root(self) -> Option<S> {
        let mut waiting = self.waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
        waiting.pop_last().map(|(_, root)| root)
    }
}

/// A pass over some shards, front to back.
pub(super) struct ShardLane<'a, T> {
    pub(super) lane: Box<dyn Lane<T> + 'a>,
    /// Batches in a shard.
    each: usize,
}

impl<'a, T: Real> ShardLane<'a, T> {
    pub(super) fn open(source: &'a dyn Source<T>, shards: Range<usize>) -> Result<Self> {
        let each = source.shard_batches().max(1);
        let batches = shards.start * each..(shards.end * each).min(source.batches());
        Ok(Self { lane: source.lane(batches)?, each })
    }
}

/// Adds up what the next shards of a lane tell, at most so many rows at once.
pub(super) fn run_of<T: Real, S: Statistics>(
    ShardLane { lane, each }: &mut ShardLane<'_, T>,
    shards: usize,
    at_once: usize,
    context: &Context,
    spare: &Spare<S>,
    zero: impl Fn() -> S,
    mut accumulate: impl FnMut(&Batch<'_, T>, &mut S),
) -> Result<S> {
    let tree = Tree::new(shards, spare);
    for leaf in 0..shards {
        let mut statistics = spare.take(&zero);
        for _ in 0..*each {
            let Some(batch) = lane.next_batch()? else { break };
            for first in (0..batch.rows).step_by(at_once.max(1)) {
                if context.stop().asked() {
                    return Err(Error::Interrupted);
                }
                let rows = first..first.saturating_add(at_once).min(batch.rows);
                accumulate(&batch.slice(rows), &mut statistics);
            }
        }
        tree.put(statistics, 0, leaf);
    }
    Ok(tree.root().unwrap_or_else(|| spare.take(&zero)))
}

/// The runs of a source with a workspace for each: what passes over rows in memory or in files are
/// made of.
#[derive(Debug)]
pub(super) struct Walk<S, W> {
    runs: Runs,
    workspaces: Vec<W>,
    spare: Spare<S>,
}

impl<S: Statistics, W: Send> Walk<S, W> {
    pub(super) fn new<T: Real>(source: &dyn Source<T>, workspace: impl Fn() -> W) -> Self {
        let runs = Runs::of(source);
        Self {
            runs,
            workspaces: (0..runs.count()).map(|_| workspace()).collect(),
            spare: Spare::new(),
        }
    }

    /// The runs' workspaces, in order.
    pub(super) fn workspaces(&mut self) -> impl Iterator<Item = &mut W> {
        self.workspaces.iter_mut()
    }

    /// Takes statistics back, to be used again.
    pub(super) fn spare(&self, statistics: S) {
        self.spare.give(statistics);
    }

    /// Looks at every row once and returns the sum.
    pub(super) fn pass<T: Real>(
        &mut self,
        source: &dyn Source<T>,
        at_once: usize,
        context: &Context,
        zero: impl Fn() -> S + Sync,
        accumulate: impl Fn(&Batch<'_, T>, &mut W, &mut S) + Sync,
    ) -> Result<S> {
        let Self { runs, workspaces, spare } = self;
        let tree = Tree::new(runs.count(), spare);
        let all: Vec<Range<usize>> = runs.iter().collect();
        context.install(|| {
            let together = runs.together();
            let spans = all.chunks(together).zip(workspaces.chunks_mut(together)).enumerate();
            each(spans, |(span, (own, workspaces))| {
                let shards = own[0].start..own[own.len() - 1].end;
                let mut lane = ShardLane::open(source, shards)?;
                for (at, (shards, workspace)) in own.iter().zip(workspaces).enumerate() {
                    let look = |batch: &Batch<'_, T>, statistics: &mut S| {
                        accumulate(batch, workspace, statistics);
                    };
                    let run = shards.len();
                    let sum = run_of(&mut lane, run, at_once, context, spare, &zero, look)?;
                    tree.put(sum, 0, span * together + at);
                }
                Ok(())
            })
        })?;
        let mut sum = tree.root().unwrap_or_else(|| spare.take(&zero));
        context.install(|| sum.finish());
        Ok(sum)
    }
}

/// Does every piece of work that may fail. Which of several errors is told does not depend on timing:
/// it is the first.
pub(super) fn each<I: Send>(
    pieces: impl ExactSizeIterator<Item = I>,
    work: impl Fn(I) -> Result<()> + Sync,
) -> Result<()> {
    let mut results: Vec<Result<()>> = (0..pieces.len()).map(|_| Ok(())).collect();
    in_parallel(pieces.zip(&mut results), |(piece, result)| *result = work(piece));
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use std::ops::Range;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Spare, Tree, Walk};
    use crate::{About, Absent, Batch, Context, Dense, Lane, Source, Statistics, Table};

    /// Statistics that say how they were merged.
    #[derive(Serialize, Deserialize)]
    struct Shape(String);

    impl Statistics for Shape {
        fn merge(&mut self, other: &Self) {
            self.0 = format!("({} {})", self.0, other.0);
        }

        fn reset(&mut self) {
            self.0.clear();
        }
    }

    /// Which rows were looked at, in which pieces, with their first cells.
    fn looked_at(at_once: usize, context: &Context) -> crate::Result<String> {
        let cells = (0..5u8).map(f64::from).collect();
        let table = Table::from(Dense::new(5, 1, cells).unwrap());
        let look = |batch: &Batch<'_, f64>, (): &mut (), seen: &mut Shape| {
            let mut first = 0.0;
            batch.for_each_observed(0, |_, x| first = x);
            seen.0 = format!("{}{}+{}:{first} ", seen.0, batch.first_row, batch.rows);
            if at_once == 1 {
                context.stop().ask();
            }
        };
        let mut walk = Walk::new(&table, || ());
        walk.pass(&table, at_once, context, || Shape(String::new()), look).map(|seen| seen.0)
    }

    #[test]
    fn batches_are_looked_at_in_pieces_where_that_is_asked_for() {
        let context = Context::new(0);
        assert_eq!(looked_at(usize::MAX, &context).unwrap(), "0+5:0 ");
        assert_eq!(looked_at(2, &context).unwrap(), "0+2:0 2+2:2 4+1:4 ");
        assert!(looked_at(1, &context).is_err(), "a stop is heeded between pieces");
    }

    /// A table that counts how often it is opened.
    struct Counted(Table<f64>, AtomicUsize);

    impl Source<f64> for Counted {
        fn rows(&self) -> usize {
            self.0.rows()
        }
        fn columns(&self) -> usize {
            self.0.columns()
        }
        fn lane(&self, batches: Range<usize>) -> crate::Result<Box<dyn Lane<f64> + '_>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.lane(batches)
        }
        fn about(&self) -> &About {
            self.0.about()
        }
        fn absent(&self) -> Option<Absent> {
            None
        }
    }

    #[test]
    fn a_thread_opens_few_lanes_and_sums_do_not_change() {
        let cells: Vec<f64> = (0..300_000).map(|i| f64::from(i % 997).sqrt()).collect();
        let table = Table::from(Dense::new(300_000, 1, cells).unwrap());
        let of = |threads: usize| {
            let context = Context::new(0).with_threads(threads).unwrap();
            let source = Counted(table.clone(), AtomicUsize::new(0));
            let look = |batch: &Batch<'_, f64>, (): &mut (), sum: &mut Vec<f64>| {
                (0..batch.rows).for_each(|row| batch.for_each_observed(row, |_, x| sum[0] += x));
            };
            let mut walk = Walk::new(&source, || ());
            let sum = walk.pass(&source, usize::MAX, &context, || vec![0.0], look).unwrap();
            let rows = crate::map_rows(&source, &context, 1, |batch, out: &mut [f64]| {
                (0..batch.rows).for_each(|r| batch.for_each_observed(r, |_, x| out[r] = x));
            });
            (sum[0].to_bits(), rows.unwrap(), source.1.into_inner())
        };
        let (sum, rows, lanes) = of(1);
        assert_eq!(lanes, 2, "one for the pass, one for the rows");
        for threads in [2, 7] {
            let (other, others, lanes) = of(threads);
            assert_eq!(sum, other);
            assert!(rows == others && lanes <= 2 * 8 * threads, "{lanes}");
        }
    }

    #[test]
    fn the_tree_has_one_shape_whatever_the_order() {
        for (leaves, shape) in [
            (1, "0"),
            (2, "(0 1)"),
            (3, "((0 1) 2)"),
            (5, "(((0 1) (2 3)) 4)"),
            (6, "(((0 1) (2 3)) (4 5))"),
            (7, "(((0 1) (2 3)) ((4 5) 6))"),
        ] {
            for stride in [1, 2, 3, 5] {
                if stride > 1 && leaves % stride == 0 {
                    continue;
                }
                let spare = Spare::new();
                let tree = Tree::new(leaves, &spare);
                for i in 0..leaves {
                    let leaf = i * stride % leaves;
                    tree.put(Shape(leaf.to_string()), 0, leaf);
                }
                assert_eq!(tree.root().unwrap().0, shape);
            }
        }
    }

    #[test]
    fn runs_of_shards_make_the_same_tree_as_single_shards() {
        for leaves in 1..40usize {
            let spare = Spare::new();
            for level in 0..4 {
                let runs = leaves.div_ceil(1 << level);
                let tree = Tree::new(runs, &spare);
                for run in 0..runs {
                    let own = (run << level..((run + 1) << level).min(leaves)).collect::<Vec<_>>();
                    let below = Tree::new(own.len(), &spare);
                    own.iter().enumerate().for_each(|(i, l)| below.put(Shape(l.to_string()), 0, i));
                    tree.put(below.root().unwrap(), 0, run);
                }
                let whole = Tree::new(leaves, &spare);
                (0..leaves).for_each(|leaf| whole.put(Shape(leaf.to_string()), 0, leaf));
                assert_eq!(tree.root().unwrap().0, whole.root().unwrap().0, "{leaves} {level}");
            }
        }
    }
}
