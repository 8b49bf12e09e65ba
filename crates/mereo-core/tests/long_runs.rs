//! Jumps, restarts that are given up, starts that take long, disks that are full: what long runs meet.

use std::cell::Cell;
use std::time::Duration;

use mereo_core::slots::{Lloyd, LloydState, Survey};
use mereo_core::{
    Checkpoints, Context, Dense, Error, Learned, Observer, Plan, Record, Silent, Start, Table,
    learn,
};

/// Rows around twelve places in the plane, far from each other.
fn clusters() -> Table<f64> {
    let cells = (0..600).flat_map(|i| {
        let (cluster, around) = (i % 12, f64::from(i) * 0.618);
        let centre = [f64::from(cluster % 4) * 10.0, f64::from(cluster / 4) * 10.0];
        [centre[0] + around.sin(), centre[1] + (1.7 * around).cos()]
    });
    Table::from(Dense::new(600, 2, cells.collect()).unwrap())
}

/// All means at rows of the first two clusters: as bad as a start can be.
fn badly_started(swaps: bool, plan: &Plan, observer: &mut dyn Observer) -> Learned<LloydState> {
    let (table, context) = (clusters(), Context::new(0));
    let survey = Survey::of(&table, &context).unwrap();
    let lloyd = Lloyd::plain(12, &survey);
    let lloyd = if swaps { lloyd.with_swaps(&context) } else { lloyd };
    let start = |_: usize| {
        let mut start = lloyd.start(&table, 0, &context)?;
        for (j, mean) in start.state.mean.chunks_exact_mut(2).enumerate() {
            mean.copy_from_slice(&[(j % 2) as f64 * 10.0, 0.1 * j as f64]);
        }
        Ok(start)
    };
    learn(&lloyd, start, &table, plan, &context, observer).unwrap()
}

/// The bounds as they were told, a copy of the checkpoint at one of them, and all warnings.
#[derive(Default)]
struct Watcher {
    bounds: Vec<f64>,
    copy_at: Option<(usize, std::path::PathBuf, std::path::PathBuf)>,
    jumps: usize,
    warnings: Vec<String>,
}

impl Observer for Watcher {
    fn passed(&mut self, record: &Record) {
        self.bounds.push(record.bound);
        self.jumps += usize::from(record.notes.iter().any(|note| note.contains("a jump is tried")));
        if let Some((at, from, to)) = &self.copy_at
            && self.bounds.len() == *at
        {
            std::fs::copy(from, to).unwrap();
        }
    }

    fn warned(&mut self, warning: &str) {
        self.warnings.push(warning.to_owned());
    }
}

#[test]
fn jumps_find_what_passes_do_not_and_the_bound_never_falls() {
    let plan = Plan { passes: 200, ..Plan::default() };
    let mut watcher = Watcher::default();
    let with = badly_started(true, &plan, &mut watcher);
    let without = badly_started(false, &plan, &mut Silent);
    assert!(watcher.jumps > 1);
    assert!(
        watcher.bounds.windows(2).all(|w| w[1] >= w[0] - 1e-9 * w[0].abs()),
        "{:?}",
        watcher.bounds
    );
    assert_eq!(with.training.bound, *watcher.bounds.last().unwrap());
    assert!(without.state.distortion > 5.0 * with.state.distortion);
    // Every cluster has one of the means.
    let mut found: Vec<(i64, i64)> = with
        .state
        .mean
        .chunks_exact(2)
        .map(|mean| ((mean[0] / 10.0).round() as i64, (mean[1] / 10.0).round() as i64))
        .collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 12);
}

#[test]
fn passes_that_run_out_during_a_jump_leave_the_state_that_was_told() {
    for passes in 1..40 {
        let plan = Plan { passes, ..Plan::default() };
        let learned = badly_started(true, &plan, &mut Silent);
        // The same state, looked at once more.
        let (table, context) = (clusters(), Context::new(0));
        let lloyd = Lloyd::plain(12, &Survey::of(&table, &context).unwrap());
        let start = |_: usize| Ok(Start { state: learned.state.clone(), how: String::new() });
        let plan = Plan { passes: 0, ..Plan::default() };
        let again = learn(&lloyd, start, &table, &plan, &context, &mut Silent).unwrap();
        let (told, is) = (learned.training.bound, again.training.bound);
        assert!((told - is).abs() <= 1e-9 * is.abs(), "{passes} passes: {told} {is}");
    }
}

#[test]
fn a_checkpoint_in_the_middle_of_a_jump_resumes_to_the_identical_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let plan = Plan { passes: 60, ..Plan::default() };
    let whole = badly_started(true, &plan, &mut Silent);
    for at in 2..whole.training.passes {
        let copy = folder.path().join("copy.ckpt");
        let copy_at = Some((at, path.clone(), copy.clone()));
        let checkpoints = Checkpoints { every: Duration::ZERO, ..Checkpoints::new(&path) };
        let running = Plan { checkpoints: Some(checkpoints), ..plan.clone() };
        badly_started(true, &running, &mut Watcher { copy_at, ..Watcher::default() });
        let checkpoints = Checkpoints { resume: true, ..Checkpoints::new(&copy) };
        let resuming = Plan { checkpoints: Some(checkpoints), ..plan.clone() };
        let resumed = badly_started(true, &resuming, &mut Silent);
        assert_eq!(resumed.state.mean, whole.state.mean, "from pass {at}");
        assert_eq!(resumed.training, whole.training, "from pass {at}");
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no such folder").join("run.ckpt");
    let plan = Plan { passes: 20, ..Plan::default() };
    let whole = badly_started(true, &plan, &mut Silent);
    let checkpoints = Checkpoints { every: Duration::ZERO, ..Checkpoints::new(path) };
    let mut watcher = Watcher::default();
    let kept = badly_started(true, &Plan { checkpoints: Some(checkpoints), ..plan }, &mut watcher);
    assert_eq!(kept.state.mean, whole.state.mean);
    assert_eq!(watcher.warnings.len(), 1, "said once: {:?}", watcher.warnings);
    assert!(watcher.warnings[0].contains("run.ckpt"), "{:?}", watcher.warnings);
}

#[test]
fn what_is_done_of_a_start_is_not_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let (table, context) = (clusters(), Context::new(0));
    let lloyd = Lloyd::plain(12, &Survey::of(&table, &context).unwrap());
    let worked = Cell::new(0);
    // A start of ten pieces that is killed before the eleventh piece of work, were there one.
    let run = |killed_after: usize, resume: bool| {
        worked.set(0);
        let path = folder.path().join("run.ckpt");
        let checkpoints = Checkpoints { every: Duration::ZERO, resume, ..Checkpoints::new(path) };
        let pieces = checkpoints.pieces.clone();
        let start = |_: usize| {
            for piece in 0..10 {
                let name = format!("piece {piece}");
                if pieces.get::<f64>(&name).is_none() {
                    if worked.get() == killed_after {
                        return Err(Error::Interrupted);
                    }
                    worked.set(worked.get() + 1);
                    pieces.keep(&[(&name, &f64::from(piece))]);
                }
            }
            lloyd.start(&table, 0, &context)
        };
        let plan = Plan { checkpoints: Some(checkpoints), ..Plan::default() };
        learn(&lloyd, start, &table, &plan, &context, &mut Silent).map(|learned| learned.training)
    };
    assert!(matches!(run(4, false), Err(Error::Interrupted)));
    assert_eq!(worked.get(), 4);
    assert!(matches!(run(3, true), Err(Error::Interrupted)));
    let resumed = run(usize::MAX, true).unwrap();
    assert_eq!(worked.get(), 3, "seven of ten pieces were kept");
    assert_eq!(resumed, run(usize::MAX, false).unwrap());
    assert_eq!(worked.get(), 10);
}
