//! Learning by many steps a pass: rows are dealt into mini-batches, and each tells a gradient.
//!
//! A gradient summed over rows is an additive statistic like any other. A mini-batch is cut into pieces, by
//! its size alone; pieces are looked at on all threads, and their gradients are merged in a fixed binary
//! tree, so that steps are the same bits on any number of threads. The order of rows is shuffled anew at
//! every pass, by the seed alone.

use rand::seq::SliceRandom;
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128};

use super::deck::{Deck, Windows};
use super::{
    Facts, Learned, Looked, Observer, Pass, Plan, Start, Statistics, Status, Way, pack, run,
};
use crate::{Batch, Block, Context, Error, Real, Result, Source, in_parallel};

/// Rows that a piece of a mini-batch should have at least: enough for matrix products.
const PIECE_ROWS: usize = 32;
/// Most pieces of a mini-batch.
const MOST_PIECES: usize = 64;

/// How rows are dealt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deal {
    /// Rows in a mini-batch.
    pub rows: usize,
    /// The share of rows that nothing is learned from, so that they can judge what was learned.
    pub held_out: f64,
}

/// What rows are looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// To learn from them: bound and gradient.
    Learn,
    /// To judge what was learned: the bound alone.
    Judge,
}

/// What a pass told, in nats a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Told {
    /// The bound of the rows learned from, each as it was met.
    pub bound: f64,
    /// The bound of those held out, at the end of the pass.
    pub held_out: Option<f64>,
}

/// Something that learns by steps along gradients of mini-batches.
pub trait Descender<T: Real>: Sync + Serialize + DeserializeOwned {
    /// What it is called.
    const NAME: &'static str;
    /// What is being learned, with all that the optimiser keeps from step to step.
    type State: Clone + Send + Sync + Serialize + DeserializeOwned;
    /// Bound and gradient of some rows, added up.
    type Gradient: Statistics;
    /// Memory for looking at rows.
    type Workspace: Send;

    /// What the survey of the data told.
    fn facts(&self) -> Facts;

    /// How rows are dealt.
    fn deal(&self) -> Deal;

    /// Whether anything is learned from a row with this label.
    fn wants(&self, _label: Option<u32>) -> bool {
        true
    }

    /// The gradient of no rows.
    fn gradient(&self) -> Self::Gradient;

    /// A workspace.
    fn workspace(&self) -> Self::Workspace;

    /// Adds the bound of rows and, to learn, its gradient.
    fn accumulate(
        &self,
        state: &Self::State,
        pass: Pass,
        look: Look,
        batch: &Batch<'_, T>,
        workspace: &mut Self::Workspace,
        gradient: &mut Self::Gradient,
    );

    /// The bound that rows told.
    fn bound(&self, gradient: &Self::Gradient) -> f64;

    /// Takes a step along the gradient of rows that weigh so much. `at` is how far learning is, from 0
    /// to 1.
    fn step(&self, state: &mut Self::State, gradient: &Self::Gradient, weight: f64, at: f64);

    /// Ends a pass: keeps what is worth keeping, and says if there should be no further one. A state that
    /// ends learning is the one to be kept.
    fn end_pass(&self, state: &mut Self::State, told: Told, pass: Pass) -> Option<Status>;
}

/// Learns by steps along gradients: [`learn`](super::learn) for learners whose passes have many steps.
/// Bounds of passes are those of rows as they were met; the last is that of the final state.
pub fn descend<T: Real, D: Descender<T>>(
    learner: &D,
    start: impl Fn(usize) -> Result<Start<D::State>>,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<Learned<D::State>> {
    let rows = learner.deal().rows;
    let pieces = (rows / PIECE_ROWS).clamp(1, MOST_PIECES);
    // A power of two, so that two, four or eight threads have the same to do.
    let pieces = 1 << pieces.ilog2();
    let slots = (0..pieces).map(|_| Slot::new(learner)).collect();
    let windows = Windows::new(source);
    let mut way = Steps { learner, windows, slots, passes: plan.passes, context };
    run(&mut way, start, source.rows(), plan, context, observer)
}

/// A piece of a mini-batch and where it is looked at.
struct Slot<T, W, G> {
    values: Vec<T>,
    weights: Vec<f64>,
    labels: Vec<Option<u32>>,
    workspace: W,
    gradient: G,
}

impl<T: Real, W, G> Slot<T, W, G> {
    fn new<D: Descender<T, Workspace = W, Gradient = G>>(learner: &D) -> Self {
        Self {
            values: Vec::new(),
            weights: Vec::new(),
            labels: Vec::new(),
            workspace: learner.workspace(),
            gradient: learner.gradient(),
        }
    }

    fn fill(&mut self, deck: &Deck<T>, rows: &[u32]) {
        self.values.clear();
        self.weights.clear();
        self.labels.clear();
        for &row in rows {
            self.values.extend_from_slice(deck.row(row as usize));
            self.weights.push(deck.weights[row as usize]);
            self.labels.push(deck.labels[row as usize]);
        }
    }
}

/// Every pass is a step for each mini-batch.
struct Steps<'a, T: Real, D: Descender<T>> {
    learner: &'a D,
    windows: Windows<'a, T>,
    slots: Vec<Slot<T, D::Workspace, D::Gradient>>,
    passes: usize,
    context: &'a Context,
}

/// Bound and weight of rows.
#[derive(Default, Clone, Copy)]
struct Sum {
    bound: f64,
    weight: f64,
}

impl Sum {
    fn mean(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.bound / self.weight)
    }
}

/// Whether a row is held out: a matter of its number and the seed.
fn held_out(seed: u64, row: usize, share: f64) -> bool {
    let hash = xxh3_64_with_seed(&(row as u64).to_le_bytes(), seed);
    share > 0.0 && ((hash >> 11) as f64) < share * (1u64 << 53) as f64
}

impl<T: Real, D: Descender<T>> Steps<'_, T, D> {
    /// Looks at rows of a window together; the gradient is then the first slot's.
    fn look_at(
        learner: &D,
        slots: &mut [Slot<T, D::Workspace, D::Gradient>],
        (state, pass, look): (&D::State, Pass, Look),
        deck: &Deck<T>,
        rows: &[u32],
    ) -> Sum {
        // Rows are shared evenly: no piece is larger than another by more than one.
        let count = slots.len().min(rows.len()).max(1);
        let share = |piece: usize| piece * rows.len() / count;
        let pieces = slots[..count].iter_mut().enumerate();
        in_parallel(pieces, |(piece, slot)| {
            slot.fill(deck, &rows[share(piece)..share(piece + 1)]);
            slot.gradient.reset();
            let batch = Batch {
                first_row: 0,
                rows: slot.weights.len(),
                columns: deck.columns,
                block: Block::Dense { values: &slot.values, complete: false },
                weights: Some(&slot.weights),
                labels: Some(&slot.labels),
            };
            let (workspace, gradient) = (&mut slot.workspace, &mut slot.gradient);
            learner.accumulate(state, pass, look, &batch, workspace, gradient);
        });
        let mut width = 1;
        while width < count {
            in_parallel(slots[..count].chunks_mut(2 * width), |pair| {
                let (left, right) = pair.split_at_mut(width.min(pair.len()));
                if let (Some(left), Some(right)) = (left.first_mut(), right.first()) {
                    left.gradient.merge(&right.gradient);
                }
            });
            width *= 2;
        }
        slots[0].gradient.finish();
        let weight = rows.iter().map(|&row| deck.weights[row as usize]).sum();
        Sum { bound: learner.bound(&slots[0].gradient), weight }
    }

    /// Goes over the rows of all windows, in this pass's order to learn and in their own to judge.
    fn go(
        &mut self,
        state: &mut D::State,
        pass: Pass,
        look: Look,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Sum> {
        let Self { learner, windows, slots, passes, context } = self;
        let number = ((pass.restart as u64) << 32) | pass.pass as u64;
        let mut turns: Vec<usize> = (0..windows.count()).collect();
        if look == Look::Learn {
            turns.shuffle(&mut context.random("windows", [number, 0]));
        }
        let mut sum = Sum::default();
        let of_windows = turns.len().max(1) as f64;
        for (turn, &window) in turns.iter().enumerate() {
            let (first_row, deck) = windows.hold(window, context)?;
            let wanted = |row: &u32| {
                let at = *row as usize;
                deck.weights[at] > 0.0 && learner.wants(deck.labels[at]) && wanted(first_row + at)
            };
            let mut order: Vec<u32> = (0..deck.rows() as u32).filter(wanted).collect();
            if look == Look::Learn {
                order.shuffle(&mut context.random("order", [number, window as u64]));
            }
            let steps = order.len().div_ceil(learner.deal().rows.max(1)).max(1);
            for step in 0..steps {
                if context.stop().asked() {
                    return Err(Error::Interrupted);
                }
                let rows = &order[step * order.len() / steps..(step + 1) * order.len() / steps];
                if rows.is_empty() {
                    continue;
                }
                let told = Self::look_at(learner, slots, (state, pass, look), deck, rows);
                sum.bound += told.bound;
                sum.weight += told.weight;
                if look == Look::Learn {
                    let share = (turn as f64 + step as f64 / steps as f64) / of_windows;
                    let at = (pass.pass as f64 + share) / (*passes).max(1) as f64;
                    learner.step(state, &slots[0].gradient, told.weight, at);
                }
            }
        }
        Ok(sum)
    }

    /// The bound of a state over all rows that it was learned from.
    fn judge(&mut self, state: &mut D::State, pass: Pass) -> Result<f64> {
        let (share, seed) = (self.learner.deal().held_out, self.context.seed());
        let sum = self.go(state, pass, Look::Judge, |row| !held_out(seed, row, share))?;
        Ok(sum.mean().unwrap_or(f64::NAN))
    }

    fn pass(&mut self, state: &mut D::State, pass: Pass, last: bool) -> Result<Looked> {
        let (share, seed) = (self.learner.deal().held_out, self.context.seed());
        let all = self.learner.facts().weight;
        let looked = |bound: f64, ended| Looked { bound: bound * all, ended, notes: Vec::new() };
        if last {
            return self.judge(state, pass).map(|bound| looked(bound, None));
        }
        let learned = self.go(state, pass, Look::Learn, |row| !held_out(seed, row, share))?;
        let Some(bound) = learned.mean() else {
            return Err(Error::option("held-out", "no row is left to learn from; hold out fewer"));
        };
        let judged = if share > 0.0 {
            self.go(state, pass, Look::Judge, |row| held_out(seed, row, share))?.mean()
        } else {
            None
        };
        let told = Told { bound, held_out: judged };
        let learner = self.learner;
        match self.context.install(|| learner.end_pass(state, told, pass)) {
            None => Ok(looked(bound, None)),
            ended => Ok(looked(self.judge(state, pass)?, ended)),
        }
    }
}

impl<T: Real, D: Descender<T>> Way for Steps<'_, T, D> {
    type State = D::State;

    fn facts(&self) -> Facts {
        self.learner.facts()
    }

    /// The bound of a sample of rows never comes to rest.
    fn settled_from(&self) -> usize {
        usize::MAX
    }

    fn digest(&self) -> Result<u128> {
        Ok(xxh3_128(&pack(&(D::NAME, self.learner))?))
    }

    fn look(&mut self, state: &mut D::State, pass: Pass, last: bool) -> Result<Looked> {
        let context = self.context;
        context.install(|| self.pass(state, pass, last))
    }

    fn update(&mut self, _state: &mut D::State, _pass: Pass) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dense, Silent, Table, pack};
    use serde::Deserialize;

    /// Learns the mean of a column by steps along the gradient of the squared distance.
    #[derive(Serialize, Deserialize)]
    struct Mean {
        rows: usize,
        held_out: f64,
    }

    #[derive(Serialize, Deserialize)]
    struct Slope {
        slope: f64,
        bound: f64,
    }

    impl Statistics for Slope {
        fn merge(&mut self, other: &Self) {
            self.slope += other.slope;
            self.bound += other.bound;
        }

        fn reset(&mut self) {
            (self.slope, self.bound) = (0.0, 0.0);
        }
    }

    impl Descender<f64> for Mean {
        const NAME: &'static str = "mean";
        type State = (f64, Vec<f64>);
        type Gradient = Slope;
        type Workspace = ();

        fn facts(&self) -> Facts {
            Facts { weight: 1000.0, fingerprint: None }
        }

        fn deal(&self) -> Deal {
            Deal { rows: self.rows, held_out: self.held_out }
        }

        fn gradient(&self) -> Slope {
            Slope { slope: 0.0, bound: 0.0 }
        }

        fn workspace(&self) {}

        fn accumulate(
            &self,
            state: &Self::State,
            _pass: Pass,
            _look: Look,
            batch: &Batch<'_, f64>,
            (): &mut (),
            gradient: &mut Slope,
        ) {
            for row in 0..batch.rows {
                batch.for_each_observed(row, |_, x| {
                    gradient.slope += batch.weight(row) * (x - state.0);
                    gradient.bound -= batch.weight(row) * (x - state.0).powi(2) / 2.0;
                });
            }
        }

        fn bound(&self, gradient: &Slope) -> f64 {
            gradient.bound
        }

        fn step(&self, state: &mut Self::State, gradient: &Slope, weight: f64, at: f64) {
            state.0 += 0.1 * (1.0 - at) * gradient.slope / weight;
        }

        fn end_pass(&self, state: &mut Self::State, told: Told, pass: Pass) -> Option<Status> {
            state.1.extend(told.held_out);
            (pass.pass == 15).then_some(Status::EarlyStop)
        }
    }

    fn table() -> Table<f64> {
        let cells = (0..1000).map(|i| f64::from(i * 7 % 1000) / 100.0).collect();
        Table::from(Dense::new(1000, 1, cells).unwrap())
    }

    fn learned(mean: &Mean, passes: usize, threads: usize) -> Learned<(f64, Vec<f64>)> {
        let start = |_| Ok(Start { state: (0.0, Vec::new()), how: "zero".into() });
        let plan = Plan { passes, ..Plan::default() };
        let context = Context::new(3).with_threads(threads).unwrap();
        descend(mean, start, &table(), &plan, &context, &mut Silent).unwrap()
    }

    #[test]
    fn a_mean_is_found_and_threads_do_not_change_a_bit() {
        let mean = Mean { rows: 100, held_out: 0.0 };
        let one = learned(&mean, 10, 1);
        assert!((one.state.0 - 4.995).abs() < 0.05, "{}", one.state.0);
        assert_eq!(one.training.restarts[0].bounds.len(), 11);
        for threads in [2, 7] {
            assert_eq!(
                pack(&one.state).unwrap(),
                pack(&learned(&mean, 10, threads).state).unwrap()
            );
        }
    }

    #[test]
    fn rows_that_are_held_out_judge_every_pass() {
        let learned = learned(&Mean { rows: 64, held_out: 0.2 }, 40, 2);
        assert_eq!(learned.training.status, Status::EarlyStop);
        assert_eq!(learned.state.1.len(), 16);
        assert!(learned.state.1[15] > learned.state.1[0]);
        let held: usize = (0..1000).filter(|&row| held_out(3, row, 0.2)).count();
        assert!((150..250).contains(&held), "{held}");
    }

    #[test]
    fn windows_of_a_large_source_hold_every_row_once() {
        let table = table();
        let mut windows = Windows::of(&table, 300);
        assert!(windows.count() > 0);
        let mut rows = 0;
        for window in 0..windows.count() {
            let (first, deck) = windows.hold(window, &Context::new(0)).unwrap();
            assert_eq!(first, rows);
            rows += deck.rows();
        }
        assert_eq!(rows, 1000);
    }
}
