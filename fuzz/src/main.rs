//! Hostile input for everything in mereo that reads files, on the stable toolchain.
//!
//! `cargo xtask fuzz [SECONDS] [TARGET...]` feeds each target with right files made wrong, for that
//! long. Each target runs in a process of its own, so that one which dies (a stack that overflows,
//! memory that runs out) or hangs is a finding like others: a panic, more than 1 GB of memory at
//! once or in a single request, more than 2 s for one input. The input of a finding is kept in
//! `fuzz/findings`; `mereo-fuzz --replay TARGET FILE` runs it again.

mod allocator;
mod mutate;
mod seeds;
mod targets;
mod worker;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use seeds::Seeds;
use targets::Target;

/// What is asked, and what is too much.
#[derive(Clone)]
pub(crate) struct Limits {
    /// How long each target is fed.
    time: Duration,
    /// How long one input may take.
    slow: Duration,
    /// How much memory one input may take.
    bytes: usize,
    seed: u64,
}

/// Beyond its time, how long a worker may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_mins(1);

const HELP: &str = "\
mereo-fuzz [--seed N] [--slow SECONDS] [SECONDS] [TARGET...]
mereo-fuzz --replay TARGET FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--replay", target, file] => replay(target, file),
        ["--worker", target, progress, ref rest @ ..] => parse(rest).and_then(|(limits, _)| {
            let told = worker::work(target, &seeds_of(target)?, &limits, Path::new(progress));
            told.map(|told| tell(target, &told, &limits)).map_err(|e| e.to_string())
        }),
        ref rest => parse(rest).and_then(|(limits, names)| watch(&limits, &names)),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("mereo-fuzz: {problem}");
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[&str]) -> Result<(Limits, Vec<String>), String> {
    let mut limits = Limits {
        time: Duration::from_mins(5),
        slow: Duration::from_secs(2),
        bytes: 1_000_000_000,
        seed: 0,
    };
    let seconds = |text: &str| {
        let seconds = text.parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
        seconds.ok_or_else(|| format!("`{text}` is no number of seconds\n{HELP}"))
    };
    let mut names = Vec::new();
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut value = || rest.next().copied().ok_or_else(|| HELP.to_owned());
        match argument {
            "--seed" => limits.seed = value()?.parse().map_err(|e| format!("--seed: {e}"))?,
            "--slow" => limits.slow = seconds(value()?)?,
            name if Target::of(name).is_some() => names.push(name.to_owned()),
            text if text.starts_with(|c: char| c.is_ascii_digit()) => limits.time = seconds(text)?,
            other => {
                let all: Vec<&str> = Target::ALL.iter().map(|(name, _)| *name).collect();
                return Err(format!("`{other}` is none of the targets {}\n{HELP}", all.join(", ")));
            }
        }
    }
    if names.is_empty() {
        names = Target::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    }
    Ok((limits, names))
}

fn seeds_of(name: &str) -> Result<Seeds, String> {
    Target::of(name).map(Seeds::of).ok_or_else(|| format!("there is no target `{name}`"))
}

/// Where inputs of findings go.
fn findings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("findings")
}

pub(crate) fn save_finding(
    target: &str,
    execution: u64,
    input: &[u8],
    finding: &str,
) -> std::io::Result<()> {
    let path = findings().join(format!("{target}-{execution}.bin"));
    std::fs::create_dir_all(findings())?;
    std::fs::write(&path, input)?;
    eprintln!("{target}: {finding}\n  kept in {}", path.display());
    Ok(())
}

/// Runs one input again, with panics as they come.
fn replay(target: &str, file: &str) -> Result<bool, String> {
    let name = Target::of(target).ok_or_else(|| format!("there is no target `{target}`"))?;
    let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let start = Instant::now();
    let (outcome, memory) = allocator::watch(|| name.run(&bytes));
    match outcome {
        Ok(()) => println!("ok"),
        Err(error) => println!("error: {error}"),
    }
    println!(
        "{:.3} s; memory {} at once, {} in one request",
        start.elapsed().as_secs_f64(),
        megabytes(memory.peak),
        megabytes(memory.largest)
    );
    Ok(true)
}

/// Starts a worker for each target, as many at once as there are cores.
fn watch(limits: &Limits, names: &[String]) -> Result<bool, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (next, sound) = (AtomicUsize::new(0), AtomicBool::new(true));
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let seconds = limits.time.as_secs_f64();
    println!("{} targets for {seconds} s each, {jobs} at once, seed {}", names.len(), limits.seed);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let progress = folder.path().join(name);
                    if let Err(problem) = watch_one(&own, name, &progress, limits) {
                        sound.store(false, Ordering::Relaxed);
                        eprintln!("{name}: {problem}");
                    }
                }
            });
        }
    });
    Ok(sound.into_inner())
}

/// Runs one worker to its end, or to ours.
fn watch_one(own: &Path, name: &str, progress: &Path, limits: &Limits) -> Result<(), String> {
    let mut child = Command::new(own)
        .args(["--worker", name])
        .arg(progress)
        .args(["--seed", &limits.seed.to_string()])
        .args(["--slow", &limits.slow.as_secs_f64().to_string()])
        .arg(limits.time.as_secs_f64().to_string())
        .stdin(Stdio::null())
        .spawn()
        .map_err(|e| format!("its process could not be started: {e}"))?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break Some(status);
        }
        if began.elapsed() > limits.time + PATIENCE {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let death = match status {
        Some(status) if status.success() => return Ok(()),
        Some(status) if status.code() == Some(1) => return Err("there are findings".to_owned()),
        Some(status) => format!("died with {status}"),
        None => "hangs".to_owned(),
    };
    // The input that did it is made again from its number.
    let number = std::fs::read(progress).ok().and_then(|bytes| bytes.try_into().ok());
    let execution = u64::from_le_bytes(number.ok_or_else(|| format!("{death} before it began"))?);
    let input = seeds_of(name)?.input(limits.seed, execution);
    save_finding(name, execution, &input, &death).map_err(|e| e.to_string())?;
    Err(death)
}

fn megabytes(bytes: usize) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Prints what a worker has to tell; whether there were no findings.
fn tell(name: &str, told: &worker::Told, limits: &Limits) -> bool {
    let mut text = format!(
        "{name:14} {:>9} executions, {:>6.0} a second; at most {} at once, {} in one request, {:.3} s;",
        told.executions,
        told.executions as f64 / limits.time.as_secs_f64().max(1e-3),
        megabytes(told.memory.peak),
        megabytes(told.memory.largest),
        told.slowest.as_secs_f64(),
    );
    for (kind, times) in &told.outcomes {
        let _ = write!(text, " {kind} {times}");
    }
    for (finding, times) in &told.findings {
        let _ = write!(text, "\n    {times} times: {finding}");
    }
    println!("{text}");
    told.findings.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_right() {
        let mut wrong = Vec::new();
        for (name, target) in Target::ALL {
            for (index, file) in Seeds::of(target).files().iter().enumerate() {
                if let Err(error) = target.run(file) {
                    wrong.push(format!("{name}, seed {index}: {error}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn an_input_is_a_function_of_seed_and_number() {
        for (name, target) in Target::ALL {
            let (one, other) = (Seeds::of(target), Seeds::of(target));
            for execution in 0..50 {
                assert!(one.input(3, execution) == other.input(3, execution), "{name} {execution}");
            }
        }
    }
}
