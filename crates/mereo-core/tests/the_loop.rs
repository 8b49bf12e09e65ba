//! The one loop, tested with a fake learner: a "model" that is one number creeping towards the
//! weighted mean of all cells.

use std::time::Duration;

use mereo_core::{
    Batch, Checkpoints, Context, Dense, Error, Facts, Learned, Learner, Observer, Pass, Plan,
    Record, Result, Silent, Start, Statistics, Status, Stop, Table, learn,
};
use serde::{Deserialize, Serialize};

/// Creeps half of the way to the mean at each pass, from a start that depends on the restart.
#[derive(Serialize, Deserialize)]
struct Creep {
    settled_from: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Here {
    at: f64,
}

#[derive(Default, Serialize, Deserialize)]
struct Sums {
    weight: f64,
    sum: f64,
    squares: f64,
    finished: usize,
}

impl Statistics for Sums {
    fn merge(&mut self, other: &Self) {
        assert_eq!((self.finished, other.finished), (0, 0), "only the sum over all is finished");
        self.weight += other.weight;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn finish(&mut self) {
        self.finished += 1;
    }
}

impl Learner<f64> for Creep {
    const NAME: &'static str = "creep";
    type State = Here;
    type Prepared = f64;
    type Statistics = Sums;
    type Workspace = ();

    fn facts(&self) -> Facts {
        Facts { weight: 5000.0, fingerprint: None }
    }

    fn settled_from(&self) -> usize {
        self.settled_from
    }

    fn prepare(&self, state: &Here, _: Pass) -> f64 {
        state.at
    }

    fn statistics(&self) -> Sums {
        Sums::default()
    }

    fn workspace(&self) {}

    fn accumulate(&self, at: &f64, batch: &Batch<'_, f64>, (): &mut (), sums: &mut Sums) {
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            batch.for_each_observed(row, |_, x| {
                sums.weight += weight;
                sums.sum += weight * x;
                sums.squares += weight * (x - at).powi(2);
            });
        }
    }

    fn bound(&self, sums: &Sums) -> f64 {
        -sums.squares
    }

    fn update(&self, state: &mut Here, sums: &Sums, pass: Pass) -> Vec<String> {
        state.at += 0.5 * (sums.sum / sums.weight - state.at);
        if pass.pass == 2 { vec!["third pass".into()] } else { Vec::new() }
    }
}

/// Restart 1 starts nearest to the mean of the test table, so its bound is the best.
fn start(restart: usize, seed: u64) -> Start<Here> {
    let nearer = if restart == 1 { 50.0 } else { 0.0 };
    let at = 100.0 + seed as f64 - nearer + restart as f64;
    Start { state: Here { at }, how: format!("at {at}") }
}

/// Learns from starts that depend on the context's seed.
fn creep(
    learner: &Creep,
    table: &Table<f64>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<Learned<Here>> {
    learn(learner, |restart| Ok(start(restart, context.seed())), table, plan, context, observer)
}

fn table() -> Table<f64> {
    let cells = (0..5000 * 7).map(|i| (f64::from(i) * 0.618).sin() * 3.0).collect();
    Table::from(Dense::new(5000, 7, cells).unwrap())
}

fn plan() -> Plan {
    Plan { restarts: 3, passes: 30, tolerance: 0.0, checkpoints: None, ..Plan::default() }
}

/// Keeps all records, copies the checkpoint file at one of them, asks for a stop at another.
#[derive(Default)]
struct Watcher {
    records: Vec<Record>,
    copy_at: Option<(usize, std::path::PathBuf, std::path::PathBuf)>,
    stop_at: Option<(usize, Stop)>,
}

impl Observer for Watcher {
    fn passed(&mut self, record: &Record) {
        self.records.push(record.clone());
        if let Some((at, from, to)) = &self.copy_at
            && self.records.len() == *at
        {
            std::fs::copy(from, to).unwrap();
        }
        if let Some((at, stop)) = &self.stop_at
            && self.records.len() == *at
        {
            stop.ask();
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let table = table();
    let run = |context: Context| {
        let learned =
            creep(&Creep { settled_from: 0 }, &table, &plan(), &context, &mut Silent).unwrap();
        (learned.state.at.to_bits(), learned.training)
    };
    let alone = run(Context::new(3));
    for threads in [1, 2, 7] {
        assert_eq!(run(Context::new(3).with_threads(threads).unwrap()), alone);
    }
}

#[test]
fn the_best_restart_wins_and_all_are_told() {
    let mut watcher = Watcher::default();
    let few = Plan { passes: 4, ..plan() };
    let learned =
        creep(&Creep { settled_from: 0 }, &table(), &few, &Context::new(0), &mut watcher).unwrap();
    let training = learned.training;
    assert_eq!((training.best, training.passes, training.status), (1, 4, Status::PassLimit));
    assert_eq!(training.restarts.len(), 3);
    assert_eq!(training.restarts[1].start, "at 51");
    for restart in &training.restarts {
        assert_eq!(restart.bounds.len(), 5, "a bound a pass, and one of the final state");
        assert!(restart.bounds.windows(2).all(|w| w[1] >= w[0]));
        assert!(training.bound >= *restart.bounds.last().unwrap());
    }
    assert_eq!(watcher.records.len(), 15);
    assert_eq!(watcher.records[2].notes, ["third pass"]);
    assert_eq!(watcher.records[0].change, None);
    assert!(watcher.records[1].change.unwrap() > 0.0);
}

#[test]
fn converges_when_the_bound_rests_but_not_before_schedules_do() {
    let run = |settled_from: usize| {
        let plan = Plan {
            restarts: 1,
            passes: 200,
            tolerance: 1e-9,
            checkpoints: None,
            ..Plan::default()
        };
        creep(&Creep { settled_from }, &table(), &plan, &Context::new(0), &mut Silent)
            .unwrap()
            .training
    };
    let free = run(0);
    assert_eq!(free.status, Status::Converged);
    assert!(free.passes < 60);
    let scheduled = run(90);
    assert_eq!((scheduled.status, scheduled.passes), (Status::Converged, 91));
}

#[test]
fn a_checkpoint_of_any_pass_resumes_to_the_identical_result() {
    let table = table();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let slow = Creep { settled_from: 30 };
    let whole = creep(&slow, &table, &plan(), &Context::new(5), &mut Silent).unwrap();
    // A copy made while the run goes on is what a kill would leave behind.
    for at in [2, 17, 31, 40, 77] {
        let copy = folder.path().join(format!("copy-{at}.ckpt"));
        let copy_at = Some((at, path.clone(), copy.clone()));
        let mut watcher = Watcher { copy_at, ..Watcher::default() };
        let checkpoints = Checkpoints { every: Duration::ZERO, ..Checkpoints::new(&path) };
        let running = Plan { checkpoints: Some(checkpoints), ..plan() };
        creep(&slow, &table, &running, &Context::new(5), &mut watcher).unwrap();
        let all = watcher.records.len();
        let checkpoints = Checkpoints { resume: true, ..Checkpoints::new(&copy) };
        let resuming = Plan { checkpoints: Some(checkpoints), ..plan() };
        let mut watcher = Watcher::default();
        let resumed = creep(&slow, &table, &resuming, &Context::new(5), &mut watcher).unwrap();
        assert_eq!(resumed.state, whole.state);
        assert_eq!(resumed.training, whole.training);
        assert_eq!(watcher.records.len(), all - (at - 1), "earlier passes are not done again");
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let with = |resume: bool| {
        let checkpoints = Checkpoints { resume, ..Checkpoints::new(&path) };
        Plan { checkpoints: Some(checkpoints), ..plan() }
    };
    creep(&Creep { settled_from: 0 }, &table(), &with(false), &Context::new(5), &mut Silent)
        .unwrap();
    let refused = |learner: &Creep, table: &Table<f64>, seed: u64| {
        let error =
            creep(learner, table, &with(true), &Context::new(seed), &mut Silent).unwrap_err();
        assert!(matches!(error, Error::Checkpoint { .. }), "{error}");
        assert!(error.to_string().contains("run.ckpt"), "{error}");
    };
    refused(&Creep { settled_from: 0 }, &table(), 6);
    refused(&Creep { settled_from: 1 }, &table(), 5);
    let rubbish = [&b""[..], b"mereo", b"mereo-c1\0\0\0\0", b"something else entirely, and long"];
    for bytes in rubbish {
        std::fs::write(&path, bytes).unwrap();
        refused(&Creep { settled_from: 0 }, &table(), 5);
    }
}

#[test]
fn a_stop_keeps_the_best_so_far() {
    let context = Context::new(0);
    let stop_at = Some((40, context.stop().clone()));
    let mut watcher = Watcher { stop_at, ..Watcher::default() };
    let slow = Creep { settled_from: 30 };
    let learned = creep(&slow, &table(), &plan(), &context, &mut watcher).unwrap();
    assert_eq!(learned.training.status, Status::Interrupted);
    assert_eq!(learned.training.restarts.len(), 2);
    assert_eq!(watcher.records.len(), 40);

    let context = Context::new(0);
    context.stop().ask();
    let error = creep(&slow, &table(), &plan(), &context, &mut Silent).unwrap_err();
    assert!(matches!(error, Error::Interrupted));
}

#[test]
fn plans_that_cannot_be_are_refused_by_name() {
    let run = |plan: Plan| {
        creep(&Creep { settled_from: 0 }, &table(), &plan, &Context::new(0), &mut Silent)
            .unwrap_err()
            .to_string()
    };
    assert!(run(Plan { restarts: 0, ..plan() }).contains("`restarts`"));
    assert!(run(Plan { tolerance: f64::NAN, ..plan() }).contains("`tolerance`"));
}
